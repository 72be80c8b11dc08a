/* Units of a trajectory: how far it reaches, which units fit, and factors to cycles per field of view. */
#ifndef SCAN_UNITS_H
#define SCAN_UNITS_H

#include "mri_scan.h"

/* The largest |k| along each axis. */
void scan_extent(const vf_context *ctx, const float *k, int64_t samples, double extent[3]);

/* The largest |k| of all trajectories. */
void scan_extent_of_all(const vf_context *ctx, const mri_scan *s, double extent[3]);

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

/* Some programs (KomaMRI) scale k by one number for all axes, so that the largest |k| is 1/2: then units per voxel mean the
 * smallest voxel on every axis. Its size in mm, if the trajectory reaches the edge along x and y so, and not with each
 * axis's own voxel; else 0. `axes` as for scan_choose_units. */
double scan_common_voxel(k_units units, const k_space *space, int axes);

/* Whether k is in cycles per voxel instead of cycles per field of view: at most 0.5 along every axis of more than a few
 * voxels, and not 0 along all of them. */
bool scan_looks_normalized(const int64_t matrix[3], const double extent[3]);

/* Fails for such a trajectory and says what to do: VF_ERR_INPUT. `matrix` NULL: unknown. */
VF_MUST_CHECK vf_status scan_refuse_normalized(vf_context *ctx, const char *path, const int64_t *matrix,
                                               const double extent[3]);

/* The factor from units to cycles per field of view along an axis of `matrix` voxels over `fov` mm. */
double scan_unit_factor(k_units units, int64_t matrix, double fov);
/* Converts all trajectories from units to cycles per field of view. */
void scan_scale_k(const vf_context *ctx, mri_scan *s, k_units units);
/* The same where k is in cycles per field of view unless the user says otherwise. Fails if it seems to be in cycles per
 * voxel: VF_ERR_INPUT. `extent` gets the largest |k| in the file's units. */
VF_MUST_CHECK vf_status scan_take_units(vf_context *ctx, const char *path, k_units units, mri_scan *s,
                                        double extent[3]);
const char *scan_unit_word(k_units units); /* of --trajectory-units */
const char *scan_unit_text(k_units units); /* "cycles per voxel" */

#endif
