/* The potential between the points of the grid, of values that continue those of the point's own side of the surface (solvent.h). In a
 * cell that the surface cuts, corners of the other side have values that do not: u jumps there by G, and phi changes its slope. */
#include <math.h>
#include <stdlib.h>

#include "solvent_places.h"
#include "voxfield/team_size.h"

/* ---- levels near the surface ---- */

static float largest_level(const vf_solvent *plan, const float *level)
{
    float most = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points)) reduction(max : most)
    for (int64_t i = 0; i < plan->points; i++)
        most = fabsf(level[i]) > most ? fabsf(level[i]) : most;
    return most;
}

/* first[k]: how many points of the layers before k are listed. */
static void count_levels(const vf_solvent *plan, const float *level, int64_t *first)
{
    const int64_t layers = plan->grid.counts[2], layer = plan->points / layers;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t k = 0; k < layers; k++) {
        first[k + 1] = 0;
        for (int64_t i = k * layer; i < (k + 1) * layer; i++)
            first[k + 1] += fabsf(level[i]) < plan->shell.reach;
    }
    first[0] = 0;
    for (int64_t k = 0; k < layers; k++)
        first[k + 1] += first[k];
}

static void list_levels(const vf_solvent *plan, const float *level, const int64_t *first)
{
    const solvent_shell *s = &plan->shell;
    const int64_t layers = plan->grid.counts[2], layer = plan->points / layers;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t k = 0; k < layers; k++)
        for (int64_t i = k * layer, at = first[k]; i < (k + 1) * layer; i++)
            if (fabsf(level[i]) < s->reach) {
                s->point[at] = i;
                s->level[at++] = level[i];
            }
}

vf_status solvent_keep_levels(vf_solvent *plan, const float *level)
{
    solvent_shell *s = &plan->shell;
    int64_t *first = malloc((size_t)(plan->grid.counts[2] + 1) * sizeof *first);
    bool room = first != NULL;
    if (room) {
        s->reach = largest_level(plan, level);
        count_levels(plan, level, first);
        s->count = first[plan->grid.counts[2]];
        s->point = malloc((size_t)(s->count + 1) * sizeof *s->point);
        s->level = malloc((size_t)(s->count + 1) * sizeof *s->level);
        room = s->point && s->level;
    }
    if (room)
        list_levels(plan, level, first);
    free(first);
    return room ? VF_OK : vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for the points at a molecule's surface");
}

static double level_of(const vf_solvent *plan, int64_t n)
{
    const solvent_shell *s = &plan->shell;
    int64_t low = 0, high = s->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (s->point[middle] < n)
            low = middle + 1;
        else
            high = middle;
    }
    const double depth = fabs(low < s->count && s->point[low] == n ? (double)s->level[low] : (double)s->reach);
    return plan->inside[n] ? -depth : depth;
}

/* ---- values of one side ---- */

/* The point `steps` away, if it is one of the grid on this side; otherwise -1. */
static int64_t neighbour(const vf_solvent *plan, const int64_t index[3], const int way[3], int steps, bool inside)
{
    int64_t at[3] = {index[0] + steps * way[0], index[1] + steps * way[1], index[2] + steps * way[2]};
    if (!solvent_wrap(plan, at))
        return -1;
    const int64_t n = solvent_number(plan, at);
    return (plan->inside[n] != 0) == inside ? n : -1;
}

static double phi_of(const vf_solvent *plan, int64_t n)
{
    return ((const double *)plan->unknown.data)[n] + (plan->inside[n] ? solvent_end_value(plan, n) : 0);
}

/* The mean of what the equation continues this side to at a corner of the other: the flow through each cut face, eps_f (phi' - phi) / h,
 * is that of the side's own dielectric. Returns whether there is such a face. */
