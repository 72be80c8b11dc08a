/* The search on an OpenCL device with double precision: the field of ion_search_cuda.cu. The device keeps the field and adds ions;
 * the host reads the bounds of the cells, 8 bytes for 128 points, and of the cells that may have the least energy their values. */
#include <stdlib.h>
#include <string.h>

#include "backend/opencl_launch.h"
#include "ion_search_internal.h"

extern const char vf_text_ion_search[];

/* MOST_SUMS: cells summed at a time. MOST_DIRECT: with at most so many candidates, the host sums these. RUN: cells read at once. */
enum { MOST_SUMS = 4096, MOST_DIRECT = 4, RUN = 64, SOURCE = 4 };

/* As in ion_search.cl. */
typedef struct ion_field {
    int64_t counts[3], along[3], cells;
    double origin[3], spacing[3], least;
} ion_field;

typedef struct opencl_state {
    bool begun;
    ion_cells cells;
    ion_field field;
    vf_queue *queue;
    vf_array value, bounds, list, sources;
    double *bound;   /* [cells] of the device's bounds, those that a search needs */
    float *error;    /* [cells] times error_factor: of the values; 0: summed exactly */
    double *values;  /* [RUN][CELL_POINTS] */
    int64_t *to_sum; /* [MOST_SUMS] */
    ion_candidates *candidates;
    double error_factor, magnitude_sum; /* magnitude_sum: a bound of C sum |q|/r at free points */
    int64_t magnitude_ions;             /* the ions in it */
} opencl_state;

static void destroy(vf_ion_search *search)
{
    opencl_state *s = search->state;
    if (!s)
        return;
    vf_queue_destroy(s->queue);
    vf_array_free(&s->value);
    vf_array_free(&s->bounds);
    vf_array_free(&s->list);
    vf_array_free(&s->sources);
    free(s->bound);
    free(s->error);
    free(s->values);
    free(s->to_sum);
    free(s->candidates);
    free(s);
    search->state = NULL;
}

static vf_status create(vf_ion_search *search)
{
    if (!vf_opencl_facts_of(search->device).has_double)
        return vf_fail(search->ctx, VF_ERR_UNSUPPORTED, "search for ions: %s (%s) has no double precision",
                       vf_device_spec(search->device), vf_device_name(search->device));
    opencl_state *s = search->state = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    s->cells = ion_cells_of(&search->grid);
    s->field = (ion_field){.cells = s->cells.count,
                           .least = search->options.potential.r_min * search->options.potential.r_min};
    for (int a = 0; a < 3; a++) {
        s->field.counts[a] = search->grid.counts[a];
        s->field.along[a] = s->cells.along[a];
        s->field.origin[a] = search->grid.origin[a];
        s->field.spacing[a] = search->grid.spacing[a];
    }
    const int64_t cells = s->cells.count;
    s->bound = malloc((size_t)cells * sizeof *s->bound);
    s->error = calloc((size_t)cells, sizeof *s->error);
    s->values = malloc(RUN * CELL_POINTS * sizeof *s->values);
    s->to_sum = malloc(MOST_SUMS * sizeof *s->to_sum);
    s->candidates = malloc(sizeof *s->candidates);
    if (!s->bound || !s->error || !s->values || !s->to_sum || !s->candidates)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    vf_status status = vf_queue_create(search->device, &s->queue);
    VF_TRY(status, vf_array_create(search->device, VF_SPACE_DEVICE, VF_F64, cells * CELL_POINTS, &s->value));
    VF_TRY(status, vf_array_create(search->device, VF_SPACE_DEVICE, VF_F64, 2 * cells, &s->bounds));
    VF_TRY(status, vf_array_create(search->device, VF_SPACE_DEVICE, VF_I64, MOST_SUMS, &s->list));
    return status;
}

/* ---- the field ---- */

