/* Shared by the tests of the PQR reader: text in a separate allocation, the expected result, atoms to write, and
 * random numbers. */
#ifndef VOXFIELD_PQR_FIXTURE_H
#define VOXFIELD_PQR_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "molecule/molecule.h"
#include "random_fixture.h"
#include "voxfield/append.h"

#define FIRST "ATOM 1 N ALA A 52 1.500 2.500 3.500 0.25 1.5"
#define SECOND "ATOM 2 C ALA A 52 -1.500 2.500 3.500 -0.25 2.0"

enum { PATH_SIZE = 256, LOG_SIZE = 8192, X = 0, Y, Z, CHARGE, RADIUS, VALUES };

static vf_context *ctx;
static char directory[PATH_SIZE];
static char warnings[LOG_SIZE];

static void keep_warning(void *user, vf_log_level level, const char *text)
{
    (void)user;
    vf_append(warnings, sizeof warnings, "%s%s\n", level == VF_LOG_WARNING ? "" : "note: ", text);
}

static inline vf_status parse_bytes(const char *text, size_t bytes, molecule *out)
{
    warnings[0] = '\0';
    vf_context_clear_error(ctx);
    /* A separate allocation, so that a sanitizer detects reads beyond its end. */
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    vf_status status = parse_pqr(ctx, "m.pqr", copy, bytes, out);
    free(copy);
    return status;
}

static inline vf_status parse(const char *text, molecule *out)
{
    return parse_bytes(text, strlen(text), out);
}

static inline void expect_read(const char *text, molecule *out)
{
    if (parse(text, out) != VF_OK)
        fail_msg("not read: %s\n%.400s", vf_context_message(ctx), text);
}

/* Reads `text` and expects exactly these atoms: x y z charge radius each. */
static inline void expect_atoms(const char *text, int64_t atoms, const double (*values)[VALUES])
{
    molecule m;
    expect_read(text, &m);
    if (m.atoms != atoms)
        fail_msg("%lld atoms instead of %lld in\n%.400s", (long long)m.atoms, (long long)atoms, text);
    for (int64_t i = 0; i < atoms; i++) {
        const double got[VALUES] = {m.x[i], m.y[i], m.z[i], m.charge[i], m.radius[i]};
        for (int v = 0; v < VALUES; v++)
            if (!(got[v] == values[i][v]))
                fail_msg("atom %lld value %d is %.17g instead of %.17g in\n%.400s", (long long)i, v, got[v],
                         values[i][v], text);
    }
    molecule_free(&m);
}

static inline bool contains_all(const char *text, const char *words)
{
    char copy[512], *state = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &state); word; word = strtok_r(NULL, "|", &state))
        if (!strstr(text, word))
            return false;
    return true;
}

/* Expects an error whose message contains every one of `words`, which are separated by |. */
static inline void expect_refused_bytes(const char *text, size_t bytes, const char *words)
{
    molecule m;
    memset(&m, 0x5a, sizeof m);
    vf_status status = parse_bytes(text, bytes, &m);
    if (status != VF_ERR_INPUT)
        fail_msg("status %s instead of VF_ERR_INPUT for\n%.400s", vf_status_name(status), text);
    if (!contains_all(vf_context_message(ctx), words))
        fail_msg("'%s' lacks one of '%s' for\n%.400s", vf_context_message(ctx), words, text);
    assert_null(m.x);
    assert_int_equal(m.atoms, 0);
}

static inline void expect_refused(const char *text, const char *words)
{
    expect_refused_bytes(text, strlen(text), words);
}

static inline void expect_warning(const char *text, const char *words)
{
    molecule m;
    expect_read(text, &m);
    molecule_free(&m);
    if (!contains_all(warnings, words))
        fail_msg("warnings '%s' lack one of '%s' for\n%.400s", warnings, words, text);
}

static inline void expect_no_warning(const char *text)
{
    molecule m;
    expect_read(text, &m);
    molecule_free(&m);
    if (*warnings)
        fail_msg("unexpected '%s' for\n%.400s", warnings, text);
}

static inline void add_line(char *text, size_t size, const char *format, ...) VF_PRINTF(3, 4);
static inline void add_line(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vf_append_args(text, size, format, args);
    va_end(args);
}

/* `count` atoms along x, with the charges written as given, in turn. */
static inline char *many_atoms(int count, int charges, const char *const *charge)
{
    char *text = malloc((size_t)count * 64 + 1), *p = text;
    assert_non_null(text);
    for (int i = 0; i < count; i++)
        p += sprintf(p, "ATOM %d OW SOL %d %d.000 0.000 0.000 %s 1.500\n", i + 1, i / 3, i, charge[i % charges]);
    return text;
}

static inline int set_up(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/test_pqr.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(directory) || vf_context_create(&ctx) != VF_OK)
        return -1;
    vf_context_set_log(ctx, keep_warning, NULL);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return rmdir(directory);
}

#endif
