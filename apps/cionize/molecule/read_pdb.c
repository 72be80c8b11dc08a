/* Reads coordinates and names from a PDB file by the fixed columns of wwPDB format 3.3. Names may be blank or touch
 * their neighbours, so splitting at blanks would be a guess. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chain_letters.h"
#include "molecule_readers.h"
#include "molecule_records.h"
#include "pqr_lines.h"
#include "residue_labels.h"
#include "voxfield/timer.h"

/* From 0. Each field ends where the next begins, except for the gaps in the format. The residue name has three
 * columns in the format; molecular dynamics programs also use the free column after it (TIP3). */
enum {
    SERIAL = 6,
    NAME = 12,
    ALTERNATE = 16,
    RESIDUE = 17,
    CHAIN = 21,
    NUMBER = 22,
    CODE = 26,
    X = 30,
    COORDINATE_WIDTH = 8,
    COORDINATE_DECIMALS = 3,
    OCCUPANCY = 54,
    B_FACTOR = 60,
    B_FACTOR_END = 66,
    SEGMENT = 72, /* of versions before 3.3, and of molecular dynamics programs */
    ELEMENT = 76,
    ELEMENT_END = 78,
    CHARGE_END = 80
};

typedef struct pdb_reader {
    molecule_reader *r;
    record_pieces records;
    chain_columns *chains; /* [r->capacity] */
    int64_t chains_capacity;
} pdb_reader;

/* ---- records ---- */

static char column(text_piece line, size_t at)
{
    return at < line.size ? line.at[at] : ' ';
}

/* Before version 2, columns 73-80 had the code of the file and the number of the line: "1ABC 123". */
static bool has_segments(text_piece line)
{
    bool digits = false;
    for (size_t i = ELEMENT; i < CHARGE_END && i < line.size; i++)
        digits |= text_is_digit(line.at[i]);
    return !digits || text_is_letter(column(line, ELEMENT_END - 1));
}

static void read_end_of_label(molecule_reader *r, text_piece line, atom_label *label)
{
    label->occupancy = reader_number_or(r, text_columns(line, OCCUPANCY, B_FACTOR), r->lines.line, 1);
    label->b_factor = reader_number_or(r, text_columns(line, B_FACTOR, B_FACTOR_END), r->lines.line, 0);
    label_element(text_columns(line, ELEMENT, ELEMENT_END), label->element);
    if (has_segments(line))
        label_copy(text_columns(line, SEGMENT, ELEMENT), label->segment);
    if (!*label->chain)
        memcpy(label->chain, label->segment, sizeof label->chain);
    const char first = column(line, ELEMENT_END), second = column(line, CHARGE_END - 1);
    const bool turned = text_is_digit(second); /* "+2" of some programs, for "2+" */
    const char digit = turned ? second : first, sign = turned ? first : second;
    if (*label->element && text_is_digit(digit) && (sign == '+' || sign == '-')) {
        label->formal_charge[0] = digit;
        label->formal_charge[1] = sign;
    }
}

static vf_status read_label(molecule_reader *r, text_piece line, atom_label *label)
{
    const char alternate = column(line, ALTERNATE);
    label_copy(text_columns(line, NAME, ALTERNATE), label->name);
    label_copy(text_columns(line, RESIDUE, CHAIN), label->residue);
    label_copy(text_columns(line, CHAIN, NUMBER), label->chain);
    if (!*label->name)
        return text_fail(r->ctx, r->name, r->lines.line, "columns %d-%d (atom name) are blank", NAME + 1, ALTERNATE);
    label->alternate = (char)(alternate > ' ' && alternate <= '~' ? alternate : '\0');
    label_keep_number(text_columns(line, NUMBER, CODE), column(line, CODE), label);
    read_end_of_label(r, line, label);
    return VF_OK;
}

static bool has_points(text_piece line, size_t shift)
{
    for (size_t a = 0; a < 3; a++)
        if (column(line, shift + X + (a + 1) * COORDINATE_WIDTH - COORDINATE_DECIMALS - 1) != '.')
            return false;
    return true;
}

/* How far a serial number of more than five digits pushes the rest of the line to the right. A number of six can also
 * take the blank column after it. */
static size_t shift_of(text_piece line)
{
    enum { MOST = 5 };
    if (has_points(line, 0))
        return 0;
    for (size_t shift = 1; shift <= MOST; shift++) {
        bool serial = true;
        for (size_t i = SERIAL; i < NAME - 1 + shift; i++)
            serial &= text_is_digit(column(line, i));
        if (serial && has_points(line, shift))
            return shift;
    }
    return 0;
}

static vf_status make_room(pdb_reader *p)
{
    const molecule_reader *r = p->r;
    if (p->chains_capacity == r->capacity)
        return VF_OK;
    chain_columns *larger = realloc(p->chains, (size_t)r->capacity * sizeof *larger);
    if (!larger)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", r->name, r->capacity);
    p->chains = larger;
    p->chains_capacity = r->capacity;
    return VF_OK;
}

