/* The CPU backend: passes over pieces that fit in the cache, on the halves of the doubled grid's spectrum.
 *
 * The transform of length 2N of N points followed by N zeros is, at frequency 2m + p,
 *
 *     X(2m + p) = sum_n [x(n) exp(-i pi n p / N)] exp(-i 2 pi n m / N).
 *
 * This is a transform of length N of the line itself (p = 0, "even"), or with its points turned (p = 1, "odd"). Back,
 * y(n) is the inverse of the even one, plus the inverse of the odd one turned the other way. So the zeros, and the
 * points that would be cropped, are never touched. For each coil and segment:
 *
 *     forward    slabs across y:  x times map and e_l; lines along z, both halves -> spectrum
 *     multiply   planes of the spectrum: lines along y, both halves; then lines along x, one half after the other; times
 *                the kernel; back
 *     backward   slabs across y:  spectrum -> lines along z; the inverse of forward, added to y; followed by the slab's
 *                forward pass of the next coil or segment
 *
 * Only the spectrum (2 N^3 complex numbers instead of 8 N^3) passes through memory, and the kernel once. Lines are
 * transformed side by side (fft_lanes.h): along y and z as they lie, along x after squares of points are transposed; in the
 * first-level cache, if they are not too long. Frequencies stay in the order in which the transforms leave them: the kernel
 * is in that order, too.
 *
 * A circulant matrix has only the even halves. So has one that is diagonal in cosine transforms.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "toeplitz_cpu.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"

/* GAP: bytes between the threads' working memory, so that they do not start at the same offset in a page. SLAB: rows.
 * BATCH_BYTES, MOST_BATCH: of spectra that are there at the same time, if one is smaller. */
enum { GAP = 320, ALIGNMENT = 64, SLAB = 8, BATCH_BYTES = 1 << 23, MOST_BATCH = 16 };

/* The arguments of one pass of `apply`. A turn is a coil and a segment; a batch of them passes together, which takes fewer
 * parallel regions. `before` and `turns`: the batches that have been multiplied and that will be, each [first, end). */
typedef struct pass {
    const vf_toeplitz *plan;
    const cpu_state *state;
    const char *maps; /* [coils][voxels]; NULL: 1 */
    const char *x;
    char *y;
    int before[2], turns[2];
} pass;

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
    vf_context *ctx = vf_device_context(plan->device);
    vf_status status = VF_OK;
    for (int a = 0; a < 3; a++) {
        if (status == VF_OK)
            status =
                (plan->cosine ? fft_lanes_create_cosine : fft_lanes_create)(ctx, plan->precision, s->n[a], &s->fft[a]);
        if (status == VF_OK && s->halves[a] == 2)
            status = make_phase(plan, s, a);
    }
    return status;
}

/* Room for the points along an axis of both halves of lines side by side, in elements. */
static int64_t lines_room(const cpu_state *s, int axis)
{
    return s->halves[axis] * larger(s->fft[axis]->room, round_up(s->n[axis], s->lanes)) * s->lanes;
}

