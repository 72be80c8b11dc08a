/* OpenDX maps in the form that APBS writes and all readers know. docs/formats.md lists what breaks which reader. */
#include <float.h>

#include "map_common.h"
#include "voxfield/format_number.h"

enum {
    FLOAT_DIGITS = 9,
    DOUBLE_DIGITS = 12, /* PyMOL misreads numbers of 20 characters or more: -1.23456789012e-100 has 19 */
    GRID_DIGITS = 12,
    COMMENT_SIZE = 240, /* VMD reads lines of up to 2,040 characters, others fewer */
    COMPRESSION = 1     /* higher levels compress digits hardly better and are much slower */
};

static vf_status write_header(text_map *state)
{
    const map_info *info = state->map.info;
    const vf_grid *grid = &info->grid;
    const long long nx = grid->counts[0], ny = grid->counts[1], nz = grid->counts[2];
    char comment[COMMENT_SIZE], x[VF_NUMBER_TEXT], y[VF_NUMBER_TEXT], z[VF_NUMBER_TEXT];
    vf_status status = VF_OK;
    for (int line = 0; status == VF_OK && map_provenance(info, line, comment, sizeof comment); line++)
        status = map_text_printf(state->text, "# %s\n", comment);
    VF_TRY(status, text_map_error_line(state, "# ", MAP_ERROR_SIZE - 1, "\n"));
    VF_TRY(status, map_text_printf(state->text, "object 1 class gridpositions counts %lld %lld %lld\norigin %s %s %s\n",
                                   nx, ny, nz, vf_format_general(grid->origin[0], GRID_DIGITS, x),
                                   vf_format_general(grid->origin[1], GRID_DIGITS, y),
                                   vf_format_general(grid->origin[2], GRID_DIGITS, z)));
    VF_TRY(status, map_text_printf(state->text,
                                   "delta %s 0 0\ndelta 0 %s 0\ndelta 0 0 %s\n"
                                   "object 2 class gridconnections counts %lld %lld %lld\n"
                                   "object 3 class array type double rank 0 items %lld data follows\n",
                                   vf_format_general(grid->spacing[0], GRID_DIGITS, x),
                                   vf_format_general(grid->spacing[1], GRID_DIGITS, y),
                                   vf_format_general(grid->spacing[2], GRID_DIGITS, z), nx, ny, nz, nx * ny * nz));
    return status;
}

static vf_status begin(vf_context *ctx, const map_format *format, int compression, const char *path,
                       const map_info *info, void **out)
{
    const map_text_layout layout = {.digits = info->type == VF_F32 ? FLOAT_DIGITS : DOUBLE_DIGITS,
                                    .per_line = 3,
                                    .row = vf_grid_points(&info->grid),
                                    .compression = compression};
    return text_map_begin(ctx, format, path, info, layout, DBL_MAX, write_header, out);
}

static vf_status dx_begin(vf_context *ctx, const char *path, const map_info *info, void **out)
{
    return begin(ctx, &map_dx, 0, path, info, out);
}

static vf_status dx_gz_begin(vf_context *ctx, const char *path, const map_info *info, void **out)
{
    return begin(ctx, &map_dx_gz, COMPRESSION, path, info, out);
}

static vf_status dx_commit(void *state, double minimum, double maximum, double mean, double rms)
{
    (void)minimum;
    (void)maximum;
    (void)mean;
    (void)rms;
    return text_map_commit(state, "attribute \"dep\" string \"positions\"\n"
                                  "object \"regular positions regular connections\" class field\n"
                                  "component \"positions\" value 1\n"
                                  "component \"connections\" value 2\n"
                                  "component \"data\" value 3\n");
}

#define MAX_POINTS INT32_MAX
#define MAX_REASON "every reader of OpenDX counts in 32 bits; write .h5 or .mrc, or use a coarser grid"

const map_format map_dx = {.name = "OpenDX",
                           .extensions = ".dx",
                           .order = MAP_Z_FASTEST,
                           .max_points = MAX_POINTS,
                           .max_reason = MAX_REASON,
                           .bytes_per_value = {15.5, 18.5},
                           .bytes_besides = 840,
                           .begin = dx_begin,
                           .write = text_map_write,
                           .commit = dx_commit,
                           .discard = text_map_discard};

const map_format map_dx_gz = {.name = "OpenDX (gzip)",
                              .extensions = ".dx.gz",
                              .order = MAP_Z_FASTEST,
                              .max_points = MAX_POINTS,
                              .max_reason = MAX_REASON,
                              .bytes_per_value = {6.5, 8.5},
                              .bytes_besides = 780,
                              .begin = dx_gz_begin,
                              .write = text_map_write,
                              .commit = dx_commit,
                              .discard = text_map_discard};
