/* How fast multigrid solves the equation of a molecule in a solvent: a ball with a permittivity of 2 in 80, and salt
 * outside.
 *
 * usage: bench_multigrid DEVICE [REPORT.json [EDGE]]     (none; a cube of 257 points a side on a GPU, 129 on a CPU)
 *
 * Single precision, corrected in double, to 1e-6 of the right side, as kernels/solvent does. The matrix and vectors are
 * in the device's memory. Before it counts, the solution must have that residual by the stencil in double precision.
 * Times are medians of several runs, on the clock: of making the levels, of a cycle, and of the solution; beside a
 * cycle, what the copy takes for the 37 arrays of the finest level's size that its passes read and write. */
#include <math.h>

#include "bench_device.h"
#include "voxfield/multigrid.h"
#include "voxfield/stencil.h"
#include "voxfield/vector.h"

enum { RUNS = 7, CYCLES = 5, ARRAYS_OF_CYCLE = 37 };

/* Three families of faces and the reaction, on the device in both precisions. */
typedef struct matrix {
    vf_array of[2][4];
    vf_stencil_options options[2]; /* VF_F32, VF_F64 */
} matrix;

/* Of the face below point p along an axis (0 to 2), or of the point (3). */
static double coefficient(int64_t edge, const int64_t p[3], int axis)
{
    double square = 0;
    for (int a = 0; a < 3; a++)
        square += pow(((double)p[a] + 1 - (a == axis ? 0.5 : 0)) / (double)(edge + 1) - 0.5, 2);
    const bool inside = square < 0.09;
    return axis < 3 ? (inside ? 2 : 80) : inside ? 0 : 1;
}

