/* Total generalised variation as the solvers minimise it, on fresh random numbers: against an exact minimum over the
 * field, the solvers against each other, and whether it preserves slopes where total variation makes stairs.
 *
 * usage: test_tgv DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * All problems are |x - a|^2 / 2 + penalties: A is the identity for the image and 0 for the field. */
#include "free_all.h"
#include "penalties_fixture.h"
#include "voxfield/copy.h"
#include "voxfield/solver.h"

enum { ADMM, PRIMAL_DUAL, SOLVERS };

/* ---- denoising ---- */

static vf_status keep_image(void *state, vf_queue *on, const void *x, void *y)
{
    const subject *s = state;
    const vf_dtype type = vf_dtype_complex(s->o.precision);
    const vf_status status = vf_copy(on, type, s->numbers, x, y);
    return status == VF_OK ? vf_fill(on, type, s->whole - s->numbers, (const double[2]){0},
                                     vf_offset(vf_queue_device(on), y, type, s->numbers))
                           : status;
}

/* Solves for the image nearest to `a` and for the field, both in x [whole]. */
static vf_convex_result denoise(subject *s, int solver, double tolerance, const double complex *a, double complex *x)
{
    static const vf_operator_methods methods = {.name = "identity of the image", .forward = keep_image};
    const vf_vector_space space = {vf_dtype_complex(s->o.precision), s->whole};
    const vf_convex_options options = {.iterations = 100000,
                                       .tolerance = tolerance,
                                       .inner = 4,
                                       .largest = 1,
                                       .largest_transform = vf_penalties_largest(s->p)};
    vf_convex_problem convex = {.penalties = s->terms, .penalty = s->list};
    vf_convex_result result = {0};
    double complex *b = room(s->whole, sizeof *b);
    for (int64_t n = 0; n < s->whole; n++)
        b[n] = n < s->numbers ? a[n] : 0;
    guarded right = upload(queue, s->o.precision, s->whole, b), found = upload(queue, s->o.precision, s->whole, NULL);
    convex.b = right.data;
    need(vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, s, &convex.normal));
    need((solver == ADMM ? vf_admm : vf_primal_dual)(&convex, queue, &options, found.data, &result));
    vf_operator_free(convex.normal);
    download(queue, &right, NULL);
    download(queue, &found, x);
    free(b);
    if (result.end != VF_SOLVER_CONVERGED)
        fail_msg("solver %d: residuals %g and %g after %d iterations, %s", solver, result.primal, result.dual,
                 result.iterations, text_of(s));
    return result;
}

static subject make_weighted(const vf_penalties_options *o, double lambda, double rho)
{
    subject s = make(o);
    for (int i = 0; i < o->priors; i++) {
        s.lambda[i] = lambda;
        s.rho[i] = rho;
        vf_penalties_set(s.p, i, lambda, rho);
    }
    return s;
}

/* ---- the exact minimum, along a line of real numbers ---- */

/* The minimum over w of sum_i |d_i - w_i| + 2 sum_i |w_i - w_i-1|, where d are the differences of x, and 0 at the
 * end. As a function of one w_i it is piecewise linear with corners at d_i and the neighbours of w_i. So there is a
 * minimum whose w_i are among the d_i. */
static double exact(int64_t n, const double complex *x)
{
    double d[32], before[32], now[32];
    assert_true(n <= 32);
    for (int64_t i = 0; i < n; i++)
        d[i] = i + 1 < n ? creal(x[i + 1] - x[i]) : 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t w = 0; w < n; w++) {
            double least = i == 0 ? 0 : INFINITY;
            for (int64_t from = 0; from < n && i > 0; from++)
                least = fmin(least, before[from] + 2 * fabs(d[w] - d[from]));
            now[w] = least + fabs(d[i] - d[w]);
        }
        memcpy(before, now, sizeof now);
    }
    double least = INFINITY;
    for (int64_t w = 0; w < n; w++)
        least = fmin(least, before[w]);
    return least;
}

static double objective(int64_t n, double lambda, const double complex *a, const double complex *x)
{
    return pow(distance(n, x, a), 2) / 2 + lambda * exact(n, x);
}

