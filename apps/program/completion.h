/* Completion for shells, from a table of options: what `--help=bash` and `--help=zsh` print. */
#ifndef VOXFIELD_COMPLETION_H
#define VOXFIELD_COMPLETION_H

#include <stdio.h>

#include "options.h"

typedef struct completion {
    const char *program; /* "cionize" */
    const program_option *table;
    const char *input;          /* "molecule"; NULL: the program has no input */
    const char *const *endings; /* of input files, with their dots, up to NULL; NULL: any */
} completion;

void completion_print_bash(FILE *to, const completion *c);
void completion_print_zsh(FILE *to, const completion *c);

#endif
