/* The CPU backend: two meshes, one after the other, and interpolation from the fine one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ewald_cpu.h"

#include "voxfield/team_size.h"

typedef struct cpu_state {
    ewald_level fine; /* its mesh has the whole smooth potential in the end */
    ewald_targets map;
} cpu_state;

static const ewald_simd *simd_for(vf_dtype precision)
{
    static const ewald_isa *const sets[VF_ISA_COUNT] = {
        &ewald_isa_baseline,
#if defined(__x86_64__)
        &ewald_isa_avx2,
        &ewald_isa_avx512,
#endif
    };
    return precision == VF_F64 ? sets[vf_cpu_isa()]->f64 : sets[vf_cpu_isa()]->f32;
}

/* ---- levels ---- */

vf_status ewald_level_create(vf_device *device, const ewald_layout *layout, vf_dtype precision, ewald_level *out)
{
    ewald_level_make(vf_device_context(device), layout, precision, ewald_pitch(layout), out);
    out->simd = simd_for(precision);
    const vf_status status = vf_array_create(device, VF_SPACE_DEVICE, precision, ewald_level_points(out), &out->mesh);
    vf_large_pages(out->mesh.data, ewald_mesh_bytes(layout, precision));
    return status;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

vf_status ewald_solve_mesh(ewald_level *level, ewald_kernel_job *job, bool truncated, uint64_t *bytes)
{
    vf_array kernel = {0};
    uint64_t work = 0;
    vf_status status = truncated ? ewald_truncated_kernel(job, &kernel) : ewald_make_kernel(job, &kernel);
    VF_TRY(status, ewald_convolve(level, &kernel, &work));
    *bytes = (uint64_t)kernel.count * level->element + larger(work, job->work_bytes);
    vf_array_free(&kernel);
    return status;
}

vf_status ewald_solve(ewald_level *level, const vf_coulomb_atoms *charges, double scale, ewald_kernel_job *job,
                      bool truncated, uint64_t *bytes)
{
    vf_status status = ewald_spread(level, charges, scale);
    VF_TRY(status, ewald_solve_mesh(level, job, truncated, bytes));
    return status;
}

/* fine.mesh += the coarse mesh's potential. */
static vf_status add_coarse(const ewald_level *level, const ewald_level *coarse)
{
    const ewald_layout *fine = &level->at;
    const ewald_output out = {.values = level->mesh.data,
                              .precision = level->precision,
                              .row = level->pitch,
                              .plane = level->pitch * fine->mesh[1],
                              .add = true};
    const vf_box all = {.hi = {fine->mesh[0], fine->mesh[1], fine->mesh[2]}};
    ewald_targets targets;
    vf_status status = ewald_targets_make(coarse, fine->mesh, fine->origin, fine->edge, &targets);
    VF_TRY(status, ewald_interpolate(coarse, &targets, &all, &out));
    ewald_targets_free(&targets);
    return status;
}

static uint64_t kernel_bytes(const ewald_layout *s, vf_dtype precision)
{
    return (uint64_t)(ewald_kernel_size(s, 0) * ewald_kernel_size(s, 1) * ewald_kernel_size(s, 2)) *
           vf_dtype_bytes(precision);
}

uint64_t ewald_cpu_making_bytes(const ewald_shape *shape, int threads)
{
    const ewald_layout *fine = &shape->fine, *coarse = &shape->coarse;
    const uint64_t fine_work = ewald_convolve_bytes(fine, shape->precision, threads);
    const uint64_t coarse_work = larger(ewald_convolve_bytes(coarse, VF_F64, threads),
                                        coarse->periodic ? 0 : ewald_truncated_bytes(coarse, threads));
    return ewald_mesh_bytes(fine, shape->precision) + ewald_mesh_bytes(coarse, VF_F64) +
           larger(larger(kernel_bytes(fine, shape->precision) + fine_work, kernel_bytes(coarse, VF_F64) + coarse_work),
                  shape->restricts ? ewald_restrict_bytes(fine, coarse) : 0);
}

/* Charges on the coarse mesh that are those of the fine mesh's points have its window, too, which has to be divided out once more. */
static vf_status make_meshes(vf_ewald *plan, const vf_coulomb_atoms *charges)
{
    ewald_level *fine = &((cpu_state *)plan->state)->fine;
    const bool periodic = plan->shape.fine.periodic;
    const int windows =
        plan->shape.interpolates + plan->shape.restricts; /* of the fine mesh, in the coarse one's potential */
    const double volume = periodic ? vf_cell_volume(&plan->grid.cell) : 0;
    uint64_t fine_bytes = 0, coarse_bytes = 0;
    ewald_level coarse = {0};
    vf_status status = ewald_level_create(plan->device, &plan->shape.fine, plan->shape.precision, fine);
    VF_TRY(status, ewald_level_create(plan->device, &plan->shape.coarse, VF_F64, &coarse));
    if (status != VF_OK)
        goto done;
    ewald_kernel_job fine_job = {
        .level = fine, .less = &coarse, .divisions = plan->shape.interpolates ? 2 : 1, .volume = volume};
    ewald_kernel_job coarse_job = {
        .level = &coarse, .divisions = 2, .more = windows > 0 ? fine : NULL, .times = windows, .volume = volume};
    status = ewald_spread(fine, charges, plan->options.scale);
    VF_TRY(status,
           plan->shape.restricts ? ewald_restrict(fine, &coarse) : ewald_spread(&coarse, charges, plan->options.scale));
    VF_TRY(status, ewald_solve_mesh(fine, &fine_job, false, &fine_bytes));
    VF_TRY(status, ewald_solve_mesh(&coarse, &coarse_job, !periodic, &coarse_bytes));
    VF_TRY(status, add_coarse(fine, &coarse));
    plan->bytes = ewald_mesh_bytes(&fine->at, fine->precision);
    plan->most_bytes = ewald_mesh_bytes(&fine->at, fine->precision) + ewald_mesh_bytes(&coarse.at, VF_F64) +
                       larger(larger(fine_bytes, coarse_bytes),
                              plan->shape.restricts ? ewald_restrict_bytes(&fine->at, &coarse.at) : 0);
done:
    vf_array_free(&coarse.mesh);
    return status;
}

static vf_status prepare_map(vf_ewald *plan)
{
    cpu_state *s = plan->state;
    double edge[3][3] = {{0}};
    if (!plan->shape.interpolates)
        return VF_OK;
    for (int a = 0; a < 3; a++) {
        edge[a][a] = plan->grid.spacing[a];
        plan->bytes += (uint64_t)plan->grid.counts[a] *
                       (sizeof(int64_t) + (size_t)plan->shape.fine.width * vf_dtype_bytes(plan->shape.precision));
    }
    return ewald_targets_make(&s->fine, plan->grid.counts, plan->grid.origin, edge, &s->map);
}

static vf_status create(vf_ewald *plan, const vf_coulomb_atoms *charges, ewald_loaded *loaded)
{
    (void)loaded;
    plan->state = calloc(1, sizeof(cpu_state));
    if (!plan->state)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    vf_status status = make_meshes(plan, charges);
    VF_TRY(status, prepare_map(plan));
    return status;
}

/* ---- use ---- */

/* The mesh has the map's points. */
static void copy_box(const vf_ewald *plan, const vf_box *box, const ewald_output *out)
{
    const ewald_level *fine = &((const cpu_state *)plan->state)->fine;
    const int64_t width = vf_box_extent(box, 0), height = vf_box_extent(box, 1), rows = height * vf_box_extent(box, 2);
    int64_t first[3];
    for (int a = 0; a < 3; a++)
        first[a] = llround((plan->grid.origin[a] - fine->at.origin[a]) / fine->at.step[a]) + box->lo[a];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, rows *width))
    for (int64_t r = 0; r < rows; r++) {
        const int64_t row = (first[2] + r / height) * fine->at.mesh[1] + first[1] + r % height;
        ewald_put_row(out, fine->precision, width,
                      (const char *)fine->mesh.data + (size_t)(row * fine->pitch + first[0]) * fine->element,
                      (char *)out->values + (size_t)(r * width) * vf_dtype_bytes(out->precision));
    }
}

