/* How the equations are set up and solved: the settings of solve/. */
#ifndef SOLVE_SETTINGS_H
#define SOLVE_SETTINGS_H

#include <stdbool.h>

#include "encoding.h"
#include "penalties.h"
#include "prior.h"
#include "voxfield/context.h"

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

typedef struct solve_settings {
    recon_method method;
    vf_encode_by encode_by;
    recon_prior prior; /* of first images, if there are sparse priors: RECON_SPECTRUM */
    int sparse;        /* sparse priors; 0: none */
    vf_penalty_kind sparse_prior[VF_MOST_PRIORS];
    recon_solver solver;
    int moments, shifts; /* of wavelets (penalties.h) */
    int seed;            /* of their shifts */
    int iterations;
    double tolerance; /* the solver stops at this relative residual */
    /* Sparse priors: in units of the noise (sparse.c). Spectrum prior: a factor on Wiener's weight. Other priors:
     * relative to the diagonal of F^H W F in the object (reconstruct.c). With lambda_auto: a factor on the best value by
     * the forecast, or on that of sparse.c. */
    double lambda;
    bool lambda_auto;
    bool lambda_sure;    /* lambda_auto, and a factor by choose_lambda.c */
    bool tolerance_auto; /* the tolerance, or sparse_tolerance's share of it */
    bool box_voxels;     /* phi is the transform of a box voxel, unless the file has phi */
    bool hardware_trig;
    vf_dtype precision;       /* VF_F32, VF_F64 */
    double accuracy;          /* of the NUFFT */
    const char *variant;      /* of the direct sum; NULL: the device's default */
    vf_fourier_tuning launch; /* of the direct sum (schedule/tune_launch.c); 0: the library's own */
    double piece_pairs; /* sample-voxel pairs of a direct sum between checks for progress and cancellation; 0: about
                          * a second of work */
    const char *save_q, *load_q;
    const char *reference; /* file of anatomical images for RECON_REFERENCE; NULL: those of the scan */
} solve_settings;

#endif
