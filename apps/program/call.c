#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"

static bool listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static bool is_place(const vf_option *option)
{
    return option->value && strcmp(option->value, in_memory) == 0;
}

/* Where an option or its value lies in the words: "--name=value", or "--name" and in_memory. */
static vf_status make_words(vf_context *ctx, program_call *call, const vf_option *options, const char *input,
                            const char *const *places)
{
    program *p = &call->program;
    size_t count = 0;
    while (options && options[count].name)
        count++;
    call->words = calloc(2 * count + 4, sizeof *call->words);
    p->argv = calloc(2 * count + 4, sizeof *p->argv);
    if (!call->words || !p->argv)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the options");
    p->argv[p->argc++] = (char *)p->name;
    for (size_t n = 0; n < count; n++) {
        const vf_option *o = &options[n];
        const bool place = listed(places, o->name) && is_place(o);
        const char *value = o->value && !place ? o->value : "";
        char *word = NULL;
        if (asprintf(&word, "--%s%s%s", o->name, o->value && !place ? "=" : "", value) < 0)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the options");
        call->words[n] = p->argv[p->argc++] = word;
        if (place)
            p->argv[p->argc++] = (char *)in_memory;
    }
    p->argv[p->argc++] = "--";
    p->argv[p->argc++] = (char *)input;
    return VF_OK;
}

/* What functions do not have: outputs in files, parts of the work, several inputs, the terminal. */
static vf_status refuse(vf_context *ctx, const program *p)
{
    static const char *const others[] = {"output-dir", "ranks", "progress", NULL};
    for (const program_option *row = p->options; row->kind != OPTION_END; row++) {
        const char *text = row->kind == OPTION_GROUP ? NULL : p->given.text[row - p->options];
        if (!text)
            continue;
        if (batch_writes(row) && !is_in_memory(text))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "option %s: a call of %s writes no files; take arrays from the result%s", row->name, p->name,
                           strcmp(text, in_memory) == 0 ? ", which has no place for this" : "");
        if (option_asks(row->kind) || row->scope == OPTION_OF_DIVISION || row->scope == OPTION_OF_KEEPING ||
            row->scope == OPTION_OF_BATCH || listed(others, row->name))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "option %s: only the program %s has it, calls do not", row->name,
                           p->name);
    }
    return VF_OK;
}

vf_status call_begin(vf_context *ctx, program_call *call, const vf_option *options, const char *input,
                     const char *const *places)
{
    program *p = &call->program;
    call->threads = vf_context_threads(ctx);
    vf_status status = make_words(ctx, call, options, input, places);
    VF_TRY(status, option_read(ctx, p->name, p->options, p->argc, p->argv, p->settings, &p->given));
    VF_TRY(status, refuse(ctx, p));
    if (status == VF_OK && p->input)
        *(const char **)((char *)p->settings + p->input_at) = input;
    return status;
}

void call_end(vf_context *ctx, program_call *call)
{
    program *p = &call->program;
    (void)!vf_context_set_threads(ctx, call->threads); /* it was that before */
    option_values_free(&p->given);
    for (int n = 0; call->words && call->words[n]; n++)
        free(call->words[n]);
    free(call->words);
    free(p->argv);
    p->argv = NULL;
    call->words = NULL;
}
