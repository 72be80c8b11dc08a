#include "check_positions.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atom_element.h"
#include "massless_sites.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

/* ---- atoms without a position ---- */

static bool is_at_origin(const molecule *m, int64_t i)
{
    return m->x[i] == 0 && m->y[i] == 0 && m->z[i] == 0;
}

static bool is_unbuilt(const molecule *m, int64_t i)
{
    return is_at_origin(m, i) && m->labels[i].occupancy < 0;
}

/* A mark is the same for all three coordinates. */
static bool is_undefined(const molecule *m, int64_t i)
{
    const double least = 9999, rounding = 1e-6; /* coordinates in nm times 10 are not exact */
    const double size[3] = {fabs(m->x[i]), fabs(m->y[i]), fabs(m->z[i])};
    return size[0] > least - rounding && fabs(size[1] - size[0]) < rounding && fabs(size[2] - size[0]) < rounding;
}

typedef bool (*position_test)(const molecule *m, int64_t i);

/* "HA (ALA 1), HT1 (ALA 1), ..." */
static void list_atoms(const molecule *m, position_test test, char *text, size_t size)
{
    enum { NAMED = 4 };
    int named = 0;
    *text = '\0';
    for (int64_t i = 0; i < m->atoms; i++) {
        const atom_label *label = &m->labels[i];
        if (!test(m, i))
            continue;
        if (++named > NAMED) {
            vf_append(text, size, ", ...");
            return;
        }
        vf_append(text, size, "%s", named > 1 ? ", " : "");
        if (!*label->name)
            vf_append(text, size, "number %" PRId64, i + 1);
        else if (*label->number_text)
            vf_append(text, size, "%s (%s %s)", label->name, label->residue, label->number_text);
        else
            vf_append(text, size, "%s (%s %" PRId32 ")", label->name, label->residue, label->residue_number);
    }
}

/* Fails if at least `least` atoms pass the test. */
static vf_status refuse(vf_context *ctx, const char *name, const molecule *m, position_test test, int64_t least,
                        const char *where, const char *advice)
{
    char list[256];
    int64_t count = 0;
    for (int64_t i = 0; i < m->atoms; i++)
        count += test(m, i);
    if (count < least)
        return VF_OK;
    list_atoms(m, test, list, sizeof list);
    return vf_fail(ctx, VF_ERR_INPUT, "%s: %" PRId64 " atom%s %s no position, but %s: %s; %s", name, count,
                   vf_plural(count), count == 1 ? "has" : "have", where, list, advice);
}

/* ---- atoms in one place ---- */

static uint64_t hash_position(double x, double y, double z)
{
    double xyz[3] = {x + 0.0, y + 0.0, z + 0.0}; /* -0 becomes +0 */
    uint64_t hash = 0, bits;
    for (int a = 0; a < 3; a++) {
        memcpy(&bits, &xyz[a], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash * UINT64_C(0xbf58476d1ce4e5b9) >> 16;
}

typedef struct shared_places {
    int64_t count, first, second; /* the first two atoms in one place */
} shared_places;

static bool find_shared(const molecule *m, shared_places *out)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)m->atoms)
        size *= 2;
    uint32_t *table = m->atoms < UINT32_MAX ? calloc(size, sizeof *table) : NULL; /* index + 1; 0: free */
    for (int64_t i = 0; table && i < m->atoms; i++) {
        uint64_t slot = hash_position(m->x[i], m->y[i], m->z[i]) & (size - 1);
        for (; table[slot]; slot = (slot + 1) & (size - 1)) {
            const int64_t j = (int64_t)table[slot] - 1;
            if (m->x[i] != m->x[j] || m->y[i] != m->y[j] || m->z[i] != m->z[j])
                continue;
            if (!drude_of(m, i, j) && out->count++ == 0) { /* CHARMM's COOR SDRUDE puts them on their atoms */
                out->first = j;
                out->second = i;
            }
            break;
        }
        if (!table[slot])
            table[slot] = (uint32_t)(i + 1);
    }
    free(table);
    return table != NULL;
}

