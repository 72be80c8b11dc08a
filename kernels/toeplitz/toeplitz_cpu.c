/* The CPU backend: passes over pieces that fit in the cache, on the halves of the doubled grid's spectrum.
 *
 * The transform of length 2N of N points followed by N zeros is, at frequency 2m + p,
 *
 *     X(2m + p) = sum_n [x(n) exp(-i pi n p / N)] exp(-i 2 pi n m / N).
 *
 * This is a transform of length N of the line itself (p = 0, "even"), or with its points turned (p = 1, "odd"). Back,
 * y(n) is the inverse of the even one, plus the inverse of the odd one turned the other way. So the zeros, and the
 * points that would be cropped, are never touched. The two halves along an axis need not exist at the same time. For
 * each coil and segment:
 *
 *     forward    slabs across y:  x times map and e_l; lines along z, both halves -> spectrum
 *     multiply   planes of the spectrum, one half along x after the other: rows along x; tiles of 16 lines along y,
 *                both halves; times the kernel; back
 *     backward   slabs across y:  spectrum -> lines along z; the inverse of forward, added to y
 *
 * Only the spectrum (2 N^3 complex numbers instead of 8 N^3) passes through memory, twice each way, and the kernel
 * once. The transforms along x and y, six of seven, run in the second-level cache; those along y in the first.
 *
 * A circulant matrix has only the even halves.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "toeplitz_cpu.h"
#include "voxfield/team_size.h"

/* Approximate bytes of a slab, and of planes processed together. GAP: bytes between the threads' working memory, so
 * that they do not start at the same offset in a page. */
enum { SLAB_BYTES = 1 << 17, GROUP_BYTES = 1 << 16, GAP = 320, ALIGNMENT = 64 };

/* The arguments of one pass of `apply`. */
typedef struct pass {
    const vf_toeplitz *plan;
    const cpu_state *state;
    const char *map; /* of the coil; NULL: 1 */
    const char *x;
    char *y;
    int segment;
    int add; /* add to y, or overwrite it */
} pass;

static int64_t round_up(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- a plan ---- */

static vf_status make_phase(vf_toeplitz *plan, cpu_state *s, int axis)
{
    int64_t n = s->n[axis];
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, s->type, n, &s->phase[axis]);
    for (int64_t i = 0; status == VF_OK && i < n; i++) {
        double angle = -M_PI * (double)i / (double)n;
        if (plan->precision == VF_F64) {
            ((double *)s->phase[axis].data)[2 * i] = cos(angle);
            ((double *)s->phase[axis].data)[2 * i + 1] = sin(angle);
        } else {
            ((float *)s->phase[axis].data)[2 * i] = (float)cos(angle);
            ((float *)s->phase[axis].data)[2 * i + 1] = (float)sin(angle);
        }
    }
    return status;
}

static vf_status make_ffts(vf_toeplitz *plan, cpu_state *s)
{
    const int64_t together[3] = {s->group * s->n[1], s->halves[1] * s->width, s->halves[2] * TILE};
    vf_context *ctx = vf_device_context(plan->device);
    vf_status status = VF_OK;
    for (int a = 0; a < 3; a++) {
        if (status == VF_OK && s->n[a] > 1)
            status = vf_fft_rows_create(ctx, s->type, s->n[a], together[a], &s->rows[a]);
        if (status == VF_OK && s->halves[a] == 2)
            status = vf_fft_rows_create(ctx, s->type, 2 * s->n[a], TILE, &s->doubled[a]);
        if (status == VF_OK && s->halves[a] == 2)
            status = make_phase(plan, s, a);
    }
    return status;
}

