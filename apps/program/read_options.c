/* Reads the command line by a table of options: words to rows, rows to settings, then the checks between options. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "voxfield/append.h"

enum { LIST_TEXT = 256, NAME_TEXT = 64 };

/* The state of the reader. */
typedef struct reading {
    vf_context *ctx;
    const char *name; /* the program's name */
    const program_option *table;
    int argc, next; /* next: index of the next word */
    char *const *argv;
    void *settings;
    option_values *values;
} reading;

static bool is_group(const program_option *row)
{
    return row->kind == OPTION_GROUP;
}

static bool takes_argument(const program_option *row)
{
    return row->argument != NULL;
}

/* The row with this name of `length` bytes; NULL: none. */
static const program_option *row_named(const program_option *table, const char *name, size_t length)
{
    for (; table->kind != OPTION_END; table++)
        if (!is_group(table) && strlen(table->name) == length && strncmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

const char *option_text(const program_option *table, const option_values *values, const char *name)
{
    const program_option *row = row_named(table, name, strlen(name));
    return row ? values->text[row - table] : NULL;
}

/* ---- words to rows ---- */

/* Levenshtein distance: how many letters to insert, remove or replace. */
static size_t edits(const char *word, size_t length, const char *name)
{
    size_t row[NAME_TEXT];
    const size_t n = strlen(name);
    if (n >= NAME_TEXT)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t above = row[j], replaced = diagonal + (word[i - 1] != name[j - 1]);
            row[j] = above < row[j - 1] ? above + 1 : row[j - 1] + 1;
            row[j] = replaced < row[j] ? replaced : row[j];
            diagonal = above;
        }
    }
    return row[n];
}

static vf_status unknown(const reading *r, const char *word, size_t length)
{
    const char *nearest = NULL;
    size_t least = length / 3 + 2; /* more edits than this are not a typing error */
    for (const program_option *row = r->table; row->kind != OPTION_END; row++) {
        const size_t distance = is_group(row) ? SIZE_MAX : edits(word, length, row->name);
        if (distance < least) {
            least = distance;
            nearest = row->name;
        }
    }
    const char *guess = nearest ? "; did you mean --" : "", *end = nearest ? "?" : ";";
    return vf_fail(r->ctx, VF_ERR_ARGUMENT, "unknown option --%.*s%s%s%s %s --help lists the options", (int)length,
                   word, guess, nearest ? nearest : "", end, r->name);
}

/* The row of a long name. A unique prefix is enough. */
static vf_status find_long(const reading *r, const char *word, size_t length, const program_option **found)
{
    char names[LIST_TEXT] = "";
    size_t used = 0;
    int candidates = 0, shown = 0;
    *found = row_named(r->table, word, length);
    if (*found)
        return VF_OK;
    for (const program_option *row = r->table; length > 0 && row->kind != OPTION_END; row++)
        if (!is_group(row) && strncmp(row->name, word, length) == 0) {
            if (used + strlen(row->name) + sizeof ", --, ..." <= sizeof names && shown == candidates)
                used = vf_append(names, sizeof names, "%s--%s", shown++ ? ", " : "", row->name);
            candidates++;
            *found = row;
        }
    if (candidates > 1)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "--%.*s is ambiguous: it may be one of %s%s; give more of the name",
                       (int)length, word, names, shown < candidates ? ", ..." : "");
    return candidates == 1 ? VF_OK : unknown(r, word, length);
}

static const program_option *row_of_letter(const program_option *table, char letter)
{
    for (; table->kind != OPTION_END; table++)
        if (!is_group(table) && table->letter == letter)
            return table;
    return NULL;
}

static vf_status find_short(const reading *r, char letter, const program_option **found)
{
    *found = row_of_letter(r->table, letter);
    return *found
               ? VF_OK
               : vf_fail(r->ctx, VF_ERR_ARGUMENT, "unknown option -%c; %s --help lists the options", letter, r->name);
}

/* Takes the next word as the argument of `option` (as the user spelled it). If that word is itself an option, the
 * argument is missing. */
static vf_status next_word(reading *r, const char *option, const char **argument)
{
    if (r->next == r->argc)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s needs a value; %s --help lists the options", option, r->name);
    *argument = r->argv[r->next++];
    const bool is_short = (*argument)[0] == '-' && (*argument)[1] != '\0' && (*argument)[2] == '\0';
    if (is_short ? row_of_letter(r->table, (*argument)[1]) != NULL
                 : strncmp(*argument, "--", 2) == 0 && row_named(r->table, *argument + 2, strlen(*argument + 2)))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s needs a value, but %s follows", option, *argument);
    return VF_OK;
}

/* ---- rows to settings ---- */

static vf_status take(reading *r, const program_option *row, const char *text)
{
    r->values->text[row - r->table] = text ? text : "";
    if (option_asks(row->kind)) {
        r->values->asked = row->kind;
        return VF_OK;
    }
    if (row->given)
        *(bool *)((char *)r->settings + row->given) = true;
    return option_parse(r->ctx, row, text, r->settings);
}

