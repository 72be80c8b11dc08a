/* The stages of mri_recon, in the order data flows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bart/cfl_names.h"
#include "coils/channel_noise.h"
#include "coils/coil_map_file.h"
#include "coils/coil_stages.h"
#include "frames/forecast.h"
#include "frames/reconstruct.h"
#include "images/recon_image.h"
#include "job.h"
#include "kept_frames.h"
#include "mri_recon.h"
#include "program.h"
#include "recon_files.h"
#include "scan/correct_trajectory.h"
#include "scan/crop_readout.h"
#include "scan/mri_scan.h"
#include "scan/regroup.h"
#include "scan/remove_spikes.h"
#include "solve/choose_operator.h"
#include "solve/equations.h"
#include "voxfield/output.h"
#include "voxfield/version.h"
#include "voxfield/workpool.h"
#include "watch.h"

typedef struct recon_state {
    vf_context *ctx;
    const recon_settings *settings; /* = &planned */
    recon_settings planned;         /* the user's, the prior that --prior auto chose, and what plan_device sets */
    const char *reason;             /* of --prior auto; NULL: the user chose */
    recon_watch watch;
    mri_scan scan;
    scan_sampling sampling;
    recon_summary summary;
    kept_frames kept;
    bool made_frames;       /* false: all were kept, and nothing is known of how they were made */
    float complex *cropped; /* [crop] one frame's image */
    double memory;          /* estimated bytes on each device */
    double began;           /* when the run began, by vf_now */
    recon_forecast forecast;
    recon_image image;
    recon_image noise;            /* deviations of all places, then their g factors */
    float complex *whole;         /* [voxels] one place before cropping */
    recon_image other;            /* the image file to compare with, if given */
    image_comparison *comparison; /* [compared] with the truth or with `other` */
    int compared;                 /* compared volumes, counted from the first */
    char *output, *command;
    char devices[64]; /* that made the last frame */
    char created[PROGRAM_TIME_TEXT], method[256], device[640];
} recon_state;

static bool compares_with_file(const recon_settings *s)
{
    return s->compare && strcmp(s->compare, "truth") != 0;
}

static vf_status prepare_files(recon_state *r)
{
    const recon_settings *s = r->settings;
    r->output = s->output ? strdup(s->output) : recon_default_output(s->input, s->pieces.folder);
    if (!r->output)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    /* a dry run does not make the folder of --output-dir */
    vf_status (*check)(vf_context *, const char *) =
        s->dry_run && s->pieces.folder ? image_check_extension : image_check_path;
    vf_status status = recon_check_names(r->ctx, s, r->output);
    VF_TRY(status, check(r->ctx, r->output));
    if (status == VF_OK && s->noise_map)
        status = check(r->ctx, s->noise_map);
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
    const bool has_maps = s->trajectory && s->maps;
    vf_status status = has_maps ? coil_map_matrix(r->ctx, s->maps, matrix) : VF_OK;
    return status == VF_OK ? read_bart_scan(r->ctx, s, has_maps ? matrix : NULL, raw) : status;
}

/* What the settings need of a scan. */
static vf_status check_scan(const recon_state *r)
{
    const recon_settings *s = r->settings;
    const mri_scan *raw = &r->scan;
    if (s->map_sets == RECON_SETS_TWO && most_map_sets(s, raw) < RECON_MOST_SETS)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --map-sets 2 needs two sets of coil maps, but there is one; use --coils espirit, or a "
                       "file with two sets",
                       s->input);
    if (s->coils == RECON_COILS_FILE && !raw->sensitivity)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --coils file needs coil maps, but the file has none; use --coils espirit or walsh",
                       s->input);
    if (s->prior == RECON_REFERENCE && !raw->reference)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --prior reference needs anatomical images in the scan (dataset /scan/reference)", s->input);
    if (solves_series(s) && least_frames(raw, false) == 1)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: --prior temporal, llr and nuclear need several frames of each slice or slab; for one "
                       "image use wavelet, tv or tgv, or cut a continuous scan into frames (--spokes-per-frame)",
                       s->input);
    if ((s->save_q || s->load_q) && raw->trajectories > 1)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: --save-q and --load-q support one trajectory, but the frames have %d", s->input,
                       raw->trajectories);
    if (s->append_to_copy && strcmp(raw->layout, "ISMRMRD") != 0)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: --append-to-copy needs an ISMRMRD file; the layout of this file is %s", s->input,
                       raw->layout);
    if (s->compare && !compares_with_file(s) && !raw->truth)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: --compare truth needs the true image, but the scan has no truth for this matrix", s->input);
    return VF_OK;
}

