/* The plain kernel that the benchmark compares with. Grid origin at 0; positions in the unit of `spacing`. */
#ifndef BENCH_PLAIN_COULOMB_H
#define BENCH_PLAIN_COULOMB_H

void bench_plain_coulomb(const float *x, const float *y, const float *z, const float *q, int atoms, const int counts[3],
                         float spacing, float *out, int threads);

#endif
