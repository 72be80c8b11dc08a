/* The plain layout, and arrays as sources give them, which other layouts of arrays share. */
#ifndef SCAN_PLAIN_H
#define SCAN_PLAIN_H

#include "mri_scan.h"
#include "voxfield/hdf5_io.h"

/* The source of arrays: a file, or data made by a test. The functions are those of hdf5_io.h. */
typedef struct plain_source {
    const char *path;
    void *user;
    bool (*exists)(void *user, const char *name);
    vf_status (*shape)(void *user, const char *name, vf_dtype *type, int *rank, int64_t *dims);
    vf_status (*read)(void *user, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                      void *data);
    vf_status (*integers)(void *user, const char *object, const char *name, int64_t *values, int n);
    vf_status (*doubles)(void *user, const char *object, const char *name, double *values, int n);
} plain_source;

/* The arrays of an HDF5 file. `path` is for messages. */
plain_source scan_h5_source(const char *path, vf_h5 *file);

/* "[2, 64, 64]" */
enum { SCAN_SHAPE_TEXT = 8 + 22 * VF_H5_MAX_RANK };
const char *scan_shape_text(int rank, const int64_t *dims, char text[SCAN_SHAPE_TEXT]);

/* Reads group /scan (docs/scans.md). `out` must be zero; free it also after a failure. Errors: VF_ERR_INPUT,
 * VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status scan_read_plain(vf_context *ctx, const plain_source *source, k_units units, mri_scan *out);

/* Two parts of it: the matrix and the field of view; and, when the frames are there, what is of voxels (coil maps, field map,
 * references, truth) and the noise. */
VF_MUST_CHECK vf_status scan_plain_space(vf_context *ctx, const plain_source *source, mri_scan *out);
VF_MUST_CHECK vf_status scan_plain_rest(vf_context *ctx, const plain_source *source, mri_scan *out);

#endif
