/* A good program without Voxfield: the Coulomb sum in plain C that the compiler vectorises, one grid row at a time,
 * OpenMP over rows. Compiled with -O3 -march=native -ffast-math, like the best peers' kernels. Also the CPU's
 * multiply-add ceiling, with the same flags. */
#include "bench_plain_coulomb.h"

#include <math.h>

#include "bench_ceilings.h"
#include "voxfield/timer.h"

void bench_plain_coulomb(const float *x, const float *y, const float *z, const float *q, int atoms, const int counts[3],
                         float spacing, float *out, int threads)
{
    int rows = counts[1] * counts[2];
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int row = 0; row < rows; row++) {
        float *v = out + (long)row * counts[0];
        float py = spacing * (float)(row % counts[1]), pz = spacing * (float)(row / counts[1]);
        for (int i = 0; i < counts[0]; i++)
            v[i] = 0;
        for (int a = 0; a < atoms; a++) {
            float dy = py - y[a], dz = pz - z[a], yz = dy * dy + dz * dz, ax = x[a], qa = q[a];
            for (int i = 0; i < counts[0]; i++) {
                float dx = spacing * (float)i - ax;
                v[i] += qa / sqrtf(dx * dx + yz);
            }
        }
    }
}

double bench_ceiling_fma(int threads)
{
#ifdef __AVX512F__
    enum { LANES = 16, CHAINS = 12, ROUNDS = 4000000 };
#else /* all chains fit in 16 registers */
    enum { LANES = 8, CHAINS = 12, ROUNDS = 4000000 };
#endif
    typedef float vec __attribute__((vector_size(4 * LANES)));
    double best = 0;
    for (int run = 0; run < 3; run++) {
        double began = vf_now();
        float check = 0;
#pragma omp parallel num_threads(threads) reduction(+ : check)
        {
            vec sum[CHAINS], a = 0.999f - (vec){0}, b = 1e-3f - (vec){0};
            for (int c = 0; c < CHAINS; c++)
                sum[c] = (float)c - (vec){0};
            for (int r = 0; r < ROUNDS; r++)
                for (int c = 0; c < CHAINS; c++)
                    sum[c] = sum[c] * a + b;
            for (int c = 0; c < CHAINS; c++)
                check += sum[c][c];
        }
        double rate = (double)threads * ROUNDS * CHAINS * LANES / (vf_now() - began);
        if (check > -1 && rate > best)
            best = rate;
    }
    return best;
}
