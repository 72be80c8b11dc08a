#include "prolate.h"

#include <math.h>
#include <string.h>

/* The matrix of the differential operator whose first eigenfunction is psi, in normalised even Legendre polynomials
 * (Xiao, Rokhlin and Yarvin 2001, eq. 62): diagonal, and the entries beside it. */
typedef struct tridiagonal {
    int n;
    double diagonal[VF_PROLATE_TERMS], beside[VF_PROLATE_TERMS];
} tridiagonal;

static void make_matrix(double c, tridiagonal *m)
{
    for (int i = 0; i < m->n; i++) {
        const double k = 2 * i;
        m->diagonal[i] = k * (k + 1) + (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1)) * c * c;
        m->beside[i] = (k + 2) * (k + 1) / ((2 * k + 3) * sqrt((2 * k + 1) * (2 * k + 5))) * c * c;
    }
}

/* Whether all eigenvalues are larger than `shift`: the pivots of elimination without exchanges are then positive. */
static int all_above(const tridiagonal *m, double shift, double *pivots)
{
    for (int i = 0; i < m->n; i++) {
        pivots[i] = m->diagonal[i] - shift - (i > 0 ? m->beside[i - 1] * m->beside[i - 1] / pivots[i - 1] : 0);
        if (!(pivots[i] > 0))
            return 0;
    }
    return 1;
}

/* The eigenvector of the smallest eigenvalue by inverse iteration, shifted to just below that eigenvalue. */
static void first_eigenvector(const tridiagonal *m, double *v)
{
    double pivots[VF_PROLATE_TERMS] = {0}, low = 0, high = m->diagonal[0];
    for (int step = 0; step < 40 && high - low > 1e-7 * high; step++) {
        const double middle = 0.5 * (low + high);
        if (all_above(m, middle, pivots))
            low = middle;
        else
            high = middle;
    }
    all_above(m, low, pivots);
    for (int i = 0; i < m->n; i++)
        v[i] = i == 0;
    for (int iteration = 0; iteration < 6; iteration++) {
        double norm = 0;
        for (int i = 1; i < m->n; i++)
            v[i] -= m->beside[i - 1] / pivots[i - 1] * v[i - 1];
        for (int i = m->n - 1; i >= 0; i--) {
            v[i] = (v[i] - (i + 1 < m->n ? m->beside[i] * v[i + 1] : 0)) / pivots[i];
            norm += v[i] * v[i];
        }
        for (int i = 0; i < m->n; i++)
            v[i] /= sqrt(norm);
    }
}

/* Many points side by side: a point's recurrence alone would wait for its own last step. */
enum { BLOCK = 16 };

/* value[i] = sum_n legendre[n] P_2n(x[i]); sum[i]: the integral of that from 0 to x[i], as that of P_k is
 * (P_(k+1) - P_(k-1)) / (2 k + 1). */
static void add_terms(const vf_prolate *p, const double x[BLOCK], double value[BLOCK], double sum[BLOCK])
{
    double even[BLOCK], odd[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        even[i] = 1;
        odd[i] = x[i];
        value[i] = p->legendre[0];
        sum[i] = p->legendre[0] * x[i];
    }
    for (int n = 1; n < p->terms; n++) {
        const double k = 2 * n, a = (2 * k - 1) / k, b = (k - 1) / k, c = (2 * k + 1) / (k + 1), d = k / (k + 1),
                     term = p->legendre[n], part = term / (2 * k + 1);
        for (int i = 0; i < BLOCK; i++) {
            const double before = odd[i];
            even[i] = a * x[i] * before - b * even[i];
            odd[i] = c * x[i] * even[i] - d * before;
            value[i] += term * even[i];
            sum[i] += part * (odd[i] - before);
        }
    }
}

static void by_blocks(const vf_prolate *p, int64_t n, const double *x, double *values, double *integrals)
{
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const size_t some = (size_t)(n - begin < BLOCK ? n - begin : BLOCK);
        double at[BLOCK] = {0}, value[BLOCK], sum[BLOCK];
        memcpy(at, x + begin, some * sizeof *at);
        add_terms(p, at, value, sum);
        if (values)
            memcpy(values + begin, value, some * sizeof *value);
        if (integrals)
            memcpy(integrals + begin, sum, some * sizeof *sum);
    }
}

/* One point. */
static double series(const vf_prolate *p, double x)
{
    double even = 1, odd = x, sum = p->legendre[0];
    for (int n = 1; n < p->terms; n++) {
        const double k = 2 * n;
        even = ((2 * k - 1) * x * odd - (k - 1) * even) / k;
        odd = ((2 * k + 1) * x * even - k * odd) / (k + 1);
        sum += p->legendre[n] * even;
    }
    return sum;
}

static double integral(const vf_prolate *p, double x)
{
    double even = 1, odd = x, sum = p->legendre[0] * x;
    for (int n = 1; n < p->terms; n++) {
        const double k = 2 * n, before = odd;
        even = ((2 * k - 1) * x * odd - (k - 1) * even) / k;
        odd = ((2 * k + 1) * x * even - k * odd) / (k + 1);
        sum += p->legendre[n] * (odd - before) / (2 * k + 1);
    }
    return sum;
}

