/* Reads a scan in arrays. A trajectory makes it a plain scan, whose reader takes the arrays from here as it takes them from a file.
 * Without one, k-space is on the grid, and its samples are those that were acquired. */
#include "scan_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_finish.h"
#include "scan_plain.h"
#include "scan_values.h"
#include "share_trajectories.h"
#include "voxfield/team_size.h"

const char scan_memory_name[] = "the scan in memory";

/* ---- the arrays as a source ---- */

typedef struct memory {
    vf_context *ctx;
    const vf_mri_scan *given;
    int64_t matrix[3];
    double fov[3];
} memory;

static const vf_view *view_named(const vf_mri_scan *s, const char *name)
{
    const struct {
        const char *name;
        const vf_view *view;
    } all[] = {{"/scan/data", &s->data},
               {"/scan/trajectory", &s->trajectory},
               {"/scan/weights", &s->weights},
               {"/scan/time", &s->time},
               {"/scan/phi", &s->phi},
               {"/scan/sensitivity", &s->sensitivity},
               {"/scan/field_map", &s->field_map},
               {"/scan/reference", &s->reference},
               {"/scan/truth", &s->truth},
               {"/scan/noise", &s->noise},
               {"/scan/mask", &s->mask}};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (strcmp(all[n].name, name) == 0)
            return all[n].view->data ? all[n].view : NULL;
    return NULL;
}

static bool exists(void *user, const char *name)
{
    return view_named(((const memory *)user)->given, name) != NULL;
}

static vf_status shape(void *user, const char *name, vf_dtype *type, int *rank, int64_t *dims)
{
    const memory *m = user;
    const vf_view *v = view_named(m->given, name);
    int64_t all = 1;
    if (!v || v->rank < 0 || v->rank > VF_VIEW_RANK || vf_dtype_bytes(v->type) == 0)
        return vf_fail(m->ctx, VF_ERR_ARGUMENT, "%s: %s has no valid type or number of axes", scan_memory_name, name);
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] < 0 || __builtin_mul_overflow(all, v->dims[d] > 0 ? v->dims[d] : 1, &all))
            return vf_fail(m->ctx, VF_ERR_ARGUMENT, "%s: %s has an axis of an invalid length", scan_memory_name, name);
    *type = v->type;
    *rank = v->rank;
    memcpy(dims, v->dims, sizeof *dims * (size_t)v->rank);
    return VF_OK;
}

/* Number i of the floating-point values, of which a complex number has two. */
static float value_at(const vf_view *v, int64_t i)
{
    switch (v->type) {
    case VF_F64:
    case VF_C128:
        return (float)((const double *)v->data)[i];
    case VF_I32:
        return (float)((const int32_t *)v->data)[i];
    case VF_I64:
        return (float)((const int64_t *)v->data)[i];
    case VF_U8:
        return ((const unsigned char *)v->data)[i];
    default:
        return ((const float *)v->data)[i];
    }
}

/* Elements [first, first + count) as floats. */
static void convert(const vf_context *ctx, const vf_view *v, int64_t first, int64_t count, float *out)
{
    enum { BLOCK = 1 << 16 };
    const int parts = v->type == VF_C64 || v->type == VF_C128 ? 2 : 1;
    const int64_t from = parts * first, values = parts * count;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, values / 2))
    for (int64_t at = 0; at < values; at += BLOCK) {
        const int64_t end = values - at < BLOCK ? values : at + BLOCK;
        if (v->type == VF_F32 || v->type == VF_C64)
            memcpy(out + at, (const float *)v->data + from + at, sizeof *out * (size_t)(end - at));
        else
            for (int64_t i = at; i < end; i++)
                out[i] = value_at(v, from + i);
    }
}

