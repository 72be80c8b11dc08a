/* Voxfield - priors: knowledge of images besides the data, as lambda P in (F^H W F + lambda P) x = F^H W d; and an
 * approximate inverse of that matrix, the preconditioner for conjugate gradients.
 *
 *     identity      P = 1
 *     differences   P = D^H D, D first differences along each axis (first_differences.h)
 *     reference     the same, weighted by anatomical images
 *     spectrum      P = E^-1 C E^-1: the image is a stationary field of known spectrum times an envelope E (wiener.h); and
 *                   besides, if asked for, D^H D with a weight of its own
 */
#ifndef VOXFIELD_PRIOR_H
#define VOXFIELD_PRIOR_H

#include "circulant.h"
#include "voxfield/operator.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef enum vf_prior_kind {
    VF_PRIOR_IDENTITY,
    VF_PRIOR_DIFFERENCES,
    VF_PRIOR_REFERENCE,
    VF_PRIOR_SPECTRUM
} vf_prior_kind;

/* lambda P, and the preconditioner. Vectors are one image, or several that are solved for together, [set][voxels]; the
 * prior applies to each. Arrays with [set] have a part for each set, first to last; the sets share the others. */
typedef struct vf_prior {
    vf_prior_kind kind;
    int64_t counts[3];
    double lambda;           /* the absolute value */
    vf_array weights;        /* [3][z][y][x] for differences, on the device; empty: 1 */
    double differences;      /* for the spectrum prior: adds this much of D^H D, absolute; 0: nothing */
    vf_circulant *circulant; /* matrices of vf_prior_matrix; NULL: not needed */
    bool preconditioned;     /* the matrices VF_PRIOR_INVERSE_... are set */
    /* [set][z][y][x] real, on the device: 1 where any coil has signal, else 0; empty: 1. Without it, the spectrum prior
     * would fill the rest with likely values; the image is 0 there */
    vf_array support;
    vf_array flatten; /* [z][y][x] real: 1 / envelope, on both sides of VF_PRIOR_WEIGHTS; empty: 1 */
    vf_array flat;    /* [z][y][x] complex: working memory for an image */
    /* For the preconditioner: [set][z][y][x] real, 0 outside the support; empty: 1. `balance` is 1 / sqrt(sum |s|^2),
     * relative to its mean; `envelope` is the image's envelope. */
    vf_array balance, envelope;
    /* For the spectrum prior: knowledge of the phase. The image is exp(i phi) times a number whose imaginary part has
     * only `imaginary` times the power. This much is known for frequencies whose opposite was sampled. 0: nothing is
     * known of the phase. If it is > 0, the matrix is linear only over the real numbers. Conjugate gradients allow
     * this, because they use only the real parts of dot products. VF_PRIOR_WEIGHTS must be even in k then, and the two
     * matrices of a pair (an inverse and its _IMAGINARY) must have the same odd part. Otherwise the matrices would not
     * be self-adjoint. */
    double imaginary;
    vf_array half_turn; /* [z][y][x] complex: exp(2 i phi) / 2, exp(i phi) and exp(-i phi) */
    vf_array turn, turn_back;
    vf_array part, rest; /* [z][y][x] complex: working memory for the two parts of an image */
} vf_prior;

/* The preconditioner is balance DATA balance + envelope PRIOR envelope. The terms are right for frequencies where the
 * data, or the prior, have most of the weight. The second pair is for the imaginary part, if there is one. */
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
    bool circulant;     /* reserve the matrices above; the spectrum prior always does */
    int references;     /* for VF_PRIOR_REFERENCE: [references][z][y][x] images, host memory */
    const float *reference;
} vf_prior_options;

/* Anatomical images: small weights across their edges (first_differences.h). All in host memory. */
typedef struct vf_prior_reference {
    int images;
    const float *image;         /* [images][z][y][x] */
    const unsigned char *known; /* [z][y][x] where they say something; NULL: everywhere */
    double sharpness; /* differences as large as this many of the images' root mean squares have half the weight */
} vf_prior_reference;
/* The sharpness of VF_PRIOR_REFERENCE. Edges of tissue are several times as large; noise is smaller. */
#define VF_PRIOR_SHARPNESS 1.0

/* At first lambda is 0, all arrays except `weights` are empty, and all matrices are 0. The caller sets those that it
 * uses, on the queue's device. Errors: VF_ERR_ARGUMENT (a reference is missing or not finite), VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY; call vf_prior_free then, too. */
VF_MUST_CHECK vf_status vf_prior_create(vf_queue *queue, const vf_prior_options *options, vf_prior *out);
/* Replaces the weights of differences by those of other images; NULL: by 1. `mean` (may be NULL): their mean over all
 * differences. Errors: as vf_prior_create. */
VF_MUST_CHECK vf_status vf_prior_set_reference(vf_queue *queue, vf_dtype precision, const vf_prior_reference *reference,
                                               vf_prior *prior, double *mean);
void vf_prior_free(vf_prior *prior); /* and zeroes it */

/* z = M r, where M is the preconditioner. Requires `preconditioned`. */
VF_MUST_CHECK vf_status vf_prior_precondition(const vf_prior *prior, vf_queue *queue, const vf_array *r, vf_array *z);

/* y += lambda P x. x must be 0 outside the support. y stays 0 there. */
VF_MUST_CHECK vf_status vf_prior_add(const vf_prior *prior, vf_queue *queue, const vf_array *x, vf_array *y);

/* lambda P and M as operators on [sets][z][y][x]. The prior must outlive them, and must not move in memory. They are
 * real-linear if `imaginary` > 0. */
VF_MUST_CHECK vf_status vf_prior_operator(const vf_prior *prior, vf_device *device, vf_dtype precision, int sets,
                                          vf_operator **out);
VF_MUST_CHECK vf_status vf_prior_inverse_operator(const vf_prior *prior, vf_device *device, vf_dtype precision,
                                                  int sets, vf_operator **out);

/* A + lambda P of an operator A of such vectors, which must outlive it: as vf_operator_sum of A and vf_prior_operator, without
 * a vector between. Errors: as
 * vf_operator_create; VF_ERR_ARGUMENT (other vectors). */
VF_MUST_CHECK vf_status vf_regularized_operator(vf_operator *a, const vf_prior *prior, vf_operator **out);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
