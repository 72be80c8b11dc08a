#include "compare_maps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "voxfield/format_number.h"

struct map_comparison {
    vf_grid grid;
    loaded_map other;
    /* Of the points so far: means, and sums of products of deviations from them. */
    double count, mean, mean_other, squares, squares_other, products;
    double square_of_other, square_of_difference, difference; /* sums */
    comparison_figures figures;
};

/* "61 x 61 x 97 points from (-15, -15, -24), 0.5 x 0.5 x 0.5 A apart" */
enum { GRID_TEXT = 320 };
static const char *grid_text(const vf_grid *g, char text[GRID_TEXT])
{
    char number[6][VF_NUMBER_TEXT];
    for (int a = 0; a < 3; a++) {
        vf_format_general(g->origin[a], 9, number[a]);
        vf_format_general(g->spacing[a], 9, number[3 + a]);
    }
    snprintf(text, GRID_TEXT, "%lld x %lld x %lld points from (%s, %s, %s), %s x %s x %s A apart",
             (long long)g->counts[0], (long long)g->counts[1], (long long)g->counts[2], number[0], number[1], number[2],
             number[3], number[4], number[5]);
    return text;
}

static vf_status check_grid(vf_context *ctx, const map_comparison *c)
{
    char own[GRID_TEXT], other[GRID_TEXT], number[6][VF_NUMBER_TEXT];
    const vf_grid *g = &c->other.grid;
    const vf_status status = check_map_grid(ctx, &c->other, &c->grid);
    if (status != VF_ERR_INPUT)
        return status;
    vf_context_clear_error(ctx);
    for (int a = 0; a < 3; a++) {
        vf_format_general(g->origin[a], 9, number[a]);
        vf_format_general(g->spacing[a], 9, number[3 + a]);
    }
    return vf_fail(ctx, VF_ERR_INPUT,
                   "--compare %s: the map has %s, but this one has %s; maps can only be compared on one grid: use "
                   "--origin %s,%s,%s --spacing %s,%s,%s --counts %lld,%lld,%lld",
                   c->other.path, grid_text(g, other), grid_text(&c->grid, own), number[0], number[1], number[2],
                   number[3], number[4], number[5], (long long)g->counts[0], (long long)g->counts[1],
                   (long long)g->counts[2]);
}

vf_status comparison_begin(vf_context *ctx, const char *path, const char *unit, const vf_grid *grid,
                           map_comparison **out)
{
    map_comparison *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to compare maps", path);
    c->grid = *grid;
    c->figures.largest = 0;
    vf_status status = read_map(ctx, path, unit, &c->other);
    VF_TRY(status, check_grid(ctx, c));
    if (status == VF_OK)
        *out = c;
    else
        comparison_free(c);
    return status;
}

/* One layer: both maps' values at its points. */
typedef struct layer_pair {
    const map_layers *layers;
    const map_comparison *c;
    int64_t layer, points, fast_count;
} layer_pair;

static void grid_point(const layer_pair *p, int64_t i, int64_t at[3])
{
    const int slow = map_layers_slow(p->layers);
    at[slow] = p->layers->first + p->layer;
    at[1] = i / p->fast_count;
    at[2 - slow] = i % p->fast_count;
}

static double value(const layer_pair *p, int64_t i)
{
    return map_layers_value(p->layers, p->layer * p->points + i);
}

static double other_value(const layer_pair *p, int64_t i)
{
    int64_t at[3];
    grid_point(p, i, at);
    const loaded_map *m = &p->c->other;
    const int64_t index = (at[2] * p->c->grid.counts[1] + at[1]) * p->c->grid.counts[0] + at[0];
    return m->type == VF_F64 ? ((const double *)m->values)[index] : (double)((const float *)m->values)[index];
}

static void find_largest(comparison_figures *f, const layer_pair *p, int64_t i, double a, double b)
{
    if (f->points > 0 && !(fabs(a - b) > fabs(f->largest)))
        return;
    f->largest = a - b;
    f->here = a;
    f->there = b;
    grid_point(p, i, f->at);
    f->points = 1;
}

/* Joins a layer's sums to those before (Chan, Golub and LeVeque, Am. Stat. 37 (1983) 242). */
static void take_layer(map_comparison *c, const layer_pair *p)
{
    const double n = (double)p->points, k = c->count;
    double mean = 0, mean_other = 0, squares = 0, squares_other = 0, products = 0;
    for (int64_t i = 0; i < p->points; i++) {
        const double a = value(p, i), b = other_value(p, i);
        mean += a / n;
        mean_other += b / n;
        c->difference += a - b;
        c->square_of_difference += (a - b) * (a - b);
        c->square_of_other += b * b;
        find_largest(&c->figures, p, i, a, b);
    }
    for (int64_t i = 0; i < p->points; i++) {
        const double a = value(p, i) - mean, b = other_value(p, i) - mean_other;
        squares += a * a;
        squares_other += b * b;
        products += a * b;
    }
    const double da = mean - c->mean, db = mean_other - c->mean_other, share = k * n / (k + n);
    c->squares += squares + da * da * share;
    c->squares_other += squares_other + db * db * share;
    c->products += products + da * db * share;
    c->mean += da * n / (k + n);
    c->mean_other += db * n / (k + n);
    c->count += n;
}

void comparison_take(map_comparison *c, const map_layers *layers)
{
    const int slow = map_layers_slow(layers);
    layer_pair p = {.layers = layers,
                    .c = c,
                    .points = vf_grid_points(&c->grid) / c->grid.counts[slow],
                    .fast_count = c->grid.counts[2 - slow]};
    for (; p.layer < layers->count; p.layer++)
        take_layer(c, &p);
}

comparison_figures comparison_result(const map_comparison *c)
{
    comparison_figures f = c->figures;
    f.points = (int64_t)c->count;
    f.mean_difference = c->difference / c->count;
    f.rms_difference = sqrt(c->square_of_difference / c->count);
    f.rms_other = sqrt(c->square_of_other / c->count);
    f.correlation =
        c->squares > 0 && c->squares_other > 0 ? c->products / sqrt(c->squares) / sqrt(c->squares_other) : NAN;
    return f;
}

void comparison_free(map_comparison *c)
{
    if (c)
        map_free(&c->other);
    free(c);
}