static vf_status read_stage(recon_state *r)
{
    const recon_settings *s = r->settings;
    mri_scan *raw = &r->scan;
    scan_request request = s->read;
    request.info = s->info;
    request.incomplete = s->frames || s->spokes_per_frame > 0;
    watch_stage(&r->watch, "read", 0);
    vf_status status = cfl_is_name(s->input) ? read_bart(r, raw) : read_scan(r->ctx, s->input, &request, raw);
    VF_TRY(status, correct_trajectory(r->ctx, s, raw));
    VF_TRY(status, shift_fov(r->ctx, s, raw));
    VF_TRY(status, select_slices(r->ctx, s, raw));
    if (status == VF_OK && s->has_matrix)
        status = change_matrix(r->ctx, s->matrix, raw);
    if (status == VF_OK)
        scan_warn(r->ctx, s->input, raw);
    if (status == VF_OK && s->method != RECON_BILINEAR)
        status = encoding_check(r->ctx, s, raw);
    if (status == VF_OK && !s->keep_spikes)
        status = remove_spikes(r->ctx, s->input, raw);
    VF_TRY(status, drop_coils(r->ctx, s->drop_coils, raw));
    VF_TRY(status, estimate_channel_noise(r->ctx, raw));
    if (status == VF_OK && s->maps)
        status = read_coil_maps(r->ctx, s->maps, s->compress, s->map_sets, raw);
    if (status == VF_OK && s->keep_oversampling) {
        if (memcmp(raw->crop, raw->matrix, sizeof raw->crop) != 0) { /* the truth has no oversampling */
            free(raw->truth);
            raw->truth = NULL;
            raw->truths = 0;
        }
        memcpy(raw->crop, raw->matrix, sizeof raw->crop);
    }
    VF_TRY(status, crop_readout(r->ctx, s, raw));
    VF_TRY(status, regroup_frames(r->ctx, s, raw));
    return status == VF_OK ? check_scan(r) : status;
}

static vf_status coil_stage(recon_state *r)
{
    const recon_settings *s = r->settings;
    r->summary.coils_kept = 1;
    watch_stage(&r->watch, "coils", 0);
    vf_status status = prewhiten(r->ctx, &r->scan);
    if (status == VF_OK && s->compress >= r->scan.coils)
        vf_note(r->ctx, "note: --compress %d keeps %s", s->compress, r->scan.coils == 1 ? "the one coil" : "all coils");
    if (status == VF_OK && s->compress > 0 && s->compress < r->scan.coils)
        status = compress_coils(r->ctx, &r->scan, s->compress, &r->summary.coils_kept);
    if (status == VF_OK && s->save_coils && r->scan.coils == 1 && !r->scan.sensitivity)
        status = vf_fail(r->ctx, VF_ERR_ARGUMENT,
                         "--save-coils: the scan has one coil and no coil map, so there is nothing to save");
    return status;
}

static void say_scan(const recon_state *r)
{
    const mri_scan *raw = &r->scan;
    const scan_geometry *g = &raw->geometry;
    const int missing = raw->volumes * raw->slices - raw->frames;
    printf("scan       %s: %s, %d coil%s, %d volume%s", r->settings->input, raw->layout, raw->coils,
           raw->coils == 1 ? "" : "s", raw->volumes, raw->volumes == 1 ? "" : "s");
    if (raw->slices > 1)
        printf(" of %d slices", raw->slices);
    if (missing > 0)
        printf(" (%d missing)", missing);
    printf(", %lld sample%s\n", (long long)scan_samples(raw), vf_plural(scan_samples(raw)));
    if (raw->description[0])
        printf("           %s\n", raw->description);
    if (raw->sign[0])
        printf("           %s\n", raw->sign);
    if (raw->corrections[0])
        printf("           %s\n", raw->corrections);
    printf("           matrix %lld x %lld x %lld over %g x %g x %g mm", (long long)raw->matrix[0],
           (long long)raw->matrix[1], (long long)raw->matrix[2], raw->fov[0], raw->fov[1], raw->fov[2]);
    if (memcmp(raw->crop, raw->matrix, sizeof raw->crop) != 0)
        printf(", cropped to %lld x %lld x %lld", (long long)raw->crop[0], (long long)raw->crop[1],
               (long long)raw->crop[2]);
    printf("%s\n", g->known ? ", position known" : "");
    char text[256];
    scan_say_sampling(r->settings, raw, &r->sampling, text, sizeof text);
    if (text[0])
        printf("           %s\n", text);
}

/* What the reader told of the file, for --info. */
static void say_told(const mri_scan *raw)
{
    for (const char *line = raw->told; line && *line; line = strchr(line, '\n') + 1)
        printf("%-10s %.*s\n", line == raw->told ? "file" : "", (int)strcspn(line, "\n"), line);
}

/* ---- the image ---- */

static const char *method_text(const recon_settings *s)
{
    static const char *const solvers[] = {"ADMM", "FISTA", "primal-dual method"};
    static const char *const texts[] = {"conjugate gradients", "adjoint", "density-compensated gridding",
                                        "bilinear gridding"};
    return s->sparse ? solvers[s->solver] : texts[s->method];
}

static const char *prior_text(const recon_settings *s, char *text, size_t size)
{
    static const char *const texts[] = {"identity", "differences", "differences weighted by references",
                                        "the image's spectrum"};
    if (!s->sparse)
        return texts[s->prior];
    (void)snprintf(text, size, "%s%s%s", vf_penalty_name(s->sparse_prior[0]), s->sparse > 1 ? "+" : "",
                   s->sparse > 1 ? vf_penalty_name(s->sparse_prior[1]) : "");
    return text;
}

