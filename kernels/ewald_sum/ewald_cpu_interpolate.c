/* From a mesh to the points of another lattice, by its window, along z, y and x in turn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ewald_cpu.h"
#include "voxfield/team_size.h"

enum { STRIP = 64 }; /* rows of a plane that a thread computes at a time */

static void find_weights(const ewald_level *level, double offset, double *weights)
{
    for (int p = 0; p < level->at.width; p++)
        weights[p] = ewald_window_value(&level->window_powers, level->at.width, p, offset);
}

/* The window's first mesh point and its weights in the level's precision. In cells, mesh points continue
 * periodically. */
static int64_t window_at(const ewald_level *level, const ewald_targets *t, int axis, const int64_t at[3], void *weights)
{
    const int width = level->at.width;
    double offset, values[EWALD_MOST_WIDTH];
    const int64_t start = ewald_start(width, ewald_coordinate(t->first, t->step, axis, at), &offset);
    find_weights(level, offset, values);
    for (int p = 0; p < width; p++)
        if (level->precision == VF_F64)
            ((double *)weights)[p] = values[p];
        else
            ((float *)weights)[p] = (float)values[p];
    return start;
}

vf_status ewald_targets_make(const ewald_level *level, const int64_t counts[3], const double origin[3],
                             const double edge[3][3], ewald_targets *out)
{
    const size_t window_bytes = (size_t)level->at.width * level->element;
    ewald_targets_place(level, counts, origin, edge, out);
    for (int a = 0; a < 3; a++) {
        if (out->depends[a])
            continue;
        out->start[a] = malloc((size_t)counts[a] * sizeof *out->start[a]);
        out->weights[a] = malloc((size_t)counts[a] * window_bytes);
        if (!out->start[a] || !out->weights[a])
            return vf_fail(level->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for interpolation");
        for (int64_t i = 0; i < counts[a]; i++) {
            int64_t at[3] = {0};
            at[a] = i;
            out->start[a][i] = window_at(level, out, a, at, (char *)out->weights[a] + (size_t)i * window_bytes);
        }
    }
    return VF_OK;
}

void ewald_targets_free(ewald_targets *targets)
{
    for (int a = 0; a < 3; a++) {
        free(targets->start[a]);
        free(targets->weights[a]);
    }
    *targets = (ewald_targets){0};
}

static const char *mesh_row(const ewald_level *level, int64_t y, int64_t z)
{
    if (level->at.periodic) {
        y = ewald_wrapped(y, level->at.mesh[1]);
        z = ewald_wrapped(z, level->at.mesh[2]);
    }
    return (const char *)level->mesh.data + (size_t)((z * level->at.mesh[1] + y) * level->pitch) * level->element;
}

/* A thread's memory. */
typedef struct scratch {
    char *rows;             /* [some][columns] interpolated along z */
    char *lines;            /* [EWALD_LANES][columns] also along y */
    char *period;           /* a row of a periodic mesh */
    char *across, *weights; /* for the step along x */
    int64_t *start;
    char *strip; /* [STRIP][width of the box] results */
} scratch;

/* What is interpolated: a box, on mesh columns first <= x < first + columns. */
typedef struct piece {
    const ewald_level *level;
    const ewald_targets *targets;
    const vf_box *box;
    const ewald_output *out;
    int64_t first, columns, most_rows;
    size_t row_bytes;
} piece;

static piece make_piece(const ewald_level *level, const ewald_targets *t, const vf_box *box, const ewald_output *out)
{
    const ewald_layout *s = &level->at;
    piece p = {.level = level, .targets = t, .box = box, .out = out};
    if (t->skewed) { /* rows begin anywhere in the period */
        const double length = t->step[0][0] * (double)vf_box_extent(box, 0);
        p.columns = s->mesh[0] + (int64_t)ceil(length) + s->width + 1;
    } else {
        p.first = t->start[0][box->lo[0]];
        p.columns = t->start[0][box->hi[0] - 1] + s->width - p.first;
    }
    p.most_rows = (int64_t)ceil(STRIP * t->step[1][1]) + s->width + 2;
    p.row_bytes = (size_t)(p.columns + EWALD_LANES) * level->element;
    return p;
}

static bool make_scratch(const piece *p, scratch *s)
{
    const ewald_level *level = p->level;
    const size_t lanes = EWALD_LANES * level->element, width = (size_t)vf_box_extent(p->box, 0);
    s->rows = malloc((size_t)p->most_rows * p->row_bytes);
    s->lines = calloc(EWALD_LANES, p->row_bytes);
    s->period = malloc((size_t)level->at.mesh[0] * level->element);
    s->across = malloc(((size_t)p->columns + width) * lanes + 64);
    s->weights = malloc(width * (size_t)level->at.width * level->element);
    s->start = malloc(width * sizeof *s->start);
    s->strip = malloc(STRIP * width * level->element);
    return s->rows && s->lines && s->period && s->across && s->weights && s->start && s->strip;
}

static void free_scratch(scratch *s)
{
    free(s->rows);
    free(s->lines);
    free(s->period);
    free(s->across);
    free(s->weights);
    free(s->start);
    free(s->strip);
}

/* to[i] = period[(first + i) modulo n]. */
static void continue_row(const char *period, int64_t n, int64_t first, int64_t count, size_t element, char *to)
{
    int64_t from = ewald_wrapped(first, n);
    while (count > 0) {
        const int64_t some = n - from < count ? n - from : count;
        memcpy(to, period + (size_t)from * element, (size_t)some * element);
        to += (size_t)some * element;
        count -= some;
        from = 0;
    }
}

/* rows[i] = the mesh at row first + i of each plane, interpolated to the grid's plane z. */
static void along_z(const piece *p, int64_t z, int64_t first, int64_t count, scratch *own)
{
    const ewald_level *level = p->level;
    const ewald_layout *s = &level->at;
    const void *from[EWALD_MOST_WIDTH];
    const char *weights = (const char *)p->targets->weights[2] + (size_t)(z * s->width) * level->element;
    for (int64_t i = 0; i < count; i++) {
        char *row = own->rows + (size_t)i * p->row_bytes;
        for (int n = 0; n < s->width; n++)
            from[n] = mesh_row(level, first + i, p->targets->start[2][z] + n) +
                      (s->periodic ? 0 : (size_t)p->first * level->element);
        level->simd->combine(s->periodic ? s->mesh[0] : p->columns, s->width, from, weights,
                             s->periodic ? own->period : row);
        if (s->periodic)
            continue_row(own->period, s->mesh[0], p->first, p->columns, level->element, row);
    }
}

/* The window along y of a row of the grid. */
static int64_t window_y(const piece *p, int64_t y, int64_t z, char *own, const char **weights)
{
    const ewald_targets *t = p->targets;
    if (t->start[1]) {
        *weights = (const char *)t->weights[1] + (size_t)(y * p->level->at.width) * p->level->element;
        return t->start[1][y];
    }
    *weights = own;
    return window_at(p->level, t, 1, (const int64_t[3]){0, y, z}, own);
}

/* One row in a skewed cell, from the first of the lines. */
static void skewed_row(const piece *p, int64_t y, int64_t z, scratch *s, void *out)
{
    const ewald_level *level = p->level;
    const size_t window_bytes = (size_t)level->at.width * level->element;
    const int64_t nx = vf_box_extent(p->box, 0);
    int64_t periods = 0;
    for (int64_t i = 0; i < nx; i++) {
        s->start[i] = window_at(level, p->targets, 0, (const int64_t[3]){p->box->lo[0] + i, y, z},
                                s->weights + (size_t)i * window_bytes);
        if (i == 0)
            periods = s->start[0] - ewald_wrapped(s->start[0], level->at.mesh[0]);
        s->start[i] -= periods;
    }
    level->simd->upsample_one(nx, level->at.width, s->start, s->weights, s->lines, out);
}

/* Rows y0 <= y < y1 of the targets' plane z, at most STRIP, to s->strip. */
static void interpolate_strip(const piece *p, int64_t z, int64_t y0, int64_t y1, scratch *s)
{
    const ewald_level *level = p->level;
    const int width = level->at.width, lanes = level->simd->lanes;
    const int64_t nx = vf_box_extent(p->box, 0);
    const size_t out_bytes = (size_t)nx * level->element;
    char own[EWALD_MOST_WIDTH * sizeof(double)];
    const char *weights;
    const int64_t first = window_y(p, y0, z, own, &weights);
    along_z(p, z, first, window_y(p, y1 - 1, z, own, &weights) - first + width, s);
    int waiting = 0;
    for (int64_t y = y0; y < y1; y++) {
        const void *from[EWALD_MOST_WIDTH];
        const int64_t start = window_y(p, y, z, own, &weights) - first;
        for (int n = 0; n < width; n++)
            from[n] = s->rows + (size_t)(start + n) * p->row_bytes;
        level->simd->combine(p->columns, width, from, weights, s->lines + (size_t)waiting * p->row_bytes);
        if (p->targets->skewed) {
            skewed_row(p, y, z, s, s->strip + (size_t)(y - y0) * out_bytes);
        } else if (++waiting == lanes || y == y1 - 1) {
            level->simd->upsample(nx, width, p->targets->start[0] + p->box->lo[0], p->first,
                                  (const char *)p->targets->weights[0] +
                                      (size_t)(p->box->lo[0] * width) * level->element,
                                  s->lines, (int64_t)(p->row_bytes / level->element), s->across, waiting,
                                  s->strip + (size_t)(y + 1 - waiting - y0) * out_bytes, nx);
            waiting = 0;
        }
    }
}

void ewald_put_row(const ewald_output *out, vf_dtype precision, int64_t n, const void *row, void *to)
{
    if (precision == out->precision && !out->add)
        memcpy(to, row, (size_t)n * vf_dtype_bytes(precision));
    else if (out->precision == VF_F64)
        for (int64_t i = 0; i < n; i++)
            ((double *)to)[i] = ((const double *)row)[i] + (out->add ? ((double *)to)[i] : 0);
    else if (precision == VF_F64)
        for (int64_t i = 0; i < n; i++)
            ((float *)to)[i] = (float)(((const double *)row)[i] + (out->add ? (double)((float *)to)[i] : 0));
    else
        for (int64_t i = 0; i < n; i++)
            ((float *)to)[i] = ((const float *)row)[i] + (out->add ? ((float *)to)[i] : 0);
}

vf_status ewald_interpolate(const ewald_level *level, const ewald_targets *targets, const vf_box *box,
                            const ewald_output *out)
{
    const int64_t ny = vf_box_extent(box, 1), nx = vf_box_extent(box, 0);
    const int64_t strips = (ny + STRIP - 1) / STRIP, pieces = strips * vf_box_extent(box, 2);
    const piece p = make_piece(level, targets, box, out);
    const size_t element = vf_dtype_bytes(out->precision);
    int failed = 0;
#pragma omp parallel num_threads(vf_threads_for(level->ctx, 5 * vf_box_points(box))) reduction(| : failed)
    {
        scratch s = {0};
        failed = !make_scratch(&p, &s);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < pieces; i++) {
            const int64_t z = i / strips, y = i % strips * STRIP, end = y + STRIP < ny ? y + STRIP : ny;
            if (failed || vf_cancelled(level->ctx))
                continue;
            interpolate_strip(&p, box->lo[2] + z, box->lo[1] + y, box->lo[1] + end, &s);
            for (int64_t row = y; row < end; row++)
                ewald_put_row(out, level->precision, nx, s.strip + (size_t)((row - y) * nx) * level->element,
                              (char *)out->values + (size_t)(z * out->plane + row * out->row) * element);
        }
        free_scratch(&s);
    }
    if (failed)
        return vf_fail(level->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for interpolation");
    return vf_cancelled(level->ctx) ? vf_fail(level->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
