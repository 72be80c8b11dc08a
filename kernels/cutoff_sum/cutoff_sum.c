/* The backend-independent part: checks, the charges near the grid with their images, and the choice of the backend. */
#include "cutoff_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "coulomb_sum_backend.h"
#include "cutoff_sum_backend.h"

static const vf_backend backends[] = {
    {&vf_cutoff_cpu.variants, &vf_cutoff_cpu},
    {&vf_cutoff_ref.variants, &vf_cutoff_ref},
    {&vf_cutoff_cuda.variants, &vf_cutoff_cuda},
    {0},
};

const char *vf_cutoff_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

static vf_status check_options(vf_context *ctx, const vf_grid *grid, const vf_cutoff_options *o)
{
    if (!isfinite(o->scale) || !(o->r_min >= VF_COULOMB_MIN_R_MIN) || !(o->cutoff >= o->r_min) ||
        !(o->cutoff <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: scale %g, minimal distance %g or cutoff %g is out of range",
                       o->scale, o->r_min, o->cutoff);
    if (!(o->bandwidth >= VF_PROLATE_LEAST) || !(o->bandwidth <= VF_PROLATE_MOST))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: bandwidth %g is out of range", o->bandwidth);
    if (o->precision != VF_F32 && o->precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: the precision must be VF_F32 or VF_F64");
    for (int a = 0; a < 3; a++)
        if (grid->counts[a] > 1 << 30 || !(o->cutoff <= 0x1p20 * grid->spacing[a]))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "cutoff sum: the grid has too many points, or its spacing is too fine");
    return VF_OK;
}

static vf_status check(vf_context *ctx, const vf_grid *grid, const vf_coulomb_atoms *charges,
                       const vf_cutoff_options *options)
{
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: the grid's counts, spacing or cell are invalid");
    for (int a = 0; a < 3; a++)
        if (!(fabs(grid->origin[a]) <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(vf_coulomb_position(grid, a, grid->counts[a])) <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: the grid reaches beyond +-%g", VF_COULOMB_MAX_COORDINATE);
    vf_status status = check_options(ctx, grid, options);
    if (status != VF_OK)
        return status;
    if (charges->count < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: the number of charges is negative");
    for (int64_t i = 0; i < charges->count; i++)
        if (!(fabs(charges->x[i]) <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(charges->y[i]) <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(charges->z[i]) <= VF_COULOMB_MAX_COORDINATE) ||
            !isfinite((float)(charges->charge[i] * options->scale)))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "cutoff sum: charge %lld at (%g, %g, %g) with charge %g is out of range", (long long)i + 1,
                           charges->x[i], charges->y[i], charges->z[i], charges->charge[i]);
    return VF_OK;
}

/* ---- charges and images within the cutoff of the grid's box ---- */

typedef struct reach {
    double lo[3], hi[3]; /* the box around the grid that matters */
    double inverse[3][3];
    const vf_cell *cell;
} reach;

/* inverse[i] . r: the fractional coordinates of r; rows of the cell's reciprocal vectors. */
static void invert(const vf_cell *cell, double inverse[3][3])
{
    const double volume = vf_cell_volume(cell);
    for (int i = 0; i < 3; i++) {
        const double *b = cell->vectors[(i + 1) % 3], *c = cell->vectors[(i + 2) % 3];
        for (int a = 0; a < 3; a++)
            inverse[i][a] = (b[(a + 1) % 3] * c[(a + 2) % 3] - b[(a + 2) % 3] * c[(a + 1) % 3]) / volume;
    }
}

static reach reach_of(const vf_cutoff *plan)
{
    reach r = {.cell = &plan->grid.cell};
    for (int a = 0; a < 3; a++) {
        r.lo[a] = vf_coulomb_position(&plan->grid, a, 0) - plan->options.cutoff;
        r.hi[a] = vf_coulomb_position(&plan->grid, a, plan->grid.counts[a] - 1) + plan->options.cutoff;
    }
    if (r.cell->kind != VF_CELL_NONE)
        invert(r.cell, r.inverse);
    return r;
}

/* The multiples of cell vector i that can move `r` into the box. */
static void image_range(const reach *box, const double r[3], int i, int64_t *first, int64_t *last)
{
    double low = 0, high = 0;
    for (int a = 0; a < 3; a++) {
        const double w = box->inverse[i][a], from_lo = w * (box->lo[a] - r[a]), from_hi = w * (box->hi[a] - r[a]);
        low += fmin(from_lo, from_hi);
        high += fmax(from_lo, from_hi);
    }
    *first = (int64_t)ceil(low - 1e-9);
    *last = (int64_t)floor(high + 1e-9);
}

/* Calls for each image of charge i in the box: stores it from element *n on, if the plan has arrays. */
static void add_images(vf_cutoff *plan, const reach *box, const vf_coulomb_atoms *charges, int64_t i, int64_t *n)
{
    const double r[3] = {charges->x[i], charges->y[i], charges->z[i]};
    int64_t first[3] = {0}, last[3] = {0};
    for (int a = 0; box->cell->kind != VF_CELL_NONE && a < 3; a++)
        image_range(box, r, a, &first[a], &last[a]);
    for (int64_t c = first[2]; c <= last[2]; c++)
        for (int64_t b = first[1]; b <= last[1]; b++)
            for (int64_t m = first[0]; m <= last[0]; m++) {
                double p[3];
                bool inside = true;
                for (int a = 0; a < 3; a++) {
                    p[a] = r[a];
                    if (box->cell->kind != VF_CELL_NONE)
                        p[a] += (double)m * box->cell->vectors[0][a] + (double)b * box->cell->vectors[1][a] +
                                (double)c * box->cell->vectors[2][a];
                    inside = inside && p[a] > box->lo[a] && p[a] < box->hi[a];
                }
                if (!inside)
                    continue;
                if (plan->x) {
                    plan->x[*n] = p[0];
                    plan->y[*n] = p[1];
                    plan->z[*n] = p[2];
                    plan->charge[*n] = charges->charge[i] * plan->options.scale;
                }
                ++*n;
            }
}

static vf_status take_charges(vf_cutoff *plan, const vf_coulomb_atoms *charges)
{
    const reach box = reach_of(plan);
    int64_t n = 0;
    for (int64_t i = 0; i < charges->count; i++)
        add_images(plan, &box, charges, i, &n);
    const size_t count = (size_t)n;
    double *block = count <= SIZE_MAX / (4 * sizeof *block) ? malloc(4 * (count ? count : 1) * sizeof *block) : NULL;
    if (!block)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %zu charges", count);
    plan->count = n;
    plan->x = block;
    plan->y = block + count;
    plan->z = block + 2 * count;
    plan->charge = block + 3 * count;
    plan->bytes += 4 * count * sizeof *block;
    n = 0;
    for (int64_t i = 0; i < charges->count; i++)
        add_images(plan, &box, charges, i, &n);
    return VF_OK;
}

/* `charges` or, if NULL, plan->loaded. */
static vf_status create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges, int64_t count,
                        const double *loaded, const vf_cutoff_options *options, vf_cutoff **out)
{
    vf_context *ctx = vf_device_context(device);
    vf_cutoff *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    *plan = (vf_cutoff){.device = device, .grid = *grid, .options = *options, .count = count, .loaded = loaded};
    plan->options.variant = NULL; /* the caller's string may not outlive this call */
    vf_prolate_make(options->bandwidth, &plan->psi);
    const void *backend;
    vf_status status =
        vf_backend_choose(backends, "the cutoff sum", device, options->variant, &backend, &plan->variant);
    plan->backend = backend;
    if (status == VF_OK && charges)
        status = take_charges(plan, charges);
    if (status == VF_OK)
        status = plan->backend->create(plan);
    plan->loaded = NULL;
    if (status == VF_OK)
        *out = plan;
    else
        vf_cutoff_destroy(plan);
    return status;
}

vf_status vf_cutoff_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                           const vf_cutoff_options *options, vf_cutoff **out)
{
    *out = NULL;
    const vf_status status = check(vf_device_context(device), grid, charges, options);
    return status == VF_OK ? create(device, grid, charges, 0, NULL, options, out) : status;
}

vf_status vf_cutoff_create_loaded(vf_device *device, const vf_grid *grid, int64_t count, const double *loaded,
                                  const vf_cutoff_options *options, vf_cutoff **out)
{
    *out = NULL;
    const vf_status status = check(vf_device_context(device), grid, &(vf_coulomb_atoms){0}, options);
    return status == VF_OK ? create(device, grid, NULL, count, loaded, options, out) : status;
}

vf_status vf_cutoff_execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    if (!vf_box_inside(box, &plan->grid) || vf_queue_device(queue) != plan->device)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "cutoff sum: the box is empty or not inside the grid, or the queue belongs to another device");
    return plan->backend->execute(plan, queue, box, add, out);
}

void vf_cutoff_destroy(vf_cutoff *plan)
{
    if (!plan)
        return;
    if (plan->state)
        plan->backend->destroy(plan);
    free(plan->x);
    free(plan);
}

const char *vf_cutoff_variant(const vf_cutoff *plan)
{
    return plan->variant;
}

uint64_t vf_cutoff_bytes(const vf_cutoff *plan)
{
    return plan->bytes;
}