static vf_status make_arrays(vf_toeplitz *plan, cpu_state *s)
{
    /* Each thread needs room for a tile along z, a slab and a factor for its rows; or for a tile along y and planes; or
     * for a tile of Q. */
    int64_t slab = s->halves[2] * TILE * s->n[2] + (s->n[2] + 1) * s->chunk;
    int64_t planes = round_up(s->halves[1] * s->width * s->n[1], TILE) + s->group * s->n[1] * s->n[0];
    int64_t longest = larger(larger(s->n[0], s->n[1]), s->n[2]), tile = 2 * longest * TILE;
    s->work_bytes = (size_t)round_up(larger(larger(slab, planes), tile) * (int64_t)s->element, ALIGNMENT) + GAP;
    struct {
        vf_array *array;
        vf_dtype type;
        int64_t count;
    } arrays[] = {
        {&s->spectrum, s->type, round_up(s->planes, s->group) * s->stride},
        {&s->kernels, plan->precision, plan->segments * s->planes * s->halves[0] * s->half_plane},
        {&s->work, VF_F32, s->threads * (int64_t)(s->work_bytes / sizeof(float))},
    };
    vf_status status = VF_OK;
    for (size_t i = 0; status == VF_OK && i < sizeof arrays / sizeof *arrays; i++) {
        size_t bytes = (size_t)arrays[i].count * vf_dtype_bytes(arrays[i].type);
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, arrays[i].type, arrays[i].count, arrays[i].array);
        /* Zeroed once: the padding of planes to whole groups, and of lines to whole tiles, is transformed, too. */
        if (status == VF_OK)
            memset(arrays[i].array->data, 0, bytes);
        plan->bytes += (int64_t)bytes;
    }
    return status;
}

/* Assigns the axes longer than one voxel. Two such axes become x and z, which gives many threads work. */
static void lay_axes(const vf_toeplitz *plan, cpu_state *s)
{
    int used = 0;
    for (int a = 0; a < 3; a++)
        s->n[a] = 1;
    for (int a = 0; a < 3; a++)
        if (plan->matrix[a] > 1)
            s->n[used++] = plan->matrix[a];
    if (used == 2) {
        s->n[2] = s->n[1];
        s->n[1] = 1;
    }
    for (int a = 0; a < 3; a++)
        s->halves[a] = s->n[a] > 1 && !plan->circulant ? 2 : 1;
}

static void lay_pieces(cpu_state *s)
{
    const int64_t plane = s->n[0] * s->n[1], element = (int64_t)s->element;
    s->width = smaller(TILE, s->n[0]);
    /* With a single plane, slabs have fewer columns, so that there are some for each thread. */
    s->chunk = (s->n[1] > 1 ? SLAB_BYTES : SLAB_BYTES / 4) / (s->n[2] * element) / TILE * TILE;
    s->chunk = smaller(larger(s->chunk, TILE), s->n[0]);
    s->chunks = (s->n[0] + s->chunk - 1) / s->chunk;
    s->planes = s->halves[2] * s->n[2];
    /* Small planes are processed together: each group is aligned, without gaps inside. Large planes begin at different
     * offsets in a page, so that lines along z do not share a few cache sets. */
    s->group = larger(GROUP_BYTES / (plane * element) / 8 * 8, 1);
    s->group = smaller(s->group, round_up(s->planes, 8));
    s->stride = s->group > 1 ? plane : round_up(plane, TILE) + TILE;
    s->half_plane = round_up(s->n[0], s->width) * s->halves[1] * s->n[1];
}

static vf_status create(vf_toeplitz *plan)
{
    static const toeplitz_isa *const sets[VF_ISA_COUNT] = {
        &toeplitz_isa_baseline,
#if defined(__x86_64__)
        &toeplitz_isa_avx2,
        &toeplitz_isa_avx512,
#endif
    };
    cpu_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "Toeplitz: not enough memory for a plan");
    plan->state = s;
    s->simd = plan->precision == VF_F64 ? sets[vf_cpu_isa()]->f64 : sets[vf_cpu_isa()]->f32;
    s->type = vf_dtype_complex(plan->precision);
    s->element = vf_dtype_bytes(s->type);
    s->threads = vf_context_threads(vf_device_context(plan->device));
    lay_axes(plan, s);
    lay_pieces(s);
    vf_status status = make_ffts(plan, s);
    return status == VF_OK ? make_arrays(plan, s) : status;
}

