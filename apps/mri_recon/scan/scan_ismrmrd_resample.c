/* Readouts whose samples are not a grid step of the image's apart: calibration lines of which a converter removed the readout
 * oversampling, beside oversampled image lines, or the reverse. The header has one field of view for both. How neighbouring
 * samples are correlated tells the step: the sum of conj(d(k)) d(k + q) over a readout is the transform of the object's
 * profile at q, which is the same for all readouts near the centre of k-space, whatever their contrast's scale. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"
#include "scan_values.h"
#include "voxfield/timer.h"

enum { LAGS = 16, LOOKED_AT = 32, MOST_SAMPLES = 2048, LEAST_LINES = 4 };
/* A step must leave so much less of the correlations unexplained than the image's own. */
static const double CLEARLY = 0.25, MOST_LEFT = 0.3, AS_GOOD = 1.5;

typedef struct readouts {
    bool found;
    uint16_t encoding;
    bool image; /* all are image data */
    int64_t lines;
    int kept, zero;      /* samples, and which of them is k = 0 */
    int32_t least, most; /* step 1 */
} readouts;

static int zero_of(const scan_line *line)
{
    return line->center == 0 ? line->samples / 2 : line->center - line->pre;
}

static bool is_image(const scan_line *line)
{
    return line->frame == LINE_IMAGE && line_kept(line) > 0;
}

/* The length of the image's readouts: the matrix, or else that of most. */
static vf_status usual_length(const ismrmrd_reader *r, int *usual)
{
    int64_t *count = NULL;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "lengths", UINT16_MAX + 1, count);
    if (status != VF_OK)
        return status;
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (is_image(&r->line[i]))
            count[line_kept(&r->line[i])]++;
    *usual = 0;
    for (int n = 0; n <= UINT16_MAX; n++)
        *usual = count[n] > count[*usual] ? n : *usual;
    if (r->out->matrix[0] <= UINT16_MAX && count[r->out->matrix[0]] > 0)
        *usual = (int)r->out->matrix[0];
    free(count);
    return VF_OK;
}

/* Readouts of another length than the image's, or of another encoding, whose field of view may be another. */
static bool is_other(const ismrmrd_reader *r, const scan_line *line, int usual)
{
    return (is_image(line) || line->calibration) && !line->reversed && line->dims == 0 && line_kept(line) >= LAGS / 2 &&
           (line_kept(line) != usual || line->encoding != r->encoding);
}

/* Finds the readouts of other lengths. False if they are of several kinds. */
static bool find_others(const ismrmrd_reader *r, int usual, readouts *other)
{
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        if (!is_other(r, line, usual) || line->channels != r->out->coils)
            continue;
        if (!other->found)
            *other = (readouts){.found = true,
                                .encoding = line->encoding,
                                .kept = (int)line_kept(line),
                                .zero = zero_of(line),
                                .image = true,
                                .least = line->step_1,
                                .most = line->step_1};
        if (other->kept != line_kept(line) || other->zero != zero_of(line) || other->encoding != line->encoding)
            return false;
        other->lines++;
        other->image = other->image && is_image(line);
        other->least = line->step_1 < other->least ? line->step_1 : other->least;
        other->most = line->step_1 > other->most ? line->step_1 : other->most;
    }
    return other->lines >= LEAST_LINES;
}

static vf_status add_correlation(const ismrmrd_reader *r, int64_t index, double complex *to)
{
    const scan_line *line = &r->line[index];
    const int64_t floats = 2 * (int64_t)line->samples * line->channels;
    ismrmrd_body body;
    const int64_t unused = (int64_t)line->samples * line->unused;
    vf_status status =
        r->source->bodies(r->ctx, r->source->user, index, 1, sizeof(float) * (size_t)(floats + unused) + 64, &body);
    for (int c = 0; status == VF_OK && body.data_floats == floats && c < line->channels; c++) {
        const float *d = body.data + 2 * ((int64_t)c * line->samples + line->pre);
        for (int q = 1; q <= LAGS; q++)
            for (int64_t m = 0; m + q < line_kept(line); m++)
                to[q] += ((double)d[2 * m] - I * (double)d[2 * m + 1]) *
                         ((double)d[2 * (m + q)] + I * (double)d[2 * (m + q) + 1]);
    }
    return status;
}

