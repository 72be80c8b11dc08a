/* Data access skeletons for kernels that are limited by memory bandwidth: how thread blocks share the data blocks of an
 * array, and how a thread block accesses one of them. After Brown, PhD thesis, University of North Carolina (2015). Not
 * installed.
 *
 * An array is cut into data blocks of a fixed shape: nWarps x 32 threads with nWork elements each. The compiler knows
 * both numbers. nWarps gives thread parallelism, nWork instruction parallelism. The fastest pair is measured and
 * written into a table beside the kernel, never into the kernel.
 *
 * Data blocks begin at warp-aligned addresses (VF_LINE bytes). For this a range has a `lead`: the number of elements
 * that the first data block would have before the array begins. So only the FIRST and the LAST data block of an array
 * can be partial. Only these check each index ("edge"); all MIDDLE ones access their elements without checks
 * ("middle").
 *
 * A skeleton says which data blocks a thread block takes:
 *   Block   one, with the thread block's own number. For independent elements: map, copy, fill, gather.
 *   Column  every gridDim.x-th one, so neighbouring thread blocks are at neighbouring addresses at any time. For work
 *           in any order: commutative reductions, histograms.
 *   Row     a contiguous run, one of gridDim.x runs whose lengths differ by at most one. For work in order: scans,
 *           reductions with operators that do not commute.
 * Each skeleton calls a body, which is any type with two functions:
 *   __device__ void middle(int64_t first);  a whole data block, from element `first` on
 *   __device__ void edge(int64_t first);    a partial one: `first` may be negative, and the block may extend beyond n
 * All threads of a thread block call with the same `first`, so bodies may use __syncthreads.
 *
 * Inside a data block, access is Warp-by-Warp. Each warp owns a contiguous piece of 32 nWork elements and walks through
 * it in nWork / V steps. In a step each lane takes V contiguous elements, and the warp's 32 V elements are contiguous:
 *
 *     typedef vf_shape<8, 16> Shape;
 *     struct doubling {
 *         vf_range range; const float *x; float *y;
 *         __device__ void middle(int64_t first) const {
 *             vf_pack<float, 4> u[Shape::steps(4)];
 *             for (int k = 0; k < Shape::steps(4); k++) u[k] = vf_load<4, true>(x + Shape::at(first, k, 4));
 *             for (int k = 0; k < Shape::steps(4); k++) ...
 *         }
 *         __device__ void edge(int64_t first) const {
 *             for (int k = 0; k < Shape::steps(1); k++) {
 *                 const int64_t i = Shape::at(first, k, 1);
 *                 if (range.has(i)) y[i] = 2 * x[i];
 *             }
 *         }
 *     };
 *     __global__ void __launch_bounds__(Shape::threads) kernel(doubling body) {
 *         vf_skeleton_block<Shape>(body.range, body);
 *     }
 *     const vf_range range = vf_range_at(x, n);
 *     kernel<<<vf_data_blocks<Shape>(range), Shape::threads, 0, stream>>>({range, x, y});
 *
 * The loads of a data block come before their first use, so each thread has nWork elements in flight at once.
 *
 * The address of an array changes the lead, and with it which elements share a data block. Sums of floating-point
 * numbers must depend on n alone. Their kernels take vf_range_from_0, whose lead is 0, and load with ALIGNED = false
 * where the address is not aligned to vectors.
 */
#ifndef VOXFIELD_ACCESS_CUH
#define VOXFIELD_ACCESS_CUH

#include <stdint.h>
#include <string.h>

#include <cuda_runtime.h>

enum { VF_WARP = 32, VF_LINE = 128, VF_VECTOR = 16 }; /* threads; bytes of 32 words; bytes of the widest load */

/* ---- ranges ---- */

/* Elements [0, n) of an array whose first data block begins `lead` elements earlier. */
struct vf_range {
    int64_t n, lead;

    __host__ __device__ bool has(int64_t i) const
    {
        return (uint64_t)i < (uint64_t)n;
    }
};

/* Data blocks begin at warp-aligned addresses. `data` must be aligned to the element size, which is a power of two
 * and at most VF_LINE. */
