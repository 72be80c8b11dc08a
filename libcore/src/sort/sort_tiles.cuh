/* A pass of the tuned sort on a GPU: one kernel that reads each pair once and writes it once. After Adinets and Merrill,
 * Onesweep, arXiv 2206.01784 (2022). Not installed.
 *
 * A thread block takes a tile (a data block of the shape), and
 *   1. loads the keys into registers, Warp-by-Warp;
 *   2. counts each warp's digits in shared memory. The sums of the warps are the tile's counts, which it publishes;
 *   3. ranks the keys: a key's place in the sorted tile is where its digit begins in the tile, plus the earlier warps'
 *      keys of that digit, plus the earlier keys in its warp. The lanes with one digit find each other by ballots;
 *   4. moves the keys to their places in shared memory, and requests the values;
 *   5. looks back meanwhile: a thread for each digit adds up the counts of earlier tiles until it meets one that knows its
 *      whole sum. Then the values go to their places in shared memory;
 *   6. writes pairs in the tile's order, so those of a digit go to consecutive addresses.
 *
 * A published count is a 32-bit word: 30 bits of count, 2 bits of state. So no fences are needed, and a launch must have
 * fewer than 2^30 keys: longer arrays are sorted in portions, one launch after another. States alternate from one pass
 * that runs to the next. What the previous one left means "not yet" then, and the words are cleared only once.
 *
 * Progress: a counter hands out tiles, so that a tile waits only for tiles of thread blocks that already run. All numbers
 * are integers, so the result does not depend on how far a tile looks back. */
#ifndef VOXFIELD_SORT_TILES_CUH
#define VOXFIELD_SORT_TILES_CUH

#include "sort_counts.cuh"

/* VF_LOOK_BACK_AHEAD: words that a thread requests at once while it looks back. VF_RANKS_AT_ONCE: keys whose places a thread
 * requests at once. */
enum { VF_COUNT_BITS = 30, VF_LOOK_BACK_AHEAD = 2, VF_RANKS_AT_ONCE = 4 };

/* What a launch gets. The arrays are numbered as in vf_sort_route. */
template <typename K, typename V>
struct vf_sort_pass {
    const K *keys;
    const V *values;
    K *keys_to[2];
    V *values_to[2];
    int64_t n, first_tile; /* of the portion */
    unsigned tiles;        /* in the portion */
    vf_digit digit;
    vf_key_order order;
    const vf_sort_route *route;
    unsigned *next_tile; /* 0 before the launch */
    unsigned *words;     /* [tiles of all portions][VF_BYTE_DIGITS] */
    unsigned *starts;    /* [2][VF_BYTE_DIGITS]: where digits begin in this portion, and in the next one (written) */
};

template <typename K, typename V, typename Shape>
struct vf_tile_memory {
    union {
        unsigned counts[Shape::warps][VF_BYTE_DIGITS];
        K keys[Shape::in_block];
    };
    V values[vf_has_value<V>::yes ? Shape::in_block : 1];
    unsigned starts[VF_BYTE_DIGITS], sums[VF_BYTE_DIGITS / VF_WARP], tile;
};

/* Enough bytes for it, for the host, which knows the shape only when it runs. */
template <typename K, typename V>
constexpr size_t vf_tile_bytes(int warps, int work)
{
    const size_t in_block = (size_t)VF_WARP * warps * work, keys = in_block * sizeof(K),
                 counts = (size_t)warps * VF_BYTE_DIGITS * sizeof(unsigned);
    return (keys > counts ? keys : counts) + in_block * vf_has_value<V>::bytes +
           (VF_BYTE_DIGITS + VF_BYTE_DIGITS / VF_WARP + 1) * sizeof(unsigned) + 32 /* alignment */;
}

/* The published counts of one digit. */
struct vf_digit_words {
    unsigned *words; /* of the portion's first tile */
    unsigned partial, inclusive;

