/* Points from files: text in columns, .xyz, the positions of a molecule's atoms, HDF5. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "coulomb_sum.h"
#include "molecule/molecule_memory.h"
#include "points.h"
#include "result.h"
#include "text/input_text.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"

enum { MOST_COLUMNS = 256 };

typedef struct point_reader {
    vf_context *ctx;
    const char *name;
    text_lines lines;
    locale_t c_locale;
    point_set *out;
    int64_t capacity;
} point_reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Behind the blanks that part nothing. */
static const char *skip_blanks(const char *p, const char *end, char separator)
{
    while (p < end && is_blank(*p) && (separator == ' ' || *p != separator))
        p++;
    return p;
}

/* What parts the columns of a line: semicolons, or else commas, or else `otherwise`, outside of quotes. Where numbers have
 * decimal commas, semicolons do; then a comma is part of a word. */
static char separator_of(text_piece line, char otherwise)
{
    bool quoted = false, comma = false;
    for (size_t i = 0; i < line.size; i++) {
        quoted ^= line.at[i] == '"';
        if (line.at[i] == ';' && !quoted)
            return ';';
        comma |= line.at[i] == ',' && !quoted;
    }
    return comma ? ',' : otherwise;
}

/* Words between separators, without the blanks around them; ' ': between blanks and tabs. A word may be empty between
 * separators other than ' '. What is in quotes is one word. Returns their number. */
static int split(text_piece line, char separator, text_piece words[MOST_COLUMNS])
{
    const char *p = line.at, *end = line.at + line.size;
    int count = 0;
    while (p < end && count < MOST_COLUMNS) {
        p = skip_blanks(p, end, separator);
        const bool quoted = p < end && *p == '"';
        const char *from = p += quoted;
        while (p < end && (quoted ? *p != '"' : *p != separator && !(separator == ' ' && is_blank(*p))))
            p++;
        if (p == from && p == end)
            break;
        const char *stop = p;
        while (!quoted && stop > from && is_blank(stop[-1]))
            stop--;
        words[count++] = (text_piece){from, (size_t)(stop - from)};
        p = skip_blanks(p + (quoted && p < end), end, separator);
        p += separator != ' ' && p < end && *p == separator;
    }
    return count;
}

static vf_status add_point(point_reader *r, const double xyz[3])
{
    if (r->out->count == r->capacity) {
        r->capacity += r->capacity / 2 + 256;
        double *larger = realloc(r->out->place, (size_t)r->capacity * 3 * sizeof *larger);
        if (!larger)
            return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %lld points", r->name, (long long)r->capacity);
        r->out->place = larger;
    }
    memcpy(r->out->place + 3 * r->out->count++, xyz, 3 * sizeof *xyz);
    return VF_OK;
}

/* A point from three words of a line. */
static vf_status take_words(point_reader *r, int words, const text_piece word[MOST_COLUMNS], const int column[3])
{
    double xyz[3];
    char quoted[TEXT_QUOTE_SIZE];
    for (int a = 0; a < 3; a++) {
        text_number number;
        if (column[a] >= words)
            return text_fail(r->ctx, r->name, r->lines.line, "no %c coordinate: %d column%s, expected at least %d",
                             'x' + a, words, vf_plural(words), column[a] + 1);
        if (!text_read_number(word[column[a]], r->c_locale, &number))
            return text_fail(r->ctx, r->name, r->lines.line, "the %c coordinate '%s' %s", 'x' + a,
                             text_quote(word[column[a]], quoted), text_number_trouble(word[column[a]]));
        if (!(fabs(number.value) <= VF_COULOMB_MAX_COORDINATE))
            return text_fail(r->ctx, r->name, r->lines.line, "the %c coordinate %g is farther than %g angstrom from 0",
                             'x' + a, number.value, VF_COULOMB_MAX_COORDINATE);
        xyz[a] = number.value;
    }
    return add_point(r, xyz);
}

static bool same_word(text_piece word, const char *name)
{
    return word.size == strlen(name) && strncasecmp(word.at, name, word.size) == 0;
}

