/* Chooses the devices from forecasts of time and estimates of memory, on the CPU and on a GPU. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coils/choose_maps.h"
#include "forecast.h"
#include "noise/partial_fourier.h"
#include "plan_device.h"
#include "self_test.h"
#include "solve/choose_operator.h"
#include "solve/prior_table.h"
#include "voxfield/append.h"
#include "windows.h"

enum { MOST_GPUS = 64 }; /* more than a machine has: for the choice before they are counted */

recon_sharing share_devices(const recon_settings *s, const mri_scan *raw, int devices)
{
    const int64_t rows = raw->matrix[1] * raw->matrix[2];
    const double frame_bytes = series_frame_bytes(&s->coils, s->solve.precision, raw);
    const bool series = solves_series(&s->solve);
    const int pieces = series ? windows_up_to(&s->schedule, raw, frame_bytes, devices) : raw->frames;
    const int teams = pieces < 1 ? 1 : pieces < devices ? pieces : devices;
    int64_t most = s->solve.method == RECON_BILINEAR ? 1 : raw->coils; /* devices that one frame can keep busy */
    bool direct = false;
    for (int t = 0; t < raw->trajectories; t++)
        direct = direct || (s->solve.method != RECON_GRIDDING && s->solve.method != RECON_BILINEAR &&
                            encoding_choose_for(&s->solve, raw, &raw->trajectory[t]) == VF_ENCODE_DIRECT);
    if (direct && rows > most)
        most = rows;
    if (series && teams < devices) {
        const int frames = windows_of_scan(&s->schedule, raw, frame_bytes).frames;
        most = frames > most ? frames : most;
    }
    return (recon_sharing){
        .teams = teams, .each = most < devices / teams ? (int)most : devices / teams, .by_voxels = direct};
}

/* The frames of the longest window, if frames are solved together; else 1. */
static int frames_together(const recon_settings *s, const mri_scan *raw)
{
    const double frame_bytes = series_frame_bytes(&s->coils, s->solve.precision, raw);
    return solves_series(&s->solve) ? windows_of_scan(&s->schedule, raw, frame_bytes).frames : 1;
}

/* The best number of devices for one image whose coils are shared, or for a series whose frames are: each of the
 * `products` by F^H W F sends the image, or a share of the frames, to all devices and gets their results. The rates of
 * transforms and of what a device costs were measured on H200s. The others are guesses between PCIe and NVLink; they only
 * affect how many GPUs "cuda" and "auto" use. */
static int shares_pay_for(const recon_settings *s, const mri_scan *raw, double products, int devices)
{
    const double rate = 2e13, link = 1e11, wait = 5e-5; /* FLOP/s of transforms, bytes/s of links, latency in s */
    const double each = VF_CUDA_START_SECONDS + VF_CUDA_USE_SECONDS; /* of a further device */
    const double element = s->solve.precision == VF_F64 ? 16 : 8;
    const double doubled = forecast_transform_points(&s->solve, raw), frames = frames_together(s, raw);
    double voxels = (double)(raw->matrix[0] * raw->matrix[1] * raw->matrix[2]), least = INFINITY;
    int best = 1;
    for (int n = 1; n <= devices; n++) {
        const double images = ceil(frames / n), others = n - 1;
        const double transforms = solves_series(&s->solve) ? images * raw->coils : ceil((double)raw->coils / n);
        const double seconds = products * (transforms * 10 * doubled * log2(doubled + 1) / rate +
                                           others * (2 * element * images * voxels / link + wait)) +
                               others * each;
        if (seconds < least)
            best = n;
        least = fmin(seconds, least);
    }
    return best;
}

/* The number of devices worth using if the user leaves the choice open. */
static int devices_that_pay(const recon_settings *s, const mri_scan *raw, double products, int devices)
{
    const recon_sharing how = share_devices(s, raw, devices);
    int each = how.each;
    if (!how.by_voxels && s->solve.method == RECON_CG && (raw->coils > 1 || solves_series(&s->solve)))
        each = shares_pay_for(s, raw, products, each);
    return how.teams * each;
}

