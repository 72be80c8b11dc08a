/* Nearest neighbours: every variant of the device against all distances and a sort. Results are exact: distances are
 * compared by their bits, and equal ones by the index. */
#include <math.h>

#include "queue_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/neighbours.h"

enum { MOST_K = VF_NEIGHBOURS_MOST_K };

typedef enum cloud { EVEN, LATTICE, EQUAL, LINE, PLANE, CLUSTERS, TINY, LARGE, CLOUDS } cloud;
static const char *const names_of_clouds[] = {"even",       "on a lattice", "equal", "on a line",
                                              "in a plane", "clusters",     "tiny",  "large"};

static float coordinate(cloud kind, int axis, float cluster, float along)
{
    switch (kind) {
    case LATTICE: /* many equal distances and duplicates */
        return (float)integer_between(0, 4);
    case EQUAL:
        return 0.3F;
    case LINE:
        return along * (float)(axis + 1);
    case PLANE:
        return axis == 1 ? -2 : (float)uniform_between(0, 5);
    case CLUSTERS:
        return cluster + (float)uniform_between(-1e-3, 1e-3);
    case TINY: /* squares underflow, many to 0 */
        return (float)integer_between(0, 30) * 0x1p-78F;
    case LARGE:
        return integer_between(0, 9) ? (float)uniform_between(-1e18, 1e18)
                                     : (integer_between(0, 1) ? VF_NEIGHBOURS_MOST : -VF_NEIGHBOURS_MOST);
    default:
        return (float)uniform_between(-1, 1);
    }
}

static float *make_points(cloud kind, int64_t n, int d)
{
    float *x = malloc((size_t)(n * d + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) {
        const float cluster = (float)integer_between(0, 3), along = (float)uniform();
        for (int a = 0; a < d; a++)
            x[i * d + a] = coordinate(kind, a, cluster, along);
    }
    return x;
}

/* Queries like the points, at points, and far outside. */
static float *make_queries(cloud kind, int64_t m, int d, int64_t n, const float *points)
{
    float *q = make_points(kind, m, d);
    const float most = kind == LARGE ? 1 : kind == TINY ? 0x1p-70F : 1e4F;
    for (int64_t i = 0; i < m; i++)
        for (int a = 0; a < d; a++) {
            if (i % 4 == 1 && n > 0)
                q[i * d + a] = points[i * 7 % n * d + a];
            if (i % 4 == 2)
                q[i * d + a] += most * (float)integer_between(-1, 1) * (float)uniform();
            if (kind == LARGE)
                q[i * d + a] = fminf(fmaxf(q[i * d + a], -VF_NEIGHBOURS_MOST), VF_NEIGHBOURS_MOST);
        }
    return q;
}

/* ---- the definition ---- */

typedef struct pair {
    float squared;
    int32_t index;
} pair;

static bool comes_before(pair a, pair b)
{
    return a.squared < b.squared || (a.squared == b.squared && a.index < b.index);
}

/* volatile: no square is contracted with the sum, whatever the compiler may do. */
static float squared_distance(int d, const float *a, const float *b)
{
    float sum = 0;
    for (int i = 0; i < d; i++) {
        const float x = a[i] - b[i];
        const volatile float square = x * x;
        sum += square;
    }
    return sum;
}

/* The k nearest of q, except `self`: each pair moves up a list until one before it comes first. */
static void define(int d, int64_t n, const float *points, const float *q, int64_t self, int k, pair *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const pair p = {squared_distance(d, q, points + i * d), (int32_t)i};
        int64_t j = count < k ? count : k - 1;
        if (i == self || (count >= k && !comes_before(p, out[k - 1])))
            continue;
        for (; j > 0 && comes_before(p, out[j - 1]); j--)
            out[j] = out[j - 1];
        out[j] = p;
        count += count < k;
    }
    for (; count < k; count++)
        out[count] = (pair){INFINITY, -1};
}

/* ---- searches ---- */

