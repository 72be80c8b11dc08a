/* Prints a table of options: --help, and the list of the manual page. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "voxfield/append.h"

enum { COLUMN = 29, LINE_TEXT = 2048 };

/* ---- phrases made from a row ---- */

static const char *default_text(const program_option *row)
{
    const char *text = row->default_help ? row->default_help : row->initial;
    return text && text[0] ? text : NULL;
}

/* Appends the separator and the text. */
static void append(char *line, const char *between, const char *text)
{
    vf_append(line, LINE_TEXT, "%s%s", between, text);
}

/* Whether --help names the prerequisite: only if it is a single option that the defaults do not provide. */
static bool says_needs(const program_option *table, const program_option *row)
{
    return row->needs && !strchr(row->needs, ' ') && !option_default_holds(table, row->needs);
}

/* "what is averaged: mean or median (default: mean; needs --frames)". */
static void help_line(const program_option *table, const program_option *row, char *line)
{
    char words[LINE_TEXT] = "";
    snprintf(line, LINE_TEXT, "%s", row->help);
    if (row->choices)
        append(line, ": ", option_choices_text(row->choices, words, sizeof words));
    const char *standard = default_text(row), *between = " (";
    if (standard) {
        append(line, between, "default: ");
        append(line, "", standard);
        between = "; ";
    }
    if (says_needs(table, row)) {
        append(line, between, "needs ");
        append(line, "", option_conditions_text(table, row->needs, words, sizeof words));
        between = "; ";
    }
    if (strcmp(between, "; ") == 0)
        append(line, "", ")");
}

/* ---- --help ---- */

void option_print_wrapped(FILE *to, const char *text, int column, int indent)
{
    for (bool first = true; *text; first = false) {
        text += strspn(text, " ");
        const int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > OPTION_HELP_WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", length, text);
        column += length;
        text += length;
    }
    fputc('\n', to);
}

static void print_row(FILE *to, const program_option *table, const program_option *row)
{
    char line[LINE_TEXT], option[LINE_TEXT];
    const char letter[] = {'-', row->letter, ',', ' ', '\0'};
    const int used = snprintf(option, sizeof option, "  %s--%s%s%s", row->letter ? letter : "", row->name,
                              row->argument ? " " : "", row->argument ? row->argument : "");
    if (used + 2 > COLUMN)
        fprintf(to, "%s\n%*s", option, COLUMN, "");
    else
        fprintf(to, "%-*s", COLUMN, option);
    help_line(table, row, line);
    option_print_wrapped(to, line, COLUMN, COLUMN);
}

void option_print_help(FILE *to, const program_option *table)
{
    for (const program_option *row = table; row->kind != OPTION_END; row++)
        if (row->kind == OPTION_GROUP) {
            fprintf(to, "\n%s\n", row->name);
            if (row->help) {
                fputs("  ", to);
                option_print_wrapped(to, row->help, 2, 2);
            }
        } else {
            print_row(to, table, row);
        }
}

/* ---- the manual page ---- */

static bool is_name_letter(char c)
{
    return isalnum((unsigned char)c) || c == '-';
}

/* Prints sentences as mdoc, one a line, with --names and `words` in bold. `capital`: capitalises the first letter. */
static void print_prose(FILE *to, const char *text, bool capital)
{
    bool bold = false;
    for (const char *c = text; *c; c++) {
        if ((c == text || c[-1] == '\n') && (*c == '.' || *c == '\''))
            fputs("\\&", to);
        if (*c == '`') {
            bold = !bold;
            fputs(bold ? "\\fB" : "\\fP", to);
        } else if (!bold && strncmp(c, "--", 2) == 0 && is_name_letter(c[2]) && (c == text || !is_name_letter(c[-1]))) {
            fputs("\\fB\\-\\-", to);
            for (c += 2; is_name_letter(*c); c++)
                fputs(*c == '-' ? "\\-" : (const char[]){*c, '\0'}, to);
            fputs("\\fP", to);
            c--;
        } else if (*c == '\\') {
            fputs("\\e", to);
        } else if (*c == ' ' && c > text && c[-1] == '.' && (isupper((unsigned char)c[1]) || c[1] == '`')) {
            fputc('\n', to);
        } else {
            fputc(c == text && capital ? toupper((unsigned char)*c) : *c, to);
        }
    }
}

