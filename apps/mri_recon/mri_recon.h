/* mri_recon: what its stages hand to one another.
 *
 *   read_scan -> prewhiten, compress_coils -> encoding -> coil_maps -> prior -> solve -> write_image, draw_montage
 *
 * k in cycles per field of view of the encoded space, time in s, frequencies in Hz, lengths in mm, positions and
 * directions in the patient's coordinates (LPS: x to the left, y to the back, z to the head). Arrays in C order with x
 * fastest; complex numbers interleaved. Host memory, unless it says otherwise.
 */
#ifndef MRI_RECON_H
#define MRI_RECON_H

#include <complex.h>

#include "voxfield/context.h"
#include "voxfield/device.h"
#include "voxfield/digest.h"
#include "voxfield/report.h"
#include "voxfield/timer.h"

#include "cartesian.h"
#include "encoding.h"
#include "prior.h"
#include "solve/team.h"
#include "toeplitz.h"

/* ---- mri_recon_main.c, recon_options.c ---- */

typedef enum recon_method { RECON_CG, RECON_ADJOINT, RECON_GRIDDING, RECON_BILINEAR } recon_method;
typedef enum recon_prior {
    RECON_IDENTITY = VF_PRIOR_IDENTITY,
    RECON_DIFFERENCES = VF_PRIOR_DIFFERENCES,
    RECON_REFERENCE = VF_PRIOR_REFERENCE,
    RECON_SPECTRUM = VF_PRIOR_SPECTRUM,
    RECON_PRIOR_AUTO
} recon_prior;
typedef enum recon_coils {
    RECON_COILS_AUTO,
    RECON_COILS_FILE,
    RECON_COILS_ESPIRIT,
    RECON_COILS_WALSH,
    RECON_COILS_NLINV,
    RECON_COILS_RSS
} recon_coils;
/* Sets of coil maps: as many as the object asks for, or a number. */
typedef enum recon_map_sets { RECON_SETS_AUTO, RECON_SETS_ONE, RECON_SETS_TWO } recon_map_sets;
enum { RECON_MOST_SETS = 2 };
typedef enum k_units { K_AUTO, K_NORMALIZED, K_FOV, K_RADIANS } k_units;

/* What the user asked for. Numbers are checked where they are read: finite, and in range one by one. */
typedef struct recon_settings {
    const char *input;
    const char *output;                     /* NULL: the input's name with _image.h5, beside it */
    const char *picture, *report, *compare; /* compare: "truth", or a file; NULL: none */
    const char *save_q, *load_q;
    const char *noise_map;  /* NULL: none */
    int replicas;           /* that it is made of */
    const char *group;      /* of an ISMRMRD file; NULL: found */
    const char *trajectory; /* of k-space in a .cfl; NULL: Cartesian */
    const char *maps;       /* coil maps' file, with RECON_COILS_FILE; NULL: the scan's own */
    const char *save_coils; /* where the maps that are used go; NULL: nowhere */
    recon_method method;
    vf_encode_by encode_by;
    recon_prior prior;
    recon_coils coils;
    recon_map_sets map_sets; /* of --method cg; others use the first */
    k_units units;
    int compress; /* coils to keep; 0: all */
    int64_t matrix[3];
    bool has_matrix;
    bool box_voxels; /* phi is the transform of a box, unless the file has phi */
    bool keep_oversampling;
    bool append_to_copy; /* the image file is a copy of the ISMRMRD scan with the images added */
    bool hardware_trig;
    int iterations;
    double tolerance; /* of the solver: relative residual at which it stops */
    double lambda;    /* of the spectrum, times Wiener's weight; of other priors, relative to the diagonal of F^H W F
                       * in the object (reconstruct.c); with lambda_auto, times what is best by the forecast */
    bool lambda_auto;
    bool partial_fourier; /* the phase's smoothness makes up for a side of k-space that is missing */
    double accuracy;      /* of the NUFFT */
    vf_dtype precision;   /* VF_F32, VF_F64 */
    const char *variant;  /* of the direct sum; NULL: the device's default */
    const char *device;   /* "auto" or as vf_context_set_devices */
    int64_t group_bytes;  /* of the frames' images that are worked on together, one frame at least; 0: 1 GiB */
    double piece_pairs;   /* of a direct sum between two looks at progress and whether to stop; 0: about a second */
    bool dry_run, quiet;
    vf_progress_mode progress;
    int argc;
    char *const *argv;
} recon_settings;

/* ---- settings.c ---- */

/* Refuses settings that contradict each other, as far as the table of options does not say it, and fills in what follows
 * from other settings. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status settings_complete(vf_context *ctx, recon_settings *settings, bool says_partial_fourier);

/* ---- watch.c ---- */

