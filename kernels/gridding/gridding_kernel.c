/* The spreading kernel: its width and shape from the tolerance, its transform, and its polynomials. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "gridding_internal.h"

/* Aliases farther away are smaller by orders of magnitude. */
enum { NODES = GRIDDING_MAX_NODES, FREQUENCIES = 24, ALIASES = 2, BANDS = 2 * ALIASES + 1, CHECKS = 40 };

static const double pi = 3.14159265358979323846;

/* Nodes and weights of Gauss-Legendre quadrature on [-1, 1], by Newton's iteration on the recurrence of the
 * polynomials. Computed in extended precision where available, because 1 / (1 - z^2) amplifies the errors of the
 * weights. */
static void gauss_legendre(int n, double *x, double *w)
{
    for (int i = 0; i < (n + 1) / 2; i++) {
        long double z = cos(pi * (i + 0.75) / (n + 0.5)), slope = 1;
        for (int iteration = 0; iteration < 4; iteration++) {
            long double p0 = 1, p1 = z;
            for (int k = 2; k <= n; k++) {
                long double p2 = ((2 * k - 1) * z * p1 - (k - 1) * p0) / k;
                p0 = p1;
                p1 = p2;
            }
            slope = n * (z * p1 - p0) / (z * z - 1);
            z -= p1 / slope;
        }
        x[i] = (double)z;
        x[n - 1 - i] = (double)-z;
        w[i] = w[n - 1 - i] = (double)(2 / ((1 - z * z) * slope * slope));
    }
}

/* Substituting x = width / 2 sin(theta) makes the integrand smooth up to the ends of the kernel. */
typedef struct quadrature {
    int nodes;
    double sine[NODES], cosine[NODES], weight[NODES];
    double kernel[NODES]; /* the kernel's values times the weights, for one width and beta */
    double frequency[FREQUENCIES], frequency_weight[FREQUENCIES]; /* on [-1, 1] */
    double wave[FREQUENCIES][BANDS][NODES]; /* cosines of the transform, at a frequency and its aliases */
} quadrature;

static void make_quadrature(quadrature *q, int width)
{
    double node[NODES];
    /* Enough nodes for the highest alias: cos(pi xi width sin(theta)) turns width (ALIASES + 1/2) / 2 times. */
    q->nodes = 40 + 5 * width < NODES ? 40 + 5 * width : NODES;
    gauss_legendre(q->nodes, node, q->weight);
    gauss_legendre(FREQUENCIES, q->frequency, q->frequency_weight);
    for (int i = 0; i < q->nodes; i++) {
        double theta = pi / 4 * (node[i] + 1);
        q->sine[i] = sin(theta);
        q->cosine[i] = cos(theta);
        q->weight[i] *= pi / 4;
    }
}

static void set_kernel(quadrature *q, int width, double beta)
{
    for (int i = 0; i < q->nodes; i++)
        q->kernel[i] = width * q->weight[i] * exp(beta * (q->cosine[i] - 1)) * q->cosine[i];
}

static void make_wave(const quadrature *q, int width, double xi, double *wave)
{
    for (int i = 0; i < q->nodes; i++)
        wave[i] = cos(pi * xi * width * q->sine[i]);
}

static double transform(const quadrature *q, const double *wave)
{
    double sum = 0;
    for (int i = 0; i < q->nodes; i++)
        sum += q->kernel[i] * wave[i];
    return sum;
}

void gridding_kernel_transform(const gridding_kernel *kernel, int count, double step, double *out)
{
    enum { RENEWED = 16 }; /* rotations without a new cosine, so that they round no more than its angle does */
    double re[NODES], im[NODES], turn_re[NODES], turn_im[NODES];
    for (int n = 0; n < kernel->nodes; n++) {
        turn_re[n] = cos(2 * pi * step * kernel->place[n]);
        turn_im[n] = sin(2 * pi * step * kernel->place[n]);
    }
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < kernel->nodes && i % RENEWED == 0; n++) {
            re[n] = cos(2 * pi * (i * step) * kernel->place[n]);
            im[n] = sin(2 * pi * (i * step) * kernel->place[n]);
        }
        double sum = 0;
        for (int n = 0; n < kernel->nodes; n++)
            sum += kernel->weight[n] * re[n];
        out[i] = sum;
        for (int n = 0; n < kernel->nodes; n++) {
            const double turned = re[n] * turn_re[n] - im[n] * turn_im[n];
            im[n] = re[n] * turn_im[n] + im[n] * turn_re[n];
            re[n] = turned;
        }
    }
}

/* The quadrature of the transform, for the kernel's width and beta. */
static void keep_quadrature(quadrature *q, gridding_kernel *kernel)
{
    set_kernel(q, kernel->width, kernel->beta);
    kernel->nodes = q->nodes;
    for (int i = 0; i < q->nodes; i++) {
        kernel->place[i] = 0.5 * kernel->width * q->sine[i];
        kernel->weight[i] = q->kernel[i];
    }
}