    __device__ vf_digit_words(unsigned *of_portion, unsigned odd)
        : words(of_portion + threadIdx.x), partial((odd ? 3u : 1u) << VF_COUNT_BITS),
          inclusive((odd ? 0u : 2u) << VF_COUNT_BITS)
    {
    }
    __device__ void publish(unsigned tile, unsigned state, unsigned count) const
    {
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(words + (size_t)tile * VF_BYTE_DIGITS),
                     "r"(state | count)
                     : "memory");
    }
    __device__ unsigned read(unsigned tile) const
    {
        unsigned word;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(word)
                     : "l"(words + (size_t)tile * VF_BYTE_DIGITS)
                     : "memory");
        return word;
    }

    /* The keys with this digit in tiles before `tile`, which is not the first: that one knows its whole sum. */
    __device__ unsigned before(unsigned tile) const
    {
        const unsigned state = 3u << VF_COUNT_BITS;
        unsigned sum = 0;
        for (;;) {
            unsigned word[VF_LOOK_BACK_AHEAD];
#pragma unroll
            for (int i = 0; i < VF_LOOK_BACK_AHEAD; i++)
                word[i] = read(tile > i ? tile - 1 - i : 0);
            unsigned used = 0;
#pragma unroll
            for (int i = 0; i < VF_LOOK_BACK_AHEAD; i++) {
                if (used != i) /* an earlier one was not there yet */
                    continue;
                if ((word[i] & state) == inclusive)
                    return sum + (word[i] & ~state);
                if ((word[i] & state) == partial) {
                    sum += word[i] & ~state;
                    used++;
                }
            }
            tile -= used;
        }
    }
};

/* The lanes whose bit `b` of the digit is that of the calling lane. In PTX, because the compiler then makes predicates of
 * all bits by one instruction. */
__device__ inline unsigned vf_lanes_with_bit(unsigned digit, int b)
{
    unsigned lanes;
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "and.b32 %0, %1, %2;\n"
                 "setp.ne.u32 one, %0, 0;\n"
                 "vote.ballot.sync.b32 %0, one, 0xffffffff;\n"
                 "@!one not.b32 %0, %0;\n"
                 "}"
                 : "=r"(lanes)
                 : "r"(digit), "r"(1u << b));
    return lanes;
}

/* In one instruction, which the compiler does not find. */
__device__ inline unsigned vf_and(unsigned a, unsigned b, unsigned c)
{
    unsigned all;
    asm("lop3.b32 %0, %1, %2, %3, 0x80;" : "=r"(all) : "r"(a), "r"(b), "r"(c));
    return all;
}

/* The lanes whose digit is that of the calling lane. */
__device__ inline unsigned vf_lanes_with(unsigned digit)
{
    unsigned lanes = vf_lanes_with_bit(digit, 0);
#pragma unroll
    for (int b = 1; b < VF_BYTE_BITS - 1; b += 2)
        lanes = vf_and(lanes, vf_lanes_with_bit(digit, b), vf_lanes_with_bit(digit, b + 1));
    return lanes & vf_lanes_with_bit(digit, VF_BYTE_BITS - 1);
}

/* Two ranks a register; a tile has at most 2^16 keys. */
template <int n>
struct vf_ranks {
    unsigned pair[(n + 1) / 2];

    __device__ void set(int i, unsigned rank)
    {
        pair[i / 2] = i % 2 == 0 ? rank : pair[i / 2] | rank << 16;
    }
    __device__ unsigned get(int i) const
    {
        return i % 2 == 0 ? pair[i / 2] & 0xffff : pair[i / 2] >> 16;
    }
};

template <typename K, typename V, typename Tuning>
struct vf_sort_tile {
    typedef vf_shape_of<Tuning> Shape;
    typedef vf_tile_memory<K, V, Shape> Memory;
    static constexpr int work = Shape::work;
    static_assert(Shape::threads >= VF_BYTE_DIGITS && Shape::in_block <= 65536, "a thread for each digit; ranks");
    static_assert(sizeof(Memory) <= vf_tile_bytes<K, V>(Shape::warps, work), "the host's number of bytes");
    const vf_sort_pass<K, V> &pass;
    Memory &memory;
    K key[work];
    vf_ranks<work> rank;
    int count; /* keys of the tile */

