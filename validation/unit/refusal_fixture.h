/* Invalid arguments must be refused, with a message that begins with the function's subject. */
#ifndef REFUSAL_FIXTURE_H
#define REFUSAL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "voxfield/context.h"

/* Expects an argument error whose message begins with `what` and contains `why`; clears the context's error. */
static inline void assert_refused(vf_context *context, vf_status status, const char *what, const char *why)
{
    const char *message = vf_context_message(context);
    assert_int_equal(status, VF_ERR_ARGUMENT);
    if (strncmp(message, what, strlen(what)) != 0 || !strstr(message, why))
        fail_msg("\"%s\" does not begin with \"%s\" or lacks \"%s\"", message, what, why);
    vf_context_clear_error(context);
}

#endif
