/* Coil map files (docs/scans.md): HDF5 or BART's. */
#ifndef COIL_MAP_FILE_H
#define COIL_MAP_FILE_H

#include "coil_settings.h"
#include "result.h"
#include "scan/mri_scan.h"

/* Whether the path has an extension of coil map files (.cfl .hdr .h5 .hdf5). */
bool coil_map_is_name(const char *path);

/* Reads the size of the maps in a file: voxels along x, y, z. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status coil_map_matrix(vf_context *ctx, const char *path, int64_t matrix[3]);

/* Replaces raw->sensitivity with the maps of a file. Their size is raw->matrix, or raw->crop: then they go into the
 * middle of the matrix, with 0 around. Their coils are either the scan's original coils, or those after whitening and
 * compression to coils->compress coils, which becomes theirs if it is COMPRESS_AUTO, as does coils->compress_by if it is
 * COMPRESS_BEST. coils->sets selects the sets: AUTO takes two, unless the second is 0. Errors: VF_ERR_INPUT (a size that does
 * not fit, with both sizes named; one set where two are wanted); VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_coil_maps(vf_context *ctx, const char *path, coil_settings *coils, mri_scan *raw);

/* Maps of a place, [set][coil][z][y][x]. */
typedef struct saved_maps {
    int sets;
    bool weighted;             /* they fade as vf_espirit's do */
    const float complex *data; /* NULL: written as 0 */
} saved_maps;

/* Writes the maps [raw->places] of raw->matrix to .h5 or .cfl, atomically. The file has as many sets as the place with
 * most sets; missing sets are 0. The file and a note say if the coils were whitened or compressed. Errors:
 * VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status write_coil_maps(vf_context *ctx, const char *path, const mri_scan *raw, const saved_maps *maps);

/* The maps of all places as "maps" [place][set][coil][z][y][x] of a call's result. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status keep_coil_maps(vf_result *result, const mri_scan *raw, const saved_maps *maps);

#endif
