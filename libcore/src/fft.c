/* FFTW behind the contract, and the choice between it and cuFFT. FFTW is asked for rows only, contiguous and aligned:
 * there its estimated plans are as good as measured ones, which would not be the same in every run. */
#include "voxfield/fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fft_internal.h"

struct vf_fft_rows {
    vf_dtype type;
    fftw_plan f64[2]; /* forward, backward */
    fftwf_plan f32[2];
};

/* FFTW's planner is not thread-safe, its execution is. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static const int signs[2] = {FFTW_FORWARD, FFTW_BACKWARD};

static void make_plans(vf_fft_rows *plan, int n, int rows)
{
    /* Not read or written: FFTW_ESTIMATE plans from sizes and alignment alone. */
    void *sample = fftw_malloc(2 * sizeof(double));
    pthread_mutex_lock(&planner);
    for (int d = 0; sample && d < 2; d++)
        if (plan->type == VF_C128)
            plan->f64[d] =
                fftw_plan_many_dft(1, &n, rows, sample, NULL, 1, n, sample, NULL, 1, n, signs[d], FFTW_ESTIMATE);
        else
            plan->f32[d] =
                fftwf_plan_many_dft(1, &n, rows, sample, NULL, 1, n, sample, NULL, 1, n, signs[d], FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    fftw_free(sample);
}

vf_status vf_fft_rows_create(vf_context *ctx, vf_dtype type, int64_t n, int64_t rows, vf_fft_rows **out)
{
    *out = NULL;
    if (n < 1 || n > INT32_MAX || rows < 1 || rows > INT32_MAX || (type != VF_C64 && type != VF_C128))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: %lld rows of length %lld are not possible", (long long)rows,
                       (long long)n);
    vf_fft_rows *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: no memory for a plan");
    plan->type = type;
    make_plans(plan, (int)n, (int)rows);
    if (type == VF_C128 ? !plan->f64[0] || !plan->f64[1] : !plan->f32[0] || !plan->f32[1]) {
        vf_fft_rows_destroy(plan);
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: FFTW made no plan");
    }
    *out = plan;
    return VF_OK;
}

void vf_fft_rows_destroy(vf_fft_rows *plan)
{
    if (!plan)
        return;
    pthread_mutex_lock(&planner);
    for (int d = 0; d < 2; d++) {
        if (plan->f64[d])
            fftw_destroy_plan(plan->f64[d]);
        if (plan->f32[d])
            fftwf_destroy_plan(plan->f32[d]);
    }
    pthread_mutex_unlock(&planner);
    free(plan);
}

void vf_fft_rows_execute(const vf_fft_rows *plan, vf_fft_direction direction, void *data)
{
    int d = direction == VF_FFT_BACKWARD;
    if (plan->type == VF_C128)
        fftw_execute_dft(plan->f64[d], data, data);
    else
        fftwf_execute_dft(plan->f32[d], data, data);
}

int64_t vf_fft_good_length(int64_t n)
{
    for (n += n > 1 && n % 2;; n += 2) {
        int64_t rest = n;
        for (int64_t p = 2; p <= 5; p += p == 2 ? 1 : 2)
            while (rest % p == 0 && rest > 1)
                rest /= p;
        if (rest <= 1 || n < 1)
            return n < 1 ? 1 : n;
    }
}

/* ---- whole transforms ---- */

vf_status vf_fft_create(vf_device *device, vf_dtype type, int rank, const int64_t *dims, int64_t batch, vf_fft **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    if (rank < 1 || rank > 3 || batch < 1 || (type != VF_C64 && type != VF_C128))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: %d dimensions, batch of %lld; there are 1 to 3, of at least 1", rank,
                       (long long)batch);
    for (int d = 0; d < rank; d++)
        if (dims[d] < 1 || dims[d] > INT32_MAX)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: a dimension of length %lld is not possible", (long long)dims[d]);
    vf_fft *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: no memory for a plan");
    *plan = (vf_fft){.device = device, .type = type, .batch = batch, .dims = {1, 1, 1}};
    for (int d = 0; d < rank; d++)
        plan->dims[3 - rank + d] = dims[d];
    vf_status status = VF_OK;
