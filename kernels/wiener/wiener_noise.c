/* Where the outermost samples begin, and their noise. */
#include <math.h>
#include <stdlib.h>

#include "voxfield/statistics.h"
#include "voxfield/team_size.h"
#include "wiener.h"

enum { RADII = 4096, CHUNK = 1 << 14 }; /* number of bins; samples per unit of work */
enum { MOST_OF_A_COIL = 1 << 16 };      /* most samples for a median, which is then accurate to 1 % */

double vf_wiener_radius(const vf_wiener_space *space, const double k[3])
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        if (space->matrix[a] > 1)
            sum += k[a] / space->fov[a] * (k[a] / space->fov[a]);
    return sqrt(sum);
}

static double sample_radius(const vf_wiener_space *space, const vf_wiener_samples *samples, int64_t m)
{
    const float *k = samples->k + 3 * m;
    return vf_wiener_radius(space, (const double[3]){k[0], k[1], k[2]});
}

static bool used(const vf_wiener_samples *samples, int64_t m)
{
    return !samples->weights || samples->weights[m] > 0;
}

double vf_outer_radius(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                       double share)
{
    const int threads = vf_threads_for(ctx, 5 * samples->count);
    int64_t all = 0, outer = 0;
    double most = 0;
    int bin = RADII - 1;
    int64_t found[RADII] = {0};
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : most)
    for (int64_t m = 0; m < samples->count; m++) {
        const double at = used(samples, m) ? sample_radius(space, samples, m) : 0;
        most = at > most ? at : most;
    }
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : found, all)
    for (int64_t m = 0; m < samples->count; m++) {
        if (!used(samples, m))
            continue;
        const double at = most > 0 ? sample_radius(space, samples, m) / most * (RADII - 1) : 0;
        found[(int)at]++;
        all++;
    }
    for (; bin > 0; bin--) {
        outer += found[bin];
        if ((double)outer >= share * (double)all)
            break;
    }
    return bin * most / (RADII - 1);
}

vf_status vf_outer_samples(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                           double radius, int64_t **index, int64_t *count)
{
    const int64_t chunks = (samples->count + CHUNK - 1) / CHUNK;
    const int threads = vf_threads_for(ctx, 5 * samples->count);
    int64_t *begin = calloc((size_t)chunks + 1, sizeof *begin);
    *index = malloc((size_t)samples->count * sizeof **index + 1);
    *count = 0;
    if (!begin || !*index) {
        free(begin);
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the outermost samples");
    }
    for (int pass = 0; pass < 2; pass++) { /* counts, then writes */
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t c = 0; c < chunks; c++) {
            const int64_t end = (c + 1) * CHUNK < samples->count ? (c + 1) * CHUNK : samples->count;
            int64_t at = pass ? begin[c] : 0;
            for (int64_t m = c * CHUNK; m < end; m++)
                if (used(samples, m) && sample_radius(space, samples, m) >= radius) {
                    if (pass)
                        (*index)[at] = m;
                    at++;
                }
            if (!pass)
                begin[c] = at;
        }
        for (int64_t c = 0; c < chunks && !pass; c++) {
            const int64_t own = begin[c];
            begin[c] = *count;
            *count += own;
        }
    }
    free(begin);
    return VF_OK;
}

/* The median of w |d|^2 over a coil's outer samples; 0 if there are none. `squares` has room for MOST_OF_A_COIL. */
static double median_square(const vf_wiener_samples *samples, const int64_t *outer, int64_t count, int coil,
                            double *squares)
{
    const float *data = samples->data + 2 * coil * (samples->stride ? samples->stride : samples->count);
    int64_t taken = 0;
    const int64_t step = count / MOST_OF_A_COIL + 1;
    for (int64_t i = 0; i < count; i += step) {
        const double re = data[2 * outer[i]], im = data[2 * outer[i] + 1];
        if (re != 0 || im != 0)
            squares[taken++] = (re * re + im * im) * (samples->weights ? samples->weights[outer[i]] : 1);
    }
    if (taken == 0)
        return 0;
    vf_host_sort(taken, squares);
    return squares[taken / 2];
}

vf_status vf_outer_variance(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                            double radius, double *variance)
{
    int64_t count = 0, coils = 0, *outer = NULL;
    double sum = 0;
    vf_status status = vf_outer_samples(ctx, space, samples, radius, &outer, &count);
    const int64_t room = count < MOST_OF_A_COIL ? count : MOST_OF_A_COIL;
    const int threads = vf_threads_for(ctx, 50 * room * samples->coils);
    double *squares = malloc((size_t)(room * threads) * sizeof *squares + 1);
    double *median = calloc((size_t)samples->coils + 1, sizeof *median);
    if (status == VF_OK && (!squares || !median))
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the noise's samples");
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++) /* each has its own room */
        for (int c = t; c < samples->coils && status == VF_OK; c += threads)
            median[c] = median_square(samples, outer, count, c, squares + t * room);
    for (int c = 0; c < samples->coils && status == VF_OK; c++) { /* in order */
        sum += median[c];
        coils += median[c] > 0;
    }
    *variance = coils > 0 ? sum / log(2) / (double)coils : 0;
    free(outer);
    free(squares);
    free(median);
    return status;
}
