/* The GPU's histogram of bytes by products of binary matrices. Not installed.
 *
 * A histogram with a read and a write of shared memory for each byte cannot reach the speed of device memory
 * (docs/primitives.md). Here a warp counts 256 bytes by two instructions of its tensor core, and none of its steps depends
 * on the data.
 *
 * For a set s of the 8 bits of a byte, D(s) is the number of bytes in which all bits of s are set. s has a part i among
 * the upper four bits and a part j among the lower four. A byte k has all bits of s if and only if A(i, k) B(k, j) = 1, with
 * A(i, k) = 1 if byte k has all bits of i, and B(k, j) alike. So D = A B, a product of a 16 x n and an n x 16 matrix of
 * bits, which the tensor core sums exactly. The histogram follows at the end, bit by bit: the bytes without a bit are all
 * minus those with it (Moebius inversion).
 *
 * 32 bits of a row of A are an `and` of up to four bit planes of 32 bytes. Each lane transposes its 32 bytes to 8 planes
 * of 32 bits. The planes go through shared memory, because an element of the operands' layout needs those of other lanes:
 * lane 4 g + t has rows (columns) g and g + 8 of words t and t + 4. */
#ifndef VOXFIELD_HISTOGRAM_BYTES_CUH
#define VOXFIELD_HISTOGRAM_BYTES_CUH

#include "histogram_trish.cuh"
#include "histogram_tuning.cuh"

/* Exchanges the bits of x outside mask with those of y inside it, `shift` places lower. */
__device__ inline void vf_swap_bits(uint32_t &x, uint32_t &y, int shift, uint32_t mask)
{
    const uint32_t up = y << shift, down = x >> shift;
    x = (x & mask) | (up & ~mask);
    y = (down & mask) | (y & ~mask);
}

/* From 32 bytes in 8 words to 8 planes: word b gets bit b of each byte, in some order. */
__device__ inline void vf_bit_planes(uint32_t (&w)[8])
{
#pragma unroll
    for (int j = 0; j < 4; j++)
        vf_swap_bits(w[j], w[j + 4], 4, 0x0f0f0f0f);
#pragma unroll
    for (int j = 0; j < 8; j++)
        if (!(j & 2))
            vf_swap_bits(w[j], w[j + 2], 2, 0x33333333);
#pragma unroll
    for (int j = 0; j < 8; j += 2)
        vf_swap_bits(w[j], w[j + 1], 1, 0x55555555);
}

