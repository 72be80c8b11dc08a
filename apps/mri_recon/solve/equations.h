/* mri_recon: one system of equations, (F^H W F + lambda P) image = F^H W data.
 *
 *   vf_encoding -> right_side, normal_matrix; prior -> solve
 */
#ifndef EQUATIONS_H
#define EQUATIONS_H

#include "circulant_chain.h"
#include "encoding.h"
#include "normal.h"
#include "penalties.h"
#include "scan/mri_scan.h"
#include "settings.h"
#include "team.h"
#include "watch.h"

/* ---- choose_operator.c ---- */

/* Makes a plan of F (encoding.h) for a trajectory of the scan in the file `input`. Errors: as vf_encoding_create;
 * VF_ERR_INPUT (times and field map too large together). */
VF_MUST_CHECK vf_status encoding_create(vf_device *device, const char *input, const mri_scan *raw,
                                        const scan_trajectory *at, const vf_encoding_options *options,
                                        vf_encoding **out);

/* ---- transfer.c ---- */

/* Copy complex numbers between the host, in single precision, and device memory of either precision. Blocking. */
VF_MUST_CHECK vf_status upload(vf_queue *queue, const float complex *from, int64_t n, vf_array *to);
VF_MUST_CHECK vf_status upload_at(vf_queue *queue, const float complex *from, int64_t n, vf_array *to, int64_t at);
VF_MUST_CHECK vf_status download(vf_queue *queue, const vf_array *from, int64_t n, float complex *to);

/* ---- normal_matrix.c, q_file.c ---- */

/* Makes F^H W F of one trajectory (normal.h) for the team's first `wanted` devices, one each; W is the samples' weights
 * times |phi|^2. The devices compute Q together, with the same bits as one device, or read it from settings->load_q.
 * Q is saved to settings->save_q. `watch` shows the stage "Q"; it may be NULL. Errors: as encoding_create; VF_ERR_INPUT
 * (a saved Q of another trajectory, matrix, field map or accuracy), VF_ERR_OUTPUT; all of `out` is zero then. */
VF_MUST_CHECK vf_status normal_matrix_create(const device_team *team, const recon_settings *settings,
                                             const mri_scan *raw, const scan_trajectory *at, recon_watch *watch,
                                             int wanted, vf_normal *out);

/* phi of sample m: the file's, a box voxel's (settings->box_voxels), or 1. */
float complex sample_phi(const recon_settings *settings, const mri_scan *raw, const scan_trajectory *at, int64_t m);

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
VF_MUST_CHECK vf_status right_side_create(const device_team *team, const recon_settings *settings, const mri_scan *raw,
                                          const scan_trajectory *at, recon_watch *watch, right_side **out);
void right_side_destroy(right_side *side); /* NULL is allowed */
const char *right_side_description(const right_side *side);

/* Each device's share, which is also the part of the maps that it needs. */
const team_share *right_side_shares(const right_side *side, int *parts);

/* Writes a frame's F^H W d to `out`, host memory, complex of the settings' precision. With `maps`, made for these
 * shares: [set][voxels], coils combined by sum conj(s) x. With NULL: [coil][voxels]. */
VF_MUST_CHECK vf_status right_side_of_frame(right_side *side, const scan_frame *frame, const device_maps *maps,
                                            void *out);

/* ---- solve.c, map_sets.c ---- */

/* The part of F^H W F for a range of coils, on one device. */
typedef struct system_part {
    vf_queue *queue;
    const vf_normal *normal;
    int sets;             /* of maps and images; 0 means 1 */
    int coils;            /* of the maps */
    const vf_array *maps; /* [set][coils][voxels] on the device; NULL: one coil with s = 1 */
    vf_array x, y;        /* [set][voxels] on the device; unused in the first part */
    vf_array arrived;     /* copy of y on the first part's device */
    vf_array room;        /* scratch for several sets: map_sets_room elements */
} system_part;

/* Allocates x, y, arrived and room of a part for images of out->sets times `voxels`; arrays that are large enough stay.
 * The caller sets the other members. `first` is the part whose device holds the vectors, possibly `out` itself. Errors:
 * VF_ERR_DEVICE_MEMORY, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status system_part_create(const system_part *first, vf_dtype type, int64_t voxels, system_part *out);
/* Makes `array` hold at least `count` elements. Its contents are lost if it has to grow. */
VF_MUST_CHECK vf_status grow_array(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *array);
void system_part_free(system_part *part);

