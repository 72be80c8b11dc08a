/* The priors: the option --prior with its help, and what weights, plans and forecasts need to know of each. */
#ifndef PRIOR_TABLE_H
#define PRIOR_TABLE_H

#include "options.h"
#include "scan/mri_scan.h"
#include "solve_settings.h"
#include "wiener.h"

/* The images that a prior is for, as its costs depend on them. */
typedef struct prior_shape {
    double axes;             /* with several voxels */
    double padded;           /* voxels of an image that wavelets padded, over the image's */
    double wavelets, shifts; /* of each wavelet, or of blocks */
    double frames;           /* that are solved for together */
    bool volume;
} prior_shape;
prior_shape prior_shape_of(const solve_settings *settings, const mri_scan *raw, double frames);

/* Memory of the solver, in images: of the terms; the largest vector that a transform makes; unknown fields beside the image. */
typedef struct prior_memory {
    double terms, largest, fields;
} prior_memory;

/* Time of one thread for an iteration's proximal map: nanoseconds a voxel, and parallel regions. */
typedef struct prior_time {
    double ns, regions;
} prior_time;

/* What is known of a frame before it is solved for, over spatial frequency; arrays are [voxels]. */
typedef struct prior_model {
    vf_wiener_space space;
    double variance, mean; /* noise variance; diagonal of F^H W F in the object */
    double least;          /* of a prior's eigenvalues: the rounding error of the matrix */
    double *s;             /* the spectrum */
    double *c;             /* approximate eigenvalues of F^H W F */
    double *p;             /* eigenvalues of the prior, without its weight */
    double *all;           /* the same, with those of differences beside the spectrum; p if there are none */
    double differences;    /* their weight, absolute */
} prior_model;

/* A quadratic prior. `of_spectrum`: its weights are the noise over the scan's own spectrum, for the image divided by its
 * envelope, and it can know the phase; lambda is a factor on Wiener's weight. `across_faces`: it couples voxels at the faces of
 * the field of view, where readout oversampling would be cut off. */
typedef struct quadratic_prior {
    bool of_spectrum, across_faces, needs_reference;
    void (*eigenvalues)(const vf_context *ctx, const prior_model *model); /* makes model->p */
} quadratic_prior;

/* A sparse or low-rank prior. Lambda is in units of the noise (sparse.c), times vf_penalties_noise: `factor` for an image whose
 * expected error is the usual one, and grows with the power `factor_power` of it. ADMM's rho is relative to the mean eigenvalue of
 * F^H W F, and grows with `rho_power`; it changes how fast the solver converges, not the solution. `iterations`: relative to
 * wavelets. */
typedef struct sparse_prior {
    bool couples;         /* frames: they are solved for together */
    bool takes_noise;     /* most of it, from other priors */
    bool moments, shifts; /* it has those of --wavelet and --shifts */
    double beside;        /* one that takes the noise: what the factor is multiplied by; 0: 1 */
    double factor, factor_power, rho, rho_power, iterations;
    prior_memory (*memory)(const prior_shape *shape);
    prior_time (*time)(const prior_shape *shape);
} sparse_prior;

/* Those of --prior. Values: recon_prior, or RECON_SPARSE plus the vf_penalty_kind. */
extern const option_choice prior_table[];

/* The settings' quadratic prior; references whose strength is found stand beside the spectrum. It is not RECON_PRIOR_AUTO
 * any more. */
const quadratic_prior *quadratic_prior_of(const solve_settings *settings);
/* Number `i` of the settings' sparse priors. */
const sparse_prior *sparse_prior_of(const solve_settings *settings, int i);

#endif
