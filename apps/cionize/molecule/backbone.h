/* cionize: the backbones of proteins and nucleic acids as curves with directions, for ribbons. Lengths in angstrom. */
#ifndef CIONIZE_BACKBONE_H
#define CIONIZE_BACKBONE_H

#include "molecule.h"
#include "secondary_structure.h"

/* A residue as a point of a curve. */
typedef struct backbone_residue {
    int64_t atom; /* of the molecule: CA; of a nucleotide C4' */
    int64_t tip;  /* of a nucleotide: the atom of the base that faces its partner, N1 or N3; -1: none */
    double place[3];
    double side[3]; /* unit vector across the curve: where a ribbon is wide */
    backbone_kind kind;
    bool begins; /* a chain, or what follows a gap */
} backbone_residue;

typedef struct backbone {
    int64_t count;
    backbone_residue *at; /* [count] in the file's order */
} backbone;

/* Finds residues of amino acids and nucleotides by the names of their atoms, at least two of which are linked: C - N up to 2.5 angstrom
 * (O3' - P likewise), or CA - CA up to 4.5 (C4' - C4' 8) where these atoms are missing. The side is the direction of C=O
 * (Carson and Bugg, J. Mol. Graphics 4 (1986) 121), without that of the curve; for alpha carbons alone, across the curve's
 * bend; for nucleotides, across the direction to C1'. Signs are such that no ribbon turns over. In strands, places and
 * sides are means over neighbours by 1, 2, 1, so that pleats are flat. Free `out` with backbone_free, also after an error. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status backbone_find(vf_context *ctx, const molecule *m, backbone *out);
void backbone_free(backbone *b);

#endif
