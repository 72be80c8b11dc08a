/* Reads gradient impulse response functions. */
#include "girf_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "mri_scan.h"
#include "voxfield/hdf5_io.h"

static const char FREQUENCY[] = "/girf/frequency", TRANSFER[] = "/girf/transfer";
enum { MOST_FREQUENCIES = 1 << 24 };

static vf_status check_shapes(vf_context *ctx, const char *path, vf_h5 *file, girf *out)
{
    vf_dtype type[2];
    int rank[2];
    int64_t f[VF_H5_MAX_RANK] = {0}, t[VF_H5_MAX_RANK] = {0};
    for (int i = 0; i < 2; i++)
        if (!vf_h5_exists(file, i ? TRANSFER : FREQUENCY))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: dataset %s is missing", path, i ? TRANSFER : FREQUENCY);
    vf_status status = vf_h5_dataset_shape(file, FREQUENCY, &type[0], &rank[0], f);
    VF_TRY(status, vf_h5_dataset_shape(file, TRANSFER, &type[1], &rank[1], t));
    if (status != VF_OK)
        return status;
    if (rank[0] != 1 || f[0] < 2 || f[0] > MOST_FREQUENCIES || vf_dtype_real(type[0]) != type[0])
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %s must be two or more real numbers", path, FREQUENCY);
    out->count = f[0];
    out->crossed = rank[1] == 3;
    if ((rank[1] != 2 && rank[1] != 3) || t[0] != 3 || (out->crossed && t[1] != 3) || t[rank[1] - 1] != out->count ||
        vf_dtype_real(type[1]) == type[1])
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: %s must be complex numbers {r, i} of the shape [3][%" PRId64 "] or [3][3][%" PRId64 "]",
                       path, TRANSFER, out->count, out->count);
    return VF_OK;
}

static vf_status check_values(vf_context *ctx, const char *path, const girf *g)
{
    const int64_t numbers = g->count * (g->crossed ? 9 : 3);
    for (int64_t i = 0; i < g->count; i++)
        if (!isfinite(g->frequency[i]) || (i > 0 && !(g->frequency[i] > g->frequency[i - 1])))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: %s[%" PRId64 "] is %g; frequencies must rise", path, FREQUENCY, i,
                           g->frequency[i]);
    for (int64_t i = 0; i < numbers; i++)
        if (!isfinite(creal(g->transfer[i])) || !isfinite(cimag(g->transfer[i])))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: number %" PRId64 " of %s is not finite", path, i, TRANSFER);
    if (!(g->frequency[0] <= 0 && g->frequency[g->count - 1] > 0))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %s is from %g to %g Hz; it must contain 0", path, FREQUENCY,
                       g->frequency[0], g->frequency[g->count - 1]);
    return VF_OK;
}

vf_status girf_read(vf_context *ctx, const char *path, girf *out)
{
    vf_h5 *file = NULL;
    const int64_t start[3] = {0};
    *out = (girf){0};
    vf_status status = vf_h5_open(ctx, path, &file);
    VF_TRY(status, check_shapes(ctx, path, file, out));
    const int64_t pairs = out->crossed ? 9 : 3;
    VF_TRY(status, SCAN_NEW(ctx, path, FREQUENCY, out->count, out->frequency));
    VF_TRY(status, SCAN_NEW(ctx, path, TRANSFER, pairs * out->count, out->transfer));
    VF_TRY(status, vf_h5_read(file, FREQUENCY, VF_F64, start, &out->count, out->frequency));
    if (status == VF_OK) {
        const int64_t plain[2] = {3, out->count}, crossed[3] = {3, 3, out->count};
        status = vf_h5_read(file, TRANSFER, VF_C128, start, out->crossed ? crossed : plain, out->transfer);
    }
    VF_TRY(status, check_values(ctx, path, out));
    vf_h5_close(&file);
    if (status != VF_OK)
        girf_free(out);
    return status;
}

void girf_free(girf *response)
{
    free(response->frequency);
    free(response->transfer);
    *response = (girf){0};
}

double complex girf_at(const girf *g, int to, int from, double hertz)
{
    if (!g->crossed && to != from)
        return 0;
    const double complex *h = g->transfer + (g->crossed ? 3 * to + from : to) * g->count;
    const bool mirrored = hertz < 0 && g->frequency[0] >= 0;
    const double f = mirrored ? -hertz : hertz;
    int64_t low = 0, high = g->count - 1;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (g->frequency[middle] <= f)
            low = middle;
        else
            high = middle;
    }
    const double share = fmin(1, fmax(0, (f - g->frequency[low]) / (g->frequency[high] - g->frequency[low])));
    const double complex value = h[low] + share * (h[high] - h[low]);
    return mirrored ? conj(value) : value;
}
