/* Feeds arbitrary bytes to the readers of molecules in two files. A molecule that is read is complete and finite,
 * and reads the same after it is written in a plain form. A rejected one leaves an error message and no memory.
 *
 * The input is the coordinates' text, a line of equals signs (at least three), and the charges' text. Without such a
 * line it is read both as coordinates and as charges of one atom. fuzz_replay.c says how to run this. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_molecules.h"
#include "voxfield/append.h"

/* Three or seven decimals preserve coordinates that were written with as many; 17 digits preserve every charge. */
static void require_round_trip(vf_context *ctx, const molecule *m)
{
    enum { LINE = 120, MOST = 64 };
    static char places[LINE * (MOST + 2)], charges[LINE * (MOST + 2)];
    bool pdb = strncmp(m->dialect, "PDB", 3) == 0;
    molecule again;
    const bool fixed = pdb || strncmp(m->dialect, "AMBER coordinates", 17) == 0;
    if (m->atoms > MOST || !fixed) /* other formats have more decimals; their tests have every precision */
        return;
    places[0] = '\0';
    if (!pdb)
        vf_append(places, sizeof places, "title\n%5d\n", (int)m->atoms);
    snprintf(charges, sizeof charges, "PSF NAMD\n%d !NATOM\n", (int)m->atoms);
    for (int64_t i = 0; i < m->atoms; i++) {
        vf_append(places, sizeof places, pdb ? "ATOM      1  C   ION A   1    %8.3f%8.3f%8.3f\n" : "%12.7f%12.7f%12.7f",
                  m->x[i], m->y[i], m->z[i]);
        if (!pdb && (i % 2 == 1 || i + 1 == m->atoms))
            vf_append(places, sizeof places, "\n");
        vf_append(charges, sizeof charges, "1 S 1 ION C T %.16e 1.0 0\n", m->charge[i]);
    }
    const named_text first = {"plain.mol", places, strlen(places)}, second = {"plain.chg", charges, strlen(charges)};
    REQUIRE(parse_molecule_with_charges(ctx, &first, &second, &again) == VF_OK);
    require_same(m, &again);
    molecule_free(&again);
}

static void check_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    const char *name = strncmp(text, "note: ", 6) == 0 ? text + 6 : text;
    REQUIRE(strncmp(name, "fuzz.", 5) == 0 || strncmp(name, "plain.", 6) == 0);
    require_text(text, strlen(text) + 1);
}

/* A separate allocation that ends where the data ends, so that a sanitizer detects reads beyond it. */
static char *copy_exactly(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    REQUIRE(text);
    if (size)
        memcpy(text, data, size);
    return text;
}

static vf_status read_two(const uint8_t *places, size_t place_bytes, const uint8_t *charges, size_t charge_bytes)
{
    vf_context *ctx;
    molecule m;
    memset(&m, 0x5a, sizeof m);
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, check_log, NULL);
    char *first = copy_exactly(places, place_bytes), *second = copy_exactly(charges, charge_bytes);
    vf_status status = parse_molecule_with_charges(ctx, &(named_text){"fuzz.mol", first, place_bytes},
                                                   &(named_text){"fuzz.chg", second, charge_bytes}, &m);
    free(first);
    free(second);
    if (status == VF_OK) {
        require_sound(&m);
        REQUIRE(m.missing_atoms == 0 && m.missing_residues == 0);
        require_round_trip(ctx, &m);
    } else {
        REQUIRE(status == VF_ERR_INPUT && m.atoms == 0 && !m.x && !m.labels);
        check_log(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    }
    molecule_free(&m);
    vf_context_destroy(ctx);
    return status;
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    static const char one_place[] = "ATOM      1  N   ALA A   1      13.120  39.003   5.159\n";
    static const char one_charge[] = "PSF\n1 !NATOM\n1 PROT 1 ALA N NH3 -0.3 14.007 0\n";
    const uint8_t *line = memmem(data, size, "\n===", 4);
    if (line) {
        const uint8_t *second = line + 1;
        while (second < data + size && *second == '=')
            second++;
        second += second < data + size;
        return read_two(data, (size_t)(line + 1 - data), second, (size_t)(data + size - second));
    }
    vf_status as_places = read_two(data, size, (const uint8_t *)one_charge, sizeof one_charge - 1);
    vf_status as_charges = read_two((const uint8_t *)one_place, sizeof one_place - 1, data, size);
    return as_places == VF_OK ? as_places : as_charges;
}
