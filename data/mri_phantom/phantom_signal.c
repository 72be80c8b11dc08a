/* The signal: the Fourier transform of ellipsoids in closed form (Koay, Sarlls and Ozarslan, Magn. Reson. Med. 58
 * (2007) 430; ellipses: Van de Walle et al., IEEE Trans. Med. Imaging 19 (2000) 1235).
 *
 * The points of an ellipsoid are c + L' s with |s| <= 1, where the rows of L are its semi-axes. With q = L k,
 *
 *   F(k) = value det(L) exp(-i 2 pi k.c) ball(2 pi |q|).
 *
 * A coil's exponential exp(i 2 pi u.r) replaces k by k - u. Then L u is subtracted from q, and the phase factor gains
 * exp(i 2 pi u.c); both are computed in advance. */
#include <math.h>
#include <stdlib.h>

#include "mri_phantom.h"

/* Below x = 1, the closed form has an error of up to eps / x^2; the series there has terms down to eps. */
double phantom_ball_transform(double x)
{
    if (x >= 1)
        return 4 * M_PI * (sin(x) - x * cos(x)) / (x * x * x);
    double term = 1.0 / 3, sum = 0; /* (-1)^n x^(2n) 2 (n + 1) / (2n + 3)! */
    for (int n = 1; n <= 10; n++) {
        sum += term;
        term *= -x * x / (2.0 * n * (2.0 * n + 3));
    }
    return 4 * M_PI * sum;
}

double phantom_disk_transform(double x)
{
    if (x >= 1e-4)
        return 2 * M_PI * j1(x) / x;
    return M_PI * (1 - x * x / 8);
}

/* What does not depend on the sample, for one shape. */
typedef struct prepared_shape {
    double amplitude;
    double hertz;
    double centre[3];
    double semi_axis[3][3];             /* L */
    double shift[SIGNAL_TERMS][3];      /* L u */
    double complex phase[SIGNAL_TERMS]; /* exp(i 2 pi u.c) */
} prepared_shape;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Without the check for infinities that C requires of *, which is a function call. */
static double complex product(double complex a, double complex b)
{
    return complex_of(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

static double complex turn(double turns)
{
    return complex_of(cos(2 * M_PI * turns), sin(2 * M_PI * turns));
}

static void prepare(const phantom_shape *shape, int dimensions, const phantom_coils *coils, double voxels,
                    prepared_shape *out)
{
    double size = dimensions == 3 ? shape->semi[0] * shape->semi[1] * shape->semi[2] : shape->semi[0] * shape->semi[1];
    out->amplitude = shape->value * voxels * size;
    if (shape->point) /* has the weight of one voxel */
        out->amplitude = shape->value / (dimensions == 3 ? phantom_ball_transform(0) : phantom_disk_transform(0));
    out->hertz = shape->hertz;
    for (int axis = 0; axis < 3; axis++) {
        out->centre[axis] = shape->centre[axis];
        for (int a = 0; a < 3; a++)
            out->semi_axis[axis][a] = shape->semi[axis] * shape->direction[axis][a];
    }
    for (int j = 0; j < coils->terms; j++) {
        for (int axis = 0; axis < 3; axis++)
            out->shift[j][axis] = dot(out->semi_axis[axis], coils->shift[j]);
        out->phase[j] = turn(dot(coils->shift[j], shape->centre));
    }
}

/* Adds the shape's transform at k - u_j, times `now`, to sum[j]. */
static void add_shape(const prepared_shape *shape, int dimensions, int terms, const double k[3], double complex now,
                      double complex *sum)
{
    double q[3];
    for (int axis = 0; axis < 3; axis++)
        q[axis] = dot(shape->semi_axis[axis], k);
    double complex at_centre = shape->amplitude * turn(-dot(k, shape->centre));
    if (shape->hertz != 0)
        at_centre = product(at_centre, now);
    for (int j = 0; j < terms; j++) {
        double x = q[0] - shape->shift[j][0], y = q[1] - shape->shift[j][1], z = q[2] - shape->shift[j][2];
        double size = 2 * M_PI * sqrt(x * x + y * y + z * z);
        double value = dimensions == 3 ? phantom_ball_transform(size) : phantom_disk_transform(size);
        sum[j] += value * product(at_centre, shape->phase[j]);
    }
}

/* All parts of the object, prepared. */
typedef struct prepared_object {
    int dimensions, shapes, atoms;
    const phantom_coils *coils; /* including the object's phase */
    prepared_shape *shape;
    prepared_atom *atom;
} prepared_object;

static vf_status prepare_object(vf_context *ctx, const phantom *object, const phantom_coils *coils, double voxels,
                                prepared_object *out)
{
    *out = (prepared_object){object->dimensions, object->shapes, object->atoms, coils, NULL, NULL};
    out->shape = calloc((size_t)object->shapes + 1, sizeof *out->shape);
    out->atom = calloc((size_t)object->atoms + 1, sizeof *out->atom);
    if (!out->shape || !out->atom)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the phantom");
    for (int n = 0; n < object->shapes; n++)
        prepare(&object->shape[n], object->dimensions, coils, voxels, &out->shape[n]);
    for (int n = 0; n < object->atoms; n++)
        texture_prepare(&object->atom[n], object->dimensions, coils, voxels, &out->atom[n]);
    return VF_OK;
}

/* Adds the object's transform at k minus each of the coils' shifts. */
static void add_all(const prepared_object *object, const double k[3], double time, double complex sum[SIGNAL_TERMS])
{
    for (int n = 0; n < object->shapes; n++) {
        const prepared_shape *shape = &object->shape[n];
        double complex now = shape->hertz == 0 ? 1 : turn(-shape->hertz * time);
        add_shape(shape, object->dimensions, object->coils->terms, k, now, sum);
    }
    for (int n = 0; n < object->atoms; n++)
        texture_add(&object->atom[n], object->coils, k, sum);
}

vf_status phantom_signal(vf_context *ctx, const phantom *object, const phantom_coils *coils, const phantom_field *field,
                         const phantom_trajectory *trajectory, int64_t set, const int64_t matrix[3],
                         float complex *data)
{
    phantom_coils seen;
    prepared_object prepared = {0};
    const float *at = trajectory->k + 3 * set * trajectory->samples;
    double voxels = (double)matrix[0] * (double)matrix[1] * (double)matrix[2];
    vf_status status = coils_with_phase(ctx, coils, &object->phase, &seen);
    if (status == VF_OK)
        status = prepare_object(ctx, object, &seen, voxels, &prepared);
    if (status != VF_OK)
        goto done;
#pragma omp parallel for num_threads(vf_context_threads(ctx)) schedule(dynamic, 256)
    for (int64_t m = 0; m < trajectory->samples; m++) {
        double k[3];
        double complex sum[SIGNAL_TERMS] = {0};
        if (vf_cancelled(ctx))
            continue;
        for (int a = 0; a < 3; a++)
            k[a] = at[3 * m + a] + field->slope[a] * trajectory->time[m];
        add_all(&prepared, k, trajectory->time[m], sum);
        for (int64_t c = 0; c < seen.coils; c++) {
            double complex total = 0;
            for (int j = 0; j < seen.terms; j++)
                total += product(seen.weight[c * seen.terms + j], sum[j]);
            data[c * trajectory->samples + m] = (float complex)total;
        }
    }
    if (vf_cancelled(ctx))
        status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
done:
    free(prepared.shape);
    free(prepared.atom);
    coils_free(&seen);
    return status;
}
