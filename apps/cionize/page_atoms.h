/* cionize: what a page (--page) has of atoms, backbones and ions. */
#ifndef CIONIZE_PAGE_ATOMS_H
#define CIONIZE_PAGE_ATOMS_H

#include "cionize_state.h"
#include "voxfield/page.h"

enum {
    PAGE_MOST_ATOMS = 200000,  /* of more, there are none */
    PAGE_MOST_RESIDUES = 20000 /* of the backbone; likewise */
};

/* Add arrays to the page, unless there is nothing to show. Errors: those of vf_page_array and backbone_find. */
VF_MUST_CHECK vf_status page_write_atoms(const cionize_state *r, vf_page *page);
VF_MUST_CHECK vf_status page_write_backbone(const cionize_state *r, vf_page *page);
VF_MUST_CHECK vf_status page_write_ions(const cionize_state *r, vf_page *page);

#endif
