/* The navigators of EPI: readouts without phase encoding, of both polarities, before the lines of an image. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_epi.h"
#include "scan_values.h"

/* With less, the profiles of a train do not agree on a phase. */
static const double LEAST_COHERENCE = 0.5;

/* ---- which, and their samples ---- */

/* Whether readouts of both polarities make the images, and alternate as in EPI. */
static bool alternate(const ismrmrd_reader *r, int frame)
{
    enum { FEW = 4 }; /* changes of polarity: fewer can be other than a train of echoes */
    int64_t reversed = 0, changes = 0;
    const int64_t first = r->frame_first[frame], end = r->frame_first[frame + 1];
    for (int64_t i = first; i < end; i++) {
        const scan_line *line = &r->line[r->order[i].line];
        reversed += line->reversed;
        changes += i > first && line->reversed != r->line[r->order[i - 1].line].reversed;
    }
    const bool both = reversed > 0 && reversed < end - first;
    const bool in_turn = changes >= FEW && 2 * changes >= end - first - 1;
    return both && (in_turn || strcmp(r->e->trajectory, "epi") == 0);
}

/* Whether k of a readout on ramps is the same in either direction, so that its order does not matter. */
static bool is_symmetric(const epi_trapezoid *g, int samples)
{
    const double ends = 2 * g->first + (samples - 1) * g->dwell, all = g->up + g->flat + g->down;
    return fabs(g->up - g->down) <= 1e-3 * g->dwell && fabs(ends - all) <= 1e-3 * g->dwell;
}

/* Whether this is an EPI scan none of whose readouts is flagged as reversed: GE's converter has put them into forward order. */
static bool flags_none(const ismrmrd_reader *r)
{
    if (strcmp(r->e->trajectory, "epi") != 0 || r->resample.samples > 0 ||
        (r->epi.ramps && !is_symmetric(&r->epi.gradient, r->epi.samples)))
        return false;
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (r->line[i].reversed)
            return false;
    return true;
}

/* The samples of a flipped line are put into the order in which they were acquired. */
static void flip(scan_line *line)
{
    const uint16_t pre = line->pre;
    line->reversed = line->flipped = true;
    line->pre = line->post;
    line->post = pre;
}

/* The same for navigators, whose trains begin with a forward one. GE's scanners acquire four, the first of which shows something
 * else. */
static void take_every_second_navigator(ismrmrd_reader *r)
{
    enum { MOST_COMPLETE = 3 };
    int64_t first = 0, count = 0;
    for (int64_t i = 0; i <= r->source->acquisitions; i++) {
        scan_line *line = i < r->source->acquisitions ? &r->line[i] : NULL;
        const bool navigator = line && line->frame == LINE_NAVIGATOR;
        if (count > 0 && (!navigator || line->slice != r->line[first].slice)) {
            if (count > MOST_COMPLETE)
                r->line[first].frame = LINE_LEFT_OUT;
            count = 0;
        }
        if (!navigator)
            continue;
        first = count == 0 ? i : first;
        if (count++ % 2 == 1)
            flip(line);
    }
}

/* Takes every second readout of each shot for a reversed one, as it was acquired, so that its phase can be found. A shot
 * ends where the steps go back, or another average or partition begins. */
static void take_every_second(ismrmrd_reader *r)
{
    for (int f = 0; f < r->out->frames; f++) {
        const int64_t first = r->frame_first[f], end = r->frame_first[f + 1];
        const bool down =
            end - first > 1 && r->line[r->order[first + 1].line].step_1 < r->line[r->order[first].line].step_1;
        bool second = false;
        for (int64_t i = first + 1; i < end; i++) {
            scan_line *line = &r->line[r->order[i].line];
            const scan_line *before = &r->line[r->order[i - 1].line];
            second = before->average == line->average && before->step_2 == line->step_2 &&
                     before->step_1 != line->step_1 && (line->step_1 < before->step_1) == down && !second;
            if (second)
                flip(line);
        }
    }
    take_every_second_navigator(r);
    r->epi.flipped = true;
}

static vf_status find_mixed(ismrmrd_reader *r)
{
    const int frames = r->out->frames + r->out->calibrations;
    bool any = false;
    if (r->request->epi == EPI_OFF || r->dims > 0)
        return VF_OK;
    if (flags_none(r))
        take_every_second(r);
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "frames", frames, r->epi.mixed);
    for (int f = 0; status == VF_OK && f < frames; f++) {
        r->epi.mixed[f] = alternate(r, f);
        any = any || (r->epi.mixed[f] && f < r->out->frames);
    }
    if (!any) {
        free(r->epi.mixed);
        r->epi.mixed = NULL;
    }
    return status;
}

vf_status ismrmrd_choose_navigators(ismrmrd_reader *r, int64_t *samples)
{
    *samples = 0;
    vf_status status = find_mixed(r);
    for (int64_t i = 0; status == VF_OK && i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        if (line->frame != LINE_NAVIGATOR)
            continue;
        if (!r->epi.mixed || line->channels != r->out->coils || line->dims != 0 || line_kept(line) < 2) {
            line->frame = LINE_LEFT_OUT;
            continue;
        }
        line->at = *samples * r->out->coils;
        *samples += line_kept(line);
        r->epi.navigators++;
    }
    return status;
}

