/* cionize: the state of a run, which its parts share. */
#ifndef CIONIZE_STATE_H
#define CIONIZE_STATE_H

#include "analysis/compare_maps.h"
#include "analysis/map_profile.h"
#include "analysis/radial.h"
#include "ions/ions.h"
#include "ions/script.h"
#include "maps/map_output.h"
#include "maps/measure_error.h"
#include "maps/read_map.h"
#include "molecule/water.h"
#include "points/points.h"
#include "program.h"
#include "result.h"
#include "screened_images.h"
#include "solvent/solvent_energies.h"
#include "surface/surface_mesh.h"
#include "surface/write_scene.h"
#include "trajectory/trajectory.h"
#include "voxfield/machine_speed.h"
#include "voxfield/ticks.h"

/* Layers of the map that outlive the run, and those it makes. */
typedef struct kept_layers {
    kept_pieces pieces;
    bool places;          /* they are at their places in the map's file (kept_places) */
    layer_range *missing; /* [plan.ranges] */
    layer_range *slab;    /* [plan.listed] those that ranks share */
    int64_t slabs;        /* of rank 0, and its variant of the method: what other ranks take from it */
    char variant[32];
    int64_t made;   /* layers that this run has computed */
    int64_t passed; /* layers that the map's file has */
    char *buffer;   /* of one piece: a layer and its deviation, or a block's sums for them */
    double *sums;   /* of all blocks, for one layer; made when needed, as is the layer that follows: */
    char *layer;
} kept_layers;

/* What the map is studied for; docs/formats.md has the files. */
typedef struct analyses {
    map_comparison *comparison; /* NULL: none, like the others */
    comparison_figures compared;
    map_profile profile;
    radial_distribution radial;
} analyses;
/* The map that --page shows: sums over blocks of its points, [z][y][x]. */
typedef struct page_map {
    int64_t factor[3], counts[3]; /* points of a block; blocks, those that are whole */
    double *sums;                 /* NULL: there is no page */
} page_map;

/* Water in the molecule's file (water_stage.c). */
typedef struct water_state {
    bool solvent; /* ions replace water molecules. The rest counts only if set: */
    bool no_map;  /* no map is asked for, so there is no grid and no plan */
    molecule
        whole; /* the molecule as in the file, later without the replaced molecules; cionize_state.molecule is the solute */
    int64_t atoms;        /* of the file */
    double charge;        /* of the file */
    water_list found;     /* all water molecules of the file */
    int64_t count;        /* those that are solvent */
    int64_t *place;       /* [count] index into found */
    double (*oxygen)[3];  /* [count] */
    atom_label *replaced; /* [placed.count] labels of the molecules that ions have replaced; NULL: none yet */
    water_solvent places; /* for the placement */
} water_state;

/* The molecule in a solvent (solvent_stage.c). */
typedef struct solvent_state {
    vf_solvent_options options;
    vf_solvent *plan; /* solved; NULL: not yet, not asked for, or not needed any more */
    bool solved;      /* then its outcome: */
    vf_solvent_result outcome;
    int64_t left_out, water;    /* atoms of the file, and molecules of water among them */
    vf_surface_options surface; /* for the picture */
    char *layers;               /* [bytes] of the map */
    size_t bytes;
    ion_solvent of_ions;        /* while they are placed */
    vf_screened_images *images; /* of an ion in a cell with salt */
    /* Energies (energy_stage.c). */
    bool binds;
    bound_part part[2];  /* if it binds: the partners */
    atom_energies atoms; /* of the molecule; one block of memory */
    double memory;       /* bytes of a solution */
    double rounded;      /* what the oblique vectors of a cell were changed by to end at points, angstrom */
    double trial[2];     /* energies by which the spacing was chosen, kJ/mol; 0: it was given */
    double difference;   /* of a coarser grid's energy, kJ/mol */
    bool has_difference;
    solvent_energy (*of)[OF_ALL]; /* [frames, or 1]; NULL: none yet */
} solvent_state;

/* The molecule's surface (surface_stage.c). */
typedef struct surface_state {
    vf_grid grid; /* on which it is found */
    vf_mesh mesh; /* its `value` is NULL: there is none */
    surface_values values;
    surface_figures figures;
    double memory; /* bytes, about */
    double range;  /* of colours */
    vf_ticks levels;
    char *scene[SCENE_FILES]; /* names; NULL: there is no scene */
} surface_state;

