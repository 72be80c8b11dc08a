/* Reads the contents of acquisitions: samples into frames, stored trajectories, and the covariance of the noise. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_epi.h"
#include "scan_noise.h"
#include "scan_values.h"
#include "voxfield/timer.h"

enum { BATCH_MOST = 1024, BATCH_BYTES = VF_H5_PIECE / 4 * 3, ALIGNMENT = 16 };

/* Sums over the samples of all noise acquisitions. */
typedef struct noise_sums {
    double complex *product; /* [coil][coil]: the second coil is conjugated */
    double complex *samples; /* [coil][samples of one acquisition] */
    int64_t count;
    double dwell_us; /* of the first acquisition; the others' samples are scaled to it */
    int64_t ignored;
} noise_sums;

typedef struct filler {
    ismrmrd_reader *r;
    ismrmrd_body *bodies;
    noise_sums noise;
} filler;

/* ---- one acquisition ---- */

/* The samples of an acquisition in the file, also of one that is interpolated. */
static int64_t stored_samples(const scan_line *line)
{
    return line->stored > 0 ? line->stored : line->samples;
}

static vf_status check_body(const ismrmrd_reader *r, int64_t index, const ismrmrd_body *body)
{
    const scan_line *line = &r->line[index];
    int64_t data = 2 * stored_samples(line) * line->channels, traj = (int64_t)line->samples * line->dims;
    if (body->data_floats != data)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: acquisition %" PRId64 " holds %" PRId64
                       " numbers of data; by its header, %d sample%s of %d channel%s, it should have %" PRId64,
                       r->source->path, index, body->data_floats, (int)stored_samples(line),
                       vf_plural(stored_samples(line)), line->channels, vf_plural(line->channels), data);
    if (line->frame >= 0 && body->traj_floats < traj)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: acquisition %" PRId64 " holds %" PRId64
                       " numbers of trajectory; by its header, %d sample%s of %d component%s, it should have %" PRId64,
                       r->source->path, index, body->traj_floats, line->samples, vf_plural(line->samples), line->dims,
                       vf_plural(line->dims), traj);
    return VF_OK;
}

void ismrmrd_reverse(float complex *own, int64_t count)
{
    for (int64_t m = 0; m < count / 2; m++) {
        const float complex first = own[m];
        own[m] = own[count - 1 - m];
        own[count - 1 - m] = first;
    }
}

/* Adds the energy of a line's kept samples of one channel to the line's, and conjugates them if the file's Fourier
 * transform has the other sign. */
static void take_samples(const ismrmrd_reader *r, float *own, int64_t kept, scan_line *line)
{
    double energy = 0;
#pragma omp simd reduction(+ : energy)
    for (int64_t m = 0; m < 2 * kept; m++)
        energy += (double)own[m] * (double)own[m];
    line->energy += energy;
    for (int64_t m = 0; r->conjugate && m < kept; m++)
        own[2 * m + 1] = -own[2 * m + 1];
}

static vf_status place_data(ismrmrd_reader *r, int64_t index, const ismrmrd_body *body)
{
    scan_line *line = &r->line[index];
    int64_t kept = line_kept(line), frame_samples = r->frame_samples[line->frame];
    float complex *to = r->out->frame[line->frame].data;
    for (int c = 0; c < r->out->coils; c++) {
        const float *from = body->data + 2 * (c * stored_samples(line) + (line->stored > 0 ? line->stored_pre
                                                                          : line->flipped  ? line->post
                                                                                           : line->pre));
        float *own = (float *)(to + c * frame_samples + line->at);
        if (line->stored > 0) {
            const vf_status status = ismrmrd_resample(r, index, c, from, to + c * frame_samples + line->at);
            if (status != VF_OK)
                return status;
            take_samples(r, own, kept, line);
            continue;
        }
        memcpy(own, from, (size_t)kept * sizeof *to); /* first, because the source may change (voxfield/hdf5_io.h) */
        int64_t bad = scan_first_not_finite(r->ctx, own, 2 * kept);
        if (bad >= 0)
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: acquisition %" PRId64 ": sample %" PRId64 " of channel %d is %s",
                           r->source->path, index, bad / 2 + line->pre, c, scan_not_finite_name(own[bad]));
        if (line->flipped)
            ismrmrd_reverse(to + c * frame_samples + line->at, kept);
        take_samples(r, own, kept, line);
    }
    line->empty = !(line->energy > 0);
    return line->frame < r->out->frames ? ismrmrd_add_energy(r, line) : VF_OK;
}

