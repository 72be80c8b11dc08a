/* Voxfield - status codes.
 *
 * Every function that can fail returns a vf_status, which the compiler makes callers check. The context has the
 * message: what happened, where, and what to do (context.h: vf_fail, vf_context_message).
 *
 * Pointers must not be NULL unless a header says so. Empty arrays may always be NULL. The functions of copy.h,
 * matrix_product.h, neighbours.h, reduce.h, scan.h, sort.h, statistics.h, stencil.h and vector.h check arrays and results,
 * and return VF_ERR_ARGUMENT for NULL. Contexts, devices, queues, plans and pointers to new ones are not checked.
 */
#ifndef VOXFIELD_STATUS_H
#define VOXFIELD_STATUS_H

#if defined(__GNUC__) || defined(__clang__)
#define VF_MUST_CHECK __attribute__((warn_unused_result))
#define VF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define VF_MUST_CHECK
#define VF_PRINTF(fmt, args)
#endif

/* Declarations between VF_API_BEGIN and VF_API_END are visible to users of the shared library. */
#if defined(__GNUC__) || defined(__clang__)
#define VF_API_BEGIN _Pragma("GCC visibility push(default)")
#define VF_API_END _Pragma("GCC visibility pop")
#else
#define VF_API_BEGIN
#define VF_API_END
#endif

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* X(name, exit status of a program that ends with it, text) */
#define VF_STATUS_LIST(X)                                                                                              \
    X(VF_OK, 0, "success")                                                                                             \
    X(VF_ERR_ARGUMENT, 2, "invalid argument, or contradictory options")                                                \
    X(VF_ERR_INPUT, 3, "missing, unreadable or invalid input")                                                         \
    X(VF_ERR_OUTPUT, 4, "output cannot be written")                                                                    \
    X(VF_ERR_MEMORY, 5, "not enough host memory")                                                                      \
    X(VF_ERR_DEVICE, 6, "missing or failed device")                                                                    \
    X(VF_ERR_DEVICE_MEMORY, 7, "not enough device memory")                                                             \
    X(VF_ERR_UNSUPPORTED, 8, "not built into this binary, or not supported by this format")                            \
    X(VF_ERR_INCOMPLETE, 9, "only a part of the request was possible; that part is done")                              \
    X(VF_ERR_CANCELLED, 130, "interrupted")                                                                            \
    X(VF_ERR_INTERNAL, 70, "a bug in Voxfield")

typedef enum vf_status {
#define VF_STATUS_ENUM(name, exit_code, text) name,
    VF_STATUS_LIST(VF_STATUS_ENUM)
#undef VF_STATUS_ENUM
        VF_STATUS_COUNT
} vf_status;

/* The next step, if all has gone well so far: `status` becomes that of the call, which is left out after an error. So steps stand
 * in a row, and what they made is freed in one place, behind them. */
#define VF_TRY(status, ...)                                                                                            \
    do {                                                                                                               \
        if ((status) == VF_OK)                                                                                         \
            (status) = (__VA_ARGS__);                                                                                  \
    } while (0)

/* The name ("VF_ERR_INPUT") and the general text of a status; never NULL, for any value. */
const char *vf_status_name(vf_status status);
const char *vf_status_text(vf_status status);

/* The exit status of a program; 70 for an invalid value. */
int vf_status_exit_code(vf_status status);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