static void destroy(vf_toeplitz *plan)
{
    cpu_state *s = plan->state;
    for (int a = 0; a < 3; a++) {
        vf_fft_rows_destroy(s->rows[a]);
        vf_fft_rows_destroy(s->doubled[a]);
        vf_array_free(&s->phase[a]);
    }
    vf_array_free(&s->spectrum);
    vf_array_free(&s->kernels);
    vf_array_free(&s->work);
    free(s);
    plan->state = NULL;
}

/* ---- the passes ---- */

/* The factor of `n` voxels starting at `first`: the map and e_l, if any; NULL for 1. */
static const void *voxel_factor(const pass *p, int64_t first, int64_t n, void *buffer)
{
    const cpu_state *s = p->state;
    const void *factor = p->map ? p->map + (size_t)first * s->element : NULL;
    if (p->plan->time) {
        s->simd->rotation(n, p->plan->time[p->segment], (const float *)p->plan->field.data + first, buffer);
        if (factor)
            s->simd->multiply(n, factor, buffer, buffer);
        factor = buffer;
    }
    return factor;
}

/* A slab: all z of neighbouring voxels along x, at one y. */
typedef struct slab {
    int64_t first, step, count; /* first voxel; step between z; voxels along x */
    char *rows;                 /* [z][count] */
    char *factor;               /* working memory for a row */
} slab;

static void enter(const pass *p, const slab *b)
{
    const cpu_state *s = p->state;
    for (int64_t z = 0, n = b->first; z < s->n[2]; z++, n += b->step) {
        const char *x = p->x + (size_t)n * s->element;
        char *row = b->rows + (size_t)(z * b->count) * s->element;
        const void *factor = voxel_factor(p, n, b->count, b->factor);
        if (factor)
            s->simd->multiply(b->count, factor, x, row);
        else
            memcpy(row, x, (size_t)b->count * s->element);
    }
}

static void leave(const pass *p, const slab *b)
{
    const cpu_state *s = p->state;
    for (int64_t z = 0, n = b->first; z < s->n[2]; z++, n += b->step) {
        char *y = p->y + (size_t)n * s->element;
        const char *row = b->rows + (size_t)(z * b->count) * s->element;
        const void *factor = voxel_factor(p, n, b->count, b->factor);
        if (factor)
            s->simd->multiply_conjugate(b->count, factor, row, p->add, y);
        else if (p->add)
            s->simd->add(b->count, row, y);
        else
            memcpy(y, row, (size_t)b->count * s->element);
    }
}

/* Transforms a slab's lines along z, TILE at a time, to the spectrum's planes or back. */
static void lines_along_z(const cpu_state *s, vf_fft_direction direction, const slab *b, char *spectrum, char *work)
{
    const size_t half = (size_t)(TILE * s->n[2]) * s->element,
                 half_spectrum = (size_t)(s->n[2] * s->stride) * s->element;
    char *odd = s->halves[2] == 2 ? work + half : NULL;
    for (int64_t i = 0; i < b->count; i += TILE) {
        const int64_t lines = smaller(TILE, b->count - i);
        const toeplitz_tile in_slab = {s->n[2], lines, b->count, s->phase[2].data};
        const toeplitz_tile in_spectrum = {s->n[2], lines, s->stride, NULL};
        char *columns = b->rows + (size_t)i * s->element, *planes = spectrum + (size_t)i * s->element;
        if (direction == VF_FFT_FORWARD)
            s->simd->split(&in_slab, columns, work, odd);
        for (int h = 0; direction == VF_FFT_BACKWARD && h < s->halves[2]; h++)
            s->simd->split(&in_spectrum, planes + (size_t)h * half_spectrum, work + (size_t)h * half, NULL);
        if (s->rows[2] && !s->skipped[2])
            vf_fft_rows_execute(s->rows[2], direction, work);
        for (int h = 0; direction == VF_FFT_FORWARD && h < s->halves[2]; h++)
            s->simd->merge(&in_spectrum, work + (size_t)h * half, NULL, planes + (size_t)h * half_spectrum);
        if (direction == VF_FFT_BACKWARD)
            s->simd->merge(&in_slab, work, odd, columns);
    }
}

