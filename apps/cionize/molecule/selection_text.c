/* Parses selections: select_atoms.h has the grammar. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selection_tree.h"
#include "text/text_number.h"

enum { DEPTH_MOST = 100, NODES_MOST = 10000, WORD_SHOWN = 24, TEXT_SHOWN = 100 };

typedef enum token_kind { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_WORD, TOKEN_QUOTED, TOKEN_COMPARE } token_kind;

typedef struct token {
    token_kind kind;
    size_t begin, end; /* in the text, with quotes */
} token;

typedef struct parser {
    vf_context *ctx;
    atom_selection *s;
    locale_t c_locale;
    token now;
    int depth;
} parser;

typedef struct named {
    const char *name;
    int value;
} named;

static const named words[] = {{"all", WORD_ALL},
                              {"none", WORD_NONE},
                              {"protein", WORD_PROTEIN},
                              {"nucleic", WORD_NUCLEIC},
                              {"water", WORD_WATER},
                              {"waters", WORD_WATER},
                              {"solvent", WORD_WATER},
                              {"ions", WORD_IONS},
                              {"ion", WORD_IONS},
                              {"hydrogen", WORD_HYDROGEN},
                              {"hydrogens", WORD_HYDROGEN},
                              {"hydro", WORD_HYDROGEN},
                              {"heavy", WORD_HEAVY},
                              {"noh", WORD_HEAVY},
                              {"backbone", WORD_BACKBONE},
                              {"sidechain", WORD_SIDECHAIN},
                              {"hetero", WORD_HETERO},
                              {"hetatm", WORD_HETERO},
                              {NULL, 0}};
static const named fields[] = {{"name", FIELD_NAME},
                               {"resname", FIELD_RESNAME},
                               {"resn", FIELD_RESNAME},
                               {"chain", FIELD_CHAIN},
                               {"segment", FIELD_SEGMENT},
                               {"segname", FIELD_SEGMENT},
                               {"segid", FIELD_SEGMENT},
                               {"segi", FIELD_SEGMENT},
                               {"element", FIELD_ELEMENT},
                               {"elem", FIELD_ELEMENT},
                               {"resid", FIELD_RESID},
                               {"resi", FIELD_RESID},
                               {"index", FIELD_INDEX},
                               {"serial", FIELD_SERIAL},
                               {"charge", FIELD_CHARGE},
                               {"radius", FIELD_RADIUS},
                               {"occupancy", FIELD_OCCUPANCY},
                               {"x", FIELD_X},
                               {"y", FIELD_Y},
                               {"z", FIELD_Z},
                               {NULL, 0}};
static const named keys[] = {
    {"residue", FIELD_RESIDUE}, {"chain", FIELD_CHAIN},     {"segment", FIELD_SEGMENT}, {"segname", FIELD_SEGMENT},
    {"segid", FIELD_SEGMENT},   {"resname", FIELD_RESNAME}, {"name", FIELD_NAME},       {NULL, 0}};
static const char *const joints[] = {"and", "or", "not", "within", "exwithin", "of", "same",
                                     "as",  "to", "&",   "|",      "!",        NULL};

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

/* ---- messages ---- */

static vf_status fail_at(const parser *p, const token *at, const char *what)
{
    const char *text = p->s->text;
    char shown[WORD_SHOWN + 8] = "at the end";
    if (at->kind != TOKEN_END)
        snprintf(shown, sizeof shown, "at '%.*s%s'",
                 (int)(at->end - at->begin < WORD_SHOWN ? at->end - at->begin : WORD_SHOWN - 4), text + at->begin,
                 at->end - at->begin < WORD_SHOWN ? "" : "...");
    return vf_fail(p->ctx, VF_ERR_ARGUMENT, "%s '%.*s%s': %s (character %zu): %s", p->s->where, TEXT_SHOWN, text,
                   strlen(text) > TEXT_SHOWN ? "..." : "", shown, at->begin + 1, what);
}

