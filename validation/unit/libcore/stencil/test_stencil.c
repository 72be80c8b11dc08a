/* Stencils: every variant of the device against the definition in long double, and against each other bit for bit.
 *
 * Bounds, u: half an epsilon of the type. Apply: a term of a sum of magnitude M is rounded in a difference, three
 * products and sums of its axis, and up to three further sums; the definition's value, once rounded to be stored, adds
 * one. So 8 u M, and 9 u M with terms of second order.
 * A sweep x + omega (b - Ax) / d: the error of Ax, 9 u M; of the difference, u (|b| + M); of d, whose terms are
 * positive, 6 u relative; of the quotient and the product with omega, 2 u; of the sum, u (|x| + omega (|b| + M) / d); and
 * one rounding to store. Together less than 20 u (|x| + omega (|b| + M) / d). */
#include "refusal_fixture.h"
#include "stencil_fixture.h"

static const int64_t shapes[][3] = {
    {1, 1, 1},  {2, 1, 1},  {1, 2, 1},  {1, 1, 2},  {3, 3, 3},   {0, 4, 4},   {4, 0, 4},  {4, 4, 0},   {40, 1, 1},
    {1, 40, 1}, {1, 1, 70}, {31, 7, 5}, {32, 8, 4}, {33, 9, 65}, {65, 33, 3}, {5, 35, 9}, {64, 32, 8}, {130, 3, 6},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static double unit_of(vf_dtype type)
{
    return type == VF_F32 ? 0x1p-24 : 0x1p-53;
}

static void check(const problem *p, const numbers *got, const char *variant, action what)
{
    const double u = unit_of(p->options.type);
    const int64_t step = p->points < 1000000 ? 1 : 37; /* planes, of a large grid */
    int64_t at[3], point = 0;
    for (at[2] = 0; at[2] < p->options.counts[2];
         at[2] += step, point = at[2] * p->options.counts[0] * p->options.counts[1])
        for (at[1] = 0; at[1] < p->options.counts[1]; at[1]++)
            for (at[0] = 0; at[0] < p->options.counts[0]; at[0]++, point++) {
                const defined d = define(p, &p->x, at, point);
                long double expected = d.value, bound = 9 * u * d.magnitude;
                if (what == SWEEP) {
                    const long double x = get(&p->x, point), b = get(&p->b, point), omega = rounded(p, OMEGA);
                    expected = x + omega * (b - d.value) / d.diagonal;
                    bound = 20 * u * (fabsl(x) + omega * (fabsl(b) + d.magnitude) / d.diagonal);
                }
                if (!(fabsl(get(got, point) - expected) <= bound))
                    fail_msg(
                        "%s, %s of %lld x %lld x %lld points, periodic %d %d %d, %s: point %lld is %.17g, not %.17Lg",
                        variant, what == APPLY ? "apply" : "sweep", (long long)p->options.counts[2],
                        (long long)p->options.counts[1], (long long)p->options.counts[0], p->options.periodic[0],
                        p->options.periodic[1], p->options.periodic[2], p->options.faces[0] ? "variable" : "constant",
                        (long long)point, get(got, point), expected);
            }
}

static void check_same(const problem *p, const numbers *a, const numbers *b)
{
    assert_memory_equal(a->host, b->host, (size_t)p->points * vf_dtype_bytes(p->options.type));
}

/* All variants that this machine has. Those that are not the reference must have the bits of the first. */
static void check_variants(problem *p, action what)
{
    const char *variant;
    numbers first = run_variant(p, NULL, what);
    check(p, &first, "the default", what);
    for (int v = 0; (variant = vf_stencil_variant_name(vf_device_get_kind(device), v)); v++) {
        if (!can_run(variant))
            continue;
        numbers got = run_variant(p, variant, what);
        if (strcmp(variant, "ref") == 0)
            check(p, &got, variant, what);
        else
            check_same(p, &first, &got);
        free_numbers(&got);
        if (!vf_device_is_host(device)) {
            got = run_with(p, variant, what, true);
            check_same(p, &first, &got);
            free_numbers(&got);
        }
    }
    free_numbers(&first);
}

static void test_shapes(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int mask = 0; mask < 8; mask++)
            for (int kind = 0; kind < FORMS; kind++) {
                const bool periodic[3] = {mask & 1, mask & 2, mask & 4};
                problem p =
                    make_problem(queue, (s + mask + kind) % 2 ? VF_F32 : VF_F64, (form)kind, shapes[s], periodic);
                check_variants(&p, APPLY);
                if (p.points > 1 || mask != 7 || kind != VARIABLE) /* else A = 0 */
                    check_variants(&p, SWEEP);
                free_problem(&p);
            }
}