size_t option_help_length(const program_option *row)
{
    static const char open[] = ", or one of";
    const size_t length = strlen(row->help), end = sizeof open - 1;
    return row->choices && length > end && strcmp(row->help + length - end, open) == 0 ? length - end : length;
}

/* The help as a sentence. Where --help goes on with the words, the page has them further down. */
static void print_sentence(FILE *to, const program_option *row)
{
    print_prose(to, row->help, true);
    fputs(row->help[option_help_length(row)] ? " the words below.\n" : ".\n", to);
}

/* "One number, or three (x,y,z), from 0 to 10 mm." */
static void print_range(FILE *to, const program_option *row)
{
    const char *what = row->kind == OPTION_NUMBER    ? "A number"
                       : row->kind == OPTION_INTEGER ? "A whole number"
                       : row->kind == OPTION_TRIPLE  ? "One number, or three (x,y,z), each"
                       : row->kind == OPTION_COUNTS  ? "One whole number, or three (x,y,z), each"
                                                     : NULL;
    char range[LINE_TEXT];
    if (what)
        fprintf(to, "%s %s.\n", what, option_range_text(row->least, row->most, row->unit, range, sizeof range));
}

static void print_choices(FILE *to, const option_choice *choices)
{
    char words[LINE_TEXT];
    if (!choices[0].help) {
        fprintf(to, "One of: \\fB%s\\fP.\n", option_choices_text(choices, words, sizeof words));
        return;
    }
    fputs(".Bl -tag -width Ds -compact\n", to);
    for (const option_choice *c = choices; c->word; c++) {
        fprintf(to, ".It Cm %s\n", c->word);
        print_prose(to, c->help, false);
        fputs("\n", to);
    }
    fputs(".El\n", to);
}

/* Whether a list of conditions names this option, with any value. */
static bool names_option(const char *conditions, const char *name)
{
    const size_t length = strlen(name);
    for (const char *c = conditions; c && *c; c += strspn(c, " ")) {
        const size_t word = strcspn(c, " ");
        if (word == length && strncmp(c, name, length) == 0)
            return true;
        c += word;
    }
    return false;
}

/* The options that the row excludes, and those that exclude it. */
static void print_excluded(FILE *to, const program_option *table, const program_option *row)
{
    char all[LINE_TEXT] = "", words[LINE_TEXT];
    append(all, "", row->excludes ? row->excludes : "");
    for (const program_option *other = table; other->kind != OPTION_END; other++)
        if (names_option(other->excludes, row->name) && !names_option(all, other->name))
            append(all, all[0] ? " " : "", other->name);
    if (!all[0])
        return;
    print_prose(to, "Cannot be combined with ", false);
    print_prose(to, option_conditions_text(table, all, words, sizeof words), false);
    fputs(".\n", to);
}

static void print_item(FILE *to, const program_option *table, const program_option *row)
{
    char words[LINE_TEXT] = "";
    const char *space = row->argument ? " Ar " : "", *argument = row->argument ? row->argument : "";
    fputs(".It ", to);
    if (row->letter)
        fprintf(to, "Fl %c%s%s , ", row->letter, space, argument);
    fprintf(to, "Fl -%s%s%s\n", row->name, space, argument);
    print_sentence(to, row);
    if (row->more) {
        print_prose(to, row->more, false);
        fputs("\n", to);
    }
    if (row->choices)
        print_choices(to, row->choices);
    print_range(to, row);
    const char *standard = default_text(row);
    if (standard) {
        fputs("Default: ", to);
        print_prose(to, standard, false);
        fputs(".\n", to);
    }
    if (row->required)
        fputs("Required.\n", to);
    if (row->needs) {
        fputs("Needs ", to);
        print_prose(to, option_conditions_text(table, row->needs, words, sizeof words), false);
        fputs(".\n", to);
    }
    print_excluded(to, table, row);
}

void option_print_manual(FILE *to, const program_option *table)
{
    bool open = false;
    for (const program_option *row = table; row->kind != OPTION_END; row++)
        if (row->kind == OPTION_GROUP) {
            fprintf(to, "%s.Ss %s\n", open ? ".El\n" : "", row->name);
            if (row->help) {
                print_prose(to, row->help, false);
                fputs("\n", to);
            }
            fputs(".Bl -tag -width Ds\n", to);
            open = true;
        } else {
            print_item(to, table, row);
        }
    fputs(open ? ".El\n" : "", to);
}
