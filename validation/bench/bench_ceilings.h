/* Measured ceilings of a device. Each function returns a rate per second, or 0 if it cannot be measured. */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Reciprocal square roots in a GPU's special function units, single precision. */
double bench_ceiling_rsqrt(int ordinal);

/* Multiply-adds of a GPU in single precision. */
double bench_ceiling_gpu_fma(int ordinal);

/* Pairs of a sine and a cosine of the same angle, in the same units. */
double bench_ceiling_sincos(int ordinal);
int bench_cuda_versions(int *driver, int *runtime);

/* Multiply-adds in single precision on all threads of the CPU, in the widest vectors that the compiler may use. */
double bench_ceiling_fma(int threads);

#ifdef __cplusplus
}
#endif
#endif
