/* Coils and field map: functions whose product with the object has a Fourier transform in closed form. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mri_phantom.h"
#include "voxfield/team_size.h"

enum { MOST_TERMS = 5 };              /* along an axis */
static const double frequency = 0.5;  /* of the cosines, in cycles per field of view: 0 at the far side */
static const double asymmetry = 0.4;  /* of the two exponentials of a cosine: makes the phase vary */
static const double radius = 0.45;    /* of the ring of coils, fractions of the field of view */
static const double ring_reach = 0.5; /* rings are at heights from - to + half of this */

/* exp(i 2 pi turns) */
static double complex turn(double turns)
{
    return complex_of(cos(2 * M_PI * turns), sin(2 * M_PI * turns));
}

/* The place of coil c: on rings of at most 8 coils in 3D, each rotated against the one below. */
static void place(int64_t c, int64_t coils, int dimensions, double position[3])
{
    int64_t rings = dimensions == 3 ? (coils + 7) / 8 : 1, ring = c % rings, each = (coils + rings - 1) / rings;
    double angle = 2 * M_PI * ((double)(c / rings) + (double)ring / (double)rings) / (double)each;
    position[0] = radius * cos(angle);
    position[1] = radius * sin(angle);
    position[2] = 0;
    if (dimensions == 3 && rings == 1) /* a single ring alternates up and down, so coils also differ along z */
        position[2] = c % 2 ? -ring_reach / 2 : ring_reach / 2;
    else if (dimensions == 3)
        position[2] = ring_reach * ((double)ring / (double)(rings - 1) - 0.5);
}

/* The weights of the exponentials with frequencies 0, +, - in (1 + cos p + i asymmetry sin p) / 2, where p = 2 pi
 * frequency (r - position): 1 at the position, less everywhere else. */
static void axis_weights(double position, double lean, double complex weight[3])
{
    weight[0] = 0.5;
    weight[1] = (1 + lean) / 4 * turn(-frequency * position);
    weight[2] = (1 - lean) / 4 * turn(frequency * position);
}

/* The weights of the square: frequencies 0, +, -, 2 +, 2 -. */
static void square(double complex weight[MOST_TERMS])
{
    double complex w0 = weight[0], up = weight[1], down = weight[2];
    weight[0] = w0 * w0 + 2 * up * down;
    weight[1] = 2 * w0 * up;
    weight[2] = 2 * w0 * down;
    weight[3] = up * up;
    weight[4] = down * down;
}

/* `along`: terms along an axis. */
static void set_shifts(int dimensions, int along, phantom_coils *out)
{
    static const int steps[MOST_TERMS] = {0, 1, -1, 2, -2};
    out->terms = dimensions == 3 ? along * along * along : along * along;
    for (int j = 0; j < out->terms; j++) {
        const int step[3] = {steps[j % along], steps[j / along % along], steps[j / along / along]};
        for (int a = 0; a < 3; a++) {
            out->step[j][a] = step[a];
            out->shift[j][a] = frequency * step[a];
        }
    }
}

/* Scales the sum of squares to 1 in the middle. */
static void normalise(phantom_coils *coils)
{
    double squares = 0;
    for (int64_t c = 0; c < coils->coils; c++) {
        double complex middle = 0;
        for (int j = 0; j < coils->terms; j++)
            middle += coils->weight[c * coils->terms + j];
        squares += creal(middle) * creal(middle) + cimag(middle) * cimag(middle);
    }
    for (int64_t n = 0; n < coils->coils * coils->terms; n++)
        coils->weight[n] /= sqrt(squares);
}

vf_status coils_make(vf_context *ctx, int64_t coils, int dimensions, int power, phantom_coils *out)
{
    int along = power == 2 && dimensions == 2 ? 5 : 3;
    *out = (phantom_coils){.coils = coils, .terms = 1};
    out->weight = calloc((size_t)coils * COIL_TERMS, sizeof *out->weight);
    if (!out->weight)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld coils", (long long)coils);
    out->weight[0] = 1;
    if (coils == 1)
        return VF_OK;
    set_shifts(dimensions, along, out);
    for (int64_t c = 0; c < coils; c++) {
        double position[3];
        double complex axis[3][MOST_TERMS] = {{0}, {0}, {1, 1, 1}};
        place(c, coils, dimensions, position);
        for (int a = 0; a < (dimensions == 3 ? 3 : 2); a++)
            axis_weights(position[a], c % 2 ? asymmetry : -asymmetry, axis[a]);
        for (int a = 0; along == 5 && a < 2; a++)
            square(axis[a]);
        double complex phase = turn((double)c / (double)coils);
        for (int j = 0; j < out->terms; j++)
            out->weight[c * out->terms + j] =
                phase * axis[0][j % along] * axis[1][j / along % along] * axis[2][j / along / along];
    }
    normalise(out);
    return VF_OK;
}

void coils_free(phantom_coils *coils)
{
    free(coils->weight);
    *coils = (phantom_coils){0};
}

/* ---- the object's phase ---- */

