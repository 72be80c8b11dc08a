/* The header of an OpenDX file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dx_reader.h"
#include "molecule/unit_cell.h"
#include "voxfield/timer.h"

enum { MOST_ID_WORDS = 16 };

/* GridDataFormats puts the type in quotation marks. */
static text_piece unquoted(text_piece word)
{
    if (word.size >= 2 && *word.at == '"' && word.at[word.size - 1] == '"')
        return (text_piece){word.at + 1, word.size - 2};
    return word;
}

/* ---- the header ---- */

/* Reads comments of cionize: "# electrostatic potential in kT/e" in the first line, and the map's constants in
 * others. */
static vf_status read_comment(dx_reader *r, text_piece word)
{
    text_piece rest;
    r->w.next = word.at + 1; /* "#electrostatic" is also a comment */
    vf_status status = words_rest_of_line(&r->w, &rest);
    if (status != VF_OK)
        return status;
    while (rest.size > 0 && words_is_space(*rest.at))
        rest.at++, rest.size--;
    while (rest.size > 0 && words_is_space(rest.at[rest.size - 1])) /* CR */
        rest.size--;
    char trouble[MAP_TROUBLE_SIZE];
    return map_header_text(rest, r->w.c_locale, r->w.map, trouble) ? VF_OK : words_fail(&r->w, "%s", trouble);
}

/* The next word outside comments; `what`: what is missing if the file ends here. */
static vf_status header_word(dx_reader *r, const char *what, text_piece *word)
{
    for (;;) {
        vf_status status = words_next(&r->w, word);
        if (status != VF_OK)
            return status;
        if (word->size == 0)
            return words_fail(&r->w, "the file ends before %s; it is incomplete: copy or write it again", what);
        if (*word->at != '#')
            return VF_OK;
        status = read_comment(r, *word);
        if (status != VF_OK)
            return status;
    }
}

static vf_status expect_word(dx_reader *r, const char *expected)
{
    text_piece word;
    char text[TEXT_QUOTE_SIZE];
    vf_status status = header_word(r, expected, &word);
    if (status == VF_OK && !word_is(word, expected))
        return words_fail(&r->w, "found '%s' instead of '%s'; this form of OpenDX is not supported",
                          text_quote(word, text), expected);
    return status;
}

static vf_status read_number(dx_reader *r, const char *what, text_number *number)
{
    text_piece word;
    char text[TEXT_QUOTE_SIZE];
    vf_status status = header_word(r, what, &word);
    if (status == VF_OK && !text_read_number(word, r->w.c_locale, number))
        return words_fail(&r->w, "%s: '%s' %s", what, text_quote(word, text), text_number_trouble(word));
    return status;
}

/* An integer of at least `least`, which is 0 or 1. */
static vf_status read_whole(dx_reader *r, const char *what, int64_t least, int64_t *value)
{
    text_number number;
    vf_status status = read_number(r, what, &number);
    if (status != VF_OK)
        return status;
    if (!(number.value >= (double)least && number.value <= 0x1p53) || number.value != floor(number.value))
        return words_fail(&r->w, "%s: %.17g is not an integer of %lld or more", what, number.value, (long long)least);
    *value = (int64_t)number.value;
    return VF_OK;
}

static vf_status read_counts(dx_reader *r, int64_t counts[3])
{
    vf_status status = expect_word(r, "counts");
    for (int a = 0; a < 3 && status == VF_OK; a++)
        status = read_whole(r, "counts", 1, &counts[a]);
    return status;
}

static double half_a_unit(const text_number *number)
{
    return 0.5 * pow(10, -number->decimals);
}

static vf_status read_origin(dx_reader *r)
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        text_number number = {0};
        status = read_number(r, "origin", &number);
        r->w.map->grid.origin[a] = number.value;
        r->w.map->origin_slack[a] = half_a_unit(&number);
    }
    r->origin = true;
    return status;
}

static vf_status read_delta(dx_reader *r)
{
    const int axis = r->deltas++;
    if (axis == 3)
        return words_fail(&r->w, "there is a fourth delta; a map has three");
    for (int a = 0; a < 3; a++) {
        text_number number = {0};
        vf_status status = read_number(r, "delta", &number);
        if (status != VF_OK)
            return status;
        if (a == axis) {
            r->w.map->grid.spacing[a] = number.value;
            r->w.map->spacing_slack[a] = half_a_unit(&number);
        } else if (number.value != 0) {
            return words_fail(
                &r->w,
                "delta %d has a component along %c; only maps with axes along x, y, z, in this order, are supported",
                axis + 1, "xyz"[a]);
        }
    }
    if (!(r->w.map->grid.spacing[axis] > 0))
        return words_fail(&r->w, "delta %d is %g; steps must be positive", axis + 1, r->w.map->grid.spacing[axis]);
    return VF_OK;
}

static vf_status read_type(dx_reader *r)
{
    text_piece word;
    char text[TEXT_QUOTE_SIZE];
    vf_status status = header_word(r, "type", &word);
    if (status != VF_OK)
        return status;
    word = unquoted(word);
    if (!word_is(word, "float") && !word_is(word, "double"))
        return words_fail(&r->w, "unsupported type of values '%s'; expected float or double", text_quote(word, text));
    r->w.map->type = word_is(word, "float") ? VF_F32 : VF_F64;
    return VF_OK;
}

