/* Echo-planar imaging: k of readouts under a trapezoidal gradient, and the phase between readouts of opposite polarity.
 * docs/scans.md has the formulas and their sources. */
#ifndef EPI_READOUT_H
#define EPI_READOUT_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "ismrmrd/ismrmrd_xml.h"

/* ---- epi_trapezoid.c ---- */

/* A gradient that rises, stays at 1 and falls, and the samples under it. Times in us, from the beginning of the rise. */
typedef struct epi_trapezoid {
    double up, flat, down;
    double first, dwell; /* the middle of sample 0, and from a sample to the next */
    double scale;        /* cycles per field of view in a us of the flat top */
} epi_trapezoid;

/* The integral of the gradient from its beginning to t, in us. */
double epi_area(const epi_trapezoid *g, double t);

/* Whether the header describes samples on a trapezoid that the readouts can have: `samples` of them, `sample_us` apart by
 * their own headers (0: unknown), with the echo at `center`, which together cover `matrix` cycles per field of view.
 * `why` gets the reason if not; "" if the header has no trapezoid at all. */
bool epi_trapezoid_find(const ismrmrd_epi *epi, int samples, double sample_us, int center, int64_t matrix,
                        epi_trapezoid *out, const char **why);

/* Whether a sample lies on a ramp, so that k is not even. */
bool epi_on_ramps(const epi_trapezoid *g, int samples);

/* k of a sample in cycles per field of view, 0 at sample `zero`, rising with time. */
double epi_k(const epi_trapezoid *g, int sample, int zero);

/* ---- epi_phase.c ---- */

/* The image of reversed readouts is that of forward ones times exp(i (turn + 2 pi shift x)), x in fields of view from the
 * middle: their samples lie `shift` cycles per field of view before where they are thought to be. */
typedef struct epi_phase {
    double turn, shift;
    double coherence; /* 1: all positions agree; 0: noise */
} epi_phase;

/* Fits the phase of p[n] at x = (i - n / 2) / n, weighted by |p|; positions that are far off count less. */
void epi_fit_phase(int n, const double complex *p, epi_phase *out);

/* ---- epi_ghost.c ---- */

/* Images of the forward lines alone, f, and of the reversed lines alone, r, summed over coils: [x][y]. */
typedef struct epi_halves {
    int nx, ny;
    int first, end;       /* the columns that count */
    float *power;         /* |f|^2 + |r|^2 */
    float complex *cross; /* r conj(f) */
} epi_halves;

typedef struct epi_ghost {
    epi_phase phase;
    double before, after; /* the sum of the image's magnitudes without and with the correction; of the best, 1 */
    double worst;         /* with the phase that makes most ghosts */
    double second;        /* with the best phase that is a clearly different one */
    double spread;        /* rad: how far the estimates from alternate columns are apart, within the object */
} epi_ghost;

/* How sharp the image's edges along x are: the fourth moment of its differences over the square of the second. A factor on
 * the image or on x changes nothing; samples at a wrong k blur the edges. */
double epi_sharpness(const epi_halves *h);

/* The sum of magnitudes of the whole image, f + r exp(-i phase). */
double epi_magnitudes(const epi_halves *h, const epi_phase *f);

/* Finds the phase with which the whole image has the least sum of magnitudes. */
void epi_find_ghost(const epi_halves *h, epi_ghost *out);

/* EPI_NONE_NEEDED: without a correction there are as few ghosts. EPI_CLEAR: the correction is clearly better than none.
 * EPI_UNCLEAR: there may be ghosts, but the image does not tell the phase. `complete`: no line of the matrix is missing. */
typedef enum epi_verdict { EPI_NONE_NEEDED, EPI_CLEAR, EPI_UNCLEAR } epi_verdict;
epi_verdict epi_judge(const epi_halves *h, const epi_ghost *g, bool complete);

#endif
