/* Cells from lengths and angles, and from the records of PDB, PQR and AMBER files. */
#include "unit_cell.h"

#include <math.h>
#include <string.h>

#include "molecule_readers.h"
#include "voxfield/append.h"

static const double degree = 3.14159265358979323846 / 180;

bool angles_in_radians(const double angles[3])
{
    const double most = 180 * degree; /* of an angle in radians */
    bool all = true;
    for (int a = 0; a < 3; a++)
        all &= angles[a] > 0 && angles[a] < most;
    return all;
}

bool cell_of_shape(const double lengths[3], const double angles[3], vf_cell *out)
{
    const double rounding = 1e-6; /* degrees: of angles from cosines */
    double cosine[3];
    bool right = true, valid = true;
    for (int a = 0; a < 3; a++) {
        cosine[a] = fabs(angles[a] - 90) < rounding ? 0 : cos(degree * angles[a]);
        right &= cosine[a] == 0;
        valid &= lengths[a] > 0 && angles[a] > 0 && angles[a] < 180; /* also false for NaN */
    }
    const double sine = sqrt(1 - cosine[2] * cosine[2]), y = (cosine[0] - cosine[1] * cosine[2]) / sine;
    const double height2 = 1 - cosine[1] * cosine[1] - y * y, flat = 1e-6;
    *out = (vf_cell){.kind = right ? VF_CELL_ORTHORHOMBIC : VF_CELL_TRICLINIC,
                     .vectors = {{lengths[0], 0, 0},
                                 {lengths[1] * cosine[2], lengths[1] * sine, 0},
                                 {lengths[2] * cosine[1], lengths[2] * y, lengths[2] * sqrt(height2)}}};
    return valid && !angles_in_radians(angles) && height2 > flat && vf_cell_valid(out);
}

unit_cell_state cell_state(const double lengths[3], const double angles[3])
{
    vf_cell unused;
    if (cell_of_shape(lengths, angles, &unused))
        return UNIT_CELL_NUMBERS;
    return angles_in_radians(angles) ? UNIT_CELL_RADIANS : UNIT_CELL_BAD;
}

void cell_take_group(unit_cell *out, text_piece name)
{
    const text_piece inner = label_trim(name);
    const size_t size = inner.size < sizeof out->group ? inner.size : sizeof out->group - 1;
    bool letter = false;
    for (size_t i = 0; i < size; i++) {
        out->group[i] = inner.at[i] >= ' ' && inner.at[i] <= '~' ? inner.at[i] : '?';
        letter |= text_is_letter(inner.at[i]);
    }
    out->group[letter ? size : 0] = '\0';
}

/* Whether the last word of CRYST1 is the number of molecules Z, after the group's name. Of "P 1", "R 3 2" and "P 21 3" it
 * is not: Z is a multiple of the number of operators. */
static bool ends_in_z(const text_words *words)
{
    const int last = words->count - 1;
    int64_t unused;
    if (last < 8 || words->more || !text_count(words->word[last], &unused))
        return false;
    return last > 9 || (last == 8 ? words->word[7].size > 1
                                  : !word_is(words->word[last], "3") &&
                                        !(word_is(words->word[8], "3") && word_is(words->word[last], "2")));
}

static void take_group_words(const text_words *words, unit_cell *out)
{
    char text[sizeof out->group] = "";
    const int count = words->count - ends_in_z(words);
    for (int n = 7; n < count; n++)
        vf_append(text, sizeof text, "%s%.*s", n > 7 ? " " : "", (int)words->word[n].size, words->word[n].at);
    cell_take_group(out, (text_piece){text, strlen(text)});
}

static double length_of(const double v[3])
{
    return hypot(hypot(v[0], v[1]), v[2]);
}

void cell_of_vectors(double vectors[3][3], double unit, unit_cell *out)
{
    double(*v)[3] = vectors;
    vf_cell cell;
    bool any = false;
    *out = (unit_cell){.state = UNIT_CELL_BAD};
    for (int i = 0; i < 9; i++)
        any |= v[i / 3][i % 3] != 0; /* also true for NaN */
    for (int a = 0; a < 3; a++) {
        const double *p = v[(a + 1) % 3], *q = v[(a + 2) % 3];
        const double cosine = (p[0] * q[0] + p[1] * q[1] + p[2] * q[2]) / (length_of(p) * length_of(q));
        out->lengths[a] = unit * length_of(v[a]);
        out->angles[a] = 90 - asin(cosine) / degree; /* exact at 90, unlike acos */
    }
    if (!any)
        *out = (unit_cell){.state = UNIT_CELL_NONE};
    else if (v[0][0] > 0 && v[1][1] > 0 && v[2][2] > 0 && cell_of_shape(out->lengths, out->angles, &cell))
        out->state = v[0][1] != 0 || v[0][2] != 0 || v[1][2] != 0 ? UNIT_CELL_TURNED : UNIT_CELL_NUMBERS;
}

