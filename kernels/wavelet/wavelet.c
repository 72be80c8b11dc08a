/* The backend-independent part: checks, the extents of the levels, the filters, and the choice of the backend. */
#include "wavelet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "voxfield/copy.h"
#include "wavelet_backend.h"

static const vf_variants cpu_simd = {VF_DEVICE_CPU, vf_isa_variants};
static const vf_variants cpu_ref = {VF_DEVICE_CPU, (const char *const[]){"ref", NULL}};
static const vf_backend backends[] = {
    {&cpu_simd, &vf_wavelet_cpu},
    {&cpu_ref, &vf_wavelet_ref},
    {&vf_cuda_only, &vf_wavelet_cuda},
    {&vf_opencl_only, &vf_wavelet_opencl},
    {0},
};

enum { DEFAULT_LEVELS = 4 };

/* Far beyond any machine; keeps sizes in bytes below 63 bits. */
#define MOST_VOXELS ((int64_t)1 << 50)

/* Daubechies' filters: of all orthonormal filters of 2 moments coefficients, those of extremal phase. */
static const double filters[WAVELET_MOST_MOMENTS][WAVELET_MOST_TAPS] = {
    {0.707106781186547524401, 0.707106781186547524401},
    {0.482962913144534143375, 0.836516303737807905575, 0.224143868042013381026, -0.129409522551260381174},
    {0.332670552950082615999, 0.806891509311092576494, 0.459877502118491570095, -0.135011020010254588696,
     -0.0854412738820266616928, 0.0352262918857095366027},
    {0.230377813308896500863, 0.71484657055291564709, 0.630880767929858907882, -0.0279837694168598542114,
     -0.18703481171909308408, 0.0308413818355607636272, 0.0328830116668851997354, -0.0105974017850690321049},
};

const char *vf_wavelet_variant(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

static vf_status check(vf_context *ctx, const vf_wavelet_options *o)
{
    if ((o->precision != VF_F32 && o->precision != VF_F64) || o->moments < 1 || o->moments > WAVELET_MOST_MOMENTS ||
        o->levels < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "wavelet: %d vanishing moments, %d levels or precision %s; supported are 1 to %d moments, 0 or "
                       "more levels, VF_F32 and VF_F64",
                       o->moments, o->levels, vf_dtype_name(o->precision), WAVELET_MOST_MOMENTS);
    int64_t voxels = 1;
    for (int a = 0; a < 3; a++) {
        if (o->counts[a] < 1 || o->counts[a] > MOST_VOXELS / voxels)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "wavelet: a grid of %lld x %lld x %lld voxels is not supported",
                           (long long)o->counts[0], (long long)o->counts[1], (long long)o->counts[2]);
        voxels *= o->counts[a];
    }
    return VF_OK;
}

/* ceil(n / 2^levels) */
static int64_t coarse_count(int64_t n, int levels)
{
    return (n - 1) / ((int64_t)1 << levels) + 1;
}

/* Before its last level, a padded axis has twice the numbers of its coarse part. */
static void lay_levels(vf_wavelet *plan, const vf_wavelet_options *o)
{
    int most = o->levels > 0 ? o->levels : DEFAULT_LEVELS;
    if (most > WAVELET_MOST_LEVELS - 1)
        most = WAVELET_MOST_LEVELS - 1;
    plan->moments = o->moments;
    for (int a = 0; a < 3; a++) {
        int levels = 0;
        while (levels < most && coarse_count(o->counts[a], levels + 1) >= 2 * o->moments)
            levels++;
        plan->counts[a] = o->counts[a];
        plan->axis_levels[a] = levels;
        plan->coarse[a] = coarse_count(o->counts[a], levels);
        plan->padded[a] = plan->coarse[a] << levels;
        plan->levels = levels > plan->levels ? levels : plan->levels;
    }
    plan->rows = plan->padded[1] * plan->padded[2];
    plan->numbers = plan->padded[0] * plan->rows;
    for (int k = 0; k < 2 * o->moments; k++) {
        plan->low[k] = filters[o->moments - 1][k];
        plan->high[k] = (k % 2 ? -1 : 1) * filters[o->moments - 1][2 * o->moments - 1 - k];
    }
}

