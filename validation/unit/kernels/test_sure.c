/* Stein's unbiased risk estimate: linear estimates, whose degrees of freedom are a trace; soft thresholds, whose
 * degrees of freedom are known; the search for the least risk; and invalid arguments. On fresh random numbers.
 *
 * usage: test_sure DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * Bounds of means are 6 standard deviations, so a correct program fails once in 1e8 runs. */
#include <complex.h>
#include <math.h>

#include "queue_fixture.h"
#include "sure.h"

static const double DEVIATIONS = 6;

/* E|z|^2 = 1, half of it in each part. */
static double complex noise(void)
{
    const double size = sqrt(-log(1 - uniform())), angle = 2 * M_PI * uniform();
    return size * cexp(angle * I);
}

static void put(vf_array *to, int64_t count, const double complex *from)
{
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_C128, count, to));
    need(vf_queue_copy(queue, to->data, from, (size_t)count * sizeof *from));
    need(vf_queue_sync(queue));
}

/* ---- linear estimates: x = (A + q)^-1 b, A = G^H G ---- */

enum { ROWS = 14, COLUMNS = 9, DRAWS = 2000 };

typedef struct linear {
    double complex g[ROWS][COLUMNS], a[COLUMNS][COLUMNS], j[COLUMNS][COLUMNS];
} linear;

/* Gauss-Jordan elimination of a positive definite matrix, whose pivots are positive. */
static void invert(double complex m[COLUMNS][COLUMNS], double complex out[COLUMNS][COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++)
        for (int k = 0; k < COLUMNS; k++)
            out[i][k] = i == k;
    for (int i = 0; i < COLUMNS; i++) {
        const double complex pivot = m[i][i];
        for (int k = 0; k < COLUMNS; k++) {
            m[i][k] /= pivot;
            out[i][k] /= pivot;
        }
        for (int r = 0; r < COLUMNS; r++) {
            const double complex factor = m[r][i];
            for (int k = 0; r != i && k < COLUMNS; k++) {
                m[r][k] -= factor * m[i][k];
                out[r][k] -= factor * out[i][k];
            }
        }
    }
}

static void make_linear(linear *l)
{
    double complex whole[COLUMNS][COLUMNS];
    const double q = 1 + 5 * uniform();
    for (int m = 0; m < ROWS; m++)
        for (int i = 0; i < COLUMNS; i++)
            l->g[m][i] = noise();
    for (int i = 0; i < COLUMNS; i++)
        for (int k = 0; k < COLUMNS; k++) {
            l->a[i][k] = 0;
            for (int m = 0; m < ROWS; m++)
                l->a[i][k] += conj(l->g[m][i]) * l->g[m][k];
            whole[i][k] = l->a[i][k] + (i == k ? q : 0);
        }
    invert(whole, l->j);
}

/* y = G^H d */
static void adjoint(const linear *l, const double complex *d, double complex *y)
{
    for (int i = 0; i < COLUMNS; i++) {
        y[i] = 0;
        for (int m = 0; m < ROWS; m++)
            y[i] += conj(l->g[m][i]) * d[m];
    }
}

static void times(const double complex m[COLUMNS][COLUMNS], const double complex *x, double complex *y)
{
    for (int i = 0; i < COLUMNS; i++) {
        y[i] = 0;
        for (int k = 0; k < COLUMNS; k++)
            y[i] += m[i][k] * x[k];
    }
}

static double product(const double complex *x, const double complex *y)
{
    double sum = 0;
    for (int i = 0; i < COLUMNS; i++)
        sum += creal(conj(x[i]) * y[i]);
    return sum;
}

static vf_status estimate_linear(void *user, double factor, bool again, const void *b, void *x, double *data)
{
    const linear *l = user;
    double complex from[COLUMNS], to[COLUMNS], image[COLUMNS];
    (void)factor;
    (void)again;
    need(vf_queue_copy(queue, from, b, sizeof from));
    need(vf_queue_sync(queue));
    times(l->j, from, to);
    times(l->a, to, image);
    *data = product(to, image) / 2 - product(from, to);
    need(vf_queue_copy(queue, x, to, sizeof to));
    return vf_queue_sync(queue);
}

/* The risk of data d = G x0 + sigma n, with independent noise as the probe. *residual becomes sigma^2 risk - |G (x -
 * x0)|^2 + |G x0|^2, whose mean is 0. */
