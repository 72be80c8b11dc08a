/* The atoms of a crystal's whole cell, from those of its asymmetric unit. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "molecule_arrays.h"
#include "molecule_records.h"
#include "name_copies.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

/* Atoms closer than the first distance to a copy with the same charge and radius are the same atom, on a special position. Two
 * different atoms are never as close as the second. */
static const double same_distance = 0.1, least_distance = 0.6; /* angstrom */
enum { MOST_BINS = 128 };
static const double least_width = 2; /* of a cell, angstrom: no crystal is smaller */

typedef struct expansion {
    vf_context *ctx;
    const char *path;
    molecule *m;
    const symmetry_group *group;
    double axes[3][3], inverse[3][3]; /* x = axes f */
    int64_t atoms;                    /* of the asymmetric unit */
    int64_t capacity, count;          /* of the arrays below; atoms placed so far */
    double (*fraction)[3];            /* [capacity] fractional coordinates */
    int64_t *source;                  /* [capacity] atom of the asymmetric unit */
    int *copy;                        /* [capacity] operator */
    int64_t *place;                   /* [atoms][operators] atom of the result that is this copy */
    int64_t *head, *following;        /* bins: head[bin], following[capacity]; -1: end */
    int bins[3];
    int64_t special, merged, close;
} expansion;

static void to_space(const expansion *e, const double f[3], double x[3])
{
    for (int i = 0; i < 3; i++)
        x[i] = e->axes[i][0] * f[0] + e->axes[i][1] * f[1] + e->axes[i][2] * f[2];
}

