/* Writes noise maps in the formats of images: HDF5 with its own names, other formats as volumes of magnitude. */
#include <stdlib.h>

#include "image_files.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"

/* Writes one of the two halves of the map, [volume][z][y][x]. */
static vf_status write_half(vf_context *ctx, vf_h5 *file, const recon_image *map, const char *name, int64_t first,
                            const char *quantity)
{
    const int64_t half = map->frames / 2, voxels = image_volume(map);
    const int64_t dims[4] = {half, map->counts[2], map->counts[1], map->counts[0]};
    const int64_t chunk[4] = {1, 1, map->counts[1], map->counts[0]}, count[4] = {1, dims[1], dims[2], dims[3]};
    float *values = malloc((size_t)voxels * sizeof *values);
    vf_status status = values ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory to write the noise map");
    VF_TRY(status, vf_h5_dataset_create(file, name, VF_F32, 4, dims, chunk, 0));
    VF_TRY(status, vf_h5_attribute_text(file, name, "quantity", quantity));
    VF_TRY(status, vf_h5_attribute_text(file, name, "axis_order", "[volume][z][y][x]"));
    VF_TRY(status, vf_h5_attribute_doubles(file, name, "voxel_size", map->voxel, 3));
    for (int64_t v = 0; v < half && status == VF_OK; v++) {
        const int64_t start[4] = {v};
        for (int64_t n = 0; n < voxels; n++)
            values[n] = crealf(map->data[(first + v) * voxels + n]);
        status = vf_h5_write(file, name, VF_F32, start, count, values);
    }
    free(values);
    return status;
}

vf_status write_noise_map(vf_context *ctx, const recon_image *map, const char *path)
{
    vf_h5 *file = NULL;
    if (!vf_path_has_extension(path, ".h5 .hdf5"))
        return write_image(ctx, map, path);
    vf_status status = vf_h5_create(ctx, path, &file);
    VF_TRY(status, write_half(ctx, file, map, "noise", 0,
                              "standard deviation of the noise of a complex voxel, sqrt(E|n|^2), in the image's unit"));
    VF_TRY(status, write_half(ctx, file, map, "g_factor", map->frames / 2,
                              "noise over the least that as many samples could leave: 1 is best"));
    VF_TRY(status, vf_h5_attribute_text(file, "/", "program", map->program));
    VF_TRY(status, vf_h5_attribute_text(file, "/", "command", map->command));
    VF_TRY(status, vf_h5_attribute_text(file, "/", "method", map->method));
    VF_TRY(status, vf_h5_commit(&file));
    vf_h5_close(&file);
    return status;
}
