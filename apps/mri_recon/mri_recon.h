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
#include "circulant.h"
#include "fourier_sum.h"
#include "gridding.h"
#include "solve/team.h"
#include "toeplitz.h"

/* ---- mri_recon_main.c ---- */

typedef enum recon_method { RECON_CG, RECON_ADJOINT, RECON_GRIDDING, RECON_BILINEAR } recon_method;
/* RECON_OFF_GRID is no user's wish: as RECON_AUTO, but never the FFT of the grid. */
typedef enum recon_operator { RECON_AUTO, RECON_DIRECT, RECON_NUFFT, RECON_CARTESIAN, RECON_OFF_GRID } recon_operator;
typedef enum recon_prior {
    RECON_IDENTITY,
    RECON_DIFFERENCES,
    RECON_REFERENCE,
    RECON_SPECTRUM,
    RECON_PRIOR_AUTO
} recon_prior;
typedef enum recon_coils {
    RECON_COILS_AUTO,
    RECON_COILS_FILE,
    RECON_COILS_ESPIRIT,
    RECON_COILS_WALSH,
    RECON_COILS_RSS
} recon_coils;
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
    recon_operator encode_by;
    recon_prior prior;
    recon_coils coils;
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
    double accuracy;     /* of the NUFFT */
    vf_dtype precision;  /* VF_F32, VF_F64 */
    const char *variant; /* of the direct sum; NULL: the device's default */
    const char *device;  /* "auto" or as vf_context_set_devices */
    int64_t group_bytes; /* of the frames' images that are worked on together, one frame at least; 0: 1 GiB */
    double piece_pairs;  /* of a direct sum between two looks at progress and whether to stop; 0: about a second */
    bool dry_run, quiet;
    vf_progress_mode progress;
    int argc;
    char *const *argv;
} recon_settings;

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
    double frames, told; /* of the stage at hand, and how many were told so far */
} recon_watch;

/* A stage begins, of `work` units that vf_progress_add counts (0: not known). `name` must outlive the watch. */
void watch_stage(recon_watch *watch, const char *name, double work);

/* From any thread: so much more is done; what the line says. */
void watch_add(recon_watch *watch, double more);
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
    float complex *sensitivity; /* [coil][z][y][x] of `matrix`, or NULL */
    bool own_maps;              /* each place has its maps: sensitivity is [place][coil][z][y][x] */
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
/* The samples of all frames. */
int64_t scan_samples(const scan *raw);
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

/* Reads dataset /image of a file that write_image made, to compare with: [frame][z][y][x]. Fewer dimensions and real
 * numbers will do too; texts and place_geometry stay NULL. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
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

/* ---- encoding.c ---- */

/* F of one trajectory on one device: (F x)_m = sum_n x_n exp(-i 2 pi (k_m.r_n + t_m f_n)), by FFT of the grid that
 * samples lie on, by direct sum or by gridding; phi and weights are the caller's. */
typedef struct encoding encoding;

/* `matrix` voxels, over `extent` fields of view: 1 for images, 2 for Q (an axis of one voxel stays one). `time` and
 * `field` may be NULL. Batches of at most `most_batch`. Errors: as vf_fourier_create and vf_nufft_create. */
VF_MUST_CHECK vf_status encoding_create(vf_device *device, const recon_settings *settings, const int64_t matrix[3],
                                        int extent, int64_t samples, const float *k, const float *time,
                                        const float *field, int most_batch, encoding **out);
void encoding_destroy(encoding *encoding); /* NULL is allowed */

/* Each adjoint of a vector adds 1 to the watch's progress, a long one in parts. NULL ends that. */
void encoding_watch(encoding *e, recon_watch *watch);

/* From now on adjoints are of voxels [first, first + count) only, and add that share of 1; y is [batch][count] then.
 * The bits stay the same. Of direct sums; else it does nothing. */
void encoding_restrict(encoding *e, int64_t first, int64_t count);

/* y = F^H c and c = F x; device memory, [batch][sample] and [batch][z][y][x], complex of the settings' precision. */
VF_MUST_CHECK vf_status encoding_adjoint(encoding *e, vf_queue *queue, int batch, const vf_array *c, vf_array *y);
VF_MUST_CHECK vf_status encoding_forward(encoding *e, vf_queue *queue, int batch, const vf_array *x, vf_array *c);

/* Whether it is a direct sum. */
bool encoding_is_direct(const encoding *e);

/* What it is, for people: "NUFFT, 1e-06, kernel 7 wide on 256 x 256 x 256". */
const char *encoding_description(const encoding *e);

/* Copies complex numbers from the host to device memory of either precision, and back, waiting for it. */
VF_MUST_CHECK vf_status upload(vf_queue *queue, const float complex *from, int64_t n, vf_array *to);
VF_MUST_CHECK vf_status upload_at(vf_queue *queue, const float complex *from, int64_t n, vf_array *to, int64_t at);
VF_MUST_CHECK vf_status download(vf_queue *queue, const vf_array *from, int64_t n, float complex *to);

