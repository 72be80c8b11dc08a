/* F^H W F of frames that are solved together. It is block-diagonal, so each device of a team computes some of the
 * frames: the first sends it their images and gets the results back. */
#include <stdlib.h>

#include "frame_group.h"
#include "voxfield/vector.h"

static const scan_frame *frame_of(const series_normal *s, int f)
{
    return s->c->job->frames[s->group->first + f];
}

/* ---- applying it ---- */

/* The images of a part in a vector on the first device. */
static vf_array images_of(const series_normal *s, const series_part *p, const void *vector)
{
    const recon_job *j = s->c->job;
    vf_device *device = vf_queue_device(s->part->queue);
    return (vf_array){.data = vf_offset(device, vector, j->type, p->first * j->voxels),
                      .count = p->count * j->voxels,
                      .type = j->type,
                      .space = VF_SPACE_DEVICE,
                      .device = device};
}

static vf_status apply_part(const series_normal *s, int d, const vf_array *x, const vf_array *y)
{
    const series_part *p = &s->part[d];
    const recon_job *j = s->c->job;
    const int coils = j->has_maps ? j->scan->coils : 1;
    const void *maps = j->has_maps ? s->c->maps.array[d].data : NULL;
    vf_status status = VF_OK;
    for (int f = 0; f < p->count && status == VF_OK; f++) {
        const double weight = frame_weight(j, frame_of(s, p->first + f));
        void *to = vf_array_at(y, f * j->voxels);
        status = vf_normal_apply(p->of[f], p->queue, coils, maps, vf_array_at(x, f * j->voxels), to);
        if (status == VF_OK && weight != 1)
            status = vf_vector_axpby(p->queue, j->type, j->voxels, weight, to, 0, to);
    }
    return status;
}

/* Fills all queues before it waits for any, so that the GPUs work at the same time. */
static vf_status apply(void *state, vf_queue *queue, const void *x, void *y)
{
    const series_normal *s = state;
    vf_status status = s->parts > 1 ? vf_queue_sync(queue) : VF_OK; /* x is complete, and nobody uses y */
    for (int d = 1; d < s->parts && status == VF_OK; d++) {
        series_part *p = &s->part[d];
        const vf_array from = images_of(s, p, x);
        vf_array to = images_of(s, p, y);
        status = vf_array_copy(p->queue, &p->x, &from, from.count);
        VF_TRY(status, apply_part(s, d, &p->x, &p->y));
        VF_TRY(status, vf_array_copy(p->queue, &to, &p->y, to.count));
    }
    const vf_array from = images_of(s, s->part, x), to = images_of(s, s->part, y);
    VF_TRY(status, apply_part(s, 0, &from, &to));
    for (int d = 1; d < s->parts; d++) { /* after an error, too: it may still read x */
        const vf_status ended = vf_queue_sync(s->part[d].queue);
        status = status == VF_OK ? ended : status;
    }
    return status;
}

vf_status series_normal_operator(series_normal *s, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "F^H W F of a series", .forward = apply};
    const recon_job *j = s->c->job;
    const vf_vector_space space = {j->type, s->group->count * j->voxels};
    return vf_operator_create(vf_queue_device(s->part->queue), &methods, VF_OPERATOR_SELF_ADJOINT, space, space, s,
                              out);
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
    if (status == VF_OK && !c->normal)
        status = normal_matrix_create(&c->team, j->settings, j->scan, &j->scan->trajectory[number], c->watch, s->parts,
                                      made);
    for (int d = 0; d < s->parts && status == VF_OK; d++) {
        series_part *p = &s->part[d];
        *p->normal = made[d];
        p->normals = c->normal ? 0 : 1;
        for (int f = 0; f < p->count; f++)
            p->of[f] = c->normal ? &c->normal[d] : p->normal;
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
            status = normal_matrix_create(&alone, j->settings, j->scan, &j->scan->trajectory[trajectory],
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
    vf_device *device = vf_queue_device(s->c->team.queue[d]);
    *p = (series_part){.queue = s->c->team.queue[d], .first = (int)first, .count = (int)(end - first)};
    p->normal = calloc((size_t)p->count, sizeof *p->normal);
    p->of = calloc((size_t)p->count, sizeof *p->of);
    vf_status status = p->normal && p->of ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK && d > 0)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, p->count * j->voxels, &p->x);
    if (status == VF_OK && d > 0)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, p->count * j->voxels, &p->y);
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
        vf_array_free(&p->x);
        vf_array_free(&p->y);
    }
    free(s->part);
    *s = (series_normal){0};
}
