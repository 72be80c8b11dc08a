/* The reductions that reduce.h offers, for vf_reduce_columns (reduce.cuh). Not installed. */
#ifndef VOXFIELD_REDUCE_WORKS_CUH
#define VOXFIELD_REDUCE_WORKS_CUH

#include "reduce.cuh"
#include "voxfield/reduce.h"

/* A number, or {re, im}. */
template <typename R, int nParts>
struct alignas(sizeof(R) * nParts) vf_element {
    typedef R Real;
    static constexpr int parts = nParts;
    R part[nParts];
};

template <int parts>
struct vf_sums {
    double of[parts];
};

/* Sums of floating-point numbers, in double precision. */
template <int parts>
struct vf_summing {
    typedef vf_sums<parts> State;

    __device__ static State identity()
    {
        State s;
        for (int p = 0; p < parts; p++)
            s.of[p] = 0;
        return s;
    }
    __device__ static State combine(const State &a, const State &b)
    {
        State s;
        for (int p = 0; p < parts; p++)
            s.of[p] = a.of[p] + b.of[p];
        return s;
    }
};

/* Common to all. EXACT: the grouping does not change the result, so data blocks may begin where the array's addresses
 * are aligned. */
template <typename E, bool exact>
struct vf_of_arrays {
    typedef E Element;
    static constexpr bool EXACT = exact;
    const E *x, *y;
    bool aligned;
    vf_reduced *result;

    __host__ __device__ static constexpr int vector(int nWork)
    {
        return vf_vector_of<E>(nWork);
    }
};

/* For reductions of one array. */
template <typename E, bool exact>
struct vf_of_x : vf_of_arrays<E, exact> {
    static constexpr int bytes = sizeof(E);
    template <int V>
    using Items = vf_pack<E, V>;

    template <int V, bool ALIGNED>
    __device__ Items<V> fetch(int64_t i) const
    {
        return vf_load_once<V, ALIGNED>(this->x + i);
    }
};

template <typename E>
struct vf_sum_work : vf_of_x<E, false>, vf_summing<E::parts> {
    typedef vf_sums<E::parts> State;

    template <int V>
    __device__ void take(State &s, const vf_pack<E, V> &items, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            for (int p = 0; p < E::parts; p++)
                s.of[p] += (double)items.of[j].part[p];
    }
    __device__ void finish(const State &s) const
    {
        *this->result = {s.of[0], E::parts == 2 ? s.of[E::parts - 1] : 0.0, 0, 0};
    }
};

template <typename E>
struct vf_squares_work : vf_of_x<E, false>, vf_summing<1> {
    typedef vf_sums<1> State;

    template <int V>
    __device__ void take(State &s, const vf_pack<E, V> &items, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            for (int p = 0; p < E::parts; p++)
                s.of[0] = fma((double)items.of[j].part[p], (double)items.of[j].part[p], s.of[0]);
    }
    __device__ void finish(const State &s) const
    {
        *this->result = {s.of[0], 0, 0, 0};
    }
};

template <typename E>
struct vf_dot_work : vf_of_arrays<E, false>, vf_summing<E::parts> {
    typedef vf_sums<E::parts> State;
    static constexpr int bytes = 2 * sizeof(E);
    template <int V>
    struct Items {
        vf_pack<E, V> x, y;
    };

    template <int V, bool ALIGNED>
    __device__ Items<V> fetch(int64_t i) const
    {
        return {vf_load_once<V, ALIGNED>(this->x + i), vf_load_once<V, ALIGNED>(this->y + i)};
    }
    /* Uses fma explicitly, so that the result is the same wherever this is inlined. */
    template <int V>
    __device__ void take(State &s, const Items<V> &items, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++) {
            const E &u = items.x.of[j], &v = items.y.of[j];
            s.of[0] = fma((double)u.part[0], (double)v.part[0], s.of[0]);
            if constexpr (E::parts == 2) {
                s.of[0] = fma((double)u.part[1], (double)v.part[1], s.of[0]);
                s.of[1] = fma((double)u.part[0], (double)v.part[1], s.of[1]);
                s.of[1] = fma(-(double)u.part[1], (double)v.part[0], s.of[1]);
            }
        }
    }
    __device__ void finish(const State &s) const
    {
        *this->result = {s.of[0], E::parts == 2 ? s.of[E::parts - 1] : 0.0, 0, 0};
    }
};

/* The word in which bits of integers are combined: States are multiples of 4 bytes. */
template <typename T>
struct vf_bits_of {
    typedef unsigned State;
};
template <>
struct vf_bits_of<int64_t> {
    typedef unsigned long long State;
};

/* Products, with one number or {re, im} as State. */
template <typename E>
struct vf_product_work : vf_of_x<E, false> {
    typedef vf_sums<E::parts> State;

