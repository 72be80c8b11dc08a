/* Convex problems with known matrices, for the tests of the solvers: dense operators that are applied on the host,
 * penalties lambda |T x|_1 that record the calls of their proximal maps, and the conditions of a minimum, recomputed
 * on the host. */
#ifndef CONVEX_FIXTURE_H
#define CONVEX_FIXTURE_H

#include "free_all.h"
#include "operator_fixture.h"

enum { MOST_TERMS = 4, ELEMENT_TYPES = 4 };
enum { FORWARD, ADJOINT, NORMAL, METHODS };
static const vf_dtype element_types[ELEMENT_TYPES] = {VF_F32, VF_F64, VF_C64, VF_C128};

/* A matrix, [rows][columns]. Call number `broken` of a method, counted from 1, returns a NaN. */
typedef struct matrix {
    vf_dtype type;
    int64_t rows, columns;
    double complex *a;
    int calls[METHODS], broken[METHODS];
} matrix;

/* lambda |T x|_1, and v, z and step of the last call of its proximal map. Call number `fails`, counted from 1, is an
 * error. */
typedef struct term {
    vf_dtype type;
    int64_t count;
    double lambda, step;
    matrix t; /* t.a NULL: the identity */
    double complex *v, *z;
    int maps, fails;
} term;

/* minimise <x, A x> / 2 - Re <b, x> + the terms */
typedef struct trial {
    vf_dtype type;
    int64_t n;
    double u;
    vf_queue *queue;
    matrix a;
    int terms;
    term term[MOST_TERMS];
    vf_operator *normal, *transform[MOST_TERMS];
    vf_proximal map[MOST_TERMS];
    vf_penalty penalty[MOST_TERMS];
    double complex *b, *x;
    double largest, largest_transform; /* bounds of eigenvalues: of A, of sum T^H T */
    vf_convex_result result;
} trial;

static inline void fetch(vf_queue *queue, vf_dtype type, int64_t count, const void *from, double complex *to)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, type, count, &host));
    need(vf_queue_copy(queue, host.data, from, (size_t)count * vf_dtype_bytes(type)));
    need(vf_queue_sync(queue));
    for (int64_t i = 0; i < count; i++)
        to[i] = get(&host, i);
    vf_array_free(&host);
}

static inline void store(vf_queue *queue, vf_dtype type, int64_t count, const double complex *from, void *to)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, type, count, &host));
    for (int64_t i = 0; i < count; i++)
        put(&host, i, from[i]);
    need(vf_queue_copy(queue, to, host.data, (size_t)count * vf_dtype_bytes(type)));
    need(vf_queue_sync(queue));
    vf_array_free(&host);
}

/* ---- matrices ---- */

static inline void multiply(const matrix *m, const double complex *x, double complex *y)
{
    for (int64_t i = 0; i < m->rows; i++) {
        y[i] = 0;
        for (int64_t j = 0; j < m->columns; j++)
            y[i] += m->a[i * m->columns + j] * x[j];
    }
}

static inline void multiply_adjoint(const matrix *m, const double complex *y, double complex *x)
{
    for (int64_t j = 0; j < m->columns; j++) {
        x[j] = 0;
        for (int64_t i = 0; i < m->rows; i++)
            x[j] += conj(m->a[i * m->columns + j]) * y[i];
    }
}

static inline vf_status apply_dense(matrix *m, int method, vf_queue *queue, const void *from, void *to)
{
    const int64_t most = m->rows + m->columns, in = method == ADJOINT ? m->rows : m->columns,
                  out = method == FORWARD ? m->rows : m->columns;
    double complex *x = room(most, sizeof *x), *y = room(most, sizeof *y);
    fetch(queue, m->type, in, from, x);
    if (method == ADJOINT) {
        multiply_adjoint(m, x, y);
    } else {
        multiply(m, x, y);
        if (method == NORMAL) {
            multiply_adjoint(m, y, x);
            memcpy(y, x, (size_t)out * sizeof *y);
        }
    }
    if (++m->calls[method] == m->broken[method])
        y[out / 2] = NAN;
    store(queue, m->type, out, y, to);
    free(x);
    free(y);
    return VF_OK;
}

static inline vf_status dense_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    return apply_dense(state, FORWARD, queue, x, y);
}

static inline vf_status dense_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    return apply_dense(state, ADJOINT, queue, y, x);
}

