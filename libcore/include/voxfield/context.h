/* Voxfield - the context: log function, number of threads, cancellation, and devices.
 *
 * Create a context first and pass it to everything. Several threads may use it at once, unless a function says
 * otherwise. The library never prints and never exits. Notes go to the caller's log function. Errors go to the context,
 * which keeps the first one (so a failure during clean-up does not hide its cause).
 */
#ifndef VOXFIELD_CONTEXT_H
#define VOXFIELD_CONTEXT_H

#include <stdbool.h>

#include "voxfield/status.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_context vf_context;
typedef struct vf_device vf_device;

typedef enum vf_log_level { VF_LOG_NOTE, VF_LOG_WARNING } vf_log_level;
typedef void (*vf_log_fn)(void *user, vf_log_level level, const char *text);

/* Creates a context with the CPU as its only device, one thread per usable core, and no log function. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_context_create(vf_context **out);

/* Frees the context and its devices. NULL is allowed. Free everything made with the context first. */
void vf_context_destroy(vf_context *ctx);

/* Records an error (kept only if it is the first since vf_context_clear_error) and returns `status`, so the whole error
 * path is `return vf_fail(ctx, VF_ERR_INPUT, "%s:%d: ...", ...)`. Say where, what is wrong, and what to do. */
vf_status vf_fail(vf_context *ctx, vf_status status, const char *format, ...) VF_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* it does not see that this returns `status` */
#define vf_fail(ctx, status, ...) ((void)vf_fail((ctx), (status), __VA_ARGS__), (status))
#endif

/* The first error's status (VF_OK if none) and its text ("" if none). The text lives until vf_context_clear_error. */
vf_status vf_context_status(const vf_context *ctx);
const char *vf_context_message(const vf_context *ctx);
void vf_context_clear_error(vf_context *ctx);

/* Passes notes and warnings to the log function, if there is one. Calls are serialised. */
void vf_context_set_log(vf_context *ctx, vf_log_fn log, void *user);
void vf_note(vf_context *ctx, const char *format, ...) VF_PRINTF(2, 3);
void vf_warn(vf_context *ctx, const char *format, ...) VF_PRINTF(2, 3);

/* Passes the progress of long work to a function: the stage's name, and the share of it that is done, in [0, 1], or -1 if
 * that is unknown. Calls are serialised, and come from any thread. This function and that of the log may call vf_context_cancel
 * and vf_cancelled, but nothing else with the same context. */
typedef void (*vf_progress_fn)(void *user, const char *stage, double share);
void vf_context_set_progress(vf_context *ctx, vf_progress_fn progress, void *user);
void vf_progress_tell(vf_context *ctx, const char *stage, double share);

/* Asks running work to stop at the next safe point with VF_ERR_CANCELLED, and all work after it, too, until
 * vf_context_resume. Async-signal-safe.
 * These calls stop: vf_pipeline_run and vf_workpool_run, between pieces; vf_stencil_jacobi, between sweeps; on the CPU,
 * the transforms of fft.h and fft_axis.h, searches for neighbours, matrix products and the kernels' sums, except
 * first_differences.h and differences.h. Copies, reductions, scans, sorts, stencils, vector operations, and work that is
 * already in a GPU's queue run to their end; loops around them should check vf_cancelled. */
void vf_context_cancel(vf_context *ctx);
bool vf_cancelled(const vf_context *ctx);

/* Withdraws a cancellation, when no work is running: for callers that stay alive, such as an interpreter. Plans can be used again,
 * but a plan whose new samples were cancelled has none (gridding.h). */
void vf_context_resume(vf_context *ctx);

/* Makes SIGINT, SIGTERM, SIGHUP and SIGUSR1 cancel this context; a second signal of the same kind kills at once. One context per
 * process; NULL restores the default. For programs, not for libraries. */
void vf_context_cancel_on_signals(vf_context *ctx);

/* Threads for work on the CPU. 0: one per core that this process may use, or OMP_NUM_THREADS (environment variable) if
 * that is less. Errors: VF_ERR_ARGUMENT outside [0, 4096]. */
VF_MUST_CHECK vf_status vf_context_set_threads(vf_context *ctx, int threads);
int vf_context_threads(const vf_context *ctx);

/* Cores that this process could use when the context was created: those of its affinity, or fewer if a control group's quota
 * of processor time (cpu.max, cpu.cfs_quota_us) equals the time of fewer, rounded up. */
int vf_context_cores(const vf_context *ctx);

/* Selects the devices: "cpu", "cuda" (the first GPU), "cuda:1", "cuda:0,2". "cpu:0,1" makes several devices of the CPU,
 * each with all the context's threads, at the same time; the numbers are only names. That is not faster, but tests code
 * for several GPUs on machines without one. ("auto" depends on the work: device.h, vf_device_choose.)
 *
 * There is no silent fallback. Errors: VF_ERR_DEVICE for a missing GPU, with the GPUs found; VF_ERR_UNSUPPORTED if the
 * library was built without CUDA; VF_ERR_ARGUMENT for any other text, mixed lists included. On failure the devices do
 * not change. Do not call it while work is running. */
VF_MUST_CHECK vf_status vf_context_set_devices(vf_context *ctx, const char *spec);
int vf_context_device_count(const vf_context *ctx);
vf_device *vf_context_device(const vf_context *ctx, int index);

/* The CPU, whichever devices are selected: for arrays in host memory. */
vf_device *vf_context_host(vf_context *ctx);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
