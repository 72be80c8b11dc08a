/* Final checks of a scan of any layout. */
#include "scan_finish.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_units.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"

int64_t scan_drop_beyond(const int64_t matrix[3], double slack, scan_trajectory *t)
{
    int64_t dropped = 0;
    for (int64_t m = 0; m < t->samples; m++) {
        bool beyond = false;
        for (int a = 0; a < 3; a++)
            beyond = beyond || (matrix[a] > 1 && fabs((double)t->k[3 * m + a]) > (double)matrix[a] / 2 + slack);
        t->weights[m] = beyond ? 0 : t->weights[m];
        dropped += beyond;
    }
    return dropped;
}

/* Samples slightly beyond what the matrix resolves get weight 0. A trajectory that goes further is an error. */
static vf_status check_extent(vf_context *ctx, const char *path, const int64_t matrix[3], scan_trajectory *t,
                              int64_t *outside)
{
    double extent[3];
    bool some = false;
    scan_extent(ctx, t->k, t->samples, extent);
    for (int a = 0; a < 3; a++) {
        double edge = (double)matrix[a] / 2;
        if (matrix[a] == 1 || extent[a] <= edge + 0.5)
            continue;
        some = true;
        if (!(extent[a] <= 1.05 * edge))
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: the trajectory reaches |k%c| = %.6g cycles per field of view, but %" PRId64
                           " voxels resolve at most %.6g; check the matrix, or give the units of the trajectory "
                           "with --trajectory-units",
                           path, "xyz"[a], extent[a], matrix[a], edge);
    }
    if (!some)
        return VF_OK;
    vf_status status = scan_need_weights(ctx, path, t);
    if (status != VF_OK)
        return status;
    *outside += scan_drop_beyond(matrix, 0.5, t);
    return VF_OK;
}

/* A piece of an array for the digest. */
typedef struct piece {
    char array; /* k, weights, time or phi */
    int64_t samples;
    const char *data;
    size_t bytes;
} piece;

/* Lists the pieces of all arrays; with NULL, only counts them. */
static int64_t cut_pieces(const mri_scan *s, piece *out)
{
    enum { ARRAYS = 4 };
    const size_t most = 4 << 20;
    int64_t count = 0;
    for (int i = 0; i < s->trajectories; i++) {
        const scan_trajectory *t = &s->trajectory[i];
        const void *const arrays[ARRAYS] = {t->k, t->weights, t->time, t->phi};
        const size_t size[ARRAYS] = {3 * sizeof *t->k, sizeof *t->weights, sizeof *t->time, sizeof *t->phi};
        for (int a = 0; a < ARRAYS; a++) {
            const size_t bytes = arrays[a] ? size[a] * (size_t)t->samples : 0;
            size_t at = 0;
            do { /* a missing or empty array is one piece without bytes */
                const size_t n = bytes - at < most ? bytes - at : most;
                if (out)
                    out[count] = (piece){"kwtp"[a], arrays[a] ? t->samples : -1,
                                         arrays[a] ? (const char *)arrays[a] + at : NULL, n};
                count++;
                at += n;
            } while (at < bytes);
        }
    }
    return count;
}

/* Digests the digests of all pieces, so that nothing needs to be copied together and threads can share the work. */
vf_status scan_digest(vf_context *ctx, const char *path, mri_scan *s)
{
    enum { LINE = 96 };
    int64_t bytes = 0;
    const int64_t count = cut_pieces(s, NULL);
    piece *pieces = NULL;
    char *text = NULL;
    vf_status status = SCAN_NEW(ctx, path, "the digest", count, pieces);
    VF_TRY(status, scan_allocate(ctx, path, "the digest", count + 1, LINE, &text));
    if (status == VF_OK) {
        cut_pieces(s, pieces);
        for (int64_t i = 0; i < count; i++)
            bytes += (int64_t)pieces[i].bytes;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, count > 1 ? bytes : 0))
        for (int64_t i = 0; i < count; i++) {
            char digest[VF_DIGEST_TEXT];
            vf_digest(pieces[i].data, pieces[i].bytes, digest);
            snprintf(text + i * LINE, LINE, "%c %" PRId64 " %s", pieces[i].array, pieces[i].samples, digest);
        }
        vf_digest(text, (size_t)count * LINE, s->digest);
    }
    free(pieces);
    free(text);
    return status;
}

vf_status scan_finish_trajectories(vf_context *ctx, const char *path, mri_scan *s)
{
    int64_t outside = 0, samples = 0;
    for (int i = 0; i < s->trajectories; i++) {
        scan_trajectory *t = &s->trajectory[i];
        vf_status status = check_extent(ctx, path, s->matrix, t, &outside);
        if (status != VF_OK)
            return status;
        if (t->weights && scan_all_zero(t->weights, t->samples))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: all samples have weight 0", path);
        if (t->phi && scan_all_zero((const float *)t->phi, 2 * t->samples))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: phi is 0 at all samples, so the image would be 0", path);
        samples += t->samples;
    }
    if (outside > 0)
        vf_warn(ctx,
                "%s: %" PRId64 " of %" PRId64
                " sample%s %s more than half a cycle beyond what the matrix resolves; %s weight 0",
                path, outside, samples, vf_plural(samples), outside == 1 ? "lies" : "lie",
                outside == 1 ? "it gets" : "they get");
    return scan_digest(ctx, path, s);
}

vf_status scan_finish(vf_context *ctx, const char *path, mri_scan *s)
{
    const vf_status status = scan_finish_trajectories(ctx, path, s);
    if (status != VF_OK)
        return status;
    const int64_t maps = (int64_t)s->coils * s->matrix[0] * s->matrix[1] * s->matrix[2];
    if (s->sensitivity && scan_all_zero((const float *)s->sensitivity, 2 * maps))
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: the coil maps in %s are 0 everywhere, so the image would be 0; leave "
                       "them out of the file to have maps estimated",
                       path, strcmp(s->layout, "plain") == 0 ? "/scan/sensitivity" : "'csm'");
    bool silent = true;
    for (int i = 0; silent && i < s->frames; i++)
        silent = scan_all_zero((const float *)s->frame[i].data,
                               2 * s->coils * s->trajectory[s->frame[i].trajectory].samples);
    if (silent)
        vf_warn(ctx, "%s: all samples are 0", path);
    return VF_OK;
}
