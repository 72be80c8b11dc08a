/* Prints a program's completion for bash and for zsh. Both are the same shell code for all programs around a list that
 * says, for each option, which words and which files it takes. */
#include <string.h>

#include "completion.h"

/* ---- shell words ---- */

/* A text within single quotes; characters of `escaped` get a backslash besides. */
static void print_quoted(FILE *to, const char *text, size_t length, const char *escaped)
{
    for (size_t n = 0; n < length; n++)
        if (text[n] == '\'')
            fputs("'\\''", to);
        else
            fprintf(to, strchr(escaped, text[n]) ? "\\%c" : "%c", text[n]);
}

static void print_text(FILE *to, const char *text, const char *escaped)
{
    print_quoted(to, text, strlen(text), escaped);
}

/* ---- what an option takes ---- */

typedef enum item { ITEM_WORD, ITEM_ENDING, ITEM_FOLDER } item;

static item kind_of(const char *word)
{
    return word[0] == '.' ? ITEM_ENDING : word[0] == '/' ? ITEM_FOLDER : ITEM_WORD;
}

static const char *completes(const program_option *row)
{
    return row->kind == OPTION_PICTURE ? ".png" : row->completes ? row->completes : "";
}

/* Whether the list of the row has items of this kind; with `to`, prints each in quotes, endings without their dots. */
static bool list_items(FILE *to, const char *list, item kind, const char *escaped)
{
    bool any = false;
    for (list += strspn(list, " "); *list; list += strspn(list, " ")) {
        const size_t length = strcspn(list, " "), dot = kind == ITEM_ENDING;
        if (kind_of(list) == kind) {
            any = true;
            if (to) {
                fputs(" '", to);
                print_quoted(to, list + dot, length - dot, escaped);
                fputc('\'', to);
            }
        }
        list += length;
    }
    return any;
}

static bool takes_words(const program_option *row)
{
    return row->choices || list_items(NULL, completes(row), ITEM_WORD, "");
}

/* The kind of files: "some" by their endings, "all", "folders"; NULL: no files. */
static const char *takes_files(const program_option *row)
{
    const char *list = completes(row);
    if (list_items(NULL, list, ITEM_ENDING, ""))
        return "some";
    if (list_items(NULL, list, ITEM_FOLDER, ""))
        return "folders";
    return row->kind == OPTION_READ || row->kind == OPTION_WRITE ? "all" : NULL;
}

static bool is_completed(const program_option *row)
{
    return row->argument && (takes_words(row) || takes_files(row));
}

/* "words=('a' 'b') files=some endings=('c')". In zsh, a word may be followed by a colon and its meaning. */
static void print_taken(FILE *to, const program_option *row, bool zsh)
{
    const char *escaped = zsh ? ":\\" : "", *files = takes_files(row);
    if (takes_words(row)) {
        fputs(" words=(", to);
        for (const option_choice *c = row->choices; c && c->word; c++) {
            fputs(" '", to);
            print_text(to, c->word, escaped);
            if (zsh && c->help) {
                fputc(':', to);
                print_text(to, c->help, "");
            }
            fputc('\'', to);
        }
        list_items(to, completes(row), ITEM_WORD, escaped);
        fputs(" )", to);
    }
    if (files)
        fprintf(to, " files=%s", files);
    if (files && strcmp(files, "some") == 0) {
        fputs(" endings=(", to);
        list_items(to, completes(row), ITEM_ENDING, "");
        fputs(" )", to);
    }
}

/* The same of the input files. */
static void print_inputs(FILE *to, const completion *c)
{
    if (c->input && c->endings) {
        fputs(" files=some endings=(", to);
        for (const char *const *ending = c->endings; *ending; ending++)
            fprintf(to, " '%s'", *ending + 1);
        fputs(" )", to);
    } else if (c->input) {
        fputs(" files=all", to);
    }
}

/* ---- bash ---- */

static void print_names(FILE *to, const program_option *row)
{
    if (row->letter)
        fprintf(to, "-%c | ", row->letter);
    fprintf(to, "--%s)", row->name);
}