template <typename T>
inline vf_range vf_range_at(const T *data, int64_t n)
{
    static_assert(VF_LINE % sizeof(T) == 0, "elements that fill a line");
    return {n, (int64_t)((uintptr_t)data % VF_LINE / sizeof(T))};
}

/* Data blocks begin at element 0, wherever that is. */
inline vf_range vf_range_from_0(int64_t n)
{
    return {n, 0};
}

/* ---- data blocks, Warp-by-Warp ---- */

template <int nWarps, int nWork>
struct vf_shape {
    static_assert(nWarps >= 1 && nWarps <= 32 && nWork >= 1, "a thread block has 1 to 32 warps");
    static constexpr int warps = nWarps, work = nWork, threads = nWarps * VF_WARP, in_warp = VF_WARP * nWork,
                         in_block = threads * nWork; /* elements per warp's piece, per data block */

    /* Steps of V elements per lane; V divides nWork. */
    __host__ __device__ static constexpr int steps(int V)
    {
        return nWork / V;
    }

    /* The first of the V contiguous elements that this thread touches in step k. */
    __device__ static int64_t at(int64_t first, int k, int V)
    {
        return first + in_block_at(0, V) + (int64_t)k * VF_WARP * V; /* one address, and constants to add to it */
    }
    __device__ static int in_block_at(int k, int V)
    {
        const int warp = (int)threadIdx.x / VF_WARP, lane = (int)threadIdx.x % VF_WARP;
        return warp * in_warp + (k * VF_WARP + lane) * V;
    }
};

/* Data blocks of a range; the whole ones among them are [whole_from, whole_to). */
template <typename Shape>
__host__ __device__ inline int64_t vf_data_blocks(vf_range r)
{
    return r.n > 0 ? (r.n + r.lead - 1) / Shape::in_block + 1 : 0;
}

template <typename Shape>
__device__ inline int64_t vf_whole_from(vf_range r)
{
    return r.lead > 0;
}

template <typename Shape>
__device__ inline int64_t vf_whole_to(vf_range r)
{
    return (r.n + r.lead) / Shape::in_block;
}

/* The first element of data block b. */
template <typename Shape>
__device__ inline int64_t vf_first_of(vf_range r, int64_t b)
{
    return b * Shape::in_block - r.lead;
}

/* The part of a data block that lies in the range, relative to the block's first element: 32-bit checks are faster. */
struct vf_part {
    int from, to;

    __device__ bool has(int in_block) const
    {
        return in_block >= from && in_block < to;
    }
};

template <typename Shape>
__device__ inline vf_part vf_part_of(vf_range r, int64_t first)
{
    return {first < 0 ? (int)-first : 0, r.n - first < Shape::in_block ? (int)(r.n - first) : Shape::in_block};
}

/* ---- skeletons ---- */

/* Visits data blocks b, b + stride, ... below `end`. The loop over MIDDLE ones checks no element. */
template <typename Shape, typename Body>
__device__ inline void vf_walk(vf_range r, int64_t b, int64_t stride, int64_t end, Body &body)
{
    const int64_t from = vf_whole_from<Shape>(r), to = vf_whole_to<Shape>(r), last = to < end ? to : end;
    if (b < from && b < end) { /* FIRST */
        body.edge(vf_first_of<Shape>(r, b));
        b += stride;
    }
    for (; b < last; b += stride) /* MIDDLE */
        body.middle(vf_first_of<Shape>(r, b));
    if (b < end) /* LAST */
        body.edge(vf_first_of<Shape>(r, b));
}

template <typename Shape, typename Body>
__device__ inline void vf_skeleton_block(vf_range r, Body &body)
{
    vf_walk<Shape>(r, blockIdx.x, 1, (int64_t)blockIdx.x + 1, body);
}

template <typename Shape, typename Body>
__device__ inline void vf_skeleton_column(vf_range r, Body &body)
{
    vf_walk<Shape>(r, blockIdx.x, gridDim.x, vf_data_blocks<Shape>(r), body);
}

