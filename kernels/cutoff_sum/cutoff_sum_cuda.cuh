/* What the CUDA backends share: the law S(r); not installed. */
#ifndef VOXFIELD_CUTOFF_SUM_CUDA_CUH
#define VOXFIELD_CUTOFF_SUM_CUDA_CUH

#include "backend/bin_order.cuh"
#include "cutoff_sum_backend.h"

namespace vf_cutoff_gpu
{

/* The shape of a law, known when a kernel is compiled: the degree of the smooth part, or one of these. */
enum {
    LAW_ANY = -1,      /* any degree */
    LAW_WINDOWED = -2, /* without a smooth part */
    LAW_PLAIN = -3     /* without either */
};

template <typename T>
struct pair_law {
    T cutoff_squared, r_min_squared, scale; /* t = scale r^2 - 1 */
    T coefficient[VF_PROLATE_POWERS];       /* of the smooth part */
    int degree;
    bool windowed;
    T on, a, b, inverse_squared; /* of the window (vf_cutoff_window) */
};

template <typename T>
pair_law<T> make_law(const vf_cutoff *plan, const vf_prolate_powers &smooth)
{
    const double rc = plan->options.cutoff;
    pair_law<T> law = {};
    law.cutoff_squared = (T)(rc * rc);
    law.r_min_squared = (T)(plan->options.r_min * plan->options.r_min);
    law.scale = (T)(2 / (rc * rc));
    for (int k = 0; k < VF_PROLATE_POWERS; k++)
        law.coefficient[k] = (T)smooth.coefficient[k];
    law.degree = smooth.degree;
    law.windowed = plan->window.used;
    law.on = (T)plan->window.on;
    law.a = (T)plan->window.a;
    law.b = (T)plan->window.b;
    law.inverse_squared = (T)(1 / (rc * rc));
    return law;
}

__device__ inline float inverse_root(float x)
{
    return rsqrtf(x);
}

__device__ inline double inverse_root(double x)
{
    return rsqrt(x);
}

/* S at the squared distance s, which is below the cutoff's. */
template <typename T, int LAW>
__device__ inline T pair_value(const pair_law<T> &law, T s)
{
    const T near = s > law.r_min_squared ? s : law.r_min_squared, root = inverse_root(near);
    if (LAW == LAW_PLAIN)
        return root;
    if (LAW == LAW_WINDOWED) {
        const T u = near * law.inverse_squared, v = u > law.on ? u : law.on, rest = 1 - v;
        return rest * rest * (law.b * v + law.a) * root;
    }
    const int degree = LAW >= 0 ? LAW : law.degree;
    const T t = s * law.scale - 1;
    T smooth = law.coefficient[degree];
#pragma unroll
    for (int k = degree - 1; k >= 0; k--)
        smooth = smooth * t + law.coefficient[k];
    return root - smooth;
}

} // namespace vf_cutoff_gpu

#endif
