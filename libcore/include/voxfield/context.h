/* Voxfield - the context: where messages go, how many threads to use, whether to stop, and on which devices to work.
 *
 * A context is made first and passed to everything. It may be used from several threads at once, except where a
 * function says otherwise. The library itself never prints and never exits: notes go to the caller's log function,
 * errors into the context, where the first one is kept (a failure during clean-up does not hide its cause).
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

/* Makes a context with the CPU as its only device, one thread per usable core, and no log function. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_context_create(vf_context **out);

/* Frees the context and its devices. NULL is allowed. Everything made with the context must have been freed before. */
void vf_context_destroy(vf_context *ctx);

/* Records an error (kept only if it is the first since vf_context_clear_error) and returns `status`, so that
 * `return vf_fail(ctx, VF_ERR_INPUT, "%s:%d: ...", ...)` is the whole error path. Say what, where, and what to do. */
vf_status vf_fail(vf_context *ctx, vf_status status, const char *format, ...) VF_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* which cannot see that it returns what it is given */
#define vf_fail(ctx, status, ...) ((void)vf_fail((ctx), (status), __VA_ARGS__), (status))
#endif

/* The first error's status (VF_OK if none) and its text ("" if none). The text lives until vf_context_clear_error. */
vf_status vf_context_status(const vf_context *ctx);
const char *vf_context_message(const vf_context *ctx);
void vf_context_clear_error(vf_context *ctx);

/* Notes and warnings to the log function, if there is one. Calls are serialised. */
void vf_context_set_log(vf_context *ctx, vf_log_fn log, void *user);
void vf_note(vf_context *ctx, const char *format, ...) VF_PRINTF(2, 3);
void vf_warn(vf_context *ctx, const char *format, ...) VF_PRINTF(2, 3);

/* Asks what runs with this context to stop at the next safe point with VF_ERR_CANCELLED; it cannot be taken back.
 * Async-signal-safe. What heeds it: vf_pipeline_run and vf_workpool_run, from piece to piece; on the CPU the transforms
 * of fft.h and fft_axis.h and the kernels' sums, except first_differences.h. Copies, reductions, scans, sorts and
 * operations on vectors come to their end, and so does what a GPU's queue holds; loops around them ask vf_cancelled. */
void vf_context_cancel(vf_context *ctx);
bool vf_cancelled(const vf_context *ctx);

/* Makes SIGINT, SIGTERM and SIGHUP cancel this context; a second signal of the kind kills at once. One context a
 * process; NULL restores the default. For programs, not for libraries. */
void vf_context_cancel_on_signals(vf_context *ctx);

/* Threads for work on the CPU. 0 means: one per core this process may use, or as many as
 * the environment variable OMP_NUM_THREADS says, if those are fewer. Errors: VF_ERR_ARGUMENT beyond [0, 4096]. */
VF_MUST_CHECK vf_status vf_context_set_threads(vf_context *ctx, int threads);
int vf_context_threads(const vf_context *ctx);

/* Chooses the devices: "cpu", "cuda" (the first GPU), "cuda:1", "cuda:0,2". "cpu:0,1" makes several devices of the
 * CPU: the numbers are but names, and each works with all the context's threads, at the same time as the others. That
 * is no faster; it runs what is meant for several GPUs where there is none. No silent fallback: a GPU that is asked for
 * and is not there is VF_ERR_DEVICE, with what was found; VF_ERR_UNSUPPORTED if the library was built without CUDA;
 * VF_ERR_ARGUMENT for any other text, lists of both kinds among them. On failure the devices stay as they were. ("auto"
 * is a decision about a piece of work: device.h, vf_device_choose.) Not to be called while work is running. */
VF_MUST_CHECK vf_status vf_context_set_devices(vf_context *ctx, const char *spec);
int vf_context_device_count(const vf_context *ctx);
vf_device *vf_context_device(const vf_context *ctx, int index);

/* The CPU, whatever the devices are: for arrays in host memory. */
vf_device *vf_context_host(vf_context *ctx);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
