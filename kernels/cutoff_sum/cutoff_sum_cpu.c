/* The CPU backend. Charges are sorted into bins. OpenMP threads compute tiles of the box with the instruction set
 * chosen at run time; a tile gathers from the bins within reach. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/count_places.h"
#include "coulomb_sum_backend.h"
#include "cutoff_sum_simd.h"
#include "voxfield/team_size.h"

typedef struct cpu_state {
    const cutoff_simd *simd;
    cutoff_bins in;
} cpu_state;

static const int64_t bin_size[3] = {BIN_X, BIN_Y, BIN_Z}, tile_size[3] = {TILE_X, TILE_Y, TILE_Z};

static int64_t clamp(int64_t n, int64_t low, int64_t high)
{
    return n < low ? low : n > high ? high : n;
}

/* The nearest grid point and the distance from it. */
static int32_t locate(const vf_grid *grid, int axis, double x, double *offset)
{
    const double nearest = floor((x - grid->origin[axis]) / grid->spacing[axis] + 0.5);
    *offset = x - vf_coulomb_position(grid, axis, (int64_t)nearest);
    return (int32_t)nearest;
}

void cutoff_charge_set(const vf_cutoff *plan, void *charges, int64_t place, const double at[3], double charge)
{
    for (int a = 0; a < 3; a++) {
        double offset;
        const int32_t n = locate(&plan->grid, a, at[a], &offset);
        if (plan->options.precision == VF_F64) {
            cutoff_charge_f64 *c = (cutoff_charge_f64 *)charges + place;
            c->at[a] = n;
            c->offset[a] = offset;
            c->charge = charge;
        } else {
            cutoff_charge_f32 *c = (cutoff_charge_f32 *)charges + place;
            c->at[a] = n;
            c->offset[a] = (float)offset;
            c->charge = (float)charge;
        }
    }
}

size_t cutoff_charge_bytes(const vf_cutoff *plan)
{
    return plan->options.precision == VF_F64 ? sizeof(cutoff_charge_f64) : sizeof(cutoff_charge_f32);
}

static int64_t bin_of(const vf_cutoff *plan, const cutoff_bins *s, const double at[3])
{
    int64_t bin = 0;
    for (int a = 2; a >= 0; a--) {
        double offset;
        const int64_t n = clamp(locate(&plan->grid, a, at[a], &offset), 0, plan->grid.counts[a] - 1);
        bin = bin * s->bins[a] + n / bin_size[a];
    }
    return bin;
}

/* A part of a sort. */
typedef struct sorter {
    const vf_cutoff *plan;
    const cutoff_bins *in;
    int64_t *places; /* [bins] first the number of charges, then where the next one goes */
} sorter;

static void count_charge(void *user, int64_t i, const double at[3], double charge)
{
    const sorter *own = user;
    (void)i;
    (void)charge;
    own->places[bin_of(own->plan, own->in, at)]++;
}

static void put_charge(void *user, int64_t i, const double at[3], double charge)
{
    const sorter *own = user;
    (void)i;
    cutoff_charge_set(own->plan, own->in->charges, own->places[bin_of(own->plan, own->in, at)]++, at, charge);
}

/* Parts of the sort, up to one a thread: their counts should take half of the charges' memory, at most. */
static int sort_parts(const vf_cutoff *plan, int64_t bins)
{
    const int64_t charges = plan->source->count, most = charges * (int64_t)cutoff_charge_bytes(plan) / (16 * bins) + 1;
    const int threads = vf_threads_for(vf_device_context(plan->device), 5 * charges);
    return most < threads ? (int)most : threads;
}

static void pass_over_charges(const vf_cutoff *plan, const cutoff_bins *in, int parts, int64_t bins, int64_t *places,
                              vf_cutoff_take *take)
{
    const int threads = vf_threads_for(vf_device_context(plan->device), parts > 1 ? 5 * plan->source->count : 0);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < parts; t++) {
        sorter own = {.plan = plan, .in = in, .places = places + t * bins};
        (void)vf_cutoff_images(plan, vf_range_begin(plan->source->count, parts, t),
                               vf_range_begin(plan->source->count, parts, t + 1), take, &own);
    }
}

