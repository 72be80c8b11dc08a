/* The plain kernel of the comparison: y(n) = sum c exp(i 2 pi k.r) at the first `voxels` points of a grid. k: x, y,
 * z; c: re, im; all [samples]. out: re, im [voxels]. */
#ifndef BENCH_PLAIN_FOURIER_H
#define BENCH_PLAIN_FOURIER_H

void bench_plain_fourier(const float *const k[3], const float *const c[2], int samples, const int counts[3], int voxels,
                         float *const out[2], int threads);

#endif
