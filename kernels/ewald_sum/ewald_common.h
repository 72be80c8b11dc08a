/* The steps that backends share: levels, windows, multipliers of spectra, targets of interpolation. Not installed.
 * Functions marked EWALD_EVERYWHERE run on GPUs, too. */
#ifndef VOXFIELD_EWALD_COMMON_H
#define VOXFIELD_EWALD_COMMON_H

#include <math.h>

#include "ewald_backend.h"

#ifdef __CUDACC__
#define EWALD_EVERYWHERE static inline __host__ __device__
#else
#define EWALD_EVERYWHERE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define EWALD_PI 3.14159265358979323846

/* A layout with its mesh. */
typedef struct ewald_level {
    ewald_layout at;
    vf_context *ctx;
    vf_dtype precision;
    size_t element; /* bytes of a number */
    vf_prolate psi, window;
    vf_prolate_powers psi_powers, window_powers;
    const struct ewald_simd *simd; /* on a CPU */
    int64_t pitch;                 /* numbers from a row of the mesh to the next */
    vf_array mesh; /* [mesh z][mesh y][pitch], of the device: the potential in the end; on a CPU, first the charges and
                      their spectrum */
} ewald_level;

/* A level without its mesh, which has ewald_level_points. */
void ewald_level_make(vf_context *ctx, const ewald_layout *layout, vf_dtype precision, int64_t pitch, ewald_level *out);
static inline int64_t ewald_level_points(const ewald_level *level)
{
    return level->at.mesh[2] * level->at.mesh[1] * level->pitch;
}

/* ---- charges ---- */

EWALD_EVERYWHERE double ewald_far_end(const vf_grid *grid, int axis)
{
    return grid->origin[axis] + grid->spacing[axis] * (double)(grid->counts[axis] - 1);
}

/* `q`: times the scale. */
EWALD_EVERYWHERE bool ewald_in_range(const double r[3], double q)
{
    return fabs(r[0]) <= VF_COULOMB_MAX_COORDINATE && fabs(r[1]) <= VF_COULOMB_MAX_COORDINATE &&
           fabs(r[2]) <= VF_COULOMB_MAX_COORDINATE && isfinite((float)q);
}

/* The least n of ewald_summary's `within` that counts a charge. */
EWALD_EVERYWHERE int ewald_distance_class(const vf_grid *grid, const double r[3])
{
    double outside = 0;
    for (int a = 0; a < 3; a++)
        outside = fmax(outside, fmax(grid->origin[a] - r[a], r[a] - ewald_far_end(grid, a)) / grid->spacing[a]);
    const int n = outside > 0 ? ilogb(outside) + 33 : 0;
    return n < 0 ? 0 : n < EWALD_DISTANCES ? n : EWALD_DISTANCES - 1;
}

/* The rms of a potential over the grid from its samples, rather too small: a tolerance is relative to it. Squares have
 * a long tail, for 1 / r^2 exceeds x in a part of the grid that falls as x^(-3/2), and one dense group of charges may
 * have eight samples, where a fair share is less than two. So the eight largest count as much as the ninth. That
 * takes a quarter of the sum of squares about a single charge. */
double ewald_rms_of_samples(double values[EWALD_SAMPLES * EWALD_SAMPLES * EWALD_SAMPLES]);

/* ---- windows ---- */

/* The first mesh point of the window around mesh coordinate u. Point p of it lies p - width / 2 + *offset from u. */
EWALD_EVERYWHERE int64_t ewald_start(int width, double u, double *offset)
{
    const double first = ceil(u - 0.5 * width);
    *offset = first + 0.5 * width - u;
    return (int64_t)first;
}

/* window(p - width / 2 + offset) */
EWALD_EVERYWHERE double ewald_window_value(const vf_prolate_powers *window, int width, int p, double offset)
{
    const double half = 0.5 * width, x = (p - half + offset) / half, t = 2 * x * x - 1;
    double sum = 0;
    for (int k = window->degree; k >= 0; k--)
        sum = sum * t + window->coefficient[k];
    return sum;
}

/* n modulo a period. */
EWALD_EVERYWHERE int64_t ewald_wrapped(int64_t n, int64_t period)
{
    return (n % period + period) % period;
}

/* The first point of the window of a charge at r along each axis, and offsets as of ewald_start. */
EWALD_EVERYWHERE void ewald_locate(const ewald_layout *s, const double r[3], int64_t start[3], double offset[3])
{
    for (int a = 0; a < 3; a++) {
        double u = 0;
        for (int b = a; b < 3; b++)
            u += s->inverse[a][b] * (r[b] - s->origin[b]);
        start[a] = ewald_start(s->width, u, &offset[a]);
        if (s->periodic)
            start[a] = ewald_wrapped(start[a], s->mesh[a]);
    }
}

/* A lattice of points to interpolate at. */
typedef struct ewald_targets {
    int64_t counts[3];
    double first[3], step[3][3]; /* mesh coordinate i of point n: first[i] + sum_a step[i][a] n_a */
    bool depends[3];             /* a coordinate depends on other axes */
    bool skewed;                 /* one does */
    int64_t *start[3];           /* on a CPU: [counts] the first mesh point of each window; NULL if it depends */
    void *weights[3];            /* on a CPU: [counts][width], of the level's precision */
} ewald_targets;

