#include "coil_maps.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

/* The local covariance is the sum over a box of 2 REACH + 1 voxels along each axis, cut at the borders. The resolution
 * of calibration images is coarser than the box, so the box averages noise rather than coils. */
enum { REACH = 2, BOX = 2 * REACH + 1 };
enum { LANES = 16 }; /* voxels side by side in a row; loops over them become SIMD */
enum { ROWS = 8 };   /* rows per work item: fixed, so that the bits do not depend on the number of threads */
enum { STEPS = 5 };  /* of the power method, after the start vector, which is a step itself */

/* Maps are 0 where the signal (the root of the covariance's largest eigenvalue) is less than this share of its maximum.
 * The bound is low, to keep dark tissue far from bright skin. It is a sharp step, because the solver would divide noise
 * by maps that fade. */
static const float faint = 1e-3f;

typedef struct walsh {
    const int64_t *n; /* matrix */
    int coils, phase_coil;
    float scale; /* makes the largest voxel 1, so that squares neither overflow nor vanish */
    int64_t row; /* n[0] rounded up to whole LANES */
    const float complex *images;
    float complex *maps;
    float *plane;   /* [BOX][coil][y][re, im][row]: images of the planes around the current one, 0 beyond n[0] */
    float *signal;  /* [z][y][x] the largest eigenvalue */
    int64_t rooms;  /* work items at the same time */
    float *scratch; /* [rooms][scratch_floats] */
    size_t scratch_floats;
} walsh;

/* The index into a voxel's Hermitian matrix, stored as real numbers: for j <= i, entry (i, j) holds the real part of
 * element (i, j), and for j < i, entry (j, i) its imaginary part. */
static size_t entry(const walsh *w, int i, int j)
{
    return (size_t)i * (size_t)w->coils + (size_t)j;
}

static float *plane_row(const walsh *w, int64_t z, int coil, int64_t y)
{
    return w->plane + (size_t)((((z % BOX) * w->coils + coil) * w->n[1] + y) * 2 * w->row);
}

/* Loads row y of plane z. Plane z replaces plane z - BOX. */
static void load_row(const walsh *w, int64_t z, int64_t y)
{
    for (int c = 0; c < w->coils; c++) {
        const float complex *from = w->images + ((c * w->n[2] + z) * w->n[1] + y) * w->n[0];
        float *re = plane_row(w, z, c, y), *im = re + w->row;
        for (int64_t x = 0; x < w->n[0]; x++) {
            re[x] = w->scale * crealf(from[x]);
            im[x] = w->scale * cimagf(from[x]);
        }
    }
}

static void span(int64_t at, int64_t n, int64_t *begin, int64_t *end)
{
    *begin = at - REACH > 0 ? at - REACH : 0;
    *end = at + REACH + 1 < n ? at + REACH + 1 : n;
}

/* out[entry][row]: the products of the coils at row y, summed over the planes around z. */
static void sum_along_z(const walsh *w, int64_t z, int64_t y, float *restrict out)
{
    int64_t begin, end;
    span(z, w->n[2], &begin, &end);
    memset(out, 0, (size_t)(w->coils * w->coils * w->row) * sizeof *out);
    for (int64_t plane = begin; plane < end; plane++)
        for (int i = 0; i < w->coils; i++) {
            const float *a = plane_row(w, plane, i, y), *b = a + w->row;
            float *square = out + entry(w, i, i) * (size_t)w->row;
            for (int64_t x = 0; x < w->row; x++)
                square[x] += a[x] * a[x] + b[x] * b[x];
            for (int j = 0; j < i; j++) {
                const float *c = plane_row(w, plane, j, y), *d = c + w->row;
                float *restrict re = out + entry(w, i, j) * (size_t)w->row;
                float *restrict im = out + entry(w, j, i) * (size_t)w->row;
                for (int64_t x = 0; x < w->row; x++) {
                    re[x] += a[x] * c[x] + b[x] * d[x];
                    im[x] += b[x] * c[x] - a[x] * d[x];
                }
            }
        }
}

/* covariance[row / LANES][entry][LANES]: the sums over the boxes around row y. ring[y % BOX] holds the sums along z of
 * the neighbouring rows. `line` is scratch for one row with REACH zeros at either end. */