/* Lambda as the user gave it. */
static const char *lambda_text(const recon_settings *s, char *text, size_t size)
{
    if (s->lambda_auto && s->lambda == 1)
        return s->lambda_sure ? "sure" : "auto";
    (void)snprintf(text, size, s->lambda_auto ? "auto:%g" : "%g", s->lambda);
    return text;
}

/* The number of iterations is the sum over all frames. */
static const char *in_all_frames(const recon_state *r)
{
    return r->scan.frames > 1 ? " in all frames" : "";
}

/* The windows of the longest series. */
static series_windows windows_of_scan(const recon_state *r)
{
    return windows_of_series(r->settings, most_frames_of_place(&r->scan), series_frame_bytes(r->settings, &r->scan));
}

static void say_series(series_windows w)
{
    if (w.count == 1)
        printf("series     %d frames are solved together\n", w.frames);
    else
        printf("series     %d windows of %d frames are solved; each shares at least %d frames with the next\n", w.count,
               w.frames, w.shared);
}

static void say_plan(const recon_state *r)
{
    const recon_settings *s = r->settings;
    printf("device     %s\n", r->device);
    char lambda[32], prior[32];
    printf("method     %s", method_text(s));
    if (s->method == RECON_CG)
        printf(", at most %d iteration%s, tolerance %g%s, lambda %s (%s)", s->iterations, vf_plural(s->iterations),
               s->tolerance, s->tolerance_auto ? " or less" : "", lambda_text(s, lambda, sizeof lambda),
               prior_text(s, prior, sizeof prior));
    char text[32];
    printf(", %s precision, about %s of memory", s->precision == VF_F64 ? "double" : "single",
           vf_format_bytes(r->memory, text, sizeof text));
    const kept_pieces *pieces = &r->kept.pieces;
    const double share = pieces->items > 0 ? (double)kept_missing(pieces) / (double)pieces->items : 1;
    const double again = r->forecast.again, frames = forecast_total(&r->forecast) - again;
    printf(", about %s\n", vf_format_seconds(again + share * frames, text, sizeof text));
    if (r->reason)
        printf("prior      %s, because %s\n", prior_text(s, prior, sizeof prior), r->reason);
    if (solves_series(s))
        say_series(windows_of_scan(r));
    job_say(&s->pieces);
    kept_say(&r->kept.pieces);
    printf("image      %s: %d volume%s of %lld x %lld x %lld\n", r->output, r->scan.volumes,
           r->scan.volumes == 1 ? "" : "s", (long long)r->scan.crop[0], (long long)r->scan.crop[1],
           (long long)(r->scan.crop[2] * r->scan.slices));
    fflush(stdout);
}

static void describe(recon_state *r)
{
    const recon_settings *s = r->settings;
    const int operator_length = (int)strcspn(r->summary.encoding, ","); /* up to the comma; the report has all of it */
    char lambda[32], prior[32];
    program_time(r->created);
    if (s->method == RECON_CG)
        snprintf(r->method, sizeof r->method, "%s, %lld iteration%s%s, lambda %s (%s), %.*s, %s precision, %s",
                 method_text(s), (long long)r->summary.iterations, vf_plural(r->summary.iterations), in_all_frames(r),
                 lambda_text(s, lambda, sizeof lambda), prior_text(s, prior, sizeof prior), operator_length,
                 r->summary.encoding, s->precision == VF_F64 ? "double" : "single", r->devices);
    else
        snprintf(r->method, sizeof r->method, "%s, %.*s, %s precision, %s", method_text(s), operator_length,
                 r->summary.encoding, s->precision == VF_F64 ? "double" : "single", r->devices);
}

/* Copies the middle of one frame's image. */
static void crop_frame(const mri_scan *raw, const float complex *whole, float complex *cropped)
{
    const int64_t *n = raw->matrix, *crop = raw->crop;
    int64_t first[3];
    for (int a = 0; a < 3; a++)
        first[a] = n[a] / 2 - crop[a] / 2; /* voxel N/2 is the centre of both */
    for (int64_t z = 0; z < crop[2]; z++)
        for (int64_t y = 0; y < crop[1]; y++)
            memcpy(cropped + (z * crop[1] + y) * crop[0],
                   whole + ((first[2] + z) * n[1] + first[1] + y) * n[0] + first[0], (size_t)crop[0] * sizeof *cropped);
}

/* Copies the middle of a frame's image to its slice of a volume. */
static void place_in_volume(const recon_state *r, const scan_frame *frame, const float complex *cropped,
                            recon_image *image, int volume)
{
    const int64_t *crop = r->scan.crop, plane = crop[0] * crop[1];
    memcpy(image->data + (volume * image->counts[2] + frame->slice * crop[2]) * plane, cropped,
           (size_t)(plane * crop[2]) * sizeof *cropped);
}

static void place_kept(void *user, const scan_frame *frame, const float complex *cropped)
{
    recon_state *r = user;
    place_in_volume(r, frame, cropped, &r->image, frame->volume);
}

