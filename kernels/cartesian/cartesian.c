/* Plans and the two sums, built on libcore's primitives for any device. Each grid point gathers its samples; samples
 * are not scattered to the grid. So terms are added in the order of the samples, and no two threads write the same
 * element. */
#include "cartesian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cartesian_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* ---- the grid ---- */

bool vf_cartesian_fits(const int64_t matrix[3], int64_t samples, const float *k, int64_t *first, double *distance)
{
    double allowed[3];
    for (int a = 0; a < 3; a++)
        allowed[a] = matrix[a] > 1 ? (double)matrix[a] * 0x1p-22 : INFINITY;
    for (int64_t m = 0; m < samples; m++) {
        double most = 0;
        bool on_grid = true;
        for (int a = 0; a < 3; a++) {
            const double at = k[3 * m + a], off = matrix[a] > 1 ? fabs(at - rint(at)) : 0;
            on_grid = on_grid && off <= allowed[a]; /* false for NaN */
            most = off <= most ? most : off;
        }
        if (on_grid)
            continue;
        if (first)
            *first = m;
        if (distance)
            *distance = most;
        return false;
    }
    if (first)
        *first = -1;
    if (distance)
        *distance = 0;
    return true;
}

uint32_t vf_cartesian_point(const int64_t matrix[3], const float k[3])
{
    int64_t point = 0;
    for (int a = 2; a >= 0; a--) {
        const double n = (double)matrix[a];
        double index = matrix[a] > 1 ? rint((double)k[a]) : 0;
        if (!(fabs(index) < n)) /* exact: k is a float, so the remainder is an integer below N */
            index = fmod(index, n);
        index = index < 0 ? index + n : index;
        point = point * matrix[a] + (int64_t)index;
    }
    return (uint32_t)point;
}

/* ---- a plan ---- */

enum { ARRAYS = 6 }; /* arrays in a plan, at most */

static vf_status check(vf_context *ctx, const int64_t matrix[3], const vf_cartesian_samples *samples,
                       vf_dtype precision)
{
    int64_t voxels = 1, first;
    double distance;
    if (precision != VF_F32 && precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Cartesian FFT: unsupported precision");
    if (samples->count < 0 || samples->count >= UINT32_MAX || (samples->count > 0 && !samples->k))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Cartesian FFT: %lld samples are not supported",
                       (long long)samples->count);
    for (int a = 0; a < 3; a++) {
        if (!(matrix[a] >= 1 && matrix[a] <= UINT32_MAX / voxels && matrix[a] <= INT32_MAX))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "Cartesian FFT: a grid of %lld x %lld x %lld voxels is not supported",
                           (long long)matrix[0], (long long)matrix[1], (long long)matrix[2]);
        voxels *= matrix[a];
    }
    if (!vf_cartesian_fits(matrix, samples->count, samples->k, &first, &distance))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Cartesian FFT: sample %lld is %.3g cycles off the grid", (long long)first,
                       distance);
    for (int64_t m = 0; samples->weights && m < samples->count; m++)
        if (!isfinite(samples->weights[m]))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "Cartesian FFT: the weight of sample %lld is not finite",
                           (long long)m);
    return VF_OK;
}

vf_status vf_cartesian_put(vf_device *device, vf_dtype type, int64_t count, const void *from, vf_array *out)
{
    vf_queue *queue = NULL;
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, type, count, out);
    if (!from || status != VF_OK)
        return status;
    status = vf_queue_create(device, &queue);
    VF_TRY(status, vf_queue_copy(queue, out->data, from, (size_t)count * vf_dtype_bytes(type)));
    VF_TRY(status, vf_queue_sync(queue));
    vf_queue_destroy(queue);
    return status;
}

/* Host tables from which the plan's arrays are made. */
typedef struct places {
    uint32_t *point; /* [samples] */
    uint32_t *held;  /* [voxels] samples there */
    uint32_t *slot;  /* [voxels] */
    uint32_t *list;  /* [samples] */
} places;

/* Grid points that hold samples get slots, fullest first. So the points with more than l samples are the first slots,
 * and all layers together list each sample once. */
static void number_slots(vf_cartesian *p, const places *at)
{
    int64_t next = 0;
    for (int64_t v = 0; v < p->voxels; v++)
        if (at->held[v] > 0)
            p->layer[at->held[v] - 1]++; /* points with exactly this many */
    for (int64_t l = p->layers - 1; l > 0; l--)
        p->layer[l - 1] += p->layer[l]; /* points with at least this many */
    p->slots = p->layers > 0 ? p->layer[0] : 0;
    /* The first slot for a point with l + 1 samples: after all points with more. */
    int64_t *begin = p->begin;
    for (int64_t l = 0; l < p->layers; l++)
        begin[l] = l + 1 < p->layers ? p->layer[l + 1] : 0;
    for (int64_t v = 0; v < p->voxels; v++)
        at->slot[v] = (uint32_t)(at->held[v] > 0 ? begin[at->held[v] - 1]++ : p->slots);
    for (int64_t l = 0; l < p->layers; l++) { /* where a layer's list begins */
        begin[l] = next;
        next += p->layer[l];
    }
}