/* For one width and oversampling, and any beta. Computing these cosines takes longer than using them. */
static void make_waves(quadrature *q, int width, double sigma)
{
    for (int i = 0; i < FREQUENCIES; i++)
        for (int band = 0; band < BANDS; band++)
            make_wave(q, width, 0.25 * (q->frequency[i] + 1) / sigma + (band - ALIASES), q->wave[i][band]);
}

/* The aliasing error relative to the voxel, as a root mean square over the voxels of one axis. The samples' positions
 * are assumed random, so the phases of the aliases are independent. `noise`, if not NULL, is set to the corresponding
 * error from errors of size 1 in the kernel's values. Call make_waves first. */
static double aliasing(quadrature *q, int width, double beta, double *noise)
{
    const double *weight = q->frequency_weight;
    double sum = 0, inverse = 0;
    set_kernel(q, width, beta);
    for (int i = 0; i < FREQUENCIES; i++) {
        double aliases = 0, own = transform(q, q->wave[i][ALIASES]);
        for (int m = 1; m <= ALIASES; m++) {
            double above = transform(q, q->wave[i][ALIASES + m]), below = transform(q, q->wave[i][ALIASES - m]);
            aliases += above * above + below * below;
        }
        sum += 0.5 * weight[i] * aliases / (own * own);
        inverse += 0.5 * weight[i] / (own * own);
    }
    if (noise)
        *noise = sqrt(inverse);
    return sqrt(sum);
}

/* The beta with the least aliasing, by golden section search. It lies near gamma pi (1 - 1 / (2 sigma)) width with
 * gamma about 1 (Barnett et al. 2019, eq. 4.5 and after). */
static double best_beta(quadrature *q, int width, double sigma, double *error)
{
    const double golden = 0.61803398874989485;
    double unit = pi * (1 - 0.5 / sigma) * width, low = 0.70 * unit, high = 1.03 * unit;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = aliasing(q, width, a, NULL), at_b = aliasing(q, width, b, NULL);
    for (int step = 0; step < 9; step++)
        if (at_a < at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = aliasing(q, width, a, NULL);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = aliasing(q, width, b, NULL);
        }
    *error = at_a < at_b ? at_a : at_b;
    return at_a < at_b ? a : b;
}

static double value(const gridding_kernel *kernel, double position)
{
    double t = (2 * position - kernel->width) / kernel->width, s = (1 - t) * (1 + t);
    return exp(-kernel->beta * t * t / (1 + sqrt(s > 0 ? s : 0)));
}

/* The polynomial of `degree` that interpolates the kernel at Chebyshev nodes, for point j; highest power first.
 * Computed in extended precision where available, because powers cancel. */
static void fit_point(const gridding_kernel *kernel, int degree, int j, double *power)
{
    enum { MOST = GRIDDING_MAX_DEGREE + 1 };
    int n = degree + 1;
    long double chebyshev[MOST] = {0}, before[MOST] = {0}, now[MOST] = {0}, next[MOST] = {0}, sum[MOST] = {0};
    for (int i = 0; i < n; i++) {
        double angle = pi * (i + 0.5) / n, sample = value(kernel, j + 0.5 * (cos(angle) + 1));
        for (int c = 0; c < n; c++)
            chebyshev[c] += (c ? 2.0L : 1.0L) / n * cosl(c * (long double)angle) * sample;
    }
    /* The powers of T_c by its recurrence; lowest first. */
    before[0] = 1;
    now[1] = 1;
    sum[0] = chebyshev[0];
    for (int c = 1; c < n; c++) {
        for (int p = 0; p < n; p++) {
            sum[p] += chebyshev[c] * now[p];
            next[p] = (p > 0 ? 2 * now[p - 1] : 0) - before[p];
        }
        memcpy(before, now, sizeof before);
        memcpy(now, next, sizeof now);
    }
    for (int p = 0; p < n; p++)
        power[p] = (double)sum[n - 1 - p];
}

/* The root mean square, over positions, of the sum of the polynomials' errors; they are independent for different
 * points. */
static double fit(gridding_kernel *kernel, int degree)
{
    double squares = 0, power[GRIDDING_MAX_DEGREE + 1];
    kernel->degree = degree;
    for (int j = 0; j < kernel->width; j++) {
        fit_point(kernel, degree, j, power);
        for (int p = 0; p <= degree; p++)
            kernel->coefficient[p][j] = power[p];
        for (int i = 0; i < CHECKS; i++) {
            double z = (2 * i + 1.0) / CHECKS - 1, sum = 0;
            for (int p = 0; p <= degree; p++)
                sum = sum * z + power[p];
            sum -= value(kernel, j + 0.5 * (z + 1));
            squares += sum * sum / CHECKS;
        }
    }
    return sqrt(squares);
}

double gridding_estimate_width(double tolerance, double sigma, int axes)
{
    double width = ceil(log(3 * sqrt(axes) / tolerance) / (pi * sqrt(1 - 1 / sigma)));
    return width < 2 ? 2 : width;
}

/* The amplification of relative rounding errors: see gridding_estimate_rounding. */
static double amplification(const gridding_kernel *kernel, double noise, int axes)
{
    double squares = 0;
    for (int i = 0; i < CHECKS; i++)
        squares += pow(value(kernel, kernel->width * (i + 0.5) / CHECKS), 2) * kernel->width / CHECKS;
    return pow(sqrt(squares) * noise, axes);
}

