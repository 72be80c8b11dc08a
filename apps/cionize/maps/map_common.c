/* What all map formats share (map_common.h): checks of the values to write, and texts about the map. */
#include "map_common.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "molecule/molecule_part.h"
#include "voxfield/append.h"
#include "voxfield/format_number.h"
#include "voxfield/timer.h"

/* ---- writing a map ---- */

vf_status map_begin(map_progress *map, vf_context *ctx, const map_format *format, const char *path,
                    const map_info *info)
{
    *map = (map_progress){.ctx = ctx, .info = info, .format = format, .most = DBL_MAX};
    if (!vf_grid_valid(&info->grid))
        return vf_fail(ctx, VF_ERR_INTERNAL, "%s: the grid of the map is invalid", path);
    int64_t points = vf_grid_points(&info->grid);
    if (format->max_points > 0 && points > format->max_points)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "%s: the map has %lld points and %s files hold at most %lld: %s", path,
                       (long long)points, format->name, (long long)format->max_points, format->max_reason);
    map->path = strdup(path);
    if (!map->path)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the map", path);
    return VF_OK;
}

void map_end(map_progress *map)
{
    free(map->path);
    map->path = NULL;
}

int64_t map_layers(const map_progress *map)
{
    return map->info->grid.counts[map->format->order == MAP_X_FASTEST ? 2 : 0];
}

int64_t map_layer_values(const map_progress *map)
{
    return vf_grid_points(&map->info->grid) / map_layers(map);
}

static double value_at(vf_dtype type, const void *values, int64_t i)
{
    return type == VF_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

/* The first value that is NaN, infinite or above `most` in magnitude; `n` if none. Checks whole blocks first, which the
 * compiler vectorises. */
static int64_t first_bad_value(const map_progress *map, const void *values, int64_t n)
{
    enum { BLOCK = 1024 };
    const vf_dtype type = map->info->type;
    const double most = map->most;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t end = n - i < BLOCK ? n : i + BLOCK;
        int bad = 0;
        if (type == VF_F32 && most >= FLT_MAX)
            for (int64_t j = i; j < end; j++)
                bad |= !(fabsf(((const float *)values)[j]) <= FLT_MAX);
        else if (type == VF_F32)
            for (int64_t j = i; j < end; j++)
                bad |= !(fabs((double)((const float *)values)[j]) <= most);
        else
            for (int64_t j = i; j < end; j++)
                bad |= !(fabs(((const double *)values)[j]) <= most);
        for (int64_t j = i; bad && j < end; j++)
            if (!(fabs(value_at(type, values, j)) <= most))
                return j;
    }
    return n;
}

static vf_status refuse_value(const map_progress *map, int64_t index, double value)
{
    char text[VF_NUMBER_TEXT];
    const int64_t *counts = map->info->grid.counts;
    int slow = map->format->order == MAP_X_FASTEST ? 2 : 0;
    int fast = 2 - slow;
    int64_t at[3];
    at[fast] = index % counts[fast];
    at[1] = index / counts[fast] % counts[1];
    at[slow] = index / counts[fast] / counts[1];
    return vf_fail(
        map->ctx, VF_ERR_OUTPUT,
        "%s: the value at grid point (%lld, %lld, %lld) is %s, which %s files cannot store; check for an atom at that "
        "point, or one with a wrong charge",
        map->path, (long long)at[0], (long long)at[1], (long long)at[2], vf_format_general(value, 6, text),
        map->format->name);
}

vf_status map_take(map_progress *map, int64_t first, int64_t count, const void *values)
{
    const int64_t n = count * map_layer_values(map);
    if (first != map->next || count < 1 || count > map_layers(map) - first)
        return vf_fail(map->ctx, VF_ERR_INTERNAL, "%s: layers from %lld (%lld of them) instead of layer %lld",
                       map->path, (long long)first, (long long)count, (long long)map->next);
    int64_t bad = first_bad_value(map, values, n);
    if (bad < n)
        return refuse_value(map, first * map_layer_values(map) + bad, value_at(map->info->type, values, bad));
    map->next += count;
    return VF_OK;
}

vf_status map_complete(const map_progress *map)
{
    if (map->next != map_layers(map))
        return vf_fail(map->ctx, VF_ERR_INTERNAL, "%s: the map ended at layer %lld of %lld", map->path,
                       (long long)map->next, (long long)map_layers(map));
    return VF_OK;
}

/* ---- texts about a map's origin ---- */

/* Other programs read these texts as bytes, some only as ASCII. */
static void make_ascii(char *text)
{
    char *to = text;
    for (const unsigned char *from = (const unsigned char *)text; *from; from++) {
        if ((*from & 0xc0) == 0x80)
            continue; /* continuation byte of a UTF-8 character */
        *to++ = *from < 0x20 || *from == 0x7f ? ' ' : *from < 0x80 ? (char)*from : '?';
    }
    *to = '\0';
}

double map_charge(const map_info *info)
{
    return (info->sources ? info->sources : info->molecule)->total_charge;
}

bool map_has_background(const map_info *info)
{
    const double rounding = 5e-4; /* of charges with few decimals */
    return info->grid.cell.kind != VF_CELL_NONE && !(info->cutoff > 0) && !info->salted &&
           fabs(map_charge(info)) >= rounding;
}

