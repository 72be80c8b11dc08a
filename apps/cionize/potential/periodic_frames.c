/* The periodic cell of a run. Boxes of simulations at constant pressure change from frame to frame; coordinates are
 * scaled with them. So the map shows the mean potential at points with the same fractional coordinates. */
#include "periodic_frames.h"

#include <inttypes.h>
#include <math.h>

static vf_status take_cell(vf_context *ctx, const char *path, const char *frame, const unit_cell *from, vf_cell *out)
{
    static const char *const troubles[] = {
        [UNIT_CELL_NONE] = "has no periodic cell",
        [UNIT_CELL_DUMMY] = "has a cell of 1 x 1 x 1 A (CRYST1), which means that there is none",
        [UNIT_CELL_BAD] = "has a cell that cannot be read, or that is impossible",
        [UNIT_CELL_RADIANS] = "has a cell whose three angles are below 3.15 degrees, so they may be in radians",
        [UNIT_CELL_TURNED] =
            "has a turned cell (by SCALE, or in CHARMM's symmetric form), and coordinates that belong to it"};
    if (from->state == UNIT_CELL_NUMBERS && cell_of_shape(from->lengths, from->angles, out)) {
        bool small = true;
        for (int a = 0; a < 3; a++)
            small &= from->lengths[a] < VF_COULOMB_MAX_COORDINATE;
        if (small)
            return VF_OK;
    }
    return vf_fail(ctx, VF_ERR_INPUT, "%s%s %s; %s", path, frame,
                   troubles[from->state == UNIT_CELL_NUMBERS ? UNIT_CELL_BAD : from->state],
                   from->state == UNIT_CELL_TURNED
                       ? "turn both, with the first vector along x and the second in the plane of x and y"
                       : "give its lengths and angles: --cell A,B,C,ALPHA,BETA,GAMMA");
}

static vf_status frame_cell(vf_context *ctx, const trajectory *t, int64_t frame, vf_cell *out)
{
    char text[48];
    unit_cell cell;
    const vf_status status = trajectory_read_cell(t, frame, &cell);
    snprintf(text, sizeof text, ": frame %" PRId64, frame + 1);
    return status == VF_OK ? take_cell(ctx, trajectory_path(t), text, &cell, out) : status;
}

static vf_status mean_cell(vf_context *ctx, const trajectory *t, const frame_selection *frames, vf_cell *out)
{
    *out = (vf_cell){.kind = VF_CELL_ORTHORHOMBIC};
    vf_status status = VF_OK;
    for (int64_t f = 0; status == VF_OK && f < frames->count; f++) {
        vf_cell cell;
        status = frame_cell(ctx, t, frames->first + f * frames->step, &cell);
        for (int i = 0; status == VF_OK && i < 9; i++) /* a running mean: equal cells have themselves as their mean */
            out->vectors[i / 3][i % 3] += (cell.vectors[i / 3][i % 3] - out->vectors[i / 3][i % 3]) / (double)(f + 1);
        if (status == VF_OK && cell.kind == VF_CELL_TRICLINIC)
            out->kind = VF_CELL_TRICLINIC;
    }
    return status;
}

vf_status choose_cell(vf_context *ctx, const cionize_settings *settings, const molecule *mol, const trajectory *t,
                      const frame_selection *frames, vf_cell *out, bool *follows, unit_cell *of_file,
                      listed_symmetry *symmetry)
{
    *follows = false;
    *out = settings->cell;
    if (settings->cell_file) {
        const vf_status status = read_cell_of_file(ctx, settings->cell_file, of_file, symmetry);
        return status == VF_OK ? take_cell(ctx, settings->cell_file, "", of_file, out) : status;
    }
    if (!settings->cell_from_input)
        return VF_OK;
    if (!t)
        return take_cell(ctx, settings->input, "", &mol->cell, out);
    *follows = true;
    vf_status status = mean_cell(ctx, t, frames, out);
    for (int64_t f = 0; status == VF_OK && f < frames->count; f++) { /* whether all can be followed */
        const vf_grid unit = {.spacing = {1, 1, 1}, .counts = {1, 1, 1}, .cell = *out};
        vf_grid own;
        status = frame_grid(ctx, t, frames->first + f * frames->step, &unit, &own);
    }
    return status;
}

vf_status frame_grid(vf_context *ctx, const trajectory *t, int64_t frame, const vf_grid *grid, vf_grid *out)
{
    const double allowed = 2e-4; /* of an edge: about the rounding of angles in files */
    vf_cell own;
    *out = *grid;
    vf_status status = frame_cell(ctx, t, frame, &own);
    if (status != VF_OK)
        return status;
    const double(*mean)[3] = grid->cell.vectors;
    double scale[3];
    for (int a = 0; a < 3; a++) {
        scale[a] = own.vectors[a][a] / mean[a][a];
        out->origin[a] = grid->origin[a] * scale[a];
        out->spacing[a] = grid->spacing[a] * scale[a];
    }
    /* Scaling along x, y and z makes one cell of the other; with a change of shape, points would leave the axes. */
    for (int v = 1; v < 3; v++)
        for (int a = 0; a < v; a++)
            if (!(fabs(own.vectors[v][a] - mean[v][a] * scale[a]) <= allowed * mean[v][v]))
                return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                               "%s: frame %" PRId64
                               ": the shape of the cell changes, not only its edges along x, y and "
                               "z; leave out such frames with --frames, or give one cell for all: --cell "
                               "A,B,C,ALPHA,BETA,GAMMA",
                               trajectory_path(t), frame + 1);
    out->cell = own;
    return VF_OK;
}