static slab slab_of(const cpu_state *s, int64_t number, char *work)
{
    const int64_t begin = number % s->chunks * s->chunk, at = number / s->chunks * s->n[0] + begin;
    slab b = {.first = at, .step = s->n[0] * s->n[1], .count = smaller(s->chunk, s->n[0] - begin)};
    b.rows = work + (size_t)(s->halves[2] * TILE * s->n[2]) * s->element;
    b.factor = b.rows + (size_t)(s->n[2] * s->chunk) * s->element;
    return b;
}

static void do_slab(const pass *p, vf_fft_direction direction, int64_t number, char *work)
{
    const cpu_state *s = p->state;
    const slab b = slab_of(s, number, work);
    if (direction == VF_FFT_FORWARD)
        enter(p, &b);
    lines_along_z(s, direction, &b, (char *)s->spectrum.data + (size_t)b.first * s->element, work);
    if (direction == VF_FFT_BACKWARD)
        leave(p, &b);
}

/* Processes a slab for all coils, if only its lines along z are transformed. */
static void do_lines(const pass *whole, int coils, const char *maps, int64_t number, char *work)
{
    const cpu_state *s = whole->state;
    const slab b = slab_of(s, number, work);
    pass p = *whole;
    for (int c = 0; c < coils; c++, p.add = 1) {
        p.map = maps ? maps + (size_t)(c * p.plan->voxels) * s->element : NULL;
        enter(&p, &b);
        for (int64_t i = 0; i < b.count; i += TILE) {
            const toeplitz_tile tile = {s->n[2], smaller(TILE, b.count - i), b.count, NULL};
            char *columns = b.rows + (size_t)i * s->element;
            s->simd->split(&tile, columns, work, NULL);
            vf_fft_rows_execute(s->rows[2], VF_FFT_FORWARD, work);
            s->simd->scale(tile.lines * s->n[2], s->kernels.data, work);
            vf_fft_rows_execute(s->rows[2], VF_FFT_BACKWARD, work);
            s->simd->merge(&tile, work, NULL, columns);
        }
        leave(&p, &b);
    }
}

/* Processes a plane with transformed rows along x: transforms along y, multiplies by the kernel's half, and transforms
 * back. */
static void multiply_plane(const cpu_state *s, const char *kernel, char *plane, char *work)
{
    if (s->n[1] == 1) {
        s->simd->scale(s->n[0], kernel, plane);
        return;
    }
    const int64_t points = s->halves[1] * s->width * s->n[1];
    char *odd = s->halves[1] == 2 ? work + (size_t)(s->width * s->n[1]) * s->element : NULL;
    for (int64_t k = 0; k < s->n[0]; k += s->width, kernel += (size_t)points * s->element / 2) {
        const toeplitz_tile tile = {s->n[1], smaller(s->width, s->n[0] - k), s->n[0], s->phase[1].data};
        char *columns = plane + (size_t)k * s->element;
        s->simd->split(&tile, columns, work, odd);
        if (!s->skipped[1])
            vf_fft_rows_execute(s->rows[1], VF_FFT_FORWARD, work);
        s->simd->scale(points, kernel, work);
        if (!s->skipped[1])
            vf_fft_rows_execute(s->rows[1], VF_FFT_BACKWARD, work);
        s->simd->merge(&tile, work, odd, columns);
    }
}

/* Processes one half along x of a group of contiguous planes. */
static void multiply_half(const pass *p, int64_t first, int half, char *planes, char *work)
{
    const cpu_state *s = p->state;
    const size_t plane_bytes = (size_t)(s->n[0] * s->n[1]) * s->element;
    const bool transforms = s->rows[0] && !s->skipped[0];
    if (transforms)
        vf_fft_rows_execute(s->rows[0], VF_FFT_FORWARD, planes);
    for (int64_t i = 0; i < s->group && first + i < s->planes; i++)
        multiply_plane(s, toeplitz_cpu_kernel(p->plan, p->segment, first + i, half), planes + (size_t)i * plane_bytes,
                       work);
    if (transforms)
        vf_fft_rows_execute(s->rows[0], VF_FFT_BACKWARD, planes);
}