/* The cell's shape: its first vector is along x, its second in the plane of x and y. */
static void describe_cell(const map_info *info, char *text, size_t size)
{
    double shape[6];
    char number[7][VF_NUMBER_TEXT], background[80] = "";
    vf_cell_shape(&info->grid.cell, shape, shape + 3);
    for (int i = 0; i < 6; i++)
        vf_format_general(shape[i], 12, number[i]);
    vf_format_general(map_charge(info), 6, number[6]);
    if (map_has_background(info))
        snprintf(background, sizeof background, "; %s e neutralised by a uniform background", number[6]);
    snprintf(text, size, "periodic: %s %s %s %s %s %s, %s%s", number[0], number[1], number[2], number[3], number[4],
             number[5],
             info->cutoff > 0 ? "images within the cutoff"
             : info->vacuum   ? "vacuum"
                              : "tinfoil",
             background);
}

const char *map_error_line(const map_info *info, char text[MAP_ERROR_SIZE])
{
    const map_error *e = &info->error;
    const char *const what = info->values_unit ? "field" : "potential";
    char asked[VF_NUMBER_TEXT], rms[VF_NUMBER_TEXT], largest[VF_NUMBER_TEXT], line[160] = "";
    if (!*info->unit || (e->asked == 0 && !(e->cutoff > 0)))
        return strcpy(text, "");
    vf_format_general(e->cutoff > 0 ? e->cutoff : e->asked, 3, asked);
    if (e->cutoff > 0 && e->points > 0)
        snprintf(line, sizeof line, "cut off at %s A: from the full sum %s rms, %s at most (of rms %s)", asked,
                 vf_format_general(e->rms, 2, rms), vf_format_general(e->largest, 2, largest), what);
    else if (e->cutoff > 0)
        snprintf(line, sizeof line, "cut off at %s A", asked);
    else if (e->points > 0)
        snprintf(line, sizeof line, "error asked %s; measured %s rms, %s at most (of rms %s)", asked,
                 vf_format_general(e->rms, 2, rms), vf_format_general(e->largest, 2, largest), what);
    else
        snprintf(line, sizeof line, "error asked %s, not measured here (of rms %s)", asked, what);
    snprintf(text, MAP_ERROR_SIZE, "%-80.80s", line);
    return text;
}

/* With --solute, the file's atoms, and those of the solute. */
static void describe_molecule(const map_info *info, char *text, size_t size)
{
    const molecule *m = info->molecule;
    const int64_t whole = molecule_whole_atoms(m);
    char number[VF_NUMBER_TEXT];
    *text = '\0';
    vf_append(text, size, "molecule: %lld atom%s, total charge %s e, ", (long long)whole, vf_plural(whole),
              vf_format_general(molecule_whole_charge(m), 6, number));
    if (m->of_whole)
        vf_append(text, size, "solute %lld of them, %s e, ", (long long)m->atoms,
                  vf_format_general(m->total_charge, 6, number));
    vf_append(text, size, "%s", info->input);
}

bool map_provenance(const map_info *info, int line, char *text, size_t size)
{
    char a[VF_NUMBER_TEXT], b[VF_NUMBER_TEXT];
    const bool periodic = info->grid.cell.kind != VF_CELL_NONE;
    switch (line) {
    case 0:
        snprintf(text, size, "%s%s%s", info->quantity, *info->unit ? " in " : "",
                 info->values_unit ? info->values_unit : info->unit);
        break;
    case 1:
        snprintf(text, size, "%s, %s", info->program, info->created);
        break;
    case 2:
        describe_molecule(info, text, size);
        break;
    case 3:
        snprintf(text, size, "SHA-256: %s", info->molecule->digest);
        break;
    case 4:
        snprintf(text, size, "method: %s", info->method);
        break;
    case 5:
        snprintf(text, size, "command: %s", info->command);
        break;
    case 6: /* from here on, only for potentials */
        if (!*info->unit)
            return false;
        snprintf(text, size, "V = C sum q/(eps r), C = %s %s Angstrom/e, T = %s K",
                 vf_format_general(info->unit_constant, 9, a), info->unit, vf_format_general(info->temperature, 6, b));
        break;
    case 7:
        if (!*info->unit)
            return false;
        snprintf(text, size, "eps = %s%s, r at least %s Angstrom", vf_format_general(info->dielectric, 6, a),
                 info->distance_dielectric ? " r/Angstrom" : "", vf_format_general(info->r_min, 6, b));
        break;
    case 8: /* up to three of these */
    case 9:
    case 10:
        if (periodic && line == 8)
            describe_cell(info, text, size);
        else if (info->selection && line == 8 + periodic + (info->sigma > 0))
            snprintf(text, size, "of selected atoms: %s", info->selection);
        else if (info->sigma > 0 && line == 8 + periodic)
            snprintf(text, size, "Gaussian charges: erf(r/(sqrt(2) sigma))/r instead of 1/r, sigma = %s Angstrom",
                     vf_format_general(info->sigma, 6, a));
        else
            return false;
        break;
    default:
        return false;
    }
    make_ascii(text);
    return true;
}