/* What a run is at: the stages' times, and a line for people. That of a device which makes whole images beside others
 * is silent, and tells `whole`, which counts frames. */
typedef struct recon_watch {
    vf_stages stages;
    vf_progress progress;
    vf_progress_mode mode;
    char which[96];  /* the frames at hand: "frame 3 of 20: ", or "" */
    char title[160]; /* of the line */
    struct recon_watch *whole;
    double frames, told;       /* of the stage at hand, and how many were told so far */
    struct watch_pulse *pulse; /* draws the line while nobody tells anything; NULL: no line was drawn yet */
} recon_watch;

/* A stage begins, of `work` units that vf_progress_add counts (0: not known). `name` must outlive the watch. */
void watch_stage(recon_watch *watch, const char *name, double work);

/* The line goes, so that something can be printed, until the next stage; and for good: the last call, if any stage
 * began. */
void watch_hush(recon_watch *watch);
void watch_end(recon_watch *watch);

/* From any thread: so much more is done; what the line says. */
void watch_add(recon_watch *watch, double more);
void watch_tell(void *watch, double more); /* the same, for what tells its progress */
void watch_title(recon_watch *watch, const char *text);

/* The stage's work is worth so many frames of the whole; all that was told makes `frames`. */
void watch_part(recon_watch *watch, double frames);
void watch_part_ends(recon_watch *watch, double frames);

/* ---- mri_recon_pipeline.c ---- */

/* All stages, in the order data flows. Everything it has to say besides errors goes to stdout, progress to stderr. */
VF_MUST_CHECK vf_status mri_recon_run(vf_context *ctx, const recon_settings *settings);

/* ---- read_scan.c: scan_plain.c, scan_ismrmrd.c ---- */

/* Where the voxels lie in the patient. */
typedef struct scan_geometry {
    bool known;             /* false: directions are the axes, centre is 0 */
    double direction[3][3]; /* unit vectors along x, y, z of the image, LPS */
    double centre[3];       /* mm, LPS: of the field of view; of the first slice of a stack */
    double slice_step;      /* mm between the centres of stacked slices, along direction[2]; 0: no stack */
} scan_geometry;

/* Where samples lie in k-space. Several frames may share one. */
typedef struct scan_trajectory {
    int64_t samples;    /* >= 1 */
    float *k;           /* [sample][3] kx, ky, kz in cycles per encoded field of view, finite */
    float *weights;     /* [sample] >= 0: of the samples in the sum of squares, or NULL */
    float *time;        /* [sample] s since excitation, or NULL */
    float complex *phi; /* [sample] transform of a voxel's basis function at k, or NULL */
} scan_trajectory;

/* One image to reconstruct: a volume, or a slice of a stack. */
typedef struct scan_frame {
    int trajectory;                       /* index */
    int volume, slice;                    /* where the image goes: in 0 .. volumes - 1, 0 .. slices - 1 */
    int place;                            /* what of the patient it shows: frames of one place share coil maps */
    int contrast, phase, repetition, set; /* as the file numbers them; 0 where it does not */
    float complex *data;                  /* [coil][sample]; NULL for a replica */
    int replica;                          /* > 0: its data are noise of variance 1, drawn anew for each number */
} scan_frame;

typedef struct scan {
    int64_t matrix[3];   /* encoded voxels along x, y, z; z = 1 for 2D */
    double fov[3];       /* mm, encoded; > 0 */
    int64_t crop[3];     /* voxels of the image to keep, about the centre: matrix where nothing is to be cut */
    int coils;           /* >= 1 */
    int volumes, slices; /* volumes * slices = frames where none is missing */
    int places;          /* slices, or slabs of 3D scans, of which each is a volume; a frame's is in 0 .. places - 1 */
    int trajectories;
    scan_trajectory *trajectory; /* [trajectories + calibrations] */
    int frames;
    int calibrations;           /* frames behind those, each with a trajectory behind the others: lines that only coil
                                 * maps are estimated from; at most one a place */
    scan_frame *frame;          /* [frames + calibrations] */
    double complex *noise;      /* [coil][coil] covariance of the coils' noise, or NULL */
    float complex *sensitivity; /* [place][set][coil][z][y][x] of `matrix`, or NULL; coil c of set s sees s_sc, and its
                                 * data are F sum_s s_sc rho_s of the images rho_s */
    bool own_maps;              /* each place has its maps; else all share those of the only one */
    int map_sets;               /* 2, or one: 0, 1 */
    bool maps_weighted;         /* they fade as vf_espirit's do, and the image is to be of even intensity */
    bool maps_whitened, maps_compressed; /* sensitivity is of coils behind these stages: not to be done again */
    bool whitened;                       /* the coils are decorrelated */
    int compressed_from;                 /* coils that these were combined of; 0: they were not */
    float *field_map;                    /* [z][y][x] of `matrix`, Hz, or NULL */
    int references;
    float *reference;              /* [references][z][y][x] of `matrix`, or NULL */
    int truths;                    /* 0, 1, or `volumes` */
    float *truth;                  /* [truths][z][y][x] of `crop`, or NULL */
    scan_geometry geometry;        /* of all volumes; of the first, where they differ */
    scan_geometry *place_geometry; /* [places] of slabs: volume n shows place n % places; NULL: all share `geometry` */
    char *protocol;                /* the ISMRMRD header, to go into an ISMRMRD image file; NULL for plain files */
    char layout[32];               /* "ISMRMRD", "plain", "BART" */
    char group[256];               /* of the ISMRMRD file, from its root: "/dataset"; "" for plain files */
    char description[256];         /* one line for people: trajectory, units and how they were chosen */
    char digest[VF_DIGEST_TEXT];   /* of trajectories, weights, time and phi: what Q depends on */
} scan;

