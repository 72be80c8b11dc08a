/* A block of C on the CPU, and its tables for each instruction set; not installed. */
#ifndef VOXFIELD_MATRIX_BLOCKS_H
#define VOXFIELD_MATRIX_BLOCKS_H

#include "matrix_product_plan.h"

/* A thread computes a block of C of at most this size. DEPTH: rows of B, and columns of A, that it packs at a time. The
 * packed part of B stays in the second-level cache, strips of both in the first. Multiples of every tile's sides. */
enum { VF_BLOCK_ROWS = 192, VF_BLOCK_COLUMNS = 256, VF_BLOCK_DEPTH = 256 };
enum { VF_BLOCK_SCRATCH = (VF_BLOCK_ROWS + VF_BLOCK_COLUMNS) * VF_BLOCK_DEPTH }; /* elements, aligned to 64 bytes */

/* Computes the block whose first element is (row, column). For VF_F32 and VF_F64. */
typedef void (*vf_matrix_block_function)(const vf_matrices *m, int64_t row, int64_t column, void *scratch);
typedef vf_matrix_block_function vf_matrix_blocks[2];
extern const vf_matrix_blocks vf_matrix_blocks_baseline, vf_matrix_blocks_avx2, vf_matrix_blocks_avx512;

#endif