void ismrmrd_take_navigator(ismrmrd_reader *r, int64_t index, const ismrmrd_body *body)
{
    scan_line *line = &r->line[index];
    const int64_t kept = line_kept(line);
    float complex *to = r->epi.samples_of + line->at;
    for (int c = 0; c < r->out->coils; c++) {
        const float *from = body->data + 2 * ((int64_t)c * line->samples + (line->flipped ? line->post : line->pre));
        memcpy(to + c * kept, from, (size_t)kept * sizeof *to);
        if (line->flipped)
            ismrmrd_reverse(to + c * kept, kept);
    }
    float *own = (float *)to;
    if (scan_first_not_finite(r->ctx, own, 2 * kept * r->out->coils) >= 0) {
        line->frame = LINE_LEFT_OUT;
        return;
    }
    for (int64_t m = 0; r->conjugate && m < kept * r->out->coils; m++)
        own[2 * m + 1] = -own[2 * m + 1];
}

/* ---- trains ---- */

/* Finds the trains: navigators of a slice without image lines of it between them. */
static int find_trains(const ismrmrd_reader *r, epi_train *trains)
{
    int count = 0;
    bool open = false;
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        if (line->frame != LINE_NAVIGATOR) {
            open = open && line->frame < 0 && !line->calibration;
            continue;
        }
        if (!open || trains[count - 1].slice != line->slice)
            trains[count++] = (epi_train){.first = i, .slice = line->slice};
        trains[count - 1].count = i - trains[count - 1].first + 1;
        trains[count - 1].lines++;
        open = true;
    }
    return count;
}

/* Profiles of a train's navigators, [line][coil][x]. */
static vf_status make_profiles(const ismrmrd_reader *r, const epi_train *t, epi_profile kind[2], float complex *out,
                               bool *reversed)
{
    vf_status status = VF_OK;
    int n = 0;
    for (int64_t i = t->first; status == VF_OK && i < t->first + t->count; i++) {
        const scan_line *line = &r->line[i];
        if (line->frame != LINE_NAVIGATOR)
            continue;
        epi_profile *p = &kind[line->reversed];
        p->ramps = ismrmrd_on_ramps(r, line);
        status = ismrmrd_profile_for(r, line, p);
        for (int c = 0; status == VF_OK && c < r->out->coils; c++)
            ismrmrd_profile(p, r->epi.samples_of + line->at + c * line_kept(line),
                            out + ((int64_t)n * r->out->coils + c) * p->nx);
        reversed[n++] = line->reversed;
    }
    return status;
}

/* Adds reversed times conjugate forward: a navigator with the mean of its neighbours, if both have the other polarity, so
 * that a phase that grows evenly from line to line cancels; if there are no such three, pairs. */
static bool compare(const epi_train *t, int coils, int nx, const float complex *z, const bool *reversed,
                    double complex *sum)
{
    bool any = false;
    const int64_t size = (int64_t)coils * nx;
    for (int three = 1; three >= 0 && !any; three--)
        for (int i = 0; i + 1 + three < t->lines; i++) {
            const bool fits = reversed[i] != reversed[i + 1] && (!three || reversed[i + 1] != reversed[i + 2]);
            const float complex *const a = z + i * size, *const b = a + size, *const c = a + (three ? 2 : 0) * size;
            any = any || fits;
            for (int64_t m = 0; fits && m < size; m++) {
                const float complex mean = (a[m] + c[m]) / 2;
                sum[m % nx] += (double complex)(reversed[i + 1] ? b[m] * conjf(mean) : mean * conjf(b[m]));
            }
        }
    return any;
}

static vf_status fit(const ismrmrd_reader *r, epi_train *t, epi_profile kind[2])
{
    const int nx = kind[0].nx, coils = r->out->coils;
    float complex *z = NULL;
    double complex *sum = NULL;
    bool *reversed = NULL;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "navigators", (int64_t)t->lines * coils * nx, z);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "navigators", nx, sum));
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "navigators", t->lines, reversed));
    VF_TRY(status, make_profiles(r, t, kind, z, reversed));
    if (status == VF_OK && compare(t, coils, nx, z, reversed, sum)) {
        const double half = 0.5 * nx * (double)r->out->crop[0] / (double)r->out->matrix[0];
        for (int i = 0; i < nx; i++) /* outside the image there may be copies of it */
            sum[i] = fabs((double)(i - nx / 2)) <= half ? sum[i] : 0;
        epi_fit_phase(nx, sum, &t->phase);
        t->good = t->phase.coherence >= LEAST_COHERENCE;
    }
    free(z);
    free(sum);
    free(reversed);
    return status;
}

vf_status ismrmrd_fit_navigators(const ismrmrd_reader *r, epi_train **trains, int *count)
{
    enum { MOST_POSITIONS = 64 }; /* shifts of up to half of that */
    const int64_t n = r->out->matrix[0];
    epi_profile kind[2] = {{.nx = (int)(n < MOST_POSITIONS ? n : MOST_POSITIONS)}};
    kind[1] = kind[0];
    *count = 0;
    vf_status status = scan_allocate(r->ctx, r->source->path, "navigators", r->epi.navigators, sizeof **trains, trains);
    if (status != VF_OK)
        return status;
    *count = find_trains(r, *trains);
    for (int i = 0; status == VF_OK && i < *count; i++) {
        status = fit(r, &(*trains)[i], kind);
        VF_TRY(status, scan_check_cancelled(r->ctx));
    }
    free(kind[0].factor);
    free(kind[1].factor);
    return status;
}
