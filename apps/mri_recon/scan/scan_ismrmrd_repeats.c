/* Places in k-space that were measured several times. An image merges them: they are averages. Two things may be wrong with
 * that. The header may say that the counter which tells them apart counts directions of diffusion: then each value becomes
 * an image. Or what was measured differs, because the counters do not tell images apart, or the averages have a phase
 * each: then the image loses signal, and a warning says so. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

/* ---- directions of diffusion ---- */

uint16_t ismrmrd_direction_of(const ismrmrd_protocol *protocol, const ismrmrd_acquisition_header *head)
{
    static const char user[] = "user_";
    const char *name = protocol->diffusion;
    if (strcmp(name, "average") == 0)
        return head->idx.average;
    if (strcmp(name, "segment") == 0)
        return head->idx.segment;
    if (strncmp(name, user, sizeof user - 1) == 0 && name[5] >= '0' && name[5] <= '7' && name[6] == '\0')
        return head->idx.user[name[5] - '0'];
    return 0;
}

vf_status ismrmrd_number_directions(ismrmrd_reader *r)
{
    int most = 0, set = 0;
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (r->line[i].frame == LINE_IMAGE) {
            most = r->line[i].direction > most ? r->line[i].direction : most;
            set = r->line[i].set > set ? r->line[i].set : set;
        }
    if (most == 0)
        return VF_OK;
    if ((int64_t)(set + 1) * (most + 1) > UINT16_MAX)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: %d sets of %d directions (diffusionDimension) are too many",
                       r->source->path, set + 1, most + 1);
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        line->set = (uint16_t)(line->set * (most + 1) + (line->direction <= most ? line->direction : most));
    }
    vf_note(r->ctx, "%s: xml: diffusionDimension is %s: each of its values, 0 to %d, makes an image, numbered in `set`",
            r->source->path, r->protocol->diffusion, most);
    return VF_OK;
}

/* ---- repeats that differ ---- */

/* Averages lose sqrt(1 - share) of the signal: from here on a twentieth. Breathing and drifts change less. */
static const double MOST_LOST = 0.1;
/* Repeats without a counter may be other slices, and the mean of slices side by side loses little: from a 200th on. */
static const double MOST_LOST_UNCOUNTED = 0.01;
/* Beside the centre of k-space, slices side by side differ more, and averages do not. Of two of the head phantom's 32 slices, the
 * mean loses up to 44 % of the energy there if they are neighbours, and of an object that moved by a voxel 6 %. */
static const double MOST_DETAIL_LOST = 0.1;

enum { BESIDE = 2 }; /* samples or lines about the strongest that count as the centre of k-space */

typedef struct repeats {
    int64_t lines; /* beyond the first one of each place */
    bool average, segment;
    double share;  /* of the energy at the centre of k-space that the mean loses; the largest of all frames */
    double detail; /* the same beside the centre; of Cartesian scans */
} repeats;

/* A readout, and a hash of its stored trajectory. */
typedef struct placed {
    const scan_line *line;
    uint64_t k;
} placed;

static uint64_t hash_of_k(const ismrmrd_reader *r, int frame, const scan_line *line)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, of numbers instead of bytes */
    if (r->dims == 0)
        return 0;
    const float *k = r->out->trajectory[frame].k + 3 * line->at;
    for (int64_t i = 0; i < 3 * line_kept(line); i++) {
        uint32_t bits;
        memcpy(&bits, k + i, sizeof bits);
        hash = (hash ^ bits) * UINT64_C(1099511628211);
    }
    return hash;
}

/* The order of places in k-space, and of directions along them; readouts of one place are equal. */
static int by_place(const placed *a, const placed *b)
{
    const scan_line *x = a->line, *y = b->line;
    const int32_t p[] = {x->step_1, x->step_2, x->reversed, x->samples, x->pre, x->post, x->center};
    const int32_t q[] = {y->step_1, y->step_2, y->reversed, y->samples, y->pre, y->post, y->center};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return (a->k > b->k) - (a->k < b->k);
}

static int by_place_and_number(const void *a, const void *b)
{
    const placed *p = a, *q = b;
    const int order = by_place(p, q);
    return order != 0 ? order : (p->line > q->line) - (p->line < q->line);
}

