/* What the files of the scan reader share. */
#ifndef SCAN_INTERNAL_H
#define SCAN_INTERNAL_H

#include "mri_scan.h"
#include "voxfield/hdf5_io.h"

/* ---- scan_arrays.c ---- */

enum {
    SCAN_MOST_MATRIX = 16000, /* along an axis, of files and of --matrix: what the NUFFT takes */
    SCAN_MOST_COILS = 4096
};

/* Zeroed memory for `count` elements of `size` bytes; `what` for the message. Refuses, before the kernel would end the
 * process, what is more than the memory there is. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_allocate(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size,
                                      void *out);

/* Whether there is memory for `count` elements of `size` bytes, before it is asked for piece by piece. */
VF_MUST_CHECK vf_status scan_require_memory(vf_context *ctx, const char *path, const char *what, int64_t count,
                                            size_t size);

/* The index of the first value that is nan or infinite, or -1. */
int64_t scan_first_not_finite(const float *values, int64_t count);
const char *scan_not_finite_name(float value); /* "nan" or "infinite" */

bool scan_all_zero(const float *values, int64_t count);

/* Copies text that came with a file so that it can go to a terminal: what is not printable ASCII becomes '?'. */
const char *scan_printable(const char *text, char *out, size_t size);

/* ---- scan_finish.c ---- */

/* The last look at a scan that is filled in: samples beyond the matrix, data and coil maps that are all 0, digest. */
VF_MUST_CHECK vf_status scan_finish(vf_context *ctx, const char *path, scan *s);

/* ---- foreign_file.c ---- */

/* Refuses a file of another kind that people have k-space or images in, with a line on how to convert it:
 * VF_ERR_INPUT. What it does not know passes. */
VF_MUST_CHECK vf_status refuse_foreign_file(vf_context *ctx, const char *path);

/* "" but for MATLAB's files of version 7.3, which are HDF5: what to do with one that holds no scan. */
const char *scan_matlab_advice(const char *path);
/* ---- scan_noise.c ---- */

/* Adds the sums of n_a conj(n_b) over the samples [coil][sample] to product [coil][coil], for b <= a. */
void scan_noise_add(int coils, int64_t samples, const double complex *noise, double complex *product);
/* Makes the covariance of these sums, of `count` samples: times `scale`, and the other half; drawn towards coils that
 * are alike and independent as far as so few samples would show differences and correlations by chance. */
void scan_noise_finish(int coils, double scale, double count, double complex *product);

/* ---- scan_units.c ---- */

/* The largest |k| along each axis. */
void scan_extent(const float *k, int64_t samples, double extent[3]);

/* Which units a trajectory is in, if its extent along the first `axes` axes is as given: `asked`, or for K_AUTO the one
 * that fits. `why` gets a clause for people. False, and in `why` the reason, if none fits or two do. */
bool scan_choose_units(k_units asked, const int64_t matrix[3], int axes, const double extent[3], k_units *chosen,
                       char *why, size_t why_size);

/* Whether k is in cycles per voxel, not per field of view: no more than 0.5 along every axis of more than a few voxels,
 * and not 0 along all of them. */
bool scan_looks_normalized(const int64_t matrix[3], const double extent[3]);

/* Refuses such a trajectory and says what to do: VF_ERR_INPUT. `matrix` NULL: not known. */
VF_MUST_CHECK vf_status scan_refuse_normalized(vf_context *ctx, const char *path, const int64_t *matrix,
                                               const double extent[3]);

/* The factor from units to cycles per field of view along an axis of `matrix` voxels. */
double scan_unit_factor(k_units units, int64_t matrix);

/* ---- scan_plain.c ---- */

/* Where a plain scan comes from: a file, or what a test makes up. The functions are those of hdf5_io.h. */
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

VF_MUST_CHECK vf_status scan_read_plain(vf_context *ctx, const plain_source *source, k_units units, scan *out);

/* ---- scan_unread.c ---- */

/* Warns of what lies in group /scan under names that are not the layout's, which may be misspelt; notes attributes. */
VF_MUST_CHECK vf_status scan_warn_unread(vf_context *ctx, const char *path, vf_h5 *file);

/* ---- scan_ismrmrd.c ---- */

/* Finds the group that holds `xml` and `data`: `group`, or the only one there is. `name` gets it; "" if there is none
 * and none was asked for. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_find_ismrmrd(vf_context *ctx, const char *path, const char *group, char *name,
                                          size_t name_size);

VF_MUST_CHECK vf_status scan_read_ismrmrd(vf_context *ctx, const char *path, const char *group, k_units units,
                                          scan *out);

#endif
