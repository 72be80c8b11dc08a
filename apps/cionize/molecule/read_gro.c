/* Reads coordinates, names and the box of the first frame of a GROMACS .gro file, in nm. Columns 1-20 hold residue
 * number, residue name, atom name and serial number, five columns each; x, y and z follow. As in GROMACS, the distance of
 * the decimal points on the first atom's line is the width of their columns, and five less are decimals. Velocities
 * may follow, which are ignored. */
#include <inttypes.h>
#include <string.h>

#include "gro_text.h"
#include "molecule_readers.h"
#include "residue_labels.h"
#include "voxfield/timer.h"

enum { NAME = 5, ATOM = 10, SERIAL = 15, X = 20, LEAST_WIDTH = 6, MOST_WIDTH = 24, BEFORE_DECIMALS = 5 };
static const double angstrom = 10; /* of a nm */

/* A number, or the asterisks of one that was too large. */
static bool is_integer(text_piece text)
{
    int32_t number;
    text = label_trim(text);
    size_t stars = 0;
    while (stars < text.size && text.at[stars] == '*')
        stars++;
    return label_number(text, &number) || (stars > 0 && stars == text.size);
}

bool gro_count(text_piece line, int64_t *atoms)
{
    return text_count(label_trim(line), atoms) && *atoms > 0;
}

/* The width of the columns of coordinates; 0: there are no two decimal points. */
static size_t width_of(text_piece line)
{
    const text_piece rest = text_columns(line, X, line.size);
    const char *first = memchr(rest.at, '.', rest.size);
    const size_t behind = first ? (size_t)(rest.at + rest.size - first) - 1 : 0;
    const char *second = first ? memchr(first + 1, '.', behind) : NULL;
    const size_t width = second ? (size_t)(second - first) : 0;
    return width >= LEAST_WIDTH && width <= MOST_WIDTH ? width : 0;
}

bool is_gro(text_piece text)
{
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    text_piece count, atom;
    int64_t atoms;
    return text_next_line(&lines, &count) && text_next_line(&lines, &count) && text_next_line(&lines, &atom) &&
           gro_count(count, &atoms) && is_integer(text_columns(atom, 0, NAME)) &&
           is_integer(text_columns(atom, SERIAL, X)) && width_of(atom) > 0;
}

/* ---- the box ---- */

/* The words of a box; a word of several numbers, which touch where they fill their columns, is taken apart: all have as many
 * decimals as the last. False if they are too many. */
static bool split_box(text_piece line, text_words *out)
{
    text_words words;
    size_t decimals = 0;
    text_split(line, &words);
    *out = (text_words){.count = 0};
    if (words.count == 0 || words.more)
        return false;
    const text_piece last = words.word[words.count - 1];
    while (decimals < last.size && text_is_digit(last.at[last.size - 1 - decimals]))
        decimals++;
    for (int i = 0; i < words.count; i++) {
        text_piece rest = words.word[i];
        while (rest.size > 0) {
            const char *point = memchr(rest.at, '.', rest.size), *end = rest.at + rest.size;
            const bool touches =
                point && memchr(point + 1, '.', (size_t)(end - point) - 1) && (size_t)(end - point) > decimals + 1;
            const size_t size = touches ? (size_t)(point - rest.at) + decimals + 1 : rest.size;
            if (out->count == TEXT_MAX_WORDS)
                return false;
            out->word[out->count++] = (text_piece){rest.at, size};
            rest.at += size;
            rest.size -= size;
        }
    }
    return true;
}

bool gro_box(text_piece line, locale_t c_locale, unit_cell *out)
{
    static const int row[9] = {0, 1, 2, 0, 0, 1, 1, 2, 2}, column[9] = {0, 1, 2, 1, 2, 0, 2, 0, 1};
    double v[3][3] = {{0}};
    text_words words;
    text_number number;
    *out = (unit_cell){.state = UNIT_CELL_BAD};
    if (!split_box(line, &words) || (words.count != 3 && words.count != 9))
        return false;
    for (int i = 0; i < words.count; i++) {
        if (!text_read_number(words.word[i], c_locale, &number))
            return false;
        v[row[i]][column[i]] = number.value;
    }
    cell_of_vectors(v, angstrom, out);
    return true;
}

