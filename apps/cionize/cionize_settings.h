/* cionize: what the user asked for, and the program behind it. */
#ifndef CIONIZE_SETTINGS_H
#define CIONIZE_SETTINGS_H

#include "potential.h"
#include "voxfield/timer.h"

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
    vf_dtype precision;                /* of a map that is read: the file's */
    const vf_potential_method *method; /* NULL: auto */
    const char *variant;               /* of the method; NULL: the device's default */
    const char *device;                /* "auto" or as vf_context_set_devices */
    bool dry_run, quiet;
    vf_progress_mode progress;
    int argc;
    char *const *argv;
} cionize_settings;

/* ---- cionize_pipeline.c ---- */

/* All stages, in the order data flows. Everything it has to say besides errors goes to stdout, progress to stderr. */
VF_MUST_CHECK vf_status cionize_run(vf_context *ctx, const cionize_settings *settings);

#endif
