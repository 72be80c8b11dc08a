/* Directions of the maps where there is hardly any signal. There the eigenvectors of G are of noise, or of what an estimate of the
 * data got wrong, and turn from voxel to voxel. Coils are smooth; so at each voxel of a grid of the block's size, the steady
 * directions D minimise
 *
 *     sum_x q(x) |D(x) - d(x)|^2 + sum over neighbours |D(x) - D(y)|^2,   q = (w e / e_0)^2,
 *
 * where d are the eigenvectors with the phase of espirit.h, w is the weight of their eigenvalue, and e the energy along d in the
 * block's images, windowed (a sharp edge of k-space would spread signal over the image). e_0 is far above noise and errors: where
 * e is as much, the D of neighbours count as much as d. q is smaller where a second eigenvalue is near 1, too. Solved by conjugate
 * gradients with the diagonal as preconditioner, for all virtual coils together.
 *
 * The same images tell where there is a signal for certain, whatever the eigenvalue: where the block ends close to the strongest
 * samples, few patches have these at one of their sides, so G's eigenvalue is below 1 in bright parts of the object, too. The
 * eigenvectors are right there, and maps that faded would leave a hole in the image. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "espirit_internal.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

/* e_0 is ABOVE_NOISE times the noise's energy in a voxel; or, if that is more, ABOVE_FAINT times the energy that FAINT of the
 * voxels are below. Most objects leave so many voxels of air, which show how large the errors are: of an estimated koosh ball
 * they have 2e-5 of a bright voxel's energy, and voxels near the head 1e-3; of Cartesian samples they have only noise, and dim
 * parts far from bright ones keep their own directions. If the object fills the field of view, faint voxels show nothing: the
 * second term is at most ABOVE_ERRORS times `truncation` times the energy that BRIGHT of the voxels exceed. */
static const double ABOVE_NOISE = 20, ABOVE_FAINT = 600, FAINT = 0.05, ABOVE_ERRORS = 100, BRIGHT = 0.01;
/* Levels of windows: Hann's for directions; for what is certain Hamming's, which keeps more of strong samples at the block's end. */
static const double HANN = 0.5, HAMMING = 0.54;
/* A signal is certain from SURE of the energy that BRIGHT of the voxels exceed, where at most a tenth of that lies beside d, as it
 * would where two parts of the object fall on one voxel, and which is twice ABOVE_NOISE times the noise's. It is doubtful below
 * DOUBTFUL, or with a fifth beside d, or with half of that above the noise. What the window and errors of the data leave in the air
 * is a hundredth of a bright voxel's energy, or less. */
static const double SURE = 0.04, DOUBTFUL = 0.01, BESIDE = 0.1, MOST_BESIDE = 0.2;
/* Of q: the problem has one solution, and single precision is enough for it. */
static const double LEAST = 1e-6, MOST = 1e4;
/* Conjugate gradients end at this residual, in the norm of the preconditioner. */
static const double SETTLED = 1e-3;
enum { MOST_STEPS = 60, MOST_ROWS = 64 * 64 };

/* Vectors are [voxel][field], the fields the real and imaginary parts of the virtual coils. Sums are of rows, which threads share,
 * in order: the same bits for any number of threads. */
typedef struct problem {
    const espirit *e;
    int64_t fields, rows;
    float *q, *diagonal; /* [voxel] */
    float *x, *r, *p, *ap;
    double *part; /* [row] */
} problem;

static double sum_rows(const problem *a)
{
    double sum = 0;
    for (int64_t row = 0; row < a->rows; row++)
        sum += a->part[row];
    return sum;
}

/* ap = (Q + L) p of one voxel, where L is the sum of differences to neighbours. Returns p^T ap. */
static float apply_voxel(const problem *a, int64_t i)
{
    const int64_t *n = a->e->task->block, f = a->fields, at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
    const float *p = a->p + i * f;
    float *out = a->ap + i * f, sum = 0;
    int64_t stride = f;
    for (int64_t k = 0; k < f; k++)
        out[k] = a->diagonal[i] * p[k];
    for (int axis = 0; axis < 3; stride *= n[axis++]) {
        for (int64_t k = 0; at[axis] > 0 && k < f; k++)
            out[k] -= p[k - stride];
        for (int64_t k = 0; at[axis] + 1 < n[axis] && k < f; k++)
            out[k] -= p[k + stride];
    }
    for (int64_t k = 0; k < f; k++)
        sum += p[k] * out[k];
    return sum;
}

static double apply(const problem *a)
{
    const int64_t width = a->e->task->block[0];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(a->e->ctx, 16 * a->fields * a->e->samples))
    for (int64_t row = 0; row < a->rows; row++) {
        a->part[row] = 0;
        for (int64_t i = row * width; i < (row + 1) * width; i++)
            a->part[row] += apply_voxel(a, i);
    }
    return sum_rows(a);
}

