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

/* Whether the option's output goes into the result. */
static bool is_place(const vf_option *o, const call_rules *rules)
{
    return o->value && (is_in_memory(o->value) || (strcmp(o->value, in_memory) == 0 && listed(rules->places, o->name)));
}

static const program_option *row_of(const program_option *table, const char *name)
{
    for (; table->kind != OPTION_END; table++)
        if (table->kind != OPTION_GROUP && strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* A missing value would be taken from the next word. */
static vf_status check_option(vf_context *ctx, const program *p, const vf_option *o)
{
    const program_option *row = row_of(p->options, o->name);
    if (o->name[0] == '\0' || strchr(o->name, '=') || o->name[0] == '-')
        return vf_fail(ctx, VF_ERR_ARGUMENT, "option '%s': give the name without hyphens, and the value by itself",
                       o->name);
    if (row && row->argument && !o->value)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "option %s needs a value", o->name);
    return VF_OK;
}

/* The words of the command line that the options stand for: "--name=value", or "--name" and in_memory. */
static vf_status make_words(vf_context *ctx, program_call *call, const vf_option *options, const char *input,
                            const call_rules *rules)
{
    program *p = &call->program;
    size_t count = 0;
    while (options && options[count].name)
        count++;
    call->words = calloc(2 * count + 4, sizeof *call->words);
    p->argv = calloc(2 * count + 4, sizeof *p->argv);
    vf_status status = call->words && p->argv ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the options");
    if (status == VF_OK)
        p->argv[p->argc++] = (char *)p->name;
    for (size_t n = 0; status == VF_OK && n < count; n++) {
        const vf_option *o = &options[n];
        const bool place = is_place(o, rules), joined = o->value && !place;
        char *word = NULL;
        status = check_option(ctx, p, o);
        if (status == VF_OK && asprintf(&word, "--%s%s%s", o->name, joined ? "=" : "", joined ? o->value : "") < 0)
            status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the options");
        if (status != VF_OK)
            return status;
        call->words[n] = p->argv[p->argc++] = word;
        if (place)
            p->argv[p->argc++] = (char *)in_memory;
    }
    if (status == VF_OK) {
        p->argv[p->argc++] = "--";
        p->argv[p->argc++] = (char *)input;
    }
    return status;
}

/* What functions do not have: outputs in files, parts of the work, several inputs, the terminal. */
static vf_status refuse(vf_context *ctx, const program *p, const call_rules *rules)
{
    static const char *const others[] = {"output-dir", "ranks", "progress", NULL};
    for (const program_option *row = p->options; row->kind != OPTION_END; row++) {
        const char *text = row->kind == OPTION_GROUP ? NULL : p->given.text[row - p->options];
        if (!text || is_in_memory(text))
            continue;
        if (batch_writes(row) && strcmp(text, in_memory) == 0)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "option %s: the result of a call of %s has no place for it", row->name,
                           p->name);
        if (batch_writes(row))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "option %s: a call of %s writes no files; take arrays from the result",
                           row->name, p->name);
        if (option_asks(row->kind) || row->scope == OPTION_OF_DIVISION || row->scope == OPTION_OF_KEEPING ||
            row->scope == OPTION_OF_BATCH || listed(others, row->name) || listed(rules->refused, row->name))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "option %s: only the program %s has it, calls do not", row->name,
                           p->name);
    }
    return VF_OK;
}

vf_status call_begin(vf_context *ctx, program_call *call, const vf_option *options, const char *input,
                     const call_rules *rules)
{
    program *p = &call->program;
    call->threads = vf_context_threads(ctx);
    vf_status status = make_words(ctx, call, options, input, rules);
    VF_TRY(status, option_read(ctx, p->name, p->options, p->argc, p->argv, p->settings, &p->given));
    VF_TRY(status, refuse(ctx, p, rules));
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
