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

/* ---- run_forecast.c ---- */

/* Before the plan is told: sets r->forecast. */
void forecast_run(cionize_state *r);

/* Seconds of a solution on the grid, after forecast_run. */
double forecast_solution(const cionize_state *r);

void forecast_facts(facts *f, const cionize_state *r);

/* ---- read_map_stage.c ---- */

/* Reads the map of settings.read_map, and takes its constants, its cell and, if the cell is new, the crystal's symmetry. Needs the
 * molecule. Errors: those of read_map and take_symmetry; VF_ERR_ARGUMENT, VF_ERR_INPUT (options that contradict the map). */
VF_MUST_CHECK vf_status open_read_map(cionize_state *r);

/* Plans with its grid; if options ask for a grid, it must be the same. Errors: as above. */
VF_MUST_CHECK vf_status take_read_map(cionize_state *r);

/* Whether the map's file or an option states the dielectric that the potential is for. */
bool dielectric_is_known(const cionize_state *r);

/* ---- name_files.c ---- */

/* Decides which files are written, and makes default names. Errors: VF_ERR_ARGUMENT (options that exclude each other or
 * have no effect, unknown extensions, the same name for two files), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status prepare_output(cionize_state *r);

#endif
