/* Coil maps in files of their own (docs/scans.md): HDF5, or BART's. */
#ifndef COIL_MAP_FILE_H
#define COIL_MAP_FILE_H

#include "scan/mri_scan.h"

/* Whether a name ends in one of the extensions of coil map files (.cfl .hdr .h5 .hdf5). */
bool coil_map_is_name(const char *path);

/* The voxels along x, y, z of the maps in a file. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status coil_map_matrix(vf_context *ctx, const char *path, int64_t matrix[3]);

/* Puts the maps of a file into raw->sensitivity, in place of the scan's own. They are for raw->matrix, or for raw->crop
 * (then put into the middle of the matrix, with 0 around), and either for the coils as they were received, or for those
 * that whitening and --compress (`compress` coils) made of them. Of several sets `wanted` says which: AUTO takes two,
 * unless the second is 0. Errors: VF_ERR_INPUT, naming both sizes, or where two sets are wanted and one is there;
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_coil_maps(vf_context *ctx, const char *path, int compress, recon_map_sets wanted,
                                       mri_scan *raw);

/* Maps of a place, [set][coil][z][y][x]. */
typedef struct saved_maps {
    int sets;
    bool weighted;             /* they fade as vf_espirit's do */
    const float complex *data; /* NULL: 0 */
} saved_maps;

/* Writes the maps of all places, raw->places of raw->matrix, to .h5 or .cfl, atomically; as many sets as any of them
 * has, 0 where one has fewer. Notes what was done to the coils before. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status write_coil_maps(vf_context *ctx, const char *path, const mri_scan *raw, const saved_maps *maps);

#endif
