/* --page: the image and what belongs to it, as a page for a browser. libcore/src/page has the page, docs/pages.md the rules. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/image_files.h"
#include "recon_state.h"
#include "voxfield/page.h"

/* Bytes: a page has at most 12 MB, with its scripts and figures. The magnitude gets most of what is there, the others
 * equal parts of the rest. */
static const int64_t MOST_BYTES = 11600000;
static const double OF_MAGNITUDE = 0.75;
enum { PREVIEW = 320 };

/* What can be chosen to be shown. */
typedef struct layer {
    const char *name, *title, *frame_name, *colors;
    bool here;
    vf_page_kind kind;
    int64_t frames;
    int frames_of_a_place; /* one after another */
    vf_status (*plane)(void *user, int64_t frame, int64_t z, float *out);
    double low, high; /* the window */
} layer;
enum { MAGNITUDE, PHASE, DIFFERENCE, NOISE, G_FACTOR, COILS, COIL_PHASES, LAYERS };

/* ---- planes ---- */

static int64_t plane_voxels(const recon_image *image)
{
    return image->counts[0] * image->counts[1];
}

static const float complex *plane_of(const recon_image *image, int64_t frame, int64_t z)
{
    return image->data + (frame * image->counts[2] + z) * plane_voxels(image);
}

static vf_status magnitude_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const recon_state *r = user;
    image_magnitude(plane_of(&r->image, frame, z), plane_voxels(&r->image), out);
    return VF_OK;
}

static vf_status phase_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const recon_state *r = user;
    memcpy(out, plane_of(&r->image, frame, z), (size_t)plane_voxels(&r->image) * sizeof(float complex));
    return VF_OK;
}

static vf_status noise_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const recon_state *r = user;
    image_magnitude(plane_of(&r->noise, frame, z), plane_voxels(&r->noise), out);
    return VF_OK;
}

static vf_status g_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const recon_state *r = user;
    return noise_plane(user, frame + r->noise.frames / 2, z, out);
}

/* |I| - |I0|, or s |I| - |I0| if another scale fits better. */
static vf_status difference_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const recon_state *r = user;
    const image_comparison *c = &r->comparison[frame];
    const float scale = comparison_scale_matters(c) ? (float)c->scale : 1;
    const int64_t voxels = plane_voxels(&r->image), first = (frame * r->image.counts[2] + z) * voxels;
    image_magnitude(r->image.data + first, voxels, out);
    for (int64_t i = 0; i < voxels; i++)
        out[i] = scale * out[i] - (r->other.data ? cabsf(r->other.data[first + i]) : r->scan.truth[first + i]);
    return VF_OK;
}

/* A line of a coil's map, of the image's voxels: the middle of the matrix. */
static const float complex *coil_line(const recon_state *r, int64_t frame, int64_t y, int64_t z)
{
    const int64_t *n = r->scan.matrix, *crop = r->scan.crop;
    const int64_t slice = z / crop[2], place = frame / r->scan.coils * r->scan.slices + slice;
    const int64_t row = y + n[1] / 2 - crop[1] / 2, layer_of_map = z % crop[2] + n[2] / 2 - crop[2] / 2;
    const int64_t map = place * r->scan.coils + frame % r->scan.coils;
    return r->summary.maps + ((map * n[2] + layer_of_map) * n[1] + row) * n[0] + n[0] / 2 - crop[0] / 2;
}

static vf_status coil_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const recon_state *r = user;
    for (int64_t y = 0; y < r->image.counts[1]; y++)
        image_magnitude(coil_line(r, frame, y, z), r->image.counts[0], out + y * r->image.counts[0]);
    return VF_OK;
}

static vf_status coil_phase_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const recon_state *r = user;
    for (int64_t y = 0; y < r->image.counts[1]; y++)
        memcpy(out + 2 * y * r->image.counts[0], coil_line(r, frame, y, z),
               (size_t)r->image.counts[0] * sizeof(float complex));
    return VF_OK;
}

/* ---- layers ---- */