static void place_frame(void *user, const scan_frame *frame, const float complex *whole)
{
    recon_state *r = user;
    crop_frame(&r->scan, whole, r->cropped);
    if (r->image.data)
        place_kept(r, frame, r->cropped);
    kept_frames_add(&r->kept, frame, &r->summary, r->devices, r->cropped);
}

static void place_noise(void *user, const scan_frame *frame, const float *deviation, const float *g)
{
    recon_state *r = user;
    const int volume = frame->place / r->scan.slices;
    for (int half = 0; half < 2; half++) {
        for (int64_t n = 0; n < r->scan.matrix[0] * r->scan.matrix[1] * r->scan.matrix[2]; n++)
            r->whole[n] = half ? g[n] : deviation[n];
        crop_frame(&r->scan, r->whole, r->cropped);
        place_in_volume(r, frame, r->cropped, &r->noise, half * scan_stacks(&r->scan) + volume);
    }
}

/* Allocates the noise image of all places. */
static vf_status make_noise(recon_state *r)
{
    const mri_scan *raw = &r->scan;
    if (!r->settings->noise_map)
        return VF_OK;
    const int64_t volume = r->image.counts[0] * r->image.counts[1] * r->image.counts[2];
    r->noise = r->image;
    r->noise.frames = 2 * scan_stacks(&r->scan);
    r->noise.copy_of = NULL;
    r->noise.source_count = 0;
    r->noise.data = calloc((size_t)(r->noise.frames * volume), sizeof *r->noise.data);
    r->whole = malloc((size_t)(raw->matrix[0] * raw->matrix[1] * raw->matrix[2]) * sizeof *r->whole);
    return r->noise.data && r->whole ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the noise map");
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
    recon_image *image = &r->image;
    *image = (recon_image){.frames = raw->volumes,
                           .counts = {raw->crop[0], raw->crop[1], raw->crop[2] * raw->slices},
                           .geometry = raw->geometry,
                           .places = scan_stacks(raw),
                           .place_geometry = raw->place_geometry,
                           .program = "mri_recon (Voxfield) " VF_VERSION,
                           .command = r->command,
                           .created = r->created,
                           .method = r->method,
                           .input = r->settings->input,
                           .digest = raw->digest,
                           .protocol = raw->protocol,
                           .copy_of = r->settings->append_to_copy ? r->settings->input : NULL,
                           .sources = raw->frame,
                           .source_count = raw->frames,
                           .group = raw->group};
    for (int a = 0; a < 3; a++)
        image->voxel[a] = raw->fov[a] / (double)raw->matrix[a];
    const size_t volume = (size_t)(image->counts[0] * image->counts[1] * image->counts[2]);
    r->cropped = malloc((size_t)(raw->crop[0] * raw->crop[1] * raw->crop[2]) * sizeof *r->cropped);
    if (!only_a_part(r)) {
        image->data = calloc((size_t)raw->volumes * volume, sizeof *image->data);
        vf_large_pages(image->data, (size_t)raw->volumes * volume * sizeof *image->data);
    }
    vf_status status = VF_OK;
    if (!r->cropped || (!image->data && !only_a_part(r)))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %d volumes of %zu voxels", raw->volumes, volume);
    VF_TRY(status, make_noise(r));
    const recon_sharing sharing = share_devices(r->settings, raw, vf_context_device_count(r->ctx));
    device_list(r->ctx, sharing.teams * sharing.each, r->devices, sizeof r->devices);
    r->summary.converged = true;
    r->made_frames = makes_frames(r);
    if (status == VF_OK && r->made_frames)
        status = reconstruct(r->ctx, r->settings, raw, &r->watch, place_frame, place_noise, r, &r->summary);
    status = kept_collect(&r->kept.pieces, status);
    VF_TRY(status, kept_frames_rest(&r->kept, place_kept, r, &r->summary, r->devices, sizeof r->devices));
    describe(r);
    return status;
}

/* Reads the image to compare with before any work starts. It must have the size of this image. */
static vf_status read_other(recon_state *r)
{
    const recon_settings *s = r->settings;
    const int64_t counts[3] = {r->scan.crop[0], r->scan.crop[1], r->scan.crop[2] * r->scan.slices};
    if (!compares_with_file(s))
        return VF_OK;
    vf_status status = read_image(r->ctx, s->compare, &r->other);
    if (status == VF_OK && memcmp(r->other.counts, counts, sizeof counts) != 0)
        status = vf_fail(r->ctx, VF_ERR_INPUT,
                         "%s: the image has %lld x %lld x %lld voxels; --compare needs %lld x %lld x %lld", s->compare,
                         (long long)r->other.counts[0], (long long)r->other.counts[1], (long long)r->other.counts[2],
                         (long long)counts[0], (long long)counts[1], (long long)counts[2]);
    return status;
}

