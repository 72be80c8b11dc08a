/* Feeds arbitrary bytes to the reader of motion tables. Rows that are read are in range and in order, and read the
 * same after they are written in a plain form. A rejected table leaves an error message and no memory. Like
 * fuzz_pqr.c, a fuzzer with libFuzzer, otherwise a program that runs files. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_replay.h"
#include "scan/motion_table.h"
#include "voxfield/append.h"

static void require_sound(const motion_table *t)
{
    int64_t line = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        REQUIRE(t->row[i].line > line && t->row[i].line <= t->lines);
        line = t->row[i].line;
        for (int a = 0; a < 3; a++)
            REQUIRE(fabs(t->row[i].shift[a]) <= 1e4 && fabs(t->row[i].degrees[a]) <= 360);
    }
}

/* 17 digits preserve every double. */
static void require_round_trip(vf_context *ctx, const motion_table *t)
{
    enum { ROW = 200 };
    char *text = calloc((size_t)t->rows + 1, ROW);
    motion_table again;
    size_t used = 0;
    REQUIRE(text);
    for (int64_t i = 0; i < t->rows; i++) {
        const motion_row *r = &t->row[i];
        used += vf_append(text + used, ROW, "%.17g %.17g %.17g %.17g %.17g %.17g\n", r->shift[0], r->shift[1],
                          r->shift[2], r->degrees[0], r->degrees[1], r->degrees[2]);
    }
    REQUIRE(motion_table_parse(ctx, "plain.txt", text, (int64_t)used, &again) == VF_OK && again.rows == t->rows);
    for (int64_t i = 0; i < t->rows; i++)
        REQUIRE(memcmp(again.row[i].shift, t->row[i].shift, sizeof again.row[i].shift) == 0 &&
                memcmp(again.row[i].degrees, t->row[i].degrees, sizeof again.row[i].degrees) == 0);
    motion_table_free(&again);
    free(text);
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    vf_context *ctx;
    motion_table table;
    memset(&table, 0x5a, sizeof table);
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    char *text = exact_copy(data, size);
    const vf_status status = motion_table_parse(ctx, "fuzz.txt", text, (int64_t)size, &table);
    free(text);
    if (status == VF_OK) {
        require_sound(&table);
        require_round_trip(ctx, &table);
    } else {
        const char *message = vf_context_message(ctx);
        REQUIRE(status == VF_ERR_INPUT && table.rows == 0 && !table.row);
        REQUIRE(strncmp(message, "fuzz.txt:", 9) == 0);
        require_text(message, strlen(message) + 1);
    }
    motion_table_free(&table);
    vf_context_destroy(ctx);
    return status;
}
