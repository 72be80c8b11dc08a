/* What a call of mri_recon keeps of its run. */
#include <stdlib.h>
#include <string.h>

#include "images/recon_image.h"
#include "recon_state.h"
#include "result.h"

/* Real parts of the volumes [first, first + count) of the noise image. */
static vf_status keep_noise(const recon_state *r, const char *name, int first, int count)
{
    const recon_image *map = &r->noise;
    const int64_t dims[] = {count, map->counts[2], map->counts[1], map->counts[0]},
                  volume = dims[1] * dims[2] * dims[3];
    float *to = NULL;
    const vf_status status = result_new(r->settings->result, name, VF_F32, 4, dims, &to);
    for (int64_t i = 0; status == VF_OK && i < count * volume; i++)
        to[i] = crealf(map->data[first * volume + i]);
    return status;
}

vf_status keep_images(recon_state *r)
{
    recon_image *image = &r->image;
    vf_result *result = r->settings->result;
    const int64_t dims[] = {image->frames, image->counts[2], image->counts[1], image->counts[0]}, three[] = {3};
    const int half = r->noise.frames / 2;
    vf_status status = image_check_values(r->ctx, image, r->output);
    if (status == VF_OK) {
        r->image_kept = true;
        status = result_add(result, "image", VF_C64, 4, dims, image->data);
    }
    VF_TRY(status, result_copy(result, "voxel_mm", VF_F64, 1, three, image->voxel));
    if (status == VF_OK && r->noise.data) {
        status = keep_noise(r, "noise", 0, half);
        VF_TRY(status, keep_noise(r, "g_factor", half, half));
    }
    return status;
}

static void release(void *kept)
{
    recon_state *r = kept;
    free((char *)r->image.input);
    recon_end(r);
}

void keep_run(recon_state *r)
{
    mri_scan *raw = &r->scan;
    for (int f = 0; f < raw->frames + raw->calibrations; f++) {
        free(raw->frame[f].data);
        raw->frame[f].data = NULL;
    }
    for (int t = 0; t < raw->trajectories + raw->calibrations; t++)
        scan_free_trajectory(&raw->trajectory[t]);
    free(raw->sensitivity);
    raw->sensitivity = NULL;
    r->image.input = strdup(r->settings->scan.input);
    if (!r->image.input)
        r->image.input = strdup("");
    result_keep(r->settings->result, "mri_recon", r, release);
}
