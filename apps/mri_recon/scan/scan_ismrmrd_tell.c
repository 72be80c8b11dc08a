/* What --info says of an ISMRMRD file: what the header claims, what the acquisitions are, and where they lie. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "scan_ismrmrd_reader.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

static void tell_encoding(const ismrmrd_reader *r, int number)
{
    const ismrmrd_encoding *e = &r->protocol->encoding[number];
    char more[160] = "";
    if (e->multiband > 0)
        vf_append(more, sizeof more, ", multiband factor %" PRId64, e->multiband);
    if (e->rounded)
        vf_append(more, sizeof more, ", matrix sizes that are not whole were rounded");
    if (e->calibration_mode[0])
        vf_append(more, sizeof more, ", calibration %s", e->calibration_mode);
    scan_tell(r->out,
              "encoding %d%s: %s, encoded %" PRId64 " x %" PRId64 " x %" PRId64 " over %g x %g x %g mm, image %" PRId64
              " x %" PRId64 " x %" PRId64 " over %g x %g x %g mm%s",
              number + 1, number == r->encoding ? " (reconstructed)" : "",
              e->trajectory[0] ? e->trajectory : "trajectory not named", e->encoded.matrix[0], e->encoded.matrix[1],
              e->encoded.matrix[2], e->encoded.fov[0], e->encoded.fov[1], e->encoded.fov[2], e->recon.matrix[0],
              e->recon.matrix[1], e->recon.matrix[2], e->recon.fov[0], e->recon.fov[1], e->recon.fov[2], more);
}

/* Counters of the image's acquisitions that take several values. */
static void tell_counters(const ismrmrd_reader *r)
{
    static const char *const names[] = {"slices", "contrasts", "phases", "repetitions", "sets", "averages", "segments"};
    enum { COUNTERS = sizeof names / sizeof *names };
    int least[COUNTERS], most[COUNTERS];
    char text[300] = "";
    bool first = true;
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        const int now[COUNTERS] = {line->slice, line->contrast, line->phase,  line->repetition,
                                   line->set,   line->average,  line->segment};
        if (line->frame != LINE_IMAGE)
            continue;
        for (int c = 0; c < COUNTERS; c++) {
            least[c] = first || now[c] < least[c] ? now[c] : least[c];
            most[c] = first || now[c] > most[c] ? now[c] : most[c];
        }
        first = false;
    }
    for (int c = 0; c < COUNTERS && !first; c++)
        if (most[c] > 0)
            vf_append(text, sizeof text, "%s%s %d to %d", text[0] ? ", " : "", names[c], least[c], most[c]);
    char samples[32] = "";
    if (r->facts.samples_least < r->facts.samples_most)
        snprintf(samples, sizeof samples, "%d to ", r->facts.samples_least);
    scan_tell(r->out, "image data: %" PRId64 " readout%s of %s%d samples, %d channel%s%s%s", r->image_lines,
              vf_plural(r->image_lines), samples, r->facts.samples_most, r->out->coils, vf_plural(r->out->coils),
              text[0] ? ", numbers of " : "", text);
}

void ismrmrd_tell_header(const ismrmrd_reader *r, const char *others)
{
    const char *vendor = r->protocol->vendor;
    scan_tell(r->out, "scanner: %s; %s", vendor[0] ? vendor : "the vendor is not named",
              r->conjugate ? "the samples are conjugated (phase sign +)"
                           : "the samples are taken as they are (phase sign -)");
    for (int e = 0; e < r->protocol->encodings && e < ISMRMRD_MOST_ENCODINGS; e++)
        tell_encoding(r, e);
    tell_counters(r);
    scan_tell(r->out, "other acquisitions: %s", others);
    scan_tell(r->out, "positions in k-space: %s",
              r->dims > 0 ? "stored beside the samples" : "from encoding steps and center_sample");
}

/* The axis of the patient that a direction is closest to. */
static const char *nearest_axis(const double direction[3])
{
    static const char *const names[3][2] = {{"right", "left"}, {"front", "back"}, {"feet", "head"}};
    int most = 0;
    for (int a = 1; a < 3; a++)
        most = fabs(direction[a]) > fabs(direction[most]) ? a : most;
    return names[most][direction[most] > 0];
}

void ismrmrd_tell_geometry(const ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    for (int n = 0; n < scan_stacks(s); n++) {
        const scan_geometry *g = s->place_geometry ? &s->place_geometry[n] : &s->geometry;
        char stack[96] = "";
        if (s->place_geometry)
            vf_append(stack, sizeof stack, " %d", n + 1);
        if (!s->geometry.known) {
            scan_tell(s, "geometry: unknown: read_dir, phase_dir and slice_dir are no orthogonal unit vectors");
            return;
        }
        scan_tell(
            s,
            "geometry%s: centre %.4g, %.4g, %.4g mm (left, back, head); x points to the %s, y to the %s, z to the %s",
            stack, g->centre[0], g->centre[1], g->centre[2], nearest_axis(g->direction[0]),
            nearest_axis(g->direction[1]), nearest_axis(g->direction[2]));
        if (s->slices > 1)
            scan_tell(s, "geometry%s: %d slices, %.4g mm apart", stack, s->slices, g->slice_step);
        if (!s->place_geometry)
            return;
    }
}
