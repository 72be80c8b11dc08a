/* What the files of the estimation of delays share. Samples and images: delays.h. */
#ifndef DELAYS_INTERNAL_H
#define DELAYS_INTERNAL_H

#include "delays.h"

enum { DELAYS_MOST_IMAGES = 8, DELAYS_MOST_COILS = 16, DELAYS_UNKNOWNS = 6 };

/* The elements of S that are unknown: S[row][column] = S[column][row]. 2D: the first 3 */
typedef struct delay_element {
    int row, column;
} delay_element;
extern const delay_element delay_elements_2d[3], delay_elements_3d[DELAYS_UNKNOWNS];

/* The samples of one image near the centre. */
typedef struct central_samples {
    int64_t count;
    double *k, *step;    /* [sample][3] */
    double *re, *im;     /* [coil][sample] */
    double *a_re, *a_im; /* [sample][point] A, of the last delays */
} central_samples;

typedef struct delay_problem {
    vf_context *ctx;
    int dimensions, unknowns;
    const delay_element *element; /* [unknowns] */
    int images, coils;
    central_samples image[DELAYS_MOST_IMAGES];
    int points;    /* of the coarse image */
    double *point; /* [point][3] in fields of view */
    double radius,
        reach;       /* samples within `radius` are used; delays move them by up to `reach`; cycles per field of view */
    double energy;   /* sum of |d|^2 */
    int64_t samples; /* of a coil, in all images */
} delay_problem;

/* The misfit of delays, and what one step of the Gauss-Newton method needs. */
typedef struct delay_misfit {
    double value;    /* with the term of lambda */
    double spread;   /* log det (A^H A / lambda + 1), in all images: the larger, the less the samples overlap */
    double residual; /* without */
    double gradient[DELAYS_UNKNOWNS], hessian[DELAYS_UNKNOWNS][DELAYS_UNKNOWNS]; /* half of the derivatives */
    double freedom; /* complex numbers of a coil that A x can fit, in all images */
} delay_misfit;

/* Limits of a problem, [0] in 2D, [1] in 3D. */
typedef struct delay_extent {
    int64_t spokes[2]; /* of an image */
    double radius[2];
    int images;
} delay_extent;
extern const delay_extent delays_whole, delays_coarse; /* the latter for the search, where the misfit is smoother */

/* Chooses the samples and the coarse image's points. points is 0 if there are too few spokes. Free also after a
 * failure. */
VF_MUST_CHECK vf_status delays_select(vf_context *ctx, int dimensions, int images, const vf_spokes *image,
                                      const delay_extent *extent, delay_problem *out);
void delays_free(delay_problem *problem);

/* The misfit of delays `s` [unknowns]; residual, gradient, hessian and freedom only if `derivatives`. */
VF_MUST_CHECK vf_status delays_misfit(delay_problem *problem, const double *s, bool derivatives, delay_misfit *out);

/* The largest distance, in cycles per field of view, by which delays move a sample. */
double delays_reach(const delay_problem *problem, const double *s);

#endif
