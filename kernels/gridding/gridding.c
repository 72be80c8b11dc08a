/* The backend-independent part: checks, the choice of grid and kernel, and the calls of the backend. */
#include "gridding.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "gridding_locate.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"

/* What spreading and transforms cost on a device; only ratios matter. */
typedef struct gridding_costs {
    double sample, row, kernel_point; /* for each sample, and for each row and each point of its kernel */
    double point, length; /* for each grid point; `length` more for lengths that do not suit FFTW's vectors */
} gridding_costs;

/* Nanoseconds of one core of an EPYC of 2024, with the time to get a new plan's memory; and picoseconds of an H100, the
 * mean of both directions, in single precision. In double precision all take about twice as long. */
static const gridding_costs cpu_costs = {40, 1.1, 0.02, 6, 0.35}, cuda_costs = {100, 0, 0.75, 30, 0};

/* A backend, its function that replaces the samples, and its costs. */
typedef struct gridding_device {
    const gridding_backend *backend;
    vf_status (*set_samples)(vf_nufft *plan, const vf_nufft_samples *samples, const float *field);
    const gridding_costs *costs;
} gridding_device;
static const gridding_device on_cpu = {&gridding_cpu, gridding_cpu_set_samples, &cpu_costs},
                             on_cuda = {&gridding_cuda, NULL, &cuda_costs},
                             on_opencl = {&gridding_opencl, NULL, &cuda_costs}; /* most such devices are GPUs */

static const vf_backend backends[] = {
    {&vf_cpu_only, &on_cpu},
    {&vf_cuda_only, &on_cuda},
    {&vf_opencl_only, &on_opencl},
    {0},
};

/* Only many numbers are worth a team: beside a GPU the threads sleep. Waking 16 of them took up to 15 ms there; one thread
 * reads 9 million numbers in 5 ms. */
static bool all_finite(const vf_context *ctx, const vf_nufft_samples *samples)
{
    const int64_t many = 1 << 24, count = 3 * samples->count;
    const int threads = vf_threads_for(ctx, count < many ? 0 : count);
    bool finite = true;
#pragma omp parallel for num_threads(threads) reduction(&& : finite)
    for (int t = 0; t < threads; t++) {
        const int64_t begin = count * t / threads, end = count * (t + 1) / threads;
        finite = (samples->exact ? gridding_are_finite_f64(end - begin, samples->exact + begin)
                                 : gridding_are_finite(end - begin, samples->k + begin)) &&
                 finite;
    }
    return finite;
}

vf_status gridding_check_positions(vf_context *ctx, const int64_t matrix[3], const vf_nufft_samples *samples)
{
    if (all_finite(ctx, samples))
        return VF_OK;
    for (int64_t m = 0; m < samples->count; m++) {
        double k[3];
        for (int a = 0; a < 3; a++)
            k[a] = samples->exact ? samples->exact[3 * m + a] : (double)samples->k[3 * m + a];
        for (int a = 0; a < 3; a++)
            if (matrix[a] > 1 && !isfinite(k[a]))
                return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: sample %lld is at (%g, %g, %g); k must be finite",
                               (long long)m + 1, k[0], k[1], k[2]);
    }
    return VF_OK;
}

static vf_status check_samples(vf_context *ctx, const vf_nufft_samples *samples, bool has_field)
{
    if (samples->count < 0 || samples->count > UINT32_MAX)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: %lld samples are not supported", (long long)samples->count);
    if (has_field && !samples->time)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: a field map needs the samples' times");
    return VF_OK;
}

