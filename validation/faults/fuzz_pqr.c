/* Feeds arbitrary bytes to the PQR reader. A molecule that is read is complete and finite, and reads the same after
 * it is written in a plain form. A rejected one leaves an error message and no memory.
 *
 * With libFuzzer (clang -fsanitize=fuzzer, VOXFIELD_LIBFUZZER defined) this is a fuzzer; otherwise a program for
 * tests that runs the given files and directories. There, files named ok-* must be read, and files named bad-* must
 * be rejected. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_molecules.h"
#include "voxfield/append.h"

/* 17 digits and an exponent preserve every double, and no PDB file has such numbers. */
static void require_round_trip(vf_context *ctx, const molecule *m)
{
    enum { LINE = 200, MOST = 64 };
    static char text[LINE * MOST];
    molecule again;
    if (m->atoms > MOST)
        return;
    text[0] = '\0';
    for (int64_t i = 0; i < m->atoms; i++)
        vf_append(text, sizeof text, "ATOM 1 C ION A 1 %.16e %.16e %.16e %.16e %.16e\n", m->x[i], m->y[i], m->z[i],
                  m->charge[i], m->radius[i]);
    REQUIRE(parse_pqr(ctx, "plain.pqr", text, strlen(text), &again) == VF_OK);
    require_same(m, &again);
    REQUIRE(memcmp(m->radius, again.radius, (size_t)m->atoms * sizeof(double)) == 0);
    molecule_free(&again);
}

static void ignore_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    REQUIRE(strncmp(text, "fuzz.pqr:", 9) == 0 || strncmp(text, "plain.pqr:", 10) == 0);
    require_text(text, strlen(text) + 1);
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    vf_context *ctx;
    molecule m;
    memset(&m, 0x5a, sizeof m);
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, ignore_log, NULL);
    char *text = exact_copy(data, size);
    vf_status status = parse_pqr(ctx, "fuzz.pqr", text, size, &m);
    free(text);
    if (status == VF_OK) {
        require_sound(&m);
        require_round_trip(ctx, &m);
    } else {
        REQUIRE(status == VF_ERR_INPUT && m.atoms == 0 && !m.x && !m.radius);
        ignore_log(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    }
    molecule_free(&m);
    vf_context_destroy(ctx);
    return status;
}
