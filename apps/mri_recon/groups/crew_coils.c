/* The maps of a crew's devices, and its vectors. */
#include <stdlib.h>

#include "frames/frame_images.h"
#include "solve/transfer.h"
#include "solve_group.h"

vf_status crew_make_vectors(crew *c, int d, int sets)
{
    const recon_job *j = c->job;
    device_solver *s = &c->solver[d];
    vf_status status = grow_array(vf_queue_device(s->queue), VF_SPACE_DEVICE, j->type, sets * j->voxels, &s->b);
    VF_TRY(status, grow_array(vf_queue_device(s->queue), VF_SPACE_DEVICE, j->type, sets * j->voxels, &s->x));
    return status;
}

vf_status crew_give_coils(crew *c, const scan_frame *frame)
{
    const recon_job *j = c->job;
    const host_maps maps = frame_maps(j, frame);
    const int64_t coils = maps.coils;
    const int parts = c->solvers < coils ? c->solvers : (int)coils;
    team_share *shares = calloc((size_t)parts, sizeof *shares);
    if (!shares)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < parts; d++) {
        const int64_t begin = team_cut(coils, 1, parts, d);
        shares[d] =
            (team_share){.first_coil = begin, .coils = team_cut(coils, 1, parts, d + 1) - begin, .voxels = j->voxels};
    }
    vf_status status = device_maps_put(&c->team, parts, shares, j->type, &maps, &c->maps);
    VF_TRY(status, crew_make_vectors(c, 0, maps.sets));
    if (status == VF_OK && (!c->solver->normal || c->maps_filled != c->maps.filled)) {
        vf_operator_free(c->solver->normal);
        status = system_create(&c->team, j->solve->precision, c->normal, &c->maps, &c->solver->normal);
        c->sets = maps.sets;
        c->maps_filled = c->maps.filled;
    }
    free(shares);
    return status;
}
