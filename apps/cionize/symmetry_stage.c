/* The cell of the run, and the space group of a crystal: whether the molecule's file is the asymmetric unit or the whole cell. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cell_stage.h"
#include "cionize_state.h"
#include "crystal_symmetry.h"
#include "molecule/near_places.h"
#include "potential/periodic_frames.h"

/* How far a cell may be from that of the molecule's file: lengths, as a part of them, and angles in degrees. */
typedef struct cell_tolerance {
    double lengths, angles;
} cell_tolerance;

static const cell_tolerance of_rounding = {1e-3, 0.1}; /* of a file or an option */
static const cell_tolerance by_hand = {
    0.03, 2}; /* numbers that stand for the crystal's, like 58,87,46 for 58.39 86.70 46.27 */

static bool is_cell(const vf_cell *cell, const unit_cell *stated, cell_tolerance allowed)
{
    double lengths[3], angles[3];
    bool same = stated->state == UNIT_CELL_NUMBERS || stated->state == UNIT_CELL_TURNED;
    vf_cell_shape(cell, lengths, angles);
    for (int a = 0; a < 3; a++)
        same = same && fabs(lengths[a] - stated->lengths[a]) <= allowed.lengths * stated->lengths[a] &&
               fabs(angles[a] - stated->angles[a]) <= allowed.angles;
    return same;
}

static vf_status refuse(const cionize_state *r, const char *path, const unit_cell *cell, const listed_symmetry *listed)
{
    char copies[64] = "";
    const char *const name = symmetry_name(cell, listed);
    const int order = symmetry_order(cell, listed);
    if (r->settings.arrays && !r->settings.cell_file)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s is the asymmetric unit of a crystal (space group %s), so the cell lacks its copies; read the "
            "file with symmetry expand, or with symmetry none if it has all atoms of the cell",
            path, name);
    if (order > 0)
        snprintf(copies, sizeof copies, ", so a cell has %d copies of the asymmetric unit", order);
    return vf_fail(
        r->ctx, VF_ERR_INPUT,
        "%s: the crystal has space group %s%s; add --symmetry expand if the molecule's file is the asymmetric "
        "unit, or --symmetry none if it has all atoms of the cell",
        path, name, copies);
}

const char *symmetry_name(const unit_cell *cell, const listed_symmetry *listed)
{
    const listed_symmetry none = {0};
    if (!symmetry_is_trivial(cell->group, listed))
        return symmetry_is_trivial(cell->group, &none) ? "operators" : cell->group;
    return listed->leaves_out ? "P 1 with NCS copies" : "";
}

static void warn_of_no_group(vf_context *ctx, const char *path)
{
    vf_warn(ctx, "%s: no space group is stated, so --symmetry expand adds no atoms", path);
}

vf_status symmetry_expand(vf_context *ctx, const crystal_files *files, const unit_cell *cell,
                          const listed_symmetry *listed, molecule *m, int *copies)
{
    symmetry_group group;
    *copies = 1;
    vf_status status = symmetry_check_copies(ctx, files->cell, listed);
    if (status != VF_OK)
        return status;
    if (symmetry_is_trivial(cell->group, listed)) {
        if (!*cell->group && listed->count == 0)
            warn_of_no_group(ctx, files->cell);
        return VF_OK;
    }
    if (cell_is_shifted(cell))
        return vf_fail(
            ctx, VF_ERR_INPUT,
            "%s: the coordinates have another origin than the cell (the last column of SCALE is not 0), so the "
            "operators of the space group do not fit them; move the atoms to the cell's origin",
            files->cell);
    status = symmetry_operators(ctx, files->cell, cell, listed, &group);
    if (status != VF_OK)
        return status;
    const int64_t atoms = m->atoms;
    const char *const name = *cell->group ? cell->group : "not named";
    if (!files->quiet)
        vf_note(ctx, "symmetry   space group %s: %d copies of %lld atom%s", name, group.count, (long long)atoms,
                vf_plural(atoms));
    status = molecule_expand(ctx, files->molecule, cell, &group, m);
    *copies = group.count;
    if (status == VF_OK && !files->quiet)
        vf_note(ctx, "           %lld atoms in the cell, total charge %+g e", (long long)m->atoms,
                fabs(m->total_charge) < 1e-9 ? 0.0 : m->total_charge);
    return status;
}

/* Another cell than that of the crystal, if the file has one: a box of a simulation, or numbers that were rounded. */
static vf_status other_cell(const cionize_state *r, const char *path, const unit_cell *cell,
                            const listed_symmetry *listed)
{
    const symmetry_choice choice = r->settings.symmetry;
    const bool trivial = symmetry_is_trivial(cell->group, listed);
    if (!trivial &&
        (choice == SYMMETRY_EXPAND || (choice == SYMMETRY_ASK && is_cell(&r->settings.cell, cell, by_hand))))
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: the cell of the run is not that of the crystal (space group %s), so its copies cannot be added; "
            "use --cell input, or --symmetry none if the file has all atoms of the cell",
            path, symmetry_name(cell, listed));
    if (choice == SYMMETRY_EXPAND && !*cell->group)
        warn_of_no_group(r->ctx, path);
    return VF_OK;
}

