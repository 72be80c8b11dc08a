/* Seconds of each stage. Work is counted in operations of known rates: products by F^H W F, circulant matrices, passes
 * over vectors, wavelets, samples put on a grid, ESPIRiT's Gram matrix. Each has a serial part, a part that threads
 * share, and parallel regions, which cost time of their own: small images have little work between them.
 *
 * The rates are of one core of a Xeon of 2023 (Sapphire Rapids), in single precision. validation/bench/forecast.py
 * compares whole runs with their forecasts. */
#include <math.h>

#include "coils/calibrate.h"
#include "coils/choose_maps.h"
#include "forecast_internal.h"
#include "noise/partial_fourier.h"
#include "plan_device.h"
#include "solve/prior_table.h"
#include "voxfield/machine_speed.h"
#include "voxfield/output.h"
#include "voxfield/timer.h"

const char *const forecast_names[FORECAST_PARTS] = {"before", "noise", "coil maps", "density weights",
                                                    "F^H d",  "Q",     "solve",     "write"};

/* Until main, and after the report. */
static const double LOADING = 0.014;
/* Runs shorter than this are not worth a measurement; its share of others. */
static const double WORTH_MEASURING = 0.25, SHARE = 0.003, LONGEST = 3e-3;
static const double GPU_RATE = 8e12; /* FLOP/s of transforms on an H200 */

/* What a product by F^H W F takes of that with one set of maps: off the grid, on it, where transforms take less of it. */
static const double of_two_sets[2] = {1.8, 2.2};
static const double direct_rate = 6e9; /* samples and points a second of Q by the direct sum, of one coil */

static const double ns = 1e-9;

/* The forecast in progress. `device`: what a GPU would do. */
typedef struct tally {
    forecast_machine at;
    forecast_sizes z;
    recon_forecast *out;
    double device[FORECAST_PARTS];
    double again; /* of the solver: for the noise, and for lambda */
} tally;

/* ---- stages ---- */

/* Adds work to a stage: seconds of one thread in a serial part, which is not like the products that `speed` is of, and in
 * `regions` parallel ones of so many pieces. */
static void add(tally *t, forecast_part part, double serial, double parallel, double pieces, double regions)
{
    t->out->part[part] += t->at.core * serial + forecast_seconds(&t->at, parallel, pieces, regions);
}

/* The same of work that a GPU would do. */
static void add_device(tally *t, forecast_part part, double serial, double parallel, double pieces, double regions)
{
    const double before = t->out->part[part];
    add(t, part, serial, parallel, pieces, regions);
    t->device[part] += t->out->part[part] - before;
}

/* The adjoint NUFFT of one coil and one time segment. */
static double adjoint_seconds(const forecast_sizes *z)
{
    return z->wide * (z->volume ? 160 * ns * z->samples + 6.2 * ns * z->grid : 40 * ns * z->samples + 3 * ns * z->grid);
}

/* Density weights, by iterations with as many adjoints and their counterparts. */
static void count_density(tally *t, double frames)
{
    const double adjoints = 9;
    add_device(t, FORECAST_DENSITY, 0, frames * adjoints * adjoint_seconds(&t->z), t->at.threads, frames * 150);
}

/* F^H d: `images` of one frame, all coils. A new plan for each. */
static void count_adjoints(tally *t, double images)
{
    const forecast_sizes *z = &t->z;
    const double all = images * z->coils * z->samples * z->wide, coil_voxels = images * z->coils * z->voxels;
    const double regions = images * (8 * z->coils + 20);
    if (z->direct)
        add_device(t, FORECAST_ADJOINT, 0, all * z->voxels / 1.5e10, t->at.threads, images);
    else if (z->on_grid)
        add_device(t, FORECAST_ADJOINT, 2 * ns * all, 10 * ns * (all + coil_voxels), forecast_pieces_of_transform(z),
                   regions);
    else
        add_device(t, FORECAST_ADJOINT, 2 * ns * all + images * (1e-3 + 10 * ns * z->samples),
                   z->segments * images * z->coils * adjoint_seconds(z), t->at.threads, z->segments * regions);
    add(t, FORECAST_ADJOINT, 12 * ns * images * z->voxels + 1.6 * ns * coil_voxels,
        21 * ns * images * z->voxels + 4 * ns * coil_voxels, t->at.threads, 0);
}

static void count_q(tally *t, double times)
{
    const forecast_sizes *z = &t->z;
    const double boxes = z->volume ? 8 : 4;
    if (z->on_grid)
        add_device(t, FORECAST_Q, times * (40 * ns * z->samples + 2e-4), times * 8 * ns * z->voxels, t->at.threads, 2);
    else if (z->direct)
        add_device(t, FORECAST_Q, 0, times * z->samples * z->points / 2 / direct_rate,
                   ceil(z->points / 2 / (z->volume ? 8192 : 1024)), times * 2); /* blocks of fourier_sum_cpu.c */
    else
        add_device(t, FORECAST_Q, times * (30 * ns * z->samples + 1e-3),
                   times * z->segments * (boxes * adjoint_seconds(z) + z->wide * 4 * ns * z->point_work), t->at.threads,
                   times * z->segments * boxes * 10);
}

