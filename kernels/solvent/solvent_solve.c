/* The solution of (A + D) x = b, and products with the matrix in double precision. */
#include "solvent_places.h"
#include "voxfield/multigrid.h"
#include "voxfield/team_size.h"

/* On the device that all pointers belong to. */
static vf_status solve(vf_queue *queue, const vf_stencil_options *s, const vf_cg_options *options, double *b, double *x,
                       vf_cg_result *result)
{
    vf_multigrid *multigrid = NULL;
    vf_status status = vf_multigrid_create(vf_queue_device(queue), s, 1, &multigrid);
    VF_TRY(status, vf_multigrid_solve(multigrid, queue, options, b, x, result));
    vf_multigrid_destroy(multigrid);
    return status;
}

/* The system's copy on another device. */
typedef struct system_there {
    vf_array faces[3], reaction, b, x;
} system_there;

static vf_status copy_there(vf_queue *queue, vf_dtype type, int64_t count, const void *from, vf_array *to)
{
    vf_status status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, type, count, to);
    VF_TRY(status, vf_queue_copy(queue, to->data, from, (size_t)count * vf_dtype_bytes(type)));
    return status;
}

static vf_status solve_there(const vf_solvent *plan, vf_queue *queue, vf_stencil_options *s,
                             const vf_cg_options *options, double *b, double *x, vf_cg_result *result)
{
    const size_t bytes = (size_t)plan->points * sizeof(double);
    system_there t = {0};
    vf_array *const arrays[] = {&t.faces[0], &t.faces[1], &t.faces[2], &t.reaction, &t.b, &t.x};
    vf_status status = copy_there(queue, VF_F32, plan->points, s->reaction, &t.reaction);
    for (int a = 0; a < 3; a++) {
        VF_TRY(status, copy_there(queue, VF_F32, plan->faces[a].count, s->faces[a], &t.faces[a]));
        s->faces[a] = t.faces[a].data;
    }
    s->reaction = t.reaction.data;
    VF_TRY(status, copy_there(queue, VF_F64, plan->points, b, &t.b));
    VF_TRY(status, vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, VF_F64, plan->points, &t.x));
    VF_TRY(status, vf_queue_sync(queue)); /* multigrid has a queue of its own for coefficients */
    VF_TRY(status, solve(queue, s, options, t.b.data, t.x.data, result));
    VF_TRY(status, vf_queue_copy(queue, b, t.b.data, bytes));
    VF_TRY(status, vf_queue_copy(queue, x, t.x.data, bytes));
    VF_TRY(status, vf_queue_sync(queue));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        vf_array_free(arrays[i]);
    return status;
}

vf_status solvent_solve_system(const vf_solvent *plan, const float *reaction, double tolerance, int iterations,
                               double *b, double *x, vf_cg_result *result)
{
    vf_stencil_options s = {.type = VF_F32, .reaction = reaction ? reaction : plan->reaction.data};
    const vf_cg_options options = {.iterations = iterations, .tolerance = tolerance};
    const bool here = !plan->solver || plan->solver == plan->device || solvent_is_sheared(plan);
    vf_queue *queue = NULL;
    for (int a = 0; a < 3; a++) {
        s.counts[a] = plan->grid.counts[a];
        s.periodic[a] = solvent_is_periodic(plan);
        s.spacing[a] = plan->grid.spacing[a];
        s.faces[a] = plan->faces[a].data;
    }
    *result = (vf_cg_result){0};
    vf_status status = vf_queue_create(here ? plan->device : plan->solver, &queue);
    if (status == VF_OK && solvent_is_sheared(plan))
        status = solvent_solve_sheared(plan, queue, s.reaction, &options, b, x, result);
    else
        VF_TRY(status,
               here ? solve(queue, &s, &options, b, x, result) : solve_there(plan, queue, &s, &options, b, x, result));
    vf_queue_destroy(queue);
    if (status == VF_OK && result->end != VF_SOLVER_CONVERGED)
        status = vf_fail(plan->ctx, VF_ERR_INTERNAL,
                         "the potential in solvent did not converge in %d iterations: a residual of %.2g",
                         result->iterations, result->residual);
    return status;
}

