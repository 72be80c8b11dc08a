/* The published histogram of bytes, TRISH: Brown, PhD thesis, University of North Carolina (2015), chapter 8. Not
 * installed.
 *
 * A thread has 256 counters of 8 bits of its own in shared memory: word r of thread t, at 64 r + t, has those of bins
 * 4 r to 4 r + 3. All accesses of a thread are to one bank, and no counter is shared. So there are neither atomics nor
 * conflicts, and the time does not depend on the data. Before a counter can overflow, a row-sum moves all counts to
 * registers: thread r has the 32-bit counts of bins 4 r to 4 r + 3.
 *
 * As published: the Column skeleton, 64 threads, coalesced words, WORDS of them between two checks for a row-sum, in
 * batches of 4, and a second kernel that adds the thread blocks' counts. Departures: thread blocks fill the
 * multiprocessors (3 each in the thesis); arrays may begin and end inside a word. */
#ifndef VOXFIELD_HISTOGRAM_TRISH_CUH
#define VOXFIELD_HISTOGRAM_TRISH_CUH

#include "histogram_bytes.cuh"

enum { VF_TRISH_THREADS = 64, VF_TRISH_BATCH = 4 };

template <int WORDS>
struct vf_trish_body {
    typedef vf_shape<VF_TRISH_THREADS / VF_WARP, WORDS> Shape;
    enum { ROWS = VF_BYTE_BINS / 4, MOST = 255 / 4 }; /* MOST: words whose bytes a counter can count */
    static_assert(ROWS == VF_TRISH_THREADS && WORDS <= MOST, "a thread sums a row; a loop's words fit a counter");
    const vf_range range;
    const uint32_t *words;
    uint32_t *counters; /* shared, [ROWS][threads] */
    int counted;        /* words since the last row-sum */
    uint32_t sums[4];   /* of bins 4 t to 4 t + 3 */

    /* The steps of two bytes must not be interleaved: their counters may be in one word. The compiler keeps the order. */
    __device__ void count(uint32_t word)
    {
        /* 256 times the row of bytes 0 and 2, of 1 and 3; eight times each byte's place in a word */
        const uint32_t even = word << 6 & 0x3f003f00, odd = word >> 2 & 0x3f003f00, shifts = word << 3 & 0x18181818;
        char *column = reinterpret_cast<char *>(counters + threadIdx.x);
        *reinterpret_cast<uint32_t *>(column + (even & 0xffff)) += 1u << (shifts & 31);
        *reinterpret_cast<uint32_t *>(column + (odd & 0xffff)) += 1u << (shifts >> 8 & 31);
        *reinterpret_cast<uint32_t *>(column + (even >> 16)) += 1u << (shifts >> 16 & 31);
        *reinterpret_cast<uint32_t *>(column + (odd >> 16)) += 1u << (shifts >> 24);
    }

    __device__ void clear()
    {
        counted = 0;
        for (int r = 0; r < ROWS; r++)
            counters[r * VF_TRISH_THREADS + threadIdx.x] = 0;
        for (int i = 0; i < 4; i++)
            sums[i] = 0;
    }

    /* Thread t begins with column t, so all are in different banks. Two sums of 16 bits in a register: at most 64 x 252. */
    __device__ void sum_rows()
    {
        uint32_t even = 0, odd = 0, *row = counters + threadIdx.x * VF_TRISH_THREADS;
        __syncthreads();
        for (int i = 0; i < VF_TRISH_THREADS; i++) {
            uint32_t &word = row[(threadIdx.x + i) % VF_TRISH_THREADS];
            even += word & 0x00ff00ff;
            odd += word >> 8 & 0x00ff00ff;
            word = 0;
        }
        sums[0] += even & 0xffff;
        sums[1] += odd & 0xffff;
        sums[2] += even >> 16;
        sums[3] += odd >> 16;
        counted = 0;
        __syncthreads();
    }

    __device__ void make_room()
    {
        if (counted + WORDS > MOST)
            sum_rows();
        counted += WORDS;
    }

    __device__ void middle(int64_t first)
    {
        make_room();
#pragma unroll
        for (int k = 0; k < WORDS; k += VF_TRISH_BATCH) {
            uint32_t batch[VF_TRISH_BATCH];
#pragma unroll
            for (int i = 0; i < VF_TRISH_BATCH && k + i < WORDS; i++)
                batch[i] = words[Shape::at(first, k + i, 1)];
#pragma unroll
            for (int i = 0; i < VF_TRISH_BATCH && k + i < WORDS; i++)
                count(batch[i]);
        }
    }

    __device__ void edge(int64_t first)
    {
        make_room();
        for (int k = 0; k < WORDS; k++)
            if (range.has(Shape::at(first, k, 1)))
                count(words[Shape::at(first, k, 1)]);
    }
};

/* partials [thread blocks][256]: the counts of each thread block. */
template <int WORDS>
__global__ void __launch_bounds__(VF_TRISH_THREADS)
    vf_trish(const uint32_t *words, const vf_range range, uint4 *partials)
{
    typedef vf_trish_body<WORDS> Body;
    __shared__ uint32_t counters[Body::ROWS * VF_TRISH_THREADS];
    Body body = {range, words, counters};
    body.clear();
    vf_skeleton_column<typename Body::Shape>(range, body);
    body.sum_rows();
    partials[(int64_t)blockIdx.x * VF_TRISH_THREADS + threadIdx.x] =
        make_uint4(body.sums[0], body.sums[1], body.sums[2], body.sums[3]);
}

/* Up to 3 bytes before the first word, and as many after the last. */
struct vf_odd_bytes {
    const uint8_t *before, *after;
    int many_before, many_after;

    __device__ unsigned count(unsigned value) const
    {
        unsigned found = 0;
        for (int i = 0; i < many_before; i++)
            found += before[i] == value;
        for (int i = 0; i < many_after; i++)
            found += after[i] == value;
        return found;
    }
};

/* Adds the thread blocks' counts and those of the odd bytes to `counts`. A thread block of 32 x 32 has 32 bins. */
__global__ void __launch_bounds__(1024)
    vf_trish_total(const uint32_t *partials, int blocks, vf_odd_bytes odd, unsigned long long *counts)
{
    __shared__ unsigned long long sums[32][32];
    const int bin = (int)(blockIdx.x * 32 + threadIdx.x);
    unsigned long long sum = threadIdx.y == 0 ? odd.count((unsigned)bin) : 0;
    for (int b = (int)threadIdx.y; b < blocks; b += 32)
        sum += partials[(int64_t)b * VF_BYTE_BINS + bin];
    sums[threadIdx.y][threadIdx.x] = sum;
    for (unsigned half = 16; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half)
            sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + half][threadIdx.x];
    }
    if (threadIdx.y == 0)
        counts[bin] += sums[0][threadIdx.x];
}

#endif
