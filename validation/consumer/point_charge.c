/* The potential of one charge, by the installed library, against Coulomb's law. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include <voxfield/voxfield.h>

enum { NX = 24, NY = 20, NZ = 16, POINTS = NX * NY * NZ };

/* The largest relative deviation of the values from scale * charge / distance; a NaN is returned as it is. */
static double largest_deviation(const vf_grid *grid, const vf_coulomb_atoms *atoms, double scale, const float *values)
{
    double largest = 0;
    for (int n = 0; n < POINTS; n++) {
        double x = grid->origin[0] + grid->spacing[0] * (n % NX) - atoms->x[0];
        double y = grid->origin[1] + grid->spacing[1] * (n / NX % NY) - atoms->y[0];
        double z = grid->origin[2] + grid->spacing[2] * (n / (NX * NY)) - atoms->z[0];
        double expected = scale * atoms->charge[0] / sqrt(x * x + y * y + z * z);
        double deviation = fabs((double)values[n] - expected) / fabs(expected);
        if (!(deviation <= largest))
            largest = deviation;
    }
    return largest;
}

int main(void)
{
    static float values[POINTS];
    const double scale = 14.399645, x = 0.3, y = -0.2, z = 0.1, charge = -1.5;
    const vf_grid grid = {.origin = {-6, -5, -4}, .spacing = {0.5, 0.5, 0.5}, .counts = {NX, NY, NZ}};
    const vf_box box = vf_grid_box(&grid);
    const vf_coulomb_atoms atoms = {.count = 1, .x = &x, .y = &y, .z = &z, .charge = &charge};
    const vf_coulomb_options options = {.scale = scale, .r_min = 1e-3, .precision = VF_F32};
    vf_context *ctx = NULL;
    vf_coulomb *plan = NULL;
    vf_queue *queue = NULL;
    int failed = 1;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_device *cpu = vf_context_device(ctx, 0);
    if (vf_coulomb_create(cpu, &grid, &atoms, &options, &plan) == VF_OK && vf_queue_create(cpu, &queue) == VF_OK &&
        vf_coulomb_execute(plan, queue, &box, values) == VF_OK && vf_queue_sync(queue) == VF_OK) {
        /* Single precision: the difference of positions, the root and the product each round by 2^-24 = 6e-8 or little
         * more. */
        const double deviation = largest_deviation(&grid, &atoms, scale, values), bound = 1e-6;
        failed = !(deviation <= bound);
        printf("voxfield %s, %s: %d points, largest deviation from C q / r: %.1e (bound %.0e)\n", VF_VERSION,
               vf_coulomb_variant(plan), POINTS, deviation, bound);
    } else {
        fprintf(stderr, "point_charge: %s\n", vf_context_message(ctx));
    }
    vf_queue_destroy(queue);
    vf_coulomb_destroy(plan);
    vf_context_destroy(ctx);
    return failed;
}
