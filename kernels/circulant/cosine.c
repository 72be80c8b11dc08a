/* On the CPU, by the passes of a Toeplitz matrix. On GPUs by CUDA, by Fourier transforms (cosine_backend.h). On OpenCL devices,
 * products with dense matrices, along z, y and x; a transposition between two of them brings the next axis to the front:
 *
 *     [z][y][x] -> [y][x][z] -> [x][z][y], the eigenvalues, and back
 */
#include "cosine.h"

#include <math.h>
#include <stdlib.h>

#include "cosine_backend.h"
#include "toeplitz.h"
#include "voxfield/copy.h"
#include "voxfield/fft.h"
#include "voxfield/matrix_product.h"
#include "voxfield/team_size.h"
#include "voxfield/vector.h"

struct vf_cosine {
    vf_context *ctx;
    vf_dtype type, real;
    int64_t counts[3], voxels;
    vf_toeplitz *passes;  /* CPU; else the rest */
    vf_array work[2];     /* [voxels] complex; CUDA: one */
    vf_array eigenvalues; /* [x][z][y] real; CUDA: [z][y][x] */
    /* CUDA */
    const vf_cosine_backend *backend;
    vf_fft *fft;
    vf_array turns; /* w_k of cosine_backend.h */
    /* OpenCL */
    vf_matrix_product *product;
    vf_array forward[3], backward[3]; /* [N_a][N_a]: d_k(n), and its transposed; empty for an axis of one voxel */
};

static const vf_backend backends[] = {{&vf_cuda_only, &vf_cosine_cuda}, {NULL, NULL}};

/* Rounds to the plan's precision. Returns false if a value is not finite, or overflows. */
static bool put(vf_dtype real, double value, int64_t at, void *to)
{
    if (real == VF_F64) {
        ((double *)to)[at] = value;
        return isfinite(value);
    }
    ((float *)to)[at] = (float)value;
    return isfinite((float)value);
}

static vf_status send(const vf_cosine *c, vf_queue *queue, int64_t count, const void *values, void *to)
{
    const vf_status status = vf_queue_copy(queue, to, values, (size_t)count * vf_dtype_bytes(c->real));
    return status == VF_OK ? vf_queue_sync(queue) : status;
}

/* The matrix of an axis, and its transposed. */
static vf_status make_axis(vf_cosine *c, vf_device *device, vf_queue *queue, int axis)
{
    const int64_t n = c->counts[axis];
    void *values = malloc((size_t)(n * n) * vf_dtype_bytes(c->real));
    vf_status status = values ? VF_OK : vf_fail(c->ctx, VF_ERR_MEMORY, "cosine: not enough memory for a plan");
    for (int back = 0; back < 2 && status == VF_OK; back++) {
        vf_array *to = back ? &c->backward[axis] : &c->forward[axis];
        for (int64_t k = 0; k < n; k++)
            for (int64_t at = 0; at < n; at++)
                put(c->real,
                    sqrt((k > 0 ? 2.0 : 1.0) / (double)n) *
                        cos(M_PI * (double)(k * (2 * at + 1) % (4 * n)) / (double)(2 * n)),
                    back ? at * n + k : k * n + at, values);
        status = vf_array_create(device, VF_SPACE_DEVICE, c->real, n * n, to);
        VF_TRY(status, send(c, queue, n * n, values, to->data));
    }
    free(values);
    return status;
}

/* The matrices of all axes. */
static vf_status make_products(vf_cosine *c, vf_device *device, vf_queue *queue)
{
    vf_status status = vf_matrix_product_create(device, c->real, NULL, &c->product);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, c->type, c->voxels, &c->work[1]));
    for (int a = 0; a < 3 && status == VF_OK; a++)
        if (c->counts[a] > 1)
            status = make_axis(c, device, queue, a);
    return status;
}

/* The Fourier transform, and what turns its numbers. */
static vf_status make_fourier(vf_cosine *c, vf_device *device, vf_queue *queue)
{
    const int64_t *n = c->counts, dims[3] = {n[2], n[1], n[0]}, count = n[0] / 2 + n[1] / 2 + n[2] / 2 + 3;
    void *turns = malloc((size_t)count * vf_dtype_bytes(c->type));
    vf_status status = turns ? VF_OK : vf_fail(c->ctx, VF_ERR_MEMORY, "cosine: not enough memory for a plan");
    VF_TRY(status, vf_fft_create(device, c->type, 3, dims, 1, &c->fft));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, c->type, count, &c->turns));
    for (int64_t a = 0, at = 0; a < 3 && status == VF_OK; a++)
        for (int64_t k = 0; k <= n[a] / 2; k++, at++) {
            const double angle = M_PI * (double)k / (double)(2 * n[a]);
            put(c->real, cos(angle), 2 * at, turns);
            put(c->real, -sin(angle), 2 * at + 1, turns);
        }
    VF_TRY(status, send(c, queue, 2 * count, turns, c->turns.data));
    free(turns);
    return status;
}

