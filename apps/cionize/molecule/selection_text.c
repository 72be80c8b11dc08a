/* Parses selections: select_atoms.h has the grammar. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selection_parser.h"

enum { DEPTH_MOST = 100 };

static const selection_name keys[] = {
    {"residue", FIELD_RESIDUE}, {"chain", FIELD_CHAIN},     {"segment", FIELD_SEGMENT}, {"segname", FIELD_SEGMENT},
    {"segid", FIELD_SEGMENT},   {"resname", FIELD_RESNAME}, {"name", FIELD_NAME},       {NULL, 0}};
/* Words of other programs, and what to write here. */
static const char *const foreign[][2] = {
    {"around", "for PyMOL's 'S around R', write exwithin R of S"},
    {"expand", "for PyMOL's 'S expand R', write within R of S"},
    {"byres", "for PyMOL's 'byres S', write same residue as (S)"},
    {"br.", "for PyMOL's 'br. S', write same residue as (S)"},
    {"pbwithin", "write within: it takes the images of a periodic cell by itself"},
    {"residue", "resid is the number in the file; VMD's own count of residues is not supported"},
    {"type", "types of force fields are not supported; use name or element"},
    {"mass", "use element"},
    {"polymer", "use protein or nucleic"},
    {"polymer.protein", "use protein"},
    {"polymer.nucleic", "use nucleic"},
    {"organic", "name the residues: resname"}};

static bool is_and(const parser *p)
{
    return selection_is(p, "and") || selection_is(p, "&") || selection_is(p, "&&");
}

static bool is_or(const parser *p)
{
    return selection_is(p, "or") || selection_is(p, "|") || selection_is(p, "||");
}

static vf_status parse_or(parser *p, int *out);
static vf_status parse_part(parser *p, int *out);

static vf_status expect(parser *p, const char *word, const char *message)
{
    return selection_is(p, word) ? selection_next(p) : selection_fail(p, &p->now, message);
}

static vf_status within(parser *p, int *out)
{
    selection_node node = {
        .kind = NODE_WITHIN, .right = -1, .begin = p->now.begin, .excludes = selection_is(p, "exwithin")};
    vf_status status = selection_next(p);
    if (status != VF_OK)
        return status;
    const char *text = p->s->text + p->now.begin;
    size_t size = p->now.end - p->now.begin;
    char code;
    if (p->now.kind != TOKEN_WORD || !selection_take_number(p, &text, &size, FIELD_X, &node.distance, &code) ||
        size > 0 || !(node.distance >= 0))
        return selection_fail(p, &p->now, "expected a distance in angstrom, 0 or more");
    status = selection_next(p);
    VF_TRY(status, expect(p, "of", "expected 'of' and a selection"));
    VF_TRY(status, parse_part(p, &node.left));
    node.end = p->now.begin;
    return status == VF_OK ? selection_add_node(p, node, out) : status;
}

static vf_status same(parser *p, int *out)
{
    selection_node node = {.kind = NODE_SAME, .right = -1, .begin = p->now.begin};
    vf_status status = selection_next(p);
    if (status != VF_OK)
        return status;
    const selection_name *key = selection_find(p, keys);
    if (!key)
        return selection_fail(p, &p->now, "expected residue, chain, segment, resname or name");
    node.field = (selection_field)key->value;
    status = selection_next(p);
    VF_TRY(status, expect(p, "as", "expected 'as' and a selection"));
    VF_TRY(status, parse_part(p, &node.left));
    node.end = p->now.begin;
    return status == VF_OK ? selection_add_node(p, node, out) : status;
}

static vf_status parentheses(parser *p, int *out)
{
    const token open = p->now;
    vf_status status = selection_next(p);
    VF_TRY(status, parse_or(p, out));
    if (status == VF_OK && p->now.kind == TOKEN_END)
        status = selection_fail(p, &open, "'(' has no ')'");
    if (status == VF_OK && p->now.kind != TOKEN_CLOSE)
        status = selection_fail(p, &p->now, "expected 'and', 'or' or ')'");
    return status == VF_OK ? selection_next(p) : status;
}

static vf_status refuse(const parser *p)
{
    static const char expected[] =
        "expected a word such as protein, water or all, a field such as name, resname, resid or chain with values, "
        "'within R of', 'same residue as', 'not' or '('";
    char message[400];
    const size_t size = p->now.end - p->now.begin;
    for (size_t n = 0; n < sizeof foreign / sizeof *foreign; n++)
        if (selection_is(p, foreign[n][0]))
            return selection_fail(p, &p->now, foreign[n][1]);
    bool upper = p->now.kind == TOKEN_WORD;
    for (size_t n = 0; n < size; n++)
        upper = upper && isupper((unsigned char)p->s->text[p->now.begin + n]);
    snprintf(message, sizeof message, "%s%s", expected, upper ? "; all words are in lower case" : "");
    return selection_fail(p, &p->now, message);
}