typedef struct results {
    int32_t *index;
    float *squared;
} results;

static results make_results(int64_t count)
{
    const results r = {malloc((size_t)(count + 1) * sizeof *r.index), malloc((size_t)(count + 1) * sizeof *r.squared)};
    assert_true(r.index && r.squared);
    return r;
}

static void free_results(results r)
{
    free(r.index);
    free(r.squared);
}

/* One of the four searches, by its arguments: queries or NULL; k, or 0 for the nearest alone. */
static results run_search(const vf_neighbours *plan, int d, int64_t m, const float *queries, int k)
{
    const int64_t count = m * (k > 0 ? k : 1);
    results r = make_results(count);
    vf_array q = {0}, index = {0}, squared = {0};
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, m * d, &q), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_I32, count, &index), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, count, &squared), VF_OK);
    if (queries)
        assert_int_equal(vf_queue_copy(queue, q.data, queries, (size_t)(m * d) * sizeof *queries), VF_OK);
    if (queries && k > 0)
        assert_int_equal(vf_neighbours_k_nearest(plan, queue, k, m, q.data, index.data, squared.data), VF_OK);
    else if (queries)
        assert_int_equal(vf_neighbours_nearest(plan, queue, m, q.data, index.data, squared.data), VF_OK);
    else if (k > 0)
        assert_int_equal(vf_neighbours_k_nearest_others(plan, queue, k, index.data, squared.data), VF_OK);
    else
        assert_int_equal(vf_neighbours_nearest_other(plan, queue, index.data, squared.data), VF_OK);
    assert_int_equal(vf_queue_copy(queue, r.index, index.data, (size_t)count * sizeof *r.index), VF_OK);
    assert_int_equal(vf_queue_copy(queue, r.squared, squared.data, (size_t)count * sizeof *r.squared), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    vf_array_free(&q);
    vf_array_free(&index);
    vf_array_free(&squared);
    return r;
}

static vf_neighbours *make_plan(int d, const char *variant, int64_t n, const float *points)
{
    vf_neighbours *plan;
    const vf_neighbours_options options = {.dimensions = d, .variant = variant};
    assert_int_equal(vf_neighbours_create(device, &options, n, points, &plan), VF_OK);
    return plan;
}

typedef struct problem {
    cloud kind;
    int d;
    int64_t n, m;
    float *points, *queries;
} problem;

static problem make_problem(cloud kind, int d, int64_t n, int64_t m)
{
    problem p = {.kind = kind, .d = d, .n = n, .m = m, .points = make_points(kind, n, d)};
    p.queries = make_queries(kind, m, d, n, p.points);
    return p;
}

static void free_problem(problem *p)
{
    free(p->points);
    free(p->queries);
}

/* Compares the results of a search with the definition. */
static void check_search(const problem *p, const vf_neighbours *plan, const char *variant, bool of_queries, int k)
{
    const int64_t m = of_queries ? p->m : p->n;
    const int each = k > 0 ? k : 1;
    const float *queries = of_queries ? p->queries : p->points;
    const results got = run_search(plan, p->d, m, of_queries ? p->queries : NULL, k);
    for (int64_t i = 0; i < m; i++) {
        pair expected[MOST_K];
        define(p->d, p->n, p->points, queries + i * p->d, of_queries ? -1 : i, each, expected);
        for (int j = 0; j < each; j++) {
            const int32_t index = got.index[i * each + j];
            const float squared = got.squared[i * each + j];
            if (index != expected[j].index || memcmp(&squared, &expected[j].squared, sizeof squared) != 0)
                fail_msg("%s, %lld points %s in %d dimensions, %s %lld: neighbour %d of %d is %d at %a, not %d at %a",
                         variant, (long long)p->n, names_of_clouds[p->kind], p->d, of_queries ? "query" : "point",
                         (long long)i, j, each, index, (double)squared, expected[j].index, (double)expected[j].squared);
        }
    }
    free_results(got);
}

