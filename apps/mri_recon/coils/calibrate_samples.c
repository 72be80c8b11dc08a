/* Gathers the samples in the centre of k-space, the input of all estimates of coil maps. Those of weight 0 do not
 * count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "voxfield/team_size.h"

/* Whether two frames show the same; of different phases of a motion, on request. */
static bool alike(const scan_frame *a, const scan_frame *b, bool phases)
{
    scan_frame other = *b;
    other.phase = phases ? a->phase : b->phase;
    return scan_same_kind(a, &other);
}

/* Whether frame f belongs to the place, shows the same as its first frame, and adds a new trajectory. */
static bool belongs(const mri_scan *raw, int f, int first, int place, bool phases)
{
    const scan_frame *frame = &raw->frame[f], *like = &raw->frame[first];
    if (frame->place != place || frame->part_of > 0) /* the samples of parts are those of the whole */
        return false;
    if ((f >= raw->frames && !frame->spare) || f == first)
        return true;
    for (int g = 0; g < f; g++) /* a repeated trajectory adds nothing */
        if (alike(&raw->frame[g], like, phases) && raw->frame[g].trajectory == frame->trajectory)
            return false;
    return alike(frame, like, phases);
}

/* Half the small matrix along each axis. */
static void reach_of(const calibration *c, float reach[3])
{
    for (int a = 0; a < 3; a++)
        reach[a] = c->small[a] > 1 ? 0.5F * (float)c->small[a] : INFINITY;
}

/* Whether a sample lies within the small matrix. */
static bool inside(const float reach[3], const float *k)
{
    return fabsf(k[0]) <= reach[0] && fabsf(k[1]) <= reach[1] && fabsf(k[2]) <= reach[2];
}

/* ---- calibration lines with another contrast ---- */

enum { BOX = 48, LEAST_COMMON = 64 };
/* Samples of both kinds at one place of k-space differ by their noise, unless the calibration was acquired with another
 * contrast or gain: then by this share of the energy and more. */
static const double DIFFERENT = 0.1;
/* A gain, or a phase in radians, that is the same for all samples shows in their sums, where noise does not count. */
static const double OTHER_GAIN = 0.03;

/* The place of a sample on the grid within BOX of the centre along each axis; -1 for others. */
static int64_t place_in_box(const mri_scan *raw, const float *k)
{
    int64_t at = 0;
    for (int a = 2; a >= 0; a--) {
        if (!(fabsf(k[a]) < BOX / 2 - 0.5F)) /* what would be rounded to BOX / 2; or NaN */
            return -1;
        const int64_t nearest = raw->matrix[a] > 1 ? calibrate_nearest(k[a]) : 0;
        if (fabsf(k[a] - (float)nearest) > 1e-3f)
            return -1;
        at = at * BOX + nearest + BOX / 2;
    }
    return at;
}

/* Whether a sample lies between the lines of the grid: of calibration lines of another field of view, which cannot be compared. */
static bool between_lines(const float *k)
{
    for (int a = 1; a < 3; a++)
        if (fabsf(k[a]) < BOX / 2 - 0.5F && fabsf(k[a] - (float)calibrate_nearest(k[a])) > 1e-3F)
            return true;
    return false;
}

static bool is_calibration(const mri_scan *raw, int f)
{
    return f >= raw->frames && !raw->frame[f].spare;
}

/* Whether the place has calibration lines that are not like the image's where both were acquired. With them, the
 * image's lines must not be mixed: the coils would seem to see a comb. */
