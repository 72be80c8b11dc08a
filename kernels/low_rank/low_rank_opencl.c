/* The OpenCL backend: Gram matrices and products on the device, in any precision (opencl_sums.cl); the eigenproblems between them,
 * which need double precision and are small, on the host. */
#include <stdlib.h>
#include <string.h>

#include "backend/opencl_sums.h"
#include "low_rank_backend.h"
#include "voxfield/team_size.h"

extern const char vf_text_low_rank_blocks[], vf_text_low_rank[];

typedef struct opencl_state {
    vf_array sums, by, series; /* Gram matrices of a batch; P in terms; a copy of v, which z may be */
    void *sums_here, *by_here; /* the first two in host memory */
    double *dense;             /* [threads]: two matrices of side x side, complex, and side values */
    double *totals;            /* [batch] sums of singular values */
    int threads;
} opencl_state;

/* P is one number in double precision, two in single. */
static int parts_of(const vf_low_rank *plan)
{
    return plan->type == VF_C128 ? 1 : 2;
}

static size_t dense_numbers(const vf_low_rank *plan)
{
    return (size_t)plan->side * (4 * (size_t)plan->side + 1);
}

static void destroy(vf_low_rank *plan)
{
    opencl_state *s = plan->state;
    vf_array_free(&s->sums);
    vf_array_free(&s->by);
    vf_array_free(&s->series);
    free(s->sums_here);
    free(s->by_here);
    free(s->dense);
    free(s->totals);
    free(s);
    plan->state = NULL;
}

static vf_status create(vf_low_rank *plan)
{
    vf_device *device = plan->device;
    const int64_t matrices = (int64_t)plan->batch * plan->side * plan->side,
                  sums = 2 * VF_OPENCL_SUM_BYTES * matrices * plan->segments;
    opencl_state *s = plan->state = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "low rank: not enough memory for a plan");
    s->threads = vf_context_threads(vf_device_context(device));
    s->sums_here = malloc((size_t)sums);
    s->by_here = malloc((size_t)(parts_of(plan) * matrices) * vf_dtype_bytes(plan->type));
    s->dense = malloc((size_t)s->threads * dense_numbers(plan) * sizeof *s->dense);
    s->totals = malloc((size_t)plan->batch * sizeof *s->totals);
    if (!s->sums_here || !s->by_here || !s->dense || !s->totals)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "low rank: not enough memory for matrices of %d rows",
                       plan->side);
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, VF_U8, sums, &s->sums);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, plan->type, parts_of(plan) * matrices, &s->by));
    VF_TRY(status,
           vf_array_create(device, VF_SPACE_DEVICE, plan->type, plan->grid.voxels * plan->grid.frames, &s->series));
    plan->bytes = sums + (s->by.count + s->series.count) * (int64_t)vf_dtype_bytes(plan->type);
    return status;
}

static vf_opencl_kernel kernel_for(const vf_low_rank *plan, const char *name)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_opencl_sums, vf_text_low_rank_blocks,
                                        vf_text_low_rank, NULL};
    return (vf_opencl_kernel){texts, name, vf_dtype_real(plan->type), parts_of(plan) == 1 ? "-DPARTS=1" : "-DPARTS=2",
                              .threads = {0}};
}

/* Adds up the segments of a block's matrix: gram[k][k]. */
static void add_segments(const vf_low_rank *plan, int place, int k, double *gram)
{
    const opencl_state *s = plan->state;
    const int64_t side = plan->side, segments = plan->segments;
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            const char *sums = (const char *)s->sums_here +
                               2 * VF_OPENCL_SUM_BYTES * ((place * side * side + i * side + j) * segments);
            const vf_dtype real = vf_dtype_real(plan->type);
            const double re = vf_opencl_total(real, sums, 2 * segments, 2),
                         im = vf_opencl_total(real, sums + VF_OPENCL_SUM_BYTES, 2 * segments - 1, 2);
            memcpy(gram + 2 * (i * k + j), (double[2]){re, i == j ? 0 : im}, 2 * sizeof(double));
            memcpy(gram + 2 * (j * k + i), (double[2]){re, i == j ? 0 : -im}, 2 * sizeof(double));
        }
}

