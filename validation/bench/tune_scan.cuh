/* Variants of the single-pass scan that only tune_scan.cu compiles: other loads, stores and look-backs, and kernels that show
 * what each part costs. */
#ifndef TUNE_SCAN_CUH
#define TUNE_SCAN_CUH

#include "scan/scan_works.cuh"

typedef vf_scan_work<float, float, vf_scan_adding<float>, 0, false> sum_work;

/* ---- stores ---- */

/* Results that leave the second-level cache first. */
struct streamed {
    float *p;

    __device__ streamed operator+(int64_t i) const
    {
        return {p + i};
    }
    __device__ float &operator[](int64_t i) const
    {
        return p[i];
    }
};

template <int V, bool ALIGNED>
__device__ inline void vf_store(streamed to, const vf_pack<float, V> &pack)
{
    static_assert(V == 4, "vectors of 16 bytes");
    __stcs(reinterpret_cast<float4 *>(to.p), make_float4(pack.of[0], pack.of[1], pack.of[2], pack.of[3]));
}

struct streamed_work : sum_work {
    streamed y;
};

/* ---- loads (vf_copies_by_lanes has the contract) ---- */

__device__ inline unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

struct copies_evicted_first : vf_copies_by_lanes {
    template <typename Word, int size>
    __device__ void copy(int stage, void *to, const void *from) const
    {
#if __CUDA_ARCH__ >= 800
        if constexpr (sizeof(Word) == 16 && size % (16 * VF_WARP) == 0) {
            unsigned long long policy;
            const unsigned at_lane = threadIdx.x % VF_WARP * 16, to_lane = shared_address(to) + at_lane;
            const char *from_lane = static_cast<const char *>(from) + at_lane;
            asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#pragma unroll
            for (int at = 0; at < size; at += 16 * VF_WARP)
                asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to_lane + at),
                             "l"(__cvta_generic_to_global(from_lane + at)), "l"(policy)
                             : "memory");
            return;
        }
#endif
        vf_copies_by_lanes::copy<Word, size>(stage, to, from);
    }
};

/* Each warp's piece is one bulk copy, and its event tells when it has come. For arrays and pieces of whole 16 bytes. */
template <int nWarps, int nStages>
struct bulk_copies {
    __device__ static vf_event *events()
    {
        __shared__ vf_event all[nStages * nWarps];
        return all;
    }
    __device__ static vf_event *event_of(int stage)
    {
        return events() + stage * nWarps + (int)threadIdx.x / VF_WARP;
    }

    __device__ void init() const
    {
        for (int i = (int)threadIdx.x; i < nStages * nWarps; i += (int)blockDim.x)
            events()[i].init(1);
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }

    /* The event's phase cannot end before `sent`, so it expects the bytes in any case. */
    template <typename Word, int size>
    __device__ void copy(int stage, void *to, const void *from) const
    {
#if __CUDA_ARCH__ >= 900
        static_assert(size % 16 == 0, "whole words of 16 bytes");
        if (threadIdx.x % VF_WARP == 0) {
            const unsigned barrier = shared_address(&event_of(stage)->barrier);
            asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(size)
                         : "memory");
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                    shared_address(to)),
                "l"(__cvta_generic_to_global(from)), "r"(size), "r"(barrier)
                : "memory");
        }
#endif
    }
    __device__ void sent(int stage) const
    {
        event_of(stage)->arrive();
    }
    template <int later>
    __device__ void wait(int stage, bool odd) const
    {
        event_of(stage)->wait(odd);
    }
};

/* ---- look-backs ---- */

/* Tiles in order from the counter, but every tile begins with 0. */
struct no_look_back : vf_look_back<float> {
    static no_look_back next(const vf_scan_scratch &scratch, int64_t tiles)
    {
        return {vf_look_back<float>::next(scratch, tiles)};
    }
    __device__ void publish_tile(unsigned, float) const
    {
    }
    template <typename Op>
    __device__ float before_tile(unsigned, float) const
    {
        return 0;
    }
};

/* The same without the counter: thread blocks take tiles in turn. */
struct no_counter : no_look_back {
    static no_counter next(const vf_scan_scratch &scratch, int64_t tiles)
    {
        return {no_look_back::next(scratch, tiles)};
    }
    __device__ static unsigned &claims()
    {
        __shared__ unsigned so_far;
        return so_far;
    }
    __device__ unsigned claim() const
    {
        return blockIdx.x + gridDim.x * claims()++;
    }
};

struct copies_that_count : vf_copies_by_lanes {
    __device__ void init() const
    {
        if (threadIdx.x == 0)
            no_counter::claims() = 0;
    }
};

/* ---- kernels ---- */

/* A ring (scan_tiles.cuh) of any number of stages. */
template <int nWarps, int nWork, int nBlocks, int nStages, int nBehind = vf_behind_of(nStages),
          typename nCells = vf_look_back<float>, typename nCopies = vf_copies_by_lanes, typename nWorkType = sum_work>
