/* What the tests of refused arguments share. */
#ifndef REFUSAL_FIXTURE_H
#define REFUSAL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "voxfield/context.h"

/* A refusal for its arguments, whose message begins with `what` and says `why`; the context's error is cleared. */
static inline void assert_refused(vf_context *context, vf_status status, const char *what, const char *why)
{
    const char *message = vf_context_message(context);
    assert_int_equal(status, VF_ERR_ARGUMENT);
    if (strncmp(message, what, strlen(what)) != 0 || !strstr(message, why))
        fail_msg("\"%s\" is not about %s: %s", message, what, why);
    vf_context_clear_error(context);
}

#endif
