/* Sums with a cutoff as a method: charges within a distance only, by a law that ends there. kernels/cutoff_sum computes
 * them. It is not Coulomb's law, so it is never chosen for a user who has not named it. */
#include <math.h>
#include <string.h>

#include "potential_methods.h"
#include "voxfield/machine_speed.h"
#include "voxfield/timer.h"

static const double pi = 3.14159265358979323846;

static vf_cutoff_options options_of(const vf_potential_problem *problem)
{
    return (vf_cutoff_options){.scale = problem->pair.scale,
                               .r_min = problem->pair.r_min,
                               .cutoff = problem->cutoff,
                               .law = problem->cutoff_law,
                               .switch_from = problem->switch_from,
                               .precision = problem->precision,
                               .variant = problem->variant};
}

/* ---- costs ---- */

/* Seconds of a pair on one core and on a GPU, and of a charge in a plan. */
static const double core_pair[] = {0.45e-9, 0.9e-9}, gpu_pair[] = {2e-12, 4e-11}, charge_seconds[] = {2e-7, 3e-8};

static double seconds_for(vf_dtype precision, vf_device_kind kind, int threads, double charges, double pairs)
{
    const bool gpu = kind == VF_DEVICE_CUDA;
    const double gain = gpu ? 1 : vf_team_gain(threads);
    return (gpu ? 2e-4 : 1e-5) + charges * charge_seconds[gpu] / gain +
           pairs * (gpu ? gpu_pair[precision == VF_F64] : core_pair[precision == VF_F64] / gain);
}

/* For a molecule of usual density. */
static double expected_seconds(const vf_potential_problem *problem, vf_device_kind kind, int threads, double charges,
                               double points)
{
    const double density = 0.1, near = fmin(charges, 4 * pi / 3 * pow(problem->cutoff, 3) * density);
    return seconds_for(problem->precision, kind, threads, charges, points * near);
}

/* Pairs of a charge and a point within the cutoff, approximately: of a sample of charges, the part of the box around the
 * charge that is on the grid, times the sphere's part of the box. In a cell, images take the place of what is beyond. */
static double count_pairs(const vf_potential_problem *problem, const vf_grid *grid, const vf_coulomb_atoms *charges)
{
    const int64_t samples = charges->count < 4000 ? charges->count : 4000;
    const double rc = problem->cutoff, *h = grid->spacing;
    double sum = 0;
    if (problem->grid.cell.kind != VF_CELL_NONE)
        return (double)charges->count * 4 * pi / 3 * pow(rc, 3) / vf_cell_volume(&problem->grid.cell) *
               (double)vf_grid_points(grid);
    for (int64_t s = 0; s < samples; s++) {
        const int64_t i = s * charges->count / samples;
        const double p[3] = {charges->x[i], charges->y[i], charges->z[i]};
        double part = pi / 6;
        for (int a = 0; a < 3; a++) {
            const double lo = fmax(p[a] - rc, grid->origin[a] - 0.5 * h[a]),
                         hi = fmin(p[a] + rc, grid->origin[a] + h[a] * ((double)grid->counts[a] - 0.5));
            part *= fmax(hi - lo, 0) / h[a];
        }
        sum += part;
    }
    return samples > 0 ? sum * (double)charges->count / (double)samples : 0;
}

/* Charges and images that are near the grid, or might be. */
static double count_images(const vf_potential_problem *problem, const vf_coulomb_atoms *charges)
{
    const vf_grid *grid = &problem->grid;
    double images = (double)charges->count;
    for (int a = 0; a < 3 && grid->cell.kind != VF_CELL_NONE; a++)
        images *= grid->spacing[a] * (double)grid->counts[a] + 2 * problem->cutoff;
    return grid->cell.kind == VF_CELL_NONE ? images : images / vf_cell_volume(&grid->cell);
}

/* The reference is slow. */
static bool is_ref(const vf_potential_problem *problem)
{
    return problem->variant && strcmp(problem->variant, "ref") == 0;
}

