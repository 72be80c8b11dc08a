/* What files of ions say beside their atoms: records, cell, model and bonds, in PDB and PQR files; and what a format has no
 * room for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hybrid36.h"
#include "ion_files.h"
#include "molecule/molecule_records.h"
#include "voxfield/append.h"

/* ---- records before the atoms ---- */

enum { COLUMNS = 80, REMARK_TEXT = 68 /* characters of a remark per line, from column 12 */ };

/* Writes a line: in PDB files all 80 columns, as they are in the format. */
static vf_status write_padded(const ion_file *file, const char *text)
{
    const int width = file->format->words ? 0 : COLUMNS;
    return vf_output_printf(file->output, "%-*s\n", width, text);
}

/* REMARK 6 and above are free text. The first line of each is empty. In PQR files, every reader skips REMARK, and after the
 * #, APBS does not take a word ATOM for a record. */
static vf_status write_comment(const ion_file *file)
{
    char line[COLUMNS + 1];
    if (!file->comment)
        return VF_OK;
    if (file->format->words)
        return vf_output_printf(file->output, "REMARK   1 # %s\n", file->comment);
    vf_status status = write_padded(file, "REMARK   6");
    const char *from = file->comment;
    for (size_t left = strlen(from), n; left > 0 && status == VF_OK; left -= n, from += n) {
        n = left < REMARK_TEXT ? left : REMARK_TEXT;
        snprintf(line, sizeof line, "REMARK   6 %.*s", (int)n, from);
        status = write_padded(file, line);
    }
    return status;
}

/* Rounds to what CRYST1 has room for. False if it has none. */
static bool cryst1_numbers(const unit_cell *cell, int64_t scaled[6], bool *exact)
{
    const double most_length = 99999.9995, tolerance = 1e-6;
    *exact = true;
    for (int i = 0; i < 6; i++) {
        const double value = i < 3 ? cell->lengths[i] : cell->angles[i - 3];
        const int decimals = i < 3 ? 3 : 2;
        if (!(value > 0 && value < most_length) || !scale_number(value, decimals, &scaled[i]) || scaled[i] <= 0)
            return false;
        *exact &= fabs((double)scaled[i] / (i < 3 ? 1e3 : 1e2) - value) <= tolerance;
    }
    return true;
}

static bool has_cell(const ion_file *file)
{
    return file->cell && file->cell->state == UNIT_CELL_NUMBERS;
}

static vf_status write_cryst1(ion_file *file)
{
    char line[COLUMNS + 1] = "CRYST1", number[PUT_NUMBER_TEXT];
    int64_t scaled[6];
    bool exact;
    if (!cryst1_numbers(file->cell, scaled, &exact)) {
        file->lost |= HELD_CELL;
        return VF_OK;
    }
    file->lost |= exact ? 0 : HELD_CELL_DECIMALS;
    for (int i = 0; i < 6; i++) {
        *put_scaled(scaled[i], i < 3 ? 3 : 2, number) = '\0';
        vf_append(line, sizeof line, "%*s", i < 3 ? 9 : 7, number);
    }
    vf_append(line, sizeof line, " P 1           1");
    return write_padded(file, line);
}

/* Whether a record CRYST1 states the molecule's cell. A molecule without one keeps what its file says. */
static bool states_cell(const ion_file *file, text_piece line)
{
    const double tolerance = 1e-6;
    unit_cell stated = {.state = UNIT_CELL_NONE};
    const unit_cell *cell = file->cell;
    bool same = true;
    read_cryst1(line, file->c_locale, &stated);
    if (!has_cell(file))
        return true;
    for (int a = 0; a < 3; a++)
        same &= fabs(stated.lengths[a] - cell->lengths[a]) <= tolerance &&
                fabs(stated.angles[a] - cell->angles[a]) <= tolerance;
    return stated.state == UNIT_CELL_NUMBERS && same;
}

static bool is_any(text_piece line, const char *const *names)
{
    while (*names && !record_is(line, *names))
        names++;
    return *names != NULL;
}

