/* Which frames are made, on which devices, and how many at a time: the settings of schedule/. */
#ifndef SCHEDULE_SETTINGS_H
#define SCHEDULE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { RECON_LEAST_WINDOW = 4 }; /* frames: half of them are shared with each neighbour */

typedef struct schedule_settings {
    const char *device;  /* "auto", or as for vf_context_set_devices */
    int window;          /* frames of a series that are solved together, at most; 0: all that fit (windows.c) */
    int64_t group_bytes; /* limit for the images of a frame group, which has at least one frame; 0: 1 GiB */
    const bool *wanted;  /* [frames] those to make; NULL: all */
} schedule_settings;

#endif