static vf_status check(vf_context *ctx, const int64_t matrix[3], int most_batch, const vf_nufft_options *options)
{
    double least = options->precision == VF_F64 ? 1e-12 : 1e-7;
    for (int a = 0; a < 3; a++)
        if (matrix[a] < 1 || matrix[a] > GRIDDING_MAX_MATRIX)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: a matrix of %lld voxels along an axis; 1 to %d are supported",
                           (long long)matrix[a], GRIDDING_MAX_MATRIX);
    if (options->precision != VF_F32 && options->precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: the precision must be VF_F32 or VF_F64");
    if (!(options->tolerance >= least) || !(options->tolerance <= 0.1))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: tolerance %g; %g to 0.1 are supported in %s precision",
                       options->tolerance, least, options->precision == VF_F64 ? "double" : "single");
    if (options->oversampling != 0 && (!(options->oversampling >= 1.25) || !(options->oversampling <= 2)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: oversampling %g; 1.25 to 2 are supported", options->oversampling);
    if (most_batch < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "NUFFT: batches of %d are not supported", most_batch);
    return VF_OK;
}

/* Sets the grid sizes for an oversampling. Returns the smallest ratio of grid to matrix that results, at most 2. */
static double set_grids(vf_nufft *plan, double tolerance, double oversampling)
{
    double least = 1e300;
    /* A kernel must not wrap around the grid and overlap itself. */
    int64_t least_grid = (int64_t)gridding_estimate_width(tolerance, oversampling, 3) + 4;
    for (int a = 0; a < 3; a++) {
        gridding_axis *axis = &plan->axis[a];
        axis->grid = 1;
        if (axis->voxels == 1)
            continue;
        int64_t wanted = (int64_t)ceil(oversampling * (double)axis->voxels - 1e-9);
        axis->grid = vf_fft_good_length(wanted < least_grid ? least_grid : wanted);
        least = fmin(least, (double)axis->grid / (double)axis->voxels);
    }
    return fmin(least, 2); /* small matrices: no gain from more */
}

static double grid_points(const vf_nufft *plan)
{
    return (double)plan->axis[0].grid * (double)plan->axis[1].grid * (double)plan->axis[2].grid;
}

static double unit_roundoff(const vf_nufft *plan)
{
    return plan->real == VF_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
}

/* The cost of the grid's transforms, and of memory traffic for it. */
static double grid_cost(const vf_nufft *plan, const gridding_costs *costs)
{
    double longer = 1;
    for (int a = 0; a < 3; a++)
        if (plan->axis[a].grid > 1 && plan->axis[a].grid % 16 != 0)
            longer += costs->length / plan->axes;
    return costs->point * longer * grid_points(plan);
}

/* Whether a grid of so many bytes is large. On GPUs it is not as long as it takes only a small share of the memory. */
static bool is_large(const vf_nufft *plan, double bytes)
{
    const double LARGE = 420e6, SHARE = 1.0 / 32;
    uint64_t free_bytes, total = 0;
    if (bytes <= LARGE || vf_device_is_host(plan->device))
        return bytes > LARGE;
    return vf_device_memory(plan->device, &free_bytes, &total) != VF_OK || bytes > SHARE * (double)total;
}

/* Chooses the oversampling with the least cost of spreading and transform together.
 *
 * Rounding bounds the oversampling from below: it must not take more than half the tolerance, or else must be as small
 * as possible. The bound is for the worst input known, the point spread function of spokes: thousands of equal values add
 * up at the grid's centre, and what these sums lose goes to all voxels, also to the corners, where the image is small and
 * corrections are large. By hand, on 2344 spokes of 128 samples on 128^3, that was up to 70 times what
 * gridding_estimate_rounding gives for values that do not add up, and 20 times for white noise. test_gridding_large checks
 * that the tolerance holds.
 *
 * Memory bounds it from above: of large grids only the first that is accurate enough is used. */
static double choose_oversampling(vf_nufft *plan, double tolerance, const gridding_costs *costs)
{
    static const double candidates[] = {1.25, 1.375, 1.5, 1.625, 1.75, 2};
    enum { CANDIDATES = sizeof candidates / sizeof *candidates };
    const double growth = 60, unit = unit_roundoff(plan);
    double best = candidates[0], least = HUGE_VAL, least_rounding = HUGE_VAL;
    for (int i = 0; i < CANDIDATES; i++) {
        double sigma = set_grids(plan, tolerance, candidates[i]);
        double bytes = grid_points(plan) * (1 + GRIDDING_MAX_WIDTH / (double)plan->axis[0].grid) *
                       (double)vf_dtype_bytes(plan->complex_type);
        double width = gridding_estimate_width(tolerance, sigma, plan->axes);
        double rounding = growth * unit * gridding_estimate_rounding(tolerance, sigma, plan->axes);
        double rows = pow(width, plan->axes - 1),
               sample = costs->sample + rows * (costs->row + costs->kernel_point * width),
               cost = (double)plan->samples * sample + grid_cost(plan, costs);
        rounding = fmax(rounding, tolerance / 2);
        if (least_rounding <= tolerance / 2 && is_large(plan, bytes))
            break;
        if (rounding < least_rounding || (rounding == least_rounding && cost < least)) {
            least_rounding = rounding;
            least = cost;
            best = candidates[i];
        }
    }
    return best;
}

/* scale [voxels] = 1 / the kernel's transform at the frequency of each voxel. The transform is even. Returns false
 * without memory. */
static bool make_scale(const vf_nufft *plan, const gridding_axis *axis, double *scale)
{
    const int64_t centre = axis->voxels / 2;
    double *transform = malloc((size_t)(centre + 1) * sizeof(double));
    if (!transform)
        return false;
    gridding_kernel_transform(&plan->kernel, (int)centre + 1, 1 / (double)axis->grid, transform);
    for (int64_t i = 0; i < axis->voxels; i++)
        scale[i] = 1 / transform[i < centre ? centre - i : i - centre];
    free(transform);
    return true;
}

static vf_status make_scales(vf_nufft *plan)
{
    for (int a = 0; a < 3; a++) {
        const gridding_axis *axis = &plan->axis[a];
        const size_t bytes = (size_t)axis->voxels * sizeof(double);
        const double *same = NULL;
        for (int b = 0; b < a; b++)
            if (plan->axis[b].voxels == axis->voxels && plan->axis[b].grid == axis->grid)
                same = plan->scale[b];
        plan->scale[a] = malloc(bytes);
        bool made = plan->scale[a] != NULL;
        if (made && same)
            memcpy(plan->scale[a], same, bytes);
        else if (made && axis->width > 1)
            made = make_scale(plan, axis, plan->scale[a]);
        else if (made)
            plan->scale[a][0] = 1;
        if (!made)
            return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory for a plan");
    }
    return VF_OK;
}

static vf_status make_segments(const vf_nufft *plan, const vf_nufft_samples *samples, const float *field,
                               vf_segments *out)
{
    if (!plan->has_field)
        return VF_OK;
    return vf_segments_create(plan->ctx, samples->count, samples->time, plan->voxels, field, false,
                              plan->segment_tolerance, out);
}

static vf_status make_plan(vf_nufft *plan, const vf_nufft_samples *samples, const vf_nufft_options *options,
                           const gridding_costs *costs)
{
    double tolerance = options->tolerance;
    if (options->field) {
        /* Half of the tolerance is for the time segments, the rest (squares add up) for the transform. */
        plan->has_field = true;
        plan->segment_tolerance = 0.5 * tolerance;
        tolerance *= 0.86;
    }
    vf_status status = make_segments(plan, samples, options->field, &plan->segments);
    if (status != VF_OK)
        return status;
    double sigma = options->oversampling;
    if (sigma == 0)
        sigma = plan->axes > 0 ? choose_oversampling(plan, tolerance, costs) : 2;
    sigma = set_grids(plan, tolerance, sigma);
    if (!gridding_choose_kernel(tolerance, sigma, plan->axes > 0 ? plan->axes : 1, unit_roundoff(plan), &plan->kernel))
        return vf_fail(plan->ctx, VF_ERR_INTERNAL, "NUFFT: no kernel for tolerance %g at oversampling %g", tolerance,
                       sigma);
    for (int a = 0; a < 3; a++)
        plan->axis[a].width = plan->axis[a].voxels > 1 ? plan->kernel.width : 1;
    status = make_scales(plan);
    VF_TRY(status, plan->backend->create(plan, samples, options->field));
    plan->ready = status == VF_OK;
    return status;
}

vf_status vf_nufft_create(vf_device *device, const int64_t matrix[3], const vf_nufft_samples *samples, int most_batch,
                          const vf_nufft_options *options, vf_nufft **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = check(ctx, matrix, most_batch, options);
    VF_TRY(status, check_samples(ctx, samples, options->field != NULL));
    if (status != VF_OK)
        return status;
    vf_nufft *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "NUFFT: not enough memory for a plan");
    const void *table = NULL;
    status = vf_backend_choose(backends, "NUFFT", device, NULL, &table, NULL);
    const gridding_device *chosen = table;
    if (status == VF_OK) {
        plan->backend = chosen->backend;
        plan->set_samples = chosen->set_samples;
    }
    plan->device = device;
    plan->ctx = ctx;
    plan->samples = samples->count;
    plan->voxels = matrix[0] * matrix[1] * matrix[2];
    plan->most_batch = most_batch;
    plan->real = options->precision;
    plan->complex_type = vf_dtype_complex(options->precision);
    for (int a = 0; a < 3; a++) {
        plan->axis[a].voxels = matrix[a];
        plan->axes += matrix[a] > 1;
    }
    VF_TRY(status, make_plan(plan, samples, options, chosen->costs));
    if (status == VF_OK)
        *out = plan;
    else
        vf_nufft_destroy(plan);
    return status;
}

