/* The left-balanced tree: its shape, its order, its bits for any number of threads; and the selection it is made by. */
#include "device_fixture.h"
#include "neighbours/kd_tree.h"
#include "neighbours/point_tree.h"

static vf_kd_tree make_tree(int d, int64_t n, const float *points)
{
    const vf_neighbours plan = {.device = device, .dimensions = d, .n = n};
    vf_kd_tree tree;
    assert_int_equal(vf_kd_tree_create(&plan, points, &tree), VF_OK);
    return tree;
}

/* The number of nodes below and with `node` in a tree of n: of each level, a range of numbers. */
static int64_t size_of(int64_t node, int64_t n)
{
    int64_t size = 0;
    for (int64_t first = node, last = node; first <= n; first = 2 * first, last = 2 * last + 1)
        size += (last < n ? last : n) - first + 1;
    return size;
}

/* The split is where the array needs it: what the left child's range of node numbers holds. */
static void test_left_balance(void **state)
{
    (void)state;
    assert_int_equal(vf_kd_left(1), 0); /* the published positions 1, 2, 2 of n = 1, 2, 3 */
    assert_int_equal(vf_kd_left(2), 1);
    assert_int_equal(vf_kd_left(3), 1);
    for (int64_t n = 1; n <= 5000; n++)
        assert_int_equal(vf_kd_left(n), size_of(2, n));
    for (int log = 13; log <= 30; log++)
        for (int64_t n = ((int64_t)1 << log) - 2; n <= ((int64_t)1 << log) + 2; n++)
            assert_int_equal(vf_kd_left(n), size_of(2, n));
}

/* Each ancestor's plane separates a node from the other side. */
static void check_order(const vf_kd_tree *t, int d)
{
    for (int64_t node = 2; node <= t->n; node++)
        for (int64_t below = node, above = node / 2; above > 0; below = above, above /= 2) {
            int level = 0;
            while (above >> (level + 1))
                level++;
            const float x = t->nodes[node * t->width + level % d], plane = t->nodes[above * t->width + level % d];
            assert_true(below % 2 == 0 ? x <= plane : x >= plane);
        }
}

/* Every point is at one node, with its coordinates. */
static void check_points(const vf_kd_tree *t, int d, const float *points)
{
    bool *seen = calloc((size_t)t->n + 1, sizeof *seen);
    assert_non_null(seen);
    for (int64_t node = 1; node <= t->n; node++) {
        const int32_t index = t->remap[node];
        assert_true(index >= 0 && index < t->n && !seen[index]);
        seen[index] = true;
        assert_memory_equal(t->nodes + node * t->width, points + (int64_t)index * d, (size_t)d * sizeof *points);
        for (int a = d; a < t->width; a++)
            assert_true(t->nodes[node * t->width + a] == 0);
    }
    free(seen);
}

static void check_tree(int d, int64_t n, bool lattice)
{
    float *points = malloc((size_t)(n * d + 1) * sizeof *points);
    const int threads = vf_context_threads(ctx);
    assert_non_null(points);
    for (int64_t i = 0; i < n * d; i++)
        points[i] = lattice ? (float)integer_between(0, 3) : (float)uniform_between(-5, 5);
    vf_kd_tree tree = make_tree(d, n, points);
    check_order(&tree, d);
    check_points(&tree, d, points);
    for (int t = 1; t <= 5; t += 2) {
        assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
        vf_kd_tree again = make_tree(d, n, points);
        assert_memory_equal(again.nodes, tree.nodes, (size_t)((n + 1) * tree.width) * sizeof *tree.nodes);
        assert_memory_equal(again.remap + 1, tree.remap + 1, (size_t)n * sizeof *tree.remap);
        vf_kd_tree_free(&again);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    vf_kd_tree_free(&tree);
    free(points);
}

static void test_trees(void **state)
{
    (void)state;
    for (int d = 2; d <= 4; d++) {
        for (int64_t n = 0; n <= 70; n++)
            check_tree(d, n, n % 2);
        check_tree(d, 20000 + integer_between(0, 10000), d == 3);
    }
}

static void check_selection(int64_t n, const vf_item *items, int64_t at)
{
    vf_item *copy = malloc((size_t)n * sizeof *copy);
    int64_t sum = 0;
    assert_non_null(copy);
    memcpy(copy, items, (size_t)n * sizeof *copy);
    vf_select(copy, n, at, 1);
    for (int64_t i = 0; i < n; i++) {
        assert_true(i <= at ? copy[i].x[1] <= copy[at].x[1] : copy[i].x[1] >= copy[at].x[1]);
        sum += copy[i].index;
    }
    assert_int_equal(sum, n * (n - 1) / 2);
    free(copy);
}

/* Random, equal, ascending, descending, and up and down again. 10^6 items in an order with bad pivots would take hours. */
static void test_selection(void **state)
{
    (void)state;
    enum { N = 1000000 };
    vf_item *items = calloc(N, sizeof *items);
    assert_non_null(items);
    for (int kind = 0; kind < 5; kind++)
        for (int round = 0; round < 40; round++) {
            const int64_t n = round == 39 ? N : integer_between(1, 300);
            for (int64_t i = 0; i < n; i++) {
                items[i].index = (int32_t)i;
                items[i].x[1] = (float)(kind == 0   ? uniform()
                                        : kind == 1 ? 1
                                        : kind == 2 ? (double)i
                                        : kind == 3 ? (double)-i
                                                    : (double)(i < n / 2 ? i : n - i));
            }
            check_selection(n, items, integer_below(n));
        }
    free(items);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_left_balance), cmocka_unit_test(test_trees),
            cmocka_unit_test(test_selection))