static vf_sure_point draw_risk(linear *l, const double complex *x0, double sigma, double *residual)
{
    double complex d[ROWS], n1[ROWS], b[COLUMNS], p[COLUMNS], x[COLUMNS], off[COLUMNS], image[COLUMNS];
    for (int m = 0; m < ROWS; m++) {
        n1[m] = noise();
        d[m] = sigma * noise();
        for (int i = 0; i < COLUMNS; i++)
            d[m] += l->g[m][i] * x0[i];
    }
    adjoint(l, d, b);
    adjoint(l, n1, p);
    vf_array right = {0}, probe = {0};
    put(&right, COLUMNS, b);
    put(&probe, COLUMNS, p);
    const vf_sure_problem problem = {.type = VF_C128,
                                     .count = COLUMNS,
                                     .b = right.data,
                                     .probe = probe.data,
                                     .variance = sigma * sigma,
                                     .estimate = estimate_linear,
                                     .user = l};
    vf_sure_point point = {.risk = NAN, .freedom = NAN};
    need(vf_sure_risk(queue, &problem, 1, &point));
    /* For a linear estimate the difference quotient is exact up to rounding: 1e-16 of x and of p for each product,
     * divided by the step. */
    times(l->j, p, x);
    const double exact = product(x, p), scale = product(b, b) + product(p, p) + 1;
    if (!(fabs(point.freedom - exact) <= 1e-13 * COLUMNS * COLUMNS * scale / (VF_SURE_STEP * sigma)))
        fail_msg("degrees of freedom %.15g, not %.15g", point.freedom, exact);
    times(l->j, b, x);
    times(l->a, x, image);
    if (!(fabs(point.risk - (product(x, image) - 2 * product(x, b)) / (sigma * sigma) - 2 * point.freedom) <=
          1e-12 * (fabs(point.risk) + scale / (sigma * sigma))))
        fail_msg("risk %.15g", point.risk);
    for (int i = 0; i < COLUMNS; i++)
        off[i] = x[i] - x0[i];
    times(l->a, off, image);
    *residual = sigma * sigma * point.risk - product(off, image);
    times(l->a, x0, image);
    *residual += product(x0, image);
    vf_array_free(&right);
    vf_array_free(&probe);
    return point;
}

/* The mean of f is tr(J A). Its variance is tr(M^2), M = G J G^H with eigenvalues below 1, so at most the trace. */
static void test_linear(void **state)
{
    (void)state;
    linear l;
    make_linear(&l);
    const double sigma = 0.5 + uniform();
    double complex x0[COLUMNS];
    double trace = 0, mean = 0, bias = 0, squares = 0;
    for (int i = 0; i < COLUMNS; i++) {
        x0[i] = noise();
        for (int k = 0; k < COLUMNS; k++)
            trace += creal(l.j[i][k] * l.a[k][i]);
    }
    for (int draw = 0; draw < DRAWS; draw++) {
        double residual = NAN;
        mean += draw_risk(&l, x0, sigma, &residual).freedom / DRAWS;
        bias += residual / DRAWS;
        squares += residual * residual / DRAWS;
    }
    assert_true(trace > 1);
    if (!(fabs(mean - trace) <= DEVIATIONS * sqrt(trace / DRAWS)))
        fail_msg("mean degrees of freedom %g, trace %g", mean, trace);
    const double deviation = sqrt(squares / DRAWS);
    if (!(fabs(bias) <= DEVIATIONS * deviation) || !(2 * sigma * sigma * trace > 2 * DEVIATIONS * deviation))
        fail_msg("bias of the risk %g, deviation %g, noise's part %g", bias, deviation, 2 * sigma * sigma * trace);
}

/* ---- soft thresholds: A = 1, x = b max(0, 1 - t / |b|) ---- */

enum { NUMBERS = 20000 };

static vf_status threshold(void *user, double factor, bool again, const void *b, void *x, double *data)
{
    const double t = factor * *(const double *)user;
    double complex *v = malloc(NUMBERS * sizeof *v);
    (void)again;
    assert_non_null(v);
    need(vf_queue_copy(queue, v, b, NUMBERS * sizeof *v));
    need(vf_queue_sync(queue));
    *data = 0;
    for (int i = 0; i < NUMBERS; i++) {
        const double complex from = v[i];
        v[i] *= fmax(0, 1 - t / cabs(from));
        *data += creal(conj(v[i]) * v[i]) / 2 - creal(conj(from) * v[i]);
    }
    need(vf_queue_copy(queue, x, v, NUMBERS * sizeof *v));
    need(vf_queue_sync(queue));
    free(v);
    return VF_OK;
}

/* For |b| > t, the derivative is 1 along b and 1 - t / |b| across: f = sum 1 - t / (2 |b|). A squared part of p has the
 * variance 1/2, so one number adds at most 1 to the variance of f. Numbers that cross the threshold within a step of
 * 0.01 sigma are few; they add less than a tenth. */
static void test_thresholds(void **state)
{
    (void)state;
    const double sigma = 0.3 + uniform(), t = (0.5 + uniform()) * sigma, factor = 0.5 + uniform();
    double complex *b = malloc(NUMBERS * sizeof *b), *p = malloc(NUMBERS * sizeof *p);
    double expected = 0, data = 0;
    assert_non_null(b);
    assert_non_null(p);
    for (int i = 0; i < NUMBERS; i++) {
        b[i] = sigma * noise() + (i % 4 == 0 ? 3 * sigma * noise() : 0);
        p[i] = noise();
        const double size = cabs(b[i]), left = fmax(0, size - factor * t);
        expected += left > 0 ? 1 - factor * t / (2 * size) : 0;
        data += left * left / 2 - size * left;
    }
    vf_array right = {0}, probe = {0};
    put(&right, NUMBERS, b);
    put(&probe, NUMBERS, p);
    const vf_sure_problem problem = {.type = VF_C128,
                                     .count = NUMBERS,
                                     .b = right.data,
                                     .probe = probe.data,
                                     .variance = sigma * sigma,
                                     .estimate = threshold,
                                     .user = (void *)&t};
    vf_sure_point point = {.risk = NAN, .freedom = NAN};
    need(vf_sure_risk(queue, &problem, factor, &point));
    if (!(fabs(point.freedom - expected) <= DEVIATIONS * sqrt(1.1 * NUMBERS)))
        fail_msg("degrees of freedom %g, expected %g", point.freedom, expected);
    const double risk = 2 * data / (sigma * sigma) + 2 * point.freedom;
    if (!(fabs(point.risk - risk) <= 1e-9 * fabs(risk)) || point.factor != factor)
        fail_msg("risk %g, not %g", point.risk, risk);
    vf_array_free(&right);
    vf_array_free(&probe);
    free(b);
    free(p);
}

