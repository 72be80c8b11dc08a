/* Multigrid: that its cycle is self-adjoint and positive, how few iterations of conjugate gradients it leaves, whatever
 * the size, and that a coefficient's jump by 40, as between a protein and water, costs few more.
 *
 * usage: test_multigrid cpu|cuda [TEST...] */
#include "multigrid_fixture.h"

static vf_operator *cycle_of(const problem *p, int sweeps, vf_multigrid **plan)
{
    vf_operator *m;
    need(vf_multigrid_create(device, &p->options, sweeps, plan));
    need(vf_multigrid_operator_create(*plan, &m));
    return m;
}

/* <M x, y> = <x, M y> to the roundings of some hundred operations a value, and <x, M x> > 0. */
static void test_self_adjoint(void **state)
{
    (void)state;
    /* And which axes are periodic. Of all, a reaction keeps <x, M x> above 0. */
    static const int64_t sizes[][4] = {{31, 31, 31, 0}, {16, 21, 12, 0}, {3, 2, 1, 0},    {1, 40, 4, 0},
                                       {5, 6, 7, 0},    {33, 8, 64, 0},  {32, 24, 40, 6}, {16, 20, 12, 7},
                                       {30, 14, 7, 3},  {9, 15, 22, 7},  {64, 1, 2, 4},   {36, 2, 34, 7}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int sweeps = 1; sweeps <= 3; sweeps++) {
            problem p = jumping_in(VF_F64, s % 2 ? REACTION : VARIABLE, sizes[s], (int)sizes[s][3]);
            numbers x = make_numbers(queue, VF_F64, p.points, -1, 1), y = make_numbers(queue, VF_F64, p.points, -1, 1);
            numbers mx = make_numbers(queue, VF_F64, p.points, 0, 0), my = make_numbers(queue, VF_F64, p.points, 0, 0);
            vf_multigrid *plan;
            vf_operator *m = cycle_of(&p, sweeps, &plan);
            double left[2], right[2], square[2];
            need(vf_operator_forward(m, queue, x.array.data, mx.array.data));
            need(vf_operator_forward(m, queue, y.array.data, my.array.data));
            need(vf_vector_dot(queue, VF_F64, p.points, mx.array.data, y.array.data, left));
            need(vf_vector_dot(queue, VF_F64, p.points, x.array.data, my.array.data, right));
            need(vf_vector_dot(queue, VF_F64, p.points, mx.array.data, x.array.data, square));
            const double scale = square[0] + fabs(left[0]);
            if (!(square[0] > 0 && fabs(left[0] - right[0]) <= 1000 * 0x1p-53 * scale))
                fail_msg("%d points, %d sweeps: %.17g, %.17g; %g", (int)p.points, sweeps, left[0], right[0], square[0]);
            vf_operator_free(m);
            vf_multigrid_destroy(plan);
            numbers *const all[] = {&x, &y, &mx, &my};
            for (int i = 0; i < 4; i++)
                free_numbers(all[i]);
            free_problem(&p);
        }
}

