/* PDB files in the columns of wwPDB 3.3, 80 per line. */
#include <math.h>
#include <string.h>

#include "hybrid36.h"
#include "ion_files.h"

enum {
    COLUMNS = 80,
    DECIMALS = 3,
    LEAST = -999999, /* thousandths: the range of eight columns */
    GREATEST = 9999999
};

typedef struct pdb_line {
    char text[COLUMNS + 1];
} pdb_line;

/* Column `column`, from 1, of the line. */
static char *at_column(pdb_line *line, int column)
{
    return line->text + column - 1;
}

/* A blank line that starts with a record's name. */
static pdb_line new_line(const char *record)
{
    pdb_line line;
    memset(line.text, ' ', COLUMNS);
    line.text[COLUMNS] = '\n';
    memcpy(line.text, record, strlen(record));
    return line;
}

static vf_status write_line(const ion_file *file, const pdb_line *line)
{
    return vf_output_write(file->output, line->text, sizeof line->text);
}

/* A chain of two letters, which begins in the column of a residue name's fourth letter. (The name of a segment in its place
 * goes to the segment's columns.) */
static bool has_two_letters(const filed_atom *atom)
{
    return strlen(atom->chain) == 2 && strlen(atom->residue) <= 3 && strcmp(atom->chain, atom->segment) != 0;
}

/* Serial number, residue and chain, which ATOM, HETATM and TER share. */
static vf_status put_identity(ion_file *file, const filed_atom *atom, pdb_line *line)
{
    if (!hybrid36_put(++file->records, 5, at_column(line, 7)))
        return vf_fail(file->ctx, VF_ERR_UNSUPPORTED,
                       "%s: a PDB file holds at most %lld atoms, with hybrid-36 numbers; write .pqr or .xyz",
                       file->path, (long long)hybrid36_greatest(5));
    const size_t residue = strlen(atom->residue), chain = strlen(atom->chain), text = strlen(atom->number_text);
    put_name(file, atom->residue, 4, at_column(line, residue < 3 ? 21 - (int)residue : 18));
    if (chain == 1 || has_two_letters(atom))
        put_name(file, atom->chain, (int)chain, at_column(line, 23 - (int)chain));
    if (text > 0) {
        const int room = text < 5 ? (int)text : 5;
        put_name(file, atom->number_text, room, at_column(line, room < 5 ? 27 - room : 23));
    } else if (!hybrid36_put(atom->residue_number, PDB_RESIDUE_WIDTH, at_column(line, 23)))
        return vf_fail(file->ctx, VF_ERR_UNSUPPORTED,
                       "%s: atom %lld is in residue %lld; a PDB file holds residue numbers from %d to %lld, with "
                       "hybrid-36; write .pqr or .xyz",
                       file->path, (long long)file->written + 1, (long long)atom->residue_number, PDB_LEAST_RESIDUE,
                       (long long)hybrid36_greatest(PDB_RESIDUE_WIDTH));
    if (atom->insertion)
        *at_column(line, 27) = atom->insertion;
    return VF_OK;
}

static vf_status put_coordinates(const ion_file *file, const filed_atom *atom, pdb_line *line)
{
    static const char *const axes[3] = {"its x", "its y", "its z"};
    for (int a = 0; a < 3; a++) {
        char number[PUT_NUMBER_TEXT];
        int64_t scaled;
        if (!scale_number(atom->position[a], DECIMALS, &scaled) || scaled < LEAST || scaled > GREATEST)
            return refuse_number(file, atom, axes[a], atom->position[a],
                                 "a PDB file holds coordinates from -999.999 to 9999.999; move the molecule, or use "
                                 ".pqr or .xyz");
        const size_t length = (size_t)(put_scaled(scaled, DECIMALS, number) - number);
        memcpy(at_column(line, 39 + 8 * a - (int)length), number, length);
    }
    return VF_OK;
}

/* "1+", "2-" in columns 79 and 80, for ions only: the solute's atoms have partial charges. */
static void put_charge(ion_file *file, const filed_atom *atom, pdb_line *line)
{
    const double size = fabs(atom->charge);
    if (!(size >= 1 && size <= 9 && size == floor(size))) {
        file->uncharged++;
        return;
    }
    *at_column(line, 79) = (char)('0' + (int)size);
    *at_column(line, 80) = atom->charge < 0 ? '-' : '+';
}

/* In columns 77 and 78, right-aligned, in capitals. */
static void put_element(const filed_atom *atom, pdb_line *line)
{
    const int length = (int)strlen(atom->element);
    for (int i = 0; i < length; i++) {
        const char c = atom->element[i];
        *at_column(line, 79 - length + i) = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
}

/* Occupancy and temperature factor: six columns, two decimals. */
static void put_hundredths(ion_file *file, double value, int last, pdb_line *line)
{
    enum { WIDTH = 6 };
    char number[PUT_NUMBER_TEXT];
    int64_t scaled;
    size_t length = WIDTH + 1;
    if (scale_number(value, 2, &scaled))
        length = (size_t)(put_scaled(scaled, 2, number) - number);
    if (length <= WIDTH)
        memcpy(at_column(line, last + 1 - (int)length), number, length);
    else
        file->lost |= HELD_OCCUPANCIES;
}

/* The segment, where versions before 3.3 have it, or a chain that has no place elsewhere. */
static void put_segment(ion_file *file, const filed_atom *atom, pdb_line *line)
{
    const bool homeless = strlen(atom->chain) > 1 && !has_two_letters(atom);
    if (*atom->segment || homeless)
        put_name(file, *atom->segment ? atom->segment : atom->chain, 4, at_column(line, 73));
    if (homeless && *atom->segment && strcmp(atom->segment, atom->chain) != 0)
        file->lost |= HELD_CHAINS;
}

static vf_status pdb_atom(ion_file *file, const filed_atom *atom)
{
    pdb_line line = new_line(atom->hetero ? "HETATM" : "ATOM");
    filed_atom known = *atom;
    char symbol[3];
    if (!atom->ion &&
        atom_element(atom->name, atom->residue, atom->element, symbol)) /* leaves doubtful elements to the reader */
        known.element = symbol;
    put_name(file, atom->name, 4, at_column(&line, name_column(&known)));
    vf_status status = put_identity(file, atom, &line);
    VF_TRY(status, put_coordinates(file, atom, &line));
    if (status != VF_OK)
        return status;
    if (atom->alternate)
        *at_column(&line, 17) = atom->alternate;
    put_hundredths(file, atom->occupancy, 60, &line);
    put_hundredths(file, atom->b_factor, 66, &line);
    put_segment(file, atom, &line);
    put_element(&known, &line);
    if (atom->ion)
        put_charge(file, atom, &line);
    else if (strlen(atom->formal_charge) == 2)
        memcpy(at_column(&line, 79), atom->formal_charge, 2);
    return write_line(file, &line);
}

static vf_status pdb_part(ion_file *file, const filed_atom *last)
{
    pdb_line line = new_line("TER");
    const int64_t shortened = file->shortened, odd = file->odd;
    vf_status status = put_identity(file, last, &line);
    file->shortened = shortened; /* do not count this atom's name twice */
    file->odd = odd;
    return status == VF_OK ? write_line(file, &line) : status;
}

const ion_format ions_as_pdb = {.extension = ".pdb",
                                .holds = ~(unsigned)(HELD_CHARGES | HELD_CELL_DECIMALS),
                                .begin = write_head,
                                .atom = pdb_atom,
                                .part = pdb_part,
                                .end = write_tail};