/* ---- density.c ---- */

/* Density weights [sample], such that F^H applied to the weighted samples makes an image of the object's values: 1 /
 * voxels for the samples of a Cartesian grid; 0 for samples of weight 0. Errors: as encoding_create; VF_ERR_CANCELLED.
 */
VF_MUST_CHECK vf_status density_weights(vf_context *ctx, const int64_t matrix[3], const scan_trajectory *at,
                                        vf_queue *queue, float *weights);

/* ---- normal_matrix.c, q_file.c ---- */

/* F^H W F of one trajectory, W the samples' weights and |phi|^2: a Toeplitz matrix (toeplitz.h), or of samples on a
 * grid a circulant one (cartesian.h). */
typedef struct normal_matrix {
    vf_toeplitz *toeplitz; /* one of the two */
    vf_cartesian *cartesian;
    double diagonal; /* Q(0) = sum of the weights: of one coil with s = 1 */
    int segments;    /* of time; 1 without a field map */
    char description[160];
} normal_matrix;

/* For the team's first `wanted` devices, one each: makes Q by either operator, together, with the bits that one device
 * would make; or reads it from settings->load_q; writes it to settings->save_q. With `watch`, as a stage named Q; NULL:
 * silently. Errors: as encoding_create; VF_ERR_INPUT (a saved Q of another trajectory, matrix, field map or accuracy),
 * VF_ERR_OUTPUT; all of `out` is zero then. */
VF_MUST_CHECK vf_status normal_matrix_create(const device_team *team, const recon_settings *settings, const scan *raw,
                                             const scan_trajectory *at, recon_watch *watch, int wanted,
                                             normal_matrix *out);
void normal_matrix_free(normal_matrix *normal); /* leaves it zero */

/* As vf_toeplitz_apply. */
VF_MUST_CHECK vf_status normal_matrix_apply(const normal_matrix *normal, vf_queue *queue, int coils, const void *maps,
                                            const void *x, void *y);

/* phi of sample m: the file's, a box voxel's (settings->box_voxels), or 1. */
float complex sample_phi(const recon_settings *settings, const scan *raw, const scan_trajectory *at, int64_t m);

/* Q with its file: [segment][2z][2y][2x], complex. `key` says what Q depends on. */
typedef struct q_file q_file;
VF_MUST_CHECK vf_status q_file_create(vf_context *ctx, const char *path, vf_dtype type, int segments,
                                      const int64_t doubled[3], const char *key, q_file **out);
VF_MUST_CHECK vf_status q_file_open(vf_context *ctx, const char *path, vf_dtype type, int segments,
                                    const int64_t doubled[3], const char *key, q_file **out);
VF_MUST_CHECK vf_status q_file_write(q_file *file, int segment, const void *q);
VF_MUST_CHECK vf_status q_file_read(q_file *file, int segment, void *q);
VF_MUST_CHECK vf_status q_file_commit(q_file **file); /* *file becomes NULL either way */
void q_file_close(q_file **file);                     /* reading, or giving up; *file becomes NULL */

/* ---- right_side.c ---- */

/* F^H W d of the frames of one trajectory (for gridding, of density-weighted data) by a team, which must outlive it.
 * Starts the stages "density weights" and "F^H d"; each coil done adds 1 to the watch's progress. Direct sums are
 * shared by voxels, which changes no bit; NUFFTs by coils, whose groups are added up in the order of the devices.
 * Errors: as encoding_create. */
typedef struct right_side right_side;
VF_MUST_CHECK vf_status right_side_create(const device_team *team, const recon_settings *settings, const scan *raw,
                                          const scan_trajectory *at, recon_watch *watch, right_side **out);
void right_side_destroy(right_side *side); /* NULL is allowed */
const char *right_side_description(const right_side *side);

/* What each device does: what of the maps it needs. */
const team_share *right_side_shares(const right_side *side, int *parts);

/* `out`, host memory, complex of the settings' precision: with `maps`, of those shares, [voxels], the coils combined,
 * sum conj(s) x; with NULL [coil][voxels]. */
VF_MUST_CHECK vf_status right_side_of_frame(right_side *side, const scan_frame *frame, const device_maps *maps,
                                            void *out);

/* ---- prior.c ---- */