/* Readers take whole arrays, or one element of the first axis: a range of elements. */
static vf_status read_piece(void *user, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                            void *data)
{
    const memory *m = user;
    const vf_view *v = view_named(m->given, name);
    int64_t first = 0, elements = 1;
    (void)type;
    for (int d = 0; d < v->rank; d++) {
        first = first * v->dims[d] + start[d];
        elements *= count[d];
        if (d > 0 && (start[d] != 0 || count[d] != v->dims[d]))
            return vf_fail(m->ctx, VF_ERR_INTERNAL, "%s: %s is read in other pieces", scan_memory_name, name);
    }
    convert(m->ctx, v, first, elements, data);
    return VF_OK;
}

static vf_status integers(void *user, const char *object, const char *name, int64_t *values, int n)
{
    const memory *m = user;
    (void)object, (void)name;
    memcpy(values, m->matrix, sizeof *values * (size_t)n);
    return VF_OK;
}

static vf_status doubles(void *user, const char *object, const char *name, double *values, int n)
{
    const memory *m = user;
    (void)object, (void)name;
    memcpy(values, m->fov, sizeof *values * (size_t)n);
    return VF_OK;
}

/* ---- k-space on the grid ---- */

typedef struct grid {
    int64_t frames, slices, coils;
    int axes; /* the last ones, of a plane or a volume */
} grid;

static bool has_matrix(const vf_mri_scan *s)
{
    return s->matrix[0] != 0 || s->matrix[1] != 0 || s->matrix[2] != 0;
}

static vf_status wrong_shape(const memory *m, const char *name, const vf_view *v, const char *expected)
{
    char text[SCAN_SHAPE_TEXT];
    return vf_fail(m->ctx, VF_ERR_INPUT, "%s: %s has the shape %s; expected %s", scan_memory_name, name,
                   scan_shape_text(v->rank, v->dims, text), expected);
}

/* The matrix, and the meaning of the axes before it. */
static vf_status plan_grid_data(memory *m, grid *g)
{
    const vf_mri_scan *s = m->given;
    const vf_view *v = &s->data;
    const bool given = has_matrix(s), plane = s->slices || (given ? s->matrix[2] == 1 && v->rank < 5 : v->rank == 3);
    g->axes = plane ? 2 : 3;
    if ((v->type != VF_C64 && v->type != VF_C128) || v->rank < g->axes + 1 || v->rank > g->axes + (s->slices ? 3 : 2) ||
        (s->slices && v->rank < 4))
        return wrong_shape(
            m, "/scan/data", v,
            s->slices ? "complex numbers as [slice][coil][y][x] or [frame][slice][coil][y][x]"
                      : "complex numbers as [coil][y][x], [coil][z][y][x] or [frame][coil][z][y][x], or a trajectory");
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] < 1)
            return wrong_shape(m, "/scan/data", v, "at least one element along each axis");
    for (int a = 0; a < 3; a++) {
        const int64_t n = a < g->axes ? v->dims[v->rank - 1 - a] : 1;
        if (given && s->matrix[a] != n)
            return vf_fail(m->ctx, VF_ERR_INPUT,
                           "%s: the matrix is %" PRId64
                           " along %c, but /scan/data, which has no trajectory, has %" PRId64 " positions",
                           scan_memory_name, s->matrix[a], "xyz"[a], n);
        m->matrix[a] = n;
    }
    const int before = v->rank - g->axes;
    g->coils = v->dims[before - 1];
    g->slices = s->slices ? v->dims[before - 2] : 1;
    g->frames = before > (s->slices ? 2 : 1) ? v->dims[0] : 1;
    return VF_OK;
}

/* Clears what the mask leaves out. */
static vf_status take_mask(const memory *m, const grid *g, scan_pattern *pattern)
{
    const vf_view *mask = view_named(m->given, "/scan/mask");
    const int64_t positions = m->matrix[0] * m->matrix[1] * m->matrix[2];
    if (!mask)
        return VF_OK;
    bool fits = (mask->rank == g->axes || (mask->rank == 3 && m->matrix[2] == 1)) && mask->type != VF_C64 &&
                mask->type != VF_C128;
    for (int a = 0; fits && a < mask->rank; a++)
        fits = mask->dims[mask->rank - 1 - a] == m->matrix[a];
    if (!fits)
        return wrong_shape(m, "/scan/mask", mask, "real numbers, [z][y][x] or [y][x], as the last axes of data");
    for (int64_t i = 0; i < positions; i++)
        pattern->acquired[i] = pattern->acquired[i] && value_at(mask, i) != 0;
    return VF_OK;
}

