/* Reads HDF5 maps of cionize (map_h5.c). */
#include <math.h>
#include <string.h>

#include "map_reader.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/timer.h"

static const char DATASET[] = "potential";

static vf_status check_format(vf_context *ctx, vf_h5 *file, const char *path)
{
    char format[MAP_UNIT_SIZE] = "";
    int64_t version = 0;
    if (!vf_h5_exists(file, DATASET) || !vf_h5_attribute_exists(file, "/", "format"))
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: not a map of cionize: it has no dataset /potential, or no attribute "
                       "format",
                       path);
    vf_status status = vf_h5_attribute_get_text(file, "/", "format", format, sizeof format);
    VF_TRY(status, vf_h5_attribute_get_integers(file, "/", "format_version", &version, 1));
    if (status == VF_OK && (strcmp(format, "voxfield map") != 0 || version != 1))
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: unsupported format '%s', version %lld; expected 'voxfield map', version 1", path, format,
                       (long long)version);
    return status;
}

static vf_status read_quantity(vf_context *ctx, vf_h5 *file, loaded_map *map)
{
    char text[MAP_QUANTITY_SIZE];
    if (!vf_h5_attribute_exists(file, DATASET, "quantity"))
        return VF_OK;
    vf_status status = vf_h5_attribute_get_text(file, DATASET, "quantity", text, sizeof text);
    if (status != VF_OK)
        return status;
    text_piece quantity = {text, strlen(text)}, rest;
    const char *other = map_no_potential(quantity);
    if (other)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: this is %s; use a map of the potential", map->path, other);
    if (!map_potential(quantity, &map->ions, &map->in_solvent, &rest))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the file has '%s'; use a map of the electrostatic potential", map->path,
                       text);
    return VF_OK;
}

/* The cell vectors of a periodic map. Files without them are in free space. */
static vf_status read_cell(vf_context *ctx, vf_h5 *file, loaded_map *map)
{
    vf_cell *cell = &map->grid.cell;
    if (!vf_h5_attribute_exists(file, DATASET, "cell"))
        return VF_OK;
    vf_status status = vf_h5_attribute_get_doubles(file, DATASET, "cell", cell->vectors[0], 9);
    cell->kind = VF_CELL_ORTHORHOMBIC;
    if (!vf_cell_valid(cell))
        cell->kind = VF_CELL_TRICLINIC;
    if (status == VF_OK && !vf_cell_valid(cell))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the attribute cell is not a right-handed cell; write the map again",
                         map->path);
    char boundary[16] = "";
    if (status == VF_OK && vf_h5_attribute_exists(file, DATASET, "boundary"))
        status = vf_h5_attribute_get_text(file, DATASET, "boundary", boundary, sizeof boundary);
    map->vacuum = strcmp(boundary, "vacuum") == 0;
    return status;
}

static vf_status read_shape(vf_context *ctx, vf_h5 *file, loaded_map *map)
{
    int64_t dims[VF_H5_MAX_RANK];
    int rank;
    vf_status status = vf_h5_dataset_shape(file, DATASET, &map->type, &rank, dims);
    if (status == VF_OK && (rank != 3 || (map->type != VF_F32 && map->type != VF_F64)))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: /potential has %d dimensions of %s; expected three of VF_F32 or VF_F64",
                       map->path, rank, vf_dtype_name(map->type));
    VF_TRY(status, vf_h5_attribute_get_doubles(file, DATASET, "origin", map->grid.origin, 3));
    VF_TRY(status, vf_h5_attribute_get_doubles(file, DATASET, "spacing", map->grid.spacing, 3));
    VF_TRY(status, vf_h5_attribute_get_integers(file, DATASET, "counts", map->grid.counts, 3));
    VF_TRY(status, read_cell(ctx, file, map));
    for (int a = 0; a < 3 && status == VF_OK; a++)
        if (dims[2 - a] != map->grid.counts[a])
            status = vf_fail(ctx, VF_ERR_INPUT,
                             "%s: the attribute counts has %lld point%s along %c, but /potential has %lld; write the "
                             "map again",
                             map->path, (long long)map->grid.counts[a], vf_plural(map->grid.counts[a]), "xyz"[a],
                             (long long)dims[2 - a]);
    return status;
}

static vf_status read_constants(vf_context *ctx, vf_h5 *file, loaded_map *map)
{
    const struct {
        const char *name;
        double *to;
    } numbers[] = {{"unit_constant", &map->unit_constant},
                   {"temperature", &map->temperature},
                   {"dielectric", &map->dielectric},
                   {"r_min", &map->r_min}};
    char model[64];
    vf_status status = vf_h5_attribute_get_text(file, DATASET, "unit", map->unit, sizeof map->unit);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == VF_OK; i++)
        status = vf_h5_attribute_get_doubles(file, DATASET, numbers[i].name, numbers[i].to, 1);
    if (status == VF_OK && vf_h5_attribute_exists(file, DATASET, "sigma"))
        status = vf_h5_attribute_get_doubles(file, DATASET, "sigma", &map->sigma, 1);
    if (status == VF_OK && vf_h5_attribute_exists(file, DATASET, "cutoff"))
        status = vf_h5_attribute_get_doubles(file, DATASET, "cutoff", &map->cutoff, 1);
    map->of_selection = vf_h5_attribute_exists(file, DATASET, "selection");
    VF_TRY(status, vf_h5_attribute_get_text(file, DATASET, "dielectric_model", model, sizeof model));
    if (status != VF_OK)
        return status;
    if (!map_is_printable((text_piece){map->unit, strlen(map->unit)}) ||
        !map_is_printable((text_piece){model, strlen(model)}))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: unit or dielectric_model has characters that are not printable ASCII",
                       map->path);
    map->distance_dielectric = strncmp(model, "eps(r) =", 8) == 0;
    if (!map->distance_dielectric && strcmp(model, "eps = dielectric") != 0)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: unknown dielectric model '%s'", map->path, model);
    return VF_OK;
}

static vf_status check_values(vf_context *ctx, const loaded_map *map)
{
    const int64_t *n = map->grid.counts;
    for (int64_t v = 0; v < vf_grid_points(&map->grid); v++) {
        const double value =
            map->type == VF_F32 ? (double)((const float *)map->values)[v] : ((const double *)map->values)[v];
        if (!isfinite(value))
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: the value at grid point (%lld, %lld, %lld) is %s; write the map again", map->path,
                           (long long)(v % n[0]), (long long)(v / n[0] % n[1]), (long long)(v / n[0] / n[1]),
                           isnan(value) ? "nan" : "inf");
    }
    return VF_OK;
}

vf_status read_map_h5(vf_context *ctx, loaded_map *map)
{
    vf_h5 *file = NULL;
    vf_status status = vf_h5_open(ctx, map->path, &file);
    VF_TRY(status, check_format(ctx, file, map->path));
    VF_TRY(status, read_quantity(ctx, file, map));
    VF_TRY(status, read_shape(ctx, file, map));
    VF_TRY(status, read_constants(ctx, file, map));
    if (status == VF_OK && vf_h5_attribute_exists(file, "/", "input_sha256"))
        status = vf_h5_attribute_get_text(file, "/", "input_sha256", map->molecule, sizeof map->molecule);
    VF_TRY(status, map_allocate(ctx, map));
    if (status == VF_OK) {
        const int64_t *n = map->grid.counts;
        const int64_t start[3] = {0, 0, 0}, count[3] = {n[2], n[1], n[0]};
        status = vf_h5_read(file, DATASET, map->type, start, count, map->values);
    }
    VF_TRY(status, check_values(ctx, map));
    vf_h5_close(&file);
    return status;
}