static void finish_boxes(const walsh *w, int64_t y, const float *ring, float *restrict line, float *restrict covariance)
{
    int64_t y0, y1;
    size_t entries = (size_t)w->coils * (size_t)w->coils, row = (size_t)w->row;
    span(y, w->n[1], &y0, &y1);
    for (size_t e = 0; e < entries; e++) {
        memset(line, 0, (row + 2 * REACH) * sizeof *line);
        for (int64_t at = y0; at < y1; at++) {
            const float *from = ring + ((size_t)(at % BOX) * entries + e) * row;
            for (size_t x = 0; x < row; x++)
                line[REACH + x] += from[x];
        }
        for (size_t x = 0; x < row; x += LANES) {
            float *out = covariance + (x * entries + e * LANES);
            for (int l = 0; l < LANES; l++)
                out[l] = line[x + (size_t)l] + line[x + (size_t)l + 1] + line[x + (size_t)l + 2] +
                         line[x + (size_t)l + 3] + line[x + (size_t)l + 4];
        }
    }
}

/* y = R v for LANES voxels; vectors are [coil][re, im][LANES]. */
static void multiply(int coils, const float *restrict r, const float *restrict v, float *restrict y)
{
    for (int i = 0; i < coils; i++) {
        float re[LANES] = {0}, im[LANES] = {0};
        for (int j = 0; j < coils; j++) {
            const float *a = r + (j <= i ? i * coils + j : j * coils + i) * LANES;
            const float *b = r + (j <= i ? j * coils + i : i * coils + j) * LANES;
            const float *c = v + 2 * j * LANES, *d = c + LANES;
            if (i == j)
                for (int l = 0; l < LANES; l++) {
                    re[l] += a[l] * c[l];
                    im[l] += a[l] * d[l];
                }
            else if (j < i)
                for (int l = 0; l < LANES; l++) {
                    re[l] += a[l] * c[l] - b[l] * d[l];
                    im[l] += a[l] * d[l] + b[l] * c[l];
                }
            else /* the conjugate of element (j, i) */
                for (int l = 0; l < LANES; l++) {
                    re[l] += a[l] * c[l] + b[l] * d[l];
                    im[l] += a[l] * d[l] - b[l] * c[l];
                }
        }
        memcpy(y + 2 * i * LANES, re, sizeof re);
        memcpy(y + (2 * i + 1) * LANES, im, sizeof im);
    }
}

/* Scales the vectors to length 1 (0 stays 0); `length` gets the length before. */
static void normalise(int coils, float *v, float length[LANES])
{
    float squares[LANES] = {0}, inverse[LANES];
    for (int c = 0; c < 2 * coils; c++)
        for (int l = 0; l < LANES; l++)
            squares[l] += v[c * LANES + l] * v[c * LANES + l];
    for (int l = 0; l < LANES; l++) {
        length[l] = sqrtf(squares[l]);
        inverse[l] = length[l] > 0 ? 1 / length[l] : 0;
    }
    for (int c = 0; c < 2 * coils; c++)
        for (int l = 0; l < LANES; l++)
            v[c * LANES + l] *= inverse[l];
}

/* The start vector: the column of R of the voxel's strongest coil c, R e_c. This is a first step of the power method
 * from e_c, whose component along the eigenvector is at least 1 / sqrt(coils) if R has rank 1. It does not depend on
 * other voxels. */
static void start(int coils, const float *restrict r, float *restrict v)
{
    float best[LANES], which[LANES] = {0};
    memcpy(best, r, sizeof best);
    for (int c = 1; c < coils; c++)
        for (int l = 0; l < LANES; l++) {
            float own = r[(c * coils + c) * LANES + l];
            which[l] = own > best[l] ? (float)c : which[l];
            best[l] = own > best[l] ? own : best[l];
        }
    for (int i = 0; i < coils; i++) {
        float *re = v + 2 * i * LANES, *im = re + LANES;
        for (int l = 0; l < LANES; l++) {
            int j = (int)which[l];
            re[l] = r[(j <= i ? i * coils + j : j * coils + i) * LANES + l];
            im[l] = i == j ? 0 : j < i ? r[(j * coils + i) * LANES + l] : -r[(i * coils + j) * LANES + l];
        }
    }
}