static double cube(double x)
{
    return x * x * x;
}

/* ESPIRiT's maps of one place, of `block` samples along an axis. `apart`: the coils have little in common. */
static void count_espirit(tally *t, double places, double block, bool apart)
{
    const forecast_sizes *z = &t->z;
    const double most = apart ? 32 : z->volume ? 12 : 16, coils = fmin(z->coils, most), points = z->volume ? 65 : 28;
    const double spans = z->volume ? 729 : 121, samples = z->volume ? cube(block) : block * block;
    const double rate = z->volume ? 1.7 : 3.5;
    const double gram = coils * coils / 2 * spans * samples * rate * ns, projector = cube(coils * points) * 1.1 * ns;
    const double voxels = z->sets * coils * coils * z->voxels * 8 * ns;
    const double quality = coils * samples * block * (z->volume ? 3 : 2) * 2 * ns;
    add(t, FORECAST_MAPS, places * quality, places * (gram + projector + voxels + 10 * ns * z->coils * z->voxels),
        t->at.threads, places * 300);
}

/* The centre's images by least squares, for samples off the grid: conjugate gradients on a small matrix. */
static void count_centre(tally *t, double places)
{
    const forecast_sizes *z = &t->z;
    const double side = 32, points = z->volume ? 8 * cube(side) : 4 * side * side, iterations = 20;
    const double centre = z->samples * fmin(1, side / cbrt(z->voxels));
    add(t, FORECAST_MAPS, places * z->coils * 1e-3,
        places * z->coils * (iterations * 0.27 * ns * points * log2(points) + (z->volume ? 160 : 40) * ns * centre),
        z->volume ? t->at.threads : 1, places * z->coils * iterations * 12);
}

static bool estimates_jointly(vf_context *ctx, const recon_settings *s, const mri_scan *raw)
{
    const recon_map_sets sets = most_map_sets(&s->coils, &s->solve, raw) > 1 ? s->coils.sets : RECON_SETS_ONE;
    return calibrate_takes_joint(ctx, raw, s->coils.how, sets, 0); /* all places as the first */
}

/* Maps that do not fade as ESPIRiT's do: a file's, and those estimated together with an image. */
static bool has_even_maps(vf_context *ctx, const recon_settings *s, const mri_scan *raw)
{
    return uses_scan_maps(&s->coils, raw) ||
           (s->coils.how != RECON_COILS_RSS && raw->coils > 1 && estimates_jointly(ctx, s, raw));
}

static void count_maps(tally *t, vf_context *ctx, const recon_settings *s, const mri_scan *raw)
{
    const forecast_sizes *z = &t->z;
    const double joint_rate = 7.2e9; /* FLOP/s of one core, in double precision */
    const double places = raw->places, block = z->on_grid && !z->volume ? 40 : 24;
    if (!z->maps || raw->coils == 1)
        return;
    if (uses_scan_maps(&s->coils, raw)) {
        add(t, FORECAST_MAPS, places * (2e-3 + 2 * ns * z->coils * (z->voxels + z->samples)),
            places * 3 * ns * z->coils * z->voxels, t->at.threads, places * 40);
        if (judges_scan_maps(&s->coils, &s->solve, raw) && !z->on_grid)
            count_centre(t, places);
        return;
    }
    if (estimates_jointly(ctx, s, raw)) {
        add(t, FORECAST_MAPS, places * 0.025, places * calibrate_jointly_work(raw, z->on_grid) / joint_rate,
            t->at.threads, places * 1000);
        return;
    }
    if (!z->on_grid || s->coils.how == RECON_COILS_WALSH)
        count_centre(t, places);
    if (s->coils.how == RECON_COILS_WALSH)
        add(t, FORECAST_MAPS, 0, places * 30 * ns * z->coils * z->voxels, t->at.threads, places * 50);
    else
        count_espirit(t, places, block, raw->compressed_along > 0);
}

/* `products` by F^H W F with one coil and one frame. */
static void count_products(tally *t, double products)
{
    const forecast_sizes *z = &t->z;
    products *= z->segments * (z->sets > 1 ? of_two_sets[z->on_grid] : 1);
    add_device(t, FORECAST_SOLVE, products * 1.5e-6, products * forecast_product_seconds(z),
               forecast_pieces_of_product(z), products * forecast_regions_of_product(z));
}

