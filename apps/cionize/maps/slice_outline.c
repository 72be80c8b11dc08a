#include "slice_outline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double clip_of(const slice_plane *p)
{
    return 2 * fmax(p->pixel[0], p->pixel[1]);
}

/* Lowers the distances to a circle around column `u` and row `v`. */
static void measure_circle(const slice_plane *p, double u, double v, double radius, float *distance)
{
    const double du = p->pixel[0], dv = p->pixel[1], far = clip_of(p);
    const int left = (int)fmin(fmax(ceil(u - (radius + far) / du), 0), p->width);
    const int right = (int)fmin(fmax(floor(u + (radius + far) / du), -1), p->width - 1);
    const int top = (int)fmin(fmax(ceil(v - (radius + far) / dv), 0), p->height);
    const int bottom = (int)fmin(fmax(floor(v + (radius + far) / dv), -1), p->height - 1);
    for (int j = top; j <= bottom; j++) {
        for (int i = left; i <= right; i++) {
            float *d = &distance[(size_t)j * (size_t)p->width + (size_t)i];
            *d = fminf(*d, (float)(hypot((i - u) * du, (j - v) * dv) - radius));
        }
    }
}

/* The distance of each pixel to the circles in which the plane cuts the atoms' spheres: to the nearest circle from
 * outside, to the farthest from inside. So the distance is zero on the outline of the union. */
static void measure_spheres(const slice_plane *p, const molecule *mol, float *distance)
{
    const double *center[3] = {mol->x, mol->y, mol->z};
    const double upper = p->lo[1] + p->pixel[1] * p->height;
    for (size_t k = 0; k < (size_t)p->width * (size_t)p->height; k++)
        distance[k] = (float)clip_of(p);
    for (int64_t a = 0; a < mol->atoms; a++) {
        const double off = center[p->normal][a] - p->position;
        if (!(fabs(off) < mol->radius[a]))
            continue;
        measure_circle(p, (center[p->u][a] - p->lo[0]) / p->pixel[0] - 0.5,
                       (upper - center[p->v][a]) / p->pixel[1] - 0.5, sqrt(mol->radius[a] * mol->radius[a] - off * off),
                       distance);
    }
}

/* The pixels are points of a grid that is one layer thick, whose rows begin below. */
static vf_status measure_surface(vf_context *ctx, const map_info *info, const slice_plane *p, float *distance)
{
    const molecule *m = info->molecule;
    const vf_spheres spheres = {m->atoms, m->x, m->y, m->z, m->radius};
    const size_t row = (size_t)p->width * sizeof *distance;
    vf_surface_options o = *info->surface;
    vf_grid grid = {.cell = info->grid.cell};
    o.reach = fmin(clip_of(p), o.kind == VF_SURFACE_EXCLUDED ? 0.9 * o.probe : clip_of(p));
    grid.counts[p->normal] = 1;
    grid.spacing[p->normal] = p->pixel[0];
    grid.origin[p->normal] = p->position;
    for (int n = 0; n < 2; n++) {
        const int axis = n ? p->v : p->u;
        grid.counts[axis] = n ? p->height : p->width;
        grid.spacing[axis] = p->pixel[n];
        grid.origin[axis] = p->lo[n] + p->pixel[n] / 2;
    }
    const vf_box all = vf_grid_box(&grid);
    vf_surface *surface = NULL;
    char *turned = malloc(row);
    vf_status status = turned ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for a row of the picture");
    VF_TRY(status, vf_surface_create_on(ctx, &grid, &spheres, &o, &surface));
    VF_TRY(status, vf_surface_levels(surface, &grid, &all, distance));
    for (int j = 0; status == VF_OK && j < p->height / 2; j++) {
        float *const above = distance + (size_t)j * (size_t)p->width, *const below =
                                                                          distance + (size_t)(p->height - 1 - j) *
                                                                                         (size_t)p->width;
        memcpy(turned, above, row);
        memcpy(above, below, row);
        memcpy(below, turned, row);
    }
    vf_surface_destroy(surface);
    free(turned);
    return status;
}

vf_status slice_outline(vf_context *ctx, const map_info *info, const slice_plane *plane, float *distance)
{
    if (info->surface)
        return measure_surface(ctx, info, plane, distance);
    measure_spheres(plane, info->molecule, distance);
    return VF_OK;
}
