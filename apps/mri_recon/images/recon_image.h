/* mri_recon: image files, pictures, and comparison with the truth. Arrays are in host memory, x fastest. */
#ifndef RECON_IMAGE_H
#define RECON_IMAGE_H

#include <complex.h>
#include <stdbool.h>

#include "facts.h"
#include "scan/mri_scan.h"
#include "voxfield/canvas.h"

/* ---- write_image.c: image_h5.c, image_nifti.c, image_ismrmrd.c, image_cfl.c ---- */

/* A reconstructed image with its metadata. */
typedef struct recon_image {
    int frames;                          /* volumes */
    int64_t counts[3];                   /* voxels along x, y, z (slices stacked) */
    double voxel[3];                     /* mm */
    bool sized;                          /* of an image that was read: the file says how large a voxel is */
    scan_geometry geometry;              /* of all volumes; of the first if they differ */
    int places;                          /* volume n is at place n % places */
    const scan_geometry *place_geometry; /* [places] owned by the caller; NULL: all volumes share `geometry` */
    float complex *data;                 /* [frame][z][y][x] */
    const char *program;                 /* "mri_recon (Voxfield) 0.1.0" */
    const char *command;                 /* the command line */
    const char *created;                 /* UTC, ISO 8601 */
    const char *method;                  /* one line: method, operator, prior, lambda, iterations, device */
    const char *input;                   /* the scan's path */
    const char *digest;                  /* the scan's */
    const char *protocol;                /* the ISMRMRD header of the scan, or NULL */
    const char *copy_of;       /* an ISMRMRD file: .mrd becomes a copy of it with the images added; NULL: a new file */
    const char *group;         /* the group in the copy that gets the images; NULL, "": "dataset" */
    const scan_frame *sources; /* [source_count] the scan's frames, for the counters in .mrd; NULL: volume n is */
    int source_count;          /* repetition n */
} recon_image;

/* Rejects, before any work is done, a path with an unknown extension or in a folder that cannot be written. Supported:
 * .h5 (dataset /image), .nii, .nii.gz (magnitude), .mrd (ISMRMRD images), .cfl (BART). Errors: VF_ERR_ARGUMENT,
 * VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status image_check_path(vf_context *ctx, const char *path);
VF_MUST_CHECK vf_status image_check_extension(vf_context *ctx, const char *path); /* the extension only */

/* Writes the image in the format of the path's extension, atomically. An image with NaN or infinities is VF_ERR_OUTPUT.
 * Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY, VF_ERR_UNSUPPORTED (more voxels along an axis than the format allows);
 * VF_ERR_INPUT and VF_ERR_ARGUMENT for copy_of. */
VF_MUST_CHECK vf_status write_image(vf_context *ctx, const recon_image *image, const char *path);

/* The checks before that. Messages begin with `name`. Errors: VF_ERR_OUTPUT, VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status image_check_values(vf_context *ctx, const recon_image *image, const char *name);

/* Writes a noise map. The volumes of `map` are the deviations of all places, then their g factors. In .h5 they are the
 * datasets /noise and /g_factor [volume][z][y][x]; other formats are as in write_image. Errors: as write_image. */
VF_MUST_CHECK vf_status write_noise_map(vf_context *ctx, const recon_image *map, const char *path);

/* Reads an image to compare with, [frame][z][y][x]: the dataset /image of an HDF5 file, real or complex, with two to
 * four dimensions; .cfl; .nii, .nii.gz and pairs of .hdr and .img with real numbers. The geometry is known if the file has
 * it. Texts and place_geometry stay NULL. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_image(vf_context *ctx, const char *path, recon_image *out);
void recon_image_free(recon_image *image); /* frees the data only */

/* ---- zero_image.c ---- */

/* Fails if the image is 0 everywhere and the scan is not: VF_ERR_INPUT. Warns if that is so for some frames. */
VF_MUST_CHECK vf_status image_refuse_zeros(vf_context *ctx, const recon_image *image, const mri_scan *raw);

/* ---- compare.c ---- */

/* The error of an image over all voxels, as published (Stone et al. 2008): MSE = mean (I - I0)^2, PSNR = 20 log10(max
 * I0 / sqrt(MSE)), SNR = 20 log10(rms I0 / sqrt(MSE)), percent error = 100 sqrt(MSE) / rms I0. I is the image's
 * magnitude, I0 the truth. For equal images, PSNR and SNR are infinite. */
typedef struct image_error {
    double mse, psnr, snr, percent;
} image_error;
/* The errors of I, and of s I with the s that minimises |s I - I0| (`scale`). For an image of zeros, s is 1. */
typedef struct image_comparison {
    image_error error, scaled;
    double scale;
} image_comparison;
/* Messages start with `name`. Errors: VF_ERR_ARGUMENT (no voxels); VF_ERR_INPUT (values that are not finite, or a truth
 * without positive values). */
VF_MUST_CHECK vf_status compare_images(vf_context *ctx, const char *name, int64_t voxels, const float complex *image,
                                       const float *truth, image_comparison *out);

/* Whether the scale is more than 5 % off 1. */
bool comparison_scale_matters(const image_comparison *comparison);
/* comparison_worst: the volume with the largest percent error. comparison_mean: the mean of each figure. */
int comparison_worst(const image_comparison *all, int count);
image_comparison comparison_mean(const image_comparison *all, int count);

/* "error", for the first of an image's `frames` volumes; for several compared volumes also "error_mean" and
 * "error_of_volumes". `line` has the words of each volume, or, if there are many, of the first and the worst; the line behind
 * it then has the mean. */
void comparison_facts(facts *f, int line, const image_comparison *all, int count, int frames);

/* ---- draw_montage.c ---- */

/* Draws the middle slice of the magnitude, at most `size` pixels wide and high, turned as in the montage. Free with
 * vf_canvas_destroy. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status draw_middle_slice(vf_context *ctx, const recon_image *image, int size, vf_canvas **out);

/* Draws a PNG montage of slices of the magnitude, atomically: slices of the first frame, or of all frames if each has
 * one slice. Black is 0, white the 99.5th percentile of the foreground. Labels give orientation, window and method. All
 * slices are drawn if they fit, else those with visible content. Of slabs at different places, only the first is
 * drawn. */
VF_MUST_CHECK vf_status draw_montage(vf_context *ctx, const recon_image *image, const char *path);

#endif
