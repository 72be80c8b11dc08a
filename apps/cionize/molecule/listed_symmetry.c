/* Symmetry operators as files list them, and the checks that a list is a space group of its cell. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "molecule_arrays.h"
#include "space_group.h"
#include "text/text_words.h"
#include "voxfield/timer.h"

void symmetry_free(listed_symmetry *listed)
{
    free(listed->matrix);
    *listed = (listed_symmetry){0};
}

/* Operator `index`, with rows that are not known yet; NULL sets `broken`. */
static double (*operator_at(listed_symmetry *listed, int64_t index))[4]
{
    if (!listed->matrix && !listed->broken) {
        listed->matrix = malloc(SYMMETRY_MOST * sizeof *listed->matrix);
        listed->broken = !listed->matrix;
    }
    if (index < 0 || index >= SYMMETRY_MOST || listed->broken) {
        listed->broken = true;
        return NULL;
    }
    for (; listed->count <= index; listed->count++)
        for (int i = 0; i < 12; i++)
            listed->matrix[listed->count][i / 4][i % 4] = NAN;
    return listed->matrix[index];
}

/* ---- REMARK 290 ---- */

static void read_smtry(text_piece rest, locale_t c_locale, listed_symmetry *out)
{
    text_words words;
    text_number number[4] = {0}, serial = {0};
    text_split(rest, &words);
    if (words.count < 1 || words.word[0].size != 6 || memcmp(words.word[0].at, "SMTRY", 5) != 0)
        return;
    const int row = words.word[0].at[5] - '1';
    bool valid = words.count == 6 && row >= 0 && row < 3 && text_read_number(words.word[1], c_locale, &serial);
    for (int i = 0; valid && i < 4; i++)
        valid = text_read_number(words.word[2 + i], c_locale, &number[i]);
    valid = valid && serial.value >= 1 && serial.value <= SYMMETRY_MOST;
    out->cartesian = true;
    double(*to)[4] = operator_at(out, valid ? (int64_t)serial.value - 1 : -1);
    for (int i = 0; to && i < 4; i++)
        to[row][i] = number[i].value;
}

void symmetry_read_record(text_piece line, locale_t c_locale, listed_symmetry *out)
{
    enum { SERIAL = 7, SERIAL_END = 10, GIVEN = 59 };
    text_piece rest = line;
    int32_t serial;
    if (text_take_prefix(&rest, "REMARK 290"))
        read_smtry(rest, c_locale, out);
    else if (text_take_prefix(&rest, "MTRIX1") && line.size >= SERIAL_END &&
             label_number(label_trim((text_piece){line.at + SERIAL, SERIAL_END - SERIAL}), &serial) && serial != 1)
        out->leaves_out |= line.size <= GIVEN || line.at[GIVEN] != '1'; /* the first is the identity */
}

/* ---- texts ---- */

/* A number at *p, with a fraction: "1/2", "0.5", "1". False if there is none. */
static bool take_number(const char **p, const char *end, double *value)
{
    const char *begin = *p;
    double parts[2] = {0, 1};
    for (int n = 0; n < 2; n++) {
        double place = 0;
        const char *first = *p;
        parts[n] = 0;
        for (; *p < end && (text_is_digit(**p) || (**p == '.' && place == 0)); ++*p)
            if (**p == '.')
                place = 1;
            else if (place > 0)
                parts[n] += (place /= 10) * (**p - '0');
            else
                parts[n] = 10 * parts[n] + (**p - '0');
        if (n == 0 && (*p == first || *p == end || **p != '/')) {
            parts[1] = 1;
            break;
        }
        if (n == 0)
            ++*p;
    }
    *value = parts[0] / parts[1];
    return *p > begin && parts[1] > 0;
}

/* "-x+1/2": one of the three parts. */
static bool read_part(text_piece text, double row[4])
{
    const char *p = text.at, *end = text.at + text.size;
    bool any = false;
    memset(row, 0, 4 * sizeof *row);
    while (p < end) {
        double sign = 1, value = 1;
        if (*p == ' ' || *p == '\t') {
            p++;
            continue;
        }
        if (*p != '+' && *p != '-' && any)
            return false;
        for (; p < end && (*p == '+' || *p == '-' || *p == ' '); p++)
            sign = *p == '-' ? -sign : sign;
        const bool number = p < end && (text_is_digit(*p) || *p == '.') && take_number(&p, end, &value);
        p += number && p < end && *p == '*';
        const char *const axes = "xyzXYZ", *axis = p < end && *p ? strchr(axes, *p) : NULL;
        if (!axis && !number)
            return false;
        row[axis ? (axis - axes) % 3 : 3] += sign * value;
        p += axis != NULL;
        any = true;
    }
    return any;
}

