/* The sums over coefficients on the CPU: a thread takes rows. */
#include "voxfield/team_size.h"
#include "wavelet_cpu.h"

static int threads_for_all(const vf_wavelet *plan, vf_queue *queue)
{
    return vf_threads_for(vf_device_context(vf_queue_device(queue)), 2 * plan->numbers);
}

/* The sum of |c| over row `row` of the padded array, without the coarsest band. */
static double row_magnitudes(const vf_wavelet *plan, const char *c, int64_t row)
{
    const cpu_state *s = plan->state;
    const bool coarse = row % plan->padded[1] < plan->coarse[1] && row / plan->padded[1] < plan->coarse[2];
    const int64_t first = coarse ? plan->coarse[0] : 0;
    return s->lines->magnitudes(plan->padded[0] - first, c + (size_t)(row * plan->padded[0] + first) * s->element);
}

vf_status wavelet_cpu_magnitudes(vf_wavelet *plan, vf_queue *queue, const void *c)
{
    double *sums = plan->sums.data;
#pragma omp parallel for schedule(static) num_threads(threads_for_all(plan, queue))
    for (int64_t row = 0; row < plan->rows; row++)
        sums[row] = row_magnitudes(plan, c, row);
    return VF_OK;
}

static void row_finest(const vf_wavelet *plan, const vf_wavelet_support *support, const void *c, const void *weights,
                       int64_t row, double *sum, double *count)
{
    const int64_t y = row % plan->padded[1], z = row / plan->padded[1];
    *sum = *count = 0;
    for (int64_t x = 0; x < plan->padded[0]; x++) {
        if (!vf_wavelet_counts(support, plan->precision, weights, x, y, z))
            continue;
        const int64_t n = 2 * (row * plan->padded[0] + x);
        const bool wide = plan->precision == VF_F64;
        const double re = wide ? ((const double *)c)[n] : (double)((const float *)c)[n],
                     im = wide ? ((const double *)c)[n + 1] : (double)((const float *)c)[n + 1];
        *sum += re * re + im * im;
        *count += 1;
    }
}

vf_status wavelet_cpu_finest(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c,
                             const void *weights)
{
    const vf_wavelet_support support = vf_wavelet_support_of(plan, shift);
    double *sums = plan->sums.data;
#pragma omp parallel for schedule(static) num_threads(threads_for_all(plan, queue))
    for (int64_t row = 0; row < plan->rows; row++)
        row_finest(plan, &support, c, weights, row, &sums[row], &sums[plan->rows + row]);
    return VF_OK;
}