/* Room for the passes, and eigenvalues of 0. */
static vf_status make_transforms(vf_cosine *c, vf_device *device)
{
    vf_queue *queue = NULL;
    vf_status status = vf_queue_create(device, &queue);
    c->backend = vf_backend_table(backends, device);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, c->type, c->voxels, &c->work[0]));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, c->real, c->voxels, &c->eigenvalues));
    VF_TRY(status, c->backend ? make_fourier(c, device, queue) : make_products(c, device, queue));
    VF_TRY(status, vf_fill(queue, c->real, c->voxels, (const double[1]){0}, c->eigenvalues.data));
    VF_TRY(status, vf_queue_sync(queue));
    vf_queue_destroy(queue);
    return status;
}

vf_status vf_cosine_create(vf_device *device, const int64_t counts[3], vf_dtype precision, vf_cosine **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    if ((precision != VF_F32 && precision != VF_F64) || counts[0] < 1 || counts[1] < 1 || counts[2] < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cosine: %lld x %lld x %lld numbers of %s are not supported",
                       (long long)counts[0], (long long)counts[1], (long long)counts[2], vf_dtype_name(precision));
    vf_cosine *c = calloc(1, sizeof *c);
    if (!c)
        return vf_fail(ctx, VF_ERR_MEMORY, "cosine: not enough memory for a plan");
    *c = (vf_cosine){.ctx = ctx,
                     .type = vf_dtype_complex(precision),
                     .real = precision,
                     .counts = {counts[0], counts[1], counts[2]},
                     .voxels = counts[0] * counts[1] * counts[2]};
    const vf_toeplitz_options options = {.precision = precision, .segments = 1, .circulant = true, .cosine = true};
    const vf_status status = vf_device_get_kind(device) == VF_DEVICE_CPU
                                 ? vf_toeplitz_create(device, counts, &options, &c->passes)
                                 : make_transforms(c, device);
    if (status == VF_OK)
        *out = c;
    else
        vf_cosine_destroy(c);
    return status;
}

void vf_cosine_destroy(vf_cosine *c)
{
    if (!c)
        return;
    vf_toeplitz_destroy(c->passes);
    vf_fft_destroy(c->fft);
    vf_array_free(&c->turns);
    vf_matrix_product_destroy(c->product);
    for (int a = 0; a < 3; a++) {
        vf_array_free(&c->forward[a]);
        vf_array_free(&c->backward[a]);
    }
    vf_array_free(&c->work[0]);
    vf_array_free(&c->work[1]);
    vf_array_free(&c->eigenvalues);
    free(c);
}

vf_status vf_cosine_set(vf_cosine *c, vf_queue *queue, const double *m)
{
    const int64_t nx = c->counts[0], ny = c->counts[1], nz = c->counts[2];
    const size_t bytes = (size_t)c->voxels * vf_dtype_bytes(c->real);
    void *values = malloc(bytes);
    vf_large_pages(values, bytes);
    if (!values)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "cosine: not enough memory for %lld eigenvalues", (long long)c->voxels);
    const bool in_order = c->passes || c->backend;
    bool finite = true;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(c->ctx, 2 * c->voxels)) reduction(&& : finite)
    for (int64_t row = 0; row < ny * nz; row++)
        for (int64_t x = 0, y = row % ny, z = row / ny; x < nx; x++)
            finite = put(c->real, m[row * nx + x], in_order ? row * nx + x : (x * nz + z) * ny + y, values) && finite;
    const vf_status status =
        !finite     ? vf_fail(c->ctx, VF_ERR_ARGUMENT, "cosine: an eigenvalue is NaN, infinite or too large for %s",
                              vf_dtype_name(c->real))
        : c->passes ? vf_toeplitz_set(c->passes, queue, 0, values)
                    : send(c, queue, c->voxels, values, c->eigenvalues.data);
    free(values);
    return status;
}

/* ---- eigenvalues ---- */

enum { WIDE = 8 }; /* lines side by side: a cache line */

/* Frequency q / 2 of either sign is at index N / 2 + q / 2, rounded down or up, and its mirror image about N / 2. Numbers of a line
 * are `step` apart, and `lines` lines, at most WIDE, `between`. `room`: for WIDE lines. */
static void fold_lines(double *m, int lines, int64_t between, int64_t n, int64_t step, double *room)
{
    const int64_t zero = n / 2;
    for (int64_t i = 0; i < n; i++)
        for (int l = 0; l < WIDE; l++)
            room[i * WIDE + l] = l < lines ? m[i * step + l * between] : 0;
    for (int64_t q = 0; q < n; q++) {
        const int64_t low = q / 2, high = (q + 1) / 2;
        const double *right = room + (zero + low) * WIDE, *left = room + (zero - low) * WIDE;
        const double *next = room + (zero + high) % n * WIDE, *last = room + (zero - high) * WIDE;
        double mean[WIDE];
        for (int l = 0; l < WIDE; l++)
            mean[l] = (right[l] + left[l] + next[l] + last[l]) / 4;
        for (int l = 0; l < lines; l++)
            m[q * step + l * between] = mean[l];
    }
}

