/* What an mmCIF file says of its crystal: the cell, the axes of the coordinates, the space group. */
#include <stdio.h>
#include <string.h>

#include "mmcif_file.h"

/* Items of _symmetry and _space_group. */
enum { GROUP_NAME, GROUP_FULL_NAME, GROUP_NUMBER, GROUP_HALL };

/* Fractional coordinates need no matrix. */
static void take_scale(const mmcif_file *f, unit_cell *cell)
{
    cif_rows rows = cif_rows_of(&f->tables[MMCIF_SCALE]);
    cif_word word[CIF_MOST_ITEMS];
    double numbers[12] = {0};
    if (!f->tables[MMCIF_ATOMS].has[ATOM_X] || !cif_next_row(&rows, word))
        return;
    for (int i = 0; i < 12; i++) {
        text_number number;
        const bool shift = i % 4 == 3;
        if (cif_is_stated(&word[i]) && text_read_number(word[i].text, f->r->c_locale, &number))
            numbers[i] = number.value;
        else if (!shift)
            return;
    }
    for (int row = 0; row < 3; row++)
        cell_take_scale(cell, row, numbers + 4 * row);
}

static vf_status read_cell(mmcif_file *f)
{
    const cif_table *t = &f->tables[MMCIF_CELL];
    unit_cell *cell = &f->r->out->cell;
    cif_rows rows = cif_rows_of(t);
    cif_word word[CIF_MOST_ITEMS];
    double numbers[6];
    if (!cif_next_row(&rows, word))
        return VF_OK;
    for (int i = 0; i < 6; i++) {
        if (!cif_is_stated(&word[i])) /* of a structure that is no crystal */
            return VF_OK;
        vf_status status = mmcif_number(f->r, &word[i], f->tables[MMCIF_CELL].items[i], &numbers[i]);
        if (status != VF_OK)
            return status;
    }
    cell_take_crystal(cell, numbers);
    take_scale(f, cell);
    return VF_OK;
}

/* A group of which the file states neither a name nor operators. It is more than P 1, but its number has several settings. */
static void take_nameless_group(mmcif_file *f)
{
    cif_word word[CIF_MOST_ITEMS];
    unit_cell *cell = &f->r->out->cell;
    for (int table = MMCIF_SYMMETRY; table <= MMCIF_GROUP && !*cell->group; table++) {
        cif_rows rows = cif_rows_of(&f->tables[table]);
        if (!cif_next_row(&rows, word))
            continue;
        const bool number = cif_is_stated(&word[GROUP_NUMBER]);
        const int item = number ? GROUP_NUMBER : GROUP_HALL;
        char name[sizeof cell->group];
        if (!cif_is_stated(&word[item]) || word_is(word[item].text, number ? "1" : "P 1") ||
            word_is(word[item].text, "P1"))
            continue;
        snprintf(name, sizeof name, "%s %.*s", number ? "number" : "Hall", (int)word[item].text.size,
                 word[item].text.at);
        cell_take_group(cell, (text_piece){name, strlen(name)});
    }
}

/* P 1 beside the number of another group: one of the two is wrong, so the name must not stand for P 1. */
static void check_number(mmcif_file *f)
{
    const listed_symmetry none = {0};
    cif_word word[CIF_MOST_ITEMS];
    unit_cell *cell = &f->r->out->cell;
    for (int table = MMCIF_SYMMETRY; table <= MMCIF_GROUP; table++) {
        cif_rows rows = cif_rows_of(&f->tables[table]);
        char name[sizeof cell->group];
        if (!cif_next_row(&rows, word) || !*cell->group || !symmetry_is_trivial(cell->group, &none) ||
            !cif_is_stated(&word[GROUP_NUMBER]) || word_is(word[GROUP_NUMBER].text, "1"))
            continue;
        snprintf(name, sizeof name, "P 1, number %.*s", (int)word[GROUP_NUMBER].text.size, word[GROUP_NUMBER].text.at);
        cell_take_group(cell, (text_piece){name, strlen(name)});
    }
}

static void read_group(mmcif_file *f)
{
    cif_word word[CIF_MOST_ITEMS];
    molecule *m = f->r->out;
    for (int table = MMCIF_SYMMETRY; table <= MMCIF_GROUP; table++) {
        cif_rows rows = cif_rows_of(&f->tables[table]);
        if (!cif_next_row(&rows, word))
            continue;
        const int item = cif_is_stated(&word[GROUP_NAME]) ? GROUP_NAME : GROUP_FULL_NAME;
        if (cif_is_stated(&word[item]) && !*m->cell.group)
            cell_take_group(&m->cell, word[item].text);
    }
    for (int table = MMCIF_SYMMETRY_TEXTS; table <= MMCIF_GROUP_TEXTS && m->symmetry.count == 0; table++) {
        cif_rows rows = cif_rows_of(&f->tables[table]);
        while (cif_next_row(&rows, word))
            if (cif_is_stated(&word[0]))
                symmetry_read_text(word[0].text, &m->symmetry);
    }
    if (m->symmetry.count == 0)
        take_nameless_group(f);
    check_number(f);
}

/* Whether the file lacks copies by non-crystallographic symmetry: operators to generate, other than the identity. */
static bool leaves_out(const mmcif_file *f)
{
    cif_word word[CIF_MOST_ITEMS];
    cif_rows rows = cif_rows_of(&f->tables[MMCIF_NCS]);
    while (cif_next_row(&rows, word)) {
        bool identity = true;
        for (int i = 1; i <= 3; i++) {
            text_number number;
            identity = identity && text_read_number(word[i].text, f->r->c_locale, &number) && number.value == 1;
        }
        if (cif_same_text(word[0].text, "generate") && !identity)
            return true;
    }
    return false;
}

vf_status mmcif_read_crystal(mmcif_file *f)
{
    const vf_status status = read_cell(f);
    if (status == VF_OK)
        read_group(f);
    f->r->out->symmetry.leaves_out = leaves_out(f);
    return status;
}
