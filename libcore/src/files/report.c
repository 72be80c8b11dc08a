#include "voxfield/report.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text_utf8.h"
#include "voxfield/format_number.h"
#include "voxfield/output.h"
#include "voxfield/parse.h"
#include "voxfield/version.h"

struct vf_report {
    vf_context *ctx;
    vf_output *output; /* NULL: in memory */
    FILE *stream;      /* of *text */
    char *text;
    size_t bytes;
    vf_status status; /* the first failure; later calls do nothing */
    int depth;
    bool first;  /* the innermost object is still empty */
    bool within; /* the output is a page's, which has more than the report, and ends scripts at "</script>" */
};

static void put(vf_report *r, const char *text, size_t bytes)
{
    if (r->status == VF_OK && r->output)
        r->status = vf_output_write(r->output, text, bytes);
    else if (r->status == VF_OK && fwrite(text, 1, bytes, r->stream) != bytes)
        r->status = vf_fail(r->ctx, VF_ERR_MEMORY, "not enough memory for the report");
}

static void puts_to(vf_report *r, const char *text)
{
    put(r, text, strlen(text));
}

static void put_string(vf_report *r, const char *text)
{
    puts_to(r, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = vf_utf8_length(s);
        char escape[8];
        if (n == 0) {
            puts_to(r, "\xef\xbf\xbd"); /* U+FFFD: the replacement character */
            s++;
        } else if (*s == '"' || *s == '\\' || *s < 0x20 || (r->within && strchr("<>&", *s))) {
            snprintf(escape, sizeof escape, *s == '"' || *s == '\\' ? "\\%c" : "\\u%04x", *s);
            puts_to(r, escape);
            s++;
        } else {
            put(r, (const char *)s, n);
            s += n;
        }
    }
    puts_to(r, "\"");
}

static void put_double(vf_report *r, double value)
{
    char text[VF_NUMBER_TEXT];
    double back = 0;
    bool same = false; /* the fewest digits that read back the same; printf and strtod would follow the locale */
    for (int digits = 6; !same && digits <= VF_NUMBER_MAX_DIGITS; digits++)
        same = vf_parse_doubles(vf_format_general(value, digits, text), 1, 1, &back) == 1 && back == value;
    puts_to(r, isfinite(value) ? text : "null");
}

static void put_integer(vf_report *r, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    puts_to(r, text);
}

static void put_key(vf_report *r, const char *key)
{
    puts_to(r, r->first ? "\n" : ",\n");
    for (int i = 0; i < r->depth; i++)
        puts_to(r, "  ");
    put_string(r, key);
    puts_to(r, ": ");
    r->first = false;
}

static vf_report *begin(vf_report *r, vf_context *ctx)
{
    r->ctx = ctx;
    puts_to(r, "{");
    r->depth = 1;
    r->first = true;
    return r;
}

vf_status vf_report_create(vf_context *ctx, const char *path, vf_report **out)
{
    *out = NULL;
    vf_report *r = calloc(1, sizeof *r);
    if (!r)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for the report", path);
    vf_status status = vf_output_open(ctx, path, &r->output);
    if (status != VF_OK) {
        free(r);
        return status;
    }
    *out = begin(r, ctx);
    return VF_OK;
}

vf_status vf_report_within(vf_context *ctx, vf_output *output, vf_report **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory", vf_output_path(output));
    (*out)->output = output;
    (*out)->within = true;
    begin(*out, ctx);
    return VF_OK;
}

vf_status vf_report_create_text(vf_context *ctx, vf_report **out)
{
    *out = NULL;
    vf_report *r = calloc(1, sizeof *r);
    if (r)
        r->stream = open_memstream(&r->text, &r->bytes);
    if (!r || !r->stream) {
        free(r);
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the report");
    }
    *out = begin(r, ctx);
    return VF_OK;
}

void vf_report_text(vf_report *report, const char *key, const char *value)
{
    if (!report)
        return;
    put_key(report, key);
    put_string(report, value);
}

