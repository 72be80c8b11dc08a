/* Elements of atoms by their names, for formats that hold elements and no names. Names are no elements: CA is the alpha
 * carbon of an amino acid, and calcium only in a residue of that name. docs/formats.md has the rule. */
#include <string.h>
#include <strings.h>

#include "ion_files.h"

/* Looks for letters, in any case, in a list of symbols, and copies the list's spelling. */
static bool find_symbol(const char *list, const char *letters, char symbol[3])
{
    const size_t n = strlen(letters);
    for (const char *p = list; n > 0 && *p; p += strcspn(p, " "), p += *p == ' ')
        if (strcspn(p, " ") == n && strncasecmp(p, letters, n) == 0) {
            memcpy(symbol, p, n);
            symbol[n] = '\0';
            return true;
        }
    return false;
}

/* The letters of a name; three of them say as much as all. */
static void only_letters(const char *name, char letters[4])
{
    int n = 0;
    for (; *name && n < 3; name++)
        if ((*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z'))
            letters[n++] = *name;
    letters[n] = '\0';
}

void atom_element(const filed_atom *atom, char symbol[3])
{
    /* Whatever the residue: no atom of an amino acid, a nucleotide, a sugar or a lipid has one of these names. */
    static const char unmistakable[] = "Ag Al As Au Br Cl Cu Fe Li Mg Mn Mo Ni Pt Rb Ru Se Si Ti Zn Zr";
    /* Only in a residue of that name. */
    static const char alone[] =
        "Ar Ba Be Bi Ca Cd Ce Co Cr Cs Dy Er Eu Ga Gd Hf Hg Ho In Ir Kr La Lu Na Nd Os Pb Pd Pr "
        "Re Rh Sb Sm Sn Sr Tb Th Tl Tm Xe Yb";
    static const char usual[] = "H C N O S P F B I K";
    ion_kind of_name, of_residue;
    char letters[4], residue[4];
    if (*atom->element) {
        strcpy(symbol, atom->element);
        return;
    }
    if (ion_is_known(atom->name, &of_name) && ion_is_known(atom->residue, &of_residue) &&
        strcmp(of_name.element, of_residue.element) == 0) {
        strcpy(symbol, of_name.element);
        return;
    }
    only_letters(atom->name, letters);
    only_letters(atom->residue, residue);
    if (find_symbol(unmistakable, letters, symbol) ||
        (strcasecmp(letters, residue) == 0 && find_symbol(alone, letters, symbol)))
        return;
    letters[1] = '\0';
    if (!find_symbol(usual, letters, symbol))
        strcpy(symbol, "X");
}
