/* Maps of the electric field: E on the map's grid, by the fast sum at points, slab by slab. In a solvent, that is summed at
 * the points of the molecule only, and the gradient of the equation's solution is added. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "maps/map_output.h"
#include "points.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"

enum { SLAB_POINTS = 1 << 18 };

typedef struct field_files {
    vf_context *ctx;
    int count; /* 3 maps, or one HDF5 file */
    map_info info[3];
    map_output map[3];
    vf_h5 *file;
} field_files;

vf_status field_map_names(vf_context *ctx, const char *path, int *files, char names[3][FIELD_NAME])
{
    const size_t size = strlen(path);
    const char *const dot = strrchr(path, '.');
    if (size + 3 > FIELD_NAME)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--field-map: the name is too long");
    *files = vf_path_has_extension(path, ".h5 .hdf5") ? 1 : 3;
    if (!vf_path_has_extension(path, ".h5 .hdf5 .mrc"))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--field-map '%s': unknown file extension; use .h5 or .mrc", path);
    for (int a = 0; a < *files; a++)
        if (*files == 1)
            snprintf(names[a], FIELD_NAME, "%s", path);
        else
            snprintf(names[a], FIELD_NAME, "%.*s_%c%s", (int)(dot - path), path, 'x' + a, dot);
    return VF_OK;
}

/* ---- files ---- */

static vf_status begin_h5(field_files *f, const char *path, const map_info *info, const char *unit)
{
    const int64_t *n = info->grid.counts;
    const int64_t dims[4] = {3, n[2], n[1], n[0]}, chunk[4] = {1, 1, n[1] < 256 ? n[1] : 256, n[0] < 256 ? n[0] : 256};
    const char *const root[][2] = {{"format", "voxfield field map"}, {"program", info->program},
                                   {"command", info->command},       {"created", info->created},
                                   {"input", info->input},           {"input_sha256", info->molecule->digest}};
    const char *const texts[][2] = {
        {"quantity", info->surface ? "electric field in a solvent" : "electric field"},
        {"unit", unit},
        {"length_unit", "angstrom"},
        {"axis_order", "[component x, y, z][z][y][x]; [a][k][j][i] is at origin + (i, j, k) * spacing; origin, "
                       "spacing and counts are x, y, z"}};
    vf_status status = vf_h5_create(f->ctx, path, &f->file);
    for (size_t n_text = 0; status == VF_OK && n_text < sizeof root / sizeof *root; n_text++)
        status = vf_h5_attribute_text(f->file, "/", root[n_text][0], root[n_text][1]);
    if (status == VF_OK && info->surface)
        status = vf_h5_attribute_text(f->file, "/", "method", info->method);
    VF_TRY(status, vf_h5_dataset_create(f->file, "field", info->type, 4, dims, chunk, 1));
    for (size_t n_text = 0; status == VF_OK && n_text < sizeof texts / sizeof *texts; n_text++)
        status = vf_h5_attribute_text(f->file, "field", texts[n_text][0], texts[n_text][1]);
    VF_TRY(status, vf_h5_attribute_doubles(f->file, "field", "origin", info->grid.origin, 3));
    VF_TRY(status, vf_h5_attribute_doubles(f->file, "field", "spacing", info->grid.spacing, 3));
    VF_TRY(status, vf_h5_attribute_integers(f->file, "field", "counts", n, 3));
    const struct {
        const char *name;
        double value;
    } constants[] = {{"unit_constant", info->unit_constant},
                     {"temperature", info->temperature},
                     {"dielectric", info->dielectric},
                     {"r_min", info->r_min}};
    for (size_t c = 0; status == VF_OK && c < sizeof constants / sizeof *constants; c++)
        status = vf_h5_attribute_doubles(f->file, "field", constants[c].name, &constants[c].value, 1);
    if (status == VF_OK && info->sigma > 0)
        status = vf_h5_attribute_doubles(f->file, "field", "sigma", &info->sigma, 1);
    if (status == VF_OK && info->selection)
        status = vf_h5_attribute_text(f->file, "field", "selection", info->selection);
    if (status == VF_OK && info->grid.cell.kind != VF_CELL_NONE)
        status = vf_h5_attribute_doubles(f->file, "field", "cell", info->grid.cell.vectors[0], 9);
    return status;
}

