/* The noise of each voxel of an image, by pseudo-replicas (Robson et al., Magn. Reson. Med. 60 (2008) 895): the solver
 * runs many times on noise instead of data. The solution is linear in the data, so the image itself is not needed. */
#include <math.h>
#include <stdlib.h>

#include "frames/frame_places.h"
#include "noise_map.h"
#include "noise_settings.h"
#include "voxfield/team_size.h"

vf_status noise_map_create(recon_job *j, noise_map *out)
{
    const mri_scan *raw = j->scan;
    const size_t most = (size_t)raw->places * (size_t)j->noise->replicas;
    *out = (noise_map){.job = j, .replica = calloc(most + 1, sizeof *out->replica)};
    out->squares = calloc((size_t)raw->places * (size_t)j->voxels, sizeof *out->squares);
    j->frames = calloc(most + 1, sizeof *j->frames);
    j->frame_count = 0;
    if (!out->replica || !out->squares || !j->frames)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the noise map");
    for (int t = 0; t < raw->trajectories; t++)
        for (int p = 0; p < raw->places; p++) {
            const scan_frame *first = j->place[p].first;
            for (int r = 0; first && first->trajectory == t && r < j->noise->replicas; r++) {
                scan_frame *replica = &out->replica[j->frame_count];
                *replica = *first;
                replica->data = NULL;
                replica->replica = r + 1;
                j->frames[j->frame_count++] = replica;
            }
        }
    return VF_OK;
}

void noise_map_free(noise_map *map)
{
    free(map->replica);
    free(map->squares);
    free(map->job->frames);
    map->job->frames = NULL;
    map->job->frame_count = 0;
}

void noise_map_add(void *user, const scan_frame *frame, const float complex *image)
{
    const noise_map *map = user;
    const recon_job *j = map->job;
    float *squares = map->squares + frame->place * j->voxels;
    const float share = 1 / (float)(j->noise->replicas * j->channels); /* channels are root-sum-squared */
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, j->voxels))
    for (int64_t n = 0; n < j->voxels; n++)
        squares[n] += share * (crealf(image[n]) * crealf(image[n]) + cimagf(image[n]) * cimagf(image[n]));
}

/* Q(0) of a trajectory. */
static double sum_of_weights(const recon_job *j, const scan_trajectory *at)
{
    double sum = 0;
    for (int64_t m = 0; m < at->samples; m++) {
        const double complex phi = sample_phi(j->solve, j->scan, at, m);
        sum += (at->weights ? at->weights[m] : 1) * creal(phi * conj(phi));
    }
    return sum;
}

/* The effective number of complex numbers in a voxel of the combined image, from `power`, the sum of |s|^2 in each set:
 * (sum power)^2 / sum power^2. The replicas add up the noise of all of them, but the deviation counts only one. */
static double numbers_of(const double *power, int sets, int64_t voxels, int64_t voxel)
{
    double sum = 0, squares = 0;
    for (int s = 0; s < sets; s++) {
        sum += power[s * voxels + voxel];
        squares += power[s * voxels + voxel] * power[s * voxels + voxel];
    }
    return squares > 0 ? sum * sum / squares : 1;
}

vf_status noise_map_finish(const noise_map *map, recon_put_noise put, void *user)
{
    const recon_job *j = map->job;
    const mri_scan *raw = j->scan;
    const double sigma = sqrt(j->level.variance);
    const bool adjoint = j->solve->method == RECON_ADJOINT;
    double *power = malloc((size_t)(j->most_sets * j->voxels) * sizeof *power);
    float *g = malloc((size_t)j->voxels * sizeof *g);
    vf_status status = power && g ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the noise map");
    for (int p = 0; p < raw->places && status == VF_OK; p++) {
        const scan_frame *first = j->place[p].first;
        float *deviation = map->squares + p * j->voxels;
        if (!first)
            continue;
        const double all = sum_of_weights(j, &raw->trajectory[first->trajectory]);
        const frame_place *place = &j->place[p];
        for (int s = 0; s < place->sets && j->has_maps; s++)
            map_powers(j, place->maps + s * raw->coils * j->voxels, power + s * j->voxels);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 20 * j->voxels))
        for (int64_t n = 0; n < j->voxels; n++) {
            const double numbers = place->sets > 1 ? numbers_of(power, place->sets, j->voxels, n) : 1;
            const double one = sqrt((double)deviation[n] / numbers);
            const bool even = place->weighted && !adjoint; /* the image was multiplied by |s| */
            const double best = sqrt(all * (j->has_maps && !even ? power[n] : 1));
            g[n] = (float)(adjoint ? (best > 0 ? one / best : 0) : one * best);
            deviation[n] = (float)(sigma * one);
        }
        put(user, first, deviation, g);
    }
    free(power);
    free(g);
    return status;
}
