/* What the writers of images share. */
#ifndef IMAGE_FILES_H
#define IMAGE_FILES_H

#include "recon_image.h"

typedef struct image_format {
    const char *extensions; /* ".nii.gz .nii", in any case */
    vf_status (*write)(vf_context *ctx, const recon_image *image, const char *path);
} image_format;

extern const image_format image_h5, image_nifti, image_nifti_gz, image_ismrmrd, image_cfl;

/* read_image for one kind of file: image_h5.c, image_cfl.c, read_nifti.c. `out` starts with an unknown geometry. */
VF_MUST_CHECK vf_status image_read_h5(vf_context *ctx, const char *path, recon_image *out);
VF_MUST_CHECK vf_status image_read_cfl(vf_context *ctx, const char *path, recon_image *out);
VF_MUST_CHECK vf_status image_read_nifti(vf_context *ctx, const char *path, recon_image *out);
/* Whether the path names a file of a NIfTI pair: .img, or a .hdr that is none of BART's. */
bool image_is_nifti_pair(const char *path);
/* Allocates the voxels for the counts and frames in `out`, and checks them. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status image_allocate(vf_context *ctx, const char *path, recon_image *out);
/* Converts real numbers at the beginning of `data` to complex ones, in place. */
void image_widen(float complex *data, int64_t count);

/* The number of voxels of a volume. */
int64_t image_volume(const recon_image *image);

/* The geometry of a volume. */
const scan_geometry *image_geometry(const recon_image *image, int64_t frame);

/* The patient's coordinates (LPS, mm) of the centre of voxel (i, j, k) of a volume: affine[.][0..2] . (i, j, k) +
 * affine[.][3]. */
void image_affine(const recon_image *image, int64_t frame, double affine[3][4]);

/* The magnitudes of `count` voxels. */
void image_magnitude(const float complex *data, int64_t count, float *out);

/* The magnitude to show as white, for the volumes [first, first + count): the 99.5th percentile of the voxels above
 * the background. Background is below a tenth of the 99.9th percentile of all voxels, or below a thousandth of the
 * largest. 1 for an image of zeros. */
VF_MUST_CHECK vf_status image_white(vf_context *ctx, const recon_image *image, int first, int count, double *white);

#endif
