/* The plain kernel of the comparison. Grid origin at 0; positions in units of `spacing`. */
#ifndef BENCH_PLAIN_COULOMB_H
#define BENCH_PLAIN_COULOMB_H

void bench_plain_coulomb(const float *x, const float *y, const float *z, const float *q, int atoms, const int counts[3],
                         float spacing, float *out, int threads);

#endif
