/* The state of a reconstruction: what frames share, and what frames of one place share. */
#ifndef RECON_JOB_H
#define RECON_JOB_H

#include <pthread.h>

#include "coils/coil_settings.h"
#include "recon_results.h"
#include "solve/solve_settings.h"
#include "voxfield/context.h"

/* State of a result that is computed once: the first thread that needs it computes it, the others wait. */
typedef enum once_state { ONCE_NONE, ONCE_BEGUN, ONCE_MADE } once_state;

/* The brightness of an image over the field of view (envelope.c). */
typedef struct frame_envelope {
    float *values; /* [voxels] local root mean square over that of the whole field of view; NULL: unknown */
    double filled; /* the share of the field of view that the object fills */
} frame_envelope;

/* The phase of an image, if one side of k-space is missing (partial_fourier.c). */
typedef struct frame_phase {
    float complex *turn; /* [voxels] exp(i phi), or NULL */
    double imaginary;    /* the share of the power with another phase; 1: phase unknown */
} frame_phase;

/* Data shared by all frames of a place. */
typedef struct frame_place {
    const scan_frame *first; /* in the order of reconstruction */
    once_state maps_made, power_made;
    float complex *maps;     /* [set][coil][voxels] */
    int sets;                /* of maps, so images per frame; 1 before the maps are made */
    bool weighted;           /* the maps fade as vf_espirit's do */
    bool of_scan;            /* `maps` points into the scan's own */
    double power;            /* map_power of the first frame */
    frame_envelope envelope; /* of the first frame, kept for its noise map */
    frame_phase phase;       /* the same */
    double unit, mean;       /* of series, over all frames: the unit of lambda, and the mean eigenvalue of F^H W F; 0:
                              * not known */
} frame_place;

/* The whole reconstruction. The lock guards the members that several teams change. */
typedef struct recon_job {
    vf_context *ctx;
    const solve_settings *solve;
    const coil_settings *coils;
    const struct noise_settings *noise; /* noise/noise_settings.h */
    struct vf_ranks *ranks;             /* of an MPI job; NULL: there is one process */
    const mri_scan *scan;
    vf_dtype type;
    int64_t voxels;
    int channels;  /* images per frame: 1 with maps; without, one per coil, combined at the end */
    int most_sets; /* the most sets of maps of a place */
    bool has_maps; /* coils are combined by maps */
    noise_estimate level;
    frame_effort *effort; /* [scan->frames] or NULL */
    lambda_choice choice;
    reference_strength strength;
    reference_fit fit;
    bool leave_out_reference;  /* for an image to compare references with */
    const scan_frame **frames; /* [frame_count] trajectory by trajectory: the scan's, or replicas of noise */
    int frame_count;
    group_effort first; /* for first images, made for `variance` */
    char *first_image; /* as those of crew_make_group: where the sparse solution of frame first_of begins; NULL: none */
    const scan_frame *first_of;
    const bool *wanted; /* [scan->frames] the frames to make; NULL: all */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a once_state left ONCE_BEGUN */
    frame_place *place;     /* [scan->places] */
    char maps_text[160];    /* how the maps were made */
} recon_job;

/* The size of a frame's images in bytes. */
size_t frame_bytes(const recon_job *job);

/* Frames of one trajectory, or of one place, that are made together. Windows of a series (windows.c) overlap: the
 * frames shared with the window before follow the first `skip` ones, those shared with the next come before the last
 * `drop` ones. */
typedef struct frame_group {
    int trajectory, first, count; /* the job's frames [first, first + count) */
    int skip, drop;               /* frames at its beginning and end whose images come from other windows */
    int before, after;            /* frames shared with the window before, and with the next one */
} frame_group;

#endif
