/* Voxfield - mri_recon as a function: images from the raw data of an MRI scan, in arrays or in a file.
 *
 * Arrays are those of a plain scan (docs/scans.md, "Plain"), under the same names. Messages call the dataset of an array
 * "/scan/" and its name.
 */
#ifndef VOXFIELD_MRI_RECON_H
#define VOXFIELD_MRI_RECON_H

#include "programs.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* A scan: a file, or arrays. Zero-initialise; what is not needed stays empty. Real numbers are VF_F32 or VF_F64, complex ones VF_C64
 * or VF_C128; all are converted to single precision. NaN and infinite values are refused. The arrays are only read, and only
 * during the call. */
typedef struct vf_mri_scan {
    const char *file; /* any that mri_recon reads; then all else is empty. NULL: the arrays */

    /* Complex. With a trajectory: [coil][sample] or [frame][coil][sample], d(k) = sum over voxels of x(r) exp(-i 2 pi k.r).
     * Without: the same on the grid, frequency 0 at N/2 (integer division):
     *     planes   [coil][y][x]; if `matrix` is given, also [frame][coil][y][x]
     *     volumes  [coil][z][y][x] or [frame][coil][z][y][x]
     *     slices   [slice][coil][y][x] or [frame][slice][coil][y][x], if `slices` */
    vf_view data;
    vf_view
        trajectory; /* [sample][3], or one for each frame, [frame][sample][3]: cycles per field of view, within [-N/2, N/2);
                           last axis 2 for planes. Real; empty: Cartesian */
    vf_view
        mask; /* Cartesian: 0 where nothing was acquired; [z][y][x], or [y][x] of planes and slices; any real type, also
                           integers. Empty: positions that are 0 in all coils were not acquired */
    vf_view weights;     /* [sample] or [frame][sample], with a trajectory: weights in the sum of squares, >= 0; real */
    vf_view time;        /* the same: s since the excitation, which a field map needs; real */
    vf_view phi;         /* the same: the transform of a voxel's basis function; complex */
    vf_view sensitivity; /* coil maps, [coil][z][y][x]; complex. Empty: mri_recon estimates them */
    vf_view field_map;   /* [z][y][x], Hz; real; with a trajectory */
    vf_view reference;   /* anatomical images for the prior "reference", [image][z][y][x] or [z][y][x]; real */
    vf_view truth;       /* the true image, for the option compare=truth: [frame][z][y][x] or [z][y][x]; real */
    vf_view noise;       /* samples of noise, [coil][sample], at least 2 for each coil; complex */

    int64_t matrix[3]; /* voxels along x, y, z (1: a plane); all 0: those of Cartesian data */
    double fov_mm[3];  /* field of view along x, y, z; of slices, their distance along z; all 0: voxels of 1 mm */
    bool slices;       /* Cartesian: `data` has slices, which touch; then there is no sensitivity, reference or truth */
} vf_mri_scan;

/* Reconstructs. The result has
 *
 *     "image"       VF_C64 [frame][z][y][x], z of a stack of slices
 *     "voxel_mm"    VF_F64 [3], along x, y, z
 *     "report"      text: JSON, as of the option report
 *     "noise"       VF_F32 [place][z][y][x]: standard deviation of the complex value, with {"noise-map", "memory"}
 *     "g_factor"    VF_F32, likewise
 *     "maps"        VF_C64 [place][set][coil][z][y][x] on the encoded matrix, with {"save-coils", "memory"}
 *
 * With {"dry-run", NULL} or {"info", NULL} nothing is made, and what the program prints goes to the log. `options` may be NULL.
 * Errors: those of the program, with its messages; VF_ERR_ARGUMENT for options that functions do not have. *out is NULL then. */
VF_MUST_CHECK vf_status vf_mri_reconstruct(vf_context *ctx, const vf_mri_scan *scan, const vf_option *options,
                                           vf_result **out);

/* Reads a scan of any format, as mri_recon understands it with these options ("group", "trajectory", "trajectory-units", "slices", ...):
 * before coils are decorrelated or combined. The result has, of F frames, T trajectories, C coils
 *
 *     "data"         VF_C64 [F][C][sample], if all frames have as many samples; else "data/0", ..., each [C][sample]
 *     "trajectory"   VF_F32 [T][sample][3], cycles per field of view, likewise
 *     "weights", "time"  VF_F32 [T][sample], "phi" VF_C64 [T][sample], likewise, if the scan has them
 *     "frames"       VF_I64 [F][4]: index of the trajectory, volume, slice, place
 *     "matrix"       VF_I64 [3] encoded, along x, y, z; "crop" VF_I64 [3]: of the image that is kept, about the centre
 *     "fov_mm"       VF_F64 [3] encoded
 *     "sensitivity"  VF_C64 [place][set][C][z][y][x]; "field_map" VF_F32 [z][y][x]; "reference" VF_F32 [image][z][y][x]; "truth" VF_F32
 *                    [volume][z][y][x] of the crop; if the scan has them
 *     "noise_covariance"  VF_C128 [C][C], if the scan has noise samples
 *     "layout", "description", "corrections", "header"  texts; the header is the ISMRMRD one, or missing
 *
 * Errors: those of the program. */
VF_MUST_CHECK vf_status vf_mri_read(vf_context *ctx, const char *file, const vf_option *options, vf_result **out);

/* Writes an image, [z][y][x] or [frame][z][y][x], real or complex, in the format of the path's extension: .h5, .nii, .nii.gz, .mrd, .cfl.
 * `voxel_mm` [3] along x, y, z; the axes of the image are those of the patient (LPS), its centre the isocentre. Errors:
 * VF_ERR_ARGUMENT, VF_ERR_OUTPUT (also: NaN or infinite values), VF_ERR_MEMORY, VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status vf_mri_write_image(vf_context *ctx, const vf_view *image, const double voxel_mm[3],
                                           const char *path);

/* Writes the image of vf_mri_reconstruct, with its position and all that the program's file says. Errors: as above. */
VF_MUST_CHECK vf_status vf_mri_write_result(vf_context *ctx, const vf_result *result, const char *path);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