/* ---- the frame ---- */

static vf_status read_atom(molecule_reader *r, text_piece line, size_t width)
{
    static const char *const names[3] = {"x", "y", "z"};
    atom_label label = {.occupancy = 1};
    char quoted[TEXT_QUOTE_SIZE];
    double xyz[3];
    const text_piece number = text_columns(line, 0, NAME);
    label_copy(text_columns(line, NAME, ATOM), label.residue);
    label_copy(text_columns(line, ATOM, SERIAL), label.name);
    if (!label_number(label_trim(number), &label.residue_number)) {
        if (!label_is_plausible(label_trim(number)))
            return text_fail(r->ctx, r->name, r->lines.line, "columns 1-%d (residue number): '%s' is not a number",
                             NAME, text_quote(number, quoted));
        label_copy(number, label.number_text);
    }
    if (!*label.name)
        return text_fail(r->ctx, r->name, r->lines.line, "columns %d-%d (atom name) are blank", ATOM + 1, SERIAL);
    for (size_t a = 0; a < 3; a++) {
        const size_t begin = X + a * width;
        const vf_status status =
            reader_number(r, line, begin, begin + width, (int)width - BEFORE_DECIMALS, names[a], &xyz[a]);
        if (status != VF_OK)
            return status;
        xyz[a] *= angstrom;
    }
    const vf_status status = reader_add_atom(r);
    if (status == VF_OK) {
        molecule_place(r->out, r->out->atoms - 1, xyz);
        r->out->labels[r->out->atoms - 1] = label;
    }
    return status;
}

/* The next line of a frame that has `count` atoms. */
static vf_status next_line(molecule_reader *r, int64_t count, text_piece *line)
{
    bool more;
    const vf_status status = reader_next(r, line, &more);
    if (status == VF_OK && !more)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the file ends after %" PRId64 " of the %" PRId64
                       " atom%s stated in its second line, or before the box that follows them; copy it again",
                       r->name, r->out->atoms, count, vf_plural(count));
    return status;
}

/* Residue numbers start again after 99,999. */
static bool numbers_rise(const molecule *m)
{
    for (int64_t i = 0; i < m->atoms; i++)
        if (*m->labels[i].number_text || (i > 0 && m->labels[i].residue_number < m->labels[i - 1].residue_number))
            return false;
    return true;
}

vf_status read_gro(molecule_reader *r)
{
    text_piece line;
    bool more;
    int64_t count = 0;
    size_t width = 0;
    vf_status status = reader_next(r, &line, &more); /* the title */
    VF_TRY(status, reader_next(r, &line, &more));
    if (status == VF_OK && (!more || !gro_count(line, &count)))
        status = text_fail(r->ctx, r->name, r->lines.line, "the second line must be the number of atoms, at least 1");
    while (status == VF_OK && r->out->atoms < count) {
        status = next_line(r, count, &line);
        if (status == VF_OK && width == 0) {
            width = width_of(line);
            if (width == 0)
                return text_fail(r->ctx, r->name, r->lines.line,
                                 "the decimal points of x and y must be %d to %d columns apart, as in GROMACS's files: "
                                 "the line is damaged or shifted",
                                 LEAST_WIDTH, MOST_WIDTH);
        }
        VF_TRY(status, read_atom(r, line, width));
    }
    VF_TRY(status, next_line(r, count, &line));
    if (status != VF_OK)
        return status;
    if (!gro_box(line, r->c_locale, &r->out->cell))
        return text_fail(r->ctx, r->name, r->lines.line,
                         "the box, 3 or 9 numbers, must follow the %" PRId64
                         " atom%s stated in the second line: their number is wrong, or lines are missing",
                         count, vf_plural(count));
    if (!text_rest_blank(r->lines))
        vf_warn(r->ctx,
                "%s:%" PRId64 ": the first frame ends here; what follows is not read (--trajectory averages over "
                "frames)",
                r->name, r->lines.line);
    r->plain_numbers = numbers_rise(r->out);
    strcpy(r->out->dialect, "GROMACS coordinates");
    return VF_OK;
}
