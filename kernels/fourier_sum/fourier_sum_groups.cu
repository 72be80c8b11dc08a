/* The tuned CUDA kernel for points anywhere and for off-resonance in single precision, in both directions, for dense
 * voxels. Each pair takes a sine and a cosine.
 *
 * A plan has its voxels in groups of GROUP neighbours. The phase k.r + t f is then the sum of two parts: the phase at
 * the group's centre, which is computed once for all its voxels and reduced exactly, and the phase over the voxel's
 * distance from the centre. The latter is a few turns, so four plain multiply-adds are enough. If groups are too wide
 * for this (MOST_SPREAD: few voxels for such k, or a field that jumps), a plan uses the kernels of
 * fourier_sum_anywhere.cu, which reduce the phase of each pair.
 *
 * Errors, in turns: with phases of up to p turns, p a power of two, each of the four operations in single precision
 * rounds by at most 2^-25 p. The root mean square of p is 1 or 2, its maximum MOST_SPREAD. The phase at the centre is
 * off by at most 2.5 x 2^-25. Hardware trigonometry adds 2^-24 p.
 *
 * Work and its limits: a thread has 4 outer points (voxels in the adjoint, samples in the forward sum). Inner points go
 * through shared memory. While its special function units compute the sine and the cosine for a warp, a quarter of a
 * multiprocessor starts 16 instructions. Hardware trigonometry takes 12: 4 for the phase, 1 to scale it, 2 for the
 * special function units, 4 for the sum, 1 for loads and the loop. Accurate trigonometry takes 25: 16 for the sine and
 * the cosine.
 */
#include "fourier_sum_groups.cuh"

