/* Transforms of lines whose numbers stay in registers between two exchanges through shared memory, in place. Not installed.
 *
 * A line of length A B C is transformed by passes of radix A, B and C (C may be 1), and back by C, B and A: the last pass
 * there leaves in a thread's registers what the first pass back takes, so a line that goes there and back needs no exchange
 * in between. */
#ifndef VOXFIELD_TOEPLITZ_TILES_CUH
#define VOXFIELD_TOEPLITZ_TILES_CUH

#include "toeplitz_few.cuh"

namespace vf_toeplitz_gpu
{

/* The radices of a length, the first even: it takes the half of the line that is zero, and leaves the half that is not needed.
 * ROW_THREADS share a row: each has one transform of few numbers in a pass, or two if there are three passes. THREADS share a
 * column. Rows leave one place empty after every 2^SKEW, against bank conflicts: of 3, 4 and 5, the one with the fewest. Rows are
 * ROW_PITCH apart in shared memory. */
template <int SKEW_, int A, int B, int C = 1>
struct factors {
    enum { LENGTH = A * B * C, FIRST = A, MIDDLE = C > 1 ? B : 1, LAST = C > 1 ? C : B, SKEW = SKEW_ };
    enum { LEAST = A < B ? (C > 1 && C < A ? C : A) : (C > 1 && C < B ? C : B) };
    enum { MOST = (LENGTH / LEAST + (C > 1)) / (C > 1 ? 2 : 1), ROW_THREADS = (MOST + 3) / 4 * 4 };
    enum { ROW_PITCH = LENGTH + (LENGTH >> SKEW) + 1 };
    enum { THREADS = MOST <= 16 ? 16 : MOST <= 32 ? 32 : 64 };
    /* The roots of unity of each pass but the first ones, in the order in which a thread needs them: exp(-i 2 pi k t / (R DONE)) at
     * roots_at(R, DONE) + k R + t, for a pass of radix R after others that have made transforms of length DONE. */
    enum {
        MIDDLE_THERE = C > 1 ? A *B : 0,
        MIDDLE_BACK = C > 1 ? C *B : 0,
        ROOTS = MIDDLE_THERE + MIDDLE_BACK + 2 * LENGTH
    };
    static __host__ __device__ constexpr int roots_at(int radix, int done)
    {
        return C > 1 && radix == B && done == A         ? 0
               : radix == LAST && done == LENGTH / LAST ? (int)MIDDLE_THERE
               : C > 1 && radix == B && done == C       ? MIDDLE_THERE + LENGTH
                                                        : MIDDLE_THERE + LENGTH + MIDDLE_BACK;
    }
};

template <int LENGTH>
struct factors_of;
// clang-format off
template <> struct factors_of<16> : factors<3, 4, 4> {};
template <> struct factors_of<32> : factors<3, 8, 4> {};
template <> struct factors_of<48> : factors<3, 8, 6> {};
template <> struct factors_of<64> : factors<3, 8, 8> {};
template <> struct factors_of<80> : factors<3, 8, 10> {};
template <> struct factors_of<96> : factors<3, 8, 12> {};
template <> struct factors_of<112> : factors<3, 8, 14> {};
template <> struct factors_of<128> : factors<4, 8, 16> {};
template <> struct factors_of<144> : factors<3, 12, 12> {};
template <> struct factors_of<160> : factors<5, 10, 16> {};
template <> struct factors_of<180> : factors<5, 12, 15> {};
template <> struct factors_of<192> : factors<4, 12, 16> {};
template <> struct factors_of<200> : factors<5, 10, 20> {};
template <> struct factors_of<240> : factors<5, 16, 15> {};
template <> struct factors_of<256> : factors<4, 16, 16> {};
template <> struct factors_of<288> : factors<4, 16, 18> {};
template <> struct factors_of<320> : factors<5, 16, 20> {};
template <> struct factors_of<400> : factors<3, 20, 20> {};
template <> struct factors_of<448> : factors<4, 8, 7, 8> {};
template <> struct factors_of<512> : factors<4, 8, 8, 8> {};
template <> struct factors_of<640> : factors<4, 16, 5, 8> {};
template <> struct factors_of<768> : factors<4, 16, 6, 8> {};
template <> struct factors_of<896> : factors<4, 16, 7, 8> {};
template <> struct factors_of<1024> : factors<4, 16, 8, 8> {};

/* The lengths with code, in ascending order. Others take the next one; double precision has fewer. */
#define VF_FLOW_DOUBLE_LENGTHS(CASE) \
    CASE(16) CASE(32) CASE(48) CASE(64) CASE(80) CASE(96) CASE(128) CASE(160) CASE(192) CASE(240) CASE(256) CASE(320) CASE(400) \
    CASE(512)
#define VF_FLOW_LENGTHS(CASE) \
    CASE(16) CASE(32) CASE(48) CASE(64) CASE(80) CASE(96) CASE(112) CASE(128) CASE(144) CASE(160) CASE(180) CASE(192) CASE(200) \
    CASE(240) CASE(256) CASE(288) CASE(320) CASE(400) CASE(448) CASE(512) CASE(640) CASE(768) CASE(896) CASE(1024)
// clang-format on

/* Calls `call` with the length as a constant. */
#define VF_FLOW_CASE(n)                                                                                                \
    if (length == n) {                                                                                                 \
        call(std::integral_constant<int, n>());                                                                        \
        return;                                                                                                        \
    }
template <typename T, typename Call>
void with_factors(int length, const Call &call)
{
    if constexpr (sizeof(T) == 4) {
        VF_FLOW_LENGTHS(VF_FLOW_CASE)
    } else {
        VF_FLOW_DOUBLE_LENGTHS(VF_FLOW_CASE)
    }
}
#undef VF_FLOW_CASE

/* The shortest length >= `least` with code; 0 if all are shorter. */
template <typename T>
int flow_length(int64_t least)
{
#define VF_FLOW_FITS(n)                                                                                                \
    if (least <= n)                                                                                                    \
        return n;
    if constexpr (sizeof(T) == 4) {
        VF_FLOW_LENGTHS(VF_FLOW_FITS)
    } else {
        VF_FLOW_DOUBLE_LENGTHS(VF_FLOW_FITS)
    }
#undef VF_FLOW_FITS
    return 0;
}

template <typename T>
void fill_pass(int radix, int done, number<T> *roots)
{
    for (int k = 0; k < done; k++)
        for (int t = 0; t < radix; t++) {
            const double angle = -2 * 3.14159265358979323846 * (k * t % (radix * done)) / (radix * done);
            roots[k * radix + t] = {(T)cos(angle), (T)sin(angle)};
        }
}

/* The ROOTS roots of unity of a length. */
template <typename T, int LENGTH>
void fill_roots(number<T> *roots)
{
    typedef factors_of<LENGTH> F;
    const int first = F::FIRST, middle = F::MIDDLE, last = F::LAST;
    if (middle > 1)
        fill_pass(middle, first, roots + F::roots_at(middle, first));
    fill_pass(last, first * middle, roots + F::roots_at(last, first * middle));
    if (middle > 1)
        fill_pass(middle, last, roots + F::roots_at(middle, last));
    fill_pass(first, last * middle, roots + F::roots_at(first, last * middle));
}

/* Two numbers that follow each other, in one read if they are aligned to two. */
template <typename T>
__host__ __device__ __forceinline__ void read_two(const number<T> *from, number<T> &a, number<T> &b)
{
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 4) {
        const float4 both = __ldg(reinterpret_cast<const float4 *>(from));
        a = {both.x, both.y};
        b = {both.z, both.w};
        return;
    }
#endif
    a = from[0];
    b = from[1];
}

