/* Writes ions and their solute to files: XYZ here, PDB, PQR and GRO in files of their own. docs/formats.md describes
 * the contents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hybrid36.h"
#include "ion_files.h"

/* ---- XYZ ---- */

static vf_status xyz_begin(ion_file *file)
{
    return vf_output_printf(file->output, "%lld\n%s\n", (long long)file->atoms, file->comment ? file->comment : "");
}

static vf_status xyz_atom(ion_file *file, const filed_atom *atom)
{
    static const char *const axes[3] = {"its x", "its y", "its z"};
    char line[FILED_LINE], symbol[3];
    /* Always a symbol: readers ignore atoms without one. */
    (void)atom_element(atom->name, atom->residue, atom->element, symbol);
    char *to = put_name(file, symbol, FILED_NAME, line);
    for (int a = 0; a < 3; a++) {
        int64_t scaled;
        if (!scale_number(atom->position[a], 6, &scaled))
            return refuse_number(file, atom, axes[a], atom->position[a], filed_out_of_range);
        to = put_number_field(line, to, 18 + 16 * a, scaled, 6);
    }
    *to++ = '\n';
    return vf_output_write(file->output, line, (size_t)(to - line));
}

static const ion_format ions_as_xyz = {.extension = ".xyz", .begin = xyz_begin, .atom = xyz_atom};

/* ---- the atoms ---- */

static const char *or_else(const char *text, const char *otherwise)
{
    return *text ? text : otherwise;
}

static filed_atom solute_atom(const molecule *solute, int64_t i)
{
    filed_atom atom = {.name = "X",
                       .residue = "MOL",
                       .chain = "",
                       .segment = "",
                       .element = "",
                       .formal_charge = "",
                       .number_text = "",
                       .residue_number = 1,
                       .occupancy = 1,
                       .position = {solute->x[i], solute->y[i], solute->z[i]},
                       .charge = solute->charge[i],
                       .radius = solute->radius[i]};
    if (solute->labels) {
        const atom_label *label = &solute->labels[i];
        atom.name = or_else(label->name, atom.name);
        atom.residue = or_else(label->residue, atom.residue);
        atom.chain = label->chain;
        atom.element = label->element;
        atom.residue_number = label->residue_number;
        atom.insertion = label->insertion;
        atom.hetero = label->hetero;
        atom.segment = label->segment;
        atom.formal_charge = label->formal_charge;
        atom.number_text = label->number_text;
        atom.alternate = label->alternate;
        atom.occupancy = label->occupancy;
        atom.b_factor = label->b_factor;
    }
    return atom;
}

/* Every ion is a residue of its own. */
static filed_atom ion_atom(const ion_list *ions, int64_t i, const char *chain, int64_t residue_number)
{
    const ion_site *site = &ions->sites[i];
    const ion_kind *kind = &ions->kinds[site->kind];
    return (filed_atom){.name = *kind->atom ? kind->atom : kind->name,
                        .residue = kind->name,
                        .chain = chain,
                        .segment = "",
                        .element = kind->element,
                        .formal_charge = "",
                        .number_text = "",
                        .residue_number = residue_number,
                        .occupancy = 1,
                        .hetero = true,
                        .ion = true,
                        .position = {site->position[0], site->position[1], site->position[2]},
                        .charge = kind->charge,
                        .radius = kind->radius};
}

/* The chain of the ions: I, or if the solute has a chain I, the last unused letter, so that residue numbers are
 * unique. */
static char ion_chain(const molecule *solute)
{
    bool taken[256] = {false};
    for (int64_t i = 0; solute && solute->labels && i < solute->atoms; i++)
        if (*solute->labels[i].chain && !solute->labels[i].chain[1])
            taken[(unsigned char)*solute->labels[i].chain] = true;
    if (!taken['I'])
        return 'I';
    for (const char *c = "ZYXWVUTSRQPONMLKJHGFEDCBAzyxwvutsrqponmlkjihgfedcba9876543210"; *c; c++)
        if (!taken[(unsigned char)*c])
            return *c;
    return 'I';
}

/* Whether the solute has no chains, and its largest residue number. */
static bool has_no_chains(const molecule *solute, int64_t *last_residue)
{
    bool none = true;
    *last_residue = 1; /* of atoms without labels */
    for (int64_t i = 0; solute->labels && i < solute->atoms; i++) {
        const int64_t number = solute->labels[i].residue_number;
        *last_residue = i == 0 || number > *last_residue ? number : *last_residue;
        none &= !*solute->labels[i].chain;
    }
    return none;
}