/* Compares all volumes if the reference has as many, else the first. */
static vf_status compare_stage(recon_state *r)
{
    const int64_t voxels = r->image.counts[0] * r->image.counts[1] * r->image.counts[2];
    if (!r->settings->compare)
        return VF_OK;
    const int count = (r->other.data ? r->other.frames : r->scan.truths) == r->image.frames ? r->image.frames : 1;
    vf_status status = VF_OK;
    float *magnitude = r->other.data ? malloc((size_t)voxels * sizeof *magnitude) : NULL;
    r->comparison = calloc((size_t)count, sizeof *r->comparison);
    if (!r->comparison || (r->other.data && !magnitude))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory to compare images");
    for (int v = 0; status == VF_OK && v < count; v++) {
        char name[64] = "the comparison with the truth";
        const float *truth = magnitude;
        if (count > 1)
            (void)snprintf(name, sizeof name, "the comparison of volume %d with its truth", v);
        if (magnitude)
            for (int64_t i = 0; i < voxels; i++)
                magnitude[i] = cabsf(r->other.data[v * voxels + i]);
        else
            truth = r->scan.truth + v * voxels;
        status = compare_images(r->ctx, name, voxels, r->image.data + v * voxels, truth, &r->comparison[v]);
    }
    free(magnitude);
    r->compared = status == VF_OK ? count : 0;
    return status;
}

/* `scaled`: the start of the second line; "": no second line. */
static void say_comparison(const char *head, const char *volume, const image_comparison *c, const char *remark,
                           const char *scaled)
{
    printf("%-10s %sMSE %.4g, PSNR %.2f dB, SNR %.2f dB, %.3g %%%s\n", head, volume, c->error.mse, c->error.psnr,
           c->error.snr, c->error.percent, remark);
    if (scaled[0])
        printf("%-10s %s: PSNR %.2f dB, SNR %.2f dB, %.3g %%\n", "", scaled, c->scaled.psnr, c->scaled.snr,
               c->scaled.percent);
}

static void say_volume(const recon_state *r, int volume, const char *remark)
{
    const image_comparison *c = &r->comparison[volume];
    char name[32] = "", scaled[64] = "";
    if (r->compared > 1)
        (void)snprintf(name, sizeof name, "volume %d: ", volume);
    if (comparison_scale_matters(c))
        (void)snprintf(scaled, sizeof scaled, "with the image scaled by %.3g (best fit)", c->scale);
    say_comparison(volume == 0 ? "error" : "", name, c, remark, scaled);
}

/* Prints each of up to FEW volumes. If there are more: the first, the worst and the mean. */
static void say_error(const recon_state *r)
{
    enum { FEW = 8 };
    const int worst = comparison_worst(r->comparison, r->compared);
    const bool many = r->compared > FEW;
    bool scaled = false;
    for (int v = 0; v < r->compared; v++) {
        scaled = scaled || comparison_scale_matters(&r->comparison[v]);
        if (!many || v == 0 || v == worst)
            say_volume(r, v,
                       r->compared < r->image.frames ? " (of the first volume)"
                       : many && v == worst          ? " (the worst)"
                                                     : "");
    }
    if (many) {
        const image_comparison mean = comparison_mean(r->comparison, r->compared);
        char name[40];
        (void)snprintf(name, sizeof name, "mean of %d volumes: ", r->compared);
        say_comparison("", name, &mean, "", scaled ? "with each volume scaled (best fit)" : "");
    }
}

/* Residuals above this multiple of the noise get a line. */
static const double MISFIT = 2;

/* Frames whose noise is not the common one. */
static void say_frame_noise(const recon_state *r)
{
    const recon_summary *s = &r->summary;
    double least = INFINITY, most = 0;
    int others = 0;
    for (int f = 0; f < r->scan.frames; f++) {
        if (s->frame_noise[f] == s->sigma)
            continue;
        least = fmin(least, s->frame_noise[f] / s->sigma);
        most = fmax(most, s->frame_noise[f] / s->sigma);
        others++;
    }
    printf("           %d of %d frames have other noise, %.2g to %.2g times as much; %s\n", others, r->scan.frames,
           least, most, solves_series(r->settings) ? "frames weigh 1 / noise^2" : "each has its own lambda");
}

/* Prints the noise, the misfit and the forecast that lambda was chosen by. */
static void say_noise(const recon_state *r)
{
    const recon_summary *s = &r->summary;
    if (s->noise[0])
        printf("noise      %.3g per sample, %s\n", s->sigma, s->noise);
    if (s->noise[0] && s->misfit > MISFIT * MISFIT)
        printf("           the residual of all samples is %.2g times the noise: coil maps, trajectory or field map are "
               "inaccurate\n",
               sqrt(s->misfit));
    if (s->frame_noise)
        say_frame_noise(r);
    if (r->settings->lambda_sure && s->sure.tried > 0)
        printf("lambda     %.2f times that of auto, by SURE: the least predicted risk of %d, found with %lld "
               "applications of "
               "F^H W F\n",
               s->sure.point[s->sure.best].factor, s->sure.tried, (long long)s->sure_applications);
    else if (r->settings->lambda_sure)
        printf("lambda     that of auto, because there is no noise that SURE could measure\n");
    if (r->settings->sparse)
        printf("sparsity   %lld applications of F^H W F, objective %.6g\n", (long long)s->applications, s->objective);
    else if (s->expected_signal > 0)
        printf("           expected error relative to the image's RMS: noise %.2g %%, bias %.2g %%\n",
               100 * s->expected_noise / s->expected_signal, 100 * s->expected_bias / s->expected_signal);
    if (s->phase[0])
        printf("phase      %s\n", s->phase);
    if (s->noise[0] && r->settings->prior != RECON_SPECTRUM && s->diagonal > 0)
        printf("           lambda relative to the diagonal: %.3g\n", s->lambda / s->diagonal);
}

