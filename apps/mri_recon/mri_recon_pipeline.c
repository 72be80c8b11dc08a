/* The stages of mri_recon, in the order data flows.
 *
 *   read_scan -> prewhiten, compress_coils -> encoding -> coil maps -> prior -> solve -> write_image, draw_montage
 *
 * settings.h has the user's settings, scan/mri_scan.h the scan in memory, schedule/reconstruct.h the reconstruction,
 * images/recon_image.h the image files.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bart/cfl_names.h"
#include "coils/channel_noise.h"
#include "coils/choose_maps.h"
#include "coils/coil_map_file.h"
#include "coils/coil_stages.h"
#include "noise/partial_fourier.h"
#include "recon_state.h"
#include "result.h"
#include "scan/correct_trajectory.h"
#include "scan/crop_readout.h"
#include "scan/leave_out_zeros.h"
#include "scan/mri_scan.h"
#include "scan/regroup.h"
#include "scan/remove_spikes.h"
#include "scan/scan_memory.h"
#include "schedule/forecast.h"
#include "schedule/plan_device.h"
#include "schedule/reconstruct.h"
#include "schedule/tune_launch.h"
#include "schedule/windows.h"
#include "solve/choose_operator.h"
#include "solve/recon_choices.h"
#include "voxfield/output.h"
#include "voxfield/workpool.h"

static vf_status prepare_files(recon_state *r)
{
    const recon_settings *s = r->settings;
    r->output = is_in_memory(s->output) ? (char *)s->output
                : s->output             ? strdup(s->output)
                                        : recon_default_output(s->scan.input, s->pieces.folder);
    if (!r->output)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    /* a dry run does not make the folder of --output-dir */
    vf_status (*check)(vf_context *, const char *) =
        s->dry_run && s->pieces.folder ? image_check_extension : image_check_path;
    vf_status status = settings_check_names(r->ctx, s, r->output);
    VF_TRY(status, check(r->ctx, r->output));
    if (status == VF_OK && s->noise.map)
        status = check(r->ctx, s->noise.map);
    return status;
}

/* The fewest frames of a place; with `in_time`, 1 if frames of a place differ in contrast or set, so that differences
 * between them are not changes over time. */
static int least_frames(const mri_scan *raw, bool in_time)
{
    int least = raw->frames;
    for (int p = 0; p < raw->places; p++) {
        const scan_frame *first = NULL;
        int frames = 0;
        bool series = true;
        for (int f = 0; f < raw->frames; f++) {
            const scan_frame *frame = &raw->frame[f];
            if (frame->place != p)
                continue;
            first = first ? first : frame;
            series &= frame->contrast == first->contrast && frame->set == first->set;
            frames++;
        }
        frames = in_time && !series ? 1 : frames;
        least = frames < least ? frames : least;
    }
    return least;
}

/* ---- the scan ---- */

static vf_status read_bart(const recon_state *r, mri_scan *raw)
{
    const recon_settings *s = r->settings;
    int64_t matrix[3];
    const bool has_maps = s->scan.trajectory && s->coils.file;
    vf_status status = has_maps ? coil_map_matrix(r->ctx, s->coils.file, matrix) : VF_OK;
    return status == VF_OK ? read_bart_scan(r->ctx, &s->scan, has_maps ? matrix : NULL, raw) : status;
}

