/* cionize: ions, from the request to the output files.
 *
 *   ion_request (ion_kinds.c) -> count_ions -> place_ions -> write_ions
 *
 * Lengths in angstrom, charges in elementary charges, energies (charge x potential) in the potential's unit times e. */
#ifndef CIONIZE_IONS_H
#define CIONIZE_IONS_H

#include "molecule/ion_kinds.h"
#include "potential/potential_plan.h"
#include "trajectory/trajectory.h"

/* ---- count_ions.c ---- */

/* The rule for the numbers of ions: either neutralise the solute, or give the solvent a concentration of salt, which
 * also neutralises. */
typedef struct ion_demand {
    int counter_kinds;   /* 0: not requested; 1 or 2 */
    ion_kind counter[2]; /* if there are two, one of each sign */
    bool has_concentration;
    double concentration; /* of the salt's formula units in the reservoir, mol/L; in [0, ION_MOST_CONCENTRATION] */
    ion_kind salt[2];     /* cation, anion */
} ion_demand;
enum { ION_MOST_CONCENTRATION = 20 };

/* Parses "SOD" or "SOD,CLA", the ions that neutralise, into demand->counter. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_counter_ions(vf_context *ctx, const char *option, const char *text, ion_demand *demand);

/* Parses "SOD,CLA", in any order, into demand->salt. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_salt(vf_context *ctx, const char *option, const char *text, ion_demand *demand);

/* Computes the numbers of ions for a solute of this charge (e) in this volume of solvent (angstrom^3; used only for
 * a concentration). docs/conventions.md has the rule. out: [2], of which *kinds are set; kinds with 0 ions are left
 * out. Warns if the ions cannot make the sum neutral or if the charge is not an integer. Errors: VF_ERR_ARGUMENT
 * (both demands or none; no ion of the right sign; more than ION_MOST ions). */
VF_MUST_CHECK vf_status count_ions(vf_context *ctx, const ion_demand *demand, double solute_charge,
                                   double solvent_volume, ion_request *out, int *kinds);

/* The same for a solvent of this many water molecules, of which each ion replaces one: the concentration is that of the molecules
 * left, WATER_MOLARITY mol in a litre. */
VF_MUST_CHECK vf_status count_ions_in_water(vf_context *ctx, const ion_demand *demand, double solute_charge,
                                            int64_t waters, ion_request *out, int *kinds);

/* Water at 298.15 K and 0.1 MPa: 997.047 g/L (IAPWS-95; Wagner and Pruss, J. Phys. Chem. Ref. Data 31 (2002) 387) and 18.01528
 * g/mol. */
#define WATER_MOLARITY (997.047 / 18.01528)

/* Frames of a trajectory, which replace the positions in the molecule's file. */
typedef struct solute_frames {
    const trajectory *trajectory;
    const frame_selection *selection;
    bool follows_cells; /* frames have cells of their own (potential/periodic_frames.h) */
} solute_frames;

/* ---- solvent_volume.c ---- */

/* The volume of the grid (angstrom^3; solvent_volume.c has the part of each point) outside the solute's
 * solvent-excluded surface: the points that a probe of radius 1.4 angstrom covers without touching an atom, including
 * cavities that it fits into. In a periodic cell, which the grid covers once, atoms have images. With frames
 * (NULL: none), the mean over them, or over SOLVENT_MOST_FRAMES evenly spaced ones. A radius of 0 counts as 1.5
 * angstrom, with a note. The result has the same bits with any number of threads. Errors: VF_ERR_MEMORY,
 * VF_ERR_CANCELLED, VF_ERR_INPUT (a frame cannot be read). */
VF_MUST_CHECK vf_status solvent_volume(vf_context *ctx, const molecule *mol, const solute_frames *frames,
                                       const vf_grid *grid, double *volume);
enum { SOLVENT_MOST_FRAMES = 16 };

/* ---- place_ions.c ---- */

/* The order in which ions of several requests are placed. */
typedef enum ion_order {
    ION_ORDER_GIVEN,     /* one kind after another, in the order of the requests */
    ION_ORDER_ALTERNATE, /* one ion of each kind in turn, while any are left */
    ION_ORDER_LARGEST    /* the largest charges first; equal charges in the order of the requests */
} ion_order;

/* What water in the molecule's file is. */
typedef enum ion_water {
    ION_WATER_AUTO,    /* solvent, if there is any */
    ION_WATER_SOLVENT, /* ions take the place of water molecules */
    ION_WATER_SOLUTE   /* like other atoms */
} ion_water;

typedef enum ion_measure {
    ION_BY_AUTO,  /* water, if it is solvent */
    ION_BY_WATER, /* the number of water molecules that are left */
    ION_BY_VOLUME /* the volume of solvent */
} ion_measure;

/* What the user asked for. */
typedef struct ion_settings { /* cionize_settings.ions */
    int requests;
    ion_request *request; /* [requests] from --place, in their order */
    ion_demand demand;    /* placed after the requests */
    double ion_solute;    /* minimum distance from the centres of atoms */
    double ion_ion;       /* minimum distance between ions */
    bool has_ion_solute, has_ion_ion;
    bool from_surface; /* ion_solute is measured from the atoms' surfaces: radii are added */
    bool refine;       /* move ions off the grid */
    ion_order order;
    ion_names names; /* in files and messages */
    /* Files; NULL: none. */
    const char *ionized; /* the solute and the ions */
    const char *ions;    /* the ions alone */
    const char *mask;    /* map of what excludes each point: VF_ION_FREE, ... */
    bool map_with_ions;  /* the map includes the potential of the ions */
    bool renumber;       /* residues of `ionized` are numbered anew */
    /* Water in the molecule's file. */
    ion_water water;
    const char *keep_water;       /* water that stays with the solute: a selection, or within:R; NULL: none */
    ion_measure concentration_by; /* what the number of ions for a concentration follows from */
    const char *script;           /* commands that replace the settings above */
} ion_settings;