/* Devices that made a frame together count it each. */
static void report_devices(vf_report *report, const recon_state *r)
{
    vf_report_begin(report, "devices");
    for (int d = 0; d < r->summary.sharing.teams * r->summary.sharing.each; d++) {
        const vf_device *device = vf_context_device(r->ctx, d);
        vf_report_begin(report, vf_device_spec(device));
        vf_report_integer(report, "frames", r->summary.device[d].frames);
        vf_report_number(report, "seconds", r->summary.device[d].seconds);
        if (vf_device_failure(device))
            vf_report_text(report, "failed", vf_device_failure(device));
        vf_report_end(report);
    }
    vf_report_end(report);
}

/* The noise is known if lambda or a noise map needed it, with any method. */
static void report_noise(vf_report *report, const recon_summary *s, bool sparse, int frames)
{
    if (!s->noise[0])
        return;
    vf_report_number(report, "noise_sigma", s->sigma);
    vf_report_text(report, "noise_rests_on", s->noise);
    vf_report_number(report, "misfit", s->misfit);
    vf_report_integer(report, "first_images", s->first_images);
    vf_report_integer(report, "first_iterations", s->first_iterations);
    if (s->frame_noise)
        vf_report_numbers(report, "noise_of_frames", s->frame_noise, frames);
    if (s->phase[0])
        vf_report_text(report, "phase", s->phase);
    if (!(s->expected_signal > 0) || sparse) /* no forecast, or only of first images */
        return;
    vf_report_number(report, "expected_signal", s->expected_signal);
    vf_report_number(report, "expected_noise", s->expected_noise);
    vf_report_number(report, "expected_bias", s->expected_bias);
}

/* The factors that were tried, and their risks. */
static void report_sure(vf_report *report, const recon_summary *s)
{
    double factor[VF_SURE_MOST], risk[VF_SURE_MOST], freedom[VF_SURE_MOST];
    for (int i = 0; i < s->sure.tried; i++) {
        factor[i] = s->sure.point[i].factor;
        risk[i] = s->sure.point[i].risk;
        freedom[i] = s->sure.point[i].freedom;
    }
    vf_report_begin(report, "sure");
    vf_report_number(report, "factor", s->sure.tried > 0 ? factor[s->sure.best] : 1);
    vf_report_numbers(report, "factors_tried", factor, s->sure.tried);
    vf_report_numbers(report, "risks", risk, s->sure.tried);
    vf_report_numbers(report, "degrees_of_freedom", freedom, s->sure.tried);
    vf_report_integer(report, "applications_of_normal", s->sure_applications);
    vf_report_end(report);
}

static void report_sparse(vf_report *report, const recon_state *r)
{
    const recon_settings *s = r->settings;
    const bool all = r->kept.pieces.before == 0; /* of the frames were made by this run */
    vf_report_text(report, "solver", method_text(s));
    vf_report_integer(report, "applications_of_normal", r->summary.applications);
    vf_report_number(report, "noise_unit", r->summary.noise_unit);
    if (all)
        vf_report_number(report, "objective", r->summary.objective);
    if (solves_series(s)) {
        const series_windows w = windows_of_scan(r);
        vf_report_integer(report, "windows", w.count);
        vf_report_integer(report, "window_frames", w.frames);
        vf_report_integer(report, "window_overlap", w.shared);
    }
    if (s->lambda_sure)
        report_sure(report, &r->summary);
    for (int i = 0; i < s->sparse; i++) {
        vf_report_begin(report, vf_penalty_name(s->sparse_prior[i]));
        vf_report_number(report, "lambda", r->summary.sparse_lambda[i]);
        if (all)
            vf_report_number(report, "term", r->summary.penalty[i]);
        vf_report_end(report);
    }
}

/* Sparse priors have a lambda each; the summary's is that of first images. */
static void report_lambda(vf_report *report, const recon_settings *s, const recon_summary *found)
{
    const bool relative = s->prior == RECON_SPECTRUM || !(found->diagonal > 0);
    vf_report_number(report, "lambda",
                     s->sparse  ? s->lambda
                     : relative ? found->lambda
                                : found->lambda / found->diagonal);
    vf_report_text(report, "lambda_chosen_by",
                   !s->lambda_auto         ? "number"
                   : found->sure.tried > 0 ? "noise and SURE"
                   : s->sparse             ? "noise"
                                           : "noise and spectrum");
    if (!s->sparse)
        vf_report_number(report, "lambda_absolute", found->lambda);
}