vf_status take_symmetry(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const bool of_file = s->cell_file != NULL, expand = s->symmetry == SYMMETRY_EXPAND;
    const unit_cell cell = of_file ? r->cell_of_file : r->molecule.cell;
    const listed_symmetry *listed = of_file ? &r->cell_symmetry : &r->molecule.symmetry;
    const char *path = of_file ? s->cell_file : s->input;
    const crystal_files files = {.molecule = s->input, .cell = path, .quiet = s->quiet};
    r->copies = 1;
    if (s->cell.kind == VF_CELL_NONE || (s->trajectory && !of_file)) /* frames have all atoms of the cell */
        return VF_OK;
    if (expand && s->arrays && !of_file)
        return vf_fail(
            r->ctx, VF_ERR_ARGUMENT,
            "option symmetry: expand is for files, whose operators arrays lack; read the molecule's file with "
            "it");
    if (!of_file && !is_cell(&s->cell, &cell, of_rounding))
        return other_cell(r, path, &cell, listed);
    if (cell.state == UNIT_CELL_TURNED)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s has the cell of --cell, but turned, and coordinates that belong to it; turn both, with the first "
            "vector along x and the second in the plane of x and y",
            path);
    if (expand)
        return symmetry_expand(r->ctx, &files, &cell, listed, &r->molecule, &r->copies);
    if (s->symmetry == SYMMETRY_NONE)
        return VF_OK;
    const vf_status status = symmetry_check_copies(r->ctx, path, listed);
    return status != VF_OK || symmetry_is_trivial(cell.group, listed) ? status : refuse(r, path, &cell, listed);
}

/* Nearer than any two sites of a molecule, and farther than rounding to three decimals moves two. */
static const double SAME_PLACE = 0.01;
enum { MOST_DRAWN = 200000 }; /* atoms; larger files come from simulations, and the search would take a while */

/* The atom that is at the place of atom i, or of an image of it, by all distances. -1: none. */
static int64_t partner_of(const molecule *m, const vf_cell *cell, int64_t i)
{
    for (int64_t j = 0; j < m->atoms; j++) {
        double from[3] = {m->x[j] - m->x[i], m->y[j] - m->y[i], m->z[j] - m->z[i]};
        for (int a = 2; a >= 0; a--) { /* z first: the vectors before have none */
            const double turns = nearbyint(from[a] / cell->vectors[a][a]);
            for (int b = 0; b < 3; b++)
                from[b] -= turns * cell->vectors[a][b];
        }
        if (j != i && hypot(hypot(from[0], from[1]), from[2]) < SAME_PLACE)
            return j;
    }
    return -1;
}

/* Whether each atom is at the place of another one, or in a cell of an image of it. Returns their number; -1: an error. */
static int64_t find_doubles(cionize_state *r, const vf_cell *cell, double *distance, bool *doubled)
{
    const molecule *m = &r->molecule;
    near_places *near = NULL;
    int64_t count = 0;
    if (near_places_create(r->ctx, cell, m->atoms, m->x, m->y, m->z, SAME_PLACE, &near) != VF_OK)
        return -1;
    for (int64_t i = 0; i < m->atoms; i++) {
        const double at[3] = {m->x[i], m->y[i], m->z[i]};
        distance[i] = 0; /* not itself */
        doubled[i] = near_places_any(near, at, distance);
        distance[i] = SAME_PLACE;
        count += doubled[i];
    }
    near_places_destroy(near);
    return count;
}

/* Programs that draw crystals write atoms on opposite faces of the cell twice; and a cell may be of another system. Atoms
 * that are at one place without images have a warning of their own, and may be Drude particles. */
static vf_status warn_of_images(cionize_state *r)
{
    const molecule *m = &r->molecule;
    const vf_cell *cell = &r->settings.cell, none = {.kind = VF_CELL_NONE};
    const size_t n = (size_t)m->atoms + 1;
    double *distance = malloc(n * sizeof *distance);
    bool *doubled = malloc(n * sizeof *doubled), *plain = malloc(n * sizeof *plain);
    int64_t count = distance && doubled && plain ? 0 : -1, first = -1;
    for (int64_t i = 0; count == 0 && i < m->atoms; i++)
        distance[i] = SAME_PLACE;
    if (count == 0)
        count = find_doubles(r, cell, distance, doubled);
    if (count > 0 && (count = find_doubles(r, &none, distance, plain)) >= 0) {
        count = 0;
        for (int64_t i = m->atoms - 1; i >= 0; i--)
            if (doubled[i] && !plain[i]) {
                first = i;
                count++;
            }
    }
    if (count > 0) {
        const int64_t other = partner_of(m, cell, first);
        vf_warn(
            r->ctx,
            "%s: atom %lld (%s) is at the place of an image of atom %lld (%s); %lld such atoms in all, each of which "
            "counts; leave out those that programs add at opposite faces of a cell, or check the cell",
            r->settings.input, (long long)first + 1, m->labels[first].name, (long long)other + 1,
            other >= 0 ? m->labels[other].name : "", (long long)count);
    }
    free(distance);
    free(doubled);
    free(plain);
    return count >= 0 ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the distances of the atoms");
}

/* Angstrom^3 an atom: diamond, with the most atoms in a volume, has 5.7. */
static const double LEAST_VOLUME = 1;

vf_status take_cell(cionize_state *r, bool *follows)
{
    cionize_settings *s = &r->settings;
    vf_status status = choose_cell(r->ctx, s, &r->molecule, r->trajectory, &r->frames, &s->cell, follows,
                                   &r->cell_of_file, &r->cell_symmetry);
    VF_TRY(status, take_symmetry(r));
    const double volume = vf_cell_volume(&s->cell), atoms = (double)r->molecule.atoms;
    if (status == VF_OK && s->cell.kind != VF_CELL_NONE && volume < LEAST_VOLUME * atoms)
        vf_warn(r->ctx,
                "the cell has %.2g A^3 for each atom, where solids have 5 and more, so atoms overlap with images of "
                "others; are "
                "its lengths in nm? They are read in angstrom",
                volume / atoms);
    else if (status == VF_OK && s->cell.kind != VF_CELL_NONE && !s->trajectory && r->molecule.atoms <= MOST_DRAWN)
        status = warn_of_images(r);
    return status;
}
