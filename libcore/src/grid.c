#include "voxfield/grid.h"

#include <math.h>

bool vf_grid_valid(const vf_grid *grid)
{
    int64_t points = 1;
    for (int a = 0; a < 3; a++) {
        if (!isfinite(grid->origin[a]) || !isfinite(grid->spacing[a]) || !(grid->spacing[a] > 0))
            return false;
        if (grid->counts[a] < 1 || __builtin_mul_overflow(points, grid->counts[a], &points))
            return false;
        if (!isfinite(grid->origin[a] + grid->spacing[a] * (double)grid->counts[a]))
            return false;
    }
    return true;
}

int64_t vf_grid_points(const vf_grid *grid)
{
    return grid->counts[0] * grid->counts[1] * grid->counts[2];
}

vf_box vf_grid_box(const vf_grid *grid)
{
    return (vf_box){.hi = {grid->counts[0], grid->counts[1], grid->counts[2]}};
}

bool vf_box_inside(const vf_box *box, const vf_grid *grid)
{
    for (int a = 0; a < 3; a++)
        if (box->lo[a] < 0 || box->lo[a] >= box->hi[a] || box->hi[a] > grid->counts[a])
            return false;
    return true;
}

int64_t vf_box_points(const vf_box *box)
{
    return vf_box_extent(box, 0) * vf_box_extent(box, 1) * vf_box_extent(box, 2);
}
