/* Voxfield - the run report: one JSON object in a file, written atomically.
 *
 * Keys are written in the order of the calls. A missing report (NULL) makes every call a no-op, so callers need no
 * `if`.
 */
#ifndef VOXFIELD_REPORT_H
#define VOXFIELD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/output.h"
#include "voxfield/timer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_report vf_report;

/* Begins the object and opens the output file, so a path that cannot be written fails before any work. */
VF_MUST_CHECK vf_status vf_report_create(vf_context *ctx, const char *path, vf_report **out);
/* The same in memory, for vf_report_take. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_report_create_text(vf_context *ctx, vf_report **out);

/* The same, as a part of a file that the caller goes on writing: the report's end is the object's, and neither commits nor discards
 * the output. For a script of a web page: no text has < > or &. */
VF_MUST_CHECK vf_status vf_report_within(vf_context *ctx, vf_output *output, vf_report **out);

/* `key: value`. NaN and infinities become null. Text is escaped and must be UTF-8; other bytes become U+FFFD. */
void vf_report_text(vf_report *report, const char *key, const char *value);
void vf_report_number(vf_report *report, const char *key, double value);
void vf_report_integer(vf_report *report, const char *key, int64_t value);
void vf_report_bool(vf_report *report, const char *key, bool value); /* true or false */
void vf_report_numbers(vf_report *report, const char *key, const double *values, int n);
void vf_report_integers(vf_report *report, const char *key, const int64_t *values, int n);
void vf_report_texts(vf_report *report, const char *key, const char *const *values, int n);
void vf_report_begin(vf_report *report, const char *key); /* `key: {` */
void vf_report_end(vf_report *report);                    /* `}` */

/* "voxfield": version and build, "started": time in UTC, "command": the arguments. */
void vf_report_run(vf_report *report, const char *program, int argc, char *const *argv);
/* `"seconds": {stage: seconds, ...}`, and the same of the processor time, `"processor_seconds"`. */
void vf_report_stages(vf_report *report, const vf_stages *stages);

/* Ends all open objects and commits the file; *report becomes NULL either way. VF_OK if it is NULL. */
VF_MUST_CHECK vf_status vf_report_commit(vf_report **report);
/* The same for a report in memory; free(*text). Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_report_take(vf_report **report, char **text);
void vf_report_discard(vf_report **report);

#ifdef __cplusplus
}
#endif
#endif
