#include "radial.h"

#include "voxfield/team_size.h"

#include <math.h>
#include <stdlib.h>

vf_status radial_begin(vf_context *ctx, const molecule *m, const vf_grid *grid, double width, radial_distribution *out)
{
    *out = (radial_distribution){.grid = *grid, .width = width};
    int64_t most = 1;
    for (int slow = 0; slow < 3; slow += 2) {
        const int64_t points = vf_grid_points(grid) / grid->counts[slow];
        most = points > most ? points : most;
    }
    vf_status status = surface_create(ctx, m, &grid->cell, &out->surface);
    if (status != VF_OK)
        return status;
    out->first = -(int64_t)ceil(surface_largest_radius(out->surface) / width);
    out->distance = malloc((size_t)most * sizeof *out->distance);
    if (out->distance)
        return VF_OK;
    radial_free(out);
    return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a layer of distances");
}

void radial_free(radial_distribution *d)
{
    surface_destroy(d->surface);
    free(d->shell);
    free(d->distance);
    *d = (radial_distribution){.surface = NULL};
}

/* The distances of a layer's points, in its order. */
static void find_distances(vf_context *ctx, radial_distribution *d, int slow, int64_t layer)
{
    const int fast = 2 - slow;
    const vf_grid *g = &d->grid;
    const int64_t row = g->counts[fast];
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, 100 * g->counts[1] * row))
    for (int64_t y = 0; y < g->counts[1]; y++) {
        int64_t hint = 0;
        double r[3];
        r[slow] = g->origin[slow] + (double)layer * g->spacing[slow];
        r[1] = g->origin[1] + (double)y * g->spacing[1];
        for (int64_t i = 0; i < row; i++) {
            r[fast] = g->origin[fast] + (double)i * g->spacing[fast];
            d->distance[y * row + i] = surface_distance(d->surface, r, &hint);
        }
    }
}

static vf_status make_room(vf_context *ctx, radial_distribution *d, int64_t shells)
{
    int64_t more = d->shells + d->shells / 2 + 64;
    more = more > shells ? more : shells;
    radial_shell *larger = realloc(d->shell, (size_t)more * sizeof *larger);
    if (!larger)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld shells; use a larger --radial-width", (long long)more);
    d->shell = larger;
    for (; d->shells < more; d->shells++)
        d->shell[d->shells] = (radial_shell){.least = INFINITY, .most = -INFINITY};
    return VF_OK;
}

/* Welford, Technometrics 4 (1962) 419. */
static void add_value(radial_shell *s, double v)
{
    const double from_mean = v - s->mean;
    s->points++;
    s->mean += from_mean / (double)s->points;
    s->squares += from_mean * (v - s->mean);
    s->least = fmin(s->least, v);
    s->most = fmax(s->most, v);
}

vf_status radial_take(vf_context *ctx, radial_distribution *d, const map_layers *layers)
{
    const int slow = map_layers_slow(layers);
    const int64_t points = vf_grid_points(&d->grid) / d->grid.counts[slow];
    for (int64_t n = 0; n < layers->count; n++) {
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        find_distances(ctx, d, slow, layers->first + n);
        for (int64_t i = 0; i < points; i++) {
            int64_t shell = (int64_t)floor(d->distance[i] / d->width) - d->first;
            shell = shell > 0 ? shell : 0; /* the centre of the largest atom, but for rounding */
            const vf_status status = shell < d->shells ? VF_OK : make_room(ctx, d, shell + 1);
            if (status != VF_OK)
                return status;
            add_value(&d->shell[shell], map_layers_value(layers, n * points + i));
        }
    }
    return VF_OK;
}
