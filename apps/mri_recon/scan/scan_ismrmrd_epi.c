/* Corrects the readouts of EPI whose gradient is reversed: by their navigators, or by the images themselves.
 *
 * Readouts that have each k of the matrix once are corrected as samples, which stay on the grid: a line's transform to the
 * matrix's voxels, times a phase. For others, on ramps or incomplete, k is moved, and the samples get the constant phase. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_epi.h"
#include "voxfield/append.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"

enum { ALIGNMENT = 64 };
/* k is moved by multiples of this, so that frames whose shifts agree share a trajectory. The phase that is left at the
 * edge of the field of view is pi / 512, and the ghost half of that. */
static const double SHIFT_UNIT = 1.0 / 256;

void ismrmrd_epi_free(ismrmrd_epi_state *state)
{
    free(state->mixed);
    free(state->samples_of);
}

/* What is done, for the line that says so. */
typedef struct epi_summary {
    int64_t lines, navigators, trains, unclear;
    double shift[2], turn[2]; /* least, most */
    bool from_images;
} epi_summary;

typedef struct epi_correction {
    ismrmrd_reader *r;
    epi_phase *phase; /* [image and calibration lines] in the order of r->order */
    bool *has;
    epi_summary sum;
} epi_correction;

/* ---- which phase ---- */

static void use(epi_correction *c, int64_t at, const epi_phase *p)
{
    epi_summary *s = &c->sum;
    if (!c->r->line[c->r->order[at].line].reversed)
        return;
    for (int i = 0; i < 2; i++) {
        const double sign = i ? 1 : -1;
        s->shift[i] = s->lines == 0 ? p->shift : sign * fmax(sign * s->shift[i], sign * p->shift);
        s->turn[i] = s->lines == 0 ? p->turn : sign * fmax(sign * s->turn[i], sign * p->turn);
    }
    s->lines++;
    c->phase[at] = *p;
    c->has[at] = true;
}

/* The train of each acquisition, [acquisitions]: the last before it, of its slice if that has any, else of any slice; if
 * there is none before it, the first after it. -1: none. */
static vf_status assign_trains(const ismrmrd_reader *r, const epi_train *trains, int count, int *of)
{
    enum { SLICES = UINT16_MAX + 1 };
    int *first, *last, any = -1, before = -1, next = 0;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "slices", 2 * SLICES, first);
    if (status != VF_OK)
        return status;
    last = first + SLICES;
    for (int i = 0; i < 2 * SLICES; i++)
        first[i] = -1;
    for (int i = count - 1; i >= 0; i--)
        if (trains[i].good)
            first[trains[i].slice] = any = i;
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        const uint16_t slice = r->line[i].slice;
        for (; next < count && trains[next].first <= i; next++)
            if (trains[next].good)
                last[trains[next].slice] = before = next;
        if (first[slice] >= 0)
            of[i] = last[slice] >= 0 ? last[slice] : first[slice];
        else
            of[i] = before >= 0 ? before : any;
    }
    free(first);
    return VF_OK;
}

/* Counts the trains, and says what they show. */
static void tell_trains(epi_correction *c, const epi_train *trains, int count)
{
    enum { MOST_TOLD = 64 };
    const ismrmrd_reader *r = c->r;
    for (int i = 0; i < count; i++) {
        const epi_train *t = &trains[i];
        c->sum.navigators += t->good ? t->lines : 0;
        c->sum.trains += t->good;
        if (t->good && i < MOST_TOLD)
            scan_tell(r->out,
                      "EPI, %d navigators from acquisition %" PRId64
                      " on, slice %d: shift %.3f samples, turn %.1f degrees, coherence %.3f",
                      t->lines, t->first, t->slice, t->phase.shift, t->phase.turn * 180 / M_PI, t->phase.coherence);
    }
    if (c->sum.trains < count && !r->epi.flipped)
        vf_warn(r->ctx,
                "%s: EPI: %" PRId64
                " of %d groups of navigators do not tell a phase (one polarity only, or noise) and are "
                "not used",
                r->source->path, count - c->sum.trains, count);
}

