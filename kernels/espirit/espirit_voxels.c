/* G(x) and the eigenvectors of its largest eigenvalues, voxel by voxel. G is a trigonometric polynomial with few terms,
 * so it is summed directly, axis by axis, for any matrix. LANES rows along y are processed together, moving along x.
 * Orthogonal iteration at a voxel starts from the eigenvectors of the previous one. */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "espirit_internal.h"
#include "voxfield/team_size.h"

enum { LANES = 16, MOST_STEPS = 40, LEAST_STEPS = 2 };

/* Iteration ends when |G u - lambda u| is below SETTLED in all lanes with lambda above COUNTS. The error of the maps is
 * then at most that over 1 - lambda_2. */
static const float SETTLED = 2e-4f, COUNTS = 0.4f;
/* w of espirit.h rises from 0 at FAINT to 1 at FULL. A wider range would slow solvers down, because only the prior
 * determines faint voxels. */
static const float FAINT = 0.94f, FULL = 0.99f;

typedef struct lanes {
    float re[ESPIRIT_MOST_COILS][LANES], im[ESPIRIT_MOST_COILS][LANES];
} lanes;

typedef struct worker {
    const espirit *e;
    const int64_t *matrix;
    int sets;
    bool expand;
    float complex *vectors;
    float *eigenvalue;
    float *mix;    /* [coil][virtual][re, im]: s_c = sum_v mix_vc s_v */
    float *turn_x; /* [x][dx][re, im]: exp(2 pi i d x) */
    float *plane;  /* [v][v'][dy][dx], summed over dz */
    float *line;   /* [v][v'][dy], summed over dz and dx */
    float turn_y[2 * VF_ESPIRIT_KERNEL][2][LANES];
    float gr[ESPIRIT_MOST_COILS * ESPIRIT_MOST_COILS][LANES], gi[ESPIRIT_MOST_COILS * ESPIRIT_MOST_COILS][LANES];
    lanes u[2], image, map[2];
    float lambda[2][LANES];
} worker;

/* exp(2 pi i d (n - N/2) / N) */
static void turn(int64_t d, int64_t n, int64_t count, float *re, float *im)
{
    const double phase = 2 * M_PI * (double)(d * (n - count / 2) % count) / (double)count;
    *re = (float)cos(phase);
    *im = (float)sin(phase);
}

static size_t pairs(const espirit *e)
{
    return (size_t)e->coils * (size_t)e->coils;
}

static void sum_z(worker *w, int64_t z)
{
    const espirit *e = w->e;
    const int area = e->span[0] * e->span[1];
    for (size_t p = 0; p < pairs(e); p++) {
        float *out = w->plane + 2 * p * (size_t)area;
        memset(out, 0, 2 * (size_t)area * sizeof *out);
        for (int d = 0; d < e->span[2]; d++) {
            const float *in = e->filter + 2 * (p * (size_t)e->spans + (size_t)(d * area));
            float re, im;
            turn(d - e->width[2] + 1, z, w->matrix[2], &re, &im);
            for (int i = 0; i < area; i++) {
                out[2 * i] += re * in[2 * i] - im * in[2 * i + 1];
                out[2 * i + 1] += re * in[2 * i + 1] + im * in[2 * i];
            }
        }
    }
}

static void sum_x(worker *w, int64_t x)
{
    const espirit *e = w->e;
    const float *t = w->turn_x + 2 * x * e->span[0];
    for (int v = 0; v < e->coils; v++)
        for (int k = 0; k <= v; k++) {
            const size_t first = (size_t)(v * e->coils + k) * (size_t)e->span[1];
            for (int y = 0; y < e->span[1]; y++) {
                const float *in = w->plane + 2 * (first + (size_t)y) * (size_t)e->span[0];
                float re = 0, im = 0;
                for (int d = 0; d < e->span[0]; d++) {
                    re += t[2 * d] * in[2 * d] - t[2 * d + 1] * in[2 * d + 1];
                    im += t[2 * d] * in[2 * d + 1] + t[2 * d + 1] * in[2 * d];
                }
                w->line[2 * (first + (size_t)y)] = re;
                w->line[2 * (first + (size_t)y) + 1] = im;
            }
        }
}

