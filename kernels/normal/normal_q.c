/* Computes Q on one device: a direct sum on the whole doubled grid, or a NUFFT box by box of the image's matrix. */
#include <stdlib.h>

#include "normal.h"
#include "normal_shift.h"
#include "voxfield/copy.h"
#include "voxfield/team_size.h"

enum { CHUNK = 1024 }; /* samples whose weights are shifted at a time */

struct vf_q {
    const vf_normal_task *task;
    const vf_segments *segments;
    vf_dtype type;
    vf_encoding *encoding;
    bool direct;
    int64_t doubled[3];
    vf_array weights; /* [sample] complex */
    vf_array box;     /* [z][y][x] a box of Q, for a NUFFT */
    void *moved;      /* [sample] shifted weights in host memory, of Q's type */
};

int64_t vf_q_grid(const int64_t matrix[3], int64_t doubled[3])
{
    int64_t points = 1;
    for (int a = 0; a < 3; a++) {
        doubled[a] = matrix[a] > 1 ? 2 * matrix[a] : 1;
        points *= doubled[a];
    }
    return points;
}

double vf_q_work(const vf_normal_task *task)
{
    double boxes = 1;
    for (int a = 0; a < 3; a++)
        boxes *= task->matrix[a] > 1 ? 2 : 1;
    return vf_normal_way(task) == VF_ENCODE_DIRECT ? 1 : boxes;
}

vf_status vf_q_create(vf_device *device, const vf_normal_task *task, const vf_segments *segments, int64_t first,
                      int64_t count, vf_q **out)
{
    vf_context *ctx = vf_device_context(device);
    const int64_t voxels = task->matrix[0] * task->matrix[1] * task->matrix[2];
    const vf_encoding_samples at = {.count = task->samples, .k = task->k};
    vf_encoding_options options = task->encoding;
    vf_q *p = *out = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld weights", (long long)task->samples);
    *p = (vf_q){.task = task,
                .segments = segments,
                .type = vf_dtype_complex(options.precision),
                .direct = vf_normal_way(task) == VF_ENCODE_DIRECT};
    vf_q_grid(task->matrix, p->doubled);
    options.by = p->direct ? VF_ENCODE_DIRECT : VF_ENCODE_NUFFT;
    options.most_batch = 1;
    options.extent = p->direct ? 2 : 1;
    vf_status status = vf_encoding_create(device, p->direct ? p->doubled : task->matrix, &at, &options, &p->encoding);
    if (status == VF_OK && p->direct)
        vf_encoding_restrict(p->encoding, first, count);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, p->type, task->samples, &p->weights));
    if (status == VF_OK) {
        p->moved = malloc((size_t)task->samples * vf_dtype_bytes(p->type) + 1);
        if (!p->moved)
            status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld weights", (long long)task->samples);
    }
    if (status == VF_OK && !p->direct)
        status = vf_array_create(device, VF_SPACE_DEVICE, p->type, voxels, &p->box);
    if (status != VF_OK) {
        vf_q_destroy(p);
        *out = NULL;
    }
    return status;
}

void vf_q_destroy(vf_q *p)
{
    if (!p)
        return;
    vf_encoding_destroy(p->encoding);
    vf_array_free(&p->weights);
    vf_array_free(&p->box);
    free(p->moved);
    free(p);
}

void vf_q_watch(vf_q *p, vf_encoding_tell *tell, void *user)
{
    vf_encoding_watch(p->encoding, tell, user);
}

const char *vf_q_description(const vf_q *p)
{
    return vf_encoding_description(p->encoding);
}

/* Copies the weights times exp(i 2 pi k.shift) and the segment's coefficients, which are real, to the device. */
static vf_status put_weights(vf_q *p, vf_queue *queue, int segment, const double shift[3])
{
    static normal_shift *const shift_with[VF_ISA_COUNT] = {
        normal_shift_baseline,
#if defined(__x86_64__)
        normal_shift_avx2,
        normal_shift_avx512,
#endif
    };
    const vf_normal_task *t = p->task;
    const double *coefficient =
        p->segments && p->segments->count ? p->segments->coefficient + 2 * segment * t->samples : NULL;
    const vf_context *ctx = vf_device_context(vf_queue_device(queue));
    normal_shift *const by = shift_with[vf_cpu_isa()];
    const bool single = p->type == VF_C64;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 20 * t->samples))
    for (int64_t first = 0; first < t->samples; first += CHUNK) {
        const int64_t count = t->samples - first < CHUNK ? t->samples - first : CHUNK;
        double weights[CHUNK];
        for (int64_t m = 0; m < count; m++)
            weights[m] = (t->weights ? t->weights[first + m] : 1) * (coefficient ? coefficient[2 * (first + m)] : 1);
        by(first, count, t->k, weights, shift, single, p->moved);
    }
    vf_status status = vf_queue_copy(queue, p->weights.data, p->moved, (size_t)t->samples * vf_dtype_bytes(p->type));
    return status == VF_OK ? vf_queue_sync(queue) : status;
}

/* Cuts the doubled grid into boxes of the image's matrix. Along a doubled axis, index n of the lower box is at r = (n -
 * N) / N: voxel n's position shifted by (N/2 - N) / N fields of view. In the upper box it is at r = n / N, a shift of
 * (N/2) / N. So each box is the adjoint of the weights times exp(i 2 pi k.shift), computed with the plan for images.
 * Bit a of `upper_bits` selects the upper box along axis a. Returns the box's first point; -1: no such box, because the
 * axis is not doubled. */
static int64_t shift_of_box(const vf_q *p, int upper_bits, double shift[3])
{
    int64_t at = 0, step = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = p->task->matrix[a], upper = upper_bits >> a & 1;
        if (n == 1 && upper)
            return -1;
        at += upper * n * step;
        step *= p->doubled[a];
        shift[a] = n > 1 ? (double)(n / 2 - (upper ? 0 : n)) / (double)n : 0;
    }
    return at;
}

static vf_status compute_boxes(vf_q *p, vf_queue *queue, int segment, vf_array *q)
{
    const int64_t *matrix = p->task->matrix;
    const vf_pitch from = {matrix[0], matrix[0] * matrix[1]}, to = {p->doubled[0], p->doubled[0] * p->doubled[1]};
    double shift[3];
    vf_status status = VF_OK;
    for (int bits = 0; bits < 8 && status == VF_OK; bits++) {
        const int64_t at = shift_of_box(p, bits, shift);
        if (at < 0)
            continue;
        status = put_weights(p, queue, segment, shift);
        VF_TRY(status, vf_encoding_adjoint(p->encoding, queue, 1, &p->weights, &p->box));
        VF_TRY(status, vf_copy_box(queue, p->type, matrix, p->box.data, from, vf_array_at(q, at), to));
    }
    return status;
}

vf_status vf_q_compute(vf_q *p, vf_queue *queue, int segment, vf_array *q)
{
    vf_status status = VF_OK;
    if (p->direct) {
        status = put_weights(p, queue, segment, (const double[3]){0});
        VF_TRY(status, vf_encoding_adjoint(p->encoding, queue, 1, &p->weights, q));
    } else {
        status = compute_boxes(p, queue, segment, q);
    }
    return status == VF_OK ? vf_queue_sync(queue) : status;
}
