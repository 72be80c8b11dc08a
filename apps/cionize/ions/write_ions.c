/* Writes ions and their solute to files: PQR and XYZ here, PDB in ions_pdb.c. docs/formats.md describes the
 * contents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ion_files.h"

/* ---- PQR ---- */

enum {
    LINE = 256,      /* the longest names and numbers of a record, and the columns between them */
    LONGEST_NAME = 8 /* of an atom_label */
};

/* Appends a field that starts in `column` (from 1), or after a blank if that column is taken. */
static char *put_field(const char *line, char *to, int column, const char *text, size_t length)
{
    const char *start = line + column - 1;
    do
        *to++ = ' ';
    while (to < start);
    memcpy(to, text, length);
    return to + length;
}

static char *put_name_field(ion_file *file, const char *line, char *to, int column, const char *name)
{
    char text[LONGEST_NAME];
    return put_field(line, to, column, text, (size_t)(put_name(file, name, LONGEST_NAME, text) - text));
}

/* Appends a number that ends in column `last`. */
static char *put_number_field(const char *line, char *to, int last, int64_t scaled, int decimals)
{
    char text[PUT_NUMBER_TEXT];
    const size_t length = (size_t)(put_scaled(scaled, decimals, text) - text);
    return put_field(line, to, last + 1 - (int)length, text, length);
}

/* Decimals of a charge or radius: four, as in pdb2pqr, if they are exact; otherwise six, so that a sum of charges is
 * off by at most half a millionth for each. */
static int pqr_decimals(double value)
{
    int64_t scaled;
    return scale_number(value, 4, &scaled) && fabs(value - (double)scaled / 1e4) <= 1e-9 ? 4 : 6;
}

/* Decimals of a coordinate: four, or three if only three fit pdb2pqr's eight columns after a blank, because Open Babel
 * reads by columns. If neither fits, four, for readers that split at blanks. */
static int place_decimals(double value)
{
    const bool four = value > -9.9999 && value<99.9999, three = value> - 99.999 && value < 999.999;
    return three && !four ? 3 : 4;
}

/* Every reader skips REMARK. After the #, APBS does not take a word ATOM for a record. */
static vf_status pqr_begin(ion_file *file)
{
    return file->comment ? vf_output_printf(file->output, "REMARK   1 # %s\n", file->comment) : VF_OK;
}

static char *put_pqr_numbers(const filed_atom *atom, const char *line, char *to, const char **bad, double *bad_value)
{
    static const char *const names[5] = {"its x", "its y", "its z", "its charge", "its radius"};
    static const int last[5] = {38, 46, 54, 62, 69};
    const double values[5] = {atom->position[0], atom->position[1], atom->position[2], atom->charge, atom->radius};
    for (int i = 0; i < 5; i++) {
        const int decimals = i < 3 ? place_decimals(values[i]) : pqr_decimals(values[i]);
        int64_t scaled;
        if (!scale_number(values[i], decimals, &scaled)) {
            *bad = names[i];
            *bad_value = values[i];
            return to;
        }
        to = put_number_field(line, to, last[i], scaled, decimals);
    }
    return to;
}

static const char out_of_range[] = "the largest number in the file is 1e9, and NaN is not allowed";

static vf_status pqr_atom(ion_file *file, const filed_atom *atom)
{
    char line[LINE], *to = line;
    const char *bad = NULL;
    double bad_value = 0;
    const size_t residue = strlen(atom->residue);
    to = put_name(file, atom->hetero ? "HETATM" : "ATOM", 6, to);
    to = put_number_field(line, to, 11, file->written + 1, 0);
    to = put_name_field(file, line, to, name_column(atom), atom->name);
    to = put_name_field(file, line, to, residue < 3 ? 21 - (int)residue : 18, atom->residue);
    if (*atom->chain)
        to = put_name_field(file, line, to, 22, atom->chain);
    to = put_number_field(line, to, 26, atom->residue_number, 0);
    if (atom->insertion)
        *to++ = atom->insertion;
    to = put_pqr_numbers(atom, line, to, &bad, &bad_value);
    if (bad)
        return refuse_number(file, atom, bad, bad_value, out_of_range);
    *to++ = '\n';
    return vf_output_write(file->output, line, (size_t)(to - line));
}

static vf_status pqr_part(ion_file *file, const filed_atom *last)
{
    (void)last;
    return vf_output_printf(file->output, "TER\n");
}

static vf_status pqr_end(ion_file *file)
{
    return vf_output_printf(file->output, "END\n");
}

static const ion_format ions_as_pqr = {
    .extension = ".pqr", .words = true, .begin = pqr_begin, .atom = pqr_atom, .part = pqr_part, .end = pqr_end};

