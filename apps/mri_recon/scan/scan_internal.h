/* What the readers of scans share. */
#ifndef SCAN_INTERNAL_H
#define SCAN_INTERNAL_H

#include "mri_scan.h"
#include "voxfield/hdf5_io.h"

/* ---- scan_arrays.c ---- */

enum {
    SCAN_MOST_MATRIX = 16000, /* along an axis, for files and --matrix: the limit of the NUFFT */
    SCAN_MOST_COILS = 4096
};

/* Allocates zeroed memory for `count` elements of `size` bytes; `what` is for the message. Fails if that exceeds the
 * free memory, because the kernel would end the process later. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_allocate(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size,
                                      void *out);

/* Checks that `count` elements of `size` bytes fit in memory, before they are allocated in pieces. */
VF_MUST_CHECK vf_status scan_require_memory(vf_context *ctx, const char *path, const char *what, int64_t count,
                                            size_t size);

/* The index of the first NaN or infinite value, or -1. */
int64_t scan_first_not_finite(const float *values, int64_t count);
const char *scan_not_finite_name(float value); /* "nan" or "infinite" */

bool scan_all_zero(const float *values, int64_t count);

/* Adds a line to s->told, which --info prints: what the file says, and how it was understood. */
void scan_tell(mri_scan *s, const char *format, ...) VF_PRINTF(2, 3);

/* Copies text from a file for messages: characters other than printable ASCII become '?'. */
const char *scan_printable(const char *text, char *out, size_t size);

void scan_free_trajectory(scan_trajectory *t); /* leaves it zero */

/* ---- share_trajectories.c ---- */

/* Stands for a frame's trajectory: equal ones have the same digest. */
typedef struct trajectory_digest {
    char text[VF_DIGEST_TEXT];
    int frame;
} trajectory_digest;

/* Allocates both arrays for `frames` frames; free them also after a failure. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_allocate_digests(vf_context *ctx, const char *path, int frames,
                                              trajectory_digest **digests, int **first);
/* For each frame, the first frame with the same digest: first[f] <= f. Sorts the digests. */
void scan_find_equal(trajectory_digest *digests, int frames, int *first);
/* The number of the first trajectory with the same k as `t`; s->trajectories if there is none. */
int scan_find_trajectory(const mri_scan *s, const scan_trajectory *t);
/* Lets frames with equal trajectories share one. Before, frame f has trajectory f. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_share_trajectories(vf_context *ctx, const char *path, mri_scan *s);

/* ---- find_readouts.c ---- */

/* Marks readouts of `length` samples each; the trajectory has a multiple of it. `path` is for messages. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_even_readouts(vf_context *ctx, const char *path, int64_t length, scan_trajectory *t);
/* Finds the readouts of trajectories that do not know them: of settings->readout_samples each; else one begins where
 * the sample times start again, where straight lines of one length bend, or where k jumps at equal distances. `option`
 * needs them, for messages. Errors: VF_ERR_ARGUMENT (readout_samples does not fit, or the file knows its readouts),
 * VF_ERR_INPUT (no readouts to be seen), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status find_readouts(vf_context *ctx, const recon_settings *settings, const char *option,
                                      mri_scan *raw);

/* ---- join_frames.c ---- */

/* Where the readouts of a joined frame come from: its pieces [begin[f], begin[f + 1]) are former frames. */
typedef struct joined_pieces {
    int *begin;             /* [frames + 1] */
    int *volume;            /* [pieces] of the former frame */
    int64_t *first_readout; /* [pieces] in the joined frame */
} joined_pieces;

/* Joins frames that differ only in repetition into one each, in the order of repetitions. The frames are then in the
 * order of phase, set, contrast and place. All trajectories know their readouts. raw->volumes and volumes of frames
 * are no longer valid. Free the pieces also after a failure. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status join_frames(vf_context *ctx, const char *path, mri_scan *raw, joined_pieces *pieces);
void joined_pieces_free(joined_pieces *pieces);

/* ---- scan_finish.c ---- */