/* Whether a TER follows atom i of the solute: where its file has one, before the ions, and where chains or segments meet
 * that letters, or the words of PQR files, do not tell apart. */
static bool ends_chain(const molecule *solute, int64_t i, bool ions, bool words)
{
    const atom_label *label = solute->labels ? &solute->labels[i] : NULL, *next = label + 1;
    if (i + 1 == solute->atoms)
        return ions || (label && label->ends_chain);
    if (!label)
        return false;
    const bool letters = *label->chain && *next->chain && (words || (!label->chain[1] && !next->chain[1]));
    const bool chains = strcmp(label->chain, next->chain) != 0, segments = strcmp(label->segment, next->segment) != 0;
    return label->ends_chain || (chains ? !letters : segments);
}

static vf_status write_solute(ion_file *file)
{
    const molecule *solute = file->solute;
    const bool ions = file->atoms > solute->atoms;
    vf_status status = VF_OK;
    for (; file->written < solute->atoms && status == VF_OK; file->written++) {
        const filed_atom atom = solute_atom(solute, file->written);
        status = file->format->atom(file, &atom);
        if (file->serial)
            file->serial[file->written] = file->format->words ? file->written + 1 : file->records;
        if (status == VF_OK && file->format->part && ends_chain(solute, file->written, ions, file->format->words))
            status = file->format->part(file, &atom);
    }
    return status;
}

/* The first kind with the name of kind k. */
static int first_alike(const ion_list *ions, int k)
{
    int first = 0;
    while (strcmp(ions->kinds[first].name, ions->kinds[k].name) != 0)
        first++;
    return first;
}

/* Ions in the order of placement; kind >= 0: those of this kind. Residues count from first_residue. */
static vf_status write_kind(ion_file *file, const ion_list *ions, int kind, const char *chain, int64_t first_residue)
{
    const int64_t before = file->atoms - ions->count;
    vf_status status = VF_OK;
    for (int64_t i = 0; i < ions->count && status == VF_OK; i++) {
        if (kind >= 0 && first_alike(ions, ions->sites[i].kind) != kind)
            continue;
        const filed_atom atom = ion_atom(ions, i, chain, first_residue + file->written - before);
        status = file->format->atom(file, &atom);
        file->written++;
    }
    return status;
}

/* Ions have a chain of their own, numbered from 1. Where there are no chains, or records are words and the solute has none,
 * they have none either, and their numbers follow those of the solute. */
static vf_status write_atoms(ion_file *file, const ion_list *ions)
{
    const molecule *solute = file->solute;
    int64_t last_residue = 0;
    const bool chains = !solute || !has_no_chains(solute, &last_residue);
    const bool no_chain = solute && (file->format->chainless || (file->format->words && !chains));
    const char chain[2] = {no_chain ? '\0' : ion_chain(solute), '\0'};
    const int64_t first_residue = no_chain && last_residue > 0 ? last_residue + 1 : 1;
    vf_status status = solute ? write_solute(file) : VF_OK;
    if (status == VF_OK && !file->format->grouped)
        return write_kind(file, ions, -1, chain, first_residue);
    for (int k = 0; status == VF_OK && k < ions->kind_count; k++)
        if (first_alike(ions, k) == k)
            status = write_kind(file, ions, k, chain, first_residue);
    return status;
}

/* ---- files ---- */

static const ion_format *const formats[] = {&ions_as_pdb, &ions_as_pqr, &ions_as_gro, &ions_as_xyz};
enum { FORMATS = sizeof formats / sizeof *formats };

static vf_status find_format(vf_context *ctx, const char *path, const ion_format **out)
{
    for (int f = 0; f < FORMATS; f++)
        if (vf_path_has_extension(path, formats[f]->extension)) {
            *out = formats[f];
            return VF_OK;
        }
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: unknown file extension; use .pdb, .pqr, .gro or .xyz for ions", path);
}

vf_status check_ions_path(vf_context *ctx, const char *path)
{
    const ion_format *format;
    return find_format(ctx, path, &format);
}

