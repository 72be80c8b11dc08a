/* Numbers of a scan's noise and spectrum that must be near others, and the main function of their tests. */
#ifndef WIENER_FIXTURE_H
#define WIENER_FIXTURE_H

#include <complex.h>
#include <math.h>

#include "context_fixture.h"
#include "random_fixture.h"
#include "voxfield/team_size.h"
#include "wiener.h"

/* A NaN fails. */
static inline void near(const char *what, double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s: %.9g instead of %.9g, off by %.3g, allowed %.3g", what, got, expected, fabs(got - expected),
                 tolerance);
}

static inline int run_group(const struct CMUnitTest *tests, size_t count)
{
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_context_set_team_work(ctx, 1000); /* small arrays have teams, too */
    const int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    vf_context_destroy(ctx);
    return failed != 0;
}

#endif
