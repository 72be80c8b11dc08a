/* The options of a program in one table. The parser, --help, the manual page's list and the checks all use it.
 *
 * A table is an array of program_option that ends with {0}. A row of kind OPTION_GROUP is a heading for the rows below
 * it. The values go into a settings struct of any type:
 *
 *   static const program_option options[] = {
 *       {OPTION_GROUP, .name = "Grid", .help = "Lengths are in angstrom."},
 *       {OPTION_NUMBER, .name = "border", .argument = "B", OPTION_TO(settings, border), .least = 0, .most = 1e5,
 *        .unit = "angstrom", .initial = "10", .help = "margin around the molecule on all sides", .excludes = "size"},
 *       {0}};
 */
#ifndef VOXFIELD_OPTIONS_H
#define VOXFIELD_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "voxfield/context.h"

typedef enum option_kind {
    OPTION_END,
    OPTION_GROUP,   /* a heading; `help`, if any, introduces its options: whole sentences */
    OPTION_FLAG,    /* no argument: sets a bool to true, an int to 1 */
    OPTION_TEXT,    /* const char *: any text */
    OPTION_READ,    /* const char *: a file to read; its name is not empty */
    OPTION_WRITE,   /* const char *: a file to write; its name is not empty */
    OPTION_PICTURE, /* const char *: the same, a PNG file */
    OPTION_NUMBER,  /* double in [least, most] */
    OPTION_TRIPLE,  /* double[3] in [least, most]: x,y,z, or one number for all three */
    OPTION_INTEGER, /* int or int64_t in [least, most] */
    OPTION_COUNTS,  /* int64_t[3] in [least, most]: x,y,z, or one number for all three */
    OPTION_CHOICE,  /* int, enum or bool: the value of one of `choices` */
    OPTION_WORD,    /* const char *: the word of one of `choices` */
    OPTION_CUSTOM,  /* `parse` reads it; without `argument` it is a flag */
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_DEVICES,
} option_kind;

/* Whether an option asks for something to be printed, and for nothing else. */
static inline bool option_asks(option_kind kind)
{
    return kind == OPTION_HELP || kind == OPTION_VERSION || kind == OPTION_DEVICES;
}

/* What an option changes. */
typedef enum option_scope {
    OPTION_OF_RESULT,   /* the result, or which files are written; most do */
    OPTION_OF_RUN,      /* how the result is made: devices, threads, messages, folders */
    OPTION_OF_REPORT,   /* what is said about the result: --compare */
    OPTION_OF_KEEPING,  /* what is kept of the work for later runs: --resume */
    OPTION_OF_DIVISION, /* which share of the work, or of a batch's inputs, this run has: --part */
    OPTION_OF_BATCH,    /* which inputs there are: --list */
} option_scope;

typedef struct option_choice {
    const char *word;
    int value;
    const char *help; /* for the manual page; NULL: none */
} option_choice;

typedef struct program_option {
    option_kind kind;
    char letter; /* of the short form; 0: none */
    bool required;
    option_scope scope;
    const char *name;             /* "ion-solute" */
    const char *argument;         /* as in --help: "FILE"; NULL: the option takes none */
    size_t at, size;              /* OPTION_TO */
    size_t given;                 /* OPTION_GIVEN: a bool that becomes true if the user gives the option; 0: none */
    double least, most;           /* the range, both ends included; most may be INFINITY */
    const char *unit;             /* of numbers; NULL: none */
    const option_choice *choices; /* ends with {0} */
    vf_status (*parse)(vf_context *ctx, const char *option, const char *text, void *settings);
    const char *initial; /* the default, parsed like an argument before all others; NULL: settings keep their value */
    const char *default_help; /* the default in words, if `initial` does not show it; "": not mentioned */
    const char *help;         /* a noun phrase for --help, without a capital or a period; the manual page adds them */
    const char *more;         /* further sentences for the manual page; --names and `words` become bold */
    const char *needs;        /* conditions, one of which must hold: "place neutralize", "method=cg|adjoint" */
    const char *excludes;     /* conditions, none of which may hold; enough in one of the two options */
    const char *why;          /* ends the message of needs and excludes: "direct sums are exact"; NULL: none */
    const char *completes;    /* what a shell offers besides `choices`: words, endings of files with their dots, / for
                               * folders: "auto file .h5 .cfl"; NULL: any file if the kind is one, else nothing */
} program_option;

