/* F^H W F of the frames that a crew solves for together, and the vectors of their problem. With maps, the devices solve one
 * system together, and each takes some coils. Without maps, each coil is a system of its own, and the devices share the
 * systems. Of a series, each takes some frames. */
#include <stdlib.h>

#include "frames/frame_images.h"
#include "noise/noise_level.h"
#include "solve/transfer.h"
#include "solve_group.h"

int crew_normals(const recon_job *j, int devices)
{
    const int most = j->solve->method == RECON_CG ? j->scan->coils : 0;
    return most < devices ? most : devices;
}

void crew_free_solvers(crew *c)
{
    for (int d = 0; c->solver && d < c->solvers; d++) {
        device_solver *s = &c->solver[d];
        vf_array_free(&s->b);
        vf_array_free(&s->x);
        vf_operator_free(s->normal);
        vf_prior_free(&s->known);
        vf_penalties_free(s->sparse.penalties);
        vf_circulant_chain_destroy(s->sparse.chain);
        vf_circulant_destroy(s->sparse.inverse);
        vf_cosine_destroy(s->sparse.mirrored);
        vf_circulant_destroy(s->sparse.held);
        vf_array_free(&s->sparse.unseen);
        vf_array_free(&s->sparse.seen);
        vf_array_free(&s->sparse.dark);
        vf_array_free(&s->sparse.uneven);
    }
    for (int d = 0; c->share && d < c->shares; d++) {
        normal_share *s = &c->share[d];
        for (int t = 0; t < s->trajectories; t++)
            vf_normal_free(&s->made[t]);
        free(s->made);
        free(s->of);
        free(s->weight);
    }
    c->has_reference = false;
    free(c->solver);
    free(c->share);
    c->solver = NULL;
    c->share = NULL;
    c->solvers = c->shares = 0;
}

/* ---- F^H W F of each frame ---- */

static vf_status make_share(crew *c, const frame_group *g, int d)
{
    const recon_job *j = c->job;
    normal_share *s = &c->share[d];
    const int first = c->request->series ? (int)team_cut(g->count, 1, c->shares, d) : 0;
    const int end = c->request->series ? (int)team_cut(g->count, 1, c->shares, d + 1) : 1;
    const size_t frames = (size_t)(end - first);
    *s = (normal_share){.queue = c->team.queue[d],
                        .first = first,
                        .frames = end - first,
                        .of = calloc(frames, sizeof *s->of),
                        .weight = calloc(frames, sizeof *s->weight),
                        .made = calloc(frames, sizeof *s->made)};
    if (!s->of || !s->weight || !s->made)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int f = 0; f < s->frames; f++)
        s->weight[f] = frame_weight(c, j->frames[g->first + first + f]);
    return VF_OK;
}

/* All frames have one trajectory: the devices share the work on its Q, if there is none yet. */
static vf_status share_one(crew *c, int trajectory)
{
    const recon_job *j = c->job;
    vf_normal *made = calloc((size_t)c->shares, sizeof *made);
    vf_status status = made ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK && !c->shared)
        status = normal_matrix_create(&c->team, j->solve, j->scan, &j->scan->trajectory[trajectory], c->watch,
                                      c->shares, made);
    for (int d = 0; d < c->shares && status == VF_OK; d++) {
        normal_share *s = &c->share[d];
        *s->made = made[d];
        s->trajectories = c->shared ? 0 : 1;
        for (int f = 0; f < s->frames; f++)
            s->of[f] = c->shared ? &c->shared[d] : s->made;
    }
    free(made);
    return status;
}

typedef struct making {
    crew *crew;
    const frame_group *group;
} making;

/* Makes those of a device's frames. */
static vf_status make_own(void *user, int d)
{
    const making *m = user;
    const recon_job *j = m->crew->job;
    normal_share *s = &m->crew->share[d];
    const scan_frame *const *frame = j->frames + m->group->first + s->first;
    const device_team alone = {.ctx = j->ctx, .first = m->crew->team.first + d, .count = 1, .queue = &s->queue};
    vf_status status = VF_OK;
    for (int f = 0; f < s->frames && status == VF_OK; f++) {
        const int trajectory = frame[f]->trajectory;
        int before = 0;
        while (frame[before]->trajectory != trajectory)
            before++;
        s->of[f] = before == f ? &s->made[s->trajectories] : s->of[before];
        if (before == f)
            status = normal_matrix_create(&alone, j->solve, j->scan, &j->scan->trajectory[trajectory],
                                          d == 0 ? m->crew->watch : NULL, 1, &s->made[s->trajectories]);
        if (before == f && status == VF_OK)
            s->trajectories++;
    }
    return status;
}

