/* The reference: line after line by the sums of wavelet.h, in double precision, on one thread. For tests only, never
 * tuned. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "wavelet_backend.h"

/* plan->state: [numbers] double complex, the array that is transformed; then room for a line. */

static vf_status create(vf_wavelet *plan, const char *variant)
{
    (void)variant;
    int64_t longest = 0;
    for (int a = 0; a < 3; a++)
        longest = plan->padded[a] > longest ? plan->padded[a] : longest;
    plan->state = calloc((size_t)(plan->numbers + longest), sizeof(double complex));
    return plan->state ? VF_OK
                       : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                                 "wavelet: not enough memory for %lld numbers", (long long)plan->numbers);
}

static void destroy(vf_wavelet *plan)
{
    free(plan->state);
    plan->state = NULL;
}

static double complex get(const vf_wavelet *plan, const void *values, int64_t n)
{
    if (plan->precision == VF_F64)
        return ((const double complex *)values)[n];
    return ((const float complex *)values)[n];
}

static void put(const vf_wavelet *plan, void *values, int64_t n, double complex value)
{
    if (plan->precision == VF_F64)
        ((double complex *)values)[n] = value;
    else
        ((float complex *)values)[n] = (float complex)value;
}

/* The index of element n of the shifted array in the array itself. */
static int64_t source(const vf_wavelet *plan, const int64_t shift[3], int64_t n)
{
    int64_t index = 0, stride = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t size = plan->padded[a];
        index += (n % size - shift[a] + size) % size * stride;
        n /= size;
        stride *= size;
    }
    return index;
}

static void line_forward(const vf_wavelet *plan, int64_t n, int64_t stride, double complex *x, double complex *room)
{
    for (int64_t i = 0; i < n / 2; i++) {
        double complex s = 0, d = 0;
        for (int k = 0; k < 2 * plan->moments; k++) {
            s += plan->low[k] * x[(2 * i + k) % n * stride];
            d += plan->high[k] * x[(2 * i + k) % n * stride];
        }
        room[i] = s;
        room[n / 2 + i] = d;
    }
    for (int64_t i = 0; i < n; i++)
        x[i * stride] = room[i];
}

static void line_adjoint(const vf_wavelet *plan, int64_t n, int64_t stride, double complex *x, double complex *room)
{
    for (int64_t i = 0; i < n; i++)
        room[i] = 0;
    for (int64_t i = 0; i < n / 2; i++)
        for (int k = 0; k < 2 * plan->moments; k++)
            room[(2 * i + k) % n] += plan->low[k] * x[i * stride] + plan->high[k] * x[(n / 2 + i) * stride];
    for (int64_t i = 0; i < n; i++)
        x[i * stride] = room[i];
}

/* Transforms all lines along an axis of a level's box. */
static void lines(const vf_wavelet *plan, const vf_wavelet_box *box, int axis, bool forward)
{
    const int64_t strides[3] = {1, plan->padded[0], plan->padded[0] * plan->padded[1]};
    const int b = (axis + 1) % 3, c = (axis + 2) % 3;
    double complex *all = plan->state, *room = all + plan->numbers;
    for (int64_t j = 0; j < box->counts[b]; j++)
        for (int64_t k = 0; k < box->counts[c]; k++) {
            double complex *x = all + j * strides[b] + k * strides[c];
            if (forward)
                line_forward(plan, box->counts[axis], strides[axis], x, room);
            else
                line_adjoint(plan, box->counts[axis], strides[axis], x, room);
        }
}

static bool is_coarse(const vf_wavelet *plan, int64_t n)
{
    return n % plan->padded[0] < plan->coarse[0] && n / plan->padded[0] % plan->padded[1] < plan->coarse[1] &&
           n / plan->padded[0] / plan->padded[1] < plan->coarse[2];
}

static vf_status forward(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], int levels,
                         const vf_wavelet_soft *soft, const void *v, void *c)
{
    (void)queue;
    double complex *all = plan->state;
    for (int64_t n = 0; n < plan->numbers; n++)
        all[n] = get(plan, v, source(plan, shift, n));
    for (int l = 1; l <= levels; l++) {
        const vf_wavelet_box box = vf_wavelet_box_of(plan, l);
        for (int a = 0; a < 3; a++)
            if (box.split[a])
                lines(plan, &box, a, true);
    }
    for (int64_t n = 0; n < plan->numbers; n++) {
        double factor = 1;
        if (soft && !is_coarse(plan, n)) {
            const double magnitude = cabs(all[n]), threshold = soft->level / soft->scale;
            factor = magnitude <= threshold ? 0 : 1 - threshold / magnitude;
        }
        put(plan, c, n, factor * all[n]);
    }
    return VF_OK;
}

static vf_status adjoint(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, void *v)
{
    (void)queue;
    double complex *all = plan->state;
    for (int64_t n = 0; n < plan->numbers; n++)
        all[n] = get(plan, c, n);
    for (int l = plan->levels; l >= 1; l--) {
        const vf_wavelet_box box = vf_wavelet_box_of(plan, l);
        for (int a = 2; a >= 0; a--)
            if (box.split[a])
                lines(plan, &box, a, false);
    }
    for (int64_t n = 0; n < plan->numbers; n++)
        put(plan, v, source(plan, shift, n), all[n]);
    return VF_OK;
}

static vf_status magnitudes(vf_wavelet *plan, vf_queue *queue, const void *c)
{
    (void)queue;
    double *sums = plan->sums.data;
    for (int64_t row = 0; row < plan->rows; row++) {
        sums[row] = 0;
        for (int64_t n = row * plan->padded[0]; n < (row + 1) * plan->padded[0]; n++)
            if (!is_coarse(plan, n))
                sums[row] += cabs(get(plan, c, n));
    }
    return VF_OK;
}

static vf_status finest(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, const void *weights)
{
    (void)queue;
    const vf_wavelet_support support = vf_wavelet_support_of(plan, shift);
    double *sums = plan->sums.data;
    for (int64_t row = 0; row < plan->rows; row++) {
        sums[row] = sums[plan->rows + row] = 0;
        for (int64_t x = 0; x < plan->padded[0]; x++)
            if (vf_wavelet_counts(&support, plan->precision, weights, x, row % plan->padded[1],
                                  row / plan->padded[1])) {
                const double magnitude = cabs(get(plan, c, row * plan->padded[0] + x));
                sums[row] += magnitude * magnitude;
                sums[plan->rows + row]++;
            }
    }
    return VF_OK;
}

const vf_wavelet_backend vf_wavelet_ref = {.kind = VF_DEVICE_CPU,
                                           .create = create,
                                           .forward = forward,
                                           .adjoint = adjoint,
                                           .magnitudes = magnitudes,
                                           .finest = finest,
                                           .destroy = destroy};
