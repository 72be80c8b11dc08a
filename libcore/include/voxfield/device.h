/* Voxfield - devices, queues and memory.
 *
 * A device computes: the CPU, one NVIDIA GPU (CUDA), or one device of any vendor (OpenCL). A queue is an ordered stream of work on a device. Work in a queue runs
 * in order, asynchronously to the caller on a GPU, immediately on the CPU. Kernels are launched into a queue; they
 * neither allocate nor synchronise.
 */
#ifndef VOXFIELD_DEVICE_H
#define VOXFIELD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef enum vf_device_kind { VF_DEVICE_CPU, VF_DEVICE_CUDA, VF_DEVICE_OPENCL } vf_device_kind;
enum { VF_DEVICE_KINDS = VF_DEVICE_OPENCL + 1 };

/* Memory spaces. A CPU device's VF_SPACE_DEVICE memory is ordinary host memory. Pinned memory is host memory that a GPU
 * reads and writes directly; on the CPU it is ordinary host memory. */
typedef enum vf_space { VF_SPACE_HOST, VF_SPACE_PINNED, VF_SPACE_DEVICE } vf_space;

/* Element types. Complex numbers are interleaved {re, im}. */
typedef enum vf_dtype { VF_F32, VF_F64, VF_C64, VF_C128, VF_I32, VF_I64, VF_U8 } vf_dtype;
size_t vf_dtype_bytes(vf_dtype type);     /* 0 for an invalid type */
const char *vf_dtype_name(vf_dtype type); /* "VF_F32"; never NULL, for any value */

/* The complex type of a real one, and the real type of a complex one's parts. */
static inline vf_dtype vf_dtype_complex(vf_dtype real)
{
    return real == VF_F64 ? VF_C128 : VF_C64;
}
static inline vf_dtype vf_dtype_real(vf_dtype type)
{
    return type == VF_F64 || type == VF_C128 ? VF_F64 : VF_F32;
}

vf_device_kind vf_device_get_kind(const vf_device *device);
vf_context *vf_device_context(const vf_device *device);
const char *vf_device_spec(const vf_device *device); /* "cpu", "cpu:1", "cuda:0", "opencl:0" */
const char *vf_device_name(const vf_device *device); /* "AMD EPYC ..., 2 threads, AVX-512", "NVIDIA H200" */
/* What a GPU is good for: "compute capability 9.0, double precision at 1/2 of the speed of single"; "" for the CPU. */
const char *vf_device_traits(const vf_device *device);
int vf_device_ordinal(
    const vf_device *device); /* the GPU's CUDA number, or the OpenCL device's; 1 for "cpu:1"; 0 for "cpu" */
bool vf_device_watched(const vf_device *device); /* a display watchdog kills long kernels on this GPU */
bool vf_device_is_host(const vf_device *device); /* true if host code may touch its VF_SPACE_DEVICE memory */

/* Host memory in bytes, available now and in total. Both are capped by the limits of the process's control group
 * and of all groups above it (versions 1 and 2), as Slurm, systemd and containers set them. */
void vf_host_memory(uint64_t *free_bytes, uint64_t *total_bytes);

/* Asks the system for large pages for host memory from malloc or calloc. Call it before the first write, because the
 * kernel makes pages when they are first touched. Does nothing for less than some MB, or NULL. */
void vf_large_pages(void *memory, size_t bytes);

/* Free and total memory of a device in bytes, now; the host's for the CPU. */
VF_MUST_CHECK vf_status vf_device_memory(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes);

/* The number of usable GPUs; 0 without CUDA, driver or GPU. `reason` (may be NULL) gets a static text that says why
 * there are none. Starts the CUDA driver, which takes some tenths of a second: see vf_device_choose. */
int vf_cuda_device_count(const char **reason);
bool vf_built_with_cuda(void);

/* The same for OpenCL devices, "opencl:0" and so on: GPUs first, then accelerators, then CPUs. The first call loads the library. */
int vf_opencl_device_count(const char **reason);

/* The overhead of a GPU in seconds, on an H200 (validation/results). START: the driver and the device's context, the
 * stage "device" of reports, which can run ahead (vf_device_warm_up). USE: everything beyond the stages, such as
 * pinning memory and leaving the driver. The study in docs/accuracy.md measures both. */
#define VF_CUDA_START_SECONDS 0.22
#define VF_CUDA_USE_SECONDS 0.1

/* Starts the GPUs of `spec` (as vf_context_set_devices; "auto": the first) on a separate thread, while the caller reads
 * its input. Returns at once. Only the first call of a context counts; "cpu", a text without a GPU, and a library
 * without CUDA start nothing. It reports nothing: errors of a driver or GPU appear when that GPU is used.
 * vf_context_set_devices waits for the GPUs that the caller selects, vf_device_choose for those that may pay off,
 * vf_context_destroy for all. */
void vf_device_warm_up(vf_context *ctx, const char *spec);

typedef struct vf_warm_up_state {
    bool begun, ended; /* begun is false if there is nothing to start */
    int started;       /* number of ready GPUs; 0 before the end */
    double seconds;    /* duration, so far if not ended */
    double waited;     /* time that the caller spent waiting for GPUs to start */
} vf_warm_up_state;

/* The state of the warm-up. Returns at once, unless another thread is waiting for it. */
vf_warm_up_state vf_device_warm_up_state(vf_context *ctx);

/* The costs that "auto" compares: seconds of the work on this CPU and on one GPU, and seconds from now until the first
 * GPU is ready. */
typedef struct vf_device_costs {
    double cpu, gpu, start;
} vf_device_costs;

