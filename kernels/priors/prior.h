/* Voxfield - priors: what is known of images besides the data, as lambda P in (F^H W F + lambda P) x = F^H W d; and
 * what is near the inverse of that whole matrix, for conjugate gradients.
 *
 *     identity      P = 1
 *     differences   P = D^H D, D first differences along each axis (first_differences.h)
 *     reference     the same, weighted by anatomical images
 *     spectrum      P = E^-1 C E^-1: the image is a stationary field of known spectrum times an envelope E (wiener.h)
 */
#ifndef VOXFIELD_PRIOR_H
#define VOXFIELD_PRIOR_H

#include "circulant.h"
#include "voxfield/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vf_prior_kind {
    VF_PRIOR_IDENTITY,
    VF_PRIOR_DIFFERENCES,
    VF_PRIOR_REFERENCE,
    VF_PRIOR_SPECTRUM
} vf_prior_kind;

/* lambda P, and what is near the inverse of the whole matrix. Vectors are of one image, or of several that are seen
 * together, [set][voxels]: the prior is of each. Its own arrays are of the first, and others that have their own are
 * behind it. */
typedef struct vf_prior {
    vf_prior_kind kind;
    int64_t counts[3];
    double lambda;           /* absolute */
    vf_array weights;        /* [3][z][y][x] of the differences, on the device; empty: 1 */
    vf_circulant *circulant; /* matrices of vf_prior_matrix; NULL: neither is needed */
    bool preconditioned;     /* by VF_PRIOR_INVERSE_... */
    vf_array support;        /* [set][z][y][x] real, on the device: 1 where coils see anything, 0 elsewhere; empty: 1.
                              * The spectrum would fill what no coil sees with what is likely there; the image is 0
                              * there */
    vf_array flatten; /* [z][y][x] real: one over the image's envelope, on both sides of VF_PRIOR_WEIGHTS; empty: 1 */
    vf_array flat;    /* [z][y][x] complex: room for an image that is flattened */
    /* For the preconditioner, [set][z][y][x] real, 0 outside the support, or empty for 1: one over the root of sum
     * |s|^2, relative to its mean; and the envelope. */
    vf_array balance, envelope;
    /* Of the spectrum's: the image is exp(i phi) times a number that is real but for a part of `imaginary` times the
     * power: so much is known of frequencies whose opposite was sampled. It makes the matrix linear over real numbers
     * only, which conjugate gradients allow: they look at real parts of products. VF_PRIOR_WEIGHTS must be even in k
     * then, and in the matrices of a pair (a part's inverse and its _IMAGINARY) what is odd must be the same, or they
     * would not be self-adjoint. 0: nothing is known of the phase. */
    double imaginary;
    vf_array half_turn; /* [z][y][x] complex: exp(2 i phi) / 2, exp(i phi) and exp(-i phi) */
    vf_array turn, turn_back;
    vf_array part, rest; /* [z][y][x] complex: room for the two parts of an image */
} vf_prior;

/* Near the inverse of the whole matrix are balance DATA balance + envelope PRIOR envelope, which are right for the
 * frequencies where data and where the prior have most of the weight; the second pair is for the imaginary part, if
 * there is one. */
enum vf_prior_matrix {
    VF_PRIOR_WEIGHTS,
    VF_PRIOR_INVERSE_DATA,
    VF_PRIOR_INVERSE_PRIOR,
    VF_PRIOR_INVERSE_DATA_IMAGINARY,
    VF_PRIOR_INVERSE_PRIOR_IMAGINARY,
    VF_PRIOR_MATRICES
};

typedef struct vf_prior_options {
    vf_prior_kind kind;
    vf_dtype precision; /* VF_F32, VF_F64 */
    int64_t counts[3];  /* voxels along x, y, z */
    bool circulant;     /* makes room for the matrices above; of the spectrum always */
    int references;     /* of VF_PRIOR_REFERENCE: images [references][z][y][x], host memory */
    const float *reference;
} vf_prior_options;

/* lambda is 0 at first, all arrays that are no weights empty, all matrices 0: the caller fills in what it knows, on the
 * queue's device. Errors: VF_ERR_ARGUMENT (a reference that is missing or not finite), VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY; *out may be freed then. */
VF_MUST_CHECK vf_status vf_prior_create(vf_queue *queue, const vf_prior_options *options, vf_prior *out);
void vf_prior_free(vf_prior *prior); /* leaves it zero */

/* z = M r, M near the inverse of F^H W F + lambda P; only of a prior that is `preconditioned`. */
VF_MUST_CHECK vf_status vf_prior_precondition(const vf_prior *prior, vf_queue *queue, const vf_array *r, vf_array *z);

/* y += lambda P x, for x that is 0 outside the support; then y is, too, if it was. */
VF_MUST_CHECK vf_status vf_prior_add(const vf_prior *prior, vf_queue *queue, const vf_array *x, vf_array *y);

/* lambda P and M as operators of [sets][z][y][x]; the prior must outlive them, and stay where it is. Real-linear where
 * something is known of the phase. */
VF_MUST_CHECK vf_status vf_prior_operator(const vf_prior *prior, vf_device *device, vf_dtype precision, int sets,
                                          vf_operator **out);
VF_MUST_CHECK vf_status vf_prior_inverse_operator(const vf_prior *prior, vf_device *device, vf_dtype precision,
                                                  int sets, vf_operator **out);

#ifdef __cplusplus
}
#endif
#endif