#ifdef VF_HAVE_CUDA
    if (!vf_device_is_host(device))
        status = vf_fft_cuda_create(plan);
#endif
    for (int d = 0; d < 3 && vf_device_is_host(device) && status == VF_OK; d++)
        if (plan->dims[d] > 1)
            status = vf_fft_rows_create(ctx, type, plan->dims[d], FFT_TILE_ROWS, &plan->rows[d]);
    if (status == VF_OK)
        *out = plan;
    else
        vf_fft_destroy(plan);
    return status;
}

void vf_fft_destroy(vf_fft *plan)
{
    if (!plan)
        return;
    for (int d = 0; d < 3; d++)
        vf_fft_rows_destroy(plan->rows[d]);
#ifdef VF_HAVE_CUDA
    vf_fft_cuda_destroy(plan);
#endif
    vf_array_free(&plan->work);
    free(plan);
}

int64_t vf_fft_bytes(const vf_fft *plan)
{
    return plan->work.count * (int64_t)vf_dtype_bytes(plan->work.type);
}

/* Lines of one axis: line l starts at element l / inner * n * inner + l % inner and its elements are `inner` apart. */
typedef struct lines {
    char *data;
    int64_t n, inner, count;
    size_t element;
} lines;

/* Copies lines [first, first + FFT_TILE_ROWS) to the tile's rows, or back; what is beyond the last line is left. */
static void move_lines(const lines *at, int64_t first, char *tile, bool back)
{
    int64_t here = at->count - first < FFT_TILE_ROWS ? at->count - first : FFT_TILE_ROWS;
    for (int64_t i = 0; i < at->n; i++)
        for (int64_t r = 0; r < here; r++) {
            int64_t line = first + r;
            char *in_array =
                at->data + (size_t)((line / at->inner * at->n + i) * at->inner + line % at->inner) * at->element;
            char *in_tile = tile + (size_t)(r * at->n + i) * at->element;
            memcpy(back ? in_array : in_tile, back ? in_tile : in_array, at->element);
        }
}

static vf_status transform_axis(const vf_fft *plan, vf_fft_direction direction, const lines *at,
                                const vf_fft_rows *rows)
{
    vf_context *ctx = vf_device_context(plan->device);
    const int64_t tiles = (at->count + FFT_TILE_ROWS - 1) / FFT_TILE_ROWS;
    const int threads = tiles < vf_context_threads(ctx) ? (int)tiles : vf_context_threads(ctx);
    const size_t bytes = ((size_t)at->n * FFT_TILE_ROWS * at->element + 63) / 64 * 64;
    atomic_bool failed = false;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        char *tile = aligned_alloc(64, bytes);
        if (!tile)
            atomic_store(&failed, true);
        else
            memset(tile, 0, bytes);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < tiles; t++) {
            if (!tile || vf_cancelled(ctx))
                continue;
            move_lines(at, t * FFT_TILE_ROWS, tile, false);
            vf_fft_rows_execute(rows, direction, tile);
            move_lines(at, t * FFT_TILE_ROWS, tile, true);
        }
        free(tile);
    }
    if (atomic_load(&failed))
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: no memory for a tile");
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

vf_status vf_fft_execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data)
{
    vf_status status = VF_OK;
    int64_t inner = 1, all = plan->batch * plan->dims[0] * plan->dims[1] * plan->dims[2];
    if (vf_queue_device(queue) != plan->device)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT, "FFT: the queue is another device's");
#ifdef VF_HAVE_CUDA
    if (!vf_device_is_host(plan->device))
        return vf_fft_cuda_execute(plan, queue, direction, data);
#endif
    for (int d = 2; d >= 0 && status == VF_OK; d--) {
        const lines at = {data, plan->dims[d], inner, all / plan->dims[d], vf_dtype_bytes(plan->type)};
        if (plan->rows[d])
            status = transform_axis(plan, direction, &at, plan->rows[d]);
        inner *= plan->dims[d];
    }
    return status;
}
