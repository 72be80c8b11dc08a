/* mri_recon: what the user asks for (recon_options.c), and what follows from it (settings.c). */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "encoding.h"
#include "prior.h"
#include "voxfield/context.h"
#include "voxfield/timer.h"

typedef enum recon_method { RECON_CG, RECON_ADJOINT, RECON_GRIDDING, RECON_BILINEAR } recon_method;
typedef enum recon_prior {
    RECON_IDENTITY = VF_PRIOR_IDENTITY,
    RECON_DIFFERENCES = VF_PRIOR_DIFFERENCES,
    RECON_REFERENCE = VF_PRIOR_REFERENCE,
    RECON_SPECTRUM = VF_PRIOR_SPECTRUM,
    RECON_PRIOR_AUTO
} recon_prior;
typedef enum recon_coils {
    RECON_COILS_AUTO,
    RECON_COILS_FILE,
    RECON_COILS_ESPIRIT,
    RECON_COILS_WALSH,
    RECON_COILS_NLINV,
    RECON_COILS_RSS
} recon_coils;
/* Sets of coil maps: as many as the object asks for, or a number. */
typedef enum recon_map_sets { RECON_SETS_AUTO, RECON_SETS_ONE, RECON_SETS_TWO } recon_map_sets;
enum { RECON_MOST_SETS = 2 };
typedef enum k_units { K_AUTO, K_NORMALIZED, K_FOV, K_RADIANS } k_units;

/* What the user asked for. Numbers are checked where they are read: finite, and in range one by one. */
typedef struct recon_settings {
    const char *input;
    const char *output;                     /* NULL: the input's name with _image.h5, beside it */
    const char *picture, *report, *compare; /* compare: "truth", or a file; NULL: none */
    const char *save_q, *load_q;
    const char *noise_map;  /* NULL: none */
    int replicas;           /* that it is made of */
    const char *group;      /* of an ISMRMRD file; NULL: found */
    const char *trajectory; /* of k-space in a .cfl; NULL: Cartesian */
    const char *maps;       /* coil maps' file, with RECON_COILS_FILE; NULL: the scan's own */
    const char *save_coils; /* where the maps that are used go; NULL: nowhere */
    recon_method method;
    vf_encode_by encode_by;
    recon_prior prior;
    recon_coils coils;
    recon_map_sets map_sets; /* of --method cg; others use the first */
    k_units units;
    int compress; /* coils to keep; 0: all */
    int64_t matrix[3];
    bool has_matrix;
    bool box_voxels; /* phi is the transform of a box, unless the file has phi */
    bool keep_oversampling;
    bool append_to_copy; /* the image file is a copy of the ISMRMRD scan with the images added */
    bool hardware_trig;
    int iterations;
    double tolerance; /* of the solver: relative residual at which it stops */
    double lambda;    /* of the spectrum, times Wiener's weight; of other priors, relative to the diagonal of F^H W F
                       * in the object (reconstruct.c); with lambda_auto, times what is best by the forecast */
    bool lambda_auto;
    bool partial_fourier; /* the phase's smoothness makes up for a side of k-space that is missing */
    double accuracy;      /* of the NUFFT */
    vf_dtype precision;   /* VF_F32, VF_F64 */
    const char *variant;  /* of the direct sum; NULL: the device's default */
    const char *device;   /* "auto" or as vf_context_set_devices */
    int64_t group_bytes;  /* of the frames' images that are worked on together, one frame at least; 0: 1 GiB */
    double piece_pairs;   /* of a direct sum between two looks at progress and whether to stop; 0: about a second */
    bool dry_run, quiet;
    vf_progress_mode progress;
    int argc;
    char *const *argv;
} recon_settings;

/* Refuses settings that contradict each other, as far as the table of options does not say it, and fills in what follows
 * from other settings. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status settings_complete(vf_context *ctx, recon_settings *settings, bool says_partial_fourier);

#endif