/* Iterations to 1e-8 of the residual for a ball of coefficient 2 in 80; periodic: in a box that nothing leaves. */
static int iterations_of_ball(int64_t n, int sweeps, bool periodic)
{
    const int64_t counts[3] = {n, n, n};
    const bool ends[3] = {periodic, periodic, periodic};
    problem p = make_problem(queue, VF_F64, VARIABLE, counts, ends);
    for (int a = 0; a < 3; a++) {
        p.options.spacing[a] = 1.0 / (double)(n + 1);
        const int64_t nx = faces_along(&p.options, 0, a), ny = faces_along(&p.options, 1, a);
        for (int64_t f = 0; f < p.faces[a].count; f++) {
            const double at[3] = {(double)(f % nx) - (a == 0 ? 0.5 : 0), (double)(f / nx % ny) - (a == 1 ? 0.5 : 0),
                                  (double)(f / nx / ny) - (a == 2 ? 0.5 : 0)};
            double square = 0;
            for (int b = 0; b < 3; b++)
                square += pow((at[b] + 1) / (double)(n + 1) - 0.5, 2);
            put(&p.faces[a], f, square < 0.09 ? 2 : 80);
        }
        upload(queue, &p.faces[a]);
    }
    numbers x = make_numbers(queue, VF_F64, p.points, 0, 0), b = make_numbers(queue, VF_F64, p.points, -1, 1);
    numbers ax = make_numbers(queue, VF_F64, p.points, 0, 0), kept = make_numbers(queue, VF_F64, p.points, 0, 0);
    double mean = 0; /* in a periodic box, b must have none */
    for (int64_t i = 0; i < p.points; i++)
        mean += get(&b, i) / (double)p.points;
    for (int64_t i = 0; periodic && i < p.points; i++)
        put(&b, i, get(&b, i) - mean);
    upload(queue, &b);
    vf_multigrid *plan;
    vf_stencil *stencil;
    vf_operator *a, *m = cycle_of(&p, sweeps, &plan);
    vf_cg_result result;
    need(vf_stencil_create(device, &p.options, &stencil));
    need(vf_stencil_operator_create(stencil, &a));
    need(vf_queue_copy(queue, kept.array.data, b.array.data, (size_t)p.points * sizeof(double)));
    const vf_cg_options options = {.iterations = 100, .tolerance = 1e-8, .preconditioner = m};
    need(vf_cg(a, queue, &options, b.array.data, x.array.data, &result));
    assert_int_equal(result.end, VF_SOLVER_CONVERGED);
    double square[2], whole[2]; /* the residual that the solver did not compute */
    need(vf_stencil_apply(stencil, queue, x.array.data, ax.array.data));
    need(vf_vector_dot(queue, VF_F64, p.points, kept.array.data, kept.array.data, whole));
    need(vf_vector_axpby(queue, VF_F64, p.points, -1, kept.array.data, 1, ax.array.data));
    need(vf_vector_dot(queue, VF_F64, p.points, ax.array.data, ax.array.data, square));
    assert_true(sqrt(square[0] / whole[0]) <= 1.01e-8);
    vf_operator_free(m);
    vf_operator_free(a);
    vf_stencil_destroy(stencil);
    vf_multigrid_destroy(plan);
    numbers *const all[] = {&x, &b, &ax, &kept};
    for (int i = 0; i < 4; i++)
        free_numbers(all[i]);
    free_problem(&p);
    return result.iterations;
}

/* A red-black sweep leaves about 1/4 of what coarse levels cannot see in three dimensions, and the jump costs as much again:
 * conjugate gradients make 0.2 to 0.3 an iteration of it, so 1e-8 takes about 15. */
static void test_iterations(void **state)
{
    (void)state;
    const int small = iterations_of_ball(31, 1, false), larger = iterations_of_ball(63, 1, false),
              twice = iterations_of_ball(63, 2, false);
    print_message("%d iterations for 31^3, %d for 63^3, %d with two sweeps\n", small, larger, twice);
    assert_true(small <= 20 && larger <= small + 3 && twice < larger);
}

static void test_any_lengths(void **state)
{
    (void)state;
    assert_true(iterations_of_ball(48, 1, false) <= 24 && iterations_of_ball(37, 1, false) <= 24);
}

/* The same bounds for periodic boxes, of powers of two and of others times 3, 7 and 15, whose coarsest level has waves of up to
 * 15 points, of which Jacobi's 64 steps leave (1 - 6/7 (1 - cos(2 pi / 15)) / 3)^64 = 0.2. */
static void test_periodic(void **state)
{
    (void)state;
    const int small = iterations_of_ball(32, 1, true), larger = iterations_of_ball(64, 1, true),
              three = iterations_of_ball(48, 1, true), seven = iterations_of_ball(56, 1, true),
              fifteen = iterations_of_ball(60, 1, true);
    print_message("%d iterations for 32^3, %d for 64^3, %d for 48^3, %d for 56^3, %d for 60^3\n", small, larger, three,
                  seven, fifteen);
    static const int64_t counts[][2] = {{1, 1},   {15, 15},   {16, 16},   {17, 18},
                                        {99, 96}, {101, 104}, {120, 120}, {253, 256}};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        assert_int_equal(vf_multigrid_periodic_count((double)counts[n][0]), counts[n][1]);
    assert_true(small <= 20 && larger <= small + 3 && three <= 24 && seven <= 24 && fifteen <= 24);
}

