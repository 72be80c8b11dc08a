/* cionize: the formats of map files, and the description of a map. */
#ifndef CIONIZE_MAP_FORMAT_H
#define CIONIZE_MAP_FORMAT_H

#include "molecular_surface.h"
#include "molecule/molecule.h"
#include "potential/map_order.h"
#include "voxfield/device.h"
#include "voxfield/grid.h"

/* The error of a map by a method that is not exact, as parts of the rms potential; or, of a law with a cutoff, how much the
 * map differs from the sum over all atoms. */
typedef struct map_error {
    double asked;        /* of the rms error; the largest may be 10 times that. 0: the method is exact, or unknown */
    double cutoff;       /* > 0: it is the difference of a law with this cutoff; `asked` is 0 */
    int64_t points;      /* where it was measured; 0: nowhere, or not yet */
    double rms, largest; /* at these points */
} map_error;

/* The description of a map in its file. All strings are UTF-8 without line breaks, and not NULL. */
typedef struct map_info {
    vf_grid grid;            /* angstrom */
    vf_dtype type;           /* of the values passed in */
    const char *quantity;    /* "electrostatic potential", "electrostatic potential with 5 ions" */
    const char *unit;        /* "kT/e"; "": not a potential, without unit and constants */
    const char *values_unit; /* of the values, if they are no potential but its field; NULL: `unit` */
    const char *program;     /* "cionize (Voxfield) 0.1.0" */
    const char *command;     /* the command line */
    const char *created;     /* UTC, ISO 8601 */
    const char *method;      /* "direct sum (avx512), single precision" */
    const char *input;       /* the molecule's path */
    double unit_constant;    /* C in V = C sum q/r: unit * angstrom / e */
    double temperature;      /* K */
    double dielectric;       /* relative permittivity, or the factor c of eps(r) = c r */
    bool distance_dielectric;
    double r_min;                      /* angstrom */
    double sigma;                      /* of Gaussian charges, angstrom; 0: points */
    bool vacuum;                       /* of periodic maps: around the crystal, instead of a conductor */
    double cutoff;                     /* beyond which charges do not count, angstrom; 0: all do */
    const vf_surface_options *surface; /* between molecule and solvent; NULL: no solvent */
    bool salted;                       /* ions of the solvent neutralise a net charge */
    double range;                      /* of a picture's colours, -range to range; 0: by the values */
    const char *placed;                /* the file that has the values already (map_format.layout); NULL: none */
    map_error error;                   /* measured between the last layer and the commit, at the earliest */
    const molecule *molecule;          /* for total charge and digest; cube files list the atoms */
    const molecule *sources;           /* the selected atoms, whose potential it is; NULL: those of the molecule */
    struct vf_result *result;          /* of a call, which gets the map under the name `array`; NULL: files do */
    const char *array;
    const char *selection; /* which they are: "protein (1231 atoms, +4 e)"; NULL: all */
} map_info;

/* The total charge of the atoms whose potential the map has. */
double map_charge(const map_info *info);

/* Whether a uniform background neutralises the charge of a periodic map. */
bool map_has_background(const map_info *info);

/* One file format. Layers along the file's slowest axis (z for MAP_X_FASTEST, x for MAP_Z_FASTEST) are written in
 * order, without gaps, in any thickness: `values` has layers [first, first + count) in the file's order, in
 * info->type. `commit` gives the file its name; `discard` leaves no file. Both free `state`; discard(NULL) is
 * allowed. `begin` keeps the pointer `info`, which must outlive the state. */
typedef struct map_format {
    const char *name;       /* "OpenDX" */
    const char *extensions; /* ".dx"; several are separated by spaces */
    map_order order;
    int64_t max_points;     /* 0: no limit */
    const char *max_reason; /* the reason, and what to use instead */
    /* Estimates of the file's size, for the plan. */
    double bytes_per_value[2]; /* by vf_dtype of the map */
    double bytes_per_atom;
    double bytes_besides; /* header, footer and container */
    /* Where the file begins to have the values of a map in single precision, one after another, as they are in memory; 0: it
     * does not. Then info->placed may name a file with all of them at their places: `write` only checks the values, and
     * `commit` gives that file the final name. `discard` leaves it. */
    int64_t values_begin;
    vf_status (*begin)(vf_context *ctx, const char *path, const map_info *info, void **state);
    vf_status (*write)(void *state, int64_t first, int64_t count, const void *values);
    vf_status (*commit)(void *state, double minimum, double maximum, double mean, double rms);
    void (*discard)(void *state);
} map_format;

extern const map_format map_dx, map_dx_gz, map_mrc, map_cube, map_h5, map_memory;

/* Finds the format of a path by its extension (in any case); that of in_memory (result.h) is map_memory. Errors: VF_ERR_ARGUMENT, listing the known extensions. */
VF_MUST_CHECK vf_status map_format_for(vf_context *ctx, const char *path, const map_format **out);

#endif
