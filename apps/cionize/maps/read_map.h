/* cionize: reads a map from a file, to place ions on it. docs/formats.md says what is supported. */
#ifndef CIONIZE_READ_MAP_H
#define CIONIZE_READ_MAP_H

#include "voxfield/context.h"
#include "voxfield/device.h"
#include "voxfield/digest.h"
#include "voxfield/grid.h"

enum { MAP_UNIT_SIZE = 32, MAP_QUANTITY_SIZE = 128 };

typedef struct loaded_map {
    char *path; /* a copy for messages */
    vf_grid grid;
    double origin_slack[3], spacing_slack[3]; /* half a unit of the last digit in the file; 0: exact */
    vf_dtype type;                            /* VF_F32 or VF_F64 */
    void *values;                             /* [z][y][x], finite */
    char unit[MAP_UNIT_SIZE];                 /* "kT/e"; "" if neither the file nor the caller states it */
    /* Other values in files of cionize (see map_info), in DX to six digits; NAN in other files. */
    double unit_constant, temperature, dielectric, r_min;
    bool distance_dielectric;
    double sigma;                  /* of Gaussian charges; 0: points, or not stated */
    double cutoff;                 /* beyond which charges do not act; 0: none, or not stated */
    bool vacuum;                   /* of periodic maps */
    bool pmepot;                   /* of VMD's PMEPot: periodic, and of Gaussian charges of unknown width */
    bool of_selection;             /* the potential of selected atoms */
    bool in_solvent;               /* the potential in a solvent (--solvent), if the file states it */
    int64_t ions;                  /* ions whose potential the map includes, if the file states it */
    char molecule[VF_DIGEST_TEXT]; /* SHA-256 of the molecule's file; "": not stated */
} loaded_map;

/* Reads a map: .dx, .mrc, .ccp4, .map, .cube, .cub, each also with .gz, .h5, .hdf5. `out` is overwritten; free it with map_free. The file's unit must be
 * `wanted_unit` (NULL: any). If the file states no unit, wanted_unit is assumed, with a warning. Maps of cionize
 * that are not a potential (mask, deviation) are errors. Errors (each names the file, and the line or grid point):
 * VF_ERR_INPUT; VF_ERR_ARGUMENT (unknown extension: lists the known ones); VF_ERR_MEMORY; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status read_map(vf_context *ctx, const char *path, const char *wanted_unit, loaded_map *out);
void map_free(loaded_map *map);

/* The name of a map that includes the potential of so many ions. loaded_map.ions is parsed from it. */
void map_quantity(int64_t ions, bool in_solvent, char text[MAP_QUANTITY_SIZE]);

/* Checks that a map is on the wanted grid. Fails (VF_ERR_INPUT, naming both) if counts differ or points differ by more
 * than the rounding of the file's digits allows: at most a thousandth of a step, at least 1e-6 steps. */
VF_MUST_CHECK vf_status check_map_grid(vf_context *ctx, const loaded_map *map, const vf_grid *wanted);

#endif
