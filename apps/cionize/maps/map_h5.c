/* HDF5 maps: the dataset /potential [z][y][x], with its description in attributes. */
#include <stdlib.h>
#include <string.h>

#include "map_common.h"
#include "molecule/molecule_part.h"
#include "voxfield/hdf5_io.h"

enum {
    LEVEL = 1, /* deflate; after the shuffle, higher levels gain little and cost much */
    FORMAT_VERSION = 1,
    CHUNK_LAYERS = 16,
    CHUNK_VALUES = 1 << 16, /* 256 KiB of floats: large enough to compress well, small enough to read a plane */
    BUFFER_BYTES = 64 << 20 /* layers wait here until a row of chunks is complete */
};

static const char DATASET[] = "potential";

typedef struct h5_state {
    map_progress map;
    vf_h5 *file;
    int64_t thickness; /* layers in a chunk */
    char *buffer;      /* [thickness][y][x]: layers of an incomplete chunk */
    int64_t buffered;  /* layers in it */
    int64_t stored;    /* layers in the file */
} h5_state;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Divides `count` points into equal chunks of about `edge`. */
static int64_t chunk_edge(int64_t count, int64_t edge)
{
    int64_t chunks = (count + edge - 1) / edge;
    return (count + chunks - 1) / chunks;
}

/* Chooses chunks of CHUNK_VALUES, as thick as the buffer allows. */
static void choose_chunk(const map_progress *map, int64_t *chunk)
{
    const int64_t *counts = map->info->grid.counts;
    int64_t layer_bytes = map_layer_values(map) * (int64_t)vf_dtype_bytes(map->info->type);
    int64_t layers = smaller(CHUNK_LAYERS, counts[2]);
    while (layers > 1 && layers > BUFFER_BYTES / layer_bytes)
        layers /= 2;
    int64_t edge = 1;
    while (edge * edge * layers < CHUNK_VALUES)
        edge *= 2;
    chunk[0] = layers;
    chunk[1] = chunk_edge(counts[1], edge);
    chunk[2] = chunk_edge(counts[0], CHUNK_VALUES / (layers * smaller(edge, chunk[1])));
}

typedef struct number_attribute {
    const char *name;
    const double *values;
    int n;
} number_attribute;

static vf_status write_numbers(vf_h5 *file, const char *object, const number_attribute *numbers, size_t n)
{
    vf_status status = VF_OK;
    for (size_t i = 0; i < n && status == VF_OK; i++)
        status = vf_h5_attribute_doubles(file, object, numbers[i].name, numbers[i].values, numbers[i].n);
    return status;
}

static vf_status describe_file(vf_h5 *file, const map_info *info)
{
    const int64_t version = FORMAT_VERSION;
    const vf_h5_text texts[] = {
        {"format", "voxfield map"},
        {"program", info->program},
        {"command", info->command},
        {"created", info->created},
        {"input", info->input},
        {"method", info->method},
        {"input_sha256", info->molecule->digest},
    };
    const double total = molecule_whole_charge(info->molecule);
    const number_attribute numbers[] = {{"total_charge", &total, 1},
                                        {"solute_charge", &info->molecule->total_charge, 1}};
    vf_status status = vf_h5_attribute_texts(file, "/", texts, sizeof texts / sizeof *texts);
    VF_TRY(status, write_numbers(file, "/", numbers, info->molecule->of_whole ? 2 : 1));
    VF_TRY(status, vf_h5_attribute_integers(file, "/", "format_version", &version, 1));
    return status;
}

/* Attributes that only a potential has. */
static vf_status describe_potential(vf_h5 *file, const map_info *info)
{
    const vf_h5_text texts[] = {
        {"unit", info->unit},
        {"dielectric_model", info->distance_dielectric ? "eps(r) = dielectric * r / angstrom" : "eps = dielectric"},
    };
    const number_attribute numbers[] = {{"unit_constant", &info->unit_constant, 1},
                                        {"temperature", &info->temperature, 1},
                                        {"dielectric", &info->dielectric, 1},
                                        {"r_min", &info->r_min, 1}};
    vf_status status = vf_h5_attribute_texts(file, DATASET, texts, sizeof texts / sizeof *texts);
    VF_TRY(status, write_numbers(file, DATASET, numbers, sizeof numbers / sizeof *numbers));
    if (status == VF_OK && info->sigma > 0)
        status = vf_h5_attribute_doubles(file, DATASET, "sigma", &info->sigma, 1);
    return status;
}

static vf_status describe_dataset(vf_h5 *file, const map_info *info)
{
    const vf_h5_text texts[] = {
        {"quantity", info->quantity},
        {"length_unit", "angstrom"},
        {"axis_order",
         "[z][y][x]; the value [k][j][i] is at origin + (i, j, k) * spacing; origin, spacing and counts are x, y, z"},
    };
    const number_attribute numbers[] = {{"origin", info->grid.origin, 3}, {"spacing", info->grid.spacing, 3}};
    vf_status status = vf_h5_attribute_texts(file, DATASET, texts, sizeof texts / sizeof *texts);
    VF_TRY(status, write_numbers(file, DATASET, numbers, sizeof numbers / sizeof *numbers));
    VF_TRY(status, vf_h5_attribute_integers(file, DATASET, "counts", info->grid.counts, 3));
    if (status == VF_OK && info->selection)
        status = vf_h5_attribute_text(file, DATASET, "selection", info->selection);
    if (status == VF_OK && info->grid.cell.kind != VF_CELL_NONE)
        status = vf_h5_attribute_doubles(file, DATASET, "cell", info->grid.cell.vectors[0], 9);
    if (status == VF_OK && info->grid.cell.kind != VF_CELL_NONE)
        status = vf_h5_attribute_text(file, DATASET, "boundary", info->vacuum ? "vacuum" : "tinfoil");
    return status == VF_OK && *info->unit ? describe_potential(file, info) : status;
}

