/* The cycle of multigrid. Threads take rows; in a pass over one colour, a row's new values need only the other's. */
#include <omp.h>
#include <string.h>

#include "multigrid_plan.h"
#include "voxfield/team_size.h"

/* Sweeps on the coarsest level, of at most 3^3 points, before and in reverse after: the least eigenvalue of D^-1 A is
 * 1 - cos(pi / 4), so one sweep of Gauss and Seidel leaves cos^2(pi / 4) = 1/2, and all of them 2^-32. */
enum { LAST_SWEEPS = 16 };

static const void *at(const vf_multigrid_level *l, const void *array, int64_t i)
{
    return array ? (const char *)array + i * l->bytes : NULL;
}

/* Row j of plane k. */
static vf_multigrid_row row_of(const vf_multigrid_level *l, const void *x, const void *b, int64_t j, int64_t k)
{
    const vf_stencil_options *o = &l->options;
    const int64_t nx = o->counts[0], ny = o->counts[1], nz = o->counts[2], first = (k * ny + j) * nx;
    vf_multigrid_row row = {.n = nx, .x = at(l, x, first), .b = at(l, b, first)};
    row.y[0] = j > 0 ? at(l, x, first - nx) : l->zeros;
    row.y[1] = j + 1 < ny ? at(l, x, first + nx) : l->zeros;
    row.z[0] = k > 0 ? at(l, x, first - nx * ny) : l->zeros;
    row.z[1] = k + 1 < nz ? at(l, x, first + nx * ny) : l->zeros;
    row.cx = at(l, o->faces[0], (k * ny + j) * (nx + 1));
    for (int s = 0; s < 2; s++) {
        row.cy[s] = at(l, o->faces[1], (k * (ny + 1) + j + s) * nx);
        row.cz[s] = at(l, o->faces[2], first + s * nx * ny);
    }
    row.reaction = at(l, o->reaction, first);
    for (int a = 0; a < 3; a++)
        row.weight[a] = l->weight[a];
    return row;
}

typedef enum pass_kind { START, RELAX, RELAX_SUM, APPLY, CORRECT } pass_kind;

typedef struct pass {
    pass_kind kind;
    int colour;
    const void *x, *b;
    void *out;   /* START, RELAX: x; APPLY: A x; CORRECT: the double b */
    double *sum; /* CORRECT: the double x */
} pass;

static double run_row(const vf_multigrid_level *l, const pass *p, int64_t j, int64_t k)
{
    vf_multigrid_row row = row_of(l, p->x, p->b, j, k);
    const int64_t first = (k * l->options.counts[1] + j) * l->options.counts[0];
    row.colour = (int)((p->colour + j + k) & 1);
    void *const out = p->kind == CORRECT ? NULL : (void *)at(l, p->out, first);
    switch (p->kind) {
    case START:
        l->rows->start(&row, out);
        return 0;
    case RELAX:
        return l->rows->relax(&row, out, false);
    case RELAX_SUM:
        return l->rows->relax(&row, out, true);
    case APPLY:
        return l->rows->apply(&row, out);
    default:
        return l->rows->correct(&row, (double *)p->out + first, p->sum + first);
    }
}

/* Returns the sum over rows, added in their order. */
static double run(const vf_multigrid_level *l, const pass *p)
{
    const int64_t rows = l->options.counts[1] * l->options.counts[2];
    const bool sums = p->kind >= RELAX_SUM;
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(l->ctx, l->points))
    for (int64_t r = 0; r < rows; r++) {
        const double here = run_row(l, p, r % l->options.counts[1], r / l->options.counts[1]);
        if (sums)
            l->sums[r] = here;
    }
    for (int64_t r = 0; sums && r < rows; r++)
        sum += l->sums[r];
    return sum;
}

double vf_multigrid_apply(const vf_multigrid_level *l, const void *x, void *ax)
{
    const pass p = {.kind = APPLY, .x = x, .out = ax};
    return run(l, &p);
}

double vf_multigrid_correct(const vf_multigrid_level *l, const void *x, double *b, double *sum)
{
    const pass p = {.kind = CORRECT, .x = x, .out = b, .sum = sum};
    return run(l, &p);
}

/* The residual of the colour that was not smoothed last: that of the other is 0. */
static void residual_row(const void *level, int64_t j, int64_t k, void *out)
{
    const vf_multigrid_level *l = level;
    vf_multigrid_row row = row_of(l, l->now_x, l->now_b, j, k);
    row.colour = (int)((j + k) & 1);
    l->rows->residual(&row, out);
}

/* Colours 0 and 1, and in reverse after the coarser levels: the cycle is self-adjoint. */
static double cycle(vf_multigrid *plan, int n, const void *b, void *x)
{
    vf_multigrid_level *l = &plan->level[n], *coarse = l + 1;
    const bool last = n == plan->levels - 1;
    const int sweeps = last ? LAST_SWEEPS : plan->sweeps + (n > 0);
    pass p = {.kind = START, .x = x, .b = b, .out = x};
    double product = 0;
    for (int half = 0; half < 2 * sweeps; half++) {
        p.kind = half == 0 ? START : RELAX;
        p.colour = half & 1;
        run(l, &p);
    }
    if (!last) {
        l->now_b = b;
        l->now_x = x;
        plan->moves->restrict_residual(&l->to_coarse, residual_row, l, coarse->b.data);
        cycle(plan, n + 1, coarse->b.data, coarse->x.data);
        plan->moves->add_correction(&l->to_coarse, coarse->x.data, x);
    }
    for (int half = 2 * sweeps - 1; half >= 0; half--) {
        p.kind = half == 0 && n == 0 ? RELAX_SUM : RELAX;
        p.colour = half & 1;
        product = run(l, &p);
    }
    return product;
}

double vf_multigrid_cycle(vf_multigrid *plan, const void *b, void *x)
{
    return cycle(plan, 0, b, x);
}

static vf_status forward(void *state, vf_queue *queue, const void *x, void *y)
{
    (void)queue;
    vf_multigrid_cycle(state, x, y);
    return VF_OK;
}

vf_status vf_multigrid_operator_create(vf_multigrid *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "multigrid", .forward = forward};
    const vf_vector_space space = {plan->level[0].options.type, plan->level[0].points};
    return vf_operator_create(plan->device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, plan, out);
}
