/* What must hold of an atom's label, whatever bytes it was read from. */
#ifndef FUZZ_LABEL_H
#define FUZZ_LABEL_H

#include "cionize.h"
#include "fuzz_replay.h"

static inline void require_label(const atom_label *label)
{
    require_text(label->name, sizeof label->name);
    require_text(label->residue, sizeof label->residue);
    require_text(label->chain, sizeof label->chain);
    require_text(label->element, sizeof label->element);
}

#endif
