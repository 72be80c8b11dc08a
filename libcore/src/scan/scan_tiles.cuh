/* The single-pass scan: each element is read once and written once. Thread blocks take tiles (data blocks) in order,
 * publish each tile's sum, and look back for what comes before it (look_back.cuh). Not installed.
 *
 * Looking back takes several times as long as a tile's way through memory. So a thread block works on many tiles at a
 * time, in a ring of STAGES in shared memory, and its warps have different roles. In each turn the workers, which are
 * the warps of the shape,
 *
 *   make the sum of a tile; the publisher makes it known to other thread blocks, and a scout looks back from it;
 *   take the tile that was summed BEHIND turns ago into registers, and load the one AHEAD turns on in its place;
 *   scan the tile they took, wait for what its scout found to come before it, and store the results.
 *
 * So at any time AHEAD tiles are on their way from memory, and several scouts in turn look back from BEHIND tiles. The
 * publisher also claims tiles, early enough that nobody waits for the counter.
 *
 * Each worker has its own piece of a stage and waits for no other worker. Each stage has three events that connect
 * workers with the other warps:
 *
 *   named    the publisher has said which tile goes into the stage
 *   summed   all workers have left their pieces' sums
 *   found    the scout has left what comes before each piece
 *
 * A place is written again only when everyone who reads it has passed a later event. Before workers make the sum of
 * tile j + STAGES, `found` of tile j has told them that its scout is done with the sums of tile j, and `named` of tile
 * j + STAGES that the publisher is done too: it names that tile in turn j + 1 at the earliest. Scouts pass `summed` of
 * tile j + STAGES only when all workers have stored tile j. */
#ifndef VOXFIELD_SCAN_TILES_CUH
#define VOXFIELD_SCAN_TILES_CUH

#include <cuda_pipeline.h>

#include "backend/block_events.cuh"
#include "backend/tuning.cuh"
#include "look_back.cuh"

/* Bytes of shared memory that a multiprocessor has for thread blocks. Each thread block takes 1 KiB more than it
 * uses. */
constexpr int vf_shared_of(int arch)
{
    const int kib = arch == 75                                                ? 64
                    : arch == 86 || arch == 89 || (arch >= 120 && arch < 130) ? 100
                    : arch < 90                                               ? 164
                                                                              : 228;
    return 1024 * kib;
}

enum { VF_MOST_STAGES = 8, VF_MOST_SCOUTS = 4 };

/* Bytes per element in shared memory. */
template <typename Work>
constexpr int vf_scan_staged_bytes()
{
    return (int)sizeof(typename Work::Element) + (Work::SEGMENTED ? 1 : 0);
}

/* As many stages as fit into shared memory. */
template <typename Work>
constexpr int vf_stages_within(vf_tuning t, int arch)
{
    const int stage = 32 * t.warps * t.work * vf_scan_staged_bytes<Work>(),
              letters = VF_MOST_STAGES * (2 * t.warps * (int)sizeof(typename Work::State) + 3 * 16 + 8),
              most = vf_shared_of(arch) / (t.blocks > 0 ? t.blocks : 1) - 1024 - letters, stages = most / stage;
    return stages < 2 ? 2 : stages < VF_MOST_STAGES ? stages : (int)VF_MOST_STAGES;
}

/* The stages whose tiles' sums are known, and the scouts, which take turns. */
constexpr int vf_behind_of(int stages)
{
    return stages / 2;
}
constexpr int vf_scouts_of(int behind)
{
    return behind < VF_MOST_SCOUTS ? behind + 1 : (int)VF_MOST_SCOUTS;
}

/* How many turns before its sum the publisher names a tile: if possible a turn before the tile's loads start, so that
 * fast workers need not wait for slow ones. By then everyone must have read the previous tile in its place. */
constexpr int vf_named_of(int stages, int behind)
{
    return stages - behind + (behind > 1);
}
/* Tiles that a thread block's publisher claims in addition to the tiles that the block scans: those it names before the
 * first turn, one in flight, and one for each turn in which a scout learns that no tiles are left. */
constexpr unsigned vf_first_claims_of(int stages, int behind)
{
    return (unsigned)(vf_named_of(stages, behind) + 1 + vf_scouts_of(behind));
}

/* What the warps of a thread block leave for each other. */
template <typename Shape, typename State, int STAGES>
struct vf_scan_letters {
    State sums[STAGES][Shape::warps], before[STAGES][Shape::warps];
    vf_event named[STAGES], summed[STAGES], found[STAGES];
    unsigned next[STAGES]; /* tile that goes into a stage next */
    unsigned tile[STAGES]; /* tile whose sums these are */
};

