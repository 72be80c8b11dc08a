/* The electrostatic potential of a water molecule on a grid, in volts.
 * usage: potential_map [DEVICE]: cpu or cuda. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <voxfield/voxfield.h>

enum { ATOMS = 3, N = 48 };

/* Positions in angstrom, charges in e: the model TIP3P. */
static const double x[ATOMS] = {0, 0.7570, -0.7570}, y[ATOMS] = {0, 0.5859, 0.5859}, z[ATOMS] = {0, 0, 0};
static const double charge[ATOMS] = {-0.834, 0.417, 0.417};

static const double volt_angstrom = 14.3996454687; /* e / (4 pi epsilon_0) */

/* The same sum, at one grid point. */
static double potential_at(const vf_grid *grid, int i, int j, int k)
{
    double sum = 0;
    for (int a = 0; a < ATOMS; a++) {
        const double dx = grid->origin[0] + grid->spacing[0] * i - x[a];
        const double dy = grid->origin[1] + grid->spacing[1] * j - y[a];
        const double dz = grid->origin[2] + grid->spacing[2] * k - z[a];
        sum += volt_angstrom * charge[a] / sqrt(dx * dx + dy * dy + dz * dz);
    }
    return sum;
}

static vf_status make_map(vf_device *device, const vf_grid *grid, float *map)
{
    const vf_coulomb_atoms atoms = {.count = ATOMS, .x = x, .y = y, .z = z, .charge = charge};
    const vf_coulomb_options options = {.scale = volt_angstrom, .r_min = 0.1, .precision = VF_F32};
    const vf_box all = vf_grid_box(grid);
    const int64_t points = vf_grid_points(grid);
    vf_array on_device = {0}, on_host = {.data = map, .count = points, .type = VF_F32};
    vf_coulomb *plan = NULL;
    vf_queue *queue = NULL;
    vf_status status = vf_queue_create(device, &queue);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_F32, points, &on_device);
    if (status == VF_OK)
        status = vf_coulomb_create(device, grid, &atoms, &options, &plan);
    if (status == VF_OK)
        status = vf_coulomb_execute(plan, queue, &all, on_device.data);
    if (status == VF_OK)
        status = vf_array_copy(queue, &on_host, &on_device, points);
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    vf_coulomb_destroy(plan);
    vf_array_free(&on_device);
    vf_queue_destroy(queue);
    return status;
}

int main(int argc, char **argv)
{
    const vf_grid grid = {.origin = {-5.9, -5.9, -5.9}, .spacing = {0.25, 0.25, 0.25}, .counts = {N, N, N}};
    float *map = malloc(sizeof *map * N * N * N);
    vf_context *ctx = NULL;
    if (!map || vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_status status = vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu");
    if (status == VF_OK)
        status = make_map(vf_context_device(ctx, 0), &grid, map);
    if (status == VF_OK) {
        const double value = map[(20 * N + 30) * N + 10], exact = potential_at(&grid, 10, 30, 20);
        printf("the potential at (%.2f, %.2f, %.2f) angstrom is %.6f V; summed here: %.6f V\n", -5.9 + 2.5, -5.9 + 7.5,
               -5.9 + 5.0, value, exact);
        if (!(fabs(value - exact) <= 1e-5)) /* the terms are at most 3 V, with relative errors of a few 2^-24 */
            status = VF_ERR_INTERNAL;
    } else {
        fprintf(stderr, "potential_map: %s\n", vf_context_message(ctx));
    }
    vf_context_destroy(ctx);
    free(map);
    return vf_status_exit_code(status);
}