/* Without a copy of the charges in between: they may take as much memory as all else. */
static vf_status sort_charges(vf_cutoff *plan, int64_t bins, cutoff_bins *s)
{
    const int parts = sort_parts(plan, bins);
    int64_t *places = calloc((size_t)(parts * bins), sizeof *places);
    s->first = malloc((size_t)(bins + 1) * sizeof *s->first);
    if (places && s->first) {
        pass_over_charges(plan, s, parts, bins, places, count_charge);
        vf_counts_to_places(parts, bins, places, s->first);
        plan->count = s->first[bins];
        s->charges = malloc((size_t)(plan->count + 1) * cutoff_charge_bytes(plan));
    }
    if (s->charges)
        pass_over_charges(plan, s, parts, bins, places, put_charge);
    free(places);
    if (!s->charges)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                       "not enough memory to sort %lld charges into %lld bins", (long long)plan->source->count,
                       (long long)bins);
    plan->bytes = (uint64_t)plan->count * cutoff_charge_bytes(plan) + (uint64_t)bins * sizeof *s->first;
    return VF_OK;
}

vf_status cutoff_simd_of(vf_cutoff *plan, const cutoff_simd **out)
{
    static const cutoff_simd *const sets[VF_ISA_COUNT] = {
        &cutoff_simd_baseline,
#if defined(__x86_64__)
        &cutoff_simd_avx2,
        &cutoff_simd_avx512,
#endif
    };
    vf_isa isa;
    const vf_status status = vf_variant_isa(plan->device, "cutoff sum", &plan->variant, &isa);
    *out = status == VF_OK ? sets[isa] : NULL;
    return status;
}

vf_status cutoff_bins_make(vf_cutoff *plan, cutoff_bins *out)
{
    int64_t bins = 1;
    vf_cutoff_fit(plan, plan->options.precision == VF_F64 ? 0x1p-53 : 0x1p-25, &out->law);
    for (int a = 0; a < 3; a++) {
        out->bins[a] = (plan->grid.counts[a] + bin_size[a] - 1) / bin_size[a];
        out->reach[a] = (int64_t)ceil(plan->options.cutoff / plan->grid.spacing[a]) + 1;
        bins *= out->bins[a];
    }
    return sort_charges(plan, bins, out);
}

void cutoff_bins_free(cutoff_bins *in)
{
    free(in->first);
    free(in->charges);
}

static vf_status create(vf_cutoff *plan)
{
    const cutoff_simd *simd;
    const vf_status status = cutoff_simd_of(plan, &simd);
    if (status != VF_OK)
        return status;
    cpu_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a plan");
    plan->state = s;
    s->simd = simd;
    return cutoff_bins_make(plan, &s->in);
}

/* Adds the charges within reach of a tile, in the order of the bins. */
static void sum_tile(const vf_cutoff *plan, const cutoff_tile *tile)
{
    const cpu_state *state = plan->state;
    const cutoff_bins *s = &state->in;
    int64_t lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        lo[a] = clamp(tile->lo[a] - s->reach[a], 0, plan->grid.counts[a] - 1) / bin_size[a];
        hi[a] = clamp(tile->hi[a] + s->reach[a], 0, plan->grid.counts[a] - 1) / bin_size[a];
    }
    for (int64_t z = lo[2]; z <= hi[2]; z++)
        for (int64_t y = lo[1]; y <= hi[1]; y++) {
            const int64_t row = (z * s->bins[1] + y) * s->bins[0], first = s->first[row + lo[0]],
                          count = s->first[row + hi[0] + 1] - first;
            const void *charges = (const char *)s->charges + (size_t)first * cutoff_charge_bytes(plan);
            if (plan->options.precision == VF_F64)
                state->simd->add_f64(tile, charges, count);
            else
                state->simd->add_f32(tile, charges, count);
        }
}

