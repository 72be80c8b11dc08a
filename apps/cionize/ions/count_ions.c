/* Numbers of ions that neutralise a solute or give a concentration of salt around it (docs/conventions.md). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ions.h"
#include "text/text_words.h"

/* ---- options ---- */

/* One name, or two separated by a comma. */
static vf_status parse_names(vf_context *ctx, const char *option, const char *text, ion_kind kinds[2], int *count)
{
    char where[128], quoted[TEXT_QUOTE_SIZE], name[64];
    snprintf(where, sizeof where, "--%s '%s'", option, text_quote((text_piece){text, strlen(text)}, quoted));
    *count = 0;
    for (const char *p = text;; p++) {
        const size_t n = strcspn(p, ",");
        if (n >= sizeof name || *count == 2)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: expected the name of an ion, or two as in SOD,CLA", where);
        memcpy(name, p, n);
        name[n] = '\0';
        vf_status status = ion_kind_from_name(ctx, where, name, &kinds[*count]);
        if (status != VF_OK)
            return status;
        ++*count;
        p += n;
        if (*p == '\0')
            break;
    }
    if (*count == 2 && (kinds[0].charge > 0) == (kinds[1].charge > 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "%s: both ions have a %s charge; name one cation and one anion, as in SOD,CLA", where,
                       kinds[0].charge > 0 ? "positive" : "negative");
    return VF_OK;
}

vf_status parse_counter_ions(vf_context *ctx, const char *option, const char *text, ion_demand *demand)
{
    return parse_names(ctx, option, text, demand->counter, &demand->counter_kinds);
}

vf_status parse_salt(vf_context *ctx, const char *option, const char *text, ion_demand *demand)
{
    int count;
    vf_status status = parse_names(ctx, option, text, demand->salt, &count);
    if (status != VF_OK)
        return status;
    if (count != 2)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': a salt has a cation and an anion, as in SOD,CLA", option,
                       demand->salt[0].name);
    if (demand->salt[0].charge < 0) {
        const ion_kind anion = demand->salt[0];
        demand->salt[0] = demand->salt[1];
        demand->salt[1] = anion;
    }
    return VF_OK;
}

/* ---- numbers ---- */

/* A sum of charges below this counts as neutral: scaled charges such as 0.75 are not exact. */
static const double NEUTRAL = 1e-6;

/* A charge this close to an integer counts as that integer: charges in files are rounded. */
static const double ROUNDING = 0.01;

/* The charge to count ions for. */
static vf_status counted_charge(vf_context *ctx, double charge, double *counted)
{
    const double whole = nearbyint(charge) + 0.0; /* no -0 */
    *counted = fabs(charge - whole) > ROUNDING ? charge : whole;
    if (!(fabs(charge) <= ION_MOST))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "the charge to neutralise, %g e, is too large: the limit is %d ions",
                       charge, ION_MOST);
    return VF_OK;
}

static vf_status too_many(vf_context *ctx, const ion_kind *kind, double number)
{
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "%.3g %s ions needed, but the limit is %d; use a smaller grid or concentration", number, kind->name,
                   ION_MOST);
}

static vf_status neutralise(vf_context *ctx, const ion_demand *demand, double charge, ion_request *out, int *kinds)
{
    const ion_kind *counter = NULL;
    if (charge == 0)
        return VF_OK;
    for (int i = 0; i < demand->counter_kinds; i++)
        if (demand->counter[i].charge * charge < 0)
            counter = &demand->counter[i];
    if (!counter)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "the charge to neutralise is %+g e, and %s has the charge %+g e; use %s, or one of each sign as "
                       "in SOD,CLA",
                       charge, demand->counter[0].name, demand->counter[0].charge,
                       charge > 0 ? "an anion such as CLA" : "a cation such as SOD");
    /* The number nearest to neutral; of two equally near, the smaller. */
    const double number = fmax(ceil(-charge / counter->charge - 0.5 - 1e-9), 0);
    const double rest = charge + number * counter->charge;
    if (number > ION_MOST)
        return too_many(ctx, counter, number);
    if (fabs(rest) > NEUTRAL)
        vf_warn(ctx,
                "%.0f ion%s %s of %+g e leave%s a total charge of %+g e: the charge to neutralise, %+g e, is not a "
                "multiple of theirs",
                number, vf_plural((int64_t)number), counter->name, counter->charge, number == 1 ? "s" : "", rest,
                charge);
    if (number > 0)
        out[(*kinds)++] = (ion_request){*counter, (int64_t)number};
    return VF_OK;
}

