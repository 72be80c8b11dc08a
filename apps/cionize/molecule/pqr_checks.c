/* Checks of a PQR file that need more than one line: another kind of file, missing or duplicate atoms, wrong
 * charges. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check_positions.h"
#include "crd_text.h"
#include "gro_text.h"
#include "molecule_readers.h"
#include "pqr_head.h"
#include "pqr_reader.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

#define CHARGES_ALONE                                                                                                  \
    ", which has charges but no coordinates; give the file with the coordinates as the molecule, and this file after " \
    "--charges"
#define PSF "a PSF file" CHARGES_ALONE
#define PRMTOP "an AMBER prmtop file" CHARGES_ALONE

/* What a file that is not PQR is; NULL: unknown. */
static const char *other_kind(text_piece text, locale_t c_locale)
{
    static const text_signature others[] = {
        {"PSF ", 4, PSF},
        {"PSF\n", 4, PSF},
        {"PSF\r", 4, PSF},
        {"%VERSION", 8, PRMTOP},
        {"%FLAG", 5, PRMTOP},
        {"@<TRIPOS>", 9, "a mol2 file, which has no radii; write a PQR with pdb2pqr or Open Babel"},
        {"object 1 class gridpositions", 28,
         "an OpenDX map, not a molecule; give the molecule, and this file after --read-map to place ions on it"},
        {"<", 1, "HTML or XML, perhaps a saved error page of a server"},
        {NULL, 0, NULL}};
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    text_piece line = {text.at, 0};
    do
        line = label_trim(line);
    while ((line.size == 0 || *line.at == '#') && text_next_line(&lines, &line));
    const text_signature *found =
        text_find_signature((text_piece){line.at, (size_t)(text.at + text.size - line.at)}, others);
    if (found)
        return found->what;
    if (is_inpcrd(text, c_locale))
        return "an AMBER coordinate file, which has no charges; give the prmtop file after --charges";
    if (is_crd(text))
        return "a CHARMM coordinate file, which has no charges; give the PSF file after --charges";
    return is_gro(text) ? "a GROMACS .gro file, which has no charges and no radii; give a PSF or prmtop "
                          "file after --charges, or write a PQR (gmx editconf -f run.tpr -mead out.pqr)"
                        : NULL;
}

vf_status pqr_check_kind(const pqr_reader *r)
{
    const char *what = other_kind(r->text, r->c_locale);
    return what ? vf_fail(r->ctx, VF_ERR_INPUT, "%s: is %s", r->name, what) : VF_OK;
}

vf_status pqr_fail_no_atoms(const pqr_reader *r)
{
    vf_status status = pqr_check_kind(r);
    if (status != VF_OK)
        return status;
    if (r->records.atoms_after_end > 0)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s:%" PRId64 ": the file or its first model ends here without atoms, but %" PRId64
                       " atom%s; remove the lines before them",
                       r->name, r->records.end_line, r->records.atoms_after_end,
                       r->records.atoms_after_end == 1 ? " follows" : "s follow");
    status = refuse_overflow(r->ctx, r->name, r->text);
    if (status != VF_OK)
        return status;
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s: no atoms: none of its %" PRId64 " line%s begins with ATOM or HETATM",
                   r->name, r->lines.line, vf_plural(r->lines.line));
}

vf_status pqr_check_not_pdb(const pqr_reader *r)
{
    const double largest_atom = 6; /* angstrom */
    int64_t atoms = r->out->atoms;
    if (!r->two_decimals || r->negative_charges > 0 || r->large_charges > 0)
        return VF_OK;
    bool strange = r->pdb_records || r->largest_radius > largest_atom;
    bool occupancies = 2 * r->whole_charges >= atoms && (strange || !r->one_name);
    bool zeros = r->zero_charges == atoms && strange;
    if (!r->elements && !occupancies && !zeros)
        return VF_OK;
    return vf_fail(r->ctx, VF_ERR_INPUT,
                   "%s:%" PRId64
                   ": this is a PDB file: it has occupancy %.2f and B-factor %.2f instead of charge and radius; "
                   "give the charges (--charges molecule.psf, or .prmtop), or make a PQR file with "
                   "pdb2pqr (pdb2pqr --ff=AMBER in.pdb out.pqr). If they are charges "
                   "and radii, write them with three decimals",
                   r->name, r->atom_line[0], r->first_charge, r->first_radius);
}

