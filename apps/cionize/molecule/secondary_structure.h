/* cionize: helices and strands of proteins, from the hydrogen bonds of their backbones. Lengths in angstrom. */
#ifndef CIONIZE_SECONDARY_STRUCTURE_H
#define CIONIZE_SECONDARY_STRUCTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"

typedef enum backbone_kind { BACKBONE_COIL, BACKBONE_HELIX, BACKBONE_STRAND, BACKBONE_NUCLEIC } backbone_kind;

/* An amino acid of a chain. */
typedef struct peptide {
    double n[3], ca[3], c[3], o[3];
    bool complete; /* it has all of these; without, it has no bonds */
    bool proline;  /* no hydrogen at N */
    bool linked;   /* to the one before, by C - N */
    backbone_kind kind;
} peptide;

/* Sets `kind`: helices (alpha, 3-10 and pi) and strands (ladders of two bridges or more) by the rules of Kabsch and Sander,
 * Biopolymers 22 (1983) 2577, with the ladders' bulges: their H, G and I, and their E. The hydrogen at N is placed 1 angstrom
 * from it, opposite to C=O of the residue before, whatever the file has. As in their program, a donor has its two best bonds, and
 * residues whose alpha carbons are 9 angstrom apart have none. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status assign_secondary_structure(vf_context *ctx, int64_t count, peptide *at);

#endif
