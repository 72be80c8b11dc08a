/* The OpenCL backend of the Coulomb sum: our kernel (coulomb_sum.cl) and the published one (coulomb_sum_published.cl). */
#include <stdlib.h>
#include <string.h>

#include "backend/opencl_launch.h"
#include "coulomb_sum_backend.h"

extern const char vf_text_coulomb_sum[], vf_text_coulomb_sum_published[];

/* Tiles of the tuned kernel; groups of the published one, its points of a thread and its bytes of atoms in constant memory, which
 * every device has. */
enum { TILE_X = 32, TILE_Y = 8, SIDE_X = 16, SIDE_Y = 8, POINTS = 8, BANK_BYTES = 64000 };
static const char tile_words[] = "-DTILE_X=32 -DTILE_Y=8 -DTHREADS=64 -DFLUSH=8",
                  square_words[] = "-DTILE_X=32 -DTILE_Y=8 -DTHREADS=64 -DFLUSH=8 -DSQUARE=1";

typedef struct opencl_state {
    vf_array atoms; /* x, y, z in two parts each, charge, each [count]; of the tuned kernel */
} opencl_state;

static void put(vf_dtype precision, void *values, int64_t n, double value)
{
    if (precision == VF_F64)
        ((double *)values)[n] = value;
    else
        ((float *)values)[n] = (float)value;
}

/* values[n] + values[n + step] = value, but for 2^-48 of it in single precision. */
static void put_parts(vf_dtype precision, void *values, int64_t n, int64_t step, double value)
{
    const double first = precision == VF_F64 ? value : (double)(float)value;
    put(precision, values, n, first);
    put(precision, values, n + step, value - first);
}

static vf_status no_memory(const vf_coulomb *plan)
{
    return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for the positions of a sum");
}

/* ---- the tuned kernel ---- */

static vf_status upload_atoms(vf_coulomb *plan, vf_array *out)
{
    const vf_dtype type = plan->options.precision;
    const double *at[] = {plan->x, plan->y, plan->z};
    const int64_t n = plan->atoms;
    void *values = malloc((size_t)(7 * n + 1) * vf_dtype_bytes(type));
    if (!values)
        return no_memory(plan);
    for (int64_t i = 0; i < n; i++) {
        for (int a = 0; a < 3; a++)
            put_parts(type, values, 2 * a * n + i, n, at[a][i]);
        put(type, values, 6 * n + i, plan->charge[i]);
    }
    const vf_status status = vf_opencl_array_of(plan->device, type, 7 * n, values, out);
    free(values);
    return status;
}

/* The tiles that a box touches, on a lattice fixed to the grid: a point's bits do not depend on its box. */
typedef struct tiling {
    int64_t first[2], count[2]; /* along x and y */
    int64_t numbers;            /* of `along` */
} tiling;

static tiling tiles_of(const vf_box *box, int size_x, int size_y)
{
    const int64_t sizes[] = {size_x, size_y};
    tiling t;
    for (int a = 0; a < 2; a++) {
        t.first[a] = box->lo[a] / sizes[a];
        t.count[a] = (box->hi[a] - 1) / sizes[a] + 1 - t.first[a];
    }
    t.numbers = t.count[0] * (size_x + 2) + t.count[1] * (size_y + 2) + 2 * vf_box_extent(box, 2);
    return t;
}

/* Positions in double precision, as the kernel takes them. */
static void fill_along(const vf_coulomb *plan, const vf_box *box, const tiling *t, void *values)
{
    const vf_dtype type = plan->options.precision;
    const int64_t sizes[] = {TILE_X, TILE_Y};
    int64_t points = 0, centres = t->count[0] * TILE_X + t->count[1] * TILE_Y;
    for (int a = 0; a < 2; a++)
        for (int64_t tile = 0; tile < t->count[a]; tile++, centres += 2) {
            const int64_t begin = (t->first[a] + tile) * sizes[a];
            const double centre = vf_coulomb_position(&plan->grid, a, begin + sizes[a] / 2);
            for (int64_t n = 0; n < sizes[a]; n++)
                put(type, values, points++, vf_coulomb_position(&plan->grid, a, begin + n) - centre);
            put_parts(type, values, centres, 1, centre);
        }
    for (int64_t k = box->lo[2]; k < box->hi[2]; k++, centres += 2)
        put_parts(type, values, centres, 1, vf_coulomb_position(&plan->grid, 2, k));
}

static vf_status execute_tuned(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_coulomb_sum, NULL};
    const vf_dtype type = plan->options.precision;
    const opencl_state *s = plan->state;
    const tiling t = tiles_of(box, TILE_X, TILE_Y);
    const vf_opencl_kernel kernel = {texts, "tuned", type,
                                     plan->options.distance_dielectric ? square_words : tile_words,
                                     .threads = {64 * t.count[0] * t.count[1] * vf_box_extent(box, 2)}};
    void *values = malloc((size_t)t.numbers * vf_dtype_bytes(type));
    vf_array along = {0};
    if (!values)
        return no_memory(plan);
    fill_along(plan, box, &t, values);
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, type, t.numbers, &along);
    VF_TRY(status, vf_queue_copy(queue, along.data, values, (size_t)t.numbers * vf_dtype_bytes(type)));
    VF_TRY(status,
           VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(t.count[0]), VF_CL_INT(t.count[1]),
                            VF_CL_INT(vf_box_extent(box, 0)), VF_CL_INT(vf_box_extent(box, 1)),
                            VF_CL_INT(box->lo[0] - t.first[0] * TILE_X), VF_CL_INT(box->lo[1] - t.first[1] * TILE_Y),
                            VF_CL_INT(plan->atoms), VF_CL_REAL(plan->options.r_min * plan->options.r_min),
                            VF_CL_ARRAY(along.data), VF_CL_ARRAY(s->atoms.data), VF_CL_ARRAY(out)));
    vf_array_free(&along); /* OpenCL keeps it until the kernel is done */
    free(values);
    return status;
}

