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
#include "voxfield/team_size.h"

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

/* ---- the transforms as tables ---- */

/* A transform in [n / 4, (n + 1) / 4] as a polynomial of t in [-1, 1], by values at the zeros of T_8. Each derivative
 * is at most the volume of ball or disk, so the error is at most 2 / 8! (1 / 16)^8 = 1.2e-14 of that. */
enum { TERMS = 8, CELLS = 4 };
typedef struct transform_table {
    int64_t cells;
    double (*chebyshev)[TERMS];
} transform_table;

static vf_status make_table(vf_context *ctx, int dimensions, double end, transform_table *out)
{
    double at[TERMS], value[TERMS], basis[TERMS][TERMS];
    out->cells = (int64_t)(end * CELLS) + 2; /* the last is for rounding errors of x */
    out->chebyshev = malloc((size_t)out->cells * sizeof *out->chebyshev);
    if (!out->chebyshev)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the phantom's transform");
    for (int p = 0; p < TERMS; p++) {
        at[p] = cos(M_PI * (p + 0.5) / TERMS);
        for (int m = 0; m < TERMS; m++)
            basis[m][p] = (m == 0 ? 1.0 : 2.0) / TERMS * cos(M_PI * m * (p + 0.5) / TERMS);
    }
    for (int64_t n = 0; n < out->cells; n++) {
        for (int p = 0; p < TERMS; p++) {
            double x = ((double)n + 0.5 + at[p] / 2) / CELLS;
            value[p] = dimensions == 3 ? phantom_ball_transform(x) : phantom_disk_transform(x);
        }
        for (int m = 0; m < TERMS; m++) {
            double sum = 0;
            for (int p = 0; p < TERMS; p++)
                sum += basis[m][p] * value[p];
            out->chebyshev[n][m] = sum;
        }
    }
    return VF_OK;
}

/* By Clenshaw's recurrence. */
static double look_up(const transform_table *table, double x)
{
    int64_t cell = (int64_t)(x * CELLS);
    const double *c = table->chebyshev[cell];
    double twice = 4 * (x * CELLS - (double)cell) - 2, next = c[TERMS - 1], after = 0;
    for (int m = TERMS - 2; m > 0; m--) {
        double now = c[m] + twice * next - after;
        after = next;
        next = now;
    }
    return c[0] + twice / 2 * next - after;
}

/* The largest x of any shape, sample and coil. */
static double table_end(const phantom *object, const phantom_coils *coils, const phantom_field *field,
                        const phantom_trajectory *trajectory, const float *at)
{
    double k_squared = 0, shift = 0, semi = 0;
    for (int64_t m = 0; m < trajectory->samples; m++) {
        double k[3];
        for (int a = 0; a < 3; a++)
            k[a] = at[3 * m + a] + field->slope[a] * trajectory->time[m];
        k_squared = fmax(k_squared, k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
    }
    for (int j = 0; j < coils->terms; j++)
        shift = fmax(shift, hypot(hypot(coils->shift[j][0], coils->shift[j][1]), coils->shift[j][2]));
    for (int n = 0; n < object->shapes; n++)
        for (int a = 0; a < object->dimensions; a++)
            semi = fmax(semi, object->shape[n].semi[a]);
    return 2 * M_PI * semi * (sqrt(k_squared) + shift);
}

/* ---- shapes ---- */

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
static void add_shape(const prepared_shape *shape, const transform_table *table, int terms, const double k[3],
                      double complex now, double complex *sum)
{
    double q[3];
    for (int axis = 0; axis < 3; axis++)
        q[axis] = dot(shape->semi_axis[axis], k);
    double complex at_centre = shape->amplitude * turn(-dot(k, shape->centre));
    if (shape->hertz != 0)
        at_centre = product(at_centre, now);
    for (int j = 0; j < terms; j++) {
        double x = q[0] - shape->shift[j][0], y = q[1] - shape->shift[j][1], z = q[2] - shape->shift[j][2];
        double value = look_up(table, 2 * M_PI * sqrt(x * x + y * y + z * z));
        sum[j] += value * product(at_centre, shape->phase[j]);
    }
}

/* All parts of the object, prepared. */
typedef struct prepared_object {
    int shapes, atoms;
    const phantom_coils *coils; /* including the object's phase */
    transform_table table;
    prepared_shape *shape;
    prepared_atom *atom;
} prepared_object;

static vf_status prepare_object(vf_context *ctx, const phantom *object, const phantom_coils *coils, double voxels,
                                double end, prepared_object *out)
{
    *out = (prepared_object){.shapes = object->shapes, .atoms = object->atoms, .coils = coils};
    out->shape = calloc((size_t)object->shapes + 1, sizeof *out->shape);
    out->atom = calloc((size_t)object->atoms + 1, sizeof *out->atom);
    if (!out->shape || !out->atom)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the phantom");
    for (int n = 0; n < object->shapes; n++)
        prepare(&object->shape[n], object->dimensions, coils, voxels, &out->shape[n]);
    for (int n = 0; n < object->atoms; n++)
        texture_prepare(&object->atom[n], object->dimensions, coils, voxels, &out->atom[n]);
    return make_table(ctx, object->dimensions, end, &out->table);
}

/* Adds the object's transform at k minus each of the coils' shifts. */
static void add_all(const prepared_object *object, const double k[3], double time, double complex sum[SIGNAL_TERMS])
{
    for (int n = 0; n < object->shapes; n++) {
        const prepared_shape *shape = &object->shape[n];
        double complex now = shape->hertz == 0 ? 1 : turn(-shape->hertz * time);
        add_shape(shape, &object->table, object->coils->terms, k, now, sum);
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
    VF_TRY(status,
           prepare_object(ctx, object, &seen, voxels, table_end(object, &seen, field, trajectory, at), &prepared));
    if (status != VF_OK)
        goto done;
#pragma omp parallel for num_threads(vf_threads_for(ctx, 1000 * trajectory->samples)) schedule(dynamic, 256)
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
    free(prepared.table.chebyshev);
    coils_free(&seen);
    return status;
}
