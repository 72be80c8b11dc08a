/* What mix_rows.c has for each instruction set. */
#ifndef MIX_ROWS_H
#define MIX_ROWS_H

#include <complex.h>
#include <stdint.h>

enum { MIX_BLOCK = 512 }; /* numbers of a row at a time: 128 rows of them are 512 KB, in most second-level caches */

/* Replaces the first `rows` rows of data[columns][count], `width` <= MIX_BLOCK numbers of each, by matrix[rows][columns][re,
 * im] times data. Single precision: rounding is that of the data's own storage times the number of columns at most. `work`
 * holds columns * 2 * MIX_BLOCK numbers. All sets give the same bits. */
typedef void mix_block(int rows, int columns, const float *matrix, int64_t count, int width, float *restrict work,
                       float complex *data);
extern mix_block mix_block_baseline, mix_block_avx2, mix_block_avx512;

#endif
