/* Shared by the tests of regrouped scans: random numbers, and memory. */
#ifndef SERIES_FIXTURE_H
#define SERIES_FIXTURE_H

#include "random_fixture.h"
#include "scan_fixture.h"

static inline int below(int n)
{
    return (int)integer_below(n);
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

#endif
