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

/* ---- the smooth part ---- */

/* erf(b x) / x: p->c is b. */
static double gaussian_slope(const vf_prolate *p, double x)
{
    return fabs(x) < 1e-10 ? 1.1283791670955126 * p->c : erf(p->c * x) / x;
}

static void gaussian_slopes(const vf_prolate *p, int64_t n, const double *x, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = gaussian_slope(p, x[i]);
}

static vf_prolate gaussian_of(double cutoff, double sigma)
{
    return (vf_prolate){.c = cutoff / (sqrt(2) * sigma)};
}

double vf_cutoff_smooth(const vf_cutoff *plan, double x)
{
    const vf_prolate gaussian =
        plan->options.sigma > 0 ? gaussian_of(plan->options.cutoff, plan->options.sigma) : (vf_prolate){0};
    return plan->options.sigma > 0 ? gaussian_slope(&gaussian, x) : vf_prolate_slope(&plan->psi, x);
}

void vf_cutoff_fit_law(const vf_prolate *psi, double cutoff, double sigma, double accuracy, vf_prolate_powers *out)
{
    const vf_prolate gaussian = sigma > 0 ? gaussian_of(cutoff, sigma) : (vf_prolate){0};
    if (sigma > 0)
        vf_prolate_fit(&gaussian, gaussian_slopes, accuracy, out);
    else
        vf_prolate_fit(psi, vf_prolate_slopes, accuracy, out);
    for (int k = 0; k <= out->degree; k++)
        out->coefficient[k] /= cutoff;
}

void vf_cutoff_fit(const vf_cutoff *plan, double accuracy, vf_prolate_powers *out)
{
    vf_cutoff_fit_law(&plan->psi, plan->options.cutoff, plan->options.sigma, accuracy, out);
}

/* ---- checks ---- */

static vf_status check_options(vf_context *ctx, const vf_grid *grid, const vf_cutoff_options *o)
{
    if (!isfinite(o->scale) || !(o->r_min >= VF_COULOMB_MIN_R_MIN) || !(o->cutoff >= o->r_min) ||
        !(o->cutoff <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: scale %g, minimal distance %g or cutoff %g is out of range",
                       o->scale, o->r_min, o->cutoff);
    if (o->sigma != 0 && (!(o->sigma >= 0.1 * o->cutoff) || !(o->sigma <= o->cutoff)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: sigma %g does not suit the cutoff %g", o->sigma, o->cutoff);
    if (o->sigma == 0 && (!(o->bandwidth >= VF_PROLATE_LEAST) || !(o->bandwidth <= VF_PROLATE_MOST)))
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

typedef struct images {
    vf_cutoff_take *take;
    void *user;
    double charge;
    int64_t count;
} images;

static void take_image(void *user, const double p[3])
{
    images *to = user;
    to->take(to->user, to->count++, p, to->charge);
}

int64_t vf_cutoff_images(const vf_cutoff *plan, int64_t begin, int64_t end, vf_cutoff_take *take, void *user)
{
    images to = {.take = take, .user = user};
    const vf_coulomb_atoms *charges = plan->source;
    double lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        lo[a] = vf_coulomb_position(&plan->grid, a, 0) - plan->options.cutoff;
        hi[a] = vf_coulomb_position(&plan->grid, a, plan->grid.counts[a] - 1) + plan->options.cutoff;
    }
    for (int64_t i = begin; i < end; i++) {
        to.charge = charges->charge[i] * plan->options.scale;
        vf_cell_images(&plan->grid.cell, (double[]){charges->x[i], charges->y[i], charges->z[i]}, lo, hi, take_image,
                       &to);
    }
    return to.count;
}

static void take_nothing(void *user, int64_t i, const double p[3], double charge)
{
    (void)user, (void)i, (void)p, (void)charge;
}

static void copy_charge(void *user, int64_t i, const double p[3], double charge)
{
    vf_cutoff *plan = user;
    plan->x[i] = p[0];
    plan->y[i] = p[1];
    plan->z[i] = p[2];
    plan->charge[i] = charge;
}

vf_status vf_cutoff_copy_charges(vf_cutoff *plan)
{
    const int64_t n = vf_cutoff_images(plan, 0, plan->source->count, take_nothing, NULL);
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
    vf_cutoff_images(plan, 0, plan->source->count, copy_charge, plan);
    return VF_OK;
}

/* `given` has the charges: source, or queue, loaded and count. */
static vf_status create(vf_device *device, const vf_grid *grid, const vf_cutoff *given,
                        const vf_cutoff_options *options, vf_cutoff **out)
{
    vf_context *ctx = vf_device_context(device);
    vf_cutoff *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    *plan = *given;
    plan->device = device;
    plan->grid = *grid;
    plan->options = *options;
    plan->options.variant = NULL; /* the caller's string may not outlive this call */
    vf_prolate_make(options->bandwidth, &plan->psi);
    const void *backend;
    vf_status status =
        vf_backend_choose(backends, "the cutoff sum", device, options->variant, &backend, &plan->variant);
    plan->backend = backend;
    VF_TRY(status, plan->backend->create(plan));
    plan->source = NULL;
    plan->loaded = NULL;
    plan->queue = NULL;
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
    return status == VF_OK ? create(device, grid, &(vf_cutoff){.source = charges}, options, out) : status;
}

vf_status vf_cutoff_create_loaded(vf_queue *queue, const vf_grid *grid, int64_t count, const double *loaded,
                                  const vf_cutoff_options *options, vf_cutoff **out)
{
    vf_device *device = vf_queue_device(queue);
    const vf_cutoff given = {.queue = queue, .loaded = loaded, .count = count};
    *out = NULL;
    const vf_status status = check(vf_device_context(device), grid, &(vf_coulomb_atoms){0}, options);
    return status == VF_OK ? create(device, grid, &given, options, out) : status;
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

int64_t vf_cutoff_overflow(const vf_cutoff *plan)
{
    return plan->overflow;
}