static void make_coefficients(int64_t edge, int axis, matrix *m)
{
    const int64_t n[3] = {edge + (axis == 0), edge + (axis == 1), edge + (axis == 2)}, count = n[0] * n[1] * n[2];
    float *single = room((size_t)count, sizeof *single);
    double *wide = room((size_t)count, sizeof *wide);
    for (int64_t i = 0; i < count; i++) {
        const int64_t p[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        wide[i] = coefficient(edge, p, axis);
        single[i] = (float)wide[i];
    }
    for (int t = 0; t < 2; t++) {
        const vf_dtype type = t ? VF_F64 : VF_F32;
        need(vf_array_create(device, VF_SPACE_DEVICE, type, count, &m->of[t][axis]));
        need(vf_queue_copy(queue, m->of[t][axis].data, t ? (const void *)wide : single,
                           (size_t)count * vf_dtype_bytes(type)));
        if (axis < 3)
            m->options[t].faces[axis] = m->of[t][axis].data;
        else
            m->options[t].reaction = m->of[t][axis].data;
    }
    need(vf_queue_sync(queue));
    free(single);
    free(wide);
}

static void make_matrix(int64_t edge, matrix *m)
{
    for (int t = 0; t < 2; t++)
        m->options[t] =
            (vf_stencil_options){.type = t ? VF_F64 : VF_F32, .counts = {edge, edge, edge}, .spacing = {0.5, 0.5, 0.5}};
    for (int axis = 0; axis < 4; axis++)
        make_coefficients(edge, axis, m);
}

/* |b - A x| / |b| by the stencil; ax: room. */
static double residual_of(const matrix *m, int64_t points, const double *b, const double *x, double *ax)
{
    vf_stencil *stencil;
    double left[2], whole[2];
    need(vf_stencil_create(device, &m->options[1], &stencil));
    need(vf_stencil_apply(stencil, queue, x, ax));
    need(vf_vector_axpby(queue, VF_F64, points, -1, b, 1, ax));
    need(vf_vector_dot(queue, VF_F64, points, ax, ax, left));
    need(vf_vector_dot(queue, VF_F64, points, b, b, whole));
    vf_stencil_destroy(stencil);
    return sqrt(left[0] / whole[0]);
}

static double time_cycles(vf_multigrid *plan, const void *b, void *x)
{
    vf_operator *m;
    need(vf_multigrid_operator_create(plan, &m));
    need(vf_queue_sync(queue));
    const double began = vf_now();
    for (int i = 0; i < CYCLES; i++)
        need(vf_operator_forward(m, queue, b, x));
    need(vf_queue_sync(queue));
    const double seconds = (vf_now() - began) / CYCLES;
    vf_operator_free(m);
    return seconds;
}

typedef struct measured {
    double create[RUNS], cycle[RUNS], solve[RUNS], residual;
    int iterations;
    int64_t bytes;
} measured;

static measured measure(const matrix *m, int64_t points)
{
    const vf_cg_options options = {.iterations = 100, .tolerance = 1e-6};
    vf_array b, x, left, single[2];
    vf_cg_result result;
    measured t = {0};
    double *values = room((size_t)points, sizeof *values);
    for (int64_t i = 0; i < points; i++)
        values[i] = uniform_between(-1, 1);
    vf_array *const all[] = {&b, &x, &left, &single[0], &single[1]};
    for (int i = 0; i < 5; i++)
        need(vf_array_create(device, VF_SPACE_DEVICE, i < 3 ? VF_F64 : VF_F32, points, all[i]));
    need(vf_queue_copy(queue, b.data, values, (size_t)points * sizeof *values));
    need(vf_fill(queue, VF_F32, points, &(float){0.5F}, single[0].data));
    for (int run = 0; run < RUNS; run++) {
        vf_multigrid *plan;
        need(vf_copy(queue, VF_F64, points, b.data, left.data));
        need(vf_queue_sync(queue));
        const double began = vf_now();
        need(vf_multigrid_create(device, &m->options[0], 1, &plan));
        const double made = vf_now();
        need(vf_multigrid_solve(plan, queue, &options, left.data, x.data, &result));
        t.create[run] = made - began;
        t.solve[run] = vf_now() - made;
        t.cycle[run] = time_cycles(plan, single[0].data, single[1].data);
        t.bytes = vf_multigrid_bytes(plan);
        vf_multigrid_destroy(plan);
    }
    t.iterations = result.iterations;
    t.residual = residual_of(m, points, b.data, x.data, left.data);
    for (int i = 0; i < 5; i++)
        vf_array_free(all[i]);
    free(values);
    return t;
}

static void tell(measured *t, int64_t edge)
{
    const double points = pow((double)edge, 3), copy = ARRAYS_OF_CYCLE * points * sizeof(float) / copy_speed();
    const double create = median(t->create, RUNS), cycle = median(t->cycle, RUNS), solve = median(t->solve, RUNS);
    const bool right = t->residual <= 1.001e-6; /* what doubles leave of 1e-6 is far less than a thousandth */
    failures += !right;
    printf("  levels %.3f ms, a cycle %.3f ms (the copy of its arrays: %.3f ms), %d iterations in %.3f ms, a residual "
           "of %.3g%s\n",
           1e3 * create, 1e3 * cycle, 1e3 * copy, t->iterations, 1e3 * solve, t->residual, right ? "" : ": WRONG");
    vf_report_integer(report, "edge", edge);
    vf_report_integer(report, "iterations", t->iterations);
    vf_report_integer(report, "bytes_of_levels", t->bytes);
    vf_report_number(report, "seconds_levels", create);
    vf_report_number(report, "seconds_cycle", cycle);
    vf_report_number(report, "seconds_copy", copy);
    vf_report_number(report, "seconds_solve", solve);
    vf_report_number(report, "residual", t->residual);
}

int main(int argc, char **argv)
{
    const int ended = begin("bench_multigrid", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    matrix m = {0};
    if (ended >= 0)
        return ended;
    const int64_t edge = argc > 3 ? whole_number(argv[3], 1024) : vf_device_is_host(device) ? 129 : 257;
    if (!edge)
        need(vf_fail(ctx, VF_ERR_ARGUMENT, "EDGE '%s': expected a whole number from 1 to 1024", argv[3]));
    make_matrix(edge, &m);
    printf("%s: %s, %lld points a side\n", vf_device_spec(device), vf_device_name(device), (long long)edge);
    measured t = measure(&m, edge * edge * edge);
    tell(&t, edge);
    for (int i = 0; i < 8; i++)
        vf_array_free(&m.of[i / 4][i % 4]);
    return end();
}
