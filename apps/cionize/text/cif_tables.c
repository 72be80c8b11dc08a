#include "cif_tables.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "input_text.h"

typedef struct finder {
    vf_context *ctx;
    const char *name;
    cif_words words;
    cif_table *tables;
    int count;
    int64_t seen, blocks;
    bool in_frame; /* save_ frames belong to dictionaries */
    bool told;     /* of a text field that ends early */
} finder;

/* ---- words ---- */

static vf_status next(finder *f, cif_word *out)
{
    enum { WORDS_BETWEEN_LOOKS = 1 << 16 };
    char quoted[TEXT_QUOTE_SIZE];
    if (++f->seen % WORDS_BETWEEN_LOOKS == 0 && vf_cancelled(f->ctx))
        return vf_fail(f->ctx, VF_ERR_CANCELLED, "%s: interrupted while reading", f->name);
    *out = cif_next(&f->words);
    if (out->trouble)
        return text_fail(f->ctx, f->name, out->line, "'%s' %s", text_quote(out->text, quoted), out->trouble);
    if (out->ends_early && !f->told)
        vf_warn(f->ctx,
                "%s:%" PRId64
                ": the text field that begins here has no line that begins with ; as its end; it is taken "
                "to end at the first ; at the end of a line (pdb2pqr writes such files)",
                f->name, out->line);
    f->told |= out->ends_early;
    return VF_OK;
}

/* The table and the item of a tag. False if it is not wanted. */
static bool find_item(const finder *f, text_piece tag, int *table, int *item)
{
    for (int t = 0; t < f->count; t++) {
        const char *category = f->tables[t].category;
        const size_t size = strlen(category);
        if (tag.size < size + 2 || strncasecmp(tag.at, category, size) != 0 ||
            (tag.at[size] != '.' && tag.at[size] != '_'))
            continue;
        const text_piece rest = {tag.at + size + 1, tag.size - size - 1};
        for (int i = 0; f->tables[t].items[i]; i++)
            if (cif_same_text(rest, f->tables[t].items[i])) {
                *table = t;
                *item = i;
                return true;
            }
    }
    return false;
}

/* ---- pairs and loops ---- */

static vf_status read_pair(finder *f, const cif_word *tag)
{
    char quoted[TEXT_QUOTE_SIZE];
    cif_word value;
    int table, item;
    vf_status status = next(f, &value);
    if (status != VF_OK)
        return status;
    if (value.kind != CIF_VALUE)
        return text_fail(f->ctx, f->name, tag->line, "'%s' has no value", text_quote(tag->text, quoted));
    if (f->blocks > 1 || f->in_frame || !find_item(f, tag->text, &table, &item))
        return VF_OK;
    cif_table *to = &f->tables[table];
    if (to->loop || to->has[item])
        return text_fail(f->ctx, f->name, tag->line, "'%s' is there twice; remove one", text_quote(tag->text, quoted));
    to->found = to->has[item] = true;
    to->single[item] = value;
    to->rows = 1;
    return VF_OK;
}

/* The tags of a loop. *table: that of the first wanted item; -1: none. */
static vf_status read_tags(finder *f, int64_t line, int *table, cif_table *columns, cif_word *first)
{
    char quoted[TEXT_QUOTE_SIZE];
    int of, item;
    vf_status status;
    *table = -1;
    *columns = (cif_table){0};
    while ((status = next(f, first)) == VF_OK && first->kind == CIF_TAG) {
        const bool wanted = find_item(f, first->text, &of, &item) && (*table < 0 || *table == of);
        if (wanted && columns->has[item])
            return text_fail(f->ctx, f->name, first->line, "'%s' is twice in this loop",
                             text_quote(first->text, quoted));
        if (wanted) {
            *table = of;
            columns->has[item] = true;
            columns->column[item] = columns->width;
        }
        columns->width++;
    }
    if (status == VF_OK && columns->width == 0)
        return text_fail(f->ctx, f->name, line, "mmCIF: a loop_ without items: a tag (_category.item) must follow");
    return status;
}

static vf_status read_loop(finder *f, int64_t line, cif_word *word)
{
    cif_table columns;
    int table;
    int64_t values = 0;
    vf_status status = read_tags(f, line, &table, &columns, word);
    if (status != VF_OK)
        return status;
    const bool wanted = table >= 0 && f->blocks <= 1 && !f->in_frame;
    columns.start = f->words;
    columns.start.next = word->text.at - word->quoted;
    columns.start.line = word->line;
    for (; status == VF_OK && word->kind == CIF_VALUE; values++)
        status = next(f, word);
    if (status != VF_OK)
        return status;
    if (columns.width == 0 || values % columns.width != 0)
        return text_fail(f->ctx, f->name, line,
                         "this loop has %" PRId64 " values in rows of %" PRId64
                         " items, so a row is not complete; a value is missing or has a blank without quotes",
                         values, columns.width);
    if (!wanted)
        return VF_OK;
    cif_table *to = &f->tables[table];
    if (to->found)
        return text_fail(f->ctx, f->name, line, "the items of %s are there twice; remove one", to->category);
    columns.category = to->category;
    columns.items = to->items;
    columns.found = columns.loop = true;
    columns.rows = values / columns.width;
    *to = columns;
    return VF_OK;
}

static vf_status read_word(finder *f, cif_word *word)
{
    char quoted[TEXT_QUOTE_SIZE];
    const cif_word first = *word;
    vf_status status = VF_OK;
    switch (first.kind) {
    case CIF_DATA:
    case CIF_SAVE:
        f->blocks += first.kind == CIF_DATA;
        f->in_frame = first.kind == CIF_SAVE && first.text.size > strlen("save_");
        return next(f, word);
    case CIF_TAG:
        status = read_pair(f, &first);
        return status == VF_OK ? next(f, word) : status;
    case CIF_LOOP:
        return read_loop(f, first.line, word); /* which has read the word after it */
    default:
        return text_fail(f->ctx, f->name, first.line,
                         "mmCIF: '%s' belongs to no item: a tag (_category.item) or loop_ must come before it",
                         text_quote(first.text, quoted));
    }
}

vf_status cif_find_tables(vf_context *ctx, const char *name, text_piece text, cif_table *tables, int count,
                          int64_t *others)
{
    finder f = {.ctx = ctx, .name = name, .words = cif_begin(text), .tables = tables, .count = count};
    cif_word word;
    vf_status status = next(&f, &word);
    while (status == VF_OK && word.kind != CIF_END)
        status = read_word(&f, &word);
    *others = f.blocks > 1 ? f.blocks - 1 : 0;
    return status;
}

/* ---- rows ---- */

cif_rows cif_rows_of(const cif_table *table)
{
    return (cif_rows){.table = table, .at = table->start};
}

bool cif_next_row(cif_rows *rows, cif_word values[CIF_MOST_ITEMS])
{
    const cif_table *t = rows->table;
    if (rows->row >= t->rows)
        return false;
    rows->row++;
    for (int i = 0; t->items[i]; i++)
        values[i] = t->loop ? (cif_word){.text = {"", 0}} : t->single[i];
    for (int64_t n = 0; t->loop && n < t->width; n++) {
        const cif_word word = cif_next(&rows->at);
        for (int i = 0; t->items[i]; i++)
            if (t->has[i] && t->column[i] == n)
                values[i] = word;
    }
    return true;
}
