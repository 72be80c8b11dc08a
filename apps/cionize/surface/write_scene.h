/* Scenes: what PyMOL, ChimeraX and VMD need to show the molecule's surface, coloured by the map, at once. */
#ifndef CIONIZE_WRITE_SCENE_H
#define CIONIZE_WRITE_SCENE_H

#include <stdbool.h>

#include "voxfield/context.h"

/* The files of a scene NAME: NAME.pml, NAME.cxc, NAME.vmd, and the molecule, NAME_molecule.pqr. */
enum { SCENE_PYMOL, SCENE_CHIMERAX, SCENE_VMD, SCENE_MOLECULE, SCENE_FILES };

/* Makes their names; free() each. An ending .pml, .cxc or .vmd of `name` is left out. False: no memory. */
bool scene_names(const char *name, char *out[SCENE_FILES]);

typedef struct scene {
    const char *molecule, *map; /* paths of files, which exist */
    const char *title, *program;
    const char *unit;
    double range;         /* of colours, -range to range */
    double probe, offset; /* angstrom */
    bool accessible;      /* the surface is solvent-accessible */
} scene;

/* Checks that viewers read maps of this name: .dx, .mrc, .ccp4, .map, .cube or .cub. Errors: VF_ERR_ARGUMENT (also if a name has
 * control characters). */
VF_MUST_CHECK vf_status scene_check(vf_context *ctx, const char *name, const char *map);

/* Writes the three scripts, each atomically. The names in them are relative to the scripts' folder, if the files lie there, else
 * absolute. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scene_write(vf_context *ctx, const scene *s, char *const names[SCENE_FILES]);

#endif
