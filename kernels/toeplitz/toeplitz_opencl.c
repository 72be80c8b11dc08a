/* The OpenCL backend of the Toeplitz multiplication: pad, transform, multiply, transform back, crop, for one coil and segment at
 * a time. */
#include <math.h>
#include <stdlib.h>

#include "toeplitz_backend.h"
#include "turns_opencl.h"
#include "voxfield/fft.h"
#include "voxfield/vector.h"

extern const char vf_text_toeplitz[];

/* As in toeplitz.cl. */
typedef struct shape {
    int64_t matrix[3], doubled[3];
} shape;

typedef struct opencl_state {
    shape shape;
    int64_t points;                /* of the doubled grid */
    vf_array grid, kernels, turns; /* [points] complex, [segments][points] real, [segments][voxels] or empty */
    vf_fft *fft;
} opencl_state;

static void destroy(vf_toeplitz *plan)
{
    opencl_state *s = plan->state;
    vf_array_free(&s->grid);
    vf_array_free(&s->kernels);
    vf_array_free(&s->turns);
    vf_fft_destroy(s->fft);
    free(s);
    plan->state = NULL;
}

/* The phases of each segment, reduced here in double precision: single precision has units of 2^-32 turns. */
static vf_status make_turns(vf_toeplitz *plan, opencl_state *s)
{
    const bool twice = plan->precision == VF_F64;
    const int64_t count = plan->segments * plan->voxels;
    if (!plan->time)
        return VF_OK;
    float *field = malloc((size_t)plan->voxels * sizeof *field);
    double *turns = malloc((size_t)count * sizeof *turns);
    vf_status status = field && turns ? VF_OK
                                      : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                                                "Toeplitz: not enough memory for %d segments", plan->segments);
    VF_TRY(status, vf_opencl_download(plan->device, field, plan->field.data, (size_t)plan->voxels * sizeof *field));
    for (int64_t i = 0; status == VF_OK && i < count; i++) {
        const double all = plan->time[i / plan->voxels] * (double)field[i % plan->voxels], rest = all - rint(all);
        if (twice)
            turns[i] = rest;
        else
            ((uint32_t *)turns)[i] = (uint32_t)llrint(ldexp(rest, 32));
    }
    VF_TRY(status, vf_opencl_array_of(plan->device, twice ? VF_F64 : VF_I32, count, turns, &s->turns));
    free(field);
    free(turns);
    return status;
}

static vf_status create(vf_toeplitz *plan)
{
    const vf_dtype type = vf_dtype_complex(plan->precision);
    const int64_t dims[3] = {plan->doubled[2], plan->doubled[1], plan->doubled[0]};
    opencl_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "Toeplitz: not enough memory for a plan");
    plan->state = s;
    s->points = dims[0] * dims[1] * dims[2];
    for (int a = 0; a < 3; a++) {
        s->shape.matrix[a] = plan->matrix[a];
        s->shape.doubled[a] = plan->doubled[a];
    }
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, type, s->points, &s->grid);
    VF_TRY(status,
           vf_array_create(plan->device, VF_SPACE_DEVICE, plan->precision, plan->segments * s->points, &s->kernels));
    VF_TRY(status, vf_fft_create(plan->device, type, 3, dims, 1, &s->fft));
    VF_TRY(status, make_turns(plan, s));
    if (status == VF_OK)
        plan->bytes += vf_fft_bytes(s->fft) + s->points * (int64_t)vf_dtype_bytes(type) +
                       s->kernels.count * (int64_t)vf_dtype_bytes(plan->precision) +
                       s->turns.count * (int64_t)vf_dtype_bytes(s->turns.type);
    return status;
}

static vf_opencl_kernel kernel_for(const vf_toeplitz *plan, const char *name, int64_t threads)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_turns, vf_text_toeplitz, NULL};
    return (vf_opencl_kernel){texts, name, plan->precision, .threads = {threads}};
}

static vf_status set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q)
{
    const opencl_state *s = plan->state;
    void *to = vf_array_at(&s->kernels, segment * s->points);
    if (plan->circulant) {
        const vf_status status = vf_queue_copy(queue, to, q, (size_t)s->points * vf_dtype_bytes(plan->precision));
        return status == VF_OK ? vf_queue_sync(queue) : status;
    }
    const vf_opencl_kernel wrap = kernel_for(plan, "wrap_kernel", s->points),
                           take = kernel_for(plan, "take_real", s->points);
    vf_status status = VF_OPENCL_LAUNCH(queue, &wrap, VF_CL_VALUE(s->shape), VF_CL_ARRAY(q), VF_CL_ARRAY(s->grid.data));
    VF_TRY(status, vf_fft_execute(s->fft, queue, VF_FFT_FORWARD, s->grid.data));
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &take, VF_CL_INT(s->points), VF_CL_REAL(1.0 / (double)s->points),
                                    VF_CL_ARRAY(s->grid.data), VF_CL_ARRAY(to)));
    return status;
}

static vf_status apply(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    const opencl_state *s = plan->state;
    const vf_dtype type = vf_dtype_complex(plan->precision);
    const vf_opencl_kernel pad = kernel_for(plan, "pad_voxels", s->points),
                           crop = kernel_for(plan, "crop_voxels", plan->voxels);
    vf_status status = VF_OK;
    for (int i = 0; i < coils * plan->segments && status == VF_OK; i++) {
        const int segment = i % plan->segments;
        const void *map = vf_offset(plan->device, maps, type, i / plan->segments * plan->voxels);
        const void *turns = s->turns.data ? vf_array_at(&s->turns, segment * plan->voxels) : NULL;
        status = VF_OPENCL_LAUNCH(queue, &pad, VF_CL_VALUE(s->shape), VF_CL_ARRAY(map), VF_CL_ARRAY(turns),
                                  VF_CL_ARRAY(x), VF_CL_ARRAY(s->grid.data));
        VF_TRY(status, vf_fft_execute(s->fft, queue, VF_FFT_FORWARD, s->grid.data));
        VF_TRY(status, vf_vector_scale_by(queue, type, s->points, vf_array_at(&s->kernels, segment * s->points),
                                          s->grid.data, s->grid.data));
        VF_TRY(status, vf_fft_execute(s->fft, queue, VF_FFT_BACKWARD, s->grid.data));
        VF_TRY(status, VF_OPENCL_LAUNCH(queue, &crop, VF_CL_VALUE(s->shape), VF_CL_INT(i > 0), VF_CL_ARRAY(map),
                                        VF_CL_ARRAY(turns), VF_CL_ARRAY(s->grid.data), VF_CL_ARRAY(y)));
    }
    return status;
}

const vf_toeplitz_backend vf_toeplitz_opencl = {
    .kind = VF_DEVICE_OPENCL, .variant = "fft", .create = create, .set = set, .apply = apply, .destroy = destroy};
