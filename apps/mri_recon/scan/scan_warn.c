/* What is allowed in a scan but seldom meant. */
#include <math.h>

#include "mri_recon.h"
#include "scan_internal.h"

/* A trajectory that reaches less of the matrix's k-space makes a blurred image: often wrong units. */
static const double LEAST_COVERED = 0.25;

static void warn_of_extent(vf_context *ctx, const char *name, const scan *raw)
{
    double most[3] = {0, 0, 0};
    static const char axes[] = "xyz";
    for (int t = 0; t < raw->trajectories; t++) {
        double extent[3];
        scan_extent(raw->trajectory[t].k, raw->trajectory[t].samples, extent);
        for (int a = 0; a < 3; a++)
            most[a] = fmax(most[a], extent[a]);
    }
    for (int a = 0; a < 3; a++) {
        const double edge = (double)raw->matrix[a] / 2;
        if (raw->matrix[a] > 1 && most[a] == 0)
            vf_warn(ctx, "%s: no sample has k%c other than 0, though the matrix is %lld along %c; a plane has 1 there",
                    name, axes[a], (long long)raw->matrix[a], axes[a]);
        else if (raw->matrix[a] > 1 && most[a] < LEAST_COVERED * edge)
            vf_warn(
                ctx,
                "%s: the trajectory reaches |k%c| = %.3g of %g cycles per field of view that the matrix resolves; the "
                "image will be blurred: are the units right?",
                name, axes[a], most[a], edge);
    }
}

void scan_warn(vf_context *ctx, const char *name, const scan *raw)
{
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    warn_of_extent(ctx, name, raw);
    for (int c = 0; raw->sensitivity && c < raw->coils; c++)
        if (scan_all_zero((const float *)(raw->sensitivity + c * voxels), 2 * voxels))
            vf_warn(ctx, "%s: the map of coil %d (counted from 0) is 0 everywhere: its data will not be used", name, c);
}