static vf_status create_arrays(vf_wavelet *plan)
{
    int64_t bands = 0;
    for (int l = 1; l < plan->levels; l++) {
        const vf_wavelet_box box = vf_wavelet_box_of(plan, l + 1);
        plan->band_at[l] = bands;
        bands += box.counts[0] * box.counts[1] * box.counts[2];
    }
    const struct {
        vf_array *array;
        vf_dtype type;
        int64_t count;
    } arrays[] = {{&plan->coefficients, plan->type, plan->numbers},
                  {&plan->bands, plan->type, bands},
                  {&plan->sums, VF_F64, 2 * plan->rows}};
    vf_status status = VF_OK;
    for (size_t i = 0; status == VF_OK && i < sizeof arrays / sizeof *arrays; i++)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, arrays[i].type, arrays[i].count, arrays[i].array);
    if (!plan->backend->total)
        VF_TRY(status, vf_reduce_create(plan->device, VF_REDUCE_SUM, VF_F64, plan->rows, &plan->reduce));
    return status;
}

vf_status vf_wavelet_create(vf_device *device, const vf_wavelet_options *options, vf_wavelet **out)
{
    vf_context *ctx = vf_device_context(device);
    const void *backend;
    const char *variant;
    *out = NULL;
    vf_status status = check(ctx, options);
    VF_TRY(status, vf_backend_choose(backends, "wavelet", device, options->variant, &backend, &variant));
    if (status != VF_OK)
        return status;
    vf_wavelet *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "wavelet: not enough memory for a plan");
    plan->backend = backend;
    plan->device = device;
    plan->precision = options->precision;
    plan->type = vf_dtype_complex(options->precision);
    lay_levels(plan, options);
    status = create_arrays(plan);
    VF_TRY(status, plan->backend->create(plan, variant));
    if (status == VF_OK)
        *out = plan;
    else
        vf_wavelet_destroy(plan);
    return status;
}

void vf_wavelet_destroy(vf_wavelet *plan)
{
    if (!plan)
        return;
    if (plan->state)
        plan->backend->destroy(plan);
    vf_reduce_destroy(plan->reduce);
    vf_array_free(&plan->coefficients);
    vf_array_free(&plan->bands);
    vf_array_free(&plan->sums);
    free(plan);
}

void vf_wavelet_padded(const vf_wavelet *plan, int64_t counts[3])
{
    memcpy(counts, plan->padded, sizeof plan->padded);
}

void vf_wavelet_coarse(const vf_wavelet *plan, int64_t counts[3])
{
    memcpy(counts, plan->coarse, sizeof plan->coarse);
}

void vf_wavelet_levels(const vf_wavelet *plan, int levels[3])
{
    memcpy(levels, plan->axis_levels, sizeof plan->axis_levels);
}

/* ---- padding ---- */

static vf_status check_vectors(const vf_wavelet *plan, const void *from, const void *to)
{
    return from && to && from != to ? VF_OK
                                    : vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                                              "wavelet: a vector is missing, or the input is the output");
}

static bool is_padded(const vf_wavelet *plan)
{
    return memcmp(plan->counts, plan->padded, sizeof plan->counts) != 0;
}

static vf_pitch pitch_of(const int64_t counts[3])
{
    return (vf_pitch){counts[0], counts[0] * counts[1]};
}

vf_status vf_wavelet_pad(const vf_wavelet *plan, vf_queue *queue, const void *x, void *v)
{
    vf_status status = check_vectors(plan, x, v);
    if (status == VF_OK && !is_padded(plan))
        return vf_copy(queue, plan->type, plan->numbers, x, v);
    if (status == VF_OK)
        status = vf_fill(queue, plan->type, plan->numbers, (const double[2]){0}, v);
    VF_TRY(status, vf_copy_box(queue, plan->type, plan->counts, x, pitch_of(plan->counts), v, pitch_of(plan->padded)));
    return status;
}

vf_status vf_wavelet_crop(const vf_wavelet *plan, vf_queue *queue, const void *v, void *x)
{
    vf_status status = check_vectors(plan, v, x);
    if (status == VF_OK && !is_padded(plan))
        return vf_copy(queue, plan->type, plan->numbers, v, x);
    VF_TRY(status, vf_copy_box(queue, plan->type, plan->counts, v, pitch_of(plan->padded), x, pitch_of(plan->counts)));
    return status;
}

