/* The kernels' plans as linear operators. */
#include "kernel_operators.h"

#include <stdlib.h>

#include "differences.h"
#include "first_differences.h"
#include "voxfield/copy.h"

/* A plan and how to call it. One struct for all operators: each uses the members that it needs. */
typedef struct kernel_state {
    void *plan;
    vf_sum_shape shape;
    int coils, which;
    const void *array; /* maps, weights */
    int64_t counts[4]; /* voxels and frames; of wavelets, the shift */
    unsigned axes;
} kernel_state;

static vf_status create(const vf_operator_methods *methods, unsigned properties, vf_vector_space domain,
                        vf_vector_space codomain, const kernel_state *state, vf_operator **out)
{
    vf_context *ctx = vf_device_context(state->shape.device);
    *out = NULL;
    kernel_state *s = malloc(sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "operator %s: not enough memory", methods->name);
    *s = *state;
    const vf_status status = vf_operator_create(state->shape.device, methods, properties, domain, codomain, s, out);
    if (status != VF_OK)
        free(s);
    return status;
}

/* ---- sums ---- */

static vf_status create_sum(const vf_operator_methods *methods, const vf_sum_shape *shape, void *plan,
                            vf_operator **out)
{
    const kernel_state state = {.plan = plan, .shape = *shape};
    const vf_dtype type = vf_dtype_complex(shape->precision);
    return create(methods, 0, (vf_vector_space){type, shape->batch * shape->voxels},
                  (vf_vector_space){type, shape->batch * shape->samples}, &state, out);
}

static vf_status fourier_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_fourier_forward(s->plan, queue, s->shape.batch, x, y);
}

static vf_status fourier_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const kernel_state *s = state;
    return vf_fourier_adjoint(s->plan, queue, s->shape.batch, y, 0, s->shape.voxels, x);
}

vf_status vf_fourier_operator(const vf_sum_shape *shape, vf_fourier *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "direct sum", .forward = fourier_forward, .adjoint = fourier_adjoint, .free = free};
    return create_sum(&methods, shape, plan, out);
}

static vf_status nufft_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_nufft_forward(s->plan, queue, s->shape.batch, x, y);
}

static vf_status nufft_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const kernel_state *s = state;
    return vf_nufft_adjoint(s->plan, queue, s->shape.batch, y, x);
}

vf_status vf_nufft_operator(const vf_sum_shape *shape, vf_nufft *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "NUFFT", .forward = nufft_forward, .adjoint = nufft_adjoint, .free = free};
    return create_sum(&methods, shape, plan, out);
}

static vf_status cartesian_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_cartesian_forward(s->plan, queue, s->shape.batch, x, y);
}

static vf_status cartesian_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const kernel_state *s = state;
    return vf_cartesian_adjoint(s->plan, queue, s->shape.batch, y, x);
}

vf_status vf_cartesian_operator(const vf_sum_shape *shape, vf_cartesian *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "FFT of the grid", .forward = cartesian_forward, .adjoint = cartesian_adjoint, .free = free};
    return create_sum(&methods, shape, plan, out);
}

static vf_array view(const kernel_state *s, int64_t each, const void *data)
{
    return (vf_array){.data = (void *)data,
                      .count = s->shape.batch * each,
                      .type = vf_dtype_complex(s->shape.precision),
                      .space = VF_SPACE_DEVICE,
                      .device = s->shape.device};
}

static vf_status encoding_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    const vf_array from = view(s, s->shape.voxels, x);
    vf_array to = view(s, s->shape.samples, y);
    return vf_encoding_forward(s->plan, queue, s->shape.batch, &from, &to);
}

static vf_status encoding_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const kernel_state *s = state;
    const vf_array from = view(s, s->shape.samples, y);
    vf_array to = view(s, s->shape.voxels, x);
    return vf_encoding_adjoint(s->plan, queue, s->shape.batch, &from, &to);
}

vf_status vf_encoding_operator(const vf_sum_shape *shape, vf_encoding *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "encoding", .forward = encoding_forward, .adjoint = encoding_adjoint, .free = free};
    return create_sum(&methods, shape, plan, out);
}

/* ---- of images ---- */

static vf_status create_self_adjoint(const vf_operator_methods *methods, const kernel_state *state, vf_operator **out)
{
    const vf_vector_space space = {vf_dtype_complex(state->shape.precision), state->shape.voxels};
    return create(methods, VF_OPERATOR_SELF_ADJOINT, space, space, state, out);
}

static vf_status normal_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_normal_apply(s->plan, queue, s->coils, s->array, x, y);
}

vf_status vf_normal_operator(vf_device *device, vf_dtype precision, int64_t voxels, const vf_normal *normal, int coils,
                             const void *maps, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "F^H W F", .forward = normal_forward, .free = free};
    const kernel_state state = {.plan = (vf_normal *)normal,
                                .shape = {.device = device, .precision = precision, .voxels = voxels},
                                .coils = coils,
                                .array = maps};
    return create_self_adjoint(&methods, &state, out);
}