/* Parts of a run, as the stages of the report (run_forecast.c). */
typedef enum run_part {
    RUN_BEFORE, /* until the plan: reading, planning; measured */
    RUN_SOLVE,
    RUN_COMPUTE,
    RUN_WRITE,
    RUN_POINTS,
    RUN_FIELD_MAP,
    RUN_ENERGIES,
    RUN_PLACE,
    RUN_PARTS
} run_part;

typedef struct cionize_state {
    vf_context *ctx;
    double began;               /* vf_now of the run's beginning */
    double forecast[RUN_PARTS]; /* seconds */
    vf_machine_speed speed;     /* what they are for; set beside them */
    cionize_settings settings;  /* updated from the script and the map that is read */
    ion_settings ions;
    script script;
    vf_stages stages;
    vf_progress progress;
    analyses analyses;
    page_map page;
    molecule molecule;   /* without water that is solvent */
    int64_t radii_given; /* by --radii */
    water_state water;
    solvent_state dissolved;
    surface_state surface;
    unit_cell cell_of_file; /* of --cell FILE, and what that file lists of its symmetry */
    listed_symmetry cell_symmetry;
    int copies;              /* of the molecule's atoms by symmetry; 0 or 1: none but those of the file */
    molecule acting;         /* the atoms whose potential is asked for; none: those of the molecule */
    const molecule *sources; /* acting, or molecule */
    double *acting_charge;   /* the same as charges of all atoms of the file; NULL: the molecule's own */
    char *selection;         /* the selections in words, for map files; NULL: none */
    vf_grid grid;
    potential_plan plan;
    double evaluations;  /* of all maps of the plan */
    error_points *check; /* where the map's error is measured; NULL: nowhere */
    int64_t *slabs_done; /* [the context's devices]; NULL: no slabs were computed */
    kept_layers kept;

    /* What map files say about themselves. ions_info: the map with the ions placed so far. */
    map_info info, ions_info, mask_info, deviation_info;
    char quantity[MAP_QUANTITY_SIZE], ions_quantity[MAP_QUANTITY_SIZE]; /* of info, ions_info */
    char created[PROGRAM_TIME_TEXT], method[224];
    char *command;
    char *default_name;   /* of the output that no option names */
    char *profile_name;   /* of the profile, likewise */
    map_output map;       /* of the solute; no file if none is requested */
    map_output after;     /* with the ions */
    map_output deviation; /* over the frames */
    loaded_map read;      /* --read-map; `stored` points to its values */
    void *stored;         /* the map in memory, for placing ions: [z][y][x], settings.precision */
    double memory;        /* bytes that ion placement takes, including the map; 0: no ions */

    trajectory *trajectory;
    frame_selection frames;
    uint64_t frames_digest; /* of the positions in the frames */

    /* Points. */
    point_run at_points;
    char *points_name;               /* the default name */
    char field_names[3][FIELD_NAME]; /* files of the field map */
    int field_files;
    map_error field_map_error;

    /* Ions. */
    int requests;
    ion_request *request; /* all requested ions, by number and by rule */
    int64_t wanted;
    double solvent; /* angstrom^3, for a concentration */
    placement *placement;
    ion_list placed;
    int64_t points[3]; /* grid points: free, excluded by the solute, excluded by ions */
    int64_t missing;   /* ions without room */
} cionize_state;

/* ---- cionize_results.c: calls, whose outputs go to settings.result ---- */

VF_MUST_CHECK vf_status keep_ions(vf_result *result, const ion_list *list);
VF_MUST_CHECK vf_status keep_energies(vf_result *result, const energy_table *table);
/* The context of a call, whose progress function is told; NULL: this is the program. */
vf_context *call_context(const cionize_state *r);

/* ---- script_settings.c ---- */

/* Reads the script, r->ions.script, and takes its settings. Errors: those of read_script. */
VF_MUST_CHECK vf_status take_script(cionize_state *r);

/* ---- select_stage.c ---- */

/* Applies the selections: sets r->acting, r->sources and r->selection, and reduces r->molecule to the solute. Needs the molecule
 * and the cell. Errors: those of selection_apply. */
VF_MUST_CHECK vf_status take_selections(cionize_state *r);

void selection_facts(facts *f, const cionize_state *r);

/* ---- solvent_stage.c: --solvent; without it, these do nothing ---- */

/* Before the selections: reduces r->molecule to the solute, that is, to --solute or what is not water. Errors: those of
 * selection_apply; VF_ERR_INPUT (nothing is left), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status solvent_take_molecule(cionize_state *r);

/* Before any work. Errors: VF_ERR_INPUT (no radii), VF_ERR_ARGUMENT (the name of the file of energies). */
VF_MUST_CHECK vf_status solvent_prepare(cionize_state *r);

