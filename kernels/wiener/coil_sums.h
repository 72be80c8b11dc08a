/* Voxfield - sums over the samples of coils, side by side in vectors. All instruction sets give the same bits. */
#ifndef VOXFIELD_COIL_SUMS_H
#define VOXFIELD_COIL_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "wiener.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a sample counts. */
enum { VF_RING_INSIDE, VF_RING_OUTER, VF_RING_OUTERMOST };

/* Sums over the samples x = w |d|^2 of a coil that count: those that were acquired (d and w are not 0), and not
 * VF_RING_INSIDE. */
typedef struct vf_coil_moments {
    int64_t count;
    double sum, squares, largest; /* of x; of x^2; the largest x */
    double lag[2][2]; /* sum of d(m + 1) conj d(m), and for m + 2, with the roots of the weights: re, im; d is 0 where a
                        * sample does not count */
    struct {
        double sum;
        int64_t count;
    } half[2]; /* of x that are not VF_RING_OUTERMOST, and of those that are */
} vf_coil_moments;

/* The moments of samples [first, end), out [samples->coils]. The lags reach to the two samples before. `ring` [count]
 * may be NULL: all count. */
void vf_coil_moments_of(const vf_wiener_samples *samples, const unsigned char *ring, int64_t first, int64_t end,
                        vf_coil_moments *out);

enum { VF_COIL_BLOCK = 256 }; /* the most samples of a block */

/* The doubles of memory that a block of samples of `coils` coils takes. */
size_t vf_coil_block_room(int coils);

/* sum[i][j] += sum of v d_i conj(d_j) over samples [first, end) of coils i and j <= i: a block. v is share[m - first].
 * acquired[m - first]: a coil's sample is not 0. `sum` is [coils][coils][re, im], and `room` is memory. */
void vf_coil_products_add(const vf_wiener_samples *samples, const double *share, int64_t first, int64_t end,
                          double *room, bool *acquired, double *sum);

#ifdef __cplusplus
}
#endif
#endif
