/* Frames of a place that are solved together, under priors that couple them. All vectors are on the team's first
 * device, [frame][voxels]; each frame has the F^H W F of its trajectory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame_group.h"

typedef struct series {
    crew *c;
    const frame_group *group;
    vf_queue *queue;
    vf_normal *normal;    /* [group->count] of different trajectories */
    const vf_normal **of; /* [group->count] each frame's */
    int normals;
    double power;
    vf_array b, x, even;
    vf_penalties *penalties;
    vf_circulant *inverse;
} series;

static const scan_frame *frame_of(const series *s, int f)
{
    return s->c->job->frames[s->group->first + f];
}

/* ---- F^H W F ---- */

static vf_status apply(void *state, vf_queue *queue, const void *x, void *y)
{
    const series *s = state;
    const recon_job *j = s->c->job;
    vf_device *device = vf_queue_device(queue);
    vf_status status = VF_OK;
    for (int f = 0; f < s->group->count && status == VF_OK; f++)
        status = vf_normal_apply(
            s->of[f], queue, j->has_maps ? j->scan->coils : 1, j->has_maps ? s->c->maps.array[0].data : NULL,
            vf_offset(device, x, j->type, f * j->voxels), vf_offset(device, y, j->type, f * j->voxels));
    return status;
}

static vf_status make_normals(series *s)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    vf_status status = VF_OK;
    for (int f = 0; f < s->group->count && status == VF_OK; f++) {
        const int trajectory = frame_of(s, f)->trajectory;
        int before = 0;
        while (frame_of(s, before)->trajectory != trajectory)
            before++;
        if (before == f)
            status = normal_matrix_create(&c->team, j->settings, j->scan, &j->scan->trajectory[trajectory], c->watch, 1,
                                          &s->normal[s->normals]);
        if (before == f && status == VF_OK)
            s->normals++;
        s->of[f] = before == f ? &s->normal[s->normals - 1] : s->of[before];
    }
    return status;
}

/* ---- priors ---- */

/* The balance of solve_sparse, the same for all frames. */
static vf_status put_balance(series *s)
{
    const recon_job *j = s->c->job;
    const frame_place *place = &j->place[frame_of(s, 0)->place];
    const int64_t n = j->voxels;
    double *balance = malloc((size_t)(n * s->group->count) * sizeof *balance);
    if (!balance)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %d frames of %lld voxels", s->group->count, (long long)n);
    regularise_balance(j, place, 0, s->power, balance);
    for (int f = 1; f < s->group->count; f++)
        memcpy(balance + f * n, balance, (size_t)n * sizeof *balance);
    const vf_status status = regularise_put(j, balance, n * s->group->count, s->queue, &s->even);
    free(balance);
    return status;
}

static vf_status make_priors(series *s)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    const int count = s->group->count;
    double *spectrum = malloc((size_t)j->voxels * sizeof *spectrum);
    double mean = 0, unit = 0;
    vf_status status =
        spectrum ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    if (status == VF_OK)
        status = sparse_create(j, vf_queue_device(s->queue), count, &s->penalties);
    if (status == VF_OK)
        status = vf_circulant_create(vf_queue_device(s->queue), j->scan->matrix, j->settings->precision,
                                     count + vf_penalties_extra(s->penalties), &s->inverse);
    for (int pass = 0; pass < 2 && status == VF_OK; pass++) {
        for (int f = 0; f < count && status == VF_OK; f++) {
            double one = 0;
            status = regularise_density(c, frame_of(s, f)->trajectory);
            if (status == VF_OK && pass == 0) {
                unit += pow(sparse_unit(c, s->power, &one), 2) / count;
                mean += one / count;
            } else if (status == VF_OK) {
                sparse_inverse(c, s->penalties, s->power, mean, spectrum);
                status = vf_circulant_set(s->inverse, s->queue, f, spectrum);
            }
        }
        if (pass == 0 && status == VF_OK)
            sparse_weigh(c, s->penalties, mean, sqrt(unit));
    }
    if (status == VF_OK)
        status = sparse_set_fields(j, s->penalties, s->queue, count, spectrum, s->inverse);
    free(spectrum);
    return status;
}

/* ---- solving ---- */

static bool tell(void *user, int iteration, double residual)
{
    const crew *c = user;
    char text[96];
    snprintf(text, sizeof text, "solving for all frames, iteration %d of %d, residual %.1e:", iteration,
             c->job->settings->iterations, residual);
    watch_title(c->watch, text);
    watch_add(c->watch, 1);
    return false;
}