static vf_status read_grid_frame(const memory *m, const grid *g, int64_t index, scan_pattern *pattern, mri_scan *s)
{
    const int64_t positions = s->matrix[0] * s->matrix[1] * s->matrix[2], count = g->coils * positions;
    scan_frame *frame = &s->frame[index];
    *frame = (scan_frame){.volume = (int)(index / g->slices),
                          .repetition = (int)(index / g->slices),
                          .slice = (int)(index % g->slices),
                          .place = (int)(index % g->slices)};
    vf_status status =
        scan_allocate_to_read(m->ctx, scan_memory_name, "/scan/data", count, sizeof *frame->data, &frame->data);
    if (status != VF_OK)
        return status;
    s->frames = (int)index + 1; /* from here on, scan_free frees it */
    convert(m->ctx, &m->given->data, index * count, count, (float *)frame->data);
    const int64_t bad = scan_first_not_finite(m->ctx, (const float *)frame->data, 2 * count);
    if (bad >= 0)
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: /scan/data: frame %" PRId64 ", coil %" PRId64 ", position (%" PRId64 ", %" PRId64
                       ", %" PRId64 ") along x, y, z is %s; all values must be finite in single precision",
                       scan_memory_name, index / g->slices, bad / 2 / positions, bad / 2 % s->matrix[0],
                       bad / 2 / s->matrix[0] % s->matrix[1], bad / 2 / (s->matrix[0] * s->matrix[1]) % s->matrix[2],
                       scan_not_finite_name(((const float *)frame->data)[bad]));
    scan_mark_acquired(m->ctx, g->coils, positions, frame->data, pattern->acquired);
    status = take_mask(m, g, pattern);
    pattern->samples = 0;
    for (int64_t i = 0; i < positions; i++)
        pattern->samples += pattern->acquired[i];
    if (status == VF_OK && pattern->samples == 0)
        return vf_fail(m->ctx, VF_ERR_INPUT, "%s: /scan/data: frame %" PRId64 " has no samples: all values are 0%s",
                       scan_memory_name, index, m->given->mask.data ? " where the mask is not" : "");
    VF_TRY(status, scan_share_pattern(m->ctx, scan_memory_name, pattern, s, frame));
    if (status == VF_OK)
        scan_keep_acquired(m->ctx, pattern, s, 1, frame->data, frame->data);
    return status;
}

static vf_status check_grid_rest(const memory *m)
{
    const vf_mri_scan *s = m->given;
    const char *name = s->weights.data     ? "weights"
                       : s->time.data      ? "time"
                       : s->phi.data       ? "phi"
                       : s->field_map.data ? "field_map"
                                           : NULL;
    if (name)
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: /scan/%s needs a trajectory; k-space on the grid has no list of samples", scan_memory_name,
                       name);
    if (s->slices && (s->sensitivity.data || s->reference.data || s->truth.data))
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: slices have no sensitivity, reference or truth; reconstruct each slice alone with these",
                       scan_memory_name);
    return VF_OK;
}