/* The phases of the images' first reversed lines by the navigators. [frames] */
static void phases_of_images(const ismrmrd_reader *r, const epi_train *trains, const int *of, epi_phase *phase,
                             bool *has)
{
    for (int64_t i = 0; i < r->image_lines; i++) {
        const int64_t index = r->order[i].line;
        const scan_line *line = &r->line[index];
        if (!line->reversed || !r->epi.mixed[line->frame] || of[index] < 0 || has[line->frame])
            continue;
        phase[line->frame] = trains[of[index]].phase;
        has[line->frame] = true;
    }
}

/* Where no readout is flagged as reversed, navigators and lines may begin with different directions, and converters change the
 * sign of every second one. So the images tell whether the phases are right or the opposite ones, and half a turn is left out.
 * Navigators whose phases fit the images in neither way are not used. */
static vf_status settle_signs(const epi_correction *c, epi_train *trains, int count, const int *of)
{
    ismrmrd_reader *r = c->r;
    epi_opinion said = {.sum = {0}};
    epi_phase *phase = NULL;
    bool *has = NULL;
    for (int i = 0; i < count; i++)
        trains[i].phase.turn = remainder(trains[i].phase.turn, M_PI);
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "frames", r->out->frames, phase);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "frames", r->out->frames, has));
    if (status == VF_OK) {
        phases_of_images(r, trains, of, phase, has);
        status = ismrmrd_ask_images(r, phase, has, &said);
    }
    const bool opposite = said.sum[2] < said.sum[1];
    const bool fits = said.sum[opposite ? 2 : 1] < said.sum[0] && !said.contradicts[opposite];
    for (int i = 0; i < count; i++) {
        trains[i].phase.turn *= opposite ? -1 : 1;
        trains[i].phase.shift *= opposite ? -1 : 1;
        trains[i].good = trains[i].good && said.needed && fits;
    }
    if (status == VF_OK && said.needed && !fits)
        scan_tell(r->out, "EPI: the images show another phase than the navigators, of which it is not known which were "
                          "reversed; they are not used");
    free(phase);
    free(has);
    return status;
}

static vf_status by_navigators(epi_correction *c)
{
    const ismrmrd_reader *r = c->r;
    epi_train *trains = NULL;
    int count = 0, *of = NULL;
    vf_status status = ismrmrd_fit_navigators(r, &trains, &count);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "acquisitions", r->source->acquisitions, of));
    VF_TRY(status, assign_trains(r, trains, count, of));
    if (status == VF_OK && r->epi.flipped)
        status = settle_signs(c, trains, count, of);
    if (status == VF_OK)
        tell_trains(c, trains, count);
    for (int64_t i = 0; status == VF_OK && i < r->image_lines + r->calibration_lines; i++) {
        const int64_t index = r->order[i].line;
        const scan_line *line = &r->line[index];
        if (line->reversed && r->epi.mixed[line->frame] && line->encoding == r->encoding && of[index] >= 0 &&
            trains[of[index]].good)
            use(c, i, &trains[of[index]].phase);
    }
    free(trains);
    free(of);
    return status;
}

/* Calibration lines get the phase of the first image of their place. */
static int frame_of(const ismrmrd_reader *r, int frame)
{
    int f = frame;
    for (f = 0; frame >= r->out->frames && f < r->out->frames; f++)
        if (r->out->frame[f].place == r->out->frame[frame].place && r->epi.mixed[f])
            return f;
    return frame < r->out->frames ? frame : -1;
}

static vf_status by_images(epi_correction *c)
{
    ismrmrd_reader *r = c->r;
    epi_phase *phase = NULL;
    epi_verdict *verdict = NULL;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "frames", r->out->frames, phase);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "frames", r->out->frames, verdict));
    VF_TRY(status, ismrmrd_fit_images(r, phase, verdict));
    for (int64_t i = 0; status == VF_OK && i < r->image_lines + r->calibration_lines; i++) {
        const scan_line *line = &r->line[r->order[i].line];
        const int f = r->epi.mixed[line->frame] && line->encoding == r->encoding ? frame_of(r, line->frame) : -1;
        if (f >= 0 && verdict[f] == EPI_CLEAR)
            use(c, i, &phase[f]);
    }
    for (int f = 0; status == VF_OK && f < r->out->frames; f++)
        c->sum.unclear += r->epi.mixed[f] && verdict[f] == EPI_UNCLEAR;
    c->sum.from_images = true;
    free(phase);
    free(verdict);
    return status;
}

/* ---- the samples ---- */

