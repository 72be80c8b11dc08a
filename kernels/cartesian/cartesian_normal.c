/* F^H W F as a circulant matrix, with kernels/toeplitz. */
#include <stdlib.h>

#include "cartesian_internal.h"

/* Computes W: summed in double precision in the order of the samples, then rounded once. */
static vf_status make_weights(const vf_cartesian *p, const vf_cartesian_samples *samples, void **out)
{
    double *sum = *out = calloc((size_t)p->voxels + 1, sizeof *sum);
    if (!sum)
        return vf_fail(vf_device_context(p->device), VF_ERR_MEMORY, "Cartesian FFT: not enough memory for %lld weights",
                       (long long)p->voxels);
    for (int64_t m = 0; m < samples->count; m++)
        sum[vf_cartesian_point(p->matrix, samples->k + 3 * m)] += samples->weights ? samples->weights[m] : 1;
    for (int64_t n = 0; p->precision == VF_F32 && n < p->voxels; n++) {
        const double value = sum[n]; /* read first: the float may overwrite it */
        ((float *)*out)[n] = (float)value;
    }
    return VF_OK;
}

vf_status vf_cartesian_make_normal(vf_cartesian *p, const vf_cartesian_samples *samples)
{
    const vf_toeplitz_options options = {.precision = p->precision, .segments = 1, .circulant = true};
    void *weights = NULL;
    vf_queue *queue = NULL;
    vf_status status = make_weights(p, samples, &weights);
    vf_array given = {0};
    VF_TRY(status, vf_toeplitz_create(p->device, p->matrix, &options, &p->circulant));
    VF_TRY(status, vf_cartesian_put(p->device, p->precision, p->voxels, weights, &given));
    VF_TRY(status, vf_queue_create(p->device, &queue));
    VF_TRY(status, vf_toeplitz_set(p->circulant, queue, 0, given.data));
    VF_TRY(status, vf_queue_sync(queue));
    vf_array_free(&given);
    vf_queue_destroy(queue);
    free(weights);
    return status;
}

vf_status vf_cartesian_normal_apply(vf_cartesian *p, vf_queue *queue, int coils, const void *maps, const void *x,
                                    void *y)
{
    if (!p->normal || coils < 1 || (!maps && coils != 1) || !x || !y || x == y || vf_queue_device(queue) != p->device)
        return vf_fail(vf_device_context(p->device), VF_ERR_ARGUMENT,
                       "Cartesian FFT: %d coils%s, missing or identical vectors, a queue of another device, or a "
                       "plan for the sums",
                       coils, maps ? "" : " without maps");
    return vf_toeplitz_apply(p->circulant, queue, coils, maps, x, y);
}
