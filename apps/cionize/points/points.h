/* cionize: potentials and fields at points, and maps of the field. */
#ifndef CIONIZE_POINTS_H
#define CIONIZE_POINTS_H

#include "cionize_settings.h"
#include "maps/map_format.h"
#include "molecule/molecule.h"
#include "point_sum.h"
#include "solvent.h"
#include "trajectory/trajectory.h"

/* ---- read_points.c ---- */

typedef struct point_set {
    int64_t count; /* >= 1 */
    bool atoms;    /* the molecule's atoms, in its order; `place` is NULL */
    double *place; /* [count][3] angstrom */
} point_set;

/* The points of settings->points: the molecule's atoms, or those of a file. The extension tells its format: .xyz; .pdb,
 * .ent, .pqr, .gro; .h5, .hdf5; all others are text. Free it with point_set_free, also after a failure. Errors:
 * VF_ERR_INPUT (naming file and line), VF_ERR_ARGUMENT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_points(vf_context *ctx, const point_settings *settings, const molecule *mol,
                                    point_set *out);
void point_set_free(point_set *set);

/* Points of a text, from memory: `xyz`: an .xyz file. The fuzzer calls this. */
VF_MUST_CHECK vf_status parse_points(vf_context *ctx, const char *name, const char *text, size_t bytes, bool xyz,
                                     point_set *out);

/* ---- compute_points.c ---- */

typedef struct point_run {
    const cionize_settings *settings;
    const molecule *mol;
    const double *charge;         /* [mol->atoms] what acts at the points */
    const trajectory *trajectory; /* NULL: none */
    const frame_selection *frames;
    const vf_solvent *solvent; /* solved: the values are those in it; NULL: none */
    vf_cell cell;              /* of the run */
    bool follows;              /* frames have cells of their own */
    point_set set;
    int64_t *first, *excluded;    /* as in vf_point_list; NULL: nothing is excluded */
    int64_t done;                 /* frames */
    double *place;                /* [count][3] mean over frames */
    double *mean;                 /* [count][4]: potential, field */
    double *squares;              /* [count][4] sums of squared deviations from the mean */
    vf_point_info info;           /* of the first frame */
    map_error error, field_error; /* of the first frame; .points is 0 if all is exact */
    double least, most, rms;      /* of the mean potential */
} point_run;

/* Receives the values of a frame: place [count][3], potential [count], field [count][3] or NULL. */
typedef vf_status (*point_sink)(void *user, int64_t frame, const double *place, const double *potential,
                                const double *field);

/* After read_points: whether all points are in the grid, which a solution in solvent needs. Errors: VF_ERR_INPUT, with the first point's
 * number. */
VF_MUST_CHECK vf_status points_check_grid(vf_context *ctx, const point_run *run, const vf_grid *grid);

/* After read_points: computes all frames. Warns if the error is larger than asked. Errors: those of vf_point_sum_create
 * and trajectory_read, the sink's; VF_ERR_INPUT (a residue with so many atoms that their exclusions do not fit). */
VF_MUST_CHECK vf_status points_compute(vf_context *ctx, point_run *run, point_sink sink, void *user);
void points_free(point_run *run);

/* What the sum at points needs of the settings. */
vf_point_options point_options(const cionize_settings *settings, const vf_cell *cell, bool fields);

/* ---- write_points.c ---- */

/* Computes the points and writes settings->points.out. `info`: for what the file says of itself. */
VF_MUST_CHECK vf_status points_write(vf_context *ctx, point_run *run, const map_info *info);

/* VF_ERR_ARGUMENT if the extension is neither .csv nor .h5 (.hdf5). */
VF_MUST_CHECK vf_status points_check_path(vf_context *ctx, const char *path);

/* ---- field_map.c ---- */

/* The names of the files of a field map: one .h5, or three .mrc (NAME_x.mrc, ...). VF_ERR_ARGUMENT for others. */
enum { FIELD_NAME = 4096 };
VF_MUST_CHECK vf_status field_map_names(vf_context *ctx, const char *path, int *files, char names[3][FIELD_NAME]);

/* Computes the field on the grid of `info`, and writes it. `solvent`: solved on that grid; NULL: none. *error: measured; in a solvent, that of
 * the molecule's own field at the points in it. */
VF_MUST_CHECK vf_status field_map_write(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                        const map_info *info, const vf_solvent *solvent, map_error *error);

#endif
