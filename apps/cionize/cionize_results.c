/* What a call of cionize (cionize.h) keeps of its run, instead of files. */
#include <string.h>

#include "cionize_state.h"
#include "result.h"

vf_status keep_ions(vf_result *result, const ion_list *list)
{
    enum { WIDTH = 8 };
    const int64_t n = list->count, one[] = {n}, three[] = {n, 3}, text[] = {n, WIDTH};
    double *place = NULL, *charge = NULL, *energy = NULL;
    char *name = NULL;
    vf_status status = result_new(result, "ions", VF_F64, 2, three, &place);
    VF_TRY(status, result_new(result, "ion_charges", VF_F64, 1, one, &charge));
    VF_TRY(status, result_new(result, "ion_energies", VF_F64, 1, one, &energy));
    VF_TRY(status, result_new(result, "ion_names", VF_U8, 2, text, &name));
    for (int64_t i = 0; status == VF_OK && i < n; i++) {
        const ion_site *site = &list->sites[i];
        const ion_kind *kind = &list->kinds[site->kind];
        memcpy(place + 3 * i, site->position, sizeof site->position);
        charge[i] = kind->charge;
        energy[i] = site->energy;
        memcpy(name + i * WIDTH, kind->name, strnlen(kind->name, WIDTH));
    }
    return status;
}

vf_status keep_energies(vf_result *result, const energy_table *t)
{
    const int64_t frames = t->frames > 0 ? t->frames : 1, parts = t->binds ? OF_ALL : 1, dims[] = {frames, parts};
    const int64_t atoms[] = {t->mol->atoms};
    double *reaction = NULL, *coulomb = NULL;
    vf_status status = result_new(result, "reaction", VF_F64, 2, dims, &reaction);
    VF_TRY(status, result_new(result, "coulomb", VF_F64, 2, dims, &coulomb));
    for (int64_t n = 0; status == VF_OK && n < frames * parts; n++) {
        reaction[n] = t->of[n / parts][n % parts].reaction;
        coulomb[n] = t->of[n / parts][n % parts].coulomb;
    }
    VF_TRY(status, result_copy(result, "atom_reaction", VF_F64, 1, atoms, t->atoms.reaction));
    VF_TRY(status, result_copy(result, "atom_coulomb", VF_F64, 1, atoms, t->atoms.coulomb));
    return status;
}

vf_context *call_context(const cionize_state *r)
{
    return r->settings.result ? r->ctx : NULL;
}
