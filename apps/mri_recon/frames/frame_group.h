/* What makes frames: a team of devices, with all that it keeps from one group of frames to the next. */
#ifndef FRAME_GROUP_H
#define FRAME_GROUP_H

#include <pthread.h>

#include "reconstruct.h"
#include "solve/equations.h"
#include "wiener.h"

/* Something that is made once, by whoever needs it first; others wait for it. */
typedef enum once_state { ONCE_NONE, ONCE_BEGUN, ONCE_MADE } once_state;

/* How brightness varies over the field of view (envelope.c). */
typedef struct frame_envelope {
    float *
        values; /* [voxels] the image's local root mean square, over that of the whole field of view; NULL: not known */
    double filled; /* share of the field of view that the object fills */
} frame_envelope;

/* The phase of an image, where one side of k-space is missing (partial_fourier.c). */
typedef struct frame_phase {
    float complex *turn; /* [voxels] exp(i phi), or NULL */
    double imaginary;    /* share of the power that has another phase; 1: nothing is known */
} frame_phase;

/* What frames of one place share. */
typedef struct frame_place {
    const scan_frame *first; /* in the order of reconstruction */
    once_state maps_made, power_made;
    float complex *maps;     /* [set][coil][voxels] */
    int sets;                /* images a frame of this place has; 1 before the maps are made */
    bool weighted;           /* the maps fade as vf_espirit's do */
    bool of_scan;            /* they are the scan's own */
    double power;            /* map_power of the first frame */
    frame_envelope envelope; /* of the first frame, kept for its noise map */
    frame_phase phase;       /* the same */
} frame_place;

/* The whole work; what several teams change is behind the lock. */
typedef struct recon_job {
    vf_context *ctx;
    const recon_settings *settings;
    const mri_scan *scan;
    vf_dtype type;
    int64_t voxels;
    int channels;              /* images a frame: 1, or one a coil where they are combined at the end */
    int most_sets;             /* of maps, and so many images in place of one */
    bool has_maps;             /* more than one coil, seen through maps */
    bool noise_begun;          /* frames are made to find the noise */
    double variance;           /* of the noise of a sample of one coil; 0: not known */
    char noise[160];           /* what that rests on */
    double misfit;             /* variance of what a first image leaves of all samples, over that of the noise; >= 1 */
    const scan_frame **frames; /* [frame_count] trajectory by trajectory: the scan's, or replicas of noise */
    int frame_count;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something was made, or is not going to be */
    frame_place *place;     /* [scan->places] */
    char coils[160];        /* how maps were made */
} recon_job;

/* Frames of one trajectory that are worked on together. */
typedef struct frame_group {
    int trajectory, first, count; /* frames [first, first + count) of the job's */
} frame_group;

/* What the solver needs on each device, for all frames of a trajectory. */
typedef struct device_solver {
    vf_normal normal;
    vf_prior known;
    vf_array b, x;
    system_part part;
} device_solver;

typedef struct crew {
    recon_job *job;
    device_team team;
    recon_watch *watch;
    recon_summary summary; /* of its own frames */
    int last;              /* the job's number of the last frame among them */
    device_maps maps;
    int solvers, trajectory;  /* devices that have a solver, and for which trajectory; 0: none */
    device_solver *solver;    /* [team.count] */
    vf_normal *normal;        /* [team.count] given by the job for its only trajectory, or NULL: the crew makes them */
    double *density;          /* [voxels] of the trajectory (vf_sampling_density); NULL: not made */
    int density_of;           /* which trajectory */
    double mean_weight;       /* of its samples, w |phi|^2 */
    double filled;            /* of the frame last regularised */
    frame_envelope *envelope; /* [envelopes] of the group's frames */
    int envelopes;
    const scan_frame **claim; /* frames whose power this crew is to find, NULL behind the last */
} crew;

/* How many devices of a team need Q. */
int crew_normals(const recon_job *job, int devices);

/* The images of a group in host memory, each frame's [channel][voxel] or [set][voxel], frame_bytes apart. After an
 * error the crew can be freed, and another do the same group. Errors: of the stages. */
VF_MUST_CHECK vf_status crew_make_group(crew *c, const frame_group *g, char *images);
void crew_free(crew *c); /* but not its watch */

/* ---- frame_adjoint.c ---- */

/* Room for a frame's images. */
size_t frame_bytes(const recon_job *job);
/* Images that are solved for together of a frame: sets of its place's maps. */
int frame_sets(const recon_job *job, const scan_frame *frame);
/* Its place's maps, which must have been made. */
host_maps frame_maps(const recon_job *job, const scan_frame *frame);

/* F^H d of a frame, [channel][voxel] or [set][voxel] in host memory; `even`: over the sum of |s|^2, where coils are
 * combined. Errors: of the stage. */
VF_MUST_CHECK vf_status crew_adjoint(crew *c, right_side *side, const scan_frame *frame, bool even, char *image);

/* ---- envelope.c ---- */

