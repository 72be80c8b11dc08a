/* Voxfield - how fast this machine is, for forecasts of times: what threads bring, and what this machine takes relative to
 * the one that the rates of forecasts were measured on. */
#ifndef VOXFIELD_MACHINE_SPEED_H
#define VOXFIELD_MACHINE_SPEED_H

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many times as fast as one thread `threads` >= 1 threads are: n / (1 + 0.05 (n - 1)), because they share caches,
 * memory, the clock and often cores (docs/threads.md). */
double vf_team_gain(double threads);

typedef struct vf_machine_speed {
    double core;   /* seconds of serial work (text, memory used for the first time) over those of the reference */
    double thread; /* seconds to begin and end a thread that allocates memory; 0 for contexts of one thread */
} vf_machine_speed;

/* Measures for about a millisecond. The reference is a core of an AMD EPYC of 2023 (Zen 4) that nobody else uses. */
vf_machine_speed vf_measure_machine(const vf_context *ctx);

/* Seconds that the process takes to leave the drivers of the GPUs it has started, at its end; 0 if it has started none. */
double vf_device_leaving_seconds(vf_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