vf_status vf_nufft_set_samples(vf_nufft *plan, const vf_nufft_samples *samples, const float *field)
{
    const int64_t matrix[3] = {plan->axis[0].voxels, plan->axis[1].voxels, plan->axis[2].voxels};
    if (plan->has_field != (field != NULL))
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT,
                       "NUFFT: the plan was made with%s a field map; its new samples need the same",
                       plan->has_field ? "" : "out");
    vf_segments segments = {0};
    vf_status status = check_samples(plan->ctx, samples, plan->has_field);
    VF_TRY(status, gridding_check_positions(plan->ctx, matrix, samples));
    VF_TRY(status, make_segments(plan, samples, field, &segments));
    if (status != VF_OK)
        return status;
    vf_segments_free(&plan->segments);
    plan->segments = segments;
    plan->samples = samples->count;
    if (plan->state && plan->set_samples) {
        status = plan->set_samples(plan, samples, field);
    } else {
        if (plan->state)
            plan->backend->destroy(plan);
        status = plan->backend->create(plan, samples, field);
    }
    plan->ready = status == VF_OK;
    return status;
}

static vf_status check_call(const vf_nufft *plan, vf_queue *queue, int batch)
{
    if (!plan->ready)
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "NUFFT: the plan has no samples, because setting them failed");
    if (batch < 1 || batch > plan->most_batch || vf_queue_device(queue) != plan->device)
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT,
                       "NUFFT: a batch of %d (the plan is for 1 to %d), or a queue of another device", batch,
                       plan->most_batch);
    return VF_OK;
}

vf_status vf_nufft_adjoint(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y)
{
    vf_status status = check_call(plan, queue, batch);
    return status == VF_OK ? plan->backend->adjoint(plan, queue, batch, c, y) : status;
}

vf_status vf_nufft_forward(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    vf_status status = check_call(plan, queue, batch);
    return status == VF_OK ? plan->backend->forward(plan, queue, batch, x, c) : status;
}

void vf_nufft_destroy(vf_nufft *plan)
{
    if (!plan)
        return;
    if (plan->state)
        plan->backend->destroy(plan);
    for (int a = 0; a < 3; a++)
        free(plan->scale[a]);
    vf_segments_free(&plan->segments);
    free(plan);
}

void vf_nufft_get_info(const vf_nufft *plan, vf_nufft_info *info)
{
    *info = (vf_nufft_info){.width = plan->kernel.width,
                            .beta = plan->kernel.beta,
                            .grid = {plan->axis[0].grid, plan->axis[1].grid, plan->axis[2].grid},
                            .segments = plan->segments.count > 0 ? plan->segments.count : 1,
                            .bytes = plan->bytes};
}
