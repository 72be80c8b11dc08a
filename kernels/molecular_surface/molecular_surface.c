#include "molecular_surface.h"

#include <math.h>
#include <stdlib.h>

#include "surface_parts.h"
#include "voxfield/team_size.h"

/* Points are taken in cubes of this many along each axis, which share lists of what is near. */
enum { TILE = 4, TILE_POINTS = TILE * TILE * TILE };

struct vf_surface {
    vf_context *ctx;
    vf_surface_options options;
    const surface_loops *loops;
    bool periodic;
    double largest;
    surface_bins spheres; /* radii larger by the probe's */
    surface_bins seeds;   /* of an excluded surface */
};

static vf_status check(vf_context *ctx, const vf_spheres *s, const vf_surface_options *o)
{
    const bool excluded = o->kind == VF_SURFACE_EXCLUDED, bare = o->kind == VF_SURFACE_VAN_DER_WAALS;
    if (!(o->reach > 0 && o->reach <= VF_SURFACE_LARGEST && o->spacing > 0 && o->probe <= VF_SURFACE_LARGEST) ||
        !(bare ? o->probe == 0 : o->probe > 0) || (excluded && !(o->reach < o->probe)) || s->count < 0 ||
        o->kind >= VF_SURFACE_SMOOTH)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "surface: a probe of %g, levels up to %g and points every %g are not supported", o->probe,
                       o->reach, o->spacing);
    for (int64_t i = 0; i < s->count; i++)
        if (!(fabs(s->x[i]) <= VF_SURFACE_LARGEST && fabs(s->y[i]) <= VF_SURFACE_LARGEST &&
              fabs(s->z[i]) <= VF_SURFACE_LARGEST && s->radius[i] >= 0 && s->radius[i] <= VF_SURFACE_LARGEST))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "surface: sphere %lld at (%g, %g, %g) with a radius of %g is not supported", (long long)i,
                           s->x[i], s->y[i], s->z[i], s->radius[i]);
    return VF_OK;
}

static vf_status make_spheres(vf_surface *plan, const vf_spheres *s, const vf_grid *periodic)
{
    const double probe = plan->options.probe, far = plan->options.reach + probe;
    if (surface_spheres_make(s, probe, periodic, far, &plan->spheres, &plan->largest))
        return VF_OK;
    return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a surface of %lld spheres", (long long)s->count);
}

static vf_status make_seeds(vf_surface *plan)
{
    surface_place *seeds;
    int64_t count;
    vf_status status =
        surface_seeds_make(plan->ctx, &plan->spheres, plan->largest, plan->options.spacing, &count, &seeds);
    if (status == VF_OK && !surface_bins_make(count, seeds, NULL, plan->options.probe / 2, &plan->seeds))
        status = vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for %lld points of a surface", (long long)count);
    free(seeds);
    return status;
}

