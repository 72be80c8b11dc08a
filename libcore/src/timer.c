#include "voxfield/timer.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "voxfield/context.h"

double vf_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double vf_processor_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void vf_stage_end(vf_stages *stages)
{
    if (stages->current > 0) {
        stages->stage[stages->current - 1].seconds += vf_now() - stages->since;
        stages->stage[stages->current - 1].processor += vf_processor_now() - stages->processor_since;
    }
    stages->current = 0;
}

void vf_stage_begin(vf_stages *stages, const char *name)
{
    vf_stage_end(stages);
    int i = 0;
    while (i < stages->count && strcmp(stages->stage[i].name, name) != 0)
        i++;
    if (i == VF_MAX_STAGES)
        return;
    if (i == stages->count) {
        stages->stage[i].name = name;
        stages->stage[i].seconds = stages->stage[i].processor = 0;
        stages->count++;
    }
    stages->current = i + 1;
    stages->since = vf_now();
    stages->processor_since = vf_processor_now();
}

double vf_stage_seconds(const vf_stages *stages, const char *name)
{
    for (int i = 0; i < stages->count; i++)
        if (strcmp(stages->stage[i].name, name) == 0)
            return stages->stage[i].seconds;
    return 0;
}

static bool on_terminal(const vf_progress *progress)
{
    return isatty(fileno(progress->stream));
}

/* The terminal's width in columns; 0: unknown. */
static int columns(const vf_progress *progress)
{
    struct winsize size = {0};
    return ioctl(fileno(progress->stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Draws the line. On a terminal it replaces the previous one and is cut to the width; elsewhere it is a new line. */
static void draw(vf_progress *progress, const char *text)
{
    char line[400];
    const int length = snprintf(line, sizeof line, "%s%s", progress->title, text);
    if (!on_terminal(progress)) {
        fprintf(progress->stream, "%s\n", line);
    } else {
        const int most = columns(progress) > 1 ? columns(progress) - 1 : (int)sizeof line - 1;
        const int width = length < most ? length : most;
        fprintf(progress->stream, "\r%.*s%*s", width, line, progress->width > width ? progress->width - width : 0, "");
        progress->width = width;
    }
    fflush(progress->stream);
}

void vf_progress_begin(vf_progress *progress, FILE *stream, vf_progress_mode mode, const char *title, double total,
                       double unit_scale, const char *unit)
{
    *progress = (vf_progress){.stream = stream, .title = title, .unit = unit, .unit_scale = unit_scale, .total = total};
    if (mode == VF_PROGRESS_OFF || (mode == VF_PROGRESS_AUTO && !on_terminal(progress)))
        progress->stream = NULL;
    progress->began = progress->drawn = vf_now();
    if (progress->stream && on_terminal(progress))
        draw(progress, " ...");
}

static void tell(vf_progress *progress)
{
    const double now = vf_now(), often = 0.05; /* seconds */
    if (now - progress->told < often)
        return;
    progress->told = now;
    vf_progress_tell(progress->ctx, progress->title, progress->total > 0 ? progress->done / progress->total : -1);
}

void vf_progress_also(vf_progress *progress, vf_context *ctx)
{
    progress->ctx = ctx;
    progress->told = 0;
    if (ctx)
        tell(progress);
}

void vf_progress_update(vf_progress *progress, double done)
{
    progress->done = done;
    if (progress->ctx)
        tell(progress);
    if (!progress->stream)
        return;
    double now = vf_now(), elapsed = now - progress->began;
    if (!(now - progress->drawn >= (on_terminal(progress) ? 0.1 : 10)) || !(elapsed > 0) || !(done > 0) ||
        !(progress->total > 0))
        return;
    progress->drawn = now;
    char left[32], rate[64] = "", text[160];
    vf_format_seconds(elapsed * (progress->total / done - 1), left, sizeof left);
    if (progress->unit)
        snprintf(rate, sizeof rate, " %.3g %s/s,", done / elapsed * progress->unit_scale, progress->unit);
    snprintf(text, sizeof text, " %3.0f %%,%s %s left", 100 * done / progress->total, rate, left);
    draw(progress, text);
}

void vf_progress_add(vf_progress *progress, double more)
{
    vf_progress_update(progress, progress->done + more);
}

void vf_progress_tick(vf_progress *progress)
{
    char since[32], text[48];
    const double now = vf_now();
    if (!progress->stream || !(now - progress->drawn >= (on_terminal(progress) ? 1 : 10)))
        return;
    if (progress->done > 0 && progress->total > 0) {
        vf_progress_update(progress, progress->done);
        return;
    }
    progress->drawn = now;
    vf_format_seconds(floor(now - progress->began), since, sizeof since);
    snprintf(text, sizeof text, " ... %s", since);
    draw(progress, text);
}

void vf_progress_end(vf_progress *progress)
{
    if (progress->stream && progress->width > 0 && on_terminal(progress)) {
        fprintf(progress->stream, "\r%*s\r", progress->width, "");
        fflush(progress->stream);
    }
    progress->stream = NULL;
}

const char *vf_format_seconds(double seconds, char *text, size_t size)
{
    if (!(seconds >= 0) || !isfinite(seconds))
        snprintf(text, size, "unknown time");
    else if (seconds < 0.9995)
        snprintf(text, size, "%.3g ms", seconds * 1e3);
    else if (seconds < 99.95)
        snprintf(text, size, "%.3g s", seconds);
    else if (seconds < 5970)
        snprintf(text, size, "%.0f min %02.0f s", floor(seconds / 60), floor(fmod(seconds, 60)));
    else if (seconds < 1e7)
        snprintf(text, size, "%.0f h %02.0f min", floor(seconds / 3600), floor(fmod(seconds, 3600) / 60));
    else
        snprintf(text, size, "%.3g years", seconds / (365.25 * 86400));
    return text;
}

const char *vf_format_bytes(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int unit = 0;
    while (bytes >= 999.5 && unit < 6) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, size, "%.3g %s", bytes, units[unit]);
    return text;
}

const char *vf_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}
