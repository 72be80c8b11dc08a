/* The penalties: plans, and functions made of them. */
#include "penalties.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/splitmix.h"
#include "differences.h"
#include "kernel_operators.h"
#include "low_rank.h"
#include "tgv.h"
#include "voxfield/copy.h"
#include "voxfield/team_size.h"

enum { MOST_WAVELETS = 2, MOST_SHIFTS = 8, BLOCK = 8, RANDOM_STEPS = 8 };
/* Of tgv: the weight of sum |E w|, in units of that of sum |D x - w|; that of Knoll et al. */
static const double SECOND_ORDER = 2;
/* Its weight in ADMM, in units of the other's: radial scans of a head take a third of the iterations of 0.5. */
static const double SECOND_TIE = 10;
static const int64_t MOST_NUMBERS = INT64_MAX >> 12; /* voxels times frames: bytes of any vector fit in 64 bits */

/* One term: a wavelet with one shift, a block size with one shift, or differences. */
typedef struct term {
    vf_proximal function;
    vf_penalties *of;
    int prior;    /* number of its prior */
    double share; /* its weight in the prior */
    double tie;   /* its part of rho */
    int groups;   /* of gradients: components */
    vf_wavelet *wavelet;
    vf_low_rank *blocks;
    int64_t shift[3], image; /* elements of an image, with padding */
} term;

/* P of wavelet.h for each frame. */
typedef struct padding {
    vf_wavelet *wavelet;
    int64_t frames, voxels, padded;
    vf_dtype type;
} padding;

struct vf_penalties {
    vf_context *ctx;
    vf_penalties_options options;
    vf_dtype type;
    unsigned axes; /* in space, with more than one voxel */
    int dimensions, terms;
    double lambda[VF_MOST_PRIORS], rho[VF_MOST_PRIORS];
    double *factor; /* [frames] of the wavelet prior's lambda; NULL: 1 */
    vf_wavelet *wavelet[MOST_WAVELETS];
    vf_operator *pad[MOST_WAVELETS]; /* NULL: no padding */
    vf_low_rank *blocks[VF_MOST_PRIORS];
    vf_operator *gradient[VF_MOST_PRIORS], *second; /* second: of tgv */
    vf_operator *of_image[VF_MOST_PENALTIES];       /* of terms of the image alone, if there are other unknowns */
    term term[VF_MOST_PENALTIES];
    vf_penalty list[VF_MOST_PENALTIES];
};

const char *vf_penalty_name(vf_penalty_kind kind)
{
    static const char *const names[] = {"wavelet", "tv", "tgv", "temporal", "llr", "nuclear"};
    return names[kind];
}

/* ---- proximal maps ---- */

static double weight_of(const term *t)
{
    return t->of->lambda[t->prior] * t->share;
}

static double weight_of_frame(const term *t, int64_t frame)
{
    return weight_of(t) * (t->of->factor ? t->of->factor[frame] : 1);
}

static vf_status map_wavelet(void *state, vf_queue *queue, double step, const void *v, void *z)
{
    const term *t = state;
    vf_status status = VF_OK;
    for (int64_t f = 0; f < t->of->options.counts[3] && status == VF_OK; f++)
        status = vf_wavelet_threshold(t->wavelet, queue, t->shift, step * weight_of_frame(t, f),
                                      vf_offset(vf_queue_device(queue), v, t->of->type, f * t->image),
                                      vf_offset(vf_queue_device(queue), z, t->of->type, f * t->image));
    return status;
}

static vf_status wavelet_value(void *state, vf_queue *queue, const void *v, double *value)
{
    const term *t = state;
    vf_status status = VF_OK;
    *value = 0;
    for (int64_t f = 0; f < t->of->options.counts[3] && status == VF_OK; f++) {
        double sum = 0;
        status = vf_wavelet_norm(t->wavelet, queue, t->shift,
                                 vf_offset(vf_queue_device(queue), v, t->of->type, f * t->image), &sum);
        *value += weight_of_frame(t, f) * sum;
    }
    return status;
}

static int64_t all_of(const vf_penalties *p) /* voxels times frames */
{
    const int64_t *n = p->options.counts;
    return n[0] * n[1] * n[2] * n[3];
}

