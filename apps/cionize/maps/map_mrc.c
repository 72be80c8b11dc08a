/* MRC/CCP4 maps (MRC2014; Cheng et al., J. Struct. Biol. 192 (2015) 146): a header of 256 words, then float values.
 *
 * The format has two fields for the position of a map: N*START, in whole grid steps, and ORIGIN, in angstrom. Some
 * readers add the two, some know only one, and most take ORIGIN unless it is zero; docs/formats.md has the list. All
 * readers agree on the position only if exactly one is set. So N*START is set if the origin is a whole number of
 * steps, because every reader supports it, otherwise ORIGIN. By custom, .ccp4 and .map files have only N*START. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "map_common.h"
#include "mrc_format.h"
#include "voxfield/format_number.h"

enum {
    METHOD = 4, /* of map_provenance, like COMMAND */
    COMMAND = 5,
    MODE_FLOAT = 2,
    SINGLE_CRYSTAL = 1, /* space group 1: one volume. 0 would be a stack of images, 401 a stack of volumes */
    VERSION = 20141,
    CONVERT_BLOCK = 1 << 16
};

/* An origin this close to a whole number of steps counts as one. The tolerance is more than the rounding of positions
 * given as decimal fractions, and less than a viewer can show. */
static const double STEP_TOLERANCE = 1e-4;

/* ChimeraX ignores N*START as garbage beyond this multiple of the map's size. */
static const double START_MOST = 10;

typedef struct mrc_state {
    map_progress map;
    vf_output *output;
    float *converted; /* buffer to convert doubles for the file */
    uint32_t header[WORDS];
} mrc_state;

static void put_integer(uint32_t *header, int word, int32_t value)
{
    memcpy(header + word, &value, sizeof value);
}

static void put_float(uint32_t *header, int word, double value)
{
    float single = (float)value;
    memcpy(header + word, &single, sizeof single);
}

static void put_statistics(uint32_t *header, double minimum, double maximum, double mean, double rms)
{
    put_float(header, DMIN, minimum);
    put_float(header, DMAX, maximum);
    put_float(header, DMEAN, mean);
    put_float(header, RMS, rms);
}

static void put_labels(uint32_t *header, const map_info *info)
{
    char *labels = (char *)(header + LABELS), text[LABEL_SIZE + 1];
    const bool has_error = *map_error_line(info, text);
    int lines = 0, used = 0;
    while (map_provenance(info, lines, text, sizeof text))
        lines++;
    memset(labels, ' ', LABELS_MOST * LABEL_SIZE);
    for (int line = 0; line < lines; line++) {
        const int over = lines + has_error - LABELS_MOST;
        if ((line == COMMAND && over > 0) || (line == METHOD && over > 1)) /* a label has only its beginning */
            continue;
        (void)map_provenance(info, line, text, sizeof text);
        memcpy(labels + used++ * LABEL_SIZE, text, strlen(text));
    }
    if (has_error) {
        map_error_line(info, text);
        memcpy(labels + used++ * LABEL_SIZE, text, strlen(text));
    }
    put_integer(header, LABELS_USED, used);
}

/* Whether the origin is a whole number of steps that every reader accepts. */
static bool whole_steps(const vf_grid *grid)
{
    double longest = fmax((double)grid->counts[0], fmax((double)grid->counts[1], (double)grid->counts[2]));
    for (int a = 0; a < 3; a++) {
        double steps = grid->origin[a] / grid->spacing[a];
        if (!(fabs(steps - nearbyint(steps)) <= STEP_TOLERANCE) || !(fabs(steps) <= START_MOST * longest))
            return false;
    }
    return true;
}

/* Sets the position; VF_ERR_UNSUPPORTED if this file type cannot store it. */
static vf_status put_position(mrc_state *state)
{
    const vf_grid *grid = &state->map.info->grid;
    const char *dot = strrchr(state->map.path, '.');
    bool ccp4 = dot && (strcasecmp(dot, ".ccp4") == 0 || strcasecmp(dot, ".map") == 0);
    bool whole = whole_steps(grid);
    char x[VF_NUMBER_TEXT], y[VF_NUMBER_TEXT], z[VF_NUMBER_TEXT];
    if (ccp4 && !whole)
        return vf_fail(
            state->map.ctx, VF_ERR_UNSUPPORTED,
            "%s: CCP4 maps store the origin as a whole number of grid steps, but it is (%s, %s, %s) steps; use "
            ".mrc, or an origin that is a multiple of the spacing",
            state->map.path, vf_format_general(grid->origin[0] / grid->spacing[0], 6, x),
            vf_format_general(grid->origin[1] / grid->spacing[1], 6, y),
            vf_format_general(grid->origin[2] / grid->spacing[2], 6, z));
    for (int a = 0; a < 3; a++) {
        if (whole)
            put_integer(state->header, NXSTART + a, (int32_t)nearbyint(grid->origin[a] / grid->spacing[a]));
        else
            put_float(state->header, ORIGIN + a, grid->origin[a]);
    }
    return VF_OK;
}

/* The cell of the file is that of a periodic map, or the box of the points. A periodic cell must be spanned by the
 * grid's axes and steps, because the format has no others. */