static bool has_phase(const recon_image *image)
{
    for (int64_t i = 0; i < image->frames * image_volume(image); i++)
        if (cimagf(image->data[i]) != 0 || crealf(image->data[i]) < 0)
            return true;
    return false;
}

/* The root mean square and the largest magnitude of a layer's values. */
static vf_status measure(recon_state *r, const layer *of, double *rms, double *most)
{
    const int64_t voxels = plane_voxels(&r->image), planes = of->frames * r->image.counts[2];
    float *values = malloc((size_t)voxels * sizeof *values);
    vf_status status = values ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a plane of the page");
    double sum = 0;
    *most = 0;
    for (int64_t n = 0; n < planes && status == VF_OK; n++) {
        status = of->plane(r, n / r->image.counts[2], n % r->image.counts[2], values);
        for (int64_t i = 0; i < voxels && status == VF_OK; i++) {
            sum += (double)values[i] * values[i];
            *most = fmax(*most, fabs((double)values[i]));
        }
    }
    *rms = sqrt(sum / (double)(planes * voxels));
    free(values);
    return status;
}

static vf_status choose_windows(recon_state *r, layer *all)
{
    double rms = 0, most = 0;
    vf_status status = image_white(r->ctx, &r->image, 0, r->image.frames, &all[MAGNITUDE].high);
    if (status == VF_OK && all[DIFFERENCE].here)
        status = measure(r, &all[DIFFERENCE], &rms, &most);
    all[DIFFERENCE].high = fmin(4 * rms, most);
    all[DIFFERENCE].low = -all[DIFFERENCE].high;
    if (status == VF_OK && all[NOISE].here)
        status = image_white(r->ctx, &r->noise, 0, r->noise.frames / 2, &all[NOISE].high);
    if (status == VF_OK && all[NOISE].here)
        status = image_white(r->ctx, &r->noise, r->noise.frames / 2, r->noise.frames / 2, &all[G_FACTOR].high);
    if (status == VF_OK && all[COILS].here)
        status = measure(r, &all[COILS], &rms, &all[COILS].high);
    return status;
}

static vf_status list_layers(recon_state *r, layer *all)
{
    const double pi = 3.14159265358979;
    const bool noise = r->noise.data, coils = r->summary.maps;
    const int64_t stacks = scan_stacks(&r->scan), maps = stacks * r->scan.coils;
    const bool scaled = r->compared > 0 && comparison_scale_matters(&r->comparison[0]);
    const layer list[LAYERS] = {
        {"magnitude", "magnitude", "frame", "gray", true, VF_PAGE_VALUES, r->image.frames, 1, magnitude_plane, 0, 1},
        {"phase", "phase (radians)", "frame", "angle", has_phase(&r->image), VF_PAGE_ANGLES, r->image.frames, 1,
         phase_plane, -pi, pi},
        {"difference", scaled ? "difference (scaled to the reference)" : "difference", "frame", "signed",
         r->compared > 0, VF_PAGE_VALUES, r->compared, 1, difference_plane, 0, 0},
        {"noise", "noise (standard deviation)", "stack", "gray", noise, VF_PAGE_VALUES, stacks, 1, noise_plane, 0, 1},
        {"g_factor", "g-factor", "stack", "gray", noise, VF_PAGE_VALUES, stacks, 1, g_plane, 0, 1},
        {"coils", "coil maps, magnitude", "coil", "gray", coils, VF_PAGE_VALUES, maps, r->scan.coils, coil_plane, 0, 1},
        {"coil_phases", "coil maps, phase (radians)", "coil", "angle", coils, VF_PAGE_ANGLES, maps, r->scan.coils,
         coil_phase_plane, -pi, pi}};
    memcpy(all, list, sizeof list);
    return choose_windows(r, all);
}

