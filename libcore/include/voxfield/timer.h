/* Voxfield - wall-clock time, times of stages, and progress on a terminal. */
#ifndef VOXFIELD_TIMER_H
#define VOXFIELD_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "voxfield/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds on a monotonic clock. */
double vf_now(void);
/* Seconds of processor time of this process, all threads together; not of its children. */
double vf_processor_now(void);

/* The stages of a run and their times. Zero-initialise. `name` must outlive the record (a string literal). Starting a
 * stage ends the current one; a repeated name adds to its time. */
enum { VF_MAX_STAGES = 16 };
typedef struct vf_stages {
    struct {
        const char *name;
        double seconds, processor; /* on the clock; of vf_processor_now */
    } stage[VF_MAX_STAGES];
    int count;
    int current; /* index + 1 of the running stage; 0: none */
    double since, processor_since;
} vf_stages;
void vf_stage_begin(vf_stages *stages, const char *name);
void vf_stage_end(vf_stages *stages);
double vf_stage_seconds(const vf_stages *stages, const char *name); /* 0 if the name is unknown */

/* One line on a terminal: first the title, then the share done, rate and time left, redrawn at most ten times a second
 * and removed at the end. `unit_scale` and `unit` convert amounts for display: 1e-9 and "G evaluations"; NULL: no rate.
 * The title's text may change while it is shown. */
typedef enum vf_progress_mode { VF_PROGRESS_AUTO, VF_PROGRESS_ON, VF_PROGRESS_OFF } vf_progress_mode;
typedef struct vf_progress {
    FILE *stream; /* NULL: silent */
    const char *title, *unit;
    double unit_scale, total, done, began, drawn;
    int width;
    struct vf_context *ctx; /* whose progress function is told; NULL: none */
    double told;
} vf_progress;

/* AUTO shows progress if `stream` is a terminal. ON also writes to other streams, a plain line every ten seconds.
 * `total` 0: only the title is known. */
void vf_progress_begin(vf_progress *progress, FILE *stream, vf_progress_mode mode, const char *title, double total,
                       double unit_scale, const char *unit);
/* Tells the context's progress function, too (context.h), some times a second. NULL: nothing. Until vf_progress_begin. */
void vf_progress_also(vf_progress *progress, struct vf_context *ctx);
void vf_progress_update(vf_progress *progress, double done);
void vf_progress_add(vf_progress *progress, double more); /* adds to the amount done */
/* Call it while nothing is added: redraws the line if it is older than a second on a terminal, or ten seconds
 * elsewhere. Shows the elapsed time if the total is unknown. */
void vf_progress_tick(vf_progress *progress);
void vf_progress_end(vf_progress *progress);

/* "3.2 s", "4 min 10 s", "2 h 05 min" into `text` (32 bytes are enough); returns `text`. */
const char *vf_format_seconds(double seconds, char *text, size_t size);
/* "310 MiB" with three digits. */
const char *vf_format_bytes(double bytes, char *text, size_t size);
/* The plural ending of a noun after a number: "%lld value%s". */
const char *vf_plural(int64_t count);

#ifdef __cplusplus
}
#endif
#endif
