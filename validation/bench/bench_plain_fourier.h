/* The plain kernel that the benchmark compares with: y(n) = sum c exp(i 2 pi k.r) at `voxels` points of a grid from the
 * first on; k: x, y, z; c: re, im; all [samples]. out: re, im [voxels]. */
#ifndef BENCH_PLAIN_FOURIER_H
#define BENCH_PLAIN_FOURIER_H

void bench_plain_fourier(const float *const k[3], const float *const c[2], int samples, const int counts[3], int voxels,
                         float *const out[2], int threads);

#endif
