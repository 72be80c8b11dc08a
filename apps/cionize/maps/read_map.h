/* cionize: a map read back from a file, to place ions by. What is read and what is refused: docs/formats.md. */
#ifndef CIONIZE_READ_MAP_H
#define CIONIZE_READ_MAP_H

#include "voxfield/context.h"
#include "voxfield/device.h"
#include "voxfield/digest.h"
#include "voxfield/grid.h"

enum { MAP_UNIT_SIZE = 32, MAP_QUANTITY_SIZE = 128 };

typedef struct loaded_map {
    char *path; /* a copy, for messages */
    vf_grid grid;
    double origin_slack[3], spacing_slack[3]; /* half a unit of the last digit the file states; 0 where it is exact */
    vf_dtype type;                            /* VF_F32 or VF_F64 */
    void *values;                             /* [z][y][x], finite */
    char unit[MAP_UNIT_SIZE];                 /* "kT/e"; "" if neither the file nor the caller says it */
    /* What files of cionize's say besides (see map_info), DX to six digits; NAN for others. */
    double unit_constant, temperature, dielectric, r_min;
    bool distance_dielectric;
    int64_t ions;                  /* whose potential is in the map, as far as cionize wrote it */
    char molecule[VF_DIGEST_TEXT]; /* SHA-256 of the molecule's file it was made of; "": it does not say */
} loaded_map;

/* Reads a map: .dx, .dx.gz, .h5, .hdf5. `out` is overwritten; free it with map_free. A file that says its unit must say
 * `wanted_unit`, if that is not NULL; one that does not is taken to be in it, with a warning. What cionize writes that
 * is no potential (a mask, a deviation) is refused. Errors, each naming the file, and line or grid point: VF_ERR_INPUT;
 * VF_ERR_ARGUMENT (another extension: lists the known); VF_ERR_MEMORY; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status read_map(vf_context *ctx, const char *path, const char *wanted_unit, loaded_map *out);
void map_free(loaded_map *map);

/* What a map of the potential is called that so many ions are in: loaded_map.ions is read from it. */
void map_quantity(int64_t ions, char text[MAP_QUANTITY_SIZE]);

/* Refuses a map that is not on the wanted grid (VF_ERR_INPUT, naming both): other counts, or points elsewhere by more
 * than the digits of the file leave open, which must not be more than a thousandth of a step, and are never less than
 * 1e-6 steps. */
VF_MUST_CHECK vf_status check_map_grid(vf_context *ctx, const loaded_map *map, const vf_grid *wanted);

#endif
