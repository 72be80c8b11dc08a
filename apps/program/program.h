/* What the programs have in common: reading options, checking the names of files, and the frame around the work. */
#ifndef VOXFIELD_PROGRAM_H
#define VOXFIELD_PROGRAM_H

#include <getopt.h>

#include "voxfield/context.h"
#include "voxfield/device.h"
#include "voxfield/report.h"

/* ---- the frame: program.c ---- */

typedef struct program {
    const char *name;  /* "cionize" */
    const char *usage; /* the text of --help */
    bool quiet;        /* notes are not printed */
    int argc;
    char **argv; /* as they were given; getopt may reorder what `run` gets */
    /* Reads the options and does the work. */
    vf_status (*run)(vf_context *ctx, struct program *program, int argc, char **argv);
} program;

/* main()'s body: standard streams, context, messages, signals; returns the exit status. */
int program_main(program *program, int argc, char **argv);

/* Prints --help's text or --version's and ends the process. */
_Noreturn void program_print_and_exit(const program *program, bool help);

/* ---- options: program_options.c; messages name the option ---- */

/* Refuses a value that is itself one of the `options`, which getopt_long takes without a word; to be called after each
 * of its calls. */
VF_MUST_CHECK vf_status program_value(vf_context *ctx, char **argv, const struct option *options);
/* One number in [least, most] (NaN never is). */
VF_MUST_CHECK vf_status program_number(vf_context *ctx, const char *option, const char *text, double least, double most,
                                       double *value);
/* Three numbers in [least, most], or one for all three; `unit` is for the message. */
VF_MUST_CHECK vf_status program_triple(vf_context *ctx, const char *option, const char *text, double least, double most,
                                       const char *unit, double *values);
/* One whole number in [least, most]. */
VF_MUST_CHECK vf_status program_integer(vf_context *ctx, const char *option, const char *text, int64_t least,
                                        int64_t most, int64_t *value);
/* One or three whole numbers >= 1. */
VF_MUST_CHECK vf_status program_counts(vf_context *ctx, const char *option, const char *text, int64_t *values);
VF_MUST_CHECK vf_status program_threads(vf_context *ctx, const char *text);
VF_MUST_CHECK vf_status program_precision(vf_context *ctx, const char *text, vf_dtype *precision);
/* A picture's path: PNG only. */
VF_MUST_CHECK vf_status program_picture(vf_context *ctx, const char *text, const char **path);
/* What follows the options and must be there once: the file to read. `example` and `one` are for messages:
 * "molecule.pqr", "one molecule". */
VF_MUST_CHECK vf_status program_input(vf_context *ctx, const program *program, int argc, char **argv,
                                      const char *example, const char *one, const char **input);
/* The number of `text` among NULL-terminated `words`. */
VF_MUST_CHECK vf_status program_word(vf_context *ctx, const char *option, const char *text, const char *const *words,
                                     int *number);

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