/* How a worker loads its pieces: by asynchronous copies of a few bytes a lane. validation/bench/tune_scan.cu has others. */
struct vf_copies_by_lanes {
    __device__ void init() const /* before a __syncthreads */
    {
    }

    /* Starts copying the `size` bytes of a warp, aligned to Words, into a stage. */
    template <typename Word, int size>
    __device__ void copy(int, void *to, const void *from) const
    {
        constexpr int step = VF_WARP * (int)sizeof(Word), rest = size % step;
        const int at_lane = (int)threadIdx.x % VF_WARP * (int)sizeof(Word);
        unsigned char *to_lane = static_cast<unsigned char *>(to) + at_lane;
        const unsigned char *from_lane = static_cast<const unsigned char *>(from) + at_lane;
#pragma unroll
        for (int at = 0; at + step <= size; at += step)
            __pipeline_memcpy_async(to_lane + at, from_lane + at, sizeof(Word));
        if (rest > 0 && at_lane < rest)
            __pipeline_memcpy_async(to_lane + size - rest, from_lane + size - rest, sizeof(Word));
    }
    __device__ void sent(int) const /* all copies into the stage have started */
    {
        __pipeline_commit();
    }
    /* Until the copies into a stage are done; those into `later` stages were sent after them. */
    template <int later>
    __device__ void wait(int, bool) const
    {
        __pipeline_wait_prior(later);
    }
};

template <typename Shape, typename Work, int nStages, int nBehind = vf_behind_of(nStages),
          typename Cells = vf_look_back<typename Work::State>, typename Copies = vf_copies_by_lanes>
struct vf_scan_ring {
    typedef typename Work::State State;
    typedef typename Work::Element Element;
    typedef vf_scan_letters<Shape, State, nStages> Letters;
    typedef vf_piece<Shape, Work> Piece;
    enum {
        STAGES = nStages,
        BEHIND = nBehind,
        AHEAD = STAGES - BEHIND,
        SCOUTS = vf_scouts_of(BEHIND),
        NAMED = vf_named_of(STAGES, BEHIND)
    };
    static constexpr unsigned NO_TILE = 0xffffffffu;
    static constexpr int element_bytes = Shape::in_block * (int)sizeof(Element),
                         bytes = Shape::in_block * vf_scan_staged_bytes<Work>();

    const Work &work;
    const vf_range &range;
    const Cells &cells;
    Letters &letters;
    unsigned char *stages;
    unsigned tiles;
    Copies copies;

    /* A place in the ring: the stage, and whether its phase is odd. */
    struct place {
        int stage;
        bool odd;

        __device__ void advance(int by)
        {
            stage += by;
            if (stage >= STAGES) {
                stage -= STAGES;
                odd = !odd;
            }
        }
    };

    __device__ static int lane()
    {
        return (int)threadIdx.x % VF_WARP;
    }
    __device__ static int warp()
    {
        return (int)threadIdx.x / VF_WARP;
    }
    __device__ bool is_whole(unsigned tile) const
    {
        return tile >= vf_whole_from<Shape>(range) && tile < vf_whole_to<Shape>(range);
    }

    /* ---- workers ---- */

    __device__ Element *elements_in(int stage) const
    {
        return reinterpret_cast<Element *>(stages + stage * bytes) + warp() * Shape::in_warp;
    }
    __device__ uint8_t *heads_in(int stage) const
    {
        return stages + stage * bytes + element_bytes + warp() * Shape::in_warp;
    }

    /* Copies a warp's piece, `in_warp` elements of type T, from any address. */
    template <typename T>
    __device__ void copy_piece(int stage, T *to, const T *from) const
    {
        constexpr int size = Shape::in_warp * (int)sizeof(T);
        const uintptr_t at = reinterpret_cast<uintptr_t>(from);
        if (at % 16 == 0)
            copies.template copy<uint4, size>(stage, to, from);
        else if (at % 4 == 0)
            copies.template copy<unsigned, size>(stage, to, from);
        else {
#pragma unroll 1
            for (int i = lane(); i < Shape::in_warp; i += VF_WARP)
                to[i] = from[i];
        }
    }

