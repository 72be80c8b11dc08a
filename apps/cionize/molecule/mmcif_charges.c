/* Partial charges that programs write into mmCIF files. Formal charges (pdbx_formal_charge) are none. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mmcif_file.h"
#include "voxfield/append.h"

typedef struct atom_of_id {
    int64_t id, atom;
} atom_of_id;

static int compare_ids(const void *a, const void *b)
{
    const atom_of_id *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->atom > y->atom) - (x->atom < y->atom);
}

/* ---- the kinds of charges ---- */

/* "1 (empirical, EEM)", for messages. */
static void describe_kinds(const cif_table *meta, char *text, size_t size)
{
    enum { MOST = 8 };
    cif_word word[CIF_MOST_ITEMS];
    cif_rows rows = cif_rows_of(meta);
    text[0] = '\0';
    for (int n = 0; meta->found && cif_next_row(&rows, word); n++) {
        char id[TEXT_QUOTE_SIZE], method[TEXT_QUOTE_SIZE];
        if (n == MOST) {
            vf_append(text, size, ", ...");
            return;
        }
        vf_append(text, size, "%s%s (%s)", n ? ", " : "", text_quote(word[META_ID].text, id),
                  text_quote(word[META_METHOD].text.size ? word[META_METHOD].text : word[META_TYPE].text, method));
    }
}

/* Of several kinds of charges the first is taken. */
static void say_kinds(const mmcif_file *f, const cif_table *meta, text_piece first, int64_t others)
{
    char kinds[320], id[TEXT_QUOTE_SIZE];
    describe_kinds(meta, kinds, sizeof kinds);
    if (others > 0)
        vf_warn(f->r->ctx,
                "%s: the file has several sets of charges%s%s; the first, %s, is used; remove its rows from %s to use "
                "another",
                f->r->name, *kinds ? ": " : "", kinds, text_quote(first, id), "the table of charges");
}

/* ---- a table of charges by the atoms' numbers ---- */

static vf_status take_charge(mmcif_file *f, const cif_word *word, const atom_of_id *ids, bool *has)
{
    char quoted[TEXT_QUOTE_SIZE];
    const molecule_reader *r = f->r;
    int64_t id;
    double charge;
    if (!text_count(word[CHARGE_ATOM].text, &id))
        return text_fail(r->ctx, r->name, word[CHARGE_ATOM].line, "atom_id: '%s' is not the number of an atom",
                         text_quote(word[CHARGE_ATOM].text, quoted));
    const atom_of_id wanted = {id, -1};
    int64_t low = 0, high = r->out->atoms;
    while (low < high) { /* the first atom whose id is not smaller */
        const int64_t middle = low + (high - low) / 2;
        if (compare_ids(&ids[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    vf_status status = mmcif_number(r, &word[CHARGE_VALUE], "charge", &charge);
    if (status != VF_OK || low == r->out->atoms || ids[low].id != id) /* an atom of another model */
        return status;
    if (has[ids[low].atom])
        return text_fail(r->ctx, r->name, word[CHARGE_ATOM].line, "atom %" PRId64 " has two charges", id);
    has[ids[low].atom] = true;
    r->out->charge[ids[low].atom] = charge;
    return VF_OK;
}

static vf_status take_rows(mmcif_file *f, const cif_table *table, const cif_table *meta, const atom_of_id *ids,
                           bool *has)
{
    cif_word word[CIF_MOST_ITEMS];
    cif_rows rows = cif_rows_of(table);
    text_piece first = {0};
    int64_t others = 0;
    vf_status status = VF_OK;
    while (status == VF_OK && cif_next_row(&rows, word)) {
        const text_piece type = word[CHARGE_TYPE].text;
        if (!first.at)
            first = type;
        if (type.size == first.size && memcmp(type.at, first.at, type.size) == 0)
            status = take_charge(f, word, ids, has);
        else
            others++;
    }
    if (status == VF_OK)
        say_kinds(f, meta, first, others);
    return status;
}

static vf_status read_table(mmcif_file *f, const cif_table *table, const cif_table *meta)
{
    const molecule_reader *r = f->r;
    const int64_t atoms = r->out->atoms;
    if (!table->has[CHARGE_ATOM] || !table->has[CHARGE_VALUE])
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: %s lacks atom_id or charge", r->name, table->category);
    atom_of_id *ids = malloc((size_t)atoms * sizeof *ids);
    bool *has = calloc((size_t)atoms, sizeof *has);
    vf_status status = ids && has ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for charges", r->name);
    for (int64_t i = 0; status == VF_OK && i < atoms; i++)
        ids[i] = (atom_of_id){f->id[i], i};
    if (status == VF_OK) {
        qsort(ids, (size_t)atoms, sizeof *ids, compare_ids);
        status = take_rows(f, table, meta, ids, has);
    }
    for (int64_t i = 0; status == VF_OK && i < atoms; i++)
        if (!has[i])
            status = text_fail(r->ctx, r->name, f->line[i], "atom %" PRId64 " (%s, %s %" PRId32 ") has no charge in %s",
                               f->id[i], r->out->labels[i].name, r->out->labels[i].residue,
                               r->out->labels[i].residue_number, table->category);
    free(ids);
    free(has);
    return status;
}

vf_status mmcif_read_charges(mmcif_file *f, bool *found)
{
    static const int charge_items[] = {ATOM_PQR_CHARGE, ATOM_PARTIAL_CHARGE, ATOM_CHARGE};
    const cif_table *t = f->tables;
    molecule *m = f->r->out;
    double rest = 0;
    vf_status status = VF_OK;
    *found = false; /* charges of _atom_site have been read with the atoms */
    for (int n = 0; n < 3; n++)
        *found |= t[MMCIF_ATOMS].has[charge_items[n]];
    for (int table = MMCIF_CHARGES; status == VF_OK && !*found && table <= MMCIF_PLAIN_CHARGES; table += 2)
        if (t[table].found && t[table].rows > 0) {
            status = read_table(f, &t[table], &t[table + 1]);
            *found = true;
        }
    m->total_charge = 0;
    for (int64_t i = 0; i < m->atoms; i++)
        molecule_add_charge(m, m->charge[i], &rest);
    m->total_charge += rest;
    return status;
}
