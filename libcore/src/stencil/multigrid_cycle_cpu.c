/* The cycle of multigrid. Threads take rows; in a pass over one colour, a row's new values need only the other's. */
#include <omp.h>
#include <string.h>

#include "multigrid_plan.h"
#include "stencil_plan.h"
#include "voxfield/team_size.h"

static const void *at(const vf_multigrid_level *l, const void *array, int64_t i)
{
    return array ? (const char *)array + i * l->bytes : NULL;
}

/* Row j of plane k. */
static vf_multigrid_row row_of(const vf_multigrid_level *l, const void *x, const void *b, int64_t j, int64_t k)
{
    const vf_stencil_options *o = &l->options;
    const int64_t nx = o->counts[0], ny = o->counts[1], nz = o->counts[2], first = (k * ny + j) * nx;
    const int64_t y_faces = vf_stencil_faces(ny, o->periodic[1]);
    const vf_stencil_steps y = vf_stencil_steps_of(j, ny, o->periodic[1]),
                           z = vf_stencil_steps_of(k, nz, o->periodic[2]);
    vf_multigrid_row row = {.n = nx, .wraps = o->periodic[0], .x = at(l, x, first), .b = at(l, b, first)};
    row.y[0] = y.has_low ? at(l, x, first + y.low * nx) : l->zeros;
    row.y[1] = y.has_high ? at(l, x, first + y.high * nx) : l->zeros;
    row.z[0] = z.has_low ? at(l, x, first + z.low * nx * ny) : l->zeros;
    row.z[1] = z.has_high ? at(l, x, first + z.high * nx * ny) : l->zeros;
    row.cx = at(l, o->faces[0], (k * ny + j) * vf_stencil_faces(nx, o->periodic[0]));
    row.cy[0] = at(l, o->faces[1], (k * y_faces + j) * nx);
    row.cy[1] = at(l, o->faces[1], (k * y_faces + j + (o->periodic[1] ? y.high : 1)) * nx);
    row.cz[0] = at(l, o->faces[2], first);
    row.cz[1] = at(l, o->faces[2], first + (o->periodic[2] ? z.high : 1) * nx * ny);
    row.reaction = at(l, o->reaction, first);
    for (int a = 0; a < 3; a++)
        row.weight[a] = l->weight[a];
    return row;
}

typedef enum pass_kind { START, RELAX, RELAX_SUM, JACOBI_START, JACOBI, JACOBI_SUM, APPLY, CORRECT } pass_kind;

typedef struct pass {
    pass_kind kind;
    int colour;
    const void *x, *b;
    void *out;   /* START, RELAX: x; JACOBI: the new x; APPLY: A x; CORRECT: the double b */
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
    case JACOBI_START:
    case JACOBI:
    case JACOBI_SUM:
        return l->rows->jacobi(&row, VF_MULTIGRID_OMEGA, p->kind == JACOBI_START, out, p->kind == JACOBI_SUM);
    case APPLY:
        return l->rows->apply(&row, out);
    default:
        return l->rows->correct(&row, (double *)p->out + first, p->sum + first);
    }
}

static void run_plane(const vf_multigrid_level *l, const pass *p, int64_t k)
{
    const int64_t ny = l->options.counts[1];
    for (int64_t j = 0; j < ny; j++)
        l->sums[k * ny + j] = run_row(l, p, j, k);
}

/* The sum over rows, in their order. */
static double sum_rows(const vf_multigrid_level *l)
{
    double sum = 0;
    for (int64_t r = 0; r < l->options.counts[1] * l->options.counts[2]; r++)
        sum += l->sums[r];
    return sum;
}

static double run(const vf_multigrid_level *l, const pass *p)
{
    const int64_t ny = l->options.counts[1], rows = ny * l->options.counts[2];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(l->ctx, l->points))
    for (int64_t r = 0; r < rows; r++)
        l->sums[r] = run_row(l, p, r % ny, r / ny);
    return sum_rows(l);
}

/* A pass over one colour and one over the other, a plane behind it, while its planes are in the cache. Threads take runs of planes: the
 * first and the last of a run wait in the second pass until the others' neighbours are done, and no value differs. */
static double run_both(const vf_multigrid_level *l, const pass *first, const pass *second)
{
    const int64_t planes = l->options.counts[2];
#pragma omp parallel num_threads(vf_threads_for(l->ctx, 2 * l->points))
    {
        const int64_t run = omp_get_thread_num(), runs = omp_get_num_threads();
        const int64_t from = planes * run / runs, to = planes * (run + 1) / runs;
        for (int64_t k = from; k < to; k++) {
            run_plane(l, first, k);
            if (k - 1 > from)
                run_plane(l, second, k - 1);
        }
#pragma omp barrier
        if (to > from)
            run_plane(l, second, from);
        if (to - 1 > from)
            run_plane(l, second, to - 1);
    }
    return sum_rows(l);
}

