/* A good program without Voxfield: the Fourier sum in plain C that the compiler vectorises, with the C library's
 * vector sine and cosine if it has them; OpenMP over voxels. Compiled with -O3 -march=native -ffast-math.
 */
#include "bench_plain_fourier.h"

#include <math.h>

void bench_plain_fourier(const float *const k[3], const float *const c[2], int samples, const int counts[3], int voxels,
                         float *const out[2], int threads)
{
    const float *kx = k[0], *ky = k[1], *kz = k[2], *c_re = c[0], *c_im = c[1];
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int n = 0; n < voxels; n++) {
        float x = (float)(n % counts[0]) / (float)counts[0] - 0.5f;
        float y = (float)(n / counts[0] % counts[1]) / (float)counts[1] - 0.5f;
        float z = (float)(n / counts[0] / counts[1]) / (float)counts[2] - 0.5f;
        float re = 0, im = 0;
        for (int m = 0; m < samples; m++) {
            float phase = 6.2831853f * (kx[m] * x + ky[m] * y + kz[m] * z), si = sinf(phase);
            float co = sinf(phase + 1.5707964f); /* the compiler merges cosf and sinf into one call that has no
                                                  * vector form */
            re += c_re[m] * co - c_im[m] * si;
            im += c_re[m] * si + c_im[m] * co;
        }
        out[0][n] = re;
        out[1][n] = im;
    }
}
