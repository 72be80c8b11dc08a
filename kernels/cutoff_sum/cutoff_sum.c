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
    {&vf_cutoff_scatter.variants, &vf_cutoff_scatter},
    {&vf_cutoff_cuda.variants, &vf_cutoff_cuda},
    {&vf_cutoff_published.variants, &vf_cutoff_published},
    {&vf_cutoff_opencl.variants, &vf_cutoff_opencl},
    {0},
};

const char *vf_cutoff_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

/* ---- laws without a rest ---- */

const char *vf_cutoff_law_name(vf_cutoff_law law)
{
    static const char *const names[VF_CUTOFF_LAWS] = {"split", "plain", "shifted", "smoothed", "switched"};
    return (unsigned)law < VF_CUTOFF_LAWS ? names[law] : NULL;
}

static vf_cutoff_window window_of(vf_cutoff_law law, double cutoff, double switch_from)
{
    const double on = law == VF_CUTOFF_SWITCHED ? switch_from / cutoff * (switch_from / cutoff) : 0,
                 rest = (1 - on) * (1 - on) * (1 - on);
    if (law == VF_CUTOFF_SWITCHED)
        return (vf_cutoff_window){true, on, (1 - 3 * on) / rest, 2 / rest};
    return (vf_cutoff_window){law == VF_CUTOFF_SMOOTHED, 0, 1, 0};
}

/* The window's part: its factor over s. */
static double windowed(const vf_cutoff_window *w, double cutoff, double s)
{
    const double v = fmax(s / cutoff * (s / cutoff), w->on);
    return (w->used ? (1 - v) * (1 - v) * (w->a + w->b * v) : 1) / s;
}

double vf_cutoff_value(vf_cutoff_law law, double cutoff, double switch_from, double r_min, double r)
{
    const vf_cutoff_window window = window_of(law, cutoff, switch_from);
    if (!(r < cutoff))
        return 0;
    return windowed(&window, cutoff, fmax(r, r_min)) - (law == VF_CUTOFF_SHIFTED ? 1 / cutoff : 0);
}

/* ---- the smooth part of a split ---- */

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

double vf_cutoff_plan_value(const vf_cutoff *plan, double r)
{
    const vf_cutoff_options *o = &plan->options;
    const double x = r / o->cutoff;
    if (o->law != VF_CUTOFF_SPLIT)
        return vf_cutoff_value(o->law, o->cutoff, o->switch_from, o->r_min, r);
    if (!(r < o->cutoff))
        return 0;
    const vf_prolate gaussian = o->sigma > 0 ? gaussian_of(o->cutoff, o->sigma) : (vf_prolate){0};
    const double smooth = o->sigma > 0 ? gaussian_slope(&gaussian, x) : vf_prolate_slope(&plan->psi, x);
    return 1 / fmax(r, o->r_min) - smooth / o->cutoff;
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
    const vf_cutoff_options *o = &plan->options;
    if (o->law == VF_CUTOFF_SPLIT)
        vf_cutoff_fit_law(&plan->psi, o->cutoff, o->sigma, accuracy, out);
    else
        *out = (vf_prolate_powers){.coefficient = {o->law == VF_CUTOFF_SHIFTED ? 1 / o->cutoff : 0}};
}

/* ---- checks ---- */

static vf_status check_options(vf_context *ctx, const vf_grid *grid, const vf_cutoff_options *o)
{
    if (!isfinite(o->scale) || !(o->r_min >= VF_COULOMB_MIN_R_MIN) || !(o->cutoff >= o->r_min) ||
        !(o->cutoff <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: scale %g, minimal distance %g or cutoff %g is out of range",
                       o->scale, o->r_min, o->cutoff);
    if ((unsigned)o->law >= VF_CUTOFF_LAWS ||
        (o->law == VF_CUTOFF_SWITCHED && (!(o->switch_from >= 0) || !(o->switch_from < o->cutoff * (1 - 1e-6)))))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "cutoff sum: law %d, or a switch from %g to the cutoff %g, is out of range", (int)o->law,
                       o->switch_from, o->cutoff);
    if (o->law == VF_CUTOFF_SPLIT && o->sigma != 0 && (!(o->sigma >= 0.1 * o->cutoff) || !(o->sigma <= o->cutoff)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: sigma %g does not suit the cutoff %g", o->sigma, o->cutoff);
    if (o->law == VF_CUTOFF_SPLIT && o->sigma == 0 &&
        (!(o->bandwidth >= VF_PROLATE_LEAST) || !(o->bandwidth <= VF_PROLATE_MOST)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: bandwidth %g is out of range", o->bandwidth);
    if (o->precision != VF_F32 && o->precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "cutoff sum: the precision must be VF_F32 or VF_F64");
    for (int a = 0; a < 3; a++)
        if (grid->counts[a] > 1 << 30 || !(o->cutoff <= 0x1p20 * grid->spacing[a]))
            return vf_fail(
                ctx, VF_ERR_ARGUMENT,
                "cutoff sum: the grid has too many points, or the cutoff %g is more than 2^20 of its spacings",
                o->cutoff);
    return VF_OK;
}

/* The images of a cell grow with the cube of the cutoff. */
static vf_status check_images(vf_context *ctx, const vf_grid *grid, const vf_coulomb_atoms *charges, double cutoff)
{
    double images = (double)charges->count;
    if (grid->cell.kind == VF_CELL_NONE)
        return VF_OK;
    for (int a = 0; a < 3; a++)
        images *= grid->spacing[a] * (double)(grid->counts[a] - 1) + 2 * cutoff;
    images /= vf_cell_volume(&grid->cell);
    return images < INT32_MAX
               ? VF_OK
               : vf_fail(ctx, VF_ERR_UNSUPPORTED,
                         "cutoff sum: a cutoff of %g reaches about %.2g images of charges, too many", cutoff, images);
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
    return check_images(ctx, grid, charges, options->cutoff);
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
    if (options->law == VF_CUTOFF_SPLIT)
        vf_prolate_make(options->bandwidth, &plan->psi);
    plan->window = window_of(options->law, options->cutoff, options->switch_from);
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
