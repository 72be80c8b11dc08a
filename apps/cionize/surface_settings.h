/* cionize: what the user asked of the molecule's surface. */
#ifndef CIONIZE_SURFACE_SETTINGS_H
#define CIONIZE_SURFACE_SETTINGS_H

typedef struct surface_settings {
    const char *mesh, *picture, *scene; /* files; NULL: none. scene: the name without the ending */
    double offset;                      /* how far outside of the surface the potential is taken, angstrom */
    double range;                       /* of colours, -range to range; 0: by the values */
} surface_settings;

#endif