/* When the grid is planned. Warns of a coarse one. Errors: VF_ERR_MEMORY (a solution would not fit; the message has a spacing that does). */
VF_MUST_CHECK vf_status solvent_check_grid(cionize_state *r);

/* What the map's file says: sets quantity, method and the picture's range. */
void solvent_describe(cionize_state *r);

/* Whether the run solves the equation on its grid: not for frames, each of which has a grid of its own. */
bool solvent_on_grid(const cionize_state *r);

/* Before the layers: solves the equation. Errors: those of vf_solvent_create. */
VF_MUST_CHECK vf_status solvent_solve(cionize_state *r);

/* Layers of the Coulomb potential become those of the solution, in memory of the state, which *values points to. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status solvent_layers(cionize_state *r, int64_t first, int64_t count, const void **values);

/* Writes the maps of --solvent-map, and says so. Errors: those of solvent_solve, solvent_map_values and write_stored_map. */
VF_MUST_CHECK vf_status solvent_write_maps(cionize_state *r);

/* Before ions are placed: how they act through the solvent, by the solution of Debye and Hueckel for an ion whose contact distance is
 * the radius of the salt's: q exp(-kappa (r - a)) / (eps_s (1 + kappa a) r), in a cell with images. It does not know the molecule's
 * dielectric. The solution is freed: the map has it. Errors: those of vf_screened_images_create. */
VF_MUST_CHECK vf_status solvent_for_ions(cionize_state *r);

void solvent_facts(facts *f, const cionize_state *r);
void solvent_free(cionize_state *r);

/* ---- energy_stage.c ---- */

bool energies_asked(const cionize_state *r);

/* The atoms of r->molecule with the charges that act. */
vf_coulomb_atoms acting_atoms(const cionize_state *r);

/* After the selections, before the grid: the partners of --ligand or --complex. Errors: those of selection_apply and
 * read_molecule_choosing; VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status energies_prepare(cionize_state *r);

/* Sums and writes them, and says so. Errors: those of vf_solvent_create, trajectory_read, energies_write; VF_ERR_INPUT (a frame in
 * which a periodic cell cuts the molecule). */
VF_MUST_CHECK vf_status energies_run(cionize_state *r);

void energy_facts(facts *f, const cionize_state *r);

/* ---- run_forecast.c ---- */

/* Before the plan is told: sets r->forecast. */
void forecast_run(cionize_state *r);

/* Seconds of a solution on the grid, after forecast_run. */
double forecast_solution(const cionize_state *r);

void forecast_facts(facts *f, const cionize_state *r);

/* ---- spacing_stage.c ---- */

/* Before the grid: with --accuracy-energy, sets the spacing, from two coarse solutions. Errors: those of vf_solvent_create. */
VF_MUST_CHECK vf_status spacing_choose(cionize_state *r);

/* After the energies, with --energy-error: solves once more, on a coarser grid. Errors: as above. */
VF_MUST_CHECK vf_status spacing_estimate_error(cionize_state *r);

/* Of the plan, and of the energies. */
void spacing_facts(facts *f, const cionize_state *r);
void spacing_error_facts(facts *f, const cionize_state *r);

/* ---- analysis_stage.c: --compare, --profile, --radial, --page ---- */

/* Whether one of them is asked for. */
bool analyses_asked(const cionize_settings *settings);

/* After planning, before the map. Errors: those of comparison_begin, profile_begin, radial_begin. */
VF_MUST_CHECK vf_status analyses_begin(cionize_state *r);

/* Takes layers of the map. */
VF_MUST_CHECK vf_status analyses_take(cionize_state *r, const map_layers *layers);

/* After all layers: sums up. Then the files are written. Errors: those of trajectory_read; VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status analyses_end(cionize_state *r);
VF_MUST_CHECK vf_status analyses_write(cionize_state *r);
void analyses_free(cionize_state *r);
void analysis_facts(facts *f, const cionize_state *r);

/* ---- surface_stage.c: --surface-mesh, --surface-picture, --scene ---- */

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

/* ---- read_map_stage.c ---- */

/* Reads the map of settings.read_map, and takes its constants, its cell and, if the cell is new, the crystal's symmetry. Needs the
 * molecule. Errors: those of read_map and take_symmetry; VF_ERR_ARGUMENT, VF_ERR_INPUT (options that contradict the map). */
VF_MUST_CHECK vf_status open_read_map(cionize_state *r);