void completion_print_bash(FILE *to, const completion *c)
{
    /* Readline takes the = of --option=value for a word of its own. After --, all words are inputs. */
    fprintf(to,
            "# Completion of %s for bash. The program prints it: %s --help=bash\n"
            "_%s()\n{\n"
            "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} files='' earlier\n"
            "    local -a words=() endings=()\n"
            "    if [[ $word == = ]]; then\n"
            "        word=''\n"
            "    elif [[ $option == = ]] && ((COMP_CWORD > 1)); then\n"
            "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
            "    fi\n"
            "    for earlier in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do\n"
            "        if [[ $earlier == -- ]]; then option=--; fi\n"
            "    done\n"
            "    case $option in\n",
            c->program, c->program, c->program);
    for (const program_option *row = c->table; row->kind != OPTION_END; row++)
        if (row->kind != OPTION_GROUP && row->argument) {
            fputs("    ", to);
            print_names(to, row);
            print_taken(to, row, false);
            fputs(is_completed(row) ? " ;;\n" : " return ;;\n", to);
        }
    fputs("    *)\n        if [[ $word == -* && $option != -- ]]; then\n            words=(", to);
    for (const program_option *row = c->table; row->kind != OPTION_END; row++)
        if (row->kind != OPTION_GROUP)
            fprintf(to, " --%s", row->name);
    fputs(" )\n        else\n           ", to);
    print_inputs(to, c);
    fputs(c->input ? "\n" : " return\n", to);
    fprintf(to,
            "        fi ;;\n"
            "    esac\n"
            "    local -a found=()\n"
            "    if ((${#words[@]})); then mapfile -t found < <(compgen -W \"${words[*]}\" -- \"$word\"); fi\n"
            "    COMPREPLY=(\"${found[@]}\")\n"
            "    if [[ ${#found[@]} == 1 && ${found[0]} == *: ]]; then compopt -o nospace; fi\n"
            "    if [[ ! $files ]]; then return; fi\n"
            "    local ending\n"
            "    compopt -o filenames\n"
            "    for ending in \"${endings[@]}\"; do\n"
            "        mapfile -t found < <(compgen -f -X \"!*.$ending\" -- \"$word\")\n"
            "        COMPREPLY+=(\"${found[@]}\")\n"
            "    done\n"
            "    mapfile -t found < <(compgen -d -- \"$word\")\n"
            "    COMPREPLY+=(\"${found[@]}\")\n"
            "    # A file may have any name: if no other fits, all are offered.\n"
            "    if [[ $files == all || ($files == some && ${#COMPREPLY[@]} == 0) ]]; then\n"
            "        mapfile -t found < <(compgen -f -- \"$word\")\n"
            "        COMPREPLY+=(\"${found[@]}\")\n"
            "    fi\n"
            "}\n"
            "complete -F _%s %s\n",
            c->program, c->program);
}

/* ---- zsh ---- */

/* A line of _arguments: '*'{-o+,--output=}'[help]:FILE: _cionize_value output'. */
static void print_spec(FILE *to, const completion *c, const program_option *row)
{
    const char *letter = row->argument ? "+" : "", *name = row->argument ? "=" : "";
    fputs("    '*'", to);
    if (row->letter)
        fprintf(to, "{-%c%s,--%s%s}'[", row->letter, letter, row->name, name);
    else
        fprintf(to, "--%s%s'[", row->name, name);
    print_quoted(to, row->help, option_help_length(row), "[]:\\");
    fputs("]", to);
    if (row->argument) {
        fputs(":", to);
        print_text(to, row->argument, ":\\");
        fputs(":", to);
        if (is_completed(row))
            fprintf(to, " _%s_value %s", c->program, row->name);
    }
    fputs("' \\\n", to);
}

void completion_print_zsh(FILE *to, const completion *c)
{
    fprintf(to,
            "#compdef %s\n"
            "# Completion of %s for zsh. The program prints it: %s --help=zsh\n"
            "_%s_value()\n{\n"
            "    local files=''\n"
            "    local -a words endings\n"
            "    local -i none=1\n"
            "    case $1 in\n",
            c->program, c->program, c->program, c->program);
    for (const program_option *row = c->table; row->kind != OPTION_END; row++)
        if (row->kind != OPTION_GROUP && is_completed(row)) {
            fprintf(to, "    %s)", row->name);
            print_taken(to, row, true);
            fputs(" ;;\n", to);
        }
    if (c->input) {
        fputs("    input)", to);
        print_inputs(to, c);
        fputs(" ;;\n", to);
    }
    fprintf(to, "    esac\n"
                "    if (( $#words )); then _describe -t values value words && none=0; fi\n"
                "    case $files in\n"
                "    some) _files -g \"*.(${(j:|:)endings})(-.)\" && none=0 ;;\n"
                "    all) _files && none=0 ;;\n"
                "    folders) _files -/ && none=0 ;;\n"
                "    esac\n"
                "    return none\n"
                "}\n\n"
                "_arguments -s -S : \\\n");
    for (const program_option *row = c->table; row->kind != OPTION_END; row++)
        if (row->kind != OPTION_GROUP)
            print_spec(to, c, row);
    if (c->input)
        fprintf(to, "    '*:%s: _%s_value input'\n", c->input, c->program);
    else
        fputs("    && return 0\n", to);
}
