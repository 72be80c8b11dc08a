/* Kinds of ions: their names in force fields, charges and radii. Also parses --place. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ions.h"
#include "text/text_words.h"
#include "voxfield/append.h"
#include "voxfield/parse.h"

/* Effective ionic radii for six neighbours, high spin: R. D. Shannon, Acta Cryst. A32 (1976) 751. Names are those of
 * CHARMM, AMBER, GROMACS and the PDB, and element symbols. Elements with several common charges (FE, CU, CO) are known
 * only by names that state the charge. */
static const struct known_ion {
    const char *names; /* separated by blanks; if two differ only in case, both are listed */
    const char element[3];
    double charge, radius;
} known_ions[] = {
    {"LIT LI Li+", "Li", 1, 0.76},
    {"SOD NA Na+ NA+", "Na", 1, 1.02},
    {"POT K K+", "K", 1, 1.38},
    {"RUB RB Rb+", "Rb", 1, 1.52},
    {"CES CS Cs+", "Cs", 1, 1.67},
    {"MG MG2 Mg2+ MG2+", "Mg", 2, 0.72},
    {"CAL CA CA2 Ca2+", "Ca", 2, 1.00},
    {"SR SR2 Sr2+", "Sr", 2, 1.18},
    {"BAR BA BA2 Ba2+", "Ba", 2, 1.35},
    {"ZN ZN2 Zn2+ ZN2+", "Zn", 2, 0.74},
    {"CAD CD CD2 Cd2+", "Cd", 2, 0.95},
    {"FE2 Fe2+", "Fe", 2, 0.78},
    {"F F-", "F", -1, 1.33},
    {"CLA CL Cl- CL-", "Cl", -1, 1.81},
    {"BR Br- BR-", "Br", -1, 1.96},
    {"IOD I I-", "I", -1, 2.20},
};
enum { KNOWN_IONS = sizeof known_ions / sizeof *known_ions };

/* Looks for `name` in a list of names and copies the spelling in the list. */
static bool is_among(const char *names, const char *name, bool any_case, char spelling[5])
{
    const size_t length = strlen(name);
    for (const char *p = names; *p;) {
        const size_t n = strcspn(p, " ");
        if (n == length && (any_case ? strncasecmp(p, name, n) : memcmp(p, name, n)) == 0) {
            memcpy(spelling, p, n);
            spelling[n] = '\0';
            return true;
        }
        p += n + (p[n] == ' ');
    }
    return false;
}

bool ion_is_known(const char *name, ion_kind *kind)
{
    for (int any_case = 0; any_case < 2; any_case++)
        for (int i = 0; i < KNOWN_IONS; i++) {
            const struct known_ion *ion = &known_ions[i];
            if (!is_among(ion->names, name, any_case, kind->name))
                continue;
            memcpy(kind->element, ion->element, sizeof kind->element);
            kind->charge = ion->charge;
            kind->radius = ion->radius;
            return true;
        }
    return false;
}

const char *ion_name_trouble(const char *name)
{
    const size_t length = strlen(name);
    bool printable = length >= 1;
    for (size_t i = 0; i < length; i++)
        printable &= name[i] > ' ' && name[i] <= '~';
    if (!printable)
        return "is not a valid ion name; expected 1 to 4 printable ASCII characters without blanks, such as SOD";
    return length > 4 ? "is too long for an ion name; the limit is 4 characters, such as SOD" : NULL;
}

static vf_status check_name(vf_context *ctx, const char *where, const char *name)
{
    char quoted[TEXT_QUOTE_SIZE];
    const char *trouble = ion_name_trouble(name);
    return trouble ? vf_fail(ctx, VF_ERR_ARGUMENT, "%s: '%s' %s", where,
                             text_quote((text_piece){name, strlen(name)}, quoted), trouble)
                   : VF_OK;
}

vf_status ion_kind_from_name(vf_context *ctx, const char *where, const char *name, ion_kind *kind)
{
    char names[512] = "";
    vf_status status = check_name(ctx, where, name);
    if (status != VF_OK || ion_is_known(name, kind))
        return status;
    for (int i = 0; i < KNOWN_IONS; i++)
        vf_append(names, sizeof names, "%s%s", i ? ", " : "", known_ions[i].names);
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "%s: unknown ion '%s'; known ions: %s. For any other ion, give its charge: "
                   "--place %s:COUNT:CHARGE",
                   where, name, names, name);
}

vf_status ion_kind_with_charge(vf_context *ctx, const char *where, const char *name, double charge, ion_kind *kind)
{
    vf_status status = check_name(ctx, where, name);
    if (status != VF_OK)
        return status;
    if (!(fabs(charge) <= ION_MOST_CHARGE) || charge == 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "%s: the charge of the ion %s is %g; it must be finite and not 0, and at most %.0e", where, name,
                       charge, (double)ION_MOST_CHARGE);
    if (!ion_is_known(name, kind)) {
        *kind = (ion_kind){.charge = charge};
        strcpy(kind->name, name); /* at most 4 characters, checked above */
        return VF_OK;
    }
    if (charge != kind->charge)
        vf_warn(ctx, "%s: %s is usually %s with a charge of %+g e; using the given %+g e", where, kind->name,
                kind->element, kind->charge, charge);
    kind->charge = charge;
    return VF_OK;
}

vf_status parse_placement(vf_context *ctx, const char *option, const char *text, ion_request *request)
{
    char where[128], quoted[TEXT_QUOTE_SIZE], word[3][64];
    int words = 0;
    bool fits = true;
    snprintf(where, sizeof where, "--%s '%s'", option, text_quote((text_piece){text, strlen(text)}, quoted));
    for (const char *p = text; fits; words++) {
        const size_t n = strcspn(p, ":");
        fits = words < 3 && n < sizeof word[0];
        if (fits) {
            memcpy(word[words], p, n);
            word[words][n] = '\0';
        }
        if (p[n] == '\0') {
            words++;
            break;
        }
        p += n + 1;
    }
    if (!fits || words < 2)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: expected NAME:COUNT or NAME:COUNT:CHARGE, such as SOD:12 or XYZ:3:+2",
                       where);
    if (!vf_parse_integers(word[1], 1, 1, &request->count) || request->count < 0 || request->count > ION_MOST)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "%s: the number of ions must be a whole number from 0 to %d; expected NAME:COUNT[:CHARGE], such "
                       "as SOD:12",
                       where, ION_MOST);
    double charge;
    if (words == 2)
        return ion_kind_from_name(ctx, where, word[0], &request->kind);
    if (!vf_parse_doubles(word[2], 1, 1, &charge))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "%s: the charge must be a number of elementary charges; expected NAME:COUNT:CHARGE, such as "
                       "XYZ:3:+2",
                       where);
    return ion_kind_with_charge(ctx, where, word[0], charge, &request->kind);
}
