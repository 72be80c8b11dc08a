/* Feeds any bytes to the PQR reader, and checks what must hold whatever they are: a molecule that is read is whole and
 * finite, and reads the same when it is written out plainly; one that is refused leaves a message and no memory.
 *
 * With libFuzzer (clang -fsanitize=fuzzer, VOXFIELD_LIBFUZZER defined) a fuzzer; else a program that runs the files and
 * directories it is given, for tests without it. There, files named ok-* must be read and files named bad-* refused. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_label.h"

static void require_sound(const molecule *m)
{
    double total = 0, size = 0;
    REQUIRE(m->atoms >= 1 && m->missing_atoms >= 0 && m->missing_residues >= 0);
    for (int64_t i = 0; i < m->atoms; i++) {
        const double xyz[3] = {m->x[i], m->y[i], m->z[i]};
        for (int a = 0; a < 3; a++)
            REQUIRE(isfinite(xyz[a]) && xyz[a] >= m->lo[a] && xyz[a] <= m->hi[a]);
        REQUIRE(isfinite(m->charge[i]) && isfinite(m->radius[i]) && m->radius[i] >= 0);
        require_label(&m->labels[i]);
        total += m->charge[i];
        size += fabs(m->charge[i]);
    }
    /* A plain sum of n numbers is off by at most n half units in the last place of their absolute sum. */
    REQUIRE(fabs(total - m->total_charge) <= 1.2e-16 * (double)m->atoms * size);
    REQUIRE(strlen(m->digest) == VF_DIGEST_TEXT - 1 && *m->dialect && strlen(m->dialect) < sizeof m->dialect);
}

static void require_same(const molecule *a, const molecule *b)
{
    size_t bytes = (size_t)a->atoms * sizeof(double);
    REQUIRE(a->atoms == b->atoms);
    REQUIRE(memcmp(a->x, b->x, bytes) == 0 && memcmp(a->y, b->y, bytes) == 0 && memcmp(a->z, b->z, bytes) == 0);
    REQUIRE(memcmp(a->charge, b->charge, bytes) == 0 && memcmp(a->radius, b->radius, bytes) == 0);
}

/* 17 digits and an exponent give back every double; and no PDB file has such numbers. */
static void require_round_trip(vf_context *ctx, const molecule *m)
{
    enum { LINE = 200, MOST = 64 };
    static char text[LINE * MOST];
    size_t used = 0;
    molecule again;
    if (m->atoms > MOST)
        return;
    for (int64_t i = 0; i < m->atoms; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "ATOM 1 C ION A 1 %.16e %.16e %.16e %.16e %.16e\n",
                                 m->x[i], m->y[i], m->z[i], m->charge[i], m->radius[i]);
    REQUIRE(parse_pqr(ctx, "plain.pqr", text, used, &again) == VF_OK);
    require_same(m, &again);
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
    /* Memory of its own, ending where the data ends, so that a sanitizer sees a byte too far. */
    char *text = malloc(size ? size : 1);
    REQUIRE(text);
    memcpy(text, data, size);
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
