/* The conditions that every molecule must meet, whatever bytes it was read from. */
#ifndef FUZZ_MOLECULES_H
#define FUZZ_MOLECULES_H

#include <math.h>
#include <string.h>

#include "fuzz_replay.h"
#include "molecule/molecule.h"

static inline void require_label(const atom_label *label)
{
    require_text(label->name, sizeof label->name);
    require_text(label->residue, sizeof label->residue);
    require_text(label->chain, sizeof label->chain);
    require_text(label->element, sizeof label->element);
}

static inline void require_sound(const molecule *m)
{
    double total = 0, size = 0;
    REQUIRE(m->atoms >= 1 && m->missing_atoms >= 0 && m->missing_residues >= 0);
    for (int64_t i = 0; i < m->atoms; i++) {
        const double xyz[3] = {m->x[i], m->y[i], m->z[i]};
        for (int a = 0; a < 3; a++)
            REQUIRE(isfinite(xyz[a]) && xyz[a] >= m->lo[a] && xyz[a] <= m->hi[a]);
        REQUIRE(isfinite(m->charge[i]) && isfinite(m->radius[i]) && m->radius[i] >= 0);
        require_label(&m->labels[i]);
        total += m->charge[i];
        size += fabs(m->charge[i]);
    }
    /* A plain sum of n numbers has an error of at most n half units in the last place of the sum of their
     * magnitudes. */
    REQUIRE(fabs(total - m->total_charge) <= 1.2e-16 * (double)m->atoms * size);
    REQUIRE(strlen(m->digest) == VF_DIGEST_TEXT - 1 && *m->dialect && strlen(m->dialect) < sizeof m->dialect);
}

static inline void require_same(const molecule *a, const molecule *b)
{
    size_t bytes = (size_t)a->atoms * sizeof(double);
    REQUIRE(a->atoms == b->atoms);
    REQUIRE(memcmp(a->x, b->x, bytes) == 0 && memcmp(a->y, b->y, bytes) == 0 && memcmp(a->z, b->z, bytes) == 0);
    REQUIRE(memcmp(a->charge, b->charge, bytes) == 0);
}

#endif
