/* The published sequential algorithm: charge by charge, each added to the points within the cutoff; one thread, with the
 * vectors of cutoff_sum_simd.inc (the publication's had those of SSE3). The whole box is one tile. */
#include <stdlib.h>
#include <string.h>

#include "coulomb_sum_backend.h"
#include "cutoff_sum_simd.h"

enum { AT_A_TIME = 4096 }; /* charges between two looks at vf_cancelled */

typedef struct scatter_state {
    const cutoff_simd *simd;
    vf_prolate_powers law;
    void *charges; /* in the caller's order */
} scatter_state;

static void count_nothing(void *user, int64_t i, const double at[3], double charge)
{
    (void)user, (void)i, (void)at, (void)charge;
}

static void put_charge(void *user, int64_t i, const double at[3], double charge)
{
    const vf_cutoff *plan = user;
    cutoff_charge_set(plan, ((scatter_state *)plan->state)->charges, i, at, charge);
}

static vf_status create(vf_cutoff *plan)
{
    const char *const name = plan->variant;
    scatter_state *s = calloc(1, sizeof *s);
    vf_status status = VF_OK;
    plan->state = s;
    if (s) {
        plan->variant = vf_isa_variants[0];
        status = cutoff_simd_of(plan, &s->simd);
        plan->variant = name;
        plan->count = vf_cutoff_images(plan, 0, plan->source->count, count_nothing, NULL);
        s->charges = malloc((size_t)(plan->count + 1) * cutoff_charge_bytes(plan));
    }
    if (!s || !s->charges)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %lld charges",
                       (long long)plan->source->count);
    vf_cutoff_fit(plan, plan->options.precision == VF_F64 ? 0x1p-53 : 0x1p-25, &s->law);
    (void)vf_cutoff_images(plan, 0, plan->source->count, put_charge, plan);
    plan->bytes = (uint64_t)plan->count * cutoff_charge_bytes(plan);
    return status;
}

/* out = (out +) the sums, without the room at the ends of their rows. */
static void put(const vf_cutoff *plan, const vf_box *box, const cutoff_tile *tile, bool add, void *out)
{
    const int64_t width = vf_box_extent(box, 0), height = vf_box_extent(box, 1);
    for (int64_t row = 0; row < height * vf_box_extent(box, 2); row++)
        for (int64_t i = 0; i < width; i++)
            if (plan->options.precision == VF_F64) {
                double *to = (double *)out + row * width + i;
                *to = ((const double *)tile->sums)[row * tile->row + i] + (add ? *to : 0);
            } else {
                float *to = (float *)out + row * width + i;
                *to = ((const float *)tile->sums)[row * tile->row + i] + (add ? *to : 0);
            }
}

static vf_status execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    const scatter_state *s = plan->state;
    vf_context *ctx = vf_device_context(plan->device);
    const size_t bytes = cutoff_charge_bytes(plan);
    (void)queue;
    cutoff_tile tile = {.cutoff = plan->options.cutoff,
                        .r_min = plan->options.r_min,
                        .law = &s->law,
                        .window = &plan->window,
                        .row = vf_box_extent(box, 0) + ROW - TILE_X};
    tile.plane = tile.row * vf_box_extent(box, 1);
    for (int a = 0; a < 3; a++) {
        tile.lo[a] = (int32_t)box->lo[a];
        tile.hi[a] = (int32_t)box->hi[a];
        tile.spacing[a] = plan->grid.spacing[a];
    }
    tile.sums = calloc((size_t)(tile.plane * vf_box_extent(box, 2)), vf_dtype_bytes(plan->options.precision));
    if (!tile.sums)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld points", (long long)vf_box_points(box));
    for (int64_t i = 0; i < plan->count && !vf_cancelled(ctx); i += AT_A_TIME) {
        const int64_t count = plan->count - i < AT_A_TIME ? plan->count - i : AT_A_TIME;
        const char *charges = (const char *)s->charges + (size_t)i * bytes;
        if (plan->options.precision == VF_F64)
            s->simd->add_f64(&tile, charges, count);
        else
            s->simd->add_f32(&tile, charges, count);
    }
    put(plan, box, &tile, add, out);
    free(tile.sums);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static void destroy(vf_cutoff *plan)
{
    scatter_state *s = plan->state;
    free(s->charges);
    free(s);
}

static const char *const variants[] = {"scatter", NULL};
const vf_cutoff_backend vf_cutoff_scatter = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .execute = execute, .destroy = destroy};