/* What the settings need of a scan. */
static vf_status check_scan(const recon_state *r)
{
    const recon_settings *s = r->settings;
    const mri_scan *raw = &r->scan;
    if (s->coils.sets == RECON_SETS_TWO && most_map_sets(&s->coils, &s->solve, raw) < RECON_MOST_SETS)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --map-sets 2 needs two sets of coil maps, but there is one; use --coils espirit, or a "
                       "file with two sets",
                       s->scan.input);
    if (s->coils.how == RECON_COILS_FILE && !raw->sensitivity)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --coils file needs coil maps, but the file has none; use --coils espirit or walsh",
                       s->scan.input);
    if (uses_reference(&s->solve) && !raw->reference)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --prior reference needs anatomical images: a file (--reference), or the scan's dataset "
                       "/scan/reference",
                       s->scan.input);
    if (solves_series(&s->solve) && least_frames(raw, false) == 1)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: --prior temporal, llr and nuclear need several frames of each slice or slab; for one "
                       "image use wavelet, tv or tgv, or cut a continuous scan into frames (--spokes-per-frame)",
                       s->scan.input);
    if ((s->solve.save_q || s->solve.load_q) && raw->trajectories > 1)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: --save-q and --load-q support one trajectory, but the frames have %d", s->scan.input,
                       raw->trajectories);
    if (s->append_to_copy && strcmp(raw->layout, "ISMRMRD") != 0)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: --append-to-copy needs an ISMRMRD file; the layout of this file is %s", s->scan.input,
                       raw->layout);
    if (s->compare && !compares_with_file(r) && !raw->truth)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --compare truth needs the true image, but the scan has no truth for this matrix",
                       s->scan.input);
    return VF_OK;
}

vf_status read_corrected(recon_state *r)
{
    const recon_settings *s = r->settings;
    mri_scan *raw = &r->scan;
    scan_request request = s->scan.read;
    request.info = s->info;
    request.incomplete = s->scan.frames || s->scan.spokes_per_frame > 0;
    request.regroup = s->scan.spokes_per_frame > 0;
    watch_stage(&r->watch, "read", 0);
    vf_status status = s->scan.arrays               ? read_scan_memory(r->ctx, s->scan.arrays, &request, raw)
                       : cfl_is_name(s->scan.input) ? read_bart(r, raw)
                                                    : read_scan(r->ctx, s->scan.input, &request, raw);
    VF_TRY(status, leave_out_zeros(r->ctx, s->scan.input, raw));
    VF_TRY(status, correct_trajectory(r->ctx, &s->scan, raw));
    VF_TRY(status, shift_fov(r->ctx, &s->scan, raw));
    VF_TRY(status, select_slices(r->ctx, &s->scan, raw));
    if (status == VF_OK && s->scan.has_matrix)
        status = change_matrix(r->ctx, s->scan.matrix, raw);
    return status;
}

static vf_status read_stage(recon_state *r)
{
    const recon_settings *s = r->settings;
    mri_scan *raw = &r->scan;
    vf_status status = read_corrected(r);
    VF_TRY(status, scan_check_cancelled(r->ctx));
    if (status == VF_OK)
        scan_warn(r->ctx, s->scan.input, raw);
    if (status == VF_OK && s->solve.method != RECON_BILINEAR)
        status = encoding_check(r->ctx, &s->solve, raw);
    if (status == VF_OK && !s->scan.keep_spikes)
        status = remove_spikes(r->ctx, s->scan.input, raw);
    VF_TRY(status, scan_check_cancelled(r->ctx));
    VF_TRY(status, drop_coils(r->ctx, s->coils.drop, raw));
    VF_TRY(status, estimate_channel_noise(r->ctx, raw));
    if (status == VF_OK && s->coils.file)
        status = read_coil_maps(r->ctx, s->coils.file, &r->planned.coils, raw);
    if (status == VF_OK && s->scan.keep_oversampling) {
        if (memcmp(raw->crop, raw->matrix, sizeof raw->crop) != 0) { /* the truth has no oversampling */
            free(raw->truth);
            raw->truth = NULL;
            raw->truths = 0;
        }
        memcpy(raw->crop, raw->matrix, sizeof raw->crop);
    }
    if (status == VF_OK && may_crop_readout(&s->scan, &s->solve, raw))
        status = crop_readout(r->ctx, raw);
    VF_TRY(status, scan_check_cancelled(r->ctx));
    VF_TRY(status, regroup_frames(r->ctx, &s->scan, s->compare && !compares_with_file(r), raw));
    if (status == VF_OK)
        scan_warn_of_centre(r->ctx, s->scan.input, s->scan.spokes_per_frame > 0, raw);
    VF_TRY(status, read_reference(r));
    return status == VF_OK ? check_scan(r) : status;
}

