/* The error of every variant of the Coulomb sum against double precision, for a molecule near the origin and far
 * from it.
 *
 * usage: bench_accuracy DEVICE [REPORT.json [molecule.pqr]]     (default: the sample protein)
 *
 * Errors over a grid around the molecule (spacing 1 angstrom, border 5), in single precision:
 *   largest   the largest |V - V_ref| / sum |q|/r, in units of u = 2^-24
 *   rms       the root mean square of V - V_ref over that of V_ref
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coulomb_sum.h"
#include "molecule/molecule.h"
#include "voxfield/report.h"

static vf_context *ctx;

static void die(void)
{
    fprintf(stderr, "bench_accuracy: %s\n", vf_context_message(ctx));
    exit(1);
}

static void compute(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *atoms, const char *variant,
                    vf_dtype type, vf_array *host)
{
    vf_coulomb_options options = {.scale = 1, .r_min = 0.1, .precision = type, .variant = variant};
    vf_box box = vf_grid_box(grid);
    int64_t points = vf_grid_points(grid);
    vf_array values = {0};
    vf_queue *queue = NULL;
    vf_coulomb *plan = NULL;
    if (vf_coulomb_create(device, grid, atoms, &options, &plan) != VF_OK || vf_queue_create(device, &queue) != VF_OK ||
        vf_array_create(device, VF_SPACE_DEVICE, type, points, &values) != VF_OK ||
        vf_array_create(device, VF_SPACE_PINNED, type, points, host) != VF_OK ||
        vf_coulomb_execute(plan, queue, &box, values.data) != VF_OK ||
        vf_array_copy(queue, host, &values, points) != VF_OK || vf_queue_sync(queue) != VF_OK)
        die();
    vf_array_free(&values);
    vf_queue_destroy(queue);
    vf_coulomb_destroy(plan);
}

/* Compares all variants of `device` with the reference, with molecule and grid moved by `shift` along x, y and z. */
static void table(vf_device *device, const molecule *m, double shift, vf_report *report)
{
    int64_t n = m->atoms;
    double *moved = malloc((size_t)n * 4 * sizeof *moved);
    vf_context *cpu;
    if (!moved || vf_context_create(&cpu) != VF_OK)
        exit(1);
    const double *axes[3] = {m->x, m->y, m->z};
    vf_grid grid = {.spacing = {1, 1, 1}};
    for (int a = 0; a < 3; a++) {
        grid.origin[a] = floor(m->lo[a] - 5) + shift;
        grid.counts[a] = (int64_t)(m->hi[a] - m->lo[a]) + 11;
        for (int64_t i = 0; i < n; i++)
            moved[a * n + i] = axes[a][i] + shift;
    }
    vf_coulomb_atoms atoms = {.count = n, .x = moved, .y = moved + n, .z = moved + 2 * n, .charge = m->charge},
                     sizes = atoms;
    for (int64_t i = 0; i < n; i++)
        moved[3 * n + i] = fabs(m->charge[i]);
    sizes.charge = moved + 3 * n;
    vf_array reference, size, values;
    compute(vf_context_device(cpu, 0), &grid, &atoms, "ref", VF_F64, &reference);
    compute(vf_context_device(cpu, 0), &grid, &sizes, "ref", VF_F64, &size);
    const double *v_ref = reference.data, *s = size.data;
    char name[64];
    snprintf(name, sizeof name, "%g angstrom from the origin", shift);
    vf_report_begin(report, name);
    printf("moved by %g angstrom\n", shift);
    const char *variant;
    for (int v = 0; (variant = vf_coulomb_variant_name(vf_device_get_kind(device), v)); v++) {
        if ((strcmp(variant, "avx512") == 0 && vf_cpu_isa() < VF_ISA_AVX512) ||
            (strcmp(variant, "avx2") == 0 && vf_cpu_isa() < VF_ISA_AVX2))
            continue;
        compute(device, &grid, &atoms, variant, VF_F32, &values);
        double largest = 0, errors = 0, squares = 0;
        for (int64_t p = 0; p < values.count; p++) {
            double error = fabs((double)((float *)values.data)[p] - v_ref[p]);
            if (!(error / s[p] <= largest))
                largest = error / s[p];
            errors += error * error;
            squares += v_ref[p] * v_ref[p];
        }
        printf("  %-9s largest %10.2f u   rms %.2e\n", variant, largest * 0x1p24, sqrt(errors / squares));
        vf_report_begin(report, variant);
        vf_report_number(report, "largest_in_u", largest * 0x1p24);
        vf_report_number(report, "rms", sqrt(errors / squares));
        vf_report_end(report);
        vf_array_free(&values);
    }
    vf_report_end(report);
    vf_array_free(&reference);
    vf_array_free(&size);
    vf_context_destroy(cpu);
    free(moved);
}

int main(int argc, char **argv)
{
    molecule m;
    vf_report *report = NULL;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    if (vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu") != VF_OK) {
        printf("SKIP: %s\n", vf_context_message(ctx));
        return 77;
    }
    vf_device *device = vf_context_device(ctx, 0);
    if (read_molecule(ctx, argc > 3 ? argv[3] : SAMPLE_PROTEIN, &m) != VF_OK ||
        (argc > 2 && vf_report_create(ctx, argv[2], &report) != VF_OK))
        die();
    vf_report_run(report, "bench_accuracy", 0, NULL); /* no command, because it would contain paths of this machine */
    vf_report_text(report, "device", vf_device_name(device));
    table(device, &m, 0, report);
    table(device, &m, 2000, report);
    if (vf_report_commit(&report) != VF_OK)
        die();
    molecule_free(&m);
    vf_context_destroy(ctx);
    return 0;
}
