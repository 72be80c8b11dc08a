/* Reads coordinates from an AMBER coordinate or restart file in text form (inpcrd, rst7): a title, the number of atoms
 * (optionally with a time), then numbers in columns of 12 with seven decimals, six per line. Velocities and a box may
 * follow. Velocities are only counted, to check the number of atoms. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "molecule_readers.h"
#include "voxfield/timer.h"

enum { WIDTH = 12, DECIMALS = 7, ATOMS_A_LINE = 2 };

/* The number of atoms on the second line; 0 if invalid. */
static int64_t atom_count(text_piece line, locale_t c_locale)
{
    text_words words;
    text_number number;
    int64_t count;
    text_split(line, &words);
    if (words.count == 0 || words.more || !text_count(words.word[0], &count))
        return 0;
    for (int i = 1; i < words.count; i++)
        if (!text_read_number(words.word[i], c_locale, &number))
            return 0;
    return count;
}

bool is_inpcrd(text_piece text, locale_t c_locale)
{
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    text_piece line;
    if (!text_next_line(&lines, &line) || !text_next_line(&lines, &line) || atom_count(line, c_locale) == 0 ||
        !text_next_line(&lines, &line))
        return false;
    text_piece first = text_columns(line, 0, WIDTH);
    for (size_t i = 0; i < first.size; i++)
        if (text_is_letter(first.at[i]))
            return false;
    return first.size > 0 && (memchr(first.at, '.', first.size) || memchr(first.at, '*', first.size));
}

static vf_status fail_short(const molecule_reader *r, int64_t count)
{
    return vf_fail(r->ctx, VF_ERR_INPUT,
                   "%s: the file ends after %" PRId64 " of the %" PRId64
                   " atom%s stated in its second line; copy it again",
                   r->name, r->out->atoms, count, vf_plural(count));
}

/* Numbers behind those of the last atoms are those of another line, whose own is lost. */
static vf_status check_end(const molecule_reader *r, text_piece line, int64_t atoms)
{
    const size_t end = (size_t)(3 * atoms) * WIDTH;
    if (line.size <= end || text_all_blank((text_piece){line.at + end, line.size - end}))
        return VF_OK;
    return text_fail(r->ctx, r->name, r->lines.line,
                     "expected %" PRId64 " numbers in this line, but more follow: a line is missing, or two are joined",
                     3 * atoms);
}

/* Whether a line has the cells' angles that most boxes have, three right ones or those of a truncated octahedron, in the place of
 * coordinates or velocities: no three of these are so. */
static bool ends_as_box(text_piece line, locale_t c_locale)
{
    const double octahedron = 109.471219, rounding = 1e-5;
    double angle[3];
    for (int i = 0; i < 3; i++) {
        text_number number;
        const text_piece text = label_trim(text_columns(line, (size_t)(3 + i) * WIDTH, (size_t)(4 + i) * WIDTH));
        if (!text_read_number(text, c_locale, &number))
            return false;
        angle[i] = number.value;
    }
    return angle[0] == angle[1] && angle[0] == angle[2] && (angle[0] == 90 || fabs(angle[0] - octahedron) < rounding);
}

static vf_status fail_as_box(const molecule_reader *r, const char *what)
{
    return text_fail(r->ctx, r->name, r->lines.line,
                     "the last line seems to be the box, but is in the place of %s: a line before it is missing", what);
}

/* *last: the last line of the coordinates. */
static vf_status read_atoms(molecule_reader *r, int64_t count, text_piece *last)
{
    static const char *const names[3] = {"x", "y", "z"};
    text_piece line;
    bool more;
    while (r->out->atoms < count) {
        vf_status status = reader_next(r, &line, &more);
        if (status != VF_OK)
            return status;
        if (!more)
            return fail_short(r, count);
        for (size_t n = 0; n < ATOMS_A_LINE && r->out->atoms < count; n++) {
            double xyz[3];
            for (size_t a = 0; a < 3; a++) {
                size_t begin = (3 * n + a) * WIDTH;
                status = reader_number(r, line, begin, begin + WIDTH, DECIMALS, names[a], &xyz[a]);
                if (status != VF_OK)
                    return status;
            }
            status = reader_add_atom(r);
            if (status != VF_OK)
                return status;
            molecule_place(r->out, r->out->atoms - 1, xyz);
        }
        *last = line;
        status = check_end(r, line, (r->out->atoms - 1) % ATOMS_A_LINE + 1);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

/* Checks what follows the coordinates: nothing, velocities, a box, or both. Reads the box. */
static vf_status read_rest(molecule_reader *r, int64_t count, text_piece coordinates)
{
    int64_t lines = 0, velocities = (count + ATOMS_A_LINE - 1) / ATOMS_A_LINE;
    int64_t first = r->lines.line + 1;
    text_piece line, last = {"", 0};
    bool more = true;
    while (more) {
        vf_status status = reader_next(r, &line, &more);
        if (status != VF_OK)
            return status;
        if (more && !text_all_blank(line)) {
            last = line;
            lines++;
        }
    }
    if (lines == 0 && ends_as_box(coordinates, r->c_locale))
        return fail_as_box(r, "coordinates");
    if (lines == velocities && lines > 1 && ends_as_box(last, r->c_locale))
        return fail_as_box(r, "velocities");
    /* A single line after one or two atoms can also be their velocities. */
    if (lines != velocities && (lines == 1 || lines == velocities + 1) &&
        !read_amber_box(last, r->c_locale, &r->out->cell))
        r->out->cell.state = UNIT_CELL_BAD;
    if (lines <= 1 || lines == velocities || lines == velocities + 1)
        return VF_OK;
    return text_fail(r->ctx, r->name, first,
                     "%" PRId64 " line%s the %" PRId64 " atom%s stated in the second line; velocities "
                     "take %" PRId64 ", and a box takes 1: the number of atoms is wrong, or lines are missing",
                     lines, lines == 1 ? " follows" : "s follow", count, vf_plural(count), velocities);
}

vf_status read_inpcrd(molecule_reader *r)
{
    text_piece line;
    bool more;
    vf_status status = reader_next(r, &line, &more); /* the title */
    VF_TRY(status, reader_next(r, &line, &more));
    if (status != VF_OK)
        return status;
    int64_t count = more ? atom_count(line, r->c_locale) : 0;
    if (count == 0)
        return text_fail(r->ctx, r->name, r->lines.line, "the second line must begin with the number of atoms");
    text_piece last = {"", 0};
    status = read_atoms(r, count, &last);
    VF_TRY(status, read_rest(r, count, last));
    strcpy(r->out->dialect, "AMBER coordinates");
    return status;
}
