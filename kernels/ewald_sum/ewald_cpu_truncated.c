/* The multiplier of a mesh in free space: the transform of Phi(r / rc) / r, divided by that of windows.
 *
 * Coulomb's law is truncated beyond R, the largest distance on the mesh and rc: its transform is 8 pi sin(k R / 2)^2 /
 * k^2 (Vico, Greengard and Ferrando 2016, eq. 6). That oscillates too fast for the doubled mesh. So it is sampled on
 * one that is long enough for no image to be within R, transformed to the kernel's values in space, cut to the doubled
 * mesh, and transformed again; axis by axis, and on one octant, as all is even. Two lines are the real and imaginary
 * part of one. */
#include <stdlib.h>
#include <string.h>

#include "ewald_cpu.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"

enum { LINES = 8, PAIRED = 2 * LINES };

static void put(const ewald_level *level, void *row, int64_t n, double value)
{
    if (level->precision == VF_F64)
        ((double *)row)[n] = value;
    else
        ((float *)row)[n] = (float)value;
}

/* From samples of an even spectrum to values in space on the mesh, to the spectrum of the doubled mesh. */
typedef struct resampler {
    int64_t from, to; /* lengths */
    vf_fft_rows *first, *second;
} resampler;

/* rows [LINES][from] with even sequences; afterwards [LINES][to]. `work` has as much space as the larger. */
static void resample(const resampler *r, double *rows, double *work)
{
    vf_fft_rows_execute(r->first, VF_FFT_FORWARD, rows);
    memcpy(work, rows, (size_t)(LINES * r->from) * 2 * sizeof *rows);
    for (int l = 0; l < LINES; l++) {
        const double *in = work + 2 * l * r->from;
        double *out = rows + 2 * l * r->to;
        memcpy(out, in, (size_t)(r->to / 2 + 1) * 2 * sizeof *out);
        for (int64_t n = r->to / 2 + 1; n < r->to; n++) {
            out[2 * n] = in[2 * (r->to - n)];
            out[2 * n + 1] = in[2 * (r->to - n) + 1];
        }
    }
    vf_fft_rows_execute(r->second, VF_FFT_FORWARD, rows);
}

/* Element j of line l of PAIRED lines in `rows` with even sequences of length n. */
static void put_even(double *rows, int64_t n, int l, int64_t j, double value)
{
    double *row = rows + 2 * (l / 2) * n + l % 2;
    row[2 * j] = value;
    if (j > 0)
        row[2 * (n - j)] = value;
}

/* Numbers of working memory. */
typedef struct work_sizes {
    int64_t rooms;    /* planes or rows that are worked on at the same time */
    size_t row, room; /* of one of a room's two sets of rows; of a room */
    size_t between;   /* of what is kept between axes */
} work_sizes;

typedef struct builder {
    const ewald_level *level;
    ewald_truncated s;
    resampler axis[3];
    double *between; /* [z wave numbers][y][x] */
    void *kernel;
    double *work;
    int threads;
    work_sizes size;
} builder;

static double *room_of(const builder *b, int64_t pieces, int64_t piece)
{
    return b->work + (size_t)vf_room_of(b->size.rooms, pieces, piece) * b->size.room;
}

/* Along x, then y, for one wave number along z. */
static void build_plane(const builder *b, int64_t z)
{
    const ewald_truncated *s = &b->s;
    const ewald_layout *shape = &b->level->at;
    const int64_t nx = shape->mesh[0] + 1, ny = shape->mesh[1] + 1;
    double *rows = room_of(b, s->count[2], z), *work = rows + b->size.row, *plane = work + b->size.row;
    const double kz = s->unit[2] * (double)z;
    for (int64_t y = 0; y < s->count[1]; y += PAIRED) {
        const int lines = (int)(s->count[1] - y < PAIRED ? s->count[1] - y : PAIRED);
        memset(rows, 0, (size_t)(LINES * s->samples[0]) * 2 * sizeof *rows);
        for (int l = 0; l < lines; l++) {
            const double ky = s->unit[1] * (double)(y + l), factor = s->correction[1][y + l] * s->correction[2][z];
            for (int64_t x = 0; x < s->count[0]; x++) {
                const double kx = s->unit[0] * (double)x, k2 = kx * kx + ky * ky + kz * kz;
                if (k2 > s->radial.most * s->radial.most)
                    break;
                put_even(rows, s->samples[0], l, x, factor * s->correction[0][x] * ewald_truncated_value(s, k2));
            }
        }
        resample(&b->axis[0], rows, work);
        for (int l = 0; l < lines; l++)
            for (int64_t x = 0; x < nx; x++)
                plane[(y + l) * nx + x] = rows[2 * (l / 2 * b->axis[0].to + x) + l % 2];
    }
    for (int64_t x = 0; x < nx; x += PAIRED) {
        const int lines = (int)(nx - x < PAIRED ? nx - x : PAIRED);
        memset(rows, 0, (size_t)(LINES * s->samples[1]) * 2 * sizeof *rows);
        for (int64_t y = 0; y < s->count[1]; y++)
            for (int l = 0; l < lines; l++)
                put_even(rows, s->samples[1], l, y, plane[y * nx + x + l]);
        resample(&b->axis[1], rows, work);
        for (int64_t y = 0; y < ny; y++)
            for (int l = 0; l < lines; l++)
                b->between[(z * ny + y) * nx + x + l] = rows[2 * (l / 2 * b->axis[1].to + y) + l % 2];
    }
}

