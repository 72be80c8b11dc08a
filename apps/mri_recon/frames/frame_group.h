/* Reconstruction of frame groups: a crew is a team of devices with the state it keeps between groups. */
#ifndef FRAME_GROUP_H
#define FRAME_GROUP_H

#include <pthread.h>

#include "reconstruct.h"
#include "solve/equations.h"
#include "sure.h"
#include "wiener.h"

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
    const recon_settings *settings;
    const mri_scan *scan;
    vf_dtype type;
    int64_t voxels;
    int channels;              /* images per frame: 1 with maps; without, one per coil, combined at the end */
    int most_sets;             /* the most sets of maps of a place */
    bool has_maps;             /* coils are combined by maps */
    bool noise_begun;          /* the current frames are made to estimate the noise */
    double variance;           /* of a sample's noise in one coil; 0: unknown */
    bool noise_known;          /* `variance` is measured; first images do not change it */
    double *noise_ratio;       /* [scan->frames] each frame's variance over `variance`, not 0; NULL: all are 1 */
    char noise[160];           /* the source of `variance` */
    double misfit;             /* variance of a first image's residual over `variance`; >= 1 */
    int64_t first_iterations;  /* of the solver, for all first images */
    frame_effort *effort;      /* [scan->frames] or NULL */
    bool choosing;             /* the current frames are made to choose `factor` */
    double factor;             /* on the automatic lambda of sparse priors */
    vf_sure_result sure;       /* how it was chosen; nothing tried: it is 1 */
    int64_t sure_applications; /* of F^H W F, for that */
    const scan_frame **frames; /* [frame_count] trajectory by trajectory: the scan's, or replicas of noise */
    int frame_count;
    int first_images; /* made for `variance` */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a once_state left ONCE_BEGUN */
    frame_place *place;     /* [scan->places] */
    char coils[160];        /* how the maps were made */
    char shared[200];       /* how ranks share the coils; "": they do not */
} recon_job;

/* Frames of one trajectory, or of one place, that are made together. Windows of a series (windows.c) overlap: the
 * frames shared with the window before follow the first `skip` ones, those shared with the next come before the last
 * `drop` ones. */
typedef struct frame_group {
    int trajectory, first, count; /* the job's frames [first, first + count) */
    int skip, drop;               /* frames at its beginning and end whose images come from other windows */
    int before, after;            /* frames shared with the window before, and with the next one */
} frame_group;

/* ---- group_list.c ---- */

typedef struct group_list {
    frame_group *group; /* [count] */
    int count, most;    /* `most`: frames of the largest group */
} group_list;

/* Cuts the job's frames into groups for so many teams. A group has as many frames as the memory of `slots` groups allows,
 * but at most a team's fair share: large groups need fewer plans. Frames that are solved together make windows
 * (windows.c). free() list->group. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status group_list_make(const recon_job *job, int teams, int slots, group_list *list);

/* Leaves out frames that settings->wanted does not have. To be called once all that depends on all frames is known. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status group_list_leave_out(const recon_job *job, group_list *list);
bool frame_is_wanted(const recon_job *job, const scan_frame *frame);

/* ---- frame_ranges.c ---- */

/* Some of the job's frames: [first, behind), in the order in which they are put into groups. */
typedef struct frame_range {
    int first, behind;
} frame_range;

/* Into how many ranges a rank's share is cut. */
int frame_ranges_a_rank(const recon_settings *settings);

/* Rank 0 of an MPI job: cuts the wanted frames into ranges, and offers them to all ranks. Others get the list. free() *out.
 * Errors: those of vf_ranks_offer and vf_ranks_share. */
VF_MUST_CHECK vf_status frame_ranges_share(const recon_job *job, vf_ranks *ranks, frame_range **out, int *count);

/* The solver's state on one device, for all frames of a trajectory. */
typedef struct device_solver {
    vf_queue *queue;
    vf_operator *normal; /* F^H W F; with maps, of the first device only: of all coils that the team's devices have */
    vf_prior known;
    vf_array b, x;
    vf_penalties *penalties;      /* of sparse priors; NULL: none, or not made */
    vf_circulant *inverse, *held; /* for solve_sparse */
    vf_array unseen;              /* the same */
} device_solver;