/* Changes the vectors' phase so that the phase coil's component is real and not negative. */
static void turn(int coils, int phase_coil, float *v)
{
    float c[LANES], s[LANES];
    for (int l = 0; l < LANES; l++) {
        float re = v[2 * phase_coil * LANES + l], im = v[(2 * phase_coil + 1) * LANES + l];
        float size = sqrtf(re * re + im * im);
        c[l] = size > 0 ? re / size : 1;
        s[l] = size > 0 ? -im / size : 0;
    }
    for (int i = 0; i < coils; i++) {
        float *re = v + 2 * i * LANES, *im = re + LANES;
        for (int l = 0; l < LANES; l++) {
            float a = re[l], b = im[l];
            re[l] = a * c[l] - b * s[l];
            im[l] = i == phase_coil ? 0 : a * s[l] + b * c[l];
        }
    }
}

/* Maps and signal of the voxels of row (y, z) from their covariances. `v` and `next` [coil][2][LANES] are scratch. */
static void maps_of_row(const walsh *w, int64_t z, int64_t y, const float *covariance, float *v, float *next)
{
    size_t entries = (size_t)w->coils * (size_t)w->coils;
    int64_t first = (z * w->n[1] + y) * w->n[0], coil = w->n[0] * w->n[1] * w->n[2];
    for (int64_t x = 0; x < w->n[0]; x += LANES) {
        float length[LANES];
        int count = w->n[0] - x < LANES ? (int)(w->n[0] - x) : LANES;
        const float *r = covariance + (size_t)x * entries;
        start(w->coils, r, v);
        normalise(w->coils, v, length);
        for (int step = 0; step < STEPS; step++) {
            float *swap = v;
            multiply(w->coils, r, v, next);
            normalise(w->coils, next, length);
            v = next;
            next = swap;
        }
        turn(w->coils, w->phase_coil, v);
        memcpy(w->signal + first + x, length, (size_t)count * sizeof *length);
        for (int c = 0; c < w->coils; c++)
            for (int l = 0; l < count; l++)
                w->maps[c * coil + first + x + l] = v[2 * c * LANES + l] + v[(2 * c + 1) * LANES + l] * I;
    }
}

/* Maps of rows [begin, end) of plane z. */
static void maps_of_rows(const walsh *w, int64_t z, int64_t begin, int64_t end, float *scratch)
{
    size_t entries = (size_t)w->coils * (size_t)w->coils, size = entries * (size_t)w->row;
    float *ring = scratch, *covariance = ring + BOX * size, *line = covariance + size;
    float *v = line + w->row + LANES, *next = v + 2 * w->coils * LANES;
    int64_t have, need, unused;
    span(begin, w->n[1], &have, &unused);
    for (int64_t y = begin; y < end; y++) {
        for (span(y, w->n[1], &unused, &need); have < need; have++)
            sum_along_z(w, z, have, ring + (size_t)(have % BOX) * size);
        finish_boxes(w, y, ring, line, covariance);
        maps_of_row(w, z, y, covariance, v, next);
    }
}

/* Works plane by plane on copies of at most BOX planes of the images, so the maps may overwrite the images. */
static void maps_of_planes(vf_context *ctx, const walsh *w)
{
    const int64_t work = (int64_t)w->coils * w->coils * w->n[0] * w->n[1] * w->n[2];
    int64_t chunks = (w->n[1] + ROWS - 1) / ROWS, loaded = 0, unused, need;
#pragma omp parallel num_threads(vf_threads_for(ctx, work)) private(unused, need) firstprivate(loaded)
    for (int64_t z = 0; z < w->n[2]; z++) {
        span(z, w->n[2], &unused, &need);
        for (; loaded < need; loaded++) {
#pragma omp for schedule(static)
            for (int64_t y = 0; y < w->n[1]; y++)
                load_row(w, loaded, y);
        }
#pragma omp for schedule(dynamic, 1)
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            int64_t begin = chunk * ROWS, end = begin + ROWS < w->n[1] ? begin + ROWS : w->n[1];
            if (!vf_cancelled(ctx))
                maps_of_rows(w, z, begin, end,
                             w->scratch + (size_t)vf_room_of(w->rooms, chunks, chunk) * w->scratch_floats);
        }
    }
}