/* Where run `run` of `runs` begins, in data blocks; run `runs` is the end. */
__host__ __device__ inline int64_t vf_run_begin(int64_t data_blocks, int64_t run, int64_t runs)
{
    const int64_t each = data_blocks / runs, more = data_blocks % runs;
    return run * each + (run < more ? run : more);
}

template <typename Shape, typename Body>
__device__ inline void vf_skeleton_row(vf_range r, Body &body)
{
    const int64_t blocks = vf_data_blocks<Shape>(r);
    vf_walk<Shape>(r, vf_run_begin(blocks, blockIdx.x, gridDim.x), 1,
                   vf_run_begin(blocks, (int64_t)blockIdx.x + 1, gridDim.x), body);
}

/* ---- vectors of contiguous elements ---- */

/* V elements of T in registers. */
template <typename T, int V>
struct vf_pack {
    T of[V];
};

/* How many elements of T a thread loads at once, of the nWork it has in a data block. */
template <typename T>
__host__ __device__ constexpr int vf_vector_of(int nWork)
{
    int v = VF_VECTOR / (int)sizeof(T) > 0 ? VF_VECTOR / (int)sizeof(T) : 1;
    while (nWork % v != 0)
        v /= 2;
    return v;
}

/* Whether elements 0, V, 2 V, ... of a range's data blocks are aligned to vectors. */
template <typename T>
inline bool vf_is_aligned(const T *data, vf_range r, int V)
{
    return ((uintptr_t)data - (uintptr_t)r.lead * sizeof(T)) % ((size_t)V * sizeof(T)) == 0;
}

template <size_t bytes>
struct vf_word { /* other sizes: element by element */
    typedef void type;
};
template <>
struct vf_word<2> {
    typedef unsigned short type;
};
template <>
struct vf_word<4> {
    typedef unsigned type;
};
template <>
struct vf_word<8> {
    typedef uint2 type;
};
template <>
struct vf_word<16> {
    typedef uint4 type;
};

/* Loads V contiguous elements. ALIGNED: in one access, the address being a multiple of their total size. */
template <int V, bool ALIGNED, typename T>
__device__ inline vf_pack<T, V> vf_load(const T *from)
{
    vf_pack<T, V> pack;
    typedef typename vf_word<sizeof pack>::type word;
    if constexpr (ALIGNED && V > 1 && sizeof pack <= VF_VECTOR) {
        const word w = *reinterpret_cast<const word *>(from);
        memcpy(&pack, &w, sizeof pack);
    } else {
#pragma unroll
        for (int j = 0; j < V; j++)
            pack.of[j] = from[j];
    }
    return pack;
}

/* The same for data that is read once and not written meanwhile: it is not kept in the L1 cache. */
template <int V, bool ALIGNED, typename T>
__device__ inline vf_pack<T, V> vf_load_once(const T *from)
{
    vf_pack<T, V> pack;
    if constexpr (ALIGNED && sizeof pack == 16) {
        uint4 w;
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
            : "l"(__cvta_generic_to_global(from)));
        memcpy(&pack, &w, sizeof pack);
        return pack;
    } else {
        return vf_load<V, ALIGNED>(from);
    }
}

/* One store. For a plain assignment the compiler may generate one store per element. */
template <typename Word>
__device__ inline void vf_store_word(Word *to, Word w)
{
    *to = w;
}
__device__ inline void vf_store_word(uint2 *to, uint2 w)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(w.x), "r"(w.y) : "memory");
}
__device__ inline void vf_store_word(uint4 *to, uint4 w)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(w.x), "r"(w.y),
                 "r"(w.z), "r"(w.w)
                 : "memory");
}

template <int V, bool ALIGNED, typename T>
__device__ inline void vf_store(T *to, const vf_pack<T, V> &pack)
{
    typedef typename vf_word<sizeof pack>::type word;
    if constexpr (ALIGNED && V > 1 && sizeof pack <= VF_VECTOR) {
        word w;
        memcpy(&w, &pack, sizeof pack);
        vf_store_word(reinterpret_cast<word *>(to), w);
    } else {
#pragma unroll
        for (int j = 0; j < V; j++)
            to[j] = pack.of[j];
    }
}

#endif
