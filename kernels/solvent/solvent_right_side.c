/* b_p = sum over faces of eps_f (s' G' - s G) - s eps_m (G' - G), over spacing^2: s is 1 in the molecule and 0 outside, ' is the
 * neighbour's. Only faces that the surface cuts, or a smooth one changes, do not cancel. The boundary is
 * solvent_boundary.c's.
 *
 * In a cell of volume V, G has a background of -Q / V, Q the net charge. With salt phi has none, so 4 pi Q / V is added in the molecule.
 * Without, phi has it, too, so as much is taken off in the solvent; then the sum of b is 0 but for the error of the differences, whose
 * mean is taken off, as there would be no solution else. */
#include <math.h>
#include <stdlib.h>

#include "ewald_sum.h"
#include "point_sum.h"
#include "solvent_places.h"
#include "voxfield/team_size.h"

/* Relative to G near the surface; a tenth of what the solver leaves would do. */
static const double g_tolerance = 1e-6, g_least = 1e-3; /* r_min */

/* A face of point n, upwards or not. Returns false if it does not count: it is not cut, or at the rim, from which the molecule keeps. */
static bool cut_face(const vf_solvent *plan, int64_t n, const int64_t index[3], int axis, bool up, double *value)
{
    const int64_t other = solvent_beside(plan, index, axis, up);
    if (other < 0)
        return false;
    const bool here = plan->inside[n], there = plan->inside[other];
    if (!here && !there)
        return false;
    const float face = ((const float *)plan->faces[axis].data)[solvent_face(plan, index, axis, up)];
    *value = (double)face;
    return here != there || face != (float)plan->options.molecule_dielectric;
}

static bool has_cut(const vf_solvent *plan, int64_t n, const int64_t index[3])
{
    const uint8_t *in = plan->inside + n;
    const int64_t *counts = plan->grid.counts, row = counts[0], plane = counts[0] * counts[1];
    double face;
    bool within = true;
    for (int a = 0; a < 3; a++)
        within = within && index[a] > 0 && index[a] < counts[a] - 1;
    if (within && !(in[0] | in[-1] | in[1] | in[-row] | in[row] | in[-plane] | in[plane]))
        return false;
    for (int side = 0; side < 6; side++)
        if (cut_face(plan, n, index, side >> 1, side & 1, &face))
            return true;
    return false;
}

/* The ends of cut faces in plane k: their number, and if `point` is not NULL they and their places [3]. */
static int64_t ends_of_plane(const vf_solvent *plan, int64_t k, int64_t *point, double *places)
{
    const vf_grid *g = &plan->grid;
    int64_t count = 0, n = k * g->counts[0] * g->counts[1];
    for (int64_t j = 0; j < g->counts[1]; j++)
        for (int64_t i = 0; i < g->counts[0]; i++, n++) {
            const int64_t index[3] = {i, j, k};
            if (!has_cut(plan, n, index))
                continue;
            if (point) {
                point[count] = n;
                for (int a = 0; a < 3; a++)
                    places[3 * count + a] = g->origin[a] + g->spacing[a] * (double)index[a];
            }
            count++;
        }
    return count;
}

/* Places: [count][3] of the ends; the caller frees them. */
static vf_status list_ends(vf_solvent *plan, double **places)
{
    solvent_ends *e = &plan->ends;
    const int64_t planes = plan->grid.counts[2];
    int64_t *first = malloc((size_t)(planes + 1) * sizeof *first);
    if (!first)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for planes of a grid");
    first[0] = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 4 * plan->points))
    for (int64_t k = 0; k < planes; k++)
        first[k + 1] = ends_of_plane(plan, k, NULL, NULL);
    for (int64_t k = 0; k < planes; k++)
        first[k + 1] += first[k];
    e->count = first[planes];
    e->point = malloc((size_t)(e->count + 1) * sizeof *e->point);
    e->value = calloc((size_t)e->count + 1, sizeof *e->value);
    *places = malloc((size_t)(e->count + 1) * 3 * sizeof **places);
    const bool room = e->point && e->value && *places;
    double *const all = *places;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 4 * plan->points))
    for (int64_t k = 0; k < (room ? planes : 0); k++)
        (void)ends_of_plane(plan, k, e->point + first[k], all + 3 * first[k]);
    free(first);
    return room ? VF_OK
                : vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for %lld points at a molecule's surface",
                          (long long)e->count);
}

/* Within half a spacing of a charge G stays what it is there: a grid that is so coarse that such a point is next to the surface does not
 * resolve the pole, and a point that happens to lie on the charge would be a thousand times as large as its neighbours. */
static vf_status sum_charges(vf_solvent *plan, const vf_coulomb_atoms *charges, const double *places)
{
    const double *h = plan->grid.spacing;
    const solvent_ends *e = &plan->ends;
    const vf_point_options o = {.cell = plan->grid.cell,
                                .scale = 1 / plan->options.molecule_dielectric,
                                .r_min = fmax(g_least, fmin(h[0], fmin(h[1], h[2])) / 2),
                                .tolerance = g_tolerance};
    const vf_point_list list = {.count = e->count, .points = places};
    vf_point_sum *sum;
    if (e->count == 0 || charges->count == 0)
        return VF_OK;
    vf_status status = vf_point_sum_create(plan->ctx, charges, &o, &list, (double)e->count, &sum);
    VF_TRY(status, vf_point_sum_execute(sum, &list, e->value, NULL));
    vf_point_sum_destroy(sum);
    return status;
}