/* Reads a scan of either layout in HDF5 (docs/scans.md). `out` is overwritten; free it with scan_free. What deserves
 * attention but is no error goes out as vf_warn. Errors, each naming file and dataset: VF_ERR_INPUT; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_scan(vf_context *ctx, const char *path, const char *group, k_units units, scan *out);
/* Warns of what is allowed but seldom meant: a trajectory that covers little of k-space, a matrix deeper than the
 * trajectory, coil maps that are 0. `name` is the file. */
void scan_warn(vf_context *ctx, const char *name, const scan *raw);

/* ---- scan_sampling.c ---- */

/* How far a trajectory is undersampled, of the field of view that is kept: cells of k-space of one cycle per field of
 * view, over those that samples stand for, in the ball, cylinder or box that the trajectory reaches. A sample stands
 * for its cell, or the length of readout to the next sample if that is less; within a few cells none counts twice. So
 * readout oversampling and repetitions do not count, R of spokes is that of Nyquist, and of Cartesian lines their
 * spacing. 1 at least. */
typedef struct scan_sampling {
    double mean; /* over all of k-space that is reached */
    double edge; /* at the ends of the axis where it is largest: lines or spokes outside of the dense middle */
} scan_sampling;
/* Of the trajectory that is undersampled most. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_measure_sampling(vf_context *ctx, const scan *raw, scan_sampling *out);
/* A line for people; "" where the scan is complete. */
void scan_say_sampling(const recon_settings *settings, const scan *raw, const scan_sampling *sampling, char *text,
                       size_t size);
/* Warns where there are fewer numbers in all coils than about 0.55 of the voxels, unless a reference stands in. */
void scan_warn_sampling(vf_context *ctx, const recon_settings *settings, const scan *raw,
                        const scan_sampling *sampling);

/* The samples of all frames. */
int64_t scan_samples(const scan *raw);
/* Sets of maps in raw->sensitivity, of one place and of all. */
int scan_map_sets(const scan *raw);
int scan_all_map_sets(const scan *raw);
void scan_free(scan *scan); /* leaves it zero */

/* ---- change_matrix.c ---- */

/* The scan's field of view in `wanted` voxels (x, y, z): matrix and crop; samples beyond a smaller matrix' k-space get
 * the weight 0; the truth is dropped. Errors: VF_ERR_ARGUMENT (not possible, or the scan has maps on its matrix),
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status change_matrix(vf_context *ctx, const int64_t wanted[3], scan *raw);

/* ---- plan_device.c ---- */

/* Sets the context's devices from the settings and the work, and checks their memory; `text` (of `size`) says which,
 * why, and how they share the work; `bytes` about how much memory is needed on each. Errors: as vf_context_set_devices;
 * VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status plan_device(vf_context *ctx, const recon_settings *settings, const scan *raw, char *text,
                                    size_t size, double *bytes);
/* Whether their memory is enough for so many sets of coil maps. */
bool plan_fits(vf_context *ctx, const recon_settings *settings, const scan *raw, int sets);
/* About how long it will take on these devices, s: good to a factor of two or three. */
double plan_seconds(vf_context *ctx, const recon_settings *settings, const scan *raw);
/* "cuda:0,1": the context's first `count` devices. */
void device_list(const vf_context *ctx, int count, char *text, size_t size);

/* ---- prewhiten.c, compress_coils.c ---- */

