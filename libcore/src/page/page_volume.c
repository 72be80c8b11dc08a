/* Volumes of a page: rounded to 12 or 8 bits, reduced until they are small enough. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page_internal.h"

enum { FEWEST = 48 }; /* voxels along an axis that is not reduced further */

static const double TURN = 6.283185307179586;

typedef struct reducer {
    vf_page *page;
    const vf_page_volume *volume;
    vf_page_kept kept;
    double least, most;
    int64_t counts[3]; /* reduced */
    float *plane;      /* as asked for */
    double *sums;      /* of a reduced plane; of angles both parts */
    float *values;     /* a reduced plane */
    uint16_t *levels;  /* one frame, or, of 12 bits, all */
    uint8_t *bytes;
} reducer;

static int parts_of(const reducer *r)
{
    return r->volume->kind == VF_PAGE_ANGLES ? 2 : 1;
}

static int64_t frames_of(const reducer *r)
{
    return (r->volume->frames - 1) / r->kept.frame_step + 1;
}

static int64_t voxels_of(const reducer *r)
{
    return r->counts[0] * r->counts[1] * r->counts[2];
}

static void set_counts(reducer *r)
{
    for (int a = 0; a < 3; a++)
        r->counts[a] = (r->volume->counts[a] - 1) / r->kept.factor[a] + 1;
}

/* Means reduce the range of real values, so that of the volume holds for all. */
static vf_status find_range(reducer *r)
{
    const vf_page_volume *v = r->volume;
    const int64_t numbers = v->counts[0] * v->counts[1] * parts_of(r);
    vf_status status = VF_OK;
    r->least = INFINITY;
    r->most = -INFINITY;
    for (int64_t n = 0; n < v->frames * v->counts[2] && status == VF_OK; n++) {
        bool finite = true;
        status = v->plane(v->user, n / v->counts[2], n % v->counts[2], r->plane);
        for (int64_t i = 0; status == VF_OK && i < numbers; i++) {
            finite &= isfinite(r->plane[i]) != 0;
            r->least = fmin(r->least, r->plane[i]);
            r->most = fmax(r->most, r->plane[i]);
        }
        if (!finite)
            status = vf_fail(r->page->ctx, VF_ERR_ARGUMENT, "page volume %s: a value is NaN or infinite", v->name);
    }
    return status;
}

/* Adds a plane to the sums of the reduced one. */
static void add_plane(reducer *r)
{
    const int64_t *n = r->volume->counts;
    const int parts = parts_of(r);
    for (int64_t y = 0; y < n[1]; y++)
        for (int64_t x = 0; x < n[0]; x++)
            for (int p = 0; p < parts; p++)
                r->sums[((y / r->kept.factor[1]) * r->counts[0] + x / r->kept.factor[0]) * parts + p] +=
                    r->plane[(y * n[0] + x) * parts + p];
}

/* The reduced plane's values, from its sums over `planes` planes. */
static void finish_plane(reducer *r, int64_t planes)
{
    const int64_t *n = r->volume->counts;
    const int *f = r->kept.factor;
    for (int64_t y = 0; y < r->counts[1]; y++)
        for (int64_t x = 0; x < r->counts[0]; x++) {
            const int64_t i = y * r->counts[0] + x;
            const int64_t wide = (x + 1) * f[0] > n[0] ? n[0] - x * f[0] : f[0];
            const int64_t high = (y + 1) * f[1] > n[1] ? n[1] - y * f[1] : f[1];
            r->values[i] = r->volume->kind == VF_PAGE_ANGLES ? atan2f((float)r->sums[2 * i + 1], (float)r->sums[2 * i])
                                                             : (float)(r->sums[i] / (double)(wide * high * planes));
        }
}

static void round_plane(const reducer *r, double offset, double step, uint16_t *out)
{
    const int top = (1 << r->kept.bits) - 1;
    const bool angles = r->volume->kind == VF_PAGE_ANGLES;
    for (int64_t i = 0; i < r->counts[0] * r->counts[1]; i++) {
        const long level = lround((r->values[i] - offset) / step);
        out[i] = (uint16_t)(angles ? level & top : level < 0 ? 0 : level > top ? top : level);
    }
}

/* One frame's levels. */
static vf_status reduce_frame(reducer *r, int64_t frame, double offset, double step, uint16_t *out)
{
    const vf_page_volume *v = r->volume;
    vf_status status = VF_OK;
    for (int64_t z = 0; z < r->counts[2] && status == VF_OK; z++) {
        const int64_t first = z * r->kept.factor[2];
        const int64_t behind = first + r->kept.factor[2] > v->counts[2] ? v->counts[2] : first + r->kept.factor[2];
        memset(r->sums, 0, (size_t)(r->counts[0] * r->counts[1] * parts_of(r)) * sizeof *r->sums);
        for (int64_t p = first; p < behind && status == VF_OK; p++) {
            status = v->plane(v->user, frame, p, r->plane);
            if (status == VF_OK)
                add_plane(r);
        }
        if (status == VF_OK) {
            finish_plane(r, behind - first);
            round_plane(r, offset, step, out + z * r->counts[0] * r->counts[1]);
        }
    }
    return status;
}