/* The salt's formula unit: the smallest numbers of cations and anions that make a neutral sum. */
static vf_status formula(vf_context *ctx, const ion_kind salt[2], double *cations)
{
    enum { MOST = 12 };
    const double ratio = -salt[0].charge / salt[1].charge;
    for (int n = 1; n <= MOST; n++) {
        const double anions = n * ratio;
        *cations = n;
        if (anions >= 0.5 && fabs(anions - nearbyint(anions)) < 1e-9 * anions)
            return VF_OK;
    }
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "%s with %+g e and %s with %+g e cannot form a salt: no formula unit of up to %d cations is neutral",
                   salt[0].name, salt[0].charge, salt[1].name, salt[1].charge, MOST);
}

/* Mean numbers of cations and anions in solvent with a fixed charge, in equilibrium with a reservoir of salt: N = N0
 * exp(-z phi). N0 is the reservoir's number in that volume; phi makes the sum neutral. `sites` is the total charge
 * of the reservoir's cations in that volume, and minus that of its anions. */
static void donnan(double charge, const double z[2], double sites, double number[2])
{
    const double cation = z[0], anion = -z[1];
    /* The sum of charges falls as phi grows. Beyond these bounds, one kind alone outweighs the solute. */
    double lo = charge < 0 ? -log1p(-charge / sites) / cation : 0, hi = charge > 0 ? log1p(charge / sites) / anion : 0;
    for (int i = 0; i < 200; i++) {
        const double phi = lo + (hi - lo) / 2;
        if (!(phi > lo && phi < hi)) /* lo and hi are adjacent doubles */
            break;
        if (sites * (exp(-cation * phi) - exp(anion * phi)) + charge > 0)
            lo = phi;
        else
            hi = phi;
    }
    number[0] = sites * exp(-cation * lo) / cation;
    number[1] = sites * exp(anion * lo) / anion;
}

/* Rounds the mean numbers to integers: as neutral as possible, then as close as possible. Neutral pairs are a whole
 * number of formula units apart. */
static double round_to_neutral(double charge, const ion_kind salt[2], double step, const double mean[2],
                               double number[2])
{
    double best_rest = INFINITY, best_distance = INFINITY;
    const double first = fmax(floor(mean[0]) - step, 0), last = ceil(mean[0]) + step;
    const int64_t choices = (int64_t)(last - first) + 1;
    for (int64_t choice = 0; choice < choices; choice++) {
        const double cations = first + (double)choice, anions = -(charge + cations * salt[0].charge) / salt[1].charge;
        const double fewest = fmax(floor(anions + 1e-9), 0), most = fmax(ceil(anions - 1e-9), 0);
        for (int more = 0; fewest + more <= most; more++) {
            const double n = fewest + more;
            const double rest = charge + cations * salt[0].charge + n * salt[1].charge;
            const double distance = hypot(cations - mean[0], n - mean[1]);
            const bool as_neutral = fabs(rest) < best_rest + NEUTRAL, neutral = fabs(rest) < best_rest - NEUTRAL;
            if (!neutral && !(as_neutral && distance < best_distance))
                continue;
            best_rest = fabs(rest);
            best_distance = distance;
            number[0] = cations;
            number[1] = n;
        }
    }
    return charge + number[0] * salt[0].charge + number[1] * salt[1].charge;
}

/* Numbers of cations and anions around a charge, if the reservoir has `formulas` of the salt in the solvent's volume. */
static void mean_numbers(double charge, const double z[2], double cations, double formulas, double mean[2])
{
    const double sites = cations * z[0] * formulas;
    if (sites > 1e-9) {
        donnan(charge, z, sites, mean);
    } else { /* no salt, only counter-ions */
        mean[0] = fmax(-charge, 0) / z[0];
        mean[1] = fmax(charge, 0) / -z[1];
    }
}

