/* The Poisson-Boltzmann equation of a charged sphere in salt, in one dimension, by plain exponentials: what the kernel is compared with.
 *
 * A charge Q at the centre of a sphere of radius R and eps_m; in the solvent, ions keep `stern` more away, so beyond a = R + stern
 *
 *     (r^2 phi')' = r^2 kappa^2 f(phi),   eps_s a^2 phi'(a) = -Q,   phi = 0 far away
 *
 * Finite volumes on points that are denser at a, and Newton's method from the linear solution: it needs no damping, since f is convex
 * above and below 0 and the matrix monotone. RADIAL_POINTS points leave an error of about 1e-6. */
#ifndef RADIAL_FIXTURE_H
#define RADIAL_FIXTURE_H

#include <math.h>

#include "context_fixture.h"
#include "solvent.h"

enum { RADIAL_POINTS = 20000 };

typedef struct radial {
    double charge, radius, contact; /* Q, R, a */
    vf_solvent_options o;
    double r[RADIAL_POINTS], phi[RADIAL_POINTS];
} radial;

/* f and its derivative; of the linear equation, phi and 1. */
UNWATCHED static inline double radial_f(const vf_solvent_options *o, double phi, double *slope)
{
    double sum = 0, steep = 0, strength = 0;
    *slope = 1;
    if (!o->non_linear)
        return phi;
    for (int i = 0; i < o->ions; i++) {
        const double z = o->ion[i].charge, c = o->ion[i].concentration, e = exp(-z * o->bjerrum * phi);
        sum -= c * z * e;
        steep += c * z * z * e;
        strength += c * z * z;
    }
    *slope = steep / strength;
    return sum / (strength * o->bjerrum);
}

/* The volume and the faces of point j, over 4 pi. */
UNWATCHED UNWATCHED static inline double radial_face(const radial *s, int j)
{
    const double middle = (s->r[j] + s->r[j + 1]) / 2;
    return middle * middle / (s->r[j + 1] - s->r[j]);
}

UNWATCHED static inline double radial_volume(const radial *s, int j)
{
    const double low = j == 0 ? s->r[0] : (s->r[j - 1] + s->r[j]) / 2, high = (s->r[j] + s->r[j + 1]) / 2;
    return (high * high * high - low * low * low) / 3;
}

/* A step of Newton's method; returns its size. The last point is 0. */
UNWATCHED static inline double radial_step(radial *s)
{
    static double upper[RADIAL_POINTS], right[RADIAL_POINTS];
    const double kappa2 = s->o.kappa * s->o.kappa;
    double largest = 0, before = 0;
    for (int j = 0; j < RADIAL_POINTS - 1; j++) { /* elimination */
        double slope;
        const double f = radial_f(&s->o, s->phi[j], &slope), volume = radial_volume(s, j);
        const double low = j ? radial_face(s, j - 1) : 0, high = radial_face(s, j);
        double b = high * (s->phi[j + 1] - s->phi[j]) - volume * kappa2 * f;
        b += j ? low * (s->phi[j - 1] - s->phi[j]) : s->charge / s->o.solvent_dielectric;
        const double diagonal = low + high + volume * kappa2 * slope - (j ? low * upper[j - 1] : 0);
        upper[j] = high / diagonal;
        right[j] = (b + low * before) / diagonal;
        before = right[j];
    }
    double next = 0;
    for (int j = RADIAL_POINTS - 2; j >= 0; j--) {
        next = right[j] + upper[j] * next;
        s->phi[j] += next;
        largest = fmax(largest, fabs(next));
    }
    return largest;
}

static inline void radial_solve(radial *s, double charge, double radius, const vf_solvent_options *o)
{
    *s = (radial){.charge = charge, .radius = radius, .contact = radius + o->stern, .o = *o};
    const double reach = 25 / o->kappa, bend = 6;
    for (int j = 0; j < RADIAL_POINTS; j++)
        s->r[j] = s->contact + reach * expm1(bend * j / (RADIAL_POINTS - 1)) / expm1(bend);
    s->o.non_linear = false;
    radial_step(s);
    s->o = *o;
    double step = 1;
    for (int n = 0; step > 1e-13 * fabs(s->phi[0]); n++) {
        step = radial_step(s);
        assert_true(isfinite(step) && n < 200);
    }
}

/* phi at r > R. */
static inline double radial_phi(const radial *s, double r)
{
    int low = 0, high = RADIAL_POINTS - 1;
    if (r <= s->contact)
        return s->phi[0] + s->charge / s->o.solvent_dielectric * (1 / r - 1 / s->contact);
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        *(s->r[middle] <= r ? &low : &high) = middle;
    }
    const double part = (r - s->r[low]) / (s->r[high] - s->r[low]);
    return s->phi[low] + part * (s->phi[high] - s->phi[low]);
}

/* The parts of the energy of solvation by solvent.h's formulas. */
static inline vf_solvent_energy radial_energy(const radial *s)
{
    const double u = radial_phi(s, s->radius) - s->charge / (s->o.molecule_dielectric * s->radius);
    const double scale = s->o.solvent_dielectric * s->o.kappa * s->o.kappa;
    double work = 0, ions = 0, osmotic = 0, strength = 0;
    for (int i = 0; i < s->o.ions; i++)
        strength += s->o.ion[i].charge * s->o.ion[i].charge * s->o.ion[i].concentration;
    for (int j = 0; j < RADIAL_POINTS - 1; j++) {
        double slope, pressure = s->phi[j] * s->phi[j] / 2;
        const double density = -scale * radial_f(&s->o, s->phi[j], &slope), volume = radial_volume(s, j);
        if (s->o.non_linear) {
            pressure = 0;
            for (int i = 0; i < s->o.ions; i++)
                pressure += s->o.ion[i].concentration / strength *
                            (exp(-s->o.ion[i].charge * s->o.bjerrum * s->phi[j]) - 1) / (s->o.bjerrum * s->o.bjerrum);
        }
        work += volume * density * s->phi[j];
        ions += volume * density;
        osmotic += volume * scale * pressure;
    }
    const double fixed = s->charge * u, stress = -(fixed + work) / 2;
    return (vf_solvent_energy){fixed + stress - osmotic, fixed, stress, -osmotic, ions};
}

#endif
