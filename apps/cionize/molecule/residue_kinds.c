#include "residue_kinds.h"

#include <stddef.h>
#include <strings.h>

bool residue_is_water(const char *name)
{
    static const char *const names[] = {"HOH",  "WAT",  "H2O",  "DOD",  "D2O",  "SOL",  "TIP3",  "TIP4",  "TIP5", "TIP",
                                        "TIP2", "T3P",  "T4P",  "T4E",  "T5P",  "TP3",  "TP4",   "TP5",   "T3H",  "SPC",
                                        "SPCE", "SPE",  "SPG",  "OPC",  "OPC3", "TP3F", "TIP3P", "TIP4P", "TPE",  "HHO",
                                        "OHH",  "TIPS", "TP3M", "WATR", "SWM4", "SWM6", "T4PE",  "TIP5P"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strcasecmp(name, names[n]) == 0)
            return true;
    return false;
}
