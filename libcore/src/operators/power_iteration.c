/* The largest eigenvalue of a positive operator, by power iteration. */
#include <math.h>
#include <stdlib.h>

#include "backend/splitmix.h"
#include "voxfield/solver.h"
#include "voxfield/vector.h"

/* A random number in (-1, 1). */
static double draw(uint64_t *state)
{
    return ((double)(vf_splitmix64(state) >> 11) + 0.5) * 0x1p-52 - 1;
}

static vf_status fill_at_random(vf_queue *queue, vf_vector_space space, uint64_t seed, void *to)
{
    const bool wide = vf_dtype_real(space.type) == VF_F64;
    const size_t bytes = (size_t)space.count * vf_dtype_bytes(space.type),
                 numbers = bytes / (wide ? sizeof(double) : sizeof(float));
    void *host = malloc(bytes + 1);
    if (!host)
        return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_MEMORY,
                       "not enough memory for a random vector");
    for (size_t i = 0; i < numbers; i++)
        if (wide)
            ((double *)host)[i] = draw(&seed);
        else
            ((float *)host)[i] = (float)draw(&seed);
    vf_status status = vf_queue_copy(queue, to, host, bytes);
    VF_TRY(status, vf_queue_sync(queue));
    free(host);
    return status;
}

/* v = w / |w|, w = A v; *eigenvalue = |w|, for |v| = 1. */
static vf_status step(vf_operator *a, vf_queue *queue, void *v, void *w, double *eigenvalue)
{
    const vf_vector_space space = vf_operator_domain(a);
    double squares[2] = {0};
    vf_status status = vf_operator_forward(a, queue, v, w);
    VF_TRY(status, vf_vector_dot(queue, space.type, space.count, w, w, squares));
    *eigenvalue = sqrt(squares[0]);
    if (status == VF_OK && !isfinite(*eigenvalue))
        status = vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT,
                         "power iteration: what operator %s makes is not finite", vf_operator_name(a));
    if (status == VF_OK && *eigenvalue > 0)
        status = vf_vector_axpby(queue, space.type, space.count, 1 / *eigenvalue, w, 0, v);
    return status;
}

vf_status vf_largest_eigenvalue(vf_operator *a, vf_queue *queue, int iterations, double tolerance, uint64_t seed,
                                double *eigenvalue, int *used)
{
    vf_device *device = vf_operator_device(a);
    vf_context *ctx = vf_device_context(device);
    const vf_vector_space space = vf_operator_domain(a);
    vf_array v = {0}, w = {0};
    double squares[2] = {0}, before = 0;
    int done = 0;
    *eigenvalue = 0;
    if (!(vf_operator_properties(a) & VF_OPERATOR_SELF_ADJOINT) || iterations < 1 || !(tolerance >= 0) ||
        vf_queue_device(queue) != device)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "power iteration: operator %s is not self-adjoint, %d iterations, tolerance %g, or the queue is "
                       "another device's",
                       vf_operator_name(a), iterations, tolerance);
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &v);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &w));
    VF_TRY(status, fill_at_random(queue, space, seed, v.data));
    VF_TRY(status, vf_vector_dot(queue, space.type, space.count, v.data, v.data, squares));
    if (status == VF_OK && squares[0] > 0)
        status = vf_vector_axpby(queue, space.type, space.count, 1 / sqrt(squares[0]), v.data, 0, v.data);
    while (status == VF_OK && done < iterations) {
        if (vf_cancelled(ctx)) {
            status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
            break;
        }
        status = step(a, queue, v.data, w.data, eigenvalue);
        done++;
        if (!(fabs(*eigenvalue - before) > tolerance * *eigenvalue))
            break;
        before = *eigenvalue;
    }
    if (used)
        *used = done;
    vf_array_free(&v);
    vf_array_free(&w);
    return status;
}
