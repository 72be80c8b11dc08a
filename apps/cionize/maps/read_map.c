#include "read_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "map_reader.h"
#include "voxfield/format_number.h"
#include "voxfield/output.h"

static vf_status check_unit(vf_context *ctx, loaded_map *map, const char *wanted)
{
    if (!wanted)
        return VF_OK;
    if (*map->unit && strcmp(map->unit, wanted) != 0)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the map is in %s, not in %s; use --units %s, or another map", map->path,
                       map->unit, wanted, map->unit);
    if (!*map->unit) {
        vf_warn(ctx, "%s: the file does not state the unit of the map; assuming %s", map->path, wanted);
        strncat(map->unit, wanted, sizeof map->unit - 1);
    }
    return VF_OK;
}

vf_status read_map(vf_context *ctx, const char *path, const char *wanted_unit, loaded_map *out)
{
    vf_status status = VF_OK;
    *out = (loaded_map){.unit_constant = NAN, .temperature = NAN, .dielectric = NAN, .r_min = NAN};
    out->path = strdup(path);
    if (!out->path)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read the map", path);
    else if (vf_path_has_extension(path, ".dx .dx.gz"))
        status = read_map_dx(ctx, out);
    else if (vf_path_has_extension(path, ".h5 .hdf5"))
        status = read_map_h5(ctx, out);
    else if (vf_path_has_extension(path, ".mrc .ccp4 .map .mrc.gz .ccp4.gz .map.gz"))
        status = read_map_mrc(ctx, out);
    else if (vf_path_has_extension(path, ".cube .cub .cube.gz .cub.gz"))
        status = read_map_cube(ctx, out);
    else
        status = vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "%s: cannot read maps with this extension; use .dx, .mrc, .ccp4, .map or .cube, each also with .gz, .h5 or "
            ".hdf5",
            path);
    VF_TRY(status, check_unit(ctx, out, wanted_unit));
    if (status != VF_OK)
        map_free(out);
    return status;
}

void map_free(loaded_map *map)
{
    free(map->path);
    free(map->values);
    *map = (loaded_map){.path = NULL};
}

/* ---- the same grid ---- */

static vf_status other_place(vf_context *ctx, const loaded_map *map, const vf_grid *wanted, int axis, bool origin)
{
    char has[VF_NUMBER_TEXT], wants[VF_NUMBER_TEXT];
    return vf_fail(
        ctx, VF_ERR_INPUT,
        "%s: the map's %s along %c is %s, but %s is requested; leave out the grid options, or use another map",
        map->path, origin ? "origin" : "spacing", "xyz"[axis],
        vf_format_general((origin ? map->grid.origin : map->grid.spacing)[axis], 12, has),
        vf_format_general((origin ? wanted->origin : wanted->spacing)[axis], 12, wants));
}

/* Whether a difference, uncertain by `slack`, puts a point elsewhere. The slack of a number is half a unit of its
 * last digit, but not every short number was rounded: 3 may be 3.000. So rounding explains at most a thousandth of a
 * step. */
static bool elsewhere(double difference, double slack, double step)
{
    return !(fabs(difference) <= fmax(1e-6 * step, fmin(slack, 1e-3 * step)));
}

vf_status check_map_grid(vf_context *ctx, const loaded_map *map, const vf_grid *wanted)
{
    const vf_grid *grid = &map->grid;
    if (memcmp(grid->counts, wanted->counts, sizeof grid->counts) != 0)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: the map has %lld x %lld x %lld points, but %lld x %lld x %lld are requested; leave out the "
                       "grid options, or use another map",
                       map->path, (long long)grid->counts[0], (long long)grid->counts[1], (long long)grid->counts[2],
                       (long long)wanted->counts[0], (long long)wanted->counts[1], (long long)wanted->counts[2]);
    /* If the first and last points of an axis are right, all are. */
    for (int a = 0; a < 3; a++) {
        const double steps = grid->counts[a] > 1 ? (double)(grid->counts[a] - 1) : 1, step = wanted->spacing[a];
        const double first = grid->origin[a] - wanted->origin[a];
        if (elsewhere(first, map->origin_slack[a], step))
            return other_place(ctx, map, wanted, a, true);
        if (elsewhere(first + steps * (grid->spacing[a] - step), map->origin_slack[a] + steps * map->spacing_slack[a],
                      step))
            return other_place(ctx, map, wanted, a, false);
    }
    return VF_OK;
}
