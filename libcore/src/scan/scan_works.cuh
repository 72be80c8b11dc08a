/* The scans that scan.h offers, for both kinds of kernels, and how a plan's kernels are launched. Not installed. */
#ifndef VOXFIELD_SCAN_WORKS_CUH
#define VOXFIELD_SCAN_WORKS_CUH

#include "scan_plan.h"
#include "scan_runs.cuh"
#include "scan_tiles.cuh"
#include "scan_tuning.cuh"

/* ---- the operators. EXACT: the grouping does not change the result ---- */

template <typename T>
struct vf_scan_adding {
    static constexpr bool EXACT = (T)0.5 == (T)0;
    __device__ static T identity()
    {
        return 0;
    }
    __device__ static T combine(T a, T b)
    {
        return a + b;
    }
};

template <typename T>
struct vf_scan_multiplying {
    static constexpr bool EXACT = (T)0.5 == (T)0;
    __device__ static T identity()
    {
        return 1;
    }
    __device__ static T combine(T a, T b)
    {
        return a * b;
    }
};

/* The first of equal extremes, or the first NaN. `identity`: what no value is better than. */
template <typename T, bool least>
struct vf_scan_extreme {
    static constexpr bool EXACT = true;
    __device__ static T identity()
    {
        if constexpr ((T)0.5 != (T)0)
            return least ? (T)INFINITY : -(T)INFINITY;
        constexpr T highest = sizeof(T) == 4 ? (T)INT32_MAX : (T)INT64_MAX;
        return least ? highest : -highest - 1;
    }
    __device__ static T combine(T a, T b)
    {
        return (least ? a <= b : a >= b) || a != a ? a : b;
    }
};

template <typename T, bool is_or>
struct vf_scan_bits {
    static constexpr bool EXACT = true;
    __device__ static T identity()
    {
        return is_or ? (T)0 : ~(T)0;
    }
    __device__ static T combine(T a, T b)
    {
        return is_or ? a | b : a & b;
    }
};

/* ---- without and with segments ---- */

template <typename T, typename Op, bool segmented>
struct vf_scan_states {
    typedef T State;
    static constexpr bool SEGMENTED = false;

    __device__ static State identity()
    {
        return Op::identity();
    }
    __device__ static State combine(State a, State b)
    {
        return Op::combine(a, b);
    }
    __device__ static State state(T value, bool)
    {
        return value;
    }
    __device__ static T value_of(const State &s)
    {
        return s;
    }
};

/* flag: whether a segment begins among the combined elements; value: of those since the last one began. */
template <typename T>
struct vf_flagged {
    T value;
    unsigned flag;
    unsigned unused[sizeof(T) / 4 - 1 + (sizeof(T) == 4)]; /* padding: no byte stays unwritten */
};

template <typename T, typename Op>
struct vf_scan_states<T, Op, true> {
    typedef vf_flagged<T> State;
    static constexpr bool SEGMENTED = true;

    __device__ static State state(T value, bool head)
    {
        State s = {};
        s.value = value;
        s.flag = head;
        return s;
    }
    __device__ static State identity()
    {
        return state(Op::identity(), false);
    }
    __device__ static State combine(const State &a, const State &b)
    {
        return state(b.flag ? b.value : Op::combine(a.value, b.value), a.flag || b.flag);
    }
    __device__ static T value_of(const State &s)
    {
        return s.value;
    }
};

/* `kind`: EXCLUSIVE (scan_piece.cuh). */
template <typename In, typename T, typename Op, int kind, bool segmented>
struct vf_scan_work : vf_scan_states<T, Op, segmented> {
    typedef vf_scan_states<T, Op, segmented> States;
    typedef typename States::State State;
    typedef In Element;
    typedef T Out;
    static constexpr int EXCLUSIVE = kind;
    static constexpr bool COMMUTES = !segmented, EXACT = Op::EXACT;
    static constexpr int bytes = (sizeof(In) > sizeof(T) ? sizeof(In) : sizeof(T)) + segmented;
    static constexpr int vector(int nWork)
    {
        return sizeof(In) > sizeof(T) ? vf_vector_of<In>(nWork) : vf_vector_of<T>(nWork);
    }
    const In *x;
    const uint8_t *head;
    T *y;
    bool aligned, exclusive;

    __device__ static In blank()
    {
        return (In)Op::identity();
    }
    __device__ static State start(In value, bool head)
    {
        return States::state((T)value, head);
    }
    __device__ static T value(const State &s)
    {
        return States::value_of(s);
    }
    __device__ static T value_before(const State &before, bool head)
    {
        return head ? Op::identity() : States::value_of(before);
    }
};

/* ---- plans ---- */

struct vf_scan_state;

struct vf_scan_entry {
    cudaError_t (*prepare)(vf_launch *launch, bool three_kernel, int64_t most, size_t *scratch_bytes);
    cudaError_t (*launch)(vf_scan_state *state, cudaStream_t stream, int64_t n, const void *x, const uint8_t *head,
                          void *y);
};

struct vf_scan_state {
    const vf_scan_entry *entry;
    bool three_kernel, exclusive;
    vf_launch launch;
    vf_array array;
    vf_scan_scratch scratch; /* in the array */
};

template <typename Work>
cudaError_t vf_scan_prepare(vf_launch *launch, bool three_kernel, int64_t most, size_t *scratch_bytes)
{
    const cudaError_t error = three_kernel ? vf_find_three_kernel<vf_scan_run_tuning<Work::bytes>, Work>(launch)
                                           : vf_find_single_pass<vf_scan_tile_tuning<Work::bytes>, Work>(launch);
    if (error == cudaSuccess) { /* an array that begins late in a memory line may have one more data block */
        const vf_range range = {most, VF_LINE};
        *scratch_bytes = three_kernel ? vf_scan_runs_bytes<Work>(*launch) : vf_scan_tiles_bytes<Work>(*launch, range);
    }
    return error;
}

template <typename Work>
cudaError_t vf_scan_launch(vf_scan_state *state, cudaStream_t stream, int64_t n, const void *x, const uint8_t *head,
                           void *y)
{
    typedef typename Work::Element Element;
    typedef typename Work::Out Out;
    Work work;
    work.x = static_cast<const Element *>(x);
    work.head = head;
    work.y = static_cast<Out *>(y);
    work.exclusive = state->exclusive;
    const vf_range range = Work::EXACT ? vf_range_at(work.x, n) : vf_range_from_0(n);
    const int V = Work::vector(state->launch.work);
    work.aligned =
        vf_is_aligned(work.x, range, V) && vf_is_aligned(work.y, range, V) && (!head || vf_is_aligned(head, range, V));
    return state->three_kernel ? vf_scan_three_kernel<vf_scan_run_tuning<Work::bytes>>(state->launch, stream, work,
                                                                                       range, &state->scratch)
                               : vf_scan_single_pass<vf_scan_tile_tuning<Work::bytes>>(state->launch, stream, work,
                                                                                       range, &state->scratch);
}

template <typename Work>
constexpr vf_scan_entry vf_scan_entry_of()
{
    return {vf_scan_prepare<Work>, vf_scan_launch<Work>};
}

/* The entries of operators other than sums (scan_operators_cuda.cu). */
const vf_scan_entry *vf_find_scan_operator(const vf_scan_options *options);

#endif
