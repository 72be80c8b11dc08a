/* Scans on a GPU, by any associative operator with an identity, commutative or not: a warp's piece of a data block,
 * which both kinds of scan use. Not installed.
 *
 *   scan_tiles.cuh   single-pass: an element is read once and written once
 *   scan_runs.cuh    three-kernel: elements are read twice
 */
#ifndef VOXFIELD_SCAN_PIECE_CUH
#define VOXFIELD_SCAN_PIECE_CUH

#include "backend/block_stages.cuh"

/* Scratch memory for scans, one at a time. Aligned to 16 bytes, and all 0 before the first scan. */
struct vf_scan_scratch {
    void *memory;
    size_t bytes;
    unsigned launches; /* single-pass scans so far */
    unsigned claims;   /* the value of the tile counter after them, modulo 2^32 */
};

/* A warp's piece of a tile, from loading to storing.
 *
 * Work: as for vf_piece (block_stages.cuh; `aligned` covers y too), and
 *   Out, Out *y
 *   static constexpr int EXCLUSIVE                   0 or 1; VF_EITHER: bool exclusive says it, so that both kinds are
 *                                                    one kernel
 *   static Out value(State)                          inclusive: the result for everything up to an element
 *   static Out value_before(State before, bool head) exclusive: the result for everything before it */
enum { VF_EITHER = 2 };

template <typename Work>
__device__ inline bool vf_is_exclusive(const Work &work)
{
    if constexpr (Work::EXCLUSIVE == VF_EITHER)
        return work.exclusive;
    return Work::EXCLUSIVE != 0;
}

template <typename Shape, typename Work>
struct vf_scan_piece {
    typedef typename Work::State State;
    typedef typename Work::Out Out;
    typedef vf_piece<Shape, Work> Piece;
    static constexpr int V = Piece::V, steps = Piece::steps;
    Piece piece;
    State before[steps]; /* what comes before the lane's elements of each step, in the piece */

    /* The piece's sum, in all lanes. */
    __device__ State scan()
    {
        return piece.scan(before);
    }

    /* Stores the piece's results, after scan(). `before_piece`: what comes before the piece. */
    __device__ void store(const Work &work, const vf_range &range, int64_t first, bool is_whole,
                          const State &before_piece) const
    {
        if (!is_whole)
            store_part(work, vf_part_of<Shape>(range, first), first, before_piece);
        else if (work.aligned)
            store_whole<true>(work, first, before_piece);
        else
            store_whole<false>(work, first, before_piece);
    }

  private:
    __device__ vf_pack<Out, V> results(const Work &work, int k, const State &before_piece) const
    {
        vf_pack<Out, V> out;
        const bool exclusive = vf_is_exclusive(work);
        State s = Work::combine(before_piece, before[k]);
#pragma unroll
        for (int j = 0; j < V; j++) {
            if (exclusive)
                out.of[j] = Work::value_before(s, piece.is_head(k, j));
            s = Work::combine(s, piece.state(k, j));
            if (!exclusive)
                out.of[j] = Work::value(s);
        }
        return out;
    }

    template <bool ALIGNED>
    __device__ void store_whole(const Work &work, int64_t first, const State &before_piece) const
    {
#pragma unroll
        for (int k = 0; k < steps; k++)
            vf_store<V, ALIGNED>(work.y + Shape::at(first, k, V), results(work, k, before_piece));
    }

    __device__ void store_part(const Work &work, const vf_part &part, int64_t first, const State &before_piece) const
    {
#pragma unroll
        for (int k = 0; k < steps; k++) {
            const vf_pack<Out, V> out = results(work, k, before_piece);
#pragma unroll
            for (int j = 0; j < V; j++)
                if (part.has(Shape::in_block_at(k, V) + j))
                    work.y[Shape::at(first, k, V) + j] = out.of[j];
        }
    }
};

#endif