static vf_status begin(field_files *f, const char *path, const map_info *info, const char *unit)
{
    static const char *const quantity[2][3] = {
        {"electric field along x", "electric field along y", "electric field along z"},
        {"electric field in a solvent along x", "electric field in a solvent along y",
         "electric field in a solvent along z"}};
    static char names[3][FIELD_NAME];
    vf_status status = field_map_names(f->ctx, path, &f->count, names);
    if (status == VF_OK && f->count == 1)
        return begin_h5(f, path, info, unit);
    for (int a = 0; status == VF_OK && a < 3; a++) {
        f->info[a] = *info;
        f->info[a].quantity = quantity[info->surface != NULL][a];
        f->info[a].values_unit = unit;
        f->map[a] = (map_output){.ctx = f->ctx, .path = names[a], .info = &f->info[a], .order = MAP_X_FASTEST};
        status = map_format_for(f->ctx, names[a], &f->map[a].format);
        VF_TRY(status, map_output_begin(&f->map[a]));
    }
    return status;
}

/* Layers [first, first + count) of one component, of info->type. */
static vf_status put(field_files *f, const map_info *info, int axis, int64_t first, int64_t count, const void *values)
{
    const int64_t start[4] = {axis, first, 0, 0}, size[4] = {1, count, info->grid.counts[1], info->grid.counts[0]};
    return f->count == 1 ? vf_h5_write(f->file, "field", info->type, start, size, values)
                         : map_output_take(&f->map[axis], first, count, values);
}

static vf_status commit(field_files *f, const map_error *error)
{
    vf_status status = VF_OK;
    if (f->count == 1 && error->points > 0)
        status = vf_h5_attribute_doubles(f->file, "field", "rms_error", &error->rms, 1);
    if (f->count == 1)
        return status == VF_OK ? vf_h5_commit(&f->file) : status;
    for (int a = 0; status == VF_OK && a < 3; a++)
        f->info[a].error = *error;
    for (int a = 0; status == VF_OK && a < 3; a++)
        status = map_output_commit(&f->map[a]);
    return status;
}

static void discard(field_files *f)
{
    vf_h5_close(&f->file);
    for (int a = 0; a < 3; a++)
        map_output_discard(&f->map[a]);
}

/* ---- points ---- */

static void position(const vf_grid *g, int64_t n, double r[3])
{
    const int64_t at[3] = {n % g->counts[0], n / g->counts[0] % g->counts[1], n / g->counts[0] / g->counts[1]};
    for (int a = 0; a < 3; a++)
        r[a] = g->origin[a] + g->spacing[a] * (double)at[a];
}

/* Points whose bounds are the grid's, and whose values are like those of all that are summed: the corners, and points at random, of the
 * molecule in a solvent (`inside`, not NULL). The random ones come first; they are where the error is measured. */
static void choose_typical(const vf_grid *g, const uint8_t *inside, double points[POINT_SAMPLES][3],
                           int64_t index[POINT_SAMPLES])
{
    uint64_t state = 39;
    const int64_t all = vf_grid_points(g);
    for (int n = 0; n < POINT_SAMPLES; n++) {
        const int corner = n - (POINT_SAMPLES - 8);
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's generator */
        index[n] = (int64_t)((state >> 20) % (uint64_t)all);
        for (int64_t tried = 0; inside && !inside[index[n]] && tried < all; tried++)
            index[n] = (index[n] + 1) % all;
        if (corner >= 0)
            index[n] = (corner & 1 ? g->counts[0] - 1 : 0) +
                       g->counts[0] *
                           ((corner & 2 ? g->counts[1] - 1 : 0) + g->counts[1] * (corner & 4 ? g->counts[2] - 1 : 0));
        position(g, index[n], points[n]);
    }
}

