#include "voxfield/fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

struct vf_fft {
    vf_dtype type;
    fftw_plan f64[2]; /* forward, backward */
    fftwf_plan f32[2];
};

/* FFTW's planner is not thread-safe, its execution is. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void make_plans(vf_fft *plan, int rank, const int *n, int threads)
{
    static const int directions[2] = {FFTW_FORWARD, FFTW_BACKWARD};
    static int initialised;
    /* Not read or written: FFTW_ESTIMATE plans from sizes and alignment alone. */
    void *sample = fftw_malloc(2 * sizeof(double));
    pthread_mutex_lock(&planner);
    if (!initialised)
        initialised = fftw_init_threads() && fftwf_init_threads();
    fftw_plan_with_nthreads(threads);
    fftwf_plan_with_nthreads(threads);
    for (int d = 0; sample && d < 2; d++)
        if (plan->type == VF_F64)
            plan->f64[d] = fftw_plan_dft(rank, n, sample, sample, directions[d], FFTW_ESTIMATE | FFTW_UNALIGNED);
        else
            plan->f32[d] = fftwf_plan_dft(rank, n, sample, sample, directions[d], FFTW_ESTIMATE | FFTW_UNALIGNED);
    pthread_mutex_unlock(&planner);
    fftw_free(sample);
}

vf_status vf_fft_create(vf_context *ctx, vf_dtype type, int rank, const int64_t *dims, vf_fft **out)
{
    int n[3];
    *out = NULL;
    if (rank < 1 || rank > 3)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: %d dimensions; there are 1, 2 or 3", rank);
    for (int d = 0; d < rank; d++) {
        if (dims[d] < 1 || dims[d] > INT32_MAX)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: a dimension of length %lld is not possible", (long long)dims[d]);
        n[d] = (int)dims[d];
    }
    vf_fft *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: no memory for a plan");
    plan->type = type;
    make_plans(plan, rank, n, vf_context_threads(ctx));
    if (type == VF_F64 ? !plan->f64[0] || !plan->f64[1] : !plan->f32[0] || !plan->f32[1]) {
        vf_fft_destroy(plan);
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: FFTW made no plan");
    }
    *out = plan;
    return VF_OK;
}

void vf_fft_destroy(vf_fft *plan)
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

void vf_fft_execute(const vf_fft *plan, vf_fft_direction direction, void *data)
{
    int d = direction == VF_FFT_BACKWARD;
    if (plan->type == VF_F64)
        fftw_execute_dft(plan->f64[d], data, data);
    else
        fftwf_execute_dft(plan->f32[d], data, data);
}
