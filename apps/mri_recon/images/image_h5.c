/* HDF5 images: the dataset /image [frame][z][y][x] of complex numbers, with its description in attributes, and /affine
 * [frame][3][4] with the position of each volume. */
#include <stdlib.h>
#include <string.h>

#include "image_files.h"
#include "voxfield/hdf5_io.h"

enum {
    FORMAT_VERSION = 1,
    LEVEL = 0,             /* no compression: low bits are noise; shuffle and deflate would save only a seventh */
    CHUNK_VOXELS = 1 << 17 /* 1 MiB, the size of HDF5's chunk cache */
};

static const char DATASET[] = "image", AFFINE[] = "affine";

/* Whole slices, or rows of a large slice: contiguous in memory. */
static void choose_chunk(const recon_image *image, int64_t chunk[4])
{
    int64_t room = CHUNK_VOXELS;
    chunk[0] = 1;
    for (int a = 0; a < 3; a++) {
        chunk[3 - a] = image->counts[a] < room ? image->counts[a] : room;
        room /= chunk[3 - a];
        if (room < 1)
            room = 1;
    }
}

static vf_status describe_file(vf_h5 *file, const recon_image *image)
{
    const int64_t version = FORMAT_VERSION;
    const vf_h5_text texts[] = {{"format", "voxfield image"},  {"program", image->program}, {"command", image->command},
                                {"created", image->created},   {"input", image->input},     {"method", image->method},
                                {"scan_sha256", image->digest}};
    vf_status status = vf_h5_attribute_texts(file, "/", texts, sizeof texts / sizeof *texts);
    VF_TRY(status, vf_h5_attribute_integers(file, "/", "format_version", &version, 1));
    return status;
}

static const char *coordinates(const recon_image *image)
{
    return image->geometry.known ? "patient: LPS (x to the left, y to the back, z to the head), mm"
                                 : "the image's own axes, mm: the scan does not say how the patient lies";
}

static vf_status describe_dataset(vf_h5 *file, const recon_image *image)
{
    double affine[3][4], origin[3];
    const scan_geometry *g = &image->geometry;
    const int64_t known = g->known;
    image_affine(image, 0, affine);
    for (int a = 0; a < 3; a++)
        origin[a] = affine[a][3];
    const vf_h5_text texts[] = {
        {"quantity", "magnetization (complex; arbitrary unit)"},
        {"axis_order",
         image->place_geometry
             ? "[frame][z][y][x]; the frames lie at different places: see /affine; what is said here is of frame 0"
             : "[frame][z][y][x]; the centre of voxel [k][j][i] is at origin + i * step_x + j * step_y + k * step_z"},
        {"coordinates", coordinates(image)}};
    const struct {
        const char *name;
        double values[3];
    } vectors[] = {{"voxel_size", {image->voxel[0], image->voxel[1], image->voxel[2]}},
                   {"origin", {origin[0], origin[1], origin[2]}},
                   {"centre", {g->centre[0], g->centre[1], g->centre[2]}},
                   {"direction_x", {g->direction[0][0], g->direction[0][1], g->direction[0][2]}},
                   {"direction_y", {g->direction[1][0], g->direction[1][1], g->direction[1][2]}},
                   {"direction_z", {g->direction[2][0], g->direction[2][1], g->direction[2][2]}},
                   {"step_x", {affine[0][0], affine[1][0], affine[2][0]}},
                   {"step_y", {affine[0][1], affine[1][1], affine[2][1]}},
                   {"step_z", {affine[0][2], affine[1][2], affine[2][2]}}};
    vf_status status = vf_h5_attribute_texts(file, DATASET, texts, sizeof texts / sizeof *texts);
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors && status == VF_OK; v++)
        status = vf_h5_attribute_doubles(file, DATASET, vectors[v].name, vectors[v].values, 3);
    VF_TRY(status, vf_h5_attribute_doubles(file, DATASET, "slice_step", &g->slice_step, 1));
    VF_TRY(status, vf_h5_attribute_integers(file, DATASET, "patient_coordinates_known", &known, 1));
    return status;
}

/* Writes the affine of each volume. */
static vf_status write_affines(vf_h5 *file, const recon_image *image)
{
    enum { CHUNK = 1 << 13 }; /* volumes: 768 KiB */
    const int64_t dims[3] = {image->frames, 3, 4}, one[3] = {1, 3, 4};
    const int64_t chunk[3] = {image->frames < CHUNK ? image->frames : CHUNK, 3, 4};
    const vf_h5_text texts[] = {
        {"axis_order", "[frame][3][4]; the centre of voxel [frame][k][j][i] is at affine[frame] . (i, j, k, 1)"},
        {"coordinates", coordinates(image)}};
    vf_status status = vf_h5_dataset_create(file, AFFINE, VF_F64, 3, dims, chunk, LEVEL);
    VF_TRY(status, vf_h5_attribute_texts(file, AFFINE, texts, sizeof texts / sizeof *texts));
    for (int64_t frame = 0; frame < image->frames && status == VF_OK; frame++) {
        const int64_t start[3] = {frame, 0, 0};
        double affine[3][4];
        image_affine(image, frame, affine);
        status = vf_h5_write(file, AFFINE, VF_F64, start, one, affine);
    }
    return status;
}