vf_status vf_cosine_spectrum(vf_context *ctx, const int64_t counts[3], double *m)
{
    const int64_t steps[3] = {1, counts[0], counts[0] * counts[1]}, voxels = steps[2] * counts[2];
    const int threads = vf_threads_for(ctx, 8 * voxels);
    const int64_t longest = counts[0] > counts[1] ? (counts[0] > counts[2] ? counts[0] : counts[2])
                                                  : (counts[1] > counts[2] ? counts[1] : counts[2]);
    double *room = malloc(WIDE * (size_t)threads * (size_t)longest * sizeof *room);
    if (!room)
        return vf_fail(ctx, VF_ERR_MEMORY, "cosine: not enough memory for %lld eigenvalues", (long long)voxels);
    for (int a = 0; a < 3; a++) {
        const int64_t n = counts[a], step = steps[a], between = a > 0 ? 1 : n;
        const int64_t of_block = a > 0 ? step : voxels / n, groups = (of_block + WIDE - 1) / WIDE;
        const int64_t pieces = n > 1 ? voxels / n / of_block * groups : 0;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int t = 0; t < threads; t++)
            for (int64_t i = pieces * t / threads; i < pieces * (t + 1) / threads; i++) {
                const int64_t first = i % groups * WIDE, left = of_block - first;
                fold_lines(m + i / groups * of_block * n + first * between, (int)(left < WIDE ? left : WIDE), between,
                           n, step, room + WIDE * t * longest);
            }
    }
    free(room);
    return VF_OK;
}

/* ---- the product ---- */

/* to = the product with the matrix of an axis, which is in front. */
static vf_status transform(const vf_cosine *c, vf_queue *queue, int axis, const vf_array *matrix, const void *x,
                           void *to)
{
    const int64_t n = c->counts[axis];
    return n > 1 ? vf_matrix_product_execute(c->product, queue, n, 2 * c->voxels / n, n, matrix[axis].data, x, to)
                 : vf_copy(queue, c->type, c->voxels, x, to);
}

/* [rows][columns] -> [columns][rows]. */
static vf_status turn(const vf_cosine *c, vf_queue *queue, int64_t rows, const void *x, void *to)
{
    const int64_t columns = c->voxels / rows;
    return vf_transpose(queue, c->type, 1, rows, columns, x, (vf_pitch){columns, c->voxels}, to,
                        (vf_pitch){rows, c->voxels});
}

static vf_status apply_fourier(vf_cosine *c, vf_queue *queue, const void *x, void *y)
{
    void *v = c->work[0].data;
    vf_status status = c->backend->order(queue, c->type, c->counts, false, x, v);
    VF_TRY(status, vf_fft_execute(c->fft, queue, VF_FFT_FORWARD, v));
    VF_TRY(status, c->backend->mix(queue, c->type, c->counts, c->turns.data, c->eigenvalues.data, v));
    VF_TRY(status, vf_fft_execute(c->fft, queue, VF_FFT_BACKWARD, v));
    return status == VF_OK ? c->backend->order(queue, c->type, c->counts, true, v, y) : status;
}

static vf_status apply_products(vf_cosine *c, vf_queue *queue, const void *x, void *y)
{
    const int64_t *n = c->counts;
    void *a = c->work[0].data, *b = c->work[1].data;
    vf_status status = transform(c, queue, 2, c->forward, x, a);
    VF_TRY(status, turn(c, queue, n[2], a, b));
    VF_TRY(status, transform(c, queue, 1, c->forward, b, a));
    VF_TRY(status, turn(c, queue, n[1], a, b));
    VF_TRY(status, transform(c, queue, 0, c->forward, b, a));
    VF_TRY(status, vf_vector_scale_by(queue, c->type, c->voxels, c->eigenvalues.data, a, a));
    VF_TRY(status, transform(c, queue, 0, c->backward, a, b));
    VF_TRY(status, turn(c, queue, n[0] * n[2], b, a));
    VF_TRY(status, transform(c, queue, 1, c->backward, a, b));
    VF_TRY(status, turn(c, queue, n[1] * n[0], b, a));
    return status == VF_OK ? transform(c, queue, 2, c->backward, a, y) : status;
}

vf_status vf_cosine_apply(vf_cosine *c, vf_queue *queue, const void *x, void *y)
{
    if (!x || !y)
        return vf_fail(c->ctx, VF_ERR_ARGUMENT, "cosine: a vector is missing");
    if (c->passes)
        return vf_toeplitz_apply(c->passes, queue, 1, NULL, x, y);
    return c->backend ? apply_fourier(c, queue, x, y) : apply_products(c, queue, x, y);
}