static bool continue_flow(const vf_solvent *plan, const int64_t index[3], bool inside, double *out)
{
    const vf_solvent_options *o = &plan->options;
    const int here[3] = {0};
    const int64_t n = neighbour(plan, index, here, 0, !inside);
    double sum = 0;
    int found = 0;
    for (int a = 0; a < 3; a++)
        for (int up = 0; up < 2; up++) {
            const int way[3] = {a == 0 ? 2 * up - 1 : 0, a == 1 ? 2 * up - 1 : 0, a == 2 ? 2 * up - 1 : 0};
            const int64_t next = neighbour(plan, index, way, 1, inside);
            if (next < 0)
                continue;
            const double eps = ((const float *)plan->faces[a].data)[solvent_face(plan, index, a, up)];
            const double own = inside ? o->molecule_dielectric : o->solvent_dielectric, phi = phi_of(plan, next);
            sum += phi + eps / own * (phi_of(plan, n) - phi) - (inside ? solvent_end_value(plan, n) : 0);
            found++;
        }
    *out = sum / (found ? found : 1);
    return found > 0;
}

/* The mean, over all directions, of the lines through the next two points of the side, or, if `near`, of the next point. */
static bool continue_lines(const vf_solvent *plan, const int64_t index[3], bool inside, bool near, double *out)
{
    const double *u = plan->unknown.data;
    double sum = 0;
    int found = 0;
    for (int n = 0; n < 27; n++) {
        const int way[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        const int64_t one = neighbour(plan, index, way, 1, inside), two = neighbour(plan, index, way, 2, inside);
        if (n == 13 || one < 0 || (two < 0 && !near))
            continue;
        sum += near ? u[one] : 2 * u[one] - u[two];
        found++;
    }
    *out = sum / (found ? found : 1);
    return found > 0;
}

/* In a cell with a corner of this side, a corner's value. */
static double value_on_side(const vf_solvent *plan, const int64_t index[3], bool inside)
{
    const int here[3] = {0};
    const int64_t n = neighbour(plan, index, here, 0, inside);
    double value = 0;
    if (n >= 0)
        return ((const double *)plan->unknown.data)[n];
    if (!continue_flow(plan, index, inside, &value) && !continue_lines(plan, index, inside, false, &value))
        continue_lines(plan, index, inside, true, &value); /* a neighbour is one that the cell has */
    return value;
}

/* ---- a point ---- */

/* The points of a cell and those around it, four along each axis, of which the cell has the middle two. */
enum { WIDE = 4, WIDE_POINTS = WIDE * WIDE * WIDE };

typedef struct cell_of {
    int64_t low[3]; /* the cell's first corner */
    double part[3];
} cell_of;

static bool is_corner(int n)
{
    const int x = n % WIDE, y = n / WIDE % WIDE, z = n / WIDE / WIDE;
    return (x == 1 || x == 2) && (y == 1 || y == 2) && (z == 1 || z == 2);
}

static bool place_of(const vf_solvent *plan, const cell_of *c, int n, int64_t index[3])
{
    const int at[3] = {n % WIDE, n / WIDE % WIDE, n / WIDE / WIDE};
    for (int a = 0; a < 3; a++)
        index[a] = c->low[a] + at[a] - 1;
    return solvent_wrap(plan, index);
}

/* Whether the point is in the molecule: as the levels at the corners say between them. */
static bool choose_side(const vf_solvent *plan, const cell_of *c, bool charges)
{
    int inside = 0;
    double level = 0;
    int64_t index[3];
    for (int n = 0; n < WIDE_POINTS; n++)
        inside += is_corner(n) && place_of(plan, c, n, index) && plan->inside[solvent_number(plan, index)];
    if (inside == 0 || inside == 8 || charges)
        return inside > 0;
    for (int n = 0; n < WIDE_POINTS; n++) {
        if (!is_corner(n) || !place_of(plan, c, n, index))
            continue;
        const bool upper[3] = {n % WIDE == 2, n / WIDE % WIDE == 2, n / WIDE / WIDE == 2};
        double weight = 1;
        for (int a = 0; a < 3; a++)
            weight *= upper[a] ? c->part[a] : 1 - c->part[a];
        level += weight * level_of(plan, solvent_number(plan, index));
    }
    return level < 0;
}

/* Whether all points around the cell are in the grid and on this side. */
static bool is_smooth(const vf_solvent *plan, const cell_of *c, bool inside)
{
    int64_t index[3];
    for (int n = 0; n < WIDE_POINTS; n++)
        if (!place_of(plan, c, n, index) || (plan->inside[solvent_number(plan, index)] != 0) != inside)
            return false;
    return true;
}

/* Weights of four values at -1, 0, 1 and 2 for t from 0 to 1, and their slopes: cubic (Keys, IEEE Trans. Acoust. Speech Signal Process. 29
 * (1981) 1153), or linear. */
static void weigh(double t, bool cubic, double weight[WIDE], double slope[WIDE])
{
    const double linear[WIDE] = {0, 1 - t, t, 0}, linear_slope[WIDE] = {0, -1, 1, 0};
    const double keys[WIDE] = {t * (-1 + t * (2 - t)) / 2, 1 + t * t * (3 * t - 5) / 2, t * (1 + t * (4 - 3 * t)) / 2,
                               t * t * (t - 1) / 2};
    const double keys_slope[WIDE] = {(-1 + t * (4 - 3 * t)) / 2, t * (9 * t - 10) / 2, (1 + t * (8 - 9 * t)) / 2,
                                     t * (3 * t - 2) / 2};
    for (int i = 0; i < WIDE; i++) {
        weight[i] = cubic ? keys[i] : linear[i];
        slope[i] = cubic ? keys_slope[i] : linear_slope[i];
    }
}

typedef struct solvent_value {
    bool inside;           /* in the molecule */
    double u, gradient[3]; /* of u */
} solvent_value;

static solvent_value value_at(const vf_solvent *plan, const cell_of *c, bool charges)
{
    const double *h = plan->grid.spacing;
    double weight[3][WIDE], slope[3][WIDE];
    solvent_value out = {.inside = choose_side(plan, c, charges)};
    const bool smooth = is_smooth(plan, c, out.inside);
    for (int a = 0; a < 3; a++)
        weigh(c->part[a], smooth, weight[a], slope[a]);
    for (int n = 0; n < WIDE_POINTS; n++) {
        const int i = n % WIDE, j = n / WIDE % WIDE, k = n / WIDE / WIDE;
        int64_t index[3];
        if ((!smooth && !is_corner(n)) || !place_of(plan, c, n, index))
            continue;
        const double value = value_on_side(plan, index, out.inside);
        out.u += weight[0][i] * weight[1][j] * weight[2][k] * value;
        out.gradient[0] += slope[0][i] * weight[1][j] * weight[2][k] * value / h[0];
        out.gradient[1] += weight[0][i] * slope[1][j] * weight[2][k] * value / h[1];
        out.gradient[2] += weight[0][i] * weight[1][j] * slope[2][k] * value / h[2];
    }
    return out;
}

vf_status vf_solvent_add_at(const vf_solvent *plan, int64_t count, const double *points, bool charges, double constant,
                            double *potential, double *field)
{
    cell_of unused;
    for (int64_t i = 0; i < count; i++)
        if (!solvent_find(plan, points + 3 * i, unused.low, unused.part))
            return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "point %lld at (%g, %g, %g) is outside the grid",
                           (long long)i + 1, points[3 * i], points[3 * i + 1], points[3 * i + 2]);
    bool failed = false;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 500 * count)) reduction(|| : failed)
    for (int64_t i = 0; i < count; i++) {
        const double *at = points + 3 * i;
        cell_of c = {0};
        (void)solvent_find(plan, at, c.low, c.part);
        solvent_value found = value_at(plan, &c, charges);
        if (charges)
            failed = failed || vf_solvent_reaction(plan, 1, at, at + 1, at + 2, &found.u) != VF_OK;
        potential[i] = (found.inside ? potential[i] : 0) + constant * found.u;
        for (int a = 0; field && a < 3; a++)
            field[3 * i + a] = (found.inside ? field[3 * i + a] : 0) - constant * found.gradient[a];
    }
    return failed ? VF_ERR_ARGUMENT : VF_OK;
}