static bool one_of(text_piece word, const char *const *names)
{
    while (*names && !same_word(word, *names))
        names++;
    return *names;
}

/* What stands behind the last blank, underscore, slash or bracket of a title, without brackets behind; empty: nothing does. */
static text_piece unit_of(text_piece word)
{
    const char *const end = word.at + word.size, *from = end, *stop = end;
    while (from > word.at && !strchr(" \t_/([", from[-1]))
        from--;
    while (stop > from && (stop[-1] == ')' || stop[-1] == ']'))
        stop--;
    return (text_piece){from, from > word.at ? (size_t)(stop - from) : 0};
}

static bool has_foreign_unit(text_piece word)
{
    static const char *const foreign[] = {"nm",   "nanometer", "nanometre", "pm", "um", "mm",
                                          "bohr", "au",        "a.u.",      "a0", NULL};
    return one_of(unit_of(word), foreign);
}

/* Whether a title is that of an axis: "x", "x (A)", "x [angstrom]". *foreign: it has another unit, such as "x (nm)". */
static bool is_axis_title(text_piece word, char axis, bool *foreign)
{
    static const char *const units[] = {"(A)",        "[A]", "(angstrom)", "[angstrom]", "(\xc3\x85)",
                                        "[\xc3\x85]", "_A",  "_angstrom",  NULL};
    if (word.size == 0 || (word.at[0] | 0x20) != axis)
        return false;
    text_piece unit = {word.at + 1, word.size - 1};
    while (unit.size > 0 && is_blank(*unit.at))
        unit.at++, unit.size--;
    const bool known = word.size == 1 || one_of(unit, units);
    *foreign |= !known && unit.size > 0 && (*unit.at == '(' || *unit.at == '[' || has_foreign_unit(word));
    return known;
}

/* Where titles name x, y and z, and how often; whether one of these has another unit. */
typedef struct axis_titles {
    int at[3], found[3];
    bool foreign;
} axis_titles;

static axis_titles find_axes(int words, const text_piece word[MOST_COLUMNS])
{
    axis_titles t = {0};
    for (int w = 0; w < words; w++)
        for (int a = 0; a < 3; a++)
            if (is_axis_title(word[w], (char)('x' + a), &t.foreign)) {
                t.at[a] = w;
                t.found[a]++;
            }
    return t;
}

static bool each_once(const axis_titles *t)
{
    return t->found[0] == 1 && t->found[1] == 1 && t->found[2] == 1;
}

/* A header: where its columns x, y and z are, or the only three. NULL, or what is wrong with it. */
static const char *take_header(int words, const text_piece word[MOST_COLUMNS], int column[3])
{
    axis_titles t = find_axes(words, word);
    const bool none = t.found[0] == 0 && t.found[1] == 0 && t.found[2] == 0;
    for (int w = 0; none && words == 3 && w < words; w++)
        t.foreign |= has_foreign_unit(word[w]);
    if (t.foreign)
        return "a coordinate in the header has a unit other than angstrom, (A); convert it to angstrom";
    if (each_once(&t)) {
        memcpy(column, t.at, sizeof t.at);
        return NULL;
    }
    if (!none)
        return "the header names some of the columns x, y, z, or one twice; name each once, or none";
    return words > 3 ? "the header names more than three columns, none of them x, y or z; name these three" : NULL;
}

/* Whether a line has the titles of columns: no word is a number, nor what is left of one (nan, inf). */
static bool is_title(const point_reader *r, int words, const text_piece word[MOST_COLUMNS])
{
    static const char *const broken[] = {"nan", "inf", "infinity"};
    bool letters = false;
    for (int w = 0; w < words; w++) {
        text_number number;
        if (text_read_number(word[w], r->c_locale, &number))
            return false;
        for (size_t n = 0; n < sizeof broken / sizeof *broken; n++)
            if (same_word(word[w], broken[n]))
                return false;
        letters |= word[w].size > 0 && text_is_letter(word[w].at[0]);
    }
    return letters;
}