static void take_numbers(unit_cell *out, const double numbers[6])
{
    memcpy(out->lengths, numbers, sizeof out->lengths);
    memcpy(out->angles, numbers + 3, sizeof out->angles);
    out->state = cell_state(out->lengths, out->angles);
}

/* Lengths of 1 mean that there is no crystal. */
void cell_take_crystal(unit_cell *out, const double numbers[6])
{
    take_numbers(out, numbers);
    if (out->state == UNIT_CELL_NUMBERS && out->lengths[0] == 1 && out->lengths[1] == 1 && out->lengths[2] == 1)
        out->state = UNIT_CELL_DUMMY;
}

/* A number in columns [begin, end), with blanks around it. */
static bool number_in(text_piece line, size_t begin, size_t end, locale_t c_locale, double *value)
{
    text_number number;
    if (!text_read_number(label_trim(text_columns(line, begin, end)), c_locale, &number))
        return false;
    *value = number.value;
    return true;
}

void cell_take_scale(unit_cell *cell, int row, const double numbers[4])
{
    const double part = 0.005, rounding = 2e-6; /* of six decimals, and of a cell of few digits */
    const double shift = 1e-3;                  /* of an edge */
    vf_cell v;
    if (cell->state != UNIT_CELL_NUMBERS || !cell_of_shape(cell->lengths, cell->angles, &v))
        return;
    /* Column `row` of the inverse of the vectors, whose entries above the diagonal are 0. */
    const double(*h)[3] = v.vectors;
    const double yx = -h[1][0] / (h[0][0] * h[1][1]), zy = -h[2][1] / (h[1][1] * h[2][2]);
    const double zx = -(h[2][0] / h[0][0] + h[2][1] * yx) / h[2][2];
    const double standard[3][3] = {
        {1 / h[0][0], yx, zx}, {0, 1 / h[1][1], zy}, {0, 0, 1 / h[2][2]}}; /* fractions along a, b, c of x, y, z */
    const double *s = standard[row];
    const double length = length_of(s), slack = part * length + rounding;
    const double off[3] = {numbers[0] - s[0], numbers[1] - s[1], numbers[2] - s[2]};
    cell->rows_of_cell += fabs(length_of(numbers) - length) <= slack;
    cell->rows_turned += length_of(off) > slack;
    cell->rows_shifted += fabs(numbers[3]) > shift;
    if (row == 2 && cell->rows_of_cell == 3 && cell->rows_turned > 0)
        cell->state = UNIT_CELL_TURNED;
}

bool cell_is_shifted(const unit_cell *cell)
{
    return cell->rows_of_cell == 3 && cell->rows_shifted > 0;
}

static void read_scale(text_piece line, locale_t c_locale, unit_cell *out)
{
    static const size_t column[4] = {10, 20, 30, 40}, shift[2] = {45, 55};
    double numbers[4];
    if (line.size < column[3] || memcmp(line.at, "SCALE", 5) != 0 || line.at[5] < '1' || line.at[5] > '3')
        return;
    for (int i = 0; i < 3; i++)
        if (!number_in(line, column[i], column[i + 1], c_locale, &numbers[i]))
            return;
    if (!number_in(line, shift[0], shift[1], c_locale, &numbers[3]))
        numbers[3] = 0;
    cell_take_scale(out, line.at[5] - '1', numbers);
}

bool read_cryst1(text_piece line, locale_t c_locale, unit_cell *out)
{
    enum { GROUP = 55, GROUP_END = 66 };
    static const size_t column[7] = {6, 15, 24, 33, 40, 47, 54};
    double numbers[6];
    bool columns = true, words = true;
    text_piece name = {"CRYST1", 6};
    read_scale(line, c_locale, out);
    if (line.size < name.size || memcmp(line.at, name.at, name.size) != 0)
        return false;
    if (out->state != UNIT_CELL_NONE)
        return true;
    for (int i = 0; i < 6; i++)
        columns = columns && number_in(line, column[i], column[i + 1], c_locale, &numbers[i]);
    if (columns)
        cell_take_group(out, text_columns(line, GROUP, GROUP_END));
    else {
        text_words split;
        text_number number;
        text_split(line, &split);
        take_group_words(&split, out);
        words = split.count >= 7;
        for (int i = 0; words && i < 6; i++) {
            words = text_read_number(split.word[i + 1], c_locale, &number);
            numbers[i] = words ? number.value : 0;
        }
    }
    if (columns || words)
        cell_take_crystal(out, numbers);
    else
        out->state = UNIT_CELL_BAD;
    return true;
}

bool read_amber_box(text_piece line, locale_t c_locale, unit_cell *out)
{
    enum { WIDTH = 12 };
    double numbers[6] = {0, 0, 0, 90, 90, 90};
    text_words words;
    text_split(line, &words);
    int count = 0;
    while (count < 6 && number_in(line, (size_t)count * WIDTH, (size_t)(count + 1) * WIDTH, c_locale, &numbers[count]))
        count++;
    if ((count != 3 && count != 6) || (count == 3 && words.count != 3))
        return false;
    take_numbers(out, numbers);
    out->lengths_alone = count == 3;
    return true;
}
