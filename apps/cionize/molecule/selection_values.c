/* Fields of selections and their values: names, numbers, ranges, comparisons. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "molecule_arrays.h"
#include "selection_parser.h"

/* ---- values of texts ---- */

/* CA,CB and PyMOL's CA+CB are two names; Na+ and FE+2 are one. */
static size_t name_size(const char *text, size_t size)
{
    for (size_t n = 0; n < size; n++)
        if (text[n] == ',' || (text[n] == '+' && n > 0 && n + 1 < size && isalpha((unsigned char)text[n + 1])))
            return n;
    return size;
}

static vf_status text_value(parser *p)
{
    const char *text = p->s->text + p->now.begin;
    size_t size = p->now.end - p->now.begin;
    if (p->now.kind == TOKEN_QUOTED) {
        const text_piece trimmed = label_trim((text_piece){text + 1, size - 2});
        const char *inside = trimmed.at;
        size = trimmed.size;
        for (size_t n = 0; n < size; n++)
            if (inside[n] == '[' || (n + 1 < size && inside[n] == '.' && inside[n + 1] == '*'))
                return selection_fail(
                    p, &p->now,
                    "regular expressions are not supported; write C* without quotes for names that begin "
                    "with C");
        return selection_add_value(p, (selection_value){.literal = true}, inside, size);
    }
    while (size > 0) {
        const size_t part = name_size(text, size);
        if (part == 0 || part + 1 == size)
            return selection_fail(p, &p->now, "expected names separated by blanks, or by , or +");
        const vf_status status = selection_add_value(p, (selection_value){.literal = false}, text, part);
        if (status != VF_OK)
            return status;
        text += part < size ? part + 1 : part;
        size -= part < size ? part + 1 : part;
    }
    return VF_OK;
}

/* ---- values of numbers ---- */

/* The number at the start of a text; its size, 0 if there is none. */
static size_t number_size(const char *text, size_t size)
{
    size_t n = size > 0 && (text[0] == '-' || text[0] == '+'), digits = 0;
    for (; n < size && (text_is_digit(text[n]) || text[n] == '.'); n++)
        digits += text_is_digit(text[n]);
    if (digits == 0)
        return 0;
    if (n + 1 < size && (text[n] == 'e' || text[n] == 'E')) {
        size_t m = n + 1 + (n + 2 < size && (text[n + 1] == '-' || text[n + 1] == '+'));
        const size_t first = m;
        while (m < size && text_is_digit(text[m]))
            m++;
        n = m > first ? m : n;
    }
    return n;
}

/* Takes a number from the start of a text, and of a residue number the letter after it. */
bool selection_take_number(const parser *p, const char **text, size_t *size, selection_field field, double *value,
                           char *code)
{
    text_number number;
    const size_t n = number_size(*text, *size);
    if (n == 0 || !text_read_number((text_piece){*text, n}, p->c_locale, &number))
        return false;
    *value = number.value;
    *text += n;
    *size -= n;
    *code = '\0';
    if (field == FIELD_RESID && *size > 0 && isalpha((unsigned char)**text)) {
        *code = **text;
        ++*text;
        --*size;
    }
    return true;
}

static const char *expected_number(selection_field field)
{
    return field == FIELD_RESID || field == FIELD_INDEX || field == FIELD_SERIAL
               ? "expected numbers or ranges: 5, 10 to 20, 10:20 or 10-20"
               : "expected numbers or ranges, such as -1 to 0.5, or a comparison, such as < -0.5";
}

/* A number, or two with : or - between them: 10:20, -5--1. */
static vf_status number_or_range(parser *p, selection_field field, const char *text, size_t size)
{
    selection_value value = {0};
    char code = '\0';
    if (!selection_take_number(p, &text, &size, field, &value.lo, &value.code))
        return selection_fail(p, &p->now, expected_number(field));
    value.hi = value.lo;
    if (size > 0 && (*text == ':' || *text == '-')) {
        text++;
        size--;
        if (!selection_take_number(p, &text, &size, field, &value.hi, &code) || value.code || code)
            return selection_fail(p, &p->now, expected_number(field));
        if (!(value.lo <= value.hi))
            return selection_fail(p, &p->now, "the range is empty: its end is less than its beginning");
    }
    return size > 0 ? selection_fail(p, &p->now, expected_number(field)) : selection_add_value(p, value, NULL, 0);
}

