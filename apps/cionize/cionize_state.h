/* What the parts of a run of cionize share: the state of the run. */
#ifndef CIONIZE_STATE_H
#define CIONIZE_STATE_H

#include "ions/ions.h"
#include "ions/script.h"
#include "maps/map_output.h"
#include "maps/read_map.h"
#include "program.h"
#include "trajectory/trajectory.h"

typedef struct cionize_state {
    vf_context *ctx;
    cionize_settings settings; /* with what a script says, and a map that is read */
    ion_settings ions;
    script script;
    vf_stages stages;
    vf_progress progress;
    molecule molecule;
    vf_grid grid;
    potential_plan plan;
    double evaluations;  /* of all maps of the plan */
    int64_t *slabs_done; /* [the context's devices]; NULL: none were computed */

    /* The map: what it says of itself (ions_info: with the ions placed so far), where it goes, and itself if ions are
     * placed on it. */
    map_info info, ions_info, mask_info, deviation_info;
    char quantity[MAP_QUANTITY_SIZE], ions_quantity[MAP_QUANTITY_SIZE]; /* of info, ions_info */
    char created[PROGRAM_TIME_TEXT], method[160];
    char *command;
    char *default_name;   /* of the one output that there always is */
    map_output map;       /* of the solute; without a file where none is asked for */
    map_output after;     /* with the ions */
    map_output deviation; /* over the frames */
    loaded_map read;      /* --read-map: its values are `stored` then */
    void *stored;         /* [z][y][x], settings.precision */
    double memory;        /* bytes that placing ions takes, the map included; 0: there are none to place */

    trajectory *trajectory;
    frame_selection frames;

    /* Ions. */
    int requests;
    ion_request *request; /* all that are asked for, by number or by rule */
    int64_t wanted;
    double solvent; /* angstrom^3, if a concentration was asked for */
    placement *placement;
    ion_list placed;
    int64_t points[3]; /* of the grid at first: free, excluded by the solute; then by ions */
    int64_t missing;   /* ions for which there was no room */
} cionize_state;

/* ---- name_files.c ---- */

/* Settles which files are written, with the names that nobody gave. Errors: VF_ERR_ARGUMENT: options that exclude each
 * other or do nothing, endings that say no format, one name for two files; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status prepare_output(cionize_state *r);

/* ---- ion_stage.c ---- */

/* What there is to place and where it goes: settings and script, once the molecule and the grid are known. */
VF_MUST_CHECK vf_status ions_prepare(cionize_state *r);

/* Places all requests on r->stored, and writes files: those of the options, or those of the script. */
VF_MUST_CHECK vf_status ions_place(cionize_state *r);

/* Whether the run places ions, by options or by a script; whether the map has to stay in memory. */
bool ions_asked(const cionize_state *r);

/* ---- say_run.c ---- */

void say_molecule(const cionize_state *r);
void say_plan(const cionize_state *r);
void say_ions(const cionize_state *r); /* before they are placed */
void say_placed(const cionize_state *r, double seconds);
void say_done(const cionize_state *r, double seconds);
void report_run(vf_report *report, const cionize_state *r, double seconds);

#endif
