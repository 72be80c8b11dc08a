#include "molecule_readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

vf_status reader_next(molecule_reader *r, text_piece *line, bool *more)
{
    enum { LINES_BETWEEN_LOOKS = 1 << 16 };
    *more = text_next_line(&r->lines, line);
    if (*more && r->lines.line % LINES_BETWEEN_LOOKS == 0 && vf_cancelled(r->ctx))
        return vf_fail(r->ctx, VF_ERR_CANCELLED, "%s: interrupted while reading", r->name);
    return VF_OK;
}

vf_status reader_add_atom(molecule_reader *r)
{
    molecule *m = r->out;
    if (m->atoms == r->capacity) {
        int64_t capacity = r->capacity ? 2 * r->capacity : 1024;
        if (!molecule_resize(m, capacity))
            return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", r->name, capacity);
        r->capacity = capacity;
    }
    int64_t i = m->atoms++;
    m->x[i] = m->y[i] = m->z[i] = m->charge[i] = m->radius[i] = 0;
    m->labels[i] = (atom_label){.occupancy = 1};
    return VF_OK;
}

vf_status refuse_overflow(vf_context *ctx, const char *name, text_piece text)
{
    static const char stars[] = "*****";
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    text_piece line;
    while (text_next_line(&lines, &line)) {
        const char *at = line.at;
        text_piece word = text_next_word(&at, line.at + line.size);
        for (; word.size > 0; word = text_next_word(&at, line.at + line.size))
            if (word.size >= sizeof stars - 1 &&
                memcmp(word.at + word.size - (sizeof stars - 1), stars, sizeof stars - 1) == 0)
                return text_fail(ctx, name, lines.line,
                                 "asterisks stand in place of a number that is too large for its columns, such as a "
                                 "number of atoms, a serial number or a coordinate; write the file in a format with "
                                 "room for it, or move the molecule closer to the origin");
    }
    return VF_OK;
}

text_piece text_columns(text_piece line, size_t begin, size_t end)
{
    begin = begin < line.size ? begin : line.size;
    end = end < line.size ? end : line.size;
    return (text_piece){line.at + begin, end - begin};
}

bool text_count(text_piece word, int64_t *out)
{
    enum { MOST_DIGITS = 12 };
    *out = 0;
    if (word.size < 1 || word.size > MOST_DIGITS)
        return false;
    for (size_t i = 0; i < word.size; i++) {
        if (!text_is_digit(word.at[i]))
            return false;
        *out = *out * 10 + (word.at[i] - '0');
    }
    return true;
}

vf_status reader_number(const molecule_reader *r, text_piece line, size_t begin, size_t end, int decimals,
                        const char *what, double *out)
{
    const double limit = 1e9; /* as for PQR files: larger values would overflow sums and grids */
    char quoted[TEXT_QUOTE_SIZE];
    text_number number;
    text_piece text = text_columns(line, begin, end), inner = label_trim(text);
    const char *trouble = NULL;
    if (inner.size == 0)
        trouble = "is missing";
    else if (!text_read_number(inner, r->c_locale, &number))
        trouble = text_number_trouble(inner);
    else if (!(number.value >= -limit && number.value <= limit))
        trouble = "is beyond +-1e9; lengths are in angstrom, charges in elementary charges";
    else if (decimals >= 0 && (number.decimals != decimals || inner.size <= (size_t)decimals ||
                               text.size != end - begin || inner.at + inner.size != text.at + text.size ||
                               inner.at[inner.size - 1] < '0' || inner.at[inner.size - 1 - (size_t)decimals] != '.'))
        trouble = "does not fill its columns: the number is cut, or the line is shifted";
    if (trouble && decimals >= 0)
        return text_fail(r->ctx, r->name, r->lines.line,
                         "columns %zu-%zu (%s): '%s' %s; expected a number with %d decimals", begin + 1, end, what,
                         text_quote(text, quoted), trouble, decimals);
    if (trouble)
        return text_fail(r->ctx, r->name, r->lines.line, "columns %zu-%zu (%s): '%s' %s", begin + 1, end, what,
                         text_quote(inner, quoted), trouble);
    *out = number.value;
    return VF_OK;
}

float reader_number_or(molecule_reader *r, text_piece text, int64_t line, float otherwise)
{
    text_number number;
    text = label_trim(text);
    if (text.size == 0)
        return otherwise;
    if (text_read_number(text, r->c_locale, &number))
        return (float)number.value;
    if (r->no_numbers++ == 0) {
        r->first_no_number = line;
        text_quote(text, r->no_number);
    }
    return otherwise;
}

void reader_warn_of_numbers(const molecule_reader *r)
{
    if (r->no_numbers > 0)
        vf_warn(r->ctx,
                "%s:%lld: '%s' is no number; it is in the place of an occupancy, which then counts as 1, or of a "
                "temperature factor, which counts as 0%s",
                r->name, (long long)r->first_no_number, r->no_number,
                r->no_numbers > 1 ? "; more such values follow" : "");
}
