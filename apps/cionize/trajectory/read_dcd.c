/* Frames of a DCD file: their coordinates and unit cells. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcd_file.h"

enum { CHARMM_WITH_SHAPE = 25 }; /* CHARMM's own versions from here on; other programs write the old 24 */

static vf_status check_number(const trajectory *t, int64_t frame)
{
    if (frame < 0 || frame >= t->frames)
        return vf_fail(t->ctx, VF_ERR_ARGUMENT, "%s: there is no frame %" PRId64 "; it has %" PRId64, t->path,
                       frame + 1, t->frames);
    return VF_OK;
}

vf_status trajectory_read(const trajectory *t, int64_t frame, double *x, double *y, double *z)
{
    double *const out[3] = {x, y, z};
    vf_status status = check_number(t, frame);
    if (status == VF_OK)
        status = dcd_check_frame(t, frame);
    for (int axis = 0; status == VF_OK && axis < 3; axis++) {
        if (frame > 0 && t->fixed[axis])
            memcpy(out[axis], t->fixed[axis], (size_t)t->atoms * sizeof(double));
        status = dcd_read_axis(t, frame, axis, out[axis]);
    }
    return status;
}

/* ---- the unit cell ---- */

static double degrees(double cosine)
{
    return 90 - asin(cosine) * (180 / 3.14159265358979323846); /* exact at 90, unlike acos */
}

/* CHARMM's box is a symmetric matrix, with the cell's vectors as rows: XX, XY, YY, XZ, YZ, ZZ. */
static void take_shape(const double shape[6], unit_cell *cell)
{
    const double rows[3][3] = {
        {shape[0], shape[1], shape[3]}, {shape[1], shape[2], shape[4]}, {shape[3], shape[4], shape[5]}};
    double products[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            products[a][b] = rows[a][0] * rows[b][0] + rows[a][1] * rows[b][1] + rows[a][2] * rows[b][2];
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        cell->lengths[a] = sqrt(products[a][a]);
        cell->angles[a] = degrees(products[b][c] / sqrt(products[b][b] * products[c][c]));
    }
}

/* A, gamma, B, beta, alpha, C. Angles are cosines (NAMD, VMD, LAMMPS) or degrees (MDAnalysis, OpenMM, old CHARMM).
 * If all three are at most 1, they are cosines: no cell has three angles of a degree or less. */
static void take_angles(const double values[6], unit_cell *cell)
{
    static const int lengths[3] = {0, 2, 5}, angles[3] = {4, 3, 1};
    const bool cosines = fabs(values[1]) <= 1 && fabs(values[3]) <= 1 && fabs(values[4]) <= 1;
    for (int a = 0; a < 3; a++) {
        const double angle = values[angles[a]];
        cell->lengths[a] = values[lengths[a]];
        cell->angles[a] = cosines ? degrees(angle) : angle;
    }
}

vf_status trajectory_read_cell(const trajectory *t, int64_t frame, unit_cell *cell)
{
    double values[6];
    vf_cell vectors;
    *cell = (unit_cell){0};
    vf_status status = check_number(t, frame);
    if (status != VF_OK || !t->cell)
        return status;
    status = dcd_read_cell(t, frame, values);
    if (status != VF_OK)
        return status;
    const bool right_angles = values[1] == 90 && values[3] == 90 && values[4] == 90;
    if (t->version >= CHARMM_WITH_SHAPE && !right_angles)
        take_shape(values, cell);
    else
        take_angles(values, cell);
    if (!cell_of_shape(cell->lengths, cell->angles, &vectors))
        *cell = (unit_cell){0};
    else if (vectors.kind == VF_CELL_TRICLINIC && t->version >= CHARMM_WITH_SHAPE)
        cell->state = UNIT_CELL_TURNED;
    else
        cell->state = UNIT_CELL_NUMBERS;
    return VF_OK;
}

/* ---- opening ---- */

static vf_status open_file(trajectory *t)
{
    struct stat info;
    t->fd =
        open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: opening a pipe without a writer would wait */
    if (t->fd < 0)
        return dcd_fail(t, "cannot open: %s; check the name and the permissions", strerror(errno));
    if (fstat(t->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return dcd_fail(t, "is not a regular file; frames are read in any order, which needs one");
    t->size = info.st_size;
    return t->size > 0 ? VF_OK : dcd_fail(t, "is empty");
}

vf_status trajectory_open(vf_context *ctx, const char *path, trajectory **out)
{
    *out = NULL;
    trajectory *t = calloc(1, sizeof *t);
    if (!t)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", path);
    t->ctx = ctx;
    t->fd = -1;
    t->path = strdup(path);
    vf_status status = t->path ? open_file(t) : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", path);
    if (status == VF_OK)
        status = dcd_read_layout(t);
    if (status == VF_OK)
        *out = t;
    else
        trajectory_close(t);
    return status;
}

void trajectory_close(trajectory *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    for (int axis = 0; axis < 3; axis++)
        free(t->fixed[axis]);
    free(t->index);
    free(t->path);
    free(t);
}

const char *trajectory_path(const trajectory *t)
{
    return t->path;
}

int64_t trajectory_frames(const trajectory *t)
{
    return t->frames;
}

int64_t trajectory_atoms(const trajectory *t)
{
    return t->atoms;
}