static vf_status read_atom(pdb_reader *p, text_piece whole)
{
    static const char *const names[3] = {"x", "y", "z"};
    molecule_reader *r = p->r;
    molecule *m = r->out;
    double xyz[3];
    const size_t shift = shift_of(whole);
    const text_piece line = {whole.at + shift, whole.size - shift};
    atom_label label = {.hetero = *whole.at == 'H'};
    vf_status status = read_label(r, line, &label);
    for (int a = 0; status == VF_OK && a < 3; a++) {
        size_t begin = X + (size_t)a * COORDINATE_WIDTH;
        status = reader_number(r, line, begin, begin + COORDINATE_WIDTH, COORDINATE_DECIMALS, names[a], &xyz[a]);
    }
    VF_TRY(status, reader_add_atom(r));
    VF_TRY(status, make_room(p));
    if (status != VF_OK)
        return status;
    const int64_t i = m->atoms - 1;
    molecule_place(m, i, xyz);
    m->labels[i] = label;
    chain_columns_take(text_columns(line, RESIDUE, NUMBER), &p->chains[i]);
    records_take_serial(&p->records, text_columns(whole, SERIAL, NAME + shift));
    return VF_OK;
}

static vf_status read_line(pdb_reader *p, text_piece line)
{
    const molecule_reader *r = p->r;
    record_pieces *records = &p->records;
    const bool stopped = records->stopped;
    if (!stopped) {
        if (!read_cryst1(line, r->c_locale, &r->out->cell))
            symmetry_read_record(line, r->c_locale, &r->out->symmetry);
        records_take_line(records, line, r->lines.line);
    } else if (!records->ended) {
        records_take_bond(records, line, r->lines.line);
    }
    switch (pqr_line_kind(line)) {
    case PQR_ATOM:
        if (stopped)
            records->atoms_after_end++;
        else if (*line.at == ' ' || *line.at == '\t')
            return text_fail(r->ctx, r->name, r->lines.line,
                             "a record must begin in column 1, but this one is shifted");
        else
            return read_atom(p, line);
        break;
    case PQR_MODEL:
        records_take_model(records, line, r->lines.line, r->out);
        break;
    case PQR_END:
    case PQR_ENDMDL:
        records_take_end(records, r->lines.line, record_is(line, "END"));
        break;
    case PQR_OTHER:
        if (!stopped && record_is(line, "TER") && r->out->atoms > 0)
            r->out->labels[r->out->atoms - 1].ends_chain = true;
        break;
    case PQR_MMCIF:
        return text_fail(r->ctx, r->name, r->lines.line,
                         "this line belongs to an mmCIF file, but the file does not begin like one; remove the lines "
                         "before data_");
    case PQR_ATOM_CASE:
    case PQR_UNKNOWN:
        if (!stopped)
            records_take_unknown(records, line, r->lines.line);
        break;
    default:
        break;
    }
    return VF_OK;
}

/* ---- the file ---- */

static vf_status fail_no_atoms(const pdb_reader *p, text_piece text)
{
    const molecule_reader *r = p->r;
    if (p->records.atoms_after_end > 0)
        return text_fail(r->ctx, r->name, p->records.end_line,
                         "the file or its first model ends here without atoms, but %" PRId64
                         " atom%s; remove the lines before them",
                         p->records.atoms_after_end, p->records.atoms_after_end == 1 ? " follows" : "s follow");
    const vf_status status = refuse_overflow(r->ctx, r->name, text);
    if (status != VF_OK)
        return status;
    return vf_fail(
        r->ctx, VF_ERR_INPUT,
        "%s: no atoms: none of its %" PRId64 " line%s begins with ATOM or HETATM; coordinates are read "
        "from files of PDB, mmCIF, GROMACS (.gro), AMBER (inpcrd, rst7, ncrst), CHARMM (.crd) and NAMD (.coor)",
        r->name, r->lines.line, vf_plural(r->lines.line));
}

static vf_status finish(pdb_reader *p, text_piece text)
{
    molecule_reader *r = p->r;
    molecule *m = r->out;
    if (m->atoms == 0)
        return fail_no_atoms(p, text);
    split_chain_letters(m->labels, p->chains, m->atoms);
    r->plain_numbers = label_resolve_numbers(m->labels, m->atoms, false);
    const vf_status status = records_finish(r->ctx, r->name, &p->records, m);
    if (status == VF_OK) {
        reader_warn_of_numbers(r);
        records_warn(r->ctx, r->name, "PDB", &p->records);
    }
    strcpy(m->dialect, "PDB");
    return status;
}

vf_status read_pdb(molecule_reader *r)
{
    const text_piece text = {r->lines.next, (size_t)(r->lines.end - r->lines.next)};
    pdb_reader p = {.r = r};
    text_piece line;
    bool more;
    vf_status status = reader_next(r, &line, &more);
    while (status == VF_OK && more) {
        status = read_line(&p, line);
        VF_TRY(status, reader_next(r, &line, &more));
    }
    VF_TRY(status, finish(&p, text));
    record_pieces_free(&p.records);
    free(p.chains);
    return status;
}
