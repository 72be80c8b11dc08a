#include <math.h>
#include <string.h>

#include "space_group.h"

#ifdef VF_HAVE_SPGLIB
#include <spglib.h>

enum { SETTINGS = 530, NAME = 32 };

/* A name as it is compared: capitals, without blanks and underscores. The setting after a colon is apart. */
typedef struct plain_name {
    char text[NAME];
    char setting; /* 'H', 'R', '1', '2'; 0: none */
} plain_name;

static char capital(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}

static plain_name make_plain(const char *name)
{
    plain_name out = {0};
    size_t n = 0;
    for (; *name && *name != ':' && *name != '=' && n + 1 < NAME; name++)
        if (*name != ' ' && *name != '_' && *name != '\t')
            out.text[n++] = capital(*name);
    if (*name == ':')
        for (name++; *name; name++)
            if (*name != ' ' && !out.setting)
                out.setting = capital(*name);
    return out;
}

/* PDB files write H for hexagonal axes of a rhombohedral group. */
static void take_hexagonal(plain_name *name)
{
    if (name->text[0] != 'H' || name->text[1] == '\0' || name->setting)
        return;
    name->text[0] = 'R';
    name->setting = 'H';
}

/* Whether a name of the table is the wanted one. Its e, two glide planes in one, was a, b or c before 1992. Of groups 67 and
 * 68, the two old names of a setting differed in the origin. */
static bool same_name(const char *name, const char *wanted, int number)
{
    enum { FIRST = 67, LAST = 68 };
    const bool old = number != FIRST && number != LAST;
    const plain_name own = make_plain(name);
    const char *p = own.text;
    for (; *p && *wanted; p++, wanted++)
        if (*p != *wanted && !(old && *p == 'E' && strchr("ABC", *wanted)))
            return false;
    return *p == *wanted;
}

/* `names`: those that spglib separates by " = ". */
static bool is_among(const char *names, const char *wanted, int number)
{
    for (const char *part = names; part; part = strstr(part, " = ")) {
        part += strncmp(part, " = ", 3) == 0 ? 3 : 0;
        if (same_name(part, wanted, number))
            return true;
    }
    return false;
}

/* A monoclinic name without its ones: C 1 2 1 becomes C2, and A 1 2 1 becomes A2. */
static plain_name without_ones(const char *name)
{
    char rest[NAME] = "";
    size_t n = 0;
    for (; *name && n + 1 < NAME; name++)
        if (!(name[0] == ' ' && name[1] == '1' && (name[2] == ' ' || name[2] == '\0')))
            rest[n++] = *name;
        else
            name++;
    rest[n] = '\0';
    return make_plain(rest);
}

static bool has_name(const SpglibSpacegroupType *type, const plain_name *wanted)
{
    enum { MONOCLINIC = 3, MONOCLINIC_END = 16 };
    const char choice = type->choice[0];
    const bool stated = choice != '\0' && strchr("HR12", choice);
    if (wanted->setting && stated && wanted->setting != choice)
        return false;
    if (same_name(type->international_full, wanted->text, type->number))
        return true;
    if (type->number >= MONOCLINIC && type->number < MONOCLINIC_END)
        return strcmp(without_ones(type->international_full).text, wanted->text) == 0;
    return is_among(type->international, wanted->text, type->number);
}

static bool read_setting(int hall, symmetry_group *out)
{
    int turns[SYMMETRY_MOST][3][3];
    double shifts[SYMMETRY_MOST][3];
    out->count = spg_get_symmetry_from_database(turns, shifts, hall);
    for (int n = 0; n < out->count; n++) {
        memcpy(out->op[n].turn, turns[n], sizeof turns[n]);
        for (int a = 0; a < 3; a++) /* twenty-fourths, which the table may have rounded */
            out->op[n].shift[a] = fmod(round(24 * (shifts[n][a] - floor(shifts[n][a]))), 24) / 24;
    }
    return out->count > 0;
}

space_group_search space_group_named(const char *name, const unit_cell *cell, symmetry_group *out)
{
    plain_name wanted = make_plain(name);
    symmetry_group other;
    bool named = false, found = false;
    char choice = '\0';
    take_hexagonal(&wanted);
    for (int hall = 1; hall <= SETTINGS; hall++) {
        const SpglibSpacegroupType type = spg_get_spacegroup_type(hall);
        if (!has_name(&type, &wanted) || !read_setting(hall, found ? &other : out))
            continue;
        named = true;
        if (found && choice == '1' && type.choice[0] == '2' && symmetry_fits(&other, cell))
            return SPACE_GROUP_TWO;
        if (!found && symmetry_fits(out, cell)) {
            found = true;
            choice = (char)(wanted.setting ? '\0' : type.choice[0]);
        }
    }
    return found ? SPACE_GROUP_FOUND : named ? SPACE_GROUP_NO_FIT : SPACE_GROUP_UNKNOWN;
}

#else

space_group_search space_group_named(const char *name, const unit_cell *cell, symmetry_group *out)
{
    (void)name;
    (void)cell;
    out->count = 0;
    return SPACE_GROUP_NO_TABLES;
}

#endif