/* y_s = sum_c conj(s_sc) F^H W F sum_t s_tc x_t, over a part's coils c and all its sets t, 2 or more. `x`, `y`
 * [set][voxels]. Errors: those of the operations. */
VF_MUST_CHECK vf_status map_sets_apply(const system_part *part, const vf_array *x, vf_array *y);
int64_t map_sets_room(int sets, int64_t voxels); /* elements; 0 for one set */

/* A part of F^H W F that is computed elsewhere. */
typedef struct remote_sum {
    void *user;
    /* Begins with an image; `x` is complete once the queue's work is done. */
    vf_status (*begin)(void *user, vf_queue *queue, const vf_array *x);
    /* y += the result; after each `begin` without error. y NULL: after an error here, to end what has begun. */
    vf_status (*end)(void *user, vf_queue *queue, vf_array *y);
} remote_sum;

/* F^H W F + lambda P for one trajectory and one place's coil maps. The parts are added up in order. */
typedef struct system_matrix {
    const vf_prior *prior; /* on the device of the first part */
    int parts;             /* >= 1 */
    const system_part *part;
    const remote_sum *remote; /* NULL: none */
    vf_dtype type;            /* of its vectors; solve sets this and count */
    int64_t count;            /* elements of its vectors */
} system_matrix;

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
    const char *input; /* the file to name in an overflow error */
    bool lambda_auto;  /* selects the advice in a warning */
} solve_options;

/* Conjugate gradients from x = 0 (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409), with the prior's
 * preconditioner if it has one. Stops once the residual is at most options->tolerance, or after options->iterations.
 * `b` is overwritten; `x` gets the solution; both [set][voxels]. `tell` (may be NULL) is called after each iteration; true stops the solver.
 * Errors: those of the operations; VF_ERR_INPUT (overflow). */
VF_MUST_CHECK vf_status solve(vf_context *ctx, const solve_options *options, const system_matrix *system, vf_array *b,
                              vf_array *x, bool (*tell)(void *user, int iteration, double residual), void *user,
                              solve_result *result);

/* Makes an operator of a system, which must outlive it; sets its type and count. Errors: as vf_operator_create. */
VF_MUST_CHECK vf_status system_operator_create(system_matrix *system, vf_dtype type, int64_t count, vf_operator **out);
/* The error of data that are too large for the precision. */
vf_status solve_overflow(vf_context *ctx, const solve_options *options);

/* ---- solve_sparse.c ---- */

/* What a sparse solution of some images [image][voxels] needs on the first device: sets of maps, or frames. With uneven
 * coils, the penalties are of the images v divided by `even`, in which noise is even. */
typedef struct sparse_problem {
    recon_solver solver;
    vf_penalties *penalties; /* with lambda and rho set */
    /* Near the inverse of F^H W F + K + sum rho T^H T: for the images of a series `chain`, else (NULL) matrix 0 of `inverse`
     * for each. The other matrices of `inverse` are for the penalties' extra components, one each for all images. */
    vf_circulant_chain *chain;
    vf_circulant *inverse; /* NULL: no matrices */
    int64_t voxels;
    vf_array even; /* [image][voxels] real: 1 / sqrt(sum |s|^2) relative to its mean; 0 where no coil sees; empty: 1 */
    vf_array
        unseen; /* with `even`, [image][voxels] real: weights w of sum w |v|^2 / 2, v = x / even, for voxels that no
                      * coil sees well */
    vf_circulant *held; /* its matrix 0 is K of v^H K v / 2, for frequencies that no sample reaches; NULL: none */
} sparse_problem;

/* Minimises |W^1/2 (F x - d)|^2 / 2 + penalties from x = 0; stops at options->tolerance (vf_convex_result). `system` is
 * F^H W F. `b` is overwritten; `x` gets the solution; both [image][voxels]. Otherwise as solve. */
VF_MUST_CHECK vf_status solve_sparse(vf_context *ctx, const solve_options *options, vf_operator *system,
                                     vf_queue *queue, const sparse_problem *problem, vf_array *b, vf_array *x,
                                     bool (*tell)(void *user, int iteration, double residual), void *user,
                                     solve_result *result);

#endif
