/* Salts: what follows from kinds of ions, and how ions answer to a potential. */
#include <math.h>

#include "solvent_internal.h"

#define PI 3.14159265358979323846

/* CODATA 2018: e, eps_0, k and N_A. */
static const double avogadro = 6.02214076e23, metre = 1e10;

double vf_solvent_bjerrum(double temperature)
{
    const double e = 1.602176634e-19, eps_0 = 8.8541878188e-12, k = 1.380649e-23;
    return metre * e * e / (4 * PI * eps_0 * k * temperature);
}

/* Of charges^2 times concentrations, in mol/L, summed: twice the ionic strength. */
static double kappa_of(double sum, double solvent_dielectric, double temperature)
{
    const double density = sum * avogadro * 1000 / (metre * metre * metre);
    return sqrt(4 * PI * vf_solvent_bjerrum(temperature) / solvent_dielectric * density);
}

double vf_solvent_kappa(double strength, double solvent_dielectric, double temperature)
{
    return kappa_of(2 * strength, solvent_dielectric, temperature);
}

static double strength_of(int ions, const vf_solvent_ion *ion)
{
    double sum = 0;
    for (int i = 0; i < ions; i++)
        sum += ion[i].charge * ion[i].charge * ion[i].concentration;
    return sum;
}

static vf_status check_ions(vf_context *ctx, int ions, const vf_solvent_ion *ion)
{
    double net = 0, all = 0;
    if (ions < 1 || ions > VF_SOLVENT_MOST_IONS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a salt of %d kinds of ions: it has 1 to %d", ions, VF_SOLVENT_MOST_IONS);
    for (int i = 0; i < ions; i++) {
        if (!(isfinite(ion[i].charge) && ion[i].charge != 0 && ion[i].concentration >= 0 &&
              isfinite(ion[i].concentration)))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "ions of charge %g and concentration %g are not a kind of salt",
                           ion[i].charge, ion[i].concentration);
        net += ion[i].charge * ion[i].concentration;
        all += fabs(ion[i].charge) * ion[i].concentration;
    }
    if (!(all > 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a salt of ions whose concentrations are all 0");
    if (!(fabs(net) <= 1e-6 * all))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "the charges of the salt's ions sum to %g mol/L, but a salt is neutral",
                       net);
    return VF_OK;
}

vf_status vf_solvent_set_salt(vf_context *ctx, int ions, const vf_solvent_ion *ion, double temperature,
                              vf_solvent_options *options)
{
    const vf_status status = check_ions(ctx, ions, ion);
    if (status != VF_OK)
        return status;
    if (!(temperature > 0 && isfinite(temperature)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a salt at a temperature of %g K", temperature);
    options->ions = ions;
    for (int i = 0; i < ions; i++)
        options->ion[i] = ion[i];
    options->bjerrum = vf_solvent_bjerrum(temperature);
    options->kappa = kappa_of(strength_of(ions, ion), options->solvent_dielectric, temperature);
    return VF_OK;
}

vf_status solvent_check_salt(vf_context *ctx, const vf_solvent_options *o)
{
    if (!(o->bjerrum > 0 && o->bjerrum <= 1e9) || o->steps < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "the non-linear equation with a Bjerrum length of %g and %d steps",
                       o->bjerrum, o->steps);
    return check_ions(ctx, o->ions, o->ion);
}

solvent_response solvent_response_of(const vf_solvent_options *o)
{
    solvent_response r = {.ions = o->non_linear ? o->ions : 0, .bjerrum = o->bjerrum};
    for (int i = 0; i < r.ions; i++) {
        r.charge[i] = o->ion[i].charge;
        r.weight[i] = o->ion[i].concentration / strength_of(o->ions, o->ion);
    }
    return r;
}

double solvent_respond(const solvent_response *r, double u, double *slope)
{
    double f = 0, steep = 0;
    if (r->ions == 0) {
        *slope = 1;
        return u;
    }
    for (int i = 0; i < r->ions; i++) {
        const double x = -r->charge[i] * r->bjerrum * u, part = r->weight[i] * r->charge[i];
        const double end = expm1(fmin(x, SOLVENT_MOST_EXPONENT)), beyond = fmax(x - SOLVENT_MOST_EXPONENT, 0);
        f -= part * (end + beyond * (end + 1));
        steep += part * r->charge[i] * (end + 1);
    }
    *slope = steep;
    return f / r->bjerrum;
}

double solvent_osmotic(const solvent_response *r, double u)
{
    double sum = 0;
    if (r->ions == 0)
        return u * u / 2;
    for (int i = 0; i < r->ions; i++)
        sum += r->weight[i] * expm1(-r->charge[i] * r->bjerrum * u);
    return sum / (r->bjerrum * r->bjerrum);
}
