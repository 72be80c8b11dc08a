/* F and F^H of one trajectory: chooses the method and calls it. */
#include "encoding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cartesian.h"
#include "voxfield/append.h"
#include "voxfield/copy.h"

struct vf_encoding {
    vf_context *ctx;
    vf_fourier *direct; /* one of these three; the others are NULL */
    vf_nufft *nufft;
    vf_cartesian *cartesian;
    int64_t samples, voxels, row;
    int64_t first, count; /* the voxels that adjoints compute */
    double piece_pairs;
    vf_encode_by by;
    vf_array part; /* [batch][voxels of a piece] for a direct sum; allocated on first use */
    vf_encoding_tell *tell;
    void *user;
    char description[128];
};

static vf_status create_direct(vf_encoding *e, vf_device *device, const vf_encoding_options *options,
                               const int64_t matrix[3], const vf_fourier_samples *samples, const float *field)
{
    vf_grid grid = {.counts = {matrix[0], matrix[1], matrix[2]}};
    for (int a = 0; a < 3; a++) {
        /* Voxel n lies at (n - N/2) / N fields of view; on the doubled grid at (n - N) / N. */
        double n = matrix[a] > 1 && options->extent == 2 ? (double)matrix[a] / 2 : (double)matrix[a];
        grid.spacing[a] = 1 / n;
        grid.origin[a] = -(double)(matrix[a] / 2) / n;
    }
    const vf_fourier_voxels voxels = {.grid = &grid, .field = field};
    const vf_fourier_options how = {
        .precision = options->precision, .trig = options->trig, .variant = options->variant, .tuning = options->tuning};
    vf_status status = vf_fourier_create(device, samples, &voxels, options->most_batch, &how, &e->direct);
    if (status == VF_OK)
        snprintf(e->description, sizeof e->description, "direct sum (%s)", vf_fourier_variant(e->direct));
    return status;
}

static vf_status create_nufft(vf_encoding *e, vf_device *device, const vf_encoding_options *options,
                              const int64_t matrix[3], const vf_fourier_samples *samples, const float *field)
{
    vf_context *ctx = vf_device_context(device);
    float *k = NULL;
    vf_nufft_samples at = {.count = samples->count, .k = samples->k, .time = samples->time};
    if (options->extent == 2) { /* the field of view is doubled too: k in cycles per doubled field of view */
        k = malloc((size_t)samples->count * 3 * sizeof *k + 1);
        if (!k)
            return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a trajectory of %lld samples",
                           (long long)samples->count);
        for (int64_t i = 0; i < 3 * samples->count; i++)
            k[i] = 2 * samples->k[i];
        at.k = k;
    }
    const vf_nufft_options how = {.tolerance = options->accuracy, .precision = options->precision, .field = field};
    vf_status status = vf_nufft_create(device, matrix, &at, options->most_batch, &how, &e->nufft);
    free(k);
    if (status != VF_OK)
        return status;
    vf_nufft_info info;
    vf_nufft_get_info(e->nufft, &info);
    snprintf(e->description, sizeof e->description, "NUFFT to %.0e, kernel of %d points on %lld x %lld x %lld",
             options->accuracy, info.width, (long long)info.grid[0], (long long)info.grid[1], (long long)info.grid[2]);
    if (info.segments > 1)
        vf_append(e->description, sizeof e->description, ", %d time segments", info.segments);
    return VF_OK;
}

static vf_status create_cartesian(vf_encoding *e, vf_device *device, const vf_encoding_options *options,
                                  const int64_t matrix[3], const vf_fourier_samples *samples, const float *field)
{
    const vf_cartesian_samples at = {.count = samples->count, .k = samples->k};
    if (options->extent > 1 || field)
        return vf_fail(e->ctx, VF_ERR_INTERNAL, "the FFT of the grid is of one field of view, without off-resonance");
    snprintf(e->description, sizeof e->description, "FFT of the grid");
    return vf_cartesian_create(device, matrix, &at, options->precision, &e->cartesian);
}