/* The solver's field is optimal for its image, and its image is optimal: at a distance d from the minimum f is larger
 * by at least |d|^2 / 2. The residuals bound the errors of the values: 1e-9 times |T x| and |b|, times subgradients
 * of at most 2 sqrt(n) and fields of the size of differences. All are below 100, so 1e-6 is enough. */
static void test_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        vf_penalties_options o = {.priors = 1, .kind = {VF_PENALTY_TGV}, .counts = {1, 1, 1, 1}, .precision = VF_F64};
        const int64_t n = 3 + integer_below(20);
        const double lambda = 0.02 + 0.3 * uniform(), allowed = 1e-6;
        o.counts[i % 3] = n;
        subject s = make_weighted(&o, lambda, 1);
        double complex *a = room(n, sizeof *a), *x = room(s.whole, sizeof *x), *y = room(n, sizeof *y);
        for (int64_t j = 0; j < n; j++)
            a[j] = 4 * uniform() - 2 + (j > n / 2 ? 0.2 * (double)j : 0);
        const vf_convex_result r = denoise(&s, i % SOLVERS, 1e-9, a, x);
        for (int64_t j = 0; j < n; j++)
            assert_true(fabs(cimag(x[j])) <= allowed);
        at_most(&s, 0, "distance from the exact tgv", fabs(r.penalty[0] + r.penalty[1] - lambda * exact(n, x)),
                allowed);
        const double least = objective(n, lambda, a, x);
        for (int k = 0; k < 40; k++) {
            const double size = pow(10, -(k % 4));
            for (int64_t j = 0; j < n; j++)
                y[j] = k % 3 ? creal(x[j]) + size * (uniform() - 0.5)
                             : (1 - size / 2) * creal(x[j]) + size / 2 * creal(a[j]);
            at_most(&s, 0, "f(x) + |d|^2 / 2 - f(x + d)",
                    least + pow(distance(n, x, y), 2) / 2 - objective(n, lambda, a, y), allowed);
        }
        FREE_ALL(a, x, y);
        vf_penalties_free(s.p);
    }
}

/* ---- the solvers ---- */

/* Alone and with each other prior, in one to three dimensions, complex. f exceeds its minimum by at least |x - x*|^2
 * / 2. It exceeds it by at most the residuals, 3e-5, times numbers below 1000 (see test_exact): 0.03. So each image
 * certainly has an error of less than 0.25. The bounds here are a third and a fifth of that. */
static void test_solvers(void **state)
{
    (void)state;
    static const int64_t grids[][3] = {{13, 1, 1}, {7, 9, 1}, {5, 1, 6}, {4, 5, 3}};
    for (int i = 0; i < VF_PENALTY_KINDS; i++) {
        vf_penalties_options o = {.priors = i == VF_PENALTY_TGV ? 1 : 2,
                                  .kind = {VF_PENALTY_TGV, (vf_penalty_kind)i},
                                  .counts = {1, 1, 1, 3},
                                  .precision = VF_F64,
                                  .shifts = 1};
        if (i % 2) /* in any order */
            o.kind[0] = (vf_penalty_kind)i, o.kind[1] = VF_PENALTY_TGV;
        memcpy(o.counts, grids[integer_below(4)], 3 * sizeof *o.counts);
        subject s = make_weighted(&o, 0.05 + 0.2 * uniform(), 0.5);
        double complex *a = random_numbers(s.numbers), *x[SOLVERS];
        double f[SOLVERS];
        for (int k = 0; k < SOLVERS; k++) {
            x[k] = room(s.whole, sizeof **x);
            const vf_convex_result r = denoise(&s, k, 3e-5, a, x[k]);
            f[k] = r.data;
            for (int t = 0; t < s.terms; t++)
                f[k] += r.penalty[t];
        }
        at_most(&s, 0, "distance of the objectives", fabs(f[1] - f[0]), 1e-2);
        at_most(&s, 0, "distance of the images", distance(s.numbers, x[1], x[0]), 5e-2);
        free(a);
        for (int k = 0; k < SOLVERS; k++)
            free(x[k]);
        vf_penalties_free(s.p);
    }
}

/* ---- slopes ---- */

/* In an affine image, w = D x makes all terms 0 except at the faces, where the difference to the next voxel is
 * missing. So tgv is at most the sum over the last voxels of each axis, but tv has the slope of every voxel. */
