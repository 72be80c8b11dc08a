/* Leaves out channels: those that the user names, dead ones, and those with only noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel_noise.h"
#include "coil_stages.h"
#include "voxfield/append.h"
#include "voxfield/parse.h"
#include "voxfield/timer.h"

/* Why a channel is left out. */
typedef enum why { KEPT, NAMED, DEAD, SILENT, ONLY_NOISE, REASONS } why;

/* The noise variance, relative to the largest, that no connected channel has (prewhiten.c). */
static const double LEAST_VARIANCE = 1e-12;
/* Standard deviations within which noise must look like noise. */
static const double DEVIATIONS = 6;

/* One part of the list: a number, or first:last. */
static bool parse_range(const char *text, size_t size, int64_t range[2])
{
    char part[48];
    if (size >= sizeof part)
        return false;
    memcpy(part, text, size);
    part[size] = '\0';
    char *colon = strchr(part, ':');
    if (colon)
        *colon = '\0';
    return vf_parse_integers(part, 1, 1, &range[0]) == 1 &&
           vf_parse_integers(colon ? colon + 1 : part, 1, 1, &range[1]) == 1;
}

static vf_status parse_list(vf_context *ctx, const char *list, int coils, why *of)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        int64_t range[2];
        if (!parse_range(at, strcspn(at, ","), range))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--drop-coils '%s': expected none, or channels counted from 0, such as 3 or 0,4:7", list);
        if (range[0] < 0 || range[1] < range[0] || range[1] >= coils)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--drop-coils '%s': the scan has %d channel%s, numbered from 0 to %d; a range goes from its "
                           "first to its last",
                           list, coils, vf_plural(coils), coils - 1);
        for (int64_t c = range[0]; c <= range[1]; c++)
            of[c] = NAMED;
    }
    return VF_OK;
}

/* Finds dead channels and those with only noise. If that were all, there is nothing to choose, so none is left out. */
static vf_status look(vf_context *ctx, const mri_scan *raw, why *of)
{
    channel_statistics *s = malloc((size_t)raw->coils * sizeof *s);
    vf_status status = s ? channel_measure(ctx, raw, false, s, NULL)
                         : vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at %d channels", raw->coils);
    double largest = 0;
    bool signal = false;
    for (int c = 0; c < raw->coils && raw->noise; c++)
        largest = fmax(largest, creal(raw->noise[c * raw->coils + c]));
    for (int c = 0; c < raw->coils && status == VF_OK; c++) {
        if (of[c] == NAMED)
            continue;
        if (s[c].count == 0)
            of[c] = DEAD;
        else if (channel_looks_like_noise(&s[c], DEVIATIONS))
            of[c] = ONLY_NOISE;
        else if (raw->noise && creal(raw->noise[c * raw->coils + c]) <= LEAST_VARIANCE * largest)
            of[c] = SILENT;
        signal |= of[c] == KEPT;
    }
    for (int c = 0; c < raw->coils && !signal; c++)
        of[c] = of[c] == NAMED ? NAMED : KEPT;
    free(s);
    return status;
}

/* "channel 3", "channels 3, 5 and 6" */
static void append_numbers(const why *of, int coils, why reason, char *text, size_t size)
{
    int count = 0, done = 0;
    for (int c = 0; c < coils; c++)
        count += of[c] == reason;
    vf_append(text, size, "%schannel%s ", text[0] ? ", " : "", vf_plural(count));
    for (int c = 0; c < coils; c++)
        if (of[c] == reason) {
            vf_append(text, size, "%s%d", done == 0 ? "" : done == count - 1 ? " and " : ", ", c);
            done++;
        }
    static const char *const one[REASONS] = {"", "was named", "is dead (0 everywhere)",
                                             "has no noise in the noise scan", "has only noise"};
    static const char *const many[REASONS] = {"", "were named", "are dead (0 everywhere)",
                                              "have no noise in the noise scan", "have only noise"};
    vf_append(text, size, " %s", count == 1 ? one[reason] : many[reason]);
}

static void say(vf_context *ctx, const why *of, int coils)
{
    char text[1024] = "";
    bool automatic = false;
    for (int reason = NAMED; reason < REASONS; reason++)
        for (int c = 0; c < coils; c++)
            if (of[c] == (why)reason) {
                append_numbers(of, coils, (why)reason, text, sizeof text);
                automatic |= reason != NAMED;
                break;
            }
    if (text[0])
        vf_note(ctx, "note: %s; left out (counted from 0%s)", text, automatic ? "; --drop-coils none keeps them" : "");
}

void remove_rows(int rows, const bool *left_out, int64_t count, float complex *data)
{
    float complex *to = data;
    for (int r = 0; r < rows; r++) {
        if (left_out[r])
            continue;
        memmove(to, data + r * count, (size_t)count * sizeof *to);
        to += count;
    }
}

/* Moves sets of maps up after rows were removed from each. */
void remove_map_rows(int sets, int rows, const bool *left_out, int64_t voxels, float complex *maps)
{
    int kept = 0;
    for (int r = 0; r < rows; r++)
        kept += !left_out[r];
    for (int s = 0; s < sets; s++) {
        float complex *from = maps + s * rows * voxels;
        remove_rows(rows, left_out, voxels, from);
        memmove(maps + s * kept * voxels, from, (size_t)(kept * voxels) * sizeof *maps);
    }
}

static void take_out(mri_scan *raw, int kept)
{
    const int coils = raw->coils;
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        if (raw->frame[f].data)
            remove_rows(coils, raw->left_out, scan_stride(raw, &raw->frame[f]), raw->frame[f].data);
    if (raw->sensitivity)
        remove_map_rows(scan_all_map_sets(raw), coils, raw->left_out, voxels, raw->sensitivity);
    double complex *to = raw->noise;
    for (int a = 0; a < coils && raw->noise; a++)
        for (int b = 0; b < coils; b++)
            if (!raw->left_out[a] && !raw->left_out[b])
                *to++ = raw->noise[a * coils + b];
    raw->coils = kept;
    raw->coils_before = coils;
}

vf_status drop_coils(vf_context *ctx, const char *list, mri_scan *raw)
{
    const bool none = list && strcmp(list, "none") == 0;
    int kept = 0;
    why *of = calloc((size_t)raw->coils, sizeof *of);
    bool *left_out = calloc((size_t)raw->coils, sizeof *left_out);
    vf_status status = of && left_out ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the list of channels");
    if (status == VF_OK && list && !none)
        status = parse_list(ctx, list, raw->coils, of);
    if (status == VF_OK && !none && raw->coils > 1)
        status = look(ctx, raw, of);
    for (int c = 0; c < raw->coils && status == VF_OK; c++) {
        left_out[c] = of[c] != KEPT;
        kept += of[c] == KEPT;
    }
    if (status == VF_OK && kept == 0)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "--drop-coils '%s': no channel of %d would be left", list, raw->coils);
    if (status == VF_OK && kept < raw->coils) {
        say(ctx, of, raw->coils);
        free(raw->left_out);
        raw->left_out = left_out;
        left_out = NULL;
        take_out(raw, kept);
    }
    free(of);
    free(left_out);
    return status;
}