double complex phantom_phase_at(const phantom_phase *phase, const double r[3])
{
    double turns = phase->turns;
    for (int a = 0; a < 3; a++)
        turns += phase->shift[a] * r[a];
    double complex bent = complex_of(1, phase->bend * cos(2 * M_PI * frequency * r[1] + phase->bend_phase));
    return turn(turns) * bent;
}

/* The term with these steps; added if missing. */
static int term_of(phantom_coils *coils, const int step[3])
{
    for (int j = 0; j < coils->terms; j++)
        if (memcmp(coils->step[j], step, sizeof coils->step[j]) == 0)
            return j;
    memcpy(coils->step[coils->terms], step, sizeof coils->step[0]);
    for (int a = 0; a < 3; a++)
        coils->shift[coils->terms][a] = coils->base[a] + frequency * step[a];
    return coils->terms++;
}

/* 1 + i bend cos(p) = 1 + i bend / 2 (exp(ip) + exp(-ip)): one term becomes three. */
vf_status coils_with_phase(vf_context *ctx, const phantom_coils *coils, const phantom_phase *phase, phantom_coils *out)
{
    bool bent = phase->bend != 0;
    double complex sides = complex_of(0, phase->bend / 2), all = phase->turns != 0 ? turn(phase->turns) : 1;
    double complex factor[3] = {all, all * sides * turn(phase->bend_phase / (2 * M_PI)),
                                all * sides * turn(-phase->bend_phase / (2 * M_PI))};
    int at[COIL_TERMS][3];
    *out = (phantom_coils){.coils = coils->coils};
    memcpy(out->base, phase->shift, sizeof out->base);
    for (int n = 0; n < (bent ? 3 : 1); n++) /* the coils' own terms first, in their order */
        for (int j = 0; j < coils->terms; j++) {
            int step[3] = {coils->step[j][0], coils->step[j][1] + (n == 1) - (n == 2), coils->step[j][2]};
            at[j][n] = term_of(out, step);
        }
    out->weight = calloc((size_t)(coils->coils * out->terms), sizeof *out->weight);
    if (!out->weight)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld coils", (long long)coils->coils);
    for (int64_t c = 0; c < coils->coils; c++)
        for (int j = 0; j < coils->terms; j++)
            for (int n = 0; n < (bent ? 3 : 1); n++)
                out->weight[c * out->terms + at[j][n]] += factor[n] * coils->weight[c * coils->terms + j];
    return VF_OK;
}

/* ---- maps ---- */

/* Sums the terms that differ along y and z. The terms along x remain, in the order of steps 0, 1, -1, 2, -2. */
static void one_row(const phantom_coils *coils, int64_t coil, const double r[3], double complex along_x[MOST_TERMS])
{
    for (int j = 0; j < coils->terms; j++) {
        const double *u = coils->shift[j];
        int step = coils->step[j][0];
        along_x[step > 0 ? 2 * step - 1 : -2 * step] +=
            coils->weight[coil * coils->terms + j] * turn(u[1] * r[1] + u[2] * r[2]);
    }
}

void coils_voxels(vf_context *ctx, const phantom_coils *coils, const int64_t matrix[3], float complex *maps)
{
    int64_t rows = matrix[1] * matrix[2];
#pragma omp parallel for num_threads(vf_threads_for(ctx, 10 * matrix[0] * rows * coils->coils)) schedule(static)
    for (int64_t line = 0; line < rows * coils->coils; line++) {
        int64_t row = line % rows;
        double r[3] = {0, (double)(row % matrix[1] - matrix[1] / 2) / (double)matrix[1],
                       (double)(row / matrix[1] - matrix[2] / 2) / (double)matrix[2]};
        double complex along_x[MOST_TERMS] = {0};
        one_row(coils, line / rows, r, along_x);
        for (int64_t x = 0; x < matrix[0]; x++) {
            double complex forward = turn(frequency * (double)(x - matrix[0] / 2) / (double)matrix[0]);
            double complex value = along_x[0] + along_x[1] * forward + along_x[2] * conj(forward);
            if (along_x[3] != 0 || along_x[4] != 0)
                value += along_x[3] * forward * forward + along_x[4] * conj(forward * forward);
            maps[line * matrix[0] + x] = (float complex)value;
        }
    }
}

void field_make(double hertz, int dimensions, phantom_field *out)
{
    /* The parts sum to 2: from -hertz to hertz between opposite corners, which are 1 apart along each axis. */
    static const double part[2][3] = {{1.2, 0.8, 0}, {1, 0.6, 0.4}};
    for (int a = 0; a < 3; a++)
        out->slope[a] = hertz * part[dimensions - 2][a];
}

void field_voxels(const phantom_field *field, const int64_t matrix[3], float *map)
{
    int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    for (int64_t n = 0; n < voxels; n++) {
        int64_t index[3] = {n % matrix[0], n / matrix[0] % matrix[1], n / matrix[0] / matrix[1]};
        double value = 0;
        for (int a = 0; a < 3; a++)
            value += field->slope[a] * (double)(index[a] - matrix[a] / 2) / (double)matrix[a];
        map[n] = (float)value;
    }
}
