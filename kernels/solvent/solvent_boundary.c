/* The screened potential beyond the grid's sides, sum over atoms of q exp(-kappa (d - a)) / (eps_s (1 + kappa a) d), a the contact's
 * distance, at each point one step beyond.
 *
 * An atom's part is smooth over a side if the atom is far from it. So atoms at a distance z from a side's plane are summed at points of
 * a spacing H = 2^l h with z >= APART H; the sums of a level are interpolated to the next finer one by polynomials of degree 5, and
 * added to those of its own atoms, down to h. Along a line at a distance z the sixth derivative of exp(-kappa d) / d is at most
 * 225 / z^7: its Fourier transform, 2 K_0(z sqrt(k^2 + kappa^2)), is positive, so its even derivatives are largest beside the atom, and
 * larger without kappa, when they are those of 1 / d. At the middle of six points the polynomial is off by (15/8)^2 / 720 H^6 of it, in
 * two directions (the second with weights of 1.39 in all) and all levels by less than 2.7 (H/z)^6 / z: 1e-5 / z. Also kappa H <= 1/2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solvent_internal.h"
#include "solvent_rows.h"
#include "voxfield/team_size.h"

enum { APART = 8, MOST_LEVELS = 24, REACH = 5 };
static const double most_screening = 0.5, log2_e = 1.44269504088896340736;

/* Points of a side, [n[1]][n[0]], numbered from lo in steps of 2^l of the grid's. */
typedef struct side_level {
    int64_t lo[2], n[2];
    double *value;
    solvent_sources sources;
} side_level;

typedef struct side {
    const vf_solvent *plan;
    solvent_row row;
    int axis, u, v;
    bool upper;
    int levels;
    side_level level[MOST_LEVELS];
    float *places; /* of a row's points */
} side;

static double place_of(const side *s, int direction, int level, int64_t n)
{
    const int a = direction == 0 ? s->u : s->v;
    return s->plan->grid.origin[a] + s->plan->grid.spacing[a] * ldexp((double)n, level);
}

/* The level that sums an atom so far from the plane. */
static int level_of(const side *s, double distance)
{
    const double *h = s->plan->grid.spacing, widest = fmax(h[s->u], h[s->v]), kappa = s->plan->options.kappa;
    const double most = fmin(distance / APART, kappa > 0 ? most_screening / kappa : INFINITY);
    int level = 0;
    while (level + 1 < s->levels && ldexp(widest, level + 1) <= most)
        level++;
    return level;
}

static double distance_of(const side *s, const vf_coulomb_atoms *atoms, int64_t i)
{
    const vf_grid *g = &s->plan->grid;
    const double at = (s->axis == 0 ? atoms->x : s->axis == 1 ? atoms->y : atoms->z)[i];
    const double plane = g->origin[s->axis] + g->spacing[s->axis] * (double)(s->upper ? g->counts[s->axis] : -1);
    return s->upper ? plane - at : at - plane;
}

/* The levels' points: each level has REACH / 2 more of them than the next finer one on both ends. They end where a side has few. */
static void lay_levels(side *s)
{
    const int64_t counts[2] = {s->plan->grid.counts[s->u], s->plan->grid.counts[s->v]};
    s->levels = 1;
    for (int d = 0; d < 2; d++) {
        s->level[0].lo[d] = 0;
        s->level[0].n[d] = counts[d];
    }
    while (s->levels < MOST_LEVELS && (counts[0] > counts[1] ? counts[0] : counts[1]) >> s->levels >= 4) {
        const side_level *fine = &s->level[s->levels - 1];
        side_level *coarse = &s->level[s->levels++];
        for (int d = 0; d < 2; d++) {
            const int64_t end = fine->lo[d] + fine->n[d] - 1 + REACH;
            coarse->lo[d] = (fine->lo[d] - REACH - 1) / 2; /* rounded towards 0, and so down to the half below */
            coarse->n[d] = (end + 1) / 2 - coarse->lo[d] + 1;
        }
    }
}

/* Sorts the atoms into the levels, and gives each level room. */
static bool fill_levels(side *s, const vf_coulomb_atoms *atoms, const double *radius)
{
    const double kappa = s->plan->options.kappa;
    const double *const at[3] = {atoms->x, atoms->y, atoms->z};
    bool room = true;
    for (int64_t i = 0; i < atoms->count; i++)
        s->level[level_of(s, distance_of(s, atoms, i))].sources.count++;
    for (int l = 0; l < s->levels; l++) {
        side_level *here = &s->level[l];
        const size_t count = (size_t)here->sources.count + 1;
        float *all = malloc(5 * count * sizeof *all);
        here->value = calloc((size_t)(here->n[0] * here->n[1]), sizeof *here->value);
        here->sources = (solvent_sources){0, all, all + count, all + 2 * count, all + 3 * count, all + 4 * count};
        room = room && all && here->value;
    }
    for (int64_t i = 0; room && i < atoms->count; i++) {
        const double distance = distance_of(s, atoms, i), contact = radius[i] + s->plan->options.stern;
        solvent_sources *to = &s->level[level_of(s, distance)].sources;
        const int64_t n = to->count++;
        to->u[n] = (float)(at[s->u][i] - s->plan->grid.origin[s->u]);
        to->v[n] = (float)(at[s->v][i] - s->plan->grid.origin[s->v]);
        to->square[n] = (float)(distance * distance);
        to->charge[n] = (float)(atoms->charge[i] / ((1 + kappa * contact) * s->plan->options.solvent_dielectric));
        to->shift[n] = (float)(kappa * contact * log2_e);
    }
    return room;
}