/* The term of the vacuum boundary. */
static void add_slope(const vf_ewald *plan, const vf_box *box, void *out)
{
    double r[3];
    int64_t n = 0;
    for (int64_t z = box->lo[2]; z < box->hi[2]; z++)
        for (int64_t y = box->lo[1]; y < box->hi[1]; y++)
            for (int64_t x = box->lo[0]; x < box->hi[0]; x++, n++) {
                const int64_t at[3] = {x, y, z};
                for (int a = 0; a < 3; a++)
                    r[a] = plan->grid.origin[a] + plan->grid.spacing[a] * (double)at[a];
                const double more = plan->slope[0] * r[0] + plan->slope[1] * r[1] + plan->slope[2] * r[2];
                if (plan->shape.arithmetic == VF_F64)
                    ((double *)out)[n] += more;
                else
                    ((float *)out)[n] += (float)more;
            }
}

static vf_status execute(const vf_ewald *plan, vf_queue *queue, const vf_box *box, void *out)
{
    (void)queue;
    const cpu_state *s = plan->state;
    const ewald_output to = {.values = out,
                             .precision = plan->shape.arithmetic,
                             .row = vf_box_extent(box, 0),
                             .plane = vf_box_extent(box, 0) * vf_box_extent(box, 1)};
    vf_status status = VF_OK;
    if (plan->shape.interpolates)
        status = ewald_interpolate(&s->fine, &s->map, box, &to);
    else
        copy_box(plan, box, &to);
    if (status == VF_OK && plan->options.vacuum)
        add_slope(plan, box, out);
    return status;
}

static vf_status execute_rounded(const vf_ewald *plan, vf_queue *queue, const vf_box *box, ewald_execute whole,
                                 float *out)
{
    const int64_t plane = vf_box_extent(box, 0) * vf_box_extent(box, 1), planes = ewald_planes(box);
    vf_array slab = {0};
    vf_status status = vf_array_create(vf_context_host(plan->ctx), VF_SPACE_HOST, VF_F64, planes * plane, &slab);
    for (int64_t z = box->lo[2]; z < box->hi[2] && status == VF_OK; z += planes) {
        vf_box part = *box;
        part.lo[2] = z;
        part.hi[2] = z + planes < box->hi[2] ? z + planes : box->hi[2];
        const int64_t n = vf_box_points(&part);
        const double *from = slab.data;
        float *to = out + (z - box->lo[2]) * plane;
        status = whole(plan, queue, &part, slab.data);
        for (int64_t i = 0; i < n && status == VF_OK; i++)
            to[i] = (float)from[i];
    }
    vf_array_free(&slab);
    return status;
}

static void destroy(vf_ewald *plan)
{
    cpu_state *s = plan->state;
    ewald_targets_free(&s->map);
    vf_array_free(&s->fine.mesh);
    free(s);
}

const vf_ewald_backend vf_ewald_cpu = {
    .create = create, .execute = execute, .round = execute_rounded, .destroy = destroy};
