#include "solvent_truth.h"

#include <math.h>
#include <string.h>

enum { TERMS = 400, POLES = 48, NODES = 128 };
#define PI 3.14159265358979323846

static double legendre(int l, double x)
{
    double before = 1, here = x;
    for (int n = 2; n <= l; n++) {
        const double next = ((2 * n - 1) * x * here - (n - 1) * before) / n;
        before = here;
        here = next;
    }
    return l == 0 ? 1 : here;
}

/* -x k'(x) / k(x) of the modified spherical Bessel function k of order l, which falls: l + 1 without salt. By k_-1 = k_0 and
 * k_(l + 1) = k_(l - 1) + (2 l + 1) k_l / x. */
static double slope_outwards(int l, double x)
{
    double ratio = 1; /* k_(n - 1) / k_n */
    if (x == 0)
        return l + 1;
    for (int n = 0; n < l; n++)
        ratio = 1 / (ratio + (2 * n + 1) / x);
    return x * ratio + l + 1;
}

/* x i'(x) / i(x) of the one that rises: l + x i_(l + 1) / i_l, by i_(l - 1) = i_(l + 1) + (2 l + 1) i_l / x from above. */
static double slope_inwards(int l, double x)
{
    double ratio = 0; /* i_(n + 1) / i_n */
    for (int n = l + 60; x > 0 && n > l; n--)
        ratio = 1 / (ratio + (2 * n + 1) / x);
    return l + x * ratio;
}

/* What a sphere adds at its surface to a unit of the charges' own potential of order l. */
static double response(const truth_sphere *s, int l)
{
    const double outer = s->radius + s->stern, g = slope_outwards(l, s->kappa * outer),
                 back = (l + 1 - g) / (l + g) * pow(s->radius / outer, 2 * l + 1),
                 slope = (-(l + 1) + l * back) / (1 + back);
    return (s->eps_m * (l + 1) + s->eps_s * slope) / (s->eps_m * l - s->eps_s * slope);
}

double truth_sphere_energy(const truth_sphere *s)
{
    double sum = 0;
    for (int l = 0; l < TERMS; l++) {
        double here = 0;
        for (int i = 0; i < s->charges; i++)
            for (int j = 0; j < s->charges; j++) {
                const double *a = s->at[i], *b = s->at[j], dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
                             product = sqrt((a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) *
                                            (b[0] * b[0] + b[1] * b[1] + b[2] * b[2]));
                here += s->charge[i] * s->charge[j] * pow(product / (s->radius * s->radius), l) *
                        (product > 0 ? legendre(l, fmax(-1, fmin(dot / product, 1))) : 1);
            }
        sum += here * response(s, l) / (s->eps_m * s->radius);
    }
    return sum / 2;
}

/* ---- two spheres ---- */

/* k_n(kappa r) / k_n(kappa R). */
static double falls(int n, double kappa, double r, double R)
{
    double ratio = exp(-kappa * (r - R)) * R / r, at_r = 1, at_R = 1; /* k_(m - 1) / k_m */
    for (int m = 0; m < n; m++) {
        const double up_r = kappa > 0 ? at_r + (2 * m + 1) / (kappa * r) : 1 / r,
                     up_R = kappa > 0 ? at_R + (2 * m + 1) / (kappa * R) : 1 / R;
        ratio *= up_r / up_R;
        at_r = 1 / up_r;
        at_R = 1 / up_R;
    }
    return ratio;
}

/* Nodes and weights of Gauss and Legendre's rule on [-1, 1]. */
static void quadrature(double node[NODES], double weight[NODES])
{
    for (int i = 0; i < NODES; i++) {
        double x = cos(PI * (i + 0.75) / (NODES + 0.5)), slope = 1;
        for (int step = 0; step < 50; step++) {
            const double p = legendre(NODES, x);
            slope = NODES * (x * p - legendre(NODES - 1, x)) / (x * x - 1);
            x -= p / slope;
        }
        node[i] = x;
        weight[i] = 2 / ((1 - x * x) * slope * slope);
    }
}

/* moment[l][n]: the part of order l, at the surface of sphere i, of the unit field of order n of the other. */
static void expand(const truth_pair *p, int i, double moment[POLES][POLES])
{
    double node[NODES], weight[NODES];
    quadrature(node, weight);
    memset(moment, 0, sizeof(double[POLES][POLES]));
    for (int q = 0; q < NODES; q++) {
        const double along = p->radius[i] * node[q], across = p->radius[i] * sqrt(1 - node[q] * node[q]),
                     r = hypot(p->distance - along, across), cosine = (p->distance - along) / r;
        for (int n = 0; n < POLES; n++) {
            const double field = falls(n, p->kappa, r, p->radius[1 - i]) * legendre(n, cosine) * weight[q];
            for (int l = 0; l < POLES; l++)
                moment[l][n] += (2 * l + 1) / 2.0 * field * legendre(l, node[q]);
        }
    }
}

double truth_pair_energy(const truth_pair *p)
{
    static double moment[2][POLES][POLES];
    double outer[2][POLES] = {{0}}, inner[2][POLES];
    double energy = -p->charge[0] * p->charge[1] / (p->eps_m * (p->distance - p->offset[0] - p->offset[1]));
    for (int i = 0; i < 2; i++)
        expand(p, i, moment[i]);
    for (int sweep = 0; sweep < 200; sweep++)
        for (int i = 0; i < 2; i++)
            for (int l = 0; l < POLES; l++) {
                const double x = p->kappa * p->radius[i],
                             own = p->charge[i] * pow(p->offset[i] / p->radius[i], l) / (p->eps_m * p->radius[i]);
                double other = 0;
                for (int n = 0; n < POLES; n++)
                    other += moment[i][l][n] * outer[1 - i][n];
                outer[i][l] = (p->eps_m * (2 * l + 1) * own + (p->eps_s * slope_inwards(l, x) - p->eps_m * l) * other) /
                              (p->eps_m * l + p->eps_s * slope_outwards(l, x));
                inner[i][l] = outer[i][l] + other - own;
            }
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < POLES; l++)
            energy += p->charge[i] * inner[i][l] * pow(p->offset[i] / p->radius[i], l) / 2;
    return energy;
}
