/* A program as a function: its options by name instead of a command line. */
#ifndef VOXFIELD_CALL_H
#define VOXFIELD_CALL_H

#include "program.h"
#include "result.h"

typedef struct program_call {
    program program;
    char **words; /* the command line that the options make */
    int threads;  /* of the context, before */
} program_call;

/* What a program's functions have of its options: names, up to NULL. */
typedef struct call_rules {
    const char *const *places;  /* options to write files that may be "memory": their settings are then in_memory */
    const char *const *refused; /* options that only the command line has, beside those that all programs have */
} call_rules;

/* Reads options into call->program.settings, by call->program.options, with `input` as the input. An option whose value is the pointer
 * in_memory is one of the places. Free with call_end, whatever is returned. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY, those of
 * option_read. */
VF_MUST_CHECK vf_status call_begin(vf_context *ctx, program_call *call, const vf_option *options, const char *input,
                                   const call_rules *rules);

/* Gives the context its number of threads back. */
void call_end(vf_context *ctx, program_call *call);

#endif
