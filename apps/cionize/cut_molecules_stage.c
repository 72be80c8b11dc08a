/* Warnings where the run takes the molecules of a periodic cell in the wrong way: cut by the cell's faces, or without their images. */
#include <stdio.h>
#include <stdlib.h>

#include "cell_stage.h"
#include "cionize_state.h"
#include "molecule/molecule_part.h"
#include "molecule/torn_bonds.h"

/* Whether molecules must be whole: in free space, and where the dipole moment of the cell counts. */
static bool needs_whole(const cionize_settings *s)
{
    return !s->read_map && (s->cell.kind == VF_CELL_NONE || s->vacuum);
}

static bool shape_of(const unit_cell *cell, vf_cell *out)
{
    return cell->state == UNIT_CELL_NUMBERS && cell_of_shape(cell->lengths, cell->angles, out);
}

/* In the file, from 1. */
static int64_t number_of(const molecule *m, int64_t i)
{
    return (m->of_whole ? m->of_whole[i] : i) + 1;
}

/* Warns of the first bonds that are cut, of frame number `frame`; -1: of the molecule's file. True if there are any. */
static bool warn_of_cut(const cionize_state *r, int64_t frame, const vf_cell *cell, const double *x, const double *y,
                        const double *z)
{
    const molecule *m = r->sources;
    const torn_bonds torn = find_torn_bonds(m, x, y, z, cell);
    char where[32] = "";
    if (torn.count == 0)
        return false;
    if (frame >= 0)
        snprintf(where, sizeof where, ": frame %lld", (long long)frame + 1);
    vf_warn(r->ctx,
            "%s%s: the faces of the periodic cell cut %lld bond%s, the first between atoms %lld (%s) and %lld (%s), "
            "which are "
            "%.3g A apart; %s, so molecules must be whole: make them so (gmx trjconv -pbc mol, cpptraj autoimage)%s",
            frame >= 0 ? r->settings.trajectory : r->settings.input, where, (long long)torn.count,
            vf_plural(torn.count), (long long)number_of(m, torn.first), m->labels[torn.first].name,
            (long long)number_of(m, torn.second), m->labels[torn.second].name, torn.apart,
            r->settings.vacuum ? "--boundary vacuum takes atoms where they are" : "the run is in free space",
            r->settings.vacuum ? "" : ", or add --cell input");
    return true;
}

/* Of frames all over the trajectory, up to the first that is cut. */
static vf_status warn_of_cut_frames(cionize_state *r)
{
    enum { LOOKED_AT = 16 };
    const int64_t atoms = trajectory_atoms(r->trajectory), every = (r->frames.count + LOOKED_AT - 1) / LOOKED_AT;
    double *data = malloc((size_t)atoms * 3 * sizeof *data);
    vf_status status = data ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %lld atoms", (long long)atoms);
    bool warned = false;
    for (int64_t f = 0; status == VF_OK && !warned && f < r->frames.count; f += every) {
        const int64_t frame = r->frames.first + f * r->frames.step;
        unit_cell stated;
        vf_cell cell;
        status = trajectory_read_cell(r->trajectory, frame, &stated);
        if (status != VF_OK || (!shape_of(&stated, &cell) && !shape_of(&r->molecule.cell, &cell)))
            continue;
        status = trajectory_read(r->trajectory, frame, data, data + atoms, data + 2 * atoms);
        if (status != VF_OK)
            continue;
        molecule_gather(r->sources, data, data + atoms, data + 2 * atoms);
        warned = warn_of_cut(r, frame, &cell, data, data + atoms, data + 2 * atoms);
    }
    free(data);
    return status;
}

/* The cell of the first frame, or of the molecule's file. */
static vf_status first_cell(const cionize_state *r, bool *found, vf_cell *cell)
{
    unit_cell stated = {0};
    const vf_status status = r->trajectory ? trajectory_read_cell(r->trajectory, r->frames.first, &stated) : VF_OK;
    *found = status == VF_OK && (shape_of(&stated, cell) || shape_of(&r->molecule.cell, cell));
    return status;
}

/* Boxes of simulations have 40 % of water and more, crystals less than a tenth in their files. Water that ions replace has a
 * warning of its own. */
static vf_status warn_of_filled_cell(const cionize_state *r)
{
    const double volume = 30, least = 0.25; /* angstrom^3 of a water molecule, and a part of the cell */
    water_list water = {0};
    bool found = false;
    vf_cell cell = {0};
    vf_status status = first_cell(r, &found, &cell);
    if (status != VF_OK || !found || r->water.solvent)
        return status;
    status = find_water(r->ctx, r->sources, false, &water);
    if (status == VF_OK && (double)water.count * volume >= least * vf_cell_volume(&cell))
        vf_warn(
            r->ctx,
            "%s: water fills the periodic cell of the file, but the run is in free space, without images; add --cell "
            "input, or --select \"not water\"",
            r->settings.input);
    water_list_free(&water);
    return status;
}

vf_status warn_of_cut_molecules(cionize_state *r)
{
    vf_cell cell;
    if (!needs_whole(&r->settings))
        return VF_OK;
    const vf_status status = r->settings.cell.kind == VF_CELL_NONE ? warn_of_filled_cell(r) : VF_OK;
    if (status != VF_OK)
        return status;
    if (r->trajectory)
        return warn_of_cut_frames(r);
    if (r->settings.cell.kind != VF_CELL_NONE)
        warn_of_cut(r, -1, &r->settings.cell, r->sources->x, r->sources->y, r->sources->z);
    else if (shape_of(&r->molecule.cell, &cell))
        warn_of_cut(r, -1, &cell, r->sources->x, r->sources->y, r->sources->z);
    return VF_OK;
}