/* The same bits for any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    const int64_t counts[3] = {37, 30, 29};
    problem p = jumping(VF_F32, REACTION, counts);
    numbers x = make_numbers(queue, VF_F32, p.points, -1, 1), y = make_numbers(queue, VF_F32, p.points, 0, 0);
    float *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        vf_multigrid *plan;
        need(vf_context_set_threads(ctx, threads));
        vf_operator *m = cycle_of(&p, 1, &plan);
        assert_true(vf_multigrid_levels(plan) == 5 && vf_multigrid_bytes(plan) > 3 * p.points);
        need(vf_operator_forward(m, queue, x.array.data, y.array.data));
        download(queue, &y);
        if (!first) {
            first = malloc((size_t)p.points * sizeof *first);
            assert_non_null(first);
            memcpy(first, y.host, (size_t)p.points * sizeof *first);
        }
        assert_memory_equal(first, y.host, (size_t)p.points * sizeof *first);
        vf_operator_free(m);
        vf_multigrid_destroy(plan);
    }
    need(vf_context_set_threads(ctx, 0));
    free(first);
    free_numbers(&x);
    free_numbers(&y);
    free_problem(&p);
}

/* A plan of single precision solves to 1e-11 of the residual: double precision says so, of the same coefficients as
 * doubles. Bits do not depend on threads. */
static void test_solve(void **state)
{
    (void)state;
    const int64_t counts[3] = {37, 30, 45};
    problem p = jumping(VF_F32, REACTION, counts), wide = jumping(VF_F64, REACTION, counts);
    for (int a = 0; a < 3; a++) {
        for (int64_t f = 0; f < p.faces[a].count; f++)
            put(&wide.faces[a], f, get(&p.faces[a], f));
        upload(queue, &wide.faces[a]);
    }
    for (int64_t i = 0; i < p.points; i++)
        put(&wide.reaction, i, get(&p.reaction, i));
    upload(queue, &wide.reaction);
    numbers b = make_numbers(queue, VF_F64, p.points, -1, 1), x = make_numbers(queue, VF_F64, p.points, 0, 0);
    numbers left = make_numbers(queue, VF_F64, p.points, 0, 0), first = make_numbers(queue, VF_F64, p.points, 0, 0);
    for (int threads = 1; threads <= 3; threads++) {
        vf_multigrid *plan;
        vf_stencil *stencil;
        vf_cg_result result;
        double square[2], whole[2];
        const vf_cg_options options = {.iterations = 60, .tolerance = 1e-11};
        need(vf_context_set_threads(ctx, threads));
        need(vf_multigrid_create(device, &p.options, 1, &plan));
        need(vf_queue_copy(queue, left.array.data, b.array.data, (size_t)p.points * sizeof(double)));
        need(vf_multigrid_solve(plan, queue, &options, left.array.data, x.array.data, &result));
        assert_int_equal(result.end, VF_SOLVER_CONVERGED);
        need(vf_stencil_create(device, &wide.options, &stencil));
        need(vf_stencil_apply(stencil, queue, x.array.data, left.array.data));
        need(vf_vector_axpby(queue, VF_F64, p.points, -1, b.array.data, 1, left.array.data));
        need(vf_vector_dot(queue, VF_F64, p.points, left.array.data, left.array.data, square));
        need(vf_vector_dot(queue, VF_F64, p.points, b.array.data, b.array.data, whole));
        const double residual = sqrt(square[0] / whole[0]);
        if (!(residual <= 1.01e-11 && fabs(residual - result.residual) <= 1e-13))
            fail_msg("%d iterations: %g, by the solver %g", result.iterations, residual, result.residual);
        download(queue, &x);
        if (threads == 1)
            memcpy(first.host, x.host, (size_t)p.points * sizeof(double));
        assert_memory_equal(first.host, x.host, (size_t)p.points * sizeof(double));
        vf_stencil_destroy(stencil);
        vf_multigrid_destroy(plan);
    }
    need(vf_context_set_threads(ctx, 0));
    numbers *const all[] = {&b, &x, &left, &first};
    for (int i = 0; i < 4; i++)
        free_numbers(all[i]);
    free_problem(&p);
    free_problem(&wide);
}

/* The numbers of an array, on the host. */
static numbers copied(vf_queue *host, const numbers *from)
{
    numbers a = make_numbers(host, from->type, from->count, 0, 0);
    memcpy(a.host, from->host, (size_t)from->count * vf_dtype_bytes(from->type));
    upload(host, &a);
    return a;
}

