/* Corrects rigid motion of the patient: a table with a row for each readout (docs/reconstruction.md).
 *
 * During a readout, what was at r lies at R r + t, in mm from voxel N/2, along x, y, z of the image. So
 *
 *     d(k) = integral rho(r) exp(-i 2 pi k.(R r + t)) dr = exp(-i 2 pi k.t) D(R^T k),
 *
 * where D is the signal without motion, and k is in cycles per mm. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "correct_internal.h"
#include "find_readouts.h"
#include "motion_table.h"
#include "voxfield/timer.h"

typedef double matrix3[3][3];

static void product(const matrix3 a, const matrix3 b, matrix3 out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

/* R = Rz Ry Rx: about x first. Positive angles are counterclockwise, seen from the axis' positive end. */
static void rotation(const double degrees[3], matrix3 out)
{
    matrix3 about[3];
    for (int a = 0; a < 3; a++) {
        const double angle = degrees[a] * M_PI / 180;
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        memset(about[a], 0, sizeof about[a]);
        about[a][a][a] = 1;
        about[a][b][b] = about[a][c][c] = cos(angle);
        about[a][c][b] = sin(angle);
        about[a][b][c] = -sin(angle);
    }
    matrix3 first;
    product(about[1], about[0], first);
    product(about[2], first, out);
}

/* A 2D scan does not see motion through its plane. */
static vf_status check_plane(vf_context *ctx, const char *path, const motion_table *table)
{
    for (int64_t i = 0; i < table->rows; i++) {
        const motion_row *row = &table->row[i];
        if (row->shift[2] != 0 || row->degrees[0] != 0 || row->degrees[1] != 0)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s:%" PRId64 ": motion out of the plane cannot be corrected in a 2D scan; set the shift "
                           "along z and the rotations about x and y to 0",
                           path, row->line);
    }
    return VF_OK;
}

/* Undoes the motion of one readout. */
static void undo(const mri_scan *raw, const motion_row *row, int64_t first, int64_t end, const scan_frame *frame,
                 scan_trajectory *t)
{
    matrix3 r;
    rotation(row->degrees, r);
    for (int64_t m = first; m < end; m++) {
        double k[3], turns = 0;
        for (int a = 0; a < 3; a++) {
            k[a] = t->k[3 * m + a] / raw->fov[a];
            turns += k[a] * row->shift[a];
        }
        turns -= floor(turns);
        const float complex back = (float)cos(2 * M_PI * turns) + (float)sin(2 * M_PI * turns) * I;
        for (int a = 0; a < 3; a++)
            t->k[3 * m + a] = (float)((r[0][a] * k[0] + r[1][a] * k[1] + r[2][a] * k[2]) * raw->fov[a]);
        for (int64_t c = 0; c < raw->coils; c++)
            frame->data[c * t->samples + m] *= back;
    }
}

/* The number of readouts of all frames. */
static int64_t count_readouts(const mri_scan *raw)
{
    int64_t count = 0;
    for (int f = 0; f < raw->frames; f++)
        count += raw->trajectory[raw->frame[f].trajectory].readouts;
    return count;
}

vf_status correct_motion(vf_context *ctx, const scan_settings *settings, mri_scan *raw)
{
    const char *path = settings->motion;
    motion_table table = {0};
    vf_status status = find_readouts(ctx, settings, "--motion", raw);
    VF_TRY(status, motion_table_read(ctx, path, &table));
    const int64_t readouts = status == VF_OK ? count_readouts(raw) : 0;
    if (status == VF_OK && table.rows != readouts)
        status = vf_fail(ctx, VF_ERR_INPUT,
                         "%s:%" PRId64 ": the table ends after %" PRId64 " row%s, but the scan has %" PRId64
                         " readout%s in %d frame%s; expected one row a readout",
                         path, table.lines, table.rows, vf_plural(table.rows), readouts, vf_plural(readouts),
                         raw->frames, vf_plural(raw->frames));
    if (status == VF_OK && raw->matrix[2] == 1)
        status = check_plane(ctx, path, &table);
    VF_TRY(status, separate_trajectories(ctx, settings->input, raw));
    int64_t row = 0;
    for (int f = 0; status == VF_OK && f < raw->frames; f++) {
        scan_trajectory *t = &raw->trajectory[f];
        for (int64_t i = 0; i < t->readouts; i++)
            undo(raw, &table.row[row++], t->readout[i], t->readout[i + 1], &raw->frame[f], t);
    }
    if (status == VF_OK)
        note_correction(raw, "motion of %" PRId64 " readout%s by %s", readouts, vf_plural(readouts), path);
    motion_table_free(&table);
    return status;
}
