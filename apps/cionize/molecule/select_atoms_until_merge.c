/* UNTIL THE MERGE: takes only "resname X"; the language of --select replaces this file. */
#include <stdlib.h>
#include <string.h>

#include "select_atoms.h"

struct atom_selection {
    char residue[9];
};

vf_status selection_parse(vf_context *ctx, const char *where, const char *text, atom_selection **out)
{
    static const char begins[] = "resname ";
    *out = NULL;
    if (strncmp(text, begins, strlen(begins)) != 0 || strlen(text) - strlen(begins) > 8)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s '%s': expected resname NAME", where, text);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a selection");
    strcpy((*out)->residue, text + strlen(begins));
    return VF_OK;
}

vf_status selection_apply(vf_context *ctx, const atom_selection *s, const molecule *m, const vf_cell *cell,
                          bool *chosen)
{
    int64_t count = 0;
    (void)cell;
    for (int64_t i = 0; i < m->atoms; i++)
        count += chosen[i] = strcmp(m->labels[i].residue, s->residue) == 0;
    return count > 0 ? VF_OK : vf_fail(ctx, VF_ERR_ARGUMENT, "no atom is selected: no residue %s", s->residue);
}

void selection_free(atom_selection *s)
{
    free(s);
}