static vf_status create(vf_context *ctx, const vf_grid *periodic, const vf_spheres *spheres,
                        const vf_surface_options *options, vf_surface **out)
{
    *out = NULL;
    vf_status status = check(ctx, spheres, options);
    vf_surface *plan = status == VF_OK ? calloc(1, sizeof *plan) : NULL;
    if (status == VF_OK && !plan)
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a surface");
    if (status != VF_OK)
        return status;
    plan->ctx = ctx;
    plan->options = *options;
    plan->periodic = periodic != NULL;
    plan->loops = vf_cpu_isa() == VF_ISA_AVX512 ? &surface_nearest_avx512
                  : vf_cpu_isa() == VF_ISA_AVX2 ? &surface_nearest_avx2
                                                : &surface_nearest_baseline;
    status = make_spheres(plan, spheres, periodic);
    if (options->kind == VF_SURFACE_EXCLUDED)
        VF_TRY(status, make_seeds(plan));
    if (status != VF_OK) {
        vf_surface_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

vf_status vf_surface_create(vf_context *ctx, const vf_spheres *spheres, const vf_surface_options *options,
                            vf_surface **out)
{
    return create(ctx, NULL, spheres, options, out);
}

vf_status vf_surface_create_on(vf_context *ctx, const vf_grid *grid, const vf_spheres *spheres,
                               const vf_surface_options *options, vf_surface **out)
{
    *out = NULL;
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "surface: a grid that is not valid");
    return create(ctx, grid->cell.kind == VF_CELL_NONE ? NULL : grid, spheres, options, out);
}

void vf_surface_destroy(vf_surface *plan)
{
    if (!plan)
        return;
    surface_bins_free(&plan->spheres);
    surface_bins_free(&plan->seeds);
    free(plan);
}

int64_t vf_surface_seeds(const vf_surface *plan)
{
    return plan->seeds.count;
}

static int64_t bytes_of(const surface_bins *b)
{
    const int64_t cubes = b->along[0] * b->along[1] * b->along[2];
    return cubes * (int64_t)sizeof *b->first +
           b->count * (int64_t)(sizeof *b->place + (b->radius ? sizeof *b->radius : 0));
}

int64_t vf_surface_bytes(const vf_surface *plan)
{
    return bytes_of(&plan->spheres) + bytes_of(&plan->seeds);
}

/* ---- levels ---- */

static bool make_room(surface_near *list)
{
    if (list->count < list->room)
        return true;
    const int64_t room = list->room ? 2 * list->room : 256;
    float **const arrays[] = {&list->x, &list->y, &list->z, &list->radius};
    for (int i = 0; i < 4; i++) {
        float *more = realloc(*arrays[i], (size_t)room * sizeof *more);
        if (!more)
            return false;
        *arrays[i] = more;
    }
    list->room = room;
    return true;
}

static void free_list(surface_near *list)
{
    free(list->x);
    free(list->y);
    free(list->z);
    free(list->radius);
}

/* How far a coordinate is from cube `n`. */
static double gap(const surface_bins *b, int axis, int64_t n, double at)
{
    const double lo = b->lo[axis] + b->edge * (double)n;
    return fmax(0, fmax(lo - at, at - lo - b->edge));
}

/* Lists those of cubes [from, to) of a row. */
static bool list_row(const surface_bins *b, const double middle[3], double distance, int64_t from, int64_t to,
                     surface_near *list)
{
    for (int64_t i = b->first[from]; i < b->first[to]; i++) {
        const double *at = b->place[i].at, radius = b->radius ? b->radius[i] : 0, most = distance + radius;
        if (surface_square(at, middle) > most * most)
            continue;
        if (!make_room(list))
            return false;
        list->x[list->count] = (float)(at[0] - middle[0]);
        list->y[list->count] = (float)(at[1] - middle[1]);
        list->z[list->count] = (float)(at[2] - middle[2]);
        list->radius[list->count++] = (float)radius;
    }
    return true;
}

/* Lists what is within `distance` of the middle, beside its own radius: of the rows of cubes that come so near, the cubes that do, and
 * one more at each end, for roundings. Returns false if memory is short. */
static bool list_near(const surface_bins *b, const double middle[3], double largest, double distance,
                      surface_near *list)
{
    const double most = distance + largest;
    int64_t lo[3], hi[3];
    list->count = 0;
    if (b->count == 0)
        return true;
    surface_bins_range(b, middle, most, lo, hi);
    for (int64_t z = lo[2]; z < hi[2]; z++)
        for (int64_t y = lo[1]; y < hi[1]; y++) {
            const double across = pow(gap(b, 2, z, middle[2]), 2) + pow(gap(b, 1, y, middle[1]), 2);
            const double half = across < most * most ? sqrt(most * most - across) : 0;
            const double first = floor((middle[0] - half - b->lo[0]) / b->edge) - 1,
                         last = floor((middle[0] + half - b->lo[0]) / b->edge) + 2;
            const int64_t from = first > (double)lo[0] ? (int64_t)first : lo[0],
                          to = last < (double)hi[0] ? (int64_t)last : hi[0];
            const int64_t row = (z * b->along[1] + y) * b->along[0];
            if (across <= most * most * (1 + 1e-9) && from < to &&
                !list_row(b, middle, distance, row + from, row + to, list))
                return false;
        }
    return true;
}

typedef struct tile {
    double middle[3], half;            /* half its diagonal */
    vf_box box;                        /* its points that are wanted */
    surface_near spheres, seeds, wide; /* wide: all spheres that can hide what is nearest to a point */
    bool has_seeds;                    /* listed, with wide */
    bool above;                        /* with seeds: all levels are `reach` */
    bool failed;                       /* for want of memory */
} tile;

/* Whole tiles of the grid, so that values do not depend on the box. `beyond`: how far the points go that are asked for. */
static void lay_tile(const vf_grid *grid, const vf_box *box, const int64_t number[3], double beyond, tile *t)
{
    double square = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t first = number[a] * TILE, last = first + TILE - 1;
        t->box.lo[a] = first > box->lo[a] ? first : box->lo[a];
        t->box.hi[a] = last + 1 < box->hi[a] ? last + 1 : box->hi[a];
        t->middle[a] = grid->origin[a] + grid->spacing[a] * ((double)first + (TILE - 1) / 2.0);
        square += grid->spacing[a] * grid->spacing[a];
    }
    t->half = (TILE - 1) / 2.0 * sqrt(square) + beyond;
    t->has_seeds = false;
}

