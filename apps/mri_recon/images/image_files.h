/* What the writers of images share. */
#ifndef IMAGE_FILES_H
#define IMAGE_FILES_H

#include "recon_image.h"

typedef struct image_format {
    const char *extensions; /* ".nii.gz .nii": without regard to case */
    vf_status (*write)(vf_context *ctx, const recon_image *image, const char *path);
} image_format;

extern const image_format image_h5, image_nifti, image_nifti_gz, image_ismrmrd, image_cfl;

/* read_image of one kind of file: image_h5.c, image_cfl.c, read_nifti.c. `out` comes with a geometry that is not known.
 */
VF_MUST_CHECK vf_status image_read_h5(vf_context *ctx, const char *path, recon_image *out);
VF_MUST_CHECK vf_status image_read_cfl(vf_context *ctx, const char *path, recon_image *out);
VF_MUST_CHECK vf_status image_read_nifti(vf_context *ctx, const char *path, recon_image *out);
/* Memory for the voxels of the counts and frames that out has: they are checked. Errors: VF_ERR_INPUT, VF_ERR_MEMORY.
 */
VF_MUST_CHECK vf_status image_allocate(vf_context *ctx, const char *path, recon_image *out);
/* Real numbers at the beginning of `data` become complex ones in place. */
void image_widen(float complex *data, int64_t count);

/* Voxels of one volume. */
int64_t image_volume(const recon_image *image);

/* Where a volume's voxels lie. */
const scan_geometry *image_geometry(const recon_image *image, int64_t frame);

/* The patient's coordinates (LPS, mm) of the centre of a volume's voxel (i, j, k): affine[.][0..2] . (i, j, k) +
 * affine[.][3]. */
void image_affine(const recon_image *image, int64_t frame, double affine[3][4]);

/* Magnitudes of `count` voxels. */
void image_magnitude(const float complex *data, int64_t count, float *out);

/* The magnitude to show as white: the 99.5th percentile of the voxels that are no background, which is what lies below
 * a tenth of the 99.9th percentile of all or a thousandth of the largest; 1 for an image that is zero. Of the volumes
 * [first, first + count). */
VF_MUST_CHECK vf_status image_white(vf_context *ctx, const recon_image *image, int first, int count, double *white);

#endif
