/* A sort on a GPU by 4 bits a pass, in three kernels: Brown, PhD thesis, University of North Carolina (2015), chapter 9.
 * Not installed.
 *
 * Thread blocks take runs of data blocks (the Row skeleton), the same ones in the first and the third kernel.
 *   vf_count_keys        counts the digits of each run;
 *   vf_scan_run_counts   one thread block: where each run's keys of each digit go;
 *   vf_distribute_keys   moves the pairs, a data block at a time, sorted in shared memory first.
 * No kernel uses atomics. The thesis' warps need no barriers inside; today's need __syncwarp. */
#ifndef VOXFIELD_SORT_RUNS_CUH
#define VOXFIELD_SORT_RUNS_CUH

#include "sort_cuda.cuh"

enum { VF_NIBBLE_BITS = 4, VF_NIBBLES = 16, VF_MOST_RUNS = 1000 };

/* ---- counting ---- */

/* Each thread has 16 counters of 16 bits, in 8 words of shared memory that are `threads` apart. */
template <typename K, typename Shape>
struct vf_key_counter {
    static constexpr int words = VF_NIBBLES / 2, most = 65535 - Shape::work; /* keys a thread between two flushes */
    vf_range range;
    const K *keys;
    vf_key_order order;
    vf_digit digit;
    unsigned (*counters)[Shape::threads]; /* [words], shared */
    unsigned *totals;                     /* [VF_NIBBLES], shared, of the run, modulo 2^32 */
    int counted;

    __device__ void clear()
    {
        for (int w = 0; w < words; w++)
            counters[w][threadIdx.x] = 0;
        counted = 0;
    }

    /* Warp w adds up digits w, w + nWarps, ... of all threads. */
    __device__ void flush()
    {
        const int lane = threadIdx.x % VF_WARP;
        __syncthreads();
        for (int d = threadIdx.x / VF_WARP; d < VF_NIBBLES; d += Shape::warps) {
            unsigned sum = 0;
            for (int t = lane; t < Shape::threads; t += VF_WARP)
                sum += counters[d / 2][t] >> (d % 2 * 16) & 0xffff;
            for (int step = VF_WARP / 2; step > 0; step /= 2)
                sum += __shfl_down_sync(~0u, sum, step);
            if (lane == 0)
                totals[d] += sum;
        }
        __syncthreads();
        clear();
    }

    __device__ void count(K key)
    {
        const unsigned d = digit.of(vf_ordered(key, order));
        counters[d / 2][threadIdx.x] += 1u << (d % 2 * 16);
    }

    __device__ void middle(int64_t first)
    {
        K key[Shape::work];
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            key[k] = keys[Shape::at(first, k, 1)];
        if (counted > most)
            flush();
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            count(key[k]);
        counted += Shape::work;
    }

    __device__ void edge(int64_t first)
    {
        if (counted > most)
            flush();
        for (int k = 0; k < Shape::work; k++) {
            const int64_t i = Shape::at(first, k, 1);
            if (range.has(i))
                count(keys[i]);
        }
        counted += Shape::work;
    }
};

/* counts [gridDim.x][VF_NIBBLES] */
template <typename K, typename Tuning>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_count_keys(vf_range range, const K *keys, vf_key_order order, vf_digit digit, unsigned *counts)
{
    typedef vf_shape_of<Tuning> Shape;
    typedef vf_key_counter<K, Shape> Counter;
    __shared__ unsigned counters[Counter::words][Shape::threads], totals[VF_NIBBLES];
    if (threadIdx.x < VF_NIBBLES)
        totals[threadIdx.x] = 0;
    Counter counter = {range, keys, order, digit, counters, totals, 0};
    counter.clear();
    vf_skeleton_row<Shape>(range, counter);
    counter.flush();
    if (threadIdx.x < VF_NIBBLES)
        counts[blockIdx.x * VF_NIBBLES + threadIdx.x] = totals[threadIdx.x];
}

/* ---- scanning ---- */

/* One thread block of 16 x 16 threads. counts [runs][VF_NIBBLES] become where the run's keys of the digit begin, modulo
 * 2^32: after all keys with smaller digits, and those of earlier runs with this one. Thread (q, d) has digit d of the
 * q-th sixteenth of the runs. */
