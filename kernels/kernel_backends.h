/* The kernels' backends, one list for each kind of device (backend/registry.h); not installed. */
#ifndef VOXFIELD_KERNEL_BACKENDS_H
#define VOXFIELD_KERNEL_BACKENDS_H

#include "backend/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

extern vf_backend_lists vf_kernel_backends;
extern const vf_backend vf_kernel_backends_cpu[], vf_kernel_backends_cuda[];

#ifdef __cplusplus
}
#endif
#endif
