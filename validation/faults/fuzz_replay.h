/* What fuzzers share: a check that stays on, and the program that runs files one by one where there is no libFuzzer. */
#ifndef FUZZ_REPLAY_H
#define FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/status.h"

/* The fuzzer: VF_OK if the input was read, the error if it was refused. */
vf_status fuzz_one(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void require_text(const char *text, size_t size)
{
    REQUIRE(memchr(text, '\0', size));
    for (; *text; text++)
        REQUIRE(*text >= ' ' && *text <= '~'); /* nothing that a terminal would act on */
}

#endif