/* A cycle has the bits of the CPU on every device: each value is the same chain of rounded operations. Levels of all
 * kinds: large, small, with axes that are not halved. */
static void test_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {{70, 45, 33, 0}, {64, 64, 64, 0}, {12, 3, 9, 0},   {1, 6000, 2, 0},
                                       {150, 2, 90, 0}, {64, 80, 96, 7}, {33, 40, 70, 6}, {14, 9, 22, 7}};
    vf_queue *host;
    need(vf_queue_create(vf_context_host(ctx), &host));
    for (size_t s = 0; s < 2 * sizeof sizes / sizeof *sizes; s++) {
        const vf_dtype type = s % 2 ? VF_F64 : VF_F32;
        problem p = jumping_in(type, s % 4 < 2 ? REACTION : VARIABLE, sizes[s / 2], (int)sizes[s / 2][3]), q = p;
        numbers b = make_numbers(queue, type, p.points, -1, 1), x = make_numbers(queue, type, p.points, 5, 5);
        numbers b_host = copied(host, &b), x_host = make_numbers(host, type, p.points, 7, 7);
        vf_multigrid *plan, *plan_host;
        vf_operator *m = cycle_of(&p, 1, &plan), *m_host;
        for (int a = 0; a < 3; a++) {
            q.faces[a] = copied(host, &p.faces[a]);
            q.options.faces[a] = q.faces[a].array.data;
        }
        if (q.options.reaction) {
            q.reaction = copied(host, &p.reaction);
            q.options.reaction = q.reaction.array.data;
        }
        need(vf_multigrid_create(vf_context_host(ctx), &q.options, 1, &plan_host));
        need(vf_multigrid_operator_create(plan_host, &m_host));
        need(vf_operator_forward(m, queue, b.array.data, x.array.data));
        need(vf_operator_forward(m_host, host, b_host.array.data, x_host.array.data));
        download(queue, &x);
        download(host, &x_host);
        assert_memory_equal(x.host, x_host.host, (size_t)p.points * vf_dtype_bytes(type));
        assert_true(isfinite(get(&x, p.points / 2)));
        vf_operator_free(m);
        vf_operator_free(m_host);
        vf_multigrid_destroy(plan);
        vf_multigrid_destroy(plan_host);
        numbers *const all[] = {&b, &x, &b_host, &x_host, &q.faces[0], &q.faces[1], &q.faces[2]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free_numbers(all[i]);
        if (q.options.reaction)
            free_numbers(&q.reaction);
        free_problem(&p);
    }
    vf_queue_destroy(host);
}

static void test_refusals(void **state)
{
    (void)state;
    const int64_t counts[3] = {8, 8, 8};
    problem p = jumping(VF_F64, VARIABLE, counts);
    vf_multigrid *plan;
    refused(vf_multigrid_create(device, &p.options, 9, &plan), "at most 8 sweeps");
    refused(vf_multigrid_create(device, &p.options, -1, &plan), "sweeps");
    vf_stencil_options other = p.options;
    other.faces[0] = other.faces[1] = other.faces[2] = NULL;
    refused(vf_multigrid_create(device, &other, 1, &plan), "faces");
    other = p.options;
    vf_multigrid *made;
    vf_cg_result result;
    need(vf_multigrid_create(device, &p.options, 1, &made));
    const vf_cg_options warm = {.iterations = 9, .tolerance = 1e-3, .warm = true}, none = {.iterations = 9};
    refused(vf_multigrid_solve(made, queue, &warm, p.b.array.data, p.x.array.data, &result), "not possible");
    refused(vf_multigrid_solve(made, queue, &none, p.b.array.data, p.x.array.data, &result), "tolerance of 0");
    vf_multigrid_destroy(made);
    other = p.options;
    other.counts[2] = 0;
    refused(vf_multigrid_create(device, &other, 1, &plan), "points");
    assert_null(plan);
    vf_multigrid_destroy(NULL);
    free_problem(&p);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_self_adjoint), cmocka_unit_test(test_iterations),
            cmocka_unit_test(test_any_lengths), cmocka_unit_test(test_periodic), cmocka_unit_test(test_threads),
            cmocka_unit_test(test_solve), cmocka_unit_test(test_same_bits), cmocka_unit_test(test_refusals))
