/* Where the outermost samples begin, and their noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coil_sums_chunk.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"
#include "wiener_internal.h"

enum { RADII = 4096, CHUNK = 1 << 14, BLOCK = 512 }; /* number of bins; samples per unit of work, and side by side */
enum { MOST_OF_A_COIL = 1 << 16 };                   /* most samples for a median, which is then accurate to 1 % */

double vf_wiener_radius(const vf_wiener_space *space, const double k[3])
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        if (space->matrix[a] > 1)
            sum += k[a] / space->fov[a] * (k[a] / space->fov[a]);
    return sqrt(sum);
}

static bool used(const vf_wiener_samples *samples, int64_t m)
{
    return !samples->weights || samples->weights[m] > 0;
}

double wiener_least_square(double radius)
{
    double square = radius * radius;
    while (square > 0 && sqrt(square) >= radius)
        square = nextafter(square, 0);
    while (sqrt(square) < radius)
        square = nextafter(square, INFINITY);
    return square;
}

/* Squares of the radii of samples from `first` on, at most BLOCK and before `end`; returns how many. */
static int64_t squares_of(const vf_wiener_space *space, const vf_wiener_samples *samples, int64_t first, int64_t end,
                          double square[BLOCK])
{
    const int64_t count = end - first < BLOCK ? end - first : BLOCK;
    coil_sums_chunk_of_cpu()->squares(space, samples->k + 3 * first, count, square);
    return count;
}

/* Counts samples by radius, in RADII bins up to `most`. */
static void count_radii(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                        double most, int64_t found[RADII])
{
    const int64_t blocks = (samples->count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 5 * samples->count))                         \
    reduction(+                                                                                                        \
              : found[:RADII])
    for (int64_t b = 0; b < blocks; b++) {
        double square[BLOCK];
        int32_t bin[BLOCK] = {0};
        const int64_t count = squares_of(space, samples, b * BLOCK, samples->count, square);
        if (most > 0)
            coil_sums_chunk_of_cpu()->radius_bins(square, count, most, RADII - 1, bin);
        for (int64_t m = 0; m < count; m++)
            if (used(samples, b * BLOCK + m))
                found[bin[m]]++;
    }
}

void vf_outer_radii(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples, int shares,
                    const double *share, double *radius)
{
    const int64_t blocks = (samples->count + BLOCK - 1) / BLOCK;
    int64_t all = 0, found[RADII] = {0};
    double most = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 5 * samples->count)) reduction(max : most)
    for (int64_t b = 0; b < blocks; b++) {
        double square[BLOCK];
        const int64_t count = squares_of(space, samples, b * BLOCK, samples->count, square);
        for (int64_t m = 0; m < count; m++)
            most = square[m] > most && used(samples, b * BLOCK + m) ? square[m] : most;
    }
    most = sqrt(most);
    count_radii(ctx, space, samples, most, found);
    for (int bin = 0; bin < RADII; bin++)
        all += found[bin];
    for (int s = 0; s < shares; s++) {
        int64_t outer = 0;
        int bin = RADII - 1;
        for (; bin > 0; bin--) {
            outer += found[bin];
            if ((double)outer >= share[s] * (double)all)
                break;
        }
        radius[s] = bin * most / (RADII - 1);
    }
}

double vf_outer_radius(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                       double share)
{
    double radius;
    vf_outer_radii(ctx, space, samples, 1, &share, &radius);
    return radius;
}

void vf_rings_of(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples, int radii,
                 const double *radius, unsigned char *of)
{
    const int64_t blocks = (samples->count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 5 * samples->count))
    for (int64_t b = 0; b < blocks; b++) {
        double square[BLOCK];
        const int64_t count = squares_of(space, samples, b * BLOCK, samples->count, square);
        memset(&of[b * BLOCK], 0, (size_t)count);
        for (int r = 0; r < radii; r++) {
            const double least = wiener_least_square(radius[r]);
            for (int64_t m = 0; m < count; m++)
                of[b * BLOCK + m] = (unsigned char)(of[b * BLOCK + m] + (square[m] >= least));
        }
    }
}

