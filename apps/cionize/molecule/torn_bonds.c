#include "torn_bonds.h"

#include <math.h>

#include "atom_element.h"
#include "residue_kinds.h"
#include "residues.h"

enum { REACH = 32 }; /* atoms in the list between two that are bonded: more than those of a side chain */

/* Angstrom. No bond of hydrogen is longer than the one, and no bond in a molecule of heavy atoms that matters here longer than the
 * other; atoms that are not bonded are farther apart than these, also in hydrogen bonds. Images nearer than `LEAST` are the same
 * atom, drawn twice. */
static const double LEAST = 0.3, MOST_OF_HYDROGEN = 1.4, MOST = 1.95;

static bool is_hydrogen(const molecule *m, int64_t i)
{
    const atom_label *l = &m->labels[i];
    return atom_is_hydrogen(l->name, l->residue, l->element);
}

/* The least distance between opposite faces. */
static double width_of(const vf_cell *cell)
{
    const double(*v)[3] = cell->vectors, volume = v[0][0] * v[1][1] * v[2][2];
    double width = v[2][2]; /* of a, b and c */
    for (int a = 0; a < 2; a++) {
        const double *p = v[a == 0 ? 1 : 2], *q = v[a == 0 ? 2 : 0];
        const double area =
            hypot(hypot(p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2]), p[0] * q[1] - p[1] * q[0]);
        width = fmin(width, volume / area);
    }
    return width;
}

/* The length of a vector's image near zero. Exact where it is shorter than half the cell's diagonal numbers, as bonds are. */
static double image_length(const vf_cell *cell, double d[3])
{
    for (int a = 2; a >= 0; a--) { /* z first: the vectors before have none */
        const double turns = nearbyint(d[a] / cell->vectors[a][a]);
        for (int b = 0; b < 3; b++)
            d[b] -= turns * cell->vectors[a][b];
    }
    return hypot(hypot(d[0], d[1]), d[2]);
}

static bool is_alone(const atom_label *label)
{
    return residue_is_water(label->residue) || residue_is_ion(label->residue);
}

/* Two molecules, of which one is water or an ion. In a box that was just filled, images of such molecules can be as near as bonds. */
static bool never_bonded(const atom_label *before, const atom_label *after)
{
    return (is_alone(before) || is_alone(after)) && !same_residue(before, after);
}

torn_bonds find_torn_bonds(const molecule *m, const double *x, const double *y, const double *z, const vf_cell *cell)
{
    torn_bonds torn = {0};
    const double far = width_of(cell) - MOST;
    if (!(far > 2 * MOST)) /* a cell as small as a bond */
        return torn;
    for (int64_t i = 1; i < m->atoms; i++)
        for (int64_t j = i > REACH ? i - REACH : 0; j < i; j++) {
            double d[3] = {x[i] - x[j], y[i] - y[j], z[i] - z[j]};
            const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (square < far * far)
                continue;
            const double length = image_length(cell, d);
            if (length < LEAST || length > MOST || never_bonded(&m->labels[j], &m->labels[i]) ||
                (length > MOST_OF_HYDROGEN && (is_hydrogen(m, i) || is_hydrogen(m, j))))
                continue;
            if (torn.count++ == 0) {
                torn.first = j;
                torn.second = i;
                torn.apart = sqrt(square);
            }
        }
    return torn;
}
