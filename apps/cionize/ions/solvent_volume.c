/* The volume of solvent in a grid: the points that a probe can cover without touching an atom.
 *
 * The probe's centre may be anywhere outside the atoms' spheres enlarged by the probe's radius. Points outside these
 * spheres are solvent, and so are points within the probe's radius of their surface. The rest is the solute. Along
 * grid lines in all three directions the surface is exact: the part of a line inside the spheres is a union of
 * intervals, whose ends are positions of the probe. (Probe positions on grid points only would be up to a step too
 * far out, and the solute too large by as much.)
 *
 * A point stands for the part of its cell that is inside the grid's box: all of it, or half of it for each axis at whose
 * end the point is (the trapezoidal rule). A grid of a periodic cell has no ends; an axis of one point counts as one
 * spacing.
 *
 * The grid is cut into blocks of layers. One thread works on one block. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "ions.h"
#include "molecule/molecule_part.h"
#include "potential/periodic_frames.h"
#include "voxfield/team_size.h"

static const double PROBE_RADIUS = 1.4, MISSING_RADIUS = 1.5, BLOCK_THICKNESS = 8, LINE_SPACING = 0.1; /* angstrom */
enum { BLOCK_BYTES = 1 << 26, INSIDE = 1, REACHED = 2 };

typedef struct sphere {
    double centre[3], reach; /* reach: the atom's radius plus the probe's */
    double order;
} sphere;

/* The part of a line inside one sphere. */
typedef struct piece {
    double lo, hi;
    int64_t next; /* next piece of the same line; -1: none */
} piece;

/* One thread's work on layers [first, first + layers). */
typedef struct block {
    const vf_grid *grid;
    int64_t first, layers;
    uint8_t *points; /* [layers][y][x]: bits INSIDE a sphere, REACHED by the probe */
    sphere *near;    /* spheres that reach into the block */
    int64_t near_count;
    int64_t *head; /* [lines of a plane] last piece of each line; -1: none */
    piece *pieces;
    int64_t piece_count, piece_capacity;
    piece *line; /* [near_count] the pieces of one line */
} block;

static double position(const vf_grid *grid, int axis, int64_t i)
{
    return grid->origin[axis] + (double)i * grid->spacing[axis];
}

/* The points of [begin, end) along an axis strictly between lo and hi: [*from, *to). */
static void points_between(const vf_grid *grid, int axis, double lo, double hi, int64_t begin, int64_t end,
                           int64_t *from, int64_t *to)
{
    const double a = (lo - grid->origin[axis]) / grid->spacing[axis],
                 b = (hi - grid->origin[axis]) / grid->spacing[axis];
    *from = !(a >= (double)begin) ? begin : a < (double)end ? begin + (int64_t)(a - (double)begin) + 1 : end;
    *to = !(b > (double)*from) ? *from : b < (double)end ? end - (int64_t)((double)end - b) : end;
}

/* Marks points along x from lo to hi in a row of the block. */
static void mark(block *b, int64_t y, int64_t layer, double lo, double hi, uint8_t bit)
{
    const int64_t nx = b->grid->counts[0];
    uint8_t *row = b->points + (layer * b->grid->counts[1] + y) * nx;
    int64_t from, to;
    points_between(b->grid, 0, lo, hi, 0, nx, &from, &to);
    for (int64_t i = from; i < to; i++)
        row[i] |= bit;
}

/* Marks all points that a probe at `centre` covers. */
static void reach_from(block *b, const double centre[3])
{
    const vf_grid *grid = b->grid;
    const double square = PROBE_RADIUS * PROBE_RADIUS;
    int64_t z0, z1, y0, y1;
    points_between(grid, 2, centre[2] - PROBE_RADIUS, centre[2] + PROBE_RADIUS, b->first, b->first + b->layers, &z0,
                   &z1);
    points_between(grid, 1, centre[1] - PROBE_RADIUS, centre[1] + PROBE_RADIUS, 0, grid->counts[1], &y0, &y1);
    for (int64_t z = z0; z < z1; z++)
        for (int64_t y = y0; y < y1; y++) {
            const double dz = position(grid, 2, z) - centre[2], dy = position(grid, 1, y) - centre[1];
            const double rest = square - dz * dz - dy * dy;
            if (rest > 0)
                mark(b, y, z - b->first, centre[0] - sqrt(rest), centre[0] + sqrt(rest), REACHED);
        }
}

static bool add_piece(block *b, int64_t line, double lo, double hi)
{
    if (b->piece_count == b->piece_capacity) {
        const int64_t capacity = b->piece_capacity ? 2 * b->piece_capacity : 4096;
        piece *larger = realloc(b->pieces, (size_t)capacity * sizeof *larger);
        if (!larger)
            return false;
        b->pieces = larger;
        b->piece_capacity = capacity;
    }
    b->pieces[b->piece_count] = (piece){lo, hi, b->head[line]};
    b->head[line] = b->piece_count++;
    return true;
}

