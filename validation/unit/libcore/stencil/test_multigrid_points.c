/* What a GPU does in a cycle of multigrid, on the CPU: the passes by points (multigrid_point.inc) and their order
 * (multigrid_passes.inc), with every block and thread of a launch. All values have the bits of the CPU's rows, since
 * each is the same chain of rounded operations. This file is compiled without contraction, too.
 *
 * usage: test_multigrid_points cpu [TEST...] */
#include "multigrid_fixture.h"
#include "stencil/multigrid_blocks.h"
#include "stencil/multigrid_plan.h"

static int passes, blocks_run; /* of launches, since they were last set to 0 */

#define REAL float
#define TYPE VF_F32
#define NAME(x) x##_f32
#include "multigrid_by_points.inc"
#undef REAL
#undef TYPE
#undef NAME
#define REAL double
#define TYPE VF_F64
#define NAME(x) x##_f64
#include "multigrid_by_points.inc"

/* A plan of the CPU that runs by points, with coarse coefficients made so. */
static vf_multigrid *plan_by_points(const problem *p, int sweeps)
{
    vf_multigrid *plan;
    need(vf_multigrid_create(device, &p->options, sweeps, &plan));
    plan->ops = p->options.type == VF_F32 ? &ops_by_points_f32 : &ops_by_points_f64;
    need(vf_array_create(device, VF_SPACE_DEVICE, p->options.type, p->points, &plan->scratch));
    for (int n = 0; n + 1 < plan->levels; n++) {
        vf_multigrid_level *coarse = &plan->level[n + 1];
        vf_array *const arrays[] = {&coarse->faces[0], &coarse->faces[1], &coarse->faces[2], &coarse->reaction};
        for (int a = 0; a < 4; a++)
            if (arrays[a]->data)
                memset(arrays[a]->data, 0xff, (size_t)arrays[a]->count * vf_dtype_bytes(p->options.type));
        need(plan->ops->coarsen(plan, n));
    }
    return plan;
}

static void same_bits(const vf_array *a, const void *b, const char *what, int level)
{
    if (a->count > 0 && memcmp(a->data, b, (size_t)a->count * vf_dtype_bytes(a->type)) != 0)
        fail_msg("%s of level %d has other bits", what, level);
}

static void compare_plans(const problem *p, int sweeps)
{
    const vf_dtype type = p->options.type;
    numbers b = make_numbers(queue, type, p->points, -1, 1), left = make_numbers(queue, VF_F64, p->points, -1, 1);
    numbers x[2], ax[2], r[2], rest[2], sum[2];
    double product[2][3];
    vf_multigrid *plan[2];
    need(vf_multigrid_create(device, &p->options, sweeps, &plan[0]));
    plan[1] = plan_by_points(p, sweeps);
    for (int n = 1; n < plan[0]->levels; n++) {
        for (int a = 0; a < 3; a++)
            same_bits(&plan[0]->level[n].faces[a], plan[1]->level[n].faces[a].data, "a face", n);
        same_bits(&plan[0]->level[n].reaction, plan[1]->level[n].reaction.data, "the reaction", n);
    }
    for (int i = 0; i < 2; i++) {
        x[i] = make_numbers(queue, type, p->points, 5, 5);
        ax[i] = make_numbers(queue, type, p->points, 5, 5);
        r[i] = make_numbers(queue, type, p->points, 5, 5);
        rest[i] = make_numbers(queue, VF_F64, p->points, 0, 0);
        sum[i] = make_numbers(queue, VF_F64, p->points, 0.25, 0.25);
        memcpy(rest[i].array.data, left.array.data, (size_t)p->points * sizeof(double));
        need(plan[i]->ops->cycle(plan[i], queue, b.array.data, x[i].array.data, &product[i][0]));
        need(plan[i]->ops->apply(plan[i], queue, x[i].array.data, ax[i].array.data, &product[i][1]));
        need(plan[i]->ops->correct(plan[i], queue, x[i].array.data, rest[i].array.data, sum[i].array.data,
                                   r[i].array.data, &product[i][2]));
    }
    const struct {
        const char *what;
        numbers *of;
    } results[] = {
        {"the cycle", x}, {"A x", ax}, {"the residual", rest}, {"the sum", sum}, {"the rounded residual", r}};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        same_bits(&results[i].of[0].array, results[i].of[1].array.data, results[i].what, 0);
        free_numbers(&results[i].of[0]);
        free_numbers(&results[i].of[1]);
    }
    /* Sums of n products in two orders, n u of the sum of their magnitudes each, which is not ten times their sum: both
     * matrices are positive definite, and |left|^2 has squares. */
    for (int i = 0; i < 3; i++)
        assert_true(product[0][i] > 0 &&
                    fabs(product[0][i] - product[1][i]) <= 20 * 0x1p-53 * (double)p->points * product[0][i]);
    vf_multigrid_destroy(plan[0]);
    vf_multigrid_destroy(plan[1]);
    free_numbers(&b);
    free_numbers(&left);
}

