/* Shared by the files of the Toeplitz multiplication on GPUs. Not installed. */
#ifndef VOXFIELD_TOEPLITZ_CUDA_CUH
#define VOXFIELD_TOEPLITZ_CUDA_CUH

#include "backend/cuda_check.cuh"
#include "toeplitz_backend.h"
#include "toeplitz_flow.h"

namespace vf_toeplitz_gpu
{

template <typename T>
struct __align__(2 * sizeof(T)) number
{
    T re, im;
};

template <typename T>
__host__ __device__ inline number<T> operator+(number<T> a, number<T> b)
{
    return {a.re + b.re, a.im + b.im};
}

template <typename T>
__host__ __device__ inline number<T> operator-(number<T> a, number<T> b)
{
    return {a.re - b.re, a.im - b.im};
}

template <typename T>
__host__ __device__ inline number<T> product(number<T> a, number<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <typename T>
__host__ __device__ inline number<T> conjugate(number<T> a)
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

/* A plan and one batch, for the kernels. Items are pairs of a coil and a segment, numbered with the segments fastest. A
 * batch has `count` items from `first` on. */
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

/* s_c(n) e_l(n) of an item. */
template <typename T>
__device__ inline number<T> seen_through(const work<T> &w, int item, int64_t n)
{
    number<T> s = {1, 0};
    if (w.maps)
        s = w.maps[item / w.segments * w.voxels + n];
    if (w.time) {
        const double turns = -w.time[item % w.segments] * (double)w.field[n];
        number<T> e;
        /* Whole turns are removed in double precision, so that many turns cost no accuracy. */
        sine_cosine_pi((T)(2 * (turns - rint(turns))), &e.im, &e.re);
        s = product(s, e);
    }
    return s;
}

/* ---- built-in Fourier transforms (toeplitz_axes.cu), for lengths with the prime factors 2, 3, 5 and 7 ---- */

enum { MOST_PASSES = 8 };

/* The Stockham passes of one length. After pass p the line consists of transforms of length radix[0] x ... x
 * radix[p]. */
struct axis_plan {
    int length, passes, radix[MOST_PASSES];
};

/* How thread blocks share an axis' lines: `lines` lines per block, `threads` threads per line. */
struct axis_shape {
    axis_plan plan;
    int lines, threads, bytes; /* bytes of shared memory */
    const void *roots;         /* [length] exp(-i 2 pi k / length), in device memory */
};

struct axes {
    axis_shape axis[3];
    vf_array roots; /* of all three */
};

/* Sets *possible: whether these transforms support the lengths `doubled`. If so, fills in `out`; otherwise its roots
 * stay empty. Errors: VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
vf_status axes_create(vf_device *device, vf_dtype precision, const int64_t doubled[3], bool *possible, axes *out);

/* The complex numbers that w.buffer needs for one array. */
int64_t axes_buffer(const int64_t matrix[3], const int64_t doubled[3]);

/* Transforms q, the doubled grid, in place. */
template <typename T>
cudaError_t axes_transform(const axes *a, const work<T> &w, cudaStream_t stream, number<T> *q);

/* y = a batch's sum over its arrays if w.first is 0; otherwise y += that sum. */
template <typename T>
cudaError_t axes_apply(const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *x, number<T> *y);

/* Transforms the rows along x of x times map and e_l, into the buffer: [count][z][y][2x], or [count][z][y][x] with HALF
 * 0, where no half of a row is zero. */
template <typename T, int HALF>
cudaError_t rows_enter(const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *x);

/* Transforms the rows back: y (+)= the sum over the batch. */
template <typename T, int HALF>
cudaError_t rows_leave(const axes *a, const work<T> &w, cudaStream_t stream, number<T> *y);

/* ---- circulant matrices (toeplitz_circulant.cu): w.doubled is w.matrix ---- */

/* found[a] = 1 for each axis that P [voxels] depends on, else 0; device memory. */
template <typename T>
cudaError_t circulant_find(const work<T> &w, cudaStream_t stream, const T *p, int *found);

/* kernel = scale P */
template <typename T>
cudaError_t circulant_set(const work<T> &w, cudaStream_t stream, double scale, const T *p, T *kernel);

/* Like axes_apply, but without transforms along unused axes. At least one of y and z must be used. */
template <typename T>
cudaError_t circulant_apply(const axes *a, const bool used[3], const work<T> &w, cudaStream_t stream,
                            const number<T> *x, number<T> *y);

/* ---- by transforms of two or three passes with as many threads (toeplitz_flow.cu), for the lengths in toeplitz_tiles.cuh ---- */

struct flow_plan {
    vf_flow_shape shape; /* arrays: the most of a batch */
    int threads, row_pitch, most_lines;
    vf_array tables;      /* device memory */
    const void *roots[3]; /* there, of each axis; see fill_roots */
};

/* The lengths that the axes are padded to. False if axes_apply is the better one: if an axis is too short or too long, or the padding
 * would be too much. */
bool flow_lengths(vf_dtype precision, const int64_t matrix[3], int64_t lengths[3]);

/* `a`: of those lengths. most_bytes: of shared memory that a thread block can have. The caller frees out->tables. Errors:
 * VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
vf_status flow_create(vf_device *device, vf_dtype precision, const int64_t matrix[3], const axes *a, int most_bytes,
                      flow_plan *out);

/* Numbers that w.buffer needs; the numbers of a segment's kernel. */
int64_t flow_buffer(const flow_plan *p);
int64_t flow_factors(const flow_plan *p);

/* The kernel of one segment, from Q. w.doubled: the padded lengths. */
template <typename T>
cudaError_t flow_set(const flow_plan *p, const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *q,
                     T *factors);

/* As axes_apply; w.count <= p->shape.arrays. */
template <typename T>
cudaError_t flow_apply(const flow_plan *p, const work<T> &w, cudaStream_t stream, const number<T> *x, number<T> *y);

} // namespace vf_toeplitz_gpu

#endif
