/* mri_recon: the user's settings (recon_options.c), and the defaults that depend on other settings (settings.c). */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "encoding.h"
#include "kept_pieces.h"
#include "penalties.h"
#include "prior.h"
#include "voxfield/context.h"
#include "voxfield/timer.h"

typedef enum recon_method { RECON_CG, RECON_ADJOINT, RECON_GRIDDING, RECON_BILINEAR } recon_method;
typedef enum recon_prior {
    RECON_IDENTITY = VF_PRIOR_IDENTITY,
    RECON_DIFFERENCES = VF_PRIOR_DIFFERENCES,
    RECON_REFERENCE = VF_PRIOR_REFERENCE,
    RECON_SPECTRUM = VF_PRIOR_SPECTRUM,
    RECON_PRIOR_AUTO,
    RECON_SPARSE = 100 /* of the option alone: plus a vf_penalty_kind */
} recon_prior;
/* The solver of sparse priors. */
typedef enum recon_solver { RECON_ADMM, RECON_FISTA, RECON_PRIMAL_DUAL } recon_solver;
typedef enum recon_coils {
    RECON_COILS_AUTO,
    RECON_COILS_FILE,
    RECON_COILS_ESPIRIT,
    RECON_COILS_WALSH,
    RECON_COILS_NLINV,
    RECON_COILS_RSS
} recon_coils;
/* Sets of coil maps: chosen from the data, or a fixed number. */
typedef enum recon_share { RECON_SHARE_AUTO, RECON_SHARE_YES, RECON_SHARE_NO } recon_share;
typedef enum recon_map_sets { RECON_SETS_AUTO, RECON_SETS_ONE, RECON_SETS_TWO } recon_map_sets;
enum { RECON_MOST_SETS = 2 };
enum { RECON_LEAST_WINDOW = 4 }; /* frames: half of them are shared with each neighbour */
/* Gradient delays: none, estimated from the data, or given. */
typedef enum recon_delays { RECON_DELAYS_OFF, RECON_DELAYS_AUTO, RECON_DELAYS_GIVEN } recon_delays;
/* The shift of the field of view: none, with a warning where one may be needed; none; the file's; given. */
typedef enum recon_shift { RECON_SHIFT_AUTO, RECON_SHIFT_OFF, RECON_SHIFT_HEADER, RECON_SHIFT_GIVEN } recon_shift;
typedef enum k_units {
    K_AUTO,
    K_NORMALIZED,
    K_RADIANS,
    K_FOV,
    K_EDGE,
    K_PER_M,
    K_PER_CM,
    K_PER_MM,
    K_RAD_PER_M,
    K_RAD_PER_MM
} k_units;

/* The sign in the exponent of the data's Fourier transform: - as in docs/scans.md, + if the data are conjugated. */
typedef enum scan_sign { SIGN_AUTO, SIGN_MINUS, SIGN_PLUS } scan_sign;

/* Ramp sampling, and the phase of reversed readouts, of echo-planar scans. */
typedef enum scan_epi { EPI_AUTO, EPI_OFF } scan_epi;

/* How to understand a scan where its file does not say it, or says it wrongly. All 0: the reader decides. */
typedef struct scan_request {
    const char *group; /* of an ISMRMRD file; NULL: the reader finds it */
    const char *noise; /* FILE or FILE:GROUP with noise acquisitions; NULL: those of the scan's file */
    k_units units;
    scan_sign sign;
    int encoding;        /* counted from 1; 0: the one with most image lines */
    double oversampling; /* field of view of Cartesian readouts over the image's; 0: by header and samples */
    scan_epi epi;
    bool info;       /* keep what was told of a scan that is refused */
    bool incomplete; /* keep a last repetition that was aborted */
} scan_request;

/* What is read, and how it is corrected and cut into frames before it is reconstructed. */
typedef struct scan_settings {
    const char *input;
    scan_request read;
    int64_t matrix[3]; /* with has_matrix */
    bool has_matrix;
    const char *slices;     /* selection by parse_frames; NULL: all */
    const char *frames;     /* the same */
    const char *trajectory; /* file that replaces the scan's trajectory; NULL: none */
    const char *girf;       /* gradient impulse response functions; NULL: none */
    const char *motion;     /* table of the patient's motion; NULL: none */
    recon_delays delays;
    double delay[3]; /* samples along x, y, z, with RECON_DELAYS_GIVEN */
    recon_shift fov_shift;
    double shift[3];      /* mm along x, y, z, with RECON_SHIFT_GIVEN */
    int spokes_per_frame; /* readouts that make a frame; 0: the scan's frames */
    int frame_step;       /* readouts from the beginning of a frame to the next; 0: spokes_per_frame */
    int readout_samples;  /* samples of a readout, for scans that do not say so; 0: found from the scan */
} scan_settings;

