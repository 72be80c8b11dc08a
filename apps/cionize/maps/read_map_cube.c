/* Reads Gaussian cube files of cionize and of other programs (docs/formats.md): two lines of comment, the grid, the atoms, which are
 * skipped, and the values. Lengths are in bohr, or in angstrom if the counts of points are negative. */
#include <math.h>

#include "map_words.h"

enum { MOST_ATOMS = 100000000 };

static const double bohr = 0.529177210544; /* CODATA 2022, in angstrom */

/* Parts of a comment line of cionize are separated by "; ". */
static vf_status read_comment(map_words *r)
{
    text_piece rest;
    char trouble[MAP_TROUBLE_SIZE];
    vf_status status = words_rest_of_line(r, &rest);
    while (status == VF_OK && rest.size > 0) {
        text_piece part = rest;
        size_t n = 0;
        while (n < rest.size && !(rest.at[n] == ';' && n + 1 < rest.size && rest.at[n + 1] == ' '))
            n++;
        part.size = n;
        while (part.size > 0 && words_is_space(part.at[part.size - 1])) /* CR */
            part.size--;
        if (!map_header_text(part, r->c_locale, r->map, trouble))
            return words_fail(r, "%s", trouble);
        n = n + 2 < rest.size ? n + 2 : rest.size;
        rest = (text_piece){rest.at + n, rest.size - n};
    }
    if (status == VF_OK && r->next < r->end) { /* the end of the line */
        r->next++;
        r->line++;
    }
    return status;
}

static vf_status read_number(map_words *r, const char *what, text_number *number)
{
    char text[TEXT_QUOTE_SIZE];
    text_piece word;
    vf_status status = words_next(r, &word);
    if (status != VF_OK)
        return status;
    if (word.size == 0)
        return words_fail(r, "the file ends before %s; it is incomplete: copy or write it again", what);
    if (!text_read_number(word, r->c_locale, number))
        return words_fail(r, "%s: '%s' %s", what, text_quote(word, text), text_number_trouble(word));
    return VF_OK;
}

static vf_status read_whole(map_words *r, const char *what, double most, int64_t *value)
{
    text_number number = {0};
    vf_status status = read_number(r, what, &number);
    if (status != VF_OK)
        return status;
    if (number.point || !(fabs(number.value) <= most) || number.value != floor(number.value))
        return words_fail(r, "%s: %.17g is not a whole number of at most %.17g", what, number.value, most);
    *value = (int64_t)number.value;
    return VF_OK;
}

/* A line with a step of the grid: N x y z. */
static vf_status read_axis(map_words *r, int axis, bool *angstrom)
{
    vf_grid *grid = &r->map->grid;
    int64_t count = 0;
    vf_status status = read_whole(r, "number of points", INT32_MAX, &count);
    if (status == VF_OK && count == 0)
        return words_fail(r, "there are 0 points along axis %d", axis + 1);
    if (status == VF_OK && axis > 0 && (count < 0) != *angstrom)
        return words_fail(
            r, "the numbers of points have different signs: lengths are in bohr where they are positive, in angstrom "
               "where they are negative; they must agree");
    for (int a = 0; status == VF_OK && a < 3; a++) {
        text_number number = {0};
        status = read_number(r, "a step of the grid", &number);
        if (status == VF_OK && a == axis) {
            grid->spacing[a] = number.value;
            r->map->spacing_slack[a] = 0.5 * pow(10, -number.decimals);
        } else if (status == VF_OK && number.value != 0) {
            return words_fail(
                r, "axis %d has a component along %c; only maps with axes along x, y, z, in this order, are supported",
                axis + 1, "xyz"[a]);
        }
    }
    if (status != VF_OK)
        return status;
    *angstrom = count < 0;
    grid->counts[axis] = count < 0 ? -count : count;
    return VF_OK;
}

static vf_status skip_atoms(map_words *r, int64_t atoms)
{
    enum { NUMBERS = 5 }; /* of an atom: element, charge, position */
    text_number number;
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < NUMBERS * atoms; n++)
        status = read_number(r, "an atom's number, charge and position", &number);
    return status;
}

/* Files of orbitals have a negative number of atoms, and after the atoms the number of data sets and their names. */
static vf_status check_sets(map_words *r)
{
    int64_t sets = 0, name;
    vf_status status = read_whole(r, "number of data sets", INT32_MAX, &sets);
    if (status == VF_OK && sets != 1)
        return words_fail(r, "the file has %lld data sets; a map has one", (long long)sets);
    return status == VF_OK ? read_whole(r, "name of the data set", INT32_MAX, &name) : status;
}

static vf_status read_header(map_words *r)
{
    vf_grid *grid = &r->map->grid;
    int64_t atoms = 0;
    bool angstrom = false;
    vf_status status = read_comment(r);
    VF_TRY(status, read_comment(r));
    VF_TRY(status, read_whole(r, "number of atoms", MOST_ATOMS, &atoms));
    for (int a = 0; status == VF_OK && a < 3; a++) {
        text_number number = {0};
        status = read_number(r, "origin", &number);
        grid->origin[a] = number.value;
        r->map->origin_slack[a] = 0.5 * pow(10, -number.decimals);
    }
    text_piece rest;
    VF_TRY(status, words_rest_of_line(r, &rest));
    if (status != VF_OK)
        return status;
    while (rest.size > 0 && words_is_space(rest.at[rest.size - 1])) /* CR */
        rest.size--;
    text_words more;
    text_split(rest, &more);
    if (more.count > 0 && !(more.count == 1 && word_is(more.word[0], "1")))
        return words_fail(r, "the file has several values at each point; a map has one");
    for (int a = 0; status == VF_OK && a < 3; a++)
        status = read_axis(r, a, &angstrom);
    for (int a = 0; a < 3 && !angstrom; a++) {
        grid->origin[a] *= bohr;
        grid->spacing[a] *= bohr;
        r->map->origin_slack[a] *= bohr;
        r->map->spacing_slack[a] *= bohr;
    }
    VF_TRY(status, skip_atoms(r, atoms < 0 ? -atoms : atoms));
    return status == VF_OK && atoms < 0 ? check_sets(r) : status;
}

vf_status read_map_cube(vf_context *ctx, loaded_map *map)
{
    map_words r;
    text_piece word;
    char text[TEXT_QUOTE_SIZE];
    vf_status status = words_open(ctx, map, &r);
    map->type = VF_F32;
    VF_TRY(status, read_header(&r));
    if (status == VF_OK) {
        const double points = (double)map->grid.counts[0] * (double)map->grid.counts[1] * (double)map->grid.counts[2];
        r.items = points < 0x1p62 ? map->grid.counts[0] * map->grid.counts[1] * map->grid.counts[2] : INT64_MAX;
        status = words_check_room(&r);
    }
    VF_TRY(status, words_read_values(&r));
    VF_TRY(status, words_next(&r, &word));
    if (status == VF_OK && word.size > 0)
        status = words_fail(&r, "unexpected '%s' after the last of %lld values; copy or write the file again",
                            text_quote(word, text), (long long)r.items);
    return words_close(&r, status);
}
