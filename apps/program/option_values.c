#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "options.h"
#include "voxfield/append.h"
#include "voxfield/parse.h"

enum { WORDS_TEXT = 512, RANGE_TEXT = 128 };

char *option_range_text(double least, double most, const char *unit, char *text, size_t size)
{
    const char *space = unit ? " " : "";
    unit = unit ? unit : "";
    if (most < INFINITY)
        snprintf(text, size, "from %.10g to %.10g%s%s", least, most, space, unit);
    else
        snprintf(text, size, "of %.10g%s%s or more", least, space, unit);
    return text;
}

char *option_choices_text(const option_choice *choices, char *text, size_t size)
{
    text[0] = '\0';
    for (int n = 0; choices[n].word; n++) {
        const char *between = n == 0 ? "" : choices[n + 1].word ? ", " : " or ";
        vf_append(text, size, "%s%s", between, choices[n].word);
    }
    return text;
}

vf_status option_number(vf_context *ctx, const char *option, const char *text, double least, double most,
                        const char *unit, double *value)
{
    char range[RANGE_TEXT];
    if (vf_parse_doubles(text, 1, 1, value) != 1 || !(*value >= least && *value <= most))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected a number %s", option, text,
                       option_range_text(least, most, unit, range, sizeof range));
    return VF_OK;
}

static vf_status triple(vf_context *ctx, const program_option *row, const char *text, double *values)
{
    char range[RANGE_TEXT];
    const int n = vf_parse_doubles(text, 1, 3, values);
    if (n == 1)
        values[1] = values[2] = values[0];
    for (int a = 0; a < 3; a++)
        if ((n != 1 && n != 3) || !(values[a] >= row->least && values[a] <= row->most))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected one number or three (x,y,z), each %s", row->name,
                           text, option_range_text(row->least, row->most, row->unit, range, sizeof range));
    return VF_OK;
}

static vf_status integer(vf_context *ctx, const program_option *row, const char *text, int64_t *value)
{
    char range[RANGE_TEXT];
    if (vf_parse_integers(text, 1, 1, value) != 1 || !((double)*value >= row->least && (double)*value <= row->most))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected a whole number %s", row->name, text,
                       option_range_text(row->least, row->most, row->unit, range, sizeof range));
    return VF_OK;
}

static vf_status counts(vf_context *ctx, const program_option *row, const char *text, int64_t *values)
{
    char range[RANGE_TEXT];
    const int n = vf_parse_integers(text, 1, 3, values);
    if (n == 1)
        values[1] = values[2] = values[0];
    for (int a = 0; a < 3; a++)
        if ((n != 1 && n != 3) || !((double)values[a] >= row->least && (double)values[a] <= row->most))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected one whole number or three (x,y,z), each %s",
                           row->name, text, option_range_text(row->least, row->most, row->unit, range, sizeof range));
    return VF_OK;
}

static vf_status choice(vf_context *ctx, const program_option *row, const char *text, const option_choice **chosen)
{
    char words[WORDS_TEXT];
    for (*chosen = row->choices; (*chosen)->word; ++*chosen)
        if (strcmp(text, (*chosen)->word) == 0)
            return VF_OK;
    return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected %s", row->name, text,
                   option_choices_text(row->choices, words, sizeof words));
}

static vf_status file(vf_context *ctx, const program_option *row, const char *text)
{
    static const char *const not_pictures[] = {".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".svg",
                                               ".pdf", ".eps",  ".nii", ".gz",  ".h5",   ".mrd"};
    const char *ending = strrchr(text, '.');
    if (text[0] == '\0')
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '': expected the name of a file", row->name);
    for (size_t n = 0; row->kind == OPTION_PICTURE && ending && n < sizeof not_pictures / sizeof *not_pictures; n++)
        if (strcasecmp(ending, not_pictures[n]) == 0)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': pictures are PNG files; use the extension .png", row->name,
                           text);
    return VF_OK;
}

/* The size tells the type: bool, int or enum, or int64_t. */
static void store(const program_option *row, void *to, int64_t value)
{
    if (row->size == sizeof(bool))
        *(bool *)to = value != 0;
    else if (row->size == sizeof(int))
        *(int *)to = (int)value;
    else
        *(int64_t *)to = value;
}

vf_status option_parse(vf_context *ctx, const program_option *row, const char *text, void *settings)
{
    void *to = (char *)settings + row->at;
    const option_choice *chosen = NULL;
    int64_t whole = 0;
    vf_status status = VF_OK;
    switch (row->kind) {
    case OPTION_FLAG:
        store(row, to, 1);
        return VF_OK;
    case OPTION_READ:
    case OPTION_WRITE:
    case OPTION_PICTURE:
        status = file(ctx, row, text);
        *(const char **)to = text;
        return status;
    case OPTION_TEXT:
        *(const char **)to = text;
        return VF_OK;
    case OPTION_NUMBER:
        return option_number(ctx, row->name, text, row->least, row->most, row->unit, to);
    case OPTION_TRIPLE:
        return triple(ctx, row, text, to);
    case OPTION_COUNTS:
        return counts(ctx, row, text, to);
    case OPTION_INTEGER:
        status = integer(ctx, row, text, &whole);
        if (status == VF_OK)
            store(row, to, whole);
        return status;
    case OPTION_CHOICE:
        status = choice(ctx, row, text, &chosen);
        if (status == VF_OK)
            store(row, to, chosen->value);
        return status;
    case OPTION_WORD:
        status = choice(ctx, row, text, &chosen);
        *(const char **)to = chosen->word;
        return status;
    case OPTION_CUSTOM:
        return row->parse(ctx, row->name, text, settings);
    default:
        return vf_fail(ctx, VF_ERR_INTERNAL, "--%s takes no argument", row->name);
    }
}

vf_status option_threads(vf_context *ctx, const char *option, const char *text, void *settings)
{
    (void)settings;
    int64_t whole = 0;
    const program_option row = {OPTION_INTEGER, .name = option, .least = 1, .most = 4096, .size = sizeof whole};
    const vf_status status = option_parse(ctx, &row, text, &whole);
    return status == VF_OK ? vf_context_set_threads(ctx, (int)whole) : status;
}
