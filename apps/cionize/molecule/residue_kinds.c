#include "residue_kinds.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static bool is_listed(const char *name, const char *const *names, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (strcasecmp(name, names[n]) == 0)
            return true;
    return false;
}
#define IS_LISTED(name, names) is_listed(name, names, sizeof(names) / sizeof *(names))

bool residue_is_water(const char *name)
{
    static const char *const names[] = {"HOH",  "WAT",  "H2O",  "DOD",  "D2O",  "SOL",  "TIP3",  "TIP4",  "TIP5", "TIP",
                                        "TIP2", "T3P",  "T4P",  "T4E",  "T5P",  "TP3",  "TP4",   "TP5",   "T3H",  "SPC",
                                        "SPCE", "SPE",  "SPG",  "OPC",  "OPC3", "TP3F", "TIP3P", "TIP4P", "TPE",  "HHO",
                                        "OHH",  "TIPS", "TP3M", "WATR", "SWM4", "SWM6", "T4PE",  "TIP5P"};
    return IS_LISTED(name, names);
}

static const char *const amino_acids[] = {"ALA",  "ARG",  "ASN",  "ASP",  "CYS",  "GLN",  "GLU",  "GLY",  "HIS",
                                          "ILE",  "LEU",  "LYS",  "MET",  "PHE",  "PRO",  "SER",  "THR",  "TRP",
                                          "TYR",  "VAL", /* the twenty */
                                          "ASH",  "GLH",  "LYN",  "CYX",  "CYM",  "HID",  "HIE",  "HIP",  "ARN",
                                          "TYM",                                                  /* AMBER */
                                          "HSD",  "HSE",  "HSP",  "ASPP", "GLUP", "LSN",  "CYM2", /* CHARMM */
                                          "HISA", "HISB", "HISD", "HISE", "HISH", "HIS1", "HIS2", "LYSH", "CYS2",
                                          "CYSH", "ASPH", "GLUH", "ARGN", /* GROMACS */
                                          "MSE",  "SEC",  "PYL",  "SEP",  "TPO",  "PTR",  "HYP",  "MLY",  "CSO",
                                          "UNK",  "ASX",  "GLX",  "CME",  "KCX",  "CSD",  "OCS",  "M3L",  "ALY",
                                          "S1P",  "S2P",  "T1P",  "T2P",  "Y1P",  "Y2P",  "HYP"};

bool residue_is_protein(const char *name)
{
    static const char *const caps[] = {"ACE", "NME", "NMA", "NHE", "NH2", "FOR"};
    if (IS_LISTED(name, amino_acids) || IS_LISTED(name, caps))
        return true;
    const bool end = strlen(name) == 4 && (name[0] == 'N' || name[0] == 'C' || name[0] == 'n' || name[0] == 'c');
    return end && IS_LISTED(name + 1, amino_acids);
}

const char *residue_amino_acid(const char *name)
{
    enum { TWENTY = 20 };
    static const char *const forms[][2] = {
        {"ASH", "ASP"},  {"ASPP", "ASP"}, {"ASPH", "ASP"}, {"GLH", "GLU"},  {"GLUP", "GLU"}, {"GLUH", "GLU"},
        {"LYN", "LYS"},  {"LSN", "LYS"},  {"LYSH", "LYS"}, {"CYX", "CYS"},  {"CYM", "CYS"},  {"CYM2", "CYS"},
        {"CYS2", "CYS"}, {"CYSH", "CYS"}, {"HID", "HIS"},  {"HIE", "HIS"},  {"HIP", "HIS"},  {"HSD", "HIS"},
        {"HSE", "HIS"},  {"HSP", "HIS"},  {"HISA", "HIS"}, {"HISB", "HIS"}, {"HISD", "HIS"}, {"HISE", "HIS"},
        {"HISH", "HIS"}, {"HIS1", "HIS"}, {"HIS2", "HIS"}, {"ARN", "ARG"},  {"ARGN", "ARG"}, {"TYM", "TYR"}};
    const bool end = strlen(name) == 4 && (name[0] == 'N' || name[0] == 'C'); /* AMBER's NALA and CALA */
    for (int without = 0; without <= end; without++) {
        for (int n = 0; n < TWENTY; n++)
            if (strcasecmp(name + without, amino_acids[n]) == 0)
                return amino_acids[n];
        for (size_t n = 0; n < sizeof forms / sizeof *forms; n++)
            if (strcasecmp(name + without, forms[n][0]) == 0)
                return forms[n][1];
    }
    return NULL;
}

bool residue_is_nucleic(const char *name)
{
    static const char *const names[] = {"A",   "C",   "G",   "U",   "T",   "I",   "DA",  "DC",  "DG",  "DT",
                                        "DU",  "DI",  "RA",  "RC",  "RG",  "RU",  "N",   "DN",  "ADE", "CYT",
                                        "GUA", "THY", "URA", "PSU", "5MC", "5MU", "1MA", "2MG", "7MG", "M2G",
                                        "OMC", "OMG", "H2U", "YYG", "5CM", "5MD", "G7M", "4SU", "QUO"};
    char base[8];
    const size_t size = strlen(name);
    if (IS_LISTED(name, names))
        return true;
    /* AMBER: 5 and 3 at the ends, N for a nucleoside */
    if (size < 2 || size >= sizeof base || !strchr("53Nn", name[size - 1]))
        return false;
    memcpy(base, name, size - 1);
    base[size - 1] = '\0';
    static const char *const bases[] = {"A",  "C",  "G",  "U",  "T",  "DA", "DC", "DG",
                                        "DT", "DU", "RA", "RC", "RG", "RU", "RT"};
    return IS_LISTED(base, bases);
}

bool residue_is_ion(const char *name)
{
    static const char *const names[] = {
        "SOD",  "CLA",  "POT",  "CAL",  "CES",  "LIT",  "RUB",  "CAD",  "BAR",  "ZN2",  /* CHARMM */
        "MG2",  "CIO",  "IB",   "NIO",  "LI+",  "NA+",  "K+",   "RB+",  "CS+",  "F-",   /* AMBER */
        "CL-",  "BR-",  "I-",   "MG2+", "CA2+", "ZN2+", "BA2+", "SR2+", "CD2+", "MN2+", /* AMBER, GROMACS */
        "FE2+", "CO2+", "NI2+", "CU2+", "FE3+", "AL3+",                                 /* the same */
        "LI",   "NA",   "K",    "RB",   "CS",   "F",    "CL",   "BR",   "IOD",  "I",    /* PDB */
        "MG",   "CA",   "SR",   "BA",   "MN",   "MN3",  "FE",   "FE2",  "FE3",  "CO",   "3CO", "NI", "3NI", "CU",
        "CU1",  "ZN",   "CD",   "HG",   "PB",   "AG",   "AU",   "AL",   "GA",   "LA",   "CE",  "EU", "EU3", "GD",
        "GD3",  "SM",   "TB",   "YB",   "YB3",  "LU",   "PT",   "PD",   "TL",   "CR",   "V",   "BE", "PR",  "DY"};
    return IS_LISTED(name, names);
}
