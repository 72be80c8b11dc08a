/* Reads and writes coil map files (docs/scans.md): BART's .cfl, and HDF5. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bart/cfl.h"
#include "bart/cfl_names.h"
#include "coil_map_file.h"
#include "coil_stages.h"
#include "scan/scan_values.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"
#include "voxfield/timer.h"
#include "voxfield/version.h"

static const char PROGRAM[] = "mri_recon (Voxfield) " VF_VERSION;
static const char DATASET[] = "/maps", OF_SCAN[] = "/scan/sensitivity";

bool coil_map_is_name(const char *path)
{
    return cfl_is_name(path) || vf_path_has_extension(path, ".h5 .hdf5");
}

/* ---- reading ---- */

/* An open map file of either format: complex numbers [place][set][coil][z][y][x]. */
typedef struct map_file {
    vf_context *ctx;
    const char *path;
    cfl_file *cfl; /* one of these two is NULL */
    vf_h5 *h5;
    const char *name; /* of the dataset */
    int rank;         /* of the dataset, without a last axis {re, im} */
    bool pair;        /* real numbers with a last axis {re, im} */
    int64_t matrix[3], coils, places;
    int64_t sets; /* sets of maps per place in the file */
    int64_t read; /* how many of them are read */
    bool whitened, weighted;
    int64_t compressed_from, compressed_along; /* as in mri_scan.h */
} map_file;

static void close_maps(map_file *m)
{
    cfl_close(&m->cfl);
    vf_h5_close(&m->h5);
}

/* Parses "whitened N compressed_from N weighted N compressed_along N". The last pairs may be missing; any other text is ignored. */
static void read_section(const char *section, map_file *m)
{
    static const char first[] = "whitened ", second[] = " compressed_from ", third[] = " weighted ",
                      fourth[] = " compressed_along ";
    char *end = NULL;
    if (!section || strncmp(section, first, sizeof first - 1) != 0)
        return;
    const long whitened = strtol(section + sizeof first - 1, &end, 10);
    if (strncmp(end, second, sizeof second - 1) != 0)
        return;
    m->whitened = whitened != 0;
    m->compressed_from = strtoll(end + sizeof second - 1, &end, 10);
    if (strncmp(end, third, sizeof third - 1) != 0)
        return;
    m->weighted = strtol(end + sizeof third - 1, &end, 10) != 0;
    if (strncmp(end, fourth, sizeof fourth - 1) == 0)
        m->compressed_along = strtoll(end + sizeof fourth - 1, NULL, 10);
}

static vf_status open_cfl(map_file *m)
{
    char shape[CFL_SHAPE_TEXT];
    vf_status status = cfl_open(m->ctx, m->path, &m->cfl);
    if (status != VF_OK)
        return status;
    const int64_t *dims = cfl_dims(m->cfl);
    for (int d = CFL_TE; d < CFL_DIMS; d++)
        if (d != CFL_SLICE && dims[d] != 1)
            return vf_fail(m->ctx, VF_ERR_INPUT,
                           "%s: unsupported shape %s; coil maps are [x][y][z][coil], with slices in dimension 13",
                           cfl_path(m->cfl), cfl_shape(dims, shape));
    memcpy(m->matrix, dims, sizeof m->matrix);
    m->coils = dims[CFL_COIL];
    m->sets = dims[CFL_MAPS];
    m->places = dims[CFL_SLICE];
    const char *section = cfl_section(m->cfl, "Maps"); /* written by write_cfl */
    read_section(section, m);
    return VF_OK;
}

