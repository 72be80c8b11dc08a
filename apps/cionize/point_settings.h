/* cionize: what the user asked for at points. */
#ifndef CIONIZE_POINT_SETTINGS_H
#define CIONIZE_POINT_SETTINGS_H

#include <stdbool.h>

typedef enum point_exclusion { EXCLUDE_NOTHING, EXCLUDE_ATOM, EXCLUDE_RESIDUE } point_exclusion;

typedef struct point_settings {
    const char *points;          /* a file, or "atoms"; NULL: no points */
    const struct vf_view *given; /* if `points` is in_memory: the caller's, [n][3] */
    const char *out;
    const char *field_map; /* NULL: none */
    bool field;
    bool has_exclude;
    point_exclusion exclude; /* at atoms */
} point_settings;

#endif