static void h5_discard(void *pointer)
{
    h5_state *state = pointer;
    if (!state)
        return;
    vf_h5_close(&state->file);
    map_end(&state->map);
    free(state->buffer);
    free(state);
}

static vf_status h5_begin(vf_context *ctx, const char *path, const map_info *info, void **out)
{
    vf_status status = VF_OK;
    int64_t chunk[3];
    const int64_t dims[3] = {info->grid.counts[2], info->grid.counts[1], info->grid.counts[0]};
    *out = NULL;
    h5_state *state = calloc(1, sizeof *state);
    if (!state)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the map", path);
    status = map_begin(&state->map, ctx, &map_h5, path, info);
    if (status != VF_OK)
        goto done;
    choose_chunk(&state->map, chunk);
    state->thickness = chunk[0];
    size_t buffer_bytes = (size_t)(chunk[0] * map_layer_values(&state->map)) * vf_dtype_bytes(info->type);
    state->buffer = malloc(buffer_bytes);
    if (!state->buffer) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %zu bytes of the map", path, buffer_bytes);
        goto done;
    }
    status = vf_h5_create(ctx, path, &state->file);
    VF_TRY(status, describe_file(state->file, info));
    VF_TRY(status, vf_h5_dataset_create(state->file, DATASET, info->type, 3, dims, chunk, LEVEL));
    VF_TRY(status, describe_dataset(state->file, info));
    if (status != VF_OK)
        goto done;
    *out = state;
    state = NULL;
done:
    h5_discard(state);
    return status;
}

/* Stores the next `layers` layers: whole chunks, or the last chunk of the map. */
static vf_status store(h5_state *state, int64_t layers, const char *values)
{
    const int64_t *counts = state->map.info->grid.counts;
    const int64_t start[3] = {state->stored, 0, 0}, count[3] = {layers, counts[1], counts[0]};
    vf_status status = vf_h5_write(state->file, DATASET, state->map.info->type, start, count, values);
    state->stored += layers;
    return status;
}

static vf_status h5_write(void *pointer, int64_t first, int64_t count, const void *data)
{
    h5_state *state = pointer;
    const int64_t thickness = state->thickness;
    const size_t layer = (size_t)map_layer_values(&state->map) * vf_dtype_bytes(state->map.info->type);
    const char *values = data;
    vf_status status = map_take(&state->map, first, count, data);
    while (status == VF_OK && count > 0) {
        int64_t layers = smaller(count, thickness - state->buffered);
        if (state->buffered == 0 && count >= thickness) {
            layers = count / thickness * thickness;
            status = store(state, layers, values);
        } else {
            memcpy(state->buffer + (size_t)state->buffered * layer, values, (size_t)layers * layer);
            state->buffered += layers;
        }
        bool complete = state->stored + state->buffered == map_layers(&state->map);
        if (status == VF_OK && state->buffered > 0 && (state->buffered == thickness || complete)) {
            status = store(state, state->buffered, state->buffer);
            state->buffered = 0;
        }
        values += (size_t)layers * layer;
        count -= layers;
    }
    return status;
}

/* What is known only after the last layer. */
static vf_status describe_error(vf_h5 *file, const map_info *info)
{
    const map_error *e = &info->error;
    const number_attribute numbers[] = {
        {"error_asked", &e->asked, 1}, {"error_rms", &e->rms, 1}, {"error_largest", &e->largest, 1}};
    const number_attribute differences[] = {
        {"cutoff", &e->cutoff, 1}, {"difference_rms", &e->rms, 1}, {"difference_largest", &e->largest, 1}};
    const bool cut_off = e->cutoff > 0;
    if (!*info->unit || (e->asked == 0 && !cut_off))
        return VF_OK;
    const size_t known = e->points > 0 ? sizeof numbers / sizeof *numbers : 1;
    vf_status status = write_numbers(file, DATASET, cut_off ? differences : numbers, known);
    return status == VF_OK
               ? vf_h5_attribute_integers(file, DATASET, cut_off ? "difference_points" : "error_points", &e->points, 1)
               : status;
}

static vf_status h5_commit(void *pointer, double minimum, double maximum, double mean, double rms)
{
    h5_state *state = pointer;
    const number_attribute numbers[] = {
        {"minimum", &minimum, 1}, {"maximum", &maximum, 1}, {"mean", &mean, 1}, {"rms", &rms, 1}};
    vf_status status = map_complete(&state->map);
    VF_TRY(status, write_numbers(state->file, DATASET, numbers, sizeof numbers / sizeof *numbers));
    VF_TRY(status, describe_error(state->file, state->map.info));
    VF_TRY(status, vf_h5_commit(&state->file));
    h5_discard(state);
    return status;
}

const map_format map_h5 = {.name = "HDF5",
                           .extensions = ".h5 .hdf5",
                           .order = MAP_X_FASTEST,
                           .max_points = 0,
                           .max_reason = "",
                           .bytes_per_value = {3.5, 7},
                           .bytes_besides = 12600,
                           .begin = h5_begin,
                           .write = h5_write,
                           .commit = h5_commit,
                           .discard = h5_discard};