/* Computes s->digest. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_digest(vf_context *ctx, const char *path, mri_scan *s);

/* Final checks of a scan: samples beyond the matrix, all-zero data and coil maps. Computes the digest. */
VF_MUST_CHECK vf_status scan_finish(vf_context *ctx, const char *path, mri_scan *s);

/* The part of it that depends on trajectories, for those that change later: samples beyond the matrix, the digest. */
VF_MUST_CHECK vf_status scan_finish_trajectories(vf_context *ctx, const char *path, mri_scan *s);

/* ---- foreign_file.c ---- */

/* Fails for files of other kinds with k-space or images, and says how to convert them: VF_ERR_INPUT. Unknown files
 * pass. */
VF_MUST_CHECK vf_status refuse_foreign_file(vf_context *ctx, const char *path);

/* Whether it is a MATLAB file of version 7.3, which is HDF5. */
bool scan_is_matlab(const char *path);
/* Advice for MATLAB files of version 7.3, which are HDF5, if they have no scan; "" for other files. */
const char *scan_matlab_advice(const char *path);
/* ---- scan_noise.c ---- */

/* Adds the sums of n_a conj(n_b) over the samples [coil][sample] to product [coil][coil], for b <= a. */
void scan_noise_add(int coils, int64_t samples, const double complex *noise, double complex *product);
/* Makes the covariance from these sums of `count` samples: multiplies by `scale`, fills the other half, and shrinks it
 * towards equal and independent coils, as far as so few samples show differences and correlations by chance. */
void scan_noise_finish(int coils, double scale, double count, double complex *product);

/* ---- scan_units.c ---- */

/* The largest |k| along each axis. */
void scan_extent(const float *k, int64_t samples, double extent[3]);

/* What decides the units of a trajectory: the largest |k| along x, y, z, voxels, and the field of view in mm. */
typedef struct k_space {
    double extent[3];
    int64_t matrix[3];
    double fov[3];
    double most; /* set by scan_choose_units */
} k_space;

/* Determines the units of a trajectory along x, y, z from its extent along the first `axes` axes: `asked`, or for K_AUTO
 * the units that fit. `why` gets a clause for messages. Returns false, with the reason in `why`, if no units or several
 * fit. docs/scans.md has the rule. */
bool scan_choose_units(k_units asked, const k_space *space, int axes, k_units chosen[3], char *why, size_t why_size);

/* Whether k is in cycles per voxel instead of cycles per field of view: at most 0.5 along every axis of more than a few
 * voxels, and not 0 along all of them. */
bool scan_looks_normalized(const int64_t matrix[3], const double extent[3]);

/* Fails for such a trajectory and says what to do: VF_ERR_INPUT. `matrix` NULL: unknown. */
VF_MUST_CHECK vf_status scan_refuse_normalized(vf_context *ctx, const char *path, const int64_t *matrix,
                                               const double extent[3]);

/* The factor from units to cycles per field of view along an axis of `matrix` voxels over `fov` mm. */
double scan_unit_factor(k_units units, int64_t matrix, double fov);
const char *scan_unit_word(k_units units); /* of --trajectory-units */
const char *scan_unit_text(k_units units); /* "cycles per voxel" */

/* ---- scan_plain.c ---- */

/* The source of a plain scan: a file, or data made by a test. The functions are those of hdf5_io.h. */
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

VF_MUST_CHECK vf_status scan_read_plain(vf_context *ctx, const plain_source *source, k_units units, mri_scan *out);

/* ---- scan_unread.c ---- */

/* Warns of unknown datasets in group /scan, which may be typos; notes unknown attributes. */
VF_MUST_CHECK vf_status scan_warn_unread(vf_context *ctx, const char *path, vf_h5 *file);

/* ---- scan_ismrmrd.c ---- */

/* Finds the group with `xml` and `data`: `group`, or the only one. `name` gets its name; "" if there is none and
 * `group` is NULL. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_find_ismrmrd(vf_context *ctx, const char *path, vf_h5 *file, const char *group, char *name,
                                          size_t name_size);

VF_MUST_CHECK vf_status scan_read_ismrmrd(vf_context *ctx, const char *path, vf_h5 *file, const char *group,
                                          const scan_request *request, mri_scan *out);

#endif