/* Sorts the pieces of a line by their start and returns their number. They are nearly sorted already: spheres are added
 * in reverse order of their centres, and the list returns the last one first. */
static int64_t sort_line(block *b, int64_t line)
{
    int64_t count = 0;
    for (int64_t p = b->head[line]; p >= 0; p = b->pieces[p].next) {
        int64_t at = count++;
        for (; at > 0 && b->line[at - 1].lo > b->pieces[p].lo; at--)
            b->line[at] = b->line[at - 1];
        b->line[at] = b->pieces[p];
    }
    return count;
}

/* One line along `axis` through `place`. The probe can be where the line leaves the spheres (`probe`: and is tried
 * there). Lines along x that are a row of the block's points (`row`) also mark points inside. */
static void do_line(block *b, int axis, int64_t line, double place[3], bool probe, bool row, int64_t y, int64_t layer)
{
    const int64_t count = sort_line(b, line);
    for (int64_t p = 0; p < count;) {
        const double lo = b->line[p].lo;
        double hi = b->line[p].hi;
        for (p++; p < count && b->line[p].lo <= hi; p++)
            hi = fmax(hi, b->line[p].hi);
        if (row)
            mark(b, y, layer, lo, hi, INSIDE);
        if (!probe)
            continue;
        place[axis] = lo;
        reach_from(b, place);
        place[axis] = hi;
        reach_from(b, place);
    }
}

/* Cuts a plane into lines along `axis`, one for each point of `across` in [begin, end). The plane is at
 * `place`[`level`]. */
static bool cut_plane(block *b, int axis, int across, int level, int64_t begin, int64_t end, const double place[3])
{
    b->piece_count = 0;
    for (int64_t i = begin; i < end; i++)
        b->head[i - begin] = -1;
    for (int64_t s = 0; s < b->near_count; s++) {
        const sphere *ball = &b->near[s];
        const double off = place[level] - ball->centre[level], square = ball->reach * ball->reach - off * off;
        int64_t from, to;
        if (!(square > 0))
            continue;
        points_between(b->grid, across, ball->centre[across] - sqrt(square), ball->centre[across] + sqrt(square), begin,
                       end, &from, &to);
        for (int64_t i = from; i < to; i++) {
            const double aside = position(b->grid, across, i) - ball->centre[across];
            const double half = sqrt(fmax(square - aside * aside, 0));
            if (!add_piece(b, i - begin, ball->centre[axis] - half, ball->centre[axis] + half))
                return false;
        }
    }
    return true;
}

/* The number of points beyond the grid from which the probe reaches into it. */
static int64_t margin(const vf_grid *grid, int axis)
{
    return (int64_t)fmin(ceil(PROBE_RADIUS / grid->spacing[axis]), 1e6);
}

/* The probe is tried on every n-th line; closer lines would only cost time. */
static int64_t stride(const vf_grid *grid, int axis)
{
    return (int64_t)fmax(floor(LINE_SPACING / grid->spacing[axis]), 1);
}

static int by_order(const void *left, const void *right)
{
    const double a = ((const sphere *)left)->order, b = ((const sphere *)right)->order;
    return (a > b) - (a < b);
}

/* All lines along an axis that affect the block, through the points of the planes of `level`. */
static bool do_axis(block *b, int axis)
{
    const vf_grid *grid = b->grid;
    const int level = axis == 2 ? 1 : 2, across = axis == 0 ? 1 : 0;
    const int64_t beside = margin(grid, across), above = margin(grid, level);
    const int64_t first = level == 2 ? b->first : 0, last = level == 2 ? b->first + b->layers : grid->counts[1];
    const int64_t begin = -beside, end = grid->counts[across] + beside;
    for (int64_t s = 0; s < b->near_count; s++)
        b->near[s].order = -b->near[s].centre[axis];
    qsort(b->near, (size_t)b->near_count, sizeof *b->near, by_order);
    for (int64_t plane = first - above; plane < last + above; plane++) {
        const bool inside = axis == 0 && plane >= first && plane < last, probe = plane % stride(grid, level) == 0;
        double place[3];
        place[level] = position(grid, level, plane);
        if (!inside && !probe)
            continue;
        if (!cut_plane(b, axis, across, level, begin, end, place))
            return false;
        for (int64_t i = begin; i < end; i++) {
            place[across] = position(grid, across, i);
            if (b->head[i - begin] >= 0)
                do_line(b, axis, i - begin, place, probe && i % stride(grid, across) == 0,
                        inside && i >= 0 && i < grid->counts[1], i, plane - b->first);
        }
    }
    return true;
}

