/* OpenCL's functions, found in libOpenCL.so.1 at run time: programs run where it is not installed. Not installed.
 *
 * OpenCL 1.2 (Khronos, 2012): the newest version that all vendors have. */
#ifndef VOXFIELD_OPENCL_FUNCTIONS_H
#define VOXFIELD_OPENCL_FUNCTIONS_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>

#include "device/context_internal.h"

#define VF_OPENCL_FUNCTIONS(DO)                                                                                        \
    DO(BuildProgram)                                                                                                   \
    DO(CreateBuffer)                                                                                                   \
    DO(CreateCommandQueue)                                                                                             \
    DO(CreateContext)                                                                                                  \
    DO(CreateKernel)                                                                                                   \
    DO(CreateProgramWithBinary)                                                                                        \
    DO(CreateProgramWithSource)                                                                                        \
    DO(EnqueueBarrierWithWaitList)                                                                                     \
    DO(EnqueueCopyBuffer)                                                                                              \
    DO(EnqueueMarkerWithWaitList)                                                                                      \
    DO(EnqueueNDRangeKernel)                                                                                           \
    DO(EnqueueReadBuffer)                                                                                              \
    DO(EnqueueWriteBuffer)                                                                                             \
    DO(Finish)                                                                                                         \
    DO(Flush)                                                                                                          \
    DO(GetDeviceIDs)                                                                                                   \
    DO(GetDeviceInfo)                                                                                                  \
    DO(GetKernelWorkGroupInfo)                                                                                         \
    DO(GetPlatformIDs)                                                                                                 \
    DO(GetProgramBuildInfo)                                                                                            \
    DO(GetProgramInfo)                                                                                                 \
    DO(ReleaseCommandQueue)                                                                                            \
    DO(ReleaseEvent)                                                                                                   \
    DO(ReleaseKernel)                                                                                                  \
    DO(ReleaseMemObject)                                                                                               \
    DO(ReleaseProgram)                                                                                                 \
    DO(SetKernelArg)

#define MEMBER(name) __typeof__(cl##name) *name;
typedef struct vf_opencl_functions {
    VF_OPENCL_FUNCTIONS(MEMBER)
} vf_opencl_functions;
#undef MEMBER
extern vf_opencl_functions vf_cl;

typedef struct vf_opencl_program vf_opencl_program; /* opencl_program.c */

/* A device of this process: begun by its first user, kept to the end. */
typedef struct vf_opencl_state {
    cl_device_id id;
    cl_device_type type;
    cl_context context;     /* NULL until it is begun */
    cl_command_queue own;   /* for transfers that wait */
    uint64_t most_in_array; /* bytes of the largest buffer */
    uint64_t total, used;   /* bytes of memory, and of those that this process has reserved */
    bool has_double, exact_division;
    uint64_t local_bytes;
    size_t most_in_group;
    int units;
    char name[256], driver[256];
    pthread_mutex_t lock;        /* of the programs, their kernels' arguments, and begin */
    vf_opencl_program *programs; /* a list */
} vf_opencl_state;

/* The devices, GPUs first, then accelerators, then CPUs; found by the first call. Sets *count, and *why to a text that says why
 * there are none (may be NULL). */
vf_opencl_state *vf_opencl_devices(int *count, const char **why);
vf_opencl_state *vf_opencl_state_of(const vf_device *device);

/* VF_OK, or the recorded failure of a call. */
#define VF_OPENCL(device, call) vf_opencl_check((device), (call), #call)
VF_MUST_CHECK vf_status vf_opencl_check(vf_device *device, cl_int error, const char *doing);

/* ---- memory ---- */

/* The buffer of an address and where in it, in bytes; NULL if the address is not an OpenCL device's. */
cl_mem vf_opencl_find(const void *address, size_t *at);
/* Makes a buffer and its addresses. Errors: VF_ERR_DEVICE_MEMORY, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_opencl_reserve(vf_device *device, size_t bytes, void **address);
void vf_opencl_free(vf_device *device, void *address);

#endif
