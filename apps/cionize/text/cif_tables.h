/* Tables of a CIF: the items of some categories, whether they stand in a loop or as single pairs of tag and value. */
#ifndef CIONIZE_CIF_TABLES_H
#define CIONIZE_CIF_TABLES_H

#include "cif_words.h"
#include "voxfield/context.h"

enum { CIF_MOST_ITEMS = 32 };

/* One category. The caller sets `category` and `items`, and leaves the rest zero. */
typedef struct cif_table {
    const char *category;     /* "_atom_site" */
    const char *const *items; /* wanted: "Cartn_x"; up to NULL, at most CIF_MOST_ITEMS */
    bool found, loop;
    bool has[CIF_MOST_ITEMS];
    int64_t rows;
    /* Private: where the values are. */
    int64_t column[CIF_MOST_ITEMS], width;
    cif_words start;
    cif_word single[CIF_MOST_ITEMS];
} cif_table;

/* Finds the tables in the first data block. Tags are the category, a point or an underscore (as in the CIF of small
 * molecules), and the item, in any case. *others: data blocks after the first. Errors, with file and line: VF_ERR_INPUT
 * (damaged words, a loop with a row that is not complete, a table that is there twice), VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status cif_find_tables(vf_context *ctx, const char *name, text_piece text, cif_table *tables,
                                        int count, int64_t *others);

/* The rows of a table, one after the other. */
typedef struct cif_rows {
    const cif_table *table;
    cif_words at;
    int64_t row;
} cif_rows;
cif_rows cif_rows_of(const cif_table *table);

/* The next row: a value for each wanted item, empty if the table lacks it. False at the end. */
bool cif_next_row(cif_rows *rows, cif_word values[CIF_MOST_ITEMS]);

#endif
