/* Units of a trajectory. docs/scans.md has the rule. */
#include <math.h>
#include <stdio.h>

#include "scan_units.h"
#include "voxfield/append.h"
#include "voxfield/team_size.h"

/* Real trajectories go this far beyond the edge of k-space, because of gradient delays and rounding. */
static const double SLACK = 1.05;
/* Units in which a trajectory reaches less of the edge are not proposed. */
static const double LEAST_SHARE = 0.25;

enum { LANES = 48 }; /* for three axes and vectors */

/* most[i % LANES] becomes the largest |k[i]|, if that is more. */
static void widen(const float *k, int64_t count, float most[LANES])
{
    for (int64_t first = 0; first < count; first += LANES) {
        const int lanes = count - first < LANES ? (int)(count - first) : LANES;
        for (int i = 0; i < lanes; i++) {
            const float size = fabsf(k[first + i]);
            most[i] = size > most[i] ? size : most[i];
        }
    }
}

void scan_extent(const vf_context *ctx, const float *k, int64_t samples, double extent[3])
{
    enum { BLOCK = 1024 * LANES };
    const int64_t count = 3 * samples;
    float most[LANES] = {0};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, count / 4)) reduction(max : most)
    for (int64_t at = 0; at < count; at += BLOCK)
        widen(k + at, count - at < BLOCK ? count - at : BLOCK, most);
    for (int a = 0; a < 3; a++)
        extent[a] = 0;
    for (int i = 0; i < LANES; i++)
        extent[i % 3] = fmax(extent[i % 3], (double)most[i]);
}

void scan_extent_of_all(const vf_context *ctx, const mri_scan *s, double extent[3])
{
    for (int a = 0; a < 3; a++)
        extent[a] = 0;
    for (int i = 0; i < s->trajectories; i++) {
        double own[3];
        scan_extent(ctx, s->trajectory[i].k, s->trajectory[i].samples, own);
        for (int a = 0; a < 3; a++)
            extent[a] = fmax(extent[a], own[a]);
    }
}

/* The units, those of other programs' formats first. `per_voxel`: the factor to cycles per field of view is that times
 * the matrix; else that times the field of view in mm. */
static const struct {
    const char *word, *text;
    double factor;
    bool per_voxel, common; /* common: in ISMRMRD files of reconstruction programs */
} units_of_k[] = {
    [K_NORMALIZED] = {"normalized", "cycles per voxel", 1, true, true},
    [K_RADIANS] = {"radians", "radians per voxel", 0.5 / M_PI, true, true},
    [K_FOV] = {"fov", "cycles per field of view", 0, false, true},
    [K_EDGE] = {"edge", "parts of the edge of k-space", 0.5, true, false},
    [K_PER_M] = {"1/m", "cycles per m", 1e-3, false, false},
    [K_PER_CM] = {"1/cm", "cycles per cm", 0.1, false, false},
    [K_PER_MM] = {"1/mm", "cycles per mm", 1, false, false},
    [K_RAD_PER_M] = {"rad/m", "radians per m", 0.5e-3 / M_PI, false, false},
    [K_RAD_PER_MM] = {"rad/mm", "radians per mm", 0.5 / M_PI, false, false},
};
enum { UNITS = sizeof units_of_k / sizeof *units_of_k };

const char *scan_unit_word(k_units units)
{
    return units_of_k[units].word;
}

const char *scan_unit_text(k_units units)
{
    return units_of_k[units].text;
}

double scan_unit_factor(k_units units, int64_t matrix, double fov)
{
    if (units == K_AUTO || units == K_FOV)
        return 1;
    return units_of_k[units].factor * (units_of_k[units].per_voxel ? (double)matrix : fov);
}

bool scan_looks_normalized(const int64_t matrix[3], const double extent[3])
{
    enum { FEW = 4 }; /* voxels; with so few, 0.5 cycles per field of view is close to the edge */
    double largest = 0;
    bool within = true;
    for (int a = 0; a < 3; a++) {
        if (matrix[a] <= FEW)
            continue;
        within = within && extent[a] <= 0.5;
        largest = fmax(largest, extent[a]);
    }
    return within && largest > 0;
}

vf_status scan_refuse_normalized(vf_context *ctx, const char *path, const int64_t *matrix, const double extent[3])
{
    char by[80] = "of the image";
    if (matrix)
        snprintf(by, sizeof by, "%lld, %lld, %lld", (long long)matrix[0], (long long)matrix[1], (long long)matrix[2]);
    return vf_fail(ctx, VF_ERR_INPUT,
                   "%s: the trajectory reaches only %.3g, %.3g, %.3g along x, y, z; expected cycles per field of view, "
                   "up to half the matrix. In cycles per voxel, multiply kx, ky, kz by the matrix (%s), or give "
                   "--trajectory-units normalized%s. If the numbers are right, give --trajectory-units fov",
                   path, extent[0], extent[1], extent[2], by, matrix ? "" : " and --matrix");
}

