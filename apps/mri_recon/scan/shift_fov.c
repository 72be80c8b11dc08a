/* Moves the field of view of scans whose samples were stored without that shift.
 *
 * A scanner's gradients are 0 at the isocentre. What lies c away from it, the centre of the field of view, has the phase
 * exp(-i 2 pi k.c) in each sample. For Cartesian scans, scanners remove it while they measure. For spirals and radials
 * most do not: the samples then need exp(+i 2 pi k.c), with k in cycles per mm, along x, y, z of the image. */
#include <math.h>

#include "correct_internal.h"

/* The centre of a frame's field of view from the isocentre, in mm along x, y, z of the image; along z 0 for a plane,
 * which its excitation places. */
static void centre_of(const mri_scan *raw, const scan_frame *frame, double out[3])
{
    const scan_geometry *g = raw->place_geometry ? &raw->place_geometry[frame->place / raw->slices] : &raw->geometry;
    for (int a = 0; a < 3; a++) {
        out[a] = 0;
        for (int i = 0; i < 3 && g->known && (a < 2 || raw->matrix[2] > 1); i++)
            out[a] +=
                g->direction[a][i] * (g->centre[i] + g->slice_step * (frame->place % raw->slices) * g->direction[2][i]);
    }
}

/* The largest shift of all frames along each axis. */
static void largest_shift(const mri_scan *raw, double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = 0;
    for (int f = 0; f < raw->frames; f++) {
        double centre[3];
        centre_of(raw, &raw->frame[f], centre);
        for (int a = 0; a < 3; a++)
            out[a] = fabs(centre[a]) > fabs(out[a]) ? centre[a] : out[a];
    }
}

static void shift_frame(const mri_scan *raw, const scan_frame *frame, const double mm[3])
{
    const scan_trajectory *t = &raw->trajectory[frame->trajectory];
    for (int64_t m = 0; m < t->samples; m++) {
        double turns = 0;
        for (int a = 0; a < 3; a++)
            turns += (double)t->k[3 * m + a] / raw->fov[a] * mm[a];
        turns -= floor(turns);
        const float complex turn = (float)cos(2 * M_PI * turns) + (float)sin(2 * M_PI * turns) * I;
        for (int64_t c = 0; c < raw->coils; c++)
            frame->data[c * t->samples + m] *= turn;
    }
}

/* It cannot be seen in the data whether they have the shift. */
static void warn_of_shift(vf_context *ctx, const char *path, const mri_scan *raw, const double mm[3])
{
    bool far = false;
    for (int a = 0; a < 3; a++)
        far = far || fabs(mm[a]) > 0.5 * raw->fov[a] / (double)raw->matrix[a];
    if (far && raw->stored_trajectory)
        vf_warn(ctx,
                "%s: the field of view is centred %.3g, %.3g, %.3g mm from the isocentre along x, y, z; scanners often "
                "store "
                "spirals and radials without that shift. If the object is off by it, give --fov-shift header, else "
                "--fov-shift off",
                path, mm[0], mm[1], mm[2]);
}

vf_status shift_fov(vf_context *ctx, const scan_settings *settings, mri_scan *raw)
{
    double mm[3];
    largest_shift(raw, mm);
    if (settings->fov_shift == RECON_SHIFT_AUTO)
        warn_of_shift(ctx, settings->input, raw, mm);
    if (settings->fov_shift == RECON_SHIFT_HEADER && !raw->geometry.known)
        return vf_fail(
            ctx, VF_ERR_INPUT,
            "%s: --fov-shift header: the file does not say where the field of view lies; give --fov-shift X,Y,Z",
            settings->input);
    if (settings->fov_shift != RECON_SHIFT_HEADER && settings->fov_shift != RECON_SHIFT_GIVEN)
        return VF_OK;
    for (int f = 0; f < raw->frames + raw->calibrations; f++) {
        double centre[3];
        centre_of(raw, &raw->frame[f], centre);
        shift_frame(raw, &raw->frame[f], settings->fov_shift == RECON_SHIFT_GIVEN ? settings->shift : centre);
    }
    const double *said = settings->fov_shift == RECON_SHIFT_GIVEN ? settings->shift : mm;
    note_correction(raw, "field of view shifted by %.3g, %.3g, %.3g mm", said[0], said[1], said[2]);
    return VF_OK;
}