static void find_near(block *b, const sphere *spheres, int64_t count)
{
    const double lo = position(b->grid, 2, b->first) - PROBE_RADIUS;
    const double hi = position(b->grid, 2, b->first + b->layers - 1) + PROBE_RADIUS;
    b->near_count = 0;
    for (int64_t s = 0; s < count; s++)
        if (spheres[s].centre[2] + spheres[s].reach > lo && spheres[s].centre[2] - spheres[s].reach < hi)
            b->near[b->near_count++] = spheres[s];
}

/* Twice the part of a point's cell that is inside the grid, along one axis. */
static int64_t halves(const vf_grid *grid, int axis, int64_t i)
{
    const int64_t count = grid->counts[axis];
    return grid->cell.kind == VF_CELL_NONE && count > 1 && (i == 0 || i == count - 1) ? 1 : 2;
}

/* The solvent of a block, in eighths of a point's cell. */
static int64_t sum_outside(const block *b)
{
    const vf_grid *grid = b->grid;
    const int64_t nx = grid->counts[0], ny = grid->counts[1];
    int64_t sum = 0;
    for (int64_t row = 0; row < ny * b->layers; row++) {
        const uint8_t *points = b->points + row * nx;
        int64_t outside = 0;
        for (int64_t i = 0; i < nx; i++)
            outside += points[i] != INSIDE;
        outside *= 2;
        if (points[0] != INSIDE)
            outside -= 2 - halves(grid, 0, 0);
        if (nx > 1 && points[nx - 1] != INSIDE)
            outside -= 2 - halves(grid, 0, nx - 1);
        sum += outside * halves(grid, 1, row % ny) * halves(grid, 2, b->first + row / ny);
    }
    return sum;
}

/* The solvent in layers [first, first + layers), in eighths of a point's cell; -1: no memory. */
static int64_t count_block(const vf_grid *grid, const sphere *spheres, int64_t count, int64_t first, int64_t layers)
{
    const int64_t points = grid->counts[0] * grid->counts[1] * layers;
    int64_t lines = grid->counts[0] + 2 * margin(grid, 0), outside = -1;
    if (lines < grid->counts[1] + 2 * margin(grid, 1))
        lines = grid->counts[1] + 2 * margin(grid, 1);
    block b = {.grid = grid, .first = first, .layers = layers};
    if (points < 1)
        return 0;
    b.points = calloc((size_t)points, 1);
    b.near = malloc((size_t)(count + 1) * sizeof *b.near);
    b.line = malloc((size_t)(count + 1) * sizeof *b.line);
    b.head = malloc((size_t)lines * sizeof *b.head);
    if (b.points && b.near && b.line && b.head) {
        find_near(&b, spheres, count);
        if (do_axis(&b, 0) && do_axis(&b, 1) && do_axis(&b, 2))
            outside = sum_outside(&b);
    }
    free(b.points);
    free(b.near);
    free(b.line);
    free(b.head);
    free(b.pieces);
    return outside;
}

static sphere *make_spheres(vf_context *ctx, const molecule *mol)
{
    int64_t missing = 0;
    sphere *spheres = malloc((size_t)mol->atoms * sizeof *spheres);
    for (int64_t i = 0; spheres && i < mol->atoms; i++) {
        missing += mol->radius[i] == 0;
        spheres[i] = (sphere){.centre = {mol->x[i], mol->y[i], mol->z[i]},
                              .reach = PROBE_RADIUS + (mol->radius[i] == 0 ? MISSING_RADIUS : mol->radius[i])};
    }
    if (spheres && missing > 0)
        vf_note(ctx,
                "note: %" PRId64 " of %" PRId64 " atom%s %s a radius of 0; for the volume of solvent %s "
                "as %g A",
                missing, mol->atoms, vf_plural(mol->atoms), missing == 1 ? "has" : "have",
                missing == 1 ? "it counts" : "they count", MISSING_RADIUS);
    return spheres;
}

/* The solvent of the grid, in eighths of a point's cell. */
static vf_status count_solvent(vf_context *ctx, const sphere *spheres, int64_t count, const vf_grid *grid,
                               int64_t *eighths)
{
    /* The block size does not depend on the number of threads, and the sums are integers: neither does the result. */
    const double layer = (double)grid->counts[0] * (double)grid->counts[1];
    const int64_t most = grid->counts[2];
    const double wanted = fmin(ceil(BLOCK_THICKNESS / grid->spacing[2]), floor(BLOCK_BYTES / layer));
    const int64_t layers = wanted < 1 ? 1 : wanted < (double)most ? (int64_t)wanted : most;
    int64_t outside = 0, failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(vf_threads_for(ctx, 10 * vf_grid_points(grid))) reduction(+ : outside, failed)
    for (int64_t n = 0; n < (most + layers - 1) / layers; n++) {
        const int64_t first = n * layers;
        if (failed > 0 || vf_cancelled(ctx))
            continue;
        const int64_t here = count_block(grid, spheres, count, first, most - first < layers ? most - first : layers);
        failed += here < 0;
        outside += here;
    }
    if (failed > 0)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the volume of solvent in a grid of %.0f x %" PRId64 " points",
                       layer, most);
    if (vf_cancelled(ctx))
        return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted while computing the volume of solvent");
    *eighths = outside;
    return VF_OK;
}