/* The records of the title, which the remarks follow. */
static bool is_of_title(text_piece line)
{
    static const char *const names[] = {"HEADER", "OBSLTE", "TITLE",  "SPLIT",  "CAVEAT", "COMPND", "SOURCE", "KEYWDS",
                                        "EXPDTA", "NUMMDL", "MDLTYP", "AUTHOR", "REVDAT", "SPRSDE", "JRNL",   NULL};
    return is_any(line, names);
}

/* The records after CRYST1. */
static bool follows_cell(text_piece line)
{
    static const char *const names[] = {"ORIGX", "SCALE", "MTRIX", "TVECT", NULL};
    return is_any(line, names);
}

/* APBS takes any word ATOM or HETATM for the begin of an atom, but skips what follows a #. So one is put before the text of
 * such lines in PQR files. */
static bool has_word_atom(text_piece line)
{
    const char *at = line.at;
    text_piece word = text_next_word(&at, line.at + line.size);
    for (; word.size > 0 && *word.at != '#'; word = text_next_word(&at, line.at + line.size))
        if ((word.size == 4 && strncasecmp(word.at, "ATOM", 4) == 0) ||
            (word.size == 6 && strncasecmp(word.at, "HETATM", 6) == 0))
            return true;
    return false;
}

static vf_status write_verbatim(const ion_file *file, text_piece line)
{
    size_t name = 0;
    if (!file->format->words || !has_word_atom(line))
        return vf_output_printf(file->output, "%.*s\n", (int)line.size, line.at);
    while (name < line.size && line.at[name] != ' ' && name < 6)
        name++;
    return vf_output_printf(file->output, "%.*s #%.*s\n", (int)name, line.at, (int)(line.size - name), line.at + name);
}

/* State of writing the records. */
typedef struct records_state {
    bool commented, celled, replaced; /* replaced: the file's cell is not the one that is written */
} records_state;

static vf_status write_record(ion_file *file, text_piece line, records_state *state)
{
    vf_status status = VF_OK;
    if (!state->commented && !is_of_title(line)) {
        status = write_comment(file);
        state->commented = true;
    }
    if (status == VF_OK && !state->celled && follows_cell(line) && has_cell(file)) {
        status = write_cryst1(file);
        state->celled = state->replaced = true;
    }
    if (status != VF_OK || (state->replaced && record_is(line, "SCALE")))
        return status;
    if (!record_is(line, "CRYST1"))
        return write_verbatim(file, line);
    if (state->celled)
        return VF_OK;
    state->celled = true;
    state->replaced = !states_cell(file, line);
    return state->replaced ? write_cryst1(file) : write_verbatim(file, line);
}

vf_status write_head(ion_file *file)
{
    records_state state = {false, false, false};
    vf_status status = VF_OK;
    const molecule_records *records = file->solute ? &file->solute->records : NULL;
    for (const char *at = records ? records->lines : NULL; status == VF_OK && at && *at;) {
        const size_t size = strcspn(at, "\n");
        status = write_record(file, (text_piece){at, size}, &state);
        at += size + (at[size] == '\n');
    }
    if (status == VF_OK && !state.commented)
        status = write_comment(file);
    if (status == VF_OK && !state.celled && has_cell(file))
        status = write_cryst1(file);
    if (status == VF_OK && records && records->model_number > 0) {
        char line[32];
        snprintf(line, sizeof line, "MODEL     %4d", (int)records->model_number);
        status = write_padded(file, line);
    }
    return status;
}

/* ---- records after the atoms ---- */

static vf_status put_serial(ion_file *file, int64_t atom, char *to, size_t size)
{
    char number[8] = "";
    const long long serial = (long long)file->serial[atom];
    if (!file->format->words && !hybrid36_put(serial, 5, number))
        return vf_fail(file->ctx, VF_ERR_INTERNAL, "%s: serial number %lld", file->path, serial);
    if (!file->format->words)
        vf_append(to, size, "%.5s", number);
    else
        vf_append(to, size, file->solute->atoms > 99999 ? " %lld" : "%5lld", serial);
    return VF_OK;
}