/* With a group a cell. */
static vf_opencl_kernel kernel_for(const vf_ion_search *search, const char *name, int64_t cells)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_ion_search, NULL};
    static const char *const words[2][2] = {
        {"-DMAP=float -DCELL_X=8 -DCELL_Y=4 -DCELL_Z=4 -DCELL_POINTS=128",
         "-DMAP=float -DCELL_X=8 -DCELL_Y=4 -DCELL_Z=4 -DCELL_POINTS=128 -DSQUARE=1"},
        {"-DMAP=double -DCELL_X=8 -DCELL_Y=4 -DCELL_Z=4 -DCELL_POINTS=128",
         "-DMAP=double -DCELL_X=8 -DCELL_Y=4 -DCELL_Z=4 -DCELL_POINTS=128 -DSQUARE=1"}};
    const vf_coulomb_options *potential = &search->options.potential;
    return (vf_opencl_kernel){texts,
                              name,
                              VF_F64,
                              words[potential->precision == VF_F64][potential->distance_dielectric],
                              .threads = {cells * CELL_POINTS},
                              .group = {CELL_POINTS}};
}
_Static_assert(CELL_X == 8 && CELL_Y == 4 && CELL_Z == 4, "the words above");

static vf_status fill(vf_ion_search *search)
{
    opencl_state *s = search->state;
    const int64_t points = vf_grid_points(&search->grid);
    const vf_opencl_kernel kernel = kernel_for(search, "fill_field", s->cells.count);
    vf_array map = {0}, mask = {0};
    vf_status status =
        vf_opencl_array_of(search->device, search->options.potential.precision, points, search->map, &map);
    VF_TRY(status, vf_opencl_array_of(search->device, VF_U8, points, search->mask, &mask));
    VF_TRY(status, VF_OPENCL_LAUNCH(s->queue, &kernel, VF_CL_VALUE(s->field), VF_CL_ARRAY(map.data),
                                    VF_CL_ARRAY(mask.data), VF_CL_ARRAY(s->value.data), VF_CL_ARRAY(s->bounds.data)));
    VF_TRY(status, vf_queue_sync(s->queue));
    vf_array_free(&map);
    vf_array_free(&mask);
    return status;
}

/* s->bound = the least values of the cells, or the greatest. */
static vf_status read_bounds(vf_ion_search *search, bool greatest)
{
    opencl_state *s = search->state;
    const size_t bytes = (size_t)s->cells.count * sizeof(double);
    vf_status status = vf_queue_copy(s->queue, s->bound, (char *)s->bounds.data + (greatest ? bytes : 0), bytes);
    VF_TRY(status, vf_queue_sync(s->queue));
    return status;
}

/* Bounds the errors of the map's values, and the sum of magnitudes. */
static vf_status bound_errors(vf_ion_search *search)
{
    opencl_state *s = search->state;
    const double error = ion_map_error(search);
    double factor = 0, most = 0;
    vf_array magnitude = {0};
    vf_status status = vf_array_create(search->device, VF_SPACE_DEVICE, VF_F32, s->cells.count, &magnitude);
    VF_TRY(status, ion_bound_atoms(search, &s->cells, s->queue, magnitude.data, &factor));
    VF_TRY(status, vf_queue_copy(s->queue, s->error, magnitude.data, (size_t)s->cells.count * sizeof *s->error));
    VF_TRY(status, vf_queue_sync(s->queue));
    vf_array_free(&magnitude);
    for (int64_t c = 0; c < s->cells.count; c++) {
        most = fmax(most, (double)s->error[c]);
        s->error[c] = error <= EXACT_ERROR ? 0 : s->error[c];
    }
    s->magnitude_sum = factor * most;
    s->error_factor = factor * error;
    return status;
}

/* An exact map counts as its largest value. */
static vf_status bound_map(vf_ion_search *search)
{
    opencl_state *s = search->state;
    vf_status status = VF_OK;
    for (int greatest = 0; status == VF_OK && greatest < 2; greatest++) {
        status = read_bounds(search, greatest);
        for (int64_t c = 0; status == VF_OK && c < s->cells.count; c++)
            s->magnitude_sum = isfinite(s->bound[c]) ? fmax(s->magnitude_sum, fabs(s->bound[c])) : s->magnitude_sum;
    }
    return status;
}

