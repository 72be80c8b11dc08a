#include "molecule_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "molecule_arrays.h"
#include "molecule_readers.h"
#include "pqr_lines.h"
#include "voxfield/timer.h"

void record_pieces_free(record_pieces *pieces)
{
    free(pieces->line);
    free(pieces->bond);
    free(pieces->bond_line);
    free(pieces->serial);
    memset(pieces, 0, sizeof *pieces);
}

/* ---- collecting ---- */

static bool grow(void *array, int64_t room, size_t bytes)
{
    void **at = array, *moved = realloc(*at, (size_t)room * bytes);
    if (moved)
        *at = moved;
    return moved != NULL;
}

static int64_t larger(int64_t room)
{
    return room ? 2 * room : 256;
}

bool record_is(text_piece line, const char *name)
{
    const size_t size = strlen(name);
    if (line.size < size || memcmp(line.at, name, size) != 0)
        return false;
    for (size_t i = size; i < line.size && line.at[i] != ' ' && i < 6; i++)
        if (!text_is_digit(line.at[i]))
            return false;
    return true;
}

/* The number of a record MODEL; 0: none. */
static int32_t model_number(text_piece line)
{
    int32_t number = 0;
    const text_piece text = label_trim(text_columns(line, strlen("MODEL"), line.size));
    return label_number(text, &number) && number > 0 && text_is_digit(*text.at) ? number : 0;
}

static void stop(record_pieces *pieces, int64_t number)
{
    if (!pieces->stopped)
        pieces->end_line = number;
    pieces->stopped = true;
}

void records_take_model(record_pieces *pieces, text_piece line, int64_t number, molecule *out)
{
    pieces->models++;
    if (pieces->models > 1 || out->atoms > 0)
        stop(pieces, number);
    else if (!pieces->stopped)
        out->records.model_number = model_number(line);
}

void records_take_end(record_pieces *pieces, int64_t number, bool end)
{
    stop(pieces, number);
    pieces->ended |= end;
}

void records_take_unknown(record_pieces *pieces, text_piece line, int64_t number)
{
    const char *at = line.at;
    if (pieces->unknown++ > 0)
        return;
    pieces->first_unknown = number;
    text_quote(text_next_word(&at, line.at + line.size), pieces->unknown_word);
}

void records_warn(vf_context *ctx, const char *name, const char *format, const record_pieces *p)
{
    if (p->models > 1)
        vf_warn(ctx, "%s: only the first of %" PRId64 " models is read", name, p->models);
    else if (p->atoms_after_end > 0)
        vf_warn(ctx, "%s:%" PRId64 ": the molecule ends here; %" PRId64 " later atom%s not read", name, p->end_line,
                p->atoms_after_end, p->atoms_after_end == 1 ? " is" : "s are");
    if (p->unknown > 0)
        vf_warn(ctx, "%s:%" PRId64 ": '%s' is not a record of a %s file; %" PRId64 " such line%s ignored", name,
                p->first_unknown, p->unknown_word, format, p->unknown, p->unknown == 1 ? "" : "s");
}

static void keep_line(record_pieces *pieces, text_piece line)
{
    if (pieces->lines == pieces->line_room) {
        const int64_t room = larger(pieces->line_room);
        if (!grow(&pieces->line, room, sizeof *pieces->line)) {
            pieces->full = true;
            return;
        }
        pieces->line_room = room;
    }
    pieces->line[pieces->lines++] = line;
}

/* Serial numbers may touch the record's name. */
static bool is_bond(text_piece line)
{
    static const char name[] = "CONECT";
    return line.size >= sizeof name && memcmp(line.at, name, sizeof name - 1) == 0;
}

void records_take_bond(record_pieces *pieces, text_piece line, int64_t number)
{
    if (!is_bond(line))
        return;
    if (pieces->bonds == pieces->bond_room) {
        const int64_t room = larger(pieces->bond_room);
        if (!grow(&pieces->bond, room, sizeof *pieces->bond) ||
            !grow(&pieces->bond_line, room, sizeof *pieces->bond_line)) {
            pieces->full = true;
            return;
        }
        pieces->bond_room = room;
    }
    pieces->bond[pieces->bonds] = line;
    pieces->bond_line[pieces->bonds++] = number;
}

/* What cionize writes into its files: "REMARK   6 cionize (Voxfield) ...", after a remark without text, or, in PQR files,
 * "REMARK   1 # cionize (Voxfield) ...". */
