/* A crew: a team of devices with the state that it keeps between groups of frames. */
#ifndef CREW_H
#define CREW_H

#include "recon_job.h"
#include "solve/equations.h"
#include "solve/normal_operator.h"
#include "wiener.h"

/* The problem of some frames that are solved for together, often one: its vectors are on one device. */
typedef struct device_solver {
    vf_queue *queue;
    vf_operator *normal; /* F^H W F, of all devices that share it */
    vf_prior known;
    const float complex *support_of; /* support and balance of `known` are those of these maps (NULL: of none), */
    double support_power;            /* for this power */
    vf_array b, x;                   /* [image][voxels]: sets of maps, or frames */
    sparse_problem sparse;           /* penalties NULL: none, or not made. `even` is the array of `known` */
} device_solver;

typedef struct crew crew;

/* vf_sure_problem's; all vectors are in host memory. */
typedef vf_status (*sure_estimate)(void *user, double factor, bool again, const void *b, void *x, double *data);

/* What a caller wants of the problem of a group of frames. */
typedef struct group_request {
    const char *name; /* for the progress line, as "noise: "; NULL: the frames' numbers */
    bool own;         /* the frames' own images: a missing side of k-space is made up for, and the effort is theirs */
    bool sparse;      /* with the sparse priors; else with the quadratic prior alone */
    bool series;      /* the group's frames are solved for together: its sparse priors couple them; else one by one */
    double lambda, tolerance; /* of the quadratic prior's problem */
    double energy;            /* as in vf_cg_options; 0: the tolerance alone */
    int iterations;
    const char *start;    /* images to start from, as those of crew_make_group; NULL: 0, or the job's first image */
    group_effort *effort; /* adds to it; NULL: not asked for */
    /* Prepares, before the solver's memory is there, and searches for a factor on lambda in place of one solution; `estimate`
     * solves with a factor. NULL: one solution. */
    vf_status (*prepare)(crew *c, const frame_group *group);
    vf_status (*search)(crew *c, const char *b, int64_t count, sure_estimate estimate, void *user);
} group_request;

struct crew {
    recon_job *job;
    device_team team;
    recon_watch *watch;
    recon_summary summary; /* of its own frames */
    int last;              /* the job's number of its last frame */
    device_maps maps;
    double *map_power;                 /* [set][voxels] sum over coils of |s|^2 of the maps map_power_of */
    const float complex *map_power_of; /* NULL: not made */
    int map_power_sets;                /* that there is room for */
    int shares;                        /* devices with a share of F^H W F; 0: there is no solver yet */
    normal_share *share;               /* [shares] */
    int solvers;                       /* problems that are solved at the same time: without maps, coils'; else 1 */
    device_solver *solver;             /* [solvers] on the first devices */
    int trajectory;                    /* theirs, unless of a series */
    double diagonal;                   /* of F^H W F of the last frame that is solved for, without maps */
    int images, maps_filled;           /* of the solvers' operators: images that are solved for together; maps.filled */
    vf_normal *shared;     /* [team.count] F^H W F of the scan's only trajectory; NULL: the crew makes its own */
    const double *density; /* [voxels] of trajectory density_of (vf_sampling_density); NULL: not made */
    double *density_room;  /* of those that the crew makes */
    int density_of;
    vf_spectrum_sums spectrum;     /* of the samples of frame spectrum_of */
    const scan_frame *spectrum_of; /* NULL: not made */
    double mean_weight;            /* the mean of w |phi|^2 over its samples */
    double mean, unit;             /* of sparse priors: the mean eigenvalue of F^H W F, and the unit of lambda */
    bool has_reference;            /* the solvers have the weights of a place's references, */
    int reference_place;           /* of this place, */
    double reference_sharpness, reference_mean; /* with this sharpness, and so large on average */
    double factor, filled;                      /* of the last regularised frame: on its weights, and of its envelope */
    frame_envelope *envelope;                   /* [envelopes] of the group's frames */
    int envelopes;
    bool kept_envelope;           /* envelope[0] is that of kept_of */
    const scan_frame *kept_of;    /* the frame whose first image was made last; NULL: none */
    char *kept;                   /* its F^H d, for the next image of the same frame */
    char kept_encoding[128];      /* how it was made, for the summary */
    char *probe;                  /* of the frames that lambda is chosen for: sure.h's p */
    char *applied;                /* gets F^H W F of each solution; NULL: not needed */
    int probed;                   /* the job's number of the first of them, for references */
    const scan_frame **claim;     /* frames whose power this crew must find, NULL-terminated */
    const group_request *request; /* of the group in progress */
};

#endif
