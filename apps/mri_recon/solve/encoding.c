/* F and F^H of one trajectory: which operator, and how it is called. */
#include <stdio.h>
#include <stdlib.h>

#include "choose_operator.h"
#include "equations.h"
#include "voxfield/copy.h"

struct encoding {
    vf_context *ctx;
    vf_fourier *direct; /* one of the three */
    vf_nufft *nufft;
    vf_cartesian *cartesian;
    int64_t samples, voxels, row;
    int64_t first, count; /* voxels of an adjoint */
    double piece_pairs;
    vf_array part; /* [batch][voxels of a piece] of a direct sum; empty until it is used */
    recon_watch *watch;
    char description[128];
};

/* Accuracies beyond this need the denser grid in single precision. */
static const double ROUNDING_SHOWS = 1e-4;

static vf_status create_direct(encoding *e, vf_device *device, const recon_settings *settings, const int64_t matrix[3],
                               int extent, const vf_fourier_samples *samples, const float *field, int most_batch)
{
    vf_grid grid = {.counts = {matrix[0], matrix[1], matrix[2]}};
    for (int a = 0; a < 3; a++) {
        /* Voxel n lies at (n - N/2) / N fields of view; on the doubled grid at (n - N) / N. */
        double n = matrix[a] > 1 && extent == 2 ? (double)matrix[a] / 2 : (double)matrix[a];
        grid.spacing[a] = 1 / n;
        grid.origin[a] = -(double)(matrix[a] / 2) / n;
    }
    const vf_fourier_voxels voxels = {.grid = &grid, .field = field};
    const vf_fourier_options options = {.precision = settings->precision,
                                        .trig = settings->hardware_trig ? VF_TRIG_HARDWARE : VF_TRIG_ACCURATE,
                                        .variant = settings->variant};
    vf_status status = vf_fourier_create(device, samples, &voxels, most_batch, &options, &e->direct);
    if (status == VF_OK)
        snprintf(e->description, sizeof e->description, "direct sum (%s)", vf_fourier_variant(e->direct));
    return status;
}

static vf_status create_nufft(encoding *e, vf_device *device, const recon_settings *settings, const int64_t matrix[3],
                              int extent, const vf_fourier_samples *samples, const float *field, int most_batch)
{
    vf_context *ctx = vf_device_context(device);
    float *k = NULL;
    vf_nufft_samples at = {.count = samples->count, .k = samples->k, .time = samples->time};
    if (extent == 2) { /* the field of view is doubled too: k in cycles per doubled field of view */
        k = malloc((size_t)samples->count * 3 * sizeof *k + 1);
        if (!k)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a trajectory of %lld samples", (long long)samples->count);
        for (int64_t i = 0; i < 3 * samples->count; i++)
            k[i] = 2 * samples->k[i];
        at.k = k;
    }
    /* On a grid of less than twice the density the corners of an image are divided by small numbers, and with them the
     * rounding of what lies in the centre of k-space, where all spokes of a radial scan add up. */
    const bool dense = settings->precision == VF_F32 && settings->accuracy < ROUNDING_SHOWS;
    const vf_nufft_options options = {.tolerance = settings->accuracy,
                                      .precision = settings->precision,
                                      .oversampling = dense ? 2 : 0,
                                      .field = field};
    vf_status status = vf_nufft_create(device, matrix, &at, most_batch, &options, &e->nufft);
    free(k);
    if (status != VF_OK)
        return status;
    vf_nufft_info info;
    vf_nufft_get_info(e->nufft, &info);
    int used = snprintf(e->description, sizeof e->description,
                        "NUFFT to %.0e, kernel of %d points on %lld x %lld x %lld", settings->accuracy, info.width,
                        (long long)info.grid[0], (long long)info.grid[1], (long long)info.grid[2]);
    if (info.segments > 1 && used > 0 && (size_t)used < sizeof e->description)
        snprintf(e->description + used, sizeof e->description - (size_t)used, ", %d time segments", info.segments);
    return VF_OK;
}

