/* Searches in cubic cells: those around the query's, shell by shell, until no point beyond can be nearer. */
#include <stdlib.h>
#include <string.h>

#include "search_cpu.h"

enum { IN_CELL = 2 }; /* points of a cell, on average */

static const char *const names[] = {"bins", NULL};

typedef struct bins {
    double low[VF_MOST_DIMENSIONS], extent[VF_MOST_DIMENSIONS]; /* of the points */
    double edge;
    int64_t counts[VF_MOST_DIMENSIONS]; /* cells; 1 beyond the dimensions */
    int64_t *first;                     /* [cells + 1]: where a cell's points begin */
    float *points;                      /* [n][dimensions] by cell, then by index */
    int32_t *index;                     /* [n] */
} bins;

static void measure_box(const vf_neighbours *plan, const float *points, bins *b)
{
    for (int a = 0; a < plan->dimensions; a++) {
        float low = points[a], high = low;
        for (int64_t i = 1; i < plan->n; i++) {
            const float x = points[i * plan->dimensions + a];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        b->low[a] = low;
        b->extent[a] = (double)high - low;
    }
}

/* The number of cells with this edge, or infinity; sets counts. */
static double count_cells(bins *b, double edge)
{
    double cells = 1;
    for (int a = 0; a < VF_MOST_DIMENSIONS; a++) {
        const double count = floor(b->extent[a] / edge) + 1;
        cells *= count;
        b->counts[a] = count < 0x1p31 ? (int64_t)count : INT64_C(1) << 31;
    }
    return cells;
}

/* The edge that gives each cell IN_CELL points, if points fill their box; larger until there are at most n cells, as on
 * lines and planes. */
static void choose_edge(int64_t n, bins *b)
{
    double volume = 1;
    int axes = 0;
    for (int a = 0; a < VF_MOST_DIMENSIONS; a++)
        if (b->extent[a] > 0) {
            volume *= b->extent[a];
            axes++;
        }
    b->edge = axes > 0 ? pow(volume * IN_CELL / (double)n, 1.0 / axes) : 1;
    while (count_cells(b, b->edge) > (double)n)
        b->edge *= 1.1;
}

/* In cells from the lowest corner. Monotonic in x. */
static double position(const bins *b, int axis, float x)
{
    return (x - b->low[axis]) / b->edge;
}

static int64_t cell_of(const bins *b, int axis, float x)
{
    const double at = position(b, axis, x);
    const int64_t last = b->counts[axis] - 1;
    return !(at > 0) ? 0 : at < (double)last ? (int64_t)at : last;
}

static int64_t number_of(const bins *b, const int64_t *cell)
{
    return ((cell[3] * b->counts[2] + cell[2]) * b->counts[1] + cell[1]) * b->counts[0] + cell[0];
}

static int64_t cell_of_point(const bins *b, int dimensions, const float *p)
{
    int64_t cell[VF_MOST_DIMENSIONS] = {0};
    for (int a = 0; a < dimensions; a++)
        cell[a] = cell_of(b, a, p[a]);
    return number_of(b, cell);
}

/* A counting sort. `first` has a place more while it counts: first[c + 2] counts cell c. */
static void sort_points(const vf_neighbours *plan, const float *points, int64_t cells, bins *b)
{
    const int d = plan->dimensions;
    for (int64_t i = 0; i < plan->n; i++)
        b->first[cell_of_point(b, d, points + i * d) + 2]++;
    for (int64_t c = 2; c < cells + 2; c++)
        b->first[c] += b->first[c - 1];
    for (int64_t i = 0; i < plan->n; i++) {
        const int64_t to = b->first[cell_of_point(b, d, points + i * d) + 1]++;
        memcpy(b->points + to * d, points + i * d, (size_t)d * sizeof *points);
        b->index[to] = (int32_t)i;
    }
}

static vf_status create(vf_neighbours *plan, const float *points)
{
    vf_context *ctx = vf_device_context(plan->device);
    bins *b = plan->state = calloc(1, sizeof *b);
    if (!b)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the bins of points");
    if (plan->n == 0)
        return VF_OK;
    measure_box(plan, points, b);
    choose_edge(plan->n, b);
    const int64_t cells = b->counts[0] * b->counts[1] * b->counts[2] * b->counts[3];
    b->first = calloc((size_t)cells + 2, sizeof *b->first);
    b->points = malloc((size_t)(plan->n * plan->dimensions) * sizeof *b->points);
    b->index = malloc((size_t)plan->n * sizeof *b->index);
    if (!b->first || !b->points || !b->index)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld points in bins", (long long)plan->n);
    sort_points(plan, points, cells, b);
    return VF_OK;
}

static void destroy(vf_neighbours *plan)
{
    bins *b = plan->state;
    if (b) {
        free(b->first);
        free(b->points);
        free(b->index);
    }
    free(b);
}

/* A query, its cell, and how far it is from the cells around that. */
typedef struct around {
    const float *q;
    uint32_t self;
    int k;
    vf_neighbour_key *heap;
    int64_t cell[VF_MOST_DIMENSIONS];
    double inside;  /* cells: from the nearest face of its cell; 0 if it is outside */
    double outside; /* the squared distance from the box of all points */
    double least;   /* the least distance from that box along an axis */
} around;

static void look_around(const vf_neighbours *plan, const bins *b, around *q)
{
    q->inside = 0.5;
    q->least = INFINITY;
    for (int a = 0; a < plan->dimensions; a++) {
        const double at = position(b, a, q->q[a]), x = q->q[a] - b->low[a];
        const double off = x < 0 ? -x : x > b->extent[a] ? x - b->extent[a] : 0;
        q->cell[a] = cell_of(b, a, q->q[a]);
        q->inside = fmin(q->inside, fmin(at - (double)q->cell[a], (double)(q->cell[a] + 1) - at));
        q->outside += off * off;
        q->least = fmin(q->least, off);
    }
    q->inside = fmax(q->inside, 0);
}

/* A squared distance that points beyond a shell have at least, as it is computed. Along one axis such a point is
 * `shells + inside` edges away, and farther by the query's distance from the box if that lies between them. Along the
 * others it is at least as far away as the box. Two positions have errors below 2^30 x 2^-52 cells each, 2^-19 of
 * `shells + inside` where that is 2^-2 or more. Computed squared distances are off by 2^-21 of themselves, and by
 * 2^-148 where they underflow. Together that is less than 2^-17 of the square, and 2^-148. */
static double bound_beyond(const bins *b, const around *q, int64_t shells)
{
    const double cells = (double)shells + q->inside, beyond = cells < 0.25 ? 0 : cells * b->edge;
    return (1 - 0x1p-17) * (q->outside + beyond * (beyond + 2 * q->least)) - 0x1p-148;
}

static void search_row(const vf_neighbours *plan, const bins *b, const around *q, const int64_t *cell, int64_t last)
{
    const int d = plan->dimensions;
    const int64_t from = number_of(b, cell), to = from + last - cell[0];
    for (int64_t i = b->first[from]; i < b->first[to + 1]; i++)
        vf_offer(vf_key_of(vf_squared_distance(d, q->q, b->points + i * d), (uint32_t)b->index[i]), q->self, q->k,
                 q->heap);
}

static int64_t within(const bins *b, int axis, int64_t cell)
{
    return cell < 0 ? 0 : cell < b->counts[axis] ? cell : b->counts[axis] - 1;
}

/* The cells whose distance from the query's, along the axis where it is largest, is `shell`. Cells of a row are
 * consecutive: the whole row if another axis has that distance, else its two ends. */
static void search_shell(const vf_neighbours *plan, const bins *b, const around *q, int64_t shell)
{
    const int64_t *c = q->cell;
    int64_t at[VF_MOST_DIMENSIONS];
    for (at[3] = within(b, 3, c[3] - shell); at[3] <= within(b, 3, c[3] + shell); at[3]++)
        for (at[2] = within(b, 2, c[2] - shell); at[2] <= within(b, 2, c[2] + shell); at[2]++)
            for (at[1] = within(b, 1, c[1] - shell); at[1] <= within(b, 1, c[1] + shell); at[1]++) {
                bool whole = false;
                for (int a = 1; a < VF_MOST_DIMENSIONS; a++)
                    whole = whole || at[a] == c[a] - shell || at[a] == c[a] + shell;
                if (whole) {
                    at[0] = within(b, 0, c[0] - shell);
                    search_row(plan, b, q, at, within(b, 0, c[0] + shell));
                    continue;
                }
                for (int end = -1; end <= 1; end += 2) {
                    at[0] = c[0] + end * shell;
                    if (at[0] >= 0 && at[0] < b->counts[0])
                        search_row(plan, b, q, at, at[0]);
                }
            }
}

static void find(const vf_neighbours *plan, const float *q, uint32_t self, int k, vf_neighbour_key *heap)
{
    const bins *b = plan->state;
    around here = {.q = q, .self = self, .k = k, .heap = heap};
    int64_t most = 0;
    if (plan->n == 0)
        return;
    look_around(plan, b, &here);
    for (int a = 0; a < plan->dimensions; a++) {
        const int64_t up = b->counts[a] - 1 - here.cell[a], far = up > here.cell[a] ? up : here.cell[a];
        most = far > most ? far : most;
    }
    search_shell(plan, b, &here, 0);
    for (int64_t shell = 1; shell <= most; shell++)
        if (bound_beyond(b, &here, shell - 1) <= (double)vf_key_squared(heap[0]))
            search_shell(plan, b, &here, shell);
        else
            return;
}

static int64_t places(const vf_neighbours *plan)
{
    return plan->n;
}

static int32_t point(const vf_neighbours *plan, int64_t place, float *q)
{
    const bins *b = plan->state;
    memcpy(q, b->points + place * plan->dimensions, (size_t)plan->dimensions * sizeof *q);
    return b->index[place];
}

static int class_of(const vf_neighbours *plan, const float *q)
{
    const bins *b = plan->state;
    const int64_t cells = b->counts[0] * b->counts[1] * b->counts[2] * b->counts[3];
    return (int)(cell_of_point(b, plan->dimensions, q) * VF_CLASSES / cells);
}

static vf_status search(const vf_neighbours *plan, vf_queue *queue, const vf_neighbour_search *s)
{
    static const vf_cpu_search how = {find, places, point, class_of};
    (void)queue;
    return vf_search_cpu(plan, &how, s);
}

const vf_neighbours_ops vf_neighbours_ops_bins = {{VF_DEVICE_CPU, names}, create, destroy, search};
