/* The parser of selections. Private to selection_text.c (the grammar), selection_values.c (fields with their values) and
 * selection_tokens.c (tokens, messages). */
#ifndef CIONIZE_SELECTION_PARSER_H
#define CIONIZE_SELECTION_PARSER_H

#include "selection_tree.h"
#include "text/text_number.h"

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

typedef struct selection_name {
    const char *name;
    int value;
} selection_name;

/* ---- selection_tokens.c ---- */

/* A table of words; it ends with a NULL. */
extern const selection_name selection_words[], selection_fields[];

/* VF_ERR_ARGUMENT with the text, the token, its place, and what was expected. */
vf_status selection_fail(const parser *p, const token *at, const char *what);

/* Goes to the next token. Errors: VF_ERR_ARGUMENT (a quote without an end). */
VF_MUST_CHECK vf_status selection_next(parser *p);

/* Whether the token is this word; the row of a table with it, or NULL; whether it joins selections: "and", "of". */
bool selection_is(const parser *p, const char *word);
const selection_name *selection_find(const parser *p, const selection_name *list);
bool selection_joins(const parser *p);

/* Add to the tree. Errors: VF_ERR_MEMORY; VF_ERR_ARGUMENT (too many). text: NULL, or copied. */
VF_MUST_CHECK vf_status selection_add_node(parser *p, selection_node node, int *out);
VF_MUST_CHECK vf_status selection_add_value(parser *p, selection_value value, const char *text, size_t size);

/* ---- selection_values.c ---- */

/* Takes a number from the start of a text, and of a residue number the letter after it (else *code is 0). */
bool selection_take_number(const parser *p, const char **text, size_t *size, selection_field field, double *value,
                           char *code);

/* Parses a field, which is the token, and its values or a comparison. */
VF_MUST_CHECK vf_status selection_take_field(parser *p, const selection_name *field, int *out);

#endif
