/* What the programs have in common: the frame around main, and checking the names of files. Options: options.h. */
#ifndef VOXFIELD_PROGRAM_H
#define VOXFIELD_PROGRAM_H

#include "options.h"
#include "voxfield/context.h"
#include "voxfield/device.h"
#include "voxfield/report.h"

/* ---- the frame: program.c ---- */

typedef struct program {
    const char *name;            /* "cionize" */
    const char *about;           /* one line, without a capital or a period */
    const char *const *synopsis; /* what may follow the name, a line each, up to NULL: "[options] molecule.pqr" */
    const char *intro;           /* a paragraph of --help below that; NULL: none */
    const char *examples;        /* command lines for --help, a line each, without their end; NULL: none */
    const char *incomplete;      /* what exit status 9 means: "not all ions fitted"; NULL: it does not occur */
    const vf_status *failures;   /* those that occur besides VF_OK and `incomplete`, up to VF_OK; NULL: all */
    const program_option *options;
    const char *input, *input_example; /* "molecule", "molecule.pqr": one file to read; NULL: none is */
    void *settings;                    /* what the options are read into */
    size_t input_at;                   /* const char * in the settings */
    /* Does the work. */
    vf_status (*run)(vf_context *ctx, const struct program *program);
    /* Set by program_main: */
    option_values given;
    bool quiet; /* --quiet: notes are not printed */
    int argc;
    char **argv; /* the command line */
} program;

/* main()'s body: standard streams, context, messages, signals, options, --help and --version; returns the exit status.
 * Options named "quiet", "dry-run" and "report" have the same meaning in all programs. */
int program_main(program *program, int argc, char **argv);

/* Whether an option was given. */
bool program_given(const program *program, const char *option);

/* ---- files: program_files.c ---- */

typedef struct program_file {
    const char *what, *path; /* "the picture"; path may be NULL */
} program_file;

/* Refuses two names that lead to one file. */
VF_MUST_CHECK vf_status program_check_names(vf_context *ctx, const program_file *files, int count);

/* Whether a file can be made under this name and has room for so many bytes, about: said before the work, not after it.
 * `advice` ends the message: "use a larger --spacing". */
VF_MUST_CHECK vf_status program_check_place(vf_context *ctx, const char *path, double bytes, const char *advice);

/* The size of a regular file; 0 for what is none, or cannot be asked. */
double program_file_bytes(const char *path);

/* "gpu_start": what starting GPUs took, and how much of it was waited for; nothing if none was started ahead. */
void program_report_warm_up(vf_context *ctx, vf_report *report);

/* `path` with `ending` in place of the first of the NULL-terminated `endings` (in any case) that it has, else behind
 * it; free() it. NULL: no memory. */
char *program_replace_ending(const char *path, const char *const *endings, const char *ending);

/* The command line as one string, without control characters; free() it. NULL: no memory. */
char *program_join_arguments(int argc, char *const *argv);

/* The time now, UTC, ISO 8601. */
enum { PROGRAM_TIME_TEXT = 32 };
void program_time(char text[PROGRAM_TIME_TEXT]);

#endif
