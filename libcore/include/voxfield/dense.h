/* Voxfield - dense complex matrices of a few dozen rows, in host memory. Row-major, double precision.
 *
 * It does not use LAPACK: that would make every build depend on it, for short algorithms on small matrices.
 */
#ifndef VOXFIELD_DENSE_H
#define VOXFIELD_DENSE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Eigenvalues of the Hermitian matrix a[n][n], largest first, and their eigenvectors as the ROWS of vectors[n][n],
 * orthonormal, the largest component of each real and positive. Overwrites a. Both are double complex, interleaved {re,
 * im}. The method is cyclic Jacobi rotations, which keep small eigenvalues accurate relative to the largest diagonal
 * element (Golub and Van Loan, Matrix Computations, 4th ed., 8.5). */
void vf_hermitian_eigen(int n, void *a, double *values, void *vectors);

#ifdef __cplusplus
}
#endif
#endif
