/* cionize: what its stages hand to one another.
 *
 *   read_molecule -> plan_grid -> potential -> map_output -> write_map, draw_slices
 *                                           -> stored_map -> place_ions -> write_ions      (ions.h)
 *
 * Lengths in angstrom, charges in elementary charges, potentials in the unit the user chose.
 */
#ifndef CIONIZE_H
#define CIONIZE_H

#include "voxfield/context.h"
#include "voxfield/device.h"
#include "voxfield/digest.h"
#include "voxfield/grid.h"
#include "voxfield/report.h"
#include "voxfield/timer.h"

/* ---- cionize_main.c ---- */

/* What the user asked for. Numbers are checked where they are read: finite, and in range one by one. */
typedef struct cionize_settings {
    const char *input;
    const char *charges; /* of a molecule whose file has none; NULL: the input is a PQR */
    const char *map;     /* NULL: the input's name with .dx, beside it, unless there are ions */
    const char *picture, *report;
    const char *read_map;            /* a map to begin with; NULL: it is computed */
    const char *trajectory, *frames; /* average over these; NULL: none, all */
    const char *deviation;           /* the map of the standard deviation over frames */
    const struct ion_settings *ions; /* ions.h */
    double spacing[3];
    double border;
    bool has_spacing, has_border, has_origin, has_size, has_counts;
    double origin[3], size[3];
    int64_t counts[3];
    const char *unit; /* one of the names potential_constant knows */
    double temperature;
    double dielectric; /* relative permittivity; with distance_dielectric the factor c of eps(r) = c r */
    bool has_dielectric, distance_dielectric;
    double r_min;
    bool has_precision;
    vf_dtype precision;  /* of a map that is read: the file's */
    const char *variant; /* of the direct sum; NULL: the device's default */
    const char *device;  /* "auto" or as vf_context_set_devices */
    bool dry_run, quiet;
    vf_progress_mode progress;
    int argc;
    char *const *argv;
} cionize_settings;

/* ---- cionize_pipeline.c ---- */

/* All stages, in the order data flows. Everything it has to say besides errors goes to stdout, progress to stderr. */
VF_MUST_CHECK vf_status cionize_run(vf_context *ctx, const cionize_settings *settings);

/* ---- read_molecule.c ---- */

/* What a file calls an atom, for files that name it again; texts are empty where it does not say. */
typedef struct atom_label {
    char name[9], residue[9]; /* "CA", "ALA" */
    char chain[9];            /* chain or segment: "A", "PROT" */
    char element[3];          /* "Na" */
    char insertion;           /* code after the residue's number; 0: none */
    bool hetero;              /* a HETATM record */
    int32_t residue_number;
} atom_label;

/* The atoms of a molecule, in the order of the file. */
typedef struct molecule {
    int64_t atoms;               /* >= 1 */
    double *x, *y, *z;           /* [atoms] angstrom */
    double *charge;              /* [atoms] e */
    double *radius;              /* [atoms] angstrom */
    atom_label *labels;          /* [atoms] */
    double total_charge;         /* e */
    double lo[3], hi[3];         /* bounds of the atoms' centres: x, y, z */
    int64_t missing_atoms;       /* atoms the file itself says were left out (REMARK 5 of pdb2pqr) */
    int64_t missing_residues;    /* residues those atoms belong to, or residues named as missing */
    char dialect[96];            /* how the records were read, for the summary */
    char digest[VF_DIGEST_TEXT]; /* SHA-256 of the file's text */
} molecule;

/* Reads a PQR file (docs/formats.md). `out` is overwritten; free it with molecule_free. What deserves attention but is
 * no error goes out as vf_warn. Errors, each naming file, line and field: VF_ERR_INPUT; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_molecule(vf_context *ctx, const char *path, molecule *out);

/* The same from memory; `name` stands for the path in messages. The fuzzer's entry. */
VF_MUST_CHECK vf_status parse_pqr(vf_context *ctx, const char *name, const char *text, size_t bytes, molecule *out);
void molecule_free(molecule *molecule);