/* Copies a channel of all frames to the device or back. */
static vf_status transfer(series *s, char *images, int channel, bool back)
{
    const recon_job *j = s->c->job;
    const size_t bytes = (size_t)j->voxels * vf_dtype_bytes(j->type);
    vf_status status = VF_OK;
    for (int f = 0; f < s->group->count && status == VF_OK; f++) {
        char *image = images + (size_t)f * frame_bytes(j) + (size_t)channel * bytes;
        void *there = vf_array_at(back ? &s->x : &s->b, f * j->voxels);
        status = vf_queue_copy(s->queue, back ? (void *)image : there, back ? there : (void *)image, bytes);
    }
    return status == VF_OK ? vf_queue_sync(s->queue) : status;
}

static vf_status solve_channel(series *s, vf_operator *system, char *images, int channel)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    recon_summary *summary = &c->summary;
    const solve_options options = {.precision = j->settings->precision,
                                   .iterations = j->settings->iterations,
                                   .tolerance = j->settings->tolerance,
                                   .input = j->settings->input,
                                   .lambda_auto = j->settings->lambda_auto};
    const sparse_problem problem = {.solver = j->settings->solver,
                                    .penalties = s->penalties,
                                    .inverse = s->inverse,
                                    .inverse_of_each = true,
                                    .voxels = j->voxels,
                                    .even = s->even};
    solve_result result = {0};
    vf_status status = transfer(s, images, channel, false);
    if (status == VF_OK)
        status = solve_sparse(j->ctx, &options, system, s->queue, &problem, &s->b, &s->x, tell, c, &result);
    if (status == VF_OK)
        status = transfer(s, images, channel, true);
    if (status != VF_OK)
        return status;
    watch_add(c->watch, j->settings->iterations - result.iterations);
    summary_add(summary, &result, channel == 0);
    return VF_OK;
}

static vf_status solve_all(series *s, char *images)
{
    static const vf_operator_methods methods = {.name = "F^H W F of a series", .forward = apply};
    crew *c = s->c;
    const recon_job *j = c->job;
    vf_device *device = vf_queue_device(s->queue);
    const vf_vector_space space = {j->type, s->group->count * j->voxels};
    vf_operator *system = NULL;
    snprintf(c->summary.normal, sizeof c->summary.normal, "%s", s->normal->description);
    c->summary.diagonal = s->of[s->group->count - 1]->diagonal * s->power;
    watch_stage(c->watch, "solve", (double)j->channels * j->settings->iterations);
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &s->b);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &s->x);
    if (status == VF_OK)
        status = vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, s, &system);
    for (int i = 0; i < j->channels && status == VF_OK; i++)
        status = solve_channel(s, system, images, i);
    vf_operator_free(system);
    return status;
}

/* F^H d, one trajectory after another. */
static vf_status adjoints(const series *s, char *images)
{
    const recon_job *j = s->c->job;
    vf_status status = VF_OK;
    for (int f = 0, next = 0; f < s->group->count && status == VF_OK; f = next) {
        frame_group part = {.trajectory = frame_of(s, f)->trajectory, .first = s->group->first + f};
        while (next < s->group->count && frame_of(s, next)->trajectory == part.trajectory)
            next++;
        part.count = next - f;
        status = crew_adjoints(s->c, &part, false, images + (size_t)f * frame_bytes(j));
    }
    return status;
}

vf_status crew_solve_series(crew *c, const frame_group *g, char *images)
{
    const recon_job *j = c->job;
    const scan_frame *first = j->frames[g->first];
    series s = {.c = c, .group = g, .queue = c->team.queue[0], .power = 1};
    const team_share all = {.coils = j->scan->coils, .voxels = j->voxels};
    s.normal = calloc((size_t)g->count, sizeof *s.normal);
    s.of = calloc((size_t)g->count, sizeof *s.of);
    vf_status status = s.normal && s.of ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK)
        status = adjoints(&s, images);
    if (status == VF_OK)
        status = crew_power(c, first, &s.power);
    if (status == VF_OK && j->has_maps) {
        const host_maps maps = frame_maps(j, first);
        status = device_maps_put(&c->team, 1, &all, j->type, &maps, &c->maps);
    }
    if (status == VF_OK)
        status = make_normals(&s);
    if (status == VF_OK && j->has_maps)
        status = put_balance(&s);
    if (status == VF_OK)
        status = make_priors(&s);
    if (status == VF_OK)
        status = solve_all(&s, images);
    for (int i = 0; i < s.normals; i++)
        vf_normal_free(&s.normal[i]);
    vf_penalties_free(s.penalties);
    vf_circulant_destroy(s.inverse);
    vf_array_free(&s.b);
    vf_array_free(&s.x);
    vf_array_free(&s.even);
    free(s.normal);
    free(s.of);
    return status;
}
