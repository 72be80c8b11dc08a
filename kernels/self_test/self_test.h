/* Voxfield - whether a device computes what it should: each computation on a small case against its reference on the host.
 *
 * Drivers of OpenCL come from many makers, and some have compiled programs wrongly. So programs call this before they use such a
 * device. What passed is remembered in the user's cache, by the device's name, its driver and this library's version. */
#ifndef VOXFIELD_SELF_TEST_H
#define VOXFIELD_SELF_TEST_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks the context's OpenCL devices; others need none. Errors: VF_ERR_DEVICE (the message names the device, its driver and the
 * computation that is wrong), and those of the computations. The environment variable VOXFIELD_SIMULATE_WRONG=opencl:0 makes that
 * device's first result wrong, for tests. */
VF_MUST_CHECK vf_status vf_self_test(vf_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