/* What lines without titles tell of their columns. */
typedef struct untitled {
    int64_t comment; /* the line of the last comment before the points; 0: none */
    int comment_words;
    axis_titles titles; /* of that comment, which may name the columns, as numpy.savetxt writes them */
    int64_t first;      /* the line of the first point */
    int64_t start;      /* the whole number there, 0 or 1 */
    bool counts;        /* the first of more than three columns counts the lines */
    bool decimals;      /* another one has a decimal point */
} untitled;

static void take_comment(const point_reader *r, text_piece line, untitled *u)
{
    text_piece word[MOST_COLUMNS], rest = line;
    while (rest.size > 0 && (is_blank(*rest.at) || *rest.at == '#'))
        rest.at++, rest.size--;
    u->comment = r->lines.line;
    u->comment_words = split(rest, separator_of(rest, ' '), word);
    u->titles = find_axes(u->comment_words, word);
}

static void count_line(const point_reader *r, int words, const text_piece word[MOST_COLUMNS], untitled *u)
{
    char number[24];
    if (r->out->count == 0) {
        u->first = r->lines.line;
        u->start = same_word(word[0], "1");
        u->counts = words > 3;
    }
    snprintf(number, sizeof number, "%lld", (long long)(u->start + r->out->count));
    u->counts = u->counts && words > 3 && same_word(word[0], number);
    for (int w = 1; w < words && w < 4; w++)
        u->decimals |= memchr(word[w].at, '.', word[w].size) != NULL;
}

/* Comments that name other columns than the first three, if they name as many as there are. */
static vf_status check_comment(const point_reader *r, int words, const untitled *u)
{
    const bool in_order = u->titles.at[0] == 0 && u->titles.at[1] == 1 && u->titles.at[2] == 2;
    if (u->comment == 0 || u->comment_words != words || (!u->titles.foreign && (in_order || !each_once(&u->titles))))
        return VF_OK;
    return text_fail(
        r->ctx, r->name, u->comment,
        "a comment names columns other than x, y and z in angstrom; remove its # to make it the titles, and "
        "convert other units");
}

static vf_status check_counting(const point_reader *r, const untitled *u)
{
    if (!u->counts || (r->out->count == 1 && !u->decimals))
        return VF_OK;
    return text_fail(
        r->ctx, r->name, u->first,
        "the first column counts the lines, so it may not be x; give the columns titles (x, y and z), or only "
        "three columns");
}