    /* Starts loading the worker's piece of a tile. */
    __device__ void send_for(int stage, unsigned tile) const
    {
        const int64_t first = vf_first_of<Shape>(range, tile);
        Element *elements = elements_in(stage);
        uint8_t *heads = heads_in(stage);
        if (is_whole(tile)) {
            copy_piece(stage, elements, work.x + first + warp() * Shape::in_warp);
            if constexpr (Work::SEGMENTED)
                copy_piece(stage, heads, work.head + first + warp() * Shape::in_warp);
            return;
        }
        const vf_part part = vf_part_of<Shape>(range, first);
#pragma unroll 1
        for (int i = lane(); i < Shape::in_warp; i += VF_WARP) {
            const int in_block = warp() * Shape::in_warp + i;
            elements[i] = part.has(in_block) ? work.x[first + in_block] : Work::blank();
            if constexpr (Work::SEGMENTED)
                heads[i] = part.has(in_block) ? work.head[first + in_block] : (uint8_t)0;
        }
    }

    /* The tile that goes into a stage next; waits until it is named. */
    __device__ unsigned next_for(const place &p) const
    {
        letters.named[p.stage].wait(p.odd);
        return letters.next[p.stage];
    }

    __device__ static void push(unsigned (&tile)[STAGES], unsigned next)
    {
#pragma unroll
        for (int i = 0; i + 1 < STAGES; i++)
            tile[i] = tile[i + 1];
        tile[STAGES - 1] = next;
    }

    __device__ void work_on() const
    {
        unsigned tile[STAGES]; /* tiles of the turns from BEHIND before this one to AHEAD - 1 after it */
        int past = 0;          /* turns without a tile */
#pragma unroll
        for (int i = 0; i < STAGES; i++)
            tile[i] = NO_TILE;
        place summed = {0, false}, stored = {STAGES - BEHIND, true}, named = {0, false};
#pragma unroll 1
        for (int i = 0; i < AHEAD; i++, named.advance(1)) {
            push(tile, next_for(named));
            if (tile[STAGES - 1] < tiles)
                send_for(i, tile[STAGES - 1]);
            copies.sent(i);
        }
        for (int turn = 0;; turn++, summed.advance(1), stored.advance(1), named.advance(1)) {
            const unsigned t = tile[BEHIND];
            if (t < tiles) {
                copies.template wait<AHEAD - 1>(summed.stage, summed.odd);
                __syncwarp();
                Piece piece;
                piece.take(elements_in(summed.stage), heads_in(summed.stage));
                const State sum = piece.reduce();
                if (lane() == 0)
                    letters.sums[summed.stage][warp()] = sum;
            } else
                past++;
            if (past <= SCOUTS) { /* each scout must learn that no tiles are left */
                if (threadIdx.x == 0)
                    letters.tile[summed.stage] = t;
                letters.summed[summed.stage].arrive();
            }
            if (past > BEHIND)
                return;
            const bool has_last = turn >= BEHIND;
            vf_scan_piece<Shape, Work> last;
            if (has_last)
                last.piece.take(elements_in(stored.stage), heads_in(stored.stage));
            __syncwarp(); /* the stage is free */
            unsigned next = NO_TILE;
            if (past == 0) {
                next = next_for(named);
                if (next < tiles)
                    send_for(named.stage, next);
                copies.sent(named.stage);
            }
            if (has_last) {
                last.scan();
                letters.found[stored.stage].wait(stored.odd);
                last.store(work, range, vf_first_of<Shape>(range, tile[0]), is_whole(tile[0]),
                           letters.before[stored.stage][warp()]);
            }
            push(tile, next);
        }
    }

    /* ---- publisher and scouts ---- */

    __device__ void name(const place &p, unsigned tile) const
    {
        if (lane() == 0)
            letters.next[p.stage] = tile;
        letters.named[p.stage].arrive();
    }

    __device__ void publish() const
    {
        place p = {0, false}, named = {0, false};
        int past = 0;
        unsigned next = 0; /* in lane 0 */
        for (int i = 0; i < NAMED; i++, named.advance(1))
            name(named, lane() == 0 ? cells.claim() : 0);
        if (lane() == 0)
            next = cells.claim();
        for (;; p.advance(1), named.advance(1)) {
            name(named, next);
            if (lane() == 0)
                next = cells.claim(); /* in flight during a turn */
            letters.summed[p.stage].wait(p.odd);
            const unsigned tile = letters.tile[p.stage];
            if (tile >= tiles && ++past == SCOUTS)
                return;
            if (tile >= tiles)
                continue;
            State sum;
            vf_before_warps<Shape::warps, Work>(letters.sums[p.stage], &sum);
            if (lane() == 0)
                cells.publish_tile(tile, sum);
        }
    }

