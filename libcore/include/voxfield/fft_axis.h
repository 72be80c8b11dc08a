/* Voxfield - transforms along one axis of an array in host memory. They are building blocks for multidimensional
 * transforms of zero-padded input, or with partial output, without work on zeros or unwanted points.
 *
 *     X_k = sum_n x_n exp(-+ 2 pi i k.n / N)      (- forward, + backward; not scaled)
 *
 * VF_FFT_LINES lines at a time are gathered in the cache, transformed there, and scattered. So strided memory access covers
 * several neighbouring lines at a time. Lines of up to 1024 points, if there are several and no prime factor is above 13, are
 * transformed side by side, by our own code; others in contiguous rows, by FFTW. Complex numbers are interleaved {re, im}.
 */
#ifndef VOXFIELD_FFT_AXIS_H
#define VOXFIELD_FFT_AXIS_H

#include <stdint.h>

#include "voxfield/fft.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_FFT_LINES = 16 }; /* lines that are transformed together */

/* Some points of a line of length n, stored with a constant stride. The first has index `first`, which may be negative,
 * the next first + 1, ..., all modulo n. So {-(N / 2), N} are the N lowest frequencies, the most negative first. -n <=
 * first < n; 0 <= count <= n. */
typedef struct vf_fft_span {
    int64_t first, count;
} vf_fft_span;

/* The location of a group of lines: point i of line l is at data + (l * line + i * point) elements. `scale` (NULL: 1)
 * has [span.count] real numbers of the precision, which multiply the points during the move. */
typedef struct vf_fft_lines {
    void *data;
    int64_t point, line; /* strides in complex elements */
    vf_fft_span span;
    const void *scale;
} vf_fft_lines;

typedef struct vf_fft_axis vf_fft_axis;

/* Makes a plan for lines of length n >= 1 of `type` VF_C64 or VF_C128, with working memory for the context's current
 * number of threads. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_fft_axis_create(vf_context *ctx, vf_dtype type, int64_t n, vf_fft_axis **out);
void vf_fft_axis_destroy(vf_fft_axis *axis); /* NULL is allowed */

/* Host memory held, in bytes. */
int64_t vf_fft_axis_bytes(const vf_fft_axis *axis);

/* The number of threads with working memory. vf_fft_axis_rows returns that of thread 0 <= thread < vf_fft_axis_threads,
 * `rows` below. */
int vf_fft_axis_threads(const vf_fft_axis *axis);
void *vf_fft_axis_rows(const vf_fft_axis *axis, int thread);

/* Transforms `lines` >= 0 lines (any number) on the calling thread with the working memory `rows`. src and dst may be
 * the same memory if the points of each line have the same locations in both (the spans may differ). */
void vf_fft_axis_lines(const vf_fft_axis *axis, vf_fft_direction direction, int64_t lines, const vf_fft_lines *src,
                       const vf_fft_lines *dst, void *rows);

/* The same for `outer` such groups, `src_outer` and `dst_outer` elements apart, with the context's threads; blocking.
 * The same input gives the same bits, for any number of threads. Errors: VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_fft_axis_pass(const vf_fft_axis *axis, vf_fft_direction direction, int64_t lines,
                                         int64_t outer, const vf_fft_lines *src, int64_t src_outer,
                                         const vf_fft_lines *dst, int64_t dst_outer);

#ifdef __cplusplus
}
#endif
#endif