/* Along z, for all columns of one row. */
static void build_columns(const builder *b, int64_t y)
{
    const ewald_truncated *s = &b->s;
    const ewald_level *level = b->level;
    const int64_t nx = level->at.mesh[0] + 1, ny = level->at.mesh[1] + 1, nz = level->at.mesh[2] + 1;
    double *rows = room_of(b, ny, y), *work = rows + b->size.row;
    for (int64_t x = 0; x < nx; x += PAIRED) {
        const int lines = (int)(nx - x < PAIRED ? nx - x : PAIRED);
        memset(rows, 0, (size_t)(LINES * s->samples[2]) * 2 * sizeof *rows);
        for (int64_t z = 0; z < s->count[2]; z++)
            for (int l = 0; l < lines; l++)
                put_even(rows, s->samples[2], l, z, b->between[(z * ny + y) * nx + x + l]);
        resample(&b->axis[2], rows, work);
        for (int l = 0; l < lines; l++)
            for (int64_t z = 0; z < nz; z++)
                put(level, b->kernel, ((x + l) * ny + y) * nz + z, rows[2 * (l / 2 * b->axis[2].to + z) + l % 2]);
    }
}

static vf_status make_transforms(builder *b)
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        resampler *r = &b->axis[a];
        *r = (resampler){.from = b->s.samples[a], .to = b->level->at.length[a]};
        status = vf_fft_rows_create(b->level->ctx, VF_C128, r->from, LINES, &r->first);
        VF_TRY(status, vf_fft_rows_create(b->level->ctx, VF_C128, r->to, LINES, &r->second));
    }
    return status;
}

static work_sizes find_sizes(const ewald_layout *shape, const ewald_truncated *s, int threads)
{
    const int64_t planes = s->count[2], rows = shape->mesh[1] + 1, most = planes > rows ? planes : rows;
    int64_t longest = 0;
    for (int a = 0; a < 3; a++)
        longest = longest > s->samples[a] ? longest : s->samples[a];
    work_sizes size = {.rooms = most < threads ? most : threads, .row = (size_t)(LINES * longest) * 2};
    size.room = (2 * size.row + (size_t)(s->count[1] * (shape->mesh[0] + 1)) + 31) / 8 * 8;
    size.between = (size_t)(planes * rows * (shape->mesh[0] + 1));
    return size;
}

static uint64_t bytes_of(const work_sizes *size)
{
    return ((uint64_t)size->rooms * size->room + size->between) * sizeof(double);
}

uint64_t ewald_truncated_bytes(const ewald_layout *layout, int threads)
{
    ewald_truncated s;
    ewald_truncated_sizes(layout, &s);
    const work_sizes size = find_sizes(layout, &s, threads);
    return bytes_of(&size);
}

static vf_status prepare(builder *b, ewald_kernel_job *job)
{
    const ewald_layout *shape = &job->level->at;
    vf_context *ctx = job->level->ctx;
    vf_status status = ewald_truncated_make(job, &b->s);
    VF_TRY(status, make_transforms(b));
    if (status != VF_OK)
        return status;
    b->threads = vf_context_threads(ctx);
    b->size = find_sizes(shape, &b->s, b->threads);
    b->work = aligned_alloc(64, (size_t)b->size.rooms * b->size.room * sizeof(double));
    b->between = malloc(b->size.between * sizeof(double));
    job->work_bytes = bytes_of(&b->size);
    if (!b->work || !b->between)
        return vf_fail(ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for a kernel of %lld x %lld x %lld points",
                       (long long)shape->mesh[0], (long long)shape->mesh[1], (long long)shape->mesh[2]);
    return VF_OK;
}

static vf_status build(builder *b)
{
    const ewald_level *level = b->level;
    vf_context *ctx = level->ctx;
    const int64_t planes = b->s.count[2], rows = level->at.mesh[1] + 1;
    const int threads = vf_threads_of_plan(ctx, b->threads, 10 * (int64_t)b->size.between);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t z = 0; z < planes; z++)
        if (!vf_cancelled(ctx))
            build_plane(b, z);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t y = 0; y < rows; y++)
        if (!vf_cancelled(ctx))
            build_columns(b, y);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

vf_status ewald_truncated_kernel(ewald_kernel_job *job, vf_array *kernel)
{
    const ewald_level *level = job->level;
    builder b = {.level = level};
    vf_status status = vf_array_create(
        vf_context_host(level->ctx), VF_SPACE_HOST, level->precision,
        ewald_kernel_size(&level->at, 0) * ewald_kernel_size(&level->at, 1) * ewald_kernel_size(&level->at, 2), kernel);
    b.kernel = kernel->data;
    VF_TRY(status, prepare(&b, job));
    VF_TRY(status, build(&b));
    for (int a = 0; a < 3; a++) {
        vf_fft_rows_destroy(b.axis[a].first);
        vf_fft_rows_destroy(b.axis[a].second);
    }
    ewald_truncated_free(&b.s);
    free(b.work);
    free(b.between);
    return status;
}