static vf_status read_state(map_file *m)
{
    int64_t whitened = 0, weighted = 0;
    vf_status status = VF_OK;
    if (vf_h5_attribute_exists(m->h5, m->name, "weighted"))
        status = vf_h5_attribute_get_integers(m->h5, m->name, "weighted", &weighted, 1);
    if (status == VF_OK && vf_h5_attribute_exists(m->h5, m->name, "whitened"))
        status = vf_h5_attribute_get_integers(m->h5, m->name, "whitened", &whitened, 1);
    if (status == VF_OK && vf_h5_attribute_exists(m->h5, m->name, "compressed_from"))
        status = vf_h5_attribute_get_integers(m->h5, m->name, "compressed_from", &m->compressed_from, 1);
    if (status == VF_OK && vf_h5_attribute_exists(m->h5, m->name, "compressed_along"))
        status = vf_h5_attribute_get_integers(m->h5, m->name, "compressed_along", &m->compressed_along, 1);
    m->whitened = whitened != 0;
    m->weighted = weighted != 0;
    return status;
}

static vf_status open_h5(map_file *m)
{
    vf_dtype type;
    int64_t dims[VF_H5_MAX_RANK];
    vf_status status = vf_h5_open(m->ctx, m->path, &m->h5);
    if (status != VF_OK)
        return status;
    m->name = vf_h5_exists(m->h5, DATASET) ? DATASET : OF_SCAN;
    if (!vf_h5_exists(m->h5, m->name))
        return vf_fail(m->ctx, VF_ERR_INPUT, "%s: there are no coil maps; expected a dataset %s or %s", m->path,
                       DATASET, OF_SCAN);
    status = vf_h5_dataset_shape(m->h5, m->name, &type, &m->rank, dims);
    if (status != VF_OK)
        return status;
    m->pair = vf_dtype_real(type) == type && m->rank > 0 && dims[m->rank - 1] == 2;
    m->rank -= m->pair;
    bool valid = m->rank >= 3 && m->rank <= 6 && (m->pair || vf_dtype_real(type) != type);
    int64_t bytes = (int64_t)sizeof(float complex);
    for (int d = 0; valid && d < m->rank; d++)
        valid = dims[d] >= 1 && !__builtin_mul_overflow(bytes, dims[d], &bytes);
    if (!valid)
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: %s is not an array of coil maps; expected complex numbers [coil][z][y][x], "
                       "[place][coil][z][y][x], or [place][set][coil][z][y][x]",
                       m->path, m->name);
    for (int a = 0; a < 3; a++)
        m->matrix[a] = m->rank == 3 && a == 2 ? 1 : dims[m->rank - 1 - a];
    m->coils = dims[m->rank > 4 ? m->rank - 4 : 0];
    m->places = m->rank > 4 ? dims[0] : 1;
    m->sets = m->rank == 6 ? dims[1] : 1;
    return read_state(m);
}

static vf_status open_maps(vf_context *ctx, const char *path, map_file *m)
{
    *m = (map_file){.ctx = ctx, .path = path};
    return cfl_is_name(path) ? open_cfl(m) : open_h5(m);
}

/* Reads one set of a place, [coil][z][y][x]. */
static vf_status read_set(map_file *m, int64_t place, int64_t set, float complex *out)
{
    const int64_t count = m->coils * m->matrix[0] * m->matrix[1] * m->matrix[2];
    if (m->cfl)
        return cfl_read(m->cfl, (place * m->sets + set) * count, count, out);
    int64_t start[VF_H5_MAX_RANK] = {0}, counts[VF_H5_MAX_RANK] = {0};
    const int64_t whole[4] = {m->coils, m->matrix[2], m->matrix[1], m->matrix[0]};
    int d = 0;
    if (m->rank > 4) {
        start[d] = place;
        counts[d++] = 1;
    }
    if (m->rank == 6) {
        start[d] = set;
        counts[d++] = 1;
    }
    for (int i = 0; i < 4; i++)
        if (m->rank != 3 || i != 1)
            counts[d++] = whole[i];
    if (m->pair)
        counts[d] = 2;
    vf_status status = vf_h5_read(m->h5, m->name, m->pair ? VF_F32 : VF_C64, start, counts, out);
    const int64_t bad = status == VF_OK ? scan_first_not_finite(m->ctx, (const float *)out, 2 * count) : -1;
    if (bad < 0)
        return status;
    const int64_t at = bad / 2, *n = m->matrix;
    return vf_fail(m->ctx, VF_ERR_INPUT,
                   "%s: %s: the map of coil %" PRId64 " is %s at voxel (%" PRId64 ", %" PRId64 ", %" PRId64
                   "); all values must be finite numbers",
                   m->path, m->name, at / n[0] / n[1] / n[2], scan_not_finite_name(((const float *)out)[bad]),
                   at % n[0], at / n[0] % n[1], at / n[0] / n[1] % n[2]);
}

