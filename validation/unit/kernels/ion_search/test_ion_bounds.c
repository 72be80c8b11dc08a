/* The search for ions' places bounds the potential of the ions within each node of its tree. At the corners of a
 * node, and elsewhere in it, the potential must lie between these bounds.
 *
 * usage: test_ion_bounds cpu [TEST...]
 *
 * The potential is summed in long double, accurate to 2^-60 of sum |q|/r. The bounds include a margin of 2^-39 of
 * that for their own rounding, so the test adds nothing. One ion far away along a node's longest axis brings Taylor's
 * remainder nearest to its bound: to 1 - 3 rho/r of it.
 */
#include <math.h>

#include "device_fixture.h"
#include "ion_search_cells.h"

enum { MOST_IONS = 40 };

typedef struct problem {
    level node;
    double at[3], r_min;
    bool square;
    double data[6][MOST_IONS];
    ion_sources ions;
} problem;

static void make_problem(problem *p)
{
    const bool one = uniform() < 0.5;
    double squared = 0;
    *p = (problem){.r_min = 0.1, .square = uniform() < 0.3};
    for (int a = 0; a < 3; a++) {
        p->node.half[a] = uniform() < 0.5 ? 1e-3 : 5 * uniform();
        p->at[a] = 40 * (uniform() - 0.5);
        squared += p->node.half[a] * p->node.half[a];
    }
    p->node.radius = sqrt(squared) * (1 + 1e-12);
    p->ions = (ion_sources){one ? 1 : 1 + (int64_t)(MOST_IONS * uniform()),
                            MOST_IONS,
                            p->data[0],
                            p->data[1],
                            p->data[2],
                            p->data[3],
                            p->data[4],
                            p->data[5]};
    for (int64_t n = 0; n < p->ions.count; n++) {
        const double away = 0.5 * exp(6 * uniform()); /* within the node to 200 */
        for (int a = 0; a < 3; a++)
            p->data[a][n] = p->at[a] + away * (uniform() < 0.5 ? 0 : 2 * uniform() - 1);
        p->data[3][n] = 1000 * (uniform() - 0.5);
        p->data[4][n] = fabs(p->data[3][n]);
        p->data[5][n] = uniform() < 0.3 ? 0 : 10 * uniform();
    }
}

/* The ions' potential, and whether all of them leave this point free. */
static bool potential(const problem *p, const double point[3], long double *sum)
{
    *sum = 0;
    for (int64_t n = 0; n < p->ions.count; n++) {
        const long double x = (long double)point[0] - p->ions.x[n], y = (long double)point[1] - p->ions.y[n],
                          z = (long double)point[2] - p->ions.z[n], r = sqrtl(x * x + y * y + z * z);
        const long double counts = fmaxl(r, p->r_min);
        if (r < p->ions.distance[n])
            return false;
        *sum += p->ions.charge[n] / (p->square ? counts * counts : counts);
    }
    return true;
}

static void check(ion_bound_ions *bound, const char *name)
{
    int inside = 0;
    for (int run = 0; run < 20000; run++) {
        problem p;
        make_problem(&p);
        node b = {0};
        bound(&p.ions, 0, &p.node, p.at, p.r_min, p.square, &b);
        const double low = ion_node_low(&p.node, &b), high = ion_node_high(&p.node, &b);
        for (int corner = 0; corner < 16; corner++) { /* and as many points elsewhere */
            double point[3];
            long double v;
            for (int a = 0; a < 3; a++)
                point[a] = p.at[a] + p.node.half[a] * (corner >= 8 ? 2 * uniform() - 1 : corner >> a & 1 ? 1 : -1);
            if (!potential(&p, point, &v))
                continue;
            inside++;
            if (!(low <= v && v <= high)) /* NaN fails */
                fail_msg("%s, %lld ions%s: %.17Lg is not between %.17g and %.17g", name, (long long)p.ions.count,
                         p.square ? ", 1/r^2" : "", v, low, high);
        }
    }
    assert_true(inside > 0);
}

static void test_bounds(void **state)
{
    (void)state;
    check(ion_bound_ions_baseline, "baseline");
    if (can_run("avx2"))
        check(ion_bound_ions_avx2, "avx2");
    if (can_run("avx512"))
        check(ion_bound_ions_avx512, "avx512");
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_bounds))
