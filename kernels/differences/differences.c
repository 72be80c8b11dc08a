/* The backend-independent part: checks, the choice of the backend, and the stencils of gradients. */
#include "differences.h"

#include <math.h>

#include "backend/registry.h"
#include "differences_backend.h"

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_gradient_cpu},
    {&vf_cuda_only, &vf_gradient_cuda},
    {&vf_opencl_only, &vf_gradient_opencl},
    {0},
};

enum { ALL_AXES = VF_ALONG_X | VF_ALONG_Y | VF_ALONG_Z | VF_ALONG_FRAMES };

int vf_differences_components(unsigned axes)
{
    int d = 0;
    for (int a = 0; a < 4; a++)
        d += axes >> a & 1;
    return axes <= ALL_AXES ? d : 0;
}

int vf_symmetric_gradient_components(unsigned axes)
{
    const int d = vf_differences_components(axes);
    return d * (d + 1) / 2;
}

/* ---- the stencils ---- */

static void add_term(stencil *s, int output, stencil_term term)
{
    s->term[output][s->terms[output]++] = term;
}

/* out += scale (in(n + e) - in(n)) */
static void add_forward(stencil *s, int output, int input, int axis, float scale)
{
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, 1, 1, scale});
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, 0, 1, -scale});
}

/* Its adjoint: in(n - e) - in(n), without the terms of differences that leave the image. */
static void add_forward_adjoint(stencil *s, int output, int input, int axis, float scale)
{
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, -1, -1, scale});
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, 0, 1, -scale});
}

/* out += scale (in(n) - in(n - e)) */
static void add_backward(stencil *s, int output, int input, int axis, float scale)
{
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, 0, -1, scale});
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, -1, -1, -scale});
}

static void add_backward_adjoint(stencil *s, int output, int input, int axis, float scale)
{
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, 0, -1, scale});
    add_term(s, output, (stencil_term){(signed char)input, (signed char)axis, 1, 1, -scale});
}

static int list_axes(unsigned axes, int list[4])
{
    int d = 0;
    for (int a = 0; a < 4; a++)
        if (axes >> a & 1)
            list[d++] = a;
    return d;
}

static void fill_gradient(stencil *s, unsigned axes, bool adjoint)
{
    int axis[4];
    const int d = list_axes(axes, axis);
    s->outputs = adjoint ? 1 : d;
    for (int k = 0; k < d; k++)
        if (adjoint)
            add_forward_adjoint(s, 0, k, axis[k], 1);
        else
            add_forward(s, k, 0, axis[k], 1);
}

static void fill_symmetric(stencil *s, unsigned axes, bool adjoint)
{
    int axis[4];
    const int d = list_axes(axes, axis);
    int mixed = d; /* the next component with k < l */
    s->outputs = adjoint ? d : d * (d + 1) / 2;
    for (int k = 0; k < d; k++)
        if (adjoint)
            add_backward_adjoint(s, k, k, axis[k], 1);
        else
            add_backward(s, k, k, axis[k], 1);
    for (int k = 0; k < d; k++)
        for (int l = k + 1; l < d; l++, mixed++)
            if (adjoint) {
                add_backward_adjoint(s, k, mixed, axis[l], 0.5f);
                add_backward_adjoint(s, l, mixed, axis[k], 0.5f);
            } else {
                add_backward(s, mixed, k, axis[l], 0.5f);
                add_backward(s, mixed, l, axis[k], 0.5f);
            }
}

/* ---- checks ---- */

static bool possible(const int64_t counts[4])
{
    int64_t voxels = 1;
    for (int a = 0; a < 4; a++) {
        if (counts[a] < 1 || counts[a] > ((int64_t)1 << 50) / voxels)
            return false;
        voxels *= counts[a];
    }
    return true;
}

static vf_status apply(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes, bool symmetric,
                       bool adjoint, const void *in, void *out)
{
    vf_device *device = vf_queue_device(queue);
    if (!possible(counts) || (type != VF_C64 && type != VF_C128) || vf_differences_components(axes) == 0 || !in ||
        !out || in == out)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT,
                       "gradient: a series of %lld x %lld x %lld voxels and %lld frames, axes %u, or arrays that are "
                       "missing, the same or not complex",
                       (long long)counts[0], (long long)counts[1], (long long)counts[2], (long long)counts[3], axes);
    stencil s = {.counts = {counts[0], counts[1], counts[2], counts[3]},
                 .voxels = counts[0] * counts[1] * counts[2] * counts[3]};
    const void *table;
    const vf_status status = vf_backend_choose(backends, "the gradient", device, NULL, &table, NULL);
    if (status != VF_OK)
        return status;
    if (symmetric)
        fill_symmetric(&s, axes, adjoint);
    else
        fill_gradient(&s, axes, adjoint);
    const vf_gradient_backend *backend = table;
    return backend->apply(queue, type, &s, in, out);
}

vf_status vf_differences_forward(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes, const void *x,
                                 void *y)
{
    return apply(queue, type, counts, axes, false, false, x, y);
}

vf_status vf_differences_adjoint(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes, const void *y,
                                 void *x)
{
    return apply(queue, type, counts, axes, false, true, y, x);
}

vf_status vf_symmetric_gradient_forward(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes,
                                        const void *v, void *w)
{
    return apply(queue, type, counts, axes, true, false, v, w);
}

vf_status vf_symmetric_gradient_adjoint(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes,
                                        const void *w, void *v)
{
    return apply(queue, type, counts, axes, true, true, w, v);
}

/* Checks the arguments that the threshold and the norm share, and finds the backend. */
static vf_status open_field(vf_queue *queue, vf_dtype type, int groups, int64_t n, const double *weights, bool arrays,
                            group_field *f, const vf_gradient_backend **backend)
{
    vf_device *device = vf_queue_device(queue);
    bool good = (type == VF_C64 || type == VF_C128) && groups >= 1 && groups <= VF_MOST_GROUPS && n >= 0 &&
                n <= (int64_t)1 << 50 && (arrays || n == 0);
    *f = (group_field){.groups = groups, .n = n};
    *backend = NULL;
    for (int g = 0; good && g < groups; g++) {
        f->weights[g] = weights ? weights[g] : 1;
        good = f->weights[g] > 0 && isfinite(f->weights[g]);
    }
    if (!good)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT,
                       "group threshold: %d groups of %lld numbers, weights that are not positive, or arrays that are "
                       "missing or not complex",
                       groups, (long long)n);
    const void *table;
    const vf_status status = vf_backend_choose(backends, "the group threshold", device, NULL, &table, NULL);
    *backend = table;
    return status;
}

vf_status vf_group_soft(vf_queue *queue, vf_dtype type, int groups, int64_t n, const double *weights, double threshold,
                        const void *v, void *z)
{
    if (!(threshold >= 0) || !isfinite(threshold))
        return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT,
                       "group threshold: the threshold %g is not a number >= 0", threshold);
    group_field f;
    const vf_gradient_backend *backend;
    const vf_status status = open_field(queue, type, groups, n, weights, v && z, &f, &backend);
    return status == VF_OK && n > 0 ? backend->soft(queue, type, &f, threshold, v, z) : status;
}

vf_status vf_group_norm(vf_queue *queue, vf_dtype type, int groups, int64_t n, const double *weights, const void *v,
                        double *sum)
{
    group_field f;
    const vf_gradient_backend *backend;
    const vf_status status = open_field(queue, type, groups, n, weights, v != NULL, &f, &backend);
    *sum = 0;
    return status == VF_OK && n > 0 ? backend->norm(queue, type, &f, v, sum) : status;
}
