/* Density compensation after Pipe and Menon. */
#include <math.h>
#include <string.h>

#include "gridding_internal.h"

/* Element i of a complex vector in host memory. */
static double complex_size(const vf_array *a, int64_t i)
{
    if (a->type == VF_C128)
        return hypot(((const double *)a->data)[2 * i], ((const double *)a->data)[2 * i + 1]);
    return hypot(((const float *)a->data)[2 * i], ((const float *)a->data)[2 * i + 1]);
}

static void set_complex(vf_array *a, int64_t i, double re)
{
    if (a->type == VF_C128) {
        ((double *)a->data)[2 * i] = re;
        ((double *)a->data)[2 * i + 1] = 0;
    } else {
        ((float *)a->data)[2 * i] = (float)re;
        ((float *)a->data)[2 * i + 1] = 0;
    }
}

typedef struct density {
    vf_nufft *plan;
    vf_queue *queue;
    vf_array in, out, host; /* complex [samples], on the device twice, on the host */
    vf_array image, ones;   /* complex [voxels], on the device and the host */
    vf_array weights;       /* [samples] of the plan's real type, host */
} density;

static vf_status iterate(density *d)
{
    int64_t n = d->plan->samples;
    for (int64_t i = 0; i < n; i++)
        set_complex(&d->host, i,
                    d->weights.type == VF_F64 ? ((double *)d->weights.data)[i] : ((float *)d->weights.data)[i]);
    vf_status status = vf_array_copy(d->queue, &d->in, &d->host, n);
    if (status == VF_OK)
        status = d->plan->backend->convolve(d->plan, d->queue, d->in.data, d->out.data);
    if (status == VF_OK)
        status = vf_array_copy(d->queue, &d->host, &d->out, n);
    if (status == VF_OK)
        status = vf_queue_sync(d->queue);
    for (int64_t i = 0; status == VF_OK && i < n; i++) {
        /* Positive: each sample's own kernel is in it. */
        double size = complex_size(&d->host, i);
        if (d->weights.type == VF_F64)
            ((double *)d->weights.data)[i] /= size;
        else
            ((float *)d->weights.data)[i] = (float)(((float *)d->weights.data)[i] / size);
    }
    return status;
}

/* With c = F 1: the mean over voxels of F^H w c is sum w |c|^2 / voxels, and is to be 1. */
static vf_status scale(density *d)
{
    vf_nufft plain = *d->plan; /* a field map has nothing to do with density */
    plain.segments.count = 0;
    for (int64_t i = 0; i < d->plan->voxels; i++)
        set_complex(&d->ones, i, 1);
    vf_status status = vf_array_copy(d->queue, &d->image, &d->ones, d->plan->voxels);
    if (status == VF_OK)
        status = plain.backend->forward(&plain, d->queue, 1, d->image.data, d->out.data);
    if (status == VF_OK)
        status = vf_array_copy(d->queue, &d->host, &d->out, d->plan->samples);
    if (status == VF_OK)
        status = vf_queue_sync(d->queue);
    if (status != VF_OK)
        return status;
    double sum = 0;
    for (int64_t i = 0; i < d->plan->samples; i++) {
        double size = complex_size(&d->host, i);
        sum +=
            size * size * (d->weights.type == VF_F64 ? ((double *)d->weights.data)[i] : ((float *)d->weights.data)[i]);
    }
    double factor = sum > 0 ? (double)d->plan->voxels / sum : 1;
    for (int64_t i = 0; i < d->plan->samples; i++)
        if (d->weights.type == VF_F64)
            ((double *)d->weights.data)[i] *= factor;
        else
            ((float *)d->weights.data)[i] = (float)(((float *)d->weights.data)[i] * factor);
    return VF_OK;
}

static vf_status reserve(density *d)
{
    struct {
        vf_array *array;
        vf_space space;
        vf_dtype type;
        int64_t count;
    } parts[] = {
        {&d->in, VF_SPACE_DEVICE, d->plan->complex_type, d->plan->samples},
        {&d->out, VF_SPACE_DEVICE, d->plan->complex_type, d->plan->samples},
        {&d->host, VF_SPACE_PINNED, d->plan->complex_type, d->plan->samples},
        {&d->image, VF_SPACE_DEVICE, d->plan->complex_type, d->plan->voxels},
        {&d->ones, VF_SPACE_PINNED, d->plan->complex_type, d->plan->voxels},
        {&d->weights, VF_SPACE_PINNED, d->plan->real, d->plan->samples},
    };
    vf_status status = VF_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == VF_OK; i++)
        status = vf_array_create(d->plan->device, parts[i].space, parts[i].type, parts[i].count, parts[i].array);
    return status;
}

vf_status vf_nufft_density_weights(vf_nufft *plan, vf_queue *queue, int iterations, void *weights)
{
    if (iterations < 1 || vf_queue_device(queue) != plan->device)
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "density weights: %d iterations, or another device's queue",
                       iterations);
    if (plan->samples == 0)
        return VF_OK;
    density d = {.plan = plan, .queue = queue};
    vf_status status = reserve(&d);
    for (int64_t i = 0; status == VF_OK && i < plan->samples; i++)
        if (plan->real == VF_F64)
            ((double *)d.weights.data)[i] = 1;
        else
            ((float *)d.weights.data)[i] = 1;
    for (int i = 0; i < iterations && status == VF_OK; i++)
        status = vf_cancelled(plan->ctx) ? vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted") : iterate(&d);
    if (status == VF_OK)
        status = scale(&d);
    if (status == VF_OK) {
        vf_array target = {weights, plan->samples, plan->real, VF_SPACE_DEVICE, plan->device};
        status = vf_array_copy(queue, &target, &d.weights, plan->samples);
    }
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    vf_array_free(&d.in);
    vf_array_free(&d.out);
    vf_array_free(&d.host);
    vf_array_free(&d.image);
    vf_array_free(&d.ones);
    vf_array_free(&d.weights);
    return status;
}
