/* FFTW, and the choice between transforms by axes and cuFFT. FFTW gets only contiguous, aligned rows. For these, estimated plans are as
 * fast as measured ones, and the same in every run. */
#include "voxfield/fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "fft_internal.h"
#include "voxfield/foreign.h"

struct vf_fft_rows {
    vf_dtype type;
    fftw_plan f64[2]; /* forward, backward */
    fftwf_plan f32[2];
};

/* FFTW's planner is not thread-safe; execution is. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static const int signs[2] = {FFTW_FORWARD, FFTW_BACKWARD};

static void make_plans(vf_fft_rows *plan, int n, int rows, bool apart)
{
    /* Neither read nor written: with FFTW_ESTIMATE, plans depend only on sizes and alignment, and on whether both places
     * are the same. */
    fftw_complex *from = fftw_malloc(2 * sizeof *from), *to = apart ? from + 1 : from;
    fftwf_complex *from32 = (fftwf_complex *)from, *to32 = (fftwf_complex *)to;
    const char *const outside = vf_foreign_enter("FFTW");
    pthread_mutex_lock(&planner);
    for (int d = 0; from && d < 2; d++)
        if (plan->type == VF_C128)
            plan->f64[d] = fftw_plan_many_dft(1, &n, rows, from, NULL, 1, n, to, NULL, 1, n, signs[d], FFTW_ESTIMATE);
        else
            plan->f32[d] =
                fftwf_plan_many_dft(1, &n, rows, from32, NULL, 1, n, to32, NULL, 1, n, signs[d], FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    vf_foreign_leave(outside);
    fftw_free(from);
}

/* NULL without memory. */
static vf_fft_rows *make_rows(vf_dtype type, int n, int rows, bool apart)
{
    vf_fft_rows *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->type = type;
    make_plans(plan, n, rows, apart);
    if (type == VF_C128 ? plan->f64[0] && plan->f64[1] : plan->f32[0] && plan->f32[1])
        return plan;
    vf_fft_rows_destroy(plan);
    return NULL;
}

vf_status vf_fft_rows_create(vf_context *ctx, vf_dtype type, int64_t n, int64_t rows, vf_fft_rows **out)
{
    *out = NULL;
    vf_status status = vf_check_complex(ctx, "FFT", type);
    if (status != VF_OK)
        return status;
    if (n < 1 || n > INT32_MAX || rows < 1 || rows > INT32_MAX)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: %lld rows of length %lld are not supported", (long long)rows,
                       (long long)n);
    *out = make_rows(type, (int)n, (int)rows, false);
    return *out ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory, or FFTW cannot make a plan");
}

vf_fft_rows *vf_fft_rows_make_apart(vf_dtype type, int n, int rows)
{
    return make_rows(type, n, rows, true);
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

void vf_fft_rows_execute_apart(const vf_fft_rows *plan, vf_fft_direction direction, const void *from, void *to)
{
    const int d = direction == VF_FFT_BACKWARD;
    const char *const outside = vf_foreign_enter("FFTW"); /* some plans need memory when they run */
    if (plan->type == VF_C128)
        fftw_execute_dft(plan->f64[d], (fftw_complex *)from, to);
    else
        fftwf_execute_dft(plan->f32[d], (fftwf_complex *)from, to);
    vf_foreign_leave(outside);
}

void vf_fft_rows_execute(const vf_fft_rows *plan, vf_fft_direction direction, void *data)
{
    vf_fft_rows_execute_apart(plan, direction, data, data);
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

static vf_status create_axes(vf_fft *plan)
{
    vf_status status = VF_OK;
    for (int d = 0; d < 3 && status == VF_OK; d++)
        if (plan->dims[d] > 1)
            status = vf_fft_axis_create(vf_device_context(plan->device), plan->type, plan->dims[d], &plan->axis[d]);
    return status;
}

static void destroy_axes(vf_fft *plan)
{
    for (int d = 0; d < 3; d++)
        vf_fft_axis_destroy(plan->axis[d]);
}

static vf_status execute_axes(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data)
{
    (void)queue;
    const int64_t *n = plan->dims;
    vf_status status = VF_OK;
    const int64_t inner[3] = {n[1] * n[2], n[2], 1}, outer[3] = {plan->batch, plan->batch * n[0], 1};
    const int64_t lines[3] = {n[1] * n[2], n[2], plan->batch * n[0] * n[1]};
    for (int d = 2; d >= 0 && status == VF_OK; d--) {
        const vf_fft_lines at = {
            .data = data, .point = inner[d], .line = d == 2 ? n[2] : 1, .span = {.first = 0, .count = n[d]}};
        if (plan->axis[d])
            status = vf_fft_axis_pass(plan->axis[d], direction, lines[d], outer[d], &at, n[d] * inner[d], &at,
                                      n[d] * inner[d]);
    }
    return status;
}

static const vf_fft_ops cpu_ops = {create_axes, destroy_axes, execute_axes, NULL};
static const vf_fft_ops cuda_ops = {vf_fft_cuda_create, vf_fft_cuda_destroy, vf_fft_cuda_execute, vf_fft_cuda_lend};

static const vf_backend backends[] = {
    {&vf_cpu_only, &cpu_ops},
    {&vf_cuda_only, &cuda_ops},
    {&vf_opencl_only, &vf_fft_opencl},
    {0},
};

static vf_status create(vf_device *device, vf_dtype type, int rank, const int64_t *dims, int64_t batch, bool bare,
                        vf_fft **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = vf_check_complex(ctx, "FFT", type);
    if (status != VF_OK)
        return status;
    if (rank < 1 || rank > 3 || batch < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "FFT: %d dimensions, batch of %lld; use 1 to 3 dimensions and a batch of at least 1", rank,
                       (long long)batch);
    for (int d = 0; d < rank; d++)
        if (dims[d] < 1 || dims[d] > INT32_MAX)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: a dimension of length %lld is not supported",
                           (long long)dims[d]);
    vf_fft *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    *plan = (vf_fft){.device = device, .type = type, .batch = batch, .dims = {1, 1, 1}, .bare = bare};
    for (int d = 0; d < rank; d++)
        plan->dims[3 - rank + d] = dims[d];
    const void *ops;
    status = vf_backend_choose(backends, "FFT", device, NULL, &ops, NULL);
    plan->ops = ops;
    VF_TRY(status, plan->ops->create(plan));
    if (status == VF_OK)
        *out = plan;
    else
        vf_fft_destroy(plan);
    return status;
}

vf_status vf_fft_create(vf_device *device, vf_dtype type, int rank, const int64_t *dims, int64_t batch, vf_fft **out)
{
    return create(device, type, rank, dims, batch, false, out);
}

vf_status vf_fft_create_bare(vf_device *device, vf_dtype type, int rank, const int64_t *dims, int64_t batch,
                             vf_fft **out)
{
    return create(device, type, rank, dims, batch, true, out);
}

vf_status vf_fft_lend(vf_fft *plan, void *memory)
{
    return plan->work_bytes > 0 ? plan->ops->lend(plan, memory) : VF_OK;
}

void vf_fft_destroy(vf_fft *plan)
{
    if (!plan)
        return;
    if (plan->ops)
        plan->ops->destroy(plan);
    vf_array_free(&plan->work);
    free(plan);
}

int64_t vf_fft_bytes(const vf_fft *plan)
{
    return plan->work_bytes;
}

vf_status vf_fft_execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data)
{
    if (vf_queue_device(queue) != plan->device)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT, "FFT: the queue belongs to another device");
    return plan->ops->execute(plan, queue, direction, data);
}
