#include "molecule_part.h"

#include <stdlib.h>
#include <string.h>

#include "molecule_arrays.h"

static vf_status no_memory(vf_context *ctx, const molecule *m)
{
    return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a part of %lld atoms", (long long)m->atoms);
}

/* The number of atom i in the whole of m. */
static int64_t number_in_whole(const molecule *m, int64_t i)
{
    return m->of_whole ? m->of_whole[i] : i;
}

int64_t molecule_whole_atoms(const molecule *m)
{
    return m->of_whole ? m->whole_atoms : m->atoms;
}

double molecule_whole_charge(const molecule *m)
{
    return m->of_whole ? m->whole_charge : m->total_charge;
}

vf_status molecule_weigh(vf_context *ctx, const molecule *whole, const double *weight, molecule *out)
{
    double rest = 0;
    int64_t atoms = 0;
    *out = (molecule){.whole_atoms = molecule_whole_atoms(whole), .whole_charge = molecule_whole_charge(whole)};
    for (int64_t i = 0; i < whole->atoms; i++)
        atoms += weight[i] != 0;
    out->of_whole = calloc((size_t)atoms + 1, sizeof *out->of_whole);
    if (!out->of_whole || !molecule_resize(out, atoms)) {
        molecule_free(out);
        return no_memory(ctx, whole);
    }
    for (int64_t i = 0; i < whole->atoms; i++) {
        const double xyz[3] = {whole->x[i], whole->y[i], whole->z[i]};
        if (weight[i] == 0)
            continue;
        out->of_whole[out->atoms] = number_in_whole(whole, i);
        out->charge[out->atoms] = weight[i] * whole->charge[i];
        out->radius[out->atoms] = whole->radius[i];
        out->labels[out->atoms] = whole->labels[i];
        molecule_add_charge(out, weight[i] * whole->charge[i], &rest);
        molecule_place(out, out->atoms++, xyz);
    }
    out->total_charge += rest;
    memcpy(out->digest, whole->digest, sizeof out->digest);
    return VF_OK;
}

vf_status molecule_reduce(vf_context *ctx, molecule *m, const bool *keep)
{
    const int64_t whole = molecule_whole_atoms(m);
    const double charge = molecule_whole_charge(m);
    int64_t *numbers = malloc((size_t)m->atoms * sizeof *numbers), kept = 0;
    for (int64_t i = 0; numbers && i < m->atoms; i++)
        if (keep[i])
            numbers[kept++] = number_in_whole(m, i);
    if (!numbers || !molecule_keep(m, keep)) {
        free(numbers);
        return no_memory(ctx, m);
    }
    free(m->of_whole);
    m->of_whole = numbers;
    m->whole_atoms = whole;
    m->whole_charge = charge;
    return VF_OK;
}

void molecule_gather(const molecule *m, double *x, double *y, double *z)
{
    for (int64_t i = 0; m->of_whole && i < m->atoms; i++) {
        x[i] = x[m->of_whole[i]];
        y[i] = y[m->of_whole[i]];
        z[i] = z[m->of_whole[i]];
    }
}