static void test_affine(void **state)
{
    (void)state;
    for (int dimensions = 1; dimensions <= 3; dimensions++) {
        vf_penalties_options o = {
            .priors = 2, .kind = {VF_PENALTY_TGV, VF_PENALTY_TV}, .counts = {1, 1, 1, 2}, .precision = VF_F64};
        double complex slope[3] = {0};
        double faces = 0, all = 0;
        for (int a = 0; a < dimensions; a++) {
            o.counts[a] = 20 + integer_below(5);
            slope[a] = random_complex();
        }
        subject s = make_weighted(&o, 1, 1);
        double complex *v = room(s.whole, sizeof *v);
        for (int64_t i = 0; i < s.whole; i++) {
            const int64_t *n = o.counts, j = i % s.numbers;
            const int64_t at[3] = {j % n[0], j / n[0] % n[1], j / n[0] / n[1] % n[2]};
            double inner = 0, outer = 0;
            v[i] = i >= s.numbers ? slope[i / s.numbers - 1] : 0;
            for (int a = 0; a < 3; a++) {
                v[i] += i < s.numbers ? slope[a] * (double)at[a] : 0;
                *(at[a] + 1 < n[a] ? &inner : &outer) += creal(slope[a] * conj(slope[a]));
            }
            faces += i < s.numbers ? sqrt(outer) : 0;
            all += i < s.numbers ? sqrt(inner) : 0;
        }
        const double allowed = 1e-12 * all; /* the values' rounding */
        at_most(&s, 0, "distance of tgv from the faces", fabs(value_of_image(&s, 0, v) - faces), allowed);
        at_most(&s, 1, "distance of tv from the slopes", fabs(value_of_image(&s, 1, v) - all), allowed);
        at_most(&s, 0, "tgv less a quarter of tv", faces, all / 4);
        free(v);
        vf_penalties_free(s.p);
    }
}

/* The share of neighbours along x, away from the faces, that are on one step of a stair: their difference is less
 * than a quarter of the slope. */
static double steps(const int64_t n[4], double complex slope, const double complex *x)
{
    int64_t flat = 0, count = 0;
    for (int64_t i = 0; i < n[0] * n[1]; i++) {
        const int64_t at[2] = {i % n[0], i / n[0]};
        if (at[0] < 4 || at[0] >= n[0] - 4 || at[1] < 4 || at[1] >= n[1] - 4)
            continue;
        flat += cabs(x[i + 1] - x[i]) < cabs(slope) / 4;
        count++;
    }
    return (double)flat / (double)count;
}

/* A noisy ramp: tv makes stairs, tgv does not, and its error is less than half of tv's. In 60 trials, at least 4 % of
 * the neighbours were on steps with tv, and none with tgv. */
static void test_stairs(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        double share[2], error[2];
        const double complex slope = 0.1 * cexp(number(0, 2 * M_PI * uniform()));
        const int64_t n[4] = {32, 24, 1, 1};
        double complex *truth = room(n[0] * n[1], sizeof *truth), *a = random_numbers(n[0] * n[1]);
        for (int64_t j = 0; j < n[0] * n[1]; j++) {
            truth[j] = slope * (double)(j % n[0]);
            a[j] = truth[j] + 0.3 * a[j];
        }
        for (int k = 0; k < 2; k++) {
            vf_penalties_options o = {.priors = 1, .kind = {k ? VF_PENALTY_TGV : VF_PENALTY_TV}, .precision = VF_F64};
            memcpy(o.counts, n, sizeof o.counts);
            subject s = make_weighted(&o, 0.4, 1);
            double complex *x = room(s.whole, sizeof *x);
            denoise(&s, ADMM, 1e-4, a, x);
            share[k] = steps(n, slope, x);
            error[k] = distance(n[0] * n[1], x, truth);
            free(x);
            vf_penalties_free(s.p);
        }
        printf("on steps: tv %.2f, tgv %.2f; error: tgv %.2f of tv's\n", share[0], share[1], error[1] / error[0]);
        assert_true(share[0] >= 0.02 && share[1] <= share[0] / 4 && error[1] <= 0.5 * error[0]);
        free(truth);
        free(a);
    }
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_exact), cmocka_unit_test(test_solvers),
            cmocka_unit_test(test_affine), cmocka_unit_test(test_stairs))