    __device__ void look_back(int scout) const
    {
        for (place p = {scout, false};; p.advance(SCOUTS)) {
            letters.summed[p.stage].wait(p.odd);
            const unsigned tile = letters.tile[p.stage];
            if (tile >= tiles)
                return;
            State sum;
            const State before_warp = vf_before_warps<Shape::warps, Work>(letters.sums[p.stage], &sum);
            const State before = vf_shuffle_from(cells.template before_tile<Work>(tile, sum), 0);
            if (lane() < Shape::warps)
                letters.before[p.stage][lane()] = Work::combine(before, before_warp);
            letters.found[p.stage].arrive();
        }
    }

    /* All threads of a thread block. */
    __device__ void run() const
    {
        if (threadIdx.x < STAGES) {
            letters.named[threadIdx.x].init(1);
            letters.summed[threadIdx.x].init(Shape::warps);
            letters.found[threadIdx.x].init(1);
        }
        copies.init();
        __syncthreads();
        if (warp() < Shape::warps)
            work_on();
        else if (warp() == Shape::warps)
            publish();
        else
            look_back(warp() - Shape::warps - 1);
    }
};

/* The ring that fits into an architecture's shared memory. */
template <typename Tuning, typename Work>
using vf_tuned_ring = vf_scan_ring<vf_shape_of<Tuning>, Work, vf_stages_within<Work>(vf_tuned<Tuning>::here, VF_ARCH)>;

/* Warps in addition to the shape's: the publisher and the scouts. */
template <typename Work>
constexpr int vf_scan_more_warps(vf_tuning t, int arch)
{
    return 1 + vf_scouts_of(vf_behind_of(vf_stages_within<Work>(t, arch)));
}

template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning) +
                                      VF_WARP * vf_scan_more_warps<Work>(vf_tuned<Tuning>::here, VF_ARCH),
                                  vf_blocks_within(vf_tuned<Tuning>::here,
                                                   vf_scan_more_warps<Work>(vf_tuned<Tuning>::here, VF_ARCH), VF_ARCH))
    vf_scan_tiles(const Work work, const vf_range range, const vf_look_back<typename Work::State> cells)
{
    typedef vf_shape_of<Tuning> Shape;
    typedef vf_tuned_ring<Tuning, Work> Ring;
    extern __shared__ __align__(16) unsigned char vf_scan_stages[];
    __shared__ typename Ring::Letters letters;
    const Ring ring = {work, range, cells, letters, vf_scan_stages, (unsigned)vf_data_blocks<Shape>(range), {}};
    ring.run();
}

/* ---- launching; n > 0 ---- */

/* The minimum scratch memory for a range. */
template <typename Work>
inline size_t vf_scan_tiles_bytes(const vf_launch &launch, vf_range range)
{
    return vf_look_back<typename Work::State>::bytes(vf_count_data_blocks(launch, range));
}

template <typename Tuning, typename Work>
inline cudaError_t vf_find_single_pass(vf_launch *launch)
{
    const auto kernel = vf_scan_tiles<Tuning, Work>;
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess)
        return error;
    const vf_tuning t = Tuning::at(attributes.ptxVersion);
    const int stages = vf_stages_within<Work>(t, attributes.ptxVersion);
    launch->shared_bytes = stages * 32 * t.warps * t.work * vf_scan_staged_bytes<Work>();
    launch->first_claims = vf_first_claims_of(stages, vf_behind_of(stages));
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch->shared_bytes);
    return error == cudaSuccess
               ? vf_find_launch<Tuning>(kernel, true, launch, vf_scan_more_warps<Work>(t, attributes.ptxVersion))
               : error;
}

template <typename Tuning, typename Work>
inline cudaError_t vf_scan_single_pass(const vf_launch &launch, cudaStream_t stream, const Work &work, vf_range range,
                                       vf_scan_scratch *scratch)
{
    typedef vf_look_back<typename Work::State> Cells;
    const int64_t tiles = vf_count_data_blocks(launch, range);
    const unsigned blocks = vf_count_thread_blocks(launch, range);
    if (scratch->launches == UINT32_MAX) { /* launch numbers start again: old cells must not look like new ones */
        const cudaError_t error = cudaMemsetAsync(scratch->memory, 0, scratch->bytes, stream);
        if (error != cudaSuccess)
            return error;
        scratch->launches = scratch->claims = 0;
    }
    const Cells cells = Cells::next(*scratch, tiles);
    vf_scan_tiles<Tuning, Work><<<blocks, launch.threads, launch.shared_bytes, stream>>>(work, range, cells);
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        scratch->launches = cells.launch;
        scratch->claims += launch.first_claims * blocks + (unsigned)tiles;
    }
    return error;
}

#endif