/* lambda W^H W, and what is near the inverse of the whole matrix. */
typedef struct prior {
    recon_prior kind;
    int64_t counts[3];
    double lambda;           /* absolute */
    vf_array weights;        /* [3][z][y][x] of the differences, on the device; empty: 1 */
    vf_circulant *circulant; /* matrices of prior_matrix; NULL: neither is needed */
    bool preconditioned;     /* by PRIOR_INVERSE */
    vf_array support;        /* [z][y][x] real, on the device: 1 where coils see anything, 0 elsewhere; empty: 1. The
                              * spectrum would fill what no coil sees with what is likely there; the image is 0 there */
    vf_array flatten; /* [z][y][x] real: one over the image's envelope, on both sides of PRIOR_WEIGHTS; empty: 1 */
    vf_array flat;    /* [z][y][x] complex: room for an image that is flattened */
    vf_array balance; /* the same over the root of sum |s|^2, relative to its mean: for the preconditioner */
} prior;
enum prior_matrix { PRIOR_WEIGHTS, PRIOR_INVERSE, PRIOR_MATRICES };

VF_MUST_CHECK vf_status prior_create(vf_context *ctx, const recon_settings *settings, const scan *raw, vf_queue *queue,
                                     prior *out);
void prior_free(prior *prior); /* leaves it zero */
/* z = M r, M near the inverse of F^H W F + lambda W^H W; only of a prior that is `preconditioned`. */
VF_MUST_CHECK vf_status prior_precondition(const prior *known, vf_queue *queue, const vf_array *r, vf_array *z);
/* y += lambda W^H W x, for x that is 0 outside the support; then y is, too, if it was. */
VF_MUST_CHECK vf_status prior_add(const prior *known, vf_queue *queue, const vf_array *x, vf_array *y);

/* ---- solve.c ---- */

/* Some coils' part of F^H W F, on one device. */
typedef struct system_part {
    vf_queue *queue;
    const normal_matrix *normal;
    int coils;            /* of the maps */
    const vf_array *maps; /* [coils][voxels] on the device, or NULL: one coil of s = 1 */
    vf_array x, y;        /* [voxels] on the device; of parts behind the first only */
    vf_array arrived;     /* y on the first part's device */
} system_part;

/* Allocates what parts behind the first have; the rest is the caller's. Errors: VF_ERR_DEVICE_MEMORY, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status system_part_create(const system_part *first, vf_dtype type, int64_t voxels, system_part *out);
void system_part_free(system_part *part);

/* (F^H W F + lambda W^H W) of one trajectory and one set of coil maps: the sum of its parts, added up in their order.
 */
typedef struct system_matrix {
    const prior *prior; /* on the device of the first part */
    int parts;          /* >= 1 */
    const system_part *part;
} system_matrix;

typedef struct solve_result {
    int iterations;
    double residual; /* |b - A x| / |b| by the recurrence */
    bool converged;  /* to the tolerance */
} solve_result;

/* What rounding leaves of b - A x, relative to b, about; the recurrence's residual falls below it and then says nothing
 * of the image. In single precision 4e-7 was found for 20 x 24 voxels. */
static inline double recon_rounding(vf_dtype precision)
{
    return precision == VF_F64 ? 1e-14 : 1e-6;
}

/* Conjugate gradients from x = 0 (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409), preconditioned where
 * the prior has what is needed for it, until the residual is
 * at most settings->tolerance or settings->iterations are done. `b` is used up; `x` gets the solution; [voxels] each.
 * `tell` (may be NULL) is called after each iteration. Errors: of the operations; VF_ERR_INPUT (overflow). */
VF_MUST_CHECK vf_status solve(vf_context *ctx, const recon_settings *settings, const system_matrix *system, vf_array *b,
                              vf_array *x, void (*tell)(void *user, int iteration, double residual), void *user,
                              solve_result *result);

/* ---- calibrate.c ---- */

/* Coil maps of a place from the centre of its k-space: `maps` [coil][z][y][x], host memory; solves on the team's first
 * device. By ESPIRiT (espirit.h) or as coil_maps_walsh; RECON_COILS_AUTO and RECON_COILS_FILE: the former where the
 * centre is sampled well enough. Uses the place's calibration frames and all frames of the place that differ from its
 * first in repetition and trajectory only. `watch` (may be NULL) is told of 1 in all. `text` (of `size`) gets a line on
 * how. Warns where the centre is not sampled densely enough, or maps explain too little of it. Errors: as
 * vf_nufft_create, vf_espirit. */
VF_MUST_CHECK vf_status calibrate_maps(const device_team *team, const scan *raw, recon_coils how, int place,
                                       recon_watch *watch, float complex *maps, char *text, size_t size);

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

/* recon_settings' group_bytes, or what stands for 0. */
int64_t recon_group_bytes(const recon_settings *settings);

/* All frames of the scan, shared among the context's devices: each once, in any order, to `put`, on the caller's
 * thread; then, with settings->noise_map, the noise of all places. A device that fails leaves its frames to the others;
 * one of several that make a frame together ends the run.
 */
VF_MUST_CHECK vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const scan *raw,
                                    recon_watch *watch, recon_put put, recon_put_noise put_noise, void *user,
                                    recon_summary *summary);

#endif
