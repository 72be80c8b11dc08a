/* Makes the tables of bins by edges, and chooses their kind of cells. */
#include "histogram_bins.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST_CELLS = 64, CELLS_A_BIN = 8, SMALL_TABLE = 8192 };

/* The more cells, the fewer have an edge; but small tables are in faster memory. */
int vf_cells_for(int bins)
{
    const int many = CELLS_A_BIN * bins, least = bins > SMALL_TABLE ? bins : SMALL_TABLE;
    return many < FEWEST_CELLS ? FEWEST_CELLS : many < least ? many : least;
}

/* The least single-precision number that is not below x: a float is below x if and only if it is below that. */
static float round_up(double x)
{
    const float rounded = (float)x;
    return (double)rounded < x ? nextafterf(rounded, INFINITY) : rounded;
}

static int cell_of(const vf_bin_cells *c, vf_dtype type, double x)
{
    if (type == VF_F32)
        return c->by_keys ? vf_cell_by_key_f32(&c->f32, (float)x) : vf_cell_by_width_f32(&c->f32, (float)x);
    return c->by_keys ? vf_cell_by_key_f64(&c->f64, x) : vf_cell_by_width_f64(&c->f64, x);
}

static double inner_edge(const vf_bin_cells *c, vf_dtype type, int i)
{
    return type == VF_F32 ? (double)((const float *)c->inner)[i] : ((const double *)c->inner)[i];
}

/* Fills the table for the kind of cells that is set; returns the most edges in a cell. Edges beyond the greatest number
 * of the type are infinite; they are in the last cell. */
static int fill_bounds(vf_bin_cells *c, vf_dtype type, int bins)
{
    int most = 0, edge = 0;
    for (int cell = 0; cell < c->cells; cell++) {
        const int from = edge;
        while (edge < bins - 1 && cell_of(c, type, inner_edge(c, type, edge)) == cell)
            edge++;
        c->bounds[cell] = (uint32_t)from | (uint32_t)edge << 16;
        most = edge - from > most ? edge - from : most;
    }
    return most;
}

static int shift_for(uint64_t keys, int cells)
{
    int shift = 0;
    while (keys >> shift >= (uint64_t)cells)
        shift++;
    return shift;
}

static void set_range(vf_bin_cells *c, vf_dtype type, int bins, const double *edges, bool closed)
{
    const double low = edges[0], high = closed ? nextafter(edges[bins], INFINITY) : edges[bins];
    if (type == VF_F32) {
        float *inner = c->inner;
        vf_cells_f32 *f = &c->f32;
        for (int i = 0; i < bins - 1; i++)
            inner[i] = round_up(edges[i + 1]);
        *f = (vf_cells_f32){.low = round_up(low), .high = round_up(high), .cells = c->cells};
        f->scale = (float)c->cells / (f->high - f->low);
        f->low_key = vf_key_f32(f->low);
        f->shift = shift_for((uint32_t)vf_key_f32(f->high) - (uint32_t)f->low_key, c->cells);
        f->inner = inner;
        f->bounds = c->bounds;
    } else {
        double *inner = c->inner;
        vf_cells_f64 *f = &c->f64;
        for (int i = 0; i < bins - 1; i++)
            inner[i] = edges[i + 1];
        *f = (vf_cells_f64){.low = low, .high = high, .cells = c->cells};
        f->scale = (double)c->cells / (f->high - f->low);
        f->low_key = vf_key_f64(f->low);
        f->shift = shift_for((uint64_t)vf_key_f64(f->high) - (uint64_t)f->low_key, c->cells);
        f->inner = inner;
        f->bounds = c->bounds;
    }
}

vf_status vf_bin_cells_create(vf_context *ctx, vf_dtype type, int bins, const double *edges, bool closed,
                              vf_bin_cells *out)
{
    *out = (vf_bin_cells){.cells = vf_cells_for(bins)};
    out->inner = calloc((size_t)bins, vf_dtype_bytes(type));
    out->bounds = malloc((size_t)out->cells * sizeof *out->bounds);
    if (!out->inner || !out->bounds)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the edges of %d bins", bins);
    set_range(out, type, bins, edges, closed);
    out->by_keys = true;
    const int by_keys = fill_bounds(out, type, bins);
    out->by_keys = false;
    if (fill_bounds(out, type, bins) <= by_keys)
        return VF_OK;
    out->by_keys = true;
    (void)fill_bounds(out, type, bins);
    return VF_OK;
}

void vf_bin_cells_free(vf_bin_cells *cells)
{
    free(cells->inner);
    free(cells->bounds);
    *cells = (vf_bin_cells){0};
}
