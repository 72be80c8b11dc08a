/* Texture: cosines in Gaussian windows (Gabor 1946), whose Fourier transform is two Gaussians:
 *
 *   value (2 pi w^2)^(d/2) / 2 exp(-i 2 pi k.c) (exp(i phase - a |k - f|^2) + exp(-i phase - a |k + f|^2)),
 *   a = 2 pi^2 w^2 */
#include <math.h>
#include <stdlib.h>

#include "mri_phantom.h"

enum { POINTS = 4, SPAN = 2 * COIL_STEPS + 1 };
static const double lobe_end = 28;    /* exp(-28) < 1e-12 */
static const double window_end = 7.5; /* in widths: exp(-28) */

static double complex turn(double turns)
{
    return complex_of(cos(2 * M_PI * turns), sin(2 * M_PI * turns));
}

static double complex product(double complex a, double complex b)
{
    return complex_of(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ---- k-space ---- */

void texture_prepare(const phantom_atom *atom, int dimensions, const phantom_coils *coils, double voxels,
                     prepared_atom *out)
{
    double area = 2 * M_PI * atom->width * atom->width, farthest = 0;
    *out = (prepared_atom){.decay = 2 * M_PI * M_PI * atom->width * atom->width};
    out->amplitude = atom->value * voxels * pow(area, dimensions / 2.0) / 2 * turn(atom->phase / (2 * M_PI));
    for (int a = 0; a < 3; a++) {
        out->centre[a] = atom->centre[a];
        out->frequency[a] = atom->frequency[a];
    }
    for (int j = 0; j < coils->terms; j++) {
        const double *u = coils->shift[j];
        double steps[3];
        for (int a = 0; a < 3; a++)
            steps[a] = 0.5 * coils->step[j][a];
        out->phase[j] = turn(dot(u, atom->centre)) * exp(-out->decay * dot(steps, steps));
        farthest = fmax(farthest, sqrt(dot(steps, steps)));
    }
    out->reach = sqrt(lobe_end / out->decay) + farthest;
}

/* exp(a d n) for n = -COIL_STEPS .. COIL_STEPS: the factor by which n half cycles change exp(-a d^2), without
 * exp(-a (n/2)^2). */
static void powers(double exponent, double out[SPAN])
{
    double up = exp(exponent), down = 1 / up;
    out[COIL_STEPS] = 1;
    for (int n = 1; n <= COIL_STEPS; n++) {
        out[COIL_STEPS + n] = out[COIL_STEPS + n - 1] * up;
        out[COIL_STEPS - n] = out[COIL_STEPS - n + 1] * down;
    }
}

/* Adds one of the two Gaussians: d = k - base -+ f. */
static void add_lobe(const prepared_atom *atom, const phantom_coils *coils, const double d[3], double complex amplitude,
                     double complex sum[SIGNAL_TERMS])
{
    double squares = dot(d, d), power[3][SPAN];
    if (squares > atom->reach * atom->reach)
        return;
    for (int a = 0; a < 3; a++)
        powers(atom->decay * d[a], power[a]);
    amplitude *= exp(-atom->decay * squares);
    for (int j = 0; j < coils->terms; j++) {
        const int *n = coils->step[j];
        double size = power[0][COIL_STEPS + n[0]] * power[1][COIL_STEPS + n[1]] * power[2][COIL_STEPS + n[2]];
        sum[j] += product(amplitude, atom->phase[j] * size);
    }
}

void texture_add(const prepared_atom *atom, const phantom_coils *coils, const double k[3],
                 double complex sum[SIGNAL_TERMS])
{
    double plus[3], minus[3];
    for (int a = 0; a < 3; a++) {
        plus[a] = k[a] - coils->base[a] - atom->frequency[a];
        minus[a] = k[a] - coils->base[a] + atom->frequency[a];
    }
    double end = atom->reach * atom->reach;
    if (dot(plus, plus) > end && dot(minus, minus) > end)
        return;
    double complex at_centre = turn(-dot(k, atom->centre));
    add_lobe(atom, coils, plus, product(at_centre, atom->amplitude), sum);
    add_lobe(atom, coils, minus, product(at_centre, conj(atom->amplitude)), sum);
}

/* ---- voxels ---- */

/* The mean of exp(-x^2 / (2 w^2) + i 2 pi f x), x from the centre, over each voxel of an axis, by Gauss's rule. An
 * atom is the real part of a product of three such factors. */
static void means_along(const phantom_atom *atom, int axis, int64_t count, double complex *means)
{
    static const double at[POINTS] = {-0.430568155797026, -0.169990521792428, 0.169990521792428, 0.430568155797026};
    static const double weight[POINTS] = {0.173927422568727, 0.326072577431273, 0.326072577431273, 0.173927422568727};
    for (int64_t n = 0; n < count; n++) {
        means[n] = count == 1 ? 1 : 0;
        for (int p = 0; count > 1 && p < POINTS; p++) {
            double x = ((double)(n - count / 2) + at[p]) / (double)count - atom->centre[axis];
            means[n] += weight[p] * exp(-x * x / (2 * atom->width * atom->width)) * turn(atom->frequency[axis] * x);
        }
    }
}

/* The voxels of an axis that an atom reaches. */
static void reached(const phantom_atom *atom, int axis, int64_t count, int64_t range[2])
{
    double from = atom->centre[axis] - window_end * atom->width, to = atom->centre[axis] + window_end * atom->width;
    range[0] = (int64_t)fmax(0, floor(from * (double)count) + (double)(count / 2));
    range[1] = (int64_t)fmin((double)count, ceil(to * (double)count) + (double)(count / 2) + 1);
    if (count == 1) {
        range[0] = 0;
        range[1] = 1;
    }
}

vf_status texture_voxels(vf_context *ctx, const phantom *object, const int64_t matrix[3], float *image)
{
    double complex *means = calloc((size_t)(matrix[0] + matrix[1] + matrix[2]), sizeof *means);
    if (!means)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the texture");
    double complex *along[3] = {means, means + matrix[0], means + matrix[0] + matrix[1]};
    for (int n = 0; n < object->atoms; n++) {
        const phantom_atom *atom = &object->atom[n];
        double complex start = atom->value * turn(atom->phase / (2 * M_PI));
        int64_t range[3][2];
        for (int a = 0; a < 3; a++) {
            means_along(atom, a, matrix[a], along[a]);
            reached(atom, a, matrix[a], range[a]);
        }
        for (int64_t z = range[2][0]; z < range[2][1]; z++)
            for (int64_t y = range[1][0]; y < range[1][1]; y++) {
                double complex row = product(start, product(along[1][y], along[2][z]));
                for (int64_t x = range[0][0]; x < range[0][1]; x++)
                    image[(z * matrix[1] + y) * matrix[0] + x] += (float)creal(product(row, along[0][x]));
            }
    }
    free(means);
    return VF_OK;
}