static inline vf_status dense_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    return apply_dense(state, NORMAL, queue, x, z);
}

/* A random number of the type. */
static inline double complex random_element(vf_dtype type)
{
    const double complex drawn = random_complex();
    return rounded(vf_dtype_real(type), type == vf_dtype_real(type) ? number(creal(drawn), 0) : drawn);
}

static inline matrix zero_matrix(vf_dtype type, int64_t rows, int64_t columns)
{
    return (matrix){.type = type, .rows = rows, .columns = columns, .a = room(rows * columns, sizeof(double complex))};
}

static inline matrix random_matrix(vf_dtype type, int64_t rows, int64_t columns)
{
    matrix m = zero_matrix(type, rows, columns);
    for (int64_t i = 0; i < rows * columns; i++)
        m.a[i] = random_element(type);
    return m;
}

/* `times` diagonals of magnitudes between lowest and lowest + 1, one above the other. */
static inline matrix random_diagonals(vf_dtype type, int times, int64_t n, double lowest, bool positive)
{
    matrix m = zero_matrix(type, times * n, n);
    for (int64_t i = 0; i < times * n; i++)
        m.a[i * n + i % n] = (lowest + uniform()) * (positive || uniform() < 0.5 ? 1 : -1);
    return m;
}

/* to += factor M^H M */
static inline void add_squared(const matrix *m, double factor, double complex *to)
{
    const int64_t n = m->columns;
    for (int64_t k = 0; k < m->rows; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                to[i * n + j] += factor * conj(m->a[k * n + i]) * m->a[k * n + j];
}

/* G^H G / n + least, with G random of `rank` rows: eigenvalues of `least` and more. */
static inline matrix random_normal(vf_dtype type, int64_t n, int64_t rank, double least)
{
    matrix g = random_matrix(type, rank, n), m = zero_matrix(type, n, n);
    add_squared(&g, 1 / (double)n, m.a);
    for (int64_t i = 0; i < n; i++)
        m.a[i * n + i] += least;
    free(g.a);
    return m;
}

/* The largest sum of a row's magnitudes: at least the norm of a self-adjoint matrix. */
static inline double row_bound(int64_t n, const double complex *a)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += cabs(a[i * n + j]);
        most = fmax(most, sum);
    }
    return most;
}

static inline vf_operator *make_operator(matrix *m)
{
    static const vf_operator_methods methods = {
        .name = "dense matrix", .forward = dense_forward, .adjoint = dense_adjoint, .normal = dense_normal};
    vf_operator *a;
    need(vf_operator_create(device, &methods, 0, (vf_vector_space){m->type, m->columns},
                            (vf_vector_space){m->type, m->rows}, m, &a));
    return a;
}

/* ---- penalties ---- */

static inline vf_status soft_map(void *state, vf_queue *queue, double step, const void *v, void *z)
{
    term *g = state;
    if (++g->maps == g->fails)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "this map fails");
    fetch(queue, g->type, g->count, v, g->v);
    for (int64_t i = 0; i < g->count; i++) {
        const double size = cabs(g->v[i]), threshold = step * g->lambda;
        g->z[i] = size <= threshold ? 0 : rounded(vf_dtype_real(g->type), g->v[i] * (1 - threshold / size));
    }
    g->step = step;
    store(queue, g->type, g->count, g->z, z);
    return VF_OK;
}

static inline double l1(int64_t count, const double complex *v)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += cabs(v[i]);
    return sum;
}

static inline vf_status soft_value(void *state, vf_queue *queue, const void *v, double *value)
{
    const term *g = state;
    double complex *host = room(g->count, sizeof *host);
    fetch(queue, g->type, g->count, v, host);
    *value = g->lambda * l1(g->count, host);
    free(host);
    return VF_OK;
}

static inline trial *open_trial(vf_dtype type, int64_t n, matrix a)
{
    trial *s = room(1, sizeof *s);
    *s = (trial){.type = type, .n = n, .u = roundoff(vf_dtype_real(type)), .a = a};
    s->b = room(n, sizeof *s->b);
    s->x = room(n, sizeof *s->x);
    for (int64_t i = 0; i < n; i++)
        s->b[i] = random_element(type);
    need(vf_queue_create(device, &s->queue));
    s->normal = make_operator(&s->a);
    s->largest = row_bound(n, a.a);
    return s;
}

