/* cionize: parses scripts in the language of VMD's cionize (docs/formats.md). It does not run them. */
#ifndef CIONIZE_SCRIPT_H
#define CIONIZE_SCRIPT_H

#include "ions.h"

typedef enum script_verb {
    SCRIPT_SAVEGRID, /* writes the current map, including the ions */
    SCRIPT_PLACEION,
    SCRIPT_SAVEION /* the ions of the last PLACEION */
} script_verb;

typedef struct script_command {
    script_verb verb;
    int64_t line;        /* in the file, from 1; for messages */
    char *path;          /* of SAVEGRID and SAVEION, else NULL */
    ion_request request; /* of PLACEION */
} script_command;

/* The contents of a script. Settings that it does not give are 0. */
typedef struct script {
    bool has_ion_solute, has_ion_ion, has_border, has_spacing, has_box, has_distance_dielectric;
    double ion_solute, ion_ion;  /* minimum distances, angstrom */
    double border, spacing;      /* angstrom */
    double box_lo[3], box_hi[3]; /* of the grid, angstrom: round((hi - lo) / spacing) + 1 points from lo */
    double distance_dielectric;  /* c of eps = c r, 1/angstrom */
    char *grid_file;             /* existing map; NULL: compute the map */
    int64_t grid_file_line;
    int64_t commands;
    script_command *command; /* [commands] in file order */
} script;

/* Reads a script; "-" is standard input. `out` is overwritten; free it with script_free. Notes tell what works
 * differently than in VMD; warnings tell of likely mistakes. Errors (each names file and line): VF_ERR_INPUT,
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_script(vf_context *ctx, const char *path, script *out);

/* The same from memory; `name` replaces the path in messages. The fuzzer calls this. */
VF_MUST_CHECK vf_status parse_script(vf_context *ctx, const char *name, const char *text, size_t bytes, script *out);
void script_free(script *script);

#endif