void vf_report_number(vf_report *report, const char *key, double value)
{
    if (!report)
        return;
    put_key(report, key);
    put_double(report, value);
}

void vf_report_integer(vf_report *report, const char *key, int64_t value)
{
    if (!report)
        return;
    put_key(report, key);
    put_integer(report, value);
}

void vf_report_bool(vf_report *report, const char *key, bool value)
{
    if (!report)
        return;
    put_key(report, key);
    puts_to(report, value ? "true" : "false");
}

/* `key: [...]`; one of the three arrays is given, the others are NULL. */
static void put_list(vf_report *r, const char *key, int n, const double *numbers, const int64_t *integers,
                     const char *const *texts)
{
    if (!r)
        return;
    put_key(r, key);
    puts_to(r, "[");
    for (int i = 0; i < n; i++) {
        puts_to(r, i ? ", " : "");
        if (numbers)
            put_double(r, numbers[i]);
        else if (integers)
            put_integer(r, integers[i]);
        else
            put_string(r, texts[i]);
    }
    puts_to(r, "]");
}

void vf_report_numbers(vf_report *report, const char *key, const double *values, int n)
{
    put_list(report, key, n, values, NULL, NULL);
}

void vf_report_integers(vf_report *report, const char *key, const int64_t *values, int n)
{
    put_list(report, key, n, NULL, values, NULL);
}

void vf_report_texts(vf_report *report, const char *key, const char *const *values, int n)
{
    put_list(report, key, n, NULL, NULL, values);
}

void vf_report_begin(vf_report *report, const char *key)
{
    if (!report)
        return;
    put_key(report, key);
    puts_to(report, "{");
    report->depth++;
    report->first = true;
}

void vf_report_end(vf_report *report)
{
    if (!report)
        return;
    report->depth--;
    puts_to(report, "\n");
    for (int i = 0; i < report->depth; i++)
        puts_to(report, "  ");
    puts_to(report, "}");
    report->first = false;
}

void vf_report_run(vf_report *report, const char *program, int argc, char *const *argv)
{
    if (!report)
        return;
    char started[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    vf_report_text(report, "program", program);
    vf_report_text(report, "voxfield", VF_VERSION);
    vf_report_text(report, "started", started);
    vf_report_texts(report, "command", (const char *const *)argv, argc);
}

void vf_report_stages(vf_report *report, const vf_stages *stages)
{
    vf_report_begin(report, "seconds");
    for (int i = 0; i < stages->count; i++)
        vf_report_number(report, stages->stage[i].name, stages->stage[i].seconds);
    vf_report_end(report);
    vf_report_begin(report, "processor_seconds");
    for (int i = 0; i < stages->count; i++)
        vf_report_number(report, stages->stage[i].name, stages->stage[i].processor);
    vf_report_end(report);
}

static vf_status end(vf_report *r)
{
    while (r->depth > 0)
        vf_report_end(r);
    puts_to(r, "\n");
    return r->status;
}

vf_status vf_report_commit(vf_report **report)
{
    if (!*report)
        return VF_OK;
    vf_status status = end(*report);
    if (!(*report)->within)
        VF_TRY(status, vf_output_commit(&(*report)->output));
    vf_report_discard(report);
    return status;
}

vf_status vf_report_take(vf_report **report, char **text)
{
    vf_report *r = *report;
    vf_status status = end(r);
    const bool whole = fclose(r->stream) == 0 && r->text;
    r->stream = NULL;
    if (status == VF_OK && !whole)
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "not enough memory for the report");
    *text = status == VF_OK ? r->text : NULL;
    if (status == VF_OK)
        r->text = NULL;
    vf_report_discard(report);
    return status;
}

void vf_report_discard(vf_report **report)
{
    vf_report *r = *report;
    *report = NULL;
    if (!r)
        return;
    if (!r->within)
        vf_output_discard(&r->output);
    if (r->stream)
        (void)fclose(r->stream);
    free(r->text);
    free(r);
}