/* What the plan expected, in the units of the report. */
static void report_forecast(vf_report *report, const recon_forecast *f)
{
    vf_report_begin(report, "forecast");
    vf_report_number(report, "total", forecast_total(f));
    vf_report_number(report, "first_images", f->counts.first_images);
    vf_report_number(report, "first_iterations", f->counts.first_iterations);
    vf_report_number(report, "iterations", f->counts.iterations);
    vf_report_number(report, "applications_of_normal", f->counts.applications);
    if (f->speed > 0)
        vf_report_number(report, "measured_speed", f->speed);
    if (f->region > 0)
        vf_report_number(report, "measured_region", f->region);
    vf_report_begin(report, "seconds");
    for (int p = 0; p < FORECAST_PARTS; p++)
        vf_report_number(report, forecast_names[p], f->part[p]);
    if (f->gpu > 0)
        vf_report_number(report, "gpu", f->gpu);
    vf_report_end(report);
    vf_report_end(report);
}

static void report_run(vf_report *report, const recon_state *r)
{
    const recon_settings *s = r->settings;
    const mri_scan *raw = &r->scan;
    vf_report_run(report, "mri_recon", s->program->argc, s->program->argv);
    vf_report_begin(report, "input");
    vf_report_text(report, "path", s->input);
    vf_report_text(report, "layout", raw->layout);
    vf_report_text(report, "description", raw->description);
    if (raw->corrections[0])
        vf_report_text(report, "corrections", raw->corrections);
    vf_report_text(report, "trajectory_sha256", raw->digest);
    vf_report_integers(report, "matrix", raw->matrix, 3);
    vf_report_numbers(report, "fov_mm", raw->fov, 3);
    vf_report_integer(report, "coils", raw->coils);
    vf_report_integer(report, "frames", raw->frames);
    vf_report_integer(report, "trajectories", raw->trajectories);
    vf_report_integer(report, "samples", scan_samples(raw));
    vf_report_number(report, "undersampling", r->sampling.mean);
    vf_report_number(report, "undersampling_at_the_edge", r->sampling.edge);
    vf_report_end(report);
    vf_report_begin(report, "reconstruction");
    vf_report_text(report, "method", r->method);
    vf_report_text(report, "encoding", r->summary.encoding);
    if (r->made_frames)
        vf_report_text(report, "coils", r->summary.coils);
    if (r->summary.shared[0])
        vf_report_text(report, "coil_sharing", r->summary.shared);
    vf_report_number(report, "coil_energy_kept", r->summary.coils_kept);
    if (s->method == RECON_CG) {
        if (r->made_frames)
            vf_report_text(report, "q", r->summary.normal);
        char prior[32];
        vf_report_text(report, "prior", prior_text(s, prior, sizeof prior));
        if (r->reason)
            vf_report_text(report, "prior_chosen_because", r->reason);
        if (r->made_frames) {
            report_lambda(report, s, &r->summary);
            vf_report_number(report, "diagonal", r->summary.diagonal);
        }
        vf_report_integer(report, "iterations", r->summary.iterations);
        vf_report_number(report, "residual", r->summary.residual);
        if (s->sparse && r->made_frames)
            report_sparse(report, r);
    }
    report_noise(report, &r->summary, s->sparse > 0, raw->frames);
    vf_report_end(report);
    comparison_report(report, r->comparison, r->compared);
    kept_report(report, &r->kept.pieces);
    job_report(report, &s->pieces);
    vf_report_text(report, "device", r->device);
    program_report_warm_up(r->ctx, report);
    report_devices(report, r);
    vf_report_text(report, "image", r->output);
    report_forecast(report, &r->forecast);
    vf_report_stages(report, &r->watch.stages);
}

static double seconds_of_stages(const recon_state *r)
{
    double seconds = 0;
    for (int i = 0; i < r->watch.stages.count; i++)
        seconds += r->watch.stages.stage[i].seconds;
    return seconds;
}

static vf_status finish_part(recon_state *r, vf_report **report)
{
    char text[32];
    vf_stage_end(&r->watch.stages);
    watch_hush(&r->watch);
    if (!r->settings->quiet)
        kept_say_end(vf_format_seconds(seconds_of_stages(r), text, sizeof text));
    report_run(*report, r);
    return vf_report_commit(report);
}

static vf_status finish(recon_state *r, vf_report **report)
{
    const recon_settings *s = r->settings;
    if (only_a_part(r))
        return finish_part(r, report);
    watch_stage(&r->watch, "write", 0);
    vf_status status = image_refuse_zeros(r->ctx, &r->image, &r->scan);
    VF_TRY(status, write_image(r->ctx, &r->image, r->output));
    if (status == VF_OK && s->noise_map)
        status = write_noise_map(r->ctx, &r->noise, s->noise_map);
    if (status == VF_OK && s->picture) {
        watch_stage(&r->watch, "picture", 0);
        status = draw_montage(r->ctx, &r->image, s->picture);
    }
    watch_stage(&r->watch, "compare", 0);
    VF_TRY(status, compare_stage(r));
    vf_stage_end(&r->watch.stages);
    watch_hush(&r->watch);
    if (status != VF_OK)
        return status;
    if (!s->quiet) {
        char text[32];
        const double seconds = seconds_of_stages(r);
        if (r->summary.coils[0])
            printf("coils      %s\n", r->summary.coils);
        if (r->summary.shared[0])
            printf("           %s\n", r->summary.shared);
        printf("encoding   %s\n", r->summary.encoding);
        if (r->made_frames)
            say_noise(r);
        printf("done       %s", vf_format_seconds(seconds, text, sizeof text));
        const double rounding = recon_rounding(s->precision);
        if (s->method == RECON_CG)
            printf(", %lld iteration%s%s, residual %s%.2g%s", (long long)r->summary.iterations,
                   vf_plural(r->summary.iterations), in_all_frames(r), r->summary.residual < rounding ? "below " : "",
                   fmax(r->summary.residual, rounding),
                   r->summary.converged || s->tolerance == 0 ? "" : " (the tolerance was not reached)");
        printf("\n");
        say_error(r);
        if (s->noise_map)
            printf("noise map  %s, from %d replicas\n", s->noise_map, s->replicas);
        if (s->picture)
            printf("picture    %s\n", s->picture);
    }
    report_run(*report, r);
    return vf_report_commit(report);
}

