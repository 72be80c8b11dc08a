/* The reference: the potential of every point in double precision, and a comparison of all points. Never tuned. */
#include <math.h>
#include <stdlib.h>

#include "ion_search_internal.h"

typedef struct ref_state {
    double *potential; /* [z][y][x] */
} ref_state;

static vf_status sum_atoms(const vf_ion_search *search, double *potential)
{
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_coulomb_options options = search->options.potential;
    vf_coulomb_atoms atoms = {.count = s->count, .x = s->x, .y = s->y, .z = s->z, .charge = s->charge};
    vf_coulomb *sums = NULL;
    vf_queue *queue = NULL;
    const vf_box box = vf_grid_box(&search->grid);
    options.scale = 1; /* C is in the sources' charges */
    options.precision = VF_F64;
    options.variant = "ref";
    vf_status status = vf_coulomb_create(search->device, &search->grid, &atoms, &options, &sums);
    VF_TRY(status, vf_queue_create(search->device, &queue));
    VF_TRY(status, vf_coulomb_execute(sums, queue, &box, potential));
    vf_queue_destroy(queue);
    vf_coulomb_destroy(sums);
    return status;
}

static vf_status create(vf_ion_search *search)
{
    const int64_t points = vf_grid_points(&search->grid);
    ref_state *state = calloc(1, sizeof *state);
    search->state = state;
    if (state)
        state->potential = malloc((size_t)points * sizeof *state->potential);
    if (!state || !state->potential)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for %lld points", (long long)points);
    if (!search->options.map_is_exact && search->pair.law < VF_PAIR_FUNCTION)
        return sum_atoms(search, state->potential);
    for (int64_t i = 0; i < points; i++) {
        double p[3];
        ion_point(&search->grid, i, p);
        state->potential[i] =
            search->options.map_is_exact ? ion_map_value(search, i) : ion_potential(search, ION_ATOMS, p, false);
    }
    return VF_OK;
}

static vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    const ref_state *state = search->state;
    const int64_t points = vf_grid_points(&search->grid);
    int64_t least = -1;
    for (int64_t i = 0; i < points; i++)
        if (search->mask[i] == VF_ION_FREE &&
            (least < 0 || charge * state->potential[i] < charge * state->potential[least]))
            least = i;
    double position[3];
    ion_point(&search->grid, least, position);
    const double limit = charge * state->potential[least] + ion_tolerance(search, least, position, charge);
    for (int64_t i = 0; i <= least && out->index < 0; i++)
        if (search->mask[i] == VF_ION_FREE && charge * state->potential[i] <= limit)
            out->index = i;
    return VF_OK;
}

static vf_status add(vf_ion_search *search)
{
    const ref_state *state = search->state;
    const ion_sources *ions = &search->sources[ION_IONS];
    vf_pair_potential pair = search->pair;
    const int64_t points = vf_grid_points(&search->grid), n = ions->count - 1;
    pair.scale = ions->charge[n]; /* C is included */
    for (int64_t i = 0; i < points; i++) {
        double p[3];
        ion_point(&search->grid, i, p);
        const double d[3] = {p[0] - ions->x[n], p[1] - ions->y[n], p[2] - ions->z[n]};
        state->potential[i] += vf_pair_value(&pair, d);
    }
    return VF_OK;
}

static void destroy(vf_ion_search *search)
{
    ref_state *state = search->state;
    if (state)
        free(state->potential);
    free(state);
}

static const char *const variants[] = {"ref", NULL};
const vf_ion_search_backend vf_ion_search_ref = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
