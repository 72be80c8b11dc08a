/* Voxfield - the programs as functions: options by name, arrays in, arrays out. For mri_recon.h and cionize.h.
 *
 * Link voxfield::programs (CMake) or voxfield-programs (pkg-config). A call does what the program of the same options does, and
 * gives the same bits. It prints nothing and reads no command line, and changes neither signal handlers nor the working folder.
 *
 * Notes (the plan, as the program prints it) and warnings go to the context's log function, progress to its progress function.
 * vf_context_cancel ends a call with VF_ERR_CANCELLED within about a second. A call sets the context's devices, as the option
 * "device" says; the number of threads is afterwards what it was. So there must be one call at a time with a context. Calls with
 * different contexts may run at the same time.
 *
 * HDF5 files are read in a process without rights, which the call forks (docs/security.md). That is safe in a process with
 * threads. While another thread is inside libhdf5 itself, such a call may fail with VF_ERR_INPUT: repeat it then.
 */
#ifndef VOXFIELD_PROGRAMS_H
#define VOXFIELD_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* An option of the program: {"lambda", "0.01"}, as in its manual page, without the hyphens. The value of a flag is NULL. A list ends
 * with {NULL, NULL}; a list of NULL is empty. If an option is repeated, the last one counts. The messages are the program's.
 *
 * Options that name a file to write have the value "memory", which puts it into the result, if it has a place there, and are
 * refused otherwise, as are options that divide or keep work (part, join, resume, ...) or concern the terminal. */
typedef struct vf_option {
    const char *name, *value;
} vf_option;

/* An array of the caller, or of a result: in C order, without gaps, in host memory. */
enum { VF_VIEW_RANK = 8 };
typedef struct vf_view {
    const void *data; /* NULL: there is none */
    vf_dtype type;
    int rank; /* 0: one number */
    int64_t dims[VF_VIEW_RANK];
} vf_view;

/* What a call made: arrays and texts by name. Each function says which. Pointers are valid until vf_result_free. */
typedef struct vf_result vf_result;

/* The array of this name; its data are NULL if there is none. */
vf_view vf_result_view(const vf_result *result, const char *name);
/* The text of this name; NULL: there is none. */
const char *vf_result_text(const vf_result *result, const char *name);
/* All names, of arrays and texts, [0, vf_result_count). */
int vf_result_count(const vf_result *result);
const char *vf_result_name(const vf_result *result, int index);
void vf_result_free(vf_result *result); /* NULL is allowed */

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