void symmetry_read_text(text_piece text, listed_symmetry *out)
{
    double(*to)[4] = operator_at(out, out->count);
    for (int row = 0; to && row < 3; row++) {
        const char *comma = text.size > 0 ? memchr(text.at, ',', text.size) : NULL;
        const size_t size = comma ? (size_t)(comma - text.at) : text.size;
        if (!read_part((text_piece){text.at, size}, to[row]) || (row < 2) != (comma != NULL))
            out->broken = true;
        text = comma ? (text_piece){comma + 1, text.size - size - 1} : (text_piece){"", 0};
    }
}

/* ---- names ---- */

bool symmetry_is_trivial(const char *group, const listed_symmetry *listed)
{
    bool letter = false;
    for (const char *p = group; *p; p++) {
        if (*p == ' ' || *p == '\t' || *p == '1')
            continue;
        if ((*p != 'P' && *p != 'p') || letter)
            return false;
        letter = true;
    }
    /* A name that is stated wins over REMARK 290, which programs leave beside their own box, but not over operators as texts. */
    return letter ? listed->cartesian || listed->count <= 1 : listed->count <= 1 && !listed->broken;
}

int symmetry_order(const unit_cell *cell, const listed_symmetry *listed)
{
    symmetry_group group;
    if (listed->count > 1)
        return listed->count;
    return space_group_named(cell->group, cell, &group) == SPACE_GROUP_FOUND ? group.count : 0;
}

/* ---- checks ---- */

bool symmetry_fits(const symmetry_group *group, const unit_cell *cell)
{
    static const double allowed = 5e-3, degree = 3.14159265358979323846 / 180;
    double metric[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            metric[a][b] = cell->lengths[a] * cell->lengths[b] * (a == b ? 1 : cos(degree * cell->angles[3 - a - b]));
    for (int n = 0; n < group->count; n++) {
        const int(*w)[3] = group->op[n].turn;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                double sum = 0;
                for (int i = 0; i < 9; i++)
                    sum += w[i / 3][a] * metric[i / 3][i % 3] * w[i % 3][b];
                if (!(fabs(sum - metric[a][b]) <= allowed * cell->lengths[a] * cell->lengths[b]))
                    return false;
            }
    }
    return true;
}

static int determinant(const symmetry_operator *op)
{
    const int(*w)[3] = op->turn;
    return w[0][0] * (w[1][1] * w[2][2] - w[1][2] * w[2][1]) - w[0][1] * (w[1][0] * w[2][2] - w[1][2] * w[2][0]) +
           w[0][2] * (w[1][0] * w[2][1] - w[1][1] * w[2][0]);
}

static bool same_operator(const symmetry_operator *a, const symmetry_operator *b)
{
    bool same = memcmp(a->turn, b->turn, sizeof a->turn) == 0;
    for (int i = 0; i < 3; i++) {
        const double distance = fabs(a->shift[i] - b->shift[i]);
        same &= distance < 1e-3 || distance > 1 - 1e-3;
    }
    return same;
}

static int find_operator(const symmetry_group *group, const symmetry_operator *wanted)
{
    int n = 0;
    while (n < group->count && !same_operator(&group->op[n], wanted))
        n++;
    return n;
}

static symmetry_operator product(const symmetry_operator *a, const symmetry_operator *b)
{
    symmetry_operator out = {.shift = {0}};
    for (int i = 0; i < 3; i++) {
        double shift = a->shift[i];
        for (int k = 0; k < 3; k++) {
            shift += a->turn[i][k] * b->shift[k];
            for (int j = 0; j < 3; j++)
                out.turn[i][j] += a->turn[i][k] * b->turn[k][j];
        }
        out.shift[i] = shift - floor(shift);
    }
    return out;
}

/* What is wrong with a list; NULL: nothing. Puts the identity first. */
static const char *check_group(symmetry_group *group, const unit_cell *cell)
{
    static const symmetry_operator identity = {.turn = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const int first = find_operator(group, &identity);
    if (first == group->count)
        return "lack the identity";
    for (int n = 0; n < group->count; n++)
        if (abs(determinant(&group->op[n])) != 1)
            return "do not map the lattice onto itself";
    if (!symmetry_fits(group, cell))
        return "do not fit the cell's lengths and angles";
    for (int a = 0; a < group->count; a++) {
        if (find_operator(group, &group->op[a]) != a)
            return "are not all different";
        for (int b = 0; b < group->count; b++) {
            const symmetry_operator both = product(&group->op[a], &group->op[b]);
            if (find_operator(group, &both) == group->count)
                return "are not a group: one after another must be one of them";
        }
    }
    const symmetry_operator moved = group->op[first];
    group->op[first] = group->op[0];
    group->op[0] = moved;
    return NULL;
}

/* ---- operators of fractional coordinates ---- */

void symmetry_invert(double m[3][3], double out[3][3])
{
    double det = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[j][i] = m[(i + 1) % 3][(j + 1) % 3] * m[(i + 2) % 3][(j + 2) % 3] -
                        m[(i + 1) % 3][(j + 2) % 3] * m[(i + 2) % 3][(j + 1) % 3];
    for (int j = 0; j < 3; j++)
        det += m[0][j] * out[j][0];
    for (int i = 0; i < 9; i++)
        out[i / 3][i % 3] /= det;
}

/* Turn and shift of coordinates in angstrom become those of fractional ones: x = A f, so W = A^-1 M A. */
static void make_fractional(const vf_cell *cell, double m[3][4])
{
    double axes[3][3], inverse[3][3], half[3][4];
    for (int i = 0; i < 9; i++)
        axes[i / 3][i % 3] = cell->vectors[i % 3][i / 3];
    symmetry_invert(axes, inverse);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            half[i][j] = 0;
            for (int k = 0; k < 3; k++)
                half[i][j] += inverse[i][k] * m[k][j];
        }
    for (int i = 0; i < 3; i++) {
        m[i][3] = half[i][3];
        for (int j = 0; j < 3; j++) {
            m[i][j] = 0;
            for (int k = 0; k < 3; k++)
                m[i][j] += half[i][k] * axes[k][j];
        }
    }
}