void scan_scale_k(const vf_context *ctx, mri_scan *s, k_units units)
{
    float factor[3];
    for (int a = 0; a < 3; a++)
        factor[a] = (float)scan_unit_factor(units, s->matrix[a], s->fov[a]);
    if (factor[0] == 1 && factor[1] == 1 && factor[2] == 1)
        return;
    for (int i = 0; i < s->trajectories; i++) {
        const scan_trajectory *t = &s->trajectory[i];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, t->samples))
        for (int64_t m = 0; m < t->samples; m++)
            for (int a = 0; a < 3; a++)
                t->k[3 * m + a] *= factor[a];
    }
}

vf_status scan_take_units(vf_context *ctx, const char *path, k_units units, mri_scan *s, double extent[3])
{
    scan_extent_of_all(ctx, s, extent);
    scan_scale_k(ctx, s, units);
    return units == K_AUTO && scan_looks_normalized(s->matrix, extent)
               ? scan_refuse_normalized(ctx, path, s->matrix, extent)
               : VF_OK;
}

/* A trajectory read in some units: how far it reaches along x and y, or z if that is all, over the edge of k-space; and
 * whether it stays within the edge along every axis. */
typedef struct reach {
    bool within, to_the_edge;
    double share;
} reach;

static reach reach_of(k_units units, const k_space *space, int first, int axes)
{
    reach r = {.within = true};
    double edge_of_most = 1;
    const bool plane = first > 0 || space->matrix[0] > 1 || space->matrix[1] > 1;
    for (int a = first; a < axes; a++) {
        const double edge = 0.5 * (double)space->matrix[a];
        const double k = space->extent[a] * scan_unit_factor(units, space->matrix[a], space->fov[a]);
        if (space->matrix[a] == 1)
            continue;
        r.within = r.within && k <= fmax(edge * SLACK, edge + 0.5 * (units == K_FOV));
        if ((a < 2 || first == 2 || !plane) && k / edge > r.share) {
            r.share = k / edge;
            edge_of_most = edge;
        }
    }
    /* The last sample of a line or spoke may be one or two short of the edge. */
    r.to_the_edge = r.within && r.share >= 1 - fmax(0.01, 1.25 / edge_of_most);
    return r;
}

/* Whether two units mean the same here, to 2 %: cycles per mm and per voxel, for voxels of 1 mm. */
static bool same_units(k_units a, k_units b, const k_space *space)
{
    for (int i = 0; i < 3; i++) {
        const double ratio =
            scan_unit_factor(a, space->matrix[i], space->fov[i]) / scan_unit_factor(b, space->matrix[i], space->fov[i]);
        if (space->matrix[i] > 1 && !(fabs(ratio - 1) <= 0.02))
            return false;
    }
    return true;
}

/* Appends "1/mm (reaches 100 % of the edge)" for units in which the trajectory stays within the edge and reaches more
 * than `least` of it. */
static int list_units(const k_space *space, int axes, double least, char *text, size_t size)
{
    int listed = 0;
    for (int u = K_NORMALIZED; u < UNITS; u++) {
        const reach r = reach_of((k_units)u, space, 0, axes);
        if (!r.within || !(r.share > least))
            continue;
        vf_append(text, size, "%s%s (%s, %.0f %% of the edge)", listed ? ", " : "", units_of_k[u].word,
                  units_of_k[u].text, 100 * r.share);
        listed++;
    }
    return listed;
}

/* The only units in which the trajectory reaches the edge; K_AUTO if there are none; -1 if several differ. */
static int units_to_the_edge(const k_space *space, int first, int axes)
{
    int found = K_AUTO, common = K_AUTO, commons = 0;
    bool differ = false;
    for (int u = K_NORMALIZED; u < UNITS; u++) {
        if (!reach_of((k_units)u, space, first, axes).to_the_edge)
            continue;
        if (units_of_k[u].common && !(common != K_AUTO && same_units((k_units)u, (k_units)common, space))) {
            commons++;
            common = common == K_AUTO ? u : common;
        }
        differ = differ || (found != K_AUTO && !same_units((k_units)u, (k_units)found, space));
        found = found == K_AUTO ? u : found;
    }
    return !differ ? found : commons == 1 ? common : -1;
}

static void say_share(const k_space *space, k_units units, int axes, char *why, size_t size)
{
    snprintf(why, size,
             "in %s, because its extent of %.4g is then %.0f %% of the edge of k-space (--trajectory-units %s)",
             units_of_k[units].text, space->most, 100 * reach_of(units, space, 0, axes).share, units_of_k[units].word);
}