/* ---- XYZ ---- */

static vf_status xyz_begin(ion_file *file)
{
    return vf_output_printf(file->output, "%lld\n%s\n", (long long)file->atoms, file->comment ? file->comment : "");
}

static vf_status xyz_atom(ion_file *file, const filed_atom *atom)
{
    static const char *const axes[3] = {"its x", "its y", "its z"};
    char line[LINE], symbol[3];
    /* Always a symbol: readers ignore atoms without one. */
    (void)atom_element(atom->name, atom->residue, atom->element, symbol);
    char *to = put_name(file, symbol, LONGEST_NAME, line);
    for (int a = 0; a < 3; a++) {
        int64_t scaled;
        if (!scale_number(atom->position[a], 6, &scaled))
            return refuse_number(file, atom, axes[a], atom->position[a], out_of_range);
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
                       .element = "",
                       .residue_number = 1,
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
                        .element = kind->element,
                        .residue_number = residue_number,
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
    *last_residue = 1; /* of atoms without labels */
    for (int64_t i = 0; solute->labels && i < solute->atoms; i++) {
        const int64_t number = solute->labels[i].residue_number;
        *last_residue = i == 0 || number > *last_residue ? number : *last_residue;
        if (*solute->labels[i].chain)
            return false;
    }
    return true;
}

/* Ions have a chain of their own, numbered from 1. Where records are words and the solute has no chains, they have none
 * either, and their numbers follow those of the solute. */
static vf_status write_atoms(ion_file *file, const ion_format *format, const ion_list *ions, const molecule *solute)
{
    int64_t last_residue = 0;
    const bool no_chain = format->words && solute && has_no_chains(solute, &last_residue);
    const char chain[2] = {no_chain ? '\0' : ion_chain(solute), '\0'};
    const int64_t before = solute ? solute->atoms : 0,
                  first_residue = no_chain && last_residue > 0 ? last_residue + 1 : 1;
    filed_atom atom = {.name = ""};
    vf_status status = VF_OK;
    for (; file->written < file->atoms && status == VF_OK; file->written++) {
        if (file->written == before && before > 0 && format->part)
            status = format->part(file, &atom);
        const int64_t ion = file->written - before;
        atom = solute && ion < 0 ? solute_atom(solute, file->written) : ion_atom(ions, ion, chain, first_residue + ion);
        if (status == VF_OK)
            status = format->atom(file, &atom);
    }
    return status;
}

/* ---- files ---- */

static const ion_format *const formats[] = {&ions_as_pdb, &ions_as_pqr, &ions_as_xyz};
enum { FORMATS = sizeof formats / sizeof *formats };

static vf_status find_format(vf_context *ctx, const char *path, const ion_format **out)
{
    for (int f = 0; f < FORMATS; f++)
        if (vf_path_has_extension(path, formats[f]->extension)) {
            *out = formats[f];
            return VF_OK;
        }
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: unknown file extension; use .pdb, .pqr or .xyz for ions", path);
}

vf_status check_ions_path(vf_context *ctx, const char *path)
{
    const ion_format *format;
    return find_format(ctx, path, &format);
}

vf_status check_ions_room(vf_context *ctx, const char *path, const molecule *solute)
{
    const double least = -999.9995, most = 9999.9995; /* what rounds to three decimals in eight columns */
    for (int a = 0; a < 3; a++)
        if (vf_path_has_extension(path, ".pdb") && !(solute->lo[a] > least && solute->hi[a] < most))
            return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                           "%s: a PDB file holds coordinates from -999.999 to 9999.999, but the molecule "
                           "reaches from %g to %g along %c; use .pqr or .xyz",
                           path, solute->lo[a], solute->hi[a], "xyz"[a]);
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

vf_status write_ions(vf_context *ctx, const char *path, const ion_list *ions, const molecule *solute,
                     const char *comment)
{
    const ion_format *format = NULL;
    ion_file file = {.ctx = ctx, .path = path, .comment = comment, .atoms = ions->count + (solute ? solute->atoms : 0)};
    vf_status status = find_format(ctx, path, &format);
    if (status == VF_OK)
        status = check_comment(ctx, path, comment);
    if (status == VF_OK)
        status = vf_output_open(ctx, path, &file.output);
    if (status == VF_OK && format->begin)
        status = format->begin(&file);
    if (status == VF_OK)
        status = write_atoms(&file, format, ions, solute);
    if (status == VF_OK && format->end)
        status = format->end(&file);
    if (status == VF_OK)
        status = vf_output_commit(&file.output);
    if (status == VF_OK)
        warn(&file);
    vf_output_discard(&file.output);
    return status;
}
