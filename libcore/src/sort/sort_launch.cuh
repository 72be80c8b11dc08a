/* The launches of the tuned sort on a GPU: histograms, the plan of the passes, the passes. Not installed. */
#ifndef VOXFIELD_SORT_LAUNCH_CUH
#define VOXFIELD_SORT_LAUNCH_CUH

#include "sort_tiles.cuh"

/* Fewer keys than 2^30 (sort_tiles.cuh). */
#define VF_MOST_IN_PORTION ((int64_t)1 << 29)

struct vf_tuned_launches {
    vf_launch count, tiles;
};

/* The parts of the scratch memory. Up to `starts` they are cleared before a sort. */
struct vf_sort_scratch {
    int64_t portion, portions, tiles, stride;        /* tiles of a portion; words of a pass in `starts` */
    size_t next_tiles, words, starts, routes, bytes; /* offsets; counts are at 0 */
};

inline vf_sort_scratch vf_sort_scratch_of(const vf_sort *plan, const vf_tuned_launches &launches, int64_t n)
{
    const int64_t in_block = launches.tiles.in_block;
    const size_t passes = (size_t)vf_passes_of(plan, VF_BYTE_BITS), word = sizeof(unsigned);
    vf_sort_scratch s;
    s.tiles = (n - 1) / in_block + 1;
    s.portion = VF_MOST_IN_PORTION / in_block;
    s.portions = (s.tiles - 1) / s.portion + 1;
    s.stride = (s.portions + 1) * VF_BYTE_DIGITS;
    s.next_tiles = passes * VF_BYTE_DIGITS * sizeof(unsigned long long);
    s.words = s.next_tiles + passes * (size_t)s.portions * word;
    s.starts = s.words + (size_t)s.tiles * VF_BYTE_DIGITS * word;
    s.routes = s.starts + passes * (size_t)s.stride * word;
    s.bytes = s.routes + passes * sizeof(vf_sort_route);
    return s;
}

/* What a sort of these types needs from the host; Tuning is that of the passes. */
template <typename K, typename V, typename Tuning>
struct vf_tuned_sort {
    typedef vf_sort_count_tuning<sizeof(K)> CountTuning;

    static cudaError_t find(vf_tuned_launches *launches)
    {
        const auto kernel = vf_sort_tiles<K, V, Tuning>;
        vf_launch *tiles = &launches->tiles;
        cudaFuncAttributes attributes;
        cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
        if (error != cudaSuccess)
            return error;
        const vf_tuning t = Tuning::at(attributes.ptxVersion);
        tiles->shared_bytes = vf_tile_bytes<K, V>(t.warps, t.work);
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)tiles->shared_bytes);
        if (error == cudaSuccess)
            error = vf_find_launch<Tuning>(kernel, false, tiles);
        return error == cudaSuccess
                   ? vf_find_launch<CountTuning>(vf_sort_count<K, CountTuning>, false, &launches->count)
                   : error;
    }

    static size_t scratch_bytes(const vf_sort *plan, const vf_tuned_launches &launches, int64_t n)
    {
        return vf_sort_scratch_of(plan, launches, n).bytes;
    }

    static void launch_pass(const vf_sort *plan, const vf_launch &tiles, cudaStream_t stream, const vf_sort_scratch &s,
                            unsigned char *scratch, int number, vf_sort_pass<K, V> pass)
    {
        pass.digit = vf_digit_of(plan->low, plan->high, VF_BYTE_BITS, number);
        pass.route = reinterpret_cast<vf_sort_route *>(scratch + s.routes) + number;
        for (int64_t portion = 0; portion < s.portions; portion++) {
            pass.first_tile = portion * s.portion;
            pass.tiles = (unsigned)(s.tiles - pass.first_tile < s.portion ? s.tiles - pass.first_tile : s.portion);
            pass.next_tile = reinterpret_cast<unsigned *>(scratch + s.next_tiles) + number * s.portions + portion;
            pass.starts =
                reinterpret_cast<unsigned *>(scratch + s.starts) + number * s.stride + portion * VF_BYTE_DIGITS;
            vf_sort_tiles<K, V, Tuning><<<pass.tiles, tiles.threads, tiles.shared_bytes, stream>>>(pass);
        }
    }

    /* keys_to, values_to: a scratch array, the output. */
    static cudaError_t launch(const vf_sort *plan, const vf_tuned_launches *launches, cudaStream_t stream, int64_t n,
                              const void *keys, const void *values, void *const keys_to[2], void *const values_to[2],
                              unsigned char *scratch)
    {
        const vf_sort_scratch s = vf_sort_scratch_of(plan, *launches, n);
        const int passes = vf_passes_of(plan, VF_BYTE_BITS);
        unsigned long long *counts = reinterpret_cast<unsigned long long *>(scratch);
        vf_sort_pass<K, V> pass = {};
        pass.keys = static_cast<const K *>(keys);
        pass.values = static_cast<const V *>(values);
        for (int i = 0; i < 2; i++) {
            pass.keys_to[i] = static_cast<K *>(keys_to[i]);
            pass.values_to[i] = static_cast<V *>(values_to[i]);
        }
        pass.n = n;
        pass.order = plan->order;
        pass.words = reinterpret_cast<unsigned *>(scratch + s.words);
        const vf_range range = vf_range_at(pass.keys, n);
        const cudaError_t error = cudaMemsetAsync(scratch, 0, s.starts, stream);
        if (error != cudaSuccess)
            return error;
        vf_sort_count<K, CountTuning>
            <<<vf_count_thread_blocks(launches->count, range), launches->count.threads, 0, stream>>>(
                range, pass.keys, plan->order, plan->low, plan->high, counts);
        vf_sort_plan_passes<<<1, VF_BYTE_DIGITS, 0, stream>>>(passes, n, counts, s.stride,
                                                              reinterpret_cast<unsigned *>(scratch + s.starts),
                                                              reinterpret_cast<vf_sort_route *>(scratch + s.routes));
        for (int number = 0; number < passes; number++)
            launch_pass(plan, launches->tiles, stream, s, scratch, number, pass);
        return cudaGetLastError();
    }
};

#endif