/* More than a block of the CPU along each axis. */
static void test_large(void **state)
{
    (void)state;
    static const int64_t large[][3] = {{8195, 5, 3}, {130, 70, 67}, {3, 2500, 4}};
    for (int s = 0; s < 3; s++)
        for (int kind = 0; kind < FORMS; kind++) {
            problem p =
                make_problem(queue, s % 2 ? VF_F64 : VF_F32, (form)kind, large[s], (const bool[]){s == 1, 0, 1});
            check_variants(&p, kind == VARIABLE ? SWEEP : APPLY);
            free_problem(&p);
        }
}

/* The CPU writes results of 32 MiB and more past its caches. */
static void test_past_caches(void **state)
{
    (void)state;
    problem p = make_problem(queue, VF_F32, CONSTANT, (const int64_t[]){131, 259, 263}, (const bool[]){1, 0, 1});
    numbers got = run_variant(&p, NULL, APPLY);
    check(&p, &got, "the default", APPLY);
    free_numbers(&got);
    free_problem(&p);
}

/* The default of the device, and the instruction sets of the CPU, with any number of threads. */
static void test_same_bits(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    vf_queue *host;
    assert_int_equal(vf_queue_create(vf_context_host(ctx), &host), VF_OK);
    for (int kind = 0; kind < FORMS; kind++)
        for (int what = APPLY; what <= SWEEP; what++) {
            const int64_t counts[3] = {67, 41, 19};
            const bool periodic[3] = {0, 1, 0};
            seed_random();
            problem here = make_problem(queue, VF_F32, (form)kind, counts, periodic);
            seed_random();
            problem there = make_problem(host, VF_F32, (form)kind, counts, periodic);
            numbers first = run_variant(&here, NULL, (action)what);
            for (int t = 1; t <= 5; t += 2) {
                assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
                numbers other = run_variant(&there, t == 1 ? "baseline" : NULL, (action)what);
                assert_memory_equal(first.host, other.host, (size_t)here.points * sizeof(float));
                free_numbers(&other);
            }
            assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
            free_numbers(&first);
            free_problem(&here);
            free_problem(&there);
        }
    vf_queue_destroy(host);
}

static void set_integers(vf_queue *q, numbers *a, int least, int most)
{
    for (int64_t i = 0; i < a->count; i++)
        put(a, i, (double)integer_between(least, most));
    upload(q, a);
}

static double dot(const numbers *a, const numbers *b)
{
    double sum = 0;
    for (int64_t i = 0; i < a->count; i++)
        sum += get(a, i) * get(b, i);
    return sum;
}

/* x.Ay = y.Ax. Of small integers, all products and sums are exact. */
static void test_symmetric(void **state)
{
    (void)state;
    const char *variant;
    for (int v = 0; (variant = vf_stencil_variant_name(vf_device_get_kind(device), v)); v++)
        for (int mask = 0; mask < 8 && can_run(variant); mask++)
            for (int kind = 0; kind < FORMS; kind++) {
                const int64_t counts[3] = {integer_between(1, 40), integer_between(1, 20), integer_between(1, 12)};
                problem p =
                    make_problem(queue, VF_F64, (form)kind, counts, (const bool[]){mask & 1, mask & 2, mask & 4});
                p.options.centre = 5;
                for (int a = 0; a < 3; a++) {
                    p.options.axis[a] = a - 3;
                    p.options.spacing[a] = a == 0 ? 1 : 0.5;
                    set_integers(queue, &p.faces[a], 0, 9);
                }
                set_integers(queue, &p.reaction, 0, 5);
                set_integers(queue, &p.x, -20, 20);
                set_integers(queue, &p.b, -20, 20);
                numbers ax = run_variant(&p, variant, APPLY);
                const numbers x = p.x;
                p.x = p.b;
                numbers ab = run_variant(&p, variant, APPLY);
                p.x = x;
                assert_true(dot(&p.b, &ax) == dot(&p.x, &ab));
                free_numbers(&ax);
                free_numbers(&ab);
                free_problem(&p);
            }
}