typedef struct coil_ranks coil_ranks;

typedef struct crew {
    recon_job *job;
    device_team team;
    recon_watch *watch;
    recon_summary summary; /* of its own frames */
    int last;              /* the job's number of its last frame */
    device_maps maps;
    int solvers, trajectory; /* devices with a solver (0: none), and its trajectory */
    device_solver *solver;   /* [solvers] */
    vf_normal *normal;       /* [solvers] F^H W F of the trajectory on each device */
    int sets, maps_filled;   /* with maps: of the images, and maps.filled, of the first solver's operator */
    coil_ranks *others;      /* of rank 0 of an MPI job that shares the coils; NULL: none */
    vf_normal *shared;       /* [team.count] `normal` for the scan's only trajectory; NULL: the crew makes its own */
    double *density;         /* [voxels] of trajectory density_of (vf_sampling_density); NULL: not made */
    int density_of;
    double mean_weight;       /* the mean of w |phi|^2 over its samples */
    double filled;            /* of the last regularised frame's envelope */
    frame_envelope *envelope; /* [envelopes] of the group's frames */
    int envelopes;
    char *probe;              /* of the frames that lambda is chosen for: sure.h's p */
    const scan_frame **claim; /* frames whose power this crew must find, NULL-terminated */
} crew;

/* The number of devices of a team that need Q. */
int crew_normals(const recon_job *job, int devices);

/* Makes Q of a trajectory and the solvers. Errors: as normal_matrix_create and vf_prior_create. */
VF_MUST_CHECK vf_status crew_prepare(crew *c, int trajectory);

/* ---- crew_coils.c ---- */

/* Allocates the vectors b and x on the devices that solve a system, for `sets` images. Arrays that are large enough
 * stay. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status crew_make_vectors(crew *c, int d, int sets);
/* Copies the maps of coils [first, behind) to the devices; each device gets its share. Errors: as device_maps_put. */
VF_MUST_CHECK vf_status crew_put_coils(crew *c, const host_maps *maps, int64_t first, int64_t behind);
/* The frame's maps, all coils', or those that other ranks leave. Errors: the same, and as coil_ranks_give. */
VF_MUST_CHECK vf_status crew_give_coils(crew *c, const scan_frame *frame);
/* After an error of the solver: whether it came from the loss of a rank, and the coils are given anew. *status is that of
 * giving then. */
bool crew_takes_over(crew *c, const scan_frame *frame, vf_status *status);

/* Makes the images of a group in host memory: each frame's [channel][voxel] or [set][voxel], frame_bytes apart. After
 * an error the crew can be freed, and another crew can make the same group. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_make_group(crew *c, const frame_group *g, char *images);
void crew_free(crew *c); /* does not free its watch */

/* F^H d of a group of frames of one trajectory, and their places' maps; `envelopes`: their envelopes, too. */
VF_MUST_CHECK vf_status crew_adjoints(crew *c, const frame_group *g, bool envelopes, char *images);
/* The power of a frame's place; finds it if need be. */
VF_MUST_CHECK vf_status crew_power(crew *c, const scan_frame *frame, double *power);
/* Starts the stage "solve" of `work` units for some of a group's frames. */
void crew_stage_solve(crew *c, int frames, double work);

/* ---- summary.c ---- */

/* Warns if the solver stopped early. */
void summary_judge(vf_context *ctx, const recon_settings *settings, const recon_summary *summary);

/* Adds a channel's result to a summary. */
void summary_add(recon_summary *summary, const solve_result *result, bool first);
/* Copies what a summary says of the last frame. */
void summary_take_last(recon_summary *summary, const recon_summary *from);

/* ---- frame_adjoint.c ---- */

/* The size of a frame's images. */
size_t frame_bytes(const recon_job *job);
/* The number of a frame's images that are solved for together: the sets of its place's maps. */
int frame_sets(const recon_job *job, const scan_frame *frame);
/* The maps of the frame's place, which must have been made. */
host_maps frame_maps(const recon_job *job, const scan_frame *frame);

/* F^H d of a frame, [channel][voxel] or [set][voxel] in host memory. `even`: with maps, divided by the sum of |s|^2.
 * Errors: those of the stage. */
