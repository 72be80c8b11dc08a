/* The kernels of the primitives in shapes that the tables need not have, for tune_primitives.c. */
#ifndef TUNE_PRIMITIVES_H
#define TUNE_PRIMITIVES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is tuned: a row of a table each, by the bytes of an element. */
typedef enum tuned_kernel {
    TUNE_COPY_4,
    TUNE_COPY_16,
    TUNE_SUM_1,
    TUNE_SUM_4,
    TUNE_DOT_8,
    TUNE_DOT_16,
    TUNE_DOT_32,
    TUNE_SCAN_4,
    TUNE_SCAN_8,
    TUNE_THREE_4, /* the scan of three kernels */
    TUNE_THREE_8,
    TUNED_KERNELS
} tuned_kernel;

/* nWarps, nWork, thread blocks a multiprocessor (0: one for each data block). */
typedef struct tuned_shape {
    int warps, work, blocks;
} tuned_shape;

/* How many shapes of a kernel are compiled, and which. */
int tune_shapes(tuned_kernel kernel);
tuned_shape tune_shape(tuned_kernel kernel, int shape);

/* The shape that the table says now, on the current device; compute capability 9.0 is 90. */
tuned_shape tune_table(tuned_kernel kernel, int *arch);

/* Bytes of scratch memory, 0 at first, for arrays of n elements; SIZE_MAX: the shape cannot be launched here. To be
 * called for a shape before it is launched, with its device the current one. */
size_t tune_scratch(tuned_kernel kernel, int shape, int64_t n);

/* Puts it into the stream: `bytes` from x (and y, for dot products) to `out`, which is a vf_reduced for sums. Returns
 * CUDA's error, 0 for none. */
int tune_launch(tuned_kernel kernel, int shape, void *stream, void *scratch, int64_t bytes, const void *x,
                const void *y, void *out);

#ifdef __cplusplus
}
#endif
#endif
