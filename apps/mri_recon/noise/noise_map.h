/* The noise of each voxel, from replicas (noise_map.c). */
#ifndef NOISE_MAP_H
#define NOISE_MAP_H

#include "frames/recon_job.h"

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

#endif
