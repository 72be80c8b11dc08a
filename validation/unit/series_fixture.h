/* Shared by the tests of regrouped scans: random numbers from a seed, and memory. */
#ifndef SERIES_FIXTURE_H
#define SERIES_FIXTURE_H

#include <time.h>

#include "random_fixture.h"
#include "scan_fixture.h"

static inline int below(int n)
{
    return (int)(uniform() * n);
}

static inline float number(void)
{
    return (float)(2 * uniform() - 1);
}

static inline void *room(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    assert_non_null(memory);
    return memory;
}

static inline void start_random(void)
{
    const char *given = getenv("VOXFIELD_TEST_SEED");
    random_state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    print_message("seed %llu (VOXFIELD_TEST_SEED repeats it)\n", (unsigned long long)random_state);
}

#endif