static vf_status no_memory(const parser *p)
{
    return vf_fail(p->ctx, VF_ERR_MEMORY, "%s: no memory for the selection", p->s->where);
}

/* ---- tokens ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* A quote inside a word is part of it: O5'. */
static bool ends_word(char c)
{
    return c == '\0' || is_blank(c) || strchr("()<>=!&|", c);
}

static vf_status quoted(parser *p, size_t begin)
{
    const char *text = p->s->text, *end = strchr(text + begin + 1, text[begin]);
    p->now = (token){TOKEN_QUOTED, begin, end ? (size_t)(end - text) + 1 : strlen(text)};
    if (!end)
        return fail_at(p, &p->now, "the quote has no end");
    if (!ends_word(end[1]))
        return fail_at(p, &p->now, "expected a blank after the quote");
    return VF_OK;
}

static vf_status next(parser *p)
{
    const char *text = p->s->text;
    size_t at = p->now.end;
    while (is_blank(text[at]))
        at++;
    p->now = (token){TOKEN_END, at, at};
    if (text[at] == '\0')
        return VF_OK;
    if (text[at] == '"' || text[at] == '\'')
        return quoted(p, at);
    size_t end = at + 1;
    p->now.kind = TOKEN_WORD;
    if (text[at] == '(' || text[at] == ')') {
        p->now.kind = text[at] == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
    } else if (strchr("<>=", text[at]) || (text[at] == '!' && text[at + 1] == '=')) {
        p->now.kind = TOKEN_COMPARE;
        end += text[end] == '=';
    } else if (text[at] == '&' || text[at] == '|') {
        end += text[end] == text[at];
    } else if (text[at] != '!') {
        while (!ends_word(text[end]))
            end++;
    }
    p->now.end = end;
    return VF_OK;
}

static bool is(const parser *p, const char *word)
{
    const size_t size = p->now.end - p->now.begin;
    return p->now.kind == TOKEN_WORD && strlen(word) == size && memcmp(p->s->text + p->now.begin, word, size) == 0;
}

static bool is_and(const parser *p)
{
    return is(p, "and") || is(p, "&") || is(p, "&&");
}

static bool is_or(const parser *p)
{
    return is(p, "or") || is(p, "|") || is(p, "||");
}

static const named *find(const parser *p, const named *list)
{
    for (; list->name; list++)
        if (is(p, list->name))
            return list;
    return NULL;
}

static bool is_joint(const parser *p)
{
    for (int n = 0; joints[n]; n++)
        if (is(p, joints[n]))
            return true;
    return is(p, "&&") || is(p, "||");
}

/* ---- the tree ---- */

/* Makes room for one more. */
static bool grow(void **array, int count, int *room, size_t size)
{
    if (count < *room)
        return true;
    const int more = *room ? 2 * *room : 16;
    void *larger = realloc(*array, (size_t)more * size);
    if (!larger)
        return false;
    *array = larger;
    *room = more;
    return true;
}

static vf_status add_node(parser *p, selection_node node, int *out)
{
    atom_selection *s = p->s;
    void *array = s->node;
    if (s->nodes == NODES_MOST)
        return fail_at(p, &p->now, "the selection is too long");
    const bool grown = grow(&array, s->nodes, &s->node_room, sizeof *s->node);
    s->node = array;
    if (!grown)
        return no_memory(p);
    *out = s->nodes;
    s->node[s->nodes++] = node;
    return VF_OK;
}