static vf_status coil_stage(recon_state *r)
{
    const recon_settings *s = r->settings;
    r->summary.compression = (coil_choice){.from = r->scan.coils, .to = r->scan.coils, .kept = 1, .loss = -1};
    watch_stage(&r->watch, "coils", 0);
    vf_status status = prewhiten(r->ctx, &r->scan);
    if (status == VF_OK && s->coils.compress >= r->scan.coils)
        vf_note(r->ctx, "note: --compress %d keeps %s", s->coils.compress,
                r->scan.coils == 1 ? "the one coil" : "all coils");
    if (status == VF_OK && s->coils.compress != COMPRESS_NONE)
        status = compress_coils(r->ctx, &r->scan, s->coils.compress, s->coils.compress_by, &r->summary.compression);
    if (status == VF_OK && s->coils.save && r->scan.coils == 1 && !r->scan.sensitivity)
        status = vf_fail(r->ctx, VF_ERR_ARGUMENT,
                         "--save-coils: the scan has one coil and no coil map, so there is nothing to save");
    return status;
}

static bool only_a_part(const recon_state *r)
{
    return kept_is_part(&r->kept.pieces);
}

/* Whether not all frames are there already. */
static bool makes_frames(const recon_state *r)
{
    return !r->kept.wanted || kept_missing(&r->kept.pieces) > 0;
}

static vf_status reconstruct_stage(recon_state *r)
{
    const mri_scan *raw = &r->scan;
    vf_status status = make_images(r);
    const recon_sharing sharing = share_devices(r->settings, raw, vf_context_device_count(r->ctx));
    device_list(r->ctx, sharing.teams * sharing.each, r->devices, sizeof r->devices);
    r->summary.converged = true;
    r->made_frames = makes_frames(r);
    if (status == VF_OK && r->made_frames)
        status = reconstruct(r->ctx, r->settings, raw, &r->watch, place_frame, place_noise, r, &r->summary);
    status = kept_collect(&r->kept.pieces, status);
    VF_TRY(status, kept_frames_rest(&r->kept, place_kept, r, &r->summary, r->devices, sizeof r->devices));
    describe_image(r);
    return status;
}

static vf_status finish(recon_state *r, vf_report **report)
{
    const recon_settings *s = r->settings;
    vf_status status = VF_OK;
    if (!only_a_part(r)) {
        watch_stage(&r->watch, "write", 0);
        status = image_refuse_zeros(r->ctx, &r->image, &r->scan);
        VF_TRY(status, s->result ? keep_images(r) : write_image(r->ctx, &r->image, r->output));
        if (status == VF_OK && s->noise.map && !s->result)
            status = write_noise_map(r->ctx, &r->noise, s->noise.map);
        if (status == VF_OK && s->picture) {
            watch_stage(&r->watch, "picture", 0);
            status = draw_montage(r->ctx, &r->image, s->picture);
        }
        watch_stage(&r->watch, "compare", 0);
        VF_TRY(status, compare_stage(r));
        if (status == VF_OK && s->page) {
            watch_stage(&r->watch, "page", 0);
            status = page_stage(r);
        }
    }
    vf_stage_end(&r->watch.stages);
    watch_hush(&r->watch);
    VF_TRY(status, recon_tell(r, only_a_part(r) ? TELL_PART : TELL_RESULT, *report));
    if (status != VF_OK)
        return status;
    return s->result ? result_take_report(s->result, report) : vf_report_commit(report);
}