/* ---- the published kernel ---- */

typedef struct slicing {
    tiling t;
    int64_t pitch, most; /* numbers of the slice's rows; atoms of a chunk */
    vf_array slice, atoms;
    void *chunk;
} slicing;

/* Slice k: a write of atoms and a launch for each chunk, then the points of the box. */
static vf_status compute_slice(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, const slicing *s, int64_t k,
                               char *out)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_coulomb_sum_published, NULL};
    const vf_dtype type = plan->options.precision;
    const size_t bytes = vf_dtype_bytes(type);
    const char *words = plan->options.distance_dielectric ? "-DSQUARE=1" : NULL;
    const int64_t rows = s->t.count[1] * SIDE_Y, first_i = s->t.first[0] * SIDE_X * POINTS,
                  first_j = s->t.first[1] * SIDE_Y, nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1);
    const vf_opencl_kernel dcs3 = {texts, "dcs3", type, words, {s->pitch / POINTS, rows}, {SIDE_X, SIDE_Y}},
                           take = {texts, "take_slice", type, words, {nx * ny}, {0}};
    const double *origin = plan->grid.origin, z = vf_coulomb_position(&plan->grid, 2, k);
    vf_status status = VF_OK;
    for (int64_t first = 0; status == VF_OK && (first == 0 || first < plan->atoms); first += s->most) {
        const int64_t left = plan->atoms - first, count = left < s->most ? left : s->most;
        for (int64_t i = first; i < first + count; i++) {
            const double dz = plan->z[i] - z,
                         parts[] = {plan->x[i] - origin[0], plan->y[i] - origin[1], dz * dz, plan->charge[i]};
            for (int n = 0; n < 4; n++)
                put(type, s->chunk, 4 * (i - first) + n, parts[n]);
        }
        if (count > 0)
            status = vf_queue_copy(queue, s->atoms.data, s->chunk, (size_t)(4 * count) * bytes);
        VF_TRY(status, VF_OPENCL_LAUNCH(queue, &dcs3, VF_CL_INT(first_i), VF_CL_INT(first_j),
                                        VF_CL_REAL(plan->grid.spacing[0]), VF_CL_REAL(plan->grid.spacing[1]),
                                        VF_CL_INT(count), VF_CL_REAL(plan->options.r_min * plan->options.r_min),
                                        VF_CL_INT(first == 0), VF_CL_ARRAY(s->atoms.data), VF_CL_ARRAY(s->slice.data)));
    }
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &take, VF_CL_INT(nx), VF_CL_INT(ny), VF_CL_INT(box->lo[0] - first_i),
                                    VF_CL_INT(box->lo[1] - first_j), VF_CL_INT(s->pitch), VF_CL_ARRAY(s->slice.data),
                                    VF_CL_ARRAY(out + (size_t)((k - box->lo[2]) * nx * ny) * bytes)));
    return status;
}

static vf_status execute_published(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    const vf_dtype type = plan->options.precision;
    slicing s = {.t = tiles_of(box, SIDE_X * POINTS, SIDE_Y), .chunk = malloc(BANK_BYTES)};
    s.pitch = s.t.count[0] * SIDE_X * POINTS;
    s.most = BANK_BYTES / (4 * (int64_t)vf_dtype_bytes(type));
    vf_status status = s.chunk ? VF_OK : no_memory(plan);
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, s.pitch * s.t.count[1] * SIDE_Y, &s.slice));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, 4 * s.most, &s.atoms));
    for (int64_t k = box->lo[2]; status == VF_OK && k < box->hi[2]; k++)
        status = compute_slice(plan, queue, box, &s, k, out);
    vf_array_free(&s.slice); /* OpenCL keeps them until the kernels are done */
    vf_array_free(&s.atoms);
    free(s.chunk);
    return status;
}

/* ---- plans ---- */

static bool is_tuned(const vf_coulomb *plan)
{
    return strcmp(plan->variant, "tuned") == 0;
}

static vf_status create(vf_coulomb *plan)
{
    opencl_state *s = calloc(1, sizeof *s);
    plan->state = s;
    if (!s)
        return no_memory(plan);
    return is_tuned(plan) ? upload_atoms(plan, &s->atoms) : VF_OK;
}

static vf_status execute(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    return is_tuned(plan) ? execute_tuned(plan, queue, box, out) : execute_published(plan, queue, box, out);
}

static void destroy(vf_coulomb *plan)
{
    opencl_state *s = plan->state;
    vf_array_free(&s->atoms);
    free(s);
}

static const char *const variants[] = {"tuned", "dcs3", NULL};
const vf_coulomb_backend vf_coulomb_opencl = {
    .variants = {VF_DEVICE_OPENCL, variants}, .create = create, .execute = execute, .destroy = destroy};
