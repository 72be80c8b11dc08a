/* F^H W F of frames that are solved together. It is block-diagonal, and each device of a team computes some of the frames. */
#include <stdlib.h>

#include "frames/frame_images.h"
#include "kernel_operators.h"
#include "noise/noise_level.h"
#include "series.h"

static const scan_frame *frame_of(const series_normal *s, int f)
{
    return s->c->job->frames[s->group->first + f];
}

/* ---- as an operator ---- */

/* F^H W F of frame f of a part, times its weight. */
static vf_status of_frame(const series_normal *s, int d, int f, vf_operator **out)
{
    const series_part *p = &s->part[d];
    const recon_job *j = s->c->job;
    const double weight = frame_weight(j, frame_of(s, p->first + f));
    vf_operator *a = NULL;
    vf_status status =
        vf_normal_operator(vf_queue_device(p->queue), j->solve->precision, j->voxels, p->of[f],
                           j->has_maps ? j->scan->coils : 1, j->has_maps ? s->c->maps.array[d].data : NULL, &a);
    if (status != VF_OK || weight == 1) {
        *out = a;
        return status;
    }
    status = vf_operator_scale(weight, a, out);
    vf_operator_free(a);
    return status;
}

static void free_parts(int count, vf_operator_part *part)
{
    for (int i = 0; part && i < count; i++)
        vf_operator_free(part[i].a);
    free(part);
}

/* That of a part's frames. */
static vf_status of_part(const series_normal *s, int d, vf_operator **out)
{
    const series_part *p = &s->part[d];
    vf_operator_part *frame = calloc((size_t)p->count, sizeof *frame);
    vf_status status = frame ? VF_OK : vf_fail(s->c->job->ctx, VF_ERR_MEMORY, "no memory");
    for (int f = 0; f < p->count && status == VF_OK; f++)
        status = of_frame(s, d, f, &frame[f].a);
    VF_TRY(status, vf_operator_blocks(p->count, frame, out));
    free_parts(p->count, frame);
    return status;
}

vf_status series_normal_operator(const series_normal *s, vf_operator **out)
{
    vf_operator_part *part = calloc((size_t)s->parts, sizeof *part);
    vf_status status = part ? VF_OK : vf_fail(s->c->job->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < s->parts && status == VF_OK; d++) {
        part[d].queue = d > 0 ? s->part[d].queue : NULL;
        status = of_part(s, d, &part[d].a);
    }
    VF_TRY(status, vf_operator_blocks(s->parts, part, out));
    free_parts(s->parts, part);
    return status;
}

const vf_normal *series_normal_of(const series_normal *s, int f)
{
    int d = 0;
    while (f >= s->part[d].first + s->part[d].count)
        d++;
    return s->part[d].of[f - s->part[d].first];
}

/* ---- making it ---- */

/* All frames have one trajectory: the devices share the work on its Q, if there is none yet. */
static vf_status share_one(series_normal *s)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    const int number = frame_of(s, 0)->trajectory;
    vf_normal *made = calloc((size_t)s->parts, sizeof *made);
    vf_status status = made ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK && !c->shared)
        status =
            normal_matrix_create(&c->team, j->solve, j->scan, &j->scan->trajectory[number], c->watch, s->parts, made);
    for (int d = 0; d < s->parts && status == VF_OK; d++) {
        series_part *p = &s->part[d];
        *p->normal = made[d];
        p->normals = c->shared ? 0 : 1;
        for (int f = 0; f < p->count; f++)
            p->of[f] = c->shared ? &c->shared[d] : p->normal;
    }
    free(made);
    return status;
}

/* Makes those of a device's frames. */
static vf_status make_own(void *user, int d)
{
    series_normal *s = user;
    series_part *p = &s->part[d];
    const recon_job *j = s->c->job;
    const device_team alone = {.ctx = j->ctx, .first = s->c->team.first + d, .count = 1, .queue = &p->queue};
    vf_status status = VF_OK;
    for (int f = 0; f < p->count && status == VF_OK; f++) {
        const int trajectory = frame_of(s, p->first + f)->trajectory;
        int before = 0;
        while (frame_of(s, p->first + before)->trajectory != trajectory)
            before++;
        p->of[f] = before == f ? &p->normal[p->normals] : p->of[before];
        if (before == f)
            status = normal_matrix_create(&alone, j->solve, j->scan, &j->scan->trajectory[trajectory],
                                          d == 0 ? s->c->watch : NULL, 1, &p->normal[p->normals]);
        if (before == f && status == VF_OK)
            p->normals++;
    }
    return status;
}

static bool one_trajectory(const series_normal *s)
{
    bool one = true;
    for (int f = 1; f < s->group->count; f++)
        one &= frame_of(s, f)->trajectory == frame_of(s, 0)->trajectory;
    return one;
}

static vf_status put_maps(series_normal *s)
{
    const recon_job *j = s->c->job;
    const host_maps maps = frame_maps(j, frame_of(s, 0));
    team_share *all = malloc((size_t)s->parts * sizeof *all);
    if (!all)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < s->parts; d++)
        all[d] = (team_share){.coils = j->scan->coils, .voxels = j->voxels};
    const vf_status status = device_maps_put(&s->c->team, s->parts, all, j->type, &maps, &s->c->maps);
    free(all);
    return status;
}

static vf_status make_part(series_normal *s, int d)
{
    const recon_job *j = s->c->job;
    series_part *p = &s->part[d];
    const int64_t first = team_cut(s->group->count, 1, s->parts, d),
                  end = team_cut(s->group->count, 1, s->parts, d + 1);
    *p = (series_part){.queue = s->c->team.queue[d], .first = (int)first, .count = (int)(end - first)};
    p->normal = calloc((size_t)p->count, sizeof *p->normal);
    p->of = calloc((size_t)p->count, sizeof *p->of);
    vf_status status = p->normal && p->of ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    return status;
}

vf_status series_normal_create(crew *c, const frame_group *g, series_normal *out)
{
    const int parts = g->count < c->team.count ? g->count : c->team.count;
    *out = (series_normal){.c = c, .group = g, .parts = parts, .part = calloc((size_t)parts, sizeof *out->part)};
    vf_status status = out->part ? VF_OK : vf_fail(c->job->ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK && c->job->has_maps)
        status = put_maps(out);
    for (int d = 0; d < parts && status == VF_OK; d++)
        status = make_part(out, d);
    VF_TRY(status, one_trajectory(out) ? share_one(out) : team_run(&c->team, parts, make_own, out));
    return status;
}

void series_normal_free(series_normal *s)
{
    for (int d = 0; s->part && d < s->parts; d++) {
        series_part *p = &s->part[d];
        for (int i = 0; i < p->normals; i++)
            vf_normal_free(&p->normal[i]);
        free(p->normal);
        free(p->of);
    }
    free(s->part);
    *s = (series_normal){0};
}