static vf_status map_gradient(void *state, vf_queue *queue, double step, const void *v, void *z)
{
    const term *t = state;
    return vf_group_soft(queue, t->of->type, t->groups, all_of(t->of), NULL, step * weight_of(t), v, z);
}

static vf_status gradient_value(void *state, vf_queue *queue, const void *v, double *value)
{
    const term *t = state;
    const vf_status status = vf_group_norm(queue, t->of->type, t->groups, all_of(t->of), NULL, v, value);
    *value *= weight_of(t);
    return status;
}

static vf_status map_low_rank(void *state, vf_queue *queue, double step, const void *v, void *z)
{
    const term *t = state;
    return vf_low_rank_threshold(t->blocks, queue, t->shift, step * weight_of(t), v, z);
}

static vf_status low_rank_value(void *state, vf_queue *queue, const void *v, double *value)
{
    const term *t = state;
    const vf_status status = vf_low_rank_norm(t->blocks, queue, t->shift, v, value);
    *value *= weight_of(t);
    return status;
}

/* ---- padding ---- */

static vf_status pad(void *state, vf_queue *queue, const void *x, void *v)
{
    const padding *p = state;
    vf_status status = VF_OK;
    for (int64_t f = 0; f < p->frames && status == VF_OK; f++)
        status = vf_wavelet_pad(p->wavelet, queue, vf_offset(vf_queue_device(queue), x, p->type, f * p->voxels),
                                vf_offset(vf_queue_device(queue), v, p->type, f * p->padded));
    return status;
}

static vf_status crop(void *state, vf_queue *queue, const void *v, void *x)
{
    const padding *p = state;
    vf_status status = VF_OK;
    for (int64_t f = 0; f < p->frames && status == VF_OK; f++)
        status = vf_wavelet_crop(p->wavelet, queue, vf_offset(vf_queue_device(queue), v, p->type, f * p->padded),
                                 vf_offset(vf_queue_device(queue), x, p->type, f * p->voxels));
    return status;
}

static vf_status same(void *state, vf_queue *queue, const void *x, void *z)
{
    const padding *p = state;
    return vf_copy(queue, p->type, p->frames * p->voxels, x, z);
}

static int64_t padded_voxels(const vf_wavelet *wavelet)
{
    int64_t n[3];
    vf_wavelet_padded(wavelet, n);
    return n[0] * n[1] * n[2];
}

static vf_status make_padding(vf_penalties *p, vf_device *device, int which)
{
    static const vf_operator_methods methods = {
        .name = "padding", .forward = pad, .adjoint = crop, .normal = same, .free = free};
    const int64_t voxels = all_of(p) / p->options.counts[3], padded = padded_voxels(p->wavelet[which]);
    if (padded == voxels)
        return VF_OK;
    padding *state = malloc(sizeof *state);
    if (!state)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "not enough memory for the wavelet prior");
    *state = (padding){p->wavelet[which], p->options.counts[3], voxels, padded, p->type};
    const vf_vector_space from = {p->type, all_of(p)}, to = {p->type, padded * p->options.counts[3]};
    const vf_status status = vf_operator_create(device, &methods, 0, from, to, state, &p->pad[which]);
    if (status != VF_OK)
        free(state);
    return status;
}

/* ---- making the list ---- */

static term *add_term(vf_penalties *p, int prior, vf_operator *transform, const vf_proximal *function)
{
    term *t = &p->term[p->terms];
    *t = (term){.function = *function, .of = p, .prior = prior, .share = 1, .tie = 1};
    t->function.state = t;
    p->list[p->terms++] = (vf_penalty){.transform = transform, .function = &t->function, .weight = 1};
    return t;
}

static int shifts_of(const vf_penalties *p)
{
    const int most = 1 << p->dimensions;
    return p->options.shifts ? p->options.shifts : most < 4 ? most : 4;
}

/* Shift number i: its bits are the parities along the axes in use. Four shifts of three axes have parities that add up
 * to an even number, and with `odd` to an odd one: each pair of axes has all combinations. */
static void choose_shift(const vf_penalties *p, int i, bool odd, uint64_t *seed, int64_t shift[3])
{
    const int count = shifts_of(p);
    int bit = 0;
    for (int a = 0; a < 3; a++) {
        shift[a] = 0;
        if (!(p->axes & 1U << a))
            continue;
        int parity = i >> bit & 1;
        if (bit == 2 && count <= 4)
            parity = ((i & 1) ^ (i >> 1 & 1)) ^ odd;
        shift[a] = 2 * (int64_t)(vf_splitmix64(seed) % RANDOM_STEPS) + parity;
        bit++;
    }
}