vf_status coil_map_matrix(vf_context *ctx, const char *path, int64_t matrix[3])
{
    map_file m;
    vf_status status = open_maps(ctx, path, &m);
    if (status == VF_OK)
        memcpy(matrix, m.matrix, sizeof m.matrix);
    close_maps(&m);
    return status;
}

/* ---- do the maps fit the scan? ---- */

static vf_status check_coils(const map_file *m, const coil_settings *coils, const mri_scan *raw)
{
    const compress_method by = m->compressed_along > 0 ? COMPRESS_GEOMETRIC : COMPRESS_PRINCIPAL;
    if (m->compressed_from > 0 && (m->compressed_from != raw->coils || m->coils != coils->compress))
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: maps for %" PRId64 " virtual coils, which --compress %" PRId64 " combined from %" PRId64
                       " coils; use them with the same scan (this one has %d coil%s) and the same --compress",
                       m->path, m->coils, m->coils, m->compressed_from, raw->coils, vf_plural(raw->coils));
    if (m->compressed_from > 0 && coils->compress_by != COMPRESS_BEST && coils->compress_by != by)
        return vf_fail(m->ctx, VF_ERR_INPUT, "%s: maps for the virtual coils of --compress-method %s; use them with it",
                       m->path, by == COMPRESS_GEOMETRIC ? "geometric" : "principal");
    /* maps as received belong to all channels, also to those that were left out */
    const bool of_all = raw->left_out && m->coils == raw->coils_before && !m->whitened;
    if (m->compressed_from == 0 && m->coils != raw->coils && !of_all)
        return vf_fail(m->ctx, VF_ERR_INPUT, "%s: maps of %" PRId64 " coil%s, but the scan has %d", m->path, m->coils,
                       vf_plural(m->coils), raw->coils);
    if (m->whitened && !raw->noise)
        return vf_fail(
            m->ctx, VF_ERR_INPUT,
            "%s: the maps are for coils with decorrelated noise, but this scan has no noise data; use them with the "
            "scan that they were saved from",
            m->path);
    if (m->compressed_from > 0 && !m->whitened && raw->noise)
        return vf_fail(
            m->ctx, VF_ERR_INPUT,
            "%s: the maps are for virtual coils without noise decorrelation, but this scan has noise data; use them "
            "with the scan that they were saved from",
            m->path);
    return VF_OK;
}

static vf_status check_space(const map_file *m, const mri_scan *raw, bool *cropped)
{
    const int64_t *n = m->matrix, *whole = raw->matrix, *crop = raw->crop;
    *cropped = memcmp(n, whole, sizeof m->matrix) != 0;
    if (*cropped && memcmp(n, crop, sizeof m->matrix) != 0)
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: maps of %" PRId64 " x %" PRId64 " x %" PRId64 " voxels; the scan's matrix is %" PRId64
                       " x %" PRId64 " x %" PRId64 ", cropped to %" PRId64 " x %" PRId64 " x %" PRId64,
                       m->path, n[0], n[1], n[2], whole[0], whole[1], whole[2], crop[0], crop[1], crop[2]);
    if (m->places != raw->places)
        return vf_fail(m->ctx, VF_ERR_INPUT, "%s: maps of %" PRId64 " slice%s, but the scan has %d", m->path, m->places,
                       vf_plural(m->places), raw->places);
    if (*cropped)
        vf_note(m->ctx,
                "note: %s: maps of %" PRId64 " x %" PRId64 " x %" PRId64 " voxels, which is the size after cropping; "
                "outside it the maps are taken as 0",
                m->path, n[0], n[1], n[2]);
    return VF_OK;
}

