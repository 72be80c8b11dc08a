/* Reads a PQR file: loads it into memory, reads its lines, and then checks the whole. pqr_fields.c reads a record.
 * docs/molecules.md explains what is supported and why. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary_coordinates.h"
#include "check_positions.h"
#include "choose_conformer.h"
#include "molecule.h"
#include "molecule_arrays.h"
#include "molecule_readers.h"
#include "pqr_head.h"
#include "pqr_lines.h"
#include "pqr_reader.h"
#include "residue_labels.h"
#include "text/cif_words.h"
#include "voxfield/append.h"

/* ---- atoms ---- */

static vf_status grow(pqr_reader *r)
{
    int64_t capacity = r->capacity ? 2 * r->capacity : 1024;
    int64_t *lines = realloc(r->atom_line, (size_t)capacity * sizeof *lines);
    if (lines)
        r->atom_line = lines;
    if (!lines || !molecule_resize(r->out, capacity))
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", r->name, capacity);
    r->capacity = capacity;
    return VF_OK;
}

/* Adds up how much rounding may have changed a charge. Integers count as exact. */
static void add_rounding(pqr_reader *r, double charge, int decimals)
{
    static const double steps[] = {1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
    if (charge == floor(charge))
        return;
    if (decimals >= (int)(sizeof steps / sizeof *steps))
        return;
    double step = steps[decimals];
    r->rounding_limit += step / 2;
    r->rounding_variance += step * step / 12;
    if (decimals <= 2)
        r->coarse_limit += step / 2;
}

static void note_signs_of_pdb(pqr_reader *r, const pqr_atom *atom)
{
    double charge = atom->value[PQR_CHARGE], radius = atom->value[PQR_RADIUS];
    if (r->out->atoms == 0) {
        r->first_charge = charge;
        r->first_radius = radius;
        r->first_name = atom->name;
        r->two_decimals = r->one_name = true;
    }
    r->two_decimals &= atom->decimals[PQR_CHARGE] == 2 && atom->decimals[PQR_RADIUS] == 2;
    r->one_name &=
        atom->name.size == r->first_name.size && memcmp(atom->name.at, r->first_name.at, atom->name.size) == 0;
    r->elements |= atom->element;
    r->whole_charges += charge == 1;
    r->zero_charges += charge == 0;
    r->negative_charges += charge < 0;
    r->large_charges += charge > 1;
    if (radius > r->largest_radius)
        r->largest_radius = radius;
}

static vf_status add_atom(pqr_reader *r, const pqr_atom *atom)
{
    molecule *m = r->out;
    if (m->atoms == r->capacity && grow(r) != VF_OK)
        return VF_ERR_MEMORY;
    note_signs_of_pdb(r, atom);
    molecule_place(m, m->atoms, atom->value + PQR_X);
    m->charge[m->atoms] = atom->value[PQR_CHARGE];
    m->radius[m->atoms] = atom->value[PQR_RADIUS];
    m->labels[m->atoms] = atom->label;
    r->atom_line[m->atoms] = r->lines.line;
    records_take_serial(&r->records, atom->serial);
    m->atoms++;
    molecule_add_charge(m, atom->value[PQR_CHARGE], &r->total_rest);
    add_rounding(r, atom->value[PQR_CHARGE], atom->decimals[PQR_CHARGE]);
    r->readings[atom->reading]++;
    if (atom->cut && r->cut++ == 0)
        r->first_cut = r->lines.line;
    return VF_OK;
}

/* ---- records ---- */

static bool is_integer_word(text_piece word)
{
    for (size_t i = 0; i < word.size; i++)
        if (!text_is_digit(word.at[i]))
            return false;
    return word.size > 0;
}

/* "REMARK   5    1234 O1 in LIG 45": pdb2pqr left out this atom for lack of parameters. */
static void read_left_out(pqr_reader *r, const text_words *words)
{
    if (words->count != 7 || !word_is(words->word[1], "5") || !is_integer_word(words->word[2]) ||
        !word_is(words->word[4], "in"))
        return;
    const char *end = words->word[6].at + words->word[6].size;
    text_piece residue = {words->word[5].at, (size_t)(end - words->word[5].at)};
    if (r->left_out.size != residue.size || memcmp(r->left_out.at, residue.at, residue.size) != 0)
        r->out->missing_residues++;
    r->left_out = residue;
    if (r->out->missing_atoms++ == 0)
        r->first_left_out = r->lines.line;
    if (r->out->missing_atoms <= 3) {
        char name[TEXT_QUOTE_SIZE], where[TEXT_QUOTE_SIZE];
        vf_append(r->left_out_list, sizeof r->left_out_list, "%s%s in %s", r->left_out_list[0] ? ", " : "",
                  text_quote(words->word[3], name), text_quote(residue, where));
    }
}

/* "REMARK  atom radii in columns 55-62": the columns are not in PQR's order. */
static void read_remark(pqr_reader *r, text_piece line)
{
    text_words words;
    text_split(line, &words);
    read_left_out(r, &words);
    if (words.count == 6 && word_is(words.word[2], "radii") && word_is(words.word[4], "columns") &&
        word_is(words.word[5], "55-62"))
        r->swapped_line = r->lines.line;
}

/* A line of unknown kind. If it ends like an atom record, it is a damaged one. */
static vf_status read_unknown(pqr_reader *r, text_piece line)
{
    if (pqr_ends_like_atom(line, r->c_locale)) {
        char word[TEXT_QUOTE_SIZE];
        const char *p = line.at;
        text_quote(text_next_word(&p, line.at + line.size), word);
        /* Before the first atom, it may be a line of another kind of file, to which the advice below does not apply. */
        vf_status status = r->out->atoms == 0 ? pqr_check_kind(r) : VF_OK;
        if (status != VF_OK)
            return status;
        return text_fail(r->ctx, r->name, r->lines.line,
                         "field 1 (record): '%s' is not ATOM or HETATM, but the line ends in five numbers like an "
                         "atom record; correct it, or %s",
                         word,
                         r->out->atoms > 0 ? "make it a REMARK"
                                           : "if this is no PQR file, convert it to one (Open Babel, pdb2pqr), or give "
                                             "a map after --read-map");
    }
    records_take_unknown(&r->records, line, r->lines.line);
    return VF_OK;
}

static vf_status read_atom(pqr_reader *r, text_piece line, bool capitals)
{
    pqr_atom atom;
    char why[PQR_WHY_SIZE];
    if (pqr_read_atom(line, r->c_locale, &atom, why))
        return add_atom(r, &atom);
    /* "Atom 12 was added by hand" is a remark, unless it ends like a record. */
    if (!capitals && !pqr_ends_like_atom(line, r->c_locale))
        return read_unknown(r, line);
    return text_fail(r->ctx, r->name, r->lines.line, "%s", why);
}

/* A record about the structure, or none. A remark about the order of columns is not true of files that are written. */
static void take_record(pqr_reader *r, text_piece line)
{
    const int64_t swapped_line = r->swapped_line;
    if (!read_cryst1(line, r->c_locale, &r->out->cell))
        symmetry_read_record(line, r->c_locale, &r->out->symmetry);
    if (pqr_line_kind(line) == PQR_REMARK)
        read_remark(r, line);
    if (r->swapped_line == swapped_line)
        records_take_line(&r->records, line, r->lines.line);
    if (record_is(line, "TER") && r->out->atoms > 0)
        r->out->labels[r->out->atoms - 1].ends_chain = true;
}

static vf_status read_line(pqr_reader *r, text_piece line)
{
    pqr_kind kind = pqr_line_kind(line);
    record_pieces *records = &r->records;
    const bool stopped = records->stopped;
    if (!stopped)
        take_record(r, line);
    else if (!records->ended)
        records_take_bond(records, line, r->lines.line);
    switch (kind) {
    case PQR_ATOM:
    case PQR_ATOM_CASE:
        if (!stopped)
            return read_atom(r, line, kind == PQR_ATOM);
        records->atoms_after_end++;
        return VF_OK;
    case PQR_MODEL:
        records_take_model(records, line, r->lines.line, r->out);
        return VF_OK;
    case PQR_END:
    case PQR_ENDMDL:
        records_take_end(records, r->lines.line, kind == PQR_END);
        return VF_OK;
    case PQR_PDB_ONLY:
        r->pdb_records = true;
        return VF_OK;
    case PQR_MMCIF:
        return stopped ? VF_OK
                       : text_fail(r->ctx, r->name, r->lines.line,
                                   "this line belongs to an mmCIF file, but the file does not begin like one; remove "
                                   "the lines before data_");
    case PQR_UNKNOWN:
        return stopped ? VF_OK : read_unknown(r, line);
    case PQR_BLANK:
    case PQR_REMARK:
    case PQR_OTHER:
        break;
    }
    return VF_OK;
}

static vf_status read_lines(pqr_reader *r)
{
    enum { LINES_BETWEEN_LOOKS = 1 << 16 };
    text_piece line;
    while (text_next_line(&r->lines, &line)) {
        if (r->lines.line % LINES_BETWEEN_LOOKS == 0 && vf_cancelled(r->ctx))
            return vf_fail(r->ctx, VF_ERR_CANCELLED, "%s: interrupted while reading", r->name);
        vf_status status = read_line(r, line);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

/* One conformer of each residue. The atoms' lines are not known afterwards. */
static vf_status choose_locations(pqr_reader *r)
{
    molecule *m = r->out;
    const int64_t before = m->atoms;
    pqr_settle_alternates(m->labels, m->atoms);
    const vf_status status = choose_conformers(r->ctx, r->name, r->choice, m);
    r->lines_known = m->atoms == before;
    return status;
}

static vf_status finish(pqr_reader *r)
{
    molecule *m = r->out;
    vf_status status;
    if (m->atoms == 0)
        return pqr_fail_no_atoms(r);
    m->total_charge += r->total_rest;
    if ((status = pqr_check_not_pdb(r)) != VF_OK || (status = pqr_check_not_swapped(r)) != VF_OK)
        return status;
    pqr_describe(r, m->dialect, sizeof m->dialect);
    (void)label_resolve_numbers(m->labels, m->atoms, true);
    if ((status = records_finish(r->ctx, r->name, &r->records, m)) != VF_OK ||
        (status = choose_locations(r)) != VF_OK || (status = pqr_warn(r)) != VF_OK)
        return status;
    if (!molecule_resize(m, m->atoms))
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory", r->name);
    return VF_OK;
}

static vf_status read_records(pqr_reader *r)
{
    vf_status status = read_lines(r);
    return status == VF_OK ? finish(r) : status;
}

static vf_status read_cif(pqr_reader *r)
{
    molecule_reader cif = {.ctx = r->ctx, .name = r->name, .lines = r->lines, .c_locale = r->c_locale, .out = r->out};
    vf_status status = read_mmcif_with_charges(&cif);
    VF_TRY(status, choose_conformers(r->ctx, r->name, r->choice, r->out));
    VF_TRY(status, check_positions(r->ctx, r->name, r->out, NULL));
    if (status == VF_OK && !molecule_resize(r->out, r->out->atoms))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory", r->name);
    return status;
}

static vf_status parse(vf_context *ctx, const char *name, const char *text, size_t bytes, conformer_choice choice,
                       molecule *out)
{
    text_piece rest = {text, bytes};
    pqr_reader r = {.ctx = ctx, .name = name, .out = out, .choice = choice};
    memset(out, 0, sizeof *out);
    vf_status status = is_namdbin(name, text, bytes)
                           ? vf_fail(ctx, VF_ERR_INPUT,
                                     "%s: is a coordinate file of NAMD, which has no charges; give the PSF file after "
                                     "--charges",
                                     name)
                           : text_check(ctx, name, &rest);
    if (status != VF_OK)
        goto done;
    r.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!r.c_locale) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", name);
        goto done;
    }
    r.text = rest;
    r.lines = (text_lines){.next = rest.at, .end = rest.at + rest.size};
    status = is_cif(rest) ? read_cif(&r) : read_records(&r);
    if (status == VF_OK)
        vf_digest(text, bytes, out->digest);
done:
    if (r.c_locale)
        freelocale(r.c_locale);
    free(r.atom_line);
    record_pieces_free(&r.records);
    if (status != VF_OK)
        molecule_free(out);
    return status;
}

static const conformer_choice by_occupancy = {CONFORMER_BY_OCCUPANCY, '\0'};

vf_status parse_pqr(vf_context *ctx, const char *name, const char *text, size_t bytes, molecule *out)
{
    return parse(ctx, name, text, bytes, by_occupancy, out);
}

/* ---- files ---- */

vf_status read_pqr_choosing(vf_context *ctx, const char *path, conformer_choice choice, molecule *out)
{
    input_text text;
    memset(out, 0, sizeof *out);
    vf_status status = input_text_read(ctx, path, &text);
    VF_TRY(status, parse(ctx, path, text.data, text.size, choice, out));
    input_text_free(&text);
    return status;
}

vf_status read_molecule(vf_context *ctx, const char *path, molecule *out)
{
    return read_pqr_choosing(ctx, path, by_occupancy, out);
}