static vf_status add_wavelets(vf_penalties *p, vf_device *device, int prior, uint64_t *seed)
{
    static const vf_proximal function = {.name = "wavelet", .map = map_wavelet, .value = wavelet_value};
    const vf_penalties_options *o = &p->options;
    const int wavelets = o->moments ? 1 : MOST_WAVELETS, shifts = shifts_of(p);
    for (int w = 0; w < wavelets; w++) {
        const vf_wavelet_options options = {.counts = {o->counts[0], o->counts[1], o->counts[2]},
                                            .precision = o->precision,
                                            .moments = o->moments ? o->moments : w + 1};
        vf_status status = vf_wavelet_create(device, &options, &p->wavelet[w]);
        VF_TRY(status, make_padding(p, device, w));
        if (status != VF_OK)
            return status;
        for (int i = 0; i < shifts; i++) {
            term *t = add_term(p, prior, p->pad[w], &function);
            t->wavelet = p->wavelet[w];
            t->image = padded_voxels(t->wavelet);
            t->share = t->tie = 1.0 / (wavelets * shifts);
            choose_shift(p, i, w == 1, seed, t->shift);
        }
    }
    return VF_OK;
}

static vf_status add_low_rank(vf_penalties *p, vf_device *device, int prior, bool local, uint64_t *seed)
{
    static const vf_proximal llr = {.name = "llr", .map = map_low_rank, .value = low_rank_value},
                             nuclear = {.name = "nuclear", .map = map_low_rank, .value = low_rank_value};
    const int shifts = local ? shifts_of(p) : 1;
    int64_t block[3];
    for (int a = 0; a < 3; a++)
        block[a] = local && p->options.counts[a] > BLOCK ? BLOCK : p->options.counts[a];
    const vf_status status = vf_low_rank_create(device, p->type, p->options.counts, block, NULL, &p->blocks[prior]);
    for (int i = 0; i < shifts && status == VF_OK; i++) {
        term *t = add_term(p, prior, NULL, local ? &llr : &nuclear);
        t->blocks = p->blocks[prior];
        t->share = t->tie = 1.0 / shifts;
        for (int a = 0; a < 3 && local; a++)
            t->shift[a] = block[a] > 1 ? (int64_t)(vf_splitmix64(seed) % (uint64_t)block[a]) : 0;
    }
    return status;
}

static vf_status add_gradient(vf_penalties *p, vf_device *device, int prior, unsigned axes)
{
    static const vf_proximal tv = {.name = "tv", .map = map_gradient, .value = gradient_value},
                             temporal = {.name = "temporal", .map = map_gradient, .value = gradient_value};
    const vf_status status =
        vf_differences_operator(device, p->options.precision, p->options.counts, axes, &p->gradient[prior]);
    if (status == VF_OK)
        add_term(p, prior, p->gradient[prior], axes == VF_ALONG_FRAMES ? &temporal : &tv)->groups =
            vf_differences_components(axes);
    return status;
}

static vf_status add_tgv(vf_penalties *p, vf_device *device, int prior)
{
    static const vf_proximal tgv = {.name = "tgv", .map = map_gradient, .value = gradient_value};
    const vf_penalties_options *o = &p->options;
    vf_status status = vf_tgv_first_operator(device, o->precision, o->counts, p->axes, &p->gradient[prior]);
    VF_TRY(status, vf_tgv_second_operator(device, o->precision, o->counts, p->axes, &p->second));
    if (status != VF_OK)
        return status;
    add_term(p, prior, p->gradient[prior], &tgv)->groups = vf_differences_components(p->axes);
    term *second = add_term(p, prior, p->second, &tgv);
    second->groups = vf_symmetric_gradient_components(p->axes);
    second->share = SECOND_ORDER;
    second->tie = SECOND_TIE;
    return VF_OK;
}