/* x += step p, r -= step ap. Returns <r, r / diagonal>. */
static double step(const problem *a, float length)
{
    const int64_t width = a->e->task->block[0], f = a->fields;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(a->e->ctx, 16 * a->fields * a->e->samples))
    for (int64_t row = 0; row < a->rows; row++) {
        a->part[row] = 0;
        for (int64_t i = row * width; i < (row + 1) * width; i++) {
            float sum = 0;
            for (int64_t k = i * f; k < (i + 1) * f; k++) {
                a->x[k] += length * a->p[k];
                a->r[k] -= length * a->ap[k];
                sum += a->r[k] * a->r[k];
            }
            a->part[row] += sum / a->diagonal[i];
        }
    }
    return sum_rows(a);
}

/* p = r / diagonal + share p */
static void turn(const problem *a, float share)
{
    const int64_t width = a->e->task->block[0], f = a->fields;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(a->e->ctx, 16 * a->fields * a->e->samples))
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t i = row * width; i < (row + 1) * width; i++)
            for (int64_t k = i * f; k < (i + 1) * f; k++)
                a->p[k] = a->r[k] / a->diagonal[i] + share * a->p[k];
}

/* From p, a first guess. */
static void solve(const problem *a)
{
    (void)apply(a);
    double now = step(a, 1);
    const double first = now;
    turn(a, 0);
    for (int i = 0; i < MOST_STEPS && now > SETTLED * SETTLED * first; i++) {
        const double curvature = apply(a);
        const double next = curvature > 0 ? step(a, (float)(now / curvature)) : 0;
        turn(a, (float)(next / now));
        now = next;
    }
}

/* The block's images, windowed by level + (1 - level) cos, 1 in the middle; *noise: what that leaves of the noise's variance in a
 * voxel. */
static double complex *windowed_images(const espirit *e, double level, double *noise)
{
    const int64_t *n = e->task->block;
    const size_t count = (size_t)e->coils * (size_t)e->samples;
    double complex *images = malloc(count * sizeof *images);
    double window[3][64] = {{0}};
    *noise = 1;
    for (int axis = 0; axis < 3; axis++) {
        double sum = 0;
        for (int64_t k = 0; k < n[axis]; k++) {
            const double turn = 2 * M_PI * (double)(k - n[axis] / 2) / (double)n[axis];
            window[axis][k] = n[axis] > 1 ? level + (1 - level) * cos(turn) : 1;
            sum += window[axis][k] * window[axis][k];
        }
        *noise *= sum / (double)n[axis];
    }
    for (size_t j = 0; images && j < count; j++) {
        const int64_t i = (int64_t)j % e->samples;
        images[j] = e->block[j] * window[0][i % n[0]] * window[1][i / n[0] % n[1]] * window[2][i / n[0] / n[1]];
    }
    if (images)
        espirit_transform(e, images);
    return images;
}

/* Of the windowed images: the energy along d at each voxel, and how certain a signal is. */
typedef struct signal {
    double *energy; /* [voxel] */
    double *sorted; /* the same in another order */
    float *sure;    /* [voxel]; may be NULL */
    double bright;  /* the energy that BRIGHT of the voxels exceed */
    double noise;   /* what the window leaves of the noise's variance in a voxel */
} signal;

/* e_0; *certain: the energy from which on a voxel has its own direction. */
static double least_energy(const espirit *e, const signal *s, double *certain)
{
    const double faint = vf_host_select(e->samples, s->sorted, (int64_t)(FAINT * (double)e->samples));
    *certain = ABOVE_ERRORS * espirit_truncation(e) * s->bright;
    const double errors = fmin(ABOVE_FAINT * faint, *certain);
    return fmax(ABOVE_NOISE * s->noise * e->sigma * e->sigma, errors);
}

/* How certain a signal is, 0 to 1, by the energy along d and that of all virtual coils. */
static double certainty(const espirit *e, const signal *s, double along, double all)
{
    if (!(along > 0))
        return 0;
    const double by_energy = (along / s->bright - DOUBTFUL) / (SURE - DOUBTFUL);
    const double by_direction = (MOST_BESIDE - (all - along) / along) / (MOST_BESIDE - BESIDE);
    const double by_noise = e->sigma > 0 ? along / (ABOVE_NOISE * s->noise * e->sigma * e->sigma) - 1 : 1;
    return fmax(0, fmin(fmin(1, by_noise), fmin(by_energy, by_direction)));
}