static void sum_y(worker *w)
{
    const espirit *e = w->e;
    const int n = e->coils;
    for (int v = 0; v < n; v++)
        for (int k = 0; k <= v; k++) {
            const float *in = w->line + 2 * (size_t)(v * n + k) * (size_t)e->span[1];
            float re[LANES] = {0}, im[LANES] = {0};
            for (int d = 0; d < e->span[1]; d++)
                for (int l = 0; l < LANES; l++) {
                    re[l] += in[2 * d] * w->turn_y[d][0][l] - in[2 * d + 1] * w->turn_y[d][1][l];
                    im[l] += in[2 * d] * w->turn_y[d][1][l] + in[2 * d + 1] * w->turn_y[d][0][l];
                }
            for (int l = 0; l < LANES; l++) {
                w->gr[v * n + k][l] = w->gr[k * n + v][l] = re[l];
                w->gi[v * n + k][l] = im[l];
                w->gi[k * n + v][l] = -im[l];
            }
        }
    for (int v = 0; v < n; v++)
        memset(w->gi[v * n + v], 0, sizeof w->gi[0]);
}

/* u <- G u, made orthogonal to `before` (may be NULL) and normalised. Returns the largest |G u - lambda u|^2 of the
 * lanes with lambda above COUNTS. */
static float step(worker *w, lanes *u, const lanes *before, float *lambda)
{
    const int n = w->e->coils;
    float dot_r[LANES] = {0}, dot_i[LANES] = {0}, norm[LANES] = {0}, self[LANES] = {0}, worst = 0;
    for (int v = 0; v < n; v++) {
        float re[LANES] = {0}, im[LANES] = {0};
        for (int k = 0; k < n; k++) {
            const float *a = w->gr[v * n + k], *b = w->gi[v * n + k], *x = u->re[k], *y = u->im[k];
            for (int l = 0; l < LANES; l++) {
                re[l] += a[l] * x[l] - b[l] * y[l];
                im[l] += a[l] * y[l] + b[l] * x[l];
            }
        }
        memcpy(w->image.re[v], re, sizeof re);
        memcpy(w->image.im[v], im, sizeof im);
    }
    lanes *image = &w->image;
    for (int v = 0; before && v < n; v++)
        for (int l = 0; l < LANES; l++) {
            dot_r[l] += before->re[v][l] * image->re[v][l] + before->im[v][l] * image->im[v][l];
            dot_i[l] += before->re[v][l] * image->im[v][l] - before->im[v][l] * image->re[v][l];
        }
    for (int v = 0; v < n; v++)
        for (int l = 0; l < LANES; l++) {
            if (before) {
                image->re[v][l] -= dot_r[l] * before->re[v][l] - dot_i[l] * before->im[v][l];
                image->im[v][l] -= dot_r[l] * before->im[v][l] + dot_i[l] * before->re[v][l];
            }
            norm[l] += image->re[v][l] * image->re[v][l] + image->im[v][l] * image->im[v][l];
            self[l] += u->re[v][l] * image->re[v][l] + u->im[v][l] * image->im[v][l];
        }
    for (int l = 0; l < LANES; l++) {
        const float left = norm[l] - self[l] * self[l];
        lambda[l] = sqrtf(norm[l]);
        worst = lambda[l] > COUNTS && left > worst ? left : worst;
        norm[l] = norm[l] > FLT_MIN ? 1 / lambda[l] : 0;
    }
    for (int v = 0; v < n; v++)
        for (int l = 0; l < LANES; l++) {
            u->re[v][l] = image->re[v][l] * norm[l];
            u->im[v][l] = image->im[v][l] * norm[l];
        }
    return worst;
}

/* Starting vectors. A start must not be orthogonal to the eigenvector, so a small fixed vector is added to the previous
 * voxel's result. */
static void start(worker *w, bool first)
{
    const float little = first ? 1 : 1e-3f;
    for (int s = 0; s < w->sets; s++)
        for (int v = 0; v < w->e->coils; v++)
            for (int l = 0; l < LANES; l++) {
                const float value = little * (s == 0 || v % 2 == 0 ? 1.0f / (float)(1 + v) : -1.0f / (float)(1 + v));
                w->u[s].re[v][l] = (first ? 0 : w->u[s].re[v][l]) + value;
                w->u[s].im[v][l] = first ? 0 : w->u[s].im[v][l];
            }
}

