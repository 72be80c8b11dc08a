#include "map_output.h"

#include <math.h>

#include "voxfield/workpool.h"

double map_figures_mean(const map_figures *f)
{
    return f->first + f->sum / (double)f->count;
}

double map_figures_deviation(const map_figures *f)
{
    const double mean = f->sum / (double)f->count;
    return sqrt(fmax(f->squares / (double)f->count - mean * mean, 0));
}

double map_figures_rms(const map_figures *f)
{
    return hypot(map_figures_mean(f), map_figures_deviation(f));
}

enum { LANES = 8, BLOCK = 1024 }; /* partial sums, of value i in lane i % LANES; a whole number of LANES */

/* The extremes of a block, and the sums of its differences from `first`. Two passes, so that each keeps its lanes in registers. */
static void add_block(const double *v, int64_t count, double first, double lo[LANES], double hi[LANES],
                      double sum[LANES], double squares[LANES])
{
    const int64_t whole = count / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++) {
            lo[l] = v[i + l] < lo[l] ? v[i + l] : lo[l];
            hi[l] = v[i + l] > hi[l] ? v[i + l] : hi[l];
        }
    for (int64_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const double d = v[i + l] - first;
            sum[l] += d;
            squares[l] += d * d;
        }
    for (int64_t i = whole; i < count; i++) {
        const int l = (int)(i % LANES);
        lo[l] = v[i] < lo[l] ? v[i] : lo[l];
        hi[l] = v[i] > hi[l] ? v[i] : hi[l];
        const double d = v[i] - first;
        sum[l] += d;
        squares[l] += d * d;
    }
}

/* Adds one layer. Sums are always by layer, so they do not depend on the thickness of the slabs. */
static void add_figures(map_figures *f, vf_dtype type, const void *values, int64_t count)
{
    double lo[LANES], hi[LANES], sum[LANES] = {0}, squares[LANES] = {0}, converted[BLOCK];
    if (f->count == 0)
        f->first = type == VF_F64 ? *(const double *)values : (double)*(const float *)values;
    for (int l = 0; l < LANES; l++) {
        lo[l] = f->minimum;
        hi[l] = f->maximum;
    }
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int64_t n = count - i < BLOCK ? count - i : BLOCK;
        const double *block = type == VF_F64 ? (const double *)values + i : converted;
        for (int64_t j = 0; type == VF_F32 && j < n; j++)
            converted[j] = (double)((const float *)values)[i + j];
        add_block(block, n, f->first, lo, hi, sum, squares);
    }
    for (int l = 0; l < LANES; l++) {
        f->minimum = fmin(f->minimum, lo[l]);
        f->maximum = fmax(f->maximum, hi[l]);
        f->sum += sum[l];
        f->squares += squares[l];
    }
    f->count += count;
}

/* Layers on their way, in pieces: so that an interrupt does not wait until a whole slab is formatted and compressed, and that a
 * piece is written while another thread adds the figures of the next one. */
typedef struct passage {
    map_output *out;
    int64_t first, count, layer, step; /* layers; values of a layer; layers of a piece */
    const char *values;
} passage;

static int64_t layers_of(const passage *p, int64_t piece)
{
    const int64_t left = p->count - piece * p->step;
    return left < p->step ? left : p->step;
}

static const char *layer_at(const passage *p, int64_t n)
{
    return p->values + (size_t)(n * p->layer) * vf_dtype_bytes(p->out->info->type);
}

static vf_status add_piece(void *user, int worker, int slot, int64_t piece)
{
    const passage *p = user;
    map_output *out = p->out;
    (void)worker, (void)slot;
    for (int64_t n = 0; n < layers_of(p, piece); n++)
        add_figures(&out->figures, out->info->type, layer_at(p, piece * p->step + n), p->layer);
    return isfinite(out->figures.sum)
               ? VF_OK
               : vf_fail(out->ctx, VF_ERR_INTERNAL, "%s: the map has a NaN or infinite value; please report this bug",
                         out->path ? out->path : "the map");
}

static vf_status write_piece(void *user, int slot, int64_t piece)
{
    const passage *p = user;
    map_output *out = p->out;
    const int64_t n = piece * p->step;
    (void)slot;
    if (!out->format)
        return VF_OK;
    return vf_cancelled(out->ctx) ? vf_fail(out->ctx, VF_ERR_CANCELLED, "interrupted")
                                  : out->format->write(out->state, p->first + n, layers_of(p, piece), layer_at(p, n));
}

static vf_status pass(passage *p)
{
    const int64_t pieces = (p->count + p->step - 1) / p->step;
    const vf_workpool pool = {
        .items = pieces, .workers = 1, .slots = 2, .user = p, .produce = add_piece, .consume = write_piece};
    vf_status status = VF_OK;
    if (pieces > 1 && p->out->format && vf_context_threads(p->out->ctx) > 1)
        return vf_workpool_run(p->out->ctx, &pool);
    for (int64_t n = 0; status == VF_OK && n < pieces; n++) {
        status = add_piece(p, 0, 0, n);
        VF_TRY(status, write_piece(p, 0, n));
    }
    return status;
}

vf_status map_output_begin(map_output *out)
{
    out->figures = (map_figures){.minimum = INFINITY, .maximum = -INFINITY};
    vf_status status = VF_OK;
    if (out->format) {
        out->order = out->format->order;
        status = out->format->begin(out->ctx, out->path, out->info, &out->state);
    }
    if (status == VF_OK && out->picture)
        status = slices_create(out->ctx, &out->info->grid, &out->planes);
    return status;
}

vf_status map_output_take(map_output *out, int64_t first, int64_t count, const void *values)
{
    enum { PIECE = 1 << 20 }; /* values: a few tenths of a second in the slowest format */
    const vf_grid *grid = &out->info->grid;
    const int64_t layer = vf_grid_points(grid) / grid->counts[out->order == MAP_Z_FASTEST ? 0 : 2];
    passage p = {out, first, count, layer, layer < PIECE ? PIECE / layer : 1, values};
    const vf_status status = pass(&p);
    if (status == VF_OK && out->planes)
        slices_take(out->planes, out->order, out->info->type, first, count, values);
    return status;
}

vf_status map_output_commit(map_output *out)
{
    const map_figures *f = &out->figures;
    void *state = out->state;
    vf_status status = VF_OK;
    out->state = NULL;
    if (out->format)
        status = out->format->commit(state, f->minimum, f->maximum, map_figures_mean(f), map_figures_deviation(f));
    if (status == VF_OK && out->planes)
        status = slices_draw(out->planes, out->info, out->picture);
    return status;
}

void map_output_discard(map_output *out)
{
    if (out->state)
        out->format->discard(out->state);
    slices_destroy(out->planes);
    out->state = NULL;
    out->planes = NULL;
}

double map_output_bytes(const map_format *format, const map_info *info)
{
    return format->bytes_per_value[info->type] * (double)vf_grid_points(&info->grid) +
           format->bytes_per_atom * (double)info->molecule->atoms + format->bytes_besides;
}
