/* The covariance of the coils' data, in which each acquired cell of k-space counts once (coil_covariance.c). */
#ifndef COIL_COVARIANCE_H
#define COIL_COVARIANCE_H

#include "scan/mri_scan.h"

/* Sums over the samples of all frames. A cell of k-space is one cycle per field of view along each axis. The share v of
 * a sample d of weight w is w over the sum of the weights in its cell, at most 1: where samples are dense, those of a
 * cell share it; where they are sparse, a sample stands for its own cell only. So `sum` is the coils' energy in k-space,
 * without the emphasis that dense samples near the centre would give it. */
typedef struct coil_covariance {
    int coils;
    double complex *sum; /* [coils][coils] sum of v d_i conj(d_j): Hermitian */
    double cells;        /* sum of v */
    double noise;        /* sum of v / w: what white noise of variance 1 adds to the diagonal */
    double left;         /* sum of v^2 / w: that noise in cells after averaging their samples, summed over the cells */
    double samples;      /* (sum of v)^2 / sum of v^2: as many samples of equal shares are as informative */
} coil_covariance;

/* Samples that are 0 in all coils were not acquired, and do not count. Sets raw->density. Frees nothing else;
 * free `out` with coil_covariance_free also after a failure. The bits do not depend on the number of threads. Errors: VF_ERR_MEMORY;
 * VF_ERR_INPUT for values that are not finite; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status coil_covariance_make(vf_context *ctx, mri_scan *raw, coil_covariance *out);
void coil_covariance_free(coil_covariance *covariance);
/* The shares v of the samples of a trajectory, share [sample]. Uses raw->density for the first trajectory, or sets it if it
 * is NULL. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status coil_shares(vf_context *ctx, mri_scan *raw, int trajectory, double *share);

#endif