static void eigenvectors(worker *w, bool first)
{
    start(w, first);
    for (int i = 0; i < MOST_STEPS; i++) {
        float worst = 0;
        for (int s = 0; s < w->sets; s++)
            worst = fmaxf(worst, step(w, &w->u[s], s ? &w->u[0] : NULL, w->lambda[s]));
        if (i >= LEAST_STEPS && worst < SETTLED * SETTLED)
            break;
    }
}

/* w(lambda) of espirit.h. */
static float weight_of(float eigenvalue)
{
    const float t = fminf(fmaxf((eigenvalue - FAINT) / (FULL - FAINT), 0), 1);
    return t * t * (3 - 2 * t);
}

/* Scales u to a length of sqrt(w). */
static void weigh(worker *w, int s)
{
    lanes *u = &w->u[s];
    float length[LANES];
    for (int l = 0; l < LANES; l++)
        length[l] = sqrtf(weight_of(w->lambda[s][l]));
    for (int v = 0; v < w->e->coils; v++)
        for (int l = 0; l < LANES; l++) {
            w->map[s].re[v][l] = u->re[v][l] * length[l];
            w->map[s].im[v][l] = u->im[v][l] * length[l];
        }
}

/* Multiplies A = [a_0 a_1] by a unitary matrix, so that only the first map contains the first virtual coil. The matrix
 * has columns along the conjugate of A's first row, and orthogonal to it. */
static void separate(worker *w)
{
    lanes *a = &w->map[0], *b = &w->map[1];
    for (int l = 0; l < LANES; l++) {
        const float complex x = a->re[0][l] - a->im[0][l] * I, y = b->re[0][l] - b->im[0][l] * I;
        const float size = sqrtf(crealf(x * conjf(x)) + crealf(y * conjf(y)));
        if (!(size > FLT_MIN))
            continue;
        const float complex p = x / size, q = y / size;
        for (int v = 0; v < w->e->coils; v++) {
            const float complex f = a->re[v][l] + a->im[v][l] * I, g = b->re[v][l] + b->im[v][l] * I;
            const float complex first = f * p + g * q, second = g * conjf(p) - f * conjf(q);
            a->re[v][l] = crealf(first);
            a->im[v][l] = cimagf(first);
            b->re[v][l] = crealf(second);
            b->im[v][l] = cimagf(second);
        }
    }
}

/* Makes the phase relative to the first virtual coil; for the second map, which may not contain it, to the second
 * coil. */
static void align(worker *w, int s)
{
    lanes *u = &w->map[s];
    const int along = s < w->e->coils ? s : 0;
    for (int l = 0; l < LANES; l++) {
        const float a = u->re[along][l], b = u->im[along][l], size = sqrtf(a * a + b * b);
        const float re = size > 0 ? a / size : 1, im = size > 0 ? -b / size : 0;
        for (int v = 0; v < w->e->coils; v++) {
            const float x = u->re[v][l], y = u->im[v][l];
            u->re[v][l] = x * re - y * im;
            u->im[v][l] = x * im + y * re;
        }
    }
}

static void store(const worker *w, int s, int64_t x, int64_t y, int64_t z)
{
    const int64_t *n = w->matrix, voxels = n[0] * n[1] * n[2];
    const int inner = w->e->coils, coils = w->expand ? w->e->task->coils : inner;
    const int64_t rows = n[1] - y < LANES ? n[1] - y : LANES, first = (z * n[1] + y) * n[0] + x;
    for (int64_t l = 0; w->eigenvalue && l < rows; l++)
        w->eigenvalue[s * voxels + first + l * n[0]] = w->lambda[s][l];
    const lanes *map = w->expand ? &w->map[s] : &w->u[s];
    for (int c = 0; c < coils; c++) {
        float re[LANES] = {0}, im[LANES] = {0};
        const float *mix = w->mix + 2 * (size_t)c * (size_t)inner;
        for (int v = 0; v < inner; v++)
            for (int l = 0; l < LANES; l++) {
                re[l] += mix[2 * v] * map->re[v][l] - mix[2 * v + 1] * map->im[v][l];
                im[l] += mix[2 * v] * map->im[v][l] + mix[2 * v + 1] * map->re[v][l];
            }
        float complex *out = w->vectors + (s * coils + c) * voxels + first;
        for (int64_t l = 0; l < rows; l++)
            out[l * n[0]] = re[l] + im[l] * I;
    }
}

