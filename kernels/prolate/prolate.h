/* Voxfield - the zeroth prolate spheroidal wave function psi of bandwidth c.
 *
 * Among the functions on [-1, 1], psi has the largest share of its Fourier transform's energy in [-c, c]. It is its own
 * Fourier transform up to a factor:
 *
 *     integral_-1^1 psi(x) exp(i c x t) dx = lambda psi(t)
 *
 * Both the split of Ewald sums (cutoff_sum.h) and windows that spread charges onto a mesh (ewald_sum.h) are made of it.
 * It is computed as a series of Legendre polynomials, whose coefficients are an eigenvector of a tridiagonal matrix:
 * Xiao, Rokhlin and Yarvin, Inverse Problems 17 (2001) 805. Here psi(0) = 1. x, t and k have no unit. Absolute errors
 * are below 1e-14.
 */
#ifndef VOXFIELD_PROLATE_H
#define VOXFIELD_PROLATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VF_PROLATE_LEAST 0.5 /* of c */
#define VF_PROLATE_MOST 60.0

enum { VF_PROLATE_TERMS = 80 };

typedef struct vf_prolate {
    double c;
    int terms;
    double legendre[VF_PROLATE_TERMS]; /* psi(x) = sum_n legendre[n] P_2n(x) */
    double area;                       /* integral_0^1 psi */
    double variance;                   /* integral x^2 psi / integral psi, over [-1, 1] */
} vf_prolate;

/* c in [VF_PROLATE_LEAST, VF_PROLATE_MOST]; anything else is moved there. */
void vf_prolate_make(double c, vf_prolate *out);

/* psi(x); 0 for |x| > 1. */
double vf_prolate_value(const vf_prolate *p, double x);

/* Phi(x) = integral_0^x psi / integral_0^1 psi: odd, and +-1 from |x| = 1 on. */
double vf_prolate_integral(const vf_prolate *p, double x);

/* integral_-1^1 psi(x) cos(k x) dx / integral_-1^1 psi, for any k: psi(k / c) for |k| <= c. */
double vf_prolate_transform(const vf_prolate *p, double k);

/* Phi(x) / x, which is even and smooth: 1 / area at 0. */
double vf_prolate_slope(const vf_prolate *p, double x);

/* The values and the slopes at n points, faster than one by one. `x` and `out` are distinct. */
typedef void vf_even_function(const vf_prolate *p, int64_t n, const double *x, double *out);
vf_even_function vf_prolate_values, vf_prolate_slopes;

/* An even function of x in [-1, 1] as a polynomial: sum_k coefficient[k] t^k, t = 2 x^2 - 1, k <= degree. */
enum { VF_PROLATE_POWERS = 64 };
typedef struct vf_prolate_powers {
    int degree;
    double coefficient[VF_PROLATE_POWERS]; /* 0 above the degree */
} vf_prolate_powers;

/* The polynomial of the least degree that differs from `f` (vf_prolate_values, vf_prolate_slopes) by at most about
 * `accuracy` f(0), or 1e-15 f(0). */
void vf_prolate_fit(const vf_prolate *p, vf_even_function *f, double accuracy, vf_prolate_powers *out);

#ifdef __cplusplus
}
#endif
#endif
