/* Combines the images of several sets of maps into one, and restores even intensity where weighted maps fade. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame_images.h"
#include "voxfield/team_size.h"

/* squares[n] = sum_c |sum_s s_sc(n) x_s(n)|^2 */
static void add_what_coils_see(const recon_job *j, const frame_place *place, const float complex *images,
                               double *squares)
{
    const int coils = j->scan->coils, sets = place->sets;
    const int64_t voxels = j->voxels;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * sets * coils * voxels))
    for (int64_t n = 0; n < voxels; n++) {
        squares[n] = 0;
        for (int c = 0; c < coils; c++) {
            double re = 0, im = 0;
            for (int s = 0; s < sets; s++) {
                const float complex a = place->maps[(s * coils + c) * voxels + n], x = images[s * voxels + n];
                re += (double)crealf(a) * crealf(x) - (double)cimagf(a) * cimagf(x);
                im += (double)crealf(a) * cimagf(x) + (double)cimagf(a) * crealf(x);
            }
            squares[n] += re * re + im * im;
        }
    }
}

static double square(float complex x)
{
    return (double)crealf(x) * crealf(x) + (double)cimagf(x) * cimagf(x);
}

vf_status combine_sets(const recon_job *j, const scan_frame *frame, float complex *images)
{
    const frame_place *place = &j->place[frame->place];
    const int64_t voxels = j->voxels;
    if (!j->has_maps || j->solve->method == RECON_ADJOINT || (place->sets == 1 && !place->weighted))
        return VF_OK;
    double *squares = calloc((size_t)voxels, sizeof *squares);
    if (!squares)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory to combine images");
    if (place->weighted)
        add_what_coils_see(j, place, images, squares);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 5 * voxels))
    for (int64_t n = 0; n < voxels; n++) {
        int strongest = 0;
        for (int s = 0; s < place->sets; s++) {
            squares[n] += place->weighted ? 0 : square(images[s * voxels + n]);
            if (square(images[s * voxels + n]) > square(images[strongest * voxels + n]))
                strongest = s;
        }
        const float complex x = images[strongest * voxels + n];
        const double size = sqrt(square(x));
        images[n] = size > 0 ? (float complex)(x * (sqrt(squares[n]) / size)) : 0;
    }
    free(squares);
    return VF_OK;
}