/* Writes the layers that are there; those that stay too large are not there any more. */
static vf_status write_layers(recon_state *r, vf_page *page, layer *all)
{
    const recon_image *image = &r->image;
    int left = 0;
    vf_status status = VF_OK;
    for (int n = 0; n < LAYERS; n++)
        left += all[n].here;
    for (int n = 0; n < LAYERS && status == VF_OK; n++) {
        const layer *l = &all[n];
        vf_page_kept kept;
        if (!l->here)
            continue;
        const double rest = (double)(MOST_BYTES - vf_page_bytes(page));
        const double share = left == 1 ? 1 : n == MAGNITUDE ? OF_MAGNITUDE : 1.0 / left;
        vf_page_volume volume = {.name = l->name,
                                 .kind = l->kind,
                                 .frames = l->frames,
                                 .plane = l->plane,
                                 .user = r,
                                 .most_bits = n == MAGNITUDE ? 12 : 8,
                                 .budget = (int64_t)(share * rest)};
        memcpy(volume.counts, image->counts, sizeof volume.counts);
        memcpy(volume.spacing, image->voxel, sizeof volume.spacing);
        status = vf_page_add_volume(page, &volume, &kept);
        all[n].here = kept.bits > 0;
        left--;
    }
    return status;
}

/* ---- the page's object ---- */

static void list_geometry(const recon_state *r, vf_report *json)
{
    const recon_image *image = &r->image;
    const bool stack = image->geometry.slice_step != 0;
    const double spacing[3] = {image->voxel[0], image->voxel[1],
                               stack ? fabs(image->geometry.slice_step) : image->voxel[2]};
    vf_report_integers(json, "counts", image->counts, 3);
    vf_report_numbers(json, "spacing", spacing, 3);
    double *affines = image->geometry.known ? malloc((size_t)image->places * sizeof(double[3][4])) : NULL;
    if (!affines)
        return;
    for (int p = 0; p < image->places; p++) {
        double affine[3][4];
        image_affine(image, p, affine);
        memcpy(affines + 12 * (size_t)p, affine, sizeof affine);
    }
    vf_report_numbers(json, "affines", affines, 12 * image->places);
    free(affines);
}

static vf_status write_object(const recon_state *r, vf_page *page, const layer *all)
{
    vf_report *json = vf_page_json(page);
    vf_report_begin(json, "images");
    list_geometry(r, json);
    vf_report_begin(json, "layers");
    for (int n = 0; n < LAYERS; n++) {
        const double window[2] = {all[n].low, all[n].high};
        if (!all[n].here)
            continue;
        vf_report_begin(json, all[n].name);
        vf_report_text(json, "title", all[n].title);
        vf_report_integer(json, "frames", all[n].frames);
        vf_report_text(json, "frame_name", all[n].frame_name);
        vf_report_integer(json, "frames_of_a_place", all[n].frames_of_a_place);
        vf_report_text(json, "colors", all[n].colors);
        vf_report_numbers(json, "window", window, 2);
        vf_report_end(json);
    }
    vf_report_end(json);
    vf_report_end(json);
    vf_report_begin(json, "plots");
    if (r->summary.curve.count > 1) {
        vf_report_begin(json, "convergence");
        vf_report_text(json, "title", "relative residual of the first frame");
        vf_report_text(json, "x", "iteration");
        vf_report_numbers(json, "values", r->summary.curve.value, r->summary.curve.count);
        vf_report_end(json);
    }
    vf_report_end(json);
    vf_report_begin(json, "run");
    return json ? recon_facts_of_run(r, json) : VF_OK;
}

vf_status page_stage(recon_state *r)
{
    const recon_image *image = &r->image;
    const char *input = r->settings->scan.input, *slash = strrchr(input, '/');
    layer all[LAYERS];
    vf_page *page = NULL;
    vf_canvas *preview = NULL;
    vf_page_head head = {VF_PAGE_IMAGES, slash ? slash + 1 : input, image->program, NULL,
                         "the middle slice of the image's magnitude"};
    vf_status status = draw_middle_slice(r->ctx, image, PREVIEW, &preview);
    head.preview = preview;
    VF_TRY(status, list_layers(r, all));
    VF_TRY(status, vf_page_open(r->ctx, r->settings->page, &head, &page));
    VF_TRY(status, write_layers(r, page, all));
    VF_TRY(status, write_object(r, page, all));
    VF_TRY(status, vf_page_commit(&page));
    vf_page_discard(&page);
    vf_canvas_destroy(preview);
    return status;
}
