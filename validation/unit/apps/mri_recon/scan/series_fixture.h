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

#endif