/* Makes the field at the first call. */
static vf_status begin(vf_ion_search *search)
{
    opencl_state *s = search->state;
    const bool exact = search->options.map_is_exact;
    if (s->begun)
        return VF_OK;
    vf_status status = exact ? VF_OK : bound_errors(search);
    VF_TRY(status, fill(search));
    if (exact)
        VF_TRY(status, bound_map(search));
    s->begun = status == VF_OK;
    return status;
}

static vf_status add(vf_ion_search *search)
{
    const ion_sources *ions = &search->sources[ION_IONS];
    const int64_t n = ions->count - 1;
    const double ion[SOURCE] = {ions->x[n], ions->y[n], ions->z[n], ions->charge[n]}, distance = ions->distance[n];
    vf_status status = begin(search);
    const opencl_state *s = search->state;
    const vf_opencl_kernel kernel = kernel_for(search, "add_ion", s->cells.count);
    VF_TRY(status, VF_OPENCL_LAUNCH(s->queue, &kernel, VF_CL_VALUE(s->field), VF_CL_VALUE(ion), VF_CL_VALUE(distance),
                                    VF_CL_ARRAY(s->value.data), VF_CL_ARRAY(s->bounds.data)));
    return status;
}

/* ---- exact sums ---- */

/* Copies all atoms and ions to the device. */
static vf_status upload_sources(vf_ion_search *search, int64_t *count)
{
    opencl_state *s = search->state;
    int64_t at = 0;
    *count = search->sources[ION_ATOMS].count + search->sources[ION_IONS].count;
    double *all = malloc((size_t)(SOURCE * *count + 1) * sizeof *all);
    if (!all)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for %lld charges", (long long)*count);
    for (int kind = 0; kind < ION_SOURCES; kind++)
        for (int64_t i = 0; i < search->sources[kind].count; i++) {
            const ion_sources *from = &search->sources[kind];
            const double source[SOURCE] = {from->x[i], from->y[i], from->z[i], from->charge[i]};
            memcpy(all + SOURCE * at++, source, sizeof source);
        }
    vf_array_free(&s->sources);
    const vf_status status = vf_opencl_array_of(search->device, VF_F64, SOURCE * *count, all, &s->sources);
    free(all);
    return status;
}

/* Sums the first `cells` of s->to_sum. */
static vf_status sum_cells(vf_ion_search *search, int cells)
{
    opencl_state *s = search->state;
    const vf_opencl_kernel kernel = kernel_for(search, "sum_cells", cells);
    int64_t count;
    vf_status status = vf_queue_sync(s->queue); /* nothing reads the sources that are replaced */
    VF_TRY(status, upload_sources(search, &count));
    VF_TRY(status, vf_queue_copy(s->queue, s->list.data, s->to_sum, (size_t)cells * sizeof *s->to_sum));
    VF_TRY(status,
           VF_OPENCL_LAUNCH(s->queue, &kernel, VF_CL_VALUE(s->field), VF_CL_ARRAY(s->list.data), VF_CL_INT(count),
                            VF_CL_ARRAY(s->sources.data), VF_CL_ARRAY(s->value.data), VF_CL_ARRAY(s->bounds.data)));
    for (int i = 0; i < cells; i++)
        s->error[s->to_sum[i]] = 0;
    return status;
}

/* ---- the least energy ---- */

static double error_of(const opencl_state *s, int64_t cell)
{
    return s->error_factor * (double)s->error[cell];
}