/* Whether ions are asked for. */
bool wants_ions(const ion_settings *settings);

/* An ion that was placed. */
typedef struct ion_site {
    int kind;           /* index into ion_list.kinds */
    double position[3]; /* angstrom */
    double energy;      /* charge x potential of the solute and the ions placed before */
} ion_site;

/* Ions in the order of placement. */
typedef struct ion_list {
    int kind_count;
    ion_kind *kinds; /* [kind_count] */
    int64_t count;
    ion_site *sites; /* [count] */
} ion_list;
void ion_list_free(ion_list *list);

/* Places ions on a map of the solute's potential. ion_search.h has the rules. */
typedef struct placement placement;

/* Water molecules whose place ions may take. */
typedef struct water_solvent {
    int64_t count;
    const double (*oxygen)[3]; /* [count] angstrom */
    vf_pair_potential pair; /* of the solute's atoms and the ions: Coulomb's law or a distance-dependent dielectric */
    vf_cell cell;           /* kind none: free space */
} water_solvent;

/* Of ions on the map of a molecule in a solvent: how they act on each other, and how far they keep from atoms of a radius, beside the
 * settings' distance: at least the radius and `gap`. */
typedef struct ion_solvent {
    vf_pair_potential pair;
    double gap;
} ion_solvent;

/* Places ions at the oxygens of water molecules instead of a grid's points (water_sites.h has the rules), on the CPU. The arguments
 * must outlive the placement; solute->atoms may be 0. placement_mask must not be called. Errors: VF_ERR_MEMORY,
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status placement_create_in_water(vf_context *ctx, const water_solvent *water, const ion_settings *ions,
                                                  const molecule *solute, placement **out);

/* Starts on the context's first working device. If a device fails, now or later, the next takes over, and finally
 * the CPU; the ions are the same. `plan` has the grid and the method, which defines the potential that an ion adds.
 * With a solvent (NULL: none), its pair potential is that of ions instead. The molecule, the `map` ([z][y][x] of that grid, in the precision of plan->problem), `ions` and the contents of
 * `frames` must outlive the placement. Atoms keep ions away from their positions in all frames (NULL: from the
 * molecule's positions). map_is_exact: atoms only exclude points, as for a map from a file or an average; must be
 * true with frames. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY, VF_ERR_INPUT (a frame cannot be
 * read). */
VF_MUST_CHECK vf_status placement_create(vf_context *ctx, const potential_plan *plan, const ion_settings *ions,
                                         const molecule *mol, const solute_frames *frames, const ion_solvent *solvent,
                                         const void *map, bool map_is_exact, placement **out);
void placement_destroy(placement *p); /* NULL is allowed */

/* Places the requested ions in the settings' order and appends them to the list. The list starts zero-initialised;
 * its kinds are the requests'. If no point is free any more, it stops and returns VF_OK with the ions placed so far:
 * compare counts. `progress` counts ions. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status placement_place(placement *p, const ion_request *request, int requests, vf_progress *progress,
                                        ion_list *list);

/* Of a placement in water: the index into water->oxygen that each placed ion replaced, in the order of placement. */
const int64_t *placement_replaced(const placement *p);

/* Counts grid points (of a placement in water, molecules): free, excluded by the solute, excluded by ions. */
void placement_points(const placement *p, int64_t points[3]);
/* The potential with the ions placed so far, [z][y][x]: for a placement with a solvent; NULL otherwise. */
const double *placement_potential(const placement *p);
const uint8_t *placement_mask(const placement *p); /* [z][y][x]: VF_ION_FREE, ... */

/* ---- write_ions.c ---- */

/* Writes the ions, after the solute (with its labels) unless it is NULL; then `cell` (NULL: none) takes the place of its cell. The extension of `path` selects the format:
 * .pdb, .pqr, .gro, .xyz. With the solute go its cell, records, bonds and model number, where the format has a place for them; a
 * note names what it has none for. A TER ends each chain that ends in the solute's file, and each segment that no letter
 * tells from the next. The file appears complete or not at all. In PDB files, atom numbers above 99,999 and residue
 * numbers above 9,999 are hybrid-36; PQR files have plain integers. Warns if the format cannot hold something.
 * Coordinates that do not fit a PDB file (-999.999 to 9999.999) are VF_ERR_UNSUPPORTED, and the message suggests
 * .pqr and .xyz. `comment`: one ASCII line for the head of the file, or NULL. Errors: VF_ERR_OUTPUT,
 * VF_ERR_UNSUPPORTED, VF_ERR_ARGUMENT (unknown extension: lists the known ones), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status write_ions(vf_context *ctx, const char *path, const ion_list *ions, const molecule *solute,
                                   const unit_cell *cell, const char *comment);

/* Checks that write_ions knows the extension. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status check_ions_path(vf_context *ctx, const char *path);

/* Checks, before the work, that the solute's coordinates and, unless residues are `renumbered`, their numbers fit the format's
 * columns. Errors: VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status check_ions_room(vf_context *ctx, const char *path, const molecule *solute, bool renumbered);

#endif