/* Those of samples [first, end) that are used and not nearer than the root of `least`: returns how many. If `to` is not NULL, puts
 * the place of each whose number, from `number` on, is a multiple of `step` where the multiple says. */
static int64_t find_outer(const vf_wiener_space *space, const vf_wiener_samples *samples, double least, int64_t first,
                          int64_t end, int64_t number, int64_t step, int64_t *to)
{
    double square[BLOCK] = {0};
    int64_t found = 0;
    for (int64_t count; first < end; first += count) {
        count = least > 0 ? squares_of(space, samples, first, end, square) : end - first < BLOCK ? end - first : BLOCK;
        for (int64_t m = 0; m < count; m++)
            if (square[m] >= least && used(samples, first + m)) {
                if (to && (number + found) % step == 0)
                    to[(number + found) / step] = first + m;
                found++;
            }
    }
    return found;
}

vf_status vf_outer_samples(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                           double radius, int64_t most, int64_t **index, int64_t *taken, int64_t *count)
{
    const int64_t chunks = (samples->count + CHUNK - 1) / CHUNK;
    const int threads = vf_threads_for(ctx, 5 * samples->count);
    const double least = wiener_least_square(radius);
    int64_t *begin = calloc((size_t)chunks + 1, sizeof *begin), step = 1;
    *index = NULL;
    *count = *taken = 0;
    for (int pass = 0; pass < 2 && begin; pass++) { /* counts, then writes */
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t c = 0; c < chunks; c++) {
            const int64_t end = (c + 1) * CHUNK < samples->count ? (c + 1) * CHUNK : samples->count;
            const int64_t found = find_outer(space, samples, least, c * CHUNK, end, begin[c], step, *index);
            if (!pass)
                begin[c] = found;
        }
        for (int64_t c = 0; c < chunks && !pass; c++) {
            const int64_t own = begin[c];
            begin[c] = *count;
            *count += own;
        }
        step = *count / most + 1;
        *taken = (*count + step - 1) / step;
        if (!pass && !(*index = malloc((size_t)*taken * sizeof **index + 1)))
            break;
    }
    free(begin);
    return *index ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the outermost samples");
}

/* The median of w |d|^2 over a coil's outer samples; 0 if there are none. `squares` has room for MOST_OF_A_COIL. */
static double median_square(const vf_wiener_samples *samples, const int64_t *outer, int64_t count, int coil,
                            double *squares)
{
    const float *data = samples->data + 2 * coil * (samples->stride ? samples->stride : samples->count);
    int64_t taken = 0;
    for (int64_t i = 0; i < count; i++) {
        const double re = data[2 * outer[i]], im = data[2 * outer[i] + 1];
        if (re != 0 || im != 0)
            squares[taken++] = (re * re + im * im) * (samples->weights ? samples->weights[outer[i]] : 1);
    }
    if (taken == 0)
        return 0;
    return vf_host_select(taken, squares, taken / 2);
}

vf_status vf_outer_variance(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                            double radius, double *variance)
{
    int64_t all = 0, count = 0, coils = 0, *outer = NULL;
    double sum = 0;
    vf_status status = vf_outer_samples(ctx, space, samples, radius, MOST_OF_A_COIL, &outer, &count, &all);
    const int threads = vf_threads_for(ctx, 50 * count * samples->coils);
    double *squares = malloc((size_t)(count * threads) * sizeof *squares + 1);
    double *median = calloc((size_t)samples->coils + 1, sizeof *median);
    if (status == VF_OK && (!squares || !median))
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the noise's samples");
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++) /* each has its own room */
        for (int c = t; c < samples->coils && status == VF_OK; c += threads)
            median[c] = median_square(samples, outer, count, c, squares + t * count);
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