static bool is_own_remark(text_piece line)
{
    static const char *const own[] = {"REMARK   6 cionize (Voxfield)", "REMARK   1 # cionize (Voxfield)"};
    for (int i = 0; i < 2; i++)
        if (line.size >= strlen(own[i]) && memcmp(line.at, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

static bool is_empty_remark_6(text_piece line)
{
    line = label_trim(line);
    return line.size == 10 && memcmp(line.at, "REMARK   6", 10) == 0;
}

void records_take_line(record_pieces *pieces, text_piece line, int64_t number)
{
    static const char *const unwanted[] = {"TER", "ANISOU", "SIGATM", "SIGUIJ", "MASTER"};
    const pqr_kind kind = pqr_line_kind(line);
    records_take_bond(pieces, line, number);
    if ((kind != PQR_OTHER && kind != PQR_PDB_ONLY && kind != PQR_REMARK) || is_bond(line))
        return;
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        if (record_is(line, unwanted[i]))
            return;
    if (!is_own_remark(line))
        keep_line(pieces, line);
    else if (pieces->lines > 0 && is_empty_remark_6(pieces->line[pieces->lines - 1]))
        pieces->lines--;
}

/* A short text as a number: its characters. Zeros in front of decimal digits do not count. */
static uint64_t text_key(text_piece text)
{
    uint64_t key = 0;
    bool decimal = true;
    text = label_trim(text);
    for (size_t i = 0; i < text.size; i++)
        decimal &= text_is_digit(text.at[i]);
    while (decimal && text.size > 1 && *text.at == '0')
        text.at++, text.size--;
    for (size_t i = 0; i < text.size && i < sizeof key; i++)
        key = key << 8 | (unsigned char)text.at[i];
    return text.size <= sizeof key ? key : 0;
}

enum { WIDTH = 5, WIDE = 6, MOST_BONDS = 4, MOST_FIELDS = MOST_BONDS + 1, UNKNOWN = -1, REPEATED = -2 };

void records_take_serial(record_pieces *pieces, text_piece serial)
{
    pieces->wide |= label_trim(serial).size > WIDTH;
    if (pieces->serials == pieces->serial_room) {
        const int64_t room = larger(pieces->serial_room);
        if (!grow(&pieces->serial, room, sizeof *pieces->serial)) {
            pieces->full = true;
            return;
        }
        pieces->serial_room = room;
    }
    pieces->serial[pieces->serials++] = text_key(serial);
}

/* ---- bonds ---- */

typedef struct serial_table {
    int64_t *slot; /* [size] atom + 1; 0: free; -(atom + 1): several atoms have this serial number */
    uint64_t size;
    const uint64_t *serial;
    size_t width, other; /* columns of a serial number, and those that are tried last */
} serial_table;

static uint64_t slot_of(const serial_table *t, uint64_t key)
{
    uint64_t slot = key * UINT64_C(0x9e3779b97f4a7c15);
    slot = (slot ^ slot >> 32) & (t->size - 1);
    while (t->slot[slot] && t->serial[llabs(t->slot[slot]) - 1] != key)
        slot = (slot + 1) & (t->size - 1);
    return slot;
}

static bool fill_table(const record_pieces *pieces, serial_table *t)
{
    t->size = 16;
    while (t->size < 2 * (uint64_t)pieces->serials)
        t->size *= 2;
    t->serial = pieces->serial;
    t->width = pieces->wide ? WIDE : WIDTH;
    t->other = pieces->wide ? WIDTH : WIDE;
    t->slot = calloc(t->size, sizeof *t->slot);
    for (int64_t i = 0; t->slot && i < pieces->serials; i++) {
        int64_t *slot = &t->slot[slot_of(t, pieces->serial[i])];
        *slot = *slot ? -llabs(*slot) : i + 1;
    }
    return t->slot != NULL;
}

static int64_t atom_of(const serial_table *t, text_piece text)
{
    const uint64_t key = text_key(text);
    const int64_t found = key ? t->slot[slot_of(t, key)] : 0;
    return found > 0 ? found - 1 : found < 0 ? REPEATED : UNKNOWN;
}

/* The atoms of a CONECT record: the first is bonded to the others. */
typedef struct bond_fields {
    text_piece text[MOST_FIELDS];
    int64_t atom[MOST_FIELDS];
    int count, unknown; /* unknown: atoms that are not one */
} bond_fields;

static void look_up(const serial_table *t, bond_fields *fields)
{
    fields->unknown = 0;
    for (int i = 0; i < fields->count; i++) {
        fields->atom[i] = atom_of(t, fields->text[i]);
        fields->unknown += fields->atom[i] < 0;
    }
}

static void split_by_width(text_piece rest, size_t width, bond_fields *out)
{
    out->count = 0;
    for (size_t at = 0; at < rest.size && out->count <= MOST_BONDS; at += width) {
        const text_piece field = label_trim(text_columns(rest, at, at + width));
        if (field.size > 0)
            out->text[out->count++] = field;
    }
}

/* By columns as wide as the atoms' serial numbers (five, or six if one has six characters), or words, or the other columns,
 * whichever finds atoms for all serial numbers. */
static void read_bonds(const serial_table *t, text_piece line, bond_fields *out)
{
    const text_piece rest = text_columns(line, strlen("CONECT"), line.size);
    bond_fields other = {.count = 0};
    text_words words;
    split_by_width(rest, t->width, out);
    look_up(t, out);
    if (out->unknown == 0)
        return;
    text_split(rest, &words);
    for (; other.count < words.count && other.count <= MOST_BONDS; other.count++)
        other.text[other.count] = words.word[other.count];
    look_up(t, &other);
    if (other.unknown > 0) {
        split_by_width(rest, t->other, &other);
        look_up(t, &other);
    }
    if (other.unknown == 0)
        *out = other;
}

/* What to warn of. */
typedef struct lost_bonds {
    int64_t count, line;
    int64_t beyond, beyond_line; /* records with fields behind the fourth bond */
    bool repeated;
    char text[TEXT_QUOTE_SIZE];
} lost_bonds;

static void note_lost(lost_bonds *lost, const bond_fields *fields, int64_t line)
{
    for (int i = 0; i < fields->count; i++) {
        if (fields->atom[i] >= 0 || lost->count++ > 0)
            continue;
        lost->line = line;
        lost->repeated = fields->atom[i] == REPEATED;
        text_quote(fields->text[i], lost->text);
    }
}

/* Versions of the format before 3 have hydrogen bonds and salt bridges there. */
static void note_beyond(lost_bonds *lost, const serial_table *t, text_piece line, int64_t number)
{
    const size_t end = strlen("CONECT") + MOST_FIELDS * t->width;
    if (label_trim(text_columns(line, end, end + MOST_FIELDS * t->width)).size > 0 && lost->beyond++ == 0)
        lost->beyond_line = number;
}

static bool add_bonds(molecule_records *records, const bond_fields *fields, int64_t *room)
{
    for (int i = 1; i < fields->count; i++) {
        if (fields->atom[0] < 0 || fields->atom[i] < 0)
            continue;
        if (records->bonds == *room) {
            if (!grow(&records->bond, larger(*room), sizeof *records->bond))
                return false;
            *room = larger(*room);
        }
        records->bond[records->bonds][0] = fields->atom[0];
        records->bond[records->bonds++][1] = fields->atom[i];
    }
    return true;
}

static bool take_bonds(vf_context *ctx, const char *name, const record_pieces *pieces, molecule_records *records)
{
    serial_table table;
    lost_bonds lost = {0};
    int64_t room = 0;
    bool good = true;
    if (pieces->bonds == 0)
        return true;
    if (!fill_table(pieces, &table))
        return false;
    for (int64_t b = 0; good && b < pieces->bonds; b++) {
        bond_fields fields;
        read_bonds(&table, pieces->bond[b], &fields);
        note_lost(&lost, &fields, pieces->bond_line[b]);
        note_beyond(&lost, &table, pieces->bond[b], pieces->bond_line[b]);
        good = add_bonds(records, &fields, &room);
    }
    free(table.slot);
    if (good && lost.count > 0)
        vf_warn(ctx,
                "%s:%" PRId64 ": CONECT: %s the serial number '%s'; %" PRId64
                " such number%s in all; these bonds are left out",
                name, lost.line, lost.repeated ? "several atoms have" : "no atom has", lost.text, lost.count,
                vf_plural(lost.count));
    if (good && lost.beyond > 0)
        vf_warn(ctx,
                "%s:%" PRId64 ": CONECT: %" PRId64 " record%s more than four bonds; what follows the fourth (hydrogen "
                "bonds in old PDB files) is left out; give "
                "further bonds in a CONECT of their own",
                name, lost.beyond_line, lost.beyond, lost.beyond == 1 ? " has" : "s have");
    return good;
}

/* ---- lines ---- */

static bool join_lines(const record_pieces *pieces, molecule_records *records)
{
    size_t bytes = 1;
    for (int64_t i = 0; i < pieces->lines; i++)
        bytes += pieces->line[i].size + 1;
    if (pieces->lines == 0)
        return true;
    char *to = records->lines = malloc(bytes);
    if (!to)
        return false;
    for (int64_t i = 0; i < pieces->lines; i++) {
        memcpy(to, pieces->line[i].at, pieces->line[i].size);
        to += pieces->line[i].size;
        *to++ = '\n';
    }
    *to = '\0';
    return true;
}

vf_status records_finish(vf_context *ctx, const char *name, const record_pieces *pieces, molecule *out)
{
    if (!pieces->full && join_lines(pieces, &out->records) && take_bonds(ctx, name, pieces, &out->records))
        return VF_OK;
    return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for its records", name);
}

void records_drop(molecule_records *records, const char *name)
{
    char *to = records->lines;
    for (const char *from = records->lines; from && *from;) {
        const size_t size = strcspn(from, "\n");
        if (!record_is((text_piece){from, size}, name)) {
            memmove(to, from, size + 1);
            to += size + 1;
        }
        from += size + 1;
    }
    if (to)
        *to = '\0';
}