static vf_status parse_one(parser *p, int *out)
{
    const selection_name *word = selection_find(p, selection_words), *field = selection_find(p, selection_fields);
    if (p->now.kind == TOKEN_OPEN)
        return parentheses(p, out);
    if (selection_is(p, "within") || selection_is(p, "exwithin"))
        return within(p, out);
    if (selection_is(p, "same"))
        return same(p, out);
    if (field)
        return selection_take_field(p, field, out);
    if (!word)
        return refuse(p);
    const selection_node node = {.kind = NODE_WORD,
                                 .word = (selection_word)word->value,
                                 .left = -1,
                                 .right = -1,
                                 .begin = p->now.begin,
                                 .end = p->now.end};
    const vf_status status = selection_next(p);
    return status == VF_OK ? selection_add_node(p, node, out) : status;
}

/* One, or "not" and one. */
static vf_status parse_part(parser *p, int *out)
{
    vf_status status = VF_OK;
    if (++p->depth > DEPTH_MOST)
        return selection_fail(p, &p->now, "the selection is nested too deeply");
    if (selection_is(p, "not") || selection_is(p, "!")) {
        selection_node node = {.kind = NODE_NOT, .right = -1, .begin = p->now.begin};
        status = selection_next(p);
        VF_TRY(status, parse_part(p, &node.left));
        node.end = p->now.begin;
        VF_TRY(status, selection_add_node(p, node, out));
    } else {
        status = parse_one(p, out);
    }
    p->depth--;
    return status;
}

static vf_status join(parser *p, selection_kind kind, size_t begin, vf_status (*operand)(parser *, int *), int *out)
{
    selection_node node = {.kind = kind, .left = *out, .begin = begin};
    vf_status status = operand(p, &node.right);
    node.end = p->now.begin;
    return status == VF_OK ? selection_add_node(p, node, out) : status;
}

static vf_status parse_and(parser *p, int *out)
{
    const size_t begin = p->now.begin;
    vf_status status = parse_part(p, out);
    while (status == VF_OK) {
        const bool follows = selection_is(p, "within") || selection_is(p, "exwithin"); /* water within 3 of protein */
        if (!is_and(p) && !follows)
            break;
        if (!follows)
            status = selection_next(p);
        VF_TRY(status, join(p, NODE_AND, begin, parse_part, out));
    }
    return status;
}

static vf_status parse_or(parser *p, int *out)
{
    const size_t begin = p->now.begin;
    vf_status status = parse_and(p, out);
    while (status == VF_OK && is_or(p)) {
        status = selection_next(p);
        VF_TRY(status, join(p, NODE_OR, begin, parse_and, out));
    }
    return status;
}

/* Labels are printable ASCII; messages show the text on a terminal. */
static vf_status check_characters(parser *p)
{
    for (char *c = p->s->text; *c; c++) {
        if (strchr("\t\n\r\v\f", *c))
            *c = ' ';
        if (*c < ' ' || *c > '~')
            return vf_fail(p->ctx, VF_ERR_ARGUMENT,
                           "%s: character %zu of the selection is not printable ASCII; names of atoms have no others",
                           p->s->where, (size_t)(c - p->s->text) + 1);
    }
    return VF_OK;
}

static vf_status parse_all(parser *p)
{
    vf_status status = check_characters(p);
    VF_TRY(status, selection_next(p));
    if (status == VF_OK && p->now.kind == TOKEN_END)
        status = selection_fail(p, &p->now, "the selection is empty; all selects all atoms");
    VF_TRY(status, parse_or(p, &p->s->root));
    if (status == VF_OK && p->now.kind != TOKEN_END)
        status = selection_fail(p, &p->now, p->now.kind == TOKEN_CLOSE ? "')' has no '('" : "expected 'and' or 'or'");
    return status;
}

vf_status selection_parse(vf_context *ctx, const char *where, const char *text, atom_selection **out)
{
    parser p = {.ctx = ctx};
    *out = NULL;
    p.s = calloc(1, sizeof *p.s);
    p.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (p.s) {
        p.s->where = strdup(where);
        p.s->text = strdup(text);
    }
    vf_status status = p.s && p.s->where && p.s->text && p.c_locale
                           ? parse_all(&p)
                           : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for the selection", where);
    if (p.c_locale)
        freelocale(p.c_locale);
    if (status == VF_OK)
        *out = p.s;
    else
        selection_free(p.s);
    return status;
}

void selection_free(atom_selection *s)
{
    for (int n = 0; s && n < s->values; n++)
        free(s->value[n].text);
    if (s) {
        free(s->value);
        free(s->node);
        free(s->text);
        free(s->where);
    }
    free(s);
}
