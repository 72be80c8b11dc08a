/* mri_recon: images: their files, their pictures, and how far they are from the truth. Host memory, x fastest. */
#ifndef RECON_IMAGE_H
#define RECON_IMAGE_H

#include <complex.h>
#include <stdbool.h>

#include "scan/mri_scan.h"
#include "voxfield/report.h"

/* ---- write_image.c: image_h5.c, image_nifti.c, image_ismrmrd.c, image_cfl.c ---- */

/* A reconstructed image and what its file says of it. */
typedef struct recon_image {
    int frames;                          /* volumes */
    int64_t counts[3];                   /* voxels along x, y, z (slices stacked) */
    double voxel[3];                     /* mm */
    scan_geometry geometry;              /* of all volumes; of the first, where they differ */
    int places;                          /* in turn: volume n is at place n % places */
    const scan_geometry *place_geometry; /* [places] the caller's; NULL: all volumes share `geometry` */
    float complex *data;                 /* [frame][z][y][x] */
    const char *program;                 /* "mri_recon (Voxfield) 0.1.0" */
    const char *command;                 /* the command line */
    const char *created;                 /* UTC, ISO 8601 */
    const char *method;                  /* one line: method, operator, prior, lambda, iterations, device */
    const char *input;                   /* the scan's path */
    const char *digest;                  /* the scan's */
    const char *protocol;                /* the ISMRMRD header of the scan, or NULL */
    const char *copy_of;       /* an ISMRMRD file: .mrd becomes a copy of it, with the images added; NULL: a new file */
    const char *group;         /* that the images are added to in the copy; NULL, "": "dataset" */
    const scan_frame *sources; /* [source_count] frames of the scan, for the counters of .mrd; NULL: volume n is */
    int source_count;          /* repetition n */
} recon_image;

/* Refuses, before any work is done, a path whose extension is not known or whose place cannot be written.
 * .h5 (dataset /image), .nii, .nii.gz (magnitude), .mrd (ISMRMRD images), .cfl (BART). Errors: VF_ERR_ARGUMENT,
 * VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status image_check_path(vf_context *ctx, const char *path);

/* Writes the image in the format of the path's extension, atomically. An image with NaN or infinities is VF_ERR_OUTPUT.
 * Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY, VF_ERR_UNSUPPORTED (more voxels along an axis than the format can count);
 * VF_ERR_INPUT and VF_ERR_ARGUMENT for copy_of. */
VF_MUST_CHECK vf_status write_image(vf_context *ctx, const recon_image *image, const char *path);

/* The noise of an image: `map` holds the deviations of all places, then their factors g, as volumes; as .h5 datasets
 * /noise and /g_factor [volume][z][y][x], else as write_image. Errors: as write_image. */
VF_MUST_CHECK vf_status write_noise_map(vf_context *ctx, const recon_image *map, const char *path);

/* Reads an image to compare with, [frame][z][y][x]: dataset /image of HDF5 files, of two to four dimensions, with real
 * numbers or complex ones; .cfl; .nii and .nii.gz of real numbers. Texts and place_geometry stay NULL. Errors:
 * VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_image(vf_context *ctx, const char *path, recon_image *out);
void recon_image_free(recon_image *image); /* the data only */

/* ---- compare.c ---- */

/* How far an image is from the truth, over all voxels, as published (Stone et al. 2008): MSE = mean (I - I0)^2,
 * PSNR = 20 log10(max I0 / sqrt(MSE)), SNR = 20 log10(rms I0 / sqrt(MSE)), percent error = 100 sqrt(MSE) / rms I0. I is
 * the magnitude. Equal images: PSNR and SNR are infinite. */
typedef struct image_error {
    double mse, psnr, snr, percent;
} image_error;
/* The same for the image as it is, and for s I with the s that minimises |s I - I0|: 1 for an image of zeros. */
typedef struct image_comparison {
    image_error error, scaled;
    double scale;
} image_comparison;
/* `name` begins messages. Errors: VF_ERR_ARGUMENT (no voxels); VF_ERR_INPUT: values that are not finite, or a truth
 * that is nowhere above zero. */
VF_MUST_CHECK vf_status compare_images(vf_context *ctx, const char *name, int64_t voxels, const float complex *image,
                                       const float *truth, image_comparison *out);

/* Whether the scale is more than 5 % off 1. */
bool comparison_scale_matters(const image_comparison *comparison);
/* Of several volumes: the one with the largest percent error, and the mean of each figure. */
int comparison_worst(const image_comparison *all, int count);
image_comparison comparison_mean(const image_comparison *all, int count);

/* "error", of the first volume; of several also "error_mean" and "error_of_volumes". */
void comparison_report(vf_report *report, const image_comparison *all, int count);

/* ---- draw_montage.c ---- */

/* A montage of slices of the magnitude (of the first frame, and of others where there is one slice each), as PNG,
 * atomically; black at 0, white at the 99.5th percentile of what is not background; says orientation, window and
 * method. All slices where they fit, else those that show something. Of slabs at different places, the first. */
VF_MUST_CHECK vf_status draw_montage(vf_context *ctx, const recon_image *image, const char *path);

#endif
