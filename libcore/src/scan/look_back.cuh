/* What comes before a tile (data block) of a scan, from the sums that other thread blocks publish while they run. Not
 * installed.
 *
 * Why the bits are always the same. In Merrill and Garland's decoupled look-back (NVIDIA Technical Report NVR-2016-002)
 * a tile adds up the sums of the tiles before it until it meets one that knows its whole prefix. How many sums it adds
 * depends on timing, and with floating-point numbers so does the result. Here the association is fixed. GROUP tiles
 * form a group, and what comes before a tile is
 *
 *     P + A,   P: everything before the group,
 *              A: the tiles before this one in the group. Each lane of a warp adds consecutive tiles, and a fixed tree
 *                 of shuffles adds the lanes. A lane without tiles has the identity.
 *
 * Each term is a value that one thread block computes and publishes once. A tile's sum is published as soon as it is
 * known. P is published by the last tile of the previous group, as what comes before that tile + its sum. So n, the
 * shape and the tile's number determine the expression of every y; timing affects only the wait. The only chain, P, has
 * one link per GROUP tiles, and a warp requests everything it needs at once.
 *
 * Progress: a counter hands out tiles, so the tiles before one's own belong to thread blocks that are already running.
 * The first unfinished tile waits only for values that are on their way.
 *
 * Publishing: each 32-bit word of a State travels in one 64-bit word with the launch number. Such words are read and
 * written as a whole, so a word with the right launch number holds the value. No fences and no order between words are
 * needed, and what earlier launches left needs no clearing. */
#ifndef VOXFIELD_LOOK_BACK_CUH
#define VOXFIELD_LOOK_BACK_CUH

#include "scan_piece.cuh"

/* A published State: 32-bit words, each with the launch number. */
template <typename State>
struct vf_cell {
    unsigned long long word[vf_words<State>::count];

    __device__ State value() const
    {
        vf_words<State> w;
#pragma unroll
        for (int i = 0; i < w.count; i++)
            w.of[i] = (unsigned)word[i];
        return w.value();
    }
};

/* One launch's view of the scratch memory. A group has nRows tiles a lane. */
template <typename State, int nRows = 8>
struct vf_look_back {
    static constexpr unsigned ROWS = nRows, GROUP = nRows * VF_WARP;
    unsigned launch, first_claim;
    unsigned *next_tile;                   /* keeps counting from launch to launch */
    vf_cell<State> *tiles, *before_groups; /* sums; everything before a group ([0] is not used) */

    static size_t bytes(int64_t tiles)
    {
        const int64_t groups = (tiles - 1) / GROUP + 1;
        return 16 + (size_t)(groups * GROUP + groups + 1) * sizeof(vf_cell<State>);
    }

    /* The view of the next launch. */
    static vf_look_back next(const vf_scan_scratch &scratch, int64_t tiles)
    {
        vf_cell<State> *cells = reinterpret_cast<vf_cell<State> *>(static_cast<unsigned char *>(scratch.memory) + 16);
        return {scratch.launches + 1, scratch.claims, static_cast<unsigned *>(scratch.memory), cells,
                cells + ((tiles - 1) / GROUP + 1) * GROUP};
    }

    __device__ unsigned claim() const
    {
        return atomicAdd(next_tile, 1) - first_claim;
    }

    __device__ void publish_tile(unsigned tile, const State &sum) const
    {
        publish(tiles + tile / GROUP * GROUP + cell_of(tile % GROUP), sum);
    }

    /* What comes before a tile, in lane 0 of the calling warp. `sum`: the tile's sum. */
    template <typename Op>
    __device__ State before_tile(unsigned tile, const State &sum) const
    {
        const unsigned lane = threadIdx.x % VF_WARP, group = tile / GROUP, in_group = tile % GROUP;
        const vf_cell<State> *mine = tiles + group * GROUP + lane;
        vf_cell<State> rows[ROWS] = {}, head = {}; /* of no launch */
        bool has_head = group == 0, has_rows;
        for (;;) {
            /* Everything missing is requested at once, so that the round trips overlap. */
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                if (lane * ROWS + r < in_group && !is_of_launch(rows[r]))
                    read(mine + r * VF_WARP, &rows[r]);
            if (!has_head)
                read(before_groups + group, &head);
            has_rows = true;
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                has_rows = has_rows && (lane * ROWS + r >= in_group || is_of_launch(rows[r]));
            has_head = has_head || is_of_launch(head);
            if (__all_sync(VF_ALL_LANES, has_rows))
                break;
            __nanosleep(20);
        }
        State before = Op::identity();
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++)
            if (lane * ROWS + r < in_group)
                before = Op::combine(before, rows[r].value());
        before = vf_warp_reduce<Op>(before);
        while (!has_head) {
            read(before_groups + group, &head);
            has_head = is_of_launch(head);
        }
        if (group > 0)
            before = Op::combine(head.value(), before);
        if (lane == 0 && in_group == GROUP - 1)
            publish(before_groups + group + 1, Op::combine(before, sum));
        return before;
    }

  private:
    /* The position of the cell of tile `in_group` in its group: all lanes' first tiles, then their second ones, and so
     * on. So a warp reads whole rows, and each lane gets ROWS consecutive tiles. */
    __device__ static unsigned cell_of(unsigned in_group)
    {
        return in_group % ROWS * VF_WARP + in_group / ROWS;
    }

    __device__ void publish(vf_cell<State> *cell, const State &s) const
    {
        const vf_words<State> w(s);
#pragma unroll
        for (int i = 0; i < w.count; i++)
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(cell->word + i),
                         "l"((unsigned long long)launch << 32 | w.of[i])
                         : "memory");
    }

    /* Reads a cell as it is now, without waiting for it. */
    __device__ void read(const vf_cell<State> *cell, vf_cell<State> *out) const
    {
#pragma unroll
        for (int i = 0; i < vf_words<State>::count; i++)
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(out->word[i]) : "l"(cell->word + i) : "memory");
    }

    __device__ bool is_of_launch(const vf_cell<State> &cell) const
    {
        bool all = true;
#pragma unroll
        for (int i = 0; i < vf_words<State>::count; i++)
            all = all && cell.word[i] >> 32 == launch;
        return all;
    }
};

#endif
