#include "normal.h"

#include <stdio.h>
#include <stdlib.h>

#include "voxfield/statistics.h"

static bool off_resonance(const vf_normal_task *t)
{
    return t->time && t->field;
}

vf_encode_by vf_normal_way(const vf_normal_task *t)
{
    return vf_encoding_choose(t->encoding.by, t->matrix, t->samples, t->k, off_resonance(t));
}

vf_status vf_normal_segments(vf_context *ctx, const vf_normal_task *t, vf_segments *out)
{
    *out = (vf_segments){0};
    return off_resonance(t) ? vf_segments_create(ctx, t->samples, t->time, t->matrix[0] * t->matrix[1] * t->matrix[2],
                                                 t->field, true, t->encoding.accuracy, out)
                            : VF_OK;
}

static vf_status sum_weights(vf_context *ctx, const vf_normal_task *t, double *sum)
{
    vf_reduced all = {.re = (double)t->samples};
    const vf_status status =
        t->weights ? vf_host_reduce(ctx, VF_REDUCE_SUM, VF_F64, t->samples, t->weights, NULL, &all) : VF_OK;
    *sum = all.re;
    return status;
}

static vf_status begin(vf_device *device, const vf_normal_task *t, const vf_segments *segments, vf_normal *out)
{
    const bool segmented = segments && segments->count > 0;
    out->segments = segmented ? segments->count : 1;
    if (vf_normal_way(t) == VF_ENCODE_CARTESIAN) {
        const vf_cartesian_samples samples = {.count = t->samples, .k = t->k, .weights = t->weights};
        snprintf(out->description, sizeof out->description, "none: FFT of the grid");
        return vf_cartesian_normal_create(device, t->matrix, &samples, t->encoding.precision, &out->cartesian);
    }
    const vf_toeplitz_options options = {.precision = t->encoding.precision,
                                         .segments = out->segments,
                                         .time = segmented ? segments->time : NULL,
                                         .field = segmented ? t->field : NULL};
    return vf_toeplitz_create(device, t->matrix, &options, &out->toeplitz);
}

vf_status vf_normal_begin(vf_device *device, const vf_normal_task *t, const vf_segments *segments, vf_normal *out)
{
    *out = (vf_normal){0};
    vf_status status = sum_weights(vf_device_context(device), t, &out->diagonal);
    VF_TRY(status, begin(device, t, segments, out));
    if (status != VF_OK)
        vf_normal_free(out);
    return status;
}

/* Computes all segments of Q on one device. */
static vf_status set_q(vf_device *device, const vf_normal_task *t, const vf_segments *segments, vf_normal *out)
{
    int64_t doubled[3];
    const int64_t points = vf_q_grid(t->matrix, doubled);
    vf_queue *queue = NULL;
    vf_array q = {0};
    vf_q *plan = NULL;
    vf_status status = vf_queue_create(device, &queue);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, vf_dtype_complex(t->encoding.precision), points, &q));
    VF_TRY(status, vf_q_create(device, t, segments, 0, points, &plan));
    for (int s = 0; s < out->segments && status == VF_OK; s++) {
        status = vf_q_compute(plan, queue, s, &q);
        VF_TRY(status, vf_toeplitz_set(out->toeplitz, queue, s, q.data));
        VF_TRY(status, vf_queue_sync(queue));
    }
    if (status == VF_OK)
        snprintf(out->description, sizeof out->description, "%s%s", vf_q_description(plan),
                 out->segments > 1 ? ", off-resonance" : "");
    vf_q_destroy(plan);
    vf_array_free(&q);
    vf_queue_destroy(queue);
    return status;
}

vf_status vf_normal_create(vf_device *device, const vf_normal_task *t, vf_normal *out)
{
    vf_segments segments = {0};
    *out = (vf_normal){0};
    vf_status status = vf_normal_segments(vf_device_context(device), t, &segments);
    VF_TRY(status, vf_normal_begin(device, t, &segments, out));
    if (status == VF_OK && out->toeplitz)
        status = set_q(device, t, &segments, out);
    vf_segments_free(&segments);
    if (status != VF_OK)
        vf_normal_free(out);
    return status;
}

vf_status vf_normal_apply(const vf_normal *normal, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    return normal->cartesian ? vf_cartesian_normal_apply(normal->cartesian, queue, coils, maps, x, y)
                             : vf_toeplitz_apply(normal->toeplitz, queue, coils, maps, x, y);
}

void vf_normal_free(vf_normal *normal)
{
    vf_toeplitz_destroy(normal->toeplitz);
    vf_cartesian_destroy(normal->cartesian);
    *normal = (vf_normal){0};
}
