/* cionize: the user's settings, and the run. */
#ifndef CIONIZE_SETTINGS_H
#define CIONIZE_SETTINGS_H

#include "kept_pieces.h"
#include "molecule/molecule.h"
#include "point_settings.h"
#include "potential.h"
#include "solvent_settings.h"
#include "surface_settings.h"
#include "voxfield/timer.h"

/* What to do with the space group of a crystal's file. */
typedef enum symmetry_choice {
    SYMMETRY_ASK,    /* refuse a group other than P 1 */
    SYMMETRY_EXPAND, /* the file is the asymmetric unit: make the other copies */
    SYMMETRY_NONE    /* the file is the whole cell */
} symmetry_choice;

/* What the user asked for. The parsers of options check each number: finite and in range. */
typedef struct cionize_settings {
    const char *input;
    const char *charges; /* file of charges, if the molecule's file has none; NULL: the input is a PQR file */
    conformer_choice altloc;
    const char *map; /* NULL: the input's path with .dx, unless ions are placed */
    const char *picture, *report;
    const char *read_map;            /* existing map to place ions on; NULL: compute the map */
    const char *trajectory, *frames; /* average over these frames; NULL: no trajectory, all frames */
    const char *deviation;           /* map of the standard deviation over frames */
    const char *compare;             /* map to compare with */
    const char *profile;             /* file of the profile; NULL: by the input's name */
    const char *radial;              /* file of the distribution by distance */
    const struct ion_settings *ions; /* ions.h */
    /* Selections of atoms (molecule/select_atoms.h), which the parsers of options have checked. */
    const char **select;  /* [selects] --select, one map each */
    const char *selected; /* of this map: one of them; NULL: all atoms act */
    const char *minus;    /* atoms whose potential is subtracted; NULL: none */
    const char *solute;   /* atoms that count for the grid, for ions and in output files; NULL: all */
    point_settings points;
    solvent_settings solvent;
    const char *page; /* for a browser; NULL: none */
    surface_settings surface;
    double spacing[3];
    double border, radial_width;
    int selects;
    int select_number; /* of this map, from 1, for the names of outputs; 0: there is only one */
    int profile_axis;  /* 0 to 2 */
    bool has_profile;
    bool has_spacing, has_border, has_origin, has_size, has_counts;
    double origin[3], size[3];
    int64_t counts[3];
    vf_cell cell;          /* of a periodic system; none: in free space, or the input's */
    const char *cell_file; /* with the cell; NULL: none */
    bool cell_from_input;
    symmetry_choice symmetry; /* of a crystal whose file names a space group */
    bool vacuum;              /* around the crystal */
    double sigma;             /* of Gaussian charges; 0: points */
    const char *unit;         /* one of the names that potential_constant knows */
    double temperature;
    double dielectric; /* relative permittivity; with distance_dielectric, the factor c of eps(r) = c r */
    bool has_temperature, has_dielectric, distance_dielectric;
    double r_min;
    bool has_r_min;
    bool has_precision;
    vf_dtype precision;                /* with read_map, the file's */
    const vf_potential_method *method; /* NULL: auto */
    const char *variant;               /* NULL: the device's default */
    double cutoff;                     /* of the method cutoff; 0: another method */
    vf_cutoff_law cutoff_law;
    double switch_from;     /* of the switched law */
    double accuracy;        /* of methods that are not exact: rms error / rms potential */
    const char *device;     /* "auto", or a list for vf_context_set_devices */
    pieces_settings pieces; /* --part, --join, --resume */
    bool apbs;              /* the input is an input file of APBS */
    bool bondi;             /* atoms without a radius get that of their element */
    bool dry_run, quiet;
    vf_progress_mode progress;
    const struct program *program; /* its options and command line */
    /* Of a call (cionize.h): */
    struct vf_result *result;         /* gets the outputs; NULL: files do */
    const struct vf_molecule *arrays; /* the molecule; NULL: the file */
} cionize_settings;

/* ---- name_files.c ---- */

extern const char *const cionize_endings[]; /* of molecules, which the names of outputs replace; up to NULL */

/* ---- cionize_pipeline.c ---- */

/* Runs all stages in the order data flows. Errors are in the context, other messages go to stdout, progress to
 * stderr. */
VF_MUST_CHECK vf_status cionize_run(vf_context *ctx, const cionize_settings *settings);

/* ---- selection_runs.c ---- */

/* The same, once for each of settings->select, or once for all atoms. Of several, the names of outputs have the number: "map_2.dx".
 * Errors: those of cionize_run; VF_ERR_ARGUMENT (several, with what allows only one). */
VF_MUST_CHECK vf_status cionize_run_selections(vf_context *ctx, const cionize_settings *settings);

#endif
