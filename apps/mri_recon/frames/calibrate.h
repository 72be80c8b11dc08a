/* What the files that make coil maps share. */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "espirit.h"
#include "reconstruct.h"
#include "solve/equations.h"

typedef struct calibration {
    vf_context *ctx;
    const mri_scan *scan;
    const device_team *team;
    vf_queue *queue; /* the team's first */
    double k_cut[3];
    int64_t small[3];       /* the matrix that the centre fills */
    int64_t points, voxels; /* of the small matrix, of the scan's */
    scan_trajectory centre; /* samples of all frames within the centre; k only */
    float complex *data;    /* [coil][sample] of those */
    scan_trajectory grid;   /* the small matrix' Cartesian samples */
    float complex *gridded; /* [coil][point] */
    double share;           /* of the centre that is sampled */
} calibration;

/* Gathers the samples of the place's frames within c->small: `k` [sample][3] and `data` [coil][sample], which may be
 * NULL; `samples` is the length of data's rows. Returns how many there are. */
int64_t calibrate_gather(const calibration *c, int place, float *k, float complex *data, int64_t samples);

/* Brings the largest number near 1 by a power of two, which rounds nothing: maps are ratios, and the images that they
 * come from are in single precision whatever the scan's size. */
void calibrate_normalise(float complex *data, int64_t count);

/* Cuts the middle `n` out of c->gridded, [coil] of `whole`, in place. */
void calibrate_cut(calibration *c, const int64_t whole[3], const int64_t n[3]);

/* The fully sampled box of a Cartesian scan, samples as they are, in c->gridded; `n` stays as it is where there is none
 * of 12 lines along each axis. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status calibrate_cartesian(calibration *c, int place, int64_t n[3]);

/* Whether there is one. Needs c->scan alone. False also if there is no memory. */
bool calibrate_has_box(calibration *c, int place);

/* The block of calibration data [coil][n] in c->gridded: of a Cartesian scan as it is, else by least squares. n = 0:
 * the centre is not sampled well enough, and `must` is false. Errors: VF_ERR_MEMORY, as normal_matrix_create. */
VF_MUST_CHECK vf_status calibrate_block(calibration *c, int place, bool must, int64_t n[3], bool *cartesian);

/* c->grid: the Cartesian samples of c->small; voxel n's of its transform is k = n - N/2. */
VF_MUST_CHECK vf_status calibrate_number(calibration *c);

/* Smooth images [coil][voxels] on a matrix from the samples c->gridded of c->grid, which are tapered. */
VF_MUST_CHECK vf_status calibrate_images(calibration *c, const int64_t matrix[3], float complex *images);

/* Maps by ESPIRiT; made->sets is 0 where `must` is false and the centre is not sampled well enough. */
VF_MUST_CHECK vf_status calibrate_espirit(calibration *c, int place, bool must, recon_map_sets sets, recon_watch *watch,
                                          float complex *maps, calibrated *made, vf_espirit_quality *quality);

/* Frees what the functions here have made. */
void calibrate_release(calibration *c);

/* Coil maps by joint estimation (nlinv.h) from the centre's samples, one set; `made` gets a line on how. Warns where
 * they explain too little, or samples cannot tell them. Errors: as vf_density_weights, vf_nlinv; VF_ERR_INPUT (no
 * sample in the centre). */
VF_MUST_CHECK vf_status calibrate_jointly(calibration *c, int place, recon_watch *watch, float complex *maps,
                                          calibrated *made);
/* The floating-point operations of that for a place, about: in double precision, and on the host. */
double calibrate_jointly_work(const mri_scan *raw, bool on_grid);

#endif