/* Packs all frames; each frame's differences begin anew. */
static vf_status pack_frames(reducer *r, const page_array *of, page_pack *pack)
{
    const int64_t voxels = voxels_of(r), frames = frames_of(r);
    const bool wide = r->kept.bits > 8;
    vf_status status = VF_OK;
    for (int64_t f = 0; f < frames && status == VF_OK && !pack->full; f++) {
        status = reduce_frame(r, f * r->kept.frame_step, of->offset[0], of->step[0], r->levels);
        if (status != VF_OK)
            return status;
        if (wide) {
            page_differences16(r->levels, voxels, r->bytes);
        } else {
            for (int64_t i = 0; i < voxels; i++)
                r->bytes[i] = (uint8_t)r->levels[i];
            page_differences8(r->bytes, voxels);
        }
        status = page_pack_add(r->page->ctx, pack, r->bytes, (size_t)voxels * (wide ? 2 : 1), f == frames - 1);
    }
    return status;
}

/* The volume as `kept` says. *fits: it was written. */
static vf_status try_volume(reducer *r, bool *fits)
{
    const int levels = 1 << r->kept.bits;
    const bool angles = r->volume->kind == VF_PAGE_ANGLES;
    page_array of = {
        .type = r->kept.bits > 8 ? "u16" : "u8", .dimensions = 4, .columns = 1, .angles = angles, .volume = true};
    page_pack pack;
    set_counts(r);
    of.offset[0] = angles ? 0 : r->least;
    of.step[0] = angles ? TURN / levels : r->most > r->least ? (r->most - r->least) / (levels - 1) : 1;
    r->kept.error = of.step[0] / 2;
    of.kept = r->kept;
    of.shape[0] = frames_of(r);
    for (int a = 0; a < 3; a++)
        of.shape[1 + a] = r->counts[2 - a];
    (void)snprintf(of.name, sizeof of.name, "%s", r->volume->name);
    vf_status status = page_pack_begin(r->page->ctx, (size_t)(r->volume->budget / 4 * 3), &pack);
    VF_TRY(status, pack_frames(r, &of, &pack));
    *fits = status == VF_OK && !pack.full;
    if (*fits)
        status = page_put_array(r->page, &of, &pack);
    page_pack_free(&pack);
    return status;
}

/* The next coarser one. False: there is none. */
static bool reduce_further(reducer *r)
{
    if (r->kept.bits > 8) {
        r->kept.bits = 8;
        return true;
    }
    int finest = -1;
    for (int a = 0; a < 3; a++)
        if (r->counts[a] > FEWEST && (finest < 0 || r->volume->spacing[a] * r->kept.factor[a] <
                                                        r->volume->spacing[finest] * r->kept.factor[finest]))
            finest = a;
    if (finest >= 0)
        r->kept.factor[finest] *= 2;
    else if (frames_of(r) > 1)
        r->kept.frame_step *= 2;
    else
        return false;
    return true;
}

/* What is certainly too large is not tried: compression by more than this is rare. */
static bool is_hopeless(const reducer *r)
{
    const double packs = 16;
    return (double)voxels_of(r) * (double)frames_of(r) * r->kept.bits / 8 > packs * (double)r->volume->budget;
}

vf_status vf_page_add_volume(vf_page *page, const vf_page_volume *volume, vf_page_kept *kept)
{
    reducer r = {.page = page, .volume = volume, .kept = {volume->most_bits, {1, 1, 1}, 1, 0}};
    const int64_t plane = volume->counts[0] * volume->counts[1];
    const int parts = parts_of(&r);
    bool fits = false, more = true;
    if (volume->kind == VF_PAGE_ANGLES)
        r.kept.bits = 8;
    r.plane = malloc((size_t)(plane * parts) * sizeof *r.plane);
    r.sums = malloc((size_t)(plane * parts) * sizeof *r.sums);
    r.values = malloc((size_t)plane * sizeof *r.values);
    r.levels = calloc((size_t)(plane * volume->counts[2]), sizeof *r.levels);
    r.bytes = malloc(2 * (size_t)(plane * volume->counts[2]) * sizeof *r.bytes);
    vf_status status = r.plane && r.sums && r.values && r.levels && r.bytes
                           ? find_range(&r)
                           : vf_fail(page->ctx, VF_ERR_MEMORY, "not enough memory for the page's %s", volume->name);
    while (status == VF_OK && !fits && more) {
        set_counts(&r);
        if (!is_hopeless(&r))
            status = try_volume(&r, &fits);
        more = fits || reduce_further(&r);
    }
    if (!fits)
        r.kept.bits = 0;
    if (kept)
        *kept = r.kept;
    free(r.plane);
    free(r.sums);
    free(r.values);
    free(r.levels);
    free(r.bytes);
    return status;
}