/* The mesh coordinate of axis `axis` at a target. */
EWALD_EVERYWHERE double ewald_coordinate(const double first[3], const double step[3][3], int axis, const int64_t at[3])
{
    double u = first[axis];
    for (int b = 0; b < 3; b++)
        u += step[axis][b] * (double)at[b];
    return u;
}

/* Targets at origin + n . edge, without windows. */
void ewald_targets_place(const ewald_level *level, const int64_t counts[3], const double origin[3],
                         const double edge[3][3], ewald_targets *out);

/* ---- multipliers of a mesh's spectrum ---- */

/* What a multiplier is made of: the transform of Phi(r / rc) / r of its level, less that of another one, divided by
 * those of windows. */
typedef struct ewald_kernel_job {
    const ewald_level *level;
    const ewald_level *less; /* NULL: nothing */
    int divisions;           /* by the level's own window's transform, in 1 to 2 */
    const ewald_level *more; /* also divided by this level's window's, `times`; NULL: not */
    int times;
    double volume;       /* of the cell; 0: in free space */
    uint64_t work_bytes; /* set: memory used meanwhile */
} ewald_kernel_job;

/* The level's own part of the transform at k^2, without windows: psi(k rc / c), or exp(-sigma^2 k^2 / 2). */
typedef struct ewald_radial {
    vf_prolate_powers psi;
    double most; /* c / rc: beyond, it is 0 */
    double sigma;
} ewald_radial;

EWALD_EVERYWHERE double ewald_radial_value(const ewald_radial *radial, double k2)
{
    const double most2 = radial->most * radial->most, t = 2 * k2 / most2 - 1;
    double psi = 0;
    if (k2 > most2)
        return 0;
    if (radial->sigma > 0)
        return exp(-0.5 * k2 * radial->sigma * radial->sigma);
    for (int n = radial->psi.degree; n >= 0; n--)
        psi = psi * t + radial->psi.coefficient[n];
    return psi;
}

/* In closed form: for cells, and for what is 0 beyond the margin between images. */
typedef struct ewald_closed_form {
    ewald_radial own, less;
    bool has_less;
    double at_zero;       /* the transform for k = 0 */
    double inverse[3][3]; /* of the layout */
    int64_t length[3];
    double *correction[3]; /* [length / 2 + 1] 1 / the windows' transforms, and the first also / the volume */
} ewald_closed_form;

/* ewald_closed_form_free is always allowed. */
VF_MUST_CHECK vf_status ewald_closed_form_make(const ewald_kernel_job *job, ewald_closed_form *out);
void ewald_closed_form_free(ewald_closed_form *f);

/* The wave number of index j of n, in mesh points. */
EWALD_EVERYWHERE double ewald_frequency(int64_t j, int64_t n)
{
    return 2 * EWALD_PI * (double)(2 * j > n ? j - n : j) / (double)n;
}

/* The transform without windows at indices j along the axes. */
EWALD_EVERYWHERE double ewald_closed_form_value(const ewald_closed_form *f, const int64_t j[3])
{
    double k2 = 0, w[3];
    for (int a = 0; a < 3; a++)
        w[a] = ewald_frequency(j[a], f->length[a]);
    for (int a = 0; a < 3; a++) {
        const double k = w[0] * f->inverse[0][a] + w[1] * f->inverse[1][a] + w[2] * f->inverse[2][a];
        k2 += k * k;
    }
    if (!(k2 > 0))
        return f->at_zero;
    return 4 * EWALD_PI / k2 * (ewald_radial_value(&f->own, k2) - (f->has_less ? ewald_radial_value(&f->less, k2) : 0));
}

/* In free space without `less`: samples of the transform of the law truncated at R, for a mesh that is long enough for
 * no image to be within R. */
typedef struct ewald_truncated {
    ewald_radial radial;
    double radius;         /* R */
    int64_t samples[3];    /* period in mesh points */
    int64_t count[3];      /* wave numbers 0 <= j < count that matter */
    double unit[3];        /* from a wave number to the next */
    double *correction[3]; /* [count] 1 / the windows' transforms, and other factors of the axis */
} ewald_truncated;

/* Sets radius, samples, count and unit. */
void ewald_truncated_sizes(const ewald_layout *s, ewald_truncated *out);

/* ewald_truncated_free is always allowed. */
VF_MUST_CHECK vf_status ewald_truncated_make(const ewald_kernel_job *job, ewald_truncated *out);
void ewald_truncated_free(ewald_truncated *t);

/* The transform of the law truncated at R, without windows. */
EWALD_EVERYWHERE double ewald_truncated_value(const ewald_truncated *t, double k2)
{
    const double half = sin(0.5 * sqrt(k2) * t->radius), zero = 2 * EWALD_PI * t->radius * t->radius;
    return ewald_radial_value(&t->radial, k2) * (k2 > 0 ? 8 * EWALD_PI * half * half / k2 : zero);
}

#ifdef __cplusplus
}
#endif
#endif
