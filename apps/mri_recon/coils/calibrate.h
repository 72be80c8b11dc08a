/* Declarations shared by the files that estimate coil maps. */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "espirit.h"
#include "estimate_maps.h"
#include "solve/equations.h"

typedef struct calibration {
    vf_context *ctx;
    const mri_scan *scan;
    const device_team *team;
    vf_queue *queue; /* of the team's first device */
    double k_cut[3];
    int64_t small[3];       /* the matrix that the centre fills */
    int64_t points, voxels; /* of the small matrix; of the scan's matrix */
    scan_trajectory centre; /* samples of all frames within the centre; k only */
    float complex *data;    /* [coil][sample] of `centre` */
    scan_trajectory grid;   /* the small matrix's Cartesian samples */
    float complex *gridded; /* [coil][point] on `grid` */
    double share;           /* the share of the centre that is sampled */
    double inner_share;     /* and of its inner half, where most of the signal is */
    double lost;            /* the share of a known image that calibrate_solve loses; 0: not measured */
    bool phases;            /* frames of all phases are taken together */
} calibration;

/* Sets c->phases if the frames of one phase leave gaps in the centre of a Cartesian scan, and those of all phases together do
 * not: coils do not move with the heart. Only c->scan must be set. */
void calibrate_choose_phases(calibration *c, int place);

/* Gathers the samples of the place's frames within c->small, or of its calibration lines alone, if they have another
 * contrast or gain than the image's, into c->centre, and into c->data on request. There may be none. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status calibrate_gather(calibration *c, int place, bool data);
/* Only marks the points of c->small [z][y][x] where one of these samples lies. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status calibrate_mark_sampled(const calibration *c, int place, unsigned char *sampled);
/* Gathers with data. Fails if there are none; `cut` is for the message: the largest |k|, 0: not to be said. */
VF_MUST_CHECK vf_status calibrate_require(calibration *c, int place, double cut);

/* Scales the data by a power of two, without rounding, so that the largest number is near 1. Maps are ratios, so their
 * scale does not matter; this keeps the images behind them within the range of single precision. */
void calibrate_normalise(const vf_context *ctx, float complex *data, int64_t count);

/* The nearest whole number, as llroundf, for |k| < 2^52. It is not a call, so it is cheap in loops over samples. The sum is
 * exact in double precision where it matters, just below a half. */
static inline int64_t calibrate_nearest(float k)
{
    return (int64_t)((double)k + (k < 0 ? -0.5 : 0.5));
}

/* The index of a sample in a Cartesian block of `n`; -1 if it is off the grid or outside. */
int64_t calibrate_point_of(const int64_t n[3], const float *k);

/* Sets a mark of an array that the threads of a team share. It looks first, because most marks are set by many samples. */
void calibrate_mark(unsigned char *mark);

/* Crops c->gridded in place from `whole` to the middle `n`, for each coil. */
void calibrate_cut(calibration *c, const int64_t whole[3], const int64_t n[3]);

/* Puts the samples of a Cartesian scan's fully sampled box, unchanged but for a common scale, into c->gridded, and its
 * size into `n`. `n` stays unchanged if no box has 12 lines along each axis. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status calibrate_cartesian(calibration *c, int place, int64_t n[3]);

/* Whether there is such a box. Only c->scan must be set. False if memory runs out. */
bool calibrate_has_box(calibration *c, int place);

/* Puts the block of calibration data [coil][n] into c->gridded: by calibrate_cartesian if possible, else by least
 * squares. n = 0: the centre is not sampled well enough, and `must` is false. Errors: VF_ERR_MEMORY, as
 * normal_matrix_create. */
VF_MUST_CHECK vf_status calibrate_block(calibration *c, int place, bool must, int64_t n[3], bool *cartesian);

/* Makes c->grid, the Cartesian samples of c->small: point n along an axis of N has k = n - N/2. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status calibrate_number(calibration *c);

/* Solves for the coils' small images from c->data by least squares, and puts their Cartesian samples into c->gridded. If `kept`
 * is not NULL and c->share is below 1, it measures c->lost in the middle `kept` samples of c->small. Errors: as
 * vf_normal_create, solve. */
VF_MUST_CHECK vf_status calibrate_solve(calibration *c, const int64_t kept[3]);

/* Makes smooth images [coil][voxels] on a matrix from the samples c->gridded of c->grid, which it tapers in place. */
VF_MUST_CHECK vf_status calibrate_images(calibration *c, const int64_t matrix[3], float complex *images);

/* Makes maps by ESPIRiT. If the centre is not sampled well enough and `must` is false, made->sets stays 0. */
VF_MUST_CHECK vf_status calibrate_espirit(calibration *c, int place, bool must, recon_map_sets sets, recon_watch *watch,
                                          float complex *maps, calibrated *made, vf_espirit_quality *quality);

/* Frees the arrays of the calibration. */
void calibrate_release(calibration *c);

/* Makes one set of maps by joint estimation (nlinv.h) from the centre's samples. With `warn`, warns if they explain too
 * little of the data, or if the samples do not determine them. Errors: as vf_density_weights, vf_nlinv; VF_ERR_INPUT (no
 * sample in the centre). */
VF_MUST_CHECK vf_status calibrate_jointly(calibration *c, int place, bool warn, recon_watch *watch, float complex *maps,
                                          calibrated *made);
/* Makes one set of maps by vf_coil_maps_walsh. With `warn`, warns if too little of the centre is sampled. */
VF_MUST_CHECK vf_status calibrate_walsh(calibration *c, int place, bool warn, float complex *maps, calibrated *made);
/* ESPIRiT's truncation for original samples. */
#define CALIBRATE_TRUNCATION 3e-5
/* Maps must explain this share of the calibration data, or there is a warning. */
#define CALIBRATE_LEAST_EXPLAINED 0.9

/* ---- calibrate_compare.c ---- */

/* The coils' images of low resolution, and the nearest voxels of the scan's matrix. */
typedef struct low_resolution {
    int64_t n[3], points;
    float complex *images; /* [coil][points] */
    int64_t *voxel;        /* [points] the nearest */
} low_resolution;
/* Makes them from the block of calibration data; points stays 0 if the centre is not sampled well enough. */
VF_MUST_CHECK vf_status calibrate_low_resolution(calibration *c, int place, low_resolution *l);
void calibrate_low_resolution_free(low_resolution *l);
/* The share of the energy that maps [coil][voxels] do not explain; over voxels where `others` are not 0, too, if they
 * are given, else over all: where maps are 0, they explain nothing. */
double calibrate_unexplained(const calibration *c, const low_resolution *l, const float complex *maps,
                             const float complex *others);

/* Replaces ESPIRiT's maps, which explain too little, by those of another method if they explain more, with a warning. */
VF_MUST_CHECK vf_status calibrate_replace(calibration *c, int place, double explained, float complex *maps,
                                          calibrated *made, bool *replaced);
/* The approximate number of floating-point operations of calibrate_jointly for a place; all run on the host, in double
 * precision. */
double calibrate_jointly_work(const mri_scan *raw, bool on_grid);

#endif