static void do_rows(worker *w, int64_t y, int64_t z)
{
    const int64_t *n = w->matrix;
    sum_z(w, z);
    for (int d = 0; d < w->e->span[1]; d++)
        for (int l = 0; l < LANES; l++)
            turn(d - w->e->width[1] + 1, y + l < n[1] ? y + l : n[1] - 1, n[1], &w->turn_y[d][0][l],
                 &w->turn_y[d][1][l]);
    for (int64_t x = 0; x < n[0]; x++) {
        sum_x(w, x);
        sum_y(w);
        eigenvectors(w, x == 0);
        for (int s = 0; s < w->sets; s++)
            weigh(w, s);
        if (w->sets == 2 && w->expand)
            separate(w);
        for (int s = 0; s < w->sets; s++) {
            align(w, s);
            store(w, s, x, y, z);
        }
    }
}

static void make_mix(const espirit *e, bool expand, float *mix)
{
    const int coils = expand ? e->task->coils : e->coils;
    for (int c = 0; c < coils; c++)
        for (int v = 0; v < e->coils; v++) {
            const double complex m = expand ? e->mix[v * coils + c] : c == v;
            mix[2 * (c * e->coils + v)] = (float)creal(m);
            mix[2 * (c * e->coils + v) + 1] = (float)cimag(m);
        }
}

static void free_workers(worker *workers, int count, float *mix, float *turns)
{
    for (int t = 0; workers && t < count; t++) {
        free(workers[t].plane);
        free(workers[t].line);
    }
    free(workers);
    free(mix);
    free(turns);
}

vf_status espirit_voxels(const espirit *e, const int64_t matrix[3], int sets, bool expand, float complex *vectors,
                         float *eigenvalue, double share)
{
    const int coils = expand ? e->task->coils : e->coils;
    const int64_t blocks = (matrix[1] + LANES - 1) / LANES, jobs = blocks * matrix[2];
    worker *workers = calloc((size_t)e->threads, sizeof *workers);
    float *mix = malloc(2 * (size_t)coils * (size_t)e->coils * sizeof *mix);
    float *turns = malloc(2 * (size_t)matrix[0] * (size_t)e->span[0] * sizeof *turns);
    bool enough = workers && mix && turns;
    for (int t = 0; t < e->threads && enough; t++) {
        workers[t] = (worker){.e = e,
                              .matrix = matrix,
                              .sets = sets,
                              .expand = expand,
                              .vectors = vectors,
                              .eigenvalue = eigenvalue,
                              .mix = mix,
                              .turn_x = turns};
        workers[t].plane = malloc(2 * pairs(e) * (size_t)(e->span[0] * e->span[1]) * sizeof(float));
        workers[t].line = malloc(2 * pairs(e) * (size_t)e->span[1] * sizeof(float));
        enough = workers[t].plane && workers[t].line;
    }
    if (!enough) {
        free_workers(workers, e->threads, mix, turns);
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    }
    make_mix(e, expand, mix);
    for (int64_t x = 0; x < matrix[0]; x++)
        for (int d = 0; d < e->span[0]; d++)
            turn(d - e->width[0] + 1, x, matrix[0], turns + 2 * (x * e->span[0] + d),
                 turns + 2 * (x * e->span[0] + d) + 1);
#pragma omp parallel for schedule(dynamic, 1)                                                                          \
    num_threads(vf_threads_of_plan(e->ctx, e->threads, jobs *LANES *matrix[0] * coils))
    for (int64_t job = 0; job < jobs; job++) {
        if (vf_cancelled(e->ctx))
            continue;
        do_rows(&workers[omp_get_thread_num()], job % blocks * LANES, job / blocks);
#pragma omp critical(espirit_tell)
        espirit_tell(e, share / (double)jobs);
    }
    free_workers(workers, e->threads, mix, turns);
    return vf_cancelled(e->ctx) ? vf_fail(e->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