/* The same for `per_water` formulas for each water molecule that is left, where each ion replaces one of `waters`. The more are
 * left, the more ions there are: bisection finds the number left. */
static void mean_numbers_in_water(double charge, const double z[2], double cations, double per_water, double waters,
                                  double mean[2])
{
    double lo = 0, hi = waters;
    for (int i = 0; i < 200; i++) {
        const double left = lo + (hi - lo) / 2;
        mean_numbers(charge, z, cations, per_water * left, mean);
        if (left + mean[0] + mean[1] < waters)
            lo = left;
        else
            hi = left;
    }
    mean_numbers(charge, z, cations, per_water * lo, mean);
}

/* The solvent: a volume, or water molecules if `waters` is not negative. */
typedef struct solvent {
    double volume, waters;
} solvent;

static vf_status add_salt(vf_context *ctx, const ion_demand *demand, double charge, solvent in, ion_request *out,
                          int *kinds)
{
    const double per_angstrom3 = 6.02214076e23 * 1e-27; /* ions per angstrom^3 at 1 mol/L */
    const ion_kind *salt = demand->salt;
    const double volume = in.volume;
    double cations = 1, mean[2], number[2] = {0, 0};
    if (!(demand->concentration >= 0 && demand->concentration <= ION_MOST_CONCENTRATION) || !(volume >= 0) ||
        !isfinite(volume))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "invalid concentration or volume: %g mol/L in %g A^3 of solvent; expected 0 to %d mol/L",
                       demand->concentration, volume, ION_MOST_CONCENTRATION);
    if (!(salt[0].charge > 0 && salt[1].charge < 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s with %+g e and %s with %+g e: a salt needs a cation and an anion",
                       salt[0].name, salt[0].charge, salt[1].name, salt[1].charge);
    vf_status status = formula(ctx, salt, &cations);
    if (status != VF_OK)
        return status;
    const double z[2] = {salt[0].charge, salt[1].charge};
    if (in.waters >= 0)
        mean_numbers_in_water(charge, z, cations, demand->concentration / WATER_MOLARITY, in.waters, mean);
    else
        mean_numbers(charge, z, cations, demand->concentration * per_angstrom3 * volume, mean);
    for (int i = 0; i < 2; i++)
        if (!(mean[i] < ION_MOST + 0.5))
            return too_many(ctx, &salt[i], mean[i]);
    const double rest = round_to_neutral(charge, salt, cations, mean, number);
    if (fabs(rest) > NEUTRAL)
        vf_warn(ctx, "%s (%+g e) and %s (%+g e) cannot neutralise %+g e exactly; %.0f and %.0f leave %+g e",
                salt[0].name, z[0], salt[1].name, z[1], charge, number[0], number[1], rest);
    for (int i = 0; i < 2; i++)
        if (number[i] > 0)
            out[(*kinds)++] = (ion_request){salt[i], (int64_t)number[i]};
    return VF_OK;
}

static vf_status count(vf_context *ctx, const ion_demand *demand, double solute_charge, solvent in, ion_request *out,
                       int *kinds)
{
    double charge;
    *kinds = 0;
    if (demand->counter_kinds > 0 && demand->has_concentration)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--neutralize cannot be combined with --concentration: the ions of a concentration are "
                       "already neutral");
    if (demand->counter_kinds == 0 && !demand->has_concentration)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "counting ions needs --neutralize or --concentration");
    vf_status status = counted_charge(ctx, solute_charge, &charge);
    if (status != VF_OK)
        return status;
    return demand->has_concentration ? add_salt(ctx, demand, charge, in, out, kinds)
                                     : neutralise(ctx, demand, charge, out, kinds);
}

vf_status count_ions(vf_context *ctx, const ion_demand *demand, double solute_charge, double solvent_volume,
                     ion_request *out, int *kinds)
{
    return count(ctx, demand, solute_charge, (solvent){.volume = solvent_volume, .waters = -1}, out, kinds);
}

vf_status count_ions_in_water(vf_context *ctx, const ion_demand *demand, double solute_charge, int64_t waters,
                              ion_request *out, int *kinds)
{
    return count(ctx, demand, solute_charge, (solvent){.waters = (double)waters}, out, kinds);
}
