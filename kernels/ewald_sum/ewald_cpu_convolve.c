/* The convolution on the mesh, in place. Where transforms are longer than the mesh, zeros follow it; they are neither
 * stored nor read, and what would be cut off afterwards is not written.
 *
 * First, rows along x are transformed, two real ones as one complex one; half of each spectrum is stored. Then, for
 * each few neighbouring wave numbers along x, the lines along y of all planes are transformed into a thread's own
 * memory, there the lines along z, multiplied and transformed back, and the lines along y back to the mesh. At last,
 * the rows along x. */
#include <stdlib.h>
#include <string.h>

#include "ewald_cpu.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"

enum { LINES = 8 }; /* transformed together */

typedef struct convolution {
    const ewald_level *level;
    const char *kernel;
    vf_fft_rows *fft[3];
    char *work;
    size_t thread_bytes; /* of the work, for a thread of this pass */
    size_t complex_bytes;
} convolution;

typedef enum pass { ROWS_FORWARD, PLANES, ROWS_BACKWARD, PASSES } pass;

/* A pass in pieces of `per_piece` rows or wave numbers along x. */
static int64_t pass_items(const ewald_layout *s, pass which, int64_t *per_piece)
{
    *per_piece = which == PLANES ? LINES : 2 * LINES;
    return which == PLANES ? s->length[0] / 2 + 1 : s->mesh[1] * s->mesh[2];
}

static int64_t pass_pieces(const ewald_layout *s, pass which)
{
    int64_t per_piece;
    const int64_t items = pass_items(s, which, &per_piece);
    return (items + per_piece - 1) / per_piece;
}

/* Pieces of a pass that are worked on at the same time. */
static int64_t pass_rooms(const ewald_layout *s, pass which, int threads)
{
    const int64_t pieces = pass_pieces(s, which);
    return pieces < threads ? pieces : threads;
}

/* Where columns begin in a thread's memory, after the planes. */
static size_t columns_at(const ewald_layout *s, size_t complex_bytes)
{
    return (size_t)(s->mesh[2] * LINES * s->length[1]) * complex_bytes;
}

static size_t pass_bytes(const ewald_layout *s, pass which, size_t complex_bytes)
{
    const int64_t lines = LINES * (which == PLANES ? s->length[2] : s->length[0]);
    const size_t bytes = (which == PLANES ? columns_at(s, complex_bytes) : 0) + (size_t)lines * complex_bytes;
    return (bytes + 63) / 64 * 64 + 256; /* threads begin at different offsets in a page */
}