/* ---- the choice ---- */

/* Below this number of pairs, a direct sum takes less time than planning a NUFFT. */
static const double FEW_PAIRS = 1e7;

bool vf_encoding_fits(const int64_t matrix[3], int64_t samples, const float *k, int64_t *first, double *distance)
{
    const double voxels = (double)matrix[0] * (double)matrix[1] * (double)matrix[2];
    if (first)
        *first = -1;
    return voxels < UINT32_MAX && samples < UINT32_MAX && vf_cartesian_fits(matrix, samples, k, first, distance);
}

vf_encode_by vf_encoding_choose(vf_encode_by wish, const int64_t matrix[3], int64_t samples, const float *k,
                                bool off_resonance)
{
    const double voxels = (double)matrix[0] * (double)matrix[1] * (double)matrix[2];
    if (wish != VF_ENCODE_AUTO && wish != VF_ENCODE_OFF_GRID)
        return wish;
    if (wish == VF_ENCODE_AUTO && !off_resonance && vf_encoding_fits(matrix, samples, k, NULL, NULL))
        return VF_ENCODE_CARTESIAN;
    return (double)samples * voxels <= FEW_PAIRS ? VF_ENCODE_DIRECT : VF_ENCODE_NUFFT;
}

/* ---- a plan ---- */

static vf_status check(vf_context *ctx, const vf_encoding_samples *samples, const vf_encoding_options *options)
{
    if ((options->precision != VF_F32 && options->precision != VF_F64) || options->most_batch < 1 ||
        options->extent < 0 || options->extent > 2 || samples->count < 0 || (samples->count > 0 && !samples->k))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "encoding: unsupported precision, batches of %d, %d fields of view, or %lld samples",
                       options->most_batch, options->extent, (long long)samples->count);
    return VF_OK;
}

vf_status vf_encoding_create(vf_device *device, const int64_t matrix[3], const vf_encoding_samples *samples,
                             const vf_encoding_options *options, vf_encoding **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = check(ctx, samples, options);
    if (status != VF_OK)
        return status;
    vf_encoding *e = calloc(1, sizeof *e);
    if (!e)
        return vf_fail(ctx, VF_ERR_MEMORY, "encoding: no memory");
    e->ctx = ctx;
    e->samples = samples->count;
    e->voxels = e->count = matrix[0] * matrix[1] * matrix[2];
    e->row = matrix[0];
    e->piece_pairs = options->piece_pairs > 0 ? options->piece_pairs : vf_device_is_host(device) ? 2e10 : 2e11;
    const bool off_resonance = samples->time && samples->field;
    const vf_fourier_samples at = {
        .count = samples->count, .k = samples->k, .time = off_resonance ? samples->time : NULL};
    e->by = vf_encoding_choose(options->by, matrix, samples->count, samples->k, off_resonance);
    status = (e->by == VF_ENCODE_DIRECT ? create_direct
              : e->by == VF_ENCODE_NUFFT
                  ? create_nufft
                  : create_cartesian)(e, device, options, matrix, &at, off_resonance ? samples->field : NULL);
    if (status == VF_OK)
        *out = e;
    else
        vf_encoding_destroy(e);
    return status;
}

void vf_encoding_destroy(vf_encoding *e)
{
    if (!e)
        return;
    vf_fourier_destroy(e->direct);
    vf_nufft_destroy(e->nufft);
    vf_cartesian_destroy(e->cartesian);
    vf_array_free(&e->part);
    free(e);
}

/* Checks that an array has at least `count` elements. */
static vf_status check_size(const vf_encoding *e, const vf_array *array, int64_t count)
{
    return array->count >= count ? VF_OK
                                 : vf_fail(e->ctx, VF_ERR_INTERNAL, "encoding: an array of %lld elements, not %lld",
                                           (long long)array->count, (long long)count);
}

