/* A singular value decomposition for tests. Its method differs from all code under test: one-sided Jacobi rotations
 * of the matrix itself (Hestenes; Golub and Van Loan, Matrix Computations, 4th ed., 8.6). */
#ifndef SVD_FIXTURE_H
#define SVD_FIXTURE_H

#include <complex.h>
#include <math.h>
#include <stdint.h>

/* Replaces a[rows][columns] by U diag(s), whose columns are orthogonal, and sets v[columns][columns], which is
 * unitary: the original a is (U diag(s)) v^H. s[columns] is not sorted. */
static inline void svd(int64_t rows, int64_t columns, double complex *a, double *s, double complex *v)
{
    for (int64_t i = 0; i < columns * columns; i++)
        v[i] = i / columns == i % columns;
    for (int sweep = 0, turned = 1; sweep < 60 && turned; sweep++) {
        turned = 0;
        for (int64_t p = 0; p < columns; p++)
            for (int64_t q = p + 1; q < columns; q++) {
                double alpha = 0, beta = 0;
                double complex gamma = 0;
                for (int64_t r = 0; r < rows; r++) {
                    const double complex x = a[r * columns + p], y = a[r * columns + q];
                    alpha += creal(x * conj(x));
                    beta += creal(y * conj(y));
                    gamma += conj(x) * y;
                }
                const double size = cabs(gamma);
                if (!(size > 1e-15 * sqrt(alpha * beta)) || size < 1e-290)
                    continue;
                turned = 1;
                const double zeta = (beta - alpha) / (2 * size);
                const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t);
                const double complex phase = gamma / size;
                for (int64_t r = 0; r < rows + columns; r++) {
                    double complex *row = r < rows ? a + r * columns : v + (r - rows) * columns;
                    const double complex x = row[p], y = conj(phase) * row[q];
                    row[p] = c * (x - t * y);
                    row[q] = c * (t * x + y);
                }
            }
    }
    for (int64_t j = 0; j < columns; j++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++)
            sum += creal(a[r * columns + j] * conj(a[r * columns + j]));
        s[j] = sqrt(sum);
    }
}

#endif
