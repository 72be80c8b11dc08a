/* Coil maps from the centre of k-space. Arrays are in host memory, x fastest. */
#ifndef ESTIMATE_MAPS_H
#define ESTIMATE_MAPS_H

#include <complex.h>

#include "coil_settings.h"
#include "scan/mri_scan.h"
#include "solve/team.h"
#include "watch.h"

/* Describes estimated maps. */
typedef struct calibrated {
    int sets;       /* sets of maps */
    bool weighted;  /* they fade as vf_espirit's do */
    char text[160]; /* how the maps were made, one line */
} calibrated;

/* Estimates the coil maps of a place from the centre of its k-space. `maps` [set][coil][z][y][x], host memory, must
 * have room for two sets unless `sets` is ONE. The solver runs on the team's first device. `sets`: ONE, TWO, or AUTO:
 * chosen from the data. Only ESPIRiT makes two.
 *
 * `how` selects ESPIRiT (espirit.h), joint estimation with the image (nlinv.h), or vf_coil_maps_walsh. RECON_COILS_AUTO
 * and RECON_COILS_FILE: ESPIRiT if the centre is sampled well enough, else joint estimation. The data are the place's
 * calibration frames and all frames of the place that differ from its first only in repetition and trajectory.
 *
 * `watch` (may be NULL) gets progress of 1 in all. Warns if the centre is not sampled densely enough, or if the maps
 * explain too little of it. Errors: as vf_nufft_create, vf_espirit. */
VF_MUST_CHECK vf_status calibrate_maps(const device_team *team, const mri_scan *raw, recon_coils how,
                                       recon_map_sets sets, int place, recon_watch *watch, float complex *maps,
                                       calibrated *made);
/* Whether calibrate_maps will use joint estimation, the slowest method. False if memory runs out. */
bool calibrate_takes_joint(vf_context *ctx, const mri_scan *raw, recon_coils how, recon_map_sets sets, int place);

/* Compares a place's maps, `given` [coil][z][y][x], one set, with the centre of its k-space. If they leave so much of it
 * unexplained that they must be wrong, and ESPIRiT's maps explain it, *out gets ESPIRiT's maps, with the length of the
 * given ones if that is smooth; the caller frees them, and a warning is printed. Else *out is NULL; if ESPIRiT's maps
 * explain much more, a warning says so. Errors: as calibrate_maps. */
VF_MUST_CHECK vf_status calibrate_better_maps(const device_team *team, const mri_scan *raw, int place,
                                              const float complex *given, recon_watch *watch, float complex **out,
                                              calibrated *made);

#endif
