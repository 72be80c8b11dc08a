/* Voxfield - dense complex matrices of a few dozen rows, in host memory. Row-major, double precision.
 *
 * LAPACK is not used: every build would depend on it, for short algorithms on small matrices.
 */
#ifndef VOXFIELD_DENSE_H
#define VOXFIELD_DENSE_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Eigenvalues of the Hermitian matrix a[n][n], largest first. The ROWS of vectors[n][n] get the orthonormal
 * eigenvectors; the largest component of each is real and positive. Overwrites a. Both matrices are double complex,
 * interleaved {re, im}. The method is cyclic Jacobi rotations, which keep small eigenvalues accurate relative to the
 * largest diagonal element (Golub and Van Loan, Matrix Computations, 4th ed., 8.5). */
void vf_hermitian_eigen(int n, void *a, double *values, void *vectors);

/* The eigenvalues alone, largest first, in a small part of the time. Their errors are relative to the largest one. Overwrites
 * a[n][n]; only NaN or infinite elements make them NaN or wrong. `scratch` has room for 3 n double complex. */
void vf_hermitian_values(int n, void *a, double *values, void *scratch);

/* Replaces the Hermitian matrix a[n][n], double complex, by its lower triangular Cholesky factor L, A = L L^H, with 0
 * above the diagonal. Only the lower triangle is read. Returns -1, or the first row whose pivot is not larger than
 * `tolerance` times its diagonal element: up to rounding, that row is a combination of the rows before it. */
int vf_cholesky(int n, void *a, double tolerance);

/* Replaces the lower triangular matrix l[n][n], double complex, without 0 on the diagonal, by its inverse. */
void vf_invert_lower(int n, void *l);

/* Replaces the first `rows` rows of data[columns][count], float complex, by mix[rows][columns], double complex, times
 * data; rows <= columns. Runs on the context's threads; the bits do not depend on their number. Errors: VF_ERR_MEMORY,
 * VF_ERR_CANCELLED (`data` is partly overwritten then). */
VF_MUST_CHECK vf_status vf_mix_rows(vf_context *ctx, int rows, int columns, const void *mix, int64_t count, void *data);
/* The same for `sets` sets of rows, each with a matrix of its own: data[set][columns][count], mix[set][rows][columns]. */
VF_MUST_CHECK vf_status vf_mix_sets(vf_context *ctx, int64_t sets, int rows, int columns, const void *mix,
                                    int64_t count, void *data);

#ifdef __cplusplus
}
#endif
#endif