/* The user's settings. The option parser has checked each number by itself: finite and in range. */
typedef struct recon_settings {
    scan_settings scan;
    const char *output;                     /* NULL: recon_default_output */
    const char *picture, *report, *compare; /* compare: "truth", or a file; NULL: none */
    const char *save_q, *load_q;
    const char *noise_map;  /* file to write; NULL: none */
    const char *maps;       /* coil map file, with RECON_COILS_FILE; NULL: the scan's own maps */
    const char *drop_coils; /* channels to leave out (drop_coils.c); NULL: chosen from the data */
    const char *save_coils; /* file to save the coil maps in; NULL: none */
    int replicas;           /* of noise, for the noise map */
    recon_method method;
    vf_encode_by encode_by;
    recon_prior prior; /* of first images, if there are sparse priors: RECON_SPECTRUM */
    int sparse;        /* sparse priors; 0: none */
    vf_penalty_kind sparse_prior[VF_MOST_PRIORS];
    recon_solver solver;
    int moments, shifts; /* of wavelets (penalties.h) */
    int seed;            /* of their shifts */
    int window;          /* frames of a series that are solved together, at most; 0: all that fit (windows.c) */
    recon_coils coils;
    recon_share share_coils; /* among ranks */
    recon_map_sets map_sets; /* for --method cg; other methods use the first set */
    int compress;            /* coils to keep; 0: all */
    bool info;               /* say what is in the file, and make no image */
    bool keep_spikes;        /* interference is image data, too */
    bool equal_noise;        /* with sparse priors: all frames have the common noise */
    bool chooses_prior;      /* settings_choose_prior must be called */
    bool partial_fourier_given;
    bool tolerance_auto;    /* the tolerance, or sparse_tolerance's share of it */
    bool has_sparse_option; /* the user gave --solver, --wavelet, --shifts, --seed or --frame-noise */
    bool box_voxels;        /* phi is the transform of a box voxel, unless the file has phi */
    bool keep_oversampling;
    bool append_to_copy; /* the image file is a copy of the ISMRMRD scan with the images added */
    bool hardware_trig;
    int iterations;
    double tolerance; /* the solver stops at this relative residual */
    /* Sparse priors: in units of the noise (sparse.c). Spectrum prior: a factor on Wiener's weight. Other priors:
     * relative to the diagonal of F^H W F in the object (reconstruct.c). With lambda_auto: a factor on the best value by
     * the forecast, or on that of sparse.c. */
    double lambda;
    bool lambda_auto;
    bool lambda_sure;       /* lambda_auto, and a factor by choose_lambda.c */
    bool partial_fourier;   /* use the phase's smoothness if one side of k-space is missing */
    double accuracy;        /* of the NUFFT */
    vf_dtype precision;     /* VF_F32, VF_F64 */
    const char *variant;    /* of the direct sum; NULL: the device's default */
    const char *device;     /* "auto", or as for vf_context_set_devices */
    int64_t group_bytes;    /* limit for the images of a frame group, which has at least one frame; 0: 1 GiB */
    double piece_pairs;     /* sample-voxel pairs of a direct sum between checks for progress and cancellation; 0: about
                           * a second of work */
    pieces_settings pieces; /* --part, --join, --resume */
    const bool *wanted;     /* [frames] those to make; NULL: all */
    bool dry_run, quiet;
    vf_progress_mode progress;
    const struct program *program; /* its options and command line */
} recon_settings;

/* Rejects contradictory settings that the option table does not catch, and fills in the defaults that depend on other
 * settings. `says_partial_fourier`, `says_prior`: the user gave --partial-fourier, --prior. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status settings_complete(vf_context *ctx, recon_settings *settings, bool says_partial_fourier,
                                          bool says_prior);
/* With chooses_prior, chooses it and fills in the defaults that depend on it: for a scan with the undersampling of
 * scan_sampling, `frames` frames of each place that show the same at different times (1: no series), and one side of
 * k-space missing or not. Returns the reason. */
const char *settings_choose_prior(recon_settings *settings, double undersampling, int frames, bool one_sided);

#endif
