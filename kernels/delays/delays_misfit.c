/* How well one coarse image per coil explains the samples, for given delays; and the derivatives. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "delays_internal.h"
#include "voxfield/dense.h"
#include "voxfield/team_size.h"

static const double WEIGHT = 1e-4; /* lambda, relative to the diagonal of A^H A: the number of samples */

typedef struct fit {
    delay_problem *p;
    central_samples *s;
    double lambda;
    double complex *factor; /* [point][point] L of A^H A + lambda = L L^H */
    double *rows;           /* [point][re, im][point] for the rows of A^H A */
} fit;

/* What one coil adds, and its memory. Real and imaginary parts are apart. */
typedef struct coil_part {
    delay_misfit sum;
    double *x;     /* [1 + unknowns][re, im][point] */
    double *field; /* [unknowns + 1][re, im][sample]: derivatives of A x, then d - A x */
} coil_part;

/* k minus S step. */
static void moved(const delay_problem *p, const central_samples *s, int64_t m, const double *delay, double k[3])
{
    for (int a = 0; a < 3; a++)
        k[a] = s->k[3 * m + a];
    for (int u = 0; u < p->unknowns; u++) {
        const int a = p->element[u].row, b = p->element[u].column;
        k[a] -= delay[u] * s->step[3 * m + b];
        if (a != b)
            k[b] -= delay[u] * s->step[3 * m + a];
    }
}

static void make_matrix(const fit *f, const double *delay)
{
    const delay_problem *p = f->p;
    central_samples *s = f->s;
    const int points = p->points;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(p->ctx, 20 * s->count * points))
    for (int64_t m = 0; m < s->count; m++) {
        double k[3];
        moved(p, s, m, delay, k);
        for (int n = 0; n < points; n++) {
            const double *r = p->point + 3 * n;
            const double angle = -2 * M_PI * (k[0] * r[0] + k[1] * r[1] + k[2] * r[2]);
            s->a_re[m * points + n] = cos(angle);
            s->a_im[m * points + n] = sin(angle);
        }
    }
}

/* The sums over samples of conj(A_mn) v_m, for n < count; v_m at m * stride. */
static void adjoint(const fit *f, int count, const double *re, const double *im, int64_t stride,
                    double *restrict sum_re, double *restrict sum_im)
{
    const int points = f->p->points;
    for (int n = 0; n < count; n++)
        sum_re[n] = sum_im[n] = 0;
    for (int64_t m = 0; m < f->s->count; m++) {
        const double *a_re = f->s->a_re + m * points, *a_im = f->s->a_im + m * points;
        const double x = re[m * stride], y = im[m * stride];
        for (int n = 0; n < count; n++) {
            sum_re[n] += a_re[n] * x + a_im[n] * y;
            sum_im[n] += a_re[n] * y - a_im[n] * x;
        }
    }
}

/* The lower triangle of A^H A + lambda. */
static void make_normal(const fit *f)
{
    const int points = f->p->points;
#pragma omp parallel for schedule(dynamic, 4) num_threads(vf_threads_for(f->p->ctx, f->s->count *points *points))
    for (int n = points - 1; n >= 0; n--) {
        double *re = f->rows + (size_t)2 * points * n, *im = re + points;
        adjoint(f, n + 1, f->s->a_re + n, f->s->a_im + n, points, re, im);
        for (int q = 0; q <= n; q++) /* the sum of conj(A_mq) A_mn is the conjugate of element [n][q] */
            f->factor[(size_t)n * points + q] = re[q] - im[q] * I + (q == n ? f->lambda : 0);
    }
}

/* b becomes L^-1 b, or L^-H b if `transposed`. */
static void solve_lower(const fit *f, bool transposed, double *re, double *im)
{
    const int points = f->p->points;
    for (int i = 0; i < points; i++) {
        const int n = transposed ? points - 1 - i : i;
        double complex sum = re[n] + im[n] * I;
        for (int q = transposed ? n + 1 : 0; q < (transposed ? points : n); q++) {
            const double complex l = f->factor[transposed ? (size_t)q * points + n : (size_t)n * points + q];
            sum -= (transposed ? conj(l) : l) * (re[q] + im[q] * I);
        }
        sum /= f->factor[(size_t)n * points + n];
        re[n] = creal(sum);
        im[n] = cimag(sum);
    }
}

/* A x, and its derivatives by the components of k, at one sample. */
static void model(const fit *f, int64_t m, const double *re, const double *im, double complex *value,
                  double complex slope[3])
{
    const int points = f->p->points;
    const double *a_re = f->s->a_re + m * points, *a_im = f->s->a_im + m * points;
    *value = slope[0] = slope[1] = slope[2] = 0;
    for (int n = 0; n < points; n++) {
        const double *r = f->p->point + 3 * n;
        const double complex term = a_re[n] * re[n] - a_im[n] * im[n] + (a_re[n] * im[n] + a_im[n] * re[n]) * I;
        *value += term;
        for (int a = 0; a < 3; a++)
            slope[a] += r[a] * term;
    }
    for (int a = 0; a < 3; a++)
        slope[a] *= -2 * M_PI * I;
}