static bool calibration_differs(const mri_scan *raw, int first, int place)
{
    const scan_frame *image = &raw->frame[first];
    const scan_trajectory *at = &raw->trajectory[image->trajectory];
    double difference = 0, energy = 0, own_energy[2] = {0, 0};
    double complex both = 0;
    int64_t common = 0, between = 0, *sample = NULL;
    bool any = false;
    for (int f = raw->frames; f < raw->frames + raw->calibrations; f++)
        any = any || (is_calibration(raw, f) && raw->frame[f].place == place);
    sample = any ? calloc((size_t)BOX * BOX * BOX, sizeof *sample) : NULL;
    for (int64_t m = 0; sample && m < at->samples; m++) {
        const int64_t i = place_in_box(raw, at->k + 3 * m);
        if (i >= 0 && !(at->weights && at->weights[m] == 0))
            sample[i] = m + 1;
    }
    for (int f = raw->frames; sample && f < raw->frames + raw->calibrations; f++) {
        const scan_trajectory *own = &raw->trajectory[raw->frame[f].trajectory];
        if (!is_calibration(raw, f) || raw->frame[f].place != place)
            continue;
        for (int64_t m = 0; m < own->samples; m++) {
            const int64_t i = place_in_box(raw, own->k + 3 * m);
            between += between_lines(own->k + 3 * m);
            if (i < 0 || sample[i] == 0)
                continue;
            common++;
            for (int coil = 0; coil < raw->coils; coil++) {
                const double complex y = scan_coil(raw, image, coil)[sample[i] - 1],
                                     c = scan_coil(raw, &raw->frame[f], coil)[m];
                difference += creal((c - y) * conj(c - y));
                energy += fmax(creal(y * conj(y)), creal(c * conj(c)));
                own_energy[0] += creal(y * conj(y));
                own_energy[1] += creal(c * conj(c));
                both += conj(y) * c;
            }
        }
    }
    free(sample);
    if (between > common)
        return true;
    if (common < LEAST_COMMON || !(cabs(both) > 0.5 * sqrt(own_energy[0] * own_energy[1])))
        return common >= LEAST_COMMON && difference > DIFFERENT * energy;
    return difference > DIFFERENT * energy || fabs(0.5 * log(own_energy[1] / own_energy[0])) > OTHER_GAIN ||
           fabs(carg(both)) > OTHER_GAIN;
}

enum { CHUNK = 1 << 12 }; /* samples that a thread takes at a time */

/* What is gathered. */
typedef struct gathering {
    const calibration *c;
    float reach[3];
    float *k;               /* [sample][3] */
    float complex *data;    /* [coil][sample], may be NULL */
    unsigned char *sampled; /* [point of the small matrix] marks of those with samples, may be NULL */
    int64_t samples;        /* found; then the length of data's rows */
} gathering;

/* Lists the samples of `count` from the first one on that lie within the small matrix and have a weight. */
static int64_t list_chunk(const float reach[3], const scan_trajectory *at, int64_t first, int64_t count, int32_t *list)
{
    int64_t found = 0;
    for (int64_t m = 0; m < count; m++)
        if (inside(reach, at->k + 3 * (first + m)) && !(at->weights && at->weights[first + m] == 0))
            list[found++] = (int32_t)m;
    return found;
}

/* The number of samples [first, end) of a frame that are gathered; with `k`, copies them to `to` and on. */
static int64_t gather_chunk(const gathering *g, const scan_frame *frame, int64_t first, int64_t end, int64_t to)
{
    const mri_scan *raw = g->c->scan;
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    int32_t list[CHUNK];
    const int64_t found = list_chunk(g->reach, at, first, end - first, list);
    for (int64_t i = 0; g->sampled && i < found; i++) {
        const int64_t point = calibrate_point_of(g->c->small, at->k + 3 * (first + list[i]));
        if (point >= 0)
            calibrate_mark(g->sampled + point);
    }
    for (int64_t i = 0; g->k && i < found; i++)
        memcpy(g->k + 3 * (to + i), at->k + 3 * (first + list[i]), 3 * sizeof *g->k);
    for (int coil = 0; g->data && coil < raw->coils; coil++) {
        const float complex *from = scan_coil(raw, frame, coil) + first;
        float complex *data = g->data + coil * g->samples + to;
        for (int64_t i = 0; i < found; i++)
            data[i] = from[list[i]];
    }
    return found;
}

/* The samples of a frame: `begin` [chunks] gets their numbers, or has their places. */
static void gather_frame(const gathering *g, const scan_frame *frame, int64_t *begin)
{
    const int64_t samples = g->c->scan->trajectory[frame->trajectory].samples, chunks = (samples + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(g->c->ctx, 3 * samples))
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t end = (i + 1) * CHUNK < samples ? (i + 1) * CHUNK : samples;
        const int64_t found = gather_chunk(g, frame, i * CHUNK, end, begin[i]);
        if (!g->k)
            begin[i] = found;
    }
}