/* Moves the spheres to the atoms' positions in a frame; `data`: buffer for the positions. */
static vf_status take_frame(const solute_frames *frames, int64_t n, const molecule *mol, double *data, sphere *spheres)
{
    const frame_selection *s = frames->selection;
    const int64_t whole = molecule_whole_atoms(mol);
    vf_status status =
        trajectory_read(frames->trajectory, s->first + n * s->step, data, data + whole, data + 2 * whole);
    if (status == VF_OK)
        molecule_gather(mol, data, data + whole, data + 2 * whole);
    for (int64_t i = 0; status == VF_OK && i < mol->atoms; i++)
        for (int a = 0; a < 3; a++)
            spheres[i].centre[a] = data[a * whole + i];
    return status;
}

/* The spheres' images that can affect the points of a periodic grid, or without a cell, the spheres. */
typedef struct image_list {
    sphere *out; /* NULL: only counted */
    int64_t count;
    double reach;
} image_list;

static void take_image(void *user, const double image[3])
{
    image_list *list = user;
    if (list->out)
        list->out[list->count] = (sphere){.centre = {image[0], image[1], image[2]}, .reach = list->reach};
    list->count++;
}

static void list_images(const vf_grid *grid, const sphere *spheres, int64_t count, image_list *list)
{
    list->count = 0;
    for (int64_t i = 0; i < count; i++) {
        double lo[3], hi[3];
        list->reach = spheres[i].reach;
        for (int a = 0; a < 3; a++) { /* lines beyond the grid matter as far as the probe reaches */
            const double beyond = spheres[i].reach + ((double)margin(grid, a) + 1) * grid->spacing[a];
            lo[a] = position(grid, a, 0) - beyond;
            hi[a] = position(grid, a, grid->counts[a] - 1) + beyond;
        }
        vf_cell_images(&grid->cell, spheres[i].centre, lo, hi, take_image, list);
    }
}

/* The volume of solvent for one set of positions. */
static vf_status volume_of(vf_context *ctx, const sphere *spheres, int64_t count, const vf_grid *grid, double *volume)
{
    image_list images = {0};
    int64_t eighths = 0;
    vf_status status = VF_OK;
    if (grid->cell.kind != VF_CELL_NONE) {
        list_images(grid, spheres, count, &images);
        images.out = malloc((size_t)(images.count + 1) * sizeof *images.out);
        if (!images.out)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the images of %" PRId64 " atoms", count);
        list_images(grid, spheres, count, &images);
        status = count_solvent(ctx, images.out, images.count, grid, &eighths);
    } else {
        status = count_solvent(ctx, spheres, count, grid, &eighths);
    }
    free(images.out);
    *volume = (double)eighths / 8 * (grid->spacing[0] * grid->spacing[1] * grid->spacing[2]);
    return status;
}

vf_status solvent_volume(vf_context *ctx, const molecule *mol, const solute_frames *frames, const vf_grid *grid,
                         double *volume)
{
    const int64_t all = frames ? frames->selection->count : 1;
    const int64_t count = all < SOLVENT_MOST_FRAMES ? all : SOLVENT_MOST_FRAMES;
    sphere *spheres = make_spheres(ctx, mol);
    double *data = frames ? malloc(3 * (size_t)molecule_whole_atoms(mol) * sizeof *data) : NULL;
    double sum = 0;
    vf_status status = VF_OK;
    if (!spheres || (frames && !data))
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the spheres of %" PRId64 " atoms", mol->atoms);
    for (int64_t n = 0; status == VF_OK && n < count; n++) {
        const int64_t chosen = (2 * n + 1) * all / (2 * count); /* the middle frame of each of `count` equal parts */
        vf_grid own = *grid;
        double here = 0;
        if (frames)
            status = take_frame(frames, chosen, mol, data, spheres);
        if (status == VF_OK && frames && frames->follows_cells)
            status = frame_grid(ctx, frames->trajectory, frames->selection->first + chosen * frames->selection->step,
                                grid, &own);
        VF_TRY(status, volume_of(ctx, spheres, mol->atoms, &own, &here));
        sum += here;
    }
    free(data);
    free(spheres);
    if (status == VF_OK)
        *volume = sum / (double)count;
    return status;
}
