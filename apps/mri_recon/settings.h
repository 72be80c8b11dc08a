/* mri_recon: the user's settings (recon_options.c), and the defaults that depend on other settings (settings.c). */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "coils/coil_settings.h"
#include "kept_pieces.h"
#include "noise/noise_settings.h"
#include "scan/scan_settings.h"
#include "schedule/schedule_settings.h"
#include "solve/solve_settings.h"
#include "voxfield/timer.h"

/* The user's settings: a part for each stage, and those of the whole run. The option parser has checked each number by
 * itself: finite and in range. */
typedef struct recon_settings {
    scan_settings scan;
    solve_settings solve;
    coil_settings coils;
    noise_settings noise;
    schedule_settings schedule;
    pieces_settings pieces;                        /* --part, --join, --resume */
    const char *output;                            /* NULL: recon_default_output */
    const char *picture, *report, *page, *compare; /* compare: "truth", or a file; NULL: none */
    bool append_to_copy; /* the image file is a copy of the ISMRMRD scan with the images added */
    bool info;           /* say what is in the file, and make no image */
    bool tune;           /* search a launch of the direct sum, and keep it for later runs */
    bool dry_run, quiet;
    vf_progress_mode progress;
    bool chooses_prior; /* settings_choose_prior must be called */
    bool partial_fourier_given;
    bool has_sparse_option;        /* the user gave --solver, --wavelet, --shifts, --seed or --frame-noise */
    const struct program *program; /* its options and command line */
    struct vf_result *result;      /* of a call (mri_recon.h), which gets the outputs; NULL: files do */
} recon_settings;

/* Rejects contradictory settings that the option table does not catch, and fills in the defaults that depend on other
 * settings. `says_partial_fourier`, `says_prior`: the user gave --partial-fourier, --prior. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status settings_complete(vf_context *ctx, recon_settings *settings, bool says_partial_fourier,
                                          bool says_prior);
/* With chooses_prior, chooses it and fills in the defaults that depend on it: for a scan with the undersampling of
 * scan_sampling, `frames` frames of each place that show the same at different times (1: no series), and one side of
 * k-space missing or not. Returns the reason. */
const char *settings_choose_prior(recon_settings *settings, double undersampling, int frames, bool one_sided);

/* ---- the names of files ---- */

extern const char *const recon_endings[]; /* of scans, which the names of outputs replace; up to NULL */

/* "a/b.h5" -> "a/b_image.h5"; "a/b.cfl" -> "a/b_image.cfl"; in `folder`, if that is not NULL. The caller frees it; NULL: no
 * memory. */
char *recon_default_output(const char *input, const char *folder);
/* Rejects two names for the same file. A BART name stands for two files, .cfl and .hdr. */
VF_MUST_CHECK vf_status settings_check_names(vf_context *ctx, const recon_settings *settings, const char *output);

/* ---- mri_recon_pipeline.c ---- */

/* Runs all stages. Prints its text to stdout and progress to stderr; errors are left in the context. */
VF_MUST_CHECK vf_status mri_recon_run(vf_context *ctx, const recon_settings *settings);

#endif
