#include "facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    if (to && bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

static fact *add_row(facts *f)
{
    if (f->count == f->room) {
        const int room = f->room > 0 ? 2 * f->room : 64;
        fact *row = realloc(f->row, (size_t)room * sizeof *row);
        if (!row)
            return NULL;
        f->row = row;
        f->room = room;
    }
    fact *new = &f->row[f->count++];
    *new = (fact){0};
    return new;
}

/* `count` values in `bytes`. */
static void add(facts *f, fact_kind kind, const char *key, const void *values, size_t bytes, int count)
{
    fact *new = add_row(f);
    if (!new || !key) {
        f->failed |= !new;
        return;
    }
    *new = (fact){kind, copy(key, strlen(key) + 1), copy(values, bytes), count, 0, NULL};
    f->failed |= !new->key || !new->value;
}

void fact_text(facts *f, const char *key, const char *value)
{
    add(f, FACT_TEXT, key, value, strlen(value) + 1, 1);
}

void fact_number(facts *f, const char *key, double value)
{
    add(f, FACT_NUMBER, key, &value, sizeof value, 1);
}

void fact_integer(facts *f, const char *key, int64_t value)
{
    add(f, FACT_INTEGER, key, &value, sizeof value, 1);
}

void fact_bool(facts *f, const char *key, bool value)
{
    add(f, FACT_BOOL, key, &value, sizeof value, 1);
}

void fact_numbers(facts *f, const char *key, const double *values, int count)
{
    add(f, FACT_NUMBERS, key, values, sizeof *values * (size_t)count, count);
}

void fact_integers(facts *f, const char *key, const int64_t *values, int count)
{
    add(f, FACT_INTEGERS, key, values, sizeof *values * (size_t)count, count);
}

void fact_texts(facts *f, const char *key, const char *const *values, int count)
{
    size_t bytes = 0;
    for (int n = 0; n < count; n++)
        bytes += strlen(values[n]) + 1;
    char *all = malloc(bytes + 1), *end = all;
    for (int n = 0; all && n < count; n++)
        end = stpcpy(end, values[n]) + 1;
    if (all)
        add(f, FACT_TEXTS, key, all, bytes, count);
    f->failed |= !all;
    free(all);
}

void fact_begin(facts *f, const char *key)
{
    add(f, FACT_BEGIN, key, NULL, 0, 0);
}

void fact_end(facts *f)
{
    add(f, FACT_END, "", NULL, 0, 0);
}

void fact_stages(facts *f, const vf_stages *stages)
{
    add(f, FACT_STAGES, "", stages, sizeof *stages, 1);
}

/* ---- the terminal ---- */

static void VF_PRINTF(4, 0) set_words(facts *f, fact *of, int line, const char *format, va_list args)
{
    if (of)
        of->line = line;
    if (!of || vasprintf(&of->words, format, args) < 0) {
        f->failed = true;
        if (of)
            of->words = NULL;
    }
}

void fact_say(facts *f, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_words(f, f->count > 0 && !f->row[f->count - 1].words ? &f->row[f->count - 1] : add_row(f), line, format, args);
    va_end(args);
}

void fact_only_say(facts *f, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_words(f, add_row(f), line, format, args);
    va_end(args);
}

void fact_line(facts *f, int line, const char *head, const char *key, const char *value)
{
    if (!value[0])
        return;
    fact_text(f, key, value);
    fact_say(f, line, "%-10s %s", head, value);
}

/* The words of a line; NULL: no memory. */
static char *line_words(const facts *f, int line, bool *empty)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    *empty = true;
    for (int n = 0; to && n < f->count; n++)
        if (f->row[n].words && f->row[n].line == line) {
            fputs(f->row[n].words, to);
            *empty = false;
        }
    if (to && fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

vf_status facts_print(vf_context *ctx, const facts *f, int first, int last)
{
    bool failed = f->failed;
    for (int line = first; !failed && line <= last; line++) {
        bool empty;
        char *text = line_words(f, line, &empty);
        failed = !text;
        if (text && !empty)
            vf_note(ctx, "%s", text);
        free(text);
    }
    return failed ? vf_fail(ctx, VF_ERR_MEMORY, "no memory") : VF_OK;
}

/* ---- the report ---- */

static bool write_texts(vf_report *report, const fact *one)
{
    const char **texts = malloc((size_t)(one->count + 1) * sizeof *texts), *next = one->value;
    for (int n = 0; texts && n < one->count; n++, next += strlen(next) + 1)
        texts[n] = next;
    if (texts)
        vf_report_texts(report, one->key, texts, one->count);
    free(texts);
    return texts != NULL;
}

/* False: no memory. */
static bool write_one(vf_report *report, const fact *one)
{
    switch (one->kind) {
    case FACT_WORDS:
        break;
    case FACT_TEXT:
        vf_report_text(report, one->key, one->value);
        break;
    case FACT_NUMBER:
        vf_report_number(report, one->key, *(const double *)one->value);
        break;
    case FACT_INTEGER:
        vf_report_integer(report, one->key, *(const int64_t *)one->value);
        break;
    case FACT_BOOL:
        vf_report_bool(report, one->key, *(const bool *)one->value);
        break;
    case FACT_NUMBERS:
        vf_report_numbers(report, one->key, one->value, one->count);
        break;
    case FACT_INTEGERS:
        vf_report_integers(report, one->key, one->value, one->count);
        break;
    case FACT_TEXTS:
        return write_texts(report, one);
    case FACT_STAGES:
        vf_report_stages(report, one->value);
        break;
    case FACT_BEGIN:
        vf_report_begin(report, one->key);
        break;
    case FACT_END:
        vf_report_end(report);
        break;
    }
    return true;
}

vf_status facts_report(vf_context *ctx, const facts *f, vf_report *report)
{
    bool complete = !f->failed;
    for (int n = 0; complete && n < f->count; n++)
        complete = write_one(report, &f->row[n]);
    return complete ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory");
}

void facts_free(facts *f)
{
    for (int n = 0; n < f->count; n++) {
        free(f->row[n].key);
        free(f->row[n].value);
        free(f->row[n].words);
    }
    free(f->row);
    *f = (facts){0};
}