/* Fills `s`, with the window of `level`. */
static vf_status find_signal(const espirit *e, const float complex *vectors, double level, signal *s)
{
    const int64_t voxels = e->samples;
    double complex *images = windowed_images(e, level, &s->noise);
    if (!images)
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    for (int64_t i = 0; i < voxels; i++) {
        double complex dot = 0;
        for (int v = 0; v < e->coils; v++)
            dot += conj((double complex)vectors[v * voxels + i]) * images[v * voxels + i];
        s->energy[i] = s->sorted[i] = creal(dot) * creal(dot) + cimag(dot) * cimag(dot);
    }
    s->bright = vf_host_select(voxels, s->sorted, voxels - 1 - (int64_t)(BRIGHT * (double)voxels));
    for (int64_t i = 0; s->sure && i < voxels; i++) {
        double all = 0;
        for (int v = 0; v < e->coils; v++)
            all += creal(images[v * voxels + i] * conj(images[v * voxels + i]));
        s->sure[i] = (float)certainty(e, s, s->energy[i], all);
    }
    free(images);
    return VF_OK;
}

/* q, the right side in r: q d, and a first guess in p. */
static void weigh(const problem *a, const float complex *vectors, const float *eigenvalue, const float *sure,
                  const signal *s)
{
    const espirit *e = a->e;
    const int64_t voxels = e->samples, f = a->fields, *n = e->task->block;
    double certain;
    const double least = least_energy(e, s, &certain), *energy = s->energy;
    for (int64_t i = 0; i < voxels; i++) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        const double most = energy[i] > 0 ? sqrt(MOST) : 0; /* also if e_0 is 0 */
        const double times = energy[i] < most * least ? energy[i] / least : most;
        /* Where a second eigenvalue is near 1, too, the first vector may be the other one in the next voxel. */
        const double doubt = espirit_weight(eigenvalue[voxels + i], 0) * fmax(0, 1 - energy[i] / certain);
        const double at_most = doubt > 0 ? 1 / doubt : INFINITY;
        const float ratio = (float)((1 - doubt) * fmin(espirit_weight(eigenvalue[i], sure[i]) * times, at_most));
        const float size = cabsf(vectors[i]);
        const float complex phase = size > 0 ? conjf(vectors[i]) / size : 1;
        a->q[i] = fmaxf(ratio * ratio, (float)LEAST);
        a->diagonal[i] = a->q[i];
        for (int axis = 0; axis < 3; axis++)
            a->diagonal[i] += (float)(at[axis] > 0) + (float)(at[axis] + 1 < n[axis]);
        for (int v = 0; v < e->coils; v++) {
            const float complex d = phase * vectors[v * voxels + i];
            a->r[i * f + 2 * v] = a->q[i] * crealf(d);
            a->r[i * f + 2 * v + 1] = a->q[i] * cimagf(d);
            a->p[i * f + 2 * v] = a->q[i] / (1 + a->q[i]) * crealf(d);
            a->p[i * f + 2 * v + 1] = a->q[i] / (1 + a->q[i]) * cimagf(d);
        }
    }
}

/* D of length 1, and the share of d: q / (1 + q). */
static void keep(const problem *a, float *steady)
{
    const int64_t voxels = a->e->samples, f = a->fields;
    for (int64_t i = 0; i < voxels; i++) {
        float sum = 0;
        for (int64_t k = 0; k < f; k++)
            sum += a->x[i * f + k] * a->x[i * f + k];
        for (int64_t k = 0; k < f; k++)
            steady[k * voxels + i] = sum > 0 ? a->x[i * f + k] / sqrtf(sum) : 0;
        steady[f * voxels + i] = a->q[i] / (1 + a->q[i]);
    }
}

vf_status espirit_steady(espirit *e, int sets, const float complex *vectors, const float *eigenvalue)
{
    const int64_t f = 2 * e->coils, count = e->samples * f, rows = e->samples / e->task->block[0];
    float *room = calloc((size_t)(4 * count + 2 * e->samples), sizeof *room);
    double *energy = malloc((size_t)(2 * e->samples) * sizeof *energy), part[MOST_ROWS];
    const problem a = {.e = e,
                       .fields = f,
                       .rows = rows,
                       .x = room,
                       .r = room + count,
                       .p = room + 2 * count,
                       .ap = room + 3 * count,
                       .q = room + 4 * count,
                       .diagonal = room + 4 * count + e->samples,
                       .part = part};
    signal s = {.energy = energy, .sorted = energy + e->samples};
    e->steady = calloc((size_t)(ESPIRIT_FIELDS(e) * e->samples), sizeof *e->steady);
    vf_status status =
        room && energy && e->steady ? VF_OK : vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    s.sure = status == VF_OK ? e->steady + (f + 1) * e->samples : NULL;
    const float *sure = s.sure;
    VF_TRY(status, find_signal(e, vectors, HAMMING, &s));
    s.sure = NULL;
    VF_TRY(status, sets == 1 ? find_signal(e, vectors, HANN, &s) : VF_OK);
    if (status == VF_OK && sets == 1) {
        weigh(&a, vectors, eigenvalue, sure, &s);
        solve(&a);
        keep(&a, e->steady);
    }
    free(room);
    free(energy);
    return status;
}