static vf_status make_places(vf_cartesian *p, const vf_cartesian_samples *samples)
{
    const size_t voxels = (size_t)p->voxels, count = (size_t)p->samples;
    places at = {.point = malloc((count + 1) * sizeof *at.point),
                 .held = calloc(voxels + 1, sizeof *at.held),
                 .slot = malloc((voxels + 1) * sizeof *at.slot),
                 .list = malloc((count + 1) * sizeof *at.list)};
    bool all = at.point && at.held && at.slot && at.list;
    for (size_t m = 0; all && m < count; m++) {
        at.point[m] = vf_cartesian_point(p->matrix, samples->k + 3 * m);
        const int64_t here = ++at.held[at.point[m]];
        p->layers = here > p->layers ? here : p->layers;
    }
    p->layer = all ? calloc((size_t)p->layers + 1, sizeof *p->layer) : NULL;
    p->begin = all ? calloc((size_t)p->layers + 1, sizeof *p->begin) : NULL;
    all = all && p->layer && p->begin;
    vf_status status =
        all ? VF_OK
            : vf_fail(vf_device_context(p->device), VF_ERR_MEMORY,
                      "Cartesian FFT: not enough memory for the places of %lld samples", (long long)p->samples);
    if (all) {
        number_slots(p, &at);
        memset(at.held, 0, voxels * sizeof *at.held);
    }
    for (size_t m = 0; all && m < count; m++)
        at.list[p->begin[at.held[at.point[m]]++] + at.slot[at.point[m]]] = (uint32_t)m;
    VF_TRY(status, vf_cartesian_put(p->device, VF_I32, p->samples, at.point, &p->point));
    VF_TRY(status, vf_cartesian_put(p->device, VF_I32, p->samples, at.list, &p->list));
    VF_TRY(status, vf_cartesian_put(p->device, VF_I32, p->voxels, at.slot, &p->slot));
    free(at.point);
    free(at.held);
    free(at.slot);
    free(at.list);
    return status;
}

static vf_status make_sums(vf_cartesian *p, const vf_cartesian_samples *samples)
{
    const double zero[2] = {0};
    vf_queue *queue = NULL;
    vf_status status = make_places(p, samples);
    if (status == VF_OK && p->layers > 1)
        status = vf_array_create(p->device, VF_SPACE_DEVICE, p->type, p->layer[1], &p->spare);
    VF_TRY(status, vf_array_create(p->device, VF_SPACE_DEVICE, p->type, p->slots + 1, &p->sums));
    VF_TRY(status, vf_queue_create(p->device, &queue));
    VF_TRY(status, vf_fill(queue, p->type, p->slots + 1, zero, p->sums.data));
    VF_TRY(status, vf_queue_sync(queue));
    vf_queue_destroy(queue);
    return status;
}

static vf_status create(vf_device *device, const int64_t matrix[3], const vf_cartesian_samples *samples,
                        vf_dtype precision, bool normal, vf_cartesian **out)
{
    vf_context *ctx = vf_device_context(device);
    const int64_t dims[3] = {matrix[2], matrix[1], matrix[0]};
    *out = NULL;
    vf_status status = check(ctx, matrix, samples, precision);
    if (status != VF_OK)
        return status;
    vf_cartesian *p = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "Cartesian FFT: not enough memory for a plan");
    *p = (vf_cartesian){.device = device,
                        .precision = precision,
                        .type = vf_dtype_complex(precision),
                        .matrix = {matrix[0], matrix[1], matrix[2]},
                        .voxels = matrix[0] * matrix[1] * matrix[2],
                        .samples = samples->count,
                        .normal = normal};
    if (!normal) {
        status = vf_fft_create(device, p->type, 3, dims, 1, &p->fft);
        VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, p->type, p->voxels, &p->grid));
    }
    VF_TRY(status, (normal ? vf_cartesian_make_normal : make_sums)(p, samples));
    if (status == VF_OK)
        *out = p;
    else
        vf_cartesian_destroy(p);
    return status;
}

vf_status vf_cartesian_create(vf_device *device, const int64_t matrix[3], const vf_cartesian_samples *samples,
                              vf_dtype precision, vf_cartesian **out)
{
    return create(device, matrix, samples, precision, false, out);
}

vf_status vf_cartesian_normal_create(vf_device *device, const int64_t matrix[3], const vf_cartesian_samples *samples,
                                     vf_dtype precision, vf_cartesian **out)
{
    return create(device, matrix, samples, precision, true, out);
}