/* The first three components go into k; the fourth is time. Checks what is copied, because the source may change. */
static vf_status place_trajectory(const ismrmrd_reader *r, int64_t index, const ismrmrd_body *body)
{
    const scan_line *line = &r->line[index];
    scan_trajectory *t = &r->out->trajectory[line->frame];
    const float *from = body->traj + (int64_t)line->pre * line->dims;
    const int64_t kept = line_kept(line);
    for (int64_t m = 0; m < kept; m++)
        for (int a = 0; a < line->dims; a++) {
            const float value = from[m * line->dims + a];
            if (!isfinite(value))
                return vf_fail(r->ctx, VF_ERR_INPUT,
                               "%s: acquisition %" PRId64 ": component %d of the trajectory's sample %" PRId64 " is %s",
                               r->source->path, index, a, m + line->pre, scan_not_finite_name(value));
            if (a < 3)
                t->k[3 * (line->at + m) + a] = value;
            else
                t->time[line->at + m] = value;
        }
    return VF_OK;
}

static void add_noise(filler *f, int64_t index, const ismrmrd_body *body)
{
    const ismrmrd_reader *r = f->r;
    const scan_line *line = &r->line[index];
    int coils = r->out->coils;
    int64_t kept = line_kept(line);
    if (line->channels != coils || kept < 1 || scan_first_not_finite(r->ctx, body->data, body->data_floats) >= 0) {
        f->noise.ignored++;
        return;
    }
    if (f->noise.count == 0)
        f->noise.dwell_us = (double)line->sample_time_us;
    const float *from = body->data + 2 * (int64_t)line->pre;
    const double ratio =
        (double)line->sample_time_us / f->noise.dwell_us; /* white noise: sigma^2 is as 1 / dwell time */
    const double scale = ratio > 0 && isfinite(ratio) ? sqrt(ratio) : 1;
    for (int c = 0; c < coils; c++)
        for (int64_t m = 0; m < kept; m++) {
            const float *sample = from + 2 * ((int64_t)c * line->samples + m);
            f->noise.samples[c * kept + m] = scale * ((double)sample[0] + (r->conjugate ? -I : I) * (double)sample[1]);
        }
    scan_noise_add(coils, kept, f->noise.samples, f->noise.product);
    f->noise.count += kept;
}

static vf_status place(filler *f, int64_t index, const ismrmrd_body *body)
{
    ismrmrd_reader *r = f->r;
    const scan_line *line = &r->line[index];
    vf_status status = check_body(r, index, body);
    if (status != VF_OK)
        return status;
    if (line->frame == LINE_NOISE) {
        add_noise(f, index, body);
        return VF_OK;
    }
    if (line->frame == LINE_NAVIGATOR) {
        ismrmrd_take_navigator(r, index, body);
        return VF_OK;
    }
    status = place_data(r, index, body);
    if (status == VF_OK && line->dims > 0)
        status = place_trajectory(r, index, body);
    return status;
}

/* ---- batches ---- */

typedef struct batch {
    int64_t first, count; /* 0: there are no more */
    size_t bytes;
} batch;

static size_t line_bytes(const scan_line *line)
{
    size_t data = 2 * sizeof(float) * (size_t)stored_samples(line) * line->channels,
           traj = sizeof(float) * line->samples * (line->dims + line->unused);
    return data + traj + 2 * ALIGNMENT;
}

