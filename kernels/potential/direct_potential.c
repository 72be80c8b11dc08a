/* The direct sum as a method: exact, in free space, for any box of the grid. kernels/coulomb_sum computes it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/variants.h"
#include "potential_methods.h"
#include "voxfield/timer.h"

static vf_coulomb_options options_of(const vf_potential_problem *problem)
{
    return (vf_coulomb_options){.scale = problem->pair.scale,
                                .r_min = problem->pair.r_min,
                                .distance_dielectric = problem->pair.law == VF_PAIR_DISTANCE_DIELECTRIC,
                                .precision = problem->precision,
                                .variant = problem->variant};
}

/* ---- costs ---- */

/* The rates are pairs of a charge and a point per second, of a core and of a GPU. Desktop cards have few units for
 * double precision. */
static double expected_seconds(const vf_potential_problem *problem, vf_device_kind kind, int threads, double charges,
                               double points)
{
    static const double gpu_rate[] = {1.5e12, 0.05e12}; /* single, double precision */
    const double core_rate[] = {vf_cpu_isa() == VF_ISA_AVX512 ? 1e10 : 5e9,
                                vf_cpu_isa() == VF_ISA_AVX512 ? 3e9 : 1.5e9};
    const bool twice = problem->precision == VF_F64;
    return charges * points / (kind == VF_DEVICE_CUDA ? gpu_rate[twice] : core_rate[twice] * threads);
}

/* The part of the work that is computed to measure a device. */
typedef struct part {
    int64_t charges; /* the number taken from the problem's */
    int64_t layers;  /* of 64 x 64 points */
    double work;     /* pairs that the device will have to sum in all */
} part;

/* Measures pairs per second on a device, by running the real kernel over a box that fills the device: on the CPU with all
 * threads, in the mean over the runs, so that other programs that use the cores count. */
static vf_status measure(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                         const part *of, double *rate, char *variant, size_t variant_size)
{
    static const double seconds_most = 0.25;
    static const double share = 0.02; /* at most this share of the whole work: measuring little work gains little */
    vf_queue *queue = NULL;
    vf_coulomb *plan = NULL;
    vf_array values = {0};
    vf_grid grid = {.spacing = {0.5, 0.5, 0.5}, .counts = {64, 64, of->layers}};
    vf_coulomb_atoms some = *charges;
    vf_coulomb_options options = options_of(problem);
    options.scale = 1;
    some.count = some.count < of->charges ? some.count : of->charges;
    const vf_box box = vf_grid_box(&grid);
    if (some.count > 0)
        memcpy(grid.origin, (double[3]){some.x[0], some.y[0], some.z[0]}, sizeof grid.origin);
    vf_status status = vf_coulomb_create(device, &grid, &some, &options, &plan);
    if (status != VF_OK)
        goto done;
    snprintf(variant, variant_size, "%s", vf_coulomb_variant(plan));
    status = vf_queue_create(device, &queue);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, problem->precision, vf_box_points(&box), &values));
    /* The first run loads the kernel of a GPU, and wakes threads: it counts only if it is the only one. */
    const double pairs = (double)some.count * (double)vf_box_points(&box);
    double began = vf_now();
    int counted = 0;
    for (int run = 0; status == VF_OK && run < 1000; run++) {
        const double spent = vf_now() - began;
        if (counted > 0 && (run * pairs > share * of->work || spent > seconds_most))
            break;
        if (run == 1) {
            began = vf_now();
            counted = 0;
        }
        status = vf_coulomb_execute(plan, queue, &box, values.data);
        VF_TRY(status, vf_queue_sync(queue));
        counted++;
    }
    *rate = pairs * counted / fmax(vf_now() - began, 1e-9);
done:
    vf_queue_destroy(queue); /* waits for running work */
    vf_array_free(&values);
    vf_coulomb_destroy(plan);
    return status;
}

static vf_status estimate(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                          double maps, vf_potential_estimate *out)
{
    const uint64_t bytes = 4 * sizeof(double) * (uint64_t)charges->count; /* positions and charge */
    const bool host = vf_device_is_host(device);
    double rate = 1;
    *out = (vf_potential_estimate){.evaluations = (double)charges->count * (double)vf_grid_points(&problem->grid),
                                   .host_bytes = bytes,
                                   .device_bytes = host ? 0 : bytes};
    const double work = out->evaluations * maps;
    const bool ref = problem->variant && strcmp(problem->variant, "ref") == 0; /* slow, and always one thread */
    const int64_t blocks = 1 + (vf_context_threads(vf_device_context(device)) + 3) / 4; /* enough for all threads */
    const bool small = vf_device_get_kind(device) == VF_DEVICE_OPENCL;                  /* it may be a CPU */
    const part some = {ref     ? 16
                       : host  ? 256
                       : small ? 1024
                               : 2048,
                       ref     ? 1
                       : host  ? 8 * blocks
                       : small ? 16
                               : 256,
                       work};
    const vf_status status = measure(device, problem, charges, &some, &rate, out->variant, sizeof out->variant);
    out->seconds = out->evaluations / rate;
    return status;
}

/* ---- plans: the state is just a vf_coulomb ---- */

static vf_status create(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                        void **state)
{
    const vf_coulomb_options options = options_of(problem);
    vf_coulomb *sum = NULL;
    const vf_status status = vf_coulomb_create(device, &problem->grid, charges, &options, &sum);
    *state = sum;
    return status;
}

static vf_status compute(const void *state, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_coulomb_execute(state, queue, box, out);
}

static void destroy(void *state)
{
    vf_coulomb_destroy(state);
}

static void pair(const vf_potential_problem *problem, vf_pair_potential *out)
{
    *out = problem->pair;
}

const vf_potential_method vf_potential_direct = {.name = "exact",
                                                 .title = "direct sum",
                                                 .devices = 1u << VF_DEVICE_CPU | 1u << VF_DEVICE_CUDA |
                                                            1u << VF_DEVICE_OPENCL,
                                                 .cells = 1u << VF_CELL_NONE,
                                                 .laws = 1u << VF_PAIR_COULOMB | 1u << VF_PAIR_DISTANCE_DIELECTRIC,
                                                 .extent = VF_POTENTIAL_BOXES,
                                                 .variant_name = vf_coulomb_variant_name,
                                                 .expected_seconds = expected_seconds,
                                                 .estimate = estimate,
                                                 .create = create,
                                                 .compute = compute,
                                                 .destroy = destroy,
                                                 .pair = pair};
