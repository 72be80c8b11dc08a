/* The stage of cionize that computes a map gives the same bits with a method for any box of the grid, and with a
 * method for only the whole grid. The second is the direct sum, declared as such a method.
 *
 * usage: test_compute_potential DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "device_fixture.h"
#include "potential/potential_plan.h"

enum { ATOMS = 77 };

typedef struct problem {
    double data[4][ATOMS]; /* x, y, z, charge */
    molecule mol;
    vf_grid grid;
    cionize_settings settings;
} problem;

static problem *random_problem(const char *spec)
{
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->grid = (vf_grid){.origin = {-3, 5, 1}, .spacing = {0.5, 0.4, 0.6}, .counts = {200, 11, 64}};
    for (int i = 0; i < ATOMS; i++)
        for (int a = 0; a < 4; a++)
            p->data[a][i] = a < 3 ? p->grid.origin[a] + p->grid.spacing[a] * (double)p->grid.counts[a] * uniform()
                                  : 2 * uniform() - 1;
    p->mol = (molecule){.atoms = ATOMS, .x = p->data[0], .y = p->data[1], .z = p->data[2], .charge = p->data[3]};
    p->settings = (cionize_settings){
        .unit = "e/A", .temperature = 298.15, .dielectric = 1, .r_min = 0.1, .precision = VF_F32, .device = spec};
    return p;
}

typedef struct sink {
    char *at;
    int64_t layer_bytes, calls;
} sink;

static vf_status take(void *user, int64_t first, int64_t count, const void *values)
{
    sink *s = user;
    memcpy(s->at + first * s->layer_bytes, values, (size_t)(count * s->layer_bytes));
    s->calls++;
    return VF_OK;
}

/* Returns the map in the file's order, and the number of slabs. */
static char *compute(const problem *p, const vf_potential_method *method, map_order order, int64_t *slabs)
{
    cionize_settings settings = p->settings;
    potential_plan plan;
    int64_t done[16] = {0};
    const int64_t bytes = vf_grid_points(&p->grid) * (int64_t)sizeof(float);
    settings.method = method;
    need(potential_prepare(ctx, &settings, &p->mol, &p->grid, order, 1, &plan));
    sink s = {.at = malloc((size_t)bytes), .layer_bytes = bytes / plan.cut.layers};
    assert_non_null(s.at);
    memset(s.at, 0xff, (size_t)bytes);
    need(potential_compute(ctx, &p->mol, &plan, take, &s, done));
    assert_int_equal(s.calls, plan.slabs);
    *slabs = plan.slabs;
    return s.at;
}

static void test_whole(void **state)
{
    (void)state;
    vf_potential_method whole = *vf_potential_method_at(0);
    whole.name = "whole";
    whole.extent = VF_POTENTIAL_WHOLE;
    char spec[64];
    snprintf(spec, sizeof spec, "%s", vf_device_spec(device));
    problem *p = random_problem(spec);
    for (int order = MAP_X_FASTEST; order <= MAP_Z_FASTEST; order++) {
        int64_t slabs;
        char *in_slabs = compute(p, NULL, (map_order)order, &slabs);
        assert_true(slabs > 1);
        char *at_once = compute(p, &whole, (map_order)order, &slabs);
        assert_int_equal(slabs, 1);
        assert_memory_equal(in_slabs, at_once, (size_t)vf_grid_points(&p->grid) * sizeof(float));
        free(in_slabs);
        free(at_once);
    }
    free(p);
}

/* The library rejects parts for such a method. */
static void test_part(void **state)
{
    (void)state;
    vf_potential_method whole = *vf_potential_method_at(0);
    whole.extent = VF_POTENTIAL_WHOLE;
    problem *p = random_problem("cpu");
    device = vf_context_device(ctx, 0);
    const vf_potential_problem asked = {
        .grid = p->grid, .pair = {.law = VF_PAIR_COULOMB, .scale = 1, .r_min = 0.1}, .precision = VF_F32};
    const vf_coulomb_atoms charges = {
        .count = ATOMS, .x = p->data[0], .y = p->data[1], .z = p->data[2], .charge = p->data[3]};
    vf_box box = vf_grid_box(&p->grid);
    vf_potential *plan = NULL;
    vf_queue *queue = NULL;
    need(vf_potential_create(device, &whole, &asked, &charges, &plan));
    need(vf_queue_create(device, &queue));
    for (int a = 0; a < 3; a++) {
        vf_box part = box;
        part.hi[a]--;
        assert_int_equal(vf_potential_compute(plan, queue, &part, NULL), VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(ctx), "whole grid"));
        vf_context_clear_error(ctx);
    }
    vf_queue_destroy(queue);
    vf_potential_destroy(plan);
    free(p);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_whole), cmocka_unit_test(test_part))