VF_MUST_CHECK vf_status crew_adjoint(crew *c, right_side *side, const scan_frame *frame, bool even, char *image);

/* ---- envelope.c ---- */

/* Finds the envelope from the frame's image at low resolution, which takes one more adjoint. A replica gets the
 * envelope of the frame it was made from. out->values is allocated if it is NULL; the caller frees it. Errors:
 * VF_ERR_MEMORY, and as crew_adjoint. */
VF_MUST_CHECK vf_status envelope_of_frame(crew *c, right_side *side, const scan_frame *frame, frame_envelope *out);

/* ---- noise_map.c ---- */

/* Replicas of noise of each place's first frame, and the sums of squares of their images. */
typedef struct noise_map {
    recon_job *job;
    scan_frame *replica; /* [job->frame_count] */
    float *squares;      /* [place][voxels] */
} noise_map;

/* Replaces the job's frames by replicas, sorted by trajectory. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_map_create(recon_job *job, noise_map *out);
void noise_map_free(noise_map *map); /* leaves the job without frames */
/* Adds a replica's image. A recon_put. */
void noise_map_add(void *map, const scan_frame *frame, const float complex *image);
/* Passes the noise of each place to `put`. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_map_finish(const noise_map *map, recon_put_noise put, void *user);

/* ---- noise_level.c ---- */

/* Finds the noise of the job's samples: known if a noise scan was used for whitening, else the smallest variance of the
 * outermost samples of a few frames. *frame gets the job's number of a frame for noise_from_residual, or -1. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_from_samples(recon_job *job, int *frame);

/* The variance of the outermost samples of one frame; 0: it has none. *error: its relative standard error, if they are
 * noise. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_of_outer(const recon_job *j, const scan_frame *frame, double *variance, double *error);

/* The mean of w |d|^2 over a frame's samples and coils. */
double mean_of_samples(const recon_job *j, const scan_frame *frame);

/* Lowers the estimate to the variance that a frame's image (as crew_make_group leaves it) leaves of the outermost
 * samples, which is smaller if signal reaches the edge of k-space, unless the noise is known. Sets the job's misfit.
 * *told: the image left enough of these samples for an estimate. Errors: as encoding_create. */
VF_MUST_CHECK vf_status noise_from_residual(crew *c, int frame, const char *image, bool *told);

/* ---- frame_noise.c ---- */

/* Sets the job's noise from first images of a group's first frame, after noise_from_samples. With sparse priors, sets
 * noise_ratio if frames of a place differ in noise. `image` has room for a frame's images. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_find_noise(crew *c, const frame_group *one, char *image);
/* The variance of a frame's noise over the job's. */
double frame_noise_ratio(const recon_job *j, const scan_frame *frame);
/* Its inverse: the weight of a frame's data beside those of other frames. */
double frame_weight(const recon_job *j, const scan_frame *frame);

/* ---- partial_fourier.c ---- */

/* Whether frames of the trajectory lack one side of k-space and the settings allow the phase to make up for it.
 * reach[axis] gets the distance in cycles per field of view within which both sides are sampled. */
bool partial_fourier(const recon_settings *settings, const mri_scan *raw, int trajectory, double reach[3]);

/* Gives the phase of a frame's image to the first device's solver. `image` is a solution without it (as crew_make_group
 * leaves it). A replica gets the phase of the frame it was made from. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status constrain_phase(crew *c, const scan_frame *frame, double power, const double reach[3],
                                        const char *image);

/* ---- regularise.c ---- */

