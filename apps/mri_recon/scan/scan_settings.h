/* What is read, and how it is understood and corrected: the settings of scan/. */
#ifndef SCAN_SETTINGS_H
#define SCAN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Gradient delays: none; none, with a warning where the data show them; estimated from the data; given. */
typedef enum recon_delays { RECON_DELAYS_OFF, RECON_DELAYS_WARN, RECON_DELAYS_AUTO, RECON_DELAYS_GIVEN } recon_delays;
/* The shift of the field of view: none, with a warning where one may be needed; none; the file's; given. */
typedef enum recon_shift { RECON_SHIFT_AUTO, RECON_SHIFT_OFF, RECON_SHIFT_HEADER, RECON_SHIFT_GIVEN } recon_shift;
typedef enum k_units {
    K_AUTO,
    K_NORMALIZED,
    K_RADIANS,
    K_FOV,
    K_EDGE,
    K_PER_M,
    K_PER_CM,
    K_PER_MM,
    K_RAD_PER_M,
    K_RAD_PER_MM
} k_units;

/* The sign in the exponent of the data's Fourier transform: - as in docs/scans.md, + if the data are conjugated. */
typedef enum scan_sign { SIGN_AUTO, SIGN_MINUS, SIGN_PLUS } scan_sign;

/* Ramp sampling, and the phase of reversed readouts, of echo-planar scans. */
typedef enum scan_epi { EPI_AUTO, EPI_OFF } scan_epi;

/* How to understand a scan where its file does not say it, or says it wrongly. All 0: the reader decides. */
typedef struct scan_request {
    const char *group; /* of an ISMRMRD file; NULL: the reader finds it */
    const char *noise; /* FILE or FILE:GROUP with noise acquisitions; NULL: those of the scan's file */
    k_units units;
    scan_sign sign;
    int encoding;        /* counted from 1; 0: the one with most image lines */
    double oversampling; /* field of view of Cartesian readouts over the image's; 0: by header and samples */
    scan_epi epi;
    bool info;       /* keep what was told of a scan that is refused */
    bool incomplete; /* keep a last repetition that was aborted */
    bool regroup;    /* frames are cut anew: what differs in one of the file's is no matter */
} scan_request;

/* What is read, and how it is corrected and cut into frames before it is reconstructed. */
typedef struct scan_settings {
    const char *input;
    const struct vf_mri_scan *arrays; /* the scan in memory (scan_memory.h) instead of a file; NULL: the file */
    scan_request read;
    int64_t matrix[3]; /* with has_matrix */
    bool has_matrix;
    const char *slices;     /* selection by parse_frames; NULL: all */
    const char *frames;     /* the same */
    const char *trajectory; /* file that replaces the scan's trajectory; NULL: none */
    const char *girf;       /* gradient impulse response functions; NULL: none */
    const char *motion;     /* table of the patient's motion; NULL: none */
    recon_delays delays;
    double delay[3]; /* samples along x, y, z, with RECON_DELAYS_GIVEN */
    recon_shift fov_shift;
    double shift[3];      /* mm along x, y, z, with RECON_SHIFT_GIVEN */
    int spokes_per_frame; /* readouts that make a frame; 0: the scan's frames */
    int frame_step;       /* readouts from the beginning of a frame to the next; 0: spokes_per_frame */
    int readout_samples;  /* samples of a readout, for scans that do not say so; 0: found from the scan */
    bool keep_spikes;     /* interference is image data, too */
    bool keep_oversampling;
} scan_settings;

#endif
