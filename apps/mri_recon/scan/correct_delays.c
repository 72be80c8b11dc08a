/* Moves the spokes of radial scans by gradient delays: given, or estimated (kernels/delays). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct_internal.h"
#include "delays.h"
#include "find_readouts.h"

enum { MOST_IMAGES = 8, LEAST_LENGTH = 4 };
static const double STRAIGHT = 0.05; /* of a step: how far a sample may lie from a straight spoke with even steps */
/* Delays are warned of if they move samples by this many cycles per field of view, if spokes disagree by this share of their
 * samples, and if the delays explain that but for this part. Less is no visible blur, or of another cause. */
static const double LEAST_MOVED = 0.15, LEAST_MISFIT = 0.02, MOST_LEFT = 0.5;
static const double CENTRAL = 1; /* cycles per field of view: how far from the centre a spoke may pass */

/* The spokes of one trajectory. */
typedef struct spokes {
    int64_t count, length;
    double *start, *step; /* [spoke][3] cycles per field of view */
    bool flat;            /* no steps along z */
} spokes;

static void free_spokes(spokes *s)
{
    free(s->start);
    free(s->step);
    *s = (spokes){0};
}

/* Whether a readout is a straight line with even steps. Single precision of k is allowed for. */
static bool is_straight(const float *k, int64_t length, const double start[3], const double step[3])
{
    const double size = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    for (int64_t j = 0; j < length; j++)
        for (int a = 0; a < 3; a++)
            if (!(fabs(k[3 * j + a] - start[a] - (double)j * step[a]) <=
                  STRAIGHT * size + 4e-7 * fabs((double)k[3 * j + a])))
                return false;
    return size > 0;
}

/* The distance of a line from the centre, or from the axis z if the lines are flat. */
static double distance(const double start[3], const double step[3], bool flat)
{
    const int axes = flat ? 2 : 3;
    double along = 0, size = 0, square = 0;
    for (int a = 0; a < axes; a++) {
        along += start[a] * step[a];
        size += step[a] * step[a];
        square += start[a] * start[a];
    }
    return sqrt(fmax(0, square - along * along / size));
}

static vf_status not_radial(vf_context *ctx, const char *path, int index, int64_t spoke, const char *why)
{
    return vf_fail(ctx, VF_ERR_INPUT, "%s: --delays needs a radial trajectory; readout %" PRId64 " of trajectory %d %s",
                   path, spoke, index, why);
}

static vf_status find_spokes(vf_context *ctx, const char *path, const mri_scan *raw, int index, spokes *out)
{
    const scan_trajectory *t = &raw->trajectory[index];
    const int64_t length = t->readout[1];
    *out = (spokes){.count = t->readouts, .length = length, .flat = true};
    if (length < LEAST_LENGTH)
        return not_radial(ctx, path, index, 0, "has fewer than 4 samples");
    for (int64_t i = 1; i < t->readouts; i++)
        if (t->readout[i + 1] - t->readout[i] != length)
            return not_radial(ctx, path, index, i, "is not as long as the first");
    vf_status status = SCAN_NEW(ctx, path, "spokes", 3 * out->count, out->start);
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", 3 * out->count, out->step));
    for (int64_t i = 0; status == VF_OK && i < out->count; i++) {
        const float *k = t->k + 3 * i * length;
        double *start = out->start + 3 * i, *step = out->step + 3 * i;
        for (int a = 0; a < 3; a++) {
            start[a] = k[a];
            step[a] = ((double)k[3 * (length - 1) + a] - k[a]) / (double)(length - 1);
        }
        if (!is_straight(k, length, start, step))
            return not_radial(ctx, path, index, i, "is not a straight line with even steps");
        out->flat = out->flat && fabs(step[2]) <= STRAIGHT * hypot(step[0], step[1]);
    }
    for (int64_t i = 0; status == VF_OK && i < out->count; i++)
        if (!(distance(out->start + 3 * i, out->step + 3 * i, out->flat) <= CENTRAL))
            return not_radial(ctx, path, index, i, "does not pass through the centre of k-space");
    return status;
}