/* Sets the prior's weight in the crew's solvers, and the preconditioner if regularise_by_noise. `power` is from
 * place_power; `envelope` is used only if regularise_by_noise. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status regularise_frame(crew *c, const scan_frame *frame, double power,
                                         const frame_envelope *envelope);
/* Makes c->density, the density of samples over frequency. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_density(crew *c, int trajectory);

/* The forecast for the last solved frame; forecast->outer counts frequencies beyond `radius`. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_forecast(crew *c, const scan_frame *frame, double power, double radius,
                                            vf_forecast *forecast);
/* E|n|^2 of a voxel's noise in the last solved frame, after a filter over frequency, [voxels]. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_filtered_noise(crew *c, const scan_frame *frame, double power, const double *filter,
                                                  double *noise);
/* Sets the first device's preconditioners for the real and the imaginary part; the imaginary part has the share
 * `imaginary` of the power. 0: the phase is unknown. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status regularise_parts(crew *c, const scan_frame *frame, double power, double imaginary);

/* What a set of maps says of each voxel. */
typedef void regularise_of_maps(const recon_job *j, const frame_place *place, int set, double power, double *out);
/* 1 / sqrt(sum |s|^2) of a set of maps relative to its mean, [voxels]; 0 where no coil sees. */
regularise_of_maps regularise_balance;
/* The share of a voxel's F^H W F that is missing after the balance, [voxels]: 0 where the coils see it, 1 where they do
 * not. */
regularise_of_maps regularise_unseen;
/* Copies real numbers to the device in the solver's precision; the array grows as needed. Errors: VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status regularise_put(const recon_job *j, const double *values, int64_t count, vf_queue *queue,
                                       vf_array *to);
/* Copies `what` of each set of a place's maps to the device, times factor[f] for each of `frames` frames: [frame][set]
 * [voxels]. Errors: VF_ERR_MEMORY, as regularise_put. */
VF_MUST_CHECK vf_status regularise_put_of_maps(const recon_job *j, const frame_place *place, regularise_of_maps *what,
                                               double power, int frames, const double *factor, vf_queue *queue,
                                               vf_array *to);
/* The variance of a sample's noise that the priors assume. */
double regularise_variance(const recon_job *j);

/* ---- sparse.c ---- */

/* Makes the penalties of the settings for `images` images, without weights. Errors: as vf_penalties_create. */
VF_MUST_CHECK vf_status sparse_create(const recon_job *j, vf_device *device, int images, vf_penalties **out);
/* The unit of lambda; *mean gets the mean eigenvalue of F^H W F. Both for c->density. */
double sparse_unit(const crew *c, double power, double *mean);
/* The expected error of a frame's image with the spectrum prior, relative to the signal; without a forecast a usual
 * value. */
double sparse_error(const recon_summary *summary);
/* The tolerance of a frame's solution. */
double sparse_tolerance(const recon_job *j, const recon_summary *summary);
/* Sets the weights of penalties, and the summary's; `error` is of sparse_error. */
void sparse_weigh(crew *c, vf_penalties *penalties, double mean, double unit, double error);
/* Makes K of solve_sparse, with the eigenvalues kappa [voxels]: `mean` at frequencies that are not `reached`
 * (scan_mark_reached), else 0. *held is replaced, by NULL if all are reached. Errors: as vf_circulant_create. */
VF_MUST_CHECK vf_status sparse_hold(const recon_job *j, vf_queue *queue, const bool *reached, double mean,
                                    double *kappa, vf_circulant **held);
/* The eigenvalues [voxels] of what the preconditioner inverts, for c->density, without the differences between frames. */
void sparse_spectrum(const crew *c, const vf_penalties *penalties, double power, double mean, const double *kappa,
                     double *out);
/* Sets the preconditioner's matrices of the penalties' extra components, from number `first` on. `room`: [voxels].
 * Errors: as vf_circulant_set. */
VF_MUST_CHECK vf_status sparse_set_fields(const recon_job *j, const vf_penalties *penalties, vf_queue *queue, int first,
                                          double *room, vf_circulant *inverse);
/* Sets the weights of the sparse priors, and the preconditioner for them, in the crew's solvers. Call it after
 * regularise_frame. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status sparse_frame(crew *c, const scan_frame *frame, double power);
/* The problem of a frame on a device, after sparse_frame. */
sparse_problem sparse_problem_of(const crew *c, const device_solver *s);

/* ---- choose_lambda.c ---- */

/* The frames that lambda is chosen for: one, or a group of those that are solved together. */
frame_group sure_group(const recon_job *job, const frame_group *group, int groups);
/* Makes the probe of a group of frames, whose maps must have been made. The seed of the settings determines it. Errors:
 * as crew_adjoints. */
