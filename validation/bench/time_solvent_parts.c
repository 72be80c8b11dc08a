/* Times the parts of the equation of a molecule in a solvent, for time_solvent.py.
 *
 * usage: time_solvent_parts ATOMS N EXTENT [check]
 *
 * ATOMS: a file of doubles x, y, z, charge, radius of each atom. The grid: N^3 points over EXTENT, centred on the origin. Prints a line of
 * JSON: processor time and time on the clock of each part in s, iterations, the energy in charges^2 over lengths, and the memory that
 * was planned and that was taken. With `check`, also the energy by a solution in double precision to 1e-10. Exit status 1 after an
 * error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_processor_time.h"
#include "solvent_internal.h"
#include "voxfield/multigrid.h"
#include "voxfield/timer.h"

enum { COLUMNS = 5 };
typedef enum part { SURFACE, RIGHT_SIDE, SOLVE, PARTS } part;
static const char *const part_names[PARTS] = {"surface", "right_side", "solve"};

typedef struct times {
    double processor[PARTS], clock[PARTS], processor_began, clock_began;
} times;

static void begin(times *t)
{
    t->processor_began = processor_time();
    t->clock_began = vf_now();
}

static void end(times *t, part p)
{
    t->processor[p] = processor_time() - t->processor_began;
    t->clock[p] = vf_now() - t->clock_began;
}

static double *read_atoms(const char *path, int64_t *count)
{
    FILE *file = fopen(path, "rb");
    double *rows = NULL, *columns = NULL;
    long bytes = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        bytes = ftell(file);
    *count = bytes / (long)(COLUMNS * sizeof *rows);
    if (bytes > 0 && fseek(file, 0, SEEK_SET) == 0) {
        rows = malloc((size_t)bytes);
        columns = malloc((size_t)bytes);
    }
    if (rows && columns && fread(rows, COLUMNS * sizeof *rows, (size_t)*count, file) == (size_t)*count)
        for (int64_t i = 0; i < *count * COLUMNS; i++)
            columns[i % COLUMNS * *count + i / COLUMNS] = rows[i];
    else {
        free(columns);
        columns = NULL;
    }
    free(rows);
    if (file)
        (void)fclose(file);
    return columns;
}

static double energy_of(const vf_solvent *plan, const vf_coulomb_atoms *atoms)
{
    double *u = malloc((size_t)atoms->count * sizeof *u), sum = 0;
    const vf_status status =
        u ? vf_solvent_reaction(plan, atoms->count, atoms->x, atoms->y, atoms->z, u) : VF_ERR_MEMORY;
    for (int64_t i = 0; status == VF_OK && i < atoms->count; i++)
        sum += atoms->charge[i] * u[i] / 2;
    free(u);
    return status == VF_OK ? sum : 0;
}

static vf_status widen(const vf_array *narrow, vf_array *wide, vf_device *device)
{
    const vf_status status = vf_array_create(device, VF_SPACE_DEVICE, VF_F64, narrow->count, wide);
    for (int64_t i = 0; status == VF_OK && i < narrow->count; i++)
        ((double *)wide->data)[i] = (double)((const float *)narrow->data)[i];
    return status;
}

/* The same matrix and right side in double precision, by multigrid of that. */
static vf_status solve_in_double(vf_solvent *plan, double *b)
{
    vf_stencil_options s = {.type = VF_F64};
    const vf_cg_options o = {.iterations = 100, .tolerance = 1e-10};
    vf_array wide[4] = {0};
    vf_multigrid *multigrid = NULL;
    vf_queue *queue = NULL;
    vf_cg_result result = {0};
    vf_status status = vf_queue_create(plan->device, &queue);
    for (int a = 0; a < 3; a++) {
        VF_TRY(status, widen(&plan->faces[a], &wide[a], plan->device));
        s.counts[a] = plan->grid.counts[a];
        s.spacing[a] = plan->grid.spacing[a];
        s.faces[a] = wide[a].data;
    }
    VF_TRY(status, widen(&plan->reaction, &wide[3], plan->device));
    s.reaction = wide[3].data;
    VF_TRY(status, vf_multigrid_create(plan->device, &s, 1, &multigrid));
    VF_TRY(status, vf_multigrid_solve(multigrid, queue, &o, b, plan->unknown.data, &result));
    if (status == VF_OK && result.end != VF_SOLVER_CONVERGED)
        status = vf_fail(plan->ctx, VF_ERR_INTERNAL, "the solution in double precision did not converge");
    vf_multigrid_destroy(multigrid);
    vf_queue_destroy(queue);
    for (int i = 0; i < 4; i++)
        vf_array_free(&wide[i]);
    return status;
}