/* Whether a line has each k of the matrix once. */
static bool is_complete(const ismrmrd_reader *r, const scan_line *line)
{
    return line_kept(line) == r->out->matrix[0] && !ismrmrd_on_ramps(r, line);
}

/* Moves and turns a complete line: d [n], `work` [n]. */
static void correct_complete(const ismrmrd_reader *r, const scan_line *line, const epi_phase *p,
                             const vf_fft_rows *rows, float complex *d, float complex *work)
{
    const int64_t n = r->out->matrix[0];
    for (int64_t m = 0; m < n; m++) {
        const int64_t k = llround(ismrmrd_readout_k(r, line, (int)m + line->pre, false));
        work[(k % n + n) % n] = d[m];
    }
    vf_fft_rows_execute(rows, VF_FFT_BACKWARD, work);
    for (int64_t x = 0; x < n; x++) {
        const double at = (double)(x < (n + 1) / 2 ? x : x - n) / (double)n, phase = p->turn + 2 * M_PI * p->shift * at;
        work[x] *= (float complex)((cos(phase) - sin(phase) * I) / (double)n);
    }
    vf_fft_rows_execute(rows, VF_FFT_FORWARD, work);
    for (int64_t m = 0; m < n; m++) {
        const int64_t k = llround(ismrmrd_readout_k(r, line, (int)m + line->pre, false));
        d[m] = work[(k % n + n) % n];
    }
}

static void correct_line(const epi_correction *c, int64_t at, const vf_fft_rows *rows, float complex *work)
{
    const ismrmrd_reader *r = c->r;
    scan_line *line = &r->line[r->order[at].line];
    const epi_phase *p = &c->phase[at];
    const int64_t stride = r->frame_samples[line->frame], kept = line_kept(line);
    const bool complete = is_complete(r, line);
    const double moved = SHIFT_UNIT * rint(p->shift / SHIFT_UNIT);
    const float complex turn = (float complex)(cos(p->turn) - sin(p->turn) * I);
    if (!complete)
        line->shift = (float)-moved;
    for (int64_t coil = 0; coil < r->out->coils; coil++) {
        float complex *d = r->out->frame[line->frame].data + coil * stride + line->at;
        if (complete)
            correct_complete(r, line, p, rows, d, work);
        for (int64_t m = 0; !complete && m < kept; m++)
            d[m] *= turn;
    }
}

static vf_status correct_lines(const epi_correction *c)
{
    const ismrmrd_reader *r = c->r;
    const int64_t n = r->out->matrix[0];
    const size_t bytes = ((size_t)n * sizeof(float complex) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const int64_t lines = r->image_lines + r->calibration_lines;
    vf_fft_rows *rows = NULL;
    bool failed = false;
    vf_status status = vf_fft_rows_create(r->ctx, VF_C64, n, 1, &rows);
    if (status != VF_OK)
        return status;
#pragma omp parallel num_threads(vf_threads_for(r->ctx, 20 * lines * n))
    {
        float complex *work = aligned_alloc(ALIGNMENT, bytes);
        if (!work) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < lines; i++)
            if (work && c->has[i])
                correct_line(c, i, rows, work);
        free(work);
    }
    vf_fft_rows_destroy(rows);
    return failed ? vf_fail(r->ctx, VF_ERR_MEMORY, "%s: not enough memory for a line", r->source->path) : VF_OK;
}

/* ---- what is said ---- */

static void append_range(char *text, size_t size, const double range[2], int digits, const char *unit)
{
    char least[32], most[32];
    const double step = digits > 0 ? 0.01 : 1; /* no -0 */
    snprintf(least, sizeof least, "%.*f", digits, step * rint(range[0] / step) + 0.0);
    snprintf(most, sizeof most, "%.*f", digits, step * rint(range[1] / step) + 0.0);
    if (strcmp(least, most) == 0)
        vf_append(text, size, "%s %s", least, unit);
    else
        vf_append(text, size, "%s to %s %s", least, most, unit);
}

