/* Where the outermost samples begin, and their noise. */
#include <math.h>
#include <stdlib.h>

#include "voxfield/statistics.h"
#include "wiener.h"

enum { RADII = 4096 };             /* number of bins */
enum { MOST_OF_A_COIL = 1 << 16 }; /* most samples for a median, which is then accurate to 1 % */

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

vf_status vf_outer_radius(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples, double share,
                          double *radius)
{
    int64_t *found = calloc(RADII, sizeof *found), all = 0, outer = 0;
    double most = 0;
    int bin = RADII - 1;
    if (!found)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a histogram of radii");
    for (int64_t m = 0; m < samples->count; m++)
        if (used(samples, m))
            most = fmax(most, sample_radius(space, samples, m));
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
    *radius = bin * most / (RADII - 1);
    free(found);
    return VF_OK;
}

/* The median of w |d|^2 over a coil's outer samples; 0 if there are none. */
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
    int64_t count = 0, coils = 0;
    double sum = 0;
    int64_t *outer = malloc((size_t)samples->count * sizeof *outer + 1);
    double *squares = malloc(MOST_OF_A_COIL * sizeof *squares);
    vf_status status =
        outer && squares ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the noise's samples");
    for (int64_t m = 0; status == VF_OK && m < samples->count; m++)
        if (used(samples, m) && sample_radius(space, samples, m) >= radius)
            outer[count++] = m;
    for (int c = 0; status == VF_OK && c < samples->coils; c++) {
        const double median = median_square(samples, outer, count, c, squares);
        sum += median;
        coils += median > 0;
    }
    *variance = coils > 0 ? sum / log(2) / (double)coils : 0;
    free(outer);
    free(squares);
    return status;
}
