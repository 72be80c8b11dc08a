/* The GPU's histograms by edges, and of integers: a thread block counts in shared memory, in several copies if bins are
 * few, and adds its counts to those of the array at the end. Too many bins for shared memory are counted in the result
 * itself. Not installed. */
#ifndef VOXFIELD_HISTOGRAM_COUNTS_CUH
#define VOXFIELD_HISTOGRAM_COUNTS_CUH

#include "backend/access.cuh"
#include "histogram_bins.h"
#include "histogram_tuning.cuh"

/* ---- bins: a type with the Element; `shared_bytes` of tables; load_tables puts them into shared memory, for all threads of
 * a thread block; and `bin` ---- */

template <typename T>
struct vf_cells_of;
template <>
struct vf_cells_of<float> {
    typedef vf_cells_f32 type;
};
template <>
struct vf_cells_of<double> {
    typedef vf_cells_f64 type;
};

__device__ inline int vf_bin_of(const vf_cells_f32 &cells, bool by_keys, float x)
{
    return vf_bin_f32(&cells, by_keys, x);
}
__device__ inline int vf_bin_of(const vf_cells_f64 &cells, bool by_keys, double x)
{
    return vf_bin_f64(&cells, by_keys, x);
}

/* Bins by edges. SHARED: the tables are copied to shared memory. */
template <typename T, bool SHARED>
struct vf_edge_bins {
    typedef T Element;
    typename vf_cells_of<T>::type cells; /* tables in device memory */
    bool by_keys;
    int bins;

    __host__ __device__ size_t shared_bytes() const
    {
        return SHARED ? (size_t)bins * sizeof(T) + (size_t)cells.cells * sizeof(uint32_t) : 0;
    }

    __device__ void load_tables(unsigned char *room)
    {
        if constexpr (SHARED) {
            T *inner = reinterpret_cast<T *>(room);
            uint32_t *bounds = reinterpret_cast<uint32_t *>(inner + bins);
            for (int i = (int)threadIdx.x; i < bins; i += (int)blockDim.x)
                inner[i] = cells.inner[i];
            for (int i = (int)threadIdx.x; i < cells.cells; i += (int)blockDim.x)
                bounds[i] = cells.bounds[i];
            cells.inner = inner;
            cells.bounds = bounds;
        }
    }

    __device__ int bin(T x) const
    {
        return vf_bin_of(cells, by_keys, x);
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
    __device__ int bin(T x) const
    {
        return vf_equal_bin(&equal, x);
    }
};

/* ---- counts ---- */

/* In shared memory. Lanes count in different copies, [bin][copy]: with 32 they never meet in a bank. */
struct vf_shared_counts {
    unsigned *of;
    int bins, copies_log;

    __device__ void clear()
    {
        for (int i = (int)threadIdx.x; i < bins << copies_log; i += (int)blockDim.x)
            of[i] = 0;
        __syncthreads();
    }
    template <bool WHOLE_WARP>
    __device__ void add(int bin)
    {
        if (bin != VF_NO_BIN)
            atomicAdd(of + (bin << copies_log) + (threadIdx.x & ((1u << copies_log) - 1)), 1u);
    }
    __device__ void finish(unsigned long long *counts)
    {
        __syncthreads();
        for (int b = (int)threadIdx.x; b < bins; b += (int)blockDim.x) {
            unsigned long long sum = 0;
            for (int c = 0; c < 1 << copies_log; c++) /* each thread begins with another bank */
                sum += of[(b << copies_log) + ((c + b) & ((1 << copies_log) - 1))];
            if (sum > 0)
                atomicAdd(counts + b, sum);
        }
    }
};

/* In the result. A warp whose elements are all in one bin adds once. */
struct vf_global_counts {
    unsigned long long *of;

    __device__ void clear()
    {
    }
    template <bool WHOLE_WARP>
    __device__ void add(int bin)
    {
        if (WHOLE_WARP && __all_sync(~0u, bin == __shfl_sync(~0u, bin, 0))) {
            if (bin != VF_NO_BIN && threadIdx.x % VF_WARP == 0)
                atomicAdd(of + bin, (unsigned long long)VF_WARP);
        } else if (bin != VF_NO_BIN) {
            atomicAdd(of + bin, 1ull);
        }
    }
    __device__ void finish(unsigned long long *)
    {
    }
};

template <typename Shape, typename Bins, typename Counts>
struct vf_count_body {
    typedef typename Bins::Element Element;
    static constexpr int V = vf_vector_of<Element>(Shape::work);
    const Bins &bins;
    Counts &counts;
    const vf_range range;
    const Element *x;

    __device__ void middle(int64_t first)
    {
        vf_pack<Element, V> packs[Shape::steps(V)];
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            packs[k] = vf_load_once<V, true>(x + Shape::at(first, k, V));
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++) {
            int bin[V];
#pragma unroll
            for (int j = 0; j < V; j++)
                bin[j] = bins.bin(packs[k].of[j]);
#pragma unroll
            for (int j = 0; j < V; j++)
                counts.template add<true>(bin[j]);
        }
    }

    __device__ void edge(int64_t first)
    {
        for (int k = 0; k < Shape::steps(1); k++) {
            const int64_t i = Shape::at(first, k, 1);
            if (range.has(i))
                counts.template add<false>(bins.bin(x[i]));
        }
    }
};

template <typename Tuning, typename Bins>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_count_shared(Bins bins, const typename Bins::Element *x, const vf_range range, int many, int copies_log,
                    unsigned long long *result)
{
    typedef vf_shape_of<Tuning> Shape;
    extern __shared__ __align__(16) unsigned char room[];
    vf_shared_counts counts = {reinterpret_cast<unsigned *>(room + bins.shared_bytes()), many, copies_log};
    bins.load_tables(room);
    counts.clear();
    vf_count_body<Shape, Bins, vf_shared_counts> body = {bins, counts, range, x};
    vf_skeleton_column<Shape>(range, body);
    counts.finish(result);
}

template <typename Tuning, typename Bins>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_count_global(Bins bins, const typename Bins::Element *x, const vf_range range, unsigned long long *result)
{
    typedef vf_shape_of<Tuning> Shape;
    vf_global_counts counts = {result};
    vf_count_body<Shape, Bins, vf_global_counts> body = {bins, counts, range, x};
    vf_skeleton_column<Shape>(range, body);
}

#endif
