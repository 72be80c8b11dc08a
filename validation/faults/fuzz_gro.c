/* Feeds arbitrary bytes to the readers of GROMACS's .gro files: as frames (fuzz_trajectories.h), for the cell alone, and
 * as a molecule beside charges, which are missing. What is accepted as frames is one as a molecule, too, up to its
 * charges. fuzz_replay.c says how to run this. */
#include "fuzz_trajectories.h"
#include "molecule/molecule.h"

static void require_cell(const uint8_t *data, size_t size, bool frames)
{
    vf_context *ctx;
    unit_cell cell;
    if (vf_context_create(&ctx) != VF_OK)
        return;
    snprintf(name, sizeof name, "fuzz.gro");
    vf_context_set_log(ctx, check_text, NULL);
    char *text = malloc(size ? size : 1); /* it ends where the data ends, so that a sanitizer detects reads beyond it */
    REQUIRE(text);
    if (size)
        memcpy(text, data, size);
    const vf_status status = parse_cell(ctx, name, text, size, &cell, NULL);
    free(text);
    REQUIRE(status == VF_OK || status == VF_ERR_INPUT);
    REQUIRE(status == VF_OK || !frames); /* the first frame is read in the same way */
    if (status != VF_OK)
        check_text(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    for (int a = 0; cell.state == UNIT_CELL_NUMBERS && a < 3; a++)
        REQUIRE(cell.lengths[a] > 0 && isfinite(cell.lengths[a]) && cell.angles[a] > 0 && cell.angles[a] < 180);
    vf_context_destroy(ctx);
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    const vf_status status = fuzz_trajectory(data, size);
    require_cell(data, size, status == VF_OK && !memchr(data, '\0', size)); /* not of binary trajectories */
    return status;
}
