#include "tuning_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/append.h"
#include "voxfield/output.h"

static const char *skip_spaces(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* Skips a character, if `at` is not NULL; returns NULL if there is another. */
static const char *skip(const char *at, char expected)
{
    return at && *(at = skip_spaces(at)) == expected ? at + 1 : NULL;
}

/* Reads "{number, number, ...}" of whole numbers with few digits; returns NULL if there is something else. */
static const char *read_numbers(const char *at, int count, int *values)
{
    at = skip(at, '{');
    if (!at)
        return NULL;
    for (int i = 0; i < count; i++) {
        int digits = 0;
        at = skip_spaces(at);
        values[i] = 0;
        for (; *at >= '0' && *at <= '9' && digits < 6; at++, digits++)
            values[i] = 10 * values[i] + (*at - '0');
        at = skip_spaces(at);
        if (digits == 0 || *at != (i < count - 1 ? ',' : '}'))
            return NULL;
        at++;
    }
    return skip_spaces(at);
}

bool tuning_row_parse(const char *line, vf_fourier_tuning_row *row)
{
    const char *at = skip(skip(read_numbers(skip(line, '{'), 2, row->capability), ','), '{');
    bool valid = true;
    for (int step = 0; step < VF_FOURIER_TUNED_STEPS; step++) {
        at = skip(at, '{');
        for (int trig = 0; trig < 2; trig++) {
            int n[3] = {0};
            at = skip(read_numbers(at, 3, n), trig == 0 ? ',' : '}');
            row->shapes[step][trig] = (vf_fourier_tuning){n[0], n[1], n[2]};
            valid = valid && at && vf_fourier_tuning_valid(&row->shapes[step][trig], n[1]);
        }
        at = skip(at, step < VF_FOURIER_TUNED_STEPS - 1 ? ',' : '}');
    }
    return skip(skip(at, '}'), ',') && valid;
}

bool tuning_row_format(const vf_fourier_tuning_row *row, const char *device, char text[TUNING_ROW_TEXT])
{
    char name[64];
    size_t length = 0;
    for (; *device && length < sizeof name - 1; device++)
        if (isprint((unsigned char)*device) && *device != '*' && *device != '/' && *device != '\\')
            name[length++] = *device;
    name[length] = 0;
    text[0] = 0;
    vf_append(text, TUNING_ROW_TEXT, "    {{%d, %d}, {", row->capability[0], row->capability[1]);
    for (int step = 0; step < VF_FOURIER_TUNED_STEPS; step++) {
        const vf_fourier_tuning *a = &row->shapes[step][0], *h = &row->shapes[step][1];
        vf_append(text, TUNING_ROW_TEXT, "%s{{%d, %d, %d}, {%d, %d, %d}}", step ? ", " : "", a->threads, a->chunk,
                  a->unroll, h->threads, h->chunk, h->unroll);
    }
    return vf_append(text, TUNING_ROW_TEXT, "}}, /* %s */\n", name) < TUNING_ROW_TEXT - 1;
}

/* Negative, 0 or positive as a's compute capability is less than, equal to or greater than b's. */
static int compare_capability(const vf_fourier_tuning_row *a, const vf_fourier_tuning_row *b)
{
    int major = a->capability[0] - b->capability[0];
    return major != 0 ? major : a->capability[1] - b->capability[1];
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

char *tuning_table_replace(const char *header, const vf_fourier_tuning_row *row, const char *device)
{
    char text[TUNING_ROW_TEXT];
    const char *from = NULL, *to = NULL; /* the text that the new row replaces */
    for (const char *line = header; *line; line = next_line(line)) {
        vf_fourier_tuning_row there;
        if (!tuning_row_parse(line, &there) || compare_capability(&there, row) > 0)
            continue;
        to = next_line(line);
        from = compare_capability(&there, row) == 0 ? line : to;
    }
    if (!from || !tuning_row_format(row, device, text))
        return NULL;
    size_t before = (size_t)(from - header), length = strlen(text), after = strlen(to);
    char *out = malloc(before + length + after + 1);
    if (!out)
        return NULL;
    memcpy(out, header, before);
    memcpy(out + before, text, length);
    memcpy(out + before + length, to, after + 1);
    return out;
}

static vf_status read_header(vf_context *ctx, const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t bytes = file ? fread(text, 1, size - 1, file) : 0;
    bool failed = !file || ferror(file) || bytes == size - 1;
    if (file)
        fclose(file);
    text[bytes] = 0;
    return failed ? vf_fail(ctx, VF_ERR_INPUT, "%s: cannot be read whole; give fourier_sum_tuning.h", path) : VF_OK;
}

vf_status tuning_table_write(vf_context *ctx, const char *path, const vf_fourier_tuning_row *row, const char *device)
{
    enum { MOST_BYTES = 1 << 16 };
    vf_output *output = NULL;
    char *text = NULL, *old = malloc(MOST_BYTES);
    vf_status status =
        old ? read_header(ctx, path, old, MOST_BYTES) : vf_fail(ctx, VF_ERR_MEMORY, "no memory for a header");
    if (status != VF_OK)
        goto done;
    text = tuning_table_replace(old, row, device);
    status = text ? vf_output_open(ctx, path, &output)
                  : vf_fail(ctx, VF_ERR_INPUT, "%s: there is no table of tunings; give fourier_sum_tuning.h", path);
    if (status == VF_OK)
        status = vf_output_write(output, text, strlen(text));
    if (status == VF_OK)
        status = vf_output_commit(&output);
done:
    vf_output_discard(&output);
    free(old);
    free(text);
    return status;
}