/* The batch that begins with the next acquisition that is needed. */
static batch find_batch(const ismrmrd_reader *r, int64_t first)
{
    const int64_t end = r->source->acquisitions;
    while (first < end && r->line[first].frame == LINE_LEFT_OUT)
        first++;
    batch b = {.first = first};
    while (b.count < BATCH_MOST && first + b.count < end && (b.count == 0 || b.bytes < BATCH_BYTES))
        b.bytes += line_bytes(&r->line[first + b.count++]);
    return b;
}

static vf_status read_some(filler *f, batch b)
{
    const ismrmrd_source *source = f->r->source;
    return source->bodies(f->r->ctx, source->user, b.first, b.count, b.bytes, f->bodies);
}

/* Reads a batch, while the next one is read ahead. If one acquisition cannot be read, the whole batch fails; then reads
 * one by one, without those that are not needed, to name the bad one or do without it. */
static vf_status read_batch(filler *f, batch b, batch next)
{
    const ismrmrd_source *source = f->r->source;
    vf_status status = read_some(f, b);
    bool singly = status != VF_OK && b.count > 1;
    if (singly) {
        vf_context_clear_error(f->r->ctx);
        status = VF_OK;
    } else if (status == VF_OK && next.count > 0 && source->ahead) {
        source->ahead(source->user, next.first, next.count, next.bytes);
    }
    for (int64_t i = b.first; status == VF_OK && i < b.first + b.count; i++) {
        const scan_line *line = &f->r->line[i];
        if (line->frame == LINE_LEFT_OUT)
            continue;
        if (singly)
            status = read_some(f, (batch){i, 1, line_bytes(line)});
        VF_TRY(status, place(f, i, &f->bodies[singly ? 0 : i - b.first]));
    }
    return status;
}

static vf_status read_all(filler *f)
{
    ismrmrd_reader *r = f->r;
    vf_status status = VF_OK;
    for (batch b = find_batch(r, 0), next; status == VF_OK && b.count > 0; b = next) {
        next = find_batch(r, b.first + b.count);
        status = read_batch(f, b, next);
        VF_TRY(status, scan_check_cancelled(r->ctx));
    }
    return status;
}

/* ---- noise ---- */

/* White noise has a variance proportional to the bandwidth, the inverse of the dwell time. Noise acquisitions have
 * less noise than that, by relativeReceiverNoiseBandwidth: the receiver's filter attenuates the edges of their band
 * (Kellman and McVeigh, Magn. Reson. Med. 54 (2005) 1439). */
static void finish_noise(filler *f)
{
    ismrmrd_reader *r = f->r;
    int coils = r->out->coils;
    double image_us = (double)r->first.sample_time_us, noise_us = f->noise.dwell_us;
    bool known = image_us > 0 && noise_us > 0 && image_us < 1e6 && noise_us < 1e6;
    double bandwidth = r->protocol->noise_bandwidth;
    if (!(bandwidth > 0)) {
        vf_warn(r->ctx, "%s: xml: relativeReceiverNoiseBandwidth is %g; using 1", r->source->path, bandwidth);
        bandwidth = 1;
    }
    double scale = known ? noise_us / (image_us * bandwidth) : 1;
    if (f->noise.ignored > 0)
        vf_warn(r->ctx,
                "%s: %" PRId64
                " noise acquisition%s not used, because of another number of channels than the image's, no samples, or "
                "values that are NaN or infinite%s",
                r->source->path, f->noise.ignored, f->noise.ignored == 1 ? " is" : "s are",
                f->noise.count == 0 ? "; assuming white noise" : "");
    if (f->noise.ignored > 0 && f->noise.count == 0)
        return;
    if (f->noise.count < 2 * (int64_t)coils) {
        vf_warn(r->ctx, "%s: %" PRId64 " noise sample%s too few for %d coil%s; assuming white noise", r->source->path,
                f->noise.count, f->noise.count == 1 ? " is" : "s are", coils, vf_plural(coils));
        return;
    }
    for (int c = 0; c < coils; c++)
        scan_tell(r->out, "noise of channel %d: %.4g, by the noise scan", c,
                  sqrt(creal(f->noise.product[c * coils + c]) * scale / (double)f->noise.count));
    scan_noise_finish(coils, scale / (double)f->noise.count, (double)f->noise.count, f->noise.product);
    r->out->noise = f->noise.product;
    f->noise.product = NULL;
}