/* Copies cropped maps into the middle of the full matrix, which is zero. */
static void centre_maps(const map_file *m, const mri_scan *raw, const float complex *from, float complex *to)
{
    const int64_t *n = m->matrix, *whole = raw->matrix;
    int64_t first[3];
    for (int a = 0; a < 3; a++)
        first[a] = whole[a] / 2 - n[a] / 2;
    for (int64_t c = 0; c < m->coils; c++)
        for (int64_t z = 0; z < n[2]; z++)
            for (int64_t y = 0; y < n[1]; y++, from += n[0]) {
                const int64_t row = ((c * whole[2] + first[2] + z) * whole[1] + first[1] + y) * whole[0];
                memcpy(to + row + first[0], from, (size_t)n[0] * sizeof *to);
            }
}

static vf_status read_places(map_file *m, const mri_scan *raw, bool cropped, float complex *maps)
{
    const int64_t count = m->coils * m->matrix[0] * m->matrix[1] * m->matrix[2];
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    float complex *inner = NULL;
    vf_status status = VF_OK;
    if (cropped)
        status = scan_allocate(m->ctx, m->path, "coil maps", count, sizeof *inner, &inner);
    for (int64_t i = 0; i < m->places * m->read && status == VF_OK; i++) {
        float complex *to = maps + i * m->coils * voxels;
        status = read_set(m, i / m->read, i % m->read, cropped ? inner : to);
        if (status == VF_OK && cropped)
            centre_maps(m, raw, inner, to);
    }
    free(inner);
    for (int64_t c = 0; c < m->coils && status == VF_OK; c++)
        if (scan_all_zero((const float *)(maps + c * voxels), 2 * voxels))
            vf_warn(m->ctx,
                    "%s: the map of coil %" PRId64
                    " (counted from 0) is 0 everywhere, so this coil's data are not used",
                    m->path, c);
    if (status == VF_OK && scan_all_zero((const float *)maps, 2 * m->places * m->read * m->coils * voxels))
        status =
            vf_fail(m->ctx, VF_ERR_INPUT, "%s: the coil maps are 0 everywhere, so the image would be, too", m->path);
    return status;
}

/* Chooses the number of sets to read. */
static vf_status choose_sets(map_file *m, recon_map_sets wanted)
{
    m->read = wanted == RECON_SETS_ONE || m->sets == 1 ? 1 : RECON_MOST_SETS;
    if (wanted == RECON_SETS_TWO && m->sets == 1)
        return vf_fail(m->ctx, VF_ERR_INPUT,
                       "%s: --map-sets 2 needs two sets of maps (dimension 4 of a .cfl), but the file has one",
                       m->path);
    if (m->sets > m->read && m->read > 1)
        vf_note(m->ctx, "note: %s: %" PRId64 " sets of maps; the first %" PRId64 " are used", m->path, m->sets,
                m->read);
    return VF_OK;
}

/* Drops the second set if it is 0 at all places. */
static void drop_empty_sets(map_file *m, int64_t voxels, float complex *maps)
{
    const int64_t set = m->coils * voxels;
    bool empty = m->read > 1;
    for (int64_t p = 0; p < m->places && empty; p++)
        empty = scan_all_zero((const float *)(maps + (p * m->read + 1) * set), 2 * (m->read - 1) * set);
    for (int64_t p = 1; p < m->places && empty; p++)
        memmove(maps + p * set, maps + p * m->read * set, (size_t)set * sizeof *maps);
    m->read = empty ? 1 : m->read;
}

