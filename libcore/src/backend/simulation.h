/* Failures of devices made up by VOXFIELD_SIMULATE_FAILURE (docs/architecture.md), for work that goes through no
 * pipeline; not installed. */
#ifndef VOXFIELD_SIMULATION_H
#define VOXFIELD_SIMULATION_H

#include "voxfield/device.h"

/* The piece of work, counted from 1, at which a device is to fail; 0: before the first; -1: at none. Errors:
 * VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_simulation_of(const vf_device *device, int64_t *at);

/* The failure itself: always VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_simulation_fail(const vf_device *device);

#endif
