/* Between lines in memory and contiguous rows, for the transforms along an axis (fft_axis.c); compiled once for each
 * instruction set; not installed. */
#ifndef VOXFIELD_FFT_MOVE_H
#define VOXFIELD_FFT_MOVE_H

#include <stdint.h>

/* Point i of line l is at data + (l * line + i * point) and at rows + (l * row + i), in complex elements. */
typedef struct fft_move {
    void *data;
    int64_t point, line;
    const void *scale; /* [points] real: multiplies the points; or NULL */
    void *rows;
    int64_t row;
    int64_t points, lines;
} fft_move;

/* [0] in single, [1] in double precision. gather: to the rows; scatter: from them. */
typedef struct fft_moves {
    void (*gather[2])(const fft_move *move);
    void (*scatter[2])(const fft_move *move);
} fft_moves;

extern const fft_moves fft_moves_baseline, fft_moves_avx2, fft_moves_avx512;

#endif
