/* What a reconstruction gives: images, noise, and a summary for the report. */
#ifndef RECON_RESULTS_H
#define RECON_RESULTS_H

#include <complex.h>
#include <stdbool.h>

#include "coils/coil_stages.h"
#include "scan/mri_scan.h"
#include "solve/recon_choices.h"
#include "sure.h"

enum { RECON_MAX_DEVICES = 64 };

/* What it took to solve for a frame. Of frames that are solved together, the last that a window delivers has all. */
typedef struct frame_effort {
    int64_t iterations, applications; /* of F^H W F, with sparse priors */
    double residual;                  /* the largest */
    bool converged;
    char encoding[64]; /* how F was computed, in a few words */
} frame_effort;

/* What it took to solve for some images. */
typedef struct group_effort {
    int images;
    int64_t iterations;
} group_effort;

/* The noise of the samples (noise_level.c). */
typedef struct noise_estimate {
    double variance;    /* of a sample's noise in one coil; 0: unknown */
    bool known;         /* it is measured; first images do not change it */
    char source[160];   /* where it is from */
    double misfit;      /* variance of a first image's residual over `variance`; >= 1 */
    double unexplained; /* share of the samples' energy that the first image leaves */
    double *ratio;      /* [frames] each frame's variance over `variance`, not 0; NULL: all are 1 */
} noise_estimate;

/* The factor on the automatic lambda of sparse priors (choose_lambda.c). */
typedef struct lambda_choice {
    double factor;
    vf_sure_result sure;  /* how it was chosen; nothing tried: it is 1 */
    int64_t applications; /* of F^H W F, for that */
} lambda_choice;

/* How strongly references act, with --lambda auto: factors on the weight of the image's spectrum, and on the weight of
 * differences that is the best one by the forecast; and the sharpness of their edges (prior.h). 1, 0: not at all. */
typedef struct reference_strength {
    double spectrum, differences, sharpness;
} reference_strength;

/* How well references fit an image that was made without them (reference_fit.h). */
typedef struct reference_fit {
    bool known;
    double agreement;       /* at most 1; 0: their edges say nothing of the image's */
    double mirrored;        /* the largest one of mirrored references */
    unsigned mirrored_axes; /* which: bits of x, y, z */
    int tried;              /* strengths that were tried */
    double gain;            /* of the risk, without and with references, in units of the noise's variance */
} reference_fit;

/* What is reported of one frame, the last. */
typedef struct last_frame {
    char encoding[128], normal[160];
    char phase[128]; /* how the phase was used if one side of k-space is missing; "": both sides are there */
    double diagonal; /* of F^H W F in the object: lambda is relative to it */
    double lambda;   /* absolute; spectrum prior: a factor on Wiener's weight */
    double expected_signal, expected_noise, expected_bias; /* root mean squares over the voxels */
    double noise_unit, sparse_lambda[VF_MOST_PRIORS];      /* sparse.c, and absolute */
    double objective, penalty[VF_MOST_PRIORS];             /* of sparse priors: solve_result */
} last_frame;

/* Residuals after each iteration, of the first frame's (first) solution. */
enum { RECON_MOST_RESIDUALS = 500 };
typedef struct residual_curve {
    int count;
    double value[RECON_MOST_RESIDUALS];
} residual_curve;

/* Results of the reconstruction besides the images, for the report. */
typedef struct recon_summary {
    last_frame last;
    char coils[160];
    noise_estimate level;
    double sigma;        /* standard deviation of a sample's noise, E|n|^2 = sigma^2; 0: not needed */
    double *frame_noise; /* [frames] each frame's sigma, if they differ, else NULL; the caller frees it */
    group_effort first;  /* of first images, made for the noise */
    lambda_choice choice;
    reference_strength strength; /* of references, and how well they fit */
    reference_fit fit;
    int64_t applications; /* of F^H W F, over all frames with sparse priors */
    int64_t iterations;   /* over all frames */
    double residual;      /* the largest of all frames */
    bool converged;       /* all frames */
    frame_effort *effort; /* [frames] if not all are wanted, else NULL; the caller frees it */
    residual_curve curve; /* count 0: that frame was not solved for in this run */
    float complex *
        maps; /* [place][coil][z][y][x] of the scan's matrix, the first set, if coil_settings.keep; the caller frees it */
    coil_choice compression;
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

#endif
