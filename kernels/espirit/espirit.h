/* Voxfield - coil sensitivity maps from the fully sampled centre of k-space: ESPIRiT.
 *
 * Data of several coils, d_c(k) = sum_x s_c(x) rho(x) exp(-2 pi i k.x), are correlated in k-space: its patches lie in a
 * subspace of low dimension. The projector P on that subspace, applied everywhere as a convolution, does not change the
 * data. In image space, the convolution is a Hermitian matrix for each voxel,
 *
 *     G_cc'(x) = 1/K sum_ij P[(c, i), (c', j)] exp(2 pi i (i - j).x),
 *
 * where K is the number of points of a patch. So G(x) s(x) = s(x) where there is signal: the maps are the eigenvectors
 * of G with eigenvalue 1. Uecker et al., Magn. Reson. Med. 71 (2014) 990. Patches are ellipsoids, after PISCO (Lobos et
 * al., arXiv 2302.13431): corners cost time and add nothing.
 *
 * Here P is a function of the Gram matrix A of the patches, P = A^2 / (A^2 + tau^2). This needs one inverse, tau / (A^2
 * + tau^2) = Im 1 / (A - i tau), instead of the eigenvectors of a matrix with hundreds of rows, and it varies smoothly
 * where a threshold would jump. tau is larger than the largest eigenvalue that noise causes in A, sigma^2 (sqrt M +
 * sqrt n)^2 for M patches of n numbers.
 *
 * Where there is hardly any signal, eigenvectors are of noise or of errors in the data. There the directions of maps (of one set)
 * go on smoothly from those around: solvers converge faster, and images have less noise (espirit_steady.c).
 */
#ifndef VOXFIELD_ESPIRIT_H
#define VOXFIELD_ESPIRIT_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The input. All in host memory. Axes are in the order x, y, z; an axis of 1 voxel is ignored. */
typedef struct vf_espirit_task {
    int64_t matrix[3];  /* of the maps; x(n) = (n - N/2) / N */
    int64_t block[3];   /* of the calibration data; 1 if matrix is 1, else 2 to matrix, 64 at most */
    int coils;          /* 1 to 1024 */
    const void *data;   /* complex of floats, [coil][kz][ky][kx], k = n - N/2 */
    double sigma;       /* root mean square of |noise| of a sample; 0: unknown, estimated from the block */
    double truncation;  /* tau is at least this share of A's largest eigenvalue; 0: 1e-6. Use 1e-4 for estimated
                         * data: their errors are not white, and would count as signal. Voxels with more than 100 times
                         * this share of a bright voxel's energy have their own directions, whatever the errors */
    int sets;           /* 1; or 2: a second map, for two parts of the object that fall on one voxel */
    double least_share; /* with `sets` 2: both are made if quality.second_share is at least this; 0: always */
    /* Progress: the share of the whole work that was just done; shares sum to 1. Called by one thread at a time. May be
     * NULL. */
    void (*tell)(void *user, double more);
    void *user;
} vf_espirit_task;

typedef struct vf_espirit_quality {
    int sets;            /* number of sets made */
    int virtual_coils;   /* number used: principal components that have most of the energy: at most 16, 12 in 3D,
                          * or 32 if those would leave out more than 0.1 % */
    double sigma;        /* given, or estimated */
    double explained;    /* share of the block's energy, without noise, that the eigenvectors (one per set) explain
                          * where their eigenvalue is above 0.95 or a signal is certain */
    double second_share; /* share of that energy at voxels whose second eigenvalue is above 0.98 */
} vf_espirit_quality;

/* The largest useful number of samples along an axis; width of a patch. */
enum { VF_ESPIRIT_LARGEST_2D = 48, VF_ESPIRIT_LARGEST_3D = 24, VF_ESPIRIT_KERNEL = 6 };

/* `maps` [set][coil][z][y][x], complex of floats. The sum over coils of |s|^2 is w(eigenvalue), which rises smoothly
 * from 0 at 0.94 to 1 at 0.99: w = 3 t^2 - 2 t^3, t = (eigenvalue - 0.94) / 0.05. If x is the solution with such maps,
 * w^(1/2) x is the image with even intensity. The weaker the evidence for a signal, the more of it a prior removes
 * (soft SENSE: Uecker et al., Proc. ISMRM 21 (2013) 127). But the eigenvalue falls in bright parts of the object, too,
 * if the block is noisy or ends close to its strongest samples. So where images of the block show a signal for certain
 * (espirit_steady.c), w of the first map is 1 whatever the eigenvalue, and in between if it is certain in part. The
 * phase is relative to the first principal component of the coils' data. Two maps s_1 and s_2 factor w(G) = s_1 s_1^H +
 * s_2 s_2^H. They are not the eigenvectors, which may turn from voxel to voxel where both eigenvalues are near 1.
 * Instead, s_1 is along w(G) e, where e is the first principal component, and the second component of s_2 is positive.
 * Both maps are as smooth as w(G), except around voxels where w(G) e or the second component of s_2 vanishes: phases
 * turn there. Where the second eigenvalue is below 0.94, s_2 = 0 and s_1 is as with one set.
 *
 * `eigenvalue` [set][z][y][x] in [0, 1 + rounding]; may be NULL. Those below 0.9 may be too
 * low. `maps` and `eigenvalue` have room for `sets` sets; the function does not write sets that it does not make. Scaling
 * the data changes only rounding. The result has the same bits for any number of threads. Working memory is about 16 n^2
 * bytes, where n = virtual coils x points of a patch: 15 MB of 12 coils in 3D, 107 MB of 32; and 48 bytes a sample and virtual
 * coil, 8 MB and 21 MB of 24^3.
 * Errors: VF_ERR_ARGUMENT (shapes), VF_ERR_INPUT (NaN, infinite or all-zero data), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_espirit(vf_context *ctx, const vf_espirit_task *task, void *maps, float *eigenvalue,
                                   vf_espirit_quality *quality);

#ifdef __cplusplus
}
#endif
#endif