vf_status pqr_check_not_swapped(const pqr_reader *r)
{
    if (r->swapped_line == 0 || r->negative_charges > 0)
        return VF_OK;
    return vf_fail(r->ctx, VF_ERR_INPUT,
                   "%s:%" PRId64 ": this REMARK says that the radii come before the charges, and no charge is "
                   "negative; exchange the two columns, and remove the REMARK",
                   r->name, r->swapped_line);
}

/* A molecule's charge is an integer. Rounding of the charges explains at most half a unit of the last decimal for each
 * atom; if the errors are independent, usually at most four standard deviations of their sum. */
static void warn_of_charge(const pqr_reader *r)
{
    const double tolerance = 0.01;
    double total = r->out->total_charge, distance = fabs(total - nearbyint(total));
    double usual = fmin(4 * sqrt(r->rounding_variance), r->rounding_limit);
    if (r->zero_charges == r->out->atoms) {
        vf_warn(r->ctx, "%s: all charges are 0, so the potential is 0 everywhere", r->name);
        return;
    }
    if (r->coarse_limit >= 0.5 && r->coarse_limit > 0.99 * r->rounding_limit)
        vf_warn(r->ctx,
                "%s: charges have two decimals or fewer: rounding may have changed the total charge, %+.4f e, by up to "
                "%.3g e; write charges with more decimals",
                r->name, total, r->coarse_limit);
    else if (distance > tolerance && distance > usual)
        vf_warn(r->ctx,
                "%s: the total charge, %+.4f e, is %.4f e from an integer; rounding explains %.2g e, at most "
                "%.2g e; check for missing atoms",
                r->name, total, distance, usual, r->rounding_limit);
}

static void warn_of_omissions(const pqr_reader *r)
{
    const molecule *m = r->out;
    if (m->missing_atoms > 0)
        vf_warn(r->ctx,
                "%s:%" PRId64 ": the file says that %" PRId64 " atom%s of %" PRId64
                " residue%s %s left out for lack of parameters (%s%s); charge and potential do not include them",
                r->name, r->first_left_out, m->missing_atoms, vf_plural(m->missing_atoms), m->missing_residues,
                vf_plural(m->missing_residues), m->missing_atoms == 1 ? "was" : "were", r->left_out_list,
                m->missing_atoms > 3 ? ", ..." : "");
    records_warn(r->ctx, r->name, "PQR", &r->records);
    if (r->cut > 0)
        vf_warn(r->ctx,
                "%s:%" PRId64
                ": the program that wrote the file cut coordinates to the width of their columns, in %" PRId64
                " atom%s: the last decimals are lost (0.01 angstrom or more); move the molecule closer to the origin",
                r->name, r->first_cut, r->cut, r->cut == 1 ? "" : "s");
}

vf_status pqr_warn(const pqr_reader *r)
{
    warn_of_omissions(r);
    warn_of_cut_names(r->ctx, r->name, r->out);
    warn_of_charge(r);
    return check_positions(r->ctx, r->name, r->out, r->lines_known ? r->atom_line : NULL);
}

void pqr_describe(const pqr_reader *r, char *text, size_t size)
{
    static const char *const names[PQR_READINGS] = {"separate fields", "glued names", "glued numbers", "fixed columns"};
    *text = '\0';
    for (int i = 0; i < PQR_READINGS; i++)
        if (r->readings[i] == r->out->atoms)
            snprintf(text, size, "%s", names[i]);
        else if (r->readings[i] > 0)
            vf_append(text, size, "%s%s (%" PRId64 ")", *text ? ", " : "", names[i], r->readings[i]);
}
