/* mri_recon: one system of equations, (F^H W F + lambda P) image = F^H W data.
 *
 *   vf_encoding -> right_side, normal_matrix; prior -> solve
 */
#ifndef EQUATIONS_H
#define EQUATIONS_H

#include "circulant_chain.h"
#include "cosine.h"
#include "encoding.h"
#include "normal.h"
#include "penalties.h"
#include "scan/mri_scan.h"
#include "solve_settings.h"
#include "team.h"
#include "watch.h"

/* ---- choose_operator.c ---- */

/* Makes a plan of F (encoding.h) for a trajectory of the scan. Errors: as vf_encoding_create;
 * VF_ERR_INPUT (times and field map too large together). */
VF_MUST_CHECK vf_status encoding_create(vf_device *device, const mri_scan *raw, const scan_trajectory *at,
                                        const vf_encoding_options *options, vf_encoding **out);

/* ---- normal_matrix.c, q_file.c ---- */

/* Makes F^H W F of one trajectory (normal.h) for the team's first `wanted` devices, one each; W is the samples' weights
 * times |phi|^2. The devices compute Q together, with the same bits as one device, or read it from settings->load_q.
 * Q is saved to settings->save_q. `watch` shows the stage "Q"; it may be NULL. Errors: as encoding_create; VF_ERR_INPUT
 * (a saved Q of another trajectory, matrix, field map or accuracy), VF_ERR_OUTPUT; all of `out` is zero then. */
VF_MUST_CHECK vf_status normal_matrix_create(const device_team *team, const solve_settings *settings,
                                             const mri_scan *raw, const scan_trajectory *at, recon_watch *watch,
                                             int wanted, vf_normal *out);

/* phi of sample m: the file's, a box voxel's (settings->box_voxels), or 1. */
float complex sample_phi(const solve_settings *settings, const mri_scan *raw, const scan_trajectory *at, int64_t m);

/* A file with Q, [segment][2z][2y][2x], complex. `key` is a digest of all inputs that Q depends on. */
typedef struct q_file q_file;
VF_MUST_CHECK vf_status q_file_create(vf_context *ctx, const char *path, vf_dtype type, int segments,
                                      const int64_t doubled[3], const char *key, q_file **out);
VF_MUST_CHECK vf_status q_file_open(vf_context *ctx, const char *path, vf_dtype type, int segments,
                                    const int64_t doubled[3], const char *key, q_file **out);
VF_MUST_CHECK vf_status q_file_write(q_file *file, int segment, const void *q);
VF_MUST_CHECK vf_status q_file_read(q_file *file, int segment, void *q);
VF_MUST_CHECK vf_status q_file_commit(q_file **file); /* *file becomes NULL either way */
void q_file_close(q_file **file);                     /* after reading, or to discard; *file becomes NULL */

/* ---- right_side.c ---- */

/* Computes F^H W d of the frames of one trajectory (for gridding: of density-weighted data) on a team, which must
 * outlive it. Starts the stages "density weights" and "F^H d"; each finished coil adds 1 to the progress. The devices
 * share direct sums by voxels, which changes no bits, and NUFFTs by coils; the coil groups are added up in device
 * order. Errors: as encoding_create. */
typedef struct right_side right_side;
VF_MUST_CHECK vf_status right_side_create(const device_team *team, const solve_settings *settings, const mri_scan *raw,
                                          const scan_trajectory *at, recon_watch *watch, right_side **out);
void right_side_destroy(right_side *side); /* NULL is allowed */
const char *right_side_description(const right_side *side);

/* Each device's share, which is also the part of the maps that it needs. */
const team_share *right_side_shares(const right_side *side, int *parts);

/* From now on, samples count times factor[m], which the caller keeps; NULL, as at first: 1. Replicas of noise have no factor. */
void right_side_weigh(right_side *side, const float *factor);

/* Writes a frame's F^H W d to `out`, host memory, complex of the settings' precision. With `maps`, made for these
 * shares: [set][voxels], coils combined by sum conj(s) x. With NULL: [coil][voxels]. */
VF_MUST_CHECK vf_status right_side_of_frame(right_side *side, const scan_frame *frame, const device_maps *maps,
                                            void *out);

/* ---- solve.c ---- */