/* Two atoms at one point: usually a model or an alternate location was read twice. */
static vf_status warn_of_shared(vf_context *ctx, const char *name, const molecule *m, const int64_t *line)
{
    shared_places shared = {0};
    if (!find_shared(m, &shared))
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to look for atoms in the same place", name);
    const int64_t i = shared.second, j = shared.first;
    if (shared.count > 0 && line)
        vf_warn(ctx,
                "%s:%" PRId64 ": this atom is at the same position as that in line %" PRId64 " (%g %g %g); %" PRId64
                " such atom%s in all; check for duplicates",
                name, line[i], line[j], m->x[i], m->y[i], m->z[i], shared.count, vf_plural(shared.count));
    else if (shared.count > 0)
        vf_warn(ctx,
                "%s: atom %" PRId64 " (%s) is at the same position as atom %" PRId64 " (%g %g %g); %" PRId64
                " such atom%s in all; check for duplicates",
                name, i + 1, m->labels[i].name, j + 1, m->x[i], m->y[i], m->z[i], shared.count,
                vf_plural(shared.count));
    return VF_OK;
}

/* ---- lengths in other units ---- */

/* Whether at least MANY other atoms are within `near` angstrom of atom i. */
static bool is_crowded(const molecule *m, int64_t i, double near)
{
    enum { MANY = 4 };
    int found = 0;
    for (int64_t j = 0; j < m->atoms && found <= MANY; j++) {
        const double x = m->x[j] - m->x[i], y = m->y[j] - m->y[i], z = m->z[j] - m->z[i];
        found += x * x + y * y + z * z < near * near; /* the atom itself, too */
    }
    return found > MANY;
}

/* The shortest bond has 0.74 A. Closer to an atom are only its Drude particle and lone pairs, three at most. In nm, all
 * atoms within 7 A seem to be that close. */
static void warn_of_nm(vf_context *ctx, const char *name, const molecule *m)
{
    enum { LOOKED_AT = 16 };
    const double near = 0.7;
    const int64_t every = m->atoms / LOOKED_AT + 1;
    int64_t looked_at = 0, crowded = 0;
    for (int64_t i = 0; i < m->atoms; i += every, looked_at++)
        crowded += is_crowded(m, i, near);
    if (2 * crowded > looked_at)
        vf_warn(ctx,
                "%s: most atoms have four or more others within %g A, closer than any bond; are the coordinates in nm? "
                "They "
                "are read in angstrom",
                name, near);
}

static bool is_lonely(const molecule *m, int64_t i, double near)
{
    for (int64_t j = 0; j < m->atoms; j++) {
        const double x = m->x[j] - m->x[i], y = m->y[j] - m->y[i], z = m->z[j] - m->z[i];
        if (j != i && x * x + y * y + z * z < near * near)
            return false;
    }
    return true;
}

/* No bond of hydrogen has more than 1.6 A (Si-H has 1.48). In bohr, O-H seems to have 1.8 A, and 9.6 A if angstrom are written
 * where nm are read. Where molecules are cut at the cell's faces, few hydrogens are alone. */
static void warn_of_far_hydrogens(vf_context *ctx, const char *name, const molecule *m)
{
    enum { LOOKED_AT = 32, LEAST = 8, MOST_TRIED = 64 }; /* about half of all atoms are hydrogen, or none */
    const double near = 1.7;
    int64_t lonely = 0, looked_at = 0;
    const int64_t every = m->atoms / LOOKED_AT + 1; /* the first hydrogen of so many atoms */
    for (int64_t begin = 0; begin < m->atoms; begin += every)
        for (int64_t i = begin; i < begin + (every < MOST_TRIED ? every : MOST_TRIED) && i < m->atoms; i++)
            if (atom_is_hydrogen(m->labels[i].name, m->labels[i].residue, m->labels[i].element)) {
                looked_at++;
                lonely += is_lonely(m, i, near);
                break;
            }
    if (looked_at >= LEAST && 2 * lonely > looked_at)
        vf_warn(ctx,
                "%s: most hydrogen atoms have no other atom within %g A, farther than any bond; are the coordinates "
                "in another unit than the format's?",
                name, near);
}

vf_status check_positions(vf_context *ctx, const char *name, const molecule *m, const int64_t *line)
{
    vf_status status = refuse(ctx, name, m, is_unbuilt, 1, "0 0 0 and a negative occupancy",
                              "psfgen could not build them: add guesscoord to its script, or remove them there");
    VF_TRY(status, refuse(ctx, name, m, is_at_origin, 2, "all 0 0 0",
                          "build them with the program that made the file, or remove them there"));
    VF_TRY(status, refuse(ctx, name, m, is_undefined, 1, "9999 or more, as CHARMM writes undefined coordinates",
                          "build them (in CHARMM: ic build, hbuild), or remove them from the system"));
    if (status == VF_OK) {
        warn_of_nm(ctx, name, m);
        warn_of_far_hydrogens(ctx, name, m);
    }
    return status == VF_OK ? warn_of_shared(ctx, name, m, line) : status;
}