void vf_prolate_make(double c, vf_prolate *out)
{
    c = fmin(fmax(c, VF_PROLATE_LEAST), VF_PROLATE_MOST);
    tridiagonal m = {.n = 26 + (int)(0.7 * c)};
    *out = (vf_prolate){.c = c, .terms = m.n};
    make_matrix(c, &m);
    first_eigenvector(&m, out->legendre);
    for (int n = 0; n < out->terms; n++)
        out->legendre[n] *= sqrt(2 * n + 0.5);
    const double top = series(out, 0);
    for (int n = 0; n < out->terms; n++)
        out->legendre[n] /= top;
    out->area = out->legendre[0];                                             /* the other polynomials have none */
    out->variance = 1.0 / 3 + 2.0 / 15 * out->legendre[1] / out->legendre[0]; /* x^2 = (2 P_2 + 1) / 3 */
}

double vf_prolate_value(const vf_prolate *p, double x)
{
    return fabs(x) <= 1 ? series(p, x) : 0;
}

void vf_prolate_values(const vf_prolate *p, int64_t n, const double *x, double *out)
{
    by_blocks(p, n, x, out, NULL);
    for (int64_t i = 0; i < n; i++)
        out[i] = fabs(x[i]) <= 1 ? out[i] : 0;
}

double vf_prolate_integral(const vf_prolate *p, double x)
{
    return fabs(x) < 1 ? integral(p, x) / p->area : copysign(1, x);
}

/* The transform of P_k is 2 i^k j_k: spherical Bessel functions, by their recurrence downwards from far above k
 * (Miller's algorithm), scaled with j_0 or j_1, whichever is larger. */
static double by_bessel(const vf_prolate *p, double k)
{
    const int start = 2 * p->terms + 60 + (int)(k < 1e4 ? k : 1e4);
    double above = 0, here = 1e-250, sum = 0;
    for (int n = start; n > 0; n--) {
        const double below = (2 * n + 1) / k * here - above;
        above = here;
        here = below; /* j_(n-1) */
        if (n % 2 == 1 && n - 1 < 2 * p->terms)
            sum += p->legendre[(n - 1) / 2] * ((n - 1) / 2 % 2 ? -here : here);
        if (fabs(here) > 1e200) {
            here *= 1e-200;
            above *= 1e-200;
            sum *= 1e-200;
        }
    }
    const double j0 = sin(k) / k, j1 = (j0 - cos(k)) / k;
    return sum * (fabs(j0) > fabs(j1) ? j0 / here : j1 / above) / p->area;
}

double vf_prolate_transform(const vf_prolate *p, double k)
{
    k = fabs(k);
    return k <= p->c ? series(p, k / p->c) : by_bessel(p, k);
}

double vf_prolate_slope(const vf_prolate *p, double x)
{
    /* Below, it differs from its value at 0 by less than c^2 x^2. */
    return fabs(x) < 1e-10 ? 1 / p->area : vf_prolate_integral(p, x) / x;
}

void vf_prolate_slopes(const vf_prolate *p, int64_t n, const double *x, double *out)
{
    by_blocks(p, n, x, NULL, out);
    for (int64_t i = 0; i < n; i++) {
        const double whole = fabs(x[i]) < 1 ? out[i] / p->area : copysign(1, x[i]);
        out[i] = fabs(x[i]) < 1e-10 ? 1 / p->area : whole / x[i];
    }
}

/* chebyshev[k]: coefficients of the polynomial that interpolates at VF_PROLATE_POWERS Chebyshev nodes. */
static void interpolate(const vf_prolate *p, vf_even_function *f, double *chebyshev)
{
    enum { N = VF_PROLATE_POWERS };
    const double pi = 3.14159265358979323846;
    double cosine[4 * N], node[N], value[N]; /* cosine[m] = cos(pi m / (2 N)), node: t = cos(pi (2 i + 1) / (2 N)) */
    memset(chebyshev, 0, N * sizeof *chebyshev);
    for (int m = 0; m <= N; m++)
        cosine[m] = m < N ? cos(pi * m / (2 * N)) : 0;
    for (int m = N + 1; m < 4 * N; m++)
        cosine[m] = m <= 2 * N ? -cosine[2 * N - m] : cosine[4 * N - m];
    for (int i = 0; i < N; i++)
        node[i] = cos(pi * (2 * i + 1) / (4 * N));
    f(p, N, node, value);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            chebyshev[k] += (k ? 2.0 : 1.0) / N * value[i] * cosine[k * (2 * i + 1) % (4 * N)];
}

void vf_prolate_fit(const vf_prolate *p, vf_even_function *f, double accuracy, vf_prolate_powers *out)
{
    enum { N = VF_PROLATE_POWERS };
    double chebyshev[N], at_zero;
    long double now[N + 1] = {1}, before[N + 1] = {0}, sum[N] = {0}; /* powers cancel */
    f(p, 1, &(double){0}, &at_zero);
    const double most = fmax(accuracy, 0x1p-51) * fabs(at_zero); /* rounding errors are not worth terms */
    interpolate(p, f, chebyshev);
    int degree = N - 1;
    while (degree > 1 && fabs(chebyshev[degree]) <= most) /* they fall faster than geometrically */
        degree--;
    /* `now` has the powers of T_k, by T_(k+1) = 2 t T_k - T_(k-1). */
    for (int k = 0; k <= degree; k++) {
        for (int n = 0; n <= k; n++)
            sum[n] += chebyshev[k] * now[n];
        for (int n = k + 1; n >= 0; n--) { /* from above, so that the next can take the place of the one before */
            const long double next = (n > 0 ? (k > 0 ? 2 : 1) * now[n - 1] : 0) - (k > 0 ? before[n] : 0);
            before[n] = now[n];
            now[n] = next;
        }
    }
    *out = (vf_prolate_powers){.degree = degree};
    for (int k = 0; k <= degree; k++)
        out->coefficient[k] = (double)sum[k];
}
