#include "map_profile.h"

#include <math.h>
#include <stdlib.h>

vf_status profile_begin(vf_context *ctx, const vf_grid *grid, int axis, map_profile *out)
{
    const size_t n = (size_t)grid->counts[axis];
    *out = (map_profile){.grid = *grid, .axis = axis};
    out->mean = calloc(n, sizeof *out->mean);
    out->integral = calloc(n, sizeof *out->integral);
    out->density = calloc(n, sizeof *out->density);
    if (out->mean && out->integral && out->density)
        return VF_OK;
    profile_free(out);
    return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a profile of %lld layers", (long long)grid->counts[axis]);
}

void profile_free(map_profile *p)
{
    free(p->mean);
    free(p->integral);
    free(p->density);
    *p = (map_profile){.mean = NULL};
}

/* The sum over a row along the fastest axis, or its values one by one. */
void profile_take(map_profile *p, const map_layers *l)
{
    const int slow = map_layers_slow(l), fast = 2 - slow;
    const int64_t rows = p->grid.counts[1], row = p->grid.counts[fast];
    for (int64_t n = 0; n < l->count; n++)
        for (int64_t y = 0; y < rows; y++) {
            const int64_t from = (n * rows + y) * row;
            double sum = 0;
            for (int64_t i = 0; i < row; i++) {
                const double v = map_layers_value(l, from + i);
                sum += v;
                if (p->axis == fast)
                    p->mean[i] += v;
            }
            if (p->axis != fast)
                p->mean[p->axis == slow ? l->first + n : y] += sum;
        }
}

void profile_end(map_profile *p)
{
    const int64_t layers = p->grid.counts[p->axis];
    const double points = (double)(vf_grid_points(&p->grid) / layers);
    double squares = 0, differences = 0;
    for (int64_t k = 0; k < layers; k++) {
        p->mean[k] /= points;
        squares += p->mean[k] * p->mean[k];
        differences += (p->mean[k] - p->integral[k]) * (p->mean[k] - p->integral[k]);
    }
    p->rms = sqrt(squares / (double)layers);
    p->rms_difference = sqrt(differences / (double)layers);
}
