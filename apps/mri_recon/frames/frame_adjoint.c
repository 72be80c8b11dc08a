/* F^H d of one frame, and the sizes of its images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame_images.h"
#include "frame_places.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

size_t frame_bytes(const recon_job *j)
{
    return (size_t)j->voxels * (size_t)j->channels * (size_t)j->most_sets * vf_dtype_bytes(j->type);
}

void copy_images(const recon_job *j, void *to, const void *from, size_t bytes)
{
    static const int64_t PIECE = 1 << 18;
    const int64_t pieces = ((int64_t)bytes + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, (int64_t)(bytes / 8)))
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t first = i * PIECE, left = (int64_t)bytes - first;
        memcpy((char *)to + first, (const char *)from + first, (size_t)(left < PIECE ? left : PIECE));
    }
}

int frame_sets(const recon_job *j, const scan_frame *frame)
{
    return j->has_maps ? j->place[frame->place].sets : 1;
}

host_maps frame_maps(const recon_job *j, const scan_frame *frame)
{
    const frame_place *place = &j->place[frame->place];
    return (host_maps){
        .place = frame->place, .sets = place->sets, .coils = j->scan->coils, .voxels = j->voxels, .data = place->maps};
}

/* Gridding makes the coils' images; combined by conj(s), the result is too bright by a factor of sum |s|^2. This
 * divides by the sum, or by a hundredth of its maximum if that is larger. */
static vf_status normalise(crew *c, const frame_place *place, int set, char *image)
{
    const recon_job *j = c->job;
    const double least = 0.01; /* relative to the largest sum |s|^2 */
    const double *sum = NULL;
    vf_reduced most = {0};
    vf_status status = crew_map_powers(c, place, &sum);
    sum += status == VF_OK ? set * j->voxels : 0;
    VF_TRY(status, vf_host_reduce(j->ctx, VF_REDUCE_MAX, VF_F64, j->voxels, sum, NULL, &most));
    const int64_t voxels = status == VF_OK && most.re > 0 ? j->voxels : 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 5 * voxels))
    for (int64_t n = 0; n < voxels; n++)
        if (j->type == VF_C128)
            ((double complex *)(void *)image)[n] /= fmax(sum[n], least * most.re);
        else
            ((float complex *)(void *)image)[n] /= (float)fmax(sum[n], least * most.re);
    return status;
}

vf_status crew_adjoint(crew *c, right_side *side, const scan_frame *frame, bool even, char *image)
{
    const recon_job *j = c->job;
    const host_maps maps = frame_maps(j, frame);
    int parts;
    const team_share *shares = right_side_shares(side, &parts);
    vf_status status = VF_OK;
    if (j->has_maps)
        status = device_maps_put(&c->team, parts, shares, j->type, &maps, &c->maps);
    VF_TRY(status, right_side_of_frame(side, frame, j->has_maps ? &c->maps : NULL, image));
    for (int s = 0; s < maps.sets && j->has_maps && even && status == VF_OK; s++)
        status = normalise(c, &j->place[frame->place], s, image + (size_t)(s * j->voxels) * vf_dtype_bytes(j->type));
    return status;
}