typedef struct solve_result {
    int iterations;
    double residual; /* |b - A x| / |b| by the recurrence */
    bool converged;  /* to the tolerance */
    /* Of sparse solutions: applications of F^H W F; the objective without the constant |W^1/2 d|^2 / 2, and the part of
     * it of each prior. `residual` is then the larger of the two of vf_convex_result. */
    int applications;
    double objective, data, penalty[VF_MOST_PRIORS]; /* data: <x, A x> / 2 - Re <b, x> */
} solve_result;

/* The approximate rounding error of |b - A x| / |b|. The recurrence's residual may fall below it, but the image does
 * not improve any more. Measured in single precision: 4e-7 for 20 x 24 voxels. */
static inline double recon_rounding(vf_dtype precision)
{
    return precision == VF_F64 ? 1e-14 : 1e-6;
}

typedef struct solve_options {
    vf_dtype precision;
    int iterations;
    double tolerance;  /* stop at this relative residual */
    double energy;     /* solve: as in vf_cg_options */
    bool warm;         /* start from x; else from 0 */
    const char *input; /* the file to name in an overflow error */
    bool lambda_auto;  /* selects the advice in a warning */
    bool (*tell)(void *user, int iteration,
                 double residual); /* after each iteration; true stops the solver; may be NULL */
    void *user;
} solve_options;

/* Solves (normal + lambda P) x = b by conjugate gradients (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952)
 * 409), with the prior's preconditioner if it has one. Stops once the residual is at most options->tolerance, or after
 * options->iterations. `b` is overwritten; `x` gets the solution; both are vectors of `normal`, on its device, as the prior.
 * Errors: those of the operations; VF_ERR_INPUT (overflow). */
VF_MUST_CHECK vf_status solve(const solve_options *options, vf_operator *normal, const vf_prior *prior, vf_queue *queue,
                              vf_array *b, vf_array *x, solve_result *result);

/* The error of data that are too large for the precision. */
vf_status solve_overflow(vf_queue *queue, const solve_options *options);

/* ---- solve_sparse.c ---- */

/* What a sparse solution of some images [image][voxels] needs on the first device: sets of maps, or frames. With uneven
 * coils, the penalties are of the images v divided by `even`, in which noise is even. */
typedef struct sparse_problem {
    recon_solver solver;
    vf_penalties *penalties; /* with lambda and rho set */
    /* Near the inverse of F^H W F + K + sum rho T^H T: for the images of a series `chain`; else for each image `mirrored`, or
     * (NULL) matrix 0 of `inverse`. The other matrices of `inverse` are for the penalties' extra components, one each for all
     * images. */
    vf_circulant_chain *chain;
    vf_cosine *mirrored;
    vf_circulant *inverse; /* NULL: no matrices */
    double reduction;      /* of each iteration's residual, for ADMM (solver.h) */
    int64_t voxels;
    vf_array even; /* [image][voxels] real: 1 / sqrt(sum |s|^2) relative to its mean; 0 where no coil sees; empty: 1 */
    vf_array uneven; /* 1 / even, or 0; for solve_options.warm */
    vf_array
        unseen; /* with `even`, [image][voxels] real: weights w of sum w |v|^2 / 2, v = x / even, for voxels that no
                      * coil sees well */
    /* Where no coil sees well the matrix is near its mean eigenvalue, whatever the frequency. So the preconditioner is D M D + G, with
     * M the inverse above, D^2 = 1 - g and G = g / mean, g near 1 where no coil sees, else near 0. [image][voxels] real: D, G; empty: 1,
     * 0. */
    vf_array seen, dark;
    vf_circulant *held; /* its matrix 0 is K of v^H K v / 2, for frequencies that no sample reaches; NULL: none */
} sparse_problem;

/* Minimises |W^1/2 (F x - d)|^2 / 2 + penalties; only ADMM can start from x. Stops at options->tolerance (vf_convex_result). `system` is
 * F^H W F. `b` is overwritten; `x` gets the solution; both [image][voxels]. Otherwise as solve. */
VF_MUST_CHECK vf_status solve_sparse(const solve_options *options, vf_operator *system, const sparse_problem *problem,
                                     vf_queue *queue, vf_array *b, vf_array *x, solve_result *result);

#endif