/* With tgv, the other priors are of the first part of the unknowns. */
static vf_status extend_terms(vf_penalties *p, vf_device *device)
{
    const int extra = vf_penalties_extra(p);
    const vf_vector_space series = {p->type, all_of(p)};
    vf_status status = VF_OK;
    for (int i = 0; i < p->terms && extra > 0 && status == VF_OK; i++) {
        if (p->options.kind[p->term[i].prior] == VF_PENALTY_TGV)
            continue;
        status = vf_tgv_image_operator(device, series, extra, p->list[i].transform, &p->of_image[i]);
        p->list[i].transform = p->of_image[i];
    }
    return status;
}

static vf_status add_prior(vf_penalties *p, vf_device *device, int prior, uint64_t *seed)
{
    const vf_penalty_kind kind = p->options.kind[prior];
    const bool needs_frames = kind == VF_PENALTY_TEMPORAL || kind == VF_PENALTY_LLR || kind == VF_PENALTY_NUCLEAR;
    if (needs_frames ? p->options.counts[3] < 2 : p->dimensions < 1)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT, "prior %s needs more than one %s",
                       vf_penalty_name(kind), needs_frames ? "frame" : "voxel");
    switch (kind) {
    case VF_PENALTY_WAVELET:
        return add_wavelets(p, device, prior, seed);
    case VF_PENALTY_TV:
        return add_gradient(p, device, prior, p->axes);
    case VF_PENALTY_TGV:
        return add_tgv(p, device, prior);
    case VF_PENALTY_TEMPORAL:
        return add_gradient(p, device, prior, VF_ALONG_FRAMES);
    default:
        return add_low_rank(p, device, prior, kind == VF_PENALTY_LLR, seed);
    }
}

vf_status vf_penalties_create(vf_device *device, const vf_penalties_options *options, vf_penalties **out)
{
    vf_context *ctx = vf_device_context(device);
    uint64_t seed = options->seed;
    *out = NULL;
    bool possible = options->priors >= 1 && options->priors <= VF_MOST_PRIORS && options->shifts >= 0 &&
                    options->shifts <= MOST_SHIFTS;
    int64_t left = MOST_NUMBERS;
    for (int a = 0; a < 4 && possible; a++) {
        possible = options->counts[a] >= 1 && options->counts[a] <= left;
        left /= possible ? options->counts[a] : 1;
    }
    for (int i = 0; possible && i < options->priors; i++)
        possible = options->kind[i] < VF_PENALTY_KINDS && (i == 0 || options->kind[i] != options->kind[0]);
    if (!possible)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "penalties: %d priors, %d shifts, or a grid of %lld x %lld x %lld, %lld frames: not supported",
                       options->priors, options->shifts, (long long)options->counts[0], (long long)options->counts[1],
                       (long long)options->counts[2], (long long)options->counts[3]);
    vf_penalties *p = malloc(sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the penalties");
    *p = (vf_penalties){.ctx = ctx, .options = *options, .type = vf_dtype_complex(options->precision)};
    for (int a = 0; a < 3; a++)
        if (options->counts[a] > 1) {
            p->axes |= 1U << a;
            p->dimensions++;
        }
    vf_status status = VF_OK;
    for (int i = 0; i < options->priors && status == VF_OK; i++)
        status = add_prior(p, device, i, &seed);
    VF_TRY(status, extend_terms(p, device));
    for (int i = 0; i < options->priors && status == VF_OK; i++)
        vf_penalties_set(p, i, 0, 1);
    if (status == VF_OK)
        *out = p;
    else
        vf_penalties_free(p);
    return status;
}

void vf_penalties_free(vf_penalties *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->terms; i++)
        vf_operator_free(p->of_image[i]);
    for (int w = 0; w < MOST_WAVELETS; w++) {
        vf_operator_free(p->pad[w]);
        vf_wavelet_destroy(p->wavelet[w]);
    }
    for (int i = 0; i < VF_MOST_PRIORS; i++) {
        vf_operator_free(p->gradient[i]);
        vf_low_rank_destroy(p->blocks[i]);
    }
    free(p->factor);
    vf_operator_free(p->second);
    free(p);
}

/* ---- numbers ---- */
void vf_penalties_set(vf_penalties *p, int which, double lambda, double rho)
{
    p->lambda[which] = lambda;
    p->rho[which] = rho;
    for (int i = 0; i < p->terms; i++)
        if (p->term[i].prior == which)
            p->list[i].weight = rho * p->term[i].tie;
}

