/* A forward transform, multiplication by the eigenvalues over N, and a backward transform. */
#include "circulant.h"

#include <math.h>
#include <stdlib.h>

#include "circulant_internal.h"
#include "voxfield/copy.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"
#include "voxfield/vector.h"

struct vf_circulant {
    vf_context *ctx;
    vf_dtype type, real;
    int64_t matrix[3], voxels;
    int count;
    vf_fft *fft;
    vf_array work;        /* [voxels] complex */
    vf_array eigenvalues; /* [count][voxels] real, in the transform's order, divided by N */
};

vf_status vf_circulant_create(vf_device *device, const int64_t matrix[3], vf_dtype precision, int count,
                              vf_circulant **out)
{
    vf_context *ctx = vf_device_context(device);
    const int64_t dims[3] = {matrix[2], matrix[1], matrix[0]};
    *out = NULL;
    if ((precision != VF_F32 && precision != VF_F64) || count < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "circulant: %d matrices of %s are not supported", count,
                       vf_dtype_name(precision));
    vf_circulant *c = calloc(1, sizeof *c);
    if (!c)
        return vf_fail(ctx, VF_ERR_MEMORY, "circulant: not enough memory for a plan");
    *c = (vf_circulant){.ctx = ctx,
                        .type = vf_dtype_complex(precision),
                        .real = precision,
                        .matrix = {matrix[0], matrix[1], matrix[2]},
                        .count = count};
    vf_status status = vf_fft_create(device, c->type, 3, dims, 1, &c->fft);
    if (status == VF_OK) /* the transform has checked the sizes */
        c->voxels = matrix[0] * matrix[1] * matrix[2];
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, c->type, c->voxels, &c->work));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, precision, c->voxels * count, &c->eigenvalues));
    vf_queue *queue = NULL;
    VF_TRY(status, vf_queue_create(device, &queue));
    if (status == VF_OK)
        status = vf_fill(queue, precision, c->voxels * count, (const double[1]){0}, c->eigenvalues.data);
    VF_TRY(status, vf_queue_sync(queue));
    vf_queue_destroy(queue);
    if (status == VF_OK)
        *out = c;
    else
        vf_circulant_destroy(c);
    return status;
}

void vf_circulant_destroy(vf_circulant *c)
{
    if (!c)
        return;
    vf_fft_destroy(c->fft);
    vf_array_free(&c->work);
    vf_array_free(&c->eigenvalues);
    free(c);
}

/* The index of frequency n - N/2 in a transform of length N. */
static int64_t place(int64_t n, int64_t length)
{
    const int64_t k = n - length / 2;
    return k < 0 ? k + length : k;
}

/* Reorders for the transform and rounds to the plan's precision. Returns false if a value is not finite, or
 * overflows. */
static bool arrange(const vf_context *ctx, const int64_t n[3], vf_dtype real, const double *m, void *to)
{
    const double voxels = (double)(n[0] * n[1] * n[2]);
    int64_t wrong = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, n[0] * n[1] * n[2])) reduction(+ : wrong)
    for (int64_t line = 0; line < n[1] * n[2]; line++) {
        const int64_t row = (place(line / n[1], n[2]) * n[1] + place(line % n[1], n[1])) * n[0];
        const double *from = m + line * n[0];
        for (int64_t x = 0; x < n[0]; x++) {
            const double value = from[x] / voxels;
            const int64_t at = row + place(x, n[0]);
            if (real == VF_F64) {
                ((double *)to)[at] = value;
                wrong += !isfinite(value);
            } else {
                ((float *)to)[at] = (float)value;
                wrong += !isfinite((float)value);
            }
        }
    }
    return wrong == 0;
}

vf_status vf_circulant_put(vf_context *ctx, vf_queue *queue, const int64_t matrix[3], vf_dtype real, const double *m,
                           void *to)
{
    const int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    const size_t bytes = (size_t)voxels * vf_dtype_bytes(real);
    void *values = malloc(bytes);
    vf_large_pages(values, bytes);
    if (!values)
        return vf_fail(ctx, VF_ERR_MEMORY, "circulant: not enough memory for %lld eigenvalues", (long long)voxels);
    vf_status status =
        arrange(ctx, matrix, real, m, values)
            ? VF_OK
            : vf_fail(ctx, VF_ERR_ARGUMENT, "circulant: an eigenvalue is NaN, infinite or too large for %s",
                      vf_dtype_name(real));
    VF_TRY(status, vf_queue_copy(queue, to, values, bytes));
    VF_TRY(status, vf_queue_sync(queue));
    free(values);
    return status;
}

vf_status vf_circulant_set(vf_circulant *c, vf_queue *queue, int which, const double *m)
{
    if (which < 0 || which >= c->count)
        return vf_fail(c->ctx, VF_ERR_ARGUMENT, "circulant: no matrix %d of %d", which, c->count);
    return vf_circulant_put(c->ctx, queue, c->matrix, c->real, m, vf_array_at(&c->eigenvalues, which * c->voxels));
}

vf_status vf_circulant_apply(vf_circulant *c, vf_queue *queue, int which, double a, const void *x, double b, void *y)
{
    if (which < 0 || which >= c->count || !x || !y || (x == y && b != 0))
        return vf_fail(c->ctx, VF_ERR_ARGUMENT, "circulant: no matrix %d of %d, or missing or identical vectors", which,
                       c->count);
    const void *m = vf_array_at(&c->eigenvalues, which * c->voxels);
    vf_status status = vf_copy(queue, c->type, c->voxels, x, c->work.data);
    VF_TRY(status, vf_fft_execute(c->fft, queue, VF_FFT_FORWARD, c->work.data));
    VF_TRY(status, vf_vector_scale_by(queue, c->type, c->voxels, m, c->work.data, c->work.data));
    VF_TRY(status, vf_fft_execute(c->fft, queue, VF_FFT_BACKWARD, c->work.data));
    VF_TRY(status, vf_vector_axpby(queue, c->type, c->voxels, a, c->work.data, b, y));
    return status;
}
