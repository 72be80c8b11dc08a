/* Voxfield - devices, queues and memory.
 *
 * A device is one place to compute: the CPU, or one NVIDIA GPU. A queue is an ordered stream of work on a device: what
 * is put into one queue runs in order, asynchronously to the caller on a GPU, at once on the CPU. Kernels are launched
 * into a queue; they neither allocate nor synchronise.
 */
#ifndef VOXFIELD_DEVICE_H
#define VOXFIELD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vf_device_kind { VF_DEVICE_CPU, VF_DEVICE_CUDA } vf_device_kind;

/* Memory spaces. A CPU device's VF_SPACE_DEVICE memory is ordinary host memory. Pinned memory is host memory that a GPU
 * reads and writes directly; on the CPU it is ordinary host memory. */
typedef enum vf_space { VF_SPACE_HOST, VF_SPACE_PINNED, VF_SPACE_DEVICE } vf_space;

/* Element types. Complex numbers are interleaved {re, im}. */
typedef enum vf_dtype { VF_F32, VF_F64, VF_C64, VF_C128, VF_I32, VF_I64, VF_U8 } vf_dtype;
size_t vf_dtype_bytes(vf_dtype type);

/* The complex type whose parts are of `real`, and the real type of a complex one's parts. */
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
const char *vf_device_spec(const vf_device *device); /* "cpu", "cuda:0" */
const char *vf_device_name(const vf_device *device); /* "AMD EPYC ..., 2 threads, AVX-512", "NVIDIA H200" */
int vf_device_ordinal(const vf_device *device);      /* the GPU's CUDA number; 0 for the CPU */
bool vf_device_is_host(const vf_device *device);     /* true if host code may touch its VF_SPACE_DEVICE memory */

/* Host memory in bytes: what the kernel calls available now, and all there is, both capped by the limit
 * of the control group (version 2) that the process sees as its root, as in a container. */
void vf_host_memory(uint64_t *free_bytes, uint64_t *total_bytes);

/* Free and total memory of a device in bytes, now; the host's for the CPU. */
VF_MUST_CHECK vf_status vf_device_memory(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes);

/* How many GPUs this process could use; 0 without CUDA, driver or GPU. `reason` (may be NULL) gets a static text that
 * says why there are none. Starts the CUDA driver, which takes some tenths of a second: see vf_device_choose. */
int vf_cuda_device_count(const char **reason);
bool vf_built_with_cuda(void);

/* "auto" for one piece of work. Sets the context's devices to the CPU or to as many GPUs as pay, whichever is expected
 * to finish first, from the seconds the work is expected to take on this CPU and on one typical GPU, and what starting
 * a GPU costs (VF_CUDA_START_SECONDS). CUDA is not touched when the CPU needs less than that. `why` gets one line that
 * states the choice and its reason; `why_size` bytes at most. */
VF_MUST_CHECK vf_status vf_device_choose(vf_context *ctx, double cpu_seconds, double gpu_seconds, char *why,
                                         size_t why_size);

/* What starting CUDA costs before the first kernel runs (driver, context, first allocation), in seconds: a round
 * figure; the stage "plan" in a run's report shows it. */
#define VF_CUDA_START_SECONDS 0.3

/* ---- queues ---- */
typedef struct vf_queue vf_queue;

VF_MUST_CHECK vf_status vf_queue_create(vf_device *device, vf_queue **out);
void vf_queue_destroy(vf_queue *queue); /* waits for the queue's work; NULL is allowed */
vf_device *vf_queue_device(const vf_queue *queue);
void *vf_queue_native(const vf_queue *queue); /* the cudaStream_t; NULL on the CPU */

/* Waits until all work put into the queue is done, and reports any error of it. */
VF_MUST_CHECK vf_status vf_queue_sync(vf_queue *queue);

/* What is put into `queue` from now on runs after what has been put into `before` so far; the caller does not wait.
 * Both are of one device. */
VF_MUST_CHECK vf_status vf_queue_after(vf_queue *queue, vf_queue *before);

/* Copies bytes between host memory and VF_SPACE_DEVICE memory of the queue's device, either way, or within the device:
 * asynchronous on a GPU if the host side is pinned, else it returns when the host side may be used again. */
VF_MUST_CHECK vf_status vf_queue_copy(vf_queue *queue, void *dst, const void *src, size_t bytes);

/* ---- arrays ---- */

/* A flat piece of memory that knows its type, length and space. Zero-initialise it ({0}); vf_array_free leaves it so.
 */
typedef struct vf_array {
    void *data;
    int64_t count; /* elements */
    vf_dtype type;
    vf_space space;
    vf_device *device;
} vf_array;

/* Allocates `count` >= 0 elements (count 0: data may be NULL), 64-byte aligned at least, contents undefined.
 * Errors: VF_ERR_MEMORY or VF_ERR_DEVICE_MEMORY (says how much was asked for and how much there is), VF_ERR_ARGUMENT.
 */
VF_MUST_CHECK vf_status vf_array_create(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *out);
void vf_array_free(vf_array *array);

/* Copies `count` elements from the start of `src` to the start of `dst`, on the queue: asynchronous when a GPU is
 * involved and the host side is pinned. Types must be equal; the two must not overlap. */
VF_MUST_CHECK vf_status vf_array_copy(vf_queue *queue, vf_array *dst, const vf_array *src, int64_t count);

/* ---- the CPU's instruction set, chosen at run time ---- */
typedef enum vf_isa { VF_ISA_BASELINE, VF_ISA_AVX2, VF_ISA_AVX512, VF_ISA_COUNT } vf_isa;

/* The best instruction set this CPU and this library have. The environment variable VOXFIELD_ISA (baseline, avx2,
 * avx512) lowers it, never raises it. */
vf_isa vf_cpu_isa(void);
const char *vf_isa_name(vf_isa isa);

#ifdef __cplusplus
}
#endif
#endif