struct ring_shape {
    typedef nWorkType Work;
    typedef nCells Cells;
    typedef vf_shape<nWarps, nWork> Shape;
    typedef vf_scan_ring<Shape, Work, nStages, nBehind, Cells, nCopies> Ring;
    enum { blocks = nBlocks, stages = nStages, threads = 32 * (nWarps + 1 + Ring::SCOUTS) };
};

template <typename S>
__global__ void __launch_bounds__(S::threads, S::blocks)
    scan_ring(const typename S::Work work, const vf_range range, const typename S::Cells cells)
{
    extern __shared__ __align__(16) unsigned char ring_stages[];
    __shared__ typename S::Ring::Letters letters;
    const typename S::Ring ring = {
        work, range, cells, letters, ring_stages, (unsigned)vf_data_blocks<typename S::Shape>(range), {}};
    ring.run();
}

/* The ring's loads and stores: all stages are on their way, and nothing is added. Tiles in turn; the last one, if it is
 * partial, is left out. */
template <typename S>
__global__ void __launch_bounds__(32 * S::Shape::warps, S::blocks)
    copy_tiles(const typename S::Work work, const vf_range range)
{
    typedef typename S::Shape Shape;
    typedef typename S::Ring Ring;
    extern __shared__ __align__(16) unsigned char ring_stages[];
    typename Ring::Piece piece;
    constexpr int V = Ring::Piece::V, AHEAD = S::stages - 1;
    const vf_copies_by_lanes copies;
    const int64_t tiles = vf_whole_to<Shape>(range);
    const int warp = (int)threadIdx.x / VF_WARP;
    const auto stage_of = [&](int stage) {
        return reinterpret_cast<float *>(ring_stages + stage * Ring::bytes) + warp * Shape::in_warp;
    };
    const auto send_for = [&](int stage, int64_t tile) {
        if (tile < tiles)
            copies.copy<uint4, Shape::in_warp *(int)sizeof(float)>(
                stage, stage_of(stage), work.x + vf_first_of<Shape>(range, tile) + warp * Shape::in_warp);
        copies.sent(stage);
    };
    for (int i = 0; i < AHEAD; i++)
        send_for(i, blockIdx.x + (int64_t)i * gridDim.x);
    int stage = 0;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage = stage + 1 < S::stages ? stage + 1 : 0) {
        send_for(stage > 0 ? stage - 1 : AHEAD, tile + (int64_t)AHEAD * gridDim.x);
        copies.wait<AHEAD>(stage, false);
        __syncwarp();
        piece.take(stage_of(stage), nullptr);
        const int64_t first = vf_first_of<Shape>(range, tile);
#pragma unroll
        for (int k = 0; k < Ring::Piece::steps; k++)
            vf_store<V, true>(work.y + Shape::at(first, k, V), piece.items[k]);
        __syncwarp(); /* the stage is free */
    }
}

/* One tile a thread block, in registers; other thread blocks of the multiprocessor work while it looks back. */
template <typename Shape, int nBlocks, typename Cells>
__global__ void __launch_bounds__(Shape::threads, nBlocks)
    scan_block(const sum_work work, const vf_range range, const Cells cells)
{
    __shared__ unsigned claimed;
    __shared__ float sums[Shape::warps], before_block;
    if (threadIdx.x == 0)
        claimed = cells.claim();
    __syncthreads();
    const unsigned tile = claimed;
    const int64_t first = vf_first_of<Shape>(range, tile);
    const bool is_whole = tile < vf_whole_to<Shape>(range);
    vf_scan_piece<Shape, sum_work> piece;
    if (is_whole)
        piece.piece.load_whole(work, first);
    else
        piece.piece.load_part(work, first, range);
    float all;
    const float sum = piece.scan(), before_warp = vf_block_before<Shape::warps, sum_work>(sum, sums, &all);
    if (threadIdx.x < VF_WARP) {
        if (threadIdx.x == 0)
            cells.publish_tile(tile, all);
        const float before = cells.template before_tile<sum_work>(tile, all);
        if (threadIdx.x == 0)
            before_block = before;
    }
    __syncthreads();
    piece.store(work, range, first, is_whole, before_block + before_warp);
}

/* Every warp takes tiles whose sum is 1, publishes and looks back. */
template <typename Cells>
__global__ void look_back_alone(const Cells cells, unsigned tiles, unsigned long long *wrong)
{
    const bool is_first = threadIdx.x % VF_WARP == 0;
    for (;;) {
        const unsigned tile = __shfl_sync(VF_ALL_LANES, is_first ? cells.claim() : 0, 0);
        if (tile >= tiles)
            return;
        if (is_first)
            cells.publish_tile(tile, 1);
        if (cells.template before_tile<sum_work>(tile, 1) != (float)tile && is_first)
            atomicAdd(wrong, 1ull);
    }
}

#endif
