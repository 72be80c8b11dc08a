/* The maps of a crew's devices, and its vectors. */
#include <stdlib.h>

#include "coil_ranks.h"

vf_status crew_make_vectors(crew *c, int d, int sets)
{
    const recon_job *j = c->job;
    device_solver *s = &c->solver[d];
    const bool first = d == 0 || j->channels > 1;
    s->part.sets = sets;
    vf_status status = system_part_create(first ? &s->part : &c->solver->part, j->type, j->voxels, &s->part);
    if (status == VF_OK && first)
        status = grow_array(vf_queue_device(s->part.queue), VF_SPACE_DEVICE, j->type, sets * j->voxels, &s->b);
    if (status == VF_OK && first)
        status = grow_array(vf_queue_device(s->part.queue), VF_SPACE_DEVICE, j->type, sets * j->voxels, &s->x);
    return status;
}

vf_status crew_put_coils(crew *c, const host_maps *maps, int64_t first, int64_t behind)
{
    const recon_job *j = c->job;
    const int64_t coils = behind - first;
    const int parts = c->solvers < coils ? c->solvers : (int)coils;
    team_share *shares = calloc((size_t)parts, sizeof *shares);
    if (!shares)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < parts; d++) {
        const int64_t begin = team_cut(coils, 1, parts, d);
        shares[d] = (team_share){
            .first_coil = first + begin, .coils = team_cut(coils, 1, parts, d + 1) - begin, .voxels = j->voxels};
    }
    vf_status status = device_maps_put(&c->team, parts, shares, j->type, maps, &c->maps);
    c->parts = parts;
    for (int d = 0; d < parts && status == VF_OK; d++) {
        status = crew_make_vectors(c, d, maps->sets);
        c->solver[d].part.coils = (int)shares[d].coils;
        c->solver[d].part.maps = &c->maps.array[d];
    }
    free(shares);
    return status;
}

vf_status crew_give_coils(crew *c, const scan_frame *frame)
{
    const host_maps maps = frame_maps(c->job, frame);
    return c->others ? coil_ranks_give(c, frame) : crew_put_coils(c, &maps, 0, maps.coils);
}

bool crew_takes_over(crew *c, const scan_frame *frame, vf_status *status)
{
    if (!coil_ranks_lost(c) || vf_cancelled(c->job->ctx))
        return false;
    *status = crew_give_coils(c, frame);
    return *status == VF_OK;
}