/* Lists the spheres that can hide, and the seeds that may be the nearest of one of a tile's points: if d is the least distance from its
 * middle, those up to d + 2 half away. d is at least the middle's depth in a sphere, and often little more. Some 1e-4 more for
 * roundings. */
static bool list_seeds(const vf_surface *plan, tile *t)
{
    static const float middle[3] = {0, 0, 0};
    const float probe = (float)plan->options.probe, reach = (float)plan->options.reach, half = (float)t->half;
    const float all = probe + reach + half, slack = 1e-4F * (all + probe);
    surface_near *s = &t->seeds;
    float tried = -plan->loops->depth(&t->spheres, middle, 0) + 2.5F * half + slack, d;
    t->has_seeds = true;
    t->above = false;
    if (!list_near(&plan->spheres, t->middle, plan->largest, (double)all, &t->wide))
        return false;
    do {
        tried = fminf(tried, all);
        if (!list_near(&plan->seeds, t->middle, 0, (double)tried, s))
            return false;
        d = sqrtf(plan->loops->nearest_square(s, middle, tried * tried));
        if (d + 2 * half + slack <= tried || tried >= all)
            break;
        tried = d < tried ? d + 2 * half + 2 * slack : all;
    } while (true);
    t->above = d + half + slack < probe - reach;
    const float most = d + 2 * half + slack;
    int64_t kept = 0;
    for (int64_t i = 0; i < s->count; i++)
        if (s->x[i] * s->x[i] + s->y[i] * s->y[i] + s->z[i] * s->z[i] <= most * most) {
            s->x[kept] = s->x[i];
            s->y[kept] = s->y[i];
            s->z[kept++] = s->z[i];
        }
    s->count = kept;
    return true;
}

/* Whether the accessible surface has a point on the deepest sphere in the direction of r. It is the nearest of all then: none is nearer
 * than the depth. Otherwise the nearest is on an edge: were it on a sphere, that would be the deepest. */
static bool is_exposed(const vf_surface *plan, const tile *t, const float r[3], float depth)
{
    const int64_t i = plan->loops->deepest(&t->spheres, r, depth);
    const float x = r[0] - t->spheres.x[i], y = r[1] - t->spheres.y[i], z = r[2] - t->spheres.z[i],
                far = sqrtf(x * x + y * y + z * z), stretch = far > 0 ? t->spheres.radius[i] / far : 0;
    const float at[3] = {t->spheres.x[i] + (far > 0 ? stretch * x : t->spheres.radius[i]),
                         t->spheres.y[i] + stretch * y, t->spheres.z[i] + stretch * z};
    return !plan->loops->is_hidden(&t->wide, at);
}

/* The level of a point of a tile, relative to its middle. */
static float level_of(const vf_surface *plan, tile *t, const float r[3])
{
    const float probe = (float)plan->options.probe, reach = (float)plan->options.reach;
    const bool excluded = plan->options.kind == VF_SURFACE_EXCLUDED;
    const float depth =
        plan->loops->depth(&t->spheres, r, reach); /* of the accessible surface, if that is not the one wanted */
    if (!excluded || depth >= 0)
        return fmaxf(-reach, fminf(depth + (excluded ? probe : 0), reach));
    const float most = probe + reach;
    if (-depth >= most)
        return -reach;
    if (!t->has_seeds)
        t->failed = !list_seeds(plan, t);
    if (t->above)
        return reach;
    const bool exposed = !t->failed && is_exposed(plan, t, r, depth);
    const float d = exposed ? -depth : sqrtf(plan->loops->nearest_square(&t->seeds, r, most * most));
    return fmaxf(-reach, fminf(probe - d, reach));
}

