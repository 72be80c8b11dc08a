/* Lists of ions and what is said about them: a context that keeps notes and warnings, for the tests of ions and scripts. */
#ifndef ION_FIXTURE_H
#define ION_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ions/ions.h"
#include "random_fixture.h"
#include "voxfield/append.h"
#include "voxfield/team_size.h"

typedef struct ion_fixture {
    vf_context *ctx;
    char log[8192]; /* "warning: ...\n" */
} ion_fixture;

static ion_fixture fixture;

static inline void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    vf_append(fixture.log, sizeof fixture.log, "%s: %s\n", level == VF_LOG_WARNING ? "warning" : "note", text);
}

static inline int ion_setup(void **state)
{
    (void)state;
    if (vf_context_create(&fixture.ctx) != VF_OK)
        return -1;
    vf_context_set_log(fixture.ctx, keep_log, NULL);
    vf_context_set_team_work(fixture.ctx, 1000); /* small arrays have teams, too */
    return 0;
}

static inline int ion_teardown(void **state)
{
    (void)state;
    vf_context_destroy(fixture.ctx);
    return 0;
}

/* To be called before each call whose messages matter. */
static inline vf_context *fresh(void)
{
    fixture.log[0] = '\0';
    vf_context_clear_error(fixture.ctx);
    return fixture.ctx;
}

static inline void assert_ok(vf_status status)
{
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(fixture.ctx));
}

/* Checks that the text contains every one of `words`, which are separated by |. */
static inline void assert_says(const char *text, const char *words)
{
    char copy[512], *state = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &state); word; word = strtok_r(NULL, "|", &state))
        if (!strstr(text, word))
            fail_msg("'%s' lacks '%s'", text, word);
}

static inline void assert_fails(vf_status status, vf_status expected, const char *words)
{
    if (status != expected)
        fail_msg("%s instead of %s: %s", vf_status_name(status), vf_status_name(expected),
                 vf_context_message(fixture.ctx));
    assert_says(vf_context_message(fixture.ctx), words);
}

#endif
