/* Voxfield - how strong a prior should be, by Stein's unbiased risk estimate (SURE).
 *
 * The data are d = F x0 + n. The noise of a sample of weight w has the variance E|n|^2 = sigma^2 / w, half of it in the
 * real and half in the imaginary part. An estimate x is a function of b = F^H W d. With A = F^H W F, its predicted risk
 * is, up to a constant that is the same for all estimates,
 *
 *     E |W^1/2 F (x - x0)|^2 = E [<x, A x> - 2 Re <x, b>] + 2 sigma^2 f + constant
 *     f = E Re <x'(b) p, p>,    p = F^H W n1, n1 noise of sigma = 1
 *
 * (Stein, Ann. Stat. 9 (1981) 1135; Ramani et al., IEEE Trans. Image Process. 21 (2012) 3659). f is the estimate's
 * degrees of freedom, in complex numbers: tr(J A) for x = J b. One realisation of p stands for the mean, and a
 * difference for the derivative (Ramani, Blu and Unser, IEEE Trans. Image Process. 17 (2008) 1540):
 *
 *     f = Re <x(b + h p) - x(b), p> / h,    h = VF_SURE_STEP sigma
 *
 * The same p serves all strengths, so that its chance hardly changes their order.
 */
#ifndef VOXFIELD_SURE_H
#define VOXFIELD_SURE_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* h / sigma. Small against the noise: steps near sigma change what lies below a threshold, and f comes out too large.
 * Large against rounding errors of x, which the product with p averages. */
#define VF_SURE_STEP 0.01

typedef struct vf_sure_problem {
    vf_dtype type; /* complex */
    int64_t count;
    const void *b, *probe; /* b and p, [count], VF_SPACE_DEVICE memory of the queue's device */
    double variance;       /* sigma^2 > 0 */
    /* Sets x to the estimate from `b` with a prior of a relative strength, and *data to <x, A x> / 2 - Re <b, x>.
     * `again`: with the same steps as in the last call, at the same strength, so that x is a smooth function of b. */
    vf_status (*estimate)(void *user, double factor, bool again, const void *b, void *x, double *data);
    void *user;
} vf_sure_problem;

typedef struct vf_sure_point {
    double factor;
    double risk;    /* in units of sigma^2, without the constant */
    double freedom; /* f */
} vf_sure_point;

/* The risk at one factor: two estimates. Allocates three vectors. Errors: VF_ERR_DEVICE_MEMORY, VF_ERR_ARGUMENT (a
 * variance that is not positive, a risk that is not finite), those of `estimate`. */
VF_MUST_CHECK vf_status vf_sure_risk(vf_queue *queue, const vf_sure_problem *problem, double factor,
                                     vf_sure_point *out);

enum { VF_SURE_MOST = 12 }; /* factors tried */

typedef struct vf_sure_result {
    int tried;
    vf_sure_point point[VF_SURE_MOST]; /* in the order in which they were tried */
    int best;                          /* of these, the one of least risk */
} vf_sure_result;

/* Looks for the factor of least risk: 1, 2 and 1/2, doubled or halved on while the least is at an end and in [1 /
 * widest, widest]; then up to two vertices of parabolas over log factor through the least and its neighbours. Of equal
 * risks, the one that was tried first. Errors: as vf_sure_risk. */
VF_MUST_CHECK vf_status vf_sure_search(vf_queue *queue, const vf_sure_problem *problem, double widest,
                                       vf_sure_result *out);

#ifdef __cplusplus
}
#endif
#endif
