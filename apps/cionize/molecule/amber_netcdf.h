/* AMBER's NetCDF files: trajectories (Conventions AMBER) and restarts (AMBERRESTART), in the classic format or as NetCDF-4, which
 * is HDF5 and is read with libcore's HDF5 reader, in a process without rights. Lengths in angstrom.
 *
 *   coordinates [frame][atom][3]     a restart has no frames
 *   cell_lengths, cell_angles [frame][3]   optional */
#ifndef CIONIZE_AMBER_NETCDF_H
#define CIONIZE_AMBER_NETCDF_H

#include "unit_cell.h"
#include "voxfield/context.h"

typedef struct amber_netcdf amber_netcdf;

/* Where the file is. */
typedef struct netcdf_source {
    const char *path;
    int fd;             /* of the open file; -1: in memory */
    const void *memory; /* [size] */
    int64_t size;       /* bytes */
} netcdf_source;

/* Whether these are the first bytes of a file in the classic format, or of an HDF5 file. */
bool is_netcdf(const void *bytes, size_t size);

/* Opens a file. The source must stay. HDF5 files are opened by their path, also if they are in memory. Warns if the file ends
 * within a frame, which is ignored. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status amber_netcdf_open(vf_context *ctx, const netcdf_source *source, amber_netcdf **out);
void amber_netcdf_close(amber_netcdf *file); /* NULL is allowed */

int64_t amber_netcdf_atoms(const amber_netcdf *file);  /* >= 1 */
int64_t amber_netcdf_frames(const amber_netcdf *file); /* >= 1; of a restart, 1 */

/* The coordinates of a frame, from 0: [atoms] each. Several threads may call it at a time. Errors: VF_ERR_INPUT (also NaN, infinite,
 * or never written, with frame and atom); VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status amber_netcdf_read(const amber_netcdf *file, int64_t frame, double *x, double *y, double *z);

/* The cell of a frame; none if the file has none. */
VF_MUST_CHECK vf_status amber_netcdf_cell(const amber_netcdf *file, int64_t frame, unit_cell *out);

#endif
