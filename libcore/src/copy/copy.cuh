/* Moves bytes on a GPU as words, with the Block skeleton (access.cuh): each thread block moves one data block, which
 * begins at a warp-aligned address of the destination. This is a header so that a search for the best shape can compile
 * it with other shapes. Not installed.
 *
 * Words are aligned in the destination. If source and destination agree modulo 16, 8 or 4 bytes, words of that size are
 * moved. Otherwise each 4-byte word is combined from the two source words that hold its bytes; neighbouring lanes find
 * them in the L1 cache. The remaining bytes, fewer than two words before and after the words, are moved one by one.
 */
#ifndef VOXFIELD_COPY_CUH
#define VOXFIELD_COPY_CUH

#include "backend/access.cuh"
#include "backend/launch_blocks.h"
#include "backend/tuning.cuh"

typedef unsigned char vf_byte;

/* Sources of words. */
template <typename Word>
struct vf_words_of_array {
    const Word *__restrict__ x;
    __device__ Word at(int64_t i) const
    {
        return x[i];
    }
};

struct vf_words_between {
    const uint32_t *__restrict__ x;
    unsigned bits;
    __device__ uint32_t at(int64_t i) const
    {
        return __funnelshift_r(x[i], x[i + 1], bits);
    }
};

template <typename Word>
struct vf_one_word {
    Word word;
    __device__ Word at(int64_t) const
    {
        return word;
    }
};

template <typename Tuning, typename Source, typename Word>
struct vf_move_words {
    vf_range range;
    Source source;
    Word *__restrict__ y;

    __device__ void middle(int64_t first) const
    {
        typedef vf_shape_of<Tuning> Shape;
        Word words[Shape::work];
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            words[k] = source.at(Shape::at(first, k, 1));
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            y[Shape::at(first, k, 1)] = words[k];
    }

    __device__ void edge(int64_t first) const
    {
        typedef vf_shape_of<Tuning> Shape;
#pragma unroll
        for (int k = 0; k < Shape::work; k++) {
            const int64_t i = Shape::at(first, k, 1);
            if (range.has(i))
                y[i] = source.at(i);
        }
    }
};

/* The bytes of a destination. Those around the words are [0, before) and [behind, bytes). */
struct vf_move_ends {
    const vf_byte *x; /* NULL for a fill, whose bytes are `pattern`, repeated every 16 bytes of address */
    vf_byte *y;
    int64_t bytes, behind;
    int before;
    uint4 pattern;

    __device__ vf_byte filled(unsigned address) const
    {
        const uint32_t high = address & 4 ? pattern.w : pattern.z, low = address & 4 ? pattern.y : pattern.x;
        return (vf_byte)((address & 8 ? high : low) >> address % 4 * 8);
    }

    __device__ void move(int64_t i) const
    {
        y[i] = x ? x[i] : filled((unsigned)((uintptr_t)(y + i) % 16));
    }
};

template <typename Tuning, typename Source, typename Word>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_move_kernel(const vf_move_words<Tuning, Source, Word> words, const vf_move_ends ends)
{
    vf_skeleton_block<vf_shape_of<Tuning>>(words.range, words);
    if (blockIdx.x == 0 && (int)threadIdx.x < ends.before)
        ends.move(threadIdx.x);
    if (blockIdx.x == 0 && ends.behind + threadIdx.x < ends.bytes)
        ends.move(ends.behind + threadIdx.x);
}

/* The shape of a kernel without persistent thread blocks on the current device. */
template <typename Tuning, typename Kernel>
cudaError_t vf_find_shape(Kernel kernel, vf_tuning *shape)
{
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    *shape = Tuning::at(error == cudaSuccess ? attributes.ptxVersion : 0);
    return error;
}

/* Thread blocks of `shape` for a range, one per data block. UINT32_MAX, which a launch refuses, if too many. */
inline unsigned vf_blocks_of(vf_tuning shape, vf_range range)
{
    return vf_blocks_for(range.lead + range.n, 32 * shape.warps * shape.work);
}

/* Cuts the destination into words and the bytes around them. The last `spare` words count as bytes. */
template <typename Word>
int64_t vf_cut_words(vf_move_ends *ends, int spare)
{
    const int64_t size = sizeof(Word), before = (size - (int64_t)((uintptr_t)ends->y % size)) % size;
    ends->before = (int)(before < ends->bytes ? before : ends->bytes);
    int64_t words = (ends->bytes - ends->before) / size - spare;
    words = words > 0 ? words : 0;
    ends->behind = ends->before + words * size;
    return words;
}

template <typename Tuning, typename Source, typename Word>
cudaError_t vf_launch_move(cudaStream_t stream, const Source &source, int64_t words, const vf_move_ends &ends)
{
    Word *y = reinterpret_cast<Word *>(ends.y + ends.before);
    const vf_range range = vf_range_at(y, words);
    vf_tuning shape;
    const cudaError_t error = vf_find_shape<Tuning>(vf_move_kernel<Tuning, Source, Word>, &shape);
    if (error != cudaSuccess)
        return error;
    const unsigned blocks = words > 0 ? vf_blocks_of(shape, range) : 1; /* without words, one block moves the bytes */
    vf_move_kernel<Tuning, Source, Word><<<blocks, 32 * shape.warps, 0, stream>>>({range, source, y}, ends);
    return cudaGetLastError();
}

template <typename Tuning, typename Word>
cudaError_t vf_copy_words(cudaStream_t stream, vf_move_ends ends)
{
    const int64_t words = vf_cut_words<Word>(&ends, 0);
    const vf_words_of_array<Word> source = {reinterpret_cast<const Word *>(ends.x + ends.before)};
    return vf_launch_move<Tuning, vf_words_of_array<Word>, Word>(stream, source, words, ends);
}

/* The last word is moved as bytes: its second source word could lie beyond the end of an allocation that is not a
 * multiple of words. */
template <typename Tuning>
cudaError_t vf_copy_between_words(cudaStream_t stream, vf_move_ends ends)
{
    const int64_t words = vf_cut_words<uint32_t>(&ends, 1);
    const vf_byte *from = ends.x + ends.before;
    const unsigned off = (unsigned)((uintptr_t)from % sizeof(uint32_t));
    const vf_words_between source = {reinterpret_cast<const uint32_t *>(from - off), 8 * off};
    return vf_launch_move<Tuning, vf_words_between, uint32_t>(stream, source, words, ends);
}

#endif
