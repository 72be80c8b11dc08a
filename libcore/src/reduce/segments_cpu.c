/* Reductions of segments on the CPU: threads take pieces of the array, whatever the segments. A segment within a piece is
 * complete. Of others a piece has the end of one, its lead, and the beginning of one, its trail, or the middle of one. These
 * are combined in the order of the pieces. */
#include <stdlib.h>
#include <string.h>

#include "reduce_internal.h"
#include "segments_internal.h"
#include "voxfield/team_size.h"

enum { PIECE = 16384, NONE = -1 };

typedef struct piece {
    vf_reduced lead, trail;
    int64_t lead_of; /* segment that ends here and began earlier, or NONE */
    enum { NO_TRAIL, BEGINS, CONTINUES } has_trail;
} piece;

typedef struct work {
    const vf_reduce_segments *plan;
    const int64_t *offsets;
    int64_t n, segments;
    const char *x;
    size_t size;
    vf_reduce_chunk chunk;
    vf_reduced *results;
} work;

static vf_status create(vf_reduce_segments *plan)
{
    const size_t pieces = (size_t)(plan->most / PIECE + 1);
    plan->state = malloc(pieces * sizeof(piece));
    return plan->state ? VF_OK
                       : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                                 "not enough memory for the plan of a reduction of segments");
}

static void destroy(vf_reduce_segments *plan)
{
    free(plan->state);
}

static vf_reduced reduce_part(const work *w, int64_t from, int64_t to)
{
    vf_reduced r = {0};
    w->chunk(to - from, w->x + (size_t)from * w->size, NULL, &r);
    if (w->plan->reduction == VF_REDUCE_MIN || w->plan->reduction == VF_REDUCE_MAX)
        r.index += from;
    return r;
}

static void do_piece(const work *w, int64_t p, piece *out)
{
    const int64_t begin = p * PIECE, end = w->n - begin < PIECE ? w->n : begin + PIECE;
    int64_t s = vf_segment_with(w->offsets, begin, 0, w->segments - 1);
    *out = (piece){.lead_of = NONE};
    for (int64_t at = begin; at < end;) {
        const int64_t stop = w->offsets[s + 1] < end ? w->offsets[s + 1] : end;
        const bool begins = w->offsets[s] >= begin, ends = w->offsets[s + 1] <= end;
        const vf_reduced r = reduce_part(w, at, stop);
        if (begins && ends) {
            w->results[s] = r;
        } else if (ends) {
            out->lead = r;
            out->lead_of = s;
        } else {
            out->trail = r;
            out->has_trail = begins ? BEGINS : CONTINUES;
        }
        at = stop;
        if (at < end) {
            s++;
            if (w->offsets[s + 1] <= at) /* empty ones, perhaps many */
                s = vf_segment_with(w->offsets, at, s, w->segments - 1);
        }
    }
}

static void join(const work *w, int64_t pieces, const piece *of)
{
    const vf_reduce_append append = vf_reduce_append_of(w->plan->reduction, w->plan->type);
    vf_reduced before = {0}; /* of the segment that continues */
    for (int64_t p = 0; p < pieces; p++) {
        if (of[p].lead_of != NONE) {
            append(&before, &of[p].lead);
            w->results[of[p].lead_of] = before;
        }
        if (of[p].has_trail == BEGINS)
            before = of[p].trail;
        else if (of[p].has_trail == CONTINUES)
            append(&before, &of[p].trail);
    }
}

static vf_status execute(const vf_reduce_segments *plan, vf_queue *queue, int64_t n, const void *x, int64_t segments,
                         const int64_t *offsets, vf_reduced *results)
{
    const work w = {
        plan,   offsets, n, segments, x, vf_dtype_bytes(plan->type), vf_reduce_chunk_of(plan->reduction, plan->type),
        results};
    const int64_t pieces = (n + PIECE - 1) / PIECE;
    const vf_reduced identity = vf_reduce_identity(plan->reduction, plan->type);
    piece *of = plan->state;
#pragma omp parallel for schedule(static)                                                                              \
    num_threads(vf_threads_for(vf_device_context(vf_queue_device(queue)), segments))
    for (int64_t s = 0; s < segments; s++)
        if (offsets[s] == offsets[s + 1])
            results[s] = identity;
#pragma omp parallel for schedule(dynamic)                                                                             \
    num_threads(vf_threads_for(vf_device_context(vf_queue_device(queue)), n + segments))
    for (int64_t p = 0; p < pieces; p++)
        do_piece(&w, p, &of[p]);
    join(&w, pieces, of);
    return VF_OK;
}

const vf_reduce_segments_ops vf_reduce_segments_cpu = {create, destroy, execute};
