/* GROMACS's .gro files: residue number, residue name, atom name and serial number in five columns each, positions in nm with
 * three decimals, and the box. */
#include <stdio.h>
#include <string.h>

#include "ion_files.h"

enum { NAME_WIDTH = 5, MODULUS = 100000, DECIMALS = 3, LEAST = -999999, GREATEST = 9999999, BOX_DECIMALS = 5 };
static const double nanometer = 0.1; /* of an angstrom */

static vf_status gro_begin(ion_file *file)
{
    return vf_output_printf(file->output, "%s\n%5lld\n", file->comment ? file->comment : "cionize",
                            (long long)file->atoms);
}

/* A number that starts again after 99,999, right-aligned, as in GROMACS. */
static void put_modulo(int64_t number, char *to)
{
    char text[NAME_WIDTH + 1];
    int64_t rest = number % MODULUS;
    rest = rest < 0 ? rest + MODULUS : rest;
    snprintf(text, sizeof text, "%5d", (int)rest);
    memcpy(to, text, NAME_WIDTH);
}

static vf_status gro_atom(ion_file *file, const filed_atom *atom)
{
    static const char *const axes[3] = {"its x", "its y", "its z"};
    enum { X = 20, WIDTH = 8, LINE = X + 3 * WIDTH };
    char line[LINE + 1], name[NAME_WIDTH];
    memset(line, ' ', LINE);
    line[LINE] = '\n';
    const size_t text = strlen(atom->number_text);
    if (text > 0 && text <= NAME_WIDTH)
        memcpy(line + NAME_WIDTH - text, atom->number_text, text);
    else
        put_modulo(atom->residue_number, line);
    put_name(file, atom->residue, NAME_WIDTH, line + NAME_WIDTH);
    const size_t length = (size_t)(put_name(file, atom->name, NAME_WIDTH, name) - name);
    memcpy(line + 3 * NAME_WIDTH - length, name, length);
    put_modulo(file->written + 1, line + 3 * NAME_WIDTH);
    for (int a = 0; a < 3; a++) {
        char number[PUT_NUMBER_TEXT];
        int64_t scaled;
        if (!scale_number(nanometer * atom->position[a], DECIMALS, &scaled) || scaled < LEAST || scaled > GREATEST)
            return refuse_number(
                file, atom, axes[a], atom->position[a],
                "a .gro file holds coordinates from -999.999 to 9999.999 nm; move the molecule, or use "
                ".pqr or .xyz");
        const size_t digits = (size_t)(put_scaled(scaled, DECIMALS, number) - number);
        memcpy(line + X + (a + 1) * WIDTH - (int)digits, number, digits);
    }
    return vf_output_write(file->output, line, sizeof line);
}

/* v1x v2y v3z, and of a cell that is not rectangular v1y v1z v2x v2z v3x v3y; zeros: no box. */
static vf_status gro_end(ion_file *file)
{
    static const int row[9] = {0, 1, 2, 0, 0, 1, 1, 2, 2}, column[9] = {0, 1, 2, 1, 2, 0, 2, 0, 1};
    const unit_cell *stated = file->cell;
    vf_cell cell = {.kind = VF_CELL_NONE};
    vf_status status = VF_OK;
    if (stated && stated->state == UNIT_CELL_NUMBERS)
        (void)cell_of_shape(stated->lengths, stated->angles, &cell);
    if (stated && stated->state == UNIT_CELL_TURNED)
        file->lost |= HELD_CELL;
    else if (cell.kind == VF_CELL_NONE)
        vf_note(file->ctx,
                "note: %s: without a cell the box is 0 0 0, which is none; --cell sets one, or afterwards gmx editconf "
                "-d 1",
                file->path);
    const int count = cell.kind == VF_CELL_TRICLINIC ? 9 : 3;
    for (int i = 0; status == VF_OK && i < count; i++) {
        char number[PUT_NUMBER_TEXT];
        int64_t scaled;
        const double value = cell.kind == VF_CELL_NONE ? 0 : nanometer * cell.vectors[row[i]][column[i]];
        if (!scale_number(value, BOX_DECIMALS, &scaled))
            return vf_fail(file->ctx, VF_ERR_UNSUPPORTED, "%s: the cell does not fit a .gro file; use .pqr",
                           file->path);
        *put_scaled(scaled, BOX_DECIMALS, number) = '\0';
        status = vf_output_printf(file->output,
                                  i == 0                            ? "%10s"
                                  : scaled < 0 || scaled > 99999999 ? " %9s"
                                                                    : "%10s",
                                  number);
    }
    return status == VF_OK ? vf_output_printf(file->output, "\n") : status;
}

const ion_format ions_as_gro = {.extension = ".gro",
                                .chainless = true,
                                .grouped = true,
                                .holds = HELD_NAMES | HELD_CELL,
                                .begin = gro_begin,
                                .atom = gro_atom,
                                .end = gro_end};
