/* The atoms near others, by a grid of small boxes: those of the others (and their images) are sorted into it, and each atom looks
 * into the boxes that the sphere around it touches, the nearest first, until it finds one near enough. Boxes have a quarter of the
 * distance as their edge, so that little is looked at outside of the sphere, but hold a few atoms at least. */
#include "atoms_within.h"

#include "voxfield/team_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_EDGE = 2.5; /* angstrom: one or two atoms */
static const double ROUNDING = 1e-10; /* of a squared distance: atoms exactly as far away as asked count */
enum { EDGES = 4 };                   /* in the distance */

typedef struct offset {
    int64_t at[3];
    double least; /* squared distance between the two boxes, in edges */
} offset;

typedef struct boxes {
    double lo[3], edge;
    int64_t counts[3];
    int64_t *begin;     /* [boxes + 1] */
    double (*point)[3]; /* sorted by box */
    int64_t points, room;
    bool full; /* no memory */
    offset *near;
    int64_t offsets;
} boxes;

static void add_point(void *user, const double p[3])
{
    boxes *b = user;
    if (b->points == b->room) {
        const int64_t room = b->room ? 2 * b->room : 1024;
        void *larger = realloc(b->point, (size_t)room * sizeof *b->point);
        if (!larger) {
            b->full = true;
            return;
        }
        b->point = larger;
        b->room = room;
    }
    memcpy(b->point[b->points++], p, sizeof *b->point);
}

/* The image in the box with a corner at 0 and the vectors' own components as edges. The first vector is along x, the second in
 * the plane of x and y. */
static void wrap(const vf_cell *cell, double p[3])
{
    for (int v = 2; cell->kind != VF_CELL_NONE && v >= 0; v--) {
        const double n = floor(p[v] / cell->vectors[v][v]);
        for (int a = 0; a < 3; a++)
            p[a] -= n * cell->vectors[v][a];
    }
}

static void position(const molecule *m, const vf_cell *cell, int64_t i, double p[3])
{
    p[0] = m->x[i];
    p[1] = m->y[i];
    p[2] = m->z[i];
    wrap(cell, p);
}

static bool collect(boxes *b, const molecule *m, const vf_cell *cell, double distance, const bool *of)
{
    const double more = distance * (1 + ROUNDING) + 1e-9;
    double lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        lo[a] = cell->kind == VF_CELL_NONE ? -INFINITY : -more;
        hi[a] = cell->kind == VF_CELL_NONE ? INFINITY : cell->vectors[a][a] + more;
    }
    for (int64_t i = 0; i < m->atoms && !b->full; i++) {
        double p[3];
        position(m, cell, i, p);
        if (of[i])
            vf_cell_images(cell, p, lo, hi, add_point, b);
    }
    return !b->full;
}

/* Boxes around all points, not many more than points. */
static void choose_boxes(boxes *b, double distance)
{
    double hi[3], total;
    memcpy(b->lo, b->point[0], sizeof b->lo);
    memcpy(hi, b->point[0], sizeof hi);
    for (int64_t i = 1; i < b->points; i++)
        for (int a = 0; a < 3; a++) {
            b->lo[a] = fmin(b->lo[a], b->point[i][a]);
            hi[a] = fmax(hi[a], b->point[i][a]);
        }
    b->edge = fmax(distance / EDGES, LEAST_EDGE) / 1.26;
    do {
        b->edge *= 1.26;
        total = 1;
        for (int a = 0; a < 3; a++)
            total *= floor((hi[a] - b->lo[a]) / b->edge) + 1;
    } while (total > 8 * (double)b->points + 1000);
    for (int a = 0; a < 3; a++)
        b->counts[a] = (int64_t)floor((hi[a] - b->lo[a]) / b->edge) + 1;
}

static int64_t box_of(const boxes *b, const double p[3])
{
    int64_t at[3];
    for (int a = 0; a < 3; a++) {
        at[a] = (int64_t)floor((p[a] - b->lo[a]) / b->edge);
        at[a] = at[a] < b->counts[a] ? at[a] : b->counts[a] - 1;
    }
    return (at[2] * b->counts[1] + at[1]) * b->counts[0] + at[0];
}