static option_form form_named(const char *word)
{
    return strcmp(word, "man") == 0    ? OPTION_FORM_MANUAL
           : strcmp(word, "bash") == 0 ? OPTION_FORM_BASH
           : strcmp(word, "zsh") == 0  ? OPTION_FORM_ZSH
                                       : OPTION_FORM_TEXT;
}

/* --name, --name=argument, --name argument. */
static vf_status take_long(reading *r, const char *word)
{
    const program_option *row;
    const char *equals = strchr(word, '='), *argument = equals ? equals + 1 : NULL;
    const int first = r->next - 1;
    vf_status status = find_long(r, word + 2, equals ? (size_t)(equals - word) - 2 : strlen(word + 2), &row);
    if (status != VF_OK)
        return status;
    if (row->kind == OPTION_HELP && argument && form_named(argument) != OPTION_FORM_TEXT)
        r->values->form = form_named(argument);
    else if (argument && !takes_argument(row))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "--%s takes no value, but %s gives one", row->name, word);
    if (takes_argument(row) && !argument)
        status = next_word(r, word, &argument);
    for (int n = first; status == VF_OK && n < r->next; n++)
        r->values->row[n] = row;
    return status == VF_OK ? take(r, row, argument) : status;
}

/* -o argument, -oargument, and several letters in one word. */
static vf_status take_short(reading *r, const char *word)
{
    for (const char *letter = word + 1; *letter && r->values->asked == OPTION_END; letter++) {
        const char option[] = {'-', *letter, '\0'};
        const program_option *row;
        const char *argument = letter[1] ? letter + 1 : NULL;
        vf_status status = find_short(r, *letter, &row);
        if (status == VF_OK && takes_argument(row) && !argument)
            status = next_word(r, option, &argument);
        VF_TRY(status, take(r, row, takes_argument(row) ? argument : NULL));
        if (status != VF_OK || takes_argument(row))
            return status;
    }
    return VF_OK;
}