    __device__ static State identity()
    {
        State s = {};
        s.of[0] = 1;
        return s;
    }
    /* Uses fma explicitly, so that the result is the same wherever this is inlined. */
    __device__ static State combine(const State &a, const State &b)
    {
        State s;
        if constexpr (E::parts == 2) {
            s.of[0] = fma(-a.of[1], b.of[1], a.of[0] * b.of[0]);
            s.of[1] = fma(a.of[1], b.of[0], a.of[0] * b.of[1]);
        } else
            s.of[0] = a.of[0] * b.of[0];
        return s;
    }
    template <int V>
    __device__ void take(State &s, const vf_pack<E, V> &items, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++) {
            State next;
            for (int p = 0; p < E::parts; p++)
                next.of[p] = (double)items.of[j].part[p];
            s = combine(s, next);
        }
    }
    __device__ void finish(const State &s) const
    {
        *this->result = {s.of[0], E::parts == 2 ? s.of[E::parts - 1] : 0.0, 0, 0};
    }
};

/* Sums of integers; they wrap around. */
template <typename T>
struct vf_integer_work : vf_of_x<T, true> {
    typedef unsigned long long State;

    __device__ static State identity()
    {
        return 0;
    }
    __device__ static State combine(State a, State b)
    {
        return a + b;
    }
    template <int V>
    __device__ void take(State &s, const vf_pack<T, V> &items, int64_t) const
    {
        if constexpr (sizeof(T) == 1) { /* at most 16 values of at most 255: 32 bits are enough */
            unsigned sum = 0;
#pragma unroll
            for (int j = 0; j < V; j++)
                sum += items.of[j];
            s += sum;
        } else {
#pragma unroll
            for (int j = 0; j < V; j++)
                s += (unsigned long long)(long long)items.of[j];
        }
    }
    __device__ void finish(State s) const
    {
        *this->result = {0, 0, (int64_t)s, 0};
    }
};

/* Products of integers wrap around, too. */
template <typename T>
struct vf_integer_product_work : vf_of_x<T, true> {
    typedef unsigned long long State;

    __device__ static State identity()
    {
        return 1;
    }
    __device__ static State combine(State a, State b)
    {
        return a * b;
    }
    template <int V>
    __device__ void take(State &s, const vf_pack<T, V> &items, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            s *= (unsigned long long)(long long)items.of[j];
    }
    __device__ void finish(State s) const
    {
        *this->result = {0, 0, (int64_t)s, 0};
    }
};

/* Bitwise and; or is the same for inverted bits (De Morgan), so both have one kernel. */
template <typename T>
struct vf_bits_work : vf_of_x<T, true> {
    typedef typename vf_bits_of<T>::State State;
    State inverted; /* all bits for or, none for and */

    __device__ static State identity()
    {
        return ~(State)0;
    }
    __device__ static State combine(State a, State b)
    {
        return a & b;
    }
    template <int V>
    __device__ void take(State &s, const vf_pack<T, V> &items, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            s &= (State)items.of[j] ^ inverted;
    }
    __device__ void finish(State s) const
    {
        *this->result = {0, 0, (int64_t)(T)(s ^ inverted), 0};
    }
};

/* ---- extremes ---- */

/* The best value so far, as T or, for small integers, int. Index -1: none yet. */
template <typename T, bool is_large = sizeof(T) == 8>
struct vf_best {
    T value;
    int64_t index;
};
template <typename T>
struct vf_best<T, false> {
    T value;
    unsigned unused; /* fills the gap: it is read and written like the rest */
    int64_t index;
};

template <typename T>
struct vf_comparable {
    typedef T type;
};
template <>
struct vf_comparable<uint8_t> {
    typedef int type;
};

template <typename T, bool least>
struct vf_extreme_work : vf_of_x<T, true> {
    typedef typename vf_comparable<T>::type Value;
    typedef vf_best<Value> State;

    /* Whether x is no better than best; false for NaN. */
    __device__ static bool no_better(Value x, Value best)
    {
        return least ? x >= best : x <= best;
    }
    __device__ static State identity()
    {
        State s = {};
        s.index = -1;
        return s;
    }
    /* Commutes: among equal values, and among NaNs, the lower index wins. */
    __device__ static State combine(const State &a, const State &b)
    {
        if (a.index < 0 || b.index < 0)
            return a.index < 0 ? b : a;
        const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
        if (a_is_nan != b_is_nan)
            return a_is_nan ? a : b;
        if (a_is_nan || a.value == b.value)
            return a.index < b.index ? a : b;
        return no_better(b.value, a.value) ? a : b;
    }
    /* First checks whether any value is better, which is rare, and only then which one comes first. */
    template <int V>
    __device__ void take(State &s, const vf_pack<T, V> &items, int64_t i) const
    {
        bool better = s.index < 0;
#pragma unroll
        for (int j = 0; j < V; j++)
            better |= !no_better(items.of[j], s.value);
        if (!better)
            return;
#pragma unroll
        for (int j = 0; j < V; j++)
            if (s.index < 0 || (!no_better(items.of[j], s.value) && s.value == s.value)) {
                s.value = items.of[j];
                s.index = i + j;
            }
    }
    __device__ void finish(const State &s) const
    {
        vf_reduced r = {0, 0, 0, s.index};
        if constexpr ((T)0.5 != 0)
            r.re = (double)s.value;
        else
            r.integer = (int64_t)s.value;
        *this->result = r;
    }
};

#endif
