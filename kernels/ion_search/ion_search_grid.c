/* The cells of the grid, and a bound of the atoms' sum in each. */
#include <math.h>

#include "ion_search_internal.h"

const int ion_cell_shape[3] = {CELL_X, CELL_Y, CELL_Z};

ion_cells ion_cells_of(const vf_grid *grid)
{
    ion_cells cells = {.count = 1};
    for (int a = 0; a < 3; a++) {
        const double half = 0.5 * (ion_cell_shape[a] - 1) * grid->spacing[a];
        cells.along[a] = (grid->counts[a] - 1) / ion_cell_shape[a] + 1;
        cells.count *= cells.along[a];
        cells.radius += half * half;
    }
    cells.radius = sqrt(cells.radius) * (1 + 1e-12);
    return cells;
}

vf_box ion_cell_box(const vf_grid *grid, const ion_cells *cells, int64_t number)
{
    vf_box box;
    for (int a = 0; a < 3; a++) {
        const int64_t end = (number % cells->along[a] + 1) * ion_cell_shape[a];
        box.lo[a] = end - ion_cell_shape[a];
        box.hi[a] = end < grid->counts[a] ? end : grid->counts[a];
        number /= cells->along[a];
    }
    return box;
}

/* The bound is the sum with max(r, d + rho) at each cell's middle, times a factor. d is the least distance of free
 * points from atoms, rho the radius of a cell. A free point is at least max(d, r - rho) from an atom, and max(r, d +
 * rho) / max(d, r - rho) is largest at r = d + rho, where it is (d + rho) / d. Sums of positive terms in single
 * precision are accurate to about 10 2^-24, so they are good enough. */
vf_status ion_bound_atoms(const vf_ion_search *search, const ion_cells *cells, vf_queue *queue, float *magnitude,
                          double *factor)
{
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_device *device = vf_queue_device(queue);
    vf_coulomb_options options = search->options.potential;
    const double d = fmax(search->least_distance, options.r_min), ratio = (d + cells->radius) / d;
    *factor = (options.distance_dielectric ? ratio * ratio : ratio) * (1 + 1e-5);
    vf_grid coarse = search->grid;
    for (int a = 0; a < 3; a++) {
        coarse.origin[a] += 0.5 * (ion_cell_shape[a] - 1) * coarse.spacing[a];
        coarse.spacing[a] *= ion_cell_shape[a];
        coarse.counts[a] = cells->along[a];
    }
    const vf_box box = vf_grid_box(&coarse);
    const vf_coulomb_atoms atoms = {.count = s->count, .x = s->x, .y = s->y, .z = s->z, .charge = s->magnitude};
    vf_coulomb *sums = NULL;
    options.scale = 1; /* C is in the sources' charges */
    options.r_min = d + cells->radius;
    options.precision = VF_F32;
    options.variant = NULL;
    vf_status status = vf_coulomb_create(device, &coarse, &atoms, &options, &sums);
    VF_TRY(status, vf_coulomb_execute(sums, queue, &box, magnitude));
    VF_TRY(status, vf_queue_sync(queue));
    vf_coulomb_destroy(sums);
    return status;
}