/* Iterations of conjugate gradients: with a spectrum, three circulant matrices. */
static void count_gradients(tally *t, const solve_settings *s, double iterations)
{
    const forecast_sizes *z = &t->z;
    count_products(t, iterations * z->systems);
    iterations *= z->sets; /* an image each */
    add_device(t, FORECAST_SOLVE, iterations * 16e-6,
               iterations * z->wide * (s->lambda_auto ? 3 * 0.68 * ns * z->voxel_work : 6 * ns * z->voxels),
               forecast_pieces_of_transform(z), iterations * (s->lambda_auto ? 27 : 8));
}

static void count_sparse(tally *t, const solve_settings *s, const mri_scan *raw, double iterations, double applications)
{
    const forecast_sizes *z = &t->z;
    const prior_shape shape = prior_shape_of(s, raw, z->together);
    const double frames = z->together, voxels = frames * z->voxels;
    count_products(t, applications * frames * z->systems);
    add_device(t, FORECAST_SOLVE, applications * 16e-6 * frames,
               applications * frames * z->wide * 1.8 * ns * z->voxel_work, forecast_pieces_of_transform(z),
               applications * 45 * frames);
    for (int i = 0; i < s->sparse; i++) {
        const prior_time each = sparse_prior_of(s, i)->time(&shape);
        add_device(t, FORECAST_SOLVE, 0, iterations * z->wide * each.ns * ns * voxels,
                   fmax(forecast_pieces_of_product(z), forecast_pieces_of_vector(z)), iterations * each.regions);
    }
}

/* Before each image is solved for: the prior's weights and the preconditioner, on the host. */
static void count_setup(tally *t, double images)
{
    const forecast_sizes *z = &t->z;
    add(t, FORECAST_SOLVE, images * 60 * ns * z->voxels, images * (85 * ns * z->voxels + 10 * ns * z->samples),
        t->at.threads, images * 150);
}

static void count_solver(tally *t, const solve_settings *s, const mri_scan *raw)
{
    const forecast_sizes *z = &t->z;
    const forecast_counts *c = &t->out->counts;
    double *solve = &t->out->part[FORECAST_SOLVE];
    count_gradients(t, s, c->first_iterations);
    count_setup(t, c->first_images);
    const double residual = c->first_images * z->coils; /* of up to 2^15 samples */
    add(t, FORECAST_SOLVE, residual * 40 * ns * fmin(z->samples, 32768),
        residual * (3 * ns * z->grid + 40 * ns * fmin(z->samples, 32768)), t->at.threads, residual * 8);
    const double first = *solve, first_device = t->device[FORECAST_SOLVE];
    if (s->sparse)
        count_sparse(t, s, raw, c->iterations, c->applications);
    else
        count_gradients(t, s, c->iterations + c->phase_iterations);
    if (regularise_by_noise(s))
        count_setup(t, z->frames);
    const double more = (c->sure_solutions + c->replicas) / z->solutions;
    const double last = *solve - first, last_device = t->device[FORECAST_SOLVE] - first_device;
    *solve += more * last;
    t->device[FORECAST_SOLVE] += more * last_device;
    t->again = first + c->sure_solutions / z->solutions * last;
}

static void count_output(tally *t, const recon_settings *s, const mri_scan *raw)
{
    const bool compressed = s->output && vf_path_has_extension(s->output, ".nii.gz .gz");
    const double images = raw->volumes * (double)raw->slices,
                 voxels = images * (double)(raw->crop[0] * raw->crop[1] * raw->crop[2]);
    add(t, FORECAST_WRITE,
        2e-3 + (compressed ? 60 : 6) * ns * voxels + (s->picture ? 0.02 : 0) +
            (t->z.maps ? 1 : t->z.coils) * 2 * ns * voxels,
        0, 1, 0);
}

/* All stages after the plan, at a machine's speed. */
static void count_stages(tally *t, vf_context *ctx, const recon_settings *s, const mri_scan *raw)
{
    const forecast_sizes *z = &t->z;
    const forecast_counts *c = &t->out->counts;
    const bool cg = s->solve.method == RECON_CG, envelopes = regularise_by_noise(&s->solve);
    const double shared = z->series ? 1 + z->trajectories : z->trajectories;
    for (int p = FORECAST_NOISE; p < FORECAST_PARTS; p++)
        t->out->part[p] = t->device[p] = 0;
    if (envelopes || s->noise.map)
        add(t, FORECAST_NOISE, 14 * ns * z->samples * z->coils * fmin(z->frames, 16) + 17 * ns * z->samples, 0, 1, 0);
    count_maps(t, ctx, s, raw);
    /* Those of the first images' frame are kept for its other images (frame_group.c). */
    const double first = c->first_images > 0 ? 2 : 0, own = envelopes && !z->series ? 2 : 1;
    count_adjoints(t, first + own * (z->frames - (first > 0 && own > 1 && z->frames == 1)) + c->replicas +
                          (c->sure_solutions > 0 ? z->together : 0));
    if (s->solve.method == RECON_GRIDDING)
        count_density(t, z->frames);
    if (cg) {
        count_q(t, shared);
        count_solver(t, &s->solve, raw);
    }
    count_output(t, s, raw);
}

