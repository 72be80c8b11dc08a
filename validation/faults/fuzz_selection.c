/* Feeds arbitrary bytes to the parser of selections. One that is read applies to a small molecule, and "not" of it selects the other
 * atoms. A rejected one leaves an error message without control characters, and no memory. Like fuzz_pqr.c, a fuzzer with libFuzzer,
 * otherwise a program that runs files. */
#include "fuzz_replay.h"
#include "molecule/select_atoms.h"

enum { ATOMS = 12 };

static void check_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    REQUIRE(strncmp(text, "--fuzz", 6) == 0);
    for (; *text; text++)
        REQUIRE(*text >= ' ' && *text <= '~');
}

static molecule make_molecule(void)
{
    static double x[ATOMS], y[ATOMS], z[ATOMS], charge[ATOMS], radius[ATOMS];
    static atom_label labels[ATOMS];
    static const char *const names[] = {"N", "CA", "C", "O", "OH2", "H1", "H2", "O5'", "Na+", "C1", "H12", "X"};
    static const char *const residues[] = {"ALA",  "ALA", "ALA", "ALA", "TIP3", "TIP3",
                                           "TIP3", "DA",  "Na+", "LIG", "LIG",  "LIG"};
    for (int i = 0; i < ATOMS; i++) {
        x[i] = i;
        y[i] = i % 3;
        z[i] = i % 2;
        charge[i] = i % 5 - 2;
        radius[i] = 1;
        snprintf(labels[i].name, sizeof labels[i].name, "%s", names[i]);
        snprintf(labels[i].residue, sizeof labels[i].residue, "%s", residues[i]);
        snprintf(labels[i].chain, sizeof labels[i].chain, "%c", 'A' + i / 4);
        labels[i].residue_number = i / 4 - 1;
    }
    strcpy(labels[11].number_text, "****");
    return (molecule){.atoms = ATOMS, .x = x, .y = y, .z = z, .charge = charge, .radius = radius, .labels = labels};
}

static vf_status choose(vf_context *ctx, const char *text, const vf_cell *cell, bool *chosen)
{
    const molecule m = make_molecule();
    atom_selection *s = (atom_selection *)(void *)chosen;
    vf_status status = selection_parse(ctx, "--fuzz", text, &s);
    REQUIRE((status == VF_OK) == (s != NULL));
    if (status == VF_OK)
        status = selection_apply(ctx, s, &m, cell, chosen);
    selection_free(s);
    if (status != VF_OK) {
        REQUIRE(status == VF_ERR_ARGUMENT);
        check_log(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    }
    return status;
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    const vf_cell cell = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{5, 0, 0}, {0, 5, 0}, {0, 0, 5}}};
    vf_context *ctx;
    bool chosen[ATOMS], others[ATOMS];
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, check_log, NULL);
    char *text = malloc(size + 1), *opposite = malloc(size + 8);
    REQUIRE(text && opposite);
    memcpy(text, data, size);
    text[size] = '\0';
    const vf_status status = choose(ctx, text, &cell, chosen);
    if (status == VF_OK) {
        bool all = true;
        snprintf(opposite, size + 8, "not (%s)", text);
        for (int i = 0; i < ATOMS; i++)
            all = all && chosen[i];
        const vf_status opposite_status = choose(ctx, opposite, &cell, others);
        const bool deep = opposite_status != VF_OK && strstr(vf_context_message(ctx), "deeply"); /* one level more */
        REQUIRE(deep || (opposite_status != VF_OK) == all);
        for (int i = 0; opposite_status == VF_OK && i < ATOMS; i++)
            REQUIRE(chosen[i] != others[i]);
    }
    free(text);
    free(opposite);
    vf_context_destroy(ctx);
    return status;
}