/* From the frame's image at low resolution, which takes one more adjoint; of a replica, that of the frame whose noise
 * it shows. `out->values` is made if it is NULL, and is the caller's. Errors: VF_ERR_MEMORY, and as crew_adjoint. */
VF_MUST_CHECK vf_status envelope_of_frame(crew *c, right_side *side, const scan_frame *frame, frame_envelope *out);

/* ---- noise_map.c ---- */

/* Replicas of noise of each place's first frame, and the sums of squares of their images. */
typedef struct noise_map {
    recon_job *job;
    scan_frame *replica; /* [job->frame_count] */
    float *squares;      /* [place][voxels] */
} noise_map;

/* Makes the job's frames replicas, trajectory by trajectory. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_map_create(recon_job *job, noise_map *out);
void noise_map_free(noise_map *map); /* the job is left without frames */
/* Takes a replica's image. A recon_put. */
void noise_map_add(void *map, const scan_frame *frame, const float complex *image);
/* Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_map_finish(const noise_map *map, recon_put_noise put, void *user);

/* ---- noise_level.c ---- */

/* The noise of the job's samples: known from a noise scan, else the least that the outermost samples of a few frames
 * have; *frame: the job's number of a frame that tells more, -1 if none does. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_from_samples(recon_job *job, int *frame);

/* The same from what is left of a frame's outermost samples when its image (as crew_make_group leaves it) is taken from
 * them: where signal reaches the edge of k-space, less. Also the job's misfit. Errors: as encoding_create. */
VF_MUST_CHECK vf_status noise_from_residual(crew *c, int frame, const char *image);

/* ---- partial_fourier.c ---- */

/* Whether frames of the trajectory lack one side of k-space, and are of a kind whose phase can make up for that;
 * reach[axis]: so far, in cycles per field of view, both sides were sampled. */
bool partial_fourier(const recon_settings *settings, const mri_scan *raw, int trajectory, double reach[3]);

/* Tells the first device's solver the phase of the frame's image, `image` being what was found without it (as
 * crew_make_group leaves it); of a replica, that of the frame whose noise it shows. Errors: VF_ERR_MEMORY,
 * VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status constrain_phase(crew *c, const scan_frame *frame, double power, const double reach[3],
                                        const char *image);

/* ---- regularise.c ---- */

/* Sets the prior's weight, and where that rests on noise its preconditioner, in all solvers of the crew that solve;
 * `power` as place_power; `envelope` is read where regularise_by_noise. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status regularise_frame(crew *c, const scan_frame *frame, double power,
                                         const frame_envelope *envelope);
/* Makes c->density, of samples by their frequency. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_density(crew *c, int trajectory);

/* The forecast of the frame that was solved last, with what it takes from frequencies beyond a radius. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_forecast(crew *c, const scan_frame *frame, double power, double radius,
                                            vf_forecast *forecast);
/* E|n|^2 of the noise in a voxel of the frame that was solved last, seen through a filter by frequency, [voxels].
 * Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_filtered_noise(crew *c, const scan_frame *frame, double power, const double *filter,
                                                  double *noise);
/* Preconditioners of the first device's solver for the real and the imaginary part, of which that has a share of
 * `imaginary` of the power; 0: for images whose phase is not known. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status regularise_parts(crew *c, const scan_frame *frame, double power, double imaginary);
vf_wiener_space regularise_space(const mri_scan *raw);

/* ---- frame_places.c ---- */

VF_MUST_CHECK vf_status places_create(recon_job *job);
void places_free(recon_job *job);

/* The place's coil maps, once, into host memory. */
VF_MUST_CHECK vf_status place_maps(crew *c, const scan_frame *frame);

/* Writes the maps of all places to settings->save_coils, if that is given; after all frames. */
VF_MUST_CHECK vf_status places_save_maps(const recon_job *job);

/* Those of the group's frames that are the first of their place: this crew finds their power, unless one has begun to.
 */
VF_MUST_CHECK vf_status claim_powers(crew *c, const frame_group *g);
/* The image F^H d of a frame: of one that was claimed, it gives the place's power. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status found_image(crew *c, const scan_frame *frame, const char *image);
/* What was claimed and not found: another may. */
void leave_powers(crew *c);
/* The power of a frame's place; waits where another finds it. False: nobody does, so this crew is to make the image of
 * the place's first frame, and to call found_image or leave_powers. */
bool place_power(crew *c, const scan_frame *frame, double *power);

/* sum over coils of |s|^2 of one set: [voxel] */
void map_powers(const recon_job *job, const float complex *maps, double *out);

/* ---- combine_sets.c ---- */

/* One image of a frame's [set][voxel], in place: the magnitude is the root of the sum of squares of what the coils see,
 * sum_c |sum_s s_sc x_s|^2, for maps that are weighted; else of the images, sum_s |x_s|^2. The phase is that of the
 * stronger image. One image through maps that are not weighted stays as it is, and F^H d (--method adjoint). Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status combine_sets(const recon_job *job, const scan_frame *frame, float complex *images);

#endif