vf_status read_coil_maps(vf_context *ctx, const char *path, coil_settings *coils, mri_scan *raw)
{
    map_file m;
    bool cropped = false;
    float complex *maps = NULL;
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    vf_status status = open_maps(ctx, path, &m);
    if (status == VF_OK && coils->compress == COMPRESS_AUTO && raw->coils >= COMPRESS_FROM &&
        m.compressed_from == raw->coils)
        coils->compress = (int)m.coils; /* the components do not depend on how the number was found */
    VF_TRY(status, check_coils(&m, coils, raw));
    if (status == VF_OK && m.compressed_from > 0)
        coils->compress_by = m.compressed_along > 0 ? COMPRESS_GEOMETRIC : COMPRESS_PRINCIPAL;
    VF_TRY(status, check_space(&m, raw, &cropped));
    VF_TRY(status, choose_sets(&m, coils->sets));
    VF_TRY(status, scan_allocate(ctx, path, "coil maps", m.places * m.read * m.coils * voxels, sizeof *maps, &maps));
    VF_TRY(status, read_places(&m, raw, cropped, maps));
    if (status == VF_OK && m.coils != raw->coils && m.compressed_from == 0) {
        remove_map_rows((int)(m.places * m.read), (int)m.coils, raw->left_out, voxels, maps);
        m.coils = raw->coils;
    }
    if (status == VF_OK) {
        drop_empty_sets(&m, voxels, maps);
        raw->map_sets = (int)m.read;
        raw->maps_weighted = m.weighted;
        free(raw->sensitivity);
        raw->sensitivity = maps;
        raw->own_maps = raw->places > 1;
        raw->maps_whitened = m.whitened;
        raw->maps_compressed = m.compressed_from > 0;
        raw->compressed_along = (int)m.compressed_along;
        maps = NULL;
    }
    free(maps);
    close_maps(&m);
    return status;
}

/* ---- writing ---- */

/* A set of a place's maps; `zeros` [coil][z][y][x] if the place lacks it. */
static const float complex *set_of(const saved_maps *maps, int set, int64_t count, const float complex *zeros)
{
    return maps->data && set < maps->sets ? maps->data + set * count : zeros;
}

static bool any_weighted(const mri_scan *raw, const saved_maps *maps)
{
    bool weighted = false;
    for (int p = 0; p < raw->places; p++)
        weighted = weighted || (maps[p].data && maps[p].weighted);
    return weighted;
}

/* Writes a .cfl file, place by place. */
static vf_status write_cfl(vf_context *ctx, const char *path, const mri_scan *raw, const saved_maps *maps, int sets,
                           const float complex *zeros)
{
    const int64_t count = raw->coils * raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    int64_t dims[CFL_DIMS] = {raw->matrix[0], raw->matrix[1], raw->matrix[2], raw->coils};
    char sections[256];
    cfl_output *output;
    for (int d = CFL_MAPS; d < CFL_DIMS; d++)
        dims[d] = d == CFL_SLICE ? raw->places : d == CFL_MAPS ? sets : 1;
    snprintf(sections, sizeof sections,
             "# Maps\nwhitened %d compressed_from %d weighted %d compressed_along %d\n# Creator\n%s\n", raw->whitened,
             raw->compressed_from, any_weighted(raw, maps), raw->compressed_along, PROGRAM);
    vf_status status = cfl_create(ctx, path, dims, sections, &output);
    for (int i = 0; i < raw->places * sets && status == VF_OK; i++)
        status = cfl_append(output, set_of(&maps[i / sets], i % sets, count, zeros), count);
    if (status == VF_OK)
        return cfl_commit(&output);
    cfl_discard(&output);
    return status;
}

static vf_status describe_maps(vf_h5 *file, const mri_scan *raw, int sets, bool weights)
{
    const int64_t whitened = raw->whitened, from = raw->compressed_from, weighted = weights,
                  along = raw->compressed_along;
    const char *axes = sets > 1          ? "[place][set][coil][z][y][x]"
                       : raw->places > 1 ? "[place][coil][z][y][x]"
                                         : "[coil][z][y][x]";
    vf_status status = vf_h5_attribute_text(file, DATASET, "program", PROGRAM);
    VF_TRY(status, vf_h5_attribute_text(file, DATASET, "axis_order", axes));
    VF_TRY(status, vf_h5_attribute_integers(file, DATASET, "matrix", raw->matrix, 3));
    VF_TRY(status, vf_h5_attribute_doubles(file, DATASET, "fov_mm", raw->fov, 3));
    VF_TRY(status, vf_h5_attribute_integers(file, DATASET, "whitened", &whitened, 1));
    VF_TRY(status, vf_h5_attribute_integers(file, DATASET, "compressed_from", &from, 1));
    VF_TRY(status, vf_h5_attribute_integers(file, DATASET, "compressed_along", &along, 1));
    VF_TRY(status, vf_h5_attribute_integers(file, DATASET, "weighted", &weighted, 1));
    return status;
}

