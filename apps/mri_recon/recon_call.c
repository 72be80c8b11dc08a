/* The ways into mri_recon: the command line, and the functions of mri_recon.h. */
#include "mri_recon.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "job.h"
#include "recon_options.h"
#include "recon_state.h"
#include "scan/scan_memory.h"
#include "settings.h"
#include "voxfield/version.h"

static const char *const synopsis[] = {"[options] scan.h5", "[options] --output-dir FOLDER *.h5", NULL};

static vf_status run(vf_context *ctx, program *p)
{
    recon_settings *s = p->settings;
    vf_status status = settings_complete(ctx, s, program_given(p, "partial-fourier"), program_given(p, "prior"));
    s->program = p;
    bool idle = false;
    VF_TRY(status, job_begin(ctx, p, &s->pieces, &idle));
    if (job_is_other(&s->pieces)) {
        s->quiet = true;
        s->progress = VF_PROGRESS_OFF;
        s->report = NULL;
    }
    if (status == VF_OK && !idle)
        status = mri_recon_run(ctx, s);
    return job_end(ctx, p, &s->pieces, status);
}

static program program_with(recon_settings *settings)
{
    settings->solve.tolerance = -1;
    return (program){
        .name = "mri_recon",
        .about = "images from the raw data of an MRI scan, Cartesian or not",
        .synopsis = synopsis,
        .intro = "The scan is an ISMRMRD file, a plain HDF5 file with a group /scan, or k-space of BART (.cfl and "
                 ".hdr). The image solves (F^H W F + lambda P) image = F^H W data by conjugate gradients. F has the "
                 "trajectory, coils and field map. W has the weights of the samples. P is the prior.",
        .options = recon_options,
        .endings = recon_endings,
        .suffix = "_image",
        .input = "scan",
        .input_example = "scan.h5",
        .settings = settings,
        .input_at = offsetof(recon_settings, scan.input),
        .run = run,
    };
}

int mri_recon_main(int argc, char **argv)
{
    recon_settings settings = {0};
    program p = program_with(&settings);
    return program_main(&p, argc, argv);
}

/* ---- calls ---- */

typedef struct recon_call {
    program_call call;
    recon_settings settings;
} recon_call;

/* Reads the options as the program does. */
static vf_status begin(vf_context *ctx, recon_call *c, const char *input, const vf_option *options, vf_result *result)
{
    static const char *const places[] = {"noise-map", "save-coils", NULL}, *const refused[] = {"append-to-copy", NULL};
    static const call_rules rules = {places, refused};
    recon_settings *s = &c->settings;
    program *p = &c->call.program;
    *p = program_with(s);
    vf_status status = call_begin(ctx, &c->call, options, input, &rules);
    s->program = p;
    s->result = s->coils.result = result;
    s->output = in_memory;
    s->pieces.journal = JOURNAL_NO;
    VF_TRY(status, settings_complete(ctx, s, program_given(p, "partial-fourier"), program_given(p, "prior")));
    return status;
}

/* All of a scan that has a file must be empty. */
static vf_status check_input(vf_context *ctx, const vf_mri_scan *scan)
{
    const bool arrays = scan->data.data || scan->trajectory.data || scan->mask.data || scan->sensitivity.data ||
                        scan->field_map.data || scan->noise.data || scan->reference.data || scan->truth.data;
    if (scan->file && arrays)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: a scan is a file or arrays, not both", scan->file);
    return VF_OK;
}

