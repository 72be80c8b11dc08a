/* The multiplier of a mesh's spectrum in closed form: for cells, and for what is 0 beyond the margin between images. */
#include <math.h>
#include <stdlib.h>

#include "ewald_cpu.h"

static const double pi = 3.14159265358979323846;

void ewald_radial_make(const ewald_level *level, ewald_radial *out)
{
    out->most = level->at.bandwidth / level->at.cutoff;
    out->sigma = level->at.sigma;
    vf_prolate_fit(&level->psi, vf_prolate_value, 0, &out->psi);
}

double ewald_radial_value(const ewald_radial *radial, double k2)
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

double ewald_window_inverse(const ewald_level *level, double angle)
{
    const double x = 0.5 * angle * level->at.width / level->window.c;
    return 1 / (level->window.area * level->at.width * vf_prolate_value(&level->window, fmin(x, 1)));
}

typedef struct filling {
    const ewald_level *level;
    ewald_radial own, less;
    bool has_less;
    double at_zero;        /* the value for k = 0 */
    double *correction[3]; /* [length / 2 + 1] */
    void *kernel;
} filling;

static vf_status make_corrections(filling *f, const ewald_kernel_job *job)
{
    const ewald_layout *s = &f->level->at;
    double volume = job->volume;
    if (!(volume > 0)) /* of the period */
        volume =
            s->step[0] * s->step[1] * s->step[2] * (double)s->length[0] * (double)s->length[1] * (double)s->length[2];
    for (int a = 0; a < 3; a++) {
        const int64_t n = s->length[a];
        f->correction[a] = malloc((size_t)(n / 2 + 1) * sizeof(double));
        if (!f->correction[a])
            return vf_fail(f->level->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for a kernel");
        for (int64_t j = 0; j <= n / 2; j++) {
            const double angle = 2 * pi * (double)j / (double)n;
            double value = pow(ewald_window_inverse(f->level, angle), job->divisions);
            if (job->more)
                value *= ewald_window_inverse(job->more, angle * job->more->at.step[a] / s->step[a]);
            f->correction[a][j] = value * (a == 0 ? 1 / volume : 1);
        }
    }
    return VF_OK;
}

/* The wave number of index j of n, in mesh points. */
static double frequency(int64_t j, int64_t n)
{
    return 2 * pi * (double)(2 * j > n ? j - n : j) / (double)n;
}

static double transform(const filling *f, double k2)
{
    if (!(k2 > 0))
        return f->at_zero;
    return 4 * pi / k2 * (ewald_radial_value(&f->own, k2) - (f->has_less ? ewald_radial_value(&f->less, k2) : 0));
}

static void fill_row(const filling *f, int64_t x, int64_t y, void *row)
{
    const ewald_layout *s = &f->level->at;
    const int64_t *n = s->length, size = ewald_kernel_size(s, 2);
    const double fx = frequency(x, n[0]), fy = frequency(y, n[1]);
    const double both = f->correction[0][x] * f->correction[1][2 * y > n[1] ? n[1] - y : y];
    for (int64_t z = 0; z < size; z++) {
        const double fz = frequency(z, n[2]);
        double k2 = 0;
        for (int a = 0; a < 3; a++) {
            const double k = fx * s->inverse[0][a] + fy * s->inverse[1][a] + fz * s->inverse[2][a];
            k2 += k * k;
        }
        const double value = both * f->correction[2][2 * z > n[2] ? n[2] - z : z] * transform(f, k2);
        if (f->level->precision == VF_F64)
            ((double *)row)[z] = value;
        else
            ((float *)row)[z] = (float)value;
    }
}

/* The constant of the transform's part at k = 0, where 4 pi / k^2 is left out. In a cell, it is the uniform
 * background's: the integral of S, with the opposite sign; Gaussian charges without near pairs have none. */
static double constant_of(const ewald_layout *s, const vf_prolate *psi)
{
    if (s->sigma > 0)
        return s->periodic ? 0 : -2 * pi * s->sigma * s->sigma;
    return s->background - 2 * pi * psi->variance * s->cutoff * s->cutoff;
}

vf_status ewald_make_kernel(ewald_kernel_job *job, vf_array *kernel)
{
    const ewald_level *level = job->level;
    const ewald_layout *s = &level->at;
    const int64_t columns = ewald_kernel_size(s, 0), rows = ewald_kernel_size(s, 1), size = ewald_kernel_size(s, 2);
    filling f = {.level = level, .at_zero = constant_of(s, &level->psi)};
    ewald_radial_make(level, &f.own);
    if (job->less) {
        ewald_radial_make(job->less, &f.less);
        f.has_less = true;
        f.at_zero += 2 * pi * job->less->psi.variance * pow(job->less->at.cutoff, 2);
    }
    vf_status status =
        vf_array_create(vf_context_host(level->ctx), VF_SPACE_HOST, level->precision, columns * rows * size, kernel);
    if (status == VF_OK)
        status = make_corrections(&f, job);
    if (status != VF_OK)
        goto done;
    const int threads = ewald_threads(level->ctx, columns);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t x = 0; x < columns; x++)
        for (int64_t y = 0; y < rows; y++)
            fill_row(&f, x, y, (char *)kernel->data + (size_t)((x * rows + y) * size) * level->element);
done:
    for (int a = 0; a < 3; a++)
        free(f.correction[a]);
    return status;
}