uint64_t ewald_convolve_bytes(const ewald_layout *s, vf_dtype precision, int threads)
{
    uint64_t most = 0;
    for (int i = ROWS_FORWARD; i < PASSES; i++) {
        const uint64_t bytes =
            pass_bytes(s, (pass)i, 2 * vf_dtype_bytes(precision)) * (uint64_t)pass_rooms(s, (pass)i, threads);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static char *mesh_row(const convolution *c, int64_t row)
{
    return (char *)c->level->mesh.data + (size_t)(row * c->level->pitch) * c->level->element;
}

/* LINES pairs of rows along x, from row `first` on. */
static void transform_rows(const convolution *c, vf_fft_direction direction, int64_t first, char *work)
{
    const ewald_layout *s = &c->level->at;
    const int64_t rows = s->mesh[1] * s->mesh[2], n = s->length[0];
    const ewald_simd *simd = c->level->simd;
    for (int l = 0; l < LINES && first + 2 * l < rows; l++) {
        char *line = work + (size_t)(l * n) * c->complex_bytes, *a = mesh_row(c, first + 2 * l);
        char *b = first + 2 * l + 1 < rows ? mesh_row(c, first + 2 * l + 1) : NULL;
        if (direction == VF_FFT_FORWARD)
            simd->pack(s->mesh[0], a, b, n, line);
        else
            simd->join(n, a, b, line);
    }
    vf_fft_rows_execute(c->fft[0], direction, work);
    for (int l = 0; l < LINES && first + 2 * l < rows; l++) {
        char *line = work + (size_t)(l * n) * c->complex_bytes, *a = mesh_row(c, first + 2 * l);
        char *b = first + 2 * l + 1 < rows ? mesh_row(c, first + 2 * l + 1) : NULL;
        if (direction == VF_FFT_FORWARD)
            simd->split(n, line, a, b);
        else
            simd->unpack(s->mesh[0], line, a, b);
    }
}

/* The lines along z of LINES wave numbers along y, from `y` on, at wave number x + g along x. */
static void multiply_columns(const convolution *c, char *plane, int64_t x, int g, int64_t y, char *columns)
{
    const ewald_layout *s = &c->level->at;
    const int64_t ny = s->length[1], nz = s->length[2];
    const int64_t size_y = ewald_kernel_size(s, 1), size_z = ewald_kernel_size(s, 2);
    const int lines = (int)(ny - y < LINES ? ny - y : LINES);
    char *at = plane + (size_t)(g * ny + y) * c->complex_bytes;
    c->level->simd->gather(s->mesh[2], lines, at, LINES * ny, nz, columns);
    vf_fft_rows_execute(c->fft[2], VF_FFT_FORWARD, columns);
    for (int l = 0; l < lines; l++) {
        const int64_t ky = !s->skewed && 2 * (y + l) > ny ? ny - y - l : y + l;
        c->level->simd->multiply(nz, !s->skewed,
                                 c->kernel + (size_t)(((x + g) * size_y + ky) * size_z) * c->level->element,
                                 columns + (size_t)(l * nz) * c->complex_bytes);
    }
    vf_fft_rows_execute(c->fft[2], VF_FFT_BACKWARD, columns);
    c->level->simd->scatter(s->mesh[2], lines, columns, nz, at, LINES * ny);
}

/* All y and z of LINES wave numbers along x, from `x` on. */
static void convolve_planes(const convolution *c, int64_t x, char *plane)
{
    const ewald_layout *s = &c->level->at;
    const int64_t nx = s->length[0] / 2 + 1, ny = s->length[1], stride = c->level->pitch / 2;
    const int lines = (int)(nx - x < LINES ? nx - x : LINES);
    char *columns = plane + columns_at(s, c->complex_bytes); /* plane: [z][LINES][y] */
    for (int64_t z = 0; z < s->mesh[2]; z++) {
        char *rows = plane + (size_t)(z * LINES * ny) * c->complex_bytes;
        c->level->simd->gather(s->mesh[1], lines, mesh_row(c, z * s->mesh[1]) + (size_t)x * c->complex_bytes, stride,
                               ny, rows);
        vf_fft_rows_execute(c->fft[1], VF_FFT_FORWARD, rows);
    }
    for (int g = 0; g < lines; g++)
        for (int64_t y = 0; y < ny; y += LINES)
            multiply_columns(c, plane, x, g, y, columns);
    for (int64_t z = 0; z < s->mesh[2]; z++) {
        char *rows = plane + (size_t)(z * LINES * ny) * c->complex_bytes;
        vf_fft_rows_execute(c->fft[1], VF_FFT_BACKWARD, rows);
        c->level->simd->scatter(s->mesh[1], lines, rows, ny, mesh_row(c, z * s->mesh[1]) + (size_t)x * c->complex_bytes,
                                stride);
    }
}

static vf_status run(const convolution *c, pass which, int most_threads)
{
    vf_context *ctx = c->level->ctx;
    const ewald_layout *s = &c->level->at;
    int64_t per_piece;
    (void)pass_items(s, which, &per_piece);
    const int64_t pieces = pass_pieces(s, which), rooms = pass_rooms(s, which, most_threads);
    const size_t room_bytes = pass_bytes(s, which, c->complex_bytes);
    const int64_t work = 5 * s->length[0] * s->mesh[1] * s->mesh[2];
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_of_plan(ctx, most_threads, work))
    for (int64_t i = 0; i < pieces; i++) {
        char *room = c->work + (size_t)vf_room_of(rooms, pieces, i) * room_bytes;
        if (vf_cancelled(ctx))
            continue;
        if (which == PLANES)
            convolve_planes(c, i * per_piece, room);
        else
            transform_rows(c, which == ROWS_FORWARD ? VF_FFT_FORWARD : VF_FFT_BACKWARD, i * per_piece, room);
    }
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

/* Unused lines are transformed, too. A room is cleared by the thread that will use it, so that it is in memory near it,
 * and because clearing the rooms of many threads takes as long as a transform. */
static void clear_rooms(const convolution *c, size_t bytes, int threads)
{
#pragma omp parallel for schedule(static, 1)                                                                           \
    num_threads(vf_threads_of_plan(c->level->ctx, threads, (int64_t)(bytes / 8)))
    for (int t = 0; t < threads; t++) {
        const size_t begin = bytes / (size_t)threads * (size_t)t;
        memset(c->work + begin, 0, t + 1 < threads ? bytes / (size_t)threads : bytes - begin);
    }
}

static vf_status prepare(convolution *c, const ewald_level *level, size_t bytes, int threads)
{
    const vf_dtype type = vf_dtype_complex(level->precision);
    c->work = aligned_alloc(64, bytes);
    if (!c->work)
        return vf_fail(level->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for transforms");
    vf_large_pages(c->work, bytes);
    clear_rooms(c, bytes, threads);
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++)
        status = vf_fft_rows_create(level->ctx, type, level->at.length[a], LINES, &c->fft[a]);
    return status;
}

vf_status ewald_convolve(ewald_level *level, const vf_array *kernel, uint64_t *bytes)
{
    convolution c = {.level = level, .kernel = kernel->data, .complex_bytes = 2 * level->element};
    const int threads = vf_context_threads(level->ctx);
    *bytes = ewald_convolve_bytes(&level->at, level->precision, threads);
    vf_status status = prepare(&c, level, (size_t)*bytes, threads);
    for (int i = ROWS_FORWARD; i < PASSES && status == VF_OK; i++)
        status = run(&c, (pass)i, threads);
    for (int a = 0; a < 3; a++)
        vf_fft_rows_destroy(c.fft[a]);
    free(c.work);
    return status;
}
