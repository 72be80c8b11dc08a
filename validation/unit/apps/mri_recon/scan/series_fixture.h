/* Random numbers of readouts, frames and samples, for the tests that cut scans into other frames. */
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
