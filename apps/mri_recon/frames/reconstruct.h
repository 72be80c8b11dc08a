/* mri_recon: from a scan to its images: choice of devices, coil maps, and reconstruction of all frames.
 * Arrays are in host memory, x fastest.
 */
#ifndef RECONSTRUCT_H
#define RECONSTRUCT_H

#include <complex.h>
#include <stdbool.h>

#include "scan/mri_scan.h"
#include "settings.h"
#include "solve/team.h"
#include "sure.h"
#include "watch.h"

/* ---- plan_device.c ---- */

/* Sets the context's devices from the settings and the work, and checks their memory. If a series does not fit,
 * leaves out devices; if it does not fit on the first one either, sets settings->window. `text` [size] gets the
 * devices, why they were chosen, and how they share the work; *bytes an estimate of the memory needed on each.
 * Errors: as vf_context_set_devices; VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status plan_device(vf_context *ctx, recon_settings *settings, const mri_scan *raw,
                                    const scan_sampling *sampling, char *text, size_t size, double *bytes);
/* Whether the devices and the host have enough memory for `sets` sets of coil maps. */
bool plan_fits(vf_context *ctx, const recon_settings *settings, const mri_scan *raw, int sets);
/* "cuda:0,1": the context's first `count` devices. */
void device_list(const vf_context *ctx, int count, char *text, size_t size);

/* ---- calibrate.c ---- */

/* Describes estimated maps. */
typedef struct calibrated {
    int sets;       /* sets of maps */
    bool weighted;  /* they fade as vf_espirit's do */
    char text[160]; /* how the maps were made, one line */
} calibrated;

/* Estimates the coil maps of a place from the centre of its k-space. `maps` [set][coil][z][y][x], host memory, must
 * have room for two sets unless `sets` is ONE. The solver runs on the team's first device. `sets`: ONE, TWO, or AUTO:
 * chosen from the data. Only ESPIRiT makes two.
 *
 * `how` selects ESPIRiT (espirit.h), joint estimation with the image (nlinv.h), or vf_coil_maps_walsh. RECON_COILS_AUTO
 * and RECON_COILS_FILE: ESPIRiT if the centre is sampled well enough, else joint estimation. The data are the place's
 * calibration frames and all frames of the place that differ from its first only in repetition and trajectory.
 *
 * `watch` (may be NULL) gets progress of 1 in all. Warns if the centre is not sampled densely enough, or if the maps
 * explain too little of it. Errors: as vf_nufft_create, vf_espirit. */
VF_MUST_CHECK vf_status calibrate_maps(const device_team *team, const mri_scan *raw, recon_coils how,
                                       recon_map_sets sets, int place, recon_watch *watch, float complex *maps,
                                       calibrated *made);
/* Whether calibrate_maps will use joint estimation, the slowest method. False if memory runs out. */
bool calibrate_takes_joint(vf_context *ctx, const mri_scan *raw, recon_coils how, recon_map_sets sets, int place);

/* ---- calibrate_compare.c ---- */

/* Compares a place's maps, `given` [coil][z][y][x], one set, with the centre of its k-space. If they leave so much of it
 * unexplained that they must be wrong, and ESPIRiT's maps explain it, *out gets ESPIRiT's maps, with the length of the
 * given ones if that is smooth; the caller frees them, and a warning is printed. Else *out is NULL; if ESPIRiT's maps
 * explain much more, a warning says so. Errors: as calibrate_maps. */
VF_MUST_CHECK vf_status calibrate_better_maps(const device_team *team, const mri_scan *raw, int place,
                                              const float complex *given, recon_watch *watch, float complex **out,
                                              calibrated *made);

/* ---- recon_choices.c ---- */

/* How devices share a scan. The choice does not depend on measured speeds, so the result's bits do not either. */
typedef struct recon_sharing {
    int teams, each; /* `teams` frames, or windows of a series, are made at the same time, each by `each` devices */
    bool by_voxels;  /* a team shares direct sums by voxels; F^H W F of a series by frames; all other work by coils */
} recon_sharing;
recon_sharing share_devices(const recon_settings *settings, const mri_scan *raw, int devices);

/* Whether the reconstruction uses raw->sensitivity. */
bool uses_scan_maps(const recon_settings *settings, const mri_scan *raw);
/* The most sets of maps that a place may have. */
int most_map_sets(const recon_settings *settings, const mri_scan *raw);

/* settings->group_bytes, or the default for 0. */
int64_t recon_group_bytes(const recon_settings *settings);

/* Whether the prior's weight comes from noise and spectrum. */
bool regularise_by_noise(const recon_settings *settings);

/* Whether frames are solved together: a sparse prior couples them. */
bool solves_series(const recon_settings *settings);

/* Whether calibrate_better_maps checks the scan's own maps: only if the user has not asked for them explicitly. */
bool judges_scan_maps(const recon_settings *settings, const mri_scan *raw);

/* ---- partial_fourier.c ---- */

/* Whether any frame lacks one side of k-space and the settings allow the phase to make up for it. */
bool partial_fourier_any(const recon_settings *settings, const mri_scan *raw);

