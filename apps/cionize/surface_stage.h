/* cionize: --surface-mesh, --surface-picture, --scene. */
#ifndef CIONIZE_SURFACE_STAGE_H
#define CIONIZE_SURFACE_STAGE_H

#include "cionize_state.h"

/* Whether one of them is asked for. */
bool surface_asked(const cionize_settings *settings);

/* Makes the names of a scene. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status surface_name_files(cionize_state *r);

/* Why the cell has no surface, as the part of a sentence; NULL: it can have one, or there is no cell. */
const char *no_surface_in_cell(const cionize_state *r);

/* When molecule, grid and the map's name are known. Errors: VF_ERR_ARGUMENT (no_surface_in_cell; a scene of a cell; an unknown extension),
 * VF_ERR_INPUT (no radii). */
VF_MUST_CHECK vf_status surface_check(const cionize_state *r);

/* Before the map's layers, which have this order: makes the mesh, unless the run is dry. Errors: those of surface_make; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status surface_begin(cionize_state *r, map_order order);

/* After them: writes the files. Errors: those of vf_mesh_write, surface_draw. */
VF_MUST_CHECK vf_status surface_write(cionize_state *r);
void surface_free(cionize_state *r);
void surface_facts(facts *f, const cionize_state *r);

#endif