/* Fills `field`: the derivatives of A x by the delays, and the residual. */
static void make_fields(const fit *f, int coil, const coil_part *part)
{
    const delay_problem *p = f->p;
    const central_samples *s = f->s;
    const int64_t count = s->count;
    for (int64_t m = 0; m < count; m++) {
        double complex value, slope[3];
        model(f, m, part->x, part->x + p->points, &value, slope);
        for (int u = 0; u < p->unknowns; u++) {
            const int a = p->element[u].row, b = p->element[u].column;
            double complex v = -s->step[3 * m + b] * slope[a];
            if (a != b)
                v -= s->step[3 * m + a] * slope[b];
            part->field[2 * u * count + m] = creal(v);
            part->field[(2 * u + 1) * count + m] = cimag(v);
        }
        part->field[2 * p->unknowns * count + m] = s->re[coil * count + m] - creal(value);
        part->field[(2 * p->unknowns + 1) * count + m] = s->im[coil * count + m] - cimag(value);
    }
}

static double dot(int64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One coil's part. The gradient needs no derivative of x, which minimises the misfit; the Gauss-Newton matrix is that
 * of the derivatives of A x after projection on what no x explains. */
static void add_coil(const fit *f, int coil, bool derivatives, coil_part *part)
{
    const delay_problem *p = f->p;
    const int64_t count = f->s->count, both = 2 * count;
    const int points = p->points, pair = 2 * points;
    const double *re = f->s->re + coil * count, *im = f->s->im + coil * count;
    adjoint(f, points, re, im, 1, part->x, part->x + points);
    solve_lower(f, false, part->x, part->x + points);
    part->sum.value = dot(count, re, re) + dot(count, im, im) - dot(pair, part->x, part->x);
    if (!derivatives)
        return;
    solve_lower(f, true, part->x, part->x + points);
    make_fields(f, coil, part);
    const double *left = part->field + p->unknowns * both;
    part->sum.residual = dot(both, left, left);
    for (int u = 0; u < p->unknowns; u++) {
        const double *v = part->field + u * both;
        double *own = part->x + (1 + u) * pair;
        part->sum.gradient[u] = -dot(both, v, left);
        adjoint(f, points, v, v + count, 1, own, own + points);
        solve_lower(f, false, own, own + points);
        for (int w = 0; w <= u; w++)
            part->sum.hessian[u][w] = dot(both, v, part->field + w * both) - dot(pair, own, part->x + (1 + w) * pair);
    }
}

static void add_parts(const delay_problem *p, const coil_part *part, delay_misfit *out)
{
    for (int c = 0; c < p->coils; c++) {
        out->value += part[c].sum.value;
        out->residual += part[c].sum.residual;
        for (int u = 0; u < p->unknowns; u++) {
            out->gradient[u] += part[c].sum.gradient[u];
            for (int w = 0; w <= u; w++)
                out->hessian[u][w] += part[c].sum.hessian[u][w];
        }
    }
}

/* The trace of A (A^H A + lambda)^-1 A^H, from the inverse of L, which replaces L. */
static double freedom(const fit *f)
{
    const int points = f->p->points;
    double sum = 0;
    vf_invert_lower(points, f->factor);
    for (int n = 0; n < points; n++)
        for (int q = 0; q <= n; q++) {
            const double complex l = f->factor[(size_t)n * points + q];
            sum += creal(l) * creal(l) + cimag(l) * cimag(l);
        }
    return points - f->lambda * sum;
}

static vf_status add_image(const fit *f, const double *delay, bool derivatives, coil_part *part, delay_misfit *out)
{
    const delay_problem *p = f->p;
    make_matrix(f, delay);
    make_normal(f);
    if (vf_cancelled(p->ctx))
        return vf_fail(p->ctx, VF_ERR_CANCELLED, "interrupted");
    if (vf_cholesky(p->points, f->factor, 0) >= 0)
        return vf_fail(p->ctx, VF_ERR_INTERNAL, "delays: the matrix of the coarse image is not positive");
    for (int n = 0; n < p->points; n++)
        out->spread += 2 * log(creal(f->factor[(size_t)n * p->points + n])) - log(f->lambda);
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(p->ctx, f->s->count * p->points * p->coils))
    for (int c = 0; c < p->coils; c++)
        add_coil(f, c, derivatives, &part[c]);
    add_parts(p, part, out);
    if (derivatives)
        out->freedom += freedom(f);
    return VF_OK;
}

vf_status delays_misfit(delay_problem *p, const double *delay, bool derivatives, delay_misfit *out)
{
    const size_t points = (size_t)p->points, columns = 1 + (size_t)p->unknowns;
    int64_t most = 0;
    for (int i = 0; i < p->images; i++)
        most = p->image[i].count > most ? p->image[i].count : most;
    fit f = {.p = p, .factor = malloc(points * points * sizeof *f.factor)};
    f.rows = malloc(2 * points * points * sizeof *f.rows);
    coil_part part[DELAYS_MOST_COILS] = {0};
    bool room = f.factor && f.rows;
    for (int c = 0; c < p->coils; c++) {
        part[c].x = malloc(columns * 2 * points * sizeof *part[c].x);
        part[c].field = derivatives ? malloc(columns * 2 * (size_t)most * sizeof *part[c].field) : NULL;
        room = room && part[c].x && (part[c].field || !derivatives);
    }
    vf_status status = room ? VF_OK : vf_fail(p->ctx, VF_ERR_MEMORY, "no memory to estimate delays");
    *out = (delay_misfit){0};
    for (int i = 0; status == VF_OK && i < p->images; i++) {
        f.s = &p->image[i];
        f.lambda = WEIGHT * (double)f.s->count;
        status = add_image(&f, delay, derivatives, part, out);
    }
    for (int u = 0; u < p->unknowns; u++)
        for (int w = 0; w < u; w++)
            out->hessian[w][u] = out->hessian[u][w];
    for (int c = 0; c < p->coils; c++) {
        free(part[c].x);
        free(part[c].field);
    }
    free(f.factor);
    free(f.rows);
    return status;
}
