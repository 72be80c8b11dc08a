/* Feeds arbitrary bytes to the readers of mmCIF: as a molecule with charges, as coordinates beside charges, and for its cell
 * with its symmetry. What is accepted is complete and finite; its space group, if it can be expanded, makes a sound crystal. A
 * rejected file leaves an error message and no memory. fuzz_replay.c says how to run this. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_molecules.h"

enum { MOST_ATOMS = 200 }; /* to expand: the time of a run is limited */

static void check_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    const char *name = strncmp(text, "note: ", 6) == 0 ? text + 6 : text;
    REQUIRE(strncmp(name, "fuzz.", 5) == 0);
    require_text(text, strlen(text) + 1);
}

static void require_refusal(vf_context *ctx, vf_status status, const molecule *m)
{
    REQUIRE(status == VF_ERR_INPUT || status == VF_ERR_UNSUPPORTED);
    REQUIRE(m->atoms == 0 && !m->x && !m->labels && !m->symmetry.matrix);
    check_log(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    vf_context_clear_error(ctx);
}

static void expand(vf_context *ctx, molecule *m)
{
    symmetry_group group;
    if (m->cell.state != UNIT_CELL_NUMBERS || m->atoms > MOST_ATOMS || symmetry_is_trivial(m->cell.group, &m->symmetry))
        return;
    vf_status status = symmetry_operators(ctx, "fuzz.cif", &m->cell, &m->symmetry, &group);
    if (status == VF_OK) {
        REQUIRE(group.count >= 1 && group.count <= SYMMETRY_MOST);
        status = molecule_expand(ctx, "fuzz.cif", &m->cell, &group, m);
    }
    if (status == VF_OK)
        require_sound(m);
    else
        check_log(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    vf_context_clear_error(ctx);
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    static const char one_charge[] = "PSF\n1 !NATOM\n1 PROT 1 ALA N NH3 -0.3 14.007 0\n";
    vf_context *ctx;
    molecule m;
    unit_cell cell;
    listed_symmetry symmetry = {0};
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, check_log, NULL);
    char *text = malloc(size ? size : 1); /* it ends where the data ends, so that a sanitizer detects reads beyond it */
    REQUIRE(text);
    if (size)
        memcpy(text, data, size);
    const named_text places = {"fuzz.cif", text, size}, charges = {"fuzz.psf", one_charge, sizeof one_charge - 1};
    const vf_status alone = parse_pqr(ctx, "fuzz.cif", text, size, &m);
    if (alone == VF_OK) {
        require_sound(&m);
        expand(ctx, &m);
    } else
        require_refusal(ctx, alone, &m);
    molecule_free(&m);
    const vf_status both = parse_molecule_with_charges(ctx, &places, &charges, &m);
    if (both == VF_OK)
        require_sound(&m);
    else
        require_refusal(ctx, both, &m);
    molecule_free(&m);
    if (parse_cell(ctx, "fuzz.cif", text, size, &cell, &symmetry) == VF_OK && cell.state == UNIT_CELL_NUMBERS)
        for (int a = 0; a < 3; a++)
            REQUIRE(cell.lengths[a] > 0 && cell.angles[a] > 0 && cell.angles[a] < 180);
    symmetry_free(&symmetry);
    free(text);
    vf_context_destroy(ctx);
    return alone;
}