/* Starts GPUs while the scan is read, if the user named them or if they may pay off. */
static void warm_up(const recon_state *r)
{
    const double seconds_a_byte = 2e-6; /* on one core, for a scan with much work per byte */
    const char *wish = r->settings->schedule.device;
    const scan_settings *scan = &r->settings->scan;
    const double bytes = scan->arrays ? scan_memory_bytes(scan->arrays) : program_file_bytes(scan->input);
    const double seconds = seconds_a_byte * bytes / vf_context_threads(r->ctx);
    if (strcmp(wish, "auto") != 0 || seconds > VF_CUDA_START_SECONDS + VF_CUDA_USE_SECONDS)
        vf_device_warm_up(r->ctx, wish);
}

static void choose_prior(recon_state *r)
{
    const bool sure = r->planned.solve.lambda_sure;
    r->reason = settings_choose_prior(
        &r->planned, r->sampling.mean, least_frames(&r->scan, true),
        partial_fourier_any(r->ctx, &r->planned.noise, &r->planned.solve, &r->planned.coils, &r->scan));
    if (sure && !r->planned.solve.lambda_sure)
        vf_warn(r->ctx, "--lambda sure has no effect: it is for sparse priors, and the prior is the image's spectrum");
}

/* Small images use fewer threads than there are. A run has thousands of parallel regions, and each waits for its slowest thread:
 * 192^2 voxels of 8 coils took 0.26 s with 4 threads, 0.43 s with 16, and 3.3 s with 32 on a busy machine. So from here on
 * there is at most one thread for each COIL_VOXELS, which are 4 in that case, but never fewer than 4. */
static vf_status limit_threads(const recon_state *r)
{
    enum { LEAST = 4, COIL_VOXELS = 75000 };
    const mri_scan *raw = &r->scan;
    const double frames = solves_series(&r->planned.solve) ? raw->frames : 1;
    const double voxels = (double)(raw->matrix[0] * raw->matrix[1] * raw->matrix[2]) * raw->coils * frames;
    const int most = (int)fmin(fmax(voxels / COIL_VOXELS, LEAST), INT_MAX);
    if (r->planned.solve.encode_by == VF_ENCODE_DIRECT || vf_context_threads(r->ctx) <= most)
        return VF_OK;
    return vf_context_set_threads(r->ctx, most);
}

/* Checks the file names, reads the scan and chooses the devices. Invalid input is rejected here, before any work. */
static vf_status prepare(recon_state *r)
{
    vf_status status = prepare_files(r);
    if (status == VF_OK) {
        warm_up(r);
        status = vf_check_threads(r->ctx, 1);
    }
    VF_TRY(status, read_stage(r));
    VF_TRY(status, read_other(r));
    VF_TRY(status, scan_check_cancelled(r->ctx));
    VF_TRY(status, scan_measure_sampling(r->ctx, &r->scan, &r->sampling));
    watch_hush(&r->watch); /* text must not share the progress line */
    const vf_status told = r->settings->info ? recon_tell(r, TELL_FILE, NULL) : VF_OK; /* of a file with errors too */
    VF_TRY(status, told);
    if (status == VF_OK && r->settings->chooses_prior)
        choose_prior(r);
    VF_TRY(status, recon_tell(r, TELL_SCAN, NULL));
    VF_TRY(status, coil_stage(r));
    if (r->settings->info)
        return status;
    if (status == VF_OK)
        warn_sampling(r);
    VF_TRY(status, limit_threads(r));
    if (status == VF_OK)
        watch_stage(&r->watch, "device", 0);
    VF_TRY(status, plan_device(r->ctx, &r->planned, &r->scan, &r->sampling, r->device, sizeof r->device, &r->memory));
    if (status == VF_OK && !r->settings->dry_run)
        status = vf_check_threads(r->ctx, vf_context_device_count(r->ctx) + 1);
    VF_TRY(status, tune_launch(r->ctx, r->settings->tune && !r->settings->dry_run, &r->planned.solve));
    if (status == VF_OK)
        forecast_make(r->ctx, r->settings, &r->scan, &r->sampling, vf_now() - r->began, &r->forecast);
    VF_TRY(status, kept_frames_begin(r));
    r->planned.schedule.wanted = r->kept.wanted;
    watch_hush(&r->watch);
    VF_TRY(status, recon_tell(r, TELL_PLAN, NULL));
    if (status == VF_OK && r->settings->dry_run && !r->settings->quiet)
        status = kept_frames_plan_job(r);
    return status;
}