/* Adds lambda |T x|_1; t.a NULL: T = 1. */
static inline void add_term(trial *s, double lambda, matrix t, double weight)
{
    const int i = s->terms++;
    term *g = &s->term[i];
    assert_true(s->terms <= MOST_TERMS);
    *g = (term){.type = s->type, .count = t.a ? t.rows : s->n, .lambda = lambda, .t = t};
    g->v = room(g->count, sizeof *g->v);
    g->z = room(g->count, sizeof *g->z);
    s->transform[i] = t.a ? make_operator(&g->t) : NULL;
    s->map[i] = (vf_proximal){.name = "soft threshold", .map = soft_map, .value = soft_value, .state = g};
    s->penalty[i] = (vf_penalty){.transform = s->transform[i], .function = &s->map[i], .weight = weight};
    double complex *squared = room(s->n * s->n, sizeof *squared);
    if (t.a)
        add_squared(&t, 1, squared);
    s->largest_transform += t.a ? row_bound(s->n, squared) : 1;
    free(squared);
}

static inline void close_trial(trial *s)
{
    vf_operator_free(s->normal);
    free(s->a.a);
    for (int i = 0; i < s->terms; i++) {
        vf_operator_free(s->transform[i]);
        FREE_ALL(s->term[i].t.a, s->term[i].v, s->term[i].z);
    }
    vf_queue_destroy(s->queue);
    FREE_ALL(s->b, s->x, s);
}

/* ---- solutions ---- */

typedef vf_status convex_solver(const vf_convex_problem *problem, vf_queue *queue, const vf_convex_options *options,
                                void *x, vf_convex_result *result);

/* Solves, between guards; a warm start begins at s->x. The options need not contain the bounds of the eigenvalues. */
static inline vf_status try_to_solve(trial *s, convex_solver *solver, vf_convex_options options)
{
    guarded b = upload_elements(s->queue, s->type, s->n, s->b),
            x = upload_elements(s->queue, s->type, s->n, options.warm ? s->x : NULL);
    const vf_convex_problem task = {s->normal, b.data, s->terms, s->penalty};
    double complex *same = room(s->n, sizeof *same);
    options.largest = options.largest > 0 ? options.largest : s->largest;
    options.largest_transform = options.largest_transform > 0 ? options.largest_transform : s->largest_transform;
    memset(&s->result, 0x7f, sizeof s->result);
    const vf_status status = solver(&task, s->queue, &options, x.data, &s->result);
    download(s->queue, &x, s->x);
    download(s->queue, &b, same);
    assert_memory_equal(same, s->b, (size_t)s->n * sizeof *same);
    free(same);
    return status;
}

static inline void solve(trial *s, convex_solver *solver, vf_convex_options options)
{
    need(try_to_solve(s, solver, options));
}

static inline const double complex *transformed(const trial *s, int i, const double complex *x, double complex *to)
{
    if (s->term[i].t.a)
        multiply(&s->term[i].t, x, to);
    else
        memcpy(to, x, (size_t)s->n * sizeof *to);
    return to;
}

/* The terms of the objective: [0] the data's, then the penalties'. Returns the sum. */
static inline double objective(const trial *s, const double complex *x, double part[1 + MOST_TERMS])
{
    double complex *ax = room(s->n, sizeof *ax);
    multiply(&s->a, x, ax);
    double sum = part[0] = creal(inner(s->n, x, ax)) / 2 - creal(inner(s->n, s->b, x));
    for (int i = 0; i < s->terms; i++) {
        double complex *tx = room(s->term[i].count, sizeof *tx);
        part[1 + i] = s->term[i].lambda * l1(s->term[i].count, transformed(s, i, x, tx));
        sum += part[1 + i];
        free(tx);
    }
    free(ax);
    return sum;
}

/* What the last calls of the maps prove about x: gap = |T x - z| and gradient = |A x - b + T^H y|, where y = (v - z)
 * / step is a subgradient at z. `slopes` is a bound of |y|, `size` is |T x|, and `forces` is a bound of the sum of
 * the |T_i^H y_i|. */
typedef struct proof {
    double gap, gradient, slopes, size, forces;
} proof;

