/* Coil maps in files of their own (docs/scans.md): HDF5, or BART's. */
#ifndef COIL_MAP_FILE_H
#define COIL_MAP_FILE_H

#include "mri_recon.h"

/* Whether a name ends in one of the extensions of coil map files (.cfl .hdr .h5 .hdf5). */
bool coil_map_is_name(const char *path);

/* The voxels along x, y, z of the maps in a file. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status coil_map_matrix(vf_context *ctx, const char *path, int64_t matrix[3]);

/* Puts the maps of a file into raw->sensitivity, in place of the scan's own. They are for raw->matrix, or for raw->crop
 * (then put into the middle of the matrix, with 0 around), and either for the coils as they were received, or for those
 * that whitening and --compress (`compress` coils) made of them. Errors: VF_ERR_INPUT, naming both sizes;
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_coil_maps(vf_context *ctx, const char *path, int compress, scan *raw);

/* Writes maps[place], [coil][z][y][x] of raw->matrix each (NULL: 0), to .h5 or .cfl, atomically. Notes what was done to
 * the coils before. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status write_coil_maps(vf_context *ctx, const char *path, const scan *raw,
                                        const float complex *const *maps);

#endif
