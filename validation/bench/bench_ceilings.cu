/* What a GPU can do at most, measured: the ceilings that the benchmarks report shares of. */
#include "bench_ceilings.h"

#include <cuda_runtime.h>

enum { CHAINS = 8, ROUNDS = 4096, THREADS = 256 };

/* CHAINS independent chains of reciprocal square roots a thread: enough to hide the unit's latency, nothing else to do.
 */
__global__ void rsqrt_chains(float *out, float start)
{
    float x[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        x[c] = start + c + threadIdx.x;
    for (int r = 0; r < ROUNDS; r++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x[c]));
    float sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        sum += x[c];
    if (sum == -1) /* never: keeps the compiler from dropping the work */
        *out = sum;
}

/* Chains of the two units' results: each step takes the sine and the cosine of one number. The multiplication that
 * turns radians into the unit's own measure and the sum of the two are on other units, and hidden. */
__global__ void sincos_chains(float *out, float start)
{
    float x[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        x[c] = start + c + threadIdx.x;
    for (int r = 0; r < ROUNDS; r++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++) {
            float sine, cosine;
            asm volatile("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(x[c]));
            asm volatile("cos.approx.ftz.f32 %0, %1;" : "=f"(cosine) : "f"(x[c]));
            x[c] = sine + cosine;
        }
    float sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        sum += x[c];
    if (sum == -1e9f) /* never: keeps the compiler from dropping the work */
        *out = sum;
}

/* Multiply-adds in single precision. */
__global__ void fma_chains(float *out, float start)
{
    float x[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        x[c] = start + c + threadIdx.x;
    for (int r = 0; r < ROUNDS; r++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            asm volatile("fma.rn.ftz.f32 %0, %0, %1, %1;" : "+f"(x[c]) : "f"(start));
    float sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        sum += x[c];
    if (sum == -1) /* never: keeps the compiler from dropping the work */
        *out = sum;
}

/* Steps of all chains a second, the best of some runs; 0 if that could not be measured. */
static double chain_rate(int ordinal, void (*kernel)(float *, float))
{
    cudaDeviceProp properties;
    cudaEvent_t began, ended;
    if (cudaSetDevice(ordinal) != cudaSuccess || cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess ||
        cudaEventCreate(&began) != cudaSuccess || cudaEventCreate(&ended) != cudaSuccess)
        return 0;
    const int blocks = properties.multiProcessorCount * 8 * 4; /* eight blocks fill a multiprocessor's 2,048 threads */
    double best = 0;
    for (int run = 0; run < 8; run++) {
        float milliseconds = 0;
        cudaEventRecord(began);
        kernel<<<blocks, THREADS>>>(nullptr, 2.0f + (float)run);
        cudaEventRecord(ended);
        if (cudaEventSynchronize(ended) != cudaSuccess ||
            cudaEventElapsedTime(&milliseconds, began, ended) != cudaSuccess || !(milliseconds > 0))
            return 0;
        const double rate = (double)blocks * THREADS * ROUNDS * CHAINS / (1e-3 * milliseconds);
        best = rate > best ? rate : best;
    }
    cudaEventDestroy(began);
    cudaEventDestroy(ended);
    return best;
}

extern "C" double bench_ceiling_rsqrt(int ordinal)
{
    return chain_rate(ordinal, rsqrt_chains);
}

extern "C" double bench_ceiling_sincos(int ordinal)
{
    return chain_rate(ordinal, sincos_chains);
}

extern "C" double bench_ceiling_gpu_fma(int ordinal)
{
    return chain_rate(ordinal, fma_chains);
}

extern "C" int bench_cuda_versions(int *driver, int *runtime)
{
    return cudaDriverGetVersion(driver) == cudaSuccess && cudaRuntimeGetVersion(runtime) == cudaSuccess;
}
