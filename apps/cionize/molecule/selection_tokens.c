/* The words of selections, tokens, messages, and room in the tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selection_parser.h"

enum { NODES_MOST = 10000, WORD_SHOWN = 24, TEXT_SHOWN = 100 };

const selection_name selection_words[] = {{"all", WORD_ALL},
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
const selection_name selection_fields[] = {{"name", FIELD_NAME},
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
static const char *const joints[] = {"and", "or", "not", "within", "exwithin", "of", "same",
                                     "as",  "to", "&",   "|",      "!",        NULL};

/* ---- messages ---- */

vf_status selection_fail(const parser *p, const token *at, const char *what)
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
        return selection_fail(p, &p->now, "the quote has no end");
    if (!ends_word(end[1]))
        return selection_fail(p, &p->now, "expected a blank after the quote");
    return VF_OK;
}

vf_status selection_next(parser *p)
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

bool selection_is(const parser *p, const char *word)
{
    const size_t size = p->now.end - p->now.begin;
    return p->now.kind == TOKEN_WORD && strlen(word) == size && memcmp(p->s->text + p->now.begin, word, size) == 0;
}

const selection_name *selection_find(const parser *p, const selection_name *list)
{
    for (; list->name; list++)
        if (selection_is(p, list->name))
            return list;
    return NULL;
}

bool selection_joins(const parser *p)
{
    for (int n = 0; joints[n]; n++)
        if (selection_is(p, joints[n]))
            return true;
    return selection_is(p, "&&") || selection_is(p, "||");
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

vf_status selection_add_node(parser *p, selection_node node, int *out)
{
    atom_selection *s = p->s;
    void *array = s->node;
    if (s->nodes == NODES_MOST)
        return selection_fail(p, &p->now, "the selection is too long");
    const bool grown = grow(&array, s->nodes, &s->node_room, sizeof *s->node);
    s->node = array;
    if (!grown)
        return no_memory(p);
    *out = s->nodes;
    s->node[s->nodes++] = node;
    return VF_OK;
}

vf_status selection_add_value(parser *p, selection_value value, const char *text, size_t size)
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