/* "type double rank 0 items N data follows", after "class array". */
static vf_status read_array(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    text_piece word;
    int64_t rank = 0;
    vf_status status = VF_OK;
    r->w.map->type = VF_F32; /* the default of OpenDX */
    while ((status = header_word(r, "data follows", &word)) == VF_OK) {
        if (word_is(word, "data"))
            break;
        if (word_is(word, "type"))
            status = read_type(r);
        else if (word_is(word, "rank"))
            status = read_whole(r, "rank", 0, &rank);
        else if (word_is(word, "items"))
            status = read_whole(r, "items", 1, &r->w.items);
        else if (word_is(word, "lsb") || word_is(word, "msb") || word_is(word, "binary") || word_is(word, "ieee") ||
                 word_is(word, "xdr"))
            return words_fail(&r->w, "the values are binary (%s); write them as text", text_quote(word, text));
        else if (!word_is(word, "text") && !word_is(word, "ascii"))
            return words_fail(&r->w, "unexpected '%s' in an array; expected type, rank, items or 'data follows'",
                              text_quote(word, text));
        if (status != VF_OK)
            return status;
    }
    if (status == VF_OK)
        status = expect_word(r, "follows"); /* data in another file is not supported */
    if (status == VF_OK && rank != 0)
        return words_fail(&r->w, "the array has rank %lld; a potential has rank 0", (long long)rank);
    r->array = true;
    return status;
}

/* "1 class gridpositions ...", after "object". */
static vf_status read_object(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    text_piece word;
    vf_status status = VF_OK;
    for (int n = 0; n < MOST_ID_WORDS; n++) {
        status = header_word(r, "class", &word);
        if (status != VF_OK || word_is(word, "class"))
            break;
    }
    VF_TRY(status, header_word(r, "the object's class", &word));
    if (status != VF_OK)
        return status;
    if (word_is(word, "gridpositions")) {
        r->positions = true;
        return read_counts(r, r->w.map->grid.counts);
    }
    if (word_is(word, "gridconnections"))
        return read_counts(r, r->connections);
    if (word_is(word, "array"))
        return read_array(r);
    return words_fail(&r->w, "unsupported object class '%s'; expected gridpositions, gridconnections or array",
                      text_quote(word, text));
}

/* PMEPot's Fourier transforms cover the cell once. Cells with other angles have been rejected by their steps. */
static void take_cell_of_steps(vf_grid *grid)
{
    const double right[3] = {90, 90, 90};
    double lengths[3];
    for (int a = 0; a < 3; a++)
        lengths[a] = (double)grid->counts[a] * grid->spacing[a];
    if (!cell_of_shape(lengths, right, &grid->cell))
        grid->cell = (vf_cell){.kind = VF_CELL_NONE};
}

static vf_status check_header(dx_reader *r)
{
    const int64_t *n = r->w.map->grid.counts;
    if (!r->positions || !r->origin || r->deltas != 3)
        return words_fail(&r->w, "%s missing before the data",
                          !r->positions ? "'class gridpositions counts' is"
                          : !r->origin  ? "'origin' is"
                                        : "one or more of the three 'delta' lines are");
    if (r->connections[0] > 0 && memcmp(r->connections, n, sizeof r->connections) != 0)
        return words_fail(&r->w, "gridconnections has %lld x %lld x %lld points, and gridpositions %lld x %lld x %lld",
                          (long long)r->connections[0], (long long)r->connections[1], (long long)r->connections[2],
                          (long long)n[0], (long long)n[1], (long long)n[2]);
    if (!vf_grid_valid(&r->w.map->grid))
        return words_fail(&r->w, "invalid or too large grid of %lld x %lld x %lld points", (long long)n[0],
                          (long long)n[1], (long long)n[2]);
    if (r->w.items != vf_grid_points(&r->w.map->grid))
        return words_fail(&r->w, "the array has %lld item%s, but the grid has %lld x %lld x %lld = %lld points",
                          (long long)r->w.items, vf_plural(r->w.items), (long long)n[0], (long long)n[1],
                          (long long)n[2], (long long)vf_grid_points(&r->w.map->grid));
    if (r->w.map->pmepot)
        take_cell_of_steps(&r->w.map->grid);
    return words_check_room(&r->w);
}

vf_status dx_read_header(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    text_piece word;
    while (!r->array) {
        vf_status status = header_word(r, "the data", &word);
        if (status != VF_OK)
            return status;
        if (word_is(word, "object"))
            status = read_object(r);
        else if (word_is(word, "origin"))
            status = read_origin(r);
        else if (word_is(word, "delta"))
            status = read_delta(r);
        else if (word_is(word, "attribute")) /* for example: "ref" string "positions" */
            status = words_rest_of_line(&r->w, &word);
        else
            status = words_fail(&r->w, "unexpected '%s' in an OpenDX header; is this another kind of file?",
                                text_quote(word, text));
        if (status != VF_OK)
            return status;
    }
    return check_header(r);
}