static void say(const epi_correction *c)
{
    const epi_summary *s = &c->sum;
    mri_scan *out = c->r->out;
    const size_t size = sizeof out->corrections;
    char *text = out->corrections;
    if (s->lines == 0 && c->r->epi.flipped)
        return; /* nothing says that there is anything to correct */
    if (text[0])
        vf_append(text, size, "; ");
    if (s->lines == 0) {
        vf_append(text, size, "EPI: reversed readouts not corrected: no navigators, and %s",
                  s->unclear > 0 ? "the images show no clear phase" : "the images have as few ghosts without");
        return;
    }
    const double turn[2] = {s->turn[0] * 180 / M_PI, s->turn[1] * 180 / M_PI};
    vf_append(text, size, "EPI: %s readouts shifted by ", c->r->epi.flipped ? "every second one of the" : "reversed");
    append_range(text, size, s->shift, 2, "samples");
    vf_append(text, size, " and turned by ");
    append_range(text, size, turn, 0, "degrees");
    if (s->from_images)
        vf_append(text, size, ", from the images, which have the fewest ghosts so");
    else
        vf_append(text, size, ", from %" PRId64 " navigator%s", s->navigators, vf_plural(s->navigators));
}

static void warn_of_ghosts(const epi_correction *c)
{
    const int64_t n = c->sum.unclear;
    if (n > 0)
        vf_warn(c->r->ctx,
                "%s: EPI without navigators: %" PRId64 " image%s may have ghosts: reversed readouts seem to have "
                "another phase than forward ones, but the image does "
                "not show clearly which; nothing is changed",
                c->r->source->path, n, vf_plural(n));
    c->r->out->ghosts = n > 0;
}

/* ---- reversed readouts that are neither flagged nor in forward order ---- */

/* Puts flipped lines and navigators back into the order of the file, as reversed ones; or the other way. */
static void turn_flipped(ismrmrd_reader *r, bool flipped)
{
    r->as_stored = !flipped;
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        const bool navigator = line->frame == LINE_NAVIGATOR;
        if (!line->reversed || line->frame == LINE_LEFT_OUT || line->frame == LINE_NOISE)
            continue;
        const int64_t kept = line_kept(line), stride = navigator ? kept : r->frame_samples[line->frame];
        float complex *own = (navigator ? r->epi.samples_of : r->out->frame[line->frame].data) + line->at;
        for (int c = 0; c < r->out->coils; c++)
            ismrmrd_reverse(own + c * stride, kept);
        const uint16_t pre = line->pre;
        line->pre = line->post;
        line->post = pre;
        line->flipped = flipped;
    }
}

/* Where no readout is flagged as reversed, a converter has put reversed ones into forward order, or has forgotten the flag. The
 * images of either half of the lines are alike only if their readouts are understood. */
static vf_status check_order(ismrmrd_reader *r)
{
    const double clear = 1.1;
    double likeness[2] = {0, 0};
    vf_status status = ismrmrd_likeness(r, &likeness[0]);
    if (status != VF_OK)
        return status;
    turn_flipped(r, false);
    status = ismrmrd_likeness(r, &likeness[1]);
    scan_tell(
        r->out,
        "EPI: images of every second line and of the others are alike to %.3f as the readouts are flagged, and to %.3f "
        "if every second one is reversed",
        likeness[0], likeness[1]);
    if (status == VF_OK && likeness[1] > clear * likeness[0])
        vf_warn(
            r->ctx,
            "%s: EPI: no readout is flagged as reversed (ACQ_IS_REVERSE), but the samples show that every second one "
            "is; the second, fourth and so on of each shot are taken so; if it is the others, the image is mirrored "
            "along x",
            r->source->path);
    else
        turn_flipped(r, true);
    return status;
}

/* ---- the whole ---- */

vf_status ismrmrd_correct_epi(ismrmrd_reader *r)
{
    epi_correction c = {.r = r};
    const int64_t lines = r->image_lines + r->calibration_lines;
    if (!r->epi.mixed)
        return VF_OK;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "lines", lines, c.phase);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "lines", lines, c.has));
    if (status == VF_OK && r->epi.flipped)
        status = check_order(r);
    if (status == VF_OK && r->epi.navigators > 0)
        status = by_navigators(&c);
    if (status == VF_OK && c.sum.lines == 0)
        status = by_images(&c);
    if (status == VF_OK && c.sum.lines > 0)
        status = correct_lines(&c);
    if (status == VF_OK)
        say(&c);
    if (status == VF_OK)
        warn_of_ghosts(&c);
    free(c.phase);
    free(c.has);
    return status;
}