/* The distance between the nearest images of two points; `apart`: the step between them, fractional. */
static double distance(const expansion *e, const double a[3], const double b[3], double apart[3])
{
    double x[3];
    for (int i = 0; i < 3; i++) {
        apart[i] = b[i] - a[i];
        apart[i] -= round(apart[i]);
    }
    to_space(e, apart, x);
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

static void apply(const symmetry_operator *op, const double f[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = op->turn[i][0] * f[0] + op->turn[i][1] * f[1] + op->turn[i][2] * f[2] + op->shift[i];
}

/* ---- bins ---- */

static int bin_of(const expansion *e, const double f[3], int axis)
{
    const int bin = (int)((f[axis] - floor(f[axis])) * e->bins[axis]);
    return bin < e->bins[axis] ? bin : e->bins[axis] - 1;
}

static void insert(expansion *e, int64_t atom)
{
    const double *f = e->fraction[atom];
    int64_t *bin = &e->head[(bin_of(e, f, 2) * (int64_t)e->bins[1] + bin_of(e, f, 1)) * e->bins[0] + bin_of(e, f, 0)];
    e->following[atom] = *bin;
    *bin = atom;
}

/* The placed atom nearest to f, if one is within the least distance; -1: none. */
static int64_t nearest(const expansion *e, const double f[3], double *how_far)
{
    int64_t found = -1;
    int at[3], first[3], last[3];
    double apart[3];
    *how_far = least_distance;
    for (int a = 0; a < 3; a++) { /* two bins have each other as both neighbours */
        at[a] = bin_of(e, f, a);
        first[a] = e->bins[a] > 2 ? -1 : 0;
        last[a] = e->bins[a] > 1 ? 1 : 0;
    }
    for (int z = first[2]; z <= last[2]; z++)
        for (int y = first[1]; y <= last[1]; y++)
            for (int x = first[0]; x <= last[0]; x++) {
                const int64_t bx = (at[0] + x + e->bins[0]) % e->bins[0], by = (at[1] + y + e->bins[1]) % e->bins[1],
                              bz = (at[2] + z + e->bins[2]) % e->bins[2];
                for (int64_t n = e->head[(bz * e->bins[1] + by) * e->bins[0] + bx]; n >= 0; n = e->following[n]) {
                    const double d = distance(e, f, e->fraction[n], apart);
                    if (d < *how_far) {
                        *how_far = d;
                        found = n;
                    }
                }
            }
    return found;
}

/* ---- positions ---- */

/* Moves an atom that lies near some of its own copies to the point between them, which the operators leave where it is. */
static void settle(expansion *e, double f[3])
{
    enum { ROUNDS = 8 };
    bool moved = false;
    for (int round = 0; round < ROUNDS; round++) {
        double sum[3] = {0}, image[3], apart[3];
        int copies = 1;
        for (int k = 1; k < e->group->count; k++) {
            apply(&e->group->op[k], f, image);
            if (distance(e, f, image, apart) >= same_distance)
                continue;
            copies++;
            for (int i = 0; i < 3; i++)
                sum[i] += apart[i];
        }
        if (copies == 1)
            break;
        for (int i = 0; i < 3; i++)
            f[i] += sum[i] / copies;
        moved = true;
    }
    e->special += moved;
}

/* A shift by lattice vectors that brings the centre of a copy into the cell. */
static void find_shift(const expansion *e, int k, double shift[3])
{
    double centre[3] = {0}, image[3];
    for (int64_t i = 0; i < e->atoms; i++)
        for (int a = 0; a < 3; a++)
            centre[a] += e->fraction[i][a] / (double)e->atoms;
    apply(&e->group->op[k], centre, image);
    for (int a = 0; a < 3; a++)
        shift[a] = -floor(image[a] + 1e-9); /* on a face, rounding does not decide */
}

static vf_status fail_overlap(const expansion *e, int64_t atom, int k, int64_t other, double how_far)
{
    const atom_label *a = &e->m->labels[atom], *b = &e->m->labels[e->source[other]];
    return vf_fail(e->ctx, VF_ERR_INPUT,
                   "%s: copy %d of atom %" PRId64 " (%s, %s %s %" PRId32 ") is %.2g A from atom %" PRId64
                   " (%s, %s %s %" PRId32
                   "), which has another charge or radius; if the file has the atoms of the whole "
                   "cell, use --symmetry none; if not, check the space group",
                   e->path, k + 1, atom + 1, a->name, a->residue, a->chain, a->residue_number, how_far,
                   e->source[other] + 1, b->name, b->residue, b->chain, b->residue_number);
}

static bool alike(const molecule *m, int64_t a, int64_t b)
{
    const double rounding = 1e-6;
    return fabs(m->charge[a] - m->charge[b]) <= rounding && fabs(m->radius[a] - m->radius[b]) <= rounding;
}

static vf_status place_copy(expansion *e, int k)
{
    const int64_t before = e->count;
    double shift[3], image[3], how_far;
    find_shift(e, k, shift);
    for (int64_t i = 0; i < e->atoms; i++) {
        apply(&e->group->op[k], e->fraction[i], image);
        const int64_t other = nearest(e, image, &how_far);
        if (other >= 0 && how_far < same_distance && !alike(e->m, i, e->source[other]))
            return fail_overlap(e, i, k, other, how_far);
        int64_t *place = &e->place[i * e->group->count + k];
        if (other >= 0 && how_far < same_distance) {
            *place = other;
            e->merged++;
            continue;
        }
        e->close += other >= 0;
        for (int a = 0; a < 3; a++)
            e->fraction[e->count][a] = image[a] + shift[a];
        e->source[e->count] = i;
        e->copy[e->count] = k;
        *place = e->count++;
    }
    for (int64_t n = before; n < e->count; n++)
        insert(e, n);
    return vf_cancelled(e->ctx) ? vf_fail(e->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static vf_status place_all(expansion *e)
{
    for (int64_t i = 0; i < e->atoms; i++) {
        const double x[3] = {e->m->x[i], e->m->y[i], e->m->z[i]};
        for (int a = 0; a < 3; a++)
            e->fraction[i][a] = e->inverse[a][0] * x[0] + e->inverse[a][1] * x[1] + e->inverse[a][2] * x[2];
        settle(e, e->fraction[i]);
        e->source[i] = i;
        e->place[i * e->group->count] = i;
    }
    e->count = e->atoms;
    for (int64_t i = 0; i < e->atoms; i++)
        insert(e, i);
    vf_status status = VF_OK;
    for (int k = 1; status == VF_OK && k < e->group->count; k++)
        status = place_copy(e, k);
    return status;
}

/* ---- the result ---- */

/* Bonds between atoms of one copy. A bond between merged atoms is there already. */
static bool copy_bonds(const expansion *e, molecule_records *records)
{
    const int64_t bonds = records->bonds, copies = e->group->count;
    int64_t(*bond)[2] = malloc((size_t)(bonds * copies + 1) * sizeof *bond), count = 0;
    if (!bond)
        return false;
    for (int k = 0; k < copies; k++)
        for (int64_t b = 0; b < bonds; b++) {
            const int64_t from = e->place[records->bond[b][0] * copies + k],
                          to = e->place[records->bond[b][1] * copies + k];
            if (e->copy[from] != k && e->copy[to] != k)
                continue;
            bond[count][0] = from;
            bond[count++][1] = to;
        }
    free(records->bond);
    records->bond = bond;
    records->bonds = count;
    return true;
}

static vf_status fill(expansion *e)
{
    molecule *m = e->m;
    double rest = 0;
    vf_status status = name_copies(e->ctx, e->path, m->labels, e->atoms, e->group->count, e->source, e->copy, e->count);
    if (status != VF_OK)
        return status;
    m->total_charge = 0;
    for (int64_t n = 0; n < e->count; n++) {
        double x[3];
        to_space(e, e->fraction[n], x);
        molecule_place(m, n, x);
        m->charge[n] = m->charge[e->source[n]];
        m->radius[n] = m->radius[e->source[n]];
        molecule_add_charge(m, m->charge[n], &rest);
    }
    m->total_charge += rest;
    m->atoms = e->count;
    records_drop(&m->records, "REMARK 290");
    records_drop(&m->records, "CRYST1"); /* whoever writes the molecule states its cell, in P 1 */
    symmetry_free(&m->symmetry);
    strcpy(m->cell.group, "P 1");
    return VF_OK;
}

/* Records that name atoms, or operators of the space group. */
static bool names_atoms(const molecule_records *records)
{
    static const char *const names[] = {"SSBOND", "LINK", "CISPEP", "HELIX", "SHEET", "SITE", "MODRES", "HET"};
    for (const char *line = records->lines; line && *line; line += strcspn(line, "\n") + 1)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (record_is((text_piece){line, strcspn(line, "\n")}, names[n]))
                return true;
    return false;
}

static void say(const expansion *e)
{
    if (names_atoms(&e->m->records))
        vf_note(e->ctx,
                "note: %s: records of the structure (SSBOND, LINK, HELIX, ...) name atoms of the first copy alone, and "
                "symmetry "
                "operators in them are those of the old space group",
                e->path);
    if (e->special > 0)
        vf_note(e->ctx,
                "note: %s: %" PRId64
                " atom%s on special positions, within %g A of copies of their own; they are moved there, "
                "and are there once",
                e->path, e->special, e->special == 1 ? " is" : "s are", same_distance);
    if (e->merged > 0)
        vf_note(e->ctx, "note: %s: %" PRId64 " cop%s of atoms coincide%s with other atoms, and %s left out", e->path,
                e->merged, e->merged == 1 ? "y" : "ies", e->merged == 1 ? "s" : "", e->merged == 1 ? "is" : "are");
    if (e->count == e->atoms)
        vf_warn(e->ctx,
                "%s: all copies coincide with atoms of the file, which has all atoms of the cell (--symmetry none)",
                e->path);
    if (e->close > 0)
        vf_warn(e->ctx,
                "%s: %" PRId64
                " cop%s of atoms %s closer than %g A to other atoms; leave out atoms with partial occupancy, "
                "or check the space group",
                e->path, e->close, e->close == 1 ? "y" : "ies", e->close == 1 ? "is" : "are", least_distance);
}

static bool allocate(expansion *e)
{
    const size_t n = (size_t)e->capacity, bins = (size_t)e->bins[0] * (size_t)e->bins[1] * (size_t)e->bins[2];
    e->fraction = malloc(n * sizeof *e->fraction);
    e->source = malloc(n * sizeof *e->source);
    e->copy = calloc(n, sizeof *e->copy);
    e->place = malloc(n * sizeof *e->place);
    e->following = malloc(n * sizeof *e->following);
    e->head = malloc(bins * sizeof *e->head);
    for (size_t b = 0; e->head && b < bins; b++)
        e->head[b] = -1;
    return e->fraction && e->source && e->copy && e->place && e->following && e->head;
}

static vf_status run(expansion *e)
{
    vf_status status = place_all(e);
    if (status != VF_OK)
        return status;
    if (!molecule_resize(e->m, e->count) || !copy_bonds(e, &e->m->records))
        return vf_fail(e->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", e->path, e->count);
    status = fill(e);
    if (status == VF_OK)
        say(e);
    return status;
}

vf_status molecule_expand(vf_context *ctx, const char *path, const unit_cell *shape, const symmetry_group *group,
                          molecule *m)
{
    vf_cell cell;
    expansion e = {.ctx = ctx, .path = path, .m = m, .group = group, .atoms = m->atoms};
    if (!cell_of_shape(shape->lengths, shape->angles, &cell))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: has a cell that cannot be read, or that is impossible", path);
    if (group->count < 2)
        return VF_OK;
    if (m->atoms > INT64_MAX / (1024 * SYMMETRY_MOST))
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %d copies of %" PRId64 " atoms", path, group->count,
                       m->atoms);
    e.capacity = m->atoms * group->count;
    for (int i = 0; i < 9; i++)
        e.axes[i / 3][i % 3] = cell.vectors[i % 3][i / 3];
    symmetry_invert(e.axes, e.inverse);
    for (int a = 0; a < 3; a++) {
        const double *row = e.inverse[a], width = 1 / sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
        e.bins[a] = width < MOST_BINS ? (int)width : MOST_BINS; /* at least 1 A wide */
        if (!(width >= least_width))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: a cell that is %.3g A wide is no crystal's", path, width);
    }
    vf_status status = allocate(&e) ? run(&e)
                                    : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %d copies of %" PRId64 " atoms",
                                              path, group->count, m->atoms);
    free(e.fraction);
    free(e.source);
    free(e.copy);
    free(e.place);
    free(e.following);
    free(e.head);
    return status;
}
