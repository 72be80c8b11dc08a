/* Whether the readouts of EPI are sampled on the ramps of their gradient, by the header and by the samples. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "scan_ismrmrd_epi.h"

/* The header's ramps are believed unless even samples give edges that are so much sharper (epi_sharpness). Of heads and
 * ellipses, on ramps that take 20 to 70 % of the time, the right one of the two had 1.06 to 2.8 times the other's. */
static const double CLEAR = 1.1;

bool ismrmrd_on_ramps(const ismrmrd_reader *r, const scan_line *line)
{
    return r->epi.ramps && line->encoding == r->encoding && line->samples == r->epi.samples &&
           !(line->calibration && r->epi.even_calibration);
}

/* Whether calibration lines of this encoding are of a gradient echo (FLASH) instead of EPI: none is reversed, and those of
 * the image are; or they have another dwell time. */
static bool calibration_is_even(const ismrmrd_reader *r)
{
    bool reversed[2] = {false, false}, other_dwell = false;
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        if (line->encoding != r->encoding || (line->frame != LINE_IMAGE && !line->calibration))
            continue;
        reversed[line->calibration] = reversed[line->calibration] || line->reversed;
        other_dwell = other_dwell || (line->calibration && line->sample_time_us > 0 && r->first.sample_time_us > 0 &&
                                      fabsf(line->sample_time_us / r->first.sample_time_us - 1) > 0.2f);
    }
    return (reversed[0] && !reversed[1]) || other_dwell;
}

/* EPI whose header does not describe a gradient: whether the number of samples suggests ramps. */
static void warn_of_ramps(const ismrmrd_reader *r, int64_t matrix, const char *why)
{
    const int samples = r->first.number_of_samples;
    const int64_t image = r->e->recon.matrix[0];
    const bool usual = samples == matrix || samples == image || samples == 2 * image || samples < matrix;
    if (why[0] || (!usual && matrix > 0))
        vf_warn(r->ctx,
                "%s: the trajectory is 'epi'; its readouts of %d samples for %" PRId64
                " voxels are taken as sampled evenly, because %s. If they lie on the gradient's ramps, the image is "
                "blurred",
                r->source->path, samples, matrix,
                why[0] ? why : "the header has no rampUpTime, flatTopTime, rampDownTime and dwellTime");
}

void ismrmrd_find_ramps(ismrmrd_reader *r)
{
    const bool named = strcmp(r->e->trajectory, "epi") == 0;
    const ismrmrd_facts *f = &r->facts;
    const int64_t matrix = r->e->encoded.matrix[0] > 0 ? r->e->encoded.matrix[0] : r->e->recon.matrix[0];
    const int samples = r->first.number_of_samples, center = f->center_most > 0 ? f->center_most : samples / 2;
    const char *why;
    ismrmrd_epi_state *s = &r->epi;
    if (r->request->epi == EPI_OFF || r->dims > 0 || !named)
        return;
    const bool found =
        epi_trapezoid_find(&r->e->epi, samples, (double)r->first.sample_time_us, center, matrix, &s->gradient, &why);
    if (!found && samples == matrix) /* a converter has interpolated them, and the header is of what was measured */
        return;
    if (!found) {
        warn_of_ramps(r, matrix, why);
        return;
    }
    s->samples = samples;
    s->ramps = epi_on_ramps(&s->gradient, samples);
    s->ramps_unlikely = s->ramps && samples == matrix;
    s->even_calibration = calibration_is_even(r);
}

/* ---- the samples ---- */

/* Of the two ways to understand the samples, the right one has the sharper edges along x. */
static vf_status compare(ismrmrd_reader *r)
{
    double sharpness[2] = {0, 0};
    vf_status status = VF_OK;
    for (int ramps = 0; status == VF_OK && ramps < 2; ramps++) {
        r->epi.ramps = ramps == 1;
        status = ismrmrd_sharpness(r, &sharpness[ramps]);
    }
    r->epi.ramps = !(sharpness[0] > CLEAR * sharpness[1]);
    scan_tell(r->out,
              "EPI: as many samples as voxels along x; edges are %.2f times as sharp if the samples are on the "
              "gradient's ramps "
              "as if they are even: they are %s",
              sharpness[0] > 0 ? sharpness[1] / sharpness[0] : 1,
              r->epi.ramps ? "on the ramps" : "interpolated already");
    return status;
}

vf_status ismrmrd_confirm_ramps(ismrmrd_reader *r)
{
    const epi_trapezoid *g = &r->epi.gradient;
    vf_status status = r->epi.ramps_unlikely ? compare(r) : VF_OK;
    if (status == VF_OK && r->epi.ramps)
        scan_tell(
            r->out,
            "EPI: %d samples, %g us apart, from %g us on, under a gradient that rises for %g us, stays for %g us and "
            "falls for %g us",
            r->epi.samples, g->dwell, g->first - g->dwell / 2, g->up, g->flat, g->down);
    return status;
}