namespace vf_fourier_gpu
{
namespace
{

enum { WARPS = THREADS / 32, EACH = PAIR_POINTS / THREADS };
static_assert((int)GROUP == 32 * EACH && (int)GROUP == (int)THREADS,
              "a warp has a group's voxels, a block's threads stage one");

/* ---- phases ---- */

__device__ unsigned fixed_point(float turns)
{
    return (unsigned)__float2int_rn(turns * 0x1p32f);
}

/* The phase at a group's centre, within 1/2 turn. Parts are added as integers, in units of 2^-32 turns, which wrap. */
__device__ float centre_phase(const float4 &k, const list_points<float>::place &c)
{
    const float rest = __fmaf_rn(k.x, c.x_rest, __fmaf_rn(k.y, c.y_rest, k.z * c.z_rest));
    const unsigned sum = fixed_point(product_fraction(k.x, c.x)) + fixed_point(product_fraction(k.y, c.y)) +
                         fixed_point(product_fraction(k.z, c.z)) + fixed_point(product_fraction(k.w, c.f)) +
                         fixed_point(fraction(rest));
    return (float)(int)sum * 0x1p-32f;
}

__device__ float4 sample_wave(const point_source &s, int64_t m)
{
    const list_points<float>::wave w = list_points<float>::wave_at(s, m);
    return {w.x, w.y, w.z, w.t};
}

/* Radians in a turn, for hardware trigonometry. It multiplies radians by the single-precision number nearest to
 * 1 / (2 pi), which is too small by 4.0e-8, and truncates the product, which loses 4.3e-8 on average. The factor makes
 * up for both. */
#define HARDWARE_TURN (6.283185307179586 * (1 + 8.3e-8))

/* A voxel's distance from the group's centre, scaled so that its phase is in turns or, if HARDWARE, in radians. */
template <bool HARDWARE>
__device__ float4 distance_from(const point_source &s, int64_t n, const list_points<float>::place &c)
{
    const double unit = HARDWARE ? HARDWARE_TURN : 1;
    return {(float)(unit * (voxel_coordinate(s, n, 0) - c.x - c.x_rest)),
            (float)(unit * (voxel_coordinate(s, n, 1) - c.y - c.y_rest)),
            (float)(unit * (voxel_coordinate(s, n, 2) - c.z - c.z_rest)),
            (float)(unit * (voxel_coordinate(s, n, 3) - c.f))};
}

/* Cosine and sine of a phase, in radians if HARDWARE, else in turns. The latter are accurate to 2 u. They subtract half
 * turns, each of which flips both signs, and evaluate minimax polynomials (errors 5.3e-8 and 0.7e-8) for the rest, at
 * most 1/4 turn. */
template <bool HARDWARE>
__device__ void cosine_and_sine(float p, float &cosine, float &sine)
{
    if (HARDWARE) {
        __sincosf(p, &sine, &cosine);
        return;
    }
    const float big = 0x1.8p23f, halves = __fmaf_rn(p, 2, big), r = __fmaf_rn(__fsub_rn(halves, big), -0.5f, p);
    const float s = r * r;
    float c = 56.3406484f;
    c = __fmaf_rn(c, s, -85.2540075f);
    c = __fmaf_rn(c, s, 64.9352215f);
    c = __fmaf_rn(c, s, -19.7391821f);
    c = __fmaf_rn(c, s, 1);
    float q = 39.3118231f;
    q = __fmaf_rn(q, s, -76.5181443f);
    q = __fmaf_rn(q, s, 81.5995202f);
    q = __fmaf_rn(q, s, -41.3416292f);
    q = __fmaf_rn(q, s, 6.28318504f);
    const unsigned sign = __float_as_uint(halves) << 31;
    cosine = __uint_as_float(__float_as_uint(c) ^ sign);
    sine = __uint_as_float(__float_as_uint(q * r) ^ sign);
}

/* ---- sums ---- */

struct groups_task {
    point_source points;
    const unsigned *order; /* [voxels] */
    const voxel_group *groups;
    double *partial;
    int64_t samples, voxels, segment_terms;
    int64_t first;       /* the launch's first outer point */
    int64_t begin, last; /* adjoint: the first and the last voxel requested */
};

/* Whether a block's groups may have requested voxels. */
__device__ bool asked_for(const groups_task &task, int64_t first_group)
{
    const int64_t groups = (task.voxels + GROUP - 1) / GROUP;
    for (int64_t g = first_group; g < min(first_group + WARPS, groups); g++)
        if (task.groups[g].last >= task.begin && task.groups[g].first <= task.last)
            return true;
    return false;
}

/* A stage of inner points, one a thread: voxels of a group, or samples with their phases at the groups' centres. */
template <bool FORWARD, int B>
struct stage {
    float4 point[THREADS];
    float value[THREADS][2 * B];
    float phase[FORWARD ? 1 : WARPS][FORWARD ? 1 : THREADS];
};

template <bool FORWARD, bool HARDWARE, int B>
__global__ void __launch_bounds__(THREADS, B == 1 ? 5 : 4) /* more registers than by default: 2 to 9 % faster */
    groups_kernel(const groups_task task, const float *__restrict__ values, int coils)
{
    const float unit = HARDWARE ? (float)HARDWARE_TURN : 1;
    const int thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int64_t inner = FORWARD ? task.voxels : task.samples, outer = FORWARD ? task.samples : task.voxels;
    const int64_t begin = blockIdx.y * task.segment_terms, end = min(begin + task.segment_terms, inner);
    const int64_t first_outer = task.first + (int64_t)blockIdx.x * PAIR_POINTS;
    __shared__ stage<FORWARD, B> here;
    __shared__ list_points<float>::place centre[FORWARD ? 1 : WARPS];
    float4 own[EACH];
    if (!FORWARD) {
        const int64_t last_group = (outer - 1) / GROUP;
        if (!asked_for(task, first_outer / GROUP))
            return;
        if (thread < WARPS)
            centre[thread] = task.groups[min(first_outer / GROUP + thread, last_group)].centre;
        __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int64_t n = min(first_outer + warp * GROUP + e * 32 + lane, outer - 1);
        own[e] = FORWARD ? sample_wave(task.points, n)
                         : distance_from<HARDWARE>(task.points, task.order[n], centre[FORWARD ? 0 : warp]);
    }
    double *partial = task.partial + (int64_t)(blockIdx.x * gridDim.y + blockIdx.y) * B * 2 * PAIR_POINTS;
    for (int64_t first = begin; first == begin || first < end; first += FLUSH) {
        float sum[EACH][B][2] = {};
        for (int64_t at = first; at < min(first + FLUSH, end); at += THREADS) {
            const int count = (int)min((int64_t)THREADS, end - at);
            float own_phase[EACH] = {};
            __syncthreads();
            if (FORWARD) {
                const list_points<float>::place c = task.groups[at / GROUP].centre;
#pragma unroll
                for (int e = 0; e < EACH; e++)
                    own_phase[e] = unit * centre_phase(own[e], c);
            }
            if (thread < count) {
                const int64_t n = FORWARD ? task.order[at + thread] : at + thread;
                if (FORWARD) {
                    here.point[thread] = distance_from<HARDWARE>(task.points, n, task.groups[at / GROUP].centre);
                } else {
                    const float4 k = sample_wave(task.points, n);
                    here.point[thread] = k;
#pragma unroll
                    for (int w = 0; w < WARPS; w++)
                        here.phase[FORWARD ? 0 : w][FORWARD ? 0 : thread] =
                            unit * centre_phase(k, centre[FORWARD ? 0 : w]);
                }
                for (int b = 0; b < B; b++)
                    for (int part = 0; part < 2; part++)
                        here.value[thread][2 * b + part] = b < coils ? values[2 * (b * inner + n) + part] : 0;
            }
            __syncthreads();
#pragma unroll(HARDWARE ? 4 : 8)
            for (int i = 0; i < count; i++) {
                const float4 p = here.point[i];
                float cosine[EACH], sine[EACH]; /* all first: the special function units take longest */
#pragma unroll
                for (int e = 0; e < EACH; e++) {
                    float phase = FORWARD ? own_phase[e] : here.phase[FORWARD ? 0 : warp][FORWARD ? 0 : i];
                    phase = __fmaf_rn(own[e].x, p.x, phase);
                    phase = __fmaf_rn(own[e].y, p.y, phase);
                    phase = __fmaf_rn(own[e].z, p.z, phase);
                    phase = __fmaf_rn(own[e].w, p.w, phase);
                    cosine_and_sine<HARDWARE>(phase, cosine[e], sine[e]);
                }
#pragma unroll
                for (int e = 0; e < EACH; e++)
#pragma unroll
                    for (int b = 0; b < B; b++) { /* forward: times the conjugate */
                        const float re = here.value[i][2 * b], im = here.value[i][2 * b + 1];
                        sum[e][b][0] = __fmaf_rn(re, cosine[e], sum[e][b][0]);
                        sum[e][b][0] = __fmaf_rn(FORWARD ? im : -im, sine[e], sum[e][b][0]);
                        sum[e][b][1] = __fmaf_rn(FORWARD ? -re : re, sine[e], sum[e][b][1]);
                        sum[e][b][1] = __fmaf_rn(im, cosine[e], sum[e][b][1]);
                    }
            }
        }
#pragma unroll
        for (int e = 0; e < EACH; e++)
#pragma unroll
            for (int b = 0; b < B; b++)
#pragma unroll
                for (int part = 0; part < 2; part++) {
                    double *to = partial + (2 * b + part) * PAIR_POINTS + warp * GROUP + e * 32 + lane;
                    *to = (first == begin ? 0 : *to) + (double)sum[e][b][part];
                }
    }
}

template <bool FORWARD, bool HARDWARE, int B>
cudaError_t sum_coils(const vf_fourier *plan, cudaStream_t stream, int coils, const float *values, int64_t first,
                      int64_t count, float *out)
{
    const state *s = state_of(plan);
    const int64_t outer = FORWARD ? plan->samples : plan->voxels;
    const int64_t groups = (outer + PAIR_POINTS - 1) / PAIR_POINTS;
    groups_task task = {};
    task.points = s->points;
    task.order = s->order;
    task.groups = s->groups;
    task.partial = s->partial;
    task.samples = plan->samples;
    task.voxels = plan->voxels;
    task.begin = first;
    task.last = first + count - 1;
    const partition cut = make_partition(plan, groups, groups, PAIR_POINTS, FORWARD ? plan->voxels : plan->samples);
    task.segment_terms = cut.segment_terms;
    cudaError_t error = cudaSuccess;
    for (int64_t group = 0; error == cudaSuccess && group < cut.groups; group += cut.launch_groups) {
        const int64_t left = cut.groups - group;
        const unsigned blocks = (unsigned)(left < cut.launch_groups ? left : cut.launch_groups);
        task.first = group * PAIR_POINTS;
        groups_kernel<FORWARD, HARDWARE, B><<<dim3(blocks, cut.segments), THREADS, 0, stream>>>(task, values, coils);
        const segment_points points = {PAIR_POINTS, task.first, outer, FORWARD ? NULL : s->order, first, count};
        error = add_segments(plan, stream, false, blocks, cut.segments, B, coils, points, out);
    }
    return error;
}

template <bool FORWARD, bool HARDWARE>
cudaError_t sum_batch(const vf_fourier *plan, cudaStream_t stream, int batch, const float *values, int64_t first,
                      int64_t count, float *out)
{
    return sum_all_coils(batch, values, FORWARD ? plan->voxels : plan->samples, out, count,
                         [&](auto width, int coils, const float *from, float *to) {
                             return sum_coils<FORWARD, HARDWARE, width.value>(plan, stream, coils, from, first, count,
                                                                              to);
                         });
}

} // namespace

cudaError_t groups_sum(const vf_fourier *plan, cudaStream_t stream, bool forward, int batch, const float *values,
                       int64_t first, int64_t count, float *out)
{
    const bool hardware = plan->options.trig == VF_TRIG_HARDWARE;
    if (forward)
        return hardware ? sum_batch<true, true>(plan, stream, batch, values, first, count, out)
                        : sum_batch<true, false>(plan, stream, batch, values, first, count, out);
    return hardware ? sum_batch<false, true>(plan, stream, batch, values, first, count, out)
                    : sum_batch<false, false>(plan, stream, batch, values, first, count, out);
}

} // namespace vf_fourier_gpu