/* The largest size of the image file, and advice on how to make it smaller. */
static double image_bytes(const recon_state *r, const char **advice)
{
    const mri_scan *raw = &r->scan;
    const double voxels = (double)raw->volumes * raw->slices * (double)(raw->crop[0] * raw->crop[1] * raw->crop[2]);
    struct stat copied;
    if (vf_path_has_extension(r->output, ".nii.gz .nii")) {
        *advice = vf_path_has_extension(r->output, ".nii") ? "write .nii.gz" : "reconstruct fewer voxels (--matrix)";
        return sizeof(float) * voxels;
    }
    *advice = "write .nii.gz, which stores only magnitudes";
    if (!r->settings->append_to_copy || stat(r->settings->scan.input, &copied) != 0)
        return sizeof(float complex) * voxels;
    *advice = "leave out --append-to-copy";
    return sizeof(float complex) * voxels + (double)copied.st_size;
}

static vf_status check_places(recon_state *r)
{
    const recon_settings *s = r->settings;
    const char *advice;
    if (only_a_part(r))
        return VF_OK;
    const double bytes = image_bytes(r, &advice);
    vf_status status = program_check_place(r->ctx, r->output, bytes, advice);
    if (status == VF_OK && s->picture)
        status = program_check_place(r->ctx, s->picture, 0, "");
    if (status == VF_OK && s->page)
        status = program_check_place(r->ctx, s->page, 0, "");
    if (status == VF_OK && s->solve.save_q)
        status = program_check_place(r->ctx, s->solve.save_q, 0, "");
    if (status == VF_OK && s->coils.save)
        status = program_check_place(r->ctx, s->coils.save, 0, "");
    return status;
}

void recon_end(recon_state *r)
{
    if (!r->image_kept)
        recon_image_free(&r->image);
    recon_image_free(&r->noise);
    free(r->whole);
    free(r->cropped);
    free(r->summary.effort);
    recon_image_free(&r->other);
    free(r->comparison);
    free(r->summary.frame_noise);
    free(r->summary.maps);
    scan_free(&r->scan);
    if (!is_in_memory(r->output))
        free(r->output);
    free(r->command);
    free(r);
}

vf_status recon_begin(vf_context *ctx, const recon_settings *settings, recon_state **out)
{
    recon_state *r = calloc(1, sizeof *r);
    *out = r;
    if (!r)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    r->ctx = ctx;
    r->planned = *settings;
    r->settings = &r->planned;
    r->planned.coils.keep = settings->page && settings->coils.save;
    r->began = vf_now();
    r->watch.mode = settings->quiet || settings->result ? VF_PROGRESS_OFF : settings->progress;
    r->watch.ctx = settings->result ? ctx : NULL;
    r->command = program_command(settings->program);
    return r->command ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory");
}

vf_status mri_recon_run(vf_context *ctx, const recon_settings *settings)
{
    recon_state *r;
    vf_report *report = NULL;
    vf_status status = recon_begin(ctx, settings, &r);
    if (status == VF_OK && !settings->dry_run && settings->result)
        status = vf_report_create_text(ctx, &report);
    else if (status == VF_OK && !settings->dry_run && settings->report)
        status = vf_report_create(ctx, settings->report, &report);
    VF_TRY(status, prepare(r));
    if (!settings->dry_run) {
        VF_TRY(status, check_places(r));
        VF_TRY(status, reconstruct_stage(r));
        VF_TRY(status, finish(r, &report));
    }
    if (r) {
        watch_end(&r->watch);
        status = kept_frames_end(&r->kept, status);
    }
    vf_report_discard(&report);
    if (r && settings->result && status == VF_OK && !settings->dry_run)
        keep_run(r);
    else if (r)
        recon_end(r);
    return status;
}