/* The rule of "auto": how many of `gpus` GPUs to use; 0 if the CPU is expected to finish first, or gpus < 1. On n GPUs
 * the work takes start + (n - 1) VF_CUDA_START_SECONDS + gpu / n + VF_CUDA_USE_SECONDS. *seconds (may be NULL) gets the
 * expected time of the choice. The CPU is chosen if both take equally long, or if a cost is NaN. */
int vf_device_rule(const vf_device_costs *costs, int gpus, double *seconds);

/* "auto" for one piece of work: applies vf_device_rule and sets the context's devices. CUDA is not touched if the rule
 * says CPU for any number of GPUs up to `most` (1 or more). If a warm-up is running, only its remaining time counts; it starts no
 * further GPUs once the choice is made. Unusable GPUs are left out with a warning, and the CPU is chosen if all are. `why` gets one
 * line with the choice and its reason; at most `why_size` bytes. */
VF_MUST_CHECK vf_status vf_device_choose(vf_context *ctx, double cpu_seconds, double gpu_seconds, int most, char *why,
                                         size_t why_size);

/* Whether `spec` is "cuda" and there are several GPUs: it means as many of them as pay off. For "cuda", starts the CUDA driver. */
bool vf_device_means_all(const char *spec);

/* vf_device_choose for "cuda": as many GPUs as pay off, one at least, `most` at most, never the CPU. Errors: VF_ERR_DEVICE (no GPU
 * can be used). */
VF_MUST_CHECK vf_status vf_device_choose_gpus(vf_context *ctx, double gpu_seconds, int most);

/* ---- devices that fail ---- */

/* Whether a status is the fault of a device, so that another device may succeed. */
static inline bool vf_is_device_error(vf_status status)
{
    return status == VF_ERR_DEVICE || status == VF_ERR_DEVICE_MEMORY;
}

/* Drops a device for the rest of the context's life: pipelines start nothing more on it (pipeline.h). The first call
 * gives a warning with the device's name and `why`; later calls do nothing. Any thread may call it. */
void vf_device_give_up(vf_device *device, const char *why);

/* Why a device was dropped; NULL if it was not. The text lives as long as the device. */
const char *vf_device_failure(const vf_device *device);

/* ---- queues ---- */
typedef struct vf_queue vf_queue;

VF_MUST_CHECK vf_status vf_queue_create(vf_device *device, vf_queue **out);

/* A queue whose work goes into a CUDA stream of the caller (a cudaStream_t, the default streams included), which is on this device
 * and outlives the queue. vf_queue_destroy neither waits for it nor destroys it. With vf_queue_after it orders other queues with
 * the stream. Errors: VF_ERR_UNSUPPORTED (not a CUDA device), VF_ERR_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_queue_of_stream(vf_device *device, void *stream, vf_queue **out);

void vf_queue_destroy(vf_queue *queue); /* waits for the queue's work; NULL is allowed */
vf_device *vf_queue_device(const vf_queue *queue);
void *vf_queue_native(const vf_queue *queue); /* the cudaStream_t; NULL on the CPU */

/* Waits until all work in the queue is done, and reports its errors. */
VF_MUST_CHECK vf_status vf_queue_sync(vf_queue *queue);

/* Work put into `queue` from now on runs after the work that is now in `before`. The caller does not wait. Both queues
 * must be of one device. */
VF_MUST_CHECK vf_status vf_queue_after(vf_queue *queue, vf_queue *before);

/* Copies bytes between host memory and VF_SPACE_DEVICE memory of the queue's device, either way, or within the device.
 * Asynchronous on a GPU if the host side is pinned; otherwise it returns when the host side may be used again. */
VF_MUST_CHECK vf_status vf_queue_copy(vf_queue *queue, void *dst, const void *src, size_t bytes);

/* ---- arrays ---- */

/* A flat piece of memory with its type, length and space. Zero-initialise it ({0}); vf_array_free zeroes it again. */
typedef struct vf_array {
    void *data;
    int64_t count; /* elements */
    vf_dtype type;
    vf_space space;
    vf_device *device;
} vf_array;

/* Allocates `count` >= 0 elements (count 0: data may be NULL), at least 64-byte aligned, contents undefined. Errors:
 * VF_ERR_MEMORY or VF_ERR_DEVICE_MEMORY (with the requested and the available size), VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_array_create(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *out);
void vf_array_free(vf_array *array);

/* The address of element `first` in VF_SPACE_DEVICE memory of the device that begins at `data`; NULL if data is NULL.
 * Code for any device must use this function instead of pointer arithmetic, because a device's pointers need not be
 * byte addresses. */
void *vf_offset(const vf_device *device, const void *data, vf_dtype type, int64_t first);

/* The same for an array in any space. */
void *vf_array_at(const vf_array *array, int64_t first);

/* Copies `count` elements from the start of `src` to the start of `dst`, on the queue: asynchronous if a GPU is
 * involved and the host side is pinned. Types must be equal; the arrays must not overlap. For a copy between two
 * devices, the queue may belong to either. The copy is direct if the machine supports that, otherwise it goes through the
 * host; between kinds of device it blocks, and the source must be complete. Errors: VF_ERR_INTERNAL, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_array_copy(vf_queue *queue, vf_array *dst, const vf_array *src, int64_t count);

/* ---- the CPU's instruction set, chosen at run time ---- */
typedef enum vf_isa { VF_ISA_BASELINE, VF_ISA_AVX2, VF_ISA_AVX512, VF_ISA_COUNT } vf_isa;

/* The best instruction set of this CPU and this library. The environment variable VOXFIELD_ISA (baseline, avx2, avx512)
 * can lower it, never raise it. */
vf_isa vf_cpu_isa(void);
const char *vf_isa_name(vf_isa isa);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