/* All four searches by all variants. */
static void check_problem(cloud kind, int d, int64_t n, int64_t m, int k)
{
    problem p = make_problem(kind, d, n, m);
    const char *variant;
    for (int v = 0; (variant = vf_neighbours_variant_name(vf_device_get_kind(device), v)); v++) {
        vf_neighbours *plan = make_plan(d, variant, n, p.points);
        for (int of_queries = 0; of_queries < 2; of_queries++) {
            check_search(&p, plan, variant, of_queries, 0);
            check_search(&p, plan, variant, of_queries, k);
        }
        vf_neighbours_destroy(plan);
    }
    free_problem(&p);
}

/* All shapes of small trees. k is often more than n. */
static void test_small_trees(void **state)
{
    (void)state;
    for (int d = 2; d <= 4; d++)
        for (int64_t n = 0; n <= 70; n++)
            check_problem(n % 3 ? EVEN : LATTICE, d, n, 20, (int)integer_between(1, MOST_K));
}

static void test_clouds(void **state)
{
    (void)state;
    static const int ks[] = {1, 2, 3, 7, 8, 16, 31, 32};
    for (int kind = 0; kind < CLOUDS; kind++)
        for (int d = 2; d <= 4; d++)
            check_problem((cloud)kind, d, integer_between(200, 500), 60, ks[(kind + d) % 8]);
}

static void test_powers_of_two(void **state)
{
    (void)state;
    for (int64_t n = 128; n <= 512; n *= 2)
        for (int64_t off = -1; off <= 1; off++)
            check_problem(EVEN, 2 + (int)(n + off) % 3, n + off, 50, 5);
}

/* Enough points for trees whose parts are made by several threads, and more queries than a thread takes at a time. */
static void test_many_points(void **state)
{
    (void)state;
    for (int d = 2; d <= 4; d++) {
        problem p = make_problem(d == 3 ? CLUSTERS : EVEN, d, 20000, 5000);
        const char *variant = vf_neighbours_variant_name(vf_device_get_kind(device), 0);
        vf_neighbours *first = make_plan(d, variant, p.n, p.points);
        const results a = run_search(first, d, p.m, p.queries, 6), b = run_search(first, d, p.n, NULL, 6);
        for (int64_t i = 0; i < p.m; i += 800) {
            pair expected[6];
            define(d, p.n, p.points, p.queries + i * d, -1, 6, expected);
            for (int j = 0; j < 6; j++)
                assert_int_equal(a.index[i * 6 + j], expected[j].index);
        }
        for (int v = 1; (variant = vf_neighbours_variant_name(vf_device_get_kind(device), v)); v++) {
            if (strcmp(variant, "ref") == 0 || (strcmp(variant, "bins") == 0 && p.kind == CLUSTERS))
                continue; /* too many distances */
            vf_neighbours *plan = make_plan(d, variant, p.n, p.points);
            const results c = run_search(plan, d, p.m, p.queries, 6), e = run_search(plan, d, p.n, NULL, 6);
            assert_memory_equal(a.index, c.index, (size_t)p.m * 6 * sizeof *a.index);
            assert_memory_equal(a.squared, c.squared, (size_t)p.m * 6 * sizeof *a.squared);
            assert_memory_equal(b.index, e.index, (size_t)p.n * 6 * sizeof *b.index);
            assert_memory_equal(b.squared, e.squared, (size_t)p.n * 6 * sizeof *b.squared);
            free_results(c);
            free_results(e);
            vf_neighbours_destroy(plan);
        }
        free_results(a);
        free_results(b);
        vf_neighbours_destroy(first);
        free_problem(&p);
    }
}

