/* Transforms of a few numbers whose count has two coprime factors, or is nine: by the prime factor algorithm (Good, J. Royal
 * Statist. Soc. B 20 (1958) 361), which needs no roots of unity between the two. Not installed. */
#ifndef VOXFIELD_TOEPLITZ_FEW_CUH
#define VOXFIELD_TOEPLITZ_FEW_CUH

#include "toeplitz_passes.cuh"

namespace vf_toeplitz_gpu
{

/* Number B n + A m of the input belongs to transform n of length A and m of length B; result k is their result (k mod A, k mod
 * B). */
template <int A, int B, typename T>
__host__ __device__ inline void transform_coprime(number<T> (&v)[A * B])
{
    number<T> table[A][B];
    VF_UNROLL
    for (int m = 0; m < B; m++) {
        number<T> part[A];
        VF_UNROLL
        for (int n = 0; n < A; n++)
            part[n] = v[(B * n + A * m) % (A * B)];
        transform_few(part);
        VF_UNROLL
        for (int n = 0; n < A; n++)
            table[n][m] = part[n];
    }
    VF_UNROLL
    for (int n = 0; n < A; n++)
        transform_few(table[n]);
    VF_UNROLL
    for (int k = 0; k < A * B; k++)
        v[k] = table[k % A][k % B];
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[6])
{
    transform_coprime<3, 2>(v);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[9])
{
    /* exp(-i 2 pi n / 9) */
    const number<T> roots[5] = {{1, 0},
                                {(T)0.76604444311897803520, (T)-0.64278760968653932632},
                                {(T)0.17364817766693034885, (T)-0.98480775301220805937},
                                {(T)-0.5, (T)-0.86602540378443864676},
                                {(T)-0.93969262078590838405, (T)-0.34202014332566873304}};
    number<T> table[3][3];
    VF_UNROLL
    for (int m = 0; m < 3; m++) {
        number<T> part[3] = {v[m], v[m + 3], v[m + 6]};
        transform_few(part);
        table[0][m] = part[0];
        table[1][m] = m ? product(part[1], roots[m]) : part[1];
        table[2][m] = m ? product(part[2], roots[2 * m]) : part[2];
    }
    VF_UNROLL
    for (int k = 0; k < 3; k++) {
        transform_few(table[k]);
        v[k] = table[k][0];
        v[k + 3] = table[k][1];
        v[k + 6] = table[k][2];
    }
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[10])
{
    transform_coprime<5, 2>(v);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[12])
{
    transform_coprime<3, 4>(v);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[14])
{
    transform_coprime<7, 2>(v);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[15])
{
    transform_coprime<3, 5>(v);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[18])
{
    transform_coprime<9, 2>(v);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[20])
{
    transform_coprime<5, 4>(v);
}

} // namespace vf_toeplitz_gpu

#endif