static bool sort_points(boxes *b)
{
    const int64_t count = b->counts[0] * b->counts[1] * b->counts[2];
    double(*sorted)[3] = malloc((size_t)b->points * sizeof *sorted);
    b->begin = calloc((size_t)count + 2, sizeof *b->begin);
    if (!sorted || !b->begin) {
        free(sorted);
        return false;
    }
    for (int64_t i = 0; i < b->points; i++)
        b->begin[box_of(b, b->point[i]) + 2]++;
    for (int64_t n = 2; n <= count + 1; n++)
        b->begin[n] += b->begin[n - 1];
    for (int64_t i = 0; i < b->points; i++)
        memcpy(sorted[b->begin[box_of(b, b->point[i]) + 1]++], b->point[i], sizeof *sorted);
    free(b->point);
    b->point = sorted;
    return true;
}

static int by_distance(const void *left, const void *right)
{
    const double a = ((const offset *)left)->least, b = ((const offset *)right)->least;
    return (a > b) - (a < b);
}

static bool list_offsets(boxes *b, double distance)
{
    const int64_t reach = (int64_t)ceil(distance / b->edge * (1 + ROUNDING));
    const double most = distance / b->edge;
    b->near = malloc((size_t)((2 * reach + 1) * (2 * reach + 1) * (2 * reach + 1)) * sizeof *b->near);
    if (!b->near)
        return false;
    for (int64_t z = -reach; z <= reach; z++)
        for (int64_t y = -reach; y <= reach; y++)
            for (int64_t x = -reach; x <= reach; x++) {
                offset o = {.at = {x, y, z}};
                for (int a = 0; a < 3; a++) {
                    const double apart = fmax((double)llabs(o.at[a]) - 1, 0);
                    o.least += apart * apart;
                }
                if (o.least <= most * most * (1 + ROUNDING))
                    b->near[b->offsets++] = o;
            }
    qsort(b->near, (size_t)b->offsets, sizeof *b->near, by_distance);
    return true;
}

static bool is_near(const boxes *b, const double p[3], double most)
{
    int64_t home[3];
    for (int a = 0; a < 3; a++) {
        const double at = floor((p[a] - b->lo[a]) / b->edge);
        if (!(at >= -EDGES - 1 && at <= (double)b->counts[a] + EDGES))
            return false;
        home[a] = (int64_t)at;
    }
    for (int64_t n = 0; n < b->offsets; n++) {
        int64_t at[3];
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            at[a] = home[a] + b->near[n].at[a];
            inside = inside && at[a] >= 0 && at[a] < b->counts[a];
        }
        if (!inside)
            continue;
        const int64_t box = (at[2] * b->counts[1] + at[1]) * b->counts[0] + at[0];
        for (int64_t i = b->begin[box]; i < b->begin[box + 1]; i++) {
            const double x = b->point[i][0] - p[0], y = b->point[i][1] - p[1], z = b->point[i][2] - p[2];
            if (x * x + y * y + z * z <= most)
                return true;
        }
    }
    return false;
}

/* No point is farther from the nearest image than half of the vectors' lengths together. */
static bool reaches_all(const vf_cell *cell, double distance)
{
    double lengths[3], angles[3];
    if (cell->kind == VF_CELL_NONE)
        return isinf(distance);
    vf_cell_shape(cell, lengths, angles);
    return distance >= (lengths[0] + lengths[1] + lengths[2]) / 2;
}

bool atoms_within(const vf_context *ctx, const molecule *m, const vf_cell *cell, double distance, const bool *of,
                  bool *near)
{
    boxes b = {.points = 0};
    bool any = false;
    for (int64_t i = 0; i < m->atoms; i++)
        any = any || of[i];
    if (!any || reaches_all(cell, distance)) {
        memset(near, any, (size_t)m->atoms * sizeof *near);
        return true;
    }
    bool done = collect(&b, m, cell, distance, of);
    if (done) {
        choose_boxes(&b, distance);
        done = sort_points(&b) && list_offsets(&b, distance);
    }
    const double most = distance * distance * (1 + ROUNDING);
    if (done) {
#pragma omp parallel for schedule(dynamic, 256) num_threads(vf_threads_for(ctx, 100 * m->atoms))
        for (int64_t i = 0; i < m->atoms; i++) {
            double p[3];
            position(m, cell, i, p);
            near[i] = is_near(&b, p, most);
        }
    }
    free(b.near);
    free(b.begin);
    free(b.point);
    return done;
}