/* How much longer than expected the middle of the map takes on this device; 1 where there is nothing. */
static vf_status measure(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                         double *factor)
{
    const bool host = vf_device_is_host(device);
    const int64_t most = is_ref(problem) ? 8 : host ? 48 : 128;
    const double least_pairs = 1e5;
    const vf_cutoff_options options = options_of(problem);
    const int threads = host ? vf_context_threads(vf_device_context(device)) : 1;
    vf_grid part = problem->grid;
    vf_cutoff *plan = NULL;
    vf_queue *queue = NULL;
    vf_array values = {0};
    for (int a = 0; a < 3; a++)
        if (part.counts[a] > most) { /* the middle */
            part.origin[a] += part.spacing[a] * (double)((part.counts[a] - most) / 2);
            part.counts[a] = most;
        }
    const vf_box all = vf_grid_box(&part);
    const double pairs = count_pairs(problem, &part, charges);
    if (pairs < least_pairs)
        return VF_OK;
    vf_status status = vf_cutoff_create(device, &part, charges, &options, &plan);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, problem->precision, vf_box_points(&all), &values));
    VF_TRY(status, vf_queue_create(device, &queue));
    for (int run = 0; run < (host ? 1 : 2); run++) { /* the first loads the kernel of a GPU */
        const double began = vf_now();
        VF_TRY(status, vf_cutoff_execute(plan, queue, &all, false, values.data));
        VF_TRY(status, vf_queue_sync(queue));
        *factor = (vf_now() - began) / seconds_for(problem->precision, vf_device_get_kind(device), threads, 0, pairs);
    }
    vf_queue_destroy(queue); /* waits for running work */
    vf_array_free(&values);
    vf_cutoff_destroy(plan);
    return status;
}

static vf_status estimate(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                          double maps, vf_potential_estimate *out)
{
    const double worth_measuring = 0.05; /* seconds */
    const bool host = vf_device_is_host(device);
    const double count = (double)charges->count, pairs = count_pairs(problem, &problem->grid, charges);
    const int threads = host ? vf_context_threads(vf_device_context(device)) : 1;
    /* x, y, z and charge in double precision, and what is sorted; places where bins begin */
    const uint64_t bytes =
        (uint64_t)(fmin(72 * (count_images(problem, charges) + 1), 1e18) + (double)vf_grid_points(&problem->grid) / 32);
    double factor = 1;
    *out =
        (vf_potential_estimate){.evaluations = fmax(pairs, 1), .host_bytes = bytes, .device_bytes = host ? 0 : bytes};
    vf_status status = vf_potential_near_variant(device, problem, out->variant, sizeof out->variant);
    const double preparing = seconds_for(problem->precision, vf_device_get_kind(device), threads, count, 0),
                 all = seconds_for(problem->precision, vf_device_get_kind(device), threads, count, pairs);
    if (status == VF_OK && (all * maps > worth_measuring || is_ref(problem)))
        status = measure(device, problem, charges, &factor);
    out->seconds = preparing + (all - preparing) * fmax(factor, 0.25);
    out->preparing = preparing / out->seconds;
    return status;
}

/* ---- plans: the state is just a vf_cutoff ---- */

static vf_status create(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                        void **state)
{
    const vf_cutoff_options options = options_of(problem);
    vf_cutoff *sum = NULL;
    const vf_status status = vf_cutoff_create(device, &problem->grid, charges, &options, &sum);
    *state = sum;
    return status;
}

static vf_status compute(const void *state, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_cutoff_execute(state, queue, box, false, out);
}

static void destroy(void *state)
{
    vf_cutoff_destroy(state);
}

/* ---- the potential of one charge ---- */

typedef struct image_sum {
    const vf_potential_problem *problem;
    double sum;
} image_sum;

static void add_image(void *user, const double d[3])
{
    image_sum *s = user;
    const vf_potential_problem *p = s->problem;
    s->sum += vf_cutoff_value(p->cutoff_law, p->cutoff, p->switch_from, p->pair.r_min,
                              sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
}

/* The charge and its images; without a cell, there are none. */
static double value(const void *state, const double d[3])
{
    image_sum s = {.problem = state};
    const double rc = s.problem->cutoff, lo[3] = {-rc, -rc, -rc}, hi[3] = {rc, rc, rc};
    if (s.problem->grid.cell.kind == VF_CELL_NONE)
        add_image(&s, d);
    else
        vf_cell_images(&s.problem->grid.cell, d, lo, hi, add_image, &s);
    return s.sum;
}

static void pair(const vf_potential_problem *problem, vf_pair_potential *out)
{
    *out = problem->pair;
    out->law = problem->grid.cell.kind == VF_CELL_NONE ? VF_PAIR_FUNCTION : VF_PAIR_PERIODIC;
    out->cell = problem->grid.cell;
    out->value = value;
    out->state = problem;
}

const vf_potential_method vf_potential_cutoff = {
    .name = "cutoff",
    .title = "cutoff sum",
    .devices = 1u << VF_DEVICE_CPU | 1u << VF_DEVICE_CUDA | 1u << VF_DEVICE_OPENCL,
    .cells = 1u << VF_CELL_NONE | 1u << VF_CELL_ORTHORHOMBIC | 1u << VF_CELL_TRICLINIC,
    .laws = 1u << VF_PAIR_COULOMB,
    .cuts_off = true,
    .extent = VF_POTENTIAL_BOXES,
    .variant_name = vf_cutoff_variant_name,
    .expected_seconds = expected_seconds,
    .estimate = estimate,
    .create = create,
    .compute = compute,
    .destroy = destroy,
    .pair = pair};