static void do_planes(const pass *p, int64_t number, char *work)
{
    const cpu_state *s = p->state;
    const int64_t first = number * s->group, rows = s->group * s->n[1];
    const size_t row_bytes = (size_t)s->n[0] * s->element;
    char *even = (char *)s->spectrum.data + (size_t)(first * s->stride) * s->element;
    char *odd = work + (size_t)round_up(s->halves[1] * s->width * s->n[1], TILE) * s->element;
    for (int64_t r = 0; s->halves[0] == 2 && r < rows; r++)
        s->simd->multiply(s->n[0], s->phase[0].data, even + (size_t)r * row_bytes, odd + (size_t)r * row_bytes);
    multiply_half(p, first, 0, even, work);
    if (s->halves[0] == 1)
        return;
    multiply_half(p, first, 1, odd, work);
    for (int64_t r = 0; r < rows; r++)
        s->simd->multiply_conjugate(s->n[0], s->phase[0].data, odd + (size_t)r * row_bytes, 1,
                                    even + (size_t)r * row_bytes);
}

char *toeplitz_cpu_work(const cpu_state *s)
{
    const int thread = omp_get_thread_num();
    return (char *)s->work.data + s->work_bytes * (size_t)thread;
}

typedef enum step { FORWARD, MULTIPLY, BACKWARD, STEPS } step;

static vf_status run_step(const pass *p, step which)
{
    const cpu_state *s = p->state;
    vf_context *ctx = vf_device_context(p->plan->device);
    const int64_t pieces = which == MULTIPLY ? (s->planes + s->group - 1) / s->group : s->n[1] * s->chunks;
#pragma omp parallel for schedule(dynamic, 1)                                                                          \
    num_threads(vf_threads_of_plan(ctx, s->threads, 2 * s->planes * s->stride))
    for (int64_t i = 0; i < pieces; i++) {
        char *work = toeplitz_cpu_work(s);
        if (vf_cancelled(ctx))
            continue;
        if (which == MULTIPLY)
            do_planes(p, i, work);
        else
            do_slab(p, which == FORWARD ? VF_FFT_FORWARD : VF_FFT_BACKWARD, i, work);
    }
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static vf_status apply_lines(const pass *p, int coils, const void *maps)
{
    const cpu_state *s = p->state;
    vf_context *ctx = vf_device_context(p->plan->device);
#pragma omp parallel for schedule(dynamic, 1)                                                                          \
    num_threads(vf_threads_of_plan(ctx, s->threads, 2 * s->planes * s->stride))
    for (int64_t i = 0; i < s->chunks; i++)
        if (!vf_cancelled(ctx))
            do_lines(p, coils, maps, i, toeplitz_cpu_work(s));
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static vf_status apply(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    (void)queue;
    const cpu_state *s = plan->state;
    pass p = {.plan = plan, .state = s, .x = x, .y = y};
    if (toeplitz_cpu_lines_alone(s))
        return apply_lines(&p, coils, maps);
    for (int c = 0; c < coils; c++)
        for (p.segment = 0; p.segment < plan->segments; p.segment++) {
            p.map = maps ? (const char *)maps + (size_t)(c * plan->voxels) * s->element : NULL;
            for (int i = FORWARD; i < STEPS; i++) {
                vf_status status = run_step(&p, (step)i);
                if (status != VF_OK)
                    return status;
            }
            p.add = 1;
        }
    return VF_OK;
}

const vf_toeplitz_backend vf_toeplitz_cpu = {.kind = VF_DEVICE_CPU,
                                             .variant = "fft",
                                             .create = create,
                                             .set = toeplitz_cpu_set,
                                             .apply = apply,
                                             .destroy = destroy};