static vf_status create_cartesian(encoding *e, vf_device *device, const recon_settings *settings,
                                  const int64_t matrix[3], int extent, const vf_fourier_samples *samples,
                                  const float *field, int most_batch)
{
    const vf_cartesian_samples at = {.count = samples->count, .k = samples->k};
    (void)most_batch; /* any */
    if (extent != 1 || field)
        return vf_fail(e->ctx, VF_ERR_INTERNAL, "the FFT of the grid is of one field of view, without off-resonance");
    snprintf(e->description, sizeof e->description, "FFT of the grid");
    return vf_cartesian_create(device, matrix, &at, settings->precision, &e->cartesian);
}

/* Of what is given to a sum, times and field map can be too large together; both are of the scan. */
static vf_status blame_scan(vf_context *ctx, const recon_settings *settings)
{
    char reason[512];
    snprintf(reason, sizeof reason, "%s", vf_context_message(ctx));
    vf_context_clear_error(ctx);
    return vf_fail(ctx, VF_ERR_INPUT, "%s: time and field map: %s", settings->input, reason);
}

vf_status encoding_create(vf_device *device, const recon_settings *settings, const int64_t matrix[3], int extent,
                          int64_t samples, const float *k, const float *time, const float *field, int most_batch,
                          encoding **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    encoding *e = calloc(1, sizeof *e);
    if (!e)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    e->ctx = ctx;
    e->samples = samples;
    e->voxels = e->count = matrix[0] * matrix[1] * matrix[2];
    e->row = matrix[0];
    e->piece_pairs = settings->piece_pairs > 0 ? settings->piece_pairs : vf_device_is_host(device) ? 2e10 : 2e11;
    const vf_fourier_samples at = {.count = samples, .k = k, .time = field ? time : NULL};
    const recon_operator by = encoding_choose(settings, matrix, samples, k, time && field);
    vf_status status = (by == RECON_DIRECT  ? create_direct
                        : by == RECON_NUFFT ? create_nufft
                                            : create_cartesian)(e, device, settings, matrix, extent, &at,
                                                                time ? field : NULL, most_batch);
    if (status == VF_ERR_ARGUMENT && time && field && !settings->variant)
        status = blame_scan(ctx, settings);
    if (status == VF_OK)
        *out = e;
    else
        encoding_destroy(e);
    return status;
}

void encoding_destroy(encoding *e)
{
    if (!e)
        return;
    vf_fourier_destroy(e->direct);
    vf_nufft_destroy(e->nufft);
    vf_cartesian_destroy(e->cartesian);
    vf_array_free(&e->part);
    free(e);
}

/* Whether an array has the elements an operation will read or write. */
static vf_status check_size(const encoding *e, const vf_array *array, int64_t count)
{
    return array->count >= count ? VF_OK
                                 : vf_fail(e->ctx, VF_ERR_INTERNAL, "encoding: an array of %lld elements, not %lld",
                                           (long long)array->count, (long long)count);
}

void encoding_watch(encoding *e, recon_watch *watch)
{
    e->watch = watch;
}

void encoding_restrict(encoding *e, int64_t first, int64_t count)
{
    if (e->direct) {
        e->first = first;
        e->count = count;
    }
}

/* Voxels of a direct sum between two looks at whether to stop: whole rows, about a second of a CPU, and enough to keep
 * a GPU busy. */
static int64_t piece(const encoding *e, int batch)
{
    const double rows = e->piece_pairs / ((double)e->samples + 1) / (double)e->row / batch;
    return rows < 1 ? e->row : rows * (double)e->row > (double)e->count ? e->count : (int64_t)rows * e->row;
}

/* A range of voxels is contiguous in the output of one vector only: of several it is computed elsewhere and copied. */
static vf_status adjoint_piece(encoding *e, vf_queue *queue, int batch, const vf_array *c, int64_t first, int64_t count,
                               vf_array *y)
{
    char *to = (char *)y->data + (size_t)first * vf_dtype_bytes(y->type);
    if (batch == 1 || count == e->count)
        return vf_fourier_adjoint(e->direct, queue, batch, c->data, e->first + first, count, to);
    vf_status status = VF_OK;
    if (e->part.count < batch * count) {
        vf_array_free(&e->part);
        status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, y->type, batch * count, &e->part);
    }
    if (status == VF_OK)
        status = vf_fourier_adjoint(e->direct, queue, batch, c->data, e->first + first, count, e->part.data);
    const int64_t counts[3] = {count, batch, 1};
    const vf_pitch part_pitch = {.row = count}, pitch = {.row = e->count};
    return status == VF_OK ? vf_copy_box(queue, y->type, counts, e->part.data, part_pitch, to, pitch) : status;
}