void vf_encoding_watch(vf_encoding *e, vf_encoding_tell *tell, void *user)
{
    e->tell = tell;
    e->user = user;
}

void vf_encoding_restrict(vf_encoding *e, int64_t first, int64_t count)
{
    if (e->direct) {
        e->first = first;
        e->count = count;
    }
}

/* The voxels of a direct sum between checks for cancellation: whole rows, about a second of work on a CPU, and enough
 * to keep a GPU busy. */
static int64_t piece(const vf_encoding *e, int batch)
{
    const double rows = e->piece_pairs / ((double)e->samples + 1) / (double)e->row / batch;
    return rows < 1 ? e->row : rows * (double)e->row > (double)e->count ? e->count : (int64_t)rows * e->row;
}

/* For one vector, a range of voxels is contiguous in the output. For several it is not, so the piece is computed in
 * e->part and copied. */
static vf_status adjoint_piece(vf_encoding *e, vf_queue *queue, int batch, const vf_array *c, int64_t first,
                               int64_t count, vf_array *y)
{
    void *to = vf_array_at(y, first);
    if (batch == 1 || count == e->count)
        return vf_fourier_adjoint(e->direct, queue, batch, c->data, e->first + first, count, to);
    vf_status status = VF_OK;
    if (e->part.count < batch * count) {
        vf_array_free(&e->part);
        status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, y->type, batch * count, &e->part);
    }
    VF_TRY(status, vf_fourier_adjoint(e->direct, queue, batch, c->data, e->first + first, count, e->part.data));
    const int64_t counts[3] = {count, batch, 1};
    const vf_pitch part_pitch = {.row = count}, pitch = {.row = e->count};
    return status == VF_OK ? vf_copy_box(queue, y->type, counts, e->part.data, part_pitch, to, pitch) : status;
}

static vf_status adjoint_directly(vf_encoding *e, vf_queue *queue, int batch, const vf_array *c, vf_array *y)
{
    vf_status status = VF_OK;
    const int64_t step = piece(e, batch);
    for (int64_t first = 0; first < e->count && status == VF_OK; first += step) {
        const int64_t count = e->count - first < step ? e->count - first : step;
        status = vf_cancelled(e->ctx) ? vf_fail(e->ctx, VF_ERR_CANCELLED, "interrupted")
                                      : adjoint_piece(e, queue, batch, c, first, count, y);
        if (status == VF_OK && count < e->count)
            status = vf_queue_sync(queue);
        if (status == VF_OK && e->tell)
            e->tell(e->user, batch * (double)count / (double)e->voxels);
    }
    return status;
}

vf_status vf_encoding_adjoint(vf_encoding *e, vf_queue *queue, int batch, const vf_array *c, vf_array *y)
{
    vf_status status = check_size(e, c, batch * e->samples);
    VF_TRY(status, check_size(e, y, batch * e->count));
    if (status != VF_OK)
        return status;
    if (e->direct)
        return adjoint_directly(e, queue, batch, c, y);
    status = e->cartesian ? vf_cartesian_adjoint(e->cartesian, queue, batch, c->data, y->data)
                          : vf_nufft_adjoint(e->nufft, queue, batch, c->data, y->data);
    if (status == VF_OK && e->tell)
        e->tell(e->user, batch);
    return status;
}

vf_status vf_encoding_forward(vf_encoding *e, vf_queue *queue, int batch, const vf_array *x, vf_array *c)
{
    vf_status status = check_size(e, c, batch * e->samples);
    VF_TRY(status, check_size(e, x, batch * e->voxels));
    if (status != VF_OK)
        return status;
    if (e->cartesian)
        return vf_cartesian_forward(e->cartesian, queue, batch, x->data, c->data);
    return e->direct ? vf_fourier_forward(e->direct, queue, batch, x->data, c->data)
                     : vf_nufft_forward(e->nufft, queue, batch, x->data, c->data);
}

const char *vf_encoding_description(const vf_encoding *e)
{
    return e->description;
}
