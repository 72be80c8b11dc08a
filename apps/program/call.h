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

/* Reads options into call->program.settings, by call->program.options, with `input` as the input. `places`: names of options to
 * write files that may be "memory", up to NULL; their settings are then in_memory. Free with call_end, whatever is returned.
 * Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY, those of option_read. */
VF_MUST_CHECK vf_status call_begin(vf_context *ctx, program_call *call, const vf_option *options, const char *input,
                                   const char *const *places);

/* Gives the context its number of threads back. */
void call_end(vf_context *ctx, program_call *call);

#endif