static bool fill_tile(const vf_surface *plan, const vf_grid *grid, const vf_box *box, const int64_t number[3], tile *t,
                      void *user)
{
    float *level = user;
    lay_tile(grid, box, number, 0, t);
    if (!list_near(&plan->spheres, t->middle, plan->largest, plan->options.reach + t->half, &t->spheres))
        return false;
    for (int64_t k = t->box.lo[2]; k < t->box.hi[2]; k++)
        for (int64_t j = t->box.lo[1]; j < t->box.hi[1]; j++)
            for (int64_t i = t->box.lo[0]; i < t->box.hi[0]; i++) {
                const int64_t at[3] = {i, j, k};
                float r[3];
                for (int a = 0; a < 3; a++)
                    r[a] = (float)(grid->origin[a] + grid->spacing[a] * (double)at[a] - t->middle[a]);
                const int64_t to = ((k - box->lo[2]) * vf_box_extent(box, 1) + j - box->lo[1]) * vf_box_extent(box, 0) +
                                   i - box->lo[0];
                level[to] = level_of(plan, t, r);
            }
    return !t->failed;
}

/* One tile after another, by all threads. */
typedef bool tile_work(const vf_surface *plan, const vf_grid *grid, const vf_box *box, const int64_t number[3], tile *t,
                       void *user);
static vf_status for_tiles(const vf_surface *plan, const vf_grid *grid, const vf_box *box, tile_work *work, void *user)
{
    int64_t first[3], tiles[3];
    for (int a = 0; a < 3; a++) {
        first[a] = box->lo[a] / TILE;
        tiles[a] = (box->hi[a] - 1) / TILE + 1 - first[a];
    }
    const int64_t all = tiles[0] * tiles[1] * tiles[2];
    bool room = true;
#pragma omp parallel num_threads(vf_threads_for(plan->ctx, 300 * vf_box_points(box))) reduction(&& : room)
    {
        tile t = {0};
#pragma omp for schedule(dynamic, 16)
        for (int64_t n = 0; n < all; n++) {
            const int64_t number[3] = {first[0] + n % tiles[0], first[1] + n / tiles[0] % tiles[1],
                                       first[2] + n / tiles[0] / tiles[1]};
            if (!vf_cancelled(plan->ctx))
                room = work(plan, grid, box, number, &t, user) && room;
        }
        free_list(&t.spheres);
        free_list(&t.seeds);
        free_list(&t.wide);
    }
    if (!room)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for the levels of a surface");
    return vf_cancelled(plan->ctx) ? vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static bool suits(const vf_surface *plan, const vf_grid *grid)
{
    return vf_grid_valid(grid) && (grid->cell.kind == VF_CELL_NONE || plan->periodic);
}

vf_status vf_surface_levels(const vf_surface *plan, const vf_grid *grid, const vf_box *box, float *level)
{
    if (!suits(plan, grid) || !vf_box_inside(box, grid) || !level)
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "surface: a grid or a box that is not valid, or a periodic one");
    return for_tiles(plan, grid, box, fill_tile, level);
}

/* ---- cuts ---- */

/* The part of an edge from its lower end to the surface. The level may have kinks, and jumps where seeds take over: false position,
 * with the Illinois rule, until the level is 0 or the place is known. */
static double root_of(const vf_surface *plan, tile *t, const float low[3], int axis, double spacing, double at_low,
                      double at_high)
{
    enum { MOST = 60 };
    const double close = 1e-5 * spacing, narrow = 1e-6;
    double lo = 0, hi = 1, part = at_low / (at_low - at_high);
    int kept = 0; /* 1: the upper end was kept before, -1: the lower one */
    for (int i = 0; i < MOST && hi - lo > narrow; i++) {
        float r[3] = {low[0], low[1], low[2]};
        r[axis] += (float)(part * spacing);
        const double here = (double)level_of(plan, t, r);
        if (fabs(here) <= close)
            break;
        if ((here < 0) == (at_low < 0)) {
            lo = part;
            at_low = here;
            at_high = kept == 1 ? at_high / 2 : at_high;
            kept = 1;
        } else {
            hi = part;
            at_high = here;
            at_low = kept == -1 ? at_low / 2 : at_low;
            kept = -1;
        }
        part = lo + (hi - lo) * at_low / (at_low - at_high);
    }
    return part;
}

