/* Cells from lengths and angles, and from the records of PDB, PQR and AMBER files. */
#include "unit_cell.h"

#include <math.h>
#include <string.h>

#include "molecule_readers.h"

static const double degree = 3.14159265358979323846 / 180;

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
    return valid && height2 > flat && vf_cell_valid(out);
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void shape_of_cell(const vf_cell *cell, unit_cell *out)
{
    *out = (unit_cell){.state = UNIT_CELL_NUMBERS};
    for (int a = 0; a < 3; a++)
        out->lengths[a] = sqrt(dot(cell->vectors[a], cell->vectors[a]));
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        const double cosine = dot(cell->vectors[b], cell->vectors[c]) / (out->lengths[b] * out->lengths[c]);
        out->angles[a] = 90 - asin(cosine) / degree; /* exact at 90, unlike acos */
    }
}

static void take_numbers(const double numbers[6], unit_cell *out)
{
    vf_cell cell;
    memcpy(out->lengths, numbers, sizeof out->lengths);
    memcpy(out->angles, numbers + 3, sizeof out->angles);
    out->state = cell_of_shape(out->lengths, out->angles, &cell) ? UNIT_CELL_NUMBERS : UNIT_CELL_BAD;
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

bool read_cryst1(text_piece line, locale_t c_locale, unit_cell *out)
{
    static const size_t column[7] = {6, 15, 24, 33, 40, 47, 54};
    double numbers[6];
    bool columns = true, words = true;
    text_piece name = {"CRYST1", 6};
    if (line.size < name.size || memcmp(line.at, name.at, name.size) != 0)
        return false;
    if (out->state != UNIT_CELL_NONE)
        return true;
    for (int i = 0; i < 6; i++)
        columns = columns && number_in(line, column[i], column[i + 1], c_locale, &numbers[i]);
    if (!columns) {
        text_words split;
        text_number number;
        text_split(line, &split);
        words = split.count >= 7;
        for (int i = 0; words && i < 6; i++) {
            words = text_read_number(split.word[i + 1], c_locale, &number);
            numbers[i] = words ? number.value : 0;
        }
    }
    if (columns || words)
        take_numbers(numbers, out);
    else
        out->state = UNIT_CELL_BAD;
    if (out->state == UNIT_CELL_NUMBERS && out->lengths[0] == 1 && out->lengths[1] == 1 && out->lengths[2] == 1)
        out->state = UNIT_CELL_DUMMY;
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
    take_numbers(numbers, out);
    return true;
}