static inline proof prove(const trial *s)
{
    double complex *sum = room(s->n, sizeof *sum), *pull = room(s->n, sizeof *pull);
    proof p = {0};
    multiply(&s->a, s->x, sum);
    for (int64_t j = 0; j < s->n; j++)
        sum[j] -= s->b[j];
    for (int i = 0; i < s->terms; i++) {
        const term *g = &s->term[i];
        double complex *tx = room(g->count, sizeof *tx), *y = room(g->count, sizeof *y);
        transformed(s, i, s->x, tx);
        for (int64_t j = 0; j < g->count; j++)
            y[j] = (g->v[j] - g->z[j]) / g->step;
        const double gap = distance(g->count, tx, g->z), size = size_of(g->count, tx);
        p.gap += gap * gap;
        p.size += size * size;
        p.slopes += g->lambda * g->lambda * (double)g->count;
        if (g->t.a)
            multiply_adjoint(&g->t, y, pull);
        for (int64_t j = 0; j < s->n; j++)
            sum[j] += g->t.a ? pull[j] : y[j];
        p.forces += sqrt(s->largest_transform) * (size_of(g->count, y) + size_of(g->count, g->v) / g->step);
        free(tx);
        free(y);
    }
    p.gap = sqrt(p.gap);
    p.size = sqrt(p.size);
    p.slopes = sqrt(p.slopes);
    p.gradient = size_of(s->n, sum);
    free(sum);
    free(pull);
    return p;
}

/* ---- solvers and problems ---- */

static const struct {
    const char *name;
    convex_solver *solve;
    bool any; /* supports any number of penalties, and transforms */
} solvers[] = {{"ADMM", vf_admm, true}, {"primal-dual method", vf_primal_dual, true}, {"FISTA", vf_fista, false}};
enum { ADMM, PRIMAL_DUAL, FISTA, SOLVERS, MOST_ITERATIONS = 200000, BIG = 40, LAST = 40 };

static inline void near(const char *what, double value, double expected, double allowed)
{
    if (!(fabs(value - expected) <= allowed))
        fail_msg("%s: %.17g, expected %.17g, off by %g, allowed %g", what, value, expected, fabs(value - expected),
                 allowed);
}

/* Which penalties: 0 the identity, 1 a diagonal, 2 a stack of two, 3 all of these. */
static inline trial *diagonal_trial(vf_dtype type, int64_t n, int kind, double lambda)
{
    trial *s = open_trial(type, n, random_diagonals(type, 1, n, 1, true));
    const matrix identity = {0};
    if (kind == 0 || kind == 3)
        add_term(s, lambda * uniform(), identity, 0.3 + uniform());
    if (kind == 1 || kind == 3)
        add_term(s, lambda * uniform(), random_diagonals(type, 1, n, 0.3, false), 0.3 + uniform());
    if (kind == 2 || kind == 3)
        add_term(s, lambda * uniform(), random_diagonals(type, 2, n, 0.3, false), 0.3 + uniform());
    return s;
}

/* A has rank n / 2, plus `least` times the identity. There are three penalties: T maps into a smaller space, into a
 * larger one, or is the identity. b = A x for a random x, so the problem is bounded below where A is 0. */
static inline trial *dense_trial(vf_dtype type, double least)
{
    const int64_t n = 4 + (int64_t)(uniform() * 12);
    trial *s = open_trial(type, n, random_normal(type, n, (n + 1) / 2, least));
    for (int64_t j = 0; j < n; j++)
        s->x[j] = s->b[j];
    multiply(&s->a, s->x, s->b);
    for (int64_t j = 0; j < n; j++)
        s->b[j] = rounded(vf_dtype_real(type), s->b[j]);
    add_term(s, 0.05 + 0.2 * uniform(), random_matrix(type, n / 3, n), 0.1);
    add_term(s, 0.05 + 0.1 * uniform(), random_matrix(type, 2 * n, n), 0.1);
    add_term(s, 0.05 + 0.2 * uniform(), (matrix){0}, 0.3);
    return s;
}

typedef struct history {
    int count, stop;
    double residual[LAST + 1];
} history;

static inline bool note(void *user, int iteration, double residual)
{
    history *h = user;
    assert_int_equal(iteration, ++h->count);
    if (iteration <= LAST)
        h->residual[iteration] = residual;
    return iteration == h->stop;
}

/* With two inner steps of ADMM. */
static inline int applications(int solver, bool warm, int iterations)
{
    enum { INNER = 2, REFRESH = 32 };
    if (solver == FISTA)
        return iterations + 1;
    return warm + (solver == ADMM ? INNER * iterations + iterations / REFRESH : iterations);
}

#endif
