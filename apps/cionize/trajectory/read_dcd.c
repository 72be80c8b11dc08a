/* Frames of a DCD file: their coordinates and unit cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trajectory_file.h"

/* CHARMM's own versions with its matrix from 25 on; other programs write the old 24. CHARMM to version 21, and cpptraj,
 * which then writes 21, have the order A, B, C, alpha, beta, gamma. */
enum { CHARMM_WITH_SHAPE = 25, LENGTHS_FIRST = 21 };

static vf_status read_frame(const trajectory *t, int64_t frame, double *x, double *y, double *z)
{
    double *const out[3] = {x, y, z};
    vf_status status = dcd_check_frame(t, frame);
    for (int axis = 0; status == VF_OK && axis < 3; axis++) {
        if (frame > 0 && t->dcd.fixed[axis])
            memcpy(out[axis], t->dcd.fixed[axis], (size_t)t->atoms * sizeof(double));
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

/* A, gamma, B, beta, alpha, C. Angles are cosines (NAMD, VMD, LAMMPS) or degrees (MDAnalysis, OpenMM). If all three are
 * at most 1, they are cosines: no cell has three angles of a degree or less, or a length of 1 A and two such angles. */
static void take_angles(const double values[6], int32_t version, unit_cell *cell)
{
    static const int orders[2][6] = {{0, 2, 5, 4, 3, 1}, {0, 1, 2, 3, 4, 5}};
    const bool cosines = fabs(values[1]) <= 1 && fabs(values[3]) <= 1 && fabs(values[4]) <= 1;
    const int *order = orders[version <= LENGTHS_FIRST && !cosines];
    for (int a = 0; a < 3; a++) {
        const double angle = values[order[3 + a]];
        cell->lengths[a] = values[order[a]];
        cell->angles[a] = cosines ? degrees(angle) : angle;
    }
}

static vf_status read_cell(const trajectory *t, int64_t frame, unit_cell *cell)
{
    double values[6];
    vf_cell vectors;
    *cell = (unit_cell){0};
    if (!t->dcd.cell)
        return VF_OK;
    const vf_status status = dcd_read_cell(t, frame, values);
    if (status != VF_OK)
        return status;
    const bool right_angles = values[1] == 90 && values[3] == 90 && values[4] == 90;
    if (t->dcd.version >= CHARMM_WITH_SHAPE && !right_angles)
        take_shape(values, cell);
    else
        take_angles(values, t->dcd.version, cell);
    if (!cell_of_shape(cell->lengths, cell->angles, &vectors))
        *cell = (unit_cell){.state = angles_in_radians(cell->angles) ? UNIT_CELL_RADIANS : UNIT_CELL_NONE};
    else if (vectors.kind == VF_CELL_TRICLINIC && t->dcd.version >= CHARMM_WITH_SHAPE)
        cell->state = UNIT_CELL_TURNED;
    else
        cell->state = UNIT_CELL_NUMBERS;
    return VF_OK;
}

static void close_file(trajectory *t)
{
    for (int axis = 0; axis < 3; axis++)
        free(t->dcd.fixed[axis]);
    free(t->dcd.index);
}

const trajectory_format dcd_format = {dcd_read_layout, read_frame, read_cell, close_file};