/* P as the device's terms. */
static void put_terms(const vf_low_rank *plan, int place, int k, const double *p)
{
    const opencl_state *s = plan->state;
    const int64_t side = plan->side, first = 2 * parts_of(plan) * place * side * side;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            for (int part = 0; part < 2; part++) {
                const double number = p[2 * (i * k + j) + part];
                float *to = (float *)s->by_here + first + 4 * (i * side + j) + part;
                if (plan->type == VF_C128) {
                    ((double *)s->by_here)[first + 2 * (i * side + j) + part] = number;
                } else {
                    to[0] = (float)number;
                    to[2] = (float)(number - (double)to[0]);
                }
            }
}

/* A block's eigenproblem. */
static void solve(const vf_low_rank *plan, const low_rank_task *task, int64_t base, int place, double *dense)
{
    const opencl_state *s = plan->state;
    const int k = low_rank_block_at(&task->grid, base + place).shorter;
    double *vectors = dense + 2 * (size_t)k * (size_t)k, *values = vectors + 2 * (size_t)k * (size_t)k;
    add_segments(plan, place, k, dense);
    if (!task->z) {
        s->totals[place] = low_rank_sum(k, dense, vectors, values);
        return;
    }
    low_rank_weigh(k, task->threshold, dense, vectors, values);
    put_terms(plan, place, k, dense);
}

static vf_status solve_all(const vf_low_rank *plan, const low_rank_task *task, int64_t base, int blocks)
{
    const opencl_state *s = plan->state;
    vf_context *ctx = vf_device_context(plan->device);
    const int64_t work = (int64_t)blocks * plan->side * plan->side * plan->side;
    const int threads = vf_threads_of_plan(ctx, s->threads, 10 * work);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int thread = 0; thread < threads; thread++)
        for (int place = thread; place < blocks && !vf_cancelled(ctx); place += threads)
            solve(plan, task, base, place, s->dense + (size_t)thread * dense_numbers(plan));
    for (int place = 0; !task->z && place < blocks; place++)
        *task->sum += s->totals[place];
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static vf_status execute(vf_low_rank *plan, vf_queue *queue, const low_rank_task *task)
{
    const opencl_state *s = plan->state;
    const low_rank_grid *g = &task->grid;
    const int64_t side = plan->side, voxels = g->block[0] * g->block[1] * g->block[2],
                  longest = voxels > g->frames ? voxels : g->frames;
    vf_opencl_kernel grams = kernel_for(plan, "make_grams"), products = kernel_for(plan, "multiply");
    const size_t matrix = (size_t)(side * side);
    vf_status status =
        vf_queue_copy(queue, s->series.data, task->v, (size_t)s->series.count * vf_dtype_bytes(plan->type));
    for (int64_t base = 0; status == VF_OK && base < g->all_blocks; base += plan->batch) {
        const int64_t rest = g->all_blocks - base, blocks = rest < plan->batch ? rest : plan->batch;
        memcpy(grams.threads, (int64_t[3]){side * side, plan->segments, blocks}, sizeof grams.threads);
        memcpy(products.threads, (int64_t[3]){side * longest, blocks, 1}, sizeof products.threads);
        status = VF_OPENCL_LAUNCH(queue, &grams, VF_CL_VALUE(*g), VF_CL_INT(base), VF_CL_INT(side),
                                  VF_CL_INT(plan->segments), VF_CL_INT(plan->segment), VF_CL_ARRAY(s->series.data),
                                  VF_CL_ARRAY(s->sums.data));
        VF_TRY(status, vf_queue_copy(queue, s->sums_here, s->sums.data,
                                     2 * VF_OPENCL_SUM_BYTES * (size_t)(blocks * plan->segments) * matrix));
        VF_TRY(status, vf_queue_sync(queue));
        VF_TRY(status, solve_all(plan, task, base, (int)blocks));
        if (!task->z)
            continue;
        VF_TRY(status, vf_queue_copy(queue, s->by.data, s->by_here,
                                     (size_t)(parts_of(plan) * blocks) * matrix * vf_dtype_bytes(plan->type)));
        VF_TRY(status,
               VF_OPENCL_LAUNCH(queue, &products, VF_CL_VALUE(*g), VF_CL_INT(base), VF_CL_INT(side), VF_CL_INT(longest),
                                VF_CL_ARRAY(s->series.data), VF_CL_ARRAY(s->by.data), VF_CL_ARRAY(task->z)));
    }
    return status;
}

const vf_low_rank_backend vf_low_rank_opencl = {
    .kind = VF_DEVICE_OPENCL, .create = create, .execute = execute, .destroy = destroy};