/* Finds the coil with the most energy, and the largest absolute real or imaginary part. */
static vf_status survey(vf_context *ctx, int coils, int64_t voxels, const float complex *images, int *strongest,
                        float *largest)
{
    vf_reduced least, greatest, energy;
    double most = 0;
    *strongest = 0;
    vf_status status = vf_host_reduce(ctx, VF_REDUCE_MIN, VF_F32, 2 * coils * voxels, images, NULL, &least);
    VF_TRY(status, vf_host_reduce(ctx, VF_REDUCE_MAX, VF_F32, 2 * coils * voxels, images, NULL, &greatest));
    if (status != VF_OK)
        return status;
    *largest = (float)fmax(-least.re, greatest.re);
    for (int c = 0; c < coils; c++) {
        status = vf_host_reduce(ctx, VF_REDUCE_SQUARES, VF_C64, voxels, images + c * voxels, NULL, &energy);
        if (status != VF_OK)
            return status;
        if (!isfinite(energy.re))
            return vf_fail(ctx, VF_ERR_INPUT, "coil maps: the image of coil %d is not finite; are the data?", c);
        if (energy.re > most) {
            most = energy.re;
            *strongest = c;
        }
    }
    return VF_OK;
}

static vf_status remove_faint(vf_context *ctx, int coils, int64_t voxels, const float *signal, float complex *maps)
{
    vf_reduced largest;
    vf_status status = vf_host_reduce(ctx, VF_REDUCE_MAX, VF_F32, voxels, signal, NULL, &largest);
    const float bound = faint * faint * (float)largest.re; /* for the eigenvalue, which is a square */
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, coils *voxels))
    for (int c = 0; c < coils; c++)
        for (int64_t n = 0; n < voxels; n++)
            if (!(signal[n] >= bound))
                maps[c * voxels + n] = 0;
    return status;
}

vf_status vf_coil_maps_walsh(vf_context *ctx, const int64_t matrix[3], int coils, const void *images, void *maps)
{
    int strongest = 0;
    int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    float largest = 0;
    vf_status status;
    walsh w = {
        .n = matrix, .coils = coils, .row = (matrix[0] + LANES - 1) / LANES * LANES, .images = images, .maps = maps};
    const int64_t threads = vf_context_threads(ctx), chunks = (matrix[1] + ROWS - 1) / ROWS;
    w.rooms = threads < chunks ? threads : chunks;
    size_t entries = (size_t)coils * (size_t)coils, row = (size_t)w.row;
    w.scratch_floats = (BOX + 1) * entries * row + row + LANES + 4 * (size_t)coils * LANES;
    w.plane = calloc(BOX * (size_t)coils * (size_t)matrix[1] * 2 * row, sizeof *w.plane);
    w.signal = malloc((size_t)voxels * sizeof *w.signal);
    w.scratch = malloc((size_t)w.rooms * w.scratch_floats * sizeof *w.scratch);
    if (!w.plane || !w.signal || !w.scratch) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "coil maps: not enough memory for %d coils of %lld x %lld x %lld voxels",
                         coils, (long long)matrix[0], (long long)matrix[1], (long long)matrix[2]);
        goto done;
    }
    status = survey(ctx, coils, voxels, images, &strongest, &largest);
    if (status != VF_OK)
        goto done;
    w.phase_coil = strongest;
    w.scale = largest >= FLT_MIN ? 1 / largest : 0;
    maps_of_planes(ctx, &w);
    status = remove_faint(ctx, coils, voxels, w.signal, maps);
    if (status == VF_OK && vf_cancelled(ctx))
        status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
done:
    free(w.scratch);
    free(w.signal);
    free(w.plane);
    return status;
}

void vf_taper_centre(int64_t samples, const float *k, const double k_cut[3], int coils, const void *data, void *out)
{
    const float complex *from = data;
    float complex *to = out;
    for (int64_t m = 0; m < samples; m++) {
        double q = 0;
        for (int a = 0; a < 3; a++)
            if (k_cut[a] > 0) {
                double part = (double)k[3 * m + a] / k_cut[a];
                q += part * part;
            }
        float weight = q < 1 ? (float)(0.5 + 0.5 * cos(M_PI * sqrt(q))) : 0;
        for (int c = 0; c < coils; c++)
            to[c * samples + m] = weight * from[c * samples + m];
    }
}

void vf_root_sum_of_squares(int coils, int64_t voxels, const void *images, void *out)
{
    const float complex *from = images;
    float complex *to = out;
    for (int64_t n = 0; n < voxels; n++) {
        double sum = 0;
        for (int c = 0; c < coils; c++) {
            double re = crealf(from[c * voxels + n]), im = cimagf(from[c * voxels + n]);
            sum += re * re + im * im;
        }
        to[n] = (float)sqrt(sum);
    }
}
