/* Refuses files whose headers say that acquisitions are empty although they have data. Without this, they would count
 * as acquisitions without samples. */
#include <inttypes.h>
#include <stdlib.h>

#include "scan_ismrmrd.h"

enum { LOOKED_AT = 1024, MOST_BYTES = 64 << 20 };

static bool is_image(const ismrmrd_acquisition_header *head)
{
    const uint64_t others = ISMRMRD_BIT(ISMRMRD_NOISE) | ISMRMRD_BIT(ISMRMRD_NAVIGATION) |
                            ISMRMRD_BIT(ISMRMRD_PHASE_CORRECTION) | ISMRMRD_BIT(ISMRMRD_HP_FEEDBACK) |
                            ISMRMRD_BIT(ISMRMRD_DUMMY_SCAN) | ISMRMRD_BIT(ISMRMRD_RT_FEEDBACK);
    return (head->flags & others) == 0;
}

/* The first image acquisition of some at the start; -1 if there is none, or one of them has a size. */
static int64_t find_empty(const ismrmrd_acquisition_header *heads, int64_t count)
{
    int64_t first = -1;
    for (int64_t i = count - 1; i >= 0; i--) {
        if (!is_image(&heads[i]))
            continue;
        if (heads[i].number_of_samples > 0 && heads[i].active_channels > 0)
            return -1;
        first = i;
    }
    return first;
}

vf_status ismrmrd_check_sizes(vf_context *ctx, const ismrmrd_source *source)
{
    const int64_t count = source->acquisitions < LOOKED_AT ? source->acquisitions : LOOKED_AT;
    ismrmrd_acquisition_header *heads = NULL;
    ismrmrd_body body = {.data_floats = 0};
    vf_status status = scan_allocate(ctx, source->path, "headers", count, sizeof *heads, &heads);
    if (status == VF_OK)
        status = source->heads(ctx, source->user, 0, count, heads);
    const int64_t at = status == VF_OK ? find_empty(heads, count) : -1;
    if (at >= 0)
        status = source->bodies(ctx, source->user, at, 1, MOST_BYTES, &body);
    if (status == VF_OK && body.data_floats > 0)
        status =
            vf_fail(ctx, VF_ERR_INPUT,
                    "%s: acquisition %" PRId64 ": the header says number_of_samples %u and active_channels %u, but "
                    "its data have %" PRId64 " numbers; write both into the headers of all acquisitions (samples x "
                    "channels x 2 numbers each)",
                    source->path, at, heads[at].number_of_samples, heads[at].active_channels, body.data_floats);
    free(heads);
    return status;
}