/* Adds the sums of a level's own atoms. */
static void add_sources(const side *s, int l)
{
    const side_level *here = &s->level[l];
    const vf_grid *g = &s->plan->grid;
    const double kappa = s->plan->options.kappa * log2_e;
    if (here->sources.count == 0)
        return;
    for (int64_t i = 0; i < here->n[0] + SOLVENT_LANES; i++)
        s->places[i] = (float)(place_of(s, 0, l, here->lo[0] + i) - g->origin[s->u]);
#pragma omp parallel for schedule(dynamic, 4)                                                                          \
    num_threads(vf_threads_for(s->plan->ctx, here->n[0] * here->n[1] * here->sources.count))
    for (int64_t j = 0; j < here->n[1]; j++) {
        double *const value = here->value + j * here->n[0];
        const float v = (float)(place_of(s, 1, l, here->lo[1] + j) - g->origin[s->v]);
        double sum[256];
        for (int64_t first = 0; first < here->n[0]; first += 256) {
            const int64_t n = here->n[0] - first < 256 ? here->n[0] - first : 256;
            s->row(&here->sources, (float)kappa, n, s->places + first, v, sum);
            for (int64_t i = 0; i < n; i++)
                value[first + i] += sum[i];
        }
    }
}

/* Value `n` of a row of the finer level, from a row with this stride. */
static double interpolated(const double *coarse, int64_t stride, int64_t lo, int64_t n)
{
    static const double weights[6] = {3.0 / 256, -25.0 / 256, 150.0 / 256, 150.0 / 256, -25.0 / 256, 3.0 / 256};
    if (n % 2 == 0)
        return coarse[(n / 2 - lo) * stride];
    const int64_t first = (n - REACH) / 2 - lo; /* n - REACH is even */
    double sum = 0;
    for (int t = 0; t < 6; t++)
        sum += weights[t] * coarse[(first + t) * stride];
    return sum;
}

static bool interpolate(const side *s, int l)
{
    const side_level *fine = &s->level[l], *coarse = fine + 1;
    double *rows = malloc((size_t)(fine->n[0] * coarse->n[1]) * sizeof *rows);
    if (!rows)
        return false;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(s->plan->ctx, 10 * fine->n[0] * fine->n[1]))
    for (int64_t j = 0; j < coarse->n[1]; j++)
        for (int64_t i = 0; i < fine->n[0]; i++)
            rows[j * fine->n[0] + i] =
                interpolated(coarse->value + j * coarse->n[0], 1, coarse->lo[0], fine->lo[0] + i);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(s->plan->ctx, 10 * fine->n[0] * fine->n[1]))
    for (int64_t j = 0; j < fine->n[1]; j++)
        for (int64_t i = 0; i < fine->n[0]; i++)
            fine->value[j * fine->n[0] + i] = interpolated(rows + i, fine->n[0], coarse->lo[1], fine->lo[1] + j);
    free(rows);
    return true;
}

/* b += eps_s phi / spacing^2 next to a side. */
static void add_to(const side *s, double *b)
{
    const vf_grid *g = &s->plan->grid;
    const double factor = s->plan->options.solvent_dielectric / (g->spacing[s->axis] * g->spacing[s->axis]);
    for (int64_t n = 0; n < g->counts[s->u] * g->counts[s->v]; n++) {
        int64_t index[3];
        index[s->axis] = s->upper ? g->counts[s->axis] - 1 : 0;
        index[s->u] = n % g->counts[s->u];
        index[s->v] = n / g->counts[s->u];
        b[(index[2] * g->counts[1] + index[1]) * g->counts[0] + index[0]] += factor * s->level[0].value[n];
    }
}

static bool sum_side(side *s, const vf_coulomb_atoms *atoms, const double *radius, double *b)
{
    lay_levels(s);
    bool room = fill_levels(s, atoms, radius);
    s->places = malloc((size_t)(s->level[0].n[0] + 4 * MOST_LEVELS + SOLVENT_LANES) * sizeof *s->places);
    room = room && s->places;
    for (int l = s->levels - 1; room && l >= 0; l--) {
        if (l + 1 < s->levels)
            room = interpolate(s, l);
        if (room)
            add_sources(s, l);
    }
    if (room)
        add_to(s, b);
    for (int l = 0; l < s->levels; l++) {
        free(s->level[l].value);
        free(s->level[l].sources.u);
    }
    free(s->places);
    return room;
}

vf_status solvent_boundary(const vf_solvent *plan, const vf_coulomb_atoms *atoms, const double *radius, double *b)
{
    const vf_isa isa = vf_cpu_isa();
    vf_status status = VF_OK;
    for (int n = 0; status == VF_OK && n < 6; n++) {
        side s = {.plan = plan, .axis = n / 2, .u = (n / 2 + 1) % 3, .v = (n / 2 + 2) % 3, .upper = n % 2};
        s.row = isa == VF_ISA_AVX512 ? solvent_row_avx512
                : isa == VF_ISA_AVX2 ? solvent_row_avx2
                                     : solvent_row_baseline;
        if (!sum_side(&s, atoms, radius, b))
            status = vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for the boundary of a solvent");
        if (status == VF_OK && vf_cancelled(plan->ctx))
            status = vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    return status;
}
