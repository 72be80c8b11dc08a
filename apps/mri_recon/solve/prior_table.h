/* The priors: the option --prior with its help, and what weights, plans and forecasts need to know of each. */
#ifndef PRIOR_TABLE_H
#define PRIOR_TABLE_H

#include "options.h"
#include "scan/mri_scan.h"
#include "solve_settings.h"

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

/* A sparse or low-rank prior. Lambda is in units of the noise (sparse.c), times vf_penalties_noise: `factor` for an image whose
 * expected error is the usual one, and grows with the power `factor_power` of it. ADMM's rho is relative to the mean eigenvalue of
 * F^H W F, and grows with `rho_power`; it changes how fast the solver converges, not the solution. `iterations`: relative to
 * wavelets. */
typedef struct sparse_prior {
    bool couples; /* frames: they are solved for together */
    double factor, factor_power, rho, rho_power, iterations;
    prior_memory (*memory)(const prior_shape *shape);
    prior_time (*time)(const prior_shape *shape);
} sparse_prior;

/* Those of --prior. Values: recon_prior, or RECON_SPARSE plus the vf_penalty_kind. */
extern const option_choice prior_table[];

/* Number `i` of the settings' sparse priors. */
const sparse_prior *sparse_prior_of(const solve_settings *settings, int i);

#endif
