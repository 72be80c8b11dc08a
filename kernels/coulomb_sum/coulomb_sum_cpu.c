/* The CPU backend. It cuts the box into blocks, which OpenMP threads compute with the instruction set chosen at run
 * time. */
#include <stdatomic.h>

#include "coulomb_sum_backend.h"
#include "coulomb_sum_simd.h"
#include "voxfield/team_size.h"

static const coulomb_simd *const simd[VF_ISA_COUNT] = {
    &coulomb_simd_baseline,
#if defined(__x86_64__)
    &coulomb_simd_avx2,
    &coulomb_simd_avx512,
#endif
};

const coulomb_simd *coulomb_simd_for(vf_isa isa)
{
    return simd[isa];
}

static vf_status create(vf_coulomb *plan)
{
    vf_isa isa;
    vf_status status = vf_variant_isa(plan->device, "Coulomb sum", &plan->variant, &isa);
    if (status != VF_OK)
        return status;
    plan->state = (void *)coulomb_simd_for(isa);
    return VF_OK;
}

/* Blocks lie on a lattice fixed to the grid, not to the box. So a point's centre, and with it the bits of its sum, do
 * not depend on the box. A span is the part of the box within one block, along one axis. */
typedef struct span {
    int64_t lo;
    int count;
    double centre;
} span;

static int64_t blocks_along(const vf_box *box, int axis, int size)
{
    return (box->hi[axis] - 1) / size - box->lo[axis] / size + 1;
}

/* Piece `piece` of `pieces` of block `number`; it may be empty, and has the whole block's centre. */
static span block_span(const vf_grid *grid, const vf_box *box, int axis, int size, int64_t number, int piece,
                       int pieces)
{
    const int64_t block = (box->lo[axis] / size + number) * size, begin = block + size / pieces * piece;
    const int64_t end = begin + size / pieces;
    span s = {.lo = begin > box->lo[axis] ? begin : box->lo[axis],
              .centre = vf_coulomb_position(grid, axis, block + size / 2)};
    s.count = (int)((end < box->hi[axis] ? end : box->hi[axis]) - s.lo);
    return s;
}

/* In how many pieces blocks are cut along y and z, if there are too few for the threads. Each piece reads all atoms: less
 * than a layer of 8 rows is not worth it. */
typedef struct cut {
    int y, z;
} cut;

static cut cut_blocks(int64_t blocks, int threads)
{
    const int64_t wanted = threads > 1 ? 8 * threads : 1;
    cut c = {1, 1};
    while (c.z < BLOCK_Z && blocks * c.z < wanted)
        c.z *= 2;
    if (blocks * c.z < wanted)
        c.y = 2;
    return c;
}

static void relative_positions(const vf_grid *grid, int axis, const span *s, int size, double *positions)
{
    for (int n = 0; n < size; n++)
        positions[n] = vf_coulomb_position(grid, axis, s->lo + n) - s->centre;
}

static void compute_piece(const vf_coulomb *plan, const vf_box *box, cut c, int64_t piece, void *out)
{
    const coulomb_simd *set = plan->state;
    const int64_t number = piece / (c.y * c.z);
    const vf_grid *grid = &plan->grid;
    int64_t along_x = blocks_along(box, 0, BLOCK_X), along_y = blocks_along(box, 1, BLOCK_Y);
    span x = block_span(grid, box, 0, BLOCK_X, number % along_x, 0, 1);
    span y = block_span(grid, box, 1, BLOCK_Y, number / along_x % along_y, (int)(piece % c.y), c.y);
    span z = block_span(grid, box, 2, BLOCK_Z, number / along_x / along_y, (int)(piece / c.y % c.z), c.z);
    if (y.count <= 0 || z.count <= 0)
        return;
    int64_t row = vf_box_extent(box, 0), layer = row * vf_box_extent(box, 1);
    int64_t first = (z.lo - box->lo[2]) * layer + (y.lo - box->lo[1]) * row + (x.lo - box->lo[0]);
    coulomb_block block = {
        .atoms = plan->atoms,
        .x = plan->x,
        .y = plan->y,
        .z = plan->z,
        .charge = plan->charge,
        .centre = {x.centre, y.centre, z.centre},
        .nx = x.count,
        .ny = y.count,
        .nz = z.count,
        .r_min = plan->options.r_min,
        .distance_dielectric = plan->options.distance_dielectric,
        .out = (char *)out + (size_t)first * vf_dtype_bytes(plan->options.precision),
        .stride_y = row,
        .stride_z = layer,
    };
    relative_positions(grid, 0, &x, BLOCK_X, block.px);
    relative_positions(grid, 1, &y, BLOCK_Y, block.py);
    relative_positions(grid, 2, &z, BLOCK_Z, block.pz);
    if (plan->options.precision == VF_F64)
        set->f64(&block);
    else
        set->f32(&block);
}

static vf_status execute(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    (void)queue;
    vf_context *ctx = vf_device_context(plan->device);
    int64_t blocks = blocks_along(box, 0, BLOCK_X) * blocks_along(box, 1, BLOCK_Y) * blocks_along(box, 2, BLOCK_Z);
    const int threads = vf_threads_for(ctx, vf_box_points(box) / 4 * plan->atoms);
    const cut c = cut_blocks(blocks, threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t p = 0; p < blocks * c.y * c.z; p++)
        if (!vf_cancelled(ctx))
            compute_piece(plan, box, c, p, out);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static void destroy(vf_coulomb *plan)
{
    (void)plan;
}

const vf_coulomb_backend vf_coulomb_cpu = {
    .variants = {VF_DEVICE_CPU, vf_isa_variants}, .create = create, .execute = execute, .destroy = destroy};
