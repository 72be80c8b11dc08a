/* Kinds of ions: their names in force fields, charges and radii. Also parses --place. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ion_kinds.h"
#include "text/text_words.h"
#include "voxfield/append.h"
#include "voxfield/parse.h"

/* Names are those of CHARMM, AMBER, GROMACS, OPLS and the PDB, and element symbols. Elements with several common charges (FE, CU,
 * CO) are known only by names that state the charge. Radii: effective ionic radii for six neighbours, high spin, of R. D. Shannon,
 * Acta Cryst. A32 (1976) 751, which has none for ammonium. The residue's names for output: CHARMM's of toppar_water_ions.str; AMBER's
 * of atomic_ions.lib; GROMACS's of its AMBER and OPLS force fields, and the element's symbol where these have no such ion; the PDB's
 * of its chemical components. "": none. */
static const struct known_ion {
    const char *names; /* separated by blanks; if two differ only in case, both are listed */
    const char element[3];
    double charge, radius;
    const char *output[ION_NAMES_COUNT - 1]; /* of the residue: CHARMM, AMBER, GROMACS, PDB */
    const char *atom;                        /* where it is not the residue's; "" otherwise */
} known_ions[] = {
    {"LIT LI Li+", "Li", 1, 0.76, {"LIT", "Li+", "LI", "LI"}, ""},
    {"SOD NA Na+ NA+", "Na", 1, 1.02, {"SOD", "Na+", "NA", "NA"}, ""},
    {"POT K K+", "K", 1, 1.38, {"POT", "K+", "K", "K"}, ""},
    {"RUB RB Rb+", "Rb", 1, 1.52, {"RUB", "Rb+", "RB", "RB"}, ""},
    {"CES CS Cs+", "Cs", 1, 1.67, {"CES", "Cs+", "CS", "CS"}, ""},
    {"AG Ag+", "Ag", 1, 1.15, {"", "AG", "AG", "AG"}, ""},
    {"CU1 Cu+ CU1+", "Cu", 1, 0.77, {"", "CU1", "CU1", "CU1"}, ""},
    {"TL Tl+", "Tl", 1, 1.50, {"", "TL", "TL", "TL"}, ""},
    {"BE Be2+ BE2+", "Be", 2, 0.45, {"", "Be", "BE", "BE"}, ""},
    {"MG MG2 Mg2+ MG2+", "Mg", 2, 0.72, {"MG", "MG", "MG", "MG"}, ""},
    {"CAL CA CA2 Ca2+ CA2+", "Ca", 2, 1.00, {"CAL", "CA", "CA", "CA"}, ""},
    {"SR SR2 Sr2+ SR2+", "Sr", 2, 1.18, {"", "SR", "SR", "SR"}, ""},
    {"BAR BA BA2 Ba2+ BA2+", "Ba", 2, 1.35, {"BAR", "BA", "BA", "BA"}, ""},
    {"MN MN2 Mn2+ MN2+", "Mn", 2, 0.83, {"", "MN", "MN", "MN"}, ""},
    {"FE2 Fe2+ FE2+", "Fe", 2, 0.78, {"", "FE2", "FE2", "FE2"}, ""},
    {"Co2+ CO2+", "Co", 2, 0.745, {"", "CO", "CO", "CO"}, ""},
    {"NI NI2 Ni2+ NI2+", "Ni", 2, 0.69, {"", "NI", "NI", "NI"}, ""},
    {"CU2 Cu2+ CU2+", "Cu", 2, 0.73, {"", "CU", "CU", "CU"}, ""},
    {"ZN ZN2 Zn2+ ZN2+", "Zn", 2, 0.74, {"ZN2", "ZN", "ZN", "ZN"}, "ZN"},
    {"CAD CD CD2 Cd2+ CD2+", "Cd", 2, 0.95, {"CD2", "CD", "CD", "CD"}, "CD"},
    {"HG HG2 Hg2+ HG2+", "Hg", 2, 1.02, {"", "HG", "HG", "HG"}, ""},
    {"PB PB2 Pb2+ PB2+", "Pb", 2, 1.19, {"", "PB", "PB", "PB"}, ""},
    {"EU2 Eu2+ EU2+", "Eu", 2, 1.17, {"", "EU", "EU", "EU"}, ""},
    {"AL AL3 Al3+ AL3+", "Al", 3, 0.535, {"", "AL", "AL", "AL"}, ""},
    {"CR3 Cr3+ CR3+", "Cr", 3, 0.615, {"", "CR", "CR", "CR"}, ""},
    {"MN3 Mn3+ MN3+", "Mn", 3, 0.645, {"", "MN3", "MN3", "MN3"}, ""},
    {"FE3 Fe3+ FE3+", "Fe", 3, 0.645, {"", "FE", "FE", "FE"}, ""},
    {"3CO Co3+ CO3+", "Co", 3, 0.545, {"", "3CO", "3CO", "3CO"}, ""},
    {"GA GA3 Ga3+ GA3+", "Ga", 3, 0.62, {"", "GA", "GA", "GA"}, ""},
    {"IN IN3 In3+ IN3+", "In", 3, 0.80, {"", "IN", "IN", "IN"}, ""},
    {"Y Y3 Y3+ YT3", "Y", 3, 0.90, {"", "Y", "YT3", "YT3"}, ""},
    {"LA LA3 La3+ LA3+", "La", 3, 1.032, {"", "LA", "LA", "LA"}, ""},
    {"CE CE3 Ce3+ CE3+", "Ce", 3, 1.01, {"", "CE", "CE", "CE"}, ""},
    {"SM SM3 Sm3+ SM3+", "Sm", 3, 0.958, {"", "SM", "SM", "SM"}, ""},
    {"EU3 Eu3+ EU3+", "Eu", 3, 0.947, {"", "EU3", "EU3", "EU3"}, ""},
    {"GD3 Gd3+ GD3+", "Gd", 3, 0.938, {"", "GD3", "GD3", "GD3"}, ""},
    {"TB TB3 Tb3+ TB3+", "Tb", 3, 0.923, {"", "TB", "TB", "TB"}, ""},
    {"LU LU3 Lu3+ LU3+", "Lu", 3, 0.861, {"", "LU", "LU", "LU"}, ""},
    {"NH4 NH4+", "N", 1, 0, {"", "NH4", "NH4", "NH4"}, "N"},
    {"F F-", "F", -1, 1.33, {"", "F", "F", "F"}, ""},
    {"CLA CL Cl- CL-", "Cl", -1, 1.81, {"CLA", "Cl-", "CL", "CL"}, ""},
    {"BR Br- BR-", "Br", -1, 1.96, {"", "BR", "BR", "BR"}, ""},
    {"IOD I I-", "I", -1, 2.20, {"", "IOD", "I", "IOD"}, ""},
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

/* The atom's name in a residue of this name, if it is another one. Only CHARMM's ZN2 and CD2, and ammonium, name it otherwise. */
static const char *atom_of(const struct known_ion *ion, const char *residue)
{
    return strcmp(residue, ion->output[0]) == 0 || !*ion->output[0] ? ion->atom : "";
}

bool ion_is_known(const char *name, ion_kind *kind)
{
    for (int any_case = 0; any_case < 2; any_case++)
        for (int i = 0; i < KNOWN_IONS; i++) {
            const struct known_ion *ion = &known_ions[i];
            if (!is_among(ion->names, name, any_case, kind->name))
                continue;
            memcpy(kind->element, ion->element, sizeof kind->element);
            snprintf(kind->atom, sizeof kind->atom, "%s", atom_of(ion, kind->name));
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
    char names[1024] = "";
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

void ion_rename(vf_context *ctx, ion_names names, ion_kind *kind)
{
    char spelling[5];
    if (names == ION_NAMES_GIVEN)
        return;
    for (int i = 0; i < KNOWN_IONS; i++) {
        const struct known_ion *ion = &known_ions[i];
        if (!is_among(ion->names, kind->name, false, spelling))
            continue;
        const char *wanted = ion->output[names - 1];
        if (!*wanted) {
            wanted = ion->output[ION_NAMES_PDB - 1];
            vf_warn(ctx,
                    "--ion-names charmm: CHARMM's water and ions (toppar_water_ions.str) have no %s; using the PDB's "
                    "name, %s",
                    kind->name, wanted);
        }
        snprintf(kind->name, sizeof kind->name, "%s", wanted);
        snprintf(kind->atom, sizeof kind->atom, "%s", atom_of(ion, kind->name));
        return;
    }
    vf_note(ctx, "note: %s is in no table of ions; it keeps its name", kind->name);
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
