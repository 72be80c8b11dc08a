/* What coil maps say of each voxel, by the sum over coils of |s|^2. Values are made in pieces that stay in the caches: whole arrays in
 * double precision would take longer to be mapped by the system, written and read than the values take to compute. */
#include "map_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frames/frame_places.h"
#include "noise_level.h"
#include "regularise.h"
#include "solve/prior_table.h"
#include "solve/transfer.h"
#include "voxfield/team_size.h"

/* Lower bounds of sqrt(sum_c |s_c|^2 / power); the balance is its inverse. Voxels where the coils see less are mostly
 * determined by the prior. For maps that fade at the object's rim the bound is 1: balancing them would slow the solver
 * down. */
static const double LEAST_BALANCE = 0.3, LEAST_BALANCE_FADING = 1;

vf_status put_made(const recon_job *j, int64_t count, value_maker *make, const void *user, vf_queue *queue,
                   vf_array *to)
{
    enum { PIECE = 1024 };
    const vf_dtype real = vf_dtype_real(j->type);
    const size_t bytes = (size_t)count * vf_dtype_bytes(real);
    vf_status status = grow_array(vf_queue_device(queue), VF_SPACE_DEVICE, real, count, to);
    void *values = malloc(bytes + 1);
    vf_large_pages(values, bytes);
    if (status == VF_OK && !values)
        status = vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)count);
    const int64_t pieces = status == VF_OK ? (count + PIECE - 1) / PIECE : 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 10 * count))
    for (int64_t i = 0; i < pieces; i++) {
        double made[PIECE];
        const int64_t first = i * PIECE, left = count - first, of_piece = left < PIECE ? left : PIECE;
        make(user, first, of_piece, made);
        if (real == VF_F64)
            memcpy((double *)values + first, made, (size_t)of_piece * sizeof *made);
        for (int64_t n = 0; n < of_piece && real == VF_F32; n++)
            ((float *)values)[first + n] = (float)made[n];
    }
    VF_TRY(status, vf_queue_copy(queue, to->data, values, bytes));
    VF_TRY(status, vf_queue_sync(queue));
    free(values);
    return status;
}

/* ---- of one set of maps ---- */

typedef struct map_weights map_weights;
/* Of voxels with `seen`, the sum over coils of |s|^2. */
typedef void of_maps(const map_weights *w, const double *seen, int64_t count, double *out);

struct map_weights {
    const double *powers; /* [set][voxels] */
    int64_t of_frame;     /* sets * voxels */
    double power, least;
    of_maps *what;
    const double *factor;  /* [frame]; NULL: 1 */
    const float *envelope; /* [voxels] */
    int64_t voxels;
};

/* 1 / sqrt(sum |s|^2) relative to its mean; 0 where no coil sees. */
static double balance_at(const map_weights *w, double seen)
{
    const double size = sqrt(seen / w->power);
    return seen > 0 ? 1 / (size > w->least ? size : w->least) : 0;
}

static void balance_of(const map_weights *w, const double *seen, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = balance_at(w, seen[i]);
}

static void uneven_of(const map_weights *w, const double *seen, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        const double balance = balance_at(w, seen[i]);
        out[i] = balance > 0 ? 1 / balance : 0;
    }
}

static double unseen_at(const map_weights *w, double seen)
{
    const double part = seen / (w->power * w->least * w->least);
    return 1 - (part < 1 ? part : 1);
}

static void unseen_of(const map_weights *w, const double *seen, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = unseen_at(w, seen[i]);
}

/* g of sparse_problem, (1 - what the coils see)^32. It must fall fast: where samples are dense, F^H W F is up to a thousand times its
 * mean, so that coils that see a hundredth of a voxel determine it. */
static double dark_at(const map_weights *w, double seen)
{
    double g = unseen_at(w, seen);
    for (int squared = 0; squared < 5; squared++)
        g *= g;
    return g;
}

static void dark_of(const map_weights *w, const double *seen, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = dark_at(w, seen[i]);
}

static void seen_of(const map_weights *w, const double *seen, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = sqrt(1 - dark_at(w, seen[i]));
}

/* ---- of frames ---- */

static vf_status weights_of(crew *c, const frame_place *place, double power, map_weights *out)
{
    *out = (map_weights){.of_frame = place->sets * c->job->voxels,
                         .voxels = c->job->voxels,
                         .power = power,
                         .least = place->weighted ? LEAST_BALANCE_FADING : LEAST_BALANCE};
    return crew_map_powers(c, place, &out->powers);
}