VF_MUST_CHECK vf_status sure_probe(crew *c, const frame_group *g);
/* vf_sure_problem's; all vectors are in host memory. */
typedef vf_status (*sure_estimate)(void *user, double factor, bool again, const void *b, void *x, double *data);
/* Sets the job's factor from the images F^H d of the probe's group, `count` numbers in host memory. Errors: as
 * vf_sure_search. */
VF_MUST_CHECK vf_status sure_choose(crew *c, const char *b, int64_t count, sure_estimate estimate, void *user);

/* ---- series_normal.c ---- */

/* A device's share of a series: frames [first, first + count) of the group. */
typedef struct series_part {
    vf_queue *queue;
    int first, count;
    vf_normal *normal; /* [normals] its own, of different trajectories */
    int normals;
    const vf_normal **of; /* [count] each frame's */
} series_part;

/* F^H W F of the frames of a group, which are of one place, times frame_weight. The vectors [frame][voxels] are on the
 * team's first device. Each frame is computed by one device, so the bits do not depend on their number. */
typedef struct series_normal {
    crew *c;
    const frame_group *group;
    int parts;
    series_part *part; /* [parts] */
} series_normal;

/* Makes F^H W F of the group's trajectories, and copies the place's maps, which must have been made, to all devices.
 * Call series_normal_free even after an error. Errors: as normal_matrix_create. */
VF_MUST_CHECK vf_status series_normal_create(crew *c, const frame_group *g, series_normal *out);
void series_normal_free(series_normal *s);
/* That of frame f of the group. */
const vf_normal *series_normal_of(const series_normal *s, int f);
/* Makes an operator of it, which it must outlive. Errors: as vf_operator_blocks. */
VF_MUST_CHECK vf_status series_normal_operator(const series_normal *s, vf_operator **out);

/* ---- series.c ---- */

/* Makes the images of a group of frames of one place together, [frame][channel][voxel]. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_solve_series(crew *c, const frame_group *g, char *images);

/* Adds an image's share to the effort of a frame; `first`: of the frame's images. */
void effort_add(const recon_job *job, const scan_frame *frame, const solve_result *result, bool first);

/* ---- windows.c ---- */

/* Window number `number` of series_windows for the frames [first, first + frames) of a place. */
frame_group window_of_series(const series_windows *windows, int first, int frames, int number);
/* Blends the frames that a window shares with the one before, whose images are in `shared`; then copies to `shared`
 * those that it shares with the next. `images` as crew_make_group makes them. */
void window_blend(const recon_job *j, const frame_group *g, char *images, char *shared);

/* ---- frame_places.c ---- */

VF_MUST_CHECK vf_status places_create(recon_job *job);
void places_free(recon_job *job);

/* Makes the coil maps of the frame's place in host memory, once. */
VF_MUST_CHECK vf_status place_maps(crew *c, const scan_frame *frame);

/* Writes the maps of all places to settings->save_coils, if given. Call it after all frames are made. */
VF_MUST_CHECK vf_status places_save_maps(const recon_job *job);

/* Claims the powers of places whose first frame is in the group and that no crew has claimed yet. */
VF_MUST_CHECK vf_status claim_powers(crew *c, const frame_group *g);
/* Computes the place's power from the image F^H d of a claimed frame; does nothing for other frames. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status found_image(crew *c, const scan_frame *frame, const char *image);
/* Releases the claims that are left, so that other crews can take them. */
void leave_powers(crew *c);
/* The power of a frame's place; waits if another crew is finding it. False: the caller now has the claim, and must make
 * F^H d of the place's first frame and call found_image or leave_powers. */
bool place_power(crew *c, const scan_frame *frame, double *power);

/* sum over coils of |s|^2 of one set of maps, [voxels] */
void map_powers(const recon_job *job, const float complex *maps, double *out);

/* ---- combine_sets.c ---- */

/* Combines a frame's images x_s, [set][voxel], into one, in place. The squared magnitude is sum_c |sum_s s_sc x_s|^2
 * for weighted maps, else sum_s |x_s|^2. The phase is from the stronger image. A single image stays as it is if its
 * maps are not weighted; so do the images of --method adjoint. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status combine_sets(const recon_job *job, const scan_frame *frame, float complex *images);

#endif
