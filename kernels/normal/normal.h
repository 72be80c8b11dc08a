/* Voxfield - F^H W F of one trajectory, applied without F: as a circulant matrix if all samples lie on a grid
 * (cartesian.h), else as a Toeplitz matrix (toeplitz.h) made from
 *
 *     Q(r) = sum_m W_m exp(i 2 pi k_m . r),  r on the doubled grid
 *
 * (Fessler, Lee, Olafsson, Shi and Noll, IEEE Trans. Signal Process. 53 (2005) 3393). With off-resonance there is one Q
 * for each time segment.
 *
 * vf_normal_create does everything on one device. The functions below it are its steps, for callers that share the work
 * among devices or keep Q in a file.
 */
#ifndef VOXFIELD_NORMAL_H
#define VOXFIELD_NORMAL_H

#include "cartesian.h"
#include "encoding.h"
#include "gridding.h"
#include "toeplitz.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* Arrays are in host memory. A vf_normal copies what it needs; a vf_q keeps the task and the segments that it was made
 * from. */
typedef struct vf_normal_task {
    int64_t matrix[3]; /* x, y, z */
    int64_t samples;
    const float *k;               /* [samples][3] cycles per field of view */
    const float *time, *field;    /* [samples] s, [z][y][x] Hz; off-resonance if both are given */
    const double *weights;        /* [samples] W, finite; NULL: 1 */
    vf_encoding_options encoding; /* how Q is computed; most_batch and extent are not used */
} vf_normal_task;

typedef struct vf_normal {
    vf_toeplitz *toeplitz; /* one of these two; the other is NULL */
    vf_cartesian *cartesian;
    double diagonal; /* Q(0), the sum of the weights */
    int segments;    /* time segments; 1 without off-resonance */
    char description[160];
} vf_normal;

/* Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, those of vf_encoding_create, vf_segments_create and vf_toeplitz_create;
 * *out is zero then. */
VF_MUST_CHECK vf_status vf_normal_create(vf_device *device, const vf_normal_task *task, vf_normal *out);
void vf_normal_free(vf_normal *normal); /* leaves it zero */

/* y = sum_c conj(s_c) F^H W F s_c x, as vf_toeplitz_apply. */
VF_MUST_CHECK vf_status vf_normal_apply(const vf_normal *normal, vf_queue *queue, int coils, const void *maps,
                                        const void *x, void *y);

/* ---- the steps ---- */

/* The method that vf_normal_create uses: DIRECT, NUFFT or CARTESIAN. */
vf_encode_by vf_normal_way(const vf_normal_task *task);

/* Makes the time segments of the weights; empty without off-resonance. Free them with vf_segments_free. */
VF_MUST_CHECK vf_status vf_normal_segments(vf_context *ctx, const vf_normal_task *task, vf_segments *out);

/* Makes the matrix. A Toeplitz matrix still needs Q for each segment (vf_toeplitz_set); a circulant one is complete. */
VF_MUST_CHECK vf_status vf_normal_begin(vf_device *device, const vf_normal_task *task, const vf_segments *segments,
                                        vf_normal *out);

/* The doubled grid, [2z][2y][2x]; axes of one voxel are not doubled. Returns its number of points. */
int64_t vf_q_grid(const int64_t matrix[3], int64_t doubled[3]);

/* One device's plan for Q. A direct sum computes points [first, first + count) of the doubled grid, which must be whole
 * rows; a NUFFT computes all points. */
typedef struct vf_q vf_q;
VF_MUST_CHECK vf_status vf_q_create(vf_device *device, const vf_normal_task *task, const vf_segments *segments,
                                    int64_t first, int64_t count, vf_q **out);
void vf_q_destroy(vf_q *plan); /* NULL is allowed */

/* `q` [count], complex, device memory. Blocking. Errors: those of vf_encoding_adjoint. */
VF_MUST_CHECK vf_status vf_q_compute(vf_q *plan, vf_queue *queue, int segment, vf_array *q);

/* Sets a progress callback: each segment adds vf_q_work(task) in all. */
void vf_q_watch(vf_q *plan, vf_encoding_tell *tell, void *user);
double vf_q_work(const vf_normal_task *task);

const char *vf_q_description(const vf_q *plan); /* as vf_encoding_description */

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