/* Counts the samples, or with g->k copies them, frame after frame. `begin` [all chunks of the frames that belong]. */
static void gather(gathering *g, int place, int64_t *begin)
{
    const mri_scan *raw = g->c->scan;
    int first = 0;
    while (first < raw->frames && raw->frame[first].place != place)
        first++;
    const bool alone = first < raw->frames && calibration_differs(raw, first, place);
    int64_t chunk = 0, found = 0;
    for (int f = 0; f < raw->frames + raw->calibrations && first < raw->frames; f++) {
        if (!belongs(raw, f, first, place, g->c->phases) || (alone && !is_calibration(raw, f)))
            continue;
        const int64_t chunks = (raw->trajectory[raw->frame[f].trajectory].samples + CHUNK - 1) / CHUNK;
        gather_frame(g, &raw->frame[f], begin + chunk);
        for (int64_t i = chunk; i < chunk + chunks && !g->k; i++) {
            const int64_t own = begin[i];
            begin[i] = found;
            found += own;
        }
        chunk += chunks;
    }
    g->samples = g->k ? g->samples : found;
}

/* Chunks of all frames. */
static int64_t all_chunks(const mri_scan *raw)
{
    int64_t chunks = 0;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        chunks += (raw->trajectory[raw->frame[f].trajectory].samples + CHUNK - 1) / CHUNK;
    return chunks;
}

vf_status calibrate_gather(calibration *c, int place, bool data)
{
    gathering g = {.c = c};
    int64_t *begin = calloc((size_t)all_chunks(c->scan) + 1, sizeof *begin);
    reach_of(c, g.reach);
    if (begin)
        gather(&g, place, begin);
    c->centre.samples = g.samples;
    free(c->centre.k);
    free(c->data);
    c->centre.k = g.k = malloc((size_t)(g.samples + 1) * 3 * sizeof *g.k);
    c->data = data ? malloc((size_t)(g.samples + 1) * (size_t)c->scan->coils * sizeof *c->data) : NULL;
    const bool enough = begin && c->centre.k && (!data || c->data);
    g.data = c->data;
    if (enough)
        gather(&g, place, begin);
    free(begin);
    return enough ? VF_OK : vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
}

vf_status calibrate_mark_sampled(const calibration *c, int place, unsigned char *sampled)
{
    gathering g = {.c = c, .sampled = sampled};
    int64_t *begin = calloc((size_t)all_chunks(c->scan) + 1, sizeof *begin);
    if (!begin)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
    reach_of(c, g.reach);
    gather(&g, place, begin);
    free(begin);
    return VF_OK;
}

void calibrate_choose_phases(calibration *c, int place)
{
    const scan_frame *first = NULL;
    bool several = false;
    c->phases = false;
    for (int f = 0; f < c->scan->frames; f++) {
        const scan_frame *frame = &c->scan->frame[f];
        if (frame->place != place)
            continue;
        first = first ? first : frame;
        several = several || frame->phase != first->phase;
    }
    if (!several || calibrate_has_box(c, place))
        return;
    c->phases = true;
    c->phases = calibrate_has_box(c, place);
}

vf_status calibrate_require(calibration *c, int place, double cut)
{
    char where[32] = "";
    const vf_status status = calibrate_gather(c, place, true);
    if (status != VF_OK || c->centre.samples > 0)
        return status;
    if (cut > 0)
        (void)snprintf(where, sizeof where, " (|k| < %g)", cut);
    return vf_fail(
        c->ctx, VF_ERR_INPUT,
        "place %d: no sample lies in the centre of k-space%s, so coil maps cannot be estimated; use --coils rss", place,
        where);
}

void calibrate_mark(unsigned char *mark)
{
    unsigned char set;
#pragma omp atomic read
    set = *mark;
    if (!set) {
#pragma omp atomic write
        *mark = 1;
    }
}

void calibrate_normalise(const vf_context *ctx, float complex *data, int64_t count)
{
    float largest = 0;
    float *values = (float *)data;
    const int threads = vf_threads_for(ctx, count);
#pragma omp parallel for schedule(static) reduction(max : largest) num_threads(threads)
    for (int64_t i = 0; i < 2 * count; i++) {
        const float size = fabsf(values[i]);
        largest = size > largest ? size : largest;
    }
    if (largest == 0 || !isfinite(largest))
        return;
    /* In double precision, which holds the factor even if the largest number is subnormal. */
    const double factor = ldexp(1, -ilogbf(largest));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < 2 * count; i++)
        values[i] = (float)(factor * values[i]);
}