    __device__ vf_sort_tile(const vf_sort_pass<K, V> &p, Memory &m) : pass(p), memory(m)
    {
    }

    /* What is beyond the array gets the greatest key: it is sorted to the end of the tile, which is not written. */
    __device__ void load_keys(const K *keys)
    {
        if (count == Shape::in_block) {
#pragma unroll
            for (int k = 0; k < work; k++)
                key[k] = vf_load_once<1, true>(keys + Shape::in_block_at(k, 1)).of[0];
        } else {
#pragma unroll
            for (int k = 0; k < work; k++) {
                const int at = Shape::in_block_at(k, 1);
                key[k] = at < count ? keys[at] : vf_disordered((K) ~(K)0, pass.order);
            }
        }
        if (pass.order.sign == 0)
            return;
#pragma unroll
        for (int k = 0; k < work; k++)
            key[k] = vf_ordered(key[k], pass.order);
    }

    /* This warp's counts. */
    __device__ unsigned *mine() const
    {
        return memory.counts[threadIdx.x / VF_WARP];
    }

    __device__ void count_digits() const
    {
        unsigned *counts = mine();
        for (int d = threadIdx.x % VF_WARP; d < VF_BYTE_DIGITS; d += VF_WARP)
            counts[d] = 0;
        __syncwarp();
#pragma unroll
        for (int k = 0; k < work; k++)
            atomicAdd(counts + pass.digit.of(key[k]), 1u);
    }

    /* For the thread's digit: the tile's count. The warps' counts become what earlier warps have. */
    __device__ unsigned sum_warps() const
    {
        unsigned sum = 0;
#pragma unroll
        for (int w = 0; w < Shape::warps; w++) {
            const unsigned here = memory.counts[w][threadIdx.x];
            memory.counts[w][threadIdx.x] = sum;
            sum += here;
        }
        return sum;
    }

    __device__ void add_to_warps(unsigned start) const
    {
#pragma unroll
        for (int w = 0; w < Shape::warps; w++)
            memory.counts[w][threadIdx.x] += start;
    }

    /* The last of the lanes with a digit takes places for all of them. Lanes take turns at a word in the order of keys:
     * __syncwarp orders the steps. */
    __device__ void find_ranks()
    {
        enum { B = VF_RANKS_AT_ONCE };
        unsigned *next = mine();
        const unsigned lane = threadIdx.x % VF_WARP, not_later = ~0u >> (VF_WARP - 1 - lane);
#pragma unroll
        for (int at = 0; at < work; at += B) {
            unsigned last[B], place[B], first[B];
#pragma unroll
            for (int j = 0; j < B && at + j < work; j++) {
                const unsigned lanes = vf_lanes_with(pass.digit.again(key[at + j]));
                last[j] = VF_WARP - 1 - __clz(lanes);
                place[j] = __popc(lanes & not_later);
            }
#pragma unroll
            for (int j = 0; j < B && at + j < work; j++) {
                first[j] = 0;
                if (lane == last[j])
                    first[j] = atomicAdd(next + pass.digit.again(key[at + j]), place[j]);
                __syncwarp();
            }
#pragma unroll
            for (int j = 0; j < B && at + j < work; j++)
                rank.set(at + j, __shfl_sync(~0u, first[j], last[j]) + place[j] - 1);
        }
    }

    __device__ void place_keys() const
    {
#pragma unroll
        for (int k = 0; k < work; k++)
            memory.keys[rank.get(k)] = key[k];
    }

