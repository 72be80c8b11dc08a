/* cionize: trajectories, the coordinates of a molecule's atoms in frames.
 *
 * They are read from DCD files of CHARMM, NAMD, X-PLOR, OpenMM and LAMMPS, from GROMACS's XTC, TRR and .gro files, and from
 * AMBER's NetCDF files (docs/trajectories.md says what is supported, and why). Frames are numbered from 0 in the code, and from 1 in
 * all that users see. Lengths in angstrom. */
#ifndef CIONIZE_TRAJECTORY_H
#define CIONIZE_TRAJECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "molecule/unit_cell.h"
#include "select_frames.h"
#include "voxfield/context.h"

/* ---- open_trajectory.c ---- */

typedef struct trajectory trajectory;

/* Opens a trajectory and finds its frames. Of a DCD or NetCDF file it reads the header, computes the offsets of frames from it
 * and the file's size; of an XTC or TRR file it reads the header of each frame; a .gro file stays in memory. Warns if the file
 * ends within a frame (which is ignored), or if the number of frames differs from the header's; notes frames without positions,
 * which do not count. Errors (*out is then NULL): VF_ERR_INPUT; VF_ERR_UNSUPPORTED (another format; the message names it and how
 * to convert it); VF_ERR_MEMORY; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status trajectory_open(vf_context *ctx, const char *path, trajectory **out);
void trajectory_close(trajectory *t); /* NULL is allowed */

const char *trajectory_path(const trajectory *t);
int64_t trajectory_frames(const trajectory *t); /* complete frames in the file, >= 1 */
int64_t trajectory_atoms(const trajectory *t);  /* of each frame, >= 1 */

/* The coordinates of frame 0 <= frame < trajectory_frames(t), in any order: [trajectory_atoms(t)] each, exactly the
 * file's numbers (those in nm times 10), including fixed atoms. Several threads may call it at a time. Errors:
 * VF_ERR_INPUT (damaged file, or a NaN or infinite coordinate, with frame and atom), VF_ERR_ARGUMENT (no such
 * frame). */
VF_MUST_CHECK vf_status trajectory_read(const trajectory *t, int64_t frame, double *x, double *y, double *z);

/* Refuses a frame with several atoms at 0 0 0, where no two can be: a program left room for coordinates that were not written.
 * Errors: VF_ERR_INPUT. */
VF_MUST_CHECK vf_status trajectory_check_places(const trajectory *t, int64_t frame, const double *x, const double *y,
                                                const double *z);

/* Warns if the atoms of a frame cannot be those of the molecule x, y, z [trajectory_atoms(t)] from the file `name`: where most
 * neighbours in the list that are as close as a bond in the molecule are not so in the frame. Errors as trajectory_read;
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status trajectory_compare(const trajectory *t, int64_t frame, const char *name, const double *x,
                                           const double *y, const double *z);

/* The periodic cell of a frame; none if the file has no valid one. CHARMM's own cells are turned, unless all angles are
 * right. */
VF_MUST_CHECK vf_status trajectory_read_cell(const trajectory *t, int64_t frame, unit_cell *cell);

#endif