/* d += a b: 16 x 256 bits times 256 x 8 bits. */
__device__ inline void vf_bit_product(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/* Whole data blocks by products. A warp has 2 KiB of shared memory, for two turns. */
struct vf_byte_products {
    enum { TURNS = 2, VECTORS = 64 };
    int left[4], right[4];  /* D: rows g and g + 8, columns 2 t and 2 t + 1, of the left and the right half */
    uint32_t no0, no1, no2; /* all bits if the lane's row leaves out bit plane 0, 1, 2 */
    uint4 *room;            /* the warp's */
    int turn;

    __device__ void begin(uint4 *shared)
    {
        const int g = (int)threadIdx.x % VF_WARP / 4;
        for (int i = 0; i < 4; i++)
            left[i] = right[i] = 0;
        no0 = g & 1 ? 0 : ~0u;
        no1 = g & 2 ? 0 : ~0u;
        no2 = g & 4 ? 0 : ~0u;
        room = shared + threadIdx.x / VF_WARP * (TURNS * VECTORS);
        turn = 0;
    }

    /* Rows g and g + 8 of 32 bytes whose planes are p. */
    __device__ void rows(uint4 p, uint32_t &lower, uint32_t &upper) const
    {
        lower = (p.x | no0) & (p.y | no1) & (p.z | no2);
        upper = lower & p.w;
    }

    __device__ void count(uint4 u, uint4 v)
    {
        const int lane = (int)threadIdx.x % VF_WARP, t = lane % 4;
        uint4 *planes = room + turn * VECTORS;
        uint32_t w[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
        vf_bit_planes(w);
        planes[lane] = make_uint4(w[0], w[1], w[2], w[3]);
        planes[VF_WARP + lane] = make_uint4(w[4], w[5], w[6], w[7]);
        turn ^= 1;
        __syncwarp(); /* also: all have read the other turn's planes */
#pragma unroll
        for (int s = 0; s < VF_WARP; s += 8) { /* the bytes of 8 lanes */
            uint32_t a[4], b[4];
            rows(planes[VF_WARP + s + t], a[0], a[1]);
            rows(planes[VF_WARP + s + 4 + t], a[2], a[3]);
            rows(planes[s + t], b[0], b[1]);
            rows(planes[s + 4 + t], b[2], b[3]);
            vf_bit_product(left, a, b[0], b[2]);
            vf_bit_product(right, a, b[1], b[3]);
        }
    }

    /* Adds the counts of all warps to `sums` [256] in shared memory, which are 0. At least 256 threads. */
    __device__ void finish(int *sums) const
    {
        const int g = (int)threadIdx.x % VF_WARP / 4, t = (int)threadIdx.x % 4, s = (int)threadIdx.x;
        for (int i = 0; i < 4; i++) {
            int *to = sums + (g + (i & 2) * 4) * 16 + 2 * t + (i & 1);
            atomicAdd(to, left[i]);
            atomicAdd(to + 8, right[i]);
        }
        for (int bit = 1; bit < VF_BYTE_BINS; bit *= 2) {
            __syncthreads();
            if (s < VF_BYTE_BINS && !(s & bit))
                sums[s] -= sums[s + bit];
        }
    }
};

/* Before compute capability 8.0: atomics in shared memory, [value][lane], so lanes never meet in a bank. */
struct vf_byte_columns {
    unsigned *of;

    __device__ void begin(uint4 *shared)
    {
        unsigned *all = reinterpret_cast<unsigned *>(shared);
        for (int i = (int)threadIdx.x; i < VF_BYTE_BINS * VF_WARP; i += (int)blockDim.x)
            all[i] = 0;
        of = all + threadIdx.x % VF_WARP;
        __syncthreads();
    }
    __device__ void count_word(uint32_t word)
    {
        for (int j = 0; j < 4; j++)
            atomicAdd(of + (word >> 8 * j & 0xff) * VF_WARP, 1u);
    }
    __device__ void count(uint4 u, uint4 v)
    {
        const uint32_t w[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < 8; j++)
            count_word(w[j]);
    }
    __device__ void finish(int *sums) const
    {
        const int value = (int)threadIdx.x;
        const unsigned *row = of - threadIdx.x % VF_WARP + value * VF_WARP;
        __syncthreads();
        for (int i = 0; value < VF_BYTE_BINS && i < VF_WARP; i++) /* each thread begins with another bank */
            sums[value] += (int)row[(value + i) % VF_WARP];
    }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
typedef vf_byte_columns vf_byte_counts;
#else
typedef vf_byte_products vf_byte_counts;
#endif

/* Shared memory of a thread block: the warps' planes, or the columns of counters. */
constexpr size_t vf_bytes_room(int arch, int warps)
{
    return arch < 80 ? (size_t)VF_BYTE_BINS * VF_WARP * sizeof(unsigned)
                     : (size_t)warps * (vf_byte_products::TURNS * vf_byte_products::VECTORS * sizeof(uint4));
}

template <typename Shape>
struct vf_bytes_body {
    const uint8_t *x;
    const vf_range range;
    unsigned *plain; /* [256], shared: counts of the partial data blocks */

    __device__ void load(int64_t b, uint4 (&w)[2]) const
    {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const vf_pack<uint8_t, 16> pack =
                vf_load_once<16, true>(x + Shape::at(vf_first_of<Shape>(range, b), k, 16));
            memcpy(&w[k], &pack, sizeof pack);
        }
    }

    __device__ void edge(int64_t b) const
    {
        const int64_t first = vf_first_of<Shape>(range, b);
        for (int k = 0; k < Shape::steps(1); k++)
            if (range.has(Shape::at(first, k, 1)))
                atomicAdd(plain + x[Shape::at(first, k, 1)], 1u);
    }

    /* The Column skeleton, but the next data block is loaded before this one is counted. */
    template <typename Counts>
    __device__ void walk(Counts &counts) const
    {
        const int64_t step = gridDim.x, whole_to = vf_whole_to<Shape>(range);
        int64_t b = blockIdx.x;
        uint4 next[2];
        if (b < vf_whole_from<Shape>(range)) {
            edge(b);
            b += step;
        }
        if (b < whole_to)
            load(b, next);
        for (; b < whole_to; b += step) {
            const uint4 u = next[0], v = next[1];
            if (b + step < whole_to)
                load(b + step, next);
            counts.count(u, v);
        }
        if (b < vf_data_blocks<Shape>(range))
            edge(b);
    }
};

/* Adds the counts of x to `result` [256]. */
template <typename Tuning>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_count_bytes(const uint8_t *x, const vf_range range, unsigned long long *result)
{
    typedef vf_shape_of<Tuning> Shape;
    static_assert(Shape::work == 32 && Shape::threads >= VF_BYTE_BINS, "a lane has 32 bytes, a thread a count");
    extern __shared__ __align__(16) unsigned char room[];
    __shared__ int sums[VF_BYTE_BINS];
    __shared__ unsigned plain[VF_BYTE_BINS];
    const unsigned value = threadIdx.x;
    vf_byte_counts counts;
    if (value < VF_BYTE_BINS)
        plain[value] = (unsigned)(sums[value] = 0);
    __syncthreads();
    counts.begin(reinterpret_cast<uint4 *>(room));
    const vf_bytes_body<Shape> body = {x, range, plain};
    body.walk(counts);
    counts.finish(sums);
    __syncthreads();
    if (value < VF_BYTE_BINS && (unsigned)sums[value] + plain[value] > 0)
        atomicAdd(result + value, (unsigned long long)((unsigned)sums[value] + plain[value]));
}

inline cudaError_t vf_prepare_bytes(vf_launch *launch)
{
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, vf_count_bytes<vf_bytes_tuning>);
    if (error != cudaSuccess)
        return error;
    const int arch = attributes.ptxVersion;
    launch->shared_bytes = vf_bytes_room(arch, vf_bytes_tuning::at(arch).warps);
    return vf_find_resident<vf_bytes_tuning>(vf_count_bytes<vf_bytes_tuning>, launch);
}

#endif
