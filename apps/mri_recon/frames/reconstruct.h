/* mri_recon: from a scan to its images: the devices, coil maps, and all frames.
 * Host memory, x fastest.
 */
#ifndef RECONSTRUCT_H
#define RECONSTRUCT_H

#include <complex.h>
#include <stdbool.h>

#include "scan/mri_scan.h"
#include "settings.h"
#include "solve/team.h"
#include "watch.h"

/* ---- plan_device.c ---- */

/* Sets the context's devices from the settings and the work, and checks their memory; `text` (of `size`) says which,
 * why, and how they share the work; `bytes` about how much memory is needed on each. Errors: as vf_context_set_devices;
 * VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status plan_device(vf_context *ctx, const recon_settings *settings, const mri_scan *raw, char *text,
                                    size_t size, double *bytes);
/* Whether their memory is enough for so many sets of coil maps. */
bool plan_fits(vf_context *ctx, const recon_settings *settings, const mri_scan *raw, int sets);
/* About how long it will take on these devices, s: good to a factor of two or three. */
double plan_seconds(vf_context *ctx, const recon_settings *settings, const mri_scan *raw);
/* "cuda:0,1": the context's first `count` devices. */
void device_list(const vf_context *ctx, int count, char *text, size_t size);

/* ---- calibrate.c ---- */

/* How maps were made. */
typedef struct calibrated {
    int sets;      /* of maps */
    bool weighted; /* they fade as vf_espirit's do */
    char text[160];
} calibrated;

/* Coil maps of a place from the centre of its k-space: `maps` [set][coil][z][y][x], host memory, with room for
 * two sets unless ONE is asked for; solves on the team's first device. `sets`: ONE, TWO, or AUTO for what the object
 * asks for; those of others than ESPIRiT are one. By ESPIRiT (espirit.h), jointly with the image (nlinv.h) or as
 * vf_coil_maps_walsh; RECON_COILS_AUTO and RECON_COILS_FILE: by ESPIRiT where the centre is sampled well enough, else
 * jointly. Uses the place's calibration frames and all frames of the place that
 * differ from its first in repetition and trajectory only. `watch` (may be NULL) is told of 1 in all. Warns where the
 * centre is not sampled densely enough, or maps explain too little of it. Errors: as vf_nufft_create, vf_espirit. */
VF_MUST_CHECK vf_status calibrate_maps(const device_team *team, const mri_scan *raw, recon_coils how,
                                       recon_map_sets sets, int place, recon_watch *watch, float complex *maps,
                                       calibrated *made);
/* Whether these will be made by joint estimation, which takes longest. Where memory is short: false. */
bool calibrate_takes_joint(vf_context *ctx, const mri_scan *raw, recon_coils how, recon_map_sets sets, int place);

/* ---- calibrate_compare.c ---- */

/* Judges a place's maps, `given` [coil][z][y][x], by the centre of its k-space. Where they leave much of it unexplained
 * and ESPIRiT's maps explain it, *out gets those, for the caller to free, with a warning; else *out is NULL. One set.
 * Errors: as calibrate_maps. */
VF_MUST_CHECK vf_status calibrate_better_maps(const device_team *team, const mri_scan *raw, int place,
                                              const float complex *given, recon_watch *watch, float complex **out,
                                              calibrated *made);

/* ---- recon_choices.c ---- */

/* How a scan is shared among devices: so many frames are made at the same time, each by so many devices. Neither
 * depends on speeds, and so the bits do not. */
typedef struct recon_sharing {
    int teams, each;
    bool by_voxels; /* direct sums are, within a team; all else by coils */
} recon_sharing;
recon_sharing share_devices(const recon_settings *settings, const mri_scan *raw, int devices);

/* Whether maps are those of raw->sensitivity. */
bool uses_scan_maps(const recon_settings *settings, const mri_scan *raw);
/* Sets of maps that a place may have. */
int most_map_sets(const recon_settings *settings, const mri_scan *raw);

/* recon_settings' group_bytes, or what stands for 0. */
int64_t recon_group_bytes(const recon_settings *settings);

/* Whether the prior is weighed by noise and spectrum. */
bool regularise_by_noise(const recon_settings *settings);

/* Whether nobody has asked for the scan's own maps by name: then the data may judge them, and ESPIRiT's may be taken. */
bool judges_scan_maps(const recon_settings *settings, const mri_scan *raw);

/* ---- reconstruct.c ---- */

enum { RECON_MAX_DEVICES = 64 };

/* What the reconstruction says of itself. */
typedef struct recon_summary {
    char encoding[128], normal[160], coils[160];
    double diagonal; /* of F^H W F in the object, of the last frame: what lambda is relative to */
    double lambda;   /* absolute, of the last frame; of the spectrum, times Wiener's weight */
    double sigma;    /* standard deviation of the noise of a sample, E|n|^2 = sigma^2; 0: it was not asked for */
    char noise[160]; /* what that rests on */
    char phase[128]; /* what is known of it where one side of k-space is missing; "": both are there */
    double misfit;   /* variance of what a first image leaves of the samples, over sigma^2; 1 at least */
    double expected_signal, expected_noise, expected_bias; /* root mean squares over the last frame's voxels */
    int64_t iterations;                                    /* over all frames */
    double residual;                                       /* the largest */
    bool converged;                                        /* all */
    double coils_kept;                                     /* share of the energy after compression; 1 without */
    recon_sharing sharing;
    struct {
        int frames;     /* that it made, or helped to make */
        double seconds; /* at work on them */
    } device[RECON_MAX_DEVICES];
} recon_summary;

/* Takes the image [z][y][x] of scan->matrix of a frame, which is gone afterwards. */
typedef void (*recon_put)(void *user, const scan_frame *frame, const float complex *image);

/* Takes the noise of a place's first frame, [z][y][x] of scan->matrix, gone afterwards: the standard deviation of a
 * complex voxel, E|n|^2 = deviation^2, and the factor by which it exceeds what as many samples would leave at best,
 * g = deviation sqrt(Q(0) sum_c |s_c|^2) / sigma; for --method adjoint, whose image is not divided by that,
 * deviation / (sqrt(...) sigma). Coils that are combined by the root of the sum of squares: their mean. */
typedef void (*recon_put_noise)(void *user, const scan_frame *frame, const float *deviation, const float *g);

/* All frames of the scan, shared among the context's devices: each once, in any order, to `put`, on the caller's
 * thread; then, with settings->noise_map, the noise of all places. A device that fails leaves its frames to the others;
 * one of several that make a frame together ends the run. */
VF_MUST_CHECK vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const mri_scan *raw,
                                    recon_watch *watch, recon_put put, recon_put_noise put_noise, void *user,
                                    recon_summary *summary);

#endif
