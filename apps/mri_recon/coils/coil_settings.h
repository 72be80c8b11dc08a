/* The coils that are used, and their maps: the settings of coils/. */
#ifndef COIL_SETTINGS_H
#define COIL_SETTINGS_H

#include <stdbool.h>

typedef enum recon_coils {
    RECON_COILS_AUTO,
    RECON_COILS_FILE,
    RECON_COILS_ESPIRIT,
    RECON_COILS_WALSH,
    RECON_COILS_NLINV,
    RECON_COILS_RSS
} recon_coils;
/* Sets of coil maps: chosen from the data, or a fixed number. */
typedef enum recon_map_sets { RECON_SETS_AUTO, RECON_SETS_ONE, RECON_SETS_TWO } recon_map_sets;
enum { RECON_MOST_SETS = 2 };
/* --compress; auto chooses for scans of COMPRESS_FROM coils or more. */
enum { COMPRESS_AUTO = -1, COMPRESS_NONE = 0, COMPRESS_FROM = 12 };
/* --compress-method */
typedef enum compress_method { COMPRESS_BEST, COMPRESS_PRINCIPAL, COMPRESS_GEOMETRIC } compress_method;

typedef struct coil_settings {
    recon_coils how;
    const char *file;         /* of maps, with RECON_COILS_FILE; NULL: the scan's own maps */
    const char *save;         /* file to save the maps in; NULL: none */
    bool keep;                /* keep the saved maps for the page, too (recon_summary.maps) */
    struct vf_result *result; /* gets them if `save` is in_memory */
    recon_map_sets sets;      /* for --method cg; other methods use the first set */
    const char *drop;         /* channels to leave out (drop_coils.c); NULL: chosen from the data */
    int compress;             /* coils to keep; COMPRESS_NONE: all; COMPRESS_AUTO: by the noise */
    compress_method compress_by;
} coil_settings;

#endif
