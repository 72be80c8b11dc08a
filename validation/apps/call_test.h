/* What tests of the programs as functions share: the programs themselves, and what a call must leave as it was. */
#ifndef CALL_TEST_H
#define CALL_TEST_H

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "voxfield/context.h"
#include "voxfield/programs.h"
#include "voxfield/timer.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

static atomic_int failures, checks; /* two calls at once have threads of their own */

static void check(bool right, const char *format, ...) VF_PRINTF(2, 3);
static void check(bool right, const char *format, ...)
{
    va_list args;
    checks++;
    if (right)
        return;
    failures++;
    va_start(args, format);
    fputs("FAIL: ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

/* Runs a command line; its output is printed if it fails. */
static void run_program(const char *format, ...) VF_PRINTF(1, 2);
static void run_program(const char *format, ...)
{
    char command[2048], whole[2200];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    snprintf(whole, sizeof whole, "(%s) > log.txt 2>&1 || { cat log.txt; exit 1; }", command);
    check(system(whole) == 0, "%s", command);
}

static vf_context *new_context(void)
{
    vf_context *ctx = NULL;
    if (vf_context_create(&ctx) != VF_OK) {
        printf("FAIL: no context\n");
        exit(1);
    }
    return ctx;
}

static bool same_bits(vf_view a, vf_view b)
{
    size_t bytes = vf_dtype_bytes(a.type);
    if (!a.data || !b.data || a.type != b.type || a.rank != b.rank)
        return false;
    for (int d = 0; d < a.rank; d++) {
        bytes *= (size_t)a.dims[d];
        if (a.dims[d] != b.dims[d])
            return false;
    }
    return memcmp(a.data, b.data, bytes) == 0;
}

/* ---- what must stay as it was ---- */

typedef struct surroundings {
    struct sigaction on[NSIG];
    char folder[1024];
    int out, err; /* the streams, which go to a file meanwhile */
} surroundings;

static void watch_surroundings(surroundings *s)
{
    memset(s, 0, sizeof *s);
    for (int n = 1; n < NSIG; n++)
        (void)sigaction(n, NULL, &s->on[n]);
    if (!getcwd(s->folder, sizeof s->folder))
        s->folder[0] = '\0';
    fflush(NULL);
    s->out = dup(1);
    s->err = dup(2);
    const int file = open("printed.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, 1);
    dup2(file, 2);
    close(file);
}

static void check_surroundings(surroundings *s)
{
    char folder[1024] = "";
    struct stat printed = {0};
    fflush(NULL);
    dup2(s->out, 1);
    dup2(s->err, 2);
    close(s->out);
    close(s->err);
    check(stat("printed.txt", &printed) == 0 && printed.st_size == 0, "a call printed %lld bytes",
          (long long)printed.st_size);
    check(getcwd(folder, sizeof folder) && strcmp(folder, s->folder) == 0, "a call changed the folder to %s", folder);
    for (int n = 1; n < NSIG; n++) {
        struct sigaction now;
        if (sigaction(n, NULL, &now) == 0)
            check(now.sa_handler == s->on[n].sa_handler, "a call changed the handler of signal %d", n);
    }
}

/* ---- growth ---- */

/* Bytes in use from malloc. */
static size_t allocated(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* A second use finds what the first has made (plans, tables, threads), so growth counts from the tenth on. The smallest image of a
 * run has half a kilobyte, so 190 runs that forget one are at twice the limit. */
static void check_growth(void (*once)(void *user), void *user, int runs)
{
    enum { FIRST = 10, LIMIT = 50000 };
    size_t before = 0;
#ifdef UNDER_SANITIZER
    runs = 12; /* leaks are the sanitizer's own business */
#endif
    for (int n = 0; n < runs; n++) {
        if (n == FIRST)
            before = allocated();
        once(user);
    }
    const long long growth = (long long)allocated() - (long long)before;
    printf("%d runs: %lld bytes more than after %d\n", runs, growth, FIRST);
#ifndef UNDER_SANITIZER
    check(growth < LIMIT, "%d runs use %lld bytes more than %d, limit %d", runs, growth, FIRST, LIMIT);
#endif
}

/* ---- cancellation ---- */

/* Seconds that a call may go on. Sanitizers make it some ten times slower. */
#ifdef UNDER_SANITIZER
#define LATEST 10
#else
#define LATEST 1
#endif

typedef struct canceller {
    vf_context *ctx;
    double after, at; /* s; when it was, by vf_now */
} canceller;

static void *cancel_later(void *user)
{
    canceller *c = user;
    usleep((useconds_t)(c->after * 1e6));
    c->at = vf_now();
    vf_context_cancel(c->ctx);
    return NULL;
}

#endif