/* Sums of squares of the field that is summed at `summed` points, and the differences at the points of the check. */
typedef struct field_check {
    int64_t count, summed, index[POINT_SAMPLES];
    double exact[POINT_SAMPLES][3], seen[POINT_SAMPLES][3], squares;
} field_check;

static vf_status make_check(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *options,
                            const double points[POINT_SAMPLES][3], field_check *check)
{
    double values[POINT_SAMPLES];
    vf_point_options truth = *options;
    vf_point_sum *plan = NULL;
    truth.tolerance = 0;
    truth.exactness = options->tolerance;
    check->count = charges->count > 20000 && options->cell.kind != VF_CELL_NONE ? 16 : POINT_SAMPLES - 8;
    const vf_point_list list = {.count = check->count, .points = points[0]};
    vf_status status = vf_point_sum_create(ctx, charges, &truth, &list, (double)list.count, &plan);
    VF_TRY(status, vf_point_sum_execute(plan, &list, values, check->exact[0]));
    vf_point_sum_destroy(plan);
    return status;
}

static map_error check_result(vf_context *ctx, const field_check *c, double asked)
{
    const double rms = fmax(sqrt(c->squares / fmax((double)c->summed, 1)), 1e-300);
    map_error e = {.asked = asked, .points = c->count};
    for (int64_t n = 0; n < c->count; n++) {
        double off = 0;
        for (int a = 0; a < 3; a++)
            off += pow((c->exact[n][a] - c->seen[n][a]) / rms, 2);
        e.rms += off / (double)c->count;
        e.largest = fmax(e.largest, sqrt(off));
    }
    e.rms = sqrt(e.rms);
    if (c->count > 0 && !(e.rms <= asked && e.largest <= 10 * asked))
        vf_warn(ctx,
                "the field map is less accurate than asked: at %lld random points, its error is %.2g of the rms field, "
                "and %.2g at most, but --accuracy %g allows %g and %g",
                (long long)c->count, e.rms, e.largest, asked, asked, 10 * asked);
    return e;
}

static void take_check(field_check *c, int64_t begin, int64_t count, const double *fields)
{
    for (int64_t n = 0; n < 3 * count; n++)
        c->squares += fields[n] * fields[n];
    for (int64_t n = 0; n < c->count; n++)
        if (c->index[n] >= begin && c->index[n] < begin + count)
            memcpy(c->seen[n], fields + 3 * (c->index[n] - begin), sizeof c->seen[n]);
}

/* What the field is made of. */
typedef struct field_run {
    const map_info *info;
    const vf_point_sum *plan;
    const vf_solvent *solvent; /* NULL: none */
    const uint8_t *inside;     /* of the solvent: points in the molecule; NULL: none */
    field_check *check;
} field_run;

/* One component of the points, as numbers of the map's type. */
static void pick(vf_dtype type, int axis, int64_t count, const double *fields, void *out)
{
    for (int64_t n = 0; n < count; n++)
        if (type == VF_F64)
            ((double *)out)[n] = fields[3 * n + axis];
        else
            ((float *)out)[n] = (float)fields[3 * n + axis];
}

/* Points [first, first + count) of the grid, or those of them that are in the molecule; returns their number. */
static int64_t list_points(const vf_grid *g, const uint8_t *inside, int64_t first, int64_t count, double *points)
{
    int64_t listed = 0;
    for (int64_t n = first; n < first + count; n++)
        if (!inside || inside[n])
            position(g, n, points + 3 * listed++);
    return listed;
}

/* From the fields of the listed points to those of all, in place. */
static void spread(const uint8_t *inside, int64_t count, int64_t listed, double *fields)
{
    for (int64_t n = count - 1; n >= 0; n--) {
        double *to = fields + 3 * n;
        if (inside[n])
            memmove(to, fields + 3 * --listed, 3 * sizeof *to);
        else
            memset(to, 0, 3 * sizeof *to);
    }
}