/* ---- windows.c ---- */

/* How the frames of a place are solved together: `count` windows of `frames` frames each, of which each shares at least
 * `shared` with the next. The choice does not depend on the device, unless plan_device has to set settings->window. */
typedef struct series_windows {
    int count, frames, shared;
} series_windows;

/* The windows of a place with `frames` frames, of `frame_bytes` bytes each: settings->window frames, or for 0 as many
 * as fit in recon_group_bytes, but RECON_LEAST_WINDOW at least. */
series_windows windows_of_series(const recon_settings *settings, int frames, double frame_bytes);
/* The windows of all places, or `most` if there are more. */
int windows_up_to(const recon_settings *settings, const mri_scan *raw, int most);
/* The frames of the place that has the most. */
int most_frames_of_place(const mri_scan *raw);
/* The size of a frame's images in the solver: one with maps (of one set), else one for each coil. */
double series_frame_bytes(const recon_settings *settings, const mri_scan *raw);

/* ---- reconstruct.c ---- */

enum { RECON_MAX_DEVICES = 64 };

/* What it took to solve for a frame. Of frames that are solved together, the last that a window delivers has all. */
typedef struct frame_effort {
    int64_t iterations, applications; /* of F^H W F, with sparse priors */
    double residual;                  /* the largest */
    bool converged;
    char encoding[64]; /* how F was computed, in a few words */
} frame_effort;

/* Results of the reconstruction besides the images, for the report. */
typedef struct recon_summary {
    char encoding[128], normal[160], coils[160];
    char shared[200];    /* how ranks share the coils; "": they do not */
    double diagonal;     /* of F^H W F in the object, for the last frame: lambda is relative to it */
    double lambda;       /* absolute, for the last frame; spectrum prior: a factor on Wiener's weight */
    double sigma;        /* standard deviation of a sample's noise, E|n|^2 = sigma^2; 0: not needed */
    char noise[160];     /* the source of sigma */
    double *frame_noise; /* [frames] each frame's sigma, if they differ, else NULL; the caller frees it */
    char phase[128];     /* how the phase was used if one side of k-space is missing; "": both sides are there */
    double misfit;       /* variance of a first image's residual over sigma^2; at least 1 */
    int first_images;    /* made for the noise, and the solver's iterations for all of them */
    int64_t first_iterations;
    double expected_signal, expected_noise, expected_bias; /* root mean squares over the last frame's voxels */
    double noise_unit, sparse_lambda[VF_MOST_PRIORS];      /* for the last frame: sparse.c, and absolute */
    vf_sure_result sure;                                   /* how the factor on these was chosen; tried 0: it is 1 */
    int64_t sure_applications;                             /* of F^H W F, for that */
    double objective, penalty[VF_MOST_PRIORS];             /* of sparse priors, for the last frame: solve_result */
    int64_t applications;                                  /* of F^H W F, over all frames with sparse priors */
    int64_t iterations;                                    /* over all frames */
    double residual;                                       /* the largest of all frames */
    bool converged;                                        /* all frames */
    frame_effort *effort; /* [frames] with settings->wanted, else NULL; the caller frees it */
    double coils_kept;    /* share of the energy after compression; 1 without */
    recon_sharing sharing;
    struct {
        int frames;     /* frames it made or helped to make */
        double seconds; /* time it worked on them */
    } device[RECON_MAX_DEVICES];
} recon_summary;

/* Receives a frame's image, [z][y][x] of scan->matrix, valid only during the call. */
typedef void (*recon_put)(void *user, const scan_frame *frame, const float complex *image);

/* Receives the noise of a place's first frame, [z][y][x] of scan->matrix, valid only during the call.
 *
 * `deviation` is the standard deviation of a complex voxel, E|n|^2 = deviation^2. `g` is the factor by which it exceeds
 * the best value for as many samples: g = deviation sqrt(Q(0) sum_c |s_c|^2) / sigma. The image of --method adjoint is
 * not divided by Q(0) sum_c |s_c|^2, so there g = deviation / (sqrt(...) sigma). For coils combined by the root of the
 * sum of squares, both are the mean over coils. */
typedef void (*recon_put_noise)(void *user, const scan_frame *frame, const float *deviation, const float *g);

/* The order in which frames are made: `order` [frames] gets their numbers. Errors: VF_ERR_MEMORY, VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status frame_order(vf_context *ctx, const recon_settings *settings, const mri_scan *raw, int *order);

/* Reconstructs the scan's frames, all or those of settings->wanted, on the context's devices. The images do not depend on
 * which are wanted. `put` gets each frame once, in any order, on the caller's thread; summary->effort of the frame is
 * complete by then. Then, with settings->noise_map, `put_noise` gets the noise of all places. If a team's device fails,
 * the other teams make its frames; the last team's failure ends the run. */
VF_MUST_CHECK vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const mri_scan *raw,
                                    recon_watch *watch, recon_put put, recon_put_noise put_noise, void *user,
                                    recon_summary *summary);

#endif