static vf_status adjoint_directly(encoding *e, vf_queue *queue, int batch, const vf_array *c, vf_array *y)
{
    vf_status status = VF_OK;
    const int64_t step = piece(e, batch);
    for (int64_t first = 0; first < e->count && status == VF_OK; first += step) {
        const int64_t count = e->count - first < step ? e->count - first : step;
        status = vf_cancelled(e->ctx) ? vf_fail(e->ctx, VF_ERR_CANCELLED, "interrupted")
                                      : adjoint_piece(e, queue, batch, c, first, count, y);
        if (status == VF_OK && count < e->count)
            status = vf_queue_sync(queue);
        if (status == VF_OK && e->watch)
            watch_add(e->watch, batch * (double)count / (double)e->voxels);
    }
    return status;
}

vf_status encoding_adjoint(encoding *e, vf_queue *queue, int batch, const vf_array *c, vf_array *y)
{
    vf_status status = check_size(e, c, batch * e->samples);
    if (status == VF_OK)
        status = check_size(e, y, batch * e->count);
    if (status != VF_OK)
        return status;
    if (e->direct)
        return adjoint_directly(e, queue, batch, c, y);
    status = e->cartesian ? vf_cartesian_adjoint(e->cartesian, queue, batch, c->data, y->data)
                          : vf_nufft_adjoint(e->nufft, queue, batch, c->data, y->data);
    if (status == VF_OK && e->watch)
        watch_add(e->watch, batch);
    return status;
}

vf_status encoding_forward(encoding *e, vf_queue *queue, int batch, const vf_array *x, vf_array *c)
{
    vf_status status = check_size(e, c, batch * e->samples);
    if (status == VF_OK)
        status = check_size(e, x, batch * e->voxels);
    if (status != VF_OK)
        return status;
    if (e->cartesian)
        return vf_cartesian_forward(e->cartesian, queue, batch, x->data, c->data);
    return e->direct ? vf_fourier_forward(e->direct, queue, batch, x->data, c->data)
                     : vf_nufft_forward(e->nufft, queue, batch, x->data, c->data);
}

bool encoding_is_direct(const encoding *e)
{
    return e->direct != NULL;
}

const char *encoding_description(const encoding *e)
{
    return e->description;
}

vf_status upload_at(vf_queue *queue, const float complex *from, int64_t n, vf_array *to, int64_t at)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    const size_t element = vf_dtype_bytes(to->type);
    if (at < 0 || n > to->count - at)
        return vf_fail(ctx, VF_ERR_INTERNAL, "upload: %lld elements to %lld of %lld", (long long)n, (long long)at,
                       (long long)to->count);
    const void *host = from;
    double complex *wide = NULL;
    if (to->type == VF_C128) {
        host = wide = malloc(((size_t)n + 1) * sizeof *wide);
        if (!wide)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld numbers", (long long)n);
        for (int64_t i = 0; i < n; i++)
            wide[i] = from[i];
    }
    vf_status status = vf_queue_copy(queue, (char *)to->data + (size_t)at * element, host, (size_t)n * element);
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    free(wide);
    return status;
}

vf_status upload(vf_queue *queue, const float complex *from, int64_t n, vf_array *to)
{
    return upload_at(queue, from, n, to, 0);
}

vf_status download(vf_queue *queue, const vf_array *from, int64_t n, float complex *to)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    if (n > from->count)
        return vf_fail(ctx, VF_ERR_INTERNAL, "download: %lld elements of %lld", (long long)n, (long long)from->count);
    void *host = to;
    double complex *wide = NULL;
    if (from->type == VF_C128) {
        host = wide = malloc(((size_t)n + 1) * sizeof *wide);
        if (!wide)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld numbers", (long long)n);
    }
    vf_status status = vf_queue_copy(queue, host, from->data, (size_t)n * vf_dtype_bytes(from->type));
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    for (int64_t i = 0; wide && status == VF_OK && i < n; i++)
        to[i] = (float complex)wide[i];
    free(wide);
    return status;
}
