/* Windows of a series: frames that are solved for together (windows.c). */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "coils/coil_settings.h"
#include "frames/recon_job.h"
#include "schedule_settings.h"

/* How the frames of a place are solved together: `count` windows of `frames` frames each, of which each shares at least
 * `shared` with the next. The choice does not depend on the device, unless plan_device has to set the window of the settings. */
typedef struct series_windows {
    int count, frames, shared;
} series_windows;

/* The bytes of a group of frames: schedule->group_bytes, or the default for 0. */
int64_t recon_group_bytes(const schedule_settings *schedule);
/* The windows of a place with `frames` frames, of `frame_bytes` bytes each: schedule->window frames, or for 0 as many
 * as fit in recon_group_bytes, but RECON_LEAST_WINDOW at least. */
series_windows windows_of_series(const schedule_settings *schedule, int frames, double frame_bytes);
/* The windows of all places, or `most` if there are more. */
int windows_up_to(const schedule_settings *schedule, const mri_scan *raw, double frame_bytes, int most);
/* The windows of the place that has the most frames. */
series_windows windows_of_scan(const schedule_settings *schedule, const mri_scan *raw, double frame_bytes);
/* The size of a frame's images in the solver: one with maps (of one set), else one for each coil. */
double series_frame_bytes(const coil_settings *coils, vf_dtype precision, const mri_scan *raw);

/* ---- of a reconstruction ---- */

/* Window number `number` of series_windows for the frames [first, first + frames) of a place. */
frame_group window_of_series(const series_windows *windows, int first, int frames, int number);
/* Blends the frames that a window shares with the one before, whose images are in `shared`; then copies to `shared`
 * those that it shares with the next. `images` as crew_make_group makes them, frames of `frame_bytes` bytes. */
void window_blend(const frame_group *g, vf_dtype type, size_t frame_bytes, char *images, char *shared);

#endif
