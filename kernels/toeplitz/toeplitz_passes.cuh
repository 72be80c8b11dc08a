/* Fourier transforms of lines in shared memory. A thread block transforms its lines by Stockham's passes, which leave
 * the results in order (Govindaraju et al., Proc. SC 2008). Lengths have the prime factors 2, 3, 5 and 7. Not
 * installed.
 *
 * A pass of radix R takes R numbers of a line that are length / R apart, multiplies them by roots of unity from a
 * table, transforms them in registers, and writes them to their places in the result. The first pass loads and the last
 * pass stores through a port that the caller provides, so a line of two passes goes through shared memory once.
 */
#ifndef VOXFIELD_TOEPLITZ_PASSES_CUH
#define VOXFIELD_TOEPLITZ_PASSES_CUH

#include <type_traits>

#include "toeplitz_cuda.cuh"

/* For loops in code that is for the host too, whose compiler would warn of the pragma. */
#ifdef __CUDA_ARCH__
#define VF_UNROLL _Pragma("unroll")
#else
#define VF_UNROLL
#endif

namespace vf_toeplitz_gpu
{

/* ---- transforms of a few numbers, in place, with exp(-i 2 pi m k / R) ---- */

template <typename T>
__host__ __device__ inline number<T> times_minus_i(number<T> a)
{
    return {a.im, -a.re};
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&)[1])
{
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[2])
{
    const number<T> difference = v[0] - v[1];
    v[0] = v[0] + v[1];
    v[1] = difference;
}

/* HALF: c and d are zero. */
template <bool HALF, typename T>
__host__ __device__ inline void transform_four(number<T> &a, number<T> &b, number<T> &c, number<T> &d)
{
    const number<T> p = HALF ? a : a + c, q = HALF ? a : a - c, r = HALF ? b : b + d,
                    s = times_minus_i(HALF ? b : b - d);
    a = p + r;
    b = q + s;
    c = p - r;
    d = q - s;
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[4])
{
    transform_four<false>(v[0], v[1], v[2], v[3]);
}

template <bool HALF, typename T>
__host__ __device__ inline void transform_eight(number<T> (&v)[8])
{
    const T half = (T)0.70710678118654752440;
    const number<T> roots[4] = {{1, 0}, {half, -half}, {0, -1}, {-half, -half}};
    number<T> even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
    transform_four<HALF>(even[0], even[1], even[2], even[3]);
    transform_four<HALF>(odd[0], odd[1], odd[2], odd[3]);
    VF_UNROLL
    for (int k = 0; k < 4; k++) {
        const number<T> turned = k == 0 ? odd[0] : k == 2 ? times_minus_i(odd[2]) : product(odd[k], roots[k]);
        v[k] = even[k] + turned;
        v[k + 4] = even[k] - turned;
    }
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[8])
{
    transform_eight<false>(v);
}

