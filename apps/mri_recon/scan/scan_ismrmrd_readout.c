/* The grid of Cartesian readouts, by their length: readout oversampling that the header has and the samples have not, because a
 * converter removed it; and the reverse. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scan_ismrmrd_reader.h"

/* Sets the grid of Cartesian readouts: n voxels over fov mm. */
static void set_readout(ismrmrd_reader *r, int64_t n, double fov, const char *why)
{
    mri_scan *s = r->out;
    vf_note(r->ctx,
            "%s: readouts of up to %d samples%s: %" PRId64 " voxels over %g mm along x, where the header has %" PRId64
            " over %g mm; --oversampling says otherwise",
            r->source->path, r->facts.samples_most, why, n, fov, s->matrix[0], s->fov[0]);
    s->matrix[0] = n;
    s->fov[0] = fov;
}

/* The samples of a whole readout: twice the longer side of the readouts, from the centre to an end, because echoes may
 * be partial. center_sample counts discarded samples, unless that puts the middle of what is kept elsewhere. */
static int64_t whole_readout(const ismrmrd_facts *f)
{
    const int samples = f->samples_most, middle = samples / 2, center = f->center_most - f->pre_most;
    if (f->center_most <= 0 || f->center_most == middle || center == middle || center < 0 || center >= samples)
        return samples;
    return 2 * (int64_t)(center > samples - center ? center : samples - center);
}

void ismrmrd_fit_readout(ismrmrd_reader *r)
{
    const mri_scan *s = r->out;
    const ismrmrd_facts *f = &r->facts;
    const int64_t n = s->matrix[0], image_n = r->e->recon.matrix[0];
    const double fov = s->fov[0], image_fov = r->e->recon.fov[0], asked = r->request->oversampling;
    if (r->dims > 0 || r->epi.ramps || f->samples_least != f->samples_most || f->center_least != f->center_most ||
        f->pre_least != f->pre_most)
        return;
    const int64_t samples = f->samples_most, whole = whole_readout(f);
    /* Voxels as large as the image's: Siemens' converter states the samples of a partial echo as the matrix. */
    const int64_t expected = image_fov > 0 ? llround((double)image_n * fov / image_fov) : 0;
    const int64_t kept = image_fov > 0 && image_fov < fov ? llround((double)n * image_fov / fov) : n;
    if (asked > 0) {
        const double wanted = asked * (image_fov > 0 ? image_fov : fov);
        if (whole != n || fabs(wanted - fov) > 1e-3 * fov)
            set_readout(r, whole > samples + 1 && whole < n ? n : whole, wanted, ", as --oversampling says");
    } else if (kept <= 0.8 * (double)n && llabs(whole - kept) <= 1) {
        set_readout(r, kept, fov * (double)kept / (double)n, " have no oversampling any more");
    } else if (image_n > 0 && llabs(whole - expected) <= 1 && expected > n + 1) {
        set_readout(r, expected, fov, " are partial echoes");
    } else if ((double)whole >= 1.1 * (double)n && whole <= 4 * n && whole <= SCAN_MOST_MATRIX) {
        const bool by_fov = image_n > 0 && image_fov > 0 &&
                            fabs(fov / image_fov - (double)whole / (double)image_n) <= 0.01 * fov / image_fov;
        set_readout(r, whole, by_fov ? fov : fov * (double)whole / (double)n, " are oversampled");
    }
}
