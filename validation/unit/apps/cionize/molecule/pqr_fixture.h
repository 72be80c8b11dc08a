/* PQR texts, and the atoms, refusals and warnings that must come of them. */
#ifndef VOXFIELD_PQR_FIXTURE_H
#define VOXFIELD_PQR_FIXTURE_H

#include <math.h>

#include "reader_fixture.h"

#define FIRST "ATOM 1 N ALA A 52 1.500 2.500 3.500 0.25 1.5"
#define SECOND "ATOM 2 C ALA A 52 -1.500 2.500 3.500 -0.25 2.0"

enum { X, Y, Z, CHARGE, RADIUS, VALUES };

static inline vf_status parse_bytes(const char *text, size_t bytes, molecule *out)
{
    warnings[0] = '\0';
    vf_context_clear_error(ctx);
    char *copy = copy_exactly(text, bytes);
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

#endif
