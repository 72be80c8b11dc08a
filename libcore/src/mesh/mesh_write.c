#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh_elements.h"

enum { HEAD = 2048 }; /* about what comes before the vertices */

vf_color mesh_color(const vf_mesh *mesh, const vf_mesh_paint *paint, int64_t vertex)
{
    const double value = mesh->value ? (double)mesh->value[vertex] : (double)NAN;
    return vf_colormap_at(paint->map, (value - paint->low) / (paint->high - paint->low));
}

vf_status mesh_write_elements(vf_context *ctx, vf_output *out, int64_t count, size_t size,
                              void (*put)(const void *user, int64_t n, uint8_t *to), const void *user)
{
    enum { PIECE = 1 << 14 };
    uint8_t *piece = malloc(PIECE * size);
    vf_status status = piece ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory to write a mesh");
    for (int64_t first = 0; status == VF_OK && first < count; first += PIECE) {
        const int64_t n = count - first < PIECE ? count - first : PIECE;
        for (int64_t i = 0; i < n; i++)
            put(user, first + i, piece + (size_t)i * size);
        status = vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted")
                                   : vf_output_write(out, piece, (size_t)n * size);
    }
    free(piece);
    return status;
}

vf_status vf_mesh_check_path(vf_context *ctx, const char *path)
{
    if (vf_path_has_extension(path, ".ply .glb"))
        return VF_OK;
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: unknown file extension; use .ply or .glb for a mesh", path);
}

vf_status vf_mesh_write(vf_context *ctx, const char *path, const vf_mesh *mesh, const vf_mesh_paint *paint,
                        const vf_mesh_words *words)
{
    vf_output *out = NULL;
    vf_status status = vf_mesh_check_path(ctx, path);
    VF_TRY(status, vf_output_open(ctx, path, &out));
    if (status == VF_OK)
        status = (vf_path_has_extension(path, ".glb") ? mesh_write_glb : mesh_write_ply)(ctx, out, mesh, paint, words);
    VF_TRY(status, vf_output_commit(&out));
    vf_output_discard(&out);
    return status;
}

double vf_mesh_file_bytes(const char *path, const vf_mesh *mesh)
{
    const bool glb = vf_path_has_extension(path, ".glb");
    const double vertex = (glb ? 28 : 27) + (mesh->value ? 4 : 0), triangle = glb ? 12 : 13;
    return HEAD + vertex * (double)mesh->vertices + triangle * (double)mesh->triangles;
}
