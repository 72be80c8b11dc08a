/* The kernels: NUFFT, the encoding of a scan, potentials. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding_session.h"
#include "gridding.h"
#include "kernel_operators.h"
#include "normal.h"
#include "point_sum.h"
#include "potential.h"
#include "voxfield/solver.h"

/* ---- NUFFT ---- */

struct binding_nufft {
    vf_nufft *plan;
    int64_t voxels, samples;
    vf_dtype type;
    int most_batch;
};

int binding_nufft_create(binding_session *session, const int64_t matrix[3], int64_t count, const float *k,
                         const double *exact, double tolerance, int is_double, int most_batch, binding_nufft **out)
{
    *out = NULL;
    binding_watch watch = binding_begin(session);
    const vf_nufft_options options = {.tolerance = tolerance, .precision = is_double ? VF_F64 : VF_F32};
    binding_nufft *plan = calloc(1, sizeof *plan);
    vf_status status = plan ? VF_OK : vf_fail(session->ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    if (plan) {
        *plan = (binding_nufft){.voxels = matrix[0] * matrix[1] * matrix[2],
                                .samples = count,
                                .type = vf_dtype_complex(options.precision),
                                .most_batch = most_batch};
        status = vf_nufft_create(session->device, matrix, &(vf_nufft_samples){.count = count, .k = k, .exact = exact},
                                 most_batch, &options, &plan->plan);
    }
    if (status == VF_OK)
        *out = plan;
    else
        free(plan);
    return binding_end(session, &watch, status);
}

int binding_nufft_set_points(binding_session *session, binding_nufft *plan, int64_t count, const float *k,
                             const double *exact)
{
    binding_watch watch = binding_begin(session);
    const vf_nufft_samples samples = {.count = count, .k = k, .exact = exact};
    const vf_status status = vf_nufft_set_samples(plan->plan, &samples, NULL);
    if (status == VF_OK)
        plan->samples = count;
    return binding_end(session, &watch, status);
}

int binding_nufft_apply(binding_session *session, binding_nufft *plan, int adjoint, int64_t batch, const void *in,
                        void *out, const binding_place *place)
{
    binding_watch watch = binding_begin(session);
    binding_staged staged;
    const int64_t in_step = adjoint ? plan->samples : plan->voxels, out_step = adjoint ? plan->voxels : plan->samples;
    vf_status status = binding_stage(session, place, plan->type, batch * in_step, in, batch * out_step, out, &staged);
    for (int64_t first = 0; first < batch && status == VF_OK; first += plan->most_batch) {
        const int some = batch - first < plan->most_batch ? (int)(batch - first) : plan->most_batch;
        const void *from = vf_offset(session->device, staged.in, plan->type, first * in_step);
        void *to = vf_offset(session->device, staged.out, plan->type, first * out_step);
        status = adjoint ? vf_nufft_adjoint(plan->plan, session->queue, some, from, to)
                         : vf_nufft_forward(plan->plan, session->queue, some, from, to);
    }
    status = binding_unstage(session, &staged, status);
    return binding_end(session, &watch, status);
}

int64_t binding_nufft_bytes(const binding_nufft *plan)
{
    vf_nufft_info info;
    vf_nufft_get_info(plan->plan, &info);
    return info.bytes;
}

void binding_nufft_destroy(binding_nufft *plan)
{
    if (plan)
        vf_nufft_destroy(plan->plan);
    free(plan);
}

/* ---- the encoding of a scan ---- */

struct binding_imaging {
    vf_encoding *encoding;
    vf_array maps, roots; /* on the device */
    vf_normal normal;
    vf_operator *operators[2]; /* E; and with its own normal */
    int64_t voxels, samples;
    int coils;
    vf_dtype precision;
    double brightness; /* the mean of sum |s|^2 over voxels */
    /* What F^H W F is made of, when it is first needed. */
    vf_normal_task task;
    float *k, *time, *field;
    double *weights;
};

static void *copy_of(const void *data, int64_t count, size_t size)
{
    void *copy = data ? malloc(count > 0 ? (size_t)count * size : 1) : NULL;
    if (copy && count > 0)
        memcpy(copy, data, (size_t)count * size);
    return copy;
}

static double brightness(const binding_scan *scan, int64_t voxels)
{
    double sum = 0;
    const int64_t parts = 2 * voxels * scan->coils;
    for (int64_t i = 0; i < parts; i++) {
        const double s = scan->is_double ? ((const double *)scan->maps)[i] : (double)((const float *)scan->maps)[i];
        sum += s * s;
    }
    return sum / (double)voxels;
}

/* W^(1/2) for each coil, which the operator wants. */
static vf_status upload_roots(binding_session *session, const binding_scan *scan, binding_imaging *e)
{
    const size_t size = vf_dtype_bytes(e->precision);
    const int64_t count = e->samples * e->coils;
    void *roots = malloc(count > 0 ? (size_t)count * size : 1);
    if (!roots)
        return vf_fail(session->ctx, VF_ERR_MEMORY, "not enough memory for the weights of %lld samples",
                       (long long)count);
    for (int64_t i = 0; i < count; i++) {
        const double root = sqrt(scan->weights[i % e->samples]);
        if (e->precision == VF_F64)
            ((double *)roots)[i] = root;
        else
            ((float *)roots)[i] = (float)root;
    }
    vf_status status = vf_array_create(session->device, VF_SPACE_DEVICE, e->precision, count, &e->roots);
    VF_TRY(status, vf_queue_copy(session->queue, e->roots.data, roots, (size_t)count * size));
    VF_TRY(status, vf_queue_sync(session->queue));
    free(roots);
    return status;
}

static vf_status upload_maps(binding_session *session, const binding_scan *scan, binding_imaging *e)
{
    const vf_dtype type = vf_dtype_complex(e->precision);
    const int64_t count = e->voxels * e->coils;
    vf_status status = vf_array_create(session->device, VF_SPACE_DEVICE, type, count, &e->maps);
    VF_TRY(status, vf_queue_copy(session->queue, e->maps.data, scan->maps, (size_t)count * vf_dtype_bytes(type)));
    VF_TRY(status, vf_queue_sync(session->queue));
    e->brightness = brightness(scan, e->voxels);
    return status;
}

static vf_status make_operator(binding_session *session, binding_imaging *e, const vf_normal *normal, vf_operator **out)
{
    const vf_sense_operator sense = {
        .shape = {session->device, e->precision, e->voxels, e->samples, e->coils},
        .encoding = e->encoding,
        .coils = e->coils,
        .maps = e->maps.data,
        .weights = e->roots.data,
        .normal = normal,
    };
    return vf_sense_operator_create(&sense, out);
}

static vf_status keep_task(binding_session *session, const binding_scan *scan, const vf_encoding_options *options,
                           binding_imaging *e)
{
    e->k = copy_of(scan->k, 3 * e->samples, sizeof(float));
    e->time = copy_of(scan->time, e->samples, sizeof(float));
    e->field = copy_of(scan->field, e->voxels, sizeof(float));
    e->weights = copy_of(scan->weights, e->samples, sizeof(double));
    if (!e->k || (scan->time && !e->time) || (scan->field && !e->field) || (scan->weights && !e->weights))
        return vf_fail(session->ctx, VF_ERR_MEMORY, "not enough memory for a copy of %lld positions",
                       (long long)e->samples);
    e->task = (vf_normal_task){.matrix = {scan->matrix[0], scan->matrix[1], scan->matrix[2]},
                               .samples = e->samples,
                               .k = e->k,
                               .time = e->time,
                               .field = e->field,
                               .weights = e->weights,
                               .encoding = *options};
    return VF_OK;
}

static vf_status make_imaging(binding_session *session, const binding_scan *scan, binding_imaging *e)
{
    const vf_encoding_options options = {
        .precision = e->precision, .accuracy = scan->accuracy, .most_batch = e->coils, .by = VF_ENCODE_AUTO};
    const vf_encoding_samples samples = {.count = e->samples, .k = scan->k, .time = scan->time, .field = scan->field};
    vf_status status = keep_task(session, scan, &options, e);
    VF_TRY(status, vf_encoding_create(session->device, scan->matrix, &samples, &options, &e->encoding));
    if (scan->maps)
        VF_TRY(status, upload_maps(session, scan, e));
    if (scan->weights)
        VF_TRY(status, upload_roots(session, scan, e));
    VF_TRY(status, make_operator(session, e, NULL, &e->operators[0]));
    return status;
}

int binding_imaging_create(binding_session *session, const binding_scan *scan, binding_imaging **out)
{
    *out = NULL;
    binding_watch watch = binding_begin(session);
    binding_imaging *e = calloc(1, sizeof *e);
    vf_status status = e ? VF_OK : vf_fail(session->ctx, VF_ERR_MEMORY, "not enough memory for an operator");
    if (e) {
        e->voxels = scan->matrix[0] * scan->matrix[1] * scan->matrix[2];
        e->samples = scan->samples;
        e->coils = scan->coils;
        e->precision = scan->is_double ? VF_F64 : VF_F32;
        e->brightness = 1;
        status = make_imaging(session, scan, e);
    }
    if (status == VF_OK)
        *out = e;
    else
        binding_imaging_destroy(e);
    return binding_end(session, &watch, status);
}

/* The operator with its fast normal. */
static vf_status with_normal(binding_session *session, binding_imaging *e)
{
    if (e->operators[1])
        return VF_OK;
    vf_status status = VF_OK;
    if (!e->normal.toeplitz && !e->normal.cartesian)
        status = vf_normal_create(session->device, &e->task, &e->normal);
    VF_TRY(status, make_operator(session, e, &e->normal, &e->operators[1]));
    return status;
}

int binding_imaging_apply(binding_session *session, binding_imaging *e, int which, const void *in, void *out,
                          const binding_place *place)
{
    binding_watch watch = binding_begin(session);
    binding_staged staged = {0};
    const int64_t data = e->samples * e->coils;
    vf_status status = which == 2 ? with_normal(session, e) : VF_OK;
    if (status == VF_OK) {
        status = binding_stage(session, place, vf_dtype_complex(e->precision), which == 1 ? data : e->voxels, in,
                               which == 0 ? data : e->voxels, out, &staged);
        if (which == 0)
            VF_TRY(status, vf_operator_forward(e->operators[0], session->queue, staged.in, staged.out));
        else if (which == 1)
            VF_TRY(status, vf_operator_adjoint(e->operators[0], session->queue, staged.in, staged.out));
        else
            VF_TRY(status, vf_operator_normal(e->operators[1], session->queue, staged.in, staged.out));
        status = binding_unstage(session, &staged, status);
    }
    return binding_end(session, &watch, status);
}

static vf_status solve(binding_session *session, binding_imaging *e, const vf_cg_options *options, double lambda,
                       const void *b, void *x, vf_cg_result *result)
{
    const vf_vector_space space = {vf_dtype_complex(e->precision), e->voxels};
    const binding_place host = {0};
    binding_staged staged = {0};
    vf_array rest = {0};
    vf_operator *normal = NULL, *identity = NULL, *scaled = NULL, *sum = NULL;
    vf_status status = with_normal(session, e);
    VF_TRY(status, vf_operator_normal_of(e->operators[1], &normal));
    VF_TRY(status, vf_operator_identity(session->device, space, &identity));
    VF_TRY(status, vf_operator_scale(lambda * e->normal.diagonal * e->brightness, identity, &scaled));
    VF_TRY(status, vf_operator_sum(2, (vf_operator *const[]){normal, scaled}, &sum));
    VF_TRY(status, binding_stage(session, &host, space.type, e->voxels, b, e->voxels, x, &staged));
    VF_TRY(status, vf_array_create(session->device, VF_SPACE_DEVICE, space.type, e->voxels, &rest));
    VF_TRY(status, vf_queue_copy(session->queue, rest.data, staged.in, (size_t)e->voxels * vf_dtype_bytes(space.type)));
    VF_TRY(status, vf_cg(sum, session->queue, options, rest.data, staged.out, result));
    status = binding_unstage(session, &staged, status);
    vf_array_free(&rest);
    vf_operator_free(sum), vf_operator_free(scaled), vf_operator_free(identity), vf_operator_free(normal);
    return status;
}

int binding_imaging_solve(binding_session *session, binding_imaging *e, double lambda, int iterations, double tolerance,
                          const void *b, void *x, int *used, double *residual)
{
    binding_watch watch = binding_begin(session);
    const vf_cg_options options = {.iterations = iterations, .tolerance = tolerance};
    vf_cg_result result = {0};
    const vf_status status = solve(session, e, &options, lambda, b, x, &result);
    *used = result.iterations;
    *residual = result.residual;
    return binding_end(session, &watch, status);
}

void binding_imaging_destroy(binding_imaging *e)
{
    if (!e)
        return;
    vf_operator_free(e->operators[1]);
    vf_operator_free(e->operators[0]);
    vf_normal_free(&e->normal);
    vf_encoding_destroy(e->encoding);
    vf_array_free(&e->maps);
    vf_array_free(&e->roots);
    free(e->k), free(e->time), free(e->field), free(e->weights);
    free(e);
}

/* ---- potentials ---- */

static vf_cell cell_of(const double *vectors)
{
    vf_cell cell = {.kind = VF_CELL_NONE};
    if (!vectors)
        return cell;
    memcpy(cell.vectors, vectors, sizeof cell.vectors);
    const bool is_box =
        vectors[1] == 0 && vectors[2] == 0 && vectors[3] == 0 && vectors[5] == 0 && vectors[6] == 0 && vectors[7] == 0;
    cell.kind = is_box ? VF_CELL_ORTHORHOMBIC : VF_CELL_TRICLINIC;
    return cell;
}

int binding_potential(binding_session *session, const binding_charges *charges, const char *method,
                      const double origin[3], const double spacing[3], const int64_t counts[3], int is_double,
                      void *out, const binding_place *place, char *used)
{
    binding_watch watch = binding_begin(session);
    vf_potential_problem problem = {
        .pair = {.law = VF_PAIR_COULOMB, .scale = charges->scale, .r_min = charges->r_min},
        .grid = {.cell = cell_of(charges->cell)},
        .precision = is_double ? VF_F64 : VF_F32,
        .tolerance = charges->tolerance,
        .sigma = charges->sigma,
        .vacuum = charges->vacuum != 0,
    };
    for (int a = 0; a < 3; a++) {
        problem.grid.origin[a] = origin[a];
        problem.grid.spacing[a] = spacing[a];
        problem.grid.counts[a] = counts[a];
    }
    const vf_coulomb_atoms atoms = {charges->count, charges->x, charges->y, charges->z, charges->charge};
    const vf_potential_method *chosen = NULL;
    vf_potential *plan = NULL;
    binding_staged staged = {0};
    vf_status status = vf_grid_valid(&problem.grid)
                           ? VF_OK
                           : vf_fail(session->ctx, VF_ERR_ARGUMENT,
                                     "the grid or the cell is not valid: counts, a volume, or a "
                                     "number that is not finite");
    VF_TRY(status, vf_potential_method_named(session->ctx, "method", method, &chosen));
    if (!chosen)
        VF_TRY(status, vf_potential_choose(session->ctx, &problem, vf_device_get_kind(session->device), charges->count,
                                           &chosen));
    VF_TRY(status, vf_potential_create(session->device, chosen, &problem, &atoms, &plan));
    if (status == VF_OK) {
        const vf_box all = vf_grid_box(&problem.grid);
        status = binding_stage(session, place, problem.precision, 0, NULL, vf_box_points(&all), out, &staged);
        VF_TRY(status, vf_potential_compute(plan, session->queue, &all, staged.out));
        status = binding_unstage(session, &staged, status);
        snprintf(used, 64, "%s", chosen->name);
    }
    if (place->on_device && vf_queue_sync(session->queue) != VF_OK && status == VF_OK) /* the plan is freed */
        status = vf_context_status(session->ctx);
    vf_potential_destroy(plan);
    return binding_end(session, &watch, status);
}

int binding_points(binding_session *session, const binding_charges *charges, int64_t count, const double *points,
                   double *values, double *fields)
{
    binding_watch watch = binding_begin(session);
    const vf_coulomb_atoms atoms = {charges->count, charges->x, charges->y, charges->z, charges->charge};
    const vf_point_options options = {.cell = cell_of(charges->cell),
                                      .scale = charges->scale,
                                      .r_min = charges->r_min,
                                      .sigma = charges->sigma,
                                      .tolerance = charges->tolerance,
                                      .vacuum = charges->vacuum != 0,
                                      .fields = fields != NULL};
    const vf_point_list list = {.count = count, .points = points};
    vf_point_sum *plan = NULL;
    vf_status status = vf_point_sum_create(session->ctx, &atoms, &options, &list, (double)count, &plan);
    VF_TRY(status, vf_point_sum_execute(plan, &list, values, fields));
    vf_point_sum_destroy(plan);
    return binding_end(session, &watch, status);
}