/* k is in cycles per the widest field of view of `axes` axes after multiplication by `scale`, so that the delay of a
 * gradient in an oblique direction is the same wherever it points. */
static void isotropic(const mri_scan *raw, int axes, double scale[3])
{
    double widest = 0;
    for (int a = 0; a < axes; a++)
        widest = fmax(widest, raw->fov[a]);
    for (int a = 0; a < 3; a++)
        scale[a] = widest / raw->fov[a];
}

/* k' = k - S step in the isotropic scale. */
static void move_spokes(const double s[3][3], const double scale[3], const spokes *from, scan_trajectory *t)
{
    for (int64_t i = 0; i < from->count; i++) {
        double shift[3] = {0};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                shift[a] += s[a][b] * scale[b] * from->step[3 * i + b] / scale[a];
        for (int64_t m = i * from->length; m < (i + 1) * from->length; m++)
            for (int a = 0; a < 3; a++)
                t->k[3 * m + a] = (float)(t->k[3 * m + a] - shift[a]);
    }
}

/* ---- estimation ---- */

/* One frame for the kernel: all spokes, or of a stack those of the partition nearest the centre. */
typedef struct chosen {
    spokes of;           /* in the isotropic scale */
    float complex *data; /* [coil][spoke][length] */
} chosen;

static vf_status choose_spokes(vf_context *ctx, const char *path, const mri_scan *raw, const scan_frame *frame,
                               const spokes *all, const double scale[3], chosen *out)
{
    const int64_t length = all->length, samples = all->count * length;
    int64_t *number = NULL; /* of each chosen spoke */
    double nearest = INFINITY;
    for (int64_t i = 0; i < all->count; i++)
        nearest = fmin(nearest, fabs(all->start[3 * i + 2]));
    vf_status status = SCAN_NEW(ctx, path, "spokes", all->count, number);
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", 3 * all->count, out->of.start));
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", 3 * all->count, out->of.step));
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", samples * raw->coils, out->data));
    for (int64_t i = 0; status == VF_OK && i < all->count; i++) {
        if (all->flat && fabs(all->start[3 * i + 2]) > nearest + 1e-3)
            continue;
        for (int a = 0; a < 3; a++) {
            out->of.start[3 * out->of.count + a] = scale[a] * all->start[3 * i + a];
            out->of.step[3 * out->of.count + a] = scale[a] * all->step[3 * i + a];
        }
        number[out->of.count++] = i;
    }
    for (int64_t c = 0; status == VF_OK && c < raw->coils; c++)
        for (int64_t i = 0; i < out->of.count; i++)
            memcpy(out->data + (c * out->of.count + i) * length, frame->data + c * samples + number[i] * length,
                   (size_t)length * sizeof *out->data);
    free(number);
    return status;
}

/* Estimates from up to MOST_IMAGES frames, evenly spaced. */
static vf_status estimate(vf_context *ctx, const char *path, const mri_scan *raw, const spokes *all, int axes,
                          const double scale[3], vf_delays *out)
{
    const int every = (raw->frames + MOST_IMAGES - 1) / MOST_IMAGES;
    chosen choice[MOST_IMAGES] = {{.data = NULL}};
    vf_spokes image[MOST_IMAGES];
    int images = 0;
    vf_status status = VF_OK;
    for (int f = 0; status == VF_OK && f < raw->frames; f += every, images++) {
        const spokes *own = &all[raw->frame[f].trajectory];
        chosen *c = &choice[images];
        status = choose_spokes(ctx, path, raw, &raw->frame[f], own, scale, c);
        image[images] =
            (vf_spokes){c->of.count, own->length, c->of.start, c->of.step, raw->coils, (const float *)c->data};
    }
    VF_TRY(status, vf_delays_estimate(ctx, axes, images, image, 0, out));
    for (int i = 0; i < MOST_IMAGES; i++) {
        free_spokes(&choice[i].of);
        free(choice[i].data);
    }
    return status;
}

