/* Complex matrices of a few dozen rows: what noise covariances and coil compression need. Row-major, double precision.
 *
 * Our own, since LAPACK would be one more dependency of every build for two short algorithms on matrices that have as
 * many rows as a scanner has coils: 128 take a fraction of a second.
 */
#ifndef SMALL_MATRIX_H
#define SMALL_MATRIX_H

#include <complex.h>
#include <stdint.h>

#include "voxfield/context.h"

/* Replaces the Hermitian matrix a[n][n] (its lower triangle is read) by its Cholesky factor L, A = L L^H, lower
 * triangular, 0 above. Returns -1, or the row whose pivot is no more than `tolerance` times its diagonal element (or is
 * not a number): up to rounding, that row is a combination of those before it. */
int small_matrix_cholesky(int n, double complex *a, double tolerance);

/* Replaces the lower triangular matrix l[n][n], diagonal not 0, by its inverse. */
void small_matrix_invert_lower(int n, double complex *l);

/* Replaces data[columns][count] by matrix[rows][columns] times data, for rows <= columns; rows 0 to rows - 1 of `data`
 * hold the result. Rows are `count` apart before and after. With the context's threads; the bits do not depend on how
 * many. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED (the data are spoilt then). */
VF_MUST_CHECK vf_status small_matrix_apply(vf_context *ctx, int rows, int columns, const double complex *matrix,
                                           int64_t count, float complex *data);

#endif