vf_status vf_mri_reconstruct(vf_context *ctx, const vf_mri_scan *scan, const vf_option *options, vf_result **out)
{
    recon_call c = {0};
    *out = NULL;
    vf_status status = check_input(ctx, scan);
    VF_TRY(status, result_create(ctx, out));
    if (status != VF_OK)
        return status;
    c.settings.scan.arrays = scan->file ? NULL : scan;
    status = begin(ctx, &c, scan->file ? scan->file : scan_memory_name, options, *out);
    VF_TRY(status, mri_recon_run(ctx, &c.settings));
    call_end(ctx, &c.call);
    if (status != VF_OK) {
        vf_result_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- reading ---- */

enum { MOST_AXES = 4 };

/* An array of each frame or trajectory: one array of all if they have one shape, else NAME/0, NAME/1, ... */
typedef struct each {
    const char *name;
    vf_dtype type;
    int rank;
    int64_t dims[MOST_AXES];
    const void *data;
} each;

static vf_status add_each(vf_result *result, int count, each (*get)(const mri_scan *scan, int index),
                          const mri_scan *scan)
{
    const each first = get(scan, 0);
    bool same = true;
    for (int n = 0; n < count; n++) {
        const each one = get(scan, n);
        same = same && memcmp(one.dims, first.dims, sizeof one.dims) == 0 && (one.data != NULL) == (first.data != NULL);
    }
    vf_status status = VF_OK;
    int64_t dims[MOST_AXES + 1] = {count};
    memcpy(dims + 1, first.dims, sizeof first.dims);
    char *whole = NULL;
    size_t bytes = vf_dtype_bytes(first.type);
    for (int d = 0; d < first.rank; d++)
        bytes *= (size_t)first.dims[d];
    if (same && first.data)
        status = result_new(result, first.name, first.type, first.rank + 1, dims, &whole);
    for (int n = 0; status == VF_OK && n < count; n++) {
        const each one = get(scan, n);
        char name[48];
        if (whole) {
            memcpy(whole + (size_t)n * bytes, one.data, bytes);
        } else if (!same) {
            snprintf(name, sizeof name, "%s/%d", one.name, n);
            status = result_copy(result, name, one.type, one.rank, one.dims, one.data);
        }
    }
    return status;
}

static each get_data(const mri_scan *s, int f)
{
    return (each){"data", VF_C64, 2, {s->coils, s->trajectory[s->frame[f].trajectory].samples}, s->frame[f].data};
}

static each get_k(const mri_scan *s, int t)
{
    return (each){"trajectory", VF_F32, 2, {s->trajectory[t].samples, 3}, s->trajectory[t].k};
}

static each get_weights(const mri_scan *s, int t)
{
    return (each){"weights", VF_F32, 1, {s->trajectory[t].samples}, s->trajectory[t].weights};
}

static each get_time(const mri_scan *s, int t)
{
    return (each){"time", VF_F32, 1, {s->trajectory[t].samples}, s->trajectory[t].time};
}

static each get_phi(const mri_scan *s, int t)
{
    return (each){"phi", VF_C64, 1, {s->trajectory[t].samples}, s->trajectory[t].phi};
}

static vf_status add_frames(vf_result *result, const mri_scan *s)
{
    const int64_t dims[] = {s->frames, 4};
    int64_t *to = NULL;
    vf_status status = result_new(result, "frames", VF_I64, 2, dims, &to);
    for (int f = 0; status == VF_OK && f < s->frames; f++) {
        const scan_frame *one = &s->frame[f];
        const int64_t row[] = {one->trajectory, one->volume, one->slice, one->place};
        memcpy(to + 4 * (size_t)f, row, sizeof row);
    }
    VF_TRY(status, add_each(result, s->frames, get_data, s));
    VF_TRY(status, add_each(result, s->trajectories, get_k, s));
    VF_TRY(status, add_each(result, s->trajectories, get_weights, s));
    VF_TRY(status, add_each(result, s->trajectories, get_time, s));
    VF_TRY(status, add_each(result, s->trajectories, get_phi, s));
    return status;
}

static vf_status add_volumes(vf_result *result, const mri_scan *s)
{
    const int64_t *n = s->matrix, *crop = s->crop, three[] = {3};
    const int64_t maps[] = {s->own_maps ? s->places : 1, scan_map_sets(s), s->coils, n[2], n[1], n[0]};
    const int64_t field[] = {n[2], n[1], n[0]}, references[] = {s->references, n[2], n[1], n[0]};
    const int64_t truths[] = {s->truths, crop[2] * s->slices, crop[1], crop[0]}, noise[] = {s->coils, s->coils};
    vf_status status = result_copy(result, "matrix", VF_I64, 1, three, n);
    VF_TRY(status, result_copy(result, "crop", VF_I64, 1, three, crop));
    VF_TRY(status, result_copy(result, "fov_mm", VF_F64, 1, three, s->fov));
    VF_TRY(status, result_copy(result, "sensitivity", VF_C64, 6, maps, s->sensitivity));
    VF_TRY(status, result_copy(result, "field_map", VF_F32, 3, field, s->field_map));
    VF_TRY(status, result_copy(result, "reference", VF_F32, 4, references, s->reference));
    VF_TRY(status, result_copy(result, "truth", VF_F32, 4, truths, s->truth));
    VF_TRY(status, result_copy(result, "noise_covariance", VF_C128, 2, noise, s->noise));
    VF_TRY(status, result_add_text(result, "layout", s->layout));
    VF_TRY(status, result_add_text(result, "description", s->description));
    VF_TRY(status, result_add_text(result, "corrections", s->corrections));
    if (status == VF_OK && s->protocol)
        status = result_add_text(result, "header", s->protocol);
    return status;
}

vf_status vf_mri_read(vf_context *ctx, const char *file, const vf_option *options, vf_result **out)
{
    recon_call c = {0};
    recon_state *r = NULL;
    vf_status status = result_create(ctx, out);
    if (status != VF_OK)
        return status;
    status = begin(ctx, &c, file, options, *out);
    VF_TRY(status, recon_begin(ctx, &c.settings, &r));
    VF_TRY(status, read_corrected(r));
    VF_TRY(status, add_frames(*out, &r->scan));
    VF_TRY(status, add_volumes(*out, &r->scan));
    if (r) {
        watch_end(&r->watch);
        recon_end(r);
    }
    call_end(ctx, &c.call);
    if (status != VF_OK) {
        vf_result_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- writing ---- */

/* `image` as complex numbers; free(). */
static vf_status take_values(vf_context *ctx, const vf_view *image, int64_t count, float complex **out)
{
    const float *f = image->data;
    const double *d = image->data;
    float complex *to = *out = malloc((size_t)count * sizeof *to);
    if (!to)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for an image of %lld voxels", (long long)count);
    for (int64_t i = 0; i < count; i++)
        switch (image->type) {
        case VF_F32:
            to[i] = f[i];
            break;
        case VF_F64:
            to[i] = (float)d[i];
            break;
        case VF_C64:
            to[i] = f[2 * i] + f[2 * i + 1] * I;
            break;
        default:
            to[i] = (float)d[2 * i] + (float)d[2 * i + 1] * I;
        }
    return VF_OK;
}

vf_status vf_mri_write_image(vf_context *ctx, const vf_view *image, const double voxel_mm[3], const char *path)
{
    const bool real = image->type == VF_F32 || image->type == VF_F64;
    char created[PROGRAM_TIME_TEXT];
    if (!image->data || (image->rank != 3 && image->rank != 4) ||
        (!real && image->type != VF_C64 && image->type != VF_C128))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "%s: an image is an array of real or complex numbers, [z][y][x] or [frame][z][y][x]", path);
    recon_image all = {.frames = 1,
                       .places = 1,
                       .created = created,
                       .program = "mri_recon (Voxfield) " VF_VERSION,
                       .command = "",
                       .method = "",
                       .input = "",
                       .digest = ""};
    int64_t count = 1;
    for (int d = 0; d < image->rank; d++)
        if (image->dims[d] < 1 || image->dims[d] > INT32_MAX || __builtin_mul_overflow(count, image->dims[d], &count))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the image has an axis of an invalid length", path);
    for (int a = 0; a < 3; a++) {
        all.counts[a] = image->dims[image->rank - 1 - a];
        all.voxel[a] = voxel_mm[a];
        all.geometry.direction[a][a] = 1;
        if (!(voxel_mm[a] > 0 && voxel_mm[a] < 1e6))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: a voxel of %g mm along %c; expected a positive number", path,
                           voxel_mm[a], "xyz"[a]);
    }
    all.frames = image->rank == 4 ? (int)image->dims[0] : 1;
    program_time(created);
    vf_status status = image_check_path(ctx, path);
    VF_TRY(status, take_values(ctx, image, count, &all.data));
    VF_TRY(status, write_image(ctx, &all, path));
    recon_image_free(&all);
    return status;
}

vf_status vf_mri_write_result(vf_context *ctx, const vf_result *result, const char *path)
{
    const recon_state *r = result_kept(result, "mri_recon");
    if (!r)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: this result has no image of vf_mri_reconstruct", path);
    vf_status status = image_check_path(ctx, path);
    VF_TRY(status, write_image(ctx, &r->image, path));
    return status;
}