static __global__ void __launch_bounds__(VF_NIBBLES *VF_NIBBLES) vf_scan_run_counts(int runs, unsigned *counts)
{
    __shared__ unsigned sums[VF_NIBBLES * VF_NIBBLES]; /* by digit, then by part */
    const int d = threadIdx.x % VF_NIBBLES, q = threadIdx.x / VF_NIBBLES;
    const int from = runs * q / VF_NIBBLES, to = runs * (q + 1) / VF_NIBBLES;
    unsigned sum = 0;
    for (int r = from; r < to; r++)
        sum += counts[r * VF_NIBBLES + d];
    sums[d * VF_NIBBLES + q] = sum;
    __syncthreads();
    unsigned before = 0;
    for (int i = 0; i < d * VF_NIBBLES + q; i++)
        before += sums[i];
    for (int r = from; r < to; r++) {
        const unsigned count = counts[r * VF_NIBBLES + d];
        counts[r * VF_NIBBLES + d] = before;
        before += count;
    }
}

/* ---- distributing ---- */

template <typename K, typename V, typename Shape>
struct vf_distribution_memory {
    union { /* a word of padding every 32, against bank conflicts */
        K keys[Shape::in_block + Shape::in_block / VF_WARP];
        V values[vf_has_value<V>::yes ? Shape::in_block + Shape::in_block / VF_WARP : 1];
    };
    unsigned counters[Shape::warps][VF_NIBBLES / 4][VF_WARP + 1];     /* 4 digits a word, in bytes */
    unsigned starts[Shape::warps][VF_NIBBLES];                        /* in the data block, of each warp's keys */
    unsigned next[VF_NIBBLES], shift[VF_NIBBLES], counts[VF_NIBBLES]; /* the run's next place; from local to global */
};

template <typename K, typename V, typename Shape>
struct vf_distributor {
    typedef vf_distribution_memory<K, V, Shape> Memory;
    static constexpr int work = Shape::work;
    static_assert(work <= 8 && Shape::warps <= 16, "counts of a warp's earlier lanes fit bytes");
    vf_range range;
    const K *keys;
    const V *values;
    K *keys_out;
    V *values_out;
    vf_key_order order;
    vf_digit digit;
    Memory &memory;

    /* With padding. */
    __device__ static int padded(int i)
    {
        return i + i / VF_WARP;
    }

    __device__ unsigned digit_of(K key) const
    {
        return digit.of(vf_ordered(key, order));
    }

    /* The thread's element k of a data block, if each has consecutive ones. */
    __device__ static int consecutive(int k)
    {
        return (int)threadIdx.x * work + k;
    }

    /* Loads Warp-by-Warp, and returns consecutive elements. A warp exchanges elements only with itself. */
    template <typename T>
    __device__ void load(T *shared, const T *from, int64_t first, const vf_part &part, T (&to)[work]) const
    {
#pragma unroll
        for (int k = 0; k < work; k++) {
            const int i = Shape::in_block_at(k, 1);
            if (part.has(i))
                shared[padded(i)] = from[first + i];
        }
        __syncwarp();
#pragma unroll
        for (int k = 0; k < work; k++)
            to[k] = shared[padded(consecutive(k))];
        __syncthreads(); /* the memory is used again */
    }

    /* Counts the thread's digits in bytes. place[k]: its earlier keys with the digit of key k. */
    __device__ void count(const K (&key)[work], const vf_part &part, unsigned (&place)[work]) const
    {
        unsigned(*mine)[VF_WARP + 1] = memory.counters[threadIdx.x / VF_WARP];
        const unsigned lane = threadIdx.x % VF_WARP;
#pragma unroll
        for (int w = 0; w < VF_NIBBLES / 4; w++)
            mine[w][lane] = 0;
#pragma unroll
        for (int k = 0; k < work; k++) {
            const unsigned d = digit_of(key[k]), shift = d % 4 * 8;
            place[k] = 0;
            if (part.has(consecutive(k))) {
                const unsigned word = mine[d / 4][lane];
                place[k] = word >> shift & 0xff;
                mine[d / 4][lane] = word + (1u << shift);
            }
        }
        __syncwarp();
    }

    /* Makes the counters what earlier lanes of the warp have, and adds up the warp's counts. A lane has 4 consecutive
     * counters of one of the 4 words; 8 lanes share a word. Sums of earlier lanes are below 256; those of the whole warp
     * may be 256, and are widened first. */
    __device__ void scan_warp() const
    {
        const unsigned lane = threadIdx.x % VF_WARP, w = lane / 8, from = lane % 8 * 4;
        unsigned *mine = memory.counters[threadIdx.x / VF_WARP][w] + from;
        unsigned own[4], sum = 0;
        for (int i = 0; i < 4; i++) {
            own[i] = mine[i];
            sum += own[i];
        }
        unsigned before = __shfl_up_sync(~0u, sum, 1, 8);
        before = lane % 8 == 0 ? 0 : before;
        for (int step = 1; step < 8; step *= 2) {
            const unsigned other = __shfl_up_sync(~0u, before, step, 8);
            before += lane % 8 >= step ? other : 0;
        }
        if (lane % 8 == 7)
            for (unsigned b = 0; b < 4; b++)
                memory.starts[threadIdx.x / VF_WARP][4 * w + b] = (before >> 8 * b & 0xff) + (sum >> 8 * b & 0xff);
        for (int i = 0; i < 4; i++) {
            mine[i] = before;
            before += own[i];
        }
    }

