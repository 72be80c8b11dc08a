/* Names and numbers in columns, for files of ions (ion_files.h). */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "ion_files.h"
#include "voxfield/format_number.h"

const char filed_out_of_range[] = "the largest number in the file is 1e9, and NaN is not allowed";

int name_column(const filed_atom *atom)
{
    const size_t symbol = strlen(atom->element);
    if (strlen(atom->name) >= 4 || (*atom->name >= '0' && *atom->name <= '9') ||
        (symbol == 2 && strncasecmp(atom->name, atom->element, symbol) == 0))
        return 13;
    return 14;
}

char *put_name(ion_file *file, const char *name, int room, char *to)
{
    bool odd = false;
    int n = 0;
    for (; n < room && name[n]; n++) {
        const bool plain = name[n] > ' ' && name[n] <= '~';
        to[n] = plain ? name[n] : '_';
        odd |= !plain;
    }
    file->odd += odd;
    file->shortened += name[n] != '\0';
    return to + n;
}

bool scale_number(double value, int decimals, int64_t *out)
{
    static const double scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    if (!(fabs(value) <= 1e9))
        return false;
    *out = llrint(value * scales[decimals]);
    return true;
}

char *put_scaled(int64_t scaled, int decimals, char *to)
{
    char digits[PUT_NUMBER_TEXT];
    uint64_t rest = scaled < 0 ? (uint64_t)-scaled : (uint64_t)scaled;
    int n = 0;
    for (int i = 0; i < decimals; i++, rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    if (decimals > 0)
        digits[n++] = '.';
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (scaled < 0)
        *to++ = '-';
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

char *put_field(const char *line, char *to, int column, const char *text, size_t length)
{
    const char *start = line + column - 1;
    do
        *to++ = ' ';
    while (to < start);
    memcpy(to, text, length);
    return to + length;
}

char *put_name_field(ion_file *file, const char *line, char *to, int column, const char *name)
{
    char text[FILED_NAME];
    return put_field(line, to, column, text, (size_t)(put_name(file, name, FILED_NAME, text) - text));
}

char *put_number_field(const char *line, char *to, int last, int64_t scaled, int decimals)
{
    char text[PUT_NUMBER_TEXT];
    const size_t length = (size_t)(put_scaled(scaled, decimals, text) - text);
    return put_field(line, to, last + 1 - (int)length, text, length);
}

vf_status refuse_number(const ion_file *file, const filed_atom *atom, const char *what, double value, const char *why)
{
    char text[VF_NUMBER_TEXT];
    return vf_fail(file->ctx, VF_ERR_UNSUPPORTED, "%s: atom %lld (%s): %s is %s: %s", file->path,
                   (long long)file->written + 1, atom->name, what, vf_format_general(value, 10, text), why);
}
