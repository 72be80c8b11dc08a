/* Teams of threads or one thread, as times say: in made-up times, and in solvers whose operator is slow either way. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/context_internal.h"
#include "device/team_choice.h"
#include "random_fixture.h"
#include "test_main.h"
#include "voxfield/solver.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"

enum { COUNT = 20000, ROUNDS = 150, TOGETHER = 4 };
static const int64_t ALL = INT64_MAX - 1; /* work that is worth a team, unless there must be none */

static vf_context *context_with(int threads)
{
    vf_context *ctx;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    return ctx;
}

/* ---- made-up times ---- */

/* `iterations` of kinds 0, 1, ..., kinds - 1 in turn; one of kind k takes 1 + k times as long as one of kind 0. Returns their
 * time; *alone: how many had one thread. */
static double play(vf_team_choice *c, int iterations, int kinds, const double seconds[2], bool busy, int *alone)
{
    double sum = 0;
    *alone = 0;
    for (int i = 0; i < iterations; i++) {
        const double took = seconds[c->alone] * (1 + i % kinds);
        *alone += c->alone;
        sum += took;
        vf_team_choice_judge(c, i % kinds, took, busy && !c->alone);
    }
    return sum;
}

/* Trials cost at most 2 % where the team is faster; one more may be under way. Of two kinds, the trial may be of that which
 * takes twice as long as the one that it was allowed for. */
static void test_idle(void **state)
{
    (void)state;
    const struct {
        int threads;
        double alone; /* times slower */
    } of[] = {{2, 1.3}, {2, 2}, {4, 3}, {16, 3}, {16, 15}, {64, 64}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int kinds = 1; kinds <= 2; kinds++) {
            const double seconds[2] = {1e-3, 1e-3 * of[i].alone};
            vf_team_choice c = {.threads = of[i].threads};
            int alone;
            const double took = play(&c, 10000, kinds, seconds, false, &alone);
            const double best = 10000 * seconds[0] * (kinds == 1 ? 1 : 1.5);
            assert_true(alone >= 1); /* it does look */
            assert_true(took <= (1 + 0.02 * kinds) * best + kinds * seconds[1]);
        }
}

/* On a busy machine the second iteration has one thread. After that, a trial may cost 2 % again. */
static void test_busy(void **state)
{
    (void)state;
    const double seconds[2] = {3e-3, 1e-3}, slow[2] = {3e-1, 1e-1};
    vf_team_choice c = {.threads = 2};
    int alone;
    assert_true(play(&c, 1, 1, seconds, true, &alone) == seconds[0] && alone == 0);
    const double took = play(&c, 10000, 1, seconds, true, &alone);
    assert_true(took <= 1.02 * 10000 * seconds[1] + seconds[0] && alone > 9800);
    c = (vf_team_choice){.threads = 2}; /* long iterations: never */
    (void)play(&c, 1000, 1, slow, true, &alone);
    assert_int_equal(alone, 0);
}

/* A load that comes and goes. */
static void test_changing(void **state)
{
    (void)state;
    const double idle[2] = {1e-3, 1.6e-3}, busy[2] = {3e-3, 1.6e-3};
    vf_team_choice c = {.threads = 2};
    int alone;
    (void)play(&c, 200, 1, idle, false, &alone);
    assert_true(alone <= 4);
    (void)play(&c, 100, 1, busy, true, &alone);
    assert_true(alone >= 95); /* the mean of two times tells at once; in the third iteration at the latest */
    /* One thread is faster by 1.4 ms, which are 2 % of 70 ms: 44 iterations. */
    (void)play(&c, 46, 1, idle, false, &alone);
    (void)play(&c, 40, 1, idle, false, &alone);
    assert_true(alone <= 1 && !c.alone);
}

/* ---- solvers ---- */

/* A diagonal matrix, and milliseconds that an application takes besides, with a team and alone. */
typedef struct sleeper {
    vf_context *ctx;
    const double *diagonal;
    int milliseconds[2];
    int count[2]; /* applications */
} sleeper;

static vf_status apply(void *state, vf_queue *queue, const void *x, void *y)
{
    (void)queue;
    sleeper *s = state;
    const bool alone = vf_threads_for(s->ctx, ALL) == 1;
    for (int i = 0; i < COUNT; i++)
        ((double *)y)[i] = s->diagonal[i] * ((const double *)x)[i];
    usleep(1000 * (unsigned)s->milliseconds[alone]);
    s->count[alone]++;
    return VF_OK;
}

static double diagonal[COUNT], right[COUNT];

static void solve_with(sleeper *s, double *x)
{
    static const vf_operator_methods methods = {.name = "sleeper", .forward = apply};
    const vf_vector_space space = {VF_F64, COUNT};
    const vf_cg_options options = {.iterations = ROUNDS};
    vf_device *device = vf_context_device(s->ctx, 0);
    vf_queue *queue;
    vf_operator *a;
    vf_cg_result result;
    double *b = malloc(sizeof right);
    assert_non_null(b);
    memcpy(b, right, sizeof right);
    assert_int_equal(vf_queue_create(device, &queue), VF_OK);
    assert_int_equal(vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, s, &a), VF_OK);
    assert_int_equal(vf_cg(a, queue, &options, b, x, &result), VF_OK);
    assert_int_equal(result.iterations, ROUNDS);
    vf_operator_free(a);
    vf_queue_destroy(queue);
    free(b);
}