#define OPTION_TO(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define OPTION_GIVEN(type, member) .given = offsetof(type, member) /* not the first member */

/* Rows of all programs. */
#define OPTION_ROWS_HELP                                                                                               \
    {OPTION_HELP, .letter = 'h', .name = "help", .help = "this list of options",                                       \
     .more = "--help=bash and --help=zsh print completion for these shells."},                                         \
    {                                                                                                                  \
        OPTION_VERSION, .name = "version", .help = "the version"                                                       \
    }

#define OPTION_ROW_DEVICES                                                                                             \
    {                                                                                                                  \
        OPTION_DEVICES, .name = "devices",                                                                             \
                        .help = "the devices of this machine: names for --device, memory, and what they are good for"  \
    }

/* What --help prints. The other forms are for what is built of the table. */
typedef enum option_form {
    OPTION_FORM_TEXT,
    OPTION_FORM_MANUAL, /* --help=man: the manual page's list in mdoc(7) */
    OPTION_FORM_BASH,   /* --help=bash, --help=zsh: completion.h */
    OPTION_FORM_ZSH,
} option_form;

/* The result of option_read. Free with option_values_free. */
typedef struct option_values {
    const char **text;  /* [rows] the argument ("" of a flag); NULL: the option was not given */
    const char **input; /* [inputs] words that are not options, in order */
    int inputs;
    const program_option *
        *row;          /* [argc] the option that each word of the command line belongs to; NULL: none, or it has
                                 * several, as -qp 2 */
    option_kind asked; /* the kind of the option, if the user asked only for what it prints; else OPTION_END */
    option_form form;  /* with OPTION_HELP: --help=man, for example */
} option_values;

/* Reads argv[1 ...] by the table into `settings`, after the defaults. If an option is repeated, the last one counts.
 * Then checks required options, needs and excludes. Long names may be shortened; "--" ends the options; "-" is an
 * input. Options that ask for something to be printed end the reading at once. `name` is the program's, for messages. Errors:
 * VF_ERR_ARGUMENT, VF_ERR_MEMORY, and those of the parsers. */
VF_MUST_CHECK vf_status option_read(vf_context *ctx, const char *name, const program_option *table, int argc,
                                    char *const *argv, void *settings, option_values *values);
void option_values_free(option_values *values);
/* The option's argument ("" of a flag). NULL: the option was not given or does not exist. */
const char *option_text(const program_option *table, const option_values *values, const char *name);

/* Fails if the table has a mistake: a row without help or before the first group, a repeated name, a condition on an
 * option that does not exist, an empty range. Errors: VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status option_check_table(vf_context *ctx, const program_option *table);

enum { OPTION_HELP_WIDTH = 100 }; /* columns in --help */
/* Prints the options by groups, as --help or as mdoc(7) for the manual page. */
void option_print_help(FILE *to, const program_option *table);
void option_print_manual(FILE *to, const program_option *table);
/* The length of a row's help without ", or one of", which words follow in --help. */
size_t option_help_length(const program_option *row);
/* Prints `text` wrapped at this width, starting in this column. All lines but the first are indented. */
void option_print_wrapped(FILE *to, const char *text, int column, int indent);

/* ---- option_values.c: one argument; messages name the option ---- */

/* Parses the argument of a row of any kind that does not only ask for something to be printed. */
VF_MUST_CHECK vf_status option_parse(vf_context *ctx, const program_option *row, const char *text, void *settings);
/* One number in [least, most], not NaN. `unit` may be NULL. For parsers of OPTION_CUSTOM rows. */
VF_MUST_CHECK vf_status option_number(vf_context *ctx, const char *option, const char *text, double least, double most,
                                      const char *unit, double *value);
/* "from 0 to 10 mm", "of 1 or more". */
char *option_range_text(double least, double most, const char *unit, char *text, size_t size);
/* Conditions of needs and excludes: "--place or --method cg". */
char *option_conditions_text(const program_option *table, const char *conditions, char *text, size_t size);
/* Whether the defaults meet one of the conditions. */
bool option_default_holds(const program_option *table, const char *conditions);
/* "cg, adjoint or gridding". */
char *option_choices_text(const option_choice *choices, char *text, size_t size);

/* The parser of --threads: sets the number of threads of the context. */
vf_status option_threads(vf_context *ctx, const char *option, const char *text, void *settings);

#endif
