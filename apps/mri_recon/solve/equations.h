/* mri_recon: one system of equations, (F^H W F + lambda P) image = F^H W data.
 *
 *   vf_encoding -> right_side, normal_matrix; prior -> solve
 */
#ifndef EQUATIONS_H
#define EQUATIONS_H

#include "encoding.h"
#include "normal.h"
#include "scan/mri_scan.h"
#include "settings.h"
#include "team.h"
#include "watch.h"

/* ---- choose_operator.c ---- */

/* A plan of F (encoding.h) for a trajectory of a scan, the file `input`. Errors: as vf_encoding_create; VF_ERR_INPUT
 * (times and field map that are too large together). */
VF_MUST_CHECK vf_status encoding_create(vf_device *device, const char *input, const mri_scan *raw,
                                        const scan_trajectory *at, const vf_encoding_options *options,
                                        vf_encoding **out);

/* ---- transfer.c ---- */

/* Copies complex numbers from the host to device memory of either precision, and back, waiting for it. */
VF_MUST_CHECK vf_status upload(vf_queue *queue, const float complex *from, int64_t n, vf_array *to);
VF_MUST_CHECK vf_status upload_at(vf_queue *queue, const float complex *from, int64_t n, vf_array *to, int64_t at);
VF_MUST_CHECK vf_status download(vf_queue *queue, const vf_array *from, int64_t n, float complex *to);

/* ---- normal_matrix.c, q_file.c ---- */

/* F^H W F of one trajectory (normal.h), W the samples' weights times |phi|^2, for the team's first `wanted` devices,
 * one each. They make Q together, with the bits that one device would make; or it is read from settings->load_q;
 * settings->save_q gets it. With `watch`, as a stage named Q; NULL: silently. Errors: as encoding_create; VF_ERR_INPUT
 * (a saved Q of another trajectory, matrix, field map or accuracy), VF_ERR_OUTPUT; all of `out` is zero then. */
VF_MUST_CHECK vf_status normal_matrix_create(const device_team *team, const recon_settings *settings,
                                             const mri_scan *raw, const scan_trajectory *at, recon_watch *watch,
                                             int wanted, vf_normal *out);

/* phi of sample m: the file's, a box voxel's (settings->box_voxels), or 1. */
float complex sample_phi(const recon_settings *settings, const mri_scan *raw, const scan_trajectory *at, int64_t m);

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
VF_MUST_CHECK vf_status right_side_create(const device_team *team, const recon_settings *settings, const mri_scan *raw,
                                          const scan_trajectory *at, recon_watch *watch, right_side **out);
void right_side_destroy(right_side *side); /* NULL is allowed */
const char *right_side_description(const right_side *side);

/* What each device does: which part of the maps it needs. */
const team_share *right_side_shares(const right_side *side, int *parts);

/* `out`, host memory, complex of the settings' precision: with `maps`, of those shares, [set][voxels], the coils
 * combined, sum conj(s) x; with NULL [coil][voxels]. */
VF_MUST_CHECK vf_status right_side_of_frame(right_side *side, const scan_frame *frame, const device_maps *maps,
                                            void *out);

/* ---- solve.c, map_sets.c ---- */

/* Some coils' part of F^H W F, on one device. */
typedef struct system_part {
    vf_queue *queue;
    const vf_normal *normal;
    int sets;             /* of maps, and images: 0 and 1 are one */
    int coils;            /* of the maps */
    const vf_array *maps; /* [set][coils][voxels] on the device, or NULL: one coil of s = 1 */
    vf_array x, y;        /* [set][voxels] on the device; of parts behind the first only */
    vf_array arrived;     /* y on the first part's device */
    vf_array room;        /* of several sets: map_sets_room elements */
} system_part;

/* Allocates what a part needs of its own for images of out->sets times `voxels`; what it has that is large enough
 * stays. The rest is the caller's. `first` is out itself, or the part on whose device the vectors are. Errors:
 * VF_ERR_DEVICE_MEMORY, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status system_part_create(const system_part *first, vf_dtype type, int64_t voxels, system_part *out);
/* Makes `array` of `count` elements at least; its contents are lost where it has to grow. */
VF_MUST_CHECK vf_status grow_array(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *array);
void system_part_free(system_part *part);

/* y_s = sum_c conj(s_sc) F^H W F sum_t s_tc x_t, of a part's coils and of all its sets, 2 or more. `x`, `y`
 * [set][voxels]. Errors: of the operations. */
VF_MUST_CHECK vf_status map_sets_apply(const system_part *part, const vf_array *x, vf_array *y);
int64_t map_sets_room(int sets, int64_t voxels); /* elements; 0 for one set */

/* (F^H W F + lambda P) of one trajectory and one place's coil maps: the sum of its parts, added up in their order.
 */
typedef struct system_matrix {
    const vf_prior *prior; /* on the device of the first part */
    int parts;             /* >= 1 */
    const system_part *part;
    vf_dtype type; /* of its vectors, and their elements: solve's own */
    int64_t count;
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

typedef struct solve_options {
    vf_dtype precision;
    int iterations;
    double tolerance;  /* the relative residual at which it stops */
    const char *input; /* the file that is blamed for overflow */
    bool lambda_auto;  /* for the advice of a warning */
} solve_options;

/* Conjugate gradients from x = 0 (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409), preconditioned where
 * the prior has what is needed for it, until the residual is
 * at most options->tolerance or options->iterations are done. `b` is used up; `x` gets the solution; [set][voxels].
 * `tell` (may be NULL) is called after each iteration. Errors: of the operations; VF_ERR_INPUT (overflow). */
VF_MUST_CHECK vf_status solve(vf_context *ctx, const solve_options *options, const system_matrix *system, vf_array *b,
                              vf_array *x, void (*tell)(void *user, int iteration, double residual), void *user,
                              solve_result *result);

#endif