static vf_status read_columns(point_reader *r)
{
    int column[3] = {0, 1, 2};
    bool headed = false;
    char otherwise = ' '; /* tabs may be aligned, with blanks beside them, unless the titles are between tabs */
    text_piece line, word[MOST_COLUMNS];
    untitled u = {0};
    vf_status status = VF_OK;
    while (status == VF_OK && text_next_line(&r->lines, &line)) {
        const int words = split(line, separator_of(line, otherwise), word);
        if (words > 0 && word[0].size > 0 && word[0].at[0] == '#' && r->out->count == 0)
            take_comment(r, line, &u);
        if (words == 0 || (word[0].size > 0 && word[0].at[0] == '#'))
            continue;
        if (!headed && r->out->count == 0 && is_title(r, words, word)) {
            headed = true;
            if (memchr(line.at, '\t', line.size))
                otherwise = '\t';
            const char *why = take_header(split(line, separator_of(line, otherwise), word), word, column);
            if (why)
                status = text_fail(r->ctx, r->name, r->lines.line, "%s", why);
            continue;
        }
        if (!headed && r->out->count == 0)
            status = check_comment(r, words, &u);
        count_line(r, words, word, &u);
        VF_TRY(status, take_words(r, words, word, column));
        if (r->lines.line % 4096 == 0 && vf_cancelled(r->ctx))
            status = vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    return status == VF_OK && !headed ? check_counting(r, &u) : status;
}

/* The columns of the position in extended XYZ, whose title has Properties=species:S:1:pos:R:3: name, type and number of
 * columns of each. Other titles say nothing, and leave `column` alone. False if there is no position. */
static bool find_position(text_piece title, int column[3])
{
    static const char key[] = "Properties=";
    const char *end = title.at + title.size, *p = memmem(title.at, title.size, key, sizeof key - 1);
    if (!p)
        return true;
    p += sizeof key - 1;
    p += p < end && *p == '"';
    for (int at = 0; p < end && at < MOST_COLUMNS;) {
        const char *colon = memchr(p, ':', (size_t)(end - p));
        const char *second = colon ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL;
        if (!second)
            return false;
        int count = 0;
        const char *digit = second + 1;
        for (; digit < end && text_is_digit(*digit) && count < MOST_COLUMNS; digit++)
            count = 10 * count + (*digit - '0');
        if (same_word((text_piece){p, (size_t)(colon - p)}, "pos") && count == 3) {
            for (int a = 0; a < 3; a++)
                column[a] = at + a;
            return true;
        }
        at += count;
        p = digit < end && *digit == ':' ? digit + 1 : end;
    }
    return false;
}

/* The number of atoms, a title, then an element and a position a line. */
static vf_status read_xyz(point_reader *r)
{
    int column[3] = {1, 2, 3};
    text_piece line, word[MOST_COLUMNS];
    text_number number = {0};
    vf_status status = VF_OK;
    const bool begun = text_next_line(&r->lines, &line) && split(line, ' ', word) == 1 &&
                       text_read_number(word[0], r->c_locale, &number) && number.value >= 1 && number.value <= 1e12 &&
                       number.value == floor(number.value);
    if (!begun)
        return text_fail(r->ctx, r->name, r->lines.line,
                         "expected the number of atoms of an .xyz file alone in the line");
    if (!text_next_line(&r->lines, &line))
        return text_fail(r->ctx, r->name, r->lines.line, "the file ends before the title of an .xyz file");
    if (!find_position(line, column))
        return text_fail(r->ctx, r->name, r->lines.line, "the title has Properties=, but no pos:R:3 among them");
    const int64_t atoms = (int64_t)number.value;
    for (int64_t i = 0; status == VF_OK && i < atoms; i++) {
        if (!text_next_line(&r->lines, &line))
            return text_fail(r->ctx, r->name, r->lines.line, "the file ends after %lld of %lld atoms", (long long)i,
                             (long long)atoms);
        status = take_words(r, split(line, ' ', word), word, column);
    }
    if (status == VF_OK && !text_rest_blank(r->lines))
        status =
            text_fail(r->ctx, r->name, r->lines.line + 1,
                      "more lines than the %lld atoms that the first line states; give one frame", (long long)atoms);
    return status;
}

vf_status parse_points(vf_context *ctx, const char *name, const char *text, size_t bytes, bool xyz, point_set *out)
{
    text_piece piece = {text, bytes};
    *out = (point_set){0};
    point_reader r = {.ctx = ctx, .name = name, .out = out};
    vf_status status = text_check(ctx, name, &piece);
    r.lines = (text_lines){.next = piece.at, .end = piece.at + piece.size};
    r.c_locale = status == VF_OK ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    if (status == VF_OK && !r.c_locale)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", name);
    VF_TRY(status, xyz ? read_xyz(&r) : read_columns(&r));
    if (r.c_locale)
        freelocale(r.c_locale);
    if (status == VF_OK && out->count == 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: no points; give x, y and z in angstrom, one point a line", name);
    return status;
}

static vf_status read_text(vf_context *ctx, const char *path, bool xyz, point_set *out)
{
    input_text text = {0};
    vf_status status = input_text_read(ctx, path, &text);
    VF_TRY(status, parse_points(ctx, path, text.data, text.size, xyz, out));
    input_text_free(&text);
    return status;
}

static vf_status take_molecule(vf_context *ctx, const char *path, const molecule *m, point_set *out)
{
    out->place = malloc((size_t)m->atoms * 3 * sizeof *out->place);
    if (!out->place)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %lld points", path, (long long)m->atoms);
    out->count = m->atoms;
    for (int64_t i = 0; i < m->atoms; i++) {
        out->place[3 * i] = m->x[i];
        out->place[3 * i + 1] = m->y[i];
        out->place[3 * i + 2] = m->z[i];
    }
    return VF_OK;
}

/* The positions of another molecule's atoms. */
static vf_status read_positions(vf_context *ctx, const char *path, point_set *out)
{
    molecule m = {0};
    input_text text = {0};
    const bool pqr = vf_path_has_extension(path, ".pqr .pqr.gz");
    vf_status status = pqr ? read_molecule(ctx, path, &m) : input_text_read(ctx, path, &text);
    if (status == VF_OK && !pqr)
        status = parse_coordinates(ctx, &(named_text){path, text.data, text.size}, &m);
    VF_TRY(status, take_molecule(ctx, path, &m, out));
    input_text_free(&text);
    molecule_free(&m);
    return status;
}

/* The dataset /points, [n][3], or the only name that fits. */
static vf_status read_h5(vf_context *ctx, const char *path, point_set *out)
{
    vf_h5 *file = NULL;
    vf_dtype type;
    int rank = 0;
    int64_t dims[VF_H5_MAX_RANK] = {0};
    vf_status status = vf_h5_open(ctx, path, &file);
    VF_TRY(status, vf_h5_dataset_shape(file, "points", &type, &rank, dims));
    if (status == VF_OK && (rank != 2 || dims[1] != 3 || dims[0] < 1 || dims[0] > INT64_MAX / 64))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: /points has %d dimension%s, the last of %lld; expected [n][3]", path,
                         rank, vf_plural(rank), rank > 0 ? (long long)dims[rank - 1] : 0LL);
    if (status == VF_OK && (type != VF_F32 && type != VF_F64))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: /points is complex; expected real numbers", path);
    if (status == VF_OK) {
        out->count = dims[0];
        out->place = malloc((size_t)dims[0] * 3 * sizeof *out->place);
        status = out->place ? vf_h5_read(file, "points", VF_F64, (const int64_t[2]){0}, dims, out->place)
                            : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %lld points", path, (long long)dims[0]);
    }
    vf_h5_close(&file);
    for (int64_t n = 0; status == VF_OK && n < 3 * out->count; n++)
        if (!(fabs(out->place[n]) <= VF_COULOMB_MAX_COORDINATE))
            status = vf_fail(ctx, VF_ERR_INPUT, "%s: /points[%lld][%lld] is %g; expected a number up to %g angstrom",
                             path, (long long)(n / 3), (long long)(n % 3), out->place[n], VF_COULOMB_MAX_COORDINATE);
    return status;
}

/* Those of a call. */
static vf_status take_given(vf_context *ctx, const vf_view *given, point_set *out)
{
    const int64_t count = given->rank == 2 ? given->dims[0] : 0;
    if (!view_is(given, count, 3) || count < 1 || count > INT64_MAX / 64)
        return vf_fail(ctx, VF_ERR_INPUT, "the points must be real numbers, [n][3], of at least one point");
    out->place = malloc((size_t)count * 3 * sizeof *out->place);
    if (!out->place)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld points", (long long)count);
    out->count = count;
    for (int64_t n = 0; n < 3 * count; n++) {
        out->place[n] = view_number(given, n);
        if (!(fabs(out->place[n]) <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(ctx, VF_ERR_INPUT, "points[%lld][%lld] is %g; expected a number up to %g angstrom",
                           (long long)(n / 3), (long long)(n % 3), out->place[n], VF_COULOMB_MAX_COORDINATE);
    }
    return VF_OK;
}

vf_status read_points(vf_context *ctx, const point_settings *s, const molecule *mol, point_set *out)
{
    *out = (point_set){0};
    if (is_in_memory(s->points))
        return take_given(ctx, s->given, out);
    if (strcmp(s->points, "atoms") == 0) {
        *out = (point_set){.count = mol->atoms, .atoms = true};
        return VF_OK;
    }
    if (vf_path_has_extension(s->points, ".h5 .hdf5"))
        return read_h5(ctx, s->points, out);
    if (vf_path_has_extension(s->points, ".pqr .pqr.gz .pdb .pdb.gz .ent .ent.gz .gro .gro.gz"))
        return read_positions(ctx, s->points, out);
    return read_text(ctx, s->points, vf_path_has_extension(s->points, ".xyz .xyz.gz"), out);
}

void point_set_free(point_set *set)
{
    free(set->place);
    *set = (point_set){0};
}