/* ---- the search ---- */

/* x = 0, and a risk that is a function of log factor. */
typedef struct curve {
    double least, flat, power; /* |log factor - least| ^ power, multiplied by `flat` below `least` */
    int calls, fails;
    double last;
} curve;

static double height(const curve *c, double factor)
{
    const double off = log(factor) - c->least;
    return c->power > 0 ? pow(fabs(off), c->power) * (off < 0 ? c->flat : 1) : 0;
}

static vf_status follow(void *user, double factor, bool again, const void *b, void *x, double *data)
{
    const double complex zero = 0;
    curve *c = user;
    (void)b;
    assert_true(again == (c->calls % 2 == 1) && (!again || factor == c->last));
    c->last = factor;
    *data = height(c, factor) / 2;
    need(vf_queue_copy(queue, x, &zero, sizeof zero));
    need(vf_queue_sync(queue));
    return ++c->calls == c->fails ? vf_fail(ctx, VF_ERR_DEVICE, "planned") : VF_OK;
}

static vf_status search(curve *c, double variance, vf_sure_result *out)
{
    const double complex one = 1;
    vf_array b = {0};
    put(&b, 1, &one);
    const vf_sure_problem problem = {
        .type = VF_C128, .count = 1, .b = b.data, .probe = b.data, .variance = variance, .estimate = follow, .user = c};
    const vf_status status = vf_sure_search(queue, &problem, 8, out);
    vf_array_free(&b);
    return status;
}

static void test_search(void **state)
{
    (void)state;
    vf_sure_result r;
    for (int i = 0; i < 200; i++) {
        /* A parabola: the best factor is within 10 % of the vertex. Beyond 4 sqrt(2), the end of the range is the
         * best factor. */
        curve c = {.least = (2 * uniform() - 1) * log(5.6), .flat = 1, .power = 2};
        need(search(&c, 1, &r));
        const double off = fabs(log(r.point[r.best].factor) - c.least);
        if (c.calls != 2 * r.tried || !(off <= 0.1 + 1e-9))
            fail_msg("%d calls, %d tried, log factor off by %g at %g", c.calls, r.tried, off, c.least);
        /* Any curve with one minimum: no tried factor lies between the minimum and the best one, and tried factors
         * differ by at most a factor of 2. */
        c = (curve){.least = c.least, .flat = 0.2 + uniform(), .power = 1 + 2 * uniform()};
        need(search(&c, 0.5 + uniform(), &r));
        for (int k = 0; k < r.tried; k++)
            assert_true(r.point[k].risk >= r.point[r.best].risk);
        assert_true(fabs(log(r.point[r.best].factor) - c.least) <= log(2) * (1 + 1e-12));
    }
    for (int side = -1; side <= 1; side += 2) { /* the search stops at the ends of the range */
        curve c = {.least = side * 10, .flat = 1, .power = 1};
        need(search(&c, 1, &r));
        assert_true(r.point[r.best].factor == (side > 0 ? 8.0 : 0.125));
    }
    curve same = {0}; /* all risks are equal: the factor is 1 */
    need(search(&same, 1, &r));
    assert_true(r.tried == 3 && r.best == 0 && r.point[0].factor == 1 && r.point[0].risk == 0);
}

static void test_refusals(void **state)
{
    (void)state;
    vf_sure_result r;
    static const double wrong[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        curve c = {.power = 2, .flat = 1};
        assert_int_equal(search(&c, wrong[i], &r), VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(ctx), "variance above 0"));
        assert_true(c.calls == 0 && r.tried == 0);
        vf_context_clear_error(ctx);
    }
    curve infinite = {.least = NAN, .flat = 1, .power = 2};
    assert_int_equal(search(&infinite, 1, &r), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "not finite"));
    vf_context_clear_error(ctx);
    for (int fails = 1; fails <= 8; fails++) {
        curve c = {.least = 0.3, .flat = 1, .power = 2, .fails = fails};
        assert_int_equal(search(&c, 1, &r), VF_ERR_DEVICE);
        assert_true(c.calls == fails && r.tried == (fails - 1) / 2);
        vf_context_clear_error(ctx);
    }
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_linear), cmocka_unit_test(test_thresholds),
            cmocka_unit_test(test_search), cmocka_unit_test(test_refusals))
