/* Acquisitions of ISMRMRD: headers, and contents in batches, from a file or made by a test. */
#ifndef SCAN_ISMRMRD_SOURCE_H
#define SCAN_ISMRMRD_SOURCE_H

#include "ismrmrd/ismrmrd_types.h"
#include "scan_ismrmrd_groups.h"

/* The contents of an acquisition besides its header. */
typedef struct ismrmrd_body {
    const float *traj, *data;
    int64_t traj_floats, data_floats;
} ismrmrd_body;

/* The source of acquisitions: a file, or data made by a test. Errors of both functions: VF_ERR_INPUT, VF_ERR_MEMORY. */
typedef struct ismrmrd_source {
    const char *path; /* for messages */
    void *user;
    int64_t acquisitions;
    int64_t stored; /* bytes in the file: a complex sample takes 4 or more. 0: unknown */
    vf_status (*heads)(vf_context *ctx, void *user, int64_t first, int64_t count, ismrmrd_acquisition_header *out);
    /* `bytes`: the size according to the headers; more is an error. The result is valid until the next call. */
    vf_status (*bodies)(vf_context *ctx, void *user, int64_t first, int64_t count, size_t bytes, ismrmrd_body *out);
    /* Says which bodies will be asked for next, so that they are read meanwhile. The last result stays valid. NULL:
     * nothing is read ahead. */
    void (*ahead)(void *user, int64_t first, int64_t count, size_t bytes);
    bool lacks_sizes; /* headers have 0 for sizes that follow from the length of their data */
} ismrmrd_source;

/* ---- scan_ismrmrd_file.c ---- */

/* The acquisitions of a group; group->place must outlive them. Close them also after a failure. Errors: VF_ERR_INPUT,
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_file_open(const ismrmrd_group *group, ismrmrd_source *out);
void ismrmrd_file_close(ismrmrd_source *source);

/* ---- scan_ismrmrd_sizes.c ---- */

/* Sets source->lacks_sizes, with a warning, if the headers of the first image acquisitions lack sizes that their data
 * have. Errors: VF_ERR_INPUT (the sizes do not follow), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_check_sizes(vf_context *ctx, ismrmrd_source *source);

/* Calls `use` with each header in turn, until one fails. Errors: those of `use`; VF_ERR_INPUT, VF_ERR_MEMORY,
 * VF_ERR_CANCELLED. */
typedef vf_status ismrmrd_use_head(void *user, int64_t index, const ismrmrd_acquisition_header *head);
VF_MUST_CHECK vf_status ismrmrd_each_head(vf_context *ctx, const ismrmrd_source *source, ismrmrd_use_head *use,
                                          void *user);

#endif
