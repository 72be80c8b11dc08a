#include "molecule_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_positions.h"
#include "coulomb_sum.h"
#include "molecule_arrays.h"

const char molecule_memory_name[] = "the molecule in memory";

double view_number(const vf_view *v, int64_t i)
{
    return v->type == VF_F64 ? ((const double *)v->data)[i] : (double)((const float *)v->data)[i];
}

bool view_is(const vf_view *v, int64_t count, int64_t second)
{
    return v->data && (v->type == VF_F32 || v->type == VF_F64) && v->rank == (second > 0 ? 2 : 1) &&
           v->dims[0] == count && (second == 0 || v->dims[1] == second);
}

static vf_status check_shapes(vf_context *ctx, const vf_molecule *g)
{
    const int64_t atoms = g->positions.rank == 2 ? g->positions.dims[0] : 0;
    if (!view_is(&g->positions, atoms, 3) || atoms < 1 || atoms > INT64_MAX / 1024)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: positions must be real numbers, [atom][3], of at least one atom",
                       molecule_memory_name);
    if (!view_is(&g->charges, atoms, 0))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: charges must be real numbers, [%lld], one for each atom of positions",
                       molecule_memory_name, (long long)atoms);
    if (g->radii.data && !view_is(&g->radii, atoms, 0))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: radii must be real numbers, [%lld], one for each atom of positions",
                       molecule_memory_name, (long long)atoms);
    return VF_OK;
}

static void copy_name(const char *const *names, int64_t i, char to[LABEL_SIZE], bool *cut)
{
    if (names && names[i])
        *cut |= label_copy((text_piece){names[i], strlen(names[i])}, to);
}

static void take_labels(const vf_molecule *g, int64_t i, atom_label *label)
{
    *label = (atom_label){.occupancy = 1};
    copy_name(g->names, i, label->name, &label->cut);
    copy_name(g->residues, i, label->residue, &label->cut);
    copy_name(g->chains, i, label->chain, &label->cut);
    if (g->elements && g->elements[i])
        label_element((text_piece){g->elements[i], strlen(g->elements[i])}, label->element);
    if (g->residue_numbers)
        label->residue_number = g->residue_numbers[i];
}

static vf_status take_atom(vf_context *ctx, const vf_molecule *g, int64_t i, molecule *m, double *rest)
{
    double xyz[3];
    const double charge = view_number(&g->charges, i), radius = g->radii.data ? view_number(&g->radii, i) : 0;
    for (int a = 0; a < 3; a++) {
        xyz[a] = view_number(&g->positions, 3 * i + a);
        if (!(fabs(xyz[a]) <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: positions[%lld][%d] is %g; expected a number of at most %g angstrom",
                           molecule_memory_name, (long long)i, a, xyz[a], VF_COULOMB_MAX_COORDINATE);
    }
    if (!isfinite(charge))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: charges[%lld] is %g; expected a number", molecule_memory_name,
                       (long long)i, charge);
    if (!(radius >= 0 && radius <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: radii[%lld] is %g; expected 0 or more", molecule_memory_name,
                       (long long)i, radius);
    molecule_place(m, i, xyz);
    m->charge[i] = charge;
    m->radius[i] = radius;
    take_labels(g, i, &m->labels[i]);
    m->atoms = i + 1;
    molecule_add_charge(m, charge, rest);
    return VF_OK;
}

/* Of positions, charges and radii, as files have one of their text. */
static vf_status digest(vf_context *ctx, molecule *m)
{
    const size_t bytes = (size_t)m->atoms * sizeof(double);
    char *all = malloc(5 * bytes);
    if (!all)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory", molecule_memory_name);
    const double *const arrays[] = {m->x, m->y, m->z, m->charge, m->radius};
    for (int a = 0; a < 5; a++)
        memcpy(all + (size_t)a * bytes, arrays[a], bytes);
    vf_digest(all, 5 * bytes, m->digest);
    free(all);
    return VF_OK;
}

vf_status read_molecule_memory(vf_context *ctx, const vf_molecule *g, molecule *m)
{
    double rest = 0;
    memset(m, 0, sizeof *m);
    vf_status status = check_shapes(ctx, g);
    const int64_t atoms = g->positions.dims[0];
    if (status == VF_OK && !molecule_resize(m, atoms))
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %lld atoms", molecule_memory_name, (long long)atoms);
    for (int64_t i = 0; status == VF_OK && i < atoms; i++)
        status = take_atom(ctx, g, i, m, &rest);
    m->total_charge += rest;
    bool has_cell = false;
    for (int n = 0; n < 6; n++)
        has_cell |= g->cell[n] != 0;
    if (has_cell)
        cell_take_crystal(&m->cell, g->cell);
    if (g->space_group)
        cell_take_group(&m->cell, (text_piece){g->space_group, strlen(g->space_group)});
    VF_TRY(status, check_positions(ctx, molecule_memory_name, m, NULL));
    if (status == VF_OK)
        warn_of_cut_names(ctx, molecule_memory_name, m);
    VF_TRY(status, digest(ctx, m));
    if (status != VF_OK)
        molecule_free(m);
    return status;
}
