/* What all programs share: the frame around main, and checks of file names. For options, see options.h. */
#ifndef VOXFIELD_PROGRAM_H
#define VOXFIELD_PROGRAM_H

#include "facts.h"
#include "options.h"
#include "voxfield/context.h"
#include "voxfield/device.h"

/* ---- the frame: program.c ---- */

typedef struct program {
    const char *name;            /* "cionize" */
    const char *about;           /* one line, without a capital or a period */
    const char *const *synopsis; /* usage lines without the program's name, up to NULL: "[options] molecule.pqr" */
    const char *intro;           /* a paragraph of --help below the synopsis; NULL: none */
    const char *examples;        /* command lines for --help, one per line, without the last newline; NULL: none */
    const char *incomplete;      /* meaning of exit status 9: "not all ions fitted"; NULL: never used */
    const vf_status *failures;   /* statuses that occur besides VF_OK and `incomplete`, up to VF_OK; NULL: all */
    const program_option *options;
    const char *const *endings;        /* of input files, up to NULL; NULL: the program takes one input at a time */
    const char *suffix;                /* of the names of outputs that follow from the input's: "_image"; NULL: none */
    const char *input, *input_example; /* "molecule", "molecule.pqr": the one input file; NULL: no input */
    void *settings;                    /* the struct that the options fill */
    size_t input_at;                   /* offset of the input's const char * in the settings */
    vf_status (*run)(vf_context *ctx, struct program *program);
    /* Set by program_main: */
    option_values given;
    bool quiet;     /* --quiet: notes are not printed */
    bool has_ended; /* with an error that was printed */
    bool launched;  /* as one of several, by MPI's launcher */
    bool in_job;    /* MPI was started */
    int rank;       /* in an MPI job, by the environment; others than 0 are silent: rank 0 speaks for all */
    char **names;   /* [name_count] of outputs, made from the input's */
    int name_count;
    int argc;
    char **argv; /* the command line */
} program;

/* The body of main(): standard streams, context, messages, signals, options, --help and --version. Returns the exit
 * status. Options named "quiet", "dry-run" and "report" mean the same in all programs. */
int program_main(program *program, int argc, char **argv);

/* Prints the context's error, once; ranks other than 0 are silent. */
void program_print_error(const vf_context *ctx, program *program);

/* Whether the user gave an option. */
bool program_given(const program *program, const char *option);

/* ---- files: program_files.c ---- */

typedef struct program_file {
    const char *what, *path; /* "the picture"; path may be NULL */
} program_file;

/* Fails if two names are the same file. */
VF_MUST_CHECK vf_status program_check_names(vf_context *ctx, const program_file *files, int count);

/* Checks before the work that a file can be created at `path` and that about `bytes` are free there. `advice` ends the
 * message: "use a larger --spacing". */
VF_MUST_CHECK vf_status program_check_place(vf_context *ctx, const char *path, double bytes, const char *advice);

/* The size of a regular file; 0 for anything else, or if the size is unknown. */
double program_file_bytes(const char *path);

/* "gpu_start": the time to start GPUs, and how long the run waited for it. Nothing if no GPU was started ahead. */
void program_facts_of_warm_up(vf_context *ctx, facts *f);

/* `path` with `ending` in place of the first of the NULL-terminated `endings` (in any case) that it has. If it has
 * none, `ending` is appended. free() the result. NULL: no memory. */
char *program_replace_ending(const char *path, const char *const *endings, const char *ending);

/* The command line as one string, without control characters, and without options that divide the work among runs or
 * keep it (--part, --join, --resume), which do not change the result; free() it. NULL: no memory. */
char *program_command(const program *program);

/* The time now, UTC, ISO 8601; or that of the environment variable SOURCE_DATE_EPOCH, in seconds since 1970, with which
 * the same run makes the same bytes (https://reproducible-builds.org/specs/source-date-epoch/). */
enum { PROGRAM_TIME_TEXT = 32 };
void program_time(char text[PROGRAM_TIME_TEXT]);

#endif
