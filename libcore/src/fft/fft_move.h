/* Between lines in memory and contiguous rows, or lines side by side (backend/fft_lanes.h), for the transforms along an axis
 * (fft_axis.c); compiled once for each instruction set; not installed. */
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

/* The same for lines side by side, at most the lanes: point i is point place[i] of `side`, [points][re, im][lanes]. */
typedef struct fft_lane_move {
    void *data; /* NULL: zeros */
    int64_t point, line;
    const void *scale;
    void *side;
    const int32_t *place;
    int64_t points;
    int lines;
} fft_lane_move;

/* [0] in single, [1] in double precision. gather: to the rows; scatter: from them. raise: to lines side by side, with zeros in
 * lanes without a line; lower: from them. */
typedef struct fft_moves {
    void (*gather[2])(const fft_move *move);
    void (*scatter[2])(const fft_move *move);
    void (*raise[2])(const fft_lane_move *move);
    void (*lower[2])(const fft_lane_move *move);
} fft_moves;

extern const fft_moves fft_moves_baseline, fft_moves_avx2, fft_moves_avx512;

#endif
