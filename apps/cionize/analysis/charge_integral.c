/* The double integral of a charge density along an axis of a periodic cell, at the layers of a grid. map_profile.h has the law.
 *
 * Charges between two layers are joined: for all layers, u keeps its sign, so sums of q, q t and q t^2 (t: distance from the layer
 * below) give the same as the charges one by one, in a time of charges + layers^2.
 *
 * Gaussian charges: E|u + s x| for a normal x is |u| + c(u), c(u) = s sqrt(2/pi) exp(-u^2 / (2 s^2)) - |u| erfc(|u| / (s sqrt 2)),
 * and E(u + s x)^2 is u^2 + s^2. So G grows by s^2/(2 L) - sum c(u - m L)/2 over all m. */
#include <math.h>
#include <stdlib.h>

#include "map_profile.h"
#include "voxfield/team_size.h"

static const double PI = 3.14159265358979323846;

bool plane_is_lattice(const vf_cell *cell, int axis)
{
    for (int v = 0; v < 3; v++)
        if (v != axis && cell->vectors[v][axis] != 0)
            return false;
    return true;
}

/* The area of the cell's plane across the axis: the two others' vectors are in it. */
static double plane_area(const vf_cell *cell, int axis)
{
    return vf_cell_volume(cell) / cell->vectors[axis][axis];
}

/* The layer at or below a charge, in the cell, and the distance from it. */
static int64_t layer_below(const vf_grid *grid, int axis, double at, double *above)
{
    const double h = grid->spacing[axis];
    const int64_t n = grid->counts[axis];
    const double steps = (at - grid->origin[axis]) / h, whole = floor(steps);
    *above = (steps - whole) * h;
    return (int64_t)(whole - (double)n * floor(whole / (double)n)) % n;
}

static void add_points(const vf_context *ctx, map_profile *p, const vf_grid *grid, double factor,
                       const double (*sums)[3])
{
    const int64_t n = grid->counts[p->axis];
    const double h = grid->spacing[p->axis], length = h * (double)n;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 10 * n * n))
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) {
            const double d = (double)(j - k) * h, sign = j > k ? 1 : -1, *s = sums[k];
            sum += -sign * (d * s[0] - s[1]) / 2 + (d * d * s[0] - 2 * d * s[1] + s[2]) / (2 * length) +
                   length / 12 * s[0];
        }
        p->integral[j] += factor * sum;
    }
}

static void add_gaussians(map_profile *p, const vf_grid *grid, double factor, double sigma, int64_t charges,
                          const double *at, const double *charge)
{
    const double far = 9; /* sigma: erfc is 1e-18 */
    const int64_t n = grid->counts[p->axis];
    const double h = grid->spacing[p->axis], length = h * (double)n;
    double total = 0;
    for (int64_t i = 0; i < charges; i++) {
        const double steps = (at[i] - grid->origin[p->axis]) / h;
        total += charge[i];
        const int64_t last = (int64_t)floor(steps + far * sigma / h);
        for (int64_t j = (int64_t)ceil(steps - far * sigma / h); j <= last; j++) {
            const double u = fabs((double)j - steps) * h;
            const double c = sigma * sqrt(2 / PI) * exp(-u * u / (2 * sigma * sigma)) - u * erfc(u / (sigma * sqrt(2)));
            p->integral[(j % n + n) % n] -= factor * charge[i] * c / 2;
        }
    }
    for (int64_t j = 0; j < n; j++)
        p->integral[j] += factor * total * sigma * sigma / (2 * length);
}

vf_status profile_add_integral(vf_context *ctx, map_profile *p, const vf_grid *grid, double share, double scale,
                               double sigma, int64_t charges, const double *at, const double *charge)
{
    const double factor = share * 4 * PI * scale / plane_area(&grid->cell, p->axis);
    double(*sums)[3] = calloc((size_t)grid->counts[p->axis], sizeof *sums);
    if (!sums)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a profile");
    for (int64_t i = 0; i < charges; i++) {
        double t;
        double *s = sums[layer_below(grid, p->axis, at[i], &t)];
        s[0] += charge[i];
        s[1] += charge[i] * t;
        s[2] += charge[i] * t * t;
    }
    add_points(ctx, p, grid, factor, (const double(*)[3])sums);
    free(sums);
    if (sigma > 0)
        add_gaussians(p, grid, factor, sigma, charges, at, charge);
    return VF_OK;
}

void profile_add_density(map_profile *p, const vf_grid *grid, double share, int64_t charges, const double *at,
                         const double *charge)
{
    const int axis = p->axis;
    const bool periodic = grid->cell.kind != VF_CELL_NONE;
    const int64_t n = grid->counts[axis];
    double area = 1;
    for (int a = 0; a < 3; a++)
        area *= a == axis ? 1 : grid->spacing[a] * (double)grid->counts[a];
    for (int64_t i = 0; i < charges; i++) {
        const double nearest = floor((at[i] - grid->origin[axis]) / grid->spacing[axis] + 0.5);
        const double k = periodic ? nearest - (double)n * floor(nearest / (double)n) : nearest;
        if (k >= 0 && k < (double)n)
            p->density[(int64_t)k] += share * charge[i] / (area * grid->spacing[axis]);
    }
}