static vf_status put_cell(mrc_state *state, int axis)
{
    const vf_grid *grid = &state->map.info->grid;
    const double length = grid->cell.vectors[axis][axis], steps = nearbyint(length / grid->spacing[axis]);
    put_float(state->header, CELL_ANGLES + axis, 90);
    if (grid->cell.kind == VF_CELL_NONE) {
        put_integer(state->header, MX + axis, (int32_t)grid->counts[axis]);
        put_float(state->header, CELL_LENGTHS + axis, (double)grid->counts[axis] * grid->spacing[axis]);
        return VF_OK;
    }
    if (grid->cell.kind != VF_CELL_ORTHORHOMBIC || !(steps >= 1 && steps <= INT32_MAX) ||
        !(fabs(length - steps * grid->spacing[axis]) <= STEP_TOLERANCE * grid->spacing[axis]))
        return vf_fail(
            state->map.ctx, VF_ERR_UNSUPPORTED,
            "%s: MRC files store periodic maps only if the grid, which is along x, y and z, is along the cell's edges "
            "and its steps divide them; write .h5 or .dx",
            state->map.path);
    put_integer(state->header, MX + axis, (int32_t)steps);
    put_float(state->header, CELL_LENGTHS + axis, length);
    return VF_OK;
}

static vf_status make_header(mrc_state *state)
{
    const vf_grid *grid = &state->map.info->grid;
    const uint16_t one = 1;
    for (int a = 0; a < 3; a++) {
        if (grid->counts[a] > INT32_MAX)
            return vf_fail(state->map.ctx, VF_ERR_UNSUPPORTED,
                           "%s: MRC files have at most %d points along an axis, not %lld", state->map.path, INT32_MAX,
                           (long long)grid->counts[a]);
        put_integer(state->header, NX + a, (int32_t)grid->counts[a]);
        const vf_status status = put_cell(state, a);
        if (status != VF_OK)
            return status;
        put_integer(state->header, MAPC + a, a + 1);
    }
    put_integer(state->header, MODE, MODE_FLOAT);
    put_integer(state->header, ISPG, SINGLE_CRYSTAL);
    put_integer(state->header, NVERSION, VERSION);
    memcpy(state->header + MAP, "MAP ", 4);
    memcpy(state->header + MACHINE_STAMP, *(const char *)&one ? "\x44\x44\0\0" : "\x11\x11\0\0", 4);
    put_statistics(state->header, 0, -1, -2, -1); /* "not known"; this remains if the output is a pipe */
    put_labels(state->header, state->map.info);
    return put_position(state);
}

static void mrc_discard(void *pointer)
{
    mrc_state *state = pointer;
    if (!state)
        return;
    vf_output_discard(&state->output);
    map_end(&state->map);
    free(state->converted);
    free(state);
}

static vf_status mrc_begin(vf_context *ctx, const char *path, const map_info *info, void **out)
{
    vf_status status = VF_OK;
    *out = NULL;
    mrc_state *state = calloc(1, sizeof *state);
    if (!state)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the map", path);
    status = map_begin(&state->map, ctx, &map_mrc, path, info);
    VF_TRY(status, make_header(state));
    if (status != VF_OK)
        goto done;
    state->map.most = FLT_MAX;
    if (info->type == VF_F64 && !(state->converted = malloc(CONVERT_BLOCK * sizeof *state->converted))) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the map", path);
        goto done;
    }
    status = info->placed ? vf_output_adopt(ctx, path, info->placed, &state->output)
                          : vf_output_open(ctx, path, &state->output);
    VF_TRY(status, vf_output_write(state->output, state->header, sizeof state->header));
    if (status != VF_OK)
        goto done;
    *out = state;
    state = NULL;
done:
    mrc_discard(state);
    return status;
}

static vf_status write_doubles(mrc_state *state, const double *values, int64_t n)
{
    vf_status status = VF_OK;
    for (int64_t i = 0; i < n && status == VF_OK; i += CONVERT_BLOCK) {
        int64_t block = n - i < CONVERT_BLOCK ? n - i : CONVERT_BLOCK;
        for (int64_t j = 0; j < block; j++)
            state->converted[j] = (float)values[i + j];
        status = vf_output_write(state->output, state->converted, (size_t)block * sizeof *state->converted);
    }
    return status;
}

static vf_status mrc_write(void *pointer, int64_t first, int64_t count, const void *values)
{
    mrc_state *state = pointer;
    const int64_t n = count * map_layer_values(&state->map);
    vf_status status = map_take(&state->map, first, count, values);
    if (status != VF_OK || state->map.info->placed)
        return status;
    if (state->map.info->type == VF_F64)
        return write_doubles(state, values, n);
    return vf_output_write(state->output, values, (size_t)n * sizeof(float));
}

static vf_status mrc_commit(void *pointer, double minimum, double maximum, double mean, double rms)
{
    mrc_state *state = pointer;
    vf_status status = map_complete(&state->map);
    if (status != VF_OK)
        goto done;
    put_statistics(state->header, minimum, maximum, mean, rms);
    put_labels(state->header, state->map.info); /* the error is known now */
    if (vf_output_direct(state->output))        /* the header is already written, with unknown statistics */
        status = VF_OK;
    else if (fseeko(vf_output_stream(state->output), 0, SEEK_SET) == 0)
        status = vf_output_write(state->output, state->header, sizeof state->header);
    else
        status = vf_fail(state->map.ctx, VF_ERR_OUTPUT, "%s: cannot write: %s", state->map.path, strerror(errno));
    VF_TRY(status, vf_output_commit(&state->output));
done:
    mrc_discard(state);
    return status;
}

const map_format map_mrc = {.name = "MRC/CCP4",
                            .extensions = ".mrc .ccp4 .map",
                            .order = MAP_X_FASTEST,
                            .max_points = 0,
                            .max_reason = "",
                            .bytes_per_value = {4, 4},
                            .bytes_besides = sizeof(uint32_t) * WORDS,
                            .values_begin = sizeof(uint32_t) * WORDS,
                            .begin = mrc_begin,
                            .write = mrc_write,
                            .commit = mrc_commit,
                            .discard = mrc_discard};