static double estimate_rounding(double tolerance, double sigma, int axes)
{
    gridding_kernel kernel = {.width = (int)gridding_estimate_width(tolerance, sigma, axes)};
    quadrature q;
    double noise;
    if (kernel.width > GRIDDING_MAX_WIDTH)
        kernel.width = GRIDDING_MAX_WIDTH;
    kernel.beta = pi * (0.985 - 0.4925 / sigma) * kernel.width;
    make_quadrature(&q, kernel.width);
    make_waves(&q, kernel.width, sigma);
    (void)aliasing(&q, kernel.width, kernel.beta, &noise);
    return amplification(&kernel, noise, axes);
}

static bool design(double tolerance, double sigma, int axes, double unit, gridding_kernel *kernel)
{
    /* Most of the tolerance is for aliasing, a little for the polynomials. The rest is for samples on grid points or
     * half way between them, where aliases add up to as much as sqrt(2) times the error at random positions. */
    const double fit_share = 0.2;
    quadrature q;
    double error = 1, noise = 1;
    int estimate = (int)gridding_estimate_width(tolerance, sigma, axes), width = estimate < 4 ? 2 : estimate - 2;
    width = unit > DBL_EPSILON && width > 6 ? 6 : width; /* may be enough: rounding can end the loop early */
    for (; width <= GRIDDING_MAX_WIDTH; width++) {
        make_quadrature(&q, width);
        make_waves(&q, width, sigma);
        kernel->beta = best_beta(&q, width, sigma, &error);
        (void)aliasing(&q, width, kernel->beta, &noise);
        /* A small oversampling amplifies rounding errors, more so for wide kernels. So stop when they are as large as
         * the aliases. */
        kernel->width = width;
        /* With a width of two points, most of the error comes from a few voxels at the edges of the image. So it varies
         * between images, by up to half. */
        const double share = width == 2 ? 0.45 : 0.62;
        if (sqrt(axes) * error <= fmax(share * tolerance, unit * amplification(kernel, noise, axes)))
            break;
        /* Near 1e-12 with a small oversampling, rounding of the transforms hides the aliases. Use the formula for
         * beta. */
        if (width >= estimate && error <= 16 * DBL_EPSILON * width * noise) {
            kernel->beta = 0.99 * pi * (1 - 0.5 / sigma) * width;
            break;
        }
    }
    if (width > GRIDDING_MAX_WIDTH)
        return false;
    kernel->width = width;
    keep_quadrature(&q, kernel);
    /* Above some degree, rounding makes the fit worse again. */
    int best = 3;
    double least = fit(kernel, best);
    for (int d = best + 1; d <= GRIDDING_MAX_DEGREE && !(sqrt(axes) * noise * least <= fit_share * tolerance); d++) {
        double now = fit(kernel, d);
        if (now < least) {
            least = now;
            best = d;
        }
    }
    (void)fit(kernel, best);
    return true;
}

/* ---- designs are kept: making one takes milliseconds, and plans of a series or of many coils have the same ---- */

typedef struct question {
    double tolerance, sigma, unit; /* unit -1: the rounding */
    int axes;
} question;

typedef struct answer {
    bool found;
    double rounding;
    gridding_kernel kernel;
} answer;

enum { KEPT = 16 };
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct {
    question asked;
    answer answer;
} kept[KEPT]; /* a ring; all zeros is no question */
static int next;

static bool same(const question *a, const question *b)
{
    return a->tolerance == b->tolerance && a->sigma == b->sigma && a->unit == b->unit && a->axes == b->axes;
}

static answer find_answer(const question *asked)
{
    answer made = {0};
    (void)pthread_mutex_lock(&guard);
    for (int i = 0; i < KEPT; i++)
        if (same(&kept[i].asked, asked)) {
            made = kept[i].answer;
            (void)pthread_mutex_unlock(&guard);
            return made;
        }
    (void)pthread_mutex_unlock(&guard);
    if (asked->unit < 0)
        made.rounding = estimate_rounding(asked->tolerance, asked->sigma, asked->axes);
    else
        made.found = design(asked->tolerance, asked->sigma, asked->axes, asked->unit, &made.kernel);
    (void)pthread_mutex_lock(&guard);
    kept[next].asked = *asked;
    kept[next].answer = made;
    next = (next + 1) % KEPT;
    (void)pthread_mutex_unlock(&guard);
    return made;
}

double gridding_estimate_rounding(double tolerance, double sigma, int axes)
{
    const question asked = {.tolerance = tolerance, .sigma = sigma, .unit = -1, .axes = axes};
    return find_answer(&asked).rounding;
}

bool gridding_choose_kernel(double tolerance, double sigma, int axes, double unit, gridding_kernel *kernel)
{
    const question asked = {.tolerance = tolerance, .sigma = sigma, .unit = unit, .axes = axes};
    const answer made = find_answer(&asked);
    *kernel = made.kernel;
    return made.found;
}