    /* By the first half of the first warp, a digit a lane: where each warp's keys begin in the data block, and where
     * the data block's keys go. */
    __device__ void scan_block() const
    {
        const unsigned d = threadIdx.x;
        if (d >= VF_NIBBLES)
            return;
        unsigned sum = 0;
        for (int w = 0; w < Shape::warps; w++)
            sum += memory.starts[w][d];
        unsigned start = sum;
        for (int step = 1; step < VF_NIBBLES; step *= 2) {
            const unsigned other = __shfl_up_sync(0xffffu, start, step, VF_NIBBLES);
            start += d >= step ? other : 0;
        }
        start -= sum;
        memory.shift[d] = memory.next[d] - start;
        memory.next[d] += sum;
        for (int w = 0; w < Shape::warps; w++) {
            const unsigned here = memory.starts[w][d];
            memory.starts[w][d] = start;
            start += here;
        }
    }

    /* Sorts elements in shared memory, and returns those at the thread's places, Warp-by-Warp. */
    template <typename T>
    __device__ void exchange(T *shared, const T (&from)[work], const vf_part &part, const unsigned (&place)[work],
                             T (&to)[work]) const
    {
#pragma unroll
        for (int k = 0; k < work; k++)
            if (part.has(consecutive(k)))
                shared[padded(place[k])] = from[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < work; k++)
            to[k] = shared[padded(Shape::in_block_at(k, 1))];
        __syncthreads();
    }

    __device__ void distribute(int64_t first, const vf_part &part) const
    {
        const int warp = threadIdx.x / VF_WARP, lane = threadIdx.x % VF_WARP, count_of_keys = part.to - part.from;
        K key[work], sorted[work];
        unsigned place[work], to[work];
        load(memory.keys, keys, first, part, key);
        count(key, part, place);
        scan_warp();
        __syncthreads();
        scan_block();
        __syncthreads();
#pragma unroll
        for (int k = 0; k < work; k++) {
            const unsigned d = digit_of(key[k]);
            place[k] += memory.starts[warp][d] + (memory.counters[warp][d / 4][lane] >> (d % 4 * 8) & 0xff);
        }
        exchange(memory.keys, key, part, place, sorted);
#pragma unroll
        for (int k = 0; k < work; k++) {
            const int i = Shape::in_block_at(k, 1);
            to[k] = memory.shift[digit_of(sorted[k])] + i;
            if (i < count_of_keys)
                keys_out[to[k]] = sorted[k];
        }
        if constexpr (vf_has_value<V>::yes) {
            V value[work], moved[work];
            load(memory.values, values, first, part, value);
            exchange(memory.values, value, part, place, moved);
#pragma unroll
            for (int k = 0; k < work; k++)
                if (Shape::in_block_at(k, 1) < count_of_keys)
                    values_out[to[k]] = moved[k];
        }
        __syncthreads(); /* before `shift` changes */
    }

    __device__ void middle(int64_t first) const
    {
        distribute(first, {0, Shape::in_block});
    }

    __device__ void edge(int64_t first) const
    {
        distribute(first, vf_part_of<Shape>(range, first));
    }
};

/* starts [gridDim.x][VF_NIBBLES], from vf_scan_run_counts */
template <typename K, typename V, typename Tuning>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_distribute_keys(vf_range range, const K *keys, const V *values, K *keys_out, V *values_out, vf_key_order order,
                       vf_digit digit, const unsigned *starts)
{
    typedef vf_distributor<K, V, vf_shape_of<Tuning>> Body;
    __shared__ typename Body::Memory memory;
    if (threadIdx.x < VF_NIBBLES)
        memory.next[threadIdx.x] = starts[blockIdx.x * VF_NIBBLES + threadIdx.x];
    __syncthreads();
    Body body = {range, keys, values, keys_out, values_out, order, digit, memory};
    vf_skeleton_row<vf_shape_of<Tuning>>(range, body);
}

#endif