void vf_cartesian_destroy(vf_cartesian *p)
{
    if (!p)
        return;
    vf_array *const arrays[ARRAYS] = {&p->grid, &p->spare, &p->sums, &p->point, &p->list, &p->slot};
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(arrays[i]);
    vf_fft_destroy(p->fft);
    vf_toeplitz_destroy(p->circulant);
    free(p->layer);
    free(p->begin);
    free(p);
}

int64_t vf_cartesian_bytes(const vf_cartesian *p)
{
    const vf_array *const arrays[ARRAYS] = {&p->grid, &p->spare, &p->sums, &p->point, &p->list, &p->slot};
    int64_t bytes = (p->fft ? vf_fft_bytes(p->fft) : 0) + (p->circulant ? vf_toeplitz_bytes(p->circulant) : 0);
    for (int i = 0; i < ARRAYS; i++)
        bytes += arrays[i]->data ? arrays[i]->count * (int64_t)vf_dtype_bytes(arrays[i]->type) : 0;
    return bytes;
}

/* ---- the sums ---- */

/* Rotates by N/2 along each axis, as eight boxes: to(n) = from(n - N/2 modulo N), or with `back` from(n + N/2). */
static vf_status rotate(const vf_cartesian *p, vf_queue *queue, bool back, const void *from, void *to)
{
    const int64_t *n = p->matrix;
    const vf_pitch pitch = {n[0], n[0] * n[1]};
    vf_status status = VF_OK;
    for (int bits = 0; bits < 8 && status == VF_OK; bits++) {
        int64_t counts[3], source = 0, target = 0, step = 1;
        for (int a = 0; a < 3; a++) {
            const int64_t shift = back ? n[a] - n[a] / 2 : n[a] / 2; /* to(n) = from(n - shift), modulo N */
            const bool wrapped = bits >> a & 1;                      /* the last `shift` points of `from` */
            counts[a] = wrapped ? shift : n[a] - shift;
            source += (wrapped ? n[a] - shift : 0) * step;
            target += (wrapped ? 0 : shift) * step;
            step *= n[a];
        }
        if (counts[0] > 0 && counts[1] > 0 && counts[2] > 0)
            status = vf_copy_box(queue, p->type, counts, vf_offset(p->device, from, p->type, source), pitch,
                                 vf_offset(p->device, to, p->type, target), pitch);
    }
    return status;
}

static vf_status check_plan(const vf_cartesian *p, vf_queue *queue, int batch, const void *c, const void *image)
{
    if (!p->normal && batch >= 1 && (c || p->samples == 0) && image && vf_queue_device(queue) == p->device)
        return VF_OK;
    return vf_fail(vf_device_context(p->device), VF_ERR_ARGUMENT,
                   "Cartesian FFT: %d vectors, a missing vector, a queue of another device, or a plan for F^H W F",
                   batch);
}

/* grid = the sum of the samples at each point. */
static vf_status collect(const vf_cartesian *p, vf_queue *queue, const void *c)
{
    vf_status status = p->layers > 0 ? vf_gather(queue, p->type, p->slots, p->list.data, c, p->sums.data) : VF_OK;
    for (int64_t l = 1; l < p->layers && status == VF_OK; l++) {
        status = vf_gather(queue, p->type, p->layer[l], vf_array_at(&p->list, p->begin[l]), c, p->spare.data);
        VF_TRY(status, vf_vector_axpby(queue, p->type, p->layer[l], 1, p->spare.data, 1, p->sums.data));
    }
    return status == VF_OK ? vf_gather(queue, p->type, p->voxels, p->slot.data, p->sums.data, p->grid.data) : status;
}

vf_status vf_cartesian_adjoint(vf_cartesian *p, vf_queue *queue, int batch, const void *c, void *y)
{
    vf_status status = check_plan(p, queue, batch, c, y);
    for (int b = 0; b < batch && status == VF_OK; b++) {
        status = collect(p, queue, vf_offset(p->device, c, p->type, b * p->samples));
        VF_TRY(status, vf_fft_execute(p->fft, queue, VF_FFT_BACKWARD, p->grid.data));
        VF_TRY(status, rotate(p, queue, false, p->grid.data, vf_offset(p->device, y, p->type, b * p->voxels)));
    }
    return status;
}

vf_status vf_cartesian_forward(vf_cartesian *p, vf_queue *queue, int batch, const void *x, void *c)
{
    vf_status status = check_plan(p, queue, batch, c, x);
    for (int b = 0; b < batch && status == VF_OK; b++) {
        status = rotate(p, queue, true, vf_offset(p->device, x, p->type, b * p->voxels), p->grid.data);
        VF_TRY(status, vf_fft_execute(p->fft, queue, VF_FFT_FORWARD, p->grid.data));
        VF_TRY(status, vf_gather(queue, p->type, p->samples, p->point.data, p->grid.data,
                                 vf_offset(p->device, c, p->type, b * p->samples)));
    }
    return status;
}