/* Starts GPUs while the scan is read, if the user named them or if they may pay off. */
static void warm_up(const recon_state *r)
{
    const double seconds_a_byte = 2e-6; /* on one core, for a scan with much work per byte */
    const char *wish = r->settings->device;
    const double seconds = seconds_a_byte * program_file_bytes(r->settings->input) / vf_context_threads(r->ctx);
    if (strcmp(wish, "auto") != 0 || seconds > VF_CUDA_START_SECONDS + VF_CUDA_USE_SECONDS)
        vf_device_warm_up(r->ctx, wish);
}

static void choose_prior(recon_state *r)
{
    const bool sure = r->planned.lambda_sure;
    r->reason = settings_choose_prior(&r->planned, r->sampling.mean, least_frames(&r->scan, true),
                                      partial_fourier_any(&r->planned, &r->scan));
    if (sure && !r->planned.lambda_sure)
        vf_warn(r->ctx, "--lambda sure has no effect: it is for sparse priors, and the prior is the image's spectrum");
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
    VF_TRY(status, scan_measure_sampling(r->ctx, &r->scan, &r->sampling));
    watch_hush(&r->watch); /* text must not share the progress line */
    if (r->settings->info)
        say_told(&r->scan);
    if (status == VF_OK && r->settings->chooses_prior)
        choose_prior(r);
    if (status == VF_OK && !r->settings->quiet)
        say_scan(r);
    VF_TRY(status, coil_stage(r));
    if (r->settings->info)
        return status;
    if (status == VF_OK)
        scan_warn_sampling(r->ctx, r->settings, &r->scan, &r->sampling);
    if (status == VF_OK)
        watch_stage(&r->watch, "device", 0);
    VF_TRY(status, plan_device(r->ctx, &r->planned, &r->scan, &r->sampling, r->device, sizeof r->device, &r->memory));
    if (status == VF_OK && !r->settings->dry_run)
        status = vf_check_threads(r->ctx, vf_context_device_count(r->ctx) + 1);
    if (status == VF_OK)
        forecast_make(r->ctx, r->settings, &r->scan, &r->sampling, vf_now() - r->began, &r->forecast);
    VF_TRY(status, kept_frames_begin(r->ctx, r->settings, &r->scan, r->output, forecast_total(&r->forecast), &r->kept));
    r->planned.wanted = r->kept.wanted;
    watch_hush(&r->watch);
    if (status == VF_OK && !r->settings->quiet)
        say_plan(r);
    if (status == VF_OK && r->settings->dry_run && !r->settings->quiet)
        status = kept_frames_plan_job(r->ctx, r->settings, &r->scan, &r->forecast);
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
    if (!r->settings->append_to_copy || stat(r->settings->input, &copied) != 0)
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
    if (status == VF_OK && s->save_q)
        status = program_check_place(r->ctx, s->save_q, 0, "");
    if (status == VF_OK && s->save_coils)
        status = program_check_place(r->ctx, s->save_coils, 0, "");
    return status;
}

vf_status mri_recon_run(vf_context *ctx, const recon_settings *settings)
{
    recon_state r = {.ctx = ctx,
                     .planned = *settings,
                     .began = vf_now(),
                     .watch.mode = settings->quiet ? VF_PROGRESS_OFF : settings->progress};
    vf_report *report = NULL;
    vf_status status = VF_OK;
    r.settings = &r.planned;
    r.command = program_command(settings->program);
    if (!r.command)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    if (settings->report && !settings->dry_run)
        status = vf_report_create(ctx, settings->report, &report);
    VF_TRY(status, prepare(&r));
    if (!settings->dry_run) {
        VF_TRY(status, check_places(&r));
        VF_TRY(status, reconstruct_stage(&r));
        VF_TRY(status, finish(&r, &report));
    }
    watch_end(&r.watch);
    status = kept_frames_end(&r.kept, status);
    vf_report_discard(&report);
    recon_image_free(&r.image);
    recon_image_free(&r.noise);
    free(r.whole);
    free(r.cropped);
    free(r.summary.effort);
    recon_image_free(&r.other);
    free(r.comparison);
    free(r.summary.frame_noise);
    scan_free(&r.scan);
    free(r.output);
    free(r.command);
    return status;
}
