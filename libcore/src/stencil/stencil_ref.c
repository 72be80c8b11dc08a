/* The definition: one point after the other, in long double, one thread. */
#include <stddef.h>

#include "stencil_plan.h"

static const char *const names[] = {"ref", NULL};

typedef long double real;

static real get(vf_dtype type, const void *array, int64_t i)
{
    return type == VF_F32 ? (real)((const float *)array)[i] : (real)((const double *)array)[i];
}

static void put(vf_dtype type, void *array, int64_t i, real value)
{
    if (type == VF_F32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = (double)value;
}

/* The index of the low face of point `at` along an axis. */
static int64_t face_of(const vf_stencil *plan, int axis, const int64_t at[3])
{
    int64_t shape[3], index = 0;
    for (int a = 0; a < 3; a++)
        shape[a] = a == axis ? vf_stencil_faces(plan->counts[a], plan->periodic[a]) : plan->counts[a];
    for (int a = 2; a >= 0; a--)
        index = index * shape[a] + at[a] % shape[a]; /* the face above the last point of a periodic axis is the first */
    return index;
}

/* (A x)_p, and A_pp. */
static real apply_at(const vf_stencil *plan, const void *x, const int64_t at[3], int64_t point, real *diagonal)
{
    const vf_dtype type = plan->type;
    const real here = get(type, x, point);
    const int64_t strides[3] = {1, plan->counts[0], plan->counts[0] * plan->counts[1]};
    real sum = plan->variable ? 0 : (real)plan->centre * here;
    *diagonal = plan->variable ? 0 : (real)plan->diagonal;
    for (int a = 0; a < 3; a++) {
        const vf_stencil_steps s = vf_stencil_steps_of(at[a], plan->counts[a], plan->periodic[a]);
        const real low = s.has_low ? get(type, x, point + s.low * strides[a]) : 0,
                   high = s.has_high ? get(type, x, point + s.high * strides[a]) : 0;
        if (!plan->variable) {
            sum += (real)plan->axis[a] * (low + high);
            continue;
        }
        const int64_t next[3] = {at[0] + (a == 0), at[1] + (a == 1), at[2] + (a == 2)};
        const real c_low = get(type, plan->faces[a], face_of(plan, a, at)),
                   c_high = get(type, plan->faces[a], face_of(plan, a, next)), weight = (real)plan->weights[a];
        sum += weight * (c_low * (here - low) + c_high * (here - high));
        *diagonal += weight * (c_low + c_high);
    }
    if (plan->reaction) {
        const real r = get(type, plan->reaction, point);
        sum += r * here;
        *diagonal += r;
    }
    return sum;
}

static vf_status run(const vf_stencil *plan, vf_queue *queue, const vf_stencil_pass *pass)
{
    const vf_dtype type = plan->type;
    int64_t at[3], point = 0;
    (void)queue;
    for (at[2] = 0; at[2] < plan->counts[2]; at[2]++)
        for (at[1] = 0; at[1] < plan->counts[1]; at[1]++)
            for (at[0] = 0; at[0] < plan->counts[0]; at[0]++, point++) {
                real diagonal, value = apply_at(plan, pass->x, at, point, &diagonal);
                if (pass->b)
                    value = get(type, pass->x, point) +
                            (real)pass->omega * ((get(type, pass->b, point) - value) / diagonal);
                put(type, pass->y, point, value);
            }
    return VF_OK;
}

static vf_status create(vf_stencil *plan, const char *variant)
{
    (void)plan;
    (void)variant;
    return VF_OK;
}

static void destroy(vf_stencil *plan)
{
    (void)plan;
}

const vf_stencil_ops vf_stencil_ops_ref = {{VF_DEVICE_CPU, names}, create, destroy, run};