/* Whether the correlations of a readout are looked at: of the others, or of the image's. */
static bool is_asked(const ismrmrd_reader *r, const scan_line *line, int usual, bool others)
{
    return (others ? is_other(r, line, usual) : is_image(line) && line_kept(line) == usual && !line->reversed) &&
           line->channels == r->out->coils;
}

/* Correlations of some readouts: of the others, or of the image's, whose step 1 is that of the others if any are. */
static vf_status correlate(const ismrmrd_reader *r, int usual, const readouts *other, bool others, double complex *to)
{
    vf_status status = VF_OK;
    for (int pass = 0; pass < 2; pass++) {
        int64_t count[2] = {0, 0};
        for (int look = 0; look < 2; look++)
            for (int64_t i = 0; status == VF_OK && i < r->source->acquisitions; i++) {
                const scan_line *line = &r->line[i];
                const bool within = others || pass > 0 || line->encoding != other->encoding ||
                                    (line->step_1 >= other->least && line->step_1 <= other->most);
                if (!within || !is_asked(r, line, usual, others))
                    continue;
                if (look == 1 && count[1] % (count[0] / LOOKED_AT + 1) == 0)
                    status = add_correlation(r, i, to);
                count[look]++;
            }
        if (count[1] > 0)
            break;
    }
    return status;
}

/* The part of the correlations b(q) that no multiple of a(q step) explains, for the q that are whole with it. */
static double unexplained(const double complex *a, const double complex *b, double step)
{
    double complex both = 0;
    double aa = 0, bb = 0;
    int used = 0;
    for (int q = 1; q <= LAGS; q++) {
        const double at = q * step;
        const int near = (int)lround(at);
        if (near < 1 || near > LAGS || fabs(at - near) > 1e-3 || used == LAGS / 4)
            continue;
        both += conj(a[near]) * b[q];
        aa += creal(a[near] * conj(a[near]));
        bb += creal(b[q] * conj(b[q]));
        used++;
    }
    return used >= 2 && aa > 0 && bb > 0 ? 1 - creal(both * conj(both)) / (aa * bb) : 1;
}

/* Whether samples at so many of the image's steps lie within its matrix. */
static bool fits(const ismrmrd_reader *r, const readouts *other, double step)
{
    const double edge = 0.5 * (double)r->out->matrix[0] + 0.5;
    return other->zero * step <= edge && (other->kept - 1 - other->zero) * step <= edge;
}

/* How many of the image's steps in k the others' step is; 1: as many. */
static vf_status choose_step(const ismrmrd_reader *r, int usual, const readouts *other, double *step)
{
    const double fov = r->out->fov[0], image_fov = r->e->recon.fov[0], header_fov = r->e->encoded.fov[0];
    const ismrmrd_space *own =
        &r->protocol->encoding[other->encoding < ISMRMRD_MOST_ENCODINGS ? other->encoding : 0].encoded;
    double wanted = fov > 1.1 * image_fov && other->kept < usual ? fov / image_fov : 1;
    double complex image[LAGS + 1] = {0}, theirs[LAGS + 1] = {0};
    *step = 1;
    if (other->encoding != r->encoding && own->fov[0] > 0 && fabs(own->fov[0] - fov) > 0.01 * fov) {
        *step = fov / own->fov[0];
        return VF_OK;
    }
    if (other->kept > usual) /* of the image alone the oversampling was removed */
        wanted = header_fov > 1.1 * fov ? fov / header_fov : 0.5;
    if (!(image_fov > 0) || wanted == 1 || !fits(r, other, wanted) || (wanted < 1 && fits(r, other, 1)))
        return VF_OK;
    vf_status status = correlate(r, usual, other, true, theirs);
    VF_TRY(status, correlate(r, usual, other, false, image));
    const double same = unexplained(image, theirs, 1), better = unexplained(image, theirs, wanted);
    /* Image lines have the extent of the others in k, even if none of those is near enough to compare with. */
    const bool shown = better < MOST_LEFT && better < CLEARLY * same,
               likely = other->image && fabs(other->kept * wanted - usual) <= 1 && better < AS_GOOD * same;
    if (status == VF_OK && (shown || likely))
        *step = wanted;
    return status;
}