/* Transforms on GPUs; their rate and what is counted date from an H200. */
static double gpu_seconds(const forecast_sizes *z, const forecast_counts *c, bool cg)
{
    const double transform = 5 * z->point_work;
    const double applied = c->applications > 0 ? c->applications * z->together : c->iterations;
    double work = 2 * transform * z->coils * z->frames + 500 * z->samples * z->frames * z->coils;
    if (cg)
        work += 1.2 * transform * z->systems * (applied * (1 + c->sure_solutions / z->frames) + c->first_iterations) +
                3 * transform * z->trajectories;
    return work / GPU_RATE + (z->direct ? z->samples * (z->frames * z->voxels + (cg ? z->points / 2 : 0)) / 3e12 : 0);
}

static forecast_sizes sizes_of(vf_context *ctx, const recon_settings *s, const mri_scan *raw)
{
    forecast_sizes z = forecast_sizes_of(&s->solve, &s->coils, &s->schedule, raw);
    z.even_maps = has_even_maps(ctx, s, raw);
    z.one_sided = partial_fourier_any(ctx, &s->noise, &s->solve, &s->coils, raw);
    return z;
}

void forecast_devices(vf_context *ctx, const recon_settings *s, const mri_scan *raw, const scan_sampling *sampling,
                      double *cpu, double *gpu, double *products)
{
    recon_forecast out = {0};
    tally t = {.z = sizes_of(ctx, s, raw), .out = &out};
    out.counts = forecast_count(&t.z, &s->solve, &s->noise, raw, sampling);
    t.at = forecast_usual_machine(ctx);
    count_stages(&t, ctx, s, raw);
    *cpu = 0;
    for (int p = 0; p < FORECAST_PARTS; p++)
        *cpu += t.device[p];
    *gpu = gpu_seconds(&t.z, &out.counts, s->solve.method == RECON_CG);
    *products = out.counts.first_iterations + (s->solve.sparse ? out.counts.applications : out.counts.iterations);
}

double forecast_total(const recon_forecast *f)
{
    double sum = f->gpu;
    for (int p = 0; p < FORECAST_PARTS; p++)
        sum += f->part[p];
    return sum;
}

void forecast_make(vf_context *ctx, const recon_settings *s, const mri_scan *raw, const scan_sampling *sampling,
                   double before, recon_forecast *out)
{
    const bool host = vf_device_is_host(vf_context_device(ctx, 0)), cg = s->solve.method == RECON_CG;
    tally t = {.z = sizes_of(ctx, s, raw), .out = out};
    *out = (recon_forecast){.counts = forecast_count(&t.z, &s->solve, &s->noise, raw, sampling)};
    t.at = forecast_usual_machine(ctx);
    const double begin = vf_now();
    count_stages(&t, ctx, s, raw);
    const double seconds = forecast_total(out);
    if (seconds > WORTH_MEASURING)
        out->core = t.at.core = vf_measure_machine(ctx).core;
    if (host && cg && seconds > WORTH_MEASURING) {
        const double product = fmin(SHARE * seconds, LONGEST) * forecast_gain(&t.at, forecast_pieces_of_product(&t.z));
        const double speed = forecast_measure_speed(ctx, &t.at, &t.z, raw, product);
        /* The measurement takes milliseconds and errs as much as the rates do: the geometric mean of both. */
        out->speed = speed > 0 ? (t.at.speed = sqrt(speed)) : 0;
        if (t.at.threads > 1)
            out->region = t.at.region = forecast_measure_region(&t.at);
    }
    if (out->core > 0)
        count_stages(&t, ctx, s, raw);
    const double again = out->part[FORECAST_SOLVE] > 0 ? t.again / out->part[FORECAST_SOLVE] : 0;
    if (!host) {
        const recon_sharing how = share_devices(s, raw, vf_context_device_count(ctx));
        out->gpu = gpu_seconds(&t.z, &out->counts, cg) / (how.teams * how.each) + VF_CUDA_USE_SECONDS;
        for (int p = FORECAST_NOISE; p < FORECAST_PARTS; p++)
            out->part[p] = fmax(0, out->part[p] - t.device[p]);
    }
    out->part[FORECAST_BEFORE] = LOADING + vf_device_leaving_seconds(ctx) + before + vf_now() - begin;
    out->again = out->part[FORECAST_BEFORE] + out->part[FORECAST_NOISE] + out->part[FORECAST_Q] +
                 out->part[FORECAST_MAPS] / raw->places + /* frames of other places need other maps */
                 again * (out->part[FORECAST_SOLVE] + out->gpu);
}