/* Layers [z, z + count), in room for points, values and fields. */
static vf_status compute_layers(const field_run *r, int64_t z, int64_t count, double *points, double *values,
                                double *fields)
{
    const vf_grid *g = &r->info->grid;
    const int64_t plane = g->counts[0] * g->counts[1], first = z * plane, all = count * plane;
    const int64_t listed = list_points(g, r->inside, first, all, points);
    vf_status status = VF_OK;
    if (listed > 0)
        status = vf_point_sum_execute(r->plan, &(vf_point_list){.count = listed, .points = points}, values, fields);
    if (status != VF_OK)
        return status;
    if (r->inside)
        spread(r->inside + first, all, listed, fields);
    take_check(r->check, first, all, fields);
    r->check->summed += listed;
    const vf_box box = {{0, 0, z}, {g->counts[0], g->counts[1], z + count}};
    return r->solvent ? vf_solvent_add_field(r->solvent, &box, r->info->unit_constant, fields) : VF_OK;
}

static vf_status compute(field_files *f, const field_run *r)
{
    const map_info *info = r->info;
    const int64_t plane = info->grid.counts[0] * info->grid.counts[1], layers = info->grid.counts[2];
    const int64_t most = plane > SLAB_POINTS ? 1 : SLAB_POINTS / plane, room = plane * (most < layers ? most : layers);
    double *points = malloc((size_t)room * 8 * sizeof *points);
    vf_status status = points ? VF_OK : vf_fail(f->ctx, VF_ERR_MEMORY, "no memory for a slab of the field map");
    if (status != VF_OK)
        return status;
    double *values = points + 3 * room, *fields = values + room, *one = fields + 3 * room;
    for (int64_t z = 0; status == VF_OK && z < layers; z += most) {
        const int64_t count = layers - z < most ? layers - z : most;
        status = compute_layers(r, z, count, points, values, fields);
        for (int a = 0; status == VF_OK && a < 3; a++) {
            pick(info->type, a, count * plane, fields, one);
            status = put(f, info, a, z, count, one);
        }
    }
    free(points);
    return status;
}

vf_status field_map_write(vf_context *ctx, const cionize_settings *s, const molecule *mol, const map_info *info,
                          const vf_solvent *solvent, map_error *error)
{
    const uint8_t *inside = solvent ? vf_solvent_inside(solvent) : NULL;
    const vf_coulomb_atoms charges = {
        .count = mol->atoms, .x = mol->x, .y = mol->y, .z = mol->z, .charge = mol->charge};
    const vf_point_options options = point_options(s, &info->grid.cell, true);
    double typical[POINT_SAMPLES][3];
    field_files f = {.ctx = ctx};
    field_check check = {0};
    vf_point_sum *plan = NULL;
    vf_point_info chosen = {0};
    char unit[64];
    snprintf(unit, sizeof unit, "%s/A", info->unit);
    choose_typical(&info->grid, inside, typical, check.index);
    vf_status status =
        vf_point_sum_create(ctx, &charges, &options, &(vf_point_list){.count = POINT_SAMPLES, .points = typical[0]},
                            (double)vf_grid_points(&info->grid), &plan);
    if (status == VF_OK)
        vf_point_sum_get_info(plan, &chosen);
    if (status == VF_OK && chosen.fast)
        status = make_check(ctx, &charges, &options, (const double(*)[3])typical, &check);
    VF_TRY(status, begin(&f, s->points.field_map, info, unit));
    VF_TRY(status, compute(&f, &(field_run){info, plan, solvent, inside, &check}));
    if (status == VF_OK)
        *error = chosen.fast ? check_result(ctx, &check, s->accuracy) : (map_error){0};
    VF_TRY(status, commit(&f, error));
    vf_point_sum_destroy(plan);
    discard(&f);
    return status;
}
