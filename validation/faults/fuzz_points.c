/* Feeds arbitrary bytes to the readers of points in text: the first byte says which, columns or .xyz. Points that are read
 * are in range, and read the same after they are written in a plain form. A rejected text leaves an error message, with
 * the line. Like fuzz_pqr.c, a fuzzer with libFuzzer, otherwise a program that runs files. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coulomb_sum.h"
#include "fuzz_replay.h"
#include "points/points.h"
#include "voxfield/append.h"

/* 17 digits preserve every double. */
static void require_round_trip(vf_context *ctx, const point_set *s)
{
    enum { ROW = 120 };
    char *text = calloc((size_t)s->count + 1, ROW);
    point_set again;
    size_t used = 0;
    REQUIRE(text);
    for (int64_t n = 0; n < s->count; n++) {
        for (int a = 0; a < 3; a++)
            REQUIRE(fabs(s->place[3 * n + a]) <= VF_COULOMB_MAX_COORDINATE);
        used += vf_append(text + used, ROW, "%.17g,%.17g,%.17g\n", s->place[3 * n], s->place[3 * n + 1],
                          s->place[3 * n + 2]);
    }
    REQUIRE(parse_points(ctx, "plain.csv", text, used, false, &again) == VF_OK && again.count == s->count);
    REQUIRE(memcmp(again.place, s->place, 3 * (size_t)s->count * sizeof *s->place) == 0);
    point_set_free(&again);
    free(text);
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    vf_context *ctx;
    point_set set;
    memset(&set, 0x5a, sizeof set);
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    const bool xyz = size > 0 && data[0] == 'X';
    const size_t skip = size > 0;
    char *text = exact_copy(data + skip, size - skip);
    const vf_status status = parse_points(ctx, "fuzz.txt", text, size - skip, xyz, &set);
    free(text);
    if (status == VF_OK) {
        REQUIRE(set.count > 0 && !set.atoms);
        require_round_trip(ctx, &set);
    } else {
        const char *message = vf_context_message(ctx);
        REQUIRE(status == VF_ERR_INPUT && strncmp(message, "fuzz.txt:", 9) == 0);
        require_text(message, strlen(message) + 1);
    }
    point_set_free(&set);
    vf_context_destroy(ctx);
    return status;
}