/* The energy of sample m of `count` readouts, and what of it is left in their mean. All coils. */
static void add_sample(const ismrmrd_reader *r, int frame, const placed *line, int64_t count, int64_t m, double out[2])
{
    for (int c = 0; c < r->out->coils; c++) {
        const float complex *data = r->out->frame[frame].data + c * r->frame_samples[frame] + m;
        double complex sum = 0;
        for (int64_t i = 0; i < count; i++) {
            const double complex own = (double complex)data[line[i].line->at];
            sum += own;
            out[0] += creal(own) * creal(own) + cimag(own) * cimag(own);
        }
        out[1] += (creal(sum) * creal(sum) + cimag(sum) * cimag(sum)) / (double)count;
    }
}

/* Energies of `samples` samples of `count` readouts, and what of it is left in their means: the share that is lost, without
 * `noise` in each sample of a readout. 0 if there is only noise. */
static double share_of(const double energy[2], int64_t samples, int64_t count, double noise)
{
    const double all = noise * (double)samples, signal = energy[0] - (double)count * all;
    return signal > (double)count * all ? (energy[0] - energy[1] - (double)(count - 1) * all) / signal : 0;
}

/* Of readouts of one place: the share of the energy about their strongest sample, `peak`, that the mean loses, without noise.
 * The noise is at most what differs in the quarter of the readout that differs least. */
static double share_lost(const ismrmrd_reader *r, int frame, const placed *line, int64_t count, int64_t *peak,
                         double *noise)
{
    enum { PARTS = 4 };
    const int64_t kept = line_kept(line[0].line);
    double most = 0, sum[2] = {0}, least = INFINITY;
    int64_t at = 0;
    for (int part = 0; part < PARTS; part++) {
        const int64_t first = kept * part / PARTS, end = kept * (part + 1) / PARTS;
        double all[2] = {0};
        for (int64_t m = first; m < end; m++) {
            double own[2] = {0};
            add_sample(r, frame, line, count, m, own);
            at = own[0] > most ? m : at;
            most = fmax(most, own[0]);
            all[0] += own[0];
            all[1] += own[1];
        }
        if (end > first)
            least = fmin(least, (all[0] - all[1]) / (double)((end - first) * (count - 1)));
    }
    int64_t samples = 0;
    for (int64_t m = at - BESIDE; m <= at + BESIDE; m++)
        if (m >= 0 && m < kept) {
            add_sample(r, frame, line, count, m, sum);
            samples++;
        }
    *peak = at;
    *noise = least;
    return share_of(sum, samples, count, least);
}

/* The same beside the strongest sample, within an eighth of the matrix, of all places that have as many readouts. `strongest`:
 * the first of those with most energy. */
static double detail_lost(const ismrmrd_reader *r, int frame, const placed *line, int64_t n, int64_t strongest,
                          int64_t count, int64_t peak, double noise)
{
    const scan_line *centre = line[strongest].line;
    const int64_t near[2] = {r->out->matrix[0] / 8, r->out->matrix[1] / 8};
    double sum[2] = {0};
    int64_t samples = 0;
    for (int64_t first = 0, next; first < n; first = next) {
        const scan_line *one = line[first].line;
        for (next = first + 1; next < n && by_place(&line[first], &line[next]) == 0; next++)
            ;
        const int64_t off = llabs((int64_t)one->step_1 - centre->step_1);
        if (next - first != count || one->step_2 != centre->step_2 || one->reversed != centre->reversed ||
            off > near[1])
            continue;
        for (int64_t m = peak - near[0]; m <= peak + near[0]; m++)
            if (m >= 0 && m < line_kept(one) && (off > BESIDE || llabs(m - peak) > BESIDE)) {
                add_sample(r, frame, line + first, count, m, sum);
                samples++;
            }
    }
    return share_of(sum, samples, count, noise);
}