/* ---- molecule_with_charges.c ---- */

/* The same out of two files: coordinates (PDB, or AMBER's inpcrd and rst7 as text) and charges (PSF, or AMBER's
 * prmtop), told apart by what they hold. Both must have the same atoms in the same order; names are compared, as far as
 * both files have them. Radii are 0 where the charges' file has none, and a note says so. The digest is that of the
 * coordinates' text followed by the charges' text. */
VF_MUST_CHECK vf_status read_molecule_with_charges(vf_context *ctx, const char *coordinates, const char *charges,
                                                   molecule *out);

/* The same from memory. The fuzzer's entry. */
typedef struct named_text {
    const char *name; /* stands for the path in messages */
    const char *text;
    size_t bytes;
} named_text;
VF_MUST_CHECK vf_status parse_molecule_with_charges(vf_context *ctx, const named_text *coordinates,
                                                    const named_text *charges, molecule *out);

/* ---- plan_grid.c ---- */

/* The grid the settings ask for, around the molecule. Without --origin, the origin is a whole multiple of the spacing,
 * so that formats which keep it as whole grid steps keep it exactly. Errors: VF_ERR_ARGUMENT (absurd: says how large it
 * would be). */
VF_MUST_CHECK vf_status plan_grid(vf_context *ctx, const cionize_settings *settings, const molecule *mol, vf_grid *out);

/* About how many evaluations the map of a molecule takes whose file has so many bytes: atoms x points, before the file
 * is read. */
double expected_evaluations(const cionize_settings *settings, double file_bytes);

/* C in V = C sum q/r for a unit, in that unit times angstrom / e, from CODATA 2022; without the dielectric. 0: no such
 * unit. */
double potential_constant(const char *unit, double temperature);
extern const char *const potential_units; /* "kT/e, V, kcal/mol/e, e/A" */

/* ---- write_map.c and map_*.c ---- */

/* What a map file says about itself. All strings UTF-8 without line breaks, and not NULL. */
typedef struct map_info {
    vf_grid grid;         /* angstrom */
    vf_dtype type;        /* of the values handed over */
    const char *quantity; /* "electrostatic potential", "electrostatic potential with 5 ions" */
    const char *unit;     /* "kT/e"; "": it is no potential, and has neither unit nor constants */
    const char *program;  /* "cionize (Voxfield) 0.1.0" */
    const char *command;  /* the command line */
    const char *created;  /* UTC, ISO 8601 */
    const char *method;   /* "direct:cpu-avx512, single precision" */
    const char *input;    /* the molecule's path */
    double unit_constant; /* C in V = C sum q/r: unit * angstrom / e */
    double temperature;   /* K */
    double dielectric;    /* relative permittivity, or the factor c of eps(r) = c r */
    bool distance_dielectric;
    double r_min;             /* angstrom */
    const molecule *molecule; /* total charge, digest; cube files list the atoms */
} map_info;

/* The order of values in a file: [z][y][x] (x fastest) or [x][y][z] (z fastest). */
typedef enum map_order { MAP_X_FASTEST, MAP_Z_FASTEST } map_order;

/* One file format. A map is handed over in layers along the file's slowest axis (z for MAP_X_FASTEST, x for
 * MAP_Z_FASTEST), in order, without gaps, in any thickness: `values` holds layers [first, first + count) in the file's
 * order, in info->type. After `commit` the file stands under its name; `discard` leaves none. Both free `state`;
 * discard(NULL) is allowed. `begin` keeps a copy of the pointer `info`, which must outlive it. */
typedef struct map_format {
    const char *name;       /* "OpenDX" */
    const char *extensions; /* ".dx" ; several separated by a space */
    map_order order;
    int64_t max_points;     /* 0: no limit */
    const char *max_reason; /* why, and what to use instead */
    /* Of the finished file, about; for the plan. */
    double bytes_per_value[2]; /* by vf_dtype of the map */
    double bytes_per_atom;
    double bytes_besides; /* header, footer, and what a container needs for itself */
    vf_status (*begin)(vf_context *ctx, const char *path, const map_info *info, void **state);
    vf_status (*write)(void *state, int64_t first, int64_t count, const void *values);
    vf_status (*commit)(void *state, double minimum, double maximum, double mean, double rms);
    void (*discard)(void *state);
} map_format;