static void say_estimate(mri_scan *raw, int axes, const vf_delays *d)
{
    if (!d->found) {
        note_correction(raw, "no gradient delays found (spokes disagree by %.2g %% near the centre)",
                        100 * d->misfit_before);
        return;
    }
    double error = 0;
    for (int a = 0; a < 9; a++)
        error = fmax(error, d->error[a / 3][a % 3]);
    if (axes == 2)
        note_correction(raw, "gradient delays x %.3f, y %.3f, xy %.3f samples", d->s[0][0], d->s[1][1], d->s[0][1]);
    else
        note_correction(raw, "gradient delays x %.3f, y %.3f, z %.3f, xy %.3f, xz %.3f, yz %.3f samples", d->s[0][0],
                        d->s[1][1], d->s[2][2], d->s[0][1], d->s[0][2], d->s[1][2]);
    note_correction(raw, "errors up to %.2g; spokes disagree by %.2g %% near the centre, %.2g %% before", error,
                    100 * d->misfit, 100 * d->misfit_before);
}

vf_status correct_delays(vf_context *ctx, const scan_settings *settings, mri_scan *raw)
{
    const char *path = settings->input;
    spokes *all = NULL;
    vf_delays d = {0};
    double scale[3];
    bool flat = true;
    vf_status status = find_readouts(ctx, settings, "--delays", raw);
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", raw->trajectories, all));
    for (int i = 0; status == VF_OK && i < raw->trajectories; i++) {
        status = find_spokes(ctx, path, raw, i, &all[i]);
        flat = flat && all[i].flat;
    }
    const int axes = flat ? 2 : 3;
    isotropic(raw, axes, scale);
    if (status == VF_OK && settings->delays == RECON_DELAYS_AUTO) {
        status = estimate(ctx, path, raw, all, axes, scale, &d);
        if (status == VF_OK)
            say_estimate(raw, axes, &d);
    } else if (status == VF_OK) {
        for (int a = 0; a < 3; a++)
            d.s[a][a] = settings->delay[a];
        note_correction(raw, "gradient delays x %g, y %g, z %g samples, as given", d.s[0][0], d.s[1][1], d.s[2][2]);
    }
    for (int i = 0; status == VF_OK && i < raw->trajectories; i++)
        move_spokes(d.s, scale, &all[i], &raw->trajectory[i]);
    for (int i = 0; all && i < raw->trajectories; i++)
        free_spokes(&all[i]);
    free(all);
    return status;
}

/* ---- a warning ---- */

/* Of a frame, the middle of at most MOST_LOOKED_AT spokes, evenly spaced, in the isotropic scale. Enough for the kernel, and
 * little beside the scan. */
