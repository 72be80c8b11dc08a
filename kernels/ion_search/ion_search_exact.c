/* Potentials at single points, in double precision. */
#include <math.h>
#include <stdlib.h>

#include "coulomb_points.h"
#include "ion_search_internal.h"

void ion_point(const vf_grid *grid, int64_t index, double position[3])
{
    for (int a = 0; a < 3; a++) {
        position[a] = grid->origin[a] + grid->spacing[a] * (double)(index % grid->counts[a]);
        index /= grid->counts[a];
    }
}

double ion_map_value(const vf_ion_search *search, int64_t index)
{
    return search->options.potential.precision == VF_F64 ? ((const double *)search->map)[index]
                                                         : (double)((const float *)search->map)[index];
}

/* The same with a pair potential that is not a plain law; C is in the charges. */
static double sum_function(const vf_ion_search *search, const ion_sources *s, const double position[3], bool magnitude)
{
    vf_pair_potential pair = search->pair;
    double sum = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const double d[3] = {position[0] - s->x[i], position[1] - s->y[i], position[2] - s->z[i]};
        pair.scale = s->charge[i];
        const double term = vf_pair_value(&pair, d);
        sum += magnitude ? fabs(term) : term;
    }
    return sum;
}

double ion_potential(const vf_ion_search *search, int kind, const double position[3], bool magnitude)
{
    const ion_sources *s = &search->sources[kind];
    const vf_coulomb_options *potential = &search->options.potential;
    if (search->pair.law >= VF_PAIR_FUNCTION)
        return sum_function(search, s, position, magnitude);
    const vf_coulomb_atoms atoms = {s->count, s->x, s->y, s->z, magnitude ? s->magnitude : s->charge};
    return vf_coulomb_point(search->ctx, &atoms, position, potential->r_min, potential->distance_dielectric);
}

double ion_total_potential(const vf_ion_search *search, int64_t index, const double position[3])
{
    double atoms = search->options.map_is_exact && index >= 0 ? ion_map_value(search, index)
                                                              : ion_potential(search, ION_ATOMS, position, false);
    return atoms + ion_potential(search, ION_IONS, position, false);
}

double ion_tolerance(const vf_ion_search *search, int64_t index, const double position[3], double charge)
{
    double atoms = search->options.map_is_exact && index >= 0 ? fabs(ion_map_value(search, index))
                                                              : ion_potential(search, ION_ATOMS, position, true);
    return 0x1p-40 * fabs(charge) * (atoms + ion_potential(search, ION_IONS, position, true));
}

void ion_add_magnitudes(const vf_ion_search *search, int64_t *ions, double *sum)
{
    const ion_sources *s = &search->sources[ION_IONS];
    for (; *ions < s->count; ++*ions) {
        const double r = fmax(s->distance[*ions], search->options.potential.r_min);
        *sum += s->magnitude[*ions] / (search->options.potential.distance_dielectric ? r * r : r);
    }
}

vf_status ion_choose(const vf_ion_search *search, double charge, const ion_candidates *candidates, int64_t *chosen)
{
    const int64_t count = candidates->count;
    int64_t least = 0;
    double position[3];
    *chosen = candidates->first;
    if (count == 1 || count > MOST_CANDIDATES)
        return VF_OK;
    double *energy = calloc((size_t)count, sizeof *energy);
    if (!energy)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for a search");
    for (int64_t n = 0; n < count; n++) {
        ion_point(&search->grid, candidates->index[n], position);
        energy[n] = charge * ion_total_potential(search, candidates->index[n], position);
        least = energy[n] < energy[least] ? n : least;
    }
    ion_point(&search->grid, candidates->index[least], position);
    const double limit = energy[least] + ion_tolerance(search, candidates->index[least], position, charge);
    *chosen = candidates->index[least];
    for (int64_t n = 0; n < count; n++)
        if (energy[n] <= limit && candidates->index[n] < *chosen)
            *chosen = candidates->index[n];
    free(energy);
    return VF_OK;
}
