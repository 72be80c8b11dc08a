/* The library's context in a test, zeroed memory, and statuses as they should be. */
#ifndef CONTEXT_FIXTURE_H
#define CONTEXT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_main.h"
#include "voxfield/context.h"

/* Sanitizers make a program many times slower, and larger. What needs gigabytes is left out there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* Of a formula that a test computes beside the library, alone and on one thread: a sanitizer would find nothing in it, and takes most
 * of the test's time for it. What it calls has to say the same, or is watched. */
#define UNWATCHED __attribute__((no_sanitize("address", "thread", "undefined")))

static vf_context *ctx;

/* For groups of tests, or for each test. */
static inline int open_context(void **state)
{
    (void)state;
    return vf_context_create(&ctx) != VF_OK;
}

static inline int close_context(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    ctx = NULL;
    return 0;
}

static inline void need(vf_status status)
{
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
}

/* Expects this error, with a message that contains these words, and clears it. */
static inline void expect_error(vf_status status, vf_status expected, const char *words)
{
    if (status != expected || !vf_context_message(ctx)[0] || !strstr(vf_context_message(ctx), words))
        fail_msg("got %s, '%s', not %s, '%s'", vf_status_name(status), vf_context_message(ctx),
                 vf_status_name(expected), words);
    vf_context_clear_error(ctx);
}

/* The same of an invalid argument. */
static inline void refused(vf_status status, const char *words)
{
    expect_error(status, VF_ERR_ARGUMENT, words);
}

/* Whether the text contains each of the words, which are separated by |. */
static inline bool contains_all(const char *text, const char *words)
{
    char copy[512], *state = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &state); word; word = strtok_r(NULL, "|", &state))
        if (!strstr(text, word))
            return false;
    return true;
}

/* Zeros, with one element more than asked for. */
static inline void *room(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    assert_non_null(memory);
    return memory;
}

#endif