/* Odd and even lengths, axes that are not halved, more and less than a block, small levels alone and below others. */
static void test_bits(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{37, 30, 45}, {16, 21, 12}, {3, 2, 1},   {1, 1, 1},   {1, 40, 4},
                                       {5, 6, 7},    {66, 9, 17},  {4, 4, 4},   {33, 8, 64}, {1, 5001, 1},
                                       {70, 1, 90},  {2, 3, 5000}, {17, 17, 17}};
    passes = blocks_run = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int type = 0; type < 2; type++) {
            problem p = jumping(type ? VF_F64 : VF_F32, (s + (size_t)type) % 2 ? REACTION : VARIABLE, sizes[s]);
            compare_plans(&p, 1 + (int)s % 3);
            free_problem(&p);
        }
    /* Periodic axes: all or some, even and odd, halved often or never, of one point and of two. */
    static const int64_t periodic[][4] = {{32, 24, 40, 7}, {16, 20, 12, 7}, {30, 9, 14, 7}, {66, 34, 10, 7},
                                          {7, 5, 3, 7},    {1, 1, 1, 7},    {2, 1, 4, 7},   {1, 2, 40, 7},
                                          {4, 4, 4, 7},    {33, 8, 64, 6},  {64, 6, 33, 1}, {70, 40, 8, 2},
                                          {48, 40, 56, 7}, {17, 17, 17, 7}, {34, 36, 35, 5}};
    for (size_t s = 0; s < sizeof periodic / sizeof *periodic; s++)
        for (int type = 0; type < 2; type++) {
            /* In a box that nothing leaves, products of a cycle may be 0 but for rounding: a reaction keeps them positive. */
            problem p = jumping_in(type ? VF_F64 : VF_F32, REACTION, periodic[s], (int)periodic[s][3]);
            compare_plans(&p, 1 + (int)s % 3);
            free_problem(&p);
        }
    print_message("%d launches of passes, %d of small levels\n", passes, blocks_run);
    assert_true(passes > 100 && blocks_run > 10);
}

/* vf_multigrid_solve on a plan by points. */
static void test_solve(void **state)
{
    (void)state;
    const int64_t counts[3] = {37, 30, 29};
    for (int type = 0; type < 2; type++) {
        problem p = jumping(type ? VF_F64 : VF_F32, REACTION, counts);
        numbers b = make_numbers(queue, VF_F64, p.points, -1, 1), x = make_numbers(queue, VF_F64, p.points, 0, 0);
        numbers left = make_numbers(queue, VF_F64, p.points, 0, 0);
        const vf_cg_options options = {.iterations = 60, .tolerance = 1e-10};
        vf_cg_result result, again;
        vf_multigrid *plan = plan_by_points(&p, 1);
        need(vf_queue_copy(queue, left.array.data, b.array.data, (size_t)p.points * sizeof(double)));
        need(vf_multigrid_solve(plan, queue, &options, left.array.data, x.array.data, &result));
        assert_int_equal(result.end, VF_SOLVER_CONVERGED);
        vf_multigrid_destroy(plan);
        /* The rows' solver: both residuals are 1e-10 of b, so the solutions differ by 2e-10 of the matrix's condition,
         * some 40 (the coefficients) times 37^2 / 2. */
        need(vf_multigrid_create(device, &p.options, 1, &plan));
        need(vf_queue_copy(queue, left.array.data, b.array.data, (size_t)p.points * sizeof(double)));
        numbers other = make_numbers(queue, VF_F64, p.points, 0, 0);
        need(vf_multigrid_solve(plan, queue, &options, left.array.data, other.array.data, &again));
        double error[2], size[2];
        need(vf_vector_axpby(queue, VF_F64, p.points, -1, x.array.data, 1, other.array.data));
        need(vf_vector_dot(queue, VF_F64, p.points, other.array.data, other.array.data, error));
        need(vf_vector_dot(queue, VF_F64, p.points, x.array.data, x.array.data, size));
        if (!(sqrt(error[0] / size[0]) <= 1e-5 && abs(result.iterations - again.iterations) <= 1))
            fail_msg("%d iterations and %d, a difference of %g", result.iterations, again.iterations,
                     sqrt(error[0] / size[0]));
        vf_multigrid_destroy(plan);
        numbers *const all[] = {&b, &x, &left, &other};
        for (int i = 0; i < 4; i++)
            free_numbers(all[i]);
        free_problem(&p);
    }
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_bits), cmocka_unit_test(test_solve))
