#include "surface_mesh.h"

#include <math.h>
#include <stdlib.h>

/* Fine enough that no facet shows in a picture, coarse enough for a mesh of some hundred thousand triangles. */
static const double g_finest_parts = 160, g_widest = 0.35;

/* Levels are needed at points next to the surface and, for normals, one further: within 2 sqrt(3) spacings. */
static const double g_reach = 3.5;

enum { SLAB_POINTS = 1 << 21 };

vf_grid surface_grid(const molecule *m, vf_surface_kind kind, double probe)
{
    vf_grid grid = {.cell.kind = VF_CELL_NONE};
    double radius = 0, longest = 0, volume = 1;
    for (int64_t i = 0; i < m->atoms; i++)
        radius = fmax(radius, m->radius[i]);
    radius += kind == VF_SURFACE_ACCESSIBLE ? probe : 0;
    for (int a = 0; a < 3; a++) {
        const double side = m->hi[a] - m->lo[a] + 2 * radius;
        longest = fmax(longest, side);
        volume *= side;
    }
    double h = fmin(longest / g_finest_parts, g_widest);
    h = fmax(fmax(h, 0.01), cbrt(volume / SURFACE_MOST_POINTS));
    for (int a = 0; a < 3; a++) {
        const double low = m->lo[a] - radius, high = m->hi[a] + radius;
        grid.spacing[a] = h;
        grid.counts[a] = (int64_t)ceil((high - low) / h) + 5; /* two steps outside on both sides */
        grid.origin[a] = (low + high) / 2 - h * (double)(grid.counts[a] - 1) / 2;
    }
    return grid;
}

static int64_t slab_layers(const vf_grid *grid)
{
    const int64_t layer = grid->counts[0] * grid->counts[1], layers = SLAB_POINTS / layer;
    return layers < 1 ? 1 : layers < grid->counts[2] ? layers : grid->counts[2];
}

double surface_bytes(const vf_grid *grid)
{
    return (double)vf_isosurface_bytes(grid, false) +
           (double)(slab_layers(grid) * grid->counts[0] * grid->counts[1]) * (double)sizeof(float);
}

static vf_status take_levels(const vf_surface *surface, const vf_grid *grid, vf_isosurface *plan, float *level)
{
    vf_status status = VF_OK;
    vf_box box = vf_grid_box(grid);
    const int64_t step = slab_layers(grid);
    for (int64_t k = 0; status == VF_OK && k < grid->counts[2]; k += step) {
        box.lo[2] = k;
        box.hi[2] = k + step < grid->counts[2] ? k + step : grid->counts[2];
        status = vf_surface_levels(surface, grid, &box, level);
        VF_TRY(status, vf_isosurface_layers(plan, vf_box_extent(&box, 2), level, NULL));
    }
    return status;
}

vf_status surface_make(vf_context *ctx, const molecule *m, vf_surface_kind kind, double probe, const vf_grid *grid,
                       vf_mesh *out)
{
    const vf_spheres spheres = {m->atoms, m->x, m->y, m->z, m->radius};
    const double h = grid->spacing[0], reach = g_reach * h;
    const vf_surface_options o = {
        .kind = kind,
        .probe = kind == VF_SURFACE_VAN_DER_WAALS ? 0 : probe,
        .reach = kind == VF_SURFACE_EXCLUDED ? fmin(reach, 0.95 * probe) : reach,
        .spacing = h,
    };
    vf_surface *surface = NULL;
    vf_isosurface *plan = NULL;
    double side;
    float *level = malloc((size_t)(slab_layers(grid) * grid->counts[0] * grid->counts[1]) * sizeof *level);
    *out = (vf_mesh){0};
    vf_status status = level ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for layers of the molecule's surface");
    VF_TRY(status, vf_surface_create(ctx, &spheres, &o, &surface));
    VF_TRY(status, vf_isosurface_create(ctx, grid, 0, false, &plan));
    VF_TRY(status, take_levels(surface, grid, plan, level));
    VF_TRY(status, vf_isosurface_finish(plan, out));
    if (status == VF_OK && out->triangles == 0)
        status = vf_fail(ctx, VF_ERR_UNSUPPORTED,
                         "the molecule's surface is lost on a grid of %.3g A, the finest that memory is planned for: "
                         "its atoms are too far apart",
                         h);
    VF_TRY(status, vf_mesh_reduce(ctx, out, SURFACE_MOST_TRIANGLES, &side));
    vf_isosurface_destroy(plan);
    vf_surface_destroy(surface);
    free(level);
    if (status == VF_OK && !(out->value = calloc((size_t)out->vertices + 1, sizeof *out->value)))
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the potential at %lld vertices", (long long)out->vertices);
    if (status != VF_OK)
        vf_mesh_free(out);
    return status;
}
