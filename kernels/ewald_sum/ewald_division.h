/* How Ewald's sum at points is divided into near images and waves (ewald_points.c has the formula). Private. */
#ifndef VOXFIELD_EWALD_DIVISION_H
#define VOXFIELD_EWALD_DIVISION_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/grid.h"

#define EWALD_WAVE_SECONDS 0.1e-9 /* of one wave at one charge */
enum { EWALD_PARTS = 64 };        /* parts of the sums over waves, added in order */

typedef struct ewald_images {
    int64_t count;
    double (*shift)[3];
} ewald_images;

/* Waves k = n b_0 + m b_1 + l b_2 of half the space; l and -l are summed together. */
typedef struct ewald_wave {
    int n, m, l;
    double weight[2]; /* of l and -l, 0: none */
} ewald_wave;

typedef struct ewald_division {
    double vectors[3][3], inverse[3][3], volume; /* inverse: fractions of the cell = inverse r */
    double alpha, cutoff, most;
    double own; /* b of Gaussian charges; 0: points */
    ewald_images images;
    int reach[3]; /* most n, m, l */
    int64_t waves;
    ewald_wave *wave;
    double *sums; /* [EWALD_PARTS][waves][4] */
} ewald_division;

void ewald_division_set_cell(const vf_cell *cell, ewald_division *s);

/* The vector of that many turns of the cell's vectors. */
void ewald_division_translate(const ewald_division *s, const double turns[3], double out[3]);

/* The cutoff with the least work of a charge at `points` points, for terms of exp(-s2) left out; after set_cell. */
void ewald_division_choose_cutoff(double s2, double points, double r_min, ewald_division *s);

/* After the cutoff. False: no memory. */
bool ewald_division_list_images(ewald_division *s);
bool ewald_division_list_waves(ewald_division *s);
void ewald_division_free(ewald_division *s);

#endif