static vf_status write_h5(vf_context *ctx, const recon_image *image, const char *path)
{
    const int64_t dims[4] = {image->frames, image->counts[2], image->counts[1], image->counts[0]};
    const int64_t start[4] = {0};
    int64_t chunk[4];
    vf_h5 *file;
    choose_chunk(image, chunk);
    vf_status status = vf_h5_create(ctx, path, &file);
    VF_TRY(status, describe_file(file, image));
    VF_TRY(status, vf_h5_dataset_create(file, DATASET, VF_C64, 4, dims, chunk, LEVEL));
    VF_TRY(status, describe_dataset(file, image));
    VF_TRY(status, write_affines(file, image));
    VF_TRY(status, vf_h5_write(file, DATASET, VF_C64, start, dims, image->data));
    if (status == VF_OK)
        return vf_h5_commit(&file);
    vf_h5_close(&file);
    return status;
}

const image_format image_h5 = {".h5 .hdf5", write_h5};

/* ---- reading ---- */

/* Reads the shape [frame][z][y][x] of a dataset with 2 to 4 dimensions. */
static vf_status read_shape(vf_context *ctx, vf_h5 *file, const char *path, vf_dtype *type, int *rank, int64_t *dims,
                            recon_image *out)
{
    int64_t total = 1;
    vf_status status = vf_h5_dataset_shape(file, DATASET, type, rank, dims);
    if (status != VF_OK)
        return status;
    int64_t shape[4] = {1, 1, 1, 1};
    for (int d = 0; d < *rank && *rank <= 4; d++)
        shape[4 - *rank + d] = dims[d];
    bool valid = *rank >= 2 && *rank <= 4;
    for (int d = 0; d < 4; d++)
        valid = valid && shape[d] >= 1 && !__builtin_mul_overflow(total, shape[d], &total);
    if (!valid || shape[0] > INT32_MAX || total > INT64_MAX / (int64_t)sizeof *out->data)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the dataset 'image' is not an image; expected [frame][z][y][x]", path);
    out->frames = (int)shape[0];
    for (int a = 0; a < 3; a++)
        out->counts[a] = shape[3 - a];
    return VF_OK;
}

/* Keeps the defaults of attributes that files of other programs may lack. */
static vf_status read_geometry(vf_h5 *file, recon_image *out)
{
    scan_geometry *g = &out->geometry;
    int64_t known = 0;
    const struct {
        const char *name;
        double *values;
        int n;
    } vectors[] = {{"voxel_size", out->voxel, 3},       {"centre", g->centre, 3},
                   {"direction_x", g->direction[0], 3}, {"direction_y", g->direction[1], 3},
                   {"direction_z", g->direction[2], 3}, {"slice_step", &g->slice_step, 1}};
    vf_status status = VF_OK;
    out->sized = vf_h5_attribute_exists(file, DATASET, "voxel_size");
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors && status == VF_OK; v++)
        if (vf_h5_attribute_exists(file, DATASET, vectors[v].name))
            status = vf_h5_attribute_get_doubles(file, DATASET, vectors[v].name, vectors[v].values, vectors[v].n);
    if (status == VF_OK && vf_h5_attribute_exists(file, DATASET, "patient_coordinates_known"))
        status = vf_h5_attribute_get_integers(file, DATASET, "patient_coordinates_known", &known, 1);
    g->known = known != 0;
    return status;
}

/* Sets places to the number of volumes if their affines differ, else to 1. */
static vf_status read_places(vf_context *ctx, vf_h5 *file, recon_image *out)
{
    int rank;
    vf_dtype type;
    int64_t dims[VF_H5_MAX_RANK], start[3] = {0};
    out->places = 1;
    if (!vf_h5_exists(file, AFFINE) || out->frames < 2)
        return VF_OK;
    vf_status status = vf_h5_dataset_shape(file, AFFINE, &type, &rank, dims);
    if (status != VF_OK || rank != 3 || dims[0] != out->frames || dims[1] != 3 || dims[2] != 4)
        return status; /* of another program */
    double *affine = malloc((size_t)out->frames * 12 * sizeof *affine);
    if (!affine)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the positions of %d volumes", out->frames);
    status = vf_h5_read(file, AFFINE, VF_F64, start, dims, affine);
    for (int f = 1; status == VF_OK && f < out->frames; f++)
        if (memcmp(affine + 12 * (int64_t)f, affine, 12 * sizeof *affine) != 0)
            out->places = out->frames;
    free(affine);
    return status;
}

vf_status image_read_h5(vf_context *ctx, const char *path, recon_image *out)
{
    int rank;
    vf_h5 *file = NULL;
    vf_dtype type;
    int64_t dims[VF_H5_MAX_RANK];
    const int64_t start[VF_H5_MAX_RANK] = {0};
    vf_status status = vf_h5_open(ctx, path, &file);
    if (status == VF_OK && !vf_h5_exists(file, DATASET))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: dataset 'image' is missing", path);
    VF_TRY(status, read_shape(ctx, file, path, &type, &rank, dims, out));
    VF_TRY(status, read_geometry(file, out));
    VF_TRY(status, read_places(ctx, file, out));
    if (status != VF_OK)
        goto done;
    status = image_allocate(ctx, path, out);
    if (status != VF_OK)
        goto done;
    const int64_t voxels = image_volume(out) * out->frames;
    const bool real = vf_dtype_real(type) == type;
    status = vf_h5_read(file, DATASET, real ? VF_F32 : VF_C64, start, dims, out->data);
    if (status == VF_OK && real)
        image_widen(out->data, voxels);
done:
    vf_h5_close(&file);
    return status;
}