/* Constants are in the null space if no axis has a boundary, or if the boundary's faces are 0: differences are 0. */
static void test_null_space(void **state)
{
    (void)state;
    const char *variant;
    for (int v = 0; (variant = vf_stencil_variant_name(vf_device_get_kind(device), v)); v++)
        for (int closed = 0; closed < 2 && can_run(variant); closed++) {
            const int64_t counts[3] = {35, 11, 6};
            const bool periodic[3] = {!closed, true, true};
            problem p = make_problem(queue, VF_F32, VARIABLE, counts, periodic);
            for (int64_t i = 0; i < p.points; i++)
                put(&p.x, i, 0.3);
            for (int64_t row = 0; closed && row < 11 * 6; row++) {
                put(&p.faces[0], row * 36, 0);
                put(&p.faces[0], row * 36 + 35, 0);
            }
            upload(queue, &p.x);
            upload(queue, &p.faces[0]);
            numbers y = run_variant(&p, variant, APPLY);
            for (int64_t i = 0; i < p.points; i++)
                assert_true(get(&y, i) == 0);
            free_numbers(&y);
            free_problem(&p);
        }
}

static int64_t apart(int64_t a, int64_t b, int64_t n, bool periodic)
{
    const int64_t d = a > b ? a - b : b - a;
    return periodic && n - d < d ? n - d : d;
}

/* A NaN reaches its point and its neighbours, and no other points; one on a face reaches both sides. */
static void test_nan(void **state)
{
    (void)state;
    enum { NX = 34, NY = 9, NZ = 5, POINTS = NX * NY * NZ };
    const char *variant;
    const bool periodic[3] = {true, false, true};
    for (int v = 0; (variant = vf_stencil_variant_name(vf_device_get_kind(device), v)); v++)
        for (int round = 0; round < 24 && can_run(variant); round++) {
            problem p = make_problem(queue, VF_F64, (form)(round % FORMS), (const int64_t[]){NX, NY, NZ}, periodic);
            const int64_t at = round < 3 ? 0 : round < 6 ? POINTS - 1 : integer_below(POINTS);
            put(&p.x, at, round % 2 ? NAN : INFINITY);
            upload(queue, &p.x);
            numbers y = run_variant(&p, variant, APPLY);
            for (int64_t i = 0; i < POINTS; i++) {
                const int64_t far = apart(i % NX, at % NX, NX, true) + apart(i / NX % NY, at / NX % NY, NY, false) +
                                    apart(i / NX / NY, at / NX / NY, NZ, true);
                assert_int_equal(!isfinite(get(&y, i)), far <= 1);
            }
            free_numbers(&y);
            put(&p.x, at, 1);
            upload(queue, &p.x);
            if (p.options.faces[0]) { /* the faces below the points of a periodic axis have the points' indices */
                put(&p.faces[2], at, NAN);
                upload(queue, &p.faces[2]);
                y = run_variant(&p, variant, SWEEP);
                for (int64_t i = 0; i < POINTS; i++)
                    assert_int_equal(isnan(get(&y, i)), i == at || i == (at - NX * NY + POINTS) % POINTS);
                free_numbers(&y);
            }
            free_problem(&p);
        }
}

/* Faces have the order of the header: one face alone couples two points, or a point and the boundary. */
static void test_one_face(void **state)
{
    (void)state;
    const char *variant;
    const int64_t counts[3] = {4, 3, 2};
    for (int v = 0; (variant = vf_stencil_variant_name(vf_device_get_kind(device), v)); v++)
        for (int axis = 0; axis < 3 && can_run(variant); axis++) {
            problem p = make_problem(queue, VF_F32, VARIABLE, counts, (const bool[]){0, 0, 0});
            for (int a = 0; a < 3; a++) {
                p.options.spacing[a] = 0.5;
                set_integers(queue, &p.faces[a], 0, 0);
            }
            /* between points (1, 1, 0) and the next along the axis, which is (2, 1, 0), (1, 2, 0) or (1, 1, 1) */
            put(&p.faces[axis], axis == 0 ? 2 + 5 : axis == 1 ? 1 + 2 * 4 : 1 + 4 + 12, 3);
            upload(queue, &p.faces[axis]);
            set_integers(queue, &p.x, -50, 50);
            numbers y = run_variant(&p, variant, APPLY);
            const int64_t low = 1 + 4, high = low + (axis == 0 ? 1 : axis == 1 ? 4 : 12);
            for (int64_t i = 0; i < p.points; i++) {
                const double flux = 4 * 3 * (get(&p.x, low) - get(&p.x, high));
                assert_true(get(&y, i) == (i == low ? flux : i == high ? -flux : 0));
            }
            free_numbers(&y);
            free_problem(&p);
        }
}

