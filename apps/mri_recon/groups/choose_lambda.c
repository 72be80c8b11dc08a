/* --lambda sure: the factor on the automatic lambda that has the least predicted risk (sure.h). It is found once, for
 * the first frame of the place in the middle, or for the first frames of that place that are solved together, and
 * serves all frames.
 *
 * The variance is that of auto's lambda: the noise's, and a share of the misfit. With the noise alone, SURE takes all
 * that coil maps and trajectory get wrong for signal, and fits it; with the whole misfit, it smooths too much. The
 * estimate whose risk is taken is the image as the solver leaves it, so both images of a factor take the same number
 * of iterations. */
#include <stdlib.h>

#include "choose_lambda.h"
#include "frames/frame_images.h"
#include "noise/regularise.h"
#include "solve_group.h"

/* The factors are at most this, and at least its inverse. */
static const double WIDEST = 8;

frame_group sure_group(const recon_job *j, const frame_group *group, int groups)
{
    const scan_frame *first = NULL;
    const int places = j->scan->places;
    for (int p = 0; p < places && !first; p++)
        first = j->place[(places / 2 + p) % places].first;
    for (int g = 0; g < groups; g++)
        for (int f = group[g].first; f < group[g].first + group[g].count; f++)
            if (j->frames[f] == first)
                return solves_series(j->solve)
                           ? group[g]
                           : (frame_group){.trajectory = j->frames[f]->trajectory, .first = f, .count = 1};
    return group[0];
}

vf_status sure_probe(crew *c, const frame_group *g)
{
    const recon_job *j = c->job;
    recon_watch silent = {.mode = VF_PROGRESS_OFF};
    right_side *side = NULL;
    free(c->probe);
    c->probe = malloc((size_t)g->count * frame_bytes(j));
    vf_status status = c->probe ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %d images", g->count);
    for (int f = 0; f < g->count && status == VF_OK; f++) {
        const scan_frame *frame = j->frames[g->first + f];
        scan_frame replica = *frame; /* frames of a place have different noise */
        replica.data = NULL;
        replica.replica = 1 + (int)(((uint32_t)j->solve->seed + (uint32_t)f) % INT32_MAX);
        if (f == 0 || frame->trajectory != j->frames[g->first + f - 1]->trajectory) {
            right_side_destroy(side);
            status =
                right_side_create(&c->team, j->solve, j->scan, &j->scan->trajectory[frame->trajectory], &silent, &side);
        }
        VF_TRY(status, crew_adjoint(c, side, &replica, false, c->probe + (size_t)f * frame_bytes(j)));
    }
    right_side_destroy(side);
    return status;
}

/* Sets the job's factor from the images F^H d of the probe's group, `count` numbers in host memory. */
static vf_status search(crew *c, const char *b, int64_t count, sure_estimate estimate, void *user)
{
    recon_job *j = c->job;
    vf_queue *queue = NULL;
    const vf_sure_problem problem = {.type = j->type,
                                     .count = count,
                                     .b = b,
                                     .probe = c->probe,
                                     .variance = regularise_variance(j),
                                     .estimate = estimate,
                                     .user = user};
    j->choice.applications = 0;
    vf_status status = vf_queue_create(vf_context_host(j->ctx), &queue);
    VF_TRY(status, vf_sure_search(queue, &problem, WIDEST, &j->choice.sure));
    if (status == VF_OK)
        j->choice.factor = j->choice.sure.point[j->choice.sure.best].factor;
    vf_queue_destroy(queue);
    free(c->probe);
    c->probe = NULL;
    return status;
}

vf_status crew_choose_lambda(crew *c, const frame_group *g, char *images)
{
    const solve_settings *settings = c->job->solve;
    const group_request request = {.sparse = true,
                                   .series = solves_series(settings),
                                   .lambda = 1,
                                   .tolerance = settings->tolerance,
                                   .iterations = settings->iterations,
                                   .prepare = sure_probe,
                                   .search = search};
    return crew_make_group(c, g, &request, images);
}
