/* F^H W F as a circulant matrix: on the CPU by the passes of kernels/toeplitz, on a GPU of libcore's primitives. */
#include <stdlib.h>

#include "cartesian_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* W, summed in double precision in the samples' order and rounded once. */
static vf_status make_weights(const vf_cartesian *p, const vf_cartesian_samples *samples, void **out)
{
    double *sum = *out = calloc((size_t)p->voxels + 1, sizeof *sum);
    if (!sum)
        return vf_fail(vf_device_context(p->device), VF_ERR_MEMORY, "Cartesian FFT: no memory for %lld weights",
                       (long long)p->voxels);
    for (int64_t m = 0; m < samples->count; m++)
        sum[vf_cartesian_point(p->matrix, samples->k + 3 * m)] += samples->weights ? samples->weights[m] : 1;
    for (int64_t n = 0; p->precision == VF_F32 && n < p->voxels; n++) {
        const double value = sum[n]; /* the float's place is at or before it */
        ((float *)*out)[n] = (float)value;
    }
    return VF_OK;
}

static vf_status make_vectors(vf_cartesian *p)
{
    const double one[2] = {1, 0};
    const float narrow[2] = {1, 0};
    vf_queue *queue = NULL;
    vf_status status = vf_array_create(p->device, VF_SPACE_DEVICE, p->type, p->voxels, &p->ones);
    if (status == VF_OK)
        status = vf_array_create(p->device, VF_SPACE_DEVICE, p->type, p->voxels, &p->conjugate);
    if (status == VF_OK)
        status = vf_queue_create(p->device, &queue);
    if (status == VF_OK)
        status = vf_fill(queue, p->type, p->voxels, p->precision == VF_F64 ? (const void *)one : narrow, p->ones.data);
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    vf_queue_destroy(queue);
    return status;
}

vf_status vf_cartesian_make_normal(vf_cartesian *p, const vf_cartesian_samples *samples)
{
    const vf_toeplitz_options options = {.precision = p->precision, .segments = 1, .circulant = true};
    void *weights = NULL;
    vf_queue *queue = NULL;
    vf_status status = make_weights(p, samples, &weights);
    if (status == VF_OK && !vf_device_is_host(p->device)) {
        status = vf_cartesian_put(p->device, p->precision, p->voxels, weights, &p->weights);
        if (status == VF_OK)
            status = make_vectors(p);
    } else if (status == VF_OK) {
        status = vf_toeplitz_create(p->device, p->matrix, &options, &p->circulant);
        if (status == VF_OK)
            status = vf_queue_create(p->device, &queue);
        if (status == VF_OK)
            status = vf_toeplitz_set(p->circulant, queue, 0, weights);
    }
    vf_queue_destroy(queue);
    free(weights);
    return status;
}

/* A coil's part. s x is conj(conj(x)) s, because the primitive that multiplies conjugates its first factor. */
static vf_status add_coil(const vf_cartesian *p, vf_queue *queue, const void *map, const void *x, void *y)
{
    const double zero[2] = {0};
    void *grid = p->grid.data;
    vf_status status = VF_OK;
    if (map) {
        status = vf_fill(queue, p->type, p->voxels, zero, grid);
        if (status == VF_OK)
            status = vf_vector_multiply_add(queue, p->type, p->voxels, p->conjugate.data, map, grid);
    } else {
        status = vf_copy(queue, p->type, p->voxels, x, grid);
    }
    if (status == VF_OK)
        status = vf_fft_execute(p->fft, queue, VF_FFT_FORWARD, grid);
    if (status == VF_OK)
        status = vf_vector_scale_by(queue, p->type, p->voxels, p->weights.data, grid, grid);
    if (status == VF_OK)
        status = vf_fft_execute(p->fft, queue, VF_FFT_BACKWARD, grid);
    if (status == VF_OK)
        status = map ? vf_vector_multiply_add(queue, p->type, p->voxels, map, grid, y)
                     : vf_vector_axpby(queue, p->type, p->voxels, 1, grid, 1, y);
    return status;
}

vf_status vf_cartesian_normal_apply(vf_cartesian *p, vf_queue *queue, int coils, const void *maps, const void *x,
                                    void *y)
{
    const double zero[2] = {0};
    const size_t map_bytes = (size_t)p->voxels * vf_dtype_bytes(p->type);
    if (!p->normal || coils < 1 || (!maps && coils != 1) || !x || !y || x == y || vf_queue_device(queue) != p->device)
        return vf_fail(vf_device_context(p->device), VF_ERR_ARGUMENT,
                       "Cartesian FFT: %d coils%s, vectors that are missing or the same, another device's queue, or a "
                       "plan for the sums",
                       coils, maps ? "" : " without maps");
    if (p->circulant)
        return vf_toeplitz_apply(p->circulant, queue, coils, maps, x, y);
    vf_status status = vf_fill(queue, p->type, p->voxels, zero, y);
    if (status == VF_OK && maps)
        status = vf_fill(queue, p->type, p->voxels, zero, p->conjugate.data);
    if (status == VF_OK && maps)
        status = vf_vector_multiply_add(queue, p->type, p->voxels, x, p->ones.data, p->conjugate.data);
    for (int c = 0; c < coils && status == VF_OK; c++)
        status = add_coil(p, queue, maps ? (const char *)maps + (size_t)c * map_bytes : NULL, x, y);
    return status;
}
