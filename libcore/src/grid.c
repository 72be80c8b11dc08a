#include "voxfield/grid.h"

#include <math.h>

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double vf_cell_volume(const vf_cell *cell)
{
    const double *a = cell->vectors[0], *b = cell->vectors[1], *c = cell->vectors[2];
    if (cell->kind == VF_CELL_NONE)
        return 0;
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

bool vf_cell_valid(const vf_cell *cell)
{
    if (cell->kind == VF_CELL_NONE)
        return true;
    if (cell->kind != VF_CELL_ORTHORHOMBIC && cell->kind != VF_CELL_TRICLINIC)
        return false;
    for (int v = 0; v < 3; v++)
        for (int a = 0; a < 3; a++)
            if (!isfinite(cell->vectors[v][a]) || (cell->kind == VF_CELL_ORTHORHOMBIC &&
                                                   (v == a ? !(cell->vectors[v][a] > 0) : cell->vectors[v][a] != 0)))
                return false;
    const double volume = vf_cell_volume(cell);
    return volume > 0 && isfinite(volume);
}

void vf_cell_shape(const vf_cell *cell, double lengths[3], double angles[3])
{
    const double degrees = 180 / acos(-1.0);
    for (int v = 0; v < 3; v++)
        lengths[v] = sqrt(dot(cell->vectors[v], cell->vectors[v]));
    for (int v = 0; v < 3; v++) {
        const int b = (v + 1) % 3, c = (v + 2) % 3;
        /* asin is exact at 0 */
        angles[v] = 90 - asin(dot(cell->vectors[b], cell->vectors[c]) / (lengths[b] * lengths[c])) * degrees;
    }
}

/* The multiples of cell vector i that can move r into the box, from those of its faces. */
static void image_range(const vf_cell *cell, int i, const double r[3], const double lo[3], const double hi[3],
                        int64_t *first, int64_t *last)
{
    const double *b = cell->vectors[(i + 1) % 3], *c = cell->vectors[(i + 2) % 3], volume = vf_cell_volume(cell);
    double low = 0, high = 0;
    for (int a = 0; a < 3; a++) {
        const double w = (b[(a + 1) % 3] * c[(a + 2) % 3] - b[(a + 2) % 3] * c[(a + 1) % 3]) / volume;
        const double from_lo = w * (lo[a] - r[a]), from_hi = w * (hi[a] - r[a]);
        low += fmin(from_lo, from_hi);
        high += fmax(from_lo, from_hi);
    }
    *first = (int64_t)ceil(low - 1e-9);
    *last = (int64_t)floor(high + 1e-9);
}

void vf_cell_images(const vf_cell *cell, const double r[3], const double lo[3], const double hi[3],
                    void (*take)(void *user, const double image[3]), void *user)
{
    int64_t first[3] = {0}, last[3] = {0};
    for (int i = 0; cell->kind != VF_CELL_NONE && i < 3; i++)
        image_range(cell, i, r, lo, hi, &first[i], &last[i]);
    for (int64_t c = first[2]; c <= last[2]; c++)
        for (int64_t b = first[1]; b <= last[1]; b++)
            for (int64_t m = first[0]; m <= last[0]; m++) {
                double p[3] = {r[0], r[1], r[2]};
                bool inside = true;
                for (int a = 0; a < 3; a++) {
                    if (cell->kind != VF_CELL_NONE)
                        p[a] += (double)m * cell->vectors[0][a] + (double)b * cell->vectors[1][a] +
                                (double)c * cell->vectors[2][a];
                    inside = inside && p[a] > lo[a] && p[a] < hi[a];
                }
                if (inside)
                    take(user, p);
            }
}

bool vf_grid_shear(const vf_grid *grid, int64_t shear[3])
{
    const double close = 1e-6;
    bool covers = grid->cell.kind != VF_CELL_NONE;
    for (int v = 0; v < 3; v++)
        for (int a = 0; a < 3; a++) {
            const double steps = grid->cell.vectors[v][a] / grid->spacing[a];
            const double whole = a > v ? 0 : a == v ? (double)grid->counts[a] : round(steps);
            covers = covers && fabs(steps - whole) <= close && fabs(whole) < 0x1p31;
            if (a < v)
                shear[a + v - 1] = covers ? (int64_t)whole : 0;
        }
    return covers;
}

static int64_t floor_of(int64_t n, int64_t by)
{
    return n / by - (n % by < 0);
}

void vf_grid_wrap(const int64_t counts[3], const int64_t shear[3], int64_t index[3])
{
    const int64_t above = floor_of(index[2], counts[2]);
    index[2] -= above * counts[2];
    index[1] -= above * shear[2];
    const int64_t beside = floor_of(index[1], counts[1]);
    index[1] -= beside * counts[1];
    index[0] -= above * shear[1] + beside * shear[0];
    index[0] -= floor_of(index[0], counts[0]) * counts[0];
}

bool vf_grid_valid(const vf_grid *grid)
{
    int64_t points = 1;
    if (!vf_cell_valid(&grid->cell))
        return false;
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