/* A context that is cancelled stays so, hence one of its own. */
static void test_cancelled(void **state)
{
    (void)state;
    const vf_stencil_options options = {.type = VF_F32, .counts = {2, 1, 1}, .centre = 2, .axis = {-1, 0, 0}};
    const float b[2] = {1, 1};
    float x[2] = {0, 0}, other[2];
    vf_context *own;
    vf_queue *its_queue;
    vf_stencil *plan;
    assert_int_equal(vf_context_create(&own), VF_OK);
    assert_int_equal(vf_queue_create(vf_context_host(own), &its_queue), VF_OK);
    assert_int_equal(vf_stencil_create(vf_context_host(own), &options, &plan), VF_OK);
    assert_int_equal(vf_stencil_jacobi(plan, its_queue, 2, 1, b, x, other), VF_OK);
    assert_true(x[0] == 0.75F && x[1] == 0.75F && other[0] == 0.5F);
    vf_context_cancel(own);
    assert_int_equal(vf_stencil_jacobi(plan, its_queue, 2, 1, b, x, other), VF_ERR_CANCELLED);
    vf_stencil_destroy(plan);
    vf_queue_destroy(its_queue);
    vf_context_destroy(own);
}

static void refuse_plan(const vf_stencil_options *options, const char *why)
{
    vf_stencil *plan = (vf_stencil *)&plan;
    assert_refused(ctx, vf_stencil_create(device, options, &plan), "a stencil", why);
    assert_null(plan);
}

static void test_refused_plans(void **state)
{
    (void)state;
    vf_array face = {0};
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, 100, &face), VF_OK);
    const vf_stencil_options fine = {.type = VF_F32, .counts = {3, 3, 3}, .centre = 6, .axis = {-1, -1, -1}};
    vf_stencil_options o = fine;
    o.type = VF_C64;
    refuse_plan(&o, "not VF_C64");
    o = fine;
    o.counts[1] = -1;
    refuse_plan(&o, "{3, -1, 3}");
    o.counts[1] = INT64_MAX;
    refuse_plan(&o, "exceed any memory");
    o.counts[1] = INT64_C(1) << 60;
    refuse_plan(&o, "exceed any memory");
    o = fine;
    o.axis[2] = NAN;
    refuse_plan(&o, "must be finite");
    o = fine;
    o.centre = 1e39; /* beyond single precision */
    refuse_plan(&o, "must be finite");
    o = fine;
    o.reaction = face.data;
    refuse_plan(&o, "needs faces");
    o.faces[0] = o.faces[2] = face.data;
    refuse_plan(&o, "spacing");
    for (int a = 0; a < 3; a++)
        o.spacing[a] = 1;
    refuse_plan(&o, "faces[1] is NULL");
    o.faces[1] = face.data;
    const double bad[] = {0, -1, NAN, INFINITY, 1e-20};
    for (int i = 0; i < 5; i++) {
        o.spacing[1] = bad[i];
        refuse_plan(&o, "spacing");
    }
    o = fine;
    o.variant = "red-black";
    refuse_plan(&o, "'red-black'");
    vf_array_free(&face);
}

static void test_refused_runs(void **state)
{
    (void)state;
    problem p = make_problem(queue, VF_F32, CONSTANT, (const int64_t[]){3, 3, 3}, (const bool[]){0, 0, 0});
    vf_stencil *plan = make_plan(&p, NULL);
    void *x = p.x.array.data, *b = p.b.array.data;
    assert_refused(ctx, vf_stencil_apply(plan, queue, NULL, b), "a stencil", "x is NULL");
    assert_refused(ctx, vf_stencil_apply(plan, queue, x, NULL), "a stencil", "y is NULL");
    assert_refused(ctx, vf_stencil_jacobi(plan, queue, 1, 1, NULL, x, b), "a stencil", "b is NULL");
    assert_refused(ctx, vf_stencil_jacobi(plan, queue, 1, 1, b, x, NULL), "a stencil", "other vector is NULL");
    assert_refused(ctx, vf_stencil_jacobi(plan, queue, -1, 1, b, x, x), "a stencil", "-1 sweeps");
    vf_stencil_destroy(plan);
    vf_stencil_destroy(NULL);
    p.options.counts[1] = 0;
    plan = make_plan(&p, NULL);
    assert_int_equal(vf_stencil_apply(plan, queue, NULL, NULL), VF_OK);
    assert_int_equal(vf_stencil_jacobi(plan, queue, 3, 1, NULL, NULL, NULL), VF_OK);
    vf_stencil_destroy(plan);
    free_problem(&p);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_shapes), cmocka_unit_test(test_large),
            cmocka_unit_test(test_past_caches), cmocka_unit_test(test_same_bits), cmocka_unit_test(test_symmetric),
            cmocka_unit_test(test_null_space), cmocka_unit_test(test_nan), cmocka_unit_test(test_one_face),
            cmocka_unit_test(test_cancelled), cmocka_unit_test(test_refused_plans), cmocka_unit_test(test_refused_runs))
