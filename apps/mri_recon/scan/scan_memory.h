/* A scan in arrays of a caller (mri_recon.h) instead of a file. */
#ifndef SCAN_MEMORY_H
#define SCAN_MEMORY_H

#include "mri_recon.h"
#include "mri_scan.h"

/* What stands for the file's name in messages and reports. */
extern const char scan_memory_name[];

/* Reads the arrays as those of a plain scan, or k-space on the grid. `out` is overwritten; free it with scan_free. Errors:
 * VF_ERR_INPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED; VF_ERR_ARGUMENT (trajectory-units, without a trajectory). */
VF_MUST_CHECK vf_status read_scan_memory(vf_context *ctx, const vf_mri_scan *given, const scan_request *request,
                                         mri_scan *out);

/* The size of k-space in bytes. */
double scan_memory_bytes(const vf_mri_scan *given);

#endif
