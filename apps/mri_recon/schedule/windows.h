/* Windows of a series: frames that are solved for together (windows.c). */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "frames/recon_job.h"

/* How the frames of a place are solved together: `count` windows of `frames` frames each, of which each shares at least
 * `shared` with the next. The choice does not depend on the device, unless plan_device has to set settings->window. */
typedef struct series_windows {
    int count, frames, shared;
} series_windows;

/* The windows of a place with `frames` frames, of `frame_bytes` bytes each: settings->window frames, or for 0 as many
 * as fit in recon_group_bytes, but RECON_LEAST_WINDOW at least. */
series_windows windows_of_series(const recon_settings *settings, int frames, double frame_bytes);
/* The windows of all places, or `most` if there are more. */
int windows_up_to(const recon_settings *settings, const mri_scan *raw, int most);
/* The frames of the place that has the most. */
int most_frames_of_place(const mri_scan *raw);
/* The size of a frame's images in the solver: one with maps (of one set), else one for each coil. */
double series_frame_bytes(const recon_settings *settings, const mri_scan *raw);

/* ---- of a reconstruction ---- */

/* Window number `number` of series_windows for the frames [first, first + frames) of a place. */
frame_group window_of_series(const series_windows *windows, int first, int frames, int number);
/* Blends the frames that a window shares with the one before, whose images are in `shared`; then copies to `shared`
 * those that it shares with the next. `images` as crew_make_group makes them. */
void window_blend(const recon_job *j, const frame_group *g, char *images, char *shared);

#endif
