/* Which coil maps a reconstruction uses, by the settings and the scan (choose_maps.c). */
#ifndef CHOOSE_MAPS_H
#define CHOOSE_MAPS_H

#include "coil_settings.h"
#include "scan/mri_scan.h"
#include "solve/solve_settings.h"

/* Whether coils are combined by maps; else each coil has an image. */
bool combines_by_maps(const coil_settings *coils, const mri_scan *raw);
/* Whether the reconstruction uses raw->sensitivity. */
bool uses_scan_maps(const coil_settings *coils, const mri_scan *raw);
/* The most sets of maps that a place may have. */
int most_map_sets(const coil_settings *coils, const solve_settings *solve, const mri_scan *raw);
/* Whether calibrate_better_maps checks the scan's own maps: only if the user has not asked for them explicitly. */
bool judges_scan_maps(const coil_settings *coils, const solve_settings *solve, const mri_scan *raw);

#endif