static bool one_trajectory(const recon_job *j, const frame_group *g)
{
    bool one = true;
    for (int f = 1; f < g->count; f++)
        one &= j->frames[g->first + f]->trajectory == j->frames[g->first]->trajectory;
    return one;
}

static vf_status make_prior(const recon_job *j, vf_queue *queue, vf_prior *out)
{
    const solve_settings *settings = j->solve;
    const mri_scan *raw = j->scan;
    const vf_prior_options options = {.kind = reference_prior_kind(settings),
                                      .precision = settings->precision,
                                      .counts = {raw->matrix[0], raw->matrix[1], raw->matrix[2]},
                                      .circulant = settings->lambda_auto};
    return vf_prior_create(queue, &options, out);
}

vf_status crew_prepare(crew *c, const frame_group *g)
{
    const recon_job *j = c->job;
    const bool series = c->request->series;
    making m = {c, g};
    c->shares = !series ? crew_normals(j, c->team.count) : g->count < c->team.count ? g->count : c->team.count;
    c->solvers = j->has_maps || series ? 1 : c->shares;
    c->share = calloc((size_t)c->shares, sizeof *c->share);
    c->solver = calloc((size_t)c->solvers, sizeof *c->solver);
    vf_status status = c->share && c->solver ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < c->shares && status == VF_OK; d++)
        status = make_share(c, g, d);
    VF_TRY(status,
           !series || one_trajectory(j, g) ? share_one(c, g->trajectory) : team_run(&c->team, c->shares, make_own, &m));
    if (status == VF_OK) {
        const normal_share *last = &c->share[series ? c->shares - 1 : 0];
        c->diagonal = last->of[last->frames - 1]->diagonal;
        c->trajectory = g->trajectory;
        watch_stage(c->watch, "solve", 0);
    }
    for (int d = 0; d < c->solvers && status == VF_OK; d++) {
        device_solver *s = &c->solver[d];
        s->queue = c->team.queue[d];
        s->sparse = (sparse_problem){.solver = j->solve->solver, .voxels = j->voxels};
        status = series ? VF_OK : make_prior(j, s->queue, &s->known); /* quadratic priors do not couple frames */
    }
    if (status != VF_OK)
        crew_free_solvers(c);
    return status;
}

/* ---- of some frames of one place ---- */

/* Copies the place's maps to the devices: all coils for a series, else each device's share. */
static vf_status put_maps(crew *c, const scan_frame *frame)
{
    const recon_job *j = c->job;
    const host_maps maps = frame_maps(j, frame);
    team_share *shares = calloc((size_t)c->shares, sizeof *shares);
    if (!shares)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < c->shares; d++) {
        const int64_t begin = c->request->series ? 0 : team_cut(maps.coils, 1, c->shares, d);
        const int64_t end = c->request->series ? maps.coils : team_cut(maps.coils, 1, c->shares, d + 1);
        shares[d] = (team_share){.first_coil = begin, .coils = end - begin, .voxels = j->voxels};
    }
    const vf_status status = device_maps_put(&c->team, c->shares, shares, j->type, &maps, &c->maps);
    free(shares);
    return status;
}

vf_status crew_give_frames(crew *c, const frame_group *g)
{
    const recon_job *j = c->job;
    const scan_frame *first = j->frames[g->first];
    const int images = g->count * frame_sets(j, first);
    vf_status status = j->has_maps ? put_maps(c, first) : VF_OK;
    for (int d = 0; d < c->solvers && status == VF_OK; d++) {
        device_solver *s = &c->solver[d];
        vf_device *device = vf_queue_device(s->queue);
        status = grow_array(device, VF_SPACE_DEVICE, j->type, images * j->voxels, &s->b);
        VF_TRY(status, grow_array(device, VF_SPACE_DEVICE, j->type, images * j->voxels, &s->x));
        if (status != VF_OK || (s->normal && c->maps_filled == c->maps.filled))
            continue;
        vf_operator_free(s->normal);
        s->normal = NULL;
        status = normal_operator_create(c->shares / c->solvers, &c->share[d], c->request->series, j->solve->precision,
                                        j->voxels, j->has_maps ? &c->maps : NULL, &s->normal);
    }
    c->images = images;
    c->maps_filled = c->maps.filled;
    return status;
}