    __device__ void load_values(const V *values, V (&value)[work]) const
    {
        if constexpr (vf_has_value<V>::yes) {
            if (count == Shape::in_block) {
#pragma unroll
                for (int k = 0; k < work; k++)
                    value[k] = vf_load_once<1, true>(values + Shape::in_block_at(k, 1)).of[0];
            } else {
#pragma unroll
                for (int k = 0; k < work; k++)
                    if (Shape::in_block_at(k, 1) < count)
                        value[k] = values[Shape::in_block_at(k, 1)];
            }
        }
    }

    __device__ void place_values(const V (&value)[work]) const
    {
        if constexpr (vf_has_value<V>::yes) {
#pragma unroll
            for (int k = 0; k < work; k++)
                memory.values[rank.get(k)] = value[k];
        }
    }

    template <bool whole>
    __device__ void write(K *keys, V *values) const
    {
#pragma unroll
        for (int k = 0; k < work; k++) {
            const int i = (int)threadIdx.x + k * Shape::threads;
            if (!whole && i >= count)
                break;
            const K u = memory.keys[i];
            const unsigned to = memory.starts[pass.digit.of(u)] + i; /* modulo 2^32, as n is at most 2^32 */
            keys[to] = pass.order.sign == 0 ? u : vf_disordered(u, pass.order);
            if constexpr (vf_has_value<V>::yes)
                values[to] = memory.values[i];
        }
    }

    __device__ void run(unsigned tile, const vf_sort_route &route)
    {
        const bool has_digit = threadIdx.x < VF_BYTE_DIGITS;
        const int64_t first = (pass.first_tile + tile) * Shape::in_block;
        const vf_digit_words words(pass.words + pass.first_tile * VF_BYTE_DIGITS, route.odd);
        count = pass.n - first < Shape::in_block ? (int)(pass.n - first) : Shape::in_block;
        const K *keys = (route.from == 0 ? pass.keys : pass.keys_to[route.from - 1]) + first;
        const V *values =
            vf_has_value<V>::yes ? (route.from == 0 ? pass.values : pass.values_to[route.from - 1]) + first : NULL;
        V value[work];
        load_keys(keys);
        count_digits();
        __syncthreads();
        unsigned in_tile = 0;
        if (has_digit) {
            in_tile = sum_warps();
            words.publish(tile, tile == 0 ? words.inclusive : words.partial, in_tile);
        }
        const unsigned start = vf_sum_before_digit(in_tile, memory.sums);
        if (has_digit)
            add_to_warps(start);
        __syncthreads();
        find_ranks();
        __syncthreads(); /* keys replace the counts */
        place_keys();
        load_values(values, value);
        if (has_digit) {
            const unsigned before = tile == 0 ? 0 : words.before(tile), at = pass.starts[threadIdx.x] + before;
            if (tile > 0)
                words.publish(tile, words.inclusive, before + in_tile);
            if (tile == pass.tiles - 1)
                pass.starts[VF_BYTE_DIGITS + threadIdx.x] = at + in_tile;
            memory.starts[threadIdx.x] = at - start;
        }
        place_values(value);
        __syncthreads();
        if (count == Shape::in_block)
            write<true>(pass.keys_to[route.to - 1], pass.values_to[route.to - 1]);
        else
            write<false>(pass.keys_to[route.to - 1], pass.values_to[route.to - 1]);
    }
};

template <typename K, typename V, typename Tuning>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_sort_tiles(const __grid_constant__ vf_sort_pass<K, V> pass)
{
    extern __shared__ __align__(16) unsigned char vf_sort_memory[];
    typedef vf_sort_tile<K, V, Tuning> Tile;
    typename Tile::Memory &memory = *reinterpret_cast<typename Tile::Memory *>(vf_sort_memory);
    const vf_sort_route route = *pass.route;
    if (!route.runs)
        return;
    if (threadIdx.x == 0)
        memory.tile = atomicAdd(pass.next_tile, 1u);
    __syncthreads();
    Tile(pass, memory).run(memory.tile, route);
}

#endif
