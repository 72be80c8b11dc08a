/* cionize: scripts in the language of VMD's program of this name (docs/formats.md). Reading only; nothing is run here.
 */
#ifndef CIONIZE_SCRIPT_H
#define CIONIZE_SCRIPT_H

#include "ions.h"

typedef enum script_verb {
    SCRIPT_SAVEGRID, /* the map as it is now, ions included */
    SCRIPT_PLACEION,
    SCRIPT_SAVEION /* the ions of the last PLACEION */
} script_verb;

typedef struct script_command {
    script_verb verb;
    int64_t line;        /* of the file, from 1; for messages */
    char *path;          /* of SAVEGRID and SAVEION, else NULL */
    ion_request request; /* of PLACEION */
} script_command;

/* What a script says. Settings it does not give are 0. */
typedef struct script {
    bool has_ion_solute, has_ion_ion, has_border, has_spacing, has_box, has_distance_dielectric;
    double ion_solute, ion_ion;  /* least distances, angstrom */
    double border, spacing;      /* angstrom */
    double box_lo[3], box_hi[3]; /* of the grid, angstrom: round((hi - lo) / spacing) + 1 points from lo */
    double distance_dielectric;  /* c of eps = c r, 1/angstrom */
    char *grid_file;             /* the map to begin with; NULL: it is computed */
    int64_t grid_file_line;
    int64_t commands;
    script_command *command; /* [commands] in the order of the file */
} script;

/* Reads a script; "-" is the standard input. `out` is overwritten; free it with script_free. What is accepted but not
 * done as VMD does it goes out as a note, what looks like a mistake as a warning. Errors, each naming file and line:
 * VF_ERR_INPUT; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_script(vf_context *ctx, const char *path, script *out);

/* The same from memory; `name` stands for the path in messages. The fuzzer's entry. */
VF_MUST_CHECK vf_status parse_script(vf_context *ctx, const char *name, const char *text, size_t bytes, script *out);
void script_free(script *script);

#endif