void device_list(const vf_context *ctx, int count, char *text, size_t size)
{
    snprintf(text, size, "%s", vf_device_spec(vf_context_device(ctx, 0)));
    for (int d = 1; d < count; d++) {
        const vf_device *device = vf_context_device(ctx, d);
        if (vf_device_get_kind(device) == vf_device_get_kind(vf_context_device(ctx, d - 1)))
            vf_append(text, size, ",%d", vf_device_ordinal(device));
        else
            vf_append(text, size, ",%s", vf_device_spec(device));
    }
}

/* Reduces the context's devices to the first `count`. */
static vf_status keep_devices(vf_context *ctx, int count)
{
    char list[DEVICE_LIST];
    if (count >= vf_context_device_count(ctx))
        return VF_OK;
    device_list(ctx, count, list, sizeof list);
    return vf_context_set_devices(ctx, list);
}

/* "cuda" uses as many GPUs as pay off, "auto" those or the CPU, and a list uses all devices it names. */
static vf_status set_devices(vf_context *ctx, const recon_settings *s, const mri_scan *raw,
                             const scan_sampling *sampling, char *why, size_t size)
{
    const bool all_gpus = vf_device_means_all(s->schedule.device);
    double cpu, gpu, products;
    vf_status status;
    if (!all_gpus && strcmp(s->schedule.device, "auto") != 0)
        return vf_context_set_devices(ctx, s->schedule.device);
    forecast_devices(ctx, s, raw, sampling, &cpu, &gpu, &products);
    const int most = devices_that_pay(s, raw, products, MOST_GPUS);
    if (all_gpus)
        status = vf_device_choose_gpus(ctx, gpu, most);
    else
        status = vf_device_choose(ctx, cpu, gpu, most, why, size);
    return status == VF_OK ? keep_devices(ctx, devices_that_pay(s, raw, products, vf_context_device_count(ctx)))
                           : status;
}

/* Describes how the devices share the work. */
static void say_sharing(const vf_context *ctx, const recon_settings *s, const mri_scan *raw, char *text, size_t size)
{
    const int devices = vf_context_device_count(ctx);
    const recon_sharing how = share_devices(s, raw, devices);
    const int used = how.teams * how.each;
    const char *solver = s->solve.method != RECON_CG ? ""
                         : raw->coils == 1           ? ", the solver on the first"
                                                     : ", the solver by coils";
    const bool maps = s->coils.how != RECON_COILS_RSS && raw->coils > 1;
    const char *priors = s->solve.sparse && maps ? ", the priors on the first" : "";
    char by[32] = "", idle[64] = "";
    if (how.each > 1)
        snprintf(by, sizeof by, ", each on %d devices", how.each);
    if (used < devices)
        snprintf(idle, sizeof idle, "; %d idle", devices - used);
    if (devices == 1)
        text[0] = '\0';
    else if (how.teams > 1)
        snprintf(text, size, ", %d of them: %d %s at a time%s%s", devices, how.teams,
                 solves_series(&s->solve) ? "windows of series" : "frames", by, idle);
    else if (how.each == 1)
        snprintf(text, size, ", %d of them, only the first is used: one frame of one coil cannot be split", devices);
    else if (solves_series(&s->solve))
        snprintf(text, size, ", %d of them: F^H W F split by frames, F^H d %s, the priors on the first%s", devices,
                 how.by_voxels    ? "by voxels"
                 : raw->coils > 1 ? "by coils"
                                  : "on the first",
                 idle);
    else
        snprintf(text, size, ", %d of them: split by %s%s%s%s", devices, how.by_voxels ? "voxels" : "coils",
                 how.by_voxels ? solver : "", priors, idle);
}

/* Vectors of an image for sparse priors, at most, for each set or frame: ADMM's, one for the image of even noise, one
 * for each term of a wavelet or a block and as many as axes for tv, 2 of the largest of these, half a one each for what undoes even
 * noise, for the weights of unseen voxels and for two of the preconditioner, and the plans of wavelets. With tgv the solver's own vectors have a
 * component more for each axis, and so do the two sides. */