/* kx and ky in any units, and kz by partitions. */
static bool choose_mixed(const k_space *space, k_units chosen[3], char *why, size_t size)
{
    const int plane = units_to_the_edge(space, 0, 2);
    if (space->matrix[2] == 1 || plane <= K_AUTO || plane == K_FOV || !reach_of(K_FOV, space, 2, 3).to_the_edge)
        return false;
    chosen[0] = chosen[1] = (k_units)plane;
    chosen[2] = K_FOV;
    snprintf(why, size,
             "in %s along x and y, and in cycles per field of view along z, because its extents fit these only",
             units_of_k[plane].text);
    return true;
}

/* Nothing reaches the edge: common units, unless the trajectory reaches more of the edge in others. */
static bool choose_inner(const k_space *space, int axes, k_units chosen[3], char *why, size_t size)
{
    const double most = space->most;
    for (int u = K_NORMALIZED; u < UNITS && units_of_k[u].common; u++) {
        const reach r = reach_of((k_units)u, space, 0, axes);
        char others[300] = "";
        if (!r.within || !(r.share > 0))
            continue;
        if (list_units(space, axes, 1.02 * r.share, others, sizeof others) > 0) {
            snprintf(
                why, size,
                "an extent of %.4g reaches the edge of k-space in no units; it may be in %s (%.0f %% of the edge), or "
                "in %s; give them with --trajectory-units",
                most, units_of_k[u].word, 100 * r.share, others);
            return false;
        }
        chosen[0] = chosen[1] = chosen[2] = (k_units)u;
        say_share(space, (k_units)u, axes, why, size);
        return true;
    }
    return false;
}

bool scan_choose_units(k_units asked, const k_space *given, int axes, k_units chosen[3], char *why, size_t why_size)
{
    k_space space = *given;
    space.most = 0;
    for (int a = 0; a < axes; a++)
        space.most = space.matrix[a] > 1 && space.extent[a] > space.most ? space.extent[a] : space.most;
    chosen[0] = chosen[1] = chosen[2] = asked;
    if (asked != K_AUTO) {
        snprintf(why, why_size, "in %s, as requested (extent %.4g)", units_of_k[asked].text, space.most);
        return true;
    }
    if (space.most == 0) {
        snprintf(why, why_size, "k is 0 at all samples, so they show no image");
        return false;
    }
    const int found = units_to_the_edge(&space, 0, axes);
    if (found > K_AUTO) {
        chosen[0] = chosen[1] = chosen[2] = (k_units)found;
        say_share(&space, (k_units)found, axes, why, why_size);
        return true;
    }
    char fits[400] = "";
    if (found < K_AUTO) {
        list_units(&space, axes, 0.7, fits, sizeof fits);
        snprintf(why, why_size, "an extent of %.4g fits several: %s; choose with --trajectory-units", space.most, fits);
        return false;
    }
    if (axes == 3 && choose_mixed(&space, chosen, why, why_size))
        return true;
    if (choose_inner(&space, axes, chosen, why, why_size))
        return true;
    if (why[0] != '\0')
        return false;
    if (list_units(&space, axes, LEAST_SHARE, fits, sizeof fits) == 0)
        snprintf(
            why, why_size,
            "an extent of %.4g, %.4g, %.4g along x, y, z fits no units, for a matrix of %lld x %lld x %lld over %g x "
            "%g x %g mm; check the matrix, or give --trajectory-units",
            space.extent[0], space.extent[1], space.extent[2], (long long)space.matrix[0], (long long)space.matrix[1],
            (long long)space.matrix[2], space.fov[0], space.fov[1], space.fov[2]);
    else
        snprintf(why, why_size, "an extent of %.4g may be in %s; choose with --trajectory-units", space.most, fits);
    return false;
}

double scan_common_voxel(k_units units, const k_space *space, int axes)
{
    const double own_most = 0.9;
    double voxel = INFINITY;
    bool short_of_own = false;
    if (units <= K_AUTO || !units_of_k[units].per_voxel)
        return 0;
    for (int a = 0; a < axes; a++)
        if (space->matrix[a] > 1)
            voxel = fmin(voxel, space->fov[a] / (double)space->matrix[a]);
    for (int a = 0; a < axes; a++) {
        const double edge = 0.5 * (double)space->matrix[a], reached = units_of_k[units].factor * space->extent[a];
        const double share = reached * space->fov[a] / voxel / edge;
        if (space->matrix[a] == 1 && a == 2)
            continue;
        if (space->matrix[a] == 1 || share > SLACK || (a < 2 && share < 1 - fmax(0.01, 1.25 / edge)))
            return 0;
        short_of_own = short_of_own || (a < 2 && 2 * reached < own_most);
    }
    return short_of_own ? voxel : 0;
}
