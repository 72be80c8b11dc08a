/* The kernels of the primitives in many shapes, including some that are not in the tables, for tune_primitives.c. */
#ifndef TUNE_PRIMITIVES_H
#define TUNE_PRIMITIVES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tuned kernels: each is a row of a table, by the bytes of an element. */
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
    TUNE_THREE_4, /* the scan with three kernels */
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

/* The table's current shape on the current device; compute capability 9.0 is 90. */
tuned_shape tune_table(tuned_kernel kernel, int *arch);

/* Bytes of scratch memory, 0 at first, for arrays of n elements; SIZE_MAX: the shape cannot be launched here. Call
 * it for a shape before its launch, with the shape's device current. */
size_t tune_scratch(tuned_kernel kernel, int shape, int64_t n);

/* Queues the kernel in the stream: `bytes` from x (and y, for dot products) to `out`, which is a vf_reduced for
 * sums. Returns CUDA's error, 0 for none. */
int tune_launch(tuned_kernel kernel, int shape, void *stream, void *scratch, int64_t bytes, const void *x,
                const void *y, void *out);

#ifdef __cplusplus
}
#endif
#endif