static vf_status allocate_noise(filler *f)
{
    ismrmrd_reader *r = f->r;
    int64_t most = 0, coils = r->out->coils;
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (r->line[i].frame == LINE_NOISE && r->line[i].samples > most)
            most = r->line[i].samples;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "noise", coils * coils, f->noise.product);
    if (status == VF_OK)
        status = SCAN_NEW(r->ctx, r->source->path, "noise", coils * most, f->noise.samples);
    return status;
}

/* ---- the whole ---- */

static vf_status allocate_frames(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    const char *path = r->source->path;
    int64_t navigator = 0;
    vf_status status = ismrmrd_choose_navigators(r, &navigator);
    if (status != VF_OK)
        return status;
    int64_t samples = navigator;
    for (int f = 0; f < s->frames + s->calibrations; f++)
        samples += r->frame_samples[f];
    if (r->source->stored > 0 && (double)samples * s->coils * 2 * sizeof(uint16_t) > (double)r->source->stored)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the headers declare %.3g GB of samples, but the file has only %" PRId64
                       " bytes; it is damaged, or was not written to its end",
                       path, (double)samples * s->coils * sizeof(float complex) / 1e9, r->source->stored);
    size_t each = (size_t)s->coils * sizeof(float complex) + (r->dims > 0 ? 3 + (r->dims == 4) : 0) * sizeof(float);
    status = scan_require_memory(r->ctx, path, "the samples", samples, each);
    VF_TRY(status, SCAN_NEW(r->ctx, path, "navigators", navigator * s->coils, r->epi.samples_of));
    for (int f = 0; status == VF_OK && f < s->frames + s->calibrations; f++)
        status = scan_allocate(r->ctx, path, "samples", r->frame_samples[f] * s->coils, sizeof(float complex),
                               &s->frame[f].data);
    if (status != VF_OK || r->dims == 0)
        return status;
    status = SCAN_NEW(r->ctx, path, "trajectories", s->frames, s->trajectory);
    s->trajectories = status == VF_OK ? s->frames : 0;
    for (int f = 0; status == VF_OK && f < s->frames; f++) {
        scan_trajectory *t = &s->trajectory[f];
        s->frame[f].trajectory = f;
        status = ismrmrd_mark_readouts(r, f, t);
        VF_TRY(status, SCAN_NEW(r->ctx, path, "a trajectory", 3 * t->samples, t->k));
        if (status == VF_OK && r->dims == 4)
            status = SCAN_NEW(r->ctx, path, "times", t->samples, t->time);
    }
    return status;
}

/* Reads what the lines say, and makes the noise of it if they say so. */
static vf_status fill(ismrmrd_reader *r)
{
    filler f = {.r = r};
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "acquisitions", BATCH_MOST, f.bodies);
    if (status == VF_OK && r->noise_lines > 0)
        status = allocate_noise(&f);
    VF_TRY(status, read_all(&f));
    if (status == VF_OK && r->noise_lines > 0)
        finish_noise(&f);
    free(f.bodies);
    free(f.noise.product);
    free(f.noise.samples);
    return status;
}

vf_status ismrmrd_fill_noise(ismrmrd_reader *r)
{
    return fill(r);
}

vf_status ismrmrd_fill(ismrmrd_reader *r)
{
    r->out->dwell = (double)r->first.sample_time_us > 0 ? 1e-6 * (double)r->first.sample_time_us : 0;
    vf_status status = allocate_frames(r);
    VF_TRY(status, fill(r));
    return status;
}