/* Which element of Q along an axis of `count` voxels (that of r = 0 has the index `count`; see toeplitz.h) lies at `at` of a
 * padded axis that begins with r = 0; -1: none. */
__host__ __device__ inline int64_t padded_from(int64_t at, int64_t count, int64_t length)
{
    if (count == 1)
        return at == 0 ? 0 : -1;
    return at < count ? count + at : length - at < count ? count - (length - at) : -1;
}

/* A thread's part of a line in shared memory. Columns: neighbours are `pitch` apart. */
template <typename T, int LENGTH, bool ROWS>
struct tile_line {
    typedef factors_of<LENGTH> F;
    number<T> *memory;
    int thread, threads, pitch; /* threads >= SHARED_BY; a thread number of LENGTH or more: idle */
    const number<T> *roots;     /* [ROOTS], aligned to two */

    enum { SHARED_BY = ROWS ? (int)F::ROW_THREADS : (int)F::THREADS };
    /* What a thread holds in a pass of radix R. */
    template <int R>
    struct held {
        enum { APART = LENGTH / R, SHARES = (APART + SHARED_BY - 1) / SHARED_BY };
        number<T> v[SHARES][R];
    };

    /* Number i + after. `after` is a constant where loops are unrolled, and so are its addresses if it is a multiple of 2^SKEW. */
    __host__ __device__ __forceinline__ number<T> &at(int i, int after) const
    {
        if (!ROWS)
            return (memory + i * pitch)[after * pitch];
        if (after % (1 << F::SKEW) == 0)
            return (memory + i + (i >> F::SKEW))[after + (after >> F::SKEW)];
        return (memory + i + ((i + after) >> F::SKEW))[after];
    }

    template <int R, typename Do>
    __host__ __device__ __forceinline__ void each(const Do &what) const
    {
        VF_UNROLL
        for (int s = 0; s < held<R>::SHARES; s++) {
            const int j = thread + s * threads;
            if (j < held<R>::APART)
                what(s, j);
        }
    }

    template <int R>
    __host__ __device__ __forceinline__ void gather(held<R> &h) const
    {
        each<R>([&](int s, int j) {
            VF_UNROLL
            for (int t = 0; t < R; t++)
                h.v[s][t] = at(j, t * held<R>::APART);
        });
    }