extern const map_format map_dx, map_dx_gz, map_mrc, map_cube, map_h5;

/* The format for a path by its extension (case-insensitive). Errors: VF_ERR_ARGUMENT, listing the known ones. */
VF_MUST_CHECK vf_status map_format_for(vf_context *ctx, const char *path, const map_format **out);

/* ---- cut_slabs.c ---- */

/* Layers [0, layers) cut into slabs for `queues` queues of devices: as thick as `most`, and thinner towards the end,
 * but `least` at least, unless the last has less. Cuts are at multiples of `unit`. */
typedef struct slab_cut {
    int64_t layers; /* >= 1 */
    int64_t unit;   /* >= 1; most and least are multiples of it, 1 <= unit <= least <= most */
    int64_t most, least;
    int queues; /* >= 1 */
} slab_cut;
int64_t slab_count(const slab_cut *cut);
int64_t slab_first(const slab_cut *cut, int64_t n); /* its first layer; of slab_count(cut): all layers */

/* ---- plan_potential.c ---- */

/* How a map is computed: in slabs along the file's slowest axis. */
typedef struct potential_plan {
    double scale;                      /* C / dielectric */
    map_order order;                   /* of the layers handed on */
    slab_cut cut;                      /* of the layers */
    int64_t slabs;                     /* slab_count(&cut) */
    bool spare;                        /* devices were chosen here: any that fail to start are left out */
    int workers, slots;                /* queues over all devices; slabs in memory at a time */
    uint64_t host_bytes, device_bytes; /* memory for slabs: in all, and on each GPU */
    double evaluations;                /* atoms x points */
    double launch_pairs;               /* evaluations of one GPU kernel at most */
    double seconds;                    /* estimated, from a sample run on the device */
    char variant[32];                  /* what runs */
    char device[640];                  /* on what, and why if that was chosen here */
} potential_plan;

/* Begins to start the GPUs that are asked for, or that "auto" might choose for a molecule whose file has so many bytes
 * (vf_device_warm_up): to be called before the molecule is read. */
void potential_warm_up(vf_context *ctx, const cionize_settings *settings, double file_bytes);

/* Chooses the device (settings->device; "auto" weighs the work of so many maps, >= 1), measures how fast a small sample
 * of the work runs on it, and plans slabs of one map that fit the memory. Errors: VF_ERR_DEVICE, VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_ARGUMENT.
 */
VF_MUST_CHECK vf_status potential_prepare(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                          const vf_grid *grid, map_order order, int64_t maps, potential_plan *plan);

/* ---- potential.c ---- */

/* Computes the map and hands its layers on, in order, from the calling thread (see map_format.write). Devices that
 * fail are given up (vf_device_give_up) while others are left. slabs_done: [the context's devices] how many each has
 * computed. */
typedef vf_status (*potential_sink)(void *user, int64_t first, int64_t count, const void *values);
VF_MUST_CHECK vf_status potential_compute(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                          const vf_grid *grid, const potential_plan *plan, potential_sink sink,
                                          void *user, int64_t *slabs_done);

/* ---- draw_slices.c ---- */

/* The three planes through the middle of the map, gathered while its layers go by. */
typedef struct slices slices;
VF_MUST_CHECK vf_status slices_create(vf_context *ctx, const vf_grid *grid, slices **out);
/* Takes what it needs from layers [first, first + count) in `order` (see map_format.write). */
void slices_take(slices *planes, map_order order, vf_dtype type, int64_t first, int64_t count, const void *values);
/* Writes the picture (PNG), atomically. */
VF_MUST_CHECK vf_status slices_draw(const slices *planes, const map_info *info, const char *path);
void slices_destroy(slices *planes);

#endif