/* `what` of each frame and set, times the frame's factor. */
static void make_of_frames(const void *user, int64_t first, int64_t count, double *out)
{
    const map_weights *w = user;
    for (int64_t of_one; count > 0; first += of_one, out += of_one, count -= of_one) {
        const int64_t frame = first / w->of_frame, at = first % w->of_frame, left = w->of_frame - at;
        of_one = left < count ? left : count;
        w->what(w, w->powers + at, of_one, out);
        for (int64_t i = 0; i < of_one && w->factor; i++)
            out[i] *= w->factor[frame];
    }
}

/* Copies `what` of each set of the frames' maps to the device, times factor[frame] (NULL: 1): [frame][set][voxels]. */
static vf_status put_of_maps(crew *c, const frame_group *g, of_maps *what, double power, const double *factor,
                             vf_queue *queue, vf_array *to)
{
    const recon_job *j = c->job;
    map_weights w;
    vf_status status = weights_of(c, &j->place[j->frames[g->first]->place], power, &w);
    w.what = what;
    w.factor = factor;
    VF_TRY(status, put_made(j, g->count * w.of_frame, make_of_frames, &w, queue, to));
    return status;
}

vf_status regularise_balance(crew *c, const frame_group *g, double power, vf_queue *queue, vf_array *to)
{
    return put_of_maps(c, g, balance_of, power, NULL, queue, to);
}

/* The weights follow that of the frame's data, as F^H W F does: a voxel that coils see a little then has the same share of its
 * signal in all frames. */
vf_status regularise_unseen(crew *c, const frame_group *g, double power, double mean, vf_queue *queue, vf_array *to)
{
    const recon_job *j = c->job;
    double *factor = malloc((size_t)g->count * sizeof *factor);
    if (!factor)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the weights of %d frames", g->count);
    for (int f = 0; f < g->count; f++)
        factor[f] = mean * frame_weight(c, j->frames[g->first + f]);
    const vf_status status = put_of_maps(c, g, unseen_of, power, factor, queue, to);
    free(factor);
    return status;
}

vf_status regularise_dark(crew *c, const frame_group *g, double power, const double *mean, vf_queue *queue,
                          vf_array *seen, vf_array *dark)
{
    double *factor = malloc((size_t)g->count * sizeof *factor);
    if (!factor)
        return vf_fail(c->job->ctx, VF_ERR_MEMORY, "no memory for the weights of %d frames", g->count);
    for (int f = 0; f < g->count; f++)
        factor[f] = 1 / mean[f];
    vf_status status = put_of_maps(c, g, seen_of, power, NULL, queue, seen);
    VF_TRY(status, put_of_maps(c, g, dark_of, power, factor, queue, dark));
    free(factor);
    return status;
}

vf_status regularise_uneven(crew *c, const frame_group *g, double power, vf_queue *queue, vf_array *to)
{
    return put_of_maps(c, g, uneven_of, power, NULL, queue, to);
}

/* ---- the support ---- */

static void make_balance(const void *user, int64_t first, int64_t count, double *out)
{
    const map_weights *w = user;
    balance_of(w, w->powers + first, count, out);
}

static void make_support(const void *user, int64_t first, int64_t count, double *out)
{
    make_balance(user, first, count, out);
    for (int64_t i = 0; i < count; i++)
        out[i] = out[i] > 0;
}

static void make_bright(const void *user, int64_t first, int64_t count, double *out)
{
    const map_weights *w = user;
    make_balance(user, first, count, out);
    for (int64_t i = 0; i < count; i++)
        out[i] = out[i] > 0 ? (double)w->envelope[(first + i) % w->voxels] : 0;
}

vf_status put_support(crew *c, const frame_envelope *envelope, const frame_place *place, double power, device_solver *s)
{
    const recon_job *j = c->job;
    map_weights w;
    vf_status status = weights_of(c, place, power, &w);
    w.envelope = envelope->values;
    if (s->support_of != place->maps || s->support_power != power) {
        s->support_of = NULL;
        VF_TRY(status, put_made(j, w.of_frame, make_support, &w, s->queue, &s->known.support));
        VF_TRY(status, put_made(j, w.of_frame, make_balance, &w, s->queue, &s->known.balance));
        s->support_of = status == VF_OK ? place->maps : NULL;
        s->support_power = power;
    }
    if (status == VF_OK && quadratic_prior_of(j->solve)->of_spectrum)
        status = put_made(j, w.of_frame, make_bright, &w, s->queue, &s->known.envelope);
    return status;
}
