/* What the formats of meshes share. */
#ifndef MESH_ELEMENTS_H
#define MESH_ELEMENTS_H

#include "voxfield/mesh_files.h"
#include "voxfield/output.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files of meshes are written as they are in memory");

vf_color mesh_color(const vf_mesh *mesh, const vf_mesh_paint *paint, int64_t vertex);

/* Calls `put` for each of `count` elements of `size` bytes, and writes them in large pieces. */
VF_MUST_CHECK vf_status mesh_write_elements(vf_context *ctx, vf_output *out, int64_t count, size_t size,
                                            void (*put)(const void *user, int64_t n, uint8_t *to), const void *user);

VF_MUST_CHECK vf_status mesh_write_ply(vf_context *ctx, vf_output *out, const vf_mesh *mesh, const vf_mesh_paint *paint,
                                       const vf_mesh_words *words);
VF_MUST_CHECK vf_status mesh_write_glb(vf_context *ctx, vf_output *out, const vf_mesh *mesh, const vf_mesh_paint *paint,
                                       const vf_mesh_words *words);

#endif
