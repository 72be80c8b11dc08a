/* Series that are too long to be solved in one piece: windows of frames that overlap.
 *
 * All windows of a place have the same number of frames and lie evenly in the series, so neighbours share a quarter
 * of a window or more. In the middle of what they share, the images go over from one window to the next linearly,
 * because a window's first and last frames lack neighbours on one side. Taking each frame from the window in whose
 * middle it lies leaves seams: steps between frames two to three times as large
 * (validation/apps/test_mri_windows.py). */
#include <string.h>

#include "coils/choose_maps.h"
#include "windows.h"

/* Neighbours share 1 / SHARE of a window, and LEAST_SHARED frames at least. */
enum { SHARE = 4, LEAST_SHARED = 2 };

static int frames_of_place(const mri_scan *raw, int place)
{
    int frames = 0;
    for (int f = 0; f < raw->frames; f++)
        frames += raw->frame[f].place == place;
    return frames;
}

double series_frame_bytes(const coil_settings *coils, vf_dtype precision, const mri_scan *raw)
{
    const double voxels = (double)raw->matrix[0] * (double)raw->matrix[1] * (double)raw->matrix[2];
    return voxels * (combines_by_maps(coils, raw) ? 1 : raw->coils) *
           (double)vf_dtype_bytes(vf_dtype_complex(precision));
}

int64_t recon_group_bytes(const schedule_settings *s)
{
    return s->group_bytes > 0 ? s->group_bytes : INT64_C(1) << 30;
}

series_windows windows_of_series(const schedule_settings *s, int frames, double frame_bytes)
{
    const double room = (double)recon_group_bytes(s) / frame_bytes;
    const int fit = room < RECON_LEAST_WINDOW ? RECON_LEAST_WINDOW : room < frames ? (int)room : frames;
    const int wanted = s->window > 0 ? s->window : fit;
    if (wanted >= frames)
        return (series_windows){.count = 1, .frames = frames};
    const int shared = wanted / SHARE > LEAST_SHARED ? wanted / SHARE : LEAST_SHARED, step = wanted - shared;
    return (series_windows){.count = 1 + (frames - wanted + step - 1) / step, .frames = wanted, .shared = shared};
}

/* The first frame of a window. */
static int begin_of(const series_windows *w, int frames, int number)
{
    return w->count > 1 ? (int)((int64_t)number * (frames - w->frames) / (w->count - 1)) : 0;
}

/* The first of the shared frames in which the images go over from window number - 1 to window `number`. */
static int seam_of(const series_windows *w, int frames, int number)
{
    return (begin_of(w, frames, number - 1) + begin_of(w, frames, number) + w->frames - w->shared) / 2;
}

series_windows windows_of_scan(const schedule_settings *s, const mri_scan *raw, double frame_bytes)
{
    int most = 0;
    for (int p = 0; p < raw->places; p++) {
        const int frames = frames_of_place(raw, p);
        most = frames > most ? frames : most;
    }
    return windows_of_series(s, most, frame_bytes);
}

int windows_up_to(const schedule_settings *s, const mri_scan *raw, double frame_bytes, int most)
{
    int windows = 0;
    for (int p = 0; p < raw->places && windows < most; p++) {
        const int frames = frames_of_place(raw, p);
        windows += frames > 0 ? windows_of_series(s, frames, frame_bytes).count : 0;
    }
    return windows < most ? windows : most;
}

frame_group window_of_series(const series_windows *w, int first, int frames, int number)
{
    const int begin = begin_of(w, frames, number);
    frame_group g = {.first = first + begin, .count = w->frames};
    if (number > 0) {
        g.skip = seam_of(w, frames, number) - begin;
        g.before = w->shared;
    }
    if (number + 1 < w->count) {
        g.drop = begin + w->frames - seam_of(w, frames, number + 1) - w->shared;
        g.after = w->shared;
    }
    return g;
}

/* to += weight (from - to) for `count` real numbers */
static void blend(vf_dtype type, int64_t count, double weight, const char *from, char *to)
{
    const double *wide = (const double *)(const void *)from;
    const float *narrow = (const float *)(const void *)from;
    for (int64_t i = 0; i < count; i++)
        if (type == VF_C128)
            ((double *)(void *)to)[i] += weight * (wide[i] - ((double *)(void *)to)[i]);
        else
            ((float *)(void *)to)[i] += (float)weight * (narrow[i] - ((float *)(void *)to)[i]);
}

void window_blend(const frame_group *g, vf_dtype type, size_t bytes, char *images, char *shared)
{
    const int64_t numbers = 2 * (int64_t)(bytes / vf_dtype_bytes(type));
    for (int f = 0; f < g->before; f++)
        blend(type, numbers, 1 - (f + 1.0) / (g->before + 1), shared + (size_t)f * bytes,
              images + (size_t)(g->skip + f) * bytes);
    memcpy(shared, images + (size_t)(g->count - g->drop - g->after) * bytes, (size_t)g->after * bytes);
}