static vf_status take_middle(vf_context *ctx, const char *path, const mri_scan *raw, const scan_frame *frame,
                             const spokes *all, const double scale[3], chosen *out)
{
    enum { MOST_LOOKED_AT = 1024, REACH = 5 /* cycles per field of view */ };
    const int64_t every = all->count / MOST_LOOKED_AT + 1, most = all->count / every + 1;
    double nearest = INFINITY, least = INFINITY;
    for (int64_t i = 0; i < all->count; i++) {
        const double *step = all->step + 3 * i;
        nearest = fmin(nearest, fabs(all->start[3 * i + 2]));
        least = fmin(least, sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]));
    }
    const int64_t side = (int64_t)fmin(REACH / least, (double)all->length) + 1;
    const int64_t length = 2 * side + 1 < all->length ? 2 * side + 1 : all->length;
    vf_status status = SCAN_NEW(ctx, path, "spokes", 3 * most, out->of.start);
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", 3 * most, out->of.step));
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", most * length * raw->coils, out->data));
    int64_t *from = NULL;
    VF_TRY(status, SCAN_NEW(ctx, path, "spokes", most, from));
    for (int64_t i = 0; status == VF_OK && i < all->count; i += every) {
        const double *start = all->start + 3 * i, *step = all->step + 3 * i;
        double along = 0, size = 0;
        if (all->flat && fabs(start[2]) > nearest + 1e-3)
            continue;
        for (int a = 0; a < (all->flat ? 2 : 3); a++) {
            along -= start[a] * step[a];
            size += step[a] * step[a];
        }
        int64_t first = llround(along / size) - length / 2;
        first = first < 0 ? 0 : first > all->length - length ? all->length - length : first;
        for (int a = 0; a < 3; a++) {
            out->of.start[3 * out->of.count + a] = scale[a] * (start[a] + (double)first * step[a]);
            out->of.step[3 * out->of.count + a] = scale[a] * step[a];
        }
        from[out->of.count++] = i * all->length + first;
    }
    out->of.length = length;
    for (int64_t c = 0; status == VF_OK && c < raw->coils; c++)
        for (int64_t i = 0; i < out->of.count; i++)
            memcpy(out->data + (c * out->of.count + i) * length, frame->data + c * scan_stride(raw, frame) + from[i],
                   (size_t)length * sizeof *out->data);
    free(from);
    return status;
}

static void say_delays(vf_context *ctx, const char *path, const spokes *of, const vf_delays *d)
{
    double moved = 0;
    for (int a = 0; a < 3; a++) /* the largest of the spokes' steps is that of all */
        for (int b = 0; b < 3; b++)
            moved =
                fmax(moved, fabs(d->s[a][b]) * sqrt(pow(of->step[0], 2) + pow(of->step[1], 2) + pow(of->step[2], 2)));
    if (d->found && moved >= LEAST_MOVED && d->misfit <= MOST_LEFT * d->misfit_before)
        vf_warn(
            ctx,
            "%s: spokes disagree by %.2g %% near the centre of k-space, and by %.2g %% if gradients are late by "
            "%.2f, %.2f, %.2f samples along x, y, z, which blurs the image; --delays auto corrects that, --delays off "
            "takes the trajectory as it is",
            path, 100 * d->misfit_before, 100 * d->misfit, d->s[0][0], d->s[1][1], d->s[2][2]);
}

vf_status warn_of_delays(vf_context *ctx, const scan_settings *settings, const mri_scan *raw)
{
    const char *path = settings->input;
    const scan_frame *frame = &raw->frame[raw->frames / 2];
    const scan_trajectory *t = raw->trajectories > 0 ? &raw->trajectory[frame->trajectory] : NULL;
    spokes all = {0};
    chosen middle = {.data = NULL};
    vf_delays d = {0};
    double scale[3];
    if (!raw->stored_trajectory || !t || !t->readout || t->readouts < 1 || t->phi || !frame->data)
        return VF_OK;
    vf_status status = find_spokes(ctx, path, raw, frame->trajectory, &all);
    if (status == VF_ERR_INPUT) { /* not radial */
        vf_context_clear_error(ctx);
        free_spokes(&all);
        return VF_OK;
    }
    const int axes = all.flat ? 2 : 3;
    isotropic(raw, axes, scale);
    VF_TRY(status, take_middle(ctx, path, raw, frame, &all, scale, &middle));
    if (status == VF_OK) {
        const vf_spokes image = {middle.of.count, middle.of.length, middle.of.start,
                                 middle.of.step,  raw->coils,       (const float *)middle.data};
        status = vf_delays_estimate(ctx, axes, 1, &image, LEAST_MISFIT, &d);
    }
    if (status == VF_OK)
        say_delays(ctx, path, &middle.of, &d);
    free_spokes(&all);
    free_spokes(&middle.of);
    free(middle.data);
    return status;
}
