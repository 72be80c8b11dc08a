/* Reads the headers of acquisitions, also without sizes: some writers leave number_of_samples or active_channels 0 beside
 * data. The length of the data has what is missing, if one of both is known, or available_channels is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_source.h"
#include "voxfield/timer.h"

enum { LOOKED_AT = 1024, MOST_BYTES = 64 << 20 };

static bool is_image(const ismrmrd_acquisition_header *head)
{
    const uint64_t others = ISMRMRD_BIT(ISMRMRD_NOISE) | ISMRMRD_BIT(ISMRMRD_NAVIGATION) |
                            ISMRMRD_BIT(ISMRMRD_PHASE_CORRECTION) | ISMRMRD_BIT(ISMRMRD_HP_FEEDBACK) |
                            ISMRMRD_BIT(ISMRMRD_DUMMY_SCAN) | ISMRMRD_BIT(ISMRMRD_RT_FEEDBACK);
    return (head->flags & others) == 0;
}

static bool has_sizes(const ismrmrd_acquisition_header *head)
{
    return head->number_of_samples > 0 && head->active_channels > 0;
}

/* The first image acquisition of some at the start; -1 if there is none, or one of them has a size. */
static int64_t find_empty(const ismrmrd_acquisition_header *heads, int64_t count)
{
    int64_t first = -1;
    for (int64_t i = count - 1; i >= 0; i--) {
        if (!is_image(&heads[i]))
            continue;
        if (has_sizes(&heads[i]))
            return -1;
        first = i;
    }
    return first;
}

/* Sets the sizes from the data's length. False if they do not follow from it. */
static bool set_sizes(ismrmrd_acquisition_header *head, int64_t floats)
{
    const int64_t numbers = floats / 2, samples = head->number_of_samples;
    const int64_t channels = head->active_channels > 0 ? head->active_channels
                             : samples > 0             ? numbers / samples
                                                       : head->available_channels;
    const int64_t length = samples > 0 ? samples : channels > 0 ? numbers / channels : 0;
    if (floats % 2 != 0 || length < 1 || length > UINT16_MAX || channels < 1 || channels > UINT16_MAX ||
        length * channels != numbers)
        return false;
    head->number_of_samples = (uint16_t)length;
    head->active_channels = (uint16_t)channels;
    return true;
}

static vf_status add_sizes(vf_context *ctx, const ismrmrd_source *source, int64_t first, int64_t count,
                           ismrmrd_acquisition_header *heads)
{
    vf_status status = VF_OK;
    for (int64_t i = 0; status == VF_OK && i < count; i++) {
        ismrmrd_body body = {.data_floats = 0};
        if (has_sizes(&heads[i]))
            continue;
        status = source->bodies(ctx, source->user, first + i, 1, MOST_BYTES, &body);
        if (status == VF_OK && body.data_floats > 0)
            (void)set_sizes(&heads[i], body.data_floats); /* else it stays an acquisition without samples */
    }
    return status;
}

vf_status ismrmrd_check_sizes(vf_context *ctx, ismrmrd_source *source)
{
    const int64_t count = source->acquisitions < LOOKED_AT ? source->acquisitions : LOOKED_AT;
    ismrmrd_acquisition_header *heads = NULL;
    ismrmrd_body body = {.data_floats = 0};
    vf_status status = SCAN_NEW(ctx, source->path, "headers", count, heads);
    VF_TRY(status, source->heads(ctx, source->user, 0, count, heads));
    const int64_t at = status == VF_OK ? find_empty(heads, count) : -1;
    if (at >= 0)
        status = source->bodies(ctx, source->user, at, 1, MOST_BYTES, &body);
    if (status == VF_OK && body.data_floats > 0) {
        const unsigned samples = heads[at].number_of_samples, channels = heads[at].active_channels;
        if (set_sizes(&heads[at], body.data_floats)) {
            vf_warn(
                ctx,
                "%s: headers say number_of_samples %u and active_channels %u beside data; %d samples of %d channel%s "
                "are taken, by the length of the data",
                source->path, samples, channels, heads[at].number_of_samples, heads[at].active_channels,
                vf_plural(heads[at].active_channels));
            source->lacks_sizes = true;
        } else {
            status =
                vf_fail(ctx, VF_ERR_INPUT,
                        "%s: acquisition %" PRId64
                        ": the header says number_of_samples %u and active_channels %u, but its data have %" PRId64
                        " numbers; write both into the headers of all acquisitions (samples x channels x 2 numbers "
                        "each)",
                        source->path, at, samples, channels, body.data_floats);
        }
    }
    free(heads);
    return status;
}

vf_status ismrmrd_each_head(vf_context *ctx, const ismrmrd_source *source, ismrmrd_use_head *use, void *user)
{
    enum { BATCH = 1024 };
    ismrmrd_acquisition_header *heads;
    vf_status status = SCAN_NEW(ctx, source->path, "headers", BATCH, heads);
    for (int64_t first = 0; status == VF_OK && first < source->acquisitions; first += BATCH) {
        const int64_t count = source->acquisitions - first < BATCH ? source->acquisitions - first : BATCH;
        memset(heads, 0, BATCH * sizeof *heads); /* members missing in the file are 0 */
        status = source->heads(ctx, source->user, first, count, heads);
        if (source->lacks_sizes)
            VF_TRY(status, add_sizes(ctx, source, first, count, heads));
        for (int64_t i = 0; status == VF_OK && i < count; i++)
            status = use(user, first + i, &heads[i]);
        VF_TRY(status, scan_check_cancelled(ctx));
    }
    free(heads);
    return status;
}
