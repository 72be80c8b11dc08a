/* Parses the user's selection of frames: "first:last:step". */
#include "select_frames.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "voxfield/parse.h"

enum { PARTS = 3 };

/* Splits the text at its colons and parses each non-empty part as an integer. Returns the number of parts; 0:
 * invalid. */
static int split(const char *text, bool given[PARTS], int64_t values[PARTS])
{
    for (int n = 0; n < PARTS; n++) {
        char part[24]; /* longer than any 64-bit number */
        const size_t size = strcspn(text, ":");
        given[n] = size > 0;
        if (size >= sizeof part)
            return 0;
        memcpy(part, text, size);
        part[size] = '\0';
        if (given[n] && vf_parse_integers(part, 1, 1, &values[n]) != 1)
            return 0;
        text += size;
        if (*text++ == '\0')
            return n > 0 || given[0] ? n + 1 : 0;
    }
    return 0;
}

/* The index from 0 of a frame; the user counts from 1, or backwards from -1. */
static vf_status frame_index(vf_context *ctx, const char *text, const char *whose, int64_t number, int64_t frames,
                             int64_t *index)
{
    if (number == 0 || number > frames || number < -frames)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "frames '%s': there is no frame %" PRId64 "; %s has %" PRId64
                       ", numbered from 1 (or from the end: -1 is the last)",
                       text, number, whose, frames);
    *index = number > 0 ? number - 1 : frames + number;
    return VF_OK;
}

vf_status parse_frames(vf_context *ctx, const char *text, const char *whose, int64_t frames, frame_selection *selection)
{
    bool given[PARTS];
    int64_t values[PARTS] = {0}, first = 0, last = frames - 1;
    const int parts = split(text, given, values);
    if (parts == 0)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "frames '%s': expected first:last:step in integers, each of which may be left out, such as 101:, "
            "::10, -100: or 1:500:5",
            text);
    const int64_t step = parts == PARTS && given[2] ? values[2] : 1;
    vf_status status = given[0] ? frame_index(ctx, text, whose, values[0], frames, &first) : VF_OK;
    if (status == VF_OK && parts == 1)
        last = first;
    else if (status == VF_OK && given[1])
        status = frame_index(ctx, text, whose, values[1], frames, &last);
    if (status != VF_OK)
        return status;
    if (step < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "frames '%s': the step is %" PRId64 "; it must be 1 or more", text, step);
    if (last < first)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "frames '%s': the last frame, %" PRId64 ", is before the first, %" PRId64 "; %s has %" PRId64
                       " frames",
                       text, last + 1, first + 1, whose, frames);
    *selection = (frame_selection){.first = first, .step = step, .count = (last - first) / step + 1};
    return VF_OK;
}