static void put_row(vf_dtype precision, int64_t n, bool add, const void *sums, void *out)
{
    if (precision == VF_F64)
        for (int64_t i = 0; i < n; i++)
            ((double *)out)[i] = ((const double *)sums)[i] + (add ? ((const double *)out)[i] : 0);
    else
        for (int64_t i = 0; i < n; i++)
            ((float *)out)[i] = ((const float *)sums)[i] + (add ? ((const float *)out)[i] : 0);
}

/* Tiles lie on a lattice fixed to the grid, not to the box. So the order of a point's terms does not depend on the
 * box. */
typedef struct tiling {
    const vf_cutoff *plan;
    const vf_box *box;
    int64_t first[3], count[3]; /* tiles that the box touches */
    bool add;
    void *out;
} tiling;

static void compute_tile(const tiling *t, int64_t number)
{
    const vf_cutoff *plan = t->plan;
    const cpu_state *s = plan->state;
    const size_t element = vf_dtype_bytes(plan->options.precision);
    _Alignas(64) double sums[TILE_Z * TILE_Y * ROW];
    memset(sums, 0, TILE_Z * TILE_Y * ROW * element);
    cutoff_tile tile = {.cutoff = plan->options.cutoff,
                        .r_min = plan->options.r_min,
                        .law = &s->in.law,
                        .window = &plan->window,
                        .row = ROW,
                        .plane = TILE_Y * ROW,
                        .sums = sums};
    const int64_t at[3] = {number % t->count[0], number / t->count[0] % t->count[1],
                           number / t->count[0] / t->count[1]};
    for (int a = 0; a < 3; a++) {
        const int64_t begin = (t->first[a] + at[a]) * tile_size[a];
        tile.lo[a] = (int32_t)(begin > t->box->lo[a] ? begin : t->box->lo[a]);
        tile.hi[a] = (int32_t)clamp(begin + tile_size[a], 0, t->box->hi[a]);
        tile.spacing[a] = plan->grid.spacing[a];
    }
    sum_tile(plan, &tile);
    const int64_t width = vf_box_extent(t->box, 0), height = vf_box_extent(t->box, 1);
    for (int32_t z = tile.lo[2]; z < tile.hi[2]; z++)
        for (int32_t y = tile.lo[1]; y < tile.hi[1]; y++) {
            const int64_t to = ((z - t->box->lo[2]) * height + y - t->box->lo[1]) * width + tile.lo[0] - t->box->lo[0];
            const int32_t from = ((z - tile.lo[2]) * TILE_Y + y - tile.lo[1]) * ROW;
            put_row(plan->options.precision, tile.hi[0] - tile.lo[0], t->add, (char *)sums + (size_t)from * element,
                    (char *)t->out + (size_t)to * element);
        }
}

static vf_status execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    (void)queue;
    vf_context *ctx = vf_device_context(plan->device);
    tiling t = {.plan = plan, .box = box, .add = add, .out = out};
    int64_t tiles = 1;
    for (int a = 0; a < 3; a++) {
        t.first[a] = box->lo[a] / tile_size[a];
        t.count[a] = (box->hi[a] - 1) / tile_size[a] - t.first[a] + 1;
        tiles *= t.count[a];
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, vf_box_points(box) * 20))
    for (int64_t i = 0; i < tiles; i++)
        if (!vf_cancelled(ctx))
            compute_tile(&t, i);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static void destroy(vf_cutoff *plan)
{
    cpu_state *s = plan->state;
    cutoff_bins_free(&s->in);
    free(s);
}

const vf_cutoff_backend vf_cutoff_cpu = {
    .variants = {VF_DEVICE_CPU, vf_isa_variants}, .create = create, .execute = execute, .destroy = destroy};