template <bool HALF, typename T>
__host__ __device__ inline void transform_sixteen(number<T> (&v)[16])
{
    const T c = (T)0.92387953251128675613, s = (T)0.38268343236508977173, h = (T)0.70710678118654752440;
    /* exp(-i 2 pi n / 16) */
    const number<T> roots[10] = {{1, 0},   {c, -s},  {h, -h},  {s, -c}, {0, -1},
                                 {-s, -c}, {-h, -h}, {-c, -s}, {-1, 0}, {-c, s}};
    VF_UNROLL
    for (int i = 0; i < 4; i++) {
        transform_four<HALF>(v[i], v[i + 4], v[i + 8], v[i + 12]);
        VF_UNROLL
        for (int k = 1; k < 4; k++)
            if (i * k == 4)
                v[i + 4 * k] = times_minus_i(v[i + 4 * k]);
            else if (i > 0)
                v[i + 4 * k] = product(v[i + 4 * k], roots[i * k]);
    }
    VF_UNROLL
    for (int k = 0; k < 4; k++)
        transform_four<false>(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
    /* v[4 k + m] now holds result k + 4 m */
    VF_UNROLL
    for (int k = 0; k < 4; k++)
        VF_UNROLL
    for (int m = k + 1; m < 4; m++) {
        const number<T> other = v[4 * k + m];
        v[4 * k + m] = v[4 * m + k];
        v[4 * m + k] = other;
    }
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[16])
{
    transform_sixteen<false>(v);
}

/* Of numbers whose second half is zero. */
template <typename T, int R>
__host__ __device__ inline void transform_half(number<T> (&v)[R])
{
    if constexpr (R == 8)
        transform_eight<true>(v);
    else if constexpr (R == 16)
        transform_sixteen<true>(v);
    else
        transform_few(v);
}

/* R odd. The symmetry of cosines and sines saves half of the multiplications of the plain sum. */
template <typename T, int R>
__host__ __device__ inline void transform_odd(number<T> (&v)[R], const T (&cosine)[R / 2], const T (&sine)[R / 2])
{
    number<T> sum[R / 2], difference[R / 2], out[R];
    out[0] = v[0];
    VF_UNROLL
    for (int k = 0; k < R / 2; k++) {
        sum[k] = v[k + 1] + v[R - 1 - k];
        difference[k] = v[k + 1] - v[R - 1 - k];
        out[0] = out[0] + sum[k];
    }
    VF_UNROLL
    for (int m = 1; m <= R / 2; m++) {
        number<T> even = v[0], odd = {0, 0};
        VF_UNROLL
        for (int k = 1; k <= R / 2; k++) {
            const int n = m * k % R, at = n <= R / 2 ? n - 1 : R - n - 1;
            const T c = cosine[at], s = n <= R / 2 ? sine[at] : -sine[at];
            even = {even.re + c * sum[k - 1].re, even.im + c * sum[k - 1].im};
            odd = {odd.re + s * difference[k - 1].re, odd.im + s * difference[k - 1].im};
        }
        out[m] = even + times_minus_i(odd);
        out[R - m] = even - times_minus_i(odd);
    }
    VF_UNROLL
    for (int m = 0; m < R; m++)
        v[m] = out[m];
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[3])
{
    const T cosine[1] = {(T)-0.5}, sine[1] = {(T)0.86602540378443864676};
    transform_odd(v, cosine, sine);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[5])
{
    const T cosine[2] = {(T)0.30901699437494742410, (T)-0.80901699437494742410},
            sine[2] = {(T)0.95105651629515357212, (T)0.58778525229247312917};
    transform_odd(v, cosine, sine);
}

template <typename T>
__host__ __device__ inline void transform_few(number<T> (&v)[7])
{
    const T cosine[3] = {(T)0.62348980185873353053, (T)-0.22252093395631440429, (T)-0.90096886790241912624},
            sine[3] = {(T)0.78183148246802980871, (T)0.97492791218182360702, (T)0.43388373911755812048};
    transform_odd(v, cosine, sine);
}

/* ---- transforms of a line ---- */

/* A thread's place in its line, and the line's shared memory. The memory has two halves: each pass reads one and writes
 * the other. Half 1 comes first in memory. A transform that begins at half 0 writes half 1 first, so a transform of two
 * passes that stores to its port needs no half 0. */
template <typename T, bool ROWS>
struct line_place {
    number<T> *memory;
    int thread, threads; /* of the threads that share the line */
    int pitch;           /* columns are interleaved: the distance between neighbours in a line */
    int half;            /* the distance from half 1 to half 0 */

    /* Rows leave one place in 17 empty, to avoid bank conflicts. */
    __device__ number<T> &at(int which, int i) const
    {
        return memory[(which ? 0 : half) + (ROWS ? i + (i >> 4) : i * pitch)];
    }
};

/* A port has load(i); finished(i, v), the value to store, and store(i, v); and between(i, v), the value to keep if the
 * line stays in shared memory. What finished() loads need not wait for what store() stores. HALF_IN: the line's upper
 * half is zero and is not loaded. HALF_OUT: the upper half is not needed and is not stored. */
template <int R, typename T, bool ROWS, typename Port>
__device__ __forceinline__ void pass(const line_place<T, ROWS> &place, int length, int done,
                                     const number<T> *__restrict__ roots, int from, bool loads, bool stores, bool last,
                                     const Port &port)
{
    const int apart = length / R, step = apart / done;
    for (int j = place.thread; j < apart; j += place.threads) {
        number<T> v[R];
        const int k = j % done;
        if (loads) {
#pragma unroll
            for (int t = 0; t < R; t++) {
                const int i = j + t * apart;
                const bool is_zero = Port::HALF_IN && (R % 2 == 0 ? t >= R / 2 : 2 * i >= length && length > 1);
                v[t] = is_zero ? number<T>{0, 0} : port.load(i);
            }
        } else {
#pragma unroll
            for (int t = 0; t < R; t++)
                v[t] = place.at(from, j + t * apart);
        }
        if (done > 1) {
#pragma unroll
            for (int t = 1; t < R; t++)
                v[t] = product(v[t], roots[k * t * step]);
        }
        if (Port::HALF_IN && loads && R % 2 == 0)
            transform_half(v);
        else
            transform_few(v);
        const int to = (j - k) * R + k;
        if (stores) {
            /* i: in the last pass, j + t * apart */
            const auto needed = [&](int t, int i) {
                return !Port::HALF_OUT || (R % 2 == 0 ? t < R / 2 : 2 * i < length || length == 1);
            };
#pragma unroll
            for (int t = 0; t < R; t++)
                if (needed(t, to + t * done))
                    v[t] = port.finished(to + t * done, v[t]);
#pragma unroll
            for (int t = 0; t < R; t++)
                if (needed(t, to + t * done))
                    port.store(to + t * done, v[t]);
        } else if (last) {
#pragma unroll
            for (int t = 0; t < R; t++)
                place.at(1 - from, to + t * done) = port.between(to + t * done, v[t]);
        } else {
#pragma unroll
            for (int t = 0; t < R; t++)
                place.at(1 - from, to + t * done) = v[t];
        }
    }
    if (!stores)
        __syncthreads();
}

/* Lengths with code of their own: the compiler knows their radices, and with them where each number goes. An even radix
 * comes last, because the last pass leaves out half of its results. */
template <int LENGTH>
struct radices {
    enum { FIRST = 0, SECOND = 0, THIRD = 0 };
};
template <int A, int B, int C>
struct three_radices {
    enum { FIRST = A, SECOND = B, THIRD = C };
};
// clang-format off
template <> struct radices<64> : three_radices<8, 8, 1> {};
template <> struct radices<96> : three_radices<8, 3, 4> {};
template <> struct radices<128> : three_radices<16, 8, 1> {};
template <> struct radices<160> : three_radices<8, 5, 4> {};
template <> struct radices<192> : three_radices<8, 3, 8> {};
template <> struct radices<256> : three_radices<16, 16, 1> {};
template <> struct radices<320> : three_radices<8, 5, 8> {};
template <> struct radices<384> : three_radices<16, 3, 8> {};
template <> struct radices<512> : three_radices<8, 8, 8> {};
template <> struct radices<640> : three_radices<16, 5, 8> {};
template <> struct radices<1024> : three_radices<16, 8, 8> {};
// clang-format on

template <int R, typename T, bool ROWS, typename Port>
__device__ __forceinline__ void chosen_pass(int radix, const line_place<T, ROWS> &place, int length, int done,
                                            const number<T> *__restrict__ roots, int from, bool loads, bool stores,
                                            bool last, const Port &port)
{
    if (radix == R)
        pass<R>(place, length, done, roots, from, loads, stores, last, port);
}

/* Transforms a line. Input: the port if `loads`, else half `from`. Output: the port if `stores`; else port.between's
 * values go into the half that is returned, visible to all threads. All threads of a block must call it. LENGTH: the
 * plan's length, or 0 for any length. */
template <int LENGTH, typename T, bool ROWS, typename Port>
__device__ __forceinline__ int transform_line(const line_place<T, ROWS> &place, const axis_plan &plan,
                                              const number<T> *__restrict__ roots, int from, bool loads, bool stores,
                                              const Port &port)
{
    if constexpr (LENGTH > 0) {
        constexpr int a = radices<LENGTH>::FIRST, b = radices<LENGTH>::SECOND, c = radices<LENGTH>::THIRD;
        static_assert(a * b * c == LENGTH, "the radices of a length make it up");
        pass<a>(place, LENGTH, 1, roots, from, loads, false, false, port);
        if constexpr (c == 1) {
            pass<b>(place, LENGTH, a, roots, 1 - from, false, stores, true, port);
            return from;
        } else {
            pass<b>(place, LENGTH, a, roots, 1 - from, false, false, false, port);
            pass<c>(place, LENGTH, a * b, roots, from, false, stores, true, port);
            return 1 - from;
        }
    } else {
        int done = 1;
        for (int p = 0; p < plan.passes; p++) {
            const bool last = p == plan.passes - 1, in = loads && p == 0, out = stores && last;
            const int radix = plan.radix[p];
            chosen_pass<1>(radix, place, plan.length, done, roots, from, in, out, last, port);
            chosen_pass<2>(radix, place, plan.length, done, roots, from, in, out, last, port);
            chosen_pass<3>(radix, place, plan.length, done, roots, from, in, out, last, port);
            chosen_pass<4>(radix, place, plan.length, done, roots, from, in, out, last, port);
            chosen_pass<5>(radix, place, plan.length, done, roots, from, in, out, last, port);
            chosen_pass<7>(radix, place, plan.length, done, roots, from, in, out, last, port);
            chosen_pass<8>(radix, place, plan.length, done, roots, from, in, out, last, port);
            chosen_pass<16>(radix, place, plan.length, done, roots, from, in, out, last, port);
            done *= radix;
            from = 1 - from;
        }
        return from;
    }
}

/* with_length calls launch with the length as a constant if it has code of its own for T, else with 0. DOUBLED: half of a line is
 * zero or not needed; most such lengths take toeplitz_flow.cu, and the others need no code of their own. */
template <int LENGTH, typename Launch>
bool if_length(int length, Launch launch)
{
    if (length == LENGTH)
        launch(std::integral_constant<int, LENGTH>());
    return length == LENGTH;
}

template <typename T, bool DOUBLED, typename Launch>
void with_length(int length, Launch launch)
{
    bool found = false;
    if constexpr (!DOUBLED)
        found = if_length<64>(length, launch) || if_length<128>(length, launch) || if_length<256>(length, launch) ||
                if_length<512>(length, launch);
    if constexpr (!DOUBLED && sizeof(T) == 4)
        found = found || if_length<96>(length, launch) || if_length<160>(length, launch) ||
                if_length<192>(length, launch) || if_length<320>(length, launch) || if_length<384>(length, launch) ||
                if_length<640>(length, launch) || if_length<1024>(length, launch);
    if (!found)
        launch(std::integral_constant<int, 0>());
}

} // namespace vf_toeplitz_gpu

#endif