/* The level at the upper end of an edge from this point, or that of the point itself if it has none. */
static float level_above(const vf_grid *grid, const float *level, const int64_t at[3], int axis)
{
    const int64_t *n = grid->counts, strides[3] = {1, n[0], n[0] * n[1]}, here = (at[2] * n[1] + at[1]) * n[0] + at[0];
    if (at[axis] < n[axis] - 1)
        return level[here + strides[axis]];
    if (grid->cell.kind == VF_CELL_NONE)
        return level[here];
    int64_t shear[3], above[3] = {at[0], at[1], at[2]};
    above[axis]++;
    (void)vf_grid_shear(grid, shear);
    vf_grid_wrap(n, shear, above);
    return level[(above[2] * n[1] + above[1]) * n[0] + above[0]];
}

/* Whether an edge from this point upwards is cut. */
static bool has_cut(const vf_grid *grid, const float *level, const int64_t at[3])
{
    const int64_t *n = grid->counts, here = (at[2] * n[1] + at[1]) * n[0] + at[0];
    for (int a = 0; a < 3; a++)
        if ((level[here] < 0) != (level_above(grid, level, at, a) < 0))
            return true;
    return false;
}

typedef struct cut_lists {
    const float *level;
    float *const *cut;
} cut_lists;

static void cut_point(const vf_surface *plan, const vf_grid *grid, const int64_t at[3], tile *t, const cut_lists *c)
{
    const int64_t *n = grid->counts, here = (at[2] * n[1] + at[1]) * n[0] + at[0];
    const bool wraps = grid->cell.kind != VF_CELL_NONE;
    float r[3];
    for (int a = 0; a < 3; a++)
        r[a] = (float)(grid->origin[a] + grid->spacing[a] * (double)at[a] - t->middle[a]);
    for (int a = 0; a < 3; a++) {
        const double low = (double)c->level[here], high = (double)level_above(grid, c->level, at, a);
        if ((low < 0) == (high < 0))
            continue;
        int64_t face[3] = {at[0], at[1], at[2]}, m[3] = {n[0], n[1], n[2]}, shear[3];
        m[a] += !wraps;
        face[a]++;
        if (wraps && vf_grid_shear(grid, shear))
            vf_grid_wrap(n, shear, face);
        c->cut[a][(face[2] * m[1] + face[1]) * m[0] + face[0]] =
            (float)root_of(plan, t, r, a, grid->spacing[a], low, high);
    }
}

static bool cut_tile(const vf_surface *plan, const vf_grid *grid, const vf_box *box, const int64_t number[3], tile *t,
                     void *user)
{
    const cut_lists *c = user;
    bool listed = false;
    lay_tile(grid, box, number, fmax(grid->spacing[0], fmax(grid->spacing[1], grid->spacing[2])), t);
    for (int64_t k = t->box.lo[2]; k < t->box.hi[2]; k++)
        for (int64_t j = t->box.lo[1]; j < t->box.hi[1]; j++)
            for (int64_t i = t->box.lo[0]; i < t->box.hi[0]; i++) {
                const int64_t at[3] = {i, j, k};
                if (!has_cut(grid, c->level, at))
                    continue;
                if (!listed &&
                    !list_near(&plan->spheres, t->middle, plan->largest, plan->options.reach + t->half, &t->spheres))
                    return false;
                listed = true;
                cut_point(plan, grid, at, t, c);
            }
    return !t->failed;
}

vf_status vf_surface_cuts(const vf_surface *plan, const vf_grid *grid, const float *level, float *const cut[3])
{
    int64_t shear[3];
    if (!suits(plan, grid) || !level || !cut[0] || !cut[1] || !cut[2] ||
        (grid->cell.kind != VF_CELL_NONE && !vf_grid_shear(grid, shear)))
        return vf_fail(
            plan->ctx, VF_ERR_ARGUMENT,
            "surface: a grid that is not valid, or a periodic one, or one that does not cover its cell once");
    const vf_box all = vf_grid_box(grid);
    return for_tiles(plan, grid, &all, cut_tile, &(cut_lists){level, cut});
}