/* Two steps of Jacobi's method for a sweep: to `other` and back. `last`: those whose sum <b, x> is wanted. */
static double run_jacobi(const vf_multigrid_level *l, int sweeps, const void *b, void *x, bool from_zero, bool last)
{
    void *const other = l->other.data;
    double sum = 0;
    for (int step = 0; step < 2 * sweeps; step++) {
        pass p = {.kind = JACOBI, .x = step % 2 ? other : x, .b = b, .out = step % 2 ? x : other};
        if (step == 0 && from_zero)
            p.kind = JACOBI_START;
        if (step == 2 * sweeps - 1 && last)
            p.kind = JACOBI_SUM;
        sum = run(l, &p);
    }
    return sum;
}

/* Red (colour 0) and black, or in reverse. */
static double run_colours(const vf_multigrid_level *l, int sweeps, const void *b, void *x, bool before, bool last)
{
    const pass red = {RELAX, 0, x, b, x, NULL}, black = {RELAX, 1, x, b, x, NULL};
    double sum = 0;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        pass first = before ? red : black, second = before ? black : red;
        if (before && sweep == 0)
            first.kind = START;
        if (last && sweep == sweeps - 1)
            second.kind = RELAX_SUM;
        sum = run_both(l, &first, &second);
    }
    return sum;
}

/* The residual of the colour that was not smoothed last: that of the other is 0, if there are colours. */
static void residual_row(const void *level, int64_t j, int64_t k, void *out)
{
    const vf_multigrid_level *l = level;
    vf_multigrid_row row = row_of(l, l->now_x, l->now_b, j, k);
    row.colour = l->jacobi ? -1 : (int)((j + k) & 1);
    l->rows->residual(&row, out);
}

/* The smoother, and in reverse after the coarser levels: the cycle is self-adjoint. */
static double cycle(vf_multigrid *plan, int n, const void *b, void *x)
{
    vf_multigrid_level *l = &plan->level[n], *coarse = l + 1;
    const bool last = n == plan->levels - 1;
    const int sweeps = vf_multigrid_sweeps_of(plan, n);
    (void)(l->jacobi ? run_jacobi : run_colours)(l, sweeps, b, x, true, false);
    if (!last) {
        l->now_b = b;
        l->now_x = x;
        plan->moves->restrict_residual(&l->to_coarse, residual_row, l, coarse->b.data);
        cycle(plan, n + 1, coarse->b.data, coarse->x.data);
        plan->moves->add_correction(&l->to_coarse, coarse->x.data, x);
    }
    return (l->jacobi ? run_jacobi : run_colours)(l, sweeps, b, x, false, n == 0);
}

static vf_status run_cycle(vf_multigrid *plan, vf_queue *queue, const void *b, void *x, double *product)
{
    (void)queue;
    const double sum = cycle(plan, 0, b, x);
    if (product)
        *product = sum;
    return VF_OK;
}

static vf_status apply(vf_multigrid *plan, vf_queue *queue, const void *x, void *ax, double *product)
{
    (void)queue;
    const pass p = {.kind = APPLY, .x = x, .out = ax};
    const double sum = run(&plan->level[0], &p);
    if (product)
        *product = sum;
    return VF_OK;
}

static vf_status correct(vf_multigrid *plan, vf_queue *queue, const void *x, double *left, double *sum, void *r,
                         double *squares)
{
    const vf_multigrid_level *l = &plan->level[0];
    const pass p = {.kind = CORRECT, .x = x, .out = left, .sum = sum};
    const double square = run(l, &p);
    if (squares)
        *squares = square;
    if (l->options.type == VF_F64)
        return vf_queue_copy(queue, r, left, (size_t)l->points * sizeof(double));
    float *const rounded = r;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(l->ctx, l->points / 2))
    for (int64_t i = 0; i < l->points; i++)
        rounded[i] = (float)left[i];
    return VF_OK;
}

static vf_status coarsen(const vf_multigrid *plan, int n)
{
    const vf_multigrid_level *fine = &plan->level[n], *coarse = fine + 1;
    for (int a = 0; a < 3; a++)
        plan->moves->faces(&fine->to_coarse, a, fine->options.faces[a], coarse->faces[a].data);
    if (fine->options.reaction)
        plan->moves->reaction(&fine->to_coarse, fine->options.reaction, coarse->reaction.data);
    return VF_OK;
}

const vf_multigrid_ops vf_multigrid_ops_cpu = {coarsen, run_cycle, apply, correct};
