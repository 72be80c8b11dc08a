/* One voxel of the first differences, for CUDA and OpenCL: y[n] += scale times the sum of the weighted differences from the
 * neighbours of voxel n. A weight is of the difference between a voxel and its predecessor; w: NULL for all 1. */
DEVICE_FUNCTION void add_differences_of_voxel(LONG n, const LONG *counts, LONG voxels, REAL scale,
                                              GLOBAL const REAL *weights, GLOBAL const REAL2 *x, GLOBAL REAL2 *y)
{
    const REAL2 here = x[n];
    REAL2 sum = here, value = y[n];
    LONG step = 1;
    sum.x = sum.y = 0;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        const LONG at = n / step % counts[a];
        GLOBAL const REAL *w = weights ? weights + a * voxels : 0;
        if (at > 0) {
            const REAL weight = w ? w[n] : 1;
            const REAL2 there = x[n - step];
            sum.x += weight * (here.x - there.x);
            sum.y += weight * (here.y - there.y);
        }
        if (at < counts[a] - 1) {
            const REAL weight = w ? w[n + step] : 1;
            const REAL2 there = x[n + step];
            sum.x += weight * (here.x - there.x);
            sum.y += weight * (here.y - there.y);
        }
        step *= counts[a];
    }
    value.x += scale * sum.x;
    value.y += scale * sum.y;
    y[n] = value;
}
