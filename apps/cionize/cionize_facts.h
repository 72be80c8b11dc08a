/* cionize: what a run tells, on the terminal and in the report. */
#ifndef CIONIZE_FACTS_H
#define CIONIZE_FACTS_H

#include "cionize_state.h"

/* The terminal's lines, in their order. */
enum {
    LINE_MOLECULE = 1,
    LINE_SELECTED,
    LINE_SOLUTE,
    LINE_GRID,
    LINE_CELL,
    LINE_BACKGROUND,
    LINE_POTENTIAL,
    LINE_SOLVENT_PLAN,
    LINE_SURFACE_PLAN,
    LINE_FRAMES,
    LINE_WATER,
    LINE_POINTS,
    LINE_FIELD_MAP,
    LINE_DEVICE,
    LINE_METHOD,
    LINE_WORK,
    LINE_JOB,
    LINE_PIECES,
    LINE_MAP = LINE_PIECES + 3,
    LINE_MAP_AFTER,
    LINE_DEVIATION,
    LINE_FORECAST,
    LINE_IONS,
    LINE_IONS_DISTANCE,
    LINE_IONS_SOLVENT,
    LINE_SOLVENT,
    LINE_ION_FILES_PLANNED,
    LINE_DONE,
    LINE_ERROR,
    LINE_DEVIATION_DONE,
    LINE_PICTURE,
    LINE_COMPARED,
    LINE_PROFILE,
    LINE_SURFACE,
    LINE_RADIAL,
    LINE_VALUES,
    LINE_FIELD_FILES,
    LINE_ENERGY,
    LINE_SOLVENT_MAPS,
    LINE_PLACED,
    LINE_REPLACED,
    LINE_TOTAL,
    LINE_ION_FILES,
    LINE_MAP_WITH_IONS,
    LINE_PAGE
};

/* When the run tells something: of the molecule, the plan, the ions to place, the map that was made, values at points, the
 * field map, the energies, the ions that were placed; at the end, of all in the report. */
typedef enum cionize_moment {
    TELL_MOLECULE,
    TELL_PLAN,
    TELL_IONS,
    TELL_DONE,
    TELL_POINTS,
    TELL_FIELD_MAP,
    TELL_ENERGIES,
    TELL_SOLVENT_MAPS,
    TELL_PLACED,
    TELL_REPORT
} cionize_moment;

/* Prints the lines of a moment, unless the run is quiet, and writes the report, if it is given (NULL: none). `seconds`: that
 * the sum took, or the placement. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status cionize_tell(const cionize_state *r, cionize_moment moment, double seconds, vf_report *report);
/* Writes the report's facts to a page's object. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status cionize_facts_of_run(const cionize_state *r, double seconds, vf_report *json);
void error_facts(facts *f, const char *key, const map_error *e);

/* "cut off at 12 A (plain)" */
const char *cutoff_text(const cionize_settings *s, char *text, size_t size);
/* "+1 e", or how far it is from an integer. */
const char *charge_text(char *text, size_t size, double charge);

#endif