static vf_status circulant_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_circulant_apply(s->plan, queue, s->which, 1, x, 0, y);
}

vf_status vf_circulant_operator(vf_device *device, vf_dtype precision, int64_t voxels, vf_circulant *plan, int which,
                                vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "circulant", .forward = circulant_forward, .free = free};
    const kernel_state state = {
        .plan = plan, .shape = {.device = device, .precision = precision, .voxels = voxels}, .which = which};
    return create_self_adjoint(&methods, &state, out);
}

static vf_status first_differences_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    const vf_dtype type = vf_dtype_complex(s->shape.precision);
    const vf_status status = vf_fill(queue, type, s->shape.voxels, (const double[2]){0}, y);
    return status == VF_OK ? vf_first_differences_add(queue, type, s->counts, 1, s->array, x, y) : status;
}

vf_status vf_first_differences_operator(vf_device *device, vf_dtype precision, const int64_t counts[3],
                                        const void *weights, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "first differences", .forward = first_differences_forward, .free = free};
    const kernel_state state = {
        .shape = {.device = device, .precision = precision, .voxels = counts[0] * counts[1] * counts[2]},
        .array = weights,
        .counts = {counts[0], counts[1], counts[2]}};
    return create_self_adjoint(&methods, &state, out);
}

/* ---- wavelets ---- */

static vf_status wavelet_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_wavelet_forward(s->plan, queue, s->counts, x, y);
}

static vf_status wavelet_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const kernel_state *s = state;
    return vf_wavelet_adjoint(s->plan, queue, s->counts, y, x);
}

static vf_status wavelet_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    const kernel_state *s = state;
    return vf_copy(queue, vf_dtype_complex(s->shape.precision), s->shape.voxels, x, z);
}

vf_status vf_wavelet_operator(vf_device *device, vf_dtype precision, const int64_t shift[3], vf_wavelet *plan,
                              vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "wavelets",
                                                .forward = wavelet_forward,
                                                .adjoint = wavelet_adjoint,
                                                .normal = wavelet_normal,
                                                .free = free};
    int64_t padded[3];
    vf_wavelet_padded(plan, padded);
    kernel_state state = {
        .plan = plan, .shape = {.device = device, .precision = precision, .voxels = padded[0] * padded[1] * padded[2]}};
    for (int a = 0; a < 3 && shift; a++)
        state.counts[a] = shift[a];
    const vf_vector_space space = {vf_dtype_complex(precision), state.shape.voxels};
    return create(&methods, 0, space, space, &state, out);
}

/* ---- gradients ---- */

static vf_status create_gradient(const vf_operator_methods *methods, vf_device *device, vf_dtype precision,
                                 const int64_t counts[4], unsigned axes, int inputs, int outputs, vf_operator **out)
{
    const vf_dtype type = vf_dtype_complex(precision);
    const int64_t voxels = counts[0] * counts[1] * counts[2] * counts[3];
    const kernel_state state = {.shape = {.device = device, .precision = precision, .voxels = voxels},
                                .counts = {counts[0], counts[1], counts[2], counts[3]},
                                .axes = axes};
    return create(methods, 0, (vf_vector_space){type, inputs * voxels}, (vf_vector_space){type, outputs * voxels},
                  &state, out);
}

static vf_status differences_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_differences_forward(queue, vf_dtype_complex(s->shape.precision), s->counts, s->axes, x, y);
}

static vf_status differences_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const kernel_state *s = state;
    return vf_differences_adjoint(queue, vf_dtype_complex(s->shape.precision), s->counts, s->axes, y, x);
}

vf_status vf_differences_operator(vf_device *device, vf_dtype precision, const int64_t counts[4], unsigned axes,
                                  vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "gradient", .forward = differences_forward, .adjoint = differences_adjoint, .free = free};
    return create_gradient(&methods, device, precision, counts, axes, 1, vf_differences_components(axes), out);
}

static vf_status symmetric_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const kernel_state *s = state;
    return vf_symmetric_gradient_forward(queue, vf_dtype_complex(s->shape.precision), s->counts, s->axes, x, y);
}

static vf_status symmetric_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const kernel_state *s = state;
    return vf_symmetric_gradient_adjoint(queue, vf_dtype_complex(s->shape.precision), s->counts, s->axes, y, x);
}

vf_status vf_symmetric_gradient_operator(vf_device *device, vf_dtype precision, const int64_t counts[4], unsigned axes,
                                         vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "symmetrised gradient", .forward = symmetric_forward, .adjoint = symmetric_adjoint, .free = free};
    return create_gradient(&methods, device, precision, counts, axes, vf_differences_components(axes),
                           vf_symmetric_gradient_components(axes), out);
}
