#include "solvent_maps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "maps/map_format.h"

enum { DIELECTRIC, IONS, DISTANCE, CHARGE };
const solvent_map_kind solvent_map_kinds[] = {
    {"dielectric", "relative permittivity"},
    {"ions", "ion accessibility: the part of a voxel where ions can be"},
    {"distance", "distance from the surface of the molecule in angstrom, negative inside"},
    {"charge", "charge density in e per cubic angstrom, spread over the corners of a voxel"},
    {NULL, NULL}};

vf_status solvent_map_parse(vf_context *ctx, const char *option, const char *text, solvent_map *out)
{
    const map_format *format;
    const char *colon = strchr(text, ':');
    for (out->kind = 0; colon && solvent_map_kinds[out->kind].name; out->kind++) {
        const char *name = solvent_map_kinds[out->kind].name;
        if (strlen(name) == (size_t)(colon - text) && strncmp(name, text, strlen(name)) == 0) {
            out->path = colon + 1;
            return map_format_for(ctx, out->path, &format);
        }
    }
    return vf_fail(
        ctx, VF_ERR_ARGUMENT,
        "--%s '%s': expected dielectric, ions, distance or charge, a colon and a file, such as distance:d.dx", option,
        text);
}

/* Beyond the probe's reach outside, the distance from the surface is that from the atoms' spheres: no probe there touches two. */
static vf_status fill_distance(vf_context *ctx, const vf_grid *grid, const vf_coulomb_atoms *atoms,
                               const double *radius, const vf_solvent_options *options, float *values)
{
    const vf_spheres spheres = {atoms->count, atoms->x, atoms->y, atoms->z, radius};
    const bool smooth = options->surface == VF_SURFACE_SMOOTH;
    const vf_surface_kind kind = !smooth              ? options->surface
                                 : options->probe > 0 ? VF_SURFACE_EXCLUDED
                                                      : VF_SURFACE_VAN_DER_WAALS;
    const double far = 50, reach = kind == VF_SURFACE_EXCLUDED ? 0.9 * options->probe : far;
    const vf_surface_options near = {kind, kind == VF_SURFACE_VAN_DER_WAALS ? 0 : options->probe, reach, 0.2},
                             wide = {VF_SURFACE_VAN_DER_WAALS, 0, far, 0.2};
    const vf_box all = vf_grid_box(grid);
    const int64_t points = vf_grid_points(grid);
    vf_surface *surface = NULL;
    vf_status status = vf_surface_create_on(ctx, grid, &spheres, &near, &surface);
    VF_TRY(status, vf_surface_levels(surface, grid, &all, values));
    vf_surface_destroy(surface);
    if (status != VF_OK || kind != VF_SURFACE_EXCLUDED)
        return status;
    float *distance = malloc((size_t)points * sizeof *distance);
    if (!distance)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a map of %lld points", (long long)points);
    surface = NULL;
    status = vf_surface_create_on(ctx, grid, &spheres, &wide, &surface);
    VF_TRY(status, vf_surface_levels(surface, grid, &all, distance));
    vf_surface_destroy(surface);
    for (int64_t i = 0; status == VF_OK && i < points; i++)
        if ((double)values[i] >= reach * (1 - 1e-6)) /* of single precision */
            values[i] = distance[i];
    free(distance);
    return status;
}

/* Trilinear. Atoms lie in the grid or, if it has a cell, are images of such: vf_solvent_create has checked. */
static void fill_charge(const vf_grid *g, const vf_coulomb_atoms *atoms, float *values)
{
    const int64_t *n = g->counts;
    const bool periodic = g->cell.kind != VF_CELL_NONE;
    int64_t shear[3] = {0};
    const double volume = g->spacing[0] * g->spacing[1] * g->spacing[2];
    memset(values, 0, (size_t)vf_grid_points(g) * sizeof *values);
    if (periodic)
        (void)vf_grid_shear(g, shear);
    for (int64_t i = 0; i < atoms->count; i++) {
        const double at[3] = {atoms->x[i], atoms->y[i], atoms->z[i]};
        int64_t low[3];
        double part[3];
        for (int a = 0; a < 3; a++) {
            const double place = (at[a] - g->origin[a]) / g->spacing[a];
            low[a] = (int64_t)(periodic ? floor(place) : fmin(floor(place), (double)(n[a] - 2)));
            part[a] = place - (double)low[a];
        }
        for (int c = 0; c < 8; c++) {
            const int64_t up[3] = {c & 1, c >> 1 & 1, c >> 2};
            int64_t to[3] = {low[0] + up[0], low[1] + up[1], low[2] + up[2]};
            double weight = atoms->charge[i] / volume;
            for (int a = 0; a < 3; a++)
                weight *= up[a] ? part[a] : 1 - part[a];
            vf_grid_wrap(n, shear, to);
            values[(to[2] * n[1] + to[1]) * n[0] + to[0]] += (float)weight;
        }
    }
}

vf_status solvent_map_values(vf_context *ctx, int kind, const vf_solvent *plan, const vf_grid *grid,
                             const vf_coulomb_atoms *charges, const double *radius, const vf_solvent_options *options,
                             float *values)
{
    if (kind == DISTANCE)
        return fill_distance(ctx, grid, charges, radius, options, values);
    if (kind == CHARGE)
        fill_charge(grid, charges, values);
    else
        vf_solvent_describe(plan, kind == DIELECTRIC ? VF_SOLVENT_DIELECTRIC : VF_SOLVENT_ACCESSIBLE, values);
    return VF_OK;
}
