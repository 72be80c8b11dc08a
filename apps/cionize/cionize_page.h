/* cionize: --page. Without it, these do nothing. */
#ifndef CIONIZE_PAGE_H
#define CIONIZE_PAGE_H

#include "cionize_state.h"

/* Before the map. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status page_begin(cionize_state *r);
/* Takes layers of the map. */
void page_take(cionize_state *r, const map_layers *layers);
/* At the end of the run: writes the page. Errors: those of vf_page_open, vf_page_array, vf_page_add_volume. */
VF_MUST_CHECK vf_status page_write(cionize_state *r, double seconds);

#endif
