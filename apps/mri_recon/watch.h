/* mri_recon: stage times and the progress line of a run. */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>

#include "voxfield/context.h"
#include "voxfield/timer.h"

/* Stage times and a progress line. If several teams work at the same time, each has a silent watch of its own that
 * adds to `whole`, the shared watch that counts frames. */
typedef struct recon_watch {
    vf_stages stages;
    vf_progress progress;
    vf_progress_mode mode;
    char which[96];  /* the current frames: "frame 3 of 20: ", or "" */
    char title[160]; /* of the line */
    struct recon_watch *whole;
    vf_context *ctx;           /* whose progress function is told; NULL: none */
    double told_at;            /* when it was, by vf_now */
    double frames, told;       /* the current stage's share in frames; frames added to `whole` so far */
    struct watch_pulse *pulse; /* a thread that redraws the line between updates; NULL: not started */
} recon_watch;

/* Begins a stage of `work` units, which watch_add counts (0: unknown). `name` must outlive the watch. */
void watch_stage(recon_watch *watch, const char *name, double work);

/* watch_hush clears the line until the next stage, so that the caller can print. watch_end also stops the pulse; it
 * must be the last call on a watch. */
void watch_hush(recon_watch *watch);
void watch_end(recon_watch *watch);

/* These may be called from any thread. watch_add adds to the stage's progress; watch_title sets the line's text. */
void watch_add(recon_watch *watch, double more);
void watch_tell(void *watch, double more); /* watch_add as a progress callback */
void watch_title(recon_watch *watch, const char *text);

/* watch_part: from now on, a complete stage counts as `frames` frames of `whole`. watch_part_ends: corrects what was
 * added to `whole` so far to `frames` frames, and starts again from 0. */
void watch_part(recon_watch *watch, double frames);
void watch_part_ends(recon_watch *watch, double frames);

#endif