static vf_status add_value(parser *p, selection_value value, const char *text, size_t size)
{
    atom_selection *s = p->s;
    void *array = s->value;
    const bool grown = grow(&array, s->values, &s->value_room, sizeof *s->value);
    s->value = array;
    value.text = text ? strndup(text, size) : NULL;
    if (!grown || (text && !value.text)) {
        free(value.text);
        return no_memory(p);
    }
    s->value[s->values++] = value;
    return VF_OK;
}

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
        const char *inside = text + 1;
        size -= 2;
        while (size > 0 && is_blank(inside[0]))
            inside++, size--;
        while (size > 0 && is_blank(inside[size - 1]))
            size--;
        for (size_t n = 0; n < size; n++)
            if (inside[n] == '[' || (n + 1 < size && inside[n] == '.' && inside[n + 1] == '*'))
                return fail_at(p, &p->now,
                               "regular expressions are not supported; write C* without quotes for names that begin "
                               "with C");
        return add_value(p, (selection_value){.literal = true}, inside, size);
    }
    while (size > 0) {
        const size_t part = name_size(text, size);
        if (part == 0 || part + 1 == size)
            return fail_at(p, &p->now, "expected names separated by blanks, or by , or +");
        const vf_status status = add_value(p, (selection_value){.literal = false}, text, part);
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
static bool take_number(const parser *p, const char **text, size_t *size, selection_field field, double *value,
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
    if (!take_number(p, &text, &size, field, &value.lo, &value.code))
        return fail_at(p, &p->now, expected_number(field));
    value.hi = value.lo;
    if (size > 0 && (*text == ':' || *text == '-')) {
        text++;
        size--;
        if (!take_number(p, &text, &size, field, &value.hi, &code) || value.code || code)
            return fail_at(p, &p->now, expected_number(field));
        if (!(value.lo <= value.hi))
            return fail_at(p, &p->now, "the range is empty: its end is less than its beginning");
    }
    return size > 0 ? fail_at(p, &p->now, expected_number(field)) : add_value(p, value, NULL, 0);
}

static vf_status number_value(parser *p, selection_field field)
{
    const char *text = p->s->text + p->now.begin;
    size_t size = p->now.end - p->now.begin;
    if (p->now.kind == TOKEN_QUOTED && field == FIELD_RESID) /* a label that is no number: "****" */
        return add_value(p, (selection_value){.lo = NAN, .hi = NAN}, text + 1, size - 2);
    if (p->now.kind == TOKEN_QUOTED)
        return fail_at(p, &p->now, expected_number(field));
    while (size > 0) {
        size_t part = 0;
        while (part < size && text[part] != ',' && !(text[part] == '+' && part > 0 && !strchr("eE", text[part - 1])))
            part++;
        if (part + 1 == size)
            return fail_at(p, &p->now, expected_number(field));
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
        return fail_at(p, &p->now, "expected a number before 'to'");
    vf_status status = next(p);
    if (status != VF_OK)
        return status;
    const char *text = s->text + p->now.begin;
    size_t size = p->now.end - p->now.begin;
    char code = '\0';
    double hi = 0;
    if (p->now.kind != TOKEN_WORD || !take_number(p, &text, &size, field, &hi, &code) || size > 0 || code)
        return fail_at(p, &p->now, "expected a number after 'to'");
    if (!(s->value[s->values - 1].lo <= hi))
        return fail_at(p, &p->now, "the range is empty: its end is less than its beginning");
    s->value[s->values - 1].hi = hi;
    return next(p);
}

/* < 5: one number */
static vf_status comparison(parser *p, selection_node *node)
{
    const char *sign = p->s->text + p->now.begin;
    const size_t size = p->now.end - p->now.begin;
    const bool equal = sign[0] == '=' || sign[0] == '!', or_equal = size == 2;
    const token at = p->now;
    node->unequal = sign[0] == '!';
    vf_status status = next(p);
    if (status != VF_OK || equal)
        return status; /* values follow */
    if (node->field < FIELD_RESID)
        return fail_at(p, &at, "names can only be compared with = and !=");
    const char *text = p->s->text + p->now.begin;
    size_t left = p->now.end - p->now.begin;
    double number = 0;
    char code = '\0';
    if (p->now.kind != TOKEN_WORD || !take_number(p, &text, &left, node->field, &number, &code) || left > 0 || code)
        return fail_at(p, &p->now, "expected a number");
    const selection_value value = sign[0] == '<' ? (selection_value){.lo = -INFINITY, .hi = number, .below = !or_equal}
                                                 : (selection_value){.lo = number, .hi = INFINITY, .above = !or_equal};
    node->values = 1;
    status = add_value(p, value, NULL, 0);
    return status == VF_OK ? next(p) : status;
}

/* Whether the token can be a value. Keywords must be in quotes, so that a forgotten "and" is no name. */
static bool is_value(const parser *p, bool first)
{
    if (p->now.kind == TOKEN_QUOTED)
        return true;
    const named *field = find(p, fields);
    const bool long_field = field && strlen(field->name) > 1;
    return p->now.kind == TOKEN_WORD && !is_joint(p) && !long_field && (first || !find(p, words));
}

static vf_status field_values(parser *p, const named *field, int *out)
{
    selection_node node = {.kind = NODE_FIELD, .field = (selection_field)field->value, .left = -1, .right = -1};
    node.begin = p->now.begin;
    node.first = p->s->values;
    vf_status status = next(p);
    if (status == VF_OK && p->now.kind == TOKEN_COMPARE)
        status = comparison(p, &node);
    while (status == VF_OK && node.values == 0) {
        const bool first = p->s->values == node.first;
        if (!first && is(p, "to")) {
            status = to_value(p, node.field, node.first);
            continue;
        }
        if (!is_value(p, first)) {
            if (first)
                return fail_at(p, &p->now,
                               node.field < FIELD_RESID ? "expected a name; put keywords in quotes if they are names"
                                                        : expected_number(node.field));
            if (find(p, fields) || find(p, words))
                return fail_at(p, &p->now, "expected 'and' or 'or' before it, or quotes if it is a name");
            break;
        }
        status = node.field < FIELD_RESID ? text_value(p) : number_value(p, node.field);
        if (status == VF_OK)
            status = next(p);
    }
    node.values = p->s->values - node.first;
    node.end = p->now.begin;
    return status == VF_OK ? add_node(p, node, out) : status;
}

/* ---- the grammar ---- */

static vf_status parse_or(parser *p, int *out);
static vf_status parse_part(parser *p, int *out);

static vf_status expect(parser *p, const char *word, const char *message)
{
    return is(p, word) ? next(p) : fail_at(p, &p->now, message);
}

static vf_status within(parser *p, int *out)
{
    selection_node node = {.kind = NODE_WITHIN, .right = -1, .begin = p->now.begin, .excludes = is(p, "exwithin")};
    vf_status status = next(p);
    if (status != VF_OK)
        return status;
    const char *text = p->s->text + p->now.begin;
    size_t size = p->now.end - p->now.begin;
    char code;
    if (p->now.kind != TOKEN_WORD || !take_number(p, &text, &size, FIELD_X, &node.distance, &code) || size > 0 ||
        !(node.distance >= 0))
        return fail_at(p, &p->now, "expected a distance in angstrom, 0 or more");
    status = next(p);
    if (status == VF_OK)
        status = expect(p, "of", "expected 'of' and a selection");
    if (status == VF_OK)
        status = parse_part(p, &node.left);
    node.end = p->now.begin;
    return status == VF_OK ? add_node(p, node, out) : status;
}

static vf_status same(parser *p, int *out)
{
    selection_node node = {.kind = NODE_SAME, .right = -1, .begin = p->now.begin};
    vf_status status = next(p);
    if (status != VF_OK)
        return status;
    const named *key = find(p, keys);
    if (!key)
        return fail_at(p, &p->now, "expected residue, chain, segment, resname or name");
    node.field = (selection_field)key->value;
    status = next(p);
    if (status == VF_OK)
        status = expect(p, "as", "expected 'as' and a selection");
    if (status == VF_OK)
        status = parse_part(p, &node.left);
    node.end = p->now.begin;
    return status == VF_OK ? add_node(p, node, out) : status;
}

static vf_status parentheses(parser *p, int *out)
{
    const token open = p->now;
    vf_status status = next(p);
    if (status == VF_OK)
        status = parse_or(p, out);
    if (status == VF_OK && p->now.kind == TOKEN_END)
        status = fail_at(p, &open, "'(' has no ')'");
    if (status == VF_OK && p->now.kind != TOKEN_CLOSE)
        status = fail_at(p, &p->now, "expected 'and', 'or' or ')'");
    return status == VF_OK ? next(p) : status;
}

static vf_status refuse(const parser *p)
{
    static const char expected[] =
        "expected a word such as protein, water or all, a field such as name, resname, resid or chain with values, "
        "'within R of', 'same residue as', 'not' or '('";
    char message[400];
    const size_t size = p->now.end - p->now.begin;
    for (size_t n = 0; n < sizeof foreign / sizeof *foreign; n++)
        if (is(p, foreign[n][0]))
            return fail_at(p, &p->now, foreign[n][1]);
    bool upper = p->now.kind == TOKEN_WORD;
    for (size_t n = 0; n < size; n++)
        upper = upper && isupper((unsigned char)p->s->text[p->now.begin + n]);
    snprintf(message, sizeof message, "%s%s", expected, upper ? "; all words are in lower case" : "");
    return fail_at(p, &p->now, message);
}

static vf_status parse_one(parser *p, int *out)
{
    const named *word = find(p, words), *field = find(p, fields);
    if (p->now.kind == TOKEN_OPEN)
        return parentheses(p, out);
    if (is(p, "within") || is(p, "exwithin"))
        return within(p, out);
    if (is(p, "same"))
        return same(p, out);
    if (field)
        return field_values(p, field, out);
    if (!word)
        return refuse(p);
    const selection_node node = {.kind = NODE_WORD,
                                 .word = (selection_word)word->value,
                                 .left = -1,
                                 .right = -1,
                                 .begin = p->now.begin,
                                 .end = p->now.end};
    const vf_status status = next(p);
    return status == VF_OK ? add_node(p, node, out) : status;
}

/* One, or "not" and one. */
static vf_status parse_part(parser *p, int *out)
{
    vf_status status = VF_OK;
    if (++p->depth > DEPTH_MOST)
        return fail_at(p, &p->now, "the selection is nested too deeply");
    if (is(p, "not") || is(p, "!")) {
        selection_node node = {.kind = NODE_NOT, .right = -1, .begin = p->now.begin};
        status = next(p);
        if (status == VF_OK)
            status = parse_part(p, &node.left);
        node.end = p->now.begin;
        if (status == VF_OK)
            status = add_node(p, node, out);
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
    return status == VF_OK ? add_node(p, node, out) : status;
}

static vf_status parse_and(parser *p, int *out)
{
    const size_t begin = p->now.begin;
    vf_status status = parse_part(p, out);
    while (status == VF_OK) {
        const bool follows = is(p, "within") || is(p, "exwithin"); /* water within 3 of protein */
        if (!is_and(p) && !follows)
            break;
        if (!follows)
            status = next(p);
        if (status == VF_OK)
            status = join(p, NODE_AND, begin, parse_part, out);
    }
    return status;
}

static vf_status parse_or(parser *p, int *out)
{
    const size_t begin = p->now.begin;
    vf_status status = parse_and(p, out);
    while (status == VF_OK && is_or(p)) {
        status = next(p);
        if (status == VF_OK)
            status = join(p, NODE_OR, begin, parse_and, out);
    }
    return status;
}

static vf_status parse_all(parser *p)
{
    vf_status status = next(p);
    if (status == VF_OK && p->now.kind == TOKEN_END)
        status = fail_at(p, &p->now, "the selection is empty; all selects all atoms");
    if (status == VF_OK)
        status = parse_or(p, &p->s->root);
    if (status == VF_OK && p->now.kind != TOKEN_END)
        status = fail_at(p, &p->now, p->now.kind == TOKEN_CLOSE ? "')' has no '('" : "expected 'and' or 'or'");
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

const char *selection_text(const atom_selection *s)
{
    return s->text;
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