static vf_status number_value(parser *p, selection_field field)
{
    const char *text = p->s->text + p->now.begin;
    size_t size = p->now.end - p->now.begin;
    if (p->now.kind == TOKEN_QUOTED && field == FIELD_RESID) /* a label that is no number: "****" */
        return selection_add_value(p, (selection_value){.lo = NAN, .hi = NAN}, text + 1, size - 2);
    if (p->now.kind == TOKEN_QUOTED)
        return selection_fail(p, &p->now, expected_number(field));
    while (size > 0) {
        size_t part = 0;
        while (part < size && text[part] != ',' && !(text[part] == '+' && part > 0 && !strchr("eE", text[part - 1])))
            part++;
        if (part + 1 == size)
            return selection_fail(p, &p->now, expected_number(field));
        const vf_status status = number_or_range(p, field, text, part);
        if (status != VF_OK)
            return status;
        text += part < size ? part + 1 : part;
        size -= part < size ? part + 1 : part;
    }
    return VF_OK;
}

/* 10 to 20: the token is "to". */
static vf_status to_value(parser *p, selection_field field, int first)
{
    atom_selection *s = p->s;
    const bool fresh =
        s->values > first && s->value[s->values - 1].lo == s->value[s->values - 1].hi && !s->value[s->values - 1].code;
    if (field < FIELD_RESID || !fresh)
        return selection_fail(p, &p->now, "expected a number before 'to'");
    vf_status status = selection_next(p);
    if (status != VF_OK)
        return status;
    const char *text = s->text + p->now.begin;
    size_t size = p->now.end - p->now.begin;
    char code = '\0';
    double hi = 0;
    if (p->now.kind != TOKEN_WORD || !selection_take_number(p, &text, &size, field, &hi, &code) || size > 0 || code)
        return selection_fail(p, &p->now, "expected a number after 'to'");
    if (!(s->value[s->values - 1].lo <= hi))
        return selection_fail(p, &p->now, "the range is empty: its end is less than its beginning");
    s->value[s->values - 1].hi = hi;
    return selection_next(p);
}

/* < 5: one number */
static vf_status comparison(parser *p, selection_node *node)
{
    const char *sign = p->s->text + p->now.begin;
    const size_t size = p->now.end - p->now.begin;
    const bool equal = sign[0] == '=' || sign[0] == '!', or_equal = size == 2;
    const token at = p->now;
    node->unequal = sign[0] == '!';
    vf_status status = selection_next(p);
    if (status != VF_OK || equal)
        return status; /* values follow */
    if (node->field < FIELD_RESID)
        return selection_fail(p, &at, "names can only be compared with = and !=");
    const char *text = p->s->text + p->now.begin;
    size_t left = p->now.end - p->now.begin;
    double number = 0;
    char code = '\0';
    if (p->now.kind != TOKEN_WORD || !selection_take_number(p, &text, &left, node->field, &number, &code) || left > 0 ||
        code)
        return selection_fail(p, &p->now, "expected a number");
    const selection_value value = sign[0] == '<' ? (selection_value){.lo = -INFINITY, .hi = number, .below = !or_equal}
                                                 : (selection_value){.lo = number, .hi = INFINITY, .above = !or_equal};
    node->values = 1;
    status = selection_add_value(p, value, NULL, 0);
    return status == VF_OK ? selection_next(p) : status;
}

/* Whether the token can be a value. Keywords must be in quotes, so that a forgotten "and" is no name. */
static bool is_value(const parser *p, bool first)
{
    if (p->now.kind == TOKEN_QUOTED)
        return true;
    const selection_name *field = selection_find(p, selection_fields);
    const bool long_field = field && strlen(field->name) > 1;
    return p->now.kind == TOKEN_WORD && !selection_joins(p) && !long_field &&
           (first || !selection_find(p, selection_words));
}

vf_status selection_take_field(parser *p, const selection_name *field, int *out)
{
    selection_node node = {.kind = NODE_FIELD, .field = (selection_field)field->value, .left = -1, .right = -1};
    node.begin = p->now.begin;
    node.first = p->s->values;
    vf_status status = selection_next(p);
    if (status == VF_OK && p->now.kind == TOKEN_COMPARE)
        status = comparison(p, &node);
    while (status == VF_OK && node.values == 0) {
        const bool first = p->s->values == node.first;
        if (!first && selection_is(p, "to")) {
            status = to_value(p, node.field, node.first);
            continue;
        }
        if (!is_value(p, first)) {
            if (first)
                return selection_fail(p, &p->now,
                                      node.field < FIELD_RESID
                                          ? "expected a name; put keywords in quotes if they are names"
                                          : expected_number(node.field));
            if (selection_find(p, selection_fields) || selection_find(p, selection_words))
                return selection_fail(p, &p->now, "expected 'and' or 'or' before it, or quotes if it is a name");
            break;
        }
        status = node.field < FIELD_RESID ? text_value(p) : number_value(p, node.field);
        VF_TRY(status, selection_next(p));
    }
    node.values = p->s->values - node.first;
    node.end = p->now.begin;
    return status == VF_OK ? selection_add_node(p, node, out) : status;
}