static vf_status write_h5(vf_context *ctx, const char *path, const mri_scan *raw, const saved_maps *maps, int sets,
                          const float complex *zeros)
{
    enum { AXES = 6 };
    const int64_t count = raw->coils * raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    const int rank = sets > 1 ? 6 : raw->places > 1 ? 5 : 4;
    int64_t dims[AXES] = {sets > 1 ? raw->places : 1, sets, raw->coils, raw->matrix[2], raw->matrix[1], raw->matrix[0]};
    int64_t start[AXES] = {0};
    const int axis = sets > 1 ? 0 : 1; /* the axis of places */
    vf_h5 *file;
    dims[axis] = raw->places;
    const int skip = AXES - rank;
    vf_status status = vf_h5_create(ctx, path, &file);
    VF_TRY(status, vf_h5_dataset_create(file, DATASET, VF_C64, rank, dims + skip, NULL, 0));
    VF_TRY(status, describe_maps(file, raw, sets, any_weighted(raw, maps)));
    dims[0] = dims[1] = 1;
    for (int i = 0; i < raw->places * sets && status == VF_OK; i++) {
        start[axis] = i / sets;
        start[1] = sets > 1 ? i % sets : start[1];
        status = vf_h5_write(file, DATASET, VF_C64, start + skip, dims + skip,
                             set_of(&maps[i / sets], i % sets, count, zeros));
    }
    if (status == VF_OK)
        return vf_h5_commit(&file);
    vf_h5_close(&file);
    return status;
}

vf_status keep_coil_maps(vf_result *result, const mri_scan *raw, const saved_maps *maps)
{
    const size_t count = (size_t)(raw->coils * raw->matrix[0] * raw->matrix[1] * raw->matrix[2]);
    int64_t sets = 1;
    float complex *to = NULL;
    for (int p = 0; p < raw->places; p++)
        sets = maps[p].data && maps[p].sets > sets ? maps[p].sets : sets;
    const int64_t dims[] = {raw->places, sets, raw->coils, raw->matrix[2], raw->matrix[1], raw->matrix[0]};
    const vf_status status = result_new(result, "maps", VF_C64, 6, dims, &to);
    for (int p = 0; status == VF_OK && p < raw->places; p++)
        if (maps[p].data)
            memcpy(to + (size_t)(p * sets) * count, maps[p].data, (size_t)maps[p].sets * count * sizeof *to);
    return status;
}

vf_status write_coil_maps(vf_context *ctx, const char *path, const mri_scan *raw, const saved_maps *maps)
{
    const int64_t count = raw->coils * raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    int sets = 1;
    bool all = true;
    float complex *zeros = NULL;
    for (int p = 0; p < raw->places; p++)
        sets = maps[p].data && maps[p].sets > sets ? maps[p].sets : sets;
    for (int p = 0; p < raw->places; p++)
        all = all && maps[p].data && maps[p].sets == sets;
    if (!all) { /* some places have no frame, or fewer sets */
        zeros = calloc((size_t)count, sizeof *zeros);
        if (!zeros)
            return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for coil maps", path);
    }
    vf_status status =
        cfl_is_name(path) ? write_cfl(ctx, path, raw, maps, sets, zeros) : write_h5(ctx, path, raw, maps, sets, zeros);
    if (status == VF_OK && (raw->whitened || raw->compressed_from))
        vf_note(ctx,
                "note: %s: the maps are for the coils after %s%s%s; the file records this, so it works with this scan",
                path, raw->whitened ? "noise decorrelation" : "", raw->whitened && raw->compressed_from ? " and " : "",
                raw->compressed_from ? "compression (--compress)" : "");
    free(zeros);
    return status;
}
