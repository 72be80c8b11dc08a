/* Voxfield - files of meshes: PLY and glTF, for viewers and for programs.
 *
 * PLY (Turk, 1994): binary, little endian. Vertices have x, y, z, nx, ny, nz, red, green, blue and, if the mesh has values, the value
 * as a property of its name; NaN where there is none. Faces are lists of vertex indices.
 *
 * GLB: binary glTF 2.0 (Khronos): one mesh with positions, normals, colours, and, if the mesh has values and none is NaN, the value as
 * the attribute _NAME, in capitals. z points upwards in the mesh and y in glTF; a node turns it. One unit of length is one metre to a
 * viewer of glTF; the file says what it means in `asset.extras`.
 */
#ifndef VOXFIELD_MESH_FILES_H
#define VOXFIELD_MESH_FILES_H

#include "voxfield/mesh_picture.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the file says. Texts are one line each, of any characters. */
typedef struct vf_mesh_words {
    const char *value;   /* the value's name, of letters: "height" */
    const char *unit;    /* of the value: "m" */
    const char *length;  /* the unit of length: "nm" */
    const char *comment; /* what it is */
    const char *program; /* that wrote it */
} vf_mesh_words;

/* By the extension: VF_ERR_ARGUMENT unless it is .ply or .glb. */
VF_MUST_CHECK vf_status vf_mesh_check_path(vf_context *ctx, const char *path);

/* Writes the file, atomically (output.h). Errors: as above; VF_ERR_OUTPUT, VF_ERR_MEMORY; VF_ERR_UNSUPPORTED (a .glb of more than
 * 4 GiB). */
VF_MUST_CHECK vf_status vf_mesh_write(vf_context *ctx, const char *path, const vf_mesh *mesh,
                                      const vf_mesh_paint *paint, const vf_mesh_words *words);

/* Bytes of the file. */
double vf_mesh_file_bytes(const char *path, const vf_mesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