static double sparse_images(const solve_settings *s, const mri_scan *raw)
{
    const prior_shape shape = prior_shape_of(s, raw, 1);
    double terms = 0, largest = 1, fields = 0;
    for (int i = 0; i < s->sparse; i++) {
        const prior_memory of = sparse_prior_of(s, i)->memory(&shape);
        terms += of.terms;
        largest = fmax(largest, of.largest);
        fields = fmax(fields, of.fields);
    }
    const double own = solves_series(s) ? 8 : 14;          /* vf_admm's, with a number of inner steps or without */
    const double both = fields > 0 ? 2 * (1 + fields) : 0; /* b and x with fields */
    const double inverse = 5 + 3 * fields / 2;             /* the preconditioner */
    return s->sparse ? 2 + own * (1 + fields) + both + terms + 2 * largest + inverse : 0;
}

/* Approximate memory of the largest step.
 * On each device: its coils' maps, the images of a batch of coils, Q and its transform or the NUFFT's grid, the NUFFT's
 * sorted samples; on the first device also the other devices' results.
 * On the host: the scan, the images, and transfers between devices. */
static void estimate_memory(const vf_context *ctx, const recon_settings *s, const mri_scan *raw, recon_sharing how,
                            int sets, double *device, double *host)
{
    const double element = s->solve.precision == VF_F64 ? 16 : 8, frames = raw->frames;
    const double voxels = (double)raw->matrix[0] * (double)raw->matrix[1] * (double)raw->matrix[2];
    const bool maps = combines_by_maps(&s->coils, raw);
    const double doubled = forecast_transform_points(&s->solve, raw);
    const bool from_file = uses_scan_maps(&s->coils, raw);
    /* If the scan's own maps do not fit the data, ESPIRiT's replace them, but both stay in memory. */
    const bool judged = judges_scan_maps(&s->coils, &s->solve, raw) && sets == 1;
    /* The samples of the centre, and vf_espirit's memory: of the points of a patch and 32 coils at most. */
    const double rows = (raw->matrix[2] > 1 ? 81 : 28) * fmin(raw->coils, 32);
    const double calibrating =
        maps && (!from_file || judged) ? (double)scan_samples(raw) * (12 + 8 * raw->coils) + 16 * rows * rows + 1e7 : 0;
    const double others = how.each - 1, devices = how.teams * how.each;
    const double of_frame = element * voxels * (maps ? sets : raw->coils);
    const series_windows windows = windows_of_scan(&s->schedule, raw, of_frame);
    const double together = solves_series(&s->solve) ? windows.frames : 1;
    const double coils = solves_series(&s->solve) ? raw->coils : ceil((double)raw->coils / how.each);
    const double images = sets * ((maps ? coils : 0) + 6 + (others > 0 ? others + 2 : 0)) + (sets > 1 ? sets + 2 : 0) +
                          (regularise_by_noise(&s->solve) ? 5 + 2.5 * sets : 0) + /* spectrum and preconditioner */
                          (s->solve.prior == RECON_REFERENCE ? 1.5 : 0) +         /* weights */
                          (partial_fourier_any(ctx, &s->noise, &s->solve, &s->coils, raw) ? 5 : 0) + /* phase */
                          sets * sparse_images(&s->solve, raw) * together +
                          (together > 1 ? 2.5 * together : 0); /* both sides, balance */
    /* The maps of all places are kept. */
    const double map_sets =
        (from_file ? scan_all_map_sets(raw) : (double)sets * raw->places) + (judged ? raw->places : 0);
    const double slots = how.teams > 1 ? how.teams + 1 : 1;
    const double group = solves_series(&s->solve)
                             ? (together + windows.shared) * of_frame
                             : fmin(frames * of_frame, fmax(slots * of_frame, (double)recon_group_bytes(&s->schedule)));
    /* With several groups, Q stays in memory while the next group's right-hand sides are made. */
    const bool several = how.teams > 1 || group < frames * of_frame;
    const double grids = s->solve.method != RECON_CG ? 1.2 : several ? 3.7 : 2.5;
    const double segments = raw->field_map ? forecast_segments(&s->solve, raw) : 0; /* their coefficients */
    double samples = 0;                                                             /* of the longest trajectory */
    for (int t = 0; t < raw->trajectories; t++)
        samples = fmax(samples, (double)raw->trajectory[t].samples);
    *device =
        element * (images * voxels + grids * doubled) + samples * (3 * element + 8) + segments * samples * element;
    *host = calibrating + 8 * frames * voxels + group + (maps ? 8.0 * map_sets * raw->coils * voxels : 0) +
            (double)scan_samples(raw) * 8 * raw->coils + 16 * segments * samples + raw->trajectories * samples * 16 +
            samples * 16 * devices +
            element * (how.teams * others * voxels +
                       (devices > 1 && how.by_voxels && s->solve.method == RECON_CG ? 2 * doubled : 0)) +
            (regularise_by_noise(&s->solve)
                 ? 64.0 * how.teams * voxels + 4 * group / element +                          /* models, envelopes */
                       how.teams * (samples * (8 * raw->coils + 4) + of_frame) + 3 * of_frame /* first images, F^H d */
                 : 0) +
            (s->solve.lambda_sure ? 4 * together * sets * of_frame : 0) +
            (s->solve.prior == RECON_REFERENCE ? 6 * sets * of_frame + 30 * voxels + /* the search, weights, voxels */
                                                     (4.0 * raw->references + 1) * raw->places * voxels
                                               : 0) +
            (s->noise.map ? 4.0 * raw->places * voxels : 0);
}