/* Sorts the lines of a frame by place, and looks at the place with most energy that has several. */
static void look_at_frame(const ismrmrd_reader *r, int frame, placed *line, repeats *found)
{
    const int64_t n = r->frame_first[frame + 1] - r->frame_first[frame];
    int64_t strongest = 0, count = 0;
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        line[i].line = &r->line[r->order[r->frame_first[frame] + i].line];
        line[i].k = hash_of_k(r, frame, line[i].line);
    }
    qsort(line, (size_t)n, sizeof *line, by_place_and_number);
    for (int64_t first = 0, next; first < n; first = next) {
        const scan_line *one = line[first].line;
        for (next = first + 1; next < n && by_place(&line[first], &line[next]) == 0; next++) {
            found->average = found->average || line[next].line->average != one->average;
            found->segment = found->segment || line[next].line->segment != one->segment;
        }
        found->lines += next - first - 1;
        if (next - first > 1 && one->energy > most) {
            most = one->energy;
            strongest = first;
            count = next - first;
        }
    }
    if (count == 0)
        return;
    int64_t peak;
    double noise;
    found->share = fmax(found->share, share_lost(r, frame, line + strongest, count, &peak, &noise));
    if (r->dims == 0 && !found->average && !found->segment)
        found->detail = fmax(found->detail, detail_lost(r, frame, line, n, strongest, count, peak, noise));
}

/* The amplitude that is lost with a share of the energy, in %. */
static double lost_of(double share)
{
    return 100 * (1 - sqrt(1 - fmin(share, 1)));
}

/* Repeats that no counter tells apart. */
static void say_uncounted(const ismrmrd_reader *r, const repeats *found, double percent)
{
    const char *path = r->source->path, *s = vf_plural(found->lines), *verb = found->lines == 1 ? "s" : "";
    const ismrmrd_limit *limit = &r->e->slice;
    const int64_t slices = limit->maximum - (limit->minimum > 0 ? limit->minimum : 0) + 1;
    const bool detail = !(found->share > MOST_LOST_UNCOUNTED);
    if (slices > r->slice_count)
        vf_warn(
            r->ctx,
            "%s: %" PRId64 " readout%s repeat%s others with the same counters, and the header has %" PRId64
            " slices, but the acquisitions %d: the image mixes slices; count them in `slice`, or state their positions",
            path, found->lines, s, verb, slices, r->slice_count);
    else if (found->share > MOST_LOST_UNCOUNTED || found->detail > MOST_DETAIL_LOST)
        vf_warn(
            r->ctx,
            "%s: %" PRId64
            " readout%s repeat%s others with the same counters, and differ%s from them: the mean loses %.0f %% of the "
            "signal %s the centre of k-space. If these are several images, count them in `slice`, `repetition` or "
            "`set`; if the phase of averages differs, correct it first",
            path, found->lines, s, verb, verb, detail ? lost_of(found->detail) : percent, detail ? "beside" : "at");
    else
        vf_note(r->ctx,
                "%s: %" PRId64 " readout%s repeat%s others with the same counters; they are averaged (several slices "
                "need counters, or positions)",
                path, found->lines, s, verb);
}

static void say(const ismrmrd_reader *r, const repeats *found)
{
    const double percent = lost_of(found->share);
    if (found->lines > 0 && !found->average && !found->segment)
        say_uncounted(r, found, percent);
    else if (found->share > MOST_LOST)
        vf_warn(r->ctx,
                "%s: %" PRId64 " readout%s repeat%s others of the same image (`%s` tells them apart), and differ%s "
                "from them: the mean loses "
                "%.0f %% of the signal at the centre of k-space. If these are several images, such as directions of "
                "diffusion, count them in `repetition` or `set`; if the phase of averages differs, correct it first",
                r->source->path, found->lines, vf_plural(found->lines), found->lines == 1 ? "s" : "",
                found->average ? "average" : "segment", found->lines == 1 ? "s" : "", percent);
}

vf_status ismrmrd_check_repeats(ismrmrd_reader *r)
{
    placed *line = NULL;
    repeats found = {0};
    if (r->request->regroup)
        return VF_OK;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "acquisitions", r->image_lines, line);
    for (int f = 0; status == VF_OK && f < r->out->frames; f++)
        look_at_frame(r, f, line, &found);
    if (status == VF_OK)
        say(r, &found);
    free(line);
    return status;
}