static vf_status read_grid(memory *m, const plain_source *source, const grid *g, mri_scan *out)
{
    scan_pattern pattern = {0};
    enum { MOST_FRAMES = 1 << 20 };
    vf_status status = check_grid_rest(m);
    VF_TRY(status, scan_plain_space(m->ctx, source, out));
    if (status == VF_OK && (g->coils > SCAN_MOST_COILS || g->frames > MOST_FRAMES / g->slices))
        status = wrong_shape(m, "/scan/data", &m->given->data, "no more than 4096 coils and 2^20 frames and slices");
    if (status != VF_OK)
        return status;
    const int64_t positions = out->matrix[0] * out->matrix[1] * out->matrix[2], all = g->frames * g->slices;
    out->coils = (int)g->coils;
    out->volumes = (int)g->frames;
    out->slices = out->places = (int)g->slices;
    out->geometry.slice_step = g->slices > 1 ? out->fov[2] : 0;
    status = scan_require_memory(m->ctx, scan_memory_name, "/scan/data", all * positions,
                                 (size_t)out->coils * sizeof(float complex));
    VF_TRY(status, SCAN_NEW(m->ctx, scan_memory_name, "frames", all, out->frame));
    VF_TRY(status, SCAN_NEW(m->ctx, scan_memory_name, "trajectories", all + 1, out->trajectory));
    VF_TRY(status, scan_allocate(m->ctx, scan_memory_name, "positions", positions, 1, &pattern.acquired));
    for (int64_t i = 0; status == VF_OK && i < all; i++) {
        status = read_grid_frame(m, g, i, &pattern, out);
        VF_TRY(status, scan_check_cancelled(m->ctx));
    }
    free(pattern.acquired);
    snprintf(out->description, sizeof out->description, "Cartesian, in memory");
    return status == VF_OK ? scan_plain_rest(m->ctx, source, out) : status;
}

/* ---- the whole ---- */

static vf_status check_arrays(const memory *m)
{
    const vf_mri_scan *s = m->given;
    if (!s->data.data)
        return vf_fail(m->ctx, VF_ERR_INPUT, "%s: /scan/data is missing", scan_memory_name);
    if (s->trajectory.data && (s->mask.data || s->slices))
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: a mask or slices are for k-space on the grid, but there is a trajectory", scan_memory_name);
    if (s->trajectory.data && !has_matrix(s))
        return vf_fail(m->ctx, VF_ERR_INPUT, "%s: the matrix is missing: voxels along x, y and z", scan_memory_name);
    return VF_OK;
}

vf_status read_scan_memory(vf_context *ctx, const vf_mri_scan *given, const scan_request *request, mri_scan *out)
{
    memory m = {.ctx = ctx, .given = given};
    const plain_source source = {scan_memory_name, &m, exists, shape, read_piece, integers, doubles};
    grid g = {0};
    vf_dtype type;
    int rank;
    int64_t dims[VF_VIEW_RANK];
    memset(out, 0, sizeof *out);
    vf_status status = check_arrays(&m);
    VF_TRY(status, shape(&m, "/scan/data", &type, &rank, dims));
    memcpy(m.matrix, given->matrix, sizeof m.matrix);
    if (status == VF_OK && !given->trajectory.data)
        status = plan_grid_data(&m, &g);
    const bool sized = given->fov_mm[0] != 0 || given->fov_mm[1] != 0 || given->fov_mm[2] != 0;
    for (int a = 0; a < 3; a++)
        m.fov[a] = sized ? given->fov_mm[a] : (double)m.matrix[a];
    if (status == VF_OK && !given->trajectory.data && request->units != K_AUTO)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "%s: --trajectory-units: this is a Cartesian scan, without a trajectory",
                         scan_memory_name);
    if (status == VF_OK)
        status = given->trajectory.data ? scan_read_plain(ctx, &source, request->units, out)
                                        : read_grid(&m, &source, &g, out);
    VF_TRY(status, scan_finish(ctx, scan_memory_name, out));
    if (status != VF_OK)
        scan_free(out);
    out->path = status == VF_OK ? scan_memory_name : NULL;
    return status;
}

double scan_memory_bytes(const vf_mri_scan *given)
{
    double bytes = (double)vf_dtype_bytes(given->data.type);
    for (int d = 0; d < given->data.rank && d < VF_VIEW_RANK; d++)
        bytes *= (double)given->data.dims[d];
    return bytes;
}
