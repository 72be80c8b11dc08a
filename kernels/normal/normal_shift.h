/* Sample weights of a shifted box of Q, one function for each instruction set; not installed. */
#ifndef VOXFIELD_NORMAL_SHIFT_H
#define VOXFIELD_NORMAL_SHIFT_H

#include <stdbool.h>
#include <stdint.h>

/* shifted[m] = weights[m - first] exp(i 2 pi k[m].shift) for `count` samples m from `first` on; k [m][3]; complex, of single precision or
 * double. A number's bits depend neither on `first` nor on `count`. */
typedef void normal_shift(int64_t first, int64_t count, const float *k, const double *weights, const double shift[3],
                          bool single, void *shifted);

extern normal_shift normal_shift_baseline, normal_shift_avx2, normal_shift_avx512;

#endif
