/* How much of the calibration data the maps explain: projects images at the block's own resolution on the maps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "espirit_internal.h"
#include "voxfield/team_size.h"

/* One line along an axis: x(n) = sum_k d(k) exp(2 pi i k x), over the square root of its length. */
static void transform_line(double complex *data, int64_t n, int64_t stride, const double complex *root,
                           double complex *line)
{
    for (int64_t x = 0; x < n; x++) {
        const int64_t step = (x - n / 2 + n) % n;
        int64_t turn = ((-n / 2) * (x - n / 2) % n + n) % n; /* of k - n / 2 = -n / 2 */
        double re = 0, im = 0;
        for (int64_t k = 0; k < n; k++) {
            const double complex t = root[turn], d = data[k * stride];
            turn += turn + step < n ? step : step - n; /* without a division for each k */
            re += creal(t) * creal(d) - cimag(t) * cimag(d);
            im += creal(t) * cimag(d) + cimag(t) * creal(d);
        }
        line[x] = (re + im * I) / sqrt((double)n);
    }
    for (int64_t x = 0; x < n; x++)
        data[x * stride] = line[x];
}

static void transform(const espirit *e, double complex *data)
{
    const int64_t *n = e->task->block;
    double complex root[64], line[64];
    int64_t stride = 1;
    for (int a = 0; a < 3; a++) {
        for (int64_t i = 0; i < n[a]; i++)
            root[i] = cos(2 * M_PI * (double)i / (double)n[a]) + sin(2 * M_PI * (double)i / (double)n[a]) * I;
        for (int64_t i = 0; i < e->samples && n[a] > 1; i++)
            if (i / stride % n[a] == 0)
                transform_line(data + i, n[a], stride, root, line);
        stride *= n[a];
    }
}

void espirit_transform(const espirit *e, double complex *data)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(e->ctx, 64 * e->coils * e->samples))
    for (int v = 0; v < e->coils; v++)
        transform(e, data + v * e->samples);
}

/* A first or second map exists at a voxel if its eigenvalue is above these, or if there is a signal for certain. */
static const float FIRST = 0.95f, SECOND = 0.98f, CERTAIN = 0.9f;

static double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* The energy in the virtual coils where two maps exist, and what follows from it. */
static void count_sets(const espirit *e, const double complex *images, const float *eigenvalue,
                       vf_espirit_quality *quality)
{
    double twofold = 0;
    for (int64_t i = 0; i < e->samples && e->coils > 1; i++)
        for (int v = 0; v < e->coils && eigenvalue[e->samples + i] > SECOND; v++)
            twofold += square(images[v * e->samples + i]);
    quality->second_share = twofold / e->energy;
    quality->sets = e->task->sets > 1 && quality->second_share >= e->task->least_share ? 2 : 1;
}

/* The share of the virtual coils' energy that the maps explain. */
static double explained_share(const espirit *e, const double complex *images, const float complex *vectors,
                              const float *eigenvalue, int sets)
{
    const float *sure = e->steady ? e->steady + (ESPIRIT_FIELDS(e) - 1) * e->samples : NULL;
    const double noise = e->sigma * e->sigma * (double)e->samples;
    const double signal = e->energy - noise * e->task->coils;
    double explained = -noise * sets;
    for (int64_t i = 0; i < e->samples; i++)
        for (int s = 0; s < sets; s++) {
            double complex dot = 0;
            for (int v = 0; v < e->coils; v++)
                dot += conj((double complex)vectors[(s * e->coils + v) * e->samples + i]) * images[v * e->samples + i];
            const bool exists = eigenvalue[s * e->samples + i] > FIRST || (s == 0 && sure && sure[i] > CERTAIN);
            explained += exists ? square(dot) : 0;
        }
    return signal > 0 ? fmin(1, fmax(0, explained / signal)) : 0;
}

vf_status espirit_explained(espirit *e, vf_espirit_quality *quality)
{
    const size_t count = (size_t)e->coils * (size_t)e->samples;
    double complex *images = malloc(count * sizeof *images);
    float complex *vectors = malloc(2 * count * sizeof *vectors);
    float *eigenvalue = malloc(2 * (size_t)e->samples * sizeof *eigenvalue);
    vf_status status = VF_OK;
    if (!images || !vectors || !eigenvalue)
        status = vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    VF_TRY(status, espirit_voxels(e, e->task->block, 2, false, vectors, eigenvalue, 0));
    if (status == VF_OK) {
        memcpy(images, e->block, count * sizeof *images);
        espirit_transform(e, images);
        count_sets(e, images, eigenvalue, quality);
    }
    if (status == VF_OK && e->coils > 1)
        status = espirit_steady(e, quality->sets, vectors, eigenvalue);
    if (status == VF_OK)
        quality->explained = explained_share(e, images, vectors, eigenvalue, quality->sets);
    free(images);
    free(vectors);
    free(eigenvalue);
    return status;
}