static vf_status take_words(reading *r)
{
    vf_status status = VF_OK;
    bool ended = false;
    while (status == VF_OK && r->next < r->argc && r->values->asked == OPTION_END) {
        const char *word = r->argv[r->next++];
        if (ended || word[0] != '-' || word[1] == '\0')
            r->values->input[r->values->inputs++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else
            status = word[1] == '-' ? take_long(r, word) : take_short(r, word);
    }
    return status;
}

/* ---- checks between options ---- */

/* One condition of needs or excludes: "name", or "name=value|value". */
typedef struct condition {
    const program_option *row; /* NULL: no such option */
    const char *values, *end;  /* NULL if the condition has no values */
} condition;

/* Parses the condition at *text and moves *text behind it; false at the end. */
static bool next_condition(const program_option *table, const char **text, condition *out)
{
    const char *begin = *text ? *text + strspn(*text, " ") : "";
    const size_t length = strcspn(begin, " "), name = strcspn(begin, "= ");
    *out = (condition){.row = length > 0 ? row_named(table, begin, name) : NULL,
                       .values = begin[name] == '=' ? begin + name + 1 : NULL,
                       .end = begin + length};
    *text = out->end;
    return length > 0;
}

/* Whether the condition holds if the option has this text; NULL: the option was not given. */
static bool holds(const condition *c, const char *text)
{
    if (!c->values)
        return text != NULL;
    text = text ? text : c->row->initial;
    for (const char *value = c->values; text && value < c->end; value++) {
        const size_t length = strcspn(value, "| ");
        if (strlen(text) == length && strncmp(text, value, length) == 0)
            return true;
        value += length;
    }
    return false;
}

bool option_default_holds(const program_option *table, const char *conditions)
{
    condition c;
    while (next_condition(table, &conditions, &c))
        if (holds(&c, NULL))
            return true;
    return false;
}

/* "--method cg or adjoint". */
static void say_condition(const condition *c, char *text, size_t size)
{
    snprintf(text, size, "--%s", c->row->name);
    for (const char *value = c->values; value && value < c->end; value++) {
        const size_t length = strcspn(value, "| ");
        vf_append(text, size, "%s%.*s", value == c->values ? " " : " or ", (int)length, value);
        value += length;
    }
}

/* "--place, --neutralize or --concentration". */
char *option_conditions_text(const program_option *table, const char *conditions, char *text, size_t size)
{
    condition c, after;
    text[0] = '\0';
    while (next_condition(table, &conditions, &c)) {
        char one[LIST_TEXT];
        const char *rest = conditions;
        const bool last = !next_condition(table, &rest, &after);
        say_condition(&c, one, sizeof one);
        vf_append(text, size, "%s%s", text[0] == '\0' ? "" : last ? " or " : ", ", one);
    }
    return text;
}

static vf_status check_row(const reading *r, const program_option *row)
{
    char list[LIST_TEXT];
    const char *colon = row->why ? ": " : "", *why = row->why ? row->why : "";
    condition c;
    for (const char *rest = row->excludes; next_condition(r->table, &rest, &c);)
        if (holds(&c, r->values->text[c.row - r->table])) {
            say_condition(&c, list, sizeof list);
            return vf_fail(r->ctx, VF_ERR_ARGUMENT, "--%s cannot be combined with %s%s%s", row->name, list, colon, why);
        }
    bool met = !row->needs;
    for (const char *rest = row->needs; !met && next_condition(r->table, &rest, &c);)
        met = holds(&c, r->values->text[c.row - r->table]);
    return met ? VF_OK
               : vf_fail(r->ctx, VF_ERR_ARGUMENT, "--%s needs %s%s%s", row->name,
                         option_conditions_text(r->table, row->needs, list, sizeof list), colon, why);
}

static vf_status check_all(const reading *r)
{
    vf_status status = VF_OK;
    for (const program_option *row = r->table; status == VF_OK && row->kind != OPTION_END; row++) {
        if (r->values->text[row - r->table])
            status = check_row(r, row);
        else if (row->required)
            status = vf_fail(r->ctx, VF_ERR_ARGUMENT, "missing option --%s %s; %s --help lists the options", row->name,
                             row->argument, r->name);
    }
    return status;
}

/* ---- the whole command line ---- */

static vf_status take_defaults(const reading *r)
{
    vf_status status = VF_OK;
    for (const program_option *row = r->table; status == VF_OK && row->kind != OPTION_END; row++)
        if (row->initial)
            status = option_parse(r->ctx, row, row->initial, r->settings);
    return status;
}

static size_t rows_of(const program_option *table)
{
    size_t rows = 0;
    while (table[rows].kind != OPTION_END)
        rows++;
    return rows;
}

vf_status option_read(vf_context *ctx, const char *name, const program_option *table, int argc, char *const *argv,
                      void *settings, option_values *values)
{
    *values = (option_values){.text = calloc(rows_of(table) + 1, sizeof *values->text),
                              .input = calloc((size_t)argc + 1, sizeof *values->input),
                              .row = calloc((size_t)argc + 1, sizeof(program_option *))};
    reading r = {ctx, name, table, argc, 1, argv, settings, values};
    if (!values->text || !values->input || !values->row)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d arguments", argc);
    vf_status status = take_defaults(&r);
    VF_TRY(status, take_words(&r));
    return status == VF_OK && values->asked == OPTION_END ? check_all(&r) : status;
}

void option_values_free(option_values *values)
{
    free(values->text);
    free(values->input);
    free((void *)values->row);
    *values = (option_values){0};
}

/* ---- checks of the table ---- */

static bool conditions_exist(const program_option *table, const char *conditions)
{
    condition c;
    while (next_condition(table, &conditions, &c))
        if (!c.row || (c.values && c.values == c.end))
            return false;
    return true;
}

static bool has_number(const program_option *row)
{
    return row->kind == OPTION_NUMBER || row->kind == OPTION_TRIPLE || row->kind == OPTION_INTEGER ||
           row->kind == OPTION_COUNTS;
}

/* The mistake in a row; NULL: none. */
static const char *row_trouble(const program_option *table, const program_option *row)
{
    const bool flag = row->kind == OPTION_FLAG || option_asks(row->kind);
    const bool words = row->kind == OPTION_CHOICE || row->kind == OPTION_WORD;
    if (!row->name || row->name[0] == '\0')
        return "has no name";
    if (is_group(row))
        return NULL;
    if (!is_group(table))
        return "comes before the first group";
    if (row_named(table, row->name, strlen(row->name)) != row)
        return "has the name of another row";
    if (strlen(row->name) >= NAME_TEXT)
        return "has too long a name";
    if (!row->help || row->help[0] == '\0')
        return "has no help";
    if (flag ? row->argument != NULL : row->kind != OPTION_CUSTOM && !row->argument)
        return flag ? "is a flag with an argument" : "has no name for its argument";
    if (has_number(row) && !(row->least < row->most))
        return "has no range";
    if (words && !(row->choices && row->choices[0].word))
        return "has no choices";
    if (row->kind == OPTION_CUSTOM && !row->parse)
        return "has no parser";
    if (!conditions_exist(table, row->needs))
        return "needs an option that does not exist";
    return conditions_exist(table, row->excludes) ? NULL : "excludes an option that does not exist";
}

vf_status option_check_table(vf_context *ctx, const program_option *table)
{
    for (const program_option *row = table; row->kind != OPTION_END; row++) {
        const char *trouble = row_trouble(table, row);
        if (trouble)
            return vf_fail(ctx, VF_ERR_INTERNAL, "row %d of the options, --%s, %s", (int)(row - table),
                           row->name ? row->name : "", trouble);
    }
    return VF_OK;
}