static vf_status make_arrays(vf_toeplitz *plan, cpu_state *s)
{
    /* Each thread needs room for lines along z; or for the sheets of a plane, or of its lines along y, and lines along x. */
    s->column = larger(s->fft[1]->room, round_up(s->n[1], s->lanes)) * s->lanes;
    const int64_t sheets = s->halves[1] * s->blocks * s->column;
    const int64_t points = larger(lines_room(s, 2), sheets + lines_room(s, 0));
    s->work_bytes = (size_t)round_up(points * (int64_t)s->element, ALIGNMENT) + GAP;
    struct {
        vf_array *array;
        vf_dtype type;
        int64_t count;
    } arrays[] = {
        {&s->spectrum, s->type, s->batch * s->room},
        {&s->kernels, plan->precision, toeplitz_cpu_kernel_count(s, plan->segments)},
        {&s->work, VF_F32, s->threads * (int64_t)(s->work_bytes / sizeof(float))},
    };
    vf_status status = VF_OK;
    for (size_t i = 0; status == VF_OK && i < sizeof arrays / sizeof *arrays; i++) {
        size_t bytes = (size_t)arrays[i].count * vf_dtype_bytes(arrays[i].type);
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, arrays[i].type, arrays[i].count, arrays[i].array);
        /* Zeroed once: lines that fill up the lanes are transformed, too. */
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

static void lay_pieces(const vf_toeplitz *plan, cpu_state *s)
{
    s->blocks = (s->n[0] + s->lanes - 1) / s->lanes;
    s->planes = s->halves[2] * s->n[2];
    /* Planes begin at different offsets in a page, so that lines along z do not share a few cache sets. */
    s->stride = (s->blocks * s->n[1] + 1) * s->lanes;
    s->order = s->n[1] > 1 ? ORDER_SHEETS : ORDER_PLANES;
    s->room = round_up(s->planes, s->n[1] > 1 ? 1 : s->lanes) * s->stride;
    s->batch = plan->cosine ? 1 : (int)smaller(larger(BATCH_BYTES / (s->room * (int64_t)s->element), 1), MOST_BATCH);
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
    s->lanes = s->simd->lanes;
    lay_pieces(plan, s);
    vf_status status = make_ffts(plan, s);
    return status == VF_OK ? make_arrays(plan, s) : status;
}

static void destroy(vf_toeplitz *plan)
{
    cpu_state *s = plan->state;
    for (int a = 0; a < 3; a++) {
        fft_lanes_destroy(s->fft[a]);
        vf_array_free(&s->phase[a]);
    }
    vf_array_free(&s->spectrum);
    vf_array_free(&s->kernels);
    vf_array_free(&s->work);
    free(s);
    plan->state = NULL;
}

/* ---- lines side by side ---- */

static char *move(const cpu_state *s, const void *from, int64_t elements)
{
    return (char *)from + elements * (int64_t)s->element;
}

static const char *kernel_of(const pass *p, int segment, int64_t plane, const int half[2], const int64_t at[2])
{
    return (const char *)p->state->kernels.data +
           toeplitz_cpu_kernel_at(p->state, segment, plane, half, at) * (int64_t)vf_dtype_bytes(p->plan->precision);
}

/* The spectrum of a turn. */
static char *spectrum_of(const cpu_state *s, int turn)
{
    return move(s, s->spectrum.data, turn % s->batch * s->room);
}

/* The other half of an axis, behind the even one. */
static char *odd_half(const cpu_state *s, int axis, char *even)
{
    return s->halves[axis] == 2 ? move(s, even, lines_room(s, axis) / 2) : NULL;
}

static void transform(const cpu_state *s, int axis, vf_fft_direction direction, void *even, void *odd)
{
    void *const halves[2] = {even, odd};
    for (int h = 0; h < 2 && halves[h] && !s->skipped[axis]; h++)
        (direction == VF_FFT_FORWARD ? fft_lanes_forward : fft_lanes_backward)(s->fft[axis], halves[h]);
}

/* ---- forward and backward: lines along z ---- */

/* Lines of the image: lanes at one y. `turn` says of which coil's map and which segment. */
static toeplitz_lines lines_at(const pass *p, int64_t y, int64_t block, int turn, char *work)
{
    const cpu_state *s = p->state;
    const vf_toeplitz *plan = p->plan;
    const int64_t first = y * s->n[0] + block * s->lanes;
    const int coil = turn / plan->segments, segment = turn % plan->segments;
    toeplitz_lines l = {.points = s->n[2],
                        .stride = s->n[0] * s->n[1],
                        .ahead = s->n[1] > 1 ? s->n[0] : s->lanes,
                        .count = (int)smaller(s->lanes, s->n[0] - block * s->lanes),
                        .phase = s->phase[2].data,
                        .even = work,
                        .odd = odd_half(s, 2, work)};
    if (p->maps)
        l.map = move(s, p->maps, coil * plan->voxels + first);
    if (plan->time) {
        l.field = (const float *)plan->field.data + first;
        l.time = plan->time[segment];
    }
    return l;
}

/* Between lines along z and the planes of the spectrum. */
static void pass_through_planes(const cpu_state *s, const toeplitz_lines *l, char *at, vf_fft_direction direction)
{
    for (int h = 0; h < s->halves[2]; h++) {
        char *lines = h ? l->odd : l->even, *spectrum = move(s, at, h * s->n[2] * s->stride);
        if (direction == VF_FFT_FORWARD)
            s->simd->copy(s->n[2], lines, s->lanes, spectrum, s->stride);
        else
            s->simd->copy(s->n[2], spectrum, s->stride, lines, s->lanes);
    }
}

/* Lanes of one row: backward for the batch before, then forward for this one. */
static void do_lanes(const pass *p, int64_t y, int64_t block, char *work)
{
    const cpu_state *s = p->state;
    const int64_t column = (block * s->n[1] + y) * s->lanes, voxel = y * s->n[0] + block * s->lanes;
    for (int turn = p->before[0]; turn < p->before[1]; turn++) {
        const toeplitz_lines l = lines_at(p, y, block, turn, work);
        pass_through_planes(s, &l, move(s, spectrum_of(s, turn), column), VF_FFT_BACKWARD);
        transform(s, 2, VF_FFT_BACKWARD, l.even, l.odd);
        s->simd->leave(&l, turn > 0, move(s, p->y, voxel));
    }
    for (int turn = p->turns[0]; turn < p->turns[1]; turn++) {
        const toeplitz_lines l = lines_at(p, y, block, turn, work);
        s->simd->enter(&l, move(s, p->x, voxel));
        transform(s, 2, VF_FFT_FORWARD, l.even, l.odd);
        pass_through_planes(s, &l, move(s, spectrum_of(s, turn), column), VF_FFT_FORWARD);
    }
}

/* A slab: lanes at neighbouring y. */
static void do_slab(const pass *p, int64_t number, char *work)
{
    const cpu_state *s = p->state;
    const int64_t first = number / s->blocks * SLAB;
    for (int64_t y = first; y < smaller(first + SLAB, s->n[1]); y++)
        do_lanes(p, y, number % s->blocks, work);
}

/* Lines along z alone, for all coils. */
static void do_lines(const pass *p, int64_t block, char *work)
{
    const cpu_state *s = p->state;
    const int64_t voxel = block * s->lanes;
    for (int turn = 0; turn < p->turns[1]; turn++) {
        const toeplitz_lines l = lines_at(p, 0, block, turn, work);
        s->simd->enter(&l, move(s, p->x, voxel));
        transform(s, 2, VF_FFT_FORWARD, l.even, NULL);
        s->simd->scale_points(s->n[2], s->kernels.data, l.even);
        transform(s, 2, VF_FFT_BACKWARD, l.even, NULL);
        s->simd->leave(&l, turn > 0, move(s, p->y, voxel));
    }
}

/* ---- multiply: lines along y and x ---- */

/* Lines along x that lie in `rows`: lane by lane, `row` elements apart, in blocks that are `block` elements apart. `kernel`: of
 * both halves. */
static void multiply_rows(const cpu_state *s, const char *kernel, char *rows, int64_t row, int64_t block, char *work)
{
    char *odd = odd_half(s, 0, work);
    const int64_t square = s->lanes * s->lanes, factors = s->n[0] * s->lanes;
    for (int64_t b = 0; b < s->blocks; b++) {
        const int64_t bytes = factors * s->halves[0] * (int64_t)s->element / 2 / s->blocks;
        for (int64_t i = 0; i < bytes; i += 64)
            __builtin_prefetch(kernel + b * bytes + i, 0, 2);
        s->simd->square(move(s, rows, b * block), row, move(s, work, b * square), s->lanes);
    }
    if (odd)
        s->simd->turn(s->n[0], s->phase[0].data, work, odd);
    transform(s, 0, VF_FFT_FORWARD, work, odd);
    s->simd->scale(s->n[0], kernel, work);
    if (odd)
        s->simd->scale(s->n[0], kernel + factors * (int64_t)s->element / 2, odd);
    transform(s, 0, VF_FFT_BACKWARD, work, odd);
    if (odd)
        s->simd->join(s->n[0], s->phase[0].data, odd, work);
    for (int64_t b = 0; b < s->blocks; b++)
        s->simd->square(move(s, work, b * square), s->lanes, move(s, rows, b * block), row);
}

/* Lines along y of a plane's block to the sheets, and back. */
static void raise_sheets(const cpu_state *s, const char *plane, char *even, char *odd)
{
    s->simd->copy(s->n[1], plane, s->lanes, even, s->lanes);
    if (odd)
        s->simd->turn(s->n[1], s->phase[1].data, even, odd);
    transform(s, 1, VF_FFT_FORWARD, even, odd);
}

static void lower_sheets(const cpu_state *s, char *plane, char *even, char *odd)
{
    transform(s, 1, VF_FFT_BACKWARD, even, odd);
    if (odd)
        s->simd->join(s->n[1], s->phase[1].data, odd, even);
    s->simd->copy(s->n[1], even, s->lanes, plane, s->lanes);
}

static void do_plane(const pass *p, int turn, int64_t number, char *work)
{
    const cpu_state *s = p->state;
    const int64_t sheet = s->blocks * s->column, block = s->n[1] * s->lanes;
    char *plane = move(s, spectrum_of(s, turn), number * s->stride), *rows = move(s, work, s->halves[1] * sheet);
    for (int64_t b = 0; b < s->blocks; b++) {
        char *even = move(s, work, b * s->column);
        raise_sheets(s, move(s, plane, b * block), even, s->halves[1] == 2 ? move(s, even, sheet) : NULL);
    }
    for (int h = 0; h < s->halves[1]; h++)
        for (int64_t y = 0; y < s->n[1]; y += s->lanes)
            multiply_rows(s, kernel_of(p, turn % p->plan->segments, number, (int[2]){h, 0}, (int64_t[2]){y, 0}),
                          move(s, work, h * sheet + y * s->lanes), s->lanes, s->column, rows);
    for (int64_t b = 0; b < s->blocks; b++) {
        char *even = move(s, work, b * s->column);
        lower_sheets(s, move(s, plane, b * block), even, s->halves[1] == 2 ? move(s, even, sheet) : NULL);
    }
}

/* A plane whose lines along x are not transformed. */
static void do_columns(const pass *p, int turn, int64_t number, char *work)
{
    const cpu_state *s = p->state;
    const char *kernel = kernel_of(p, 0, number, (int[2]){0, 0}, (int64_t[2]){0, 0});
    for (int64_t b = 0; b < s->blocks; b++) {
        char *plane = move(s, spectrum_of(s, turn), number * s->stride + b * s->n[1] * s->lanes);
        raise_sheets(s, plane, work, NULL);
        s->simd->scale_points(s->n[1], kernel, work);
        lower_sheets(s, plane, work, NULL);
    }
}

/* Planes that are rows. */
static void do_row_planes(const pass *p, int turn, int64_t number, char *work)
{
    const cpu_state *s = p->state;
    const int64_t first = number * s->lanes;
    multiply_rows(s, kernel_of(p, turn % p->plan->segments, first, (int[2]){0, 0}, (int64_t[2]){0, 0}),
                  move(s, spectrum_of(s, turn), first * s->stride), s->stride, s->lanes, work);
}

/* The planes at one place of all turns of the batch, one after the other: turns of a segment have the same kernel, which stays
 * in the cache. */
static void do_planes(const pass *p, int64_t number, char *work)
{
    const cpu_state *s = p->state;
    for (int turn = p->turns[0]; turn < p->turns[1]; turn++)
        if (s->order == ORDER_PLANES)
            do_row_planes(p, turn, number, work);
        else if (s->order == ORDER_COLUMNS)
            do_columns(p, turn, number, work);
        else
            do_plane(p, turn, number, work);
}

/* ---- passes ---- */

typedef void piece(const pass *p, int64_t number, char *work);

/* All pieces, each by any thread. */
static vf_status run(const pass *p, piece *run_piece, int64_t pieces)
{
    const cpu_state *s = p->state;
    vf_context *ctx = vf_device_context(p->plan->device);
    const int64_t work = 2 * larger(p->turns[1] - p->turns[0], p->before[1] - p->before[0]) * s->planes * s->stride;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_of_plan(ctx, s->threads, work))
    for (int64_t i = 0; i < pieces; i++)
        if (!vf_cancelled(ctx))
            run_piece(p, i, (char *)s->work.data + s->work_bytes * (size_t)omp_get_thread_num());
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static vf_status apply(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    (void)queue;
    const cpu_state *s = plan->state;
    const int all = coils * plan->segments;
    pass p = {.plan = plan, .state = s, .maps = maps, .x = x, .y = y, .turns = {0, all}};
    if (s->order == ORDER_LINES)
        return run(&p, do_lines, s->blocks);
    const int64_t planes = s->order == ORDER_PLANES ? (s->planes + s->lanes - 1) / s->lanes : s->planes;
    const int64_t slabs = s->blocks * ((s->n[1] + SLAB - 1) / SLAB);
    vf_status status = VF_OK;
    for (int first = 0; status == VF_OK && p.before[0] < all; first += s->batch) {
        p.turns[0] = (int)smaller(first, all);
        p.turns[1] = (int)smaller(first + s->batch, all);
        status = run(&p, do_slab, slabs);
        if (status == VF_OK && p.turns[0] < all)
            status = run(&p, do_planes, planes);
        memcpy(p.before, p.turns, sizeof p.before);
    }
    return status;
}

const vf_toeplitz_backend vf_toeplitz_cpu = {.kind = VF_DEVICE_CPU,
                                             .variant = "fft",
                                             .create = create,
                                             .set = toeplitz_cpu_set,
                                             .apply = apply,
                                             .destroy = destroy};