double solvent_end_value(const vf_solvent *plan, int64_t n)
{
    const solvent_ends *e = &plan->ends;
    int64_t low = 0, high = e->count - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (e->point[middle] < n)
            low = middle + 1;
        else
            high = middle;
    }
    return e->value[low];
}

static double of_cut_faces(vf_solvent *plan, int64_t at)
{
    const solvent_ends *e = &plan->ends;
    const int64_t n = e->point[at];
    const double here = e->value[at], inside = plan->inside[n];
    int64_t index[3];
    double sum = 0, face;
    solvent_index(plan, n, index);
    for (int a = 0; a < 3; a++)
        for (int up = 0; up < 2; up++) {
            if (!cut_face(plan, n, index, a, up, &face))
                continue;
            const int64_t other = solvent_beside(plan, index, a, up);
            const double there = solvent_end_value(plan, other);
            const double flow = face * (plan->inside[other] * there - inside * here) -
                                inside * plan->options.molecule_dielectric * (there - here);
            sum += flow / (plan->grid.spacing[a] * plan->grid.spacing[a]);
            plan->outcome.cut += up;
        }
    return sum;
}

/* The sum of `of` over layers, in their order: the same bits for any number of threads. Errors: VF_ERR_MEMORY. */
static vf_status sum_layers(const vf_solvent *plan, const double *values, double *sum)
{
    const int64_t layers = plan->grid.counts[2], layer = plan->points / layers;
    double *of = malloc((size_t)layers * sizeof *of);
    *sum = 0;
    if (!of)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for the sums of %lld layers", (long long)layers);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t k = 0; k < layers; k++) {
        of[k] = 0;
        for (int64_t i = k * layer; i < (k + 1) * layer; i++)
            of[k] += values[i];
    }
    for (int64_t k = 0; k < layers; k++)
        *sum += of[k];
    free(of);
    return VF_OK;
}

static void shift_all(const vf_solvent *plan, double by, double *values)
{
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t i = 0; i < plan->points; i++)
        values[i] += by;
}

static vf_status add_background(vf_solvent *plan, const vf_coulomb_atoms *charges, double *b)
{
    const double pi = 3.14159265358979323846, volume = vf_cell_volume(&plan->grid.cell);
    double charge = 0, sum;
    for (int64_t i = 0; i < charges->count; i++)
        charge += charges->charge[i];
    const double density = 4 * pi * charge / volume;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t i = 0; i < plan->points; i++)
        b[i] += plan->salted ? (plan->inside[i] ? density : 0) : (plan->inside[i] ? 0 : -density);
    if (plan->salted)
        return VF_OK;
    const vf_status status = sum_layers(plan, b, &sum);
    if (status == VF_OK)
        shift_all(plan, -sum / (double)plan->points, b);
    return status;
}

/* The sum of G over the points of the solvent, in layers. */
static vf_status sum_outside(const vf_solvent *plan, const vf_coulomb_atoms *charges, double *sum)
{
    enum { LAYERS = 16 };
    const vf_ewald_options o = {.scale = 1 / plan->options.molecule_dielectric,
                                .r_min = g_least,
                                .tolerance = VF_EWALD_FINEST_F32,
                                .precision = VF_F32};
    const int64_t *n = plan->grid.counts, layer = n[0] * n[1];
    float *values = malloc((size_t)(LAYERS * layer) * sizeof *values);
    vf_ewald *ewald = NULL;
    vf_queue *queue = NULL;
    vf_status status =
        values ? VF_OK : vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for layers of a potential");
    VF_TRY(status, vf_queue_create(plan->device, &queue));
    VF_TRY(status, vf_ewald_create(plan->device, &plan->grid, charges, &o, &ewald));
    *sum = 0;
    for (int64_t k = 0; status == VF_OK && k < n[2]; k += LAYERS) {
        const vf_box box = {{0, 0, k}, {n[0], n[1], k + LAYERS < n[2] ? k + LAYERS : n[2]}};
        status = vf_ewald_execute(ewald, queue, &box, values);
        VF_TRY(status, vf_queue_sync(queue));
        for (int64_t i = 0; status == VF_OK && i < vf_box_points(&box); i++)
            *sum += plan->inside[k * layer + i] ? 0 : (double)values[i];
    }
    vf_ewald_destroy(ewald);
    vf_queue_destroy(queue);
    free(values);
    return status;
}

/* The mean of phi is that of u, and of G in the molecule, which has poles there. But the mean of G is 0: less that of G in the solvent. */
vf_status solvent_remove_mean(vf_solvent *plan, const vf_coulomb_atoms *charges)
{
    double of_u = 0, of_g = 0;
    vf_status status = sum_layers(plan, plan->unknown.data, &of_u);
    VF_TRY(status, charges->count > 0 ? sum_outside(plan, charges, &of_g) : VF_OK);
    if (status == VF_OK)
        shift_all(plan, -(of_u - of_g) / (double)plan->points, plan->unknown.data);
    return status;
}

vf_status solvent_right_side(vf_solvent *plan, const vf_coulomb_atoms *charges, const double *radius, double *b)
{
    double *places = NULL;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t n = 0; n < plan->points; n++)
        b[n] = 0;
    vf_status status = list_ends(plan, &places);
    VF_TRY(status, sum_charges(plan, charges, places));
    for (int64_t at = 0; status == VF_OK && at < plan->ends.count; at++)
        b[plan->ends.point[at]] = of_cut_faces(plan, at);
    if (solvent_is_periodic(plan))
        VF_TRY(status, add_background(plan, charges, b));
    else
        VF_TRY(status, solvent_boundary(plan, charges, radius, b));
    free(places);
    if (status == VF_OK && vf_cancelled(plan->ctx))
        status = vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted");
    return status;
}
