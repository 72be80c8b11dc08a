/* Voxfield - the product of two dense matrices on a device: C = A B.
 *
 *     c_ij = sum_l a_il b_lj,   i < rows, j < columns, l < inner
 *
 * Matrices are real, row-major, without gaps: A [rows][inner], B [inner][columns], C [rows][columns]. If `inner` is 0,
 * C is 0.
 *
 * Rounding. A sum is accumulated in the type of the elements, in the order of l, from 0; a step is one fused
 * multiply-add, rounded once. So an element has an error of at most about inner u sum_l |a_il b_lj|, u half an epsilon,
 * and all variants on all devices give the same bits, for any number of threads. Exceptions are "ref", which sums in
 * long double, and "baseline", which rounds twice, because that instruction set has no fused multiply-add.
 *
 * Variants on the CPU: "simd" (the default), "baseline", "avx2", "avx512", and "ref" (one thread). On a GPU: "tuned"
 * (the default: a block computes a tile of C, a thread 8 x 8 elements of it in registers, or 8 x 4 in double precision;
 * two buffers in shared memory), "naive" (a thread an element, all from global memory), and the steps of Kirk and Hwu,
 * Programming Massively Parallel Processors (2010), figure 6.16: "tile8" and "tile16", tiles of A and B in shared
 * memory, and a thread an element; with "-merge2" and "-merge4", 2 or 4 elements of a row a thread, which share a tile
 * of A; with "-unrolled", the loop over a tile unrolled; with "-prefetch", the next tile on its way to registers
 * meanwhile. Names combine in this order: "tile16-merge2-unrolled-prefetch".
 */
#ifndef VOXFIELD_MATRIX_PRODUCT_H
#define VOXFIELD_MATRIX_PRODUCT_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_matrix_product vf_matrix_product;

/* A plan for products of matrices of any size, VF_F32 or VF_F64. `variant` NULL: the device's default. On the CPU it has
 * scratch memory of 1 MB a thread or less. Errors: VF_ERR_ARGUMENT (another type, an unknown variant), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_matrix_product_create(vf_device *device, vf_dtype type, const char *variant,
                                                 vf_matrix_product **out);
void vf_matrix_product_destroy(vf_matrix_product *plan); /* NULL is allowed; work in queues must be done */

/* C = A B, in a queue of the plan's device: asynchronous on a GPU, complete on return on the CPU. On the CPU one queue at
 * a time may use a plan. The matrices are VF_SPACE_DEVICE memory; C must not overlap the others (not checked). Errors:
 * VF_ERR_ARGUMENT (negative sizes, or such as exceed any memory; NULL for a matrix that is not empty; a queue of another
 * device), VF_ERR_CANCELLED (on the CPU; C is partly written then). */
VF_MUST_CHECK vf_status vf_matrix_product_execute(const vf_matrix_product *plan, vf_queue *queue, int64_t rows,
                                                  int64_t columns, int64_t inner, const void *a, const void *b,
                                                  void *c);

/* The names of a device kind's variants, the default first; NULL beyond the last. */
const char *vf_matrix_product_variant_name(vf_device_kind kind, int index);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