vf_status vf_penalties_set_frames(vf_penalties *p, vf_context *ctx, const double *factor)
{
    const size_t bytes = (size_t)p->options.counts[3] * sizeof *p->factor;
    free(p->factor);
    p->factor = malloc(bytes);
    if (p->factor)
        memcpy(p->factor, factor, bytes);
    return p->factor ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the weights of a series");
}

const vf_penalty *vf_penalties_list(const vf_penalties *p, int *count)
{
    *count = p->terms;
    return p->list;
}

double vf_penalties_value(const vf_penalties *p, int which, const double *values)
{
    double sum = 0;
    for (int i = 0; i < p->terms; i++)
        sum += p->term[i].prior == which ? values[i] : 0;
    return sum;
}

double vf_penalties_noise(const vf_penalties *p, int which)
{
    const int64_t *n = p->options.counts;
    const vf_penalty_kind kind = p->options.kind[which];
    double voxels = 1;
    for (int a = 0; a < 3; a++)
        voxels *= (double)(kind == VF_PENALTY_LLR && n[a] > BLOCK ? BLOCK : n[a]);
    return kind == VF_PENALTY_LLR || kind == VF_PENALTY_NUCLEAR ? sqrt(voxels) + sqrt((double)n[3]) : 1;
}

int vf_penalties_extra(const vf_penalties *p)
{
    return p->second ? p->dimensions : 0;
}

/* tgv: |D|^2 and |E|^2 are at most L = 4 d, so |D x - w|^2 + |E w|^2 is at most that of the matrix (L, -sqrt L; -sqrt L,
 * 1 + L) for (|x|, |w|). */
double vf_penalties_largest(const vf_penalties *p)
{
    const double gradient = 4 * p->dimensions;
    double sum = 0;
    for (int i = 0; i < p->terms; i++) {
        const vf_penalty_kind kind = p->options.kind[p->term[i].prior];
        sum += kind == VF_PENALTY_TV         ? gradient
               : kind == VF_PENALTY_TEMPORAL ? 4
               : kind == VF_PENALTY_TGV      ? gradient / 2 + (1 + sqrt(1 + 4 * gradient)) / 4 /* of two terms */
                                             : 1;
    }
    return sum;
}

static double curvature(int64_t at, int64_t n)
{
    return 4 * pow(sin(M_PI * (double)(at - n / 2) / (double)n), 2);
}

static int axis_of(const vf_penalties *p, int which) /* of those in use */
{
    int a = 0;
    while (a < 2 && (!(p->axes & 1U << a) || which-- > 0))
        a++;
    return a;
}

double vf_penalties_coupling(const vf_penalties *p)
{
    for (int q = 0; q < p->options.priors; q++)
        if (p->options.kind[q] == VF_PENALTY_TEMPORAL)
            return p->rho[q];
    return 0;
}

void vf_penalties_add_spectrum(const vf_penalties *p, int part, double *out)
{
    const int64_t *n = p->options.counts;
    const int axis = part > 0 ? axis_of(p, part - 1) : 0;
    double even = 0, of[3] = {0}; /* + even + sum_a of[a] curvature(at[a]): the eigenvalues of differences' B^H B */
    for (int q = 0; q < p->options.priors; q++) {
        const vf_penalty_kind kind = p->options.kind[q];
        const bool tgv = kind == VF_PENALTY_TGV, curved = tgv || (kind == VF_PENALTY_TV && part == 0);
        even += (part > 0 ? tgv : !curved && kind != VF_PENALTY_TEMPORAL) ? p->rho[q] : 0;
        for (int a = 0; a < 3 && curved; a++)
            of[a] += p->rho[q] * (part > 0 ? SECOND_TIE * (a == axis ? 2 : 1) / 2 : 1);
    }
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(p->ctx, 20 * n[0] * n[1] * n[2]))
    for (int64_t row = 0; row < n[1] * n[2]; row++) {
        const double across = even + of[1] * curvature(row % n[1], n[1]) + of[2] * curvature(row / n[1], n[2]);
        for (int64_t x = 0; x < n[0]; x++)
            out[row * n[0] + x] += across + (of[0] > 0 ? of[0] * curvature(x, n[0]) : 0);
    }
}