static vf_status run(vf_solvent *plan, const vf_coulomb_atoms *atoms, const double *radius, bool check)
{
    const vf_spheres spheres = {atoms->count, atoms->x, atoms->y, atoms->z, radius};
    const size_t bytes = (size_t)plan->points * sizeof(double);
    vf_array b = {0}, kept = {0};
    vf_cg_result result = {0};
    times t = {0};
    begin(&t);
    vf_status status = solvent_matrix(plan, &spheres);
    end(&t, SURFACE);
    begin(&t);
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->points, &b));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->points, &plan->unknown));
    VF_TRY(status, solvent_right_side(plan, atoms, radius, b.data));
    end(&t, RIGHT_SIDE);
    if (check) {
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->points, &kept));
        if (status == VF_OK)
            memcpy(kept.data, b.data, bytes);
    }
    begin(&t);
    VF_TRY(status, solvent_solve_system(plan, NULL, plan->options.tolerance, plan->options.iterations, b.data,
                                        plan->unknown.data, &result));
    end(&t, SOLVE);
    if (status == VF_OK) {
        struct rusage usage;
        const double peak = getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0;
        printf(
            "{\"iterations\": %d, \"residual\": %g, \"peak_bytes\": %.0f, \"planned_bytes\": %lld, \"energy\": %.17g",
            result.iterations, result.residual, peak,
            (long long)vf_solvent_bytes(&plan->grid, atoms->count, &plan->options), energy_of(plan, atoms));
        for (int p = 0; p < PARTS; p++)
            printf(", \"%s\": [%.4f, %.4f]", part_names[p], t.processor[p], t.clock[p]);
    }
    if (check)
        VF_TRY(status, solve_in_double(plan, kept.data));
    if (status == VF_OK && check)
        printf(", \"energy_double\": %.17g", energy_of(plan, atoms));
    if (status == VF_OK)
        printf("}\n");
    vf_array_free(&b);
    vf_array_free(&kept);
    return status;
}

int main(int argc, char **argv)
{
    vf_context *ctx = NULL;
    vf_solvent *plan = calloc(1, sizeof *plan);
    int64_t count = 0;
    double *columns = argc >= 4 ? read_atoms(argv[1], &count) : NULL;
    if (!plan || !columns || vf_context_create(&ctx) != VF_OK) {
        fprintf(stderr, "usage: time_solvent_parts ATOMS N EXTENT [check]\n");
        free(columns);
        free(plan);
        return 1;
    }
    const double *const of = columns;
    const vf_coulomb_atoms atoms = {count, of, of + count, of + 2 * count, of + 3 * count};
    const int64_t n = strtoll(argv[2], NULL, 10);
    const double extent = strtod(argv[3], NULL);
    plan->ctx = ctx;
    plan->device = vf_context_host(ctx);
    plan->options = vf_solvent_defaults();
    for (int a = 0; a < 3; a++) {
        plan->grid.counts[a] = n;
        plan->grid.spacing[a] = extent / (double)(n - 1);
        plan->grid.origin[a] = -extent / 2;
    }
    plan->points = vf_grid_points(&plan->grid);
    const vf_status status = run(plan, &atoms, of + 4 * count, argc > 4 && strcmp(argv[4], "check") == 0);
    if (status != VF_OK)
        fprintf(stderr, "time_solvent_parts: %s\n", vf_context_message(ctx));
    vf_solvent_destroy(plan);
    vf_context_destroy(ctx);
    free(columns);
    return status != VF_OK;
}
