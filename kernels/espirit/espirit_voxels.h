/* One thread's work on rows of voxels (espirit_voxels.c), which is compiled for each instruction set. */
#ifndef ESPIRIT_VOXELS_H
#define ESPIRIT_VOXELS_H

#include "espirit_internal.h"
#include "voxfield/device.h"

enum { LANES = 16 };

/* Alignment to whole vectors of LANES numbers: a load across two lines of the cache takes twice the time. */
#define OF_LANES _Alignas(LANES * sizeof(float))

typedef struct lanes {
    OF_LANES float re[ESPIRIT_MOST_COILS][LANES], im[ESPIRIT_MOST_COILS][LANES];
} lanes;

/* A coordinate between two points of another grid: value[low] + part (value[low + next] - value[low]). */
typedef struct espirit_between {
    int64_t low, next; /* next: 1; 0 at the last point */
    float part;
} espirit_between;

typedef struct worker {
    const espirit *e;
    const int64_t *matrix;
    int sets;
    bool expand;
    float complex *vectors;
    float *eigenvalue;
    float *mix;                        /* [coil][virtual][re, im]: s_c = sum_v mix_vc s_v */
    float *turn_x;                     /* [x][dx][re, im]: exp(2 pi i d x) */
    float *steady_plane, *steady_line; /* of e->steady: [field][y][x] at this z, [field][y] at this x */
    float *plane;                      /* [v][v'][dy][dx], summed over dz */
    float *line;                       /* [v][v'][dy], summed over dz and dx */
    OF_LANES float turn_y[2 * VF_ESPIRIT_KERNEL][2][LANES];
    OF_LANES float gr[ESPIRIT_MOST_COILS * ESPIRIT_MOST_COILS][LANES];
    OF_LANES float gi[ESPIRIT_MOST_COILS * ESPIRIT_MOST_COILS][LANES];
    lanes u[2], image[2], map[2];
    OF_LANES float lambda[2][LANES];
    OF_LANES float sure[LANES]; /* that there is a signal, for the first map */
    espirit_between steady_y[LANES];
} worker;

/* exp(2 pi i d (n - N/2) / N) */
void espirit_turn(int64_t d, int64_t n, int64_t count, float *re, float *im);

/* Voxel `n` of `count` on the block's axis; x(n) as in espirit.h. Beyond the last point: that point. */
espirit_between espirit_on_block(const espirit *e, int axis, int64_t n, int64_t count);

/* The voxels of LANES rows from y on, in plane z. */
typedef void espirit_rows(worker *w, int64_t y, int64_t z);
espirit_rows espirit_rows_baseline, espirit_rows_avx2, espirit_rows_avx512;

#endif
