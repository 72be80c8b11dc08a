/* cionize: ions, from what the user asks for to the files that hold them.
 *
 *   ion_request (ion_kinds.c) -> count_ions -> place_ions -> write_ions
 *
 * Lengths in angstrom, charges in elementary charges, energies (charge x potential) in the potential's unit times e.
 */
#ifndef CIONIZE_IONS_H
#define CIONIZE_IONS_H

#include "potential/potential_plan.h"
#include "trajectory/trajectory.h"

/* ---- ion_kinds.c ---- */

/* One kind of ion: how files name it, and what it is. */
typedef struct ion_kind {
    char name[5];    /* of the atom and of its residue: "SOD" */
    char element[3]; /* "Na"; "" if the name is not known */
    double charge;   /* e; not 0 */
    double radius;   /* angstrom, for PQR files; 0 if not known */
} ion_kind;

/* So many ions of a kind. */
typedef struct ion_request {
    ion_kind kind;
    int64_t count; /* in [0, ION_MOST] */
} ion_request;
enum { ION_MOST = 10000000 };

/* What is wrong with a name for an ion, as the end of a sentence: "is too long ..."; NULL: nothing. */
const char *ion_name_trouble(const char *name);

/* Whether force fields know an ion by this name (docs/conventions.md), in any mixture of capital and small letters;
 * kind->name is then the table's spelling. */
bool ion_is_known(const char *name, ion_kind *kind);

/* In all of these, `where` begins the messages: "--salt", "script.cfg:12". */

/* The ion of ion_is_known. Errors: VF_ERR_ARGUMENT, listing the known. */
VF_MUST_CHECK vf_status ion_kind_from_name(vf_context *ctx, const char *where, const char *name, ion_kind *kind);

/* The same with a charge (e), which makes any name of 1 to 4 printable characters without blanks an ion. One that is
 * not the table's is taken with a warning. Errors: VF_ERR_ARGUMENT: another name; a charge that is 0 or not finite. */
VF_MUST_CHECK vf_status ion_kind_with_charge(vf_context *ctx, const char *where, const char *name, double charge,
                                             ion_kind *kind);

/* "SOD:12", "XYZ:3:+2": NAME:COUNT[:CHARGE]; a charge is needed where the name is not known. `option` is the name of
 * the option: "place". Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_placement(vf_context *ctx, const char *option, const char *text, ion_request *request);

/* ---- count_ions.c ---- */

/* What the numbers of ions are to do. Either neutralise the solute with what is at hand, or give the solvent a
 * concentration of salt, which neutralises, too. */
typedef struct ion_demand {
    int counter_kinds;   /* 0: not asked for; 1 or 2 */
    ion_kind counter[2]; /* if there are two, one of each sign */
    bool has_concentration;
    double concentration; /* of the salt's formula units in the reservoir, mol/L; in [0, ION_MOST_CONCENTRATION] */
    ion_kind salt[2];     /* cation, anion */
} ion_demand;
enum { ION_MOST_CONCENTRATION = 20 };

/* "SOD" or "SOD,CLA": which ions neutralise, into counter. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_counter_ions(vf_context *ctx, const char *option, const char *text, ion_demand *demand);

/* "SOD,CLA", in any order, into salt. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_salt(vf_context *ctx, const char *option, const char *text, ion_demand *demand);

/* How many ions of which kinds a solute of this charge (e) needs in so much solvent (angstrom^3; looked at only for a
 * concentration): docs/conventions.md has the rule. out: [2], *kinds of which are set; kinds of which none is needed
 * are left out. What no numbers of these ions can make up is said in a warning, and so is a charge that is no integer.
 * Errors: VF_ERR_ARGUMENT: both demands or none; no ion of the right sign; more than ION_MOST ions. */
VF_MUST_CHECK vf_status count_ions(vf_context *ctx, const ion_demand *demand, double solute_charge,
                                   double solvent_volume, ion_request *out, int *kinds);

/* The frames of a trajectory, in place of the positions that the molecule's file has. */
typedef struct solute_frames {
    const trajectory *trajectory;
    const frame_selection *selection;
} solute_frames;

/* ---- solvent_volume.c ---- */

/* The volume of the grid (points x cell, angstrom^3) that is outside the solute's solvent-excluded surface: where a
 * probe of radius 1.4 angstrom reaches without touching an atom; cavities it fits into are solvent. With frames (NULL:
 * none) the mean over them, or over SOLVENT_MOST_FRAMES evenly among more. A radius of 0 counts as 1.5 angstrom, with a
 * note. The same bits whatever the number of threads. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED, VF_ERR_INPUT (a frame
 * that cannot be read). */
VF_MUST_CHECK vf_status solvent_volume(vf_context *ctx, const molecule *mol, const solute_frames *frames,
                                       const vf_grid *grid, double *volume);
