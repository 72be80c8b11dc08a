/* Elements of atoms from their names, for files without elements. The name alone is ambiguous: CA is the alpha
 * carbon of an amino acid, and calcium in a residue of that name. docs/formats.md has the rule. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "atom_element.h"
#include "ion_kinds.h"

/* Looks for letters, in any case, in a list of symbols, and copies the spelling in the list. */
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

/* The first three letters of a name; more make no difference. */
static void only_letters(const char *name, char letters[4])
{
    int n = 0;
    for (; *name && n < 3; name++)
        if ((*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z'))
            letters[n++] = *name;
    letters[n] = '\0';
}

/* Metals and halogens in any residue: no atom of an amino acid, a nucleotide, a sugar or a lipid has one of these
 * names. */
static const char unmistakable[] = "Ag Al As Au Br Cl Cu Fe Li Mg Mn Mo Ni Pt Rb Ru Se Si Ti Zn Zr";

/* Residues whose atoms are known: there, CA, CD, HG and NA are not metals. */
static bool is_familiar(const char *residue)
{
    static const char known[] =
        " ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL MSE ACE NME NHE NH "
        "ASH ASPP CYM CYX CYS2 GLH GLUP HID HIE HIP HSD HSE HSP HISA HISB HISD HISE HISH LYN LSN LYSH ARGN "
        "A C G U T I DA DC DG DT DU DI RA RC RG RU ADE CYT GUA THY URA HEM HEC ";
    char word[8];
    /* AMBER's terminal residues: NALA, CALA; DA5, DA3. */
    const bool terminal = strlen(residue) == 4 && (*residue == 'N' || *residue == 'C');
    for (int skip = 0; skip <= terminal; skip++) {
        size_t n = strlen(residue + skip);
        n -= n > 1 && (residue[skip + n - 1] == '3' || residue[skip + n - 1] == '5');
        if (n > 4)
            continue;
        word[0] = ' ';
        for (size_t i = 0; i < n; i++)
            word[1 + i] = (char)toupper((unsigned char)residue[skip + i]);
        memcpy(word + 1 + n, " ", 2);
        if (n > 0 && strstr(known, word))
            return true;
    }
    return false;
}

/* Whether a name whose first letter decides (C for carbon) may be a metal or a halogen: CO or CLA in a ligand. */
static bool is_doubtful(const char *letters, const char *residue)
{
    static const char metals[] = "Ba Be Bi Ca Cd Ce Co Cr Cs Hf Hg In Ir Na Os Pb Pd Sb Sm Sn Sr";
    const char two[3] = {letters[0], letters[0] ? letters[1] : '\0', '\0'};
    char symbol[3];
    return !is_familiar(residue) &&
           (find_symbol(unmistakable, two, symbol) || (strlen(letters) == 2 && find_symbol(metals, two, symbol)));
}

bool atom_element(const char *name, const char *residue, const char *element, char symbol[3])
{
    /* Elements only in a residue of the same name. */
    static const char alone[] =
        "Ar Ba Be Bi Ca Cd Ce Co Cr Cs Dy Er Eu Ga Gd Hf Hg Ho In Ir Kr La Lu Na Nd Os Pb Pd Pr "
        "Re Rh Sb Sm Sn Sr Tb Th Tl Tm Xe Yb";
    static const char usual[] = "H C N O S P F B I K";
    ion_kind of_name, of_residue;
    char letters[4], letters_of_residue[4];
    if (*element) {
        strcpy(symbol, element);
        return true;
    }
    if (ion_is_known(name, &of_name) && ion_is_known(residue, &of_residue) &&
        strcmp(of_name.element, of_residue.element) == 0) {
        strcpy(symbol, of_name.element);
        return true;
    }
    only_letters(name, letters);
    only_letters(residue, letters_of_residue);
    if (find_symbol(unmistakable, letters, symbol) ||
        (strcasecmp(letters, letters_of_residue) == 0 && find_symbol(alone, letters, symbol)))
        return true;
    const bool sure = !is_doubtful(letters, residue);
    letters[1] = '\0';
    if (find_symbol(usual, letters, symbol))
        return sure;
    strcpy(symbol, "X");
    return false;
}

int atomic_number(const char *symbol)
{
    static const char symbols[] =
        "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr "
        "Nb "
        "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt "
        "Au "
        "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv "
        "Ts Og";
    const size_t n = strlen(symbol);
    int number = 1;
    if (strcasecmp(symbol, "D") == 0)
        return 1;
    for (const char *p = symbols; n > 0 && *p; p += strcspn(p, " "), p += *p == ' ', number++)
        if (strcspn(p, " ") == n && strncasecmp(p, symbol, n) == 0)
            return number;
    return 0;
}

bool atom_is_hydrogen(const char *name, const char *residue, const char *element)
{
    char symbol[3];
    (void)atom_element(name, residue, element, symbol);
    const int number = atomic_number(symbol);
    while (isdigit((unsigned char)*name))
        name++;
    return number == 1 ||
           (number == 0 && *name == 'D' && (isdigit((unsigned char)name[1]) || strchr("ABGDEZH", name[1])));
}
