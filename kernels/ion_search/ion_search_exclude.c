/* Excludes spheres of grid points, row by row. */
#include <math.h>
#include <stdlib.h>

#include "coulomb_sum_backend.h"
#include "ion_search_internal.h"
#include "voxfield/team_size.h"

/* Marks the free points in [lo, hi) of a row; returns their number. */
static int64_t mark(uint8_t *row, int64_t lo, int64_t hi, uint8_t value)
{
    int64_t marked = 0;
    for (int64_t i = lo; i < hi; i++) {
        marked += row[i] == VF_ION_FREE;
        row[i] = row[i] == VF_ION_FREE ? value : row[i];
    }
    return marked;
}

/* Marks the points of row (j, k) that are too near the source; returns the number of newly marked ones. */
static int64_t exclude_row(const vf_grid *grid, const ion_sources *s, int64_t n, int64_t j, int64_t k, uint8_t *row,
                           uint8_t value)
{
    const double dy = vf_coulomb_position(grid, 1, j) - s->y[n], dz = vf_coulomb_position(grid, 2, k) - s->z[n],
                 distance = s->distance[n];
    const double rest = distance * distance - (dy * dy + dz * dz);
    int64_t lo, hi;
    if (!(rest > 0))
        return 0;
    ion_axis_range(grid, 0, s->x[n], sqrt(rest), &lo, &hi);
    /* The ends were rounded; the distance decides. */
    while (lo < hi && !ion_too_near(ion_distance_squared(vf_coulomb_position(grid, 0, lo) - s->x[n], dy, dz), distance))
        lo++;
    while (lo < hi &&
           !ion_too_near(ion_distance_squared(vf_coulomb_position(grid, 0, hi - 1) - s->x[n], dy, dz), distance))
        hi--;
    return mark(row, lo, hi, value);
}

static int64_t exclude_in_layer(const vf_ion_search *search, const ion_sources *s, int64_t n, int64_t k, uint8_t value)
{
    const vf_grid *grid = &search->grid;
    int64_t lo, hi, marked = 0;
    ion_axis_range(grid, 1, s->y[n], s->distance[n], &lo, &hi);
    for (int64_t j = lo; j < hi; j++)
        marked += exclude_row(grid, s, n, j, k, search->mask + (k * grid->counts[1] + j) * grid->counts[0], value);
    return marked;
}

/* The sources that reach each layer k: one list per layer, in order. */
typedef struct layer_lists {
    int64_t *begin; /* [layers + 1] */
    int64_t *source;
} layer_lists;

static bool make_lists(const vf_grid *grid, const ion_sources *s, int64_t first, int64_t count, layer_lists *lists)
{
    const int64_t layers = grid->counts[2];
    int64_t lo, hi, total = 0;
    lists->begin = calloc((size_t)layers + 2, sizeof *lists->begin);
    if (!lists->begin)
        return false;
    for (int64_t n = first; n < first + count; n++) {
        ion_axis_range(grid, 2, s->z[n], s->distance[n], &lo, &hi);
        for (int64_t k = lo; k < hi; k++, total++)
            lists->begin[k + 2]++;
    }
    lists->source = malloc((size_t)(total + 1) * sizeof *lists->source);
    if (!lists->source)
        return false;
    for (int64_t k = 0; k < layers; k++)
        lists->begin[k + 2] += lists->begin[k + 1];
    for (int64_t n = first; n < first + count; n++) {
        ion_axis_range(grid, 2, s->z[n], s->distance[n], &lo, &hi);
        for (int64_t k = lo; k < hi; k++)
            lists->source[lists->begin[k + 1]++] = n;
    }
    return true;
}

/* ---- images ---- */

void ion_images(const vf_ion_search *search, const double position[3], double distance,
                void (*take)(void *user, const double image[3]), void *user)
{
    static const vf_cell none = {.kind = VF_CELL_NONE};
    const vf_grid *grid = &search->grid;
    const bool periodic = search->pair.law == VF_PAIR_PERIODIC;
    double lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        lo[a] = periodic ? grid->origin[a] - distance : -INFINITY;
        hi[a] = periodic ? vf_coulomb_position(grid, a, grid->counts[a] - 1) + distance : INFINITY;
    }
    vf_cell_images(periodic ? &search->pair.cell : &none, position, lo, hi, take, user);
}

typedef struct image_list {
    ion_sources *out; /* NULL arrays: only counted */
    double distance;
} image_list;

static void take_image(void *user, const double image[3])
{
    const image_list *list = user;
    ion_sources *s = list->out;
    if (s->x) {
        s->x[s->count] = image[0];
        s->y[s->count] = image[1];
        s->z[s->count] = image[2];
        s->distance[s->count] = list->distance;
    }
    s->count++;
}

static void list_images(const vf_ion_search *search, const ion_sources *s, int64_t first, int64_t count,
                        ion_sources *out)
{
    out->count = 0;
    for (int64_t n = first; n < first + count; n++) {
        image_list list = {out, s->distance[n]};
        ion_images(search, (double[]){s->x[n], s->y[n], s->z[n]}, s->distance[n], take_image, &list);
    }
}

static vf_status exclude_listed(vf_ion_search *search, int kind, const ion_sources *s, int64_t first, int64_t count);

vf_status ion_exclude(vf_ion_search *search, int kind, const ion_sources *s, int64_t first, int64_t count)
{
    ion_sources images = {0};
    if (search->pair.law != VF_PAIR_PERIODIC)
        return exclude_listed(search, kind, s, first, count);
    list_images(search, s, first, count, &images);
    const size_t n = (size_t)images.count;
    double *data = malloc((4 * n + 1) * sizeof *data);
    if (!data)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for the images of %lld atoms", (long long)count);
    images = (ion_sources){.x = data, .y = data + n, .z = data + 2 * n, .distance = data + 3 * n};
    list_images(search, s, first, count, &images);
    const vf_status status = exclude_listed(search, kind, &images, 0, images.count);
    free(data);
    return status;
}

static vf_status exclude_listed(vf_ion_search *search, int kind, const ion_sources *s, int64_t first, int64_t count)
{
    const int64_t layers = search->grid.counts[2];
    const uint8_t value = (uint8_t)(kind + 1);
    int64_t marked = 0;
    layer_lists lists = {0};
    const bool made = make_lists(&search->grid, s, first, count, &lists);
    if (made) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(search->ctx, 1000 * count)) reduction(+ : marked)
        for (int64_t k = 0; k < layers; k++)
            for (int64_t i = lists.begin[k]; i < lists.begin[k + 1]; i++)
                marked += exclude_in_layer(search, s, lists.source[i], k, value);
    }
    search->free -= marked;
    free(lists.begin);
    free(lists.source);
    return made ? VF_OK : vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for the atoms near each layer");
}
