/* Shared by the fuzzers: a check that is always active, and the program that runs files one by one without
 * libFuzzer. */
#ifndef FUZZ_REPLAY_H
#define FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "voxfield/status.h"

/* The fuzzer: returns VF_OK if the input was read, or the error if it was rejected. */
vf_status fuzz_one(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A separate allocation that ends where the data ends, so that a sanitizer detects reads beyond it. */
static inline char *exact_copy(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    REQUIRE(copy);
    memcpy(copy, data, size);
    return copy;
}

/* A file with the data, and its name; to be closed. */
static inline int file_of(const uint8_t *data, size_t size, char *name, size_t name_size)
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(name, name_size, "/proc/self/fd/%d", fd);
    return fd;
}

static inline void require_text(const char *text, size_t size)
{
    REQUIRE(memchr(text, '\0', size));
    for (; *text; text++)
        REQUIRE(*text >= ' ' && *text <= '~'); /* no control characters for a terminal */
}

#endif
