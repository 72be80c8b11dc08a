/* Voxfield - whether a device computes what it should: each kernel on a small case against its reference on the host.
 *
 * Drivers of OpenCL come from many makers, and some have compiled programs wrongly. So programs call this before they use such a
 * device. What passed is remembered in the user's cache, by the device's name, its driver and this library's version. */
#ifndef VOXFIELD_SELF_TEST_H
#define VOXFIELD_SELF_TEST_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is tested: the kernels of potentials (cionize), or those of images (mri_recon). Both include those of libcore. */
typedef enum vf_self_tested { VF_SELF_TEST_POTENTIALS = 1, VF_SELF_TEST_IMAGES = 2 } vf_self_tested;

/* Checks the context's OpenCL devices; others need none. `twice`: in double precision, too, on devices that have it. Errors:
 * VF_ERR_DEVICE (the message names the device, its driver and the kernel that is wrong), and those of the kernels. The environment
 * variable VOXFIELD_SIMULATE_WRONG, for tests, makes a device's first result wrong (opencl:0), or that of a kernel (opencl:0@the
 * cutoff sum). */
VF_MUST_CHECK vf_status vf_self_test(vf_context *ctx, vf_self_tested what, bool twice);

/* The names of the kernels, as messages have them; NULL beyond the last. */
const char *vf_self_test_name(vf_self_tested what, int index);

#ifdef __cplusplus
}
#endif
#endif
