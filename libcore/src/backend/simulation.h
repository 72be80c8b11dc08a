/* Simulated failures of devices by VOXFIELD_SIMULATE_FAILURE (docs/division.md), for work outside pipelines; not
 * installed. */
#ifndef VOXFIELD_SIMULATION_H
#define VOXFIELD_SIMULATION_H

#include "voxfield/device.h"

/* Sets *at to the piece of work, counted from 1, at which a device should fail; 0: before the first; -1: never. Errors:
 * VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_simulation_of(const vf_device *device, int64_t *at);

/* The simulated failure: always VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_simulation_fail(const vf_device *device);

#endif
