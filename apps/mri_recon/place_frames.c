/* Where the images of frames go: their middle into the volumes, and to the pieces that are kept. */
#include <stdlib.h>
#include <string.h>

#include "recon_state.h"
#include "voxfield/version.h"
#include "voxfield/workpool.h"

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

void place_kept(void *user, const scan_frame *frame, const float complex *cropped)
{
    recon_state *r = user;
    place_in_volume(r, frame, cropped, &r->image, frame->volume);
}

void place_frame(void *user, const scan_frame *frame, const float complex *whole)
{
    recon_state *r = user;
    crop_frame(&r->scan, whole, r->cropped);
    if (r->image.data)
        place_kept(r, frame, r->cropped);
    kept_frames_add(&r->kept, frame, &r->summary, r->devices, r->cropped);
}

void place_noise(void *user, const scan_frame *frame, const float *deviation, const float *g)
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
    if (!r->settings->noise.map)
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

recon_image image_of_scan(const mri_scan *raw)
{
    recon_image image = {.frames = raw->volumes,
                         .counts = {raw->crop[0], raw->crop[1], raw->crop[2] * raw->slices},
                         .geometry = raw->geometry,
                         .places = scan_stacks(raw),
                         .place_geometry = raw->place_geometry};
    for (int a = 0; a < 3; a++)
        image.voxel[a] = raw->fov[a] / (double)raw->matrix[a];
    return image;
}

vf_status make_images(recon_state *r)
{
    const mri_scan *raw = &r->scan;
    const bool part = kept_is_part(&r->kept.pieces);
    recon_image *image = &r->image;
    *image = image_of_scan(raw);
    image->program = "mri_recon (Voxfield) " VF_VERSION;
    image->command = r->command;
    image->created = r->created;
    image->method = r->method;
    image->input = r->settings->scan.input;
    image->digest = raw->digest;
    image->protocol = raw->protocol;
    image->copy_of = r->settings->append_to_copy ? r->settings->scan.input : NULL;
    image->sources = raw->frame;
    image->source_count = raw->frames;
    image->group = raw->group;
    const size_t volume = (size_t)(image->counts[0] * image->counts[1] * image->counts[2]);
    r->cropped = malloc((size_t)(raw->crop[0] * raw->crop[1] * raw->crop[2]) * sizeof *r->cropped);
    if (!part) {
        image->data = calloc((size_t)raw->volumes * volume, sizeof *image->data);
        vf_large_pages(image->data, (size_t)raw->volumes * volume * sizeof *image->data);
    }
    vf_status status = VF_OK;
    if (!r->cropped || (!image->data && !part))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %d volumes of %zu voxels", raw->volumes, volume);
    return status == VF_OK ? make_noise(r) : status;
}