/* Decorrelates the coils' noise by the inverse Cholesky factor of its covariance, in data and maps, and frees the
 * covariance. Does nothing without one. A covariance that is singular (a dead coil) is VF_ERR_INPUT, naming the coil.
 */
VF_MUST_CHECK vf_status prewhiten(vf_context *ctx, scan *scan);

/* Keeps the `keep` < coils principal components of the data over all frames (Buehrer et al., Magn. Reson. Med. 57
 * (2007) 1131; Huang et al., Magn. Reson. Imaging 26 (2008) 133), in data and maps. `kept` gets their share of the
 * energy. */
VF_MUST_CHECK vf_status compress_coils(vf_context *ctx, scan *scan, int keep, double *kept);

/* ---- coil_maps.c ---- */

/* Coil maps from images of the coils that were made from the centre of k-space: adaptive combination (Walsh, Gmitro and
 * Marcellin, Magn. Reson. Med. 43 (2000) 682; the dominant eigenvector of the local covariance). `images`, `maps`:
 * [coil][z][y][x]; maps may be images. Normalised: the sum over coils of |s|^2 is 1 where there is signal, a thousandth
 * of the strongest at least, else 0; phase relative to the coil with most signal. Errors: VF_ERR_MEMORY, VF_ERR_INPUT
 * (images that are not finite), VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status coil_maps_walsh(vf_context *ctx, const int64_t matrix[3], int coils,
                                        const float complex *images, float complex *maps);

/* The samples of the centre of k-space that maps are estimated from: k_cut[axis] is where the taper (a Hann window in
 * |k| / k_cut) reaches 0. Weighs `data` [coil][sample] into `out`, which may be data. */
void coil_maps_calibration(const scan_trajectory *trajectory, int coils, const float complex *data,
                           const double k_cut[3], float complex *out);

/* sqrt(sum over coils |x|^2), as a complex image with phase 0. `images` [coil][voxels]. */
void coil_images_rss(int coils, int64_t voxels, const float complex *images, float complex *out);

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
 * coil_maps_walsh; RECON_COILS_AUTO and RECON_COILS_FILE: by ESPIRiT where the centre is sampled well enough, else
 * jointly. Uses the place's calibration frames and all frames of the place that
 * differ from its first in repetition and trajectory only. `watch` (may be NULL) is told of 1 in all. Warns where the
 * centre is not sampled densely enough, or maps explain too little of it. Errors: as vf_nufft_create, vf_espirit. */
VF_MUST_CHECK vf_status calibrate_maps(const device_team *team, const scan *raw, recon_coils how, recon_map_sets sets,
                                       int place, recon_watch *watch, float complex *maps, calibrated *made);
/* Whether these will be made by joint estimation, which takes longest. Where memory is short: false. */
bool calibrate_takes_joint(vf_context *ctx, const scan *raw, recon_coils how, recon_map_sets sets, int place);

/* ---- calibrate_compare.c ---- */

/* Judges a place's maps, `given` [coil][z][y][x], by the centre of its k-space. Where they leave much of it unexplained
 * and ESPIRiT's maps explain it, *out gets those, for the caller to free, with a warning; else *out is NULL. One set.
 * Errors: as calibrate_maps. */
VF_MUST_CHECK vf_status calibrate_better_maps(const device_team *team, const scan *raw, int place,
                                              const float complex *given, recon_watch *watch, float complex **out,
                                              calibrated *made);

/* ---- reconstruct.c ---- */

/* How a scan is shared among devices: so many frames are made at the same time, each by so many devices. Neither
 * depends on speeds, and so the bits do not. */
typedef struct recon_sharing {
    int teams, each;
    bool by_voxels; /* direct sums are, within a team; all else by coils */
} recon_sharing;
recon_sharing share_devices(const recon_settings *settings, const scan *raw, int devices);

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

/* Whether maps are those of raw->sensitivity. */
bool uses_scan_maps(const recon_settings *settings, const scan *raw);
/* Sets of maps that a place may have. */
int most_map_sets(const recon_settings *settings, const scan *raw);

/* recon_settings' group_bytes, or what stands for 0. */
int64_t recon_group_bytes(const recon_settings *settings);

/* All frames of the scan, shared among the context's devices: each once, in any order, to `put`, on the caller's
 * thread; then, with settings->noise_map, the noise of all places. A device that fails leaves its frames to the others;
 * one of several that make a frame together ends the run. */
VF_MUST_CHECK vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const scan *raw,
                                    recon_watch *watch, recon_put put, recon_put_noise put_noise, void *user,
                                    recon_summary *summary);

#endif