/* Bonds from one atom that follow each other, up to four a line. */
static vf_status write_bonds(ion_file *file)
{
    enum { MOST = 4 };
    const molecule_records *records = &file->solute->records;
    vf_status status = VF_OK;
    for (int64_t b = 0, end; status == VF_OK && b < records->bonds; b = end) {
        char line[128] = "CONECT";
        status = put_serial(file, records->bond[b][0], line, sizeof line);
        for (end = b;
             status == VF_OK && end < records->bonds && end < b + MOST && records->bond[end][0] == records->bond[b][0];
             end++)
            status = put_serial(file, records->bond[end][1], line, sizeof line);
        VF_TRY(status, write_padded(file, line));
    }
    return status;
}

vf_status write_tail(ion_file *file)
{
    vf_status status = VF_OK;
    if (file->solute && file->solute->records.model_number > 0)
        status = write_padded(file, "ENDMDL");
    if (status == VF_OK && file->solute && file->serial)
        status = write_bonds(file);
    return status == VF_OK ? write_padded(file, "END") : status;
}

/* ---- what a format cannot hold ---- */

/* What the molecule's file says. */
static unsigned held_by(const molecule *m)
{
    unsigned held = HELD_POSITIONS;
    held |= m->cell.state == UNIT_CELL_NUMBERS || m->cell.state == UNIT_CELL_TURNED ? HELD_CELL : 0;
    held |= m->records.lines ? HELD_RECORDS : 0;
    held |= m->records.bonds > 0 ? HELD_BONDS : 0;
    held |= m->records.model_number > 0 ? HELD_MODEL : 0;
    for (int64_t i = 0; i < m->atoms; i++) {
        held |= m->charge[i] != 0 || m->radius[i] != 0 ? HELD_CHARGES : 0;
        if (!m->labels)
            continue;
        const atom_label *label = &m->labels[i];
        held |= *label->name ? HELD_NAMES : 0;
        held |= *label->chain || (label->ends_chain && i + 1 < m->atoms) ? HELD_CHAINS : 0;
        held |= *label->segment && strcmp(label->segment, label->chain) != 0 ? HELD_SEGMENTS : 0;
        held |= label->insertion ? HELD_INSERTIONS : 0;
        held |= label->alternate ? HELD_ALTERNATES : 0;
        held |= label->occupancy != 1 || label->b_factor != 0 ? HELD_OCCUPANCIES : 0;
        held |= *label->formal_charge ? HELD_FORMAL_CHARGES : 0;
    }
    return held;
}

void note_lost(ion_file *file)
{
    static const struct {
        unsigned held;
        const char *what;
    } items[] = {{HELD_NAMES, "the names of atoms and residues"},
                 {HELD_CHAINS, "chains"},
                 {HELD_SEGMENTS, "segments"},
                 {HELD_INSERTIONS, "insertion codes"},
                 {HELD_ALTERNATES, "letters of alternate locations"},
                 {HELD_OCCUPANCIES, "occupancies and temperature factors"},
                 {HELD_FORMAL_CHARGES, "formal charges"},
                 {HELD_CHARGES, "partial charges and radii"},
                 {HELD_CELL, "the cell"},
                 {HELD_CELL_DECIMALS, "further decimals of the cell"},
                 {HELD_RECORDS, "records of the structure (HEADER, SSBOND, ...)"},
                 {HELD_BONDS, "bonds (CONECT)"},
                 {HELD_MODEL, "the number of the model"}};
    char list[512] = "";
    const unsigned lost = file->lost | (file->solute ? held_by(file->solute) & ~file->format->holds : 0);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        if (lost & items[i].held)
            vf_append(list, sizeof list, "%s%s", *list ? ", " : "", items[i].what);
    if (*list)
        vf_note(file->ctx, "note: %s: the format has no place for: %s", file->path, list);
}
