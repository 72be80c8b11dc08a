/* The GPU's histograms by edges, and of integers. A thread block counts in shared memory, and adds its counts to those of
 * the array at the end. If bins are few, lanes count in several copies, which spares conflicts of banks. Not installed. */
#ifndef VOXFIELD_HISTOGRAM_COUNTS_CUH
#define VOXFIELD_HISTOGRAM_COUNTS_CUH

#include "histogram_bins.h"
#include "histogram_tuning.cuh"

/* ---- bins: a type with the Element; `shared_bytes` of tables; load_tables, which all threads of a thread block call to put
 * them into shared memory; and find, the bins of V elements, or VF_NO_BIN ---- */

template <typename T, bool BY_KEYS>
struct vf_cell;
template <bool BY_KEYS>
struct vf_cell<float, BY_KEYS> {
    typedef vf_cells_f32 Cells;
    static __device__ int of(const Cells &cells, float x)
    {
        return BY_KEYS ? vf_cell_by_key_f32(&cells, x) : vf_cell_by_width_f32(&cells, x);
    }
    static __device__ int bin(const Cells &cells, int from, int to, float x)
    {
        return vf_bin_between_f32(cells.inner, from, to, x);
    }
};
template <bool BY_KEYS>
struct vf_cell<double, BY_KEYS> {
    typedef vf_cells_f64 Cells;
    static __device__ int of(const Cells &cells, double x)
    {
        return BY_KEYS ? vf_cell_by_key_f64(&cells, x) : vf_cell_by_width_f64(&cells, x);
    }
    static __device__ int bin(const Cells &cells, int from, int to, double x)
    {
        return vf_bin_between_f64(cells.inner, from, to, x);
    }
};

template <typename T, bool BY_KEYS>
struct vf_edge_bins {
    typedef T Element;
    typedef vf_cell<T, BY_KEYS> Cell;
    typename Cell::Cells cells; /* the tables are in device memory, then in shared memory */
    int bins;

    __host__ __device__ size_t shared_bytes() const
    {
        return (size_t)bins * sizeof(T) + (size_t)cells.cells * sizeof(uint32_t);
    }

    __device__ void load_tables(unsigned char *room)
    {
        T *inner = reinterpret_cast<T *>(room);
        uint32_t *bounds = reinterpret_cast<uint32_t *>(inner + bins);
        for (int i = (int)threadIdx.x; i < bins; i += (int)blockDim.x)
            inner[i] = cells.inner[i];
        for (int i = (int)threadIdx.x; i < cells.cells; i += (int)blockDim.x)
            bounds[i] = cells.bounds[i];
        cells.inner = inner;
        cells.bounds = bounds;
    }

    /* Step by step for all elements, so that their accesses to shared memory overlap. */
    template <int V>
    __device__ void find(const vf_pack<T, V> &x, int (&bin)[V]) const
    {
        uint32_t bounds[V];
        bool more = false;
#pragma unroll
        for (int j = 0; j < V; j++) {
            const bool inside = x.of[j] >= cells.low && x.of[j] < cells.high;
            bounds[j] = cells.bounds[inside ? Cell::of(cells, x.of[j]) : 0];
            bin[j] = inside ? 0 : VF_NO_BIN;
            more = more || (bounds[j] >> 16) - (bounds[j] & 0xffff) > 1;
        }
#pragma unroll
        for (int j = 0; j < V; j++) {
            const int from = (int)(bounds[j] & 0xffff), to = (int)(bounds[j] >> 16);
            const int found =
                more ? Cell::bin(cells, from, to, x.of[j]) : from + (from < to && x.of[j] >= cells.inner[from]);
            bin[j] = bin[j] == VF_NO_BIN ? VF_NO_BIN : found;
        }
    }
};

/* Bins of equal width. */
template <typename T>
struct vf_integer_bins {
    typedef T Element;
    vf_equal_bins equal;

    __host__ __device__ size_t shared_bytes() const
    {
        return 0;
    }
    __device__ void load_tables(unsigned char *)
    {
    }
    template <int V>
    __device__ void find(const vf_pack<T, V> &x, int (&bin)[V]) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            bin[j] = vf_equal_bin(&equal, x.of[j]);
    }
};

/* ---- counts ---- */

/* In shared memory, [bin][copy]. With 32 copies lanes never meet in a bank. */
struct vf_shared_counts {
    unsigned *of;
    int bins, copies_log;

    __device__ void clear()
    {
        for (int i = (int)threadIdx.x; i < bins << copies_log; i += (int)blockDim.x)
            of[i] = 0;
        __syncthreads();
    }
    __device__ void add(int bin)
    {
        if (bin != VF_NO_BIN)
            atomicAdd(of + (bin << copies_log) + (threadIdx.x & ((1u << copies_log) - 1)), 1u);
    }
    __device__ void finish(unsigned long long *result)
    {
        __syncthreads();
        for (int b = (int)threadIdx.x; b < bins; b += (int)blockDim.x) {
            unsigned sum = 0;
            for (int c = 0; c < 1 << copies_log; c++) /* each thread begins with another copy */
                sum += of[(b << copies_log) + ((c + b) & ((1 << copies_log) - 1))];
            if (sum > 0)
                atomicAdd(result + b, (unsigned long long)sum);
        }
    }
};

template <typename Shape, typename Bins>
struct vf_count_body {
    typedef typename Bins::Element Element;
    static constexpr int V = vf_vector_of<Element>(Shape::work);
    const Bins &bins;
    vf_shared_counts &counts;
    const vf_range range;
    const Element *x;

    template <int M>
    __device__ void count(const vf_pack<Element, M> &pack)
    {
        int bin[M];
        bins.template find<M>(pack, bin);
#pragma unroll
        for (int j = 0; j < M; j++)
            counts.add(bin[j]);
    }

    __device__ void middle(int64_t first)
    {
        vf_pack<Element, V> packs[Shape::steps(V)];
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            packs[k] = vf_load_once<V, true>(x + Shape::at(first, k, V));
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            count<V>(packs[k]);
    }

    __device__ void edge(int64_t first)
    {
        for (int k = 0; k < Shape::steps(1); k++)
            if (range.has(Shape::at(first, k, 1)))
                count<1>(vf_load<1, true>(x + Shape::at(first, k, 1)));
    }
};

/* Adds the counts of x to `result` [many]. */
template <typename Tuning, typename Bins>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_count(Bins bins, const typename Bins::Element *x, const vf_range range, int many, int copies_log,
             unsigned long long *result)
{
    typedef vf_shape_of<Tuning> Shape;
    extern __shared__ __align__(16) unsigned char room[];
    vf_shared_counts counts = {reinterpret_cast<unsigned *>(room + bins.shared_bytes()), many, copies_log};
    bins.load_tables(room);
    counts.clear();
    vf_count_body<Shape, Bins> body = {bins, counts, range, x};
    vf_skeleton_column<Shape>(range, body);
    counts.finish(result);
}

#endif
