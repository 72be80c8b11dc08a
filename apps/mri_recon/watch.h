/* mri_recon: what a run is doing: the times of its stages, and the progress line. */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>

#include "voxfield/timer.h"

/* What a run is at: the stages' times, and a line for people. That of a device which makes whole images beside others
 * is silent, and tells `whole`, which counts frames. */
typedef struct recon_watch {
    vf_stages stages;
    vf_progress progress;
    vf_progress_mode mode;
    char which[96];  /* the frames at hand: "frame 3 of 20: ", or "" */
    char title[160]; /* of the line */
    struct recon_watch *whole;
    double frames, told;       /* of the stage at hand, and how many were told so far */
    struct watch_pulse *pulse; /* draws the line while nobody tells anything; NULL: no line was drawn yet */
} recon_watch;

/* A stage begins, of `work` units that vf_progress_add counts (0: not known). `name` must outlive the watch. */
void watch_stage(recon_watch *watch, const char *name, double work);

/* The line goes, so that something can be printed, until the next stage; and for good: the last call, if any stage
 * began. */
void watch_hush(recon_watch *watch);
void watch_end(recon_watch *watch);

/* From any thread: so much more is done; what the line says. */
void watch_add(recon_watch *watch, double more);
void watch_tell(void *watch, double more); /* the same, for what tells its progress */
void watch_title(recon_watch *watch, const char *text);

/* The stage's work is worth so many frames of the whole; all that was told makes `frames`. */
void watch_part(recon_watch *watch, double frames);
void watch_part_ends(recon_watch *watch, double frames);

#endif