static vf_status check_numbers(vf_context *ctx, const char *path, const molecule *solute)
{
    for (int64_t i = 0; solute->labels && i < solute->atoms; i++) {
        const int64_t number = solute->labels[i].residue_number;
        if (number < PDB_LEAST_RESIDUE || number > hybrid36_greatest(PDB_RESIDUE_WIDTH))
            return vf_fail(
                ctx, VF_ERR_UNSUPPORTED,
                "%s: atom %lld (%s) is in residue %lld; a PDB file holds residue numbers from %d to %lld, with "
                "hybrid-36; add --renumber, which numbers residues from 1, or use .pqr, .gro or .xyz",
                path, (long long)i + 1, solute->labels[i].name, (long long)number, PDB_LEAST_RESIDUE,
                (long long)hybrid36_greatest(PDB_RESIDUE_WIDTH));
    }
    return VF_OK;
}

vf_status check_ions_room(vf_context *ctx, const char *path, const molecule *solute, bool renumbered)
{
    const double least = -999.9995, most = 9999.9995; /* what rounds to three decimals in eight columns */
    for (int a = 0; a < 3; a++)
        if (vf_path_has_extension(path, ".pdb") && !(solute->lo[a] > least && solute->hi[a] < most))
            return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                           "%s: a PDB file holds coordinates from -999.999 to 9999.999, but the molecule "
                           "reaches from %g to %g along %c; use .pqr or .xyz",
                           path, solute->lo[a], solute->hi[a], "xyz"[a]);
    if (vf_path_has_extension(path, ".pdb") && !renumbered)
        return check_numbers(ctx, path, solute);
    return VF_OK;
}

/* Readers would take the line after a line break for an atom. */
static vf_status check_comment(vf_context *ctx, const char *path, const char *comment)
{
    for (; comment && *comment; comment++)
        if (*comment < ' ' || *comment > '~')
            return vf_fail(ctx, VF_ERR_INTERNAL, "%s: the comment is not one line of ASCII", path);
    return VF_OK;
}

static void warn(const ion_file *file)
{
    if (file->shortened > 0)
        vf_warn(file->ctx, "%s: %lld name%s too long for the columns and cut; .pqr keeps long names", file->path,
                (long long)file->shortened, file->shortened == 1 ? " is" : "s are");
    if (file->odd > 0)
        vf_warn(file->ctx, "%s: %lld name%s blanks or non-ASCII characters, replaced by _", file->path,
                (long long)file->odd, file->odd == 1 ? " has" : "s have");
    if (file->uncharged > 0)
        vf_warn(file->ctx,
                "%s: the charge%s of %lld ion%s left out: PDB files hold only integers up to 9; .pqr holds all charges",
                file->path, vf_plural(file->uncharged), (long long)file->uncharged,
                file->uncharged == 1 ? " is" : "s are");
}

static vf_status prepare(ion_file *file)
{
    const molecule *solute = file->solute;
    file->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (solute && solute->records.bonds > 0 && (file->format->holds & HELD_BONDS))
        file->serial = malloc((size_t)solute->atoms * sizeof *file->serial);
    else if (file->c_locale)
        return VF_OK;
    return file->c_locale && file->serial ? VF_OK : vf_fail(file->ctx, VF_ERR_MEMORY, "%s: no memory", file->path);
}

vf_status write_ions(vf_context *ctx, const char *path, const ion_list *ions, const molecule *solute,
                     const unit_cell *cell, const char *comment)
{
    ion_file file = {.ctx = ctx,
                     .path = path,
                     .solute = solute,
                     .cell = solute ? &solute->cell : cell,
                     .comment = comment,
                     .atoms = ions->count + (solute ? solute->atoms : 0)};
    vf_status status = find_format(ctx, path, &file.format);
    VF_TRY(status, check_comment(ctx, path, comment));
    VF_TRY(status, prepare(&file));
    VF_TRY(status, vf_output_open(ctx, path, &file.output));
    if (status == VF_OK && file.format->begin)
        status = file.format->begin(&file);
    VF_TRY(status, write_atoms(&file, ions));
    if (status == VF_OK && file.format->end)
        status = file.format->end(&file);
    VF_TRY(status, vf_output_commit(&file.output));
    if (status == VF_OK) {
        note_lost(&file);
        warn(&file);
    }
    vf_output_discard(&file.output);
    if (file.c_locale)
        freelocale(file.c_locale);
    free(file.serial);
    return status;
}
