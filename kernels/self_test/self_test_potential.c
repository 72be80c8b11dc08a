/* Checks of the sums of potentials: charges beside and on a small grid; and of the search for ions. */
#include "cutoff_sum.h"
#include "ewald_sum.h"
#include "ion_search.h"
#include "self_test_checks.h"

static const double x[] = {0.1, 2.3, 4.9, 1.7, 3.3}, y[] = {0.4, 3.1, 1.2, 2.2, 0.6}, z[] = {0.3, 1.9, 0.8, 3.4, 2.6},
                    charge[] = {1, -0.8, 0.5, 0.7, -1.2};
static const vf_coulomb_atoms charges = {.count = 5, .x = x, .y = y, .z = z, .charge = charge};
static const vf_grid grid = {.origin = {-0.5, 0, 0.25}, .spacing = {0.5, 0.6, 0.55}, .counts = {12, 9, 8}};
enum { POINTS = 12 * 9 * 8 };
/* For the Ewald sum, whose mesh is then as small as the cell. */
static const vf_grid cell = {.origin = {-0.5, 0, 0.25},
                             .spacing = {0.75, 1, 1},
                             .counts = {8, 6, 6},
                             .cell = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{6, 0, 0}, {0, 6, 0}, {0, 0, 6}}}};

/* What the sums have in common: memory for the results, and reading them. */
typedef vf_status execution(const void *plan, vf_queue *queue, const vf_box *box, void *out);

static vf_status execute(self_test_run *run, const vf_grid *at, const void *plan, execution *how)
{
    const vf_box box = vf_grid_box(at);
    const int points = (int)vf_grid_points(at);
    void *out = NULL;
    vf_status status = self_test_put(run, run->real, points, 1, &out);
    VF_TRY(status, how(plan, run->queue, &box, out));
    VF_TRY(status, self_test_take(run, run->real, points, out));
    return status;
}

static vf_status execute_coulomb(const void *plan, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_coulomb_execute(plan, queue, box, out);
}

static vf_status coulomb(self_test_run *run, const char *variant)
{
    const vf_coulomb_options options = {
        .scale = 1, .r_min = 0.2, .precision = run->real, .variant = run->reference ? "ref" : variant};
    vf_coulomb *plan = NULL;
    vf_status status = vf_coulomb_create(run->device, &grid, &charges, &options, &plan);
    VF_TRY(status, execute(run, &grid, plan, execute_coulomb));
    vf_coulomb_destroy(plan);
    return status;
}

vf_status self_test_coulomb(self_test_run *run)
{
    return coulomb(run, NULL);
}

vf_status self_test_published(self_test_run *run)
{
    return coulomb(run, "dcs3");
}

static vf_status execute_cutoff(const void *plan, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_cutoff_execute(plan, queue, box, false, out);
}

vf_status self_test_cutoff(self_test_run *run)
{
    const vf_cutoff_options options = {.scale = 1,
                                       .r_min = 0.2,
                                       .cutoff = 2.5,
                                       .bandwidth = 10,
                                       .precision = run->real,
                                       .variant = run->reference ? "ref" : NULL};
    vf_cutoff *plan = NULL;
    vf_status status = vf_cutoff_create(run->device, &grid, &charges, &options, &plan);
    VF_TRY(status, execute(run, &grid, plan, execute_cutoff));
    vf_cutoff_destroy(plan);
    return status;
}

static vf_status execute_ewald(const void *plan, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_ewald_execute(plan, queue, box, out);
}

/* The reference is Ewald's sum by brute force. */
static vf_status sum_cell(self_test_run *run)
{
    enum { CELL_POINTS = 8 * 6 * 6 };
    double points[CELL_POINTS][3], sums[CELL_POINTS];
    for (int n = 0; n < CELL_POINTS; n++) {
        const int at[] = {n % 8, n / 8 % 6, n / 8 / 6};
        for (int a = 0; a < 3; a++)
            points[n][a] = cell.origin[a] + cell.spacing[a] * at[a];
    }
    vf_ewald_reference(&cell.cell, &charges, 1, 0.2, false, CELL_POINTS, points[0], sums);
    for (int n = 0; n < CELL_POINTS; n++)
        run->values[n] = sums[n];
    run->ends[run->groups++] = CELL_POINTS;
    return VF_OK;
}

vf_status self_test_ewald(self_test_run *run)
{
    const vf_ewald_options options = {
        .scale = 1, .r_min = 0.2, .tolerance = run->real == VF_F64 ? 1e-8 : 1e-4, .precision = run->real};
    vf_ewald *plan = NULL;
    if (run->reference)
        return sum_cell(run);
    vf_status status = vf_ewald_create(run->device, &cell, &charges, &options, &plan);
    VF_TRY(status, execute(run, &cell, plan, execute_ewald));
    vf_ewald_destroy(plan);
    return status;
}

/* Where two ions of each sign go. The map is rough, so that cells are summed again. */
vf_status self_test_ions(self_test_run *run)
{
    static const double distance[] = {1.5, 1.5, 1.5, 1.5, 1.5};
    const vf_ion_search_options options = {.pair = {.law = VF_PAIR_COULOMB, .scale = 1, .r_min = 0.2},
                                           .precision = VF_F32,
                                           .variant = run->reference ? "ref" : NULL};
    const vf_coulomb_options of_map = {.scale = 1, .r_min = 0.2, .precision = VF_F32, .variant = "ref"};
    const vf_box box = vf_grid_box(&grid);
    vf_device *host = vf_context_host(vf_device_context(run->device));
    float map[POINTS];
    vf_coulomb *sums = NULL;
    vf_queue *queue = NULL;
    vf_ion_search *search = NULL;
    vf_status status = vf_queue_create(host, &queue);
    VF_TRY(status, vf_coulomb_create(host, &grid, &charges, &of_map, &sums));
    VF_TRY(status, vf_coulomb_execute(sums, queue, &box, map));
    VF_TRY(status, vf_ion_search_create(run->device, &grid, &charges, map, &options, &search));
    VF_TRY(status, vf_ion_search_exclude(search, distance));
    for (int i = 0; status == VF_OK && i < 4; i++) {
        vf_ion_place place = {.index = -1};
        status = vf_ion_search_find(search, i % 2 ? 1 : -1, &place);
        VF_TRY(status, vf_ion_search_add(search, place.position, i % 2 ? 1 : -1, 1, NULL));
        self_test_value(run, (double)place.index);
    }
    vf_ion_search_destroy(search);
    vf_coulomb_destroy(sums);
    vf_queue_destroy(queue);
    return status;
}