    /* DONE: the length of the transforms that earlier passes have made. HALF: the second half is zero. */
    template <int R, int DONE, bool HALF = false>
    __host__ __device__ __forceinline__ void transform(held<R> &h) const
    {
        each<R>([&](int s, int j) {
            if (DONE > 1) {
                const number<T> *own = roots + F::roots_at(R, DONE) + (int)((unsigned)j % DONE) * R;
                number<T> root[R + R % 2];
                VF_UNROLL
                for (int t = 0; t < R; t += 2)
                    if (R % 2 == 0)
                        read_two(own + t, root[t], root[t + 1]);
                    else
                        root[t] = own[t], root[t + 1] = own[t + 1 < R ? t + 1 : t];
                VF_UNROLL
                for (int t = 1; t < R; t++)
                    h.v[s][t] = product(h.v[s][t], root[t]);
            }
            if constexpr (HALF)
                transform_half(h.v[s]);
            else
                transform_few(h.v[s]);
        });
    }

    template <int R, int DONE>
    __host__ __device__ __forceinline__ void scatter(const held<R> &h) const
    {
        each<R>([&](int s, int j) {
            const int k = (int)((unsigned)j % DONE), to = (j - k) * R + k;
            VF_UNROLL
            for (int t = 0; t < R; t++)
                at(to, t * DONE) = h.v[s][t];
        });
    }

    template <int R, bool HALF, typename Load>
    __host__ __device__ __forceinline__ void load(held<R> &h, const Load &from) const
    {
        each<R>([&](int s, int j) {
            VF_UNROLL
            for (int t = 0; t < R; t++)
                h.v[s][t] = HALF && t >= R / 2 ? number<T>{0, 0} : from(j, t * held<R>::APART);
        });
    }

    template <int R, bool HALF, typename Store>
    __host__ __device__ __forceinline__ void store(const held<R> &h, const Store &to) const
    {
        each<R>([&](int s, int j) {
            VF_UNROLL
            for (int t = 0; t < (HALF ? R / 2 : R); t++)
                to(j, t * held<R>::APART, h.v[s][t]);
        });
    }

    /* From what the first pass holds, loaded but not transformed, to what the last pass holds, transformed: number
     * j + t LENGTH / R3. Shared memory must be free. HALF: the line's second half is zero. */
    template <int R1, int R2, int R3, bool HALF, typename Between>
    __device__ __forceinline__ void passes(held<R1> &first, held<R3> &last, const Between &between) const
    {
        transform<R1, 1, HALF>(first);
        scatter<R1, 1>(first);
        between(); /* few registers are in use */
        __syncthreads();
        if constexpr (R2 > 1) {
            held<R2> middle;
            gather<R2>(middle);
            transform<R2, R1>(middle);
            __syncthreads();
            scatter<R2, R1>(middle);
            __syncthreads();
        }
        gather<R3>(last);
        transform<R3, R1 * R2>(last);
    }

    /* from: the first half of the line; to: all of its transform. change(held) may change what was loaded. */
    template <typename Load, typename Change, typename Store>
    __device__ __forceinline__ void there(const Load &from, const Change &change, const Store &to) const
    {
        held<F::FIRST> first;
        held<F::LAST> last;
        load<F::FIRST, true>(first, from);
        change(first);
        passes<F::FIRST, F::MIDDLE, F::LAST, true>(first, last, [] {});
        store<F::LAST, false>(last, to);
    }

    /* from: all of the line; to: the first half of its transform. `between` is called when few registers are in use. */
    template <typename Load, typename Between, typename Store>
    __device__ __forceinline__ void back(const Load &from, const Between &between, const Store &to) const
    {
        held<F::LAST> first;
        held<F::FIRST> last;
        load<F::LAST, false>(first, from);
        passes<F::LAST, F::MIDDLE, F::FIRST, false>(first, last, between);
        to(last);
    }

    /* There, times factor(i), conjugated, and a transform again: conjugates of what a transform back would give. */
    template <typename Load, typename Factor, typename Store>
    __device__ __forceinline__ void there_and_back(const Load &from, const Factor &factor, const Store &to) const
    {
        held<F::FIRST> first;
        held<F::LAST> last;
        T scale[held<F::LAST>::SHARES][F::LAST];
        load<F::FIRST, true>(first, from);
        passes<F::FIRST, F::MIDDLE, F::LAST, true>(first, last, [&] {
            each<F::LAST>([&](int s, int j) {
                VF_UNROLL
                for (int t = 0; t < F::LAST; t++)
                    scale[s][t] = factor(j, t * held<F::LAST>::APART);
            });
        });
        each<F::LAST>([&](int s, int) {
            VF_UNROLL
            for (int t = 0; t < F::LAST; t++)
                last.v[s][t] = {scale[s][t] * last.v[s][t].re, -scale[s][t] * last.v[s][t].im};
        });
        __syncthreads(); /* all have gathered */
        passes<F::LAST, F::MIDDLE, F::FIRST, false>(last, first, [] {});
        store<F::FIRST, true>(first, to);
    }
};

} // namespace vf_toeplitz_gpu

#endif