/* The sets of maps that are certain. A second set that only the calibration asks for is made if it fits in memory. */
static int sure_sets(const recon_settings *s, const mri_scan *raw)
{
    return uses_scan_maps(&s->coils, raw) || s->coils.sets == RECON_SETS_TWO ? most_map_sets(&s->coils, &s->solve, raw)
                                                                             : 1;
}

/* Host memory in use over that of arrays: programs keep what they have freed (program.c), and it lies between what is in use. */
static const double KEPT = 1.1;

/* What a device needs. The grids of estimate_memory have room for one F^H W F on the doubled grid by axes (1.25 grids), and for its
 * Q, which a circulant one does without. Frames of a series with other trajectories have their own. */
static double bytes_on(vf_device *device, const recon_settings *s, const mri_scan *raw, recon_sharing how,
                       double device_bytes, double host_bytes)
{
    const double element = s->solve.precision == VF_F64 ? 16 : 8, points = forecast_transform_points(&s->solve, raw);
    const double each = normal_numbers(vf_device_get_kind(device), &s->solve, raw);
    const double counted = (forecast_on_grid(&s->solve, raw) ? 2.25 : 1.25) * points;
    const double normals = fmin(ceil(frames_together(s, raw) / (double)how.each), raw->trajectories);
    const double bytes = device_bytes + element * (fmax(0, each - counted) + (fmax(1, normals) - 1) * each);
    return vf_device_is_host(device) ? KEPT * (how.teams * how.each * bytes + host_bytes) : bytes;
}

/* plan_fits for the context's first `count` devices. */
static bool fits_on(vf_context *ctx, const recon_settings *s, const mri_scan *raw, int sets, int count)
{
    uint64_t free_bytes, total, host_free, host_total;
    double device_bytes, host_bytes;
    const recon_sharing how = share_devices(s, raw, count);
    const int devices = how.teams * how.each;
    bool fits = true;
    estimate_memory(ctx, s, raw, how, sets, &device_bytes, &host_bytes);
    vf_host_memory(&host_free, &host_total);
    for (int d = 0; d < devices && fits; d++) {
        vf_device *device = vf_context_device(ctx, d);
        const bool known = vf_device_memory(device, &free_bytes, &total) == VF_OK;
        if (!known)
            vf_context_clear_error(ctx);
        fits = known && bytes_on(device, s, raw, how, device_bytes, host_bytes) <= (double)free_bytes;
    }
    return fits && host_bytes <= (double)host_free;
}

bool plan_fits(vf_context *ctx, const recon_settings *s, const mri_scan *raw, int sets)
{
    return fits_on(ctx, s, raw, sets, vf_context_device_count(ctx));
}

/* How many of the context's devices have the memory for a series at the same time; 0: not even the first. */
static int devices_that_fit(vf_context *ctx, const recon_settings *s, const mri_scan *raw)
{
    int count = vf_context_device_count(ctx);
    while (count > 0 && !fits_on(ctx, s, raw, sure_sets(s, raw), count))
        count--;
    return count;
}

/* If a series does not fit into memory, leaves out devices: each team holds a window, and those on the CPU share its
 * memory. If it does not fit on the first device in one piece, and the user did not set the window, halves the window
 * until it does. So windows, and with them the images, do not depend on the number of devices. Halving leaves them the
 * same if a little more or less memory is free. */