/* A condition of 1e6 takes more than ROUNDS iterations to a residual of 0. */
static int make_numbers(void **state)
{
    (void)state;
    seed_random();
    for (int i = 0; i < COUNT; i++) {
        diagonal[i] = 1 + 1e6 * uniform();
        right[i] = uniform() - 0.5;
    }
    return 0;
}

/* The way that is ten times faster is found after 50 iterations, in which the other could have cost 2 %, or earlier where the
 * machine is busy, and it is kept. The bits are those of one thread. */
static void test_solvers(void **state)
{
    (void)state;
    static double x[3][COUNT];
    const int milliseconds[3][2] = {{0, 0}, {10, 1}, {1, 10}}, threads[3] = {1, 2, 2};
    for (int i = 0; i < 3; i++) {
        sleeper s = {.ctx = context_with(threads[i]),
                     .diagonal = diagonal,
                     .milliseconds = {milliseconds[i][0], milliseconds[i][1]}};
        solve_with(&s, x[i]);
        if (i == 1)
            assert_true(s.count[1] > ROUNDS / 2);
        if (i == 2)
            assert_true(s.count[0] > ROUNDS / 2);
        assert_int_equal(memcmp(x[i], x[0], sizeof x[0]), 0);
        vf_context_destroy(s.ctx);
    }
}

static void *solve_in_thread(void *user)
{
    static double x[TOGETHER][COUNT];
    sleeper *s = user;
    solve_with(s, x[s->milliseconds[1]]);
    return x[s->milliseconds[1]];
}

/* Solvers in several threads at the same time, with one context. The first of them may choose; none spoils another's result. */
static void test_together(void **state)
{
    (void)state;
    static double expected[COUNT];
    vf_context *ctx = context_with(2);
    sleeper one = {.ctx = ctx, .diagonal = diagonal}, s[TOGETHER];
    pthread_t thread[TOGETHER];
    solve_with(&one, expected);
    for (int i = 0; i < TOGETHER; i++) {
        s[i] = (sleeper){.ctx = ctx, .diagonal = diagonal, .milliseconds = {0, i}};
        assert_int_equal(pthread_create(&thread[i], NULL, solve_in_thread, &s[i]), 0);
    }
    for (int i = 0; i < TOGETHER; i++) {
        void *x;
        assert_int_equal(pthread_join(thread[i], &x), 0);
        assert_int_equal(memcmp(x, expected, sizeof expected), 0);
    }
    vf_context_destroy(ctx);
}

/* Of two solvers at the same time, neither has iterations with one thread. The next solver begins as the last one ended. */
static void test_two_at_once(void **state)
{
    (void)state;
    vf_context *ctx = context_with(2), *other = context_with(3);
    vf_device *device = vf_context_device(ctx, 0);
    vf_team_choice a, b;
    vf_team_choice_begin(&a, device, COUNT);
    a.alone = true;
    vf_iteration_begins(&a);
    assert_int_equal(vf_threads_for(ctx, ALL), 1);
    assert_int_equal(vf_threads_for(other, ALL), 3);
    vf_iteration_ends(&a, 0);
    assert_int_equal(vf_threads_for(ctx, ALL), 2);
    vf_team_choice_begin(&b, device, COUNT);
    a.alone = b.alone = true;
    vf_iteration_begins(&b);
    assert_int_equal(vf_threads_for(ctx, ALL), 2);
    vf_iteration_begins(&a);
    assert_int_equal(vf_threads_for(ctx, ALL), 2);
    vf_team_choice_end(&b);
    vf_iteration_begins(&a);
    assert_int_equal(vf_threads_for(ctx, ALL), 1);
    a.looks = false;
    a.ratio = 2;
    vf_team_choice_end(&a);
    assert_int_equal(vf_threads_for(ctx, ALL), 2); /* long regions have the team, short ones do not yet */
    assert_int_equal(vf_threads_for(ctx, 500000), 1);
    vf_team_choice_begin(&b, device, COUNT);
    assert_true(b.alone && b.ratio == 2);
    vf_team_choice_end(&b);
    vf_team_choice_begin(&b, device, 100 * COUNT); /* another problem */
    assert_false(b.alone);
    vf_team_choice_end(&b);
    assert_int_equal(vf_threads_for(ctx, 500000), 2);
    vf_context_destroy(other);
    vf_context_destroy(ctx);
}

/* ---- the kernel's accounts ---- */

static atomic_bool stop;

static void *spin(void *user)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(*(const size_t *)user, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    while (!atomic_load(&stop))
        ;
    return NULL;
}

/* Two threads on one core share it, so that each waits for half of the time; a quarter is enough for the test. */
static void test_delays(void **state)
{
    (void)state;
    vf_thread_delays delays = {0};
    cpu_set_t set;
    size_t core = 0;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    while (!CPU_ISSET(core, &set))
        core++;
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, spin, &core), 0);
    usleep(20000);
    assert_true(vf_thread_delays_most(&delays) == 0 && delays.count >= 3);
    const double begin = vf_now();
    usleep(200000);
    const double waited = vf_thread_delays_most(&delays), passed = vf_now() - begin;
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    if (access("/proc/self/schedstat", R_OK) == 0)
        assert_true(waited > passed / 4 && waited < 2 * passed);
    else
        assert_true(waited == 0);
}

TEST_MAIN(make_numbers, NULL, cmocka_unit_test(test_idle), cmocka_unit_test(test_busy), cmocka_unit_test(test_changing),
          cmocka_unit_test(test_solvers), cmocka_unit_test(test_together), cmocka_unit_test(test_two_at_once),
          cmocka_unit_test(test_delays))