/* Of whole numbers, and of shifts in twenty-fourths, which all space groups have: the rounding of files goes. */
static bool round_operator(double m[3][4], symmetry_operator *out)
{
    const double allowed = 0.02; /* of a whole number, or a twenty-fourth */
    bool whole = true;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            whole = whole && fabs(m[i][j]) < 10 && fabs(m[i][j] - round(m[i][j])) <= allowed;
            out->turn[i][j] = whole ? (int)round(m[i][j]) : 0;
        }
        const double shift = 24 * (m[i][3] - floor(m[i][3]));
        whole = whole && fabs(shift - round(shift)) <= allowed; /* false for NaN, too */
        out->shift[i] = fmod(round(shift), 24) / 24;
    }
    return whole;
}

static const char *read_list(const unit_cell *cell, const listed_symmetry *listed, symmetry_group *out)
{
    vf_cell vectors;
    if (listed->broken)
        return "cannot be read";
    if (!cell_of_shape(cell->lengths, cell->angles, &vectors))
        return "have no cell";
    out->count = listed->count;
    for (int n = 0; n < listed->count; n++) {
        double m[3][4];
        memcpy(m, listed->matrix[n], sizeof m);
        if (listed->cartesian)
            make_fractional(&vectors, m);
        if (!round_operator(m, &out->op[n]))
            return "are not complete, or do not map the lattice onto itself";
    }
    return check_group(out, cell);
}

vf_status symmetry_check_copies(vf_context *ctx, const char *path, const listed_symmetry *listed)
{
    return listed->leaves_out ? vf_fail(ctx, VF_ERR_INPUT,
                                        "%s: the file leaves out copies by non-crystallographic symmetry (MTRIX, "
                                        "_struct_ncs_oper); write them "
                                        "first (gemmi convert --expand-ncs=new), or add --symmetry none to do without",
                                        path)
                              : VF_OK;
}

vf_status symmetry_operators(vf_context *ctx, const char *path, const unit_cell *cell, const listed_symmetry *listed,
                             symmetry_group *out)
{
    static const char *const troubles[] = {
        [SPACE_GROUP_UNKNOWN] =
            "is no space group that is known by this name; add the operators to the file (REMARK 290 "
            "with SMTRY lines, or _space_group_symop.operation_xyz in mmCIF)",
        [SPACE_GROUP_NO_FIT] = "does not fit the cell's lengths and angles; correct CRYST1 or _cell",
        [SPACE_GROUP_TWO] =
            "has two origins in use, and the file does not say which; write :1 or :2 after the name, or add "
            "the operators",
        [SPACE_GROUP_NO_TABLES] = "cannot be looked up, since this program was built without spglib; add the operators "
                                  "to the file (REMARK 290 "
                                  "with SMTRY lines), or install spglib (Debian: libsymspg-dev) and build again"};
    symmetry_group named;
    const space_group_search search = space_group_named(cell->group, cell, &named);
    if (listed->count > 1 || (listed->broken && !*cell->group)) {
        const char *trouble = read_list(cell, listed, out);
        if (trouble)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: the %d symmetry operator%s that the file lists %s; correct or remove them", path,
                           listed->count, vf_plural(listed->count), trouble);
        if (search == SPACE_GROUP_FOUND && named.count != out->count)
            return vf_fail(
                ctx, VF_ERR_INPUT,
                "%s: the file lists %d symmetry operators, but its space group %s has %d; correct one of them", path,
                out->count, cell->group, named.count);
        return VF_OK;
    }
    if (search != SPACE_GROUP_FOUND)
        return vf_fail(ctx, search == SPACE_GROUP_NO_TABLES ? VF_ERR_UNSUPPORTED : VF_ERR_INPUT,
                       "%s: space group '%s' %s", path, cell->group, troubles[search]);
    *out = named;
    const char *trouble = check_group(out, cell);
    return trouble
               ? vf_fail(ctx, VF_ERR_INTERNAL, "%s: the operators of space group '%s' %s", path, cell->group, trouble)
               : VF_OK;
}
