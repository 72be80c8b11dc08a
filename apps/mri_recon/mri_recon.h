/* mri_recon: all stages, in the order data flows.
 *
 *   read_scan -> prewhiten, compress_coils -> encoding -> coil maps -> prior -> solve -> write_image, draw_montage
 *
 * settings.h says what is asked for, scan/mri_scan.h what is read, frames/reconstruct.h how images are made of it, and
 * images/recon_image.h what becomes of them.
 */
#ifndef MRI_RECON_H
#define MRI_RECON_H

#include "settings.h"

/* All stages, in the order data flows. Everything it has to say besides errors goes to stdout, progress to stderr. */
VF_MUST_CHECK vf_status mri_recon_run(vf_context *ctx, const recon_settings *settings);

#endif