/* Lists the points of a cell whose energy may be `limit` or less. */
static void list_points(const vf_ion_search *search, int64_t cell, const double *values, double sign, double limit,
                        ion_candidates *to)
{
    const opencl_state *s = search->state;
    const vf_box box = ion_cell_box(&search->grid, &s->cells, cell);
    for (int e = 0; e < CELL_POINTS; e++) {
        const int64_t x = box.lo[0] + e % CELL_X, y = box.lo[1] + e / CELL_X % CELL_Y,
                      z = box.lo[2] + e / (CELL_X * CELL_Y),
                      index = (z * search->grid.counts[1] + y) * search->grid.counts[0] + x;
        if (!(sign * values[e] <= limit)) /* also NaN */
            continue;
        if (to->count < MOST_CANDIDATES)
            to->index[to->count] = index;
        to->first = to->count == 0 || index < to->first ? index : to->first;
        to->count++;
    }
}

/* Lists the points of all cells whose bound is at most `limit`. */
static vf_status list_all(vf_ion_search *search, double sign, double limit)
{
    opencl_state *s = search->state;
    vf_status status = VF_OK;
    for (int64_t c = 0, end; status == VF_OK && c < s->cells.count; c = end) {
        for (end = c; end < s->cells.count && end < c + RUN && sign * s->bound[end] - error_of(s, end) <= limit;)
            end++;
        if (end > c) {
            const size_t cell = CELL_POINTS * sizeof(double);
            status =
                vf_queue_copy(s->queue, s->values, (char *)s->value.data + (size_t)c * cell, (size_t)(end - c) * cell);
            VF_TRY(status, vf_queue_sync(s->queue));
        }
        for (int64_t n = c; status == VF_OK && n < end; n++)
            list_points(search, n, s->values + (n - c) * CELL_POINTS, sign, limit + error_of(s, n), s->candidates);
        end += end == c;
    }
    return status;
}

/* One look at the bounds: how many cells to sum; unless there are some and many candidates, the candidates. */
static vf_status look(vf_ion_search *search, double sign, double window, int *sums)
{
    opencl_state *s = search->state;
    double least = INFINITY, error_there = 0;
    int64_t cells = 0;
    for (int64_t c = 0; c < s->cells.count; c++) {
        const double bound = sign * s->bound[c] - error_of(s, c);
        if (bound < least) {
            least = bound;
            error_there = error_of(s, c);
        }
    }
    const double limit = least + 2 * error_there + 2 * window; /* its cell has a point at most 2 errors above */
    for (int64_t c = 0; c < s->cells.count; c++) {
        const double bound = sign * s->bound[c] - error_of(s, c);
        cells += bound <= limit;
        if (*sums < MOST_SUMS && s->error[c] > 0 && bound <= least + error_there / 4 + 2 * window)
            s->to_sum[(*sums)++] = c; /* summing those with the least bounds narrows the search most */
    }
    s->candidates->count = MOST_DIRECT + 1;
    if (*sums > 0 && cells > MOST_DIRECT) /* each has a candidate at least */
        return VF_OK;
    s->candidates->count = 0;
    return list_all(search, sign, limit);
}

static vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    vf_status status = begin(search);
    opencl_state *s = search->state;
    const double sign = charge > 0 ? 1 : -1;
    int sums = 0;
    if (status == VF_OK)
        ion_add_magnitudes(search, &s->magnitude_ions, &s->magnitude_sum);
    do {
        if (sums > 0)
            VF_TRY(status, sum_cells(search, sums));
        if (status == VF_OK && vf_cancelled(search->ctx))
            status = vf_fail(search->ctx, VF_ERR_CANCELLED, "interrupted");
        VF_TRY(status, read_bounds(search, sign < 0));
        sums = 0;
        VF_TRY(status, look(search, sign, EXACT_ERROR * s->magnitude_sum, &sums));
    } while (status == VF_OK && sums > 0 && s->candidates->count > MOST_DIRECT);
    if (status == VF_OK && s->candidates->count > 0)
        status = ion_choose(search, charge, s->candidates, &out->index);
    return status;
}

static const char *const variants[] = {"field", NULL};
const vf_ion_search_backend vf_ion_search_opencl = {
    .variants = {VF_DEVICE_OPENCL, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
