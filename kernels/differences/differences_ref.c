/* The definitions, point by point in double precision. */
#include <math.h>
#include <string.h>

#include "differences_backend.h"

/* One part (re or im) of a component, in the direction of an axis. */
typedef struct line {
    int64_t step, extent;
} line;

static line along(const int64_t counts[4], int axis)
{
    line l = {1, counts[axis]};
    for (int a = 0; a < axis; a++)
        l.step *= counts[a];
    return l;
}

static int64_t all_voxels(const int64_t counts[4])
{
    return counts[0] * counts[1] * counts[2] * counts[3];
}

/* y += scale (x(n + e) - x(n)) */
static void forward(const int64_t counts[4], int axis, double scale, const double *x, double *y)
{
    const line l = along(counts, axis);
    for (int64_t n = 0; n < all_voxels(counts); n++)
        for (int part = 0; n / l.step % l.extent < l.extent - 1 && part < 2; part++)
            y[2 * n + part] += scale * (x[2 * (n + l.step) + part] - x[2 * n + part]);
}

/* x += scale times the adjoint of the above: the difference at n goes to n + e and, negative, to n. */
static void forward_adjoint(const int64_t counts[4], int axis, double scale, const double *y, double *x)
{
    const line l = along(counts, axis);
    for (int64_t n = 0; n < all_voxels(counts); n++)
        for (int part = 0; n / l.step % l.extent < l.extent - 1 && part < 2; part++) {
            x[2 * (n + l.step) + part] += scale * y[2 * n + part];
            x[2 * n + part] -= scale * y[2 * n + part];
        }
}

/* The same for backward differences: at n >= 1, u(n) - u(n - e). */
static void backward(const int64_t counts[4], int axis, double scale, const double *u, double *w)
{
    const line l = along(counts, axis);
    for (int64_t n = 0; n < all_voxels(counts); n++)
        for (int part = 0; n / l.step % l.extent > 0 && part < 2; part++)
            w[2 * n + part] += scale * (u[2 * n + part] - u[2 * (n - l.step) + part]);
}

static void backward_adjoint(const int64_t counts[4], int axis, double scale, const double *w, double *u)
{
    const line l = along(counts, axis);
    for (int64_t n = 0; n < all_voxels(counts); n++)
        for (int part = 0; n / l.step % l.extent > 0 && part < 2; part++) {
            u[2 * n + part] += scale * w[2 * n + part];
            u[2 * (n - l.step) + part] -= scale * w[2 * n + part];
        }
}

static void clear(const int64_t counts[4], int components, double *x)
{
    memset(x, 0, (size_t)(2 * components * all_voxels(counts)) * sizeof *x);
}

void vf_differences_ref(const int64_t counts[4], unsigned axes, const double *x, double *y)
{
    const int64_t each = 2 * all_voxels(counts);
    clear(counts, vf_differences_components(axes), y);
    for (int a = 0, k = 0; a < 4; a++)
        if (axes >> a & 1)
            forward(counts, a, 1, x, y + each * k++);
}

void vf_differences_adjoint_ref(const int64_t counts[4], unsigned axes, const double *y, double *x)
{
    const int64_t each = 2 * all_voxels(counts);
    clear(counts, 1, x);
    for (int a = 0, k = 0; a < 4; a++)
        if (axes >> a & 1)
            forward_adjoint(counts, a, 1, y + each * k++, x);
}

/* The axis of component k of a vector field. */
static int axis_of(unsigned axes, int k)
{
    int a = 0;
    for (; k > 0 || !(axes >> a & 1); a++)
        k -= axes >> a & 1;
    return a;
}

/* Calls `how` for each component k of the vector field and each axis l to differentiate it along; the component of the
 * symmetric field is (k, l). */
static void for_pairs(const int64_t counts[4], unsigned axes,
                      void (*how)(const int64_t counts[4], int axis, double scale, const double *in, double *out),
                      const double *in, double *out, bool adjoint)
{
    const int64_t each = 2 * all_voxels(counts);
    const int d = vf_differences_components(axes);
    for (int k = 0; k < d; k++)
        for (int l = 0; l < d; l++) {
            const int low = k < l ? k : l, high = k < l ? l : k;
            const int which = k == l ? k : d + low * d - low * (low + 1) / 2 + high - low - 1;
            how(counts, axis_of(axes, l), k == l ? 1 : 0.5, in + each * (adjoint ? which : k),
                out + each * (adjoint ? k : which));
        }
}

void vf_symmetric_gradient_ref(const int64_t counts[4], unsigned axes, const double *v, double *w)
{
    clear(counts, vf_symmetric_gradient_components(axes), w);
    for_pairs(counts, axes, backward, v, w, false);
}

void vf_symmetric_gradient_adjoint_ref(const int64_t counts[4], unsigned axes, const double *w, double *v)
{
    clear(counts, vf_differences_components(axes), v);
    for_pairs(counts, axes, backward_adjoint, w, v, true);
}

static double length(int groups, int64_t n, const double *weights, const double *v, int64_t i)
{
    double sum = 0;
    for (int g = 0; g < groups; g++)
        for (int part = 0; part < 2; part++)
            sum += (weights ? weights[g] : 1) * v[2 * (g * n + i) + part] * v[2 * (g * n + i) + part];
    return sqrt(sum);
}

void vf_group_soft_ref(int groups, int64_t n, const double *weights, double threshold, const double *v, double *z)
{
    for (int64_t i = 0; i < n; i++) {
        const double r = length(groups, n, weights, v, i);
        for (int g = 0; g < groups; g++)
            for (int part = 0; part < 2; part++)
                z[2 * (g * n + i) + part] = r <= threshold ? 0 : (1 - threshold / r) * v[2 * (g * n + i) + part];
    }
}

double vf_group_norm_ref(int groups, int64_t n, const double *weights, const double *v)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (long double)length(groups, n, weights, v, i);
    return (double)sum;
}