/* The matrix that takes samples of n voxels' profile at one step to samples at another, [to][from]: the profile is cut or
 * continued with 0. */
static vf_status make_kernel(ismrmrd_reader *r, int from, int from_zero, double step, int to, int to_zero)
{
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "a readout", (int64_t)to * from, r->resample.kernel);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "a readout", from, r->resample.stored));
    r->resample.samples = from;
    const int n = from < to ? from : to;
    for (int j = 0; status == VF_OK && j < to; j++)
        for (int m = 0; m < from; m++) {
            const double turn = 2 * M_PI * ((double)(m - from_zero) / from - (j - to_zero) / (step * from));
            const double complex one = cexp(I * turn), ratio = 1 - one;
            /* The sum of one^p for p from -n/2 on. */
            const double complex sum =
                cabs(ratio) > 1e-9 ? cexp(-I * turn * (n / 2)) * (1 - cexp(I * turn * n)) / ratio : n;
            r->resample.kernel[(int64_t)j * from + m] = (float complex)(sum / from);
        }
    return status;
}

vf_status ismrmrd_find_other_steps(ismrmrd_reader *r)
{
    int64_t image = 0, changed = 0;
    int usual = 0;
    readouts other = {0};
    double step = 1;
    if (r->dims > 0 || r->epi.ramps)
        return VF_OK;
    vf_status status = usual_length(r, &usual);
    if (status != VF_OK || !find_others(r, usual, &other))
        return status;
    status = choose_step(r, usual, &other, &step);
    /* A ratio of fields of view from the header may be any number. */
    if (status != VF_OK || fabs(step - 1) < 0.01 || !(step * other.kept >= 2 && step * other.kept <= MOST_SAMPLES) ||
        other.kept > MOST_SAMPLES || other.zero < 0 || other.zero > other.kept)
        return status;
    const int to = (int)floor(other.kept * step + 0.01), zero = (int)floor(other.zero * step + 0.01);
    status = make_kernel(r, other.kept, other.zero, step, to, zero);
    for (int64_t i = 0; status == VF_OK && i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        if (!is_other(r, line, usual) || line->channels != r->out->coils)
            continue;
        line->stored = line->samples;
        line->stored_pre = line->pre;
        line->samples = (uint16_t)to;
        line->center = (uint16_t)zero;
        line->pre = line->post = 0;
        image += is_image(line);
        changed++;
    }
    if (status == VF_OK)
        vf_note(r->ctx,
                "%s: %" PRId64 " %sreadout%s of %d samples %s %.3g of the image's steps apart in k: %s; interpolated",
                r->source->path, changed, image > 0 ? "" : "calibration ", vf_plural(changed), other.kept,
                changed == 1 ? "has them" : "have them", step,
                other.encoding != r->encoding ? "the field of view of their encoding is another"
                : step > 1                    ? "without its readout oversampling"
                                              : "with readout oversampling");
    return status;
}

vf_status ismrmrd_resample(const ismrmrd_reader *r, int64_t index, int channel, const float *from, float complex *to)
{
    const scan_line *line = &r->line[index];
    const int64_t stored = r->resample.samples;
    float complex *own = r->resample.stored;
    memcpy(own, from, (size_t)stored * sizeof *own); /* first, because the source may change (voxfield/hdf5_io.h) */
    const int64_t bad = scan_first_not_finite(r->ctx, (const float *)own, 2 * stored);
    if (bad >= 0)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: acquisition %" PRId64 ": sample %" PRId64 " of channel %d is %s",
                       r->source->path, index, bad / 2 + line->stored_pre, channel,
                       scan_not_finite_name(((const float *)own)[bad]));
    for (int64_t j = 0; j < line->samples; j++) {
        float complex sum = 0;
        for (int64_t m = 0; m < stored; m++)
            sum += r->resample.kernel[j * stored + m] * own[m];
        to[j] = sum;
    }
    return VF_OK;
}