/* Plans with its grid; if options ask for a grid, it must be the same. Errors: as above. */
VF_MUST_CHECK vf_status take_read_map(cionize_state *r);

/* ---- symmetry_stage.c ---- */

/* After the cell of the run is known, if there is one: expands the molecule of a crystal by its space group, if the settings ask for it.
 * Errors: VF_ERR_INPUT (a space group without --symmetry, or --symmetry expand in another cell; the message says
 * what to do), VF_ERR_ARGUMENT, those of symmetry_expand. */
VF_MUST_CHECK vf_status take_symmetry(cionize_state *r);

/* From here on, the settings have the cell, and the molecule is that of the cell. *follows: as in choose_cell. Errors: those of
 * choose_cell and take_symmetry. */
VF_MUST_CHECK vf_status take_cell(cionize_state *r, bool *follows);

/* Warns where faces of the file's cell cut molecules that must be whole, and of free space in place of a box of water. Needs the atoms that act. Errors: those of trajectory_read. */
VF_MUST_CHECK vf_status warn_of_cut_molecules(cionize_state *r);

/* ---- water_stage.c ---- */

/* When the cell is known: if ions are placed in water, takes the water out of r->molecule. Errors: VF_ERR_ARGUMENT (options that
 * water excludes, or that need water), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status water_prepare(cionize_state *r);

/* After the placement: takes the replaced water out of water.whole. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status water_replace(cionize_state *r);

/* All atoms for the files: the solute, and the water that is left. */
const molecule *whole_molecule(const cionize_state *r);
void water_free(water_state *water);

/* The water that is solvent, and what became of it. */
void water_facts(facts *f, const cionize_state *r);

/* ---- name_files.c ---- */

/* Decides which files are written, and makes default names. Errors: VF_ERR_ARGUMENT (options that exclude each other or
 * have no effect, unknown extensions, the same name for two files), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status prepare_output(cionize_state *r);

/* ---- kept_layers_stage.c: layers of the map that are kept for --resume and --join ---- */

/* After planning: finds the layers that are there and restricts the plan to those that are not. Errors: those of
 * kept_begin; VF_ERR_ARGUMENT (a method that only computes whole maps). */
VF_MUST_CHECK vf_status kept_layers_begin(cionize_state *r);

/* As a rank other than 0, after planning, so that all ranks measure their speed at the same time: takes the method and the
 * slabs from rank 0. *differs: the plan has another method. Errors: those of vf_ranks_share; VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status take_job_plan(cionize_state *r, bool *differs);

/* --dry-run --ranks. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status plan_job(cionize_state *r);

/* Takes layers that were computed, in order; `deviation` may be NULL. Keeps them, and passes them to the outputs after the
 * kept ones before them, unless the run makes only a part. The sums of blocks of frames are only kept. */
typedef vf_status (*layers_sink)(cionize_state *r, int64_t first, int64_t count, const void *mean,
                                 const void *deviation);
VF_MUST_CHECK vf_status kept_layers_take(cionize_state *r, int64_t first, int64_t count, const void *mean,
                                         const void *deviation, layers_sink pass);

/* Passes the kept layers that come after the last passed one. */
VF_MUST_CHECK vf_status kept_layers_rest(cionize_state *r, layers_sink pass);

void kept_layers_free(cionize_state *r);

/* ---- ion_stage.c ---- */

/* After planning: allocates the map that ions are placed on, if they need one. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ions_make_store(cionize_state *r);

/* Lists the ions to place and their settings, from options or the script. Needs the molecule and the grid. */
VF_MUST_CHECK vf_status ions_prepare(cionize_state *r);

/* Places all requested ions on r->stored and writes the files that options or the script name. */
VF_MUST_CHECK vf_status ions_place(cionize_state *r);

/* Whether options or a script place ions. If so, the map stays in memory. */
bool ions_asked(const cionize_state *r);

/* ---- point_stage.c ---- */

/* Whether options ask for values at points, or a field map; and for nothing else: then there is no map. */
bool points_asked(const cionize_state *r);
bool only_points(const cionize_state *r);

/* Reads the points, after the molecule and the cell. */
VF_MUST_CHECK vf_status points_prepare(cionize_state *r);

/* Computes and writes what is asked, and says it. */
VF_MUST_CHECK vf_status points_run(cionize_state *r);

void point_facts(facts *f, const cionize_state *r);

/* ---- cionize_facts.c ---- */

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
    LINE_BEHIND
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

/* ---- ion_facts.c ---- */

/* Ions that are placed, in `seconds`, or still to place. */
void ion_facts(facts *f, const cionize_state *r, double seconds);

#endif