/* Of points in a row at distances 1, 2, 3, ..., the neighbours are known without any reference. */
static void test_row(void **state)
{
    (void)state;
    enum { N = 100, K = 4 };
    float points[2 * N];
    const char *variant;
    for (int i = 0; i < N; i++) {
        const int at = i * 37 % N; /* another order: 37 and 100 have no common divisor */
        points[2 * at] = 3;
        points[2 * at + 1] = (float)(i * (i + 1)) / 2;
    }
    for (int v = 0; (variant = vf_neighbours_variant_name(vf_device_get_kind(device), v)); v++) {
        vf_neighbours *plan = make_plan(2, variant, N, points);
        const float query[2] = {3, -1};
        const results one = run_search(plan, 2, N, NULL, 0), first = run_search(plan, 2, 1, query, K);
        for (int i = 1; i < N; i++) { /* the gap below a point is i, the one above i + 1 */
            assert_int_equal(one.index[i * 37 % N], (i - 1) * 37 % N);
            assert_true(one.squared[i * 37 % N] == (float)(i * i));
        }
        for (int j = 0; j < K; j++) {
            assert_int_equal(first.index[j], j * 37 % N);
            assert_true(first.squared[j] == powf(1 + (float)(j * (j + 1)) / 2, 2));
        }
        free_results(one);
        free_results(first);
        vf_neighbours_destroy(plan);
    }
}

