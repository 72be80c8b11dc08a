/* What the readers of molecules are given and say: texts in allocations of their own, and a context that keeps warnings. */
#ifndef READER_FIXTURE_H
#define READER_FIXTURE_H

#include "context_fixture.h"
#include "molecule/molecule.h"
#include "random_fixture.h"
#include "voxfield/append.h"

static char warnings[8192];

static void keep_warning(void *user, vf_log_level level, const char *text)
{
    (void)user;
    vf_append(warnings, sizeof warnings, "%s%s\n", level == VF_LOG_WARNING ? "" : "(note) ", text);
}

static inline int set_up_context(void **state)
{
    if (open_context(state) != 0)
        return 1;
    vf_context_set_log(ctx, keep_warning, NULL);
    return 0;
}

/* A separate allocation, so that a sanitizer detects reads beyond its end. */
static inline char *copy_exactly(const char *text, size_t bytes)
{
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    return copy;
}

#endif
