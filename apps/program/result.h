/* Results of programs that are called as functions (programs.h): arrays and texts by name. */
#ifndef VOXFIELD_RESULT_H
#define VOXFIELD_RESULT_H

#include "programs.h"
#include "voxfield/report.h"

/* Stands for the name of a file: the output goes into the result of the call. A name of the command line is never this pointer. */
extern const char in_memory[];
static inline bool is_in_memory(const char *path)
{
    return path == in_memory;
}

/* Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status result_create(vf_context *ctx, vf_result **out);

/* Adds an array of `dims`, which the result owns from here on, also after a failure; it is freed by free(). Errors: VF_ERR_MEMORY
 * (also: `data` is NULL). */
VF_MUST_CHECK vf_status result_add(vf_result *result, const char *name, vf_dtype type, int rank, const int64_t *dims,
                                   void *data);
/* Adds a copy. Empty arrays are left out. */
VF_MUST_CHECK vf_status result_copy(vf_result *result, const char *name, vf_dtype type, int rank, const int64_t *dims,
                                    const void *data);
/* An array for `dims` in *data, zero, and of the result. */
VF_MUST_CHECK vf_status result_new(vf_result *result, const char *name, vf_dtype type, int rank, const int64_t *dims,
                                   void *data);
VF_MUST_CHECK vf_status result_add_text(vf_result *result, const char *name, const char *text);
/* Ends a report in memory: the text "report". */
VF_MUST_CHECK vf_status result_take_report(vf_result *result, vf_report **report);

/* What the program needs to write the result later; `release` frees it with the result. */
void result_keep(vf_result *result, const char *program, void *kept, void (*release)(void *kept));
void *result_kept(const vf_result *result, const char *program); /* NULL: another program's, or nothing */

#endif
