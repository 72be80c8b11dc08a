/* Alternate locations in PQR files. A letter in column 17 touches the residue name ("ASER"), so it looks like a name of four
 * letters (NALA, an N-terminal alanine of AMBER). It is an alternate location if another letter before the same name
 * follows in the same residue, with an atom of the same name. */
#include <string.h>

#include "pqr_head.h"
#include "residues.h"

/* Whether the two names differ in their first letter alone, and the atoms have the same name. */
static bool are_alternates(const atom_label *a, const atom_label *b)
{
    return a->alternate && b->alternate && a->alternate != b->alternate &&
           strcmp(a->residue + 1, b->residue + 1) == 0 && strcmp(a->name, b->name) == 0;
}

static bool have_alternates(const atom_label *labels, int64_t count, const char *residue)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < i; j++)
            if (strcmp(labels[i].residue + 1, residue + 1) == 0 && are_alternates(&labels[i], &labels[j]))
                return true;
    return false;
}

/* The atoms of one residue. */
static void settle(atom_label *labels, int64_t count)
{
    char residue[sizeof labels->residue] = "";
    bool found = false;
    for (int64_t i = 0; i < count; i++) {
        if (!labels[i].alternate)
            continue;
        if (strcmp(labels[i].residue, residue) != 0) {
            memcpy(residue, labels[i].residue, sizeof residue);
            found = have_alternates(labels, count, residue);
        }
        if (!found)
            labels[i].alternate = '\0';
    }
    for (int64_t i = 0; i < count; i++)
        if (labels[i].alternate)
            memmove(labels[i].residue, labels[i].residue + 1, sizeof labels[i].residue - 1);
}

void pqr_settle_alternates(atom_label *labels, int64_t atoms)
{
    enum { MOST = 200 }; /* atoms of a residue with conformers; more are residues that share a number */
    for (int64_t i = 0, end; i < atoms; i = end) {
        end = i + 1;
        bool any = labels[i].alternate;
        while (end < atoms && same_number(&labels[i], &labels[end]))
            any |= labels[end++].alternate != '\0';
        for (int64_t k = i; end - i > MOST && k < end; k++)
            labels[k].alternate = '\0';
        if (any && end - i <= MOST)
            settle(&labels[i], end - i);
    }
}