/* Any number of threads, when the plan is made and when it searches. */
static void test_threads(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    problem p = make_problem(LATTICE, 3, 5000, 2000);
    const char *variant;
    for (int v = 0; (variant = vf_neighbours_variant_name(vf_device_get_kind(device), v)); v++) {
        results first = {0};
        if (strcmp(variant, "ref") == 0)
            continue; /* one thread */
        for (int t = 1; t <= 7; t += 2) {
            assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
            vf_neighbours *plan = make_plan(3, variant, p.n, p.points);
            const results r = run_search(plan, 3, p.m, p.queries, 9);
            if (t == 1) {
                first = r;
            } else {
                assert_memory_equal(r.index, first.index, (size_t)p.m * 9 * sizeof *r.index);
                assert_memory_equal(r.squared, first.squared, (size_t)p.m * 9 * sizeof *r.squared);
                free_results(r);
            }
            vf_neighbours_destroy(plan);
        }
        free_results(first);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    free_problem(&p);
}

/* Queries that have no neighbours, beside one that has. */
static void test_queries_that_are_no_numbers(void **state)
{
    (void)state;
    const float points[] = {0, 0, 0, 1, 1, 1};
    const float queries[] = {0, NAN, 0, 0,   0, INFINITY, -INFINITY, 0, 0, 0, nextafterf(VF_NEIGHBOURS_MOST, INFINITY),
                             0, 0,   0, 0.5F};
    const char *variant;
    for (int v = 0; (variant = vf_neighbours_variant_name(vf_device_get_kind(device), v)); v++) {
        vf_neighbours *plan = make_plan(3, variant, 2, points);
        const results r = run_search(plan, 3, 5, queries, 3);
        for (int i = 0; i < 12; i++) {
            assert_int_equal(r.index[i], -1);
            assert_true(isnan(r.squared[i]));
        }
        assert_true(r.index[12] == 0 && r.squared[12] == 0.25F);
        assert_true(r.index[13] == 1 && r.squared[13] == 2.25F);
        assert_true(r.index[14] == -1 && r.squared[14] == INFINITY);
        free_results(r);
        vf_neighbours_destroy(plan);
    }
}

/* A context that is cancelled stays so, hence one of its own. */
static void test_cancelled(void **state)
{
    (void)state;
    const float points[] = {0, 0, 1, 1}, query[] = {0.25F, 0};
    const vf_neighbours_options options = {.dimensions = 2};
    int32_t index = 77;
    float squared = 77;
    vf_context *other;
    vf_queue *its_queue;
    vf_neighbours *plan;
    assert_int_equal(vf_context_create(&other), VF_OK);
    vf_device *host = vf_context_host(other);
    assert_int_equal(vf_queue_create(host, &its_queue), VF_OK);
    assert_int_equal(vf_neighbours_create(host, &options, 2, points, &plan), VF_OK);
    assert_int_equal(vf_neighbours_nearest(plan, its_queue, 1, query, &index, &squared), VF_OK);
    assert_true(index == 0 && squared == 0.0625F);
    vf_context_cancel(other);
    assert_int_equal(vf_neighbours_nearest(plan, its_queue, 1, query, &index, &squared), VF_ERR_CANCELLED);
    vf_neighbours_destroy(plan);
    vf_queue_destroy(its_queue);
    vf_context_destroy(other);
}

static void refused_plan(int d, const char *variant, int64_t n, const float *points, const char *what, const char *why)
{
    vf_neighbours *plan = (vf_neighbours *)&plan;
    const vf_neighbours_options options = {.dimensions = d, .variant = variant};
    assert_refused(ctx, vf_neighbours_create(device, &options, n, points, &plan), what, why);
    assert_null(plan);
}

static void test_refused(void **state)
{
    (void)state;
    enum { N = 5 };
    float points[2 * N] = {0};
    vf_array memory = {0};
    refused_plan(1, NULL, N, points, "nearest neighbours", "in 1 dimensions");
    refused_plan(5, NULL, N, points, "nearest neighbours", "in 5 dimensions");
    refused_plan(2, NULL, -1, points, "nearest neighbours", "-1 points");
    refused_plan(2, NULL, ((int64_t)1 << 30) + 1, points, "nearest neighbours", "1073741825 points");
    refused_plan(2, NULL, N, NULL, "nearest neighbours", "points is NULL");
    refused_plan(2, "octree", N, points, "the search for neighbours", "'octree'");
    for (int bad = 0; bad < 4; bad++) {
        points[7] = (const float[]){NAN, INFINITY, -INFINITY, nextafterf(-VF_NEIGHBOURS_MOST, -INFINITY)}[bad];
        refused_plan(2, NULL, N, points, "nearest neighbours", "coordinate 1 of point 3");
    }
    points[7] = 0;
    vf_neighbours *plan = make_plan(2, NULL, N, points);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_I32, 100, &memory), VF_OK);
    int32_t *index = memory.data;
    float *f = vf_array_at(&memory, 50);
    const char what[] = "a search for neighbours";
    assert_refused(ctx, vf_neighbours_k_nearest(plan, queue, 0, 1, f, index, f), what, "k is 0");
    assert_refused(ctx, vf_neighbours_k_nearest(plan, queue, 33, 1, f, index, f), what, "k is 33");
    assert_refused(ctx, vf_neighbours_k_nearest_others(plan, queue, -1, index, f), what, "k is -1");
    assert_refused(ctx, vf_neighbours_nearest(plan, queue, -1, f, index, f), what, "-1 queries");
    assert_refused(ctx, vf_neighbours_nearest(plan, queue, INT64_MAX, f, index, f), what, "queries");
    assert_refused(ctx, vf_neighbours_nearest(plan, queue, 1, NULL, index, f), what, "queries is NULL");
    assert_refused(ctx, vf_neighbours_nearest(plan, queue, 1, f, NULL, f), what, "index is NULL");
    assert_refused(ctx, vf_neighbours_nearest_other(plan, queue, index, NULL), what, "squared is NULL");
    assert_int_equal(vf_neighbours_nearest(plan, queue, 0, NULL, NULL, NULL), VF_OK);
    vf_neighbours_destroy(plan);
    plan = make_plan(4, NULL, 0, NULL);
    assert_int_equal(vf_neighbours_nearest_other(plan, queue, NULL, NULL), VF_OK);
    vf_neighbours_destroy(plan);
    vf_neighbours_destroy(NULL);
    vf_array_free(&memory);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_small_trees), cmocka_unit_test(test_clouds),
            cmocka_unit_test(test_powers_of_two), cmocka_unit_test(test_many_points), cmocka_unit_test(test_row),
            cmocka_unit_test(test_threads), cmocka_unit_test(test_queries_that_are_no_numbers),
            cmocka_unit_test(test_cancelled), cmocka_unit_test(test_refused))
