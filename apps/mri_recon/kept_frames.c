#include "job.h"
#include "recon_state.h"
#include "schedule/group_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/copy.h"

/* What a piece begins with. */
typedef struct piece_head {
    frame_effort effort;
    char devices[64];
} piece_head;

static size_t image_bytes(const mri_scan *raw)
{
    return (size_t)(raw->crop[0] * raw->crop[1] * raw->crop[2]) * sizeof(float complex);
}

static vf_status allocate(vf_context *ctx, const solve_settings *solve, const mri_scan *raw, kept_frames *k)
{
    const size_t frames = (size_t)raw->frames + 1;
    k->order = calloc(frames, sizeof *k->order);
    k->item = calloc(frames, sizeof *k->item);
    k->wanted = calloc(frames, sizeof *k->wanted);
    k->piece = calloc(1, sizeof(piece_head) + image_bytes(raw));
    if (!k->order || !k->item || !k->wanted || !k->piece)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d frames", raw->frames);
    vf_status status = frame_order(ctx, solve, raw, k->order);
    for (int n = 0; status == VF_OK && n < raw->frames; n++)
        k->item[k->order[n]] = n;
    return status;
}

/* Maps and Q come from all frames, and are not kept. */
static const char *makes_more(const recon_state *r)
{
    return r->settings->coils.save     ? "--save-coils"
           : r->settings->solve.save_q ? "--save-q"
           : r->settings->noise.map    ? "--noise-map"
                                       : NULL;
}

vf_status kept_frames_begin(recon_state *r)
{
    const pieces_settings *asked = &r->settings->pieces;
    const mri_scan *raw = &r->scan;
    const char *more = makes_more(r);
    vf_context *ctx = r->ctx;
    kept_frames *k = &r->kept;
    pieces_settings own = *asked;
    char maker[64];
    *k = (kept_frames){.scan = raw};
    if (more && (asked->parts > 0 || asked->join || asked->resume || asked->journal == JOURNAL_YES || asked->ranks))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--part, --join, --resume, --journal and MPI jobs keep frames, not what %s writes; leave it out",
                       more);
    if (more || (raw->frames == 1 && own.journal == JOURNAL_AUTO)) /* one frame: there, or not */
        own.journal = JOURNAL_NO;
    if (r->settings->dry_run)
        return kept_plan(ctx, &own, r->output, raw->frames, 1, "frame", &k->pieces);
    if (!kept_wanted(&own, r->output, forecast_total(&r->forecast)))
        return VF_OK;
    char *key = pieces_key(r->settings->program, r->settings->scan.input);
    if (!key)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    /* The kind of the first device: "cpu", "cuda", "opencl". */
    const char *spec = vf_device_spec(vf_context_device(ctx, 0));
    snprintf(maker, sizeof maker, "device %.*s\n", (int)strcspn(spec, ":"), spec);
    const vf_pieces_result result = {
        .key = key, .maker = maker, .items = raw->frames, .item_bytes = sizeof(piece_head) + image_bytes(raw)};
    vf_status status = allocate(ctx, &r->settings->solve, raw, k);
    char *none = NULL;
    const bool first = own.ranks && vf_ranks_rank(own.ranks) == 0;
    if (status == VF_OK && own.ranks && !first) /* rank 0 looks for files of an earlier run before others make theirs */
        status = vf_ranks_share(own.ranks, 0, NULL, &none);
    VF_TRY(status, kept_begin(ctx, &own, r->output, &result, 1, "frame", &k->pieces));
    if (status == VF_OK && first)
        status = vf_ranks_share(own.ranks, 0, "begin", &none);
    free(none);
    free(key);
    if (status == VF_OK && !k->pieces.pieces) {
        free(k->wanted);
        k->wanted = NULL;
    }
    for (int n = 0; status == VF_OK && k->wanted && n < raw->frames; n++)
        k->wanted[k->order[n]] =
            n >= k->pieces.first && n < k->pieces.behind && vf_pieces_count(k->pieces.pieces, n, n + 1) == 0;
    return status;
}

vf_status kept_frames_plan_job(const recon_state *r)
{
    const mri_scan *raw = &r->scan;
    const pieces_settings *asked = &r->settings->pieces;
    const int ranks = asked->ranks_planned;
    const double before = r->forecast.again;
    const double frame = (forecast_total(&r->forecast) - before) / raw->frames;
    double *cost = calloc((size_t)raw->frames + 1, sizeof *cost);
    if (!cost)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    const int64_t share = (int64_t)ranks * frame_ranges_a_rank(&r->settings->solve),
                  most = (raw->frames + share - 1) / (share > 0 ? share : 1);
    int count = 0;
    for (int64_t f = 0; ranks > 0 && f < raw->frames; f += most)
        cost[count++] = frame * (double)(raw->frames - f < most ? raw->frames - f : most);
    job_say_plan(r->ctx, asked, before, count, cost, (double)raw->frames * (double)image_bytes(raw), false);
    free(cost);
    return VF_OK;
}

void kept_frames_add(kept_frames *k, const scan_frame *frame, const recon_summary *summary, const char *devices,
                     const float complex *image)
{
    const int f = (int)(frame - k->scan->frame);
    piece_head *head = (piece_head *)(void *)k->piece;
    if (!k->wanted || k->status != VF_OK)
        return;
    *head = (piece_head){.effort = summary->effort[f]};
    snprintf(head->devices, sizeof head->devices, "%s", devices);
    memcpy(k->piece + sizeof *head, image, image_bytes(k->scan));
    k->status = vf_pieces_add(k->pieces.pieces, k->item[f], 1, k->piece);
    k->made++;
}

vf_status kept_frames_rest(kept_frames *k, kept_frames_take take, void *user, recon_summary *summary, char *devices,
                           size_t size)
{
    const piece_head *head = (const piece_head *)(const void *)k->piece;
    vf_status status = k->status;
    if (!k->wanted || kept_is_part(&k->pieces))
        return status;
    summary->iterations = summary->applications = 0;
    summary->residual = 0;
    summary->converged = true;
    for (int n = 0; status == VF_OK && n < k->scan->frames; n++) {
        const scan_frame *frame = &k->scan->frame[k->order[n]];
        status = vf_pieces_get(k->pieces.pieces, n, k->piece);
        if (status != VF_OK)
            break;
        if (!k->wanted[k->order[n]] || k->pieces.asked.ranks)
            take(user, frame, (const float complex *)(const void *)(k->piece + sizeof *head));
        summary->iterations += head->effort.iterations;
        summary->applications += head->effort.applications;
        summary->residual = fmax(summary->residual, head->effort.residual);
        summary->converged &= head->effort.converged || head->effort.iterations == 0;
    }
    snprintf(summary->last.encoding, sizeof summary->last.encoding, "%.*s", (int)sizeof head->effort.encoding - 1,
             head->effort.encoding);
    snprintf(devices, size, "%.*s", (int)sizeof head->devices - 1, head->devices);
    return status;
}

vf_status kept_frames_end(kept_frames *k, vf_status status)
{
    status = kept_end(&k->pieces, status);
    free(k->order);
    free(k->item);
    free(k->wanted);
    free(k->piece);
    *k = (kept_frames){0};
    return status;
}
