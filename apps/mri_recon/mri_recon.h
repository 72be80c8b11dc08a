/* mri_recon: all stages, in the order data flows.
 *
 *   read_scan -> prewhiten, compress_coils -> encoding -> coil maps -> prior -> solve -> write_image, draw_montage
 *
 * settings.h has the user's settings, scan/mri_scan.h the scan in memory, schedule/reconstruct.h the reconstruction,
 * images/recon_image.h the image files.
 */
#ifndef MRI_RECON_H
#define MRI_RECON_H

#include "settings.h"

/* Runs all stages. Prints its text to stdout and progress to stderr; errors are left in the context. */
VF_MUST_CHECK vf_status mri_recon_run(vf_context *ctx, const recon_settings *settings);

#endif