static vf_status fit_series(vf_context *ctx, recon_settings *s, const mri_scan *raw)
{
    const bool chooses = s->schedule.window == 0;
    const int devices = vf_context_device_count(ctx), all = frames_together(s, raw);
    int window = all;
    if (!solves_series(&s->solve))
        return VF_OK;
    int fit = devices_that_fit(ctx, s, raw);
    while (fit == 0 && chooses && window > RECON_LEAST_WINDOW) {
        window = (window + 1) / 2 > RECON_LEAST_WINDOW ? (window + 1) / 2 : RECON_LEAST_WINDOW;
        s->schedule.window = window;
        fit = devices_that_fit(ctx, s, raw);
    }
    if (fit == 0) { /* check_memory says what is missing */
        s->schedule.window = chooses ? 0 : s->schedule.window;
        return VF_OK;
    }
    if (window < all)
        vf_warn(ctx,
                "%d frames do not fit into memory together, so windows of %d frames are solved; use --window %d to get "
                "the same images on other machines",
                all, window, window);
    if (fit < devices)
        vf_warn(ctx, "only the first %d of %d devices %s used: there is too little memory for more", fit, devices,
                fit == 1 ? "is" : "are");
    return keep_devices(ctx, fit);
}

static vf_status check_memory(vf_context *ctx, const recon_settings *s, const mri_scan *raw, double *bytes)
{
    char need[32], have[32];
    uint64_t free_bytes, total, host_free, host_total;
    double device_bytes, host_bytes;
    const recon_sharing how = share_devices(s, raw, vf_context_device_count(ctx));
    const int devices = how.teams * how.each;
    estimate_memory(ctx, s, raw, how, sure_sets(s, raw), &device_bytes, &host_bytes);
    for (int d = 0; d < devices; d++) {
        vf_device *device = vf_context_device(ctx, d);
        const bool host = vf_device_is_host(device);
        vf_status status = vf_device_memory(device, &free_bytes, &total);
        if (status != VF_OK)
            return status;
        *bytes = bytes_on(device, s, raw, how, device_bytes, host_bytes);
        if (*bytes > (double)free_bytes)
            return vf_fail(ctx, host ? VF_ERR_MEMORY : VF_ERR_DEVICE_MEMORY,
                           "%s: the reconstruction needs about %s of memory, but only %s are free; use a smaller "
                           "--matrix, fewer coils (--compress)%s, or another --device",
                           vf_device_spec(device), vf_format_bytes(*bytes, need, sizeof need),
                           vf_format_bytes((double)free_bytes, have, sizeof have),
                           solves_series(&s->solve) ? ", a smaller --window" : "");
    }
    vf_host_memory(&host_free, &host_total);
    if (host_bytes > (double)host_free)
        return vf_fail(
            ctx, VF_ERR_MEMORY,
            "about %s of host memory are needed for %d image%s, but only %s are free; use a smaller --matrix",
            vf_format_bytes(host_bytes, need, sizeof need), raw->frames, vf_plural(raw->frames),
            vf_format_bytes((double)host_free, have, sizeof have));
    return VF_OK;
}

vf_status plan_device(vf_context *ctx, recon_settings *s, const mri_scan *raw, const scan_sampling *sampling,
                      char *text, size_t size, double *bytes)
{
    char why[384] = "", list[DEVICE_LIST], shared[160];
    vf_status status = set_devices(ctx, s, raw, sampling, why, sizeof why);
    VF_TRY(status, vf_self_test(ctx, VF_SELF_TEST_IMAGES, s->solve.precision == VF_F64));
    if (status != VF_OK)
        return status;
    status = fit_series(ctx, s, raw);
    if (status != VF_OK)
        return status;
    vf_device *device = vf_context_device(ctx, 0);
    if (s->solve.hardware_trig && vf_device_is_host(device))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--trig hardware needs a GPU, but the device is %s; use --device cuda",
                       vf_device_spec(device));
    device_list(ctx, vf_context_device_count(ctx), list, sizeof list);
    say_sharing(ctx, s, raw, shared, sizeof shared);
    snprintf(text, size, "%s: %s%s%s%s%s", list, vf_device_name(device), shared, why[0] ? " (auto: " : "", why,
             why[0] ? ")" : "");
    return check_memory(ctx, s, raw, bytes);
}