enum { SOLVENT_MOST_FRAMES = 16 };

/* ---- place_ions.c ---- */

/* In which order the ions of several requests are placed. */
typedef enum ion_order {
    ION_ORDER_GIVEN,     /* as requested, one kind after another */
    ION_ORDER_ALTERNATE, /* one of each kind in turn, as long as there are any left */
    ION_ORDER_LARGEST    /* the largest charges first; of equal ones as requested */
} ion_order;

/* What the user asked for. */
typedef struct ion_settings { /* cionize_settings.ions */
    int requests;
    ion_request *request; /* [requests] of --place, in their order */
    ion_demand demand;    /* after those */
    double ion_solute;    /* least distance from the centres of atoms */
    double ion_ion;       /* least distance of ions */
    bool has_ion_solute, has_ion_ion;
    bool from_surface; /* ion_solute is from the atoms' surfaces: their radii are added */
    bool refine;       /* off the grid */
    ion_order order;
    /* Files; NULL: none. */
    const char *ionized; /* the solute and the ions */
    const char *ions;    /* the ions alone */
    const char *mask;    /* what excludes each point: a map of VF_ION_FREE, ... */
    bool map_with_ions;  /* the map is that of the solute and the ions */
    const char *script;  /* commands in place of all these */
} ion_settings;

/* Whether ions are asked for. */
bool wants_ions(const ion_settings *settings);

/* An ion that was placed. */
typedef struct ion_site {
    int kind;           /* index into ion_list.kinds */
    double position[3]; /* angstrom */
    double energy;      /* charge x potential of the solute and of the ions placed before it */
} ion_site;

/* Ions in the order they were placed. */
typedef struct ion_list {
    int kind_count;
    ion_kind *kinds; /* [kind_count] */
    int64_t count;
    ion_site *sites; /* [count] */
} ion_list;
void ion_list_free(ion_list *list);

/* Ions on a map of the solute's potential: ion_search.h has the rules. */
typedef struct placement placement;

/* Begins on the context's first device that works. If it fails, now or later, the next takes over, and at last the CPU:
 * the ions are the same. `plan` has the grid and the method, which says what potential an ion adds. The molecule, the
 * `map` ([z][y][x] of that grid, in the precision of plan->problem) and `ions` must live as long, and so must what
 * `frames` points to: atoms keep ions away from where they are in any of them (NULL: from where the molecule has them).
 * map_is_exact: atoms only exclude, as for a map from a file or an average; so it must be with frames. Errors:
 * VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY, VF_ERR_INPUT (a frame that cannot be read). */
VF_MUST_CHECK vf_status placement_create(vf_context *ctx, const potential_plan *plan, const ion_settings *ions,
                                         const molecule *mol, const solute_frames *frames, const void *map,
                                         bool map_is_exact, placement **out);
void placement_destroy(placement *p); /* NULL is allowed */

/* Places the requested ions in the settings' order and appends them to the list (zero-initialised at first; its kinds
 * are the requests'). When no point is free any more it stops: the list has those that were placed, and the result is
 * VF_OK; compare counts. `progress` counts ions. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status placement_place(placement *p, const ion_request *request, int requests, vf_progress *progress,
                                        ion_list *list);

/* Points of the grid that nothing excludes, the solute does, ions do. */
void placement_points(const placement *p, int64_t points[3]);
const uint8_t *placement_mask(const placement *p); /* [z][y][x]: VF_ION_FREE, ... */

/* ---- write_ions.c ---- */

/* Writes the ions, and before them the solute if it is not NULL (with the labels it was read with), as the path's
 * extension says: .pdb, .pqr, .xyz. The file appears whole or not at all. Atoms' numbers beyond 99,999 and residues'
 * beyond 9,999 are hybrid-36 in PDB files, whole numbers in PQR. A warning where a format cannot hold something (PDB:
 * coordinates outside -999.999 to 9999.999 are VF_ERR_UNSUPPORTED, and the message offers .pqr and .xyz). `comment`:
 * one line of ASCII for the head of the file, or NULL. Errors: VF_ERR_OUTPUT, VF_ERR_UNSUPPORTED, VF_ERR_ARGUMENT
 * (unknown extension: lists the known), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status write_ions(vf_context *ctx, const char *path, const ion_list *ions, const molecule *solute,
                                   const char *comment);

/* Whether write_ions knows the path's extension. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status check_ions_path(vf_context *ctx, const char *path);

/* Whether the solute's coordinates fit the format's columns: to be asked before the work. Errors: VF_ERR_UNSUPPORTED.
 */
VF_MUST_CHECK vf_status check_ions_room(vf_context *ctx, const char *path, const molecule *solute);

#endif
