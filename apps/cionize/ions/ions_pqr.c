/* PQR files: words between blanks, in pdb2pqr's columns where they fit. */
#include <string.h>

#include "ion_files.h"

/* Decimals of a charge or radius: four, as in pdb2pqr, if the fifth and sixth are 0; otherwise six, so that a sum of charges
 * is off by at most half a millionth for each. The rounded number decides, so that a file that is read and written again is
 * the same. */
static int pqr_decimals(double value)
{
    int64_t scaled;
    return scale_number(value, 6, &scaled) && scaled % 100 == 0 ? 4 : 6;
}

/* Whether a number fits pdb2pqr's eight columns after a blank. */
static bool fits(double value, int decimals)
{
    const int64_t least = -99999, most = 999999;
    int64_t scaled;
    return scale_number(value, decimals, &scaled) && scaled >= least && scaled <= most;
}

/* Decimals of a coordinate: four, or three if only three fit the columns, because Open Babel reads by columns. If neither
 * fits, four, for readers that split at blanks. */
static int place_decimals(double value)
{
    return fits(value, 3) && !fits(value, 4) ? 3 : 4;
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

static vf_status pqr_atom(ion_file *file, const filed_atom *atom)
{
    char line[FILED_LINE], *to = line;
    const char *bad = NULL;
    double bad_value = 0;
    const size_t residue = strlen(atom->residue);
    to = put_name(file, atom->hetero ? "HETATM" : "ATOM", 6, to);
    to = put_number_field(line, to, 11, file->written + 1, 0);
    to = put_name_field(file, line, to, name_column(atom), atom->name);
    to = put_name_field(file, line, to, residue < 3 ? 21 - (int)residue : 18, atom->residue);
    if (*atom->chain)
        to = put_name_field(file, line, to, 22, atom->chain);
    if (*atom->number_text)
        to = put_name_field(file, line, to, 27 - (int)strlen(atom->number_text), atom->number_text);
    else
        to = put_number_field(line, to, 26, atom->residue_number, 0);
    if (atom->insertion)
        *to++ = atom->insertion;
    to = put_pqr_numbers(atom, line, to, &bad, &bad_value);
    if (bad)
        return refuse_number(file, atom, bad, bad_value, filed_out_of_range);
    *to++ = '\n';
    return vf_output_write(file->output, line, (size_t)(to - line));
}

static vf_status pqr_part(ion_file *file, const filed_atom *last)
{
    (void)last;
    return vf_output_printf(file->output, "TER\n");
}

const ion_format ions_as_pqr = {.extension = ".pqr",
                                .words = true,
                                .holds = HELD_NAMES | HELD_CHAINS | HELD_INSERTIONS | HELD_CHARGES | HELD_CELL |
                                         HELD_RECORDS | HELD_BONDS | HELD_MODEL,
                                .begin = write_head,
                                .atom = pqr_atom,
                                .part = pqr_part,
                                .end = write_tail};
