/* What the files of the Toeplitz multiplication on GPUs share; not installed. */
#ifndef VOXFIELD_TOEPLITZ_CUDA_CUH
#define VOXFIELD_TOEPLITZ_CUDA_CUH

#include "backend/cuda_check.cuh"
#include "toeplitz_backend.h"

namespace vf_toeplitz_gpu
{

template <typename T>
struct __align__(2 * sizeof(T)) number
{
    T re, im;
};

template <typename T>
__device__ inline number<T> operator+(number<T> a, number<T> b)
{
    return {a.re + b.re, a.im + b.im};
}

template <typename T>
__device__ inline number<T> operator-(number<T> a, number<T> b)
{
    return {a.re - b.re, a.im - b.im};
}

template <typename T>
__device__ inline number<T> product(number<T> a, number<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <typename T>
__device__ inline number<T> conjugate(number<T> a)
{
    return {a.re, -a.im};
}

__device__ inline void sine_cosine_pi(float x, float *sine, float *cosine)
{
    sincospif(x, sine, cosine);
}

__device__ inline void sine_cosine_pi(double x, double *sine, double *cosine)
{
    sincospi(x, sine, cosine);
}

/* What the kernels need to know of a plan and of what is applied: pairs of a coil and a segment, numbered with the
 * segments fastest, of which a batch begins at `first`. */
template <typename T>
struct work {
    int64_t matrix[3], doubled[3], voxels, points;
    int segments, first, count;
    const double *time; /* or NULL */
    const float *field;
    const number<T> *maps; /* or NULL */
    const T *kernels;
    number<T> *buffer;
};

/* s_c(n) e_l(n) of the `item`-th pair. */
template <typename T>
__device__ inline number<T> seen_through(const work<T> &w, int item, int64_t n)
{
    number<T> s = {1, 0};
    if (w.maps)
        s = w.maps[item / w.segments * w.voxels + n];
    if (w.time) {
        const double turns = -w.time[item % w.segments] * (double)w.field[n];
        number<T> e;
        /* Reduced in double precision, so that many turns cost no accuracy. */
        sine_cosine_pi((T)(2 * (turns - rint(turns))), &e.im, &e.re);
        s = product(s, e);
    }
    return s;
}

/* ---- transforms of our own (toeplitz_axes.cu), for lengths whose prime factors are 2, 3, 5 and 7 ---- */

enum { MOST_PASSES = 8 };

/* Stockham's passes of one length: after those of radix[0] to radix[p-1] the line is in transforms of their product. */
struct axis_plan {
    int length, passes, radix[MOST_PASSES];
};

/* How an axis' lines are shared out: `lines` of a thread block, `threads` for each. */
struct axis_shape {
    axis_plan plan;
    int lines, threads, bytes; /* bytes of shared memory */
    const void *roots;         /* [length] exp(-i 2 pi k / length) of the precision at hand, device memory */
};

struct axes {
    axis_shape axis[3];
    vf_array roots; /* of all three */
};

/* Whether the transforms of `doubled` can be made so; then `out` is filled in, else its roots are no array. Errors:
 * VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
vf_status axes_create(vf_device *device, vf_dtype precision, const int64_t doubled[3], bool *possible, axes *out);

/* Complex numbers that w.buffer is to have for one array. */
int64_t axes_buffer(const int64_t matrix[3], const int64_t doubled[3]);

/* q, the doubled grid, to its transform in place. */
template <typename T>
cudaError_t axes_transform(const axes *a, const work<T> &w, cudaStream_t stream, number<T> *q);

/* y (+)= a batch's sum over its arrays, w.first being 0 or more. */
template <typename T>
cudaError_t axes_apply(const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *x, number<T> *y);

/* buffer [count][z][y][2x], or [count][z][y][x] where no HALF is zero: rows along x of x times map and e_l. */
template <typename T, int HALF>
cudaError_t rows_enter(const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *x);

/* And back: y (+)= the sum over the batch. */
template <typename T, int HALF>
cudaError_t rows_leave(const axes *a, const work<T> &w, cudaStream_t stream, number<T> *y);

/* ---- circulant matrices (toeplitz_circulant.cu): w.doubled is w.matrix ---- */

/* found[a] = 1 for each axis that P [voxels] depends on, else 0; device memory. */
template <typename T>
cudaError_t circulant_find(const work<T> &w, cudaStream_t stream, const T *p, int *found);

/* kernel = scale P */
template <typename T>
cudaError_t circulant_set(const work<T> &w, cudaStream_t stream, double scale, const T *p, T *kernel);

/* As axes_apply, without transforms along the axes that are not used; y or z is. */
template <typename T>
cudaError_t circulant_apply(const axes *a, const bool used[3], const work<T> &w, cudaStream_t stream,
                            const number<T> *x, number<T> *y);

} // namespace vf_toeplitz_gpu

#endif
