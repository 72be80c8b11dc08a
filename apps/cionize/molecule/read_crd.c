/* Coordinates and names of CHARMM's coordinate files (.crd, .cor): lines of title, which begin with *; the number of atoms, with
 * EXT if the columns are the wide ones; a line an atom. CHARMM also takes the wide columns from 100,000 atoms on. */
#include <inttypes.h>
#include <string.h>

#include "crd_text.h"
#include "molecule_readers.h"
#include "voxfield/timer.h"

/* Columns from 0, [begin, end). CHARMM's formats are 2I5,1X,A4,1X,A4,3F10.5,1X,A4,1X,A4,F10.5 and
 * 2I10,2X,A8,2X,A8,3F20.10,2X,A8,2X,A8,F20.10. */
typedef struct crd_columns {
    size_t residue_index, residue, name, x, segment, resid; /* where they begin */
    size_t text, width;                                     /* of names, and of a coordinate */
    int decimals;
} crd_columns;

static const crd_columns normal = {5, 11, 16, 20, 51, 56, 4, 10, 5}, wide = {10, 22, 32, 40, 102, 112, 8, 20, 10};
enum { WIDE_FROM = 100000 };

/* The line with the number of atoms: a count, and EXT if the columns are wide. */
static const crd_columns *take_count(text_piece line, int64_t *atoms)
{
    text_words words;
    text_split(line, &words);
    if (words.count < 1 || words.count > 2 || !text_count(words.word[0], atoms) || *atoms < 1)
        return NULL;
    const bool ext = words.count == 2 && words.word[1].size == 3 && memcmp(words.word[1].at, "EXT", 3) == 0;
    return words.count == 2 && !ext ? NULL : ext || *atoms >= WIDE_FROM ? &wide : &normal;
}

static bool is_title(text_piece line)
{
    return line.size > 0 && *line.at == '*';
}

bool is_crd(text_piece text)
{
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    text_piece line;
    int64_t atoms, serial, residue;
    bool more = text_next_line(&lines, &line);
    while (more && is_title(line))
        more = text_next_line(&lines, &line);
    const crd_columns *c = more ? take_count(line, &atoms) : NULL;
    if (!c)
        return false;
    if (lines.line > 1) /* after a title, no other format has such a line */
        return true;
    return text_next_line(&lines, &line) && text_count(label_trim(text_columns(line, 0, c->residue_index)), &serial) &&
           text_count(label_trim(text_columns(line, c->residue_index, 2 * c->residue_index)), &residue) &&
           memchr(line.at, '.', line.size);
}

static vf_status read_atom(molecule_reader *r, text_piece line, const crd_columns *c)
{
    static const char *const names[3] = {"x", "y", "z"};
    atom_label label = {.occupancy = 1};
    double xyz[3];
    label_copy(text_columns(line, c->residue, c->residue + c->text), label.residue);
    label_copy(text_columns(line, c->name, c->name + c->text), label.name);
    label_copy(text_columns(line, c->segment, c->segment + c->text), label.chain);
    if (!*label.name)
        return text_fail(r->ctx, r->name, r->lines.line, "columns %zu-%zu (atom name) are blank", c->name + 1,
                         c->name + c->text);
    const text_piece resid = label_trim(text_columns(line, c->resid, c->resid + c->text));
    const text_piece index = label_trim(text_columns(line, c->residue_index, 2 * c->residue_index));
    if (resid.size == 0 ? !label_number(index, &label.residue_number)
                        : !label_number_and_code(resid, &label.residue_number, &label.insertion)) {
        label.residue_number = 0;
        label_copy(resid.size > 0 ? resid : index, label.number_text);
    }
    for (size_t a = 0; a < 3; a++) {
        const size_t begin = c->x + a * c->width;
        const vf_status status = reader_number(r, line, begin, begin + c->width, c->decimals, names[a], &xyz[a]);
        if (status != VF_OK)
            return status;
    }
    const vf_status status = reader_add_atom(r);
    if (status == VF_OK) {
        molecule_place(r->out, r->out->atoms - 1, xyz);
        r->out->labels[r->out->atoms - 1] = label;
    }
    return status;
}

static vf_status read_atoms(molecule_reader *r, int64_t count, const crd_columns *c)
{
    text_piece line;
    bool more = true;
    vf_status status = VF_OK;
    while (status == VF_OK && r->out->atoms < count) {
        status = reader_next(r, &line, &more);
        if (status == VF_OK && !more)
            return vf_fail(r->ctx, VF_ERR_INPUT,
                           "%s: the file ends after %" PRId64 " of the %" PRId64
                           " atom%s that it states; copy it again",
                           r->name, r->out->atoms, count, vf_plural(count));
        VF_TRY(status, read_atom(r, line, c));
    }
    if (status == VF_OK && !text_rest_blank(r->lines))
        return text_fail(r->ctx, r->name, r->lines.line + 1,
                         "the file goes on after the %" PRId64 " atom%s that it states; correct the number", count,
                         vf_plural(count));
    return status;
}

vf_status read_crd(molecule_reader *r)
{
    text_piece line = {"*", 1};
    bool more = true;
    int64_t atoms = 0;
    while (more && is_title(line)) {
        const vf_status status = reader_next(r, &line, &more);
        if (status != VF_OK)
            return status;
    }
    const crd_columns *c = more ? take_count(line, &atoms) : NULL;
    if (!c)
        return text_fail(r->ctx, r->name, r->lines.line,
                         "expected the number of atoms, at least 1, with EXT behind it if the columns are wide");
    const vf_status status = read_atoms(r, atoms, c);
    strcpy(r->out->dialect, c == &wide ? "CHARMM coordinates (EXT)" : "CHARMM coordinates");
    return status;
}