/* ---- transforms ---- */

static void reduce_shift(const vf_wavelet *plan, const int64_t shift[3], int64_t to[3])
{
    for (int a = 0; a < 3; a++) {
        const int64_t s = shift ? shift[a] % plan->padded[a] : 0;
        to[a] = s < 0 ? s + plan->padded[a] : s;
    }
}

vf_status vf_wavelet_forward(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *v, void *c)
{
    int64_t by[3];
    reduce_shift(plan, shift, by);
    const vf_status status = check_vectors(plan, v, c);
    return status == VF_OK ? plan->backend->forward(plan, queue, by, plan->levels, NULL, v, c) : status;
}

vf_status vf_wavelet_adjoint(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, void *v)
{
    int64_t by[3];
    reduce_shift(plan, shift, by);
    const vf_status status = check_vectors(plan, c, v);
    return status == VF_OK ? plan->backend->adjoint(plan, queue, by, c, v) : status;
}

static vf_wavelet_soft soft_of(vf_dtype precision, double threshold)
{
    /* 2^exponent and its inverse are normal numbers of the precision. */
    const int least = precision == VF_F64 ? -1021 : -125, most = precision == VF_F64 ? 1022 : 126;
    int exponent;
    frexp(threshold, &exponent);
    exponent = exponent < least ? least : exponent > most ? most : exponent;
    return (vf_wavelet_soft){ldexp(1, -exponent), ldexp(threshold, -exponent)};
}

vf_status vf_wavelet_threshold(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], double threshold,
                               const void *v, void *z)
{
    int64_t by[3];
    if (!v || !z || !(threshold >= 0) || isinf(threshold))
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "wavelet: a threshold of %g is not supported, or a vector is missing", threshold);
    if (threshold == 0 || plan->levels == 0)
        return v == z ? VF_OK : vf_copy(queue, plan->type, plan->numbers, v, z);
    const vf_wavelet_soft soft = soft_of(plan->precision, threshold);
    void *c = plan->coefficients.data;
    reduce_shift(plan, shift, by);
    const vf_status status = plan->backend->forward(plan, queue, by, plan->levels, &soft, v, c);
    return status == VF_OK ? plan->backend->adjoint(plan, queue, by, c, z) : status;
}

/* The sum of `rows` numbers of plan->sums, from row `first`. */
static vf_status add_rows(const vf_wavelet *plan, vf_queue *queue, int64_t first, double *sum)
{
    vf_reduced reduced = {0};
    if (plan->backend->total)
        return plan->backend->total(plan, queue, first, sum);
    const vf_status status =
        vf_reduce_now(plan->reduce, queue, plan->rows, vf_array_at(&plan->sums, first), NULL, &reduced);
    *sum = reduced.re;
    return status;
}

vf_status vf_wavelet_norm(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *v, double *sum)
{
    int64_t by[3];
    void *c = plan->coefficients.data;
    *sum = 0;
    reduce_shift(plan, shift, by);
    vf_status status = check_vectors(plan, v, c);
    if (status != VF_OK || plan->levels == 0)
        return status;
    status = plan->backend->forward(plan, queue, by, plan->levels, NULL, v, c);
    VF_TRY(status, plan->backend->magnitudes(plan, queue, c));
    return status == VF_OK ? add_rows(plan, queue, 0, sum) : status;
}

vf_status vf_wavelet_finest_rms(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *v,
                                const void *weights, double *rms, int64_t *count)
{
    int64_t by[3];
    double squares = 0, number = 0;
    void *c = plan->coefficients.data;
    reduce_shift(plan, shift, by);
    vf_status status = check_vectors(plan, v, c);
    if (status == VF_OK && plan->levels > 0) {
        status = plan->backend->forward(plan, queue, by, 1, NULL, v, c);
        VF_TRY(status, plan->backend->finest(plan, queue, by, c, weights));
        VF_TRY(status, add_rows(plan, queue, 0, &squares));
        VF_TRY(status, add_rows(plan, queue, plan->rows, &number));
    }
    *rms = number > 0 ? sqrt(squares / number) : 0;
    if (count)
        *count = (int64_t)number;
    return status;
}
