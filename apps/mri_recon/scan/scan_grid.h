/* K-space in one array on the Cartesian grid, as fastMRI and CMRxRecon store it. */
#ifndef SCAN_GRID_H
#define SCAN_GRID_H

#include "ismrmrd/ismrmrd_xml.h"
#include "scan_plain.h"

typedef struct scan_grid {
    vf_context *ctx;
    const plain_source *source;
    const char *name; /* of the dataset */
    int rank;
    int64_t dims[VF_H5_MAX_RANK]; /* frames, slices and coils in some order, then y, x */
    int frame, slice, coil;       /* their axes; -1: there is none */
    bool columns;                 /* a line (readout) goes along y; else along x */
    char mask_name[64];           /* "": no mask */
    float *mask;                  /* [mask_dims], of which each is 1 or that of k-space; 0: not acquired */
    int64_t mask_dims[3];         /* frame, y, x */
    int64_t lines, masked, empty; /* lines of all frames; those that the mask leaves out, and those that are 0 */
    int64_t hidden;               /* lines with data that the mask leaves out */
    int64_t gaps;                 /* positions that are 0 in the other lines */
} scan_grid;

/* Looks up the shape: `least` to `most` axes, each with an element, of complex numbers. `expected` is for messages.
 * Errors: VF_ERR_INPUT. */
VF_MUST_CHECK vf_status scan_grid_open(scan_grid *grid, int least, int most, const char *expected);

/* Reads a mask: [x], [y][x] or [frame][y][x] of real numbers. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_grid_mask(scan_grid *grid, const char *name);

/* Sets the matrix, the crop to the same, and the counts of coils, slices and volumes; slices are a stack. Errors:
 * VF_ERR_INPUT (too large). */
VF_MUST_CHECK vf_status scan_grid_plan(const scan_grid *grid, mri_scan *out);

/* Reads all frames. Positions count as samples if the mask has them and some coil is not 0 there. Data are multiplied
 * by sqrt(voxels), because the transforms of both formats are unitary. Errors: VF_ERR_INPUT, VF_ERR_MEMORY,
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status scan_grid_read(scan_grid *grid, mri_scan *out);

/* How many lines were left out, and why, in a few words. */
void scan_grid_describe(const scan_grid *grid, char *text, size_t size);

void scan_grid_free(scan_grid *grid);

/* ---- its formats, from any source ---- */

/* scan_fastmri.c, with a header that is parsed already. Errors of both: VF_ERR_INPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status scan_read_fastmri(vf_context *ctx, const plain_source *source, const ismrmrd_protocol *protocol,
                                          mri_scan *out);
/* scan_cmrxrecon.c. `name`: of the dataset with k-space; `mask` NULL: none. */
VF_MUST_CHECK vf_status scan_read_cmrxrecon(vf_context *ctx, const plain_source *source, const char *name,
                                            const char *mask, mri_scan *out);

#endif