/* ((A + D) x)_i of a row: x, its neighbours along y and z (NULL: outside), and the row's first faces. */
typedef struct row_of_matrix {
    const double *x, *y[2], *z[2];
    const float *cx, *cy[2], *cz[2], *reaction;
    double weight[3], below, above; /* x beyond the row's ends */
    int64_t n, last_face;
} row_of_matrix;

static double product_at(const row_of_matrix *r, int64_t i)
{
    const double here = r->x[i];
    const double below = i > 0 ? r->x[i - 1] : r->below, above = i + 1 < r->n ? r->x[i + 1] : r->above;
    double sum =
        r->weight[0] * (r->cx[i] * (here - below) + r->cx[i + 1 < r->n ? i + 1 : r->last_face] * (here - above));
    for (int s = 0; s < 2; s++) {
        sum += r->weight[1] * (r->cy[s][i] * (here - (r->y[s] ? r->y[s][i] : 0)));
        sum += r->weight[2] * (r->cz[s][i] * (here - (r->z[s] ? r->z[s][i] : 0)));
    }
    return sum + r->reaction[i] * here;
}

/* A row at the end of a sheared cell, whose neighbours are parts of two rows. */
static void subtract_sheared(const vf_solvent *plan, const float *reaction, const double *x, int64_t row, double *b)
{
    const int64_t *n = plan->grid.counts;
    for (int64_t i = 0; i < n[0]; i++) {
        const int64_t index[3] = {i, row % n[1], row / n[1]}, here = row * n[0] + i;
        double sum = (double)reaction[here] * x[here];
        for (int a = 0; a < 3; a++) {
            const double h = plan->grid.spacing[a];
            for (int up = 0; up < 2; up++)
                sum += (double)((const float *)plan->faces[a].data)[solvent_face(plan, index, a, up)] / (h * h) *
                       (x[here] - x[solvent_beside(plan, index, a, up)]);
        }
        b[here] -= sum;
    }
}

void solvent_subtract_product(const vf_solvent *plan, const float *reaction, const double *x, double *b)
{
    const int64_t nx = plan->grid.counts[0], ny = plan->grid.counts[1], nz = plan->grid.counts[2];
    const float *const faces[3] = {plan->faces[0].data, plan->faces[1].data, plan->faces[2].data};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 4 * plan->points))
    for (int64_t row = 0; row < ny * nz; row++) {
        const int64_t index[3] = {0, row % ny, row / ny}, first = row * nx;
        if (solvent_is_sheared(plan) && (index[1] == 0 || index[1] == ny - 1 || index[2] == 0 || index[2] == nz - 1)) {
            subtract_sheared(plan, reaction ? reaction : plan->reaction.data, x, row, b);
            continue;
        }
        row_of_matrix r = {.x = x + first, .cx = faces[0] + row * solvent_faces(plan, 0), .n = nx};
        r.last_face = solvent_is_periodic(plan) ? 0 : nx;
        r.below = solvent_is_periodic(plan) ? r.x[nx - 1] : 0;
        r.above = solvent_is_periodic(plan) ? r.x[0] : 0;
        r.reaction = (reaction ? reaction : (const float *)plan->reaction.data) + first;
        for (int s = 0; s < 2; s++) {
            const int64_t y = solvent_beside(plan, index, 1, s), z = solvent_beside(plan, index, 2, s);
            r.y[s] = y < 0 ? NULL : x + y;
            r.z[s] = z < 0 ? NULL : x + z;
            r.cy[s] = faces[1] + solvent_face(plan, index, 1, s);
            r.cz[s] = faces[2] + solvent_face(plan, index, 2, s);
        }
        for (int a = 0; a < 3; a++)
            r.weight[a] = 1 / (plan->grid.spacing[a] * plan->grid.spacing[a]);
        for (int64_t i = 0; i < nx; i++)
            b[first + i] -= product_at(&r, i);
    }
}
