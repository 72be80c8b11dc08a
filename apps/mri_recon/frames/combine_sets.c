/* Combines the images of several sets of maps into one, and restores even intensity where weighted maps fade. */
#include <math.h>

#include "frame_images.h"
#include "voxfield/team_size.h"

enum { PIECE = 512 }; /* voxels at a time, whose sums stay in the caches */

/* squares[n] = sum_c |sum_s s_sc x_s|^2 of voxel first + n */
static void add_what_coils_see(const recon_job *j, const frame_place *place, const float complex *images, int64_t first,
                               int64_t count, double squares[PIECE])
{
    const int coils = j->scan->coils, sets = place->sets;
    double re[PIECE], im[PIECE];
    for (int64_t n = 0; n < count; n++)
        squares[n] = 0;
    for (int c = 0; c < coils; c++) {
        for (int64_t n = 0; n < count; n++)
            re[n] = im[n] = 0;
        for (int s = 0; s < sets; s++) {
            const float *a = (const float *)(place->maps + (s * coils + c) * j->voxels + first);
            const float *x = (const float *)(images + s * j->voxels + first);
            for (int64_t n = 0; n < count; n++) {
                re[n] += (double)a[2 * n] * x[2 * n] - (double)a[2 * n + 1] * x[2 * n + 1];
                im[n] += (double)a[2 * n] * x[2 * n + 1] + (double)a[2 * n + 1] * x[2 * n];
            }
        }
        for (int64_t n = 0; n < count; n++)
            squares[n] += re[n] * re[n] + im[n] * im[n];
    }
}

static double square(float complex x)
{
    return (double)crealf(x) * crealf(x) + (double)cimagf(x) * cimagf(x);
}

static void combine(const recon_job *j, const frame_place *place, int64_t first, int64_t count, float complex *images)
{
    double squares[PIECE] = {0};
    if (place->weighted)
        add_what_coils_see(j, place, images, first, count, squares);
    for (int64_t n = first; n < first + count; n++) {
        double sum = squares[n - first];
        int strongest = 0;
        for (int s = 0; s < place->sets; s++) {
            sum += place->weighted ? 0 : square(images[s * j->voxels + n]);
            if (square(images[s * j->voxels + n]) > square(images[strongest * j->voxels + n]))
                strongest = s;
        }
        const float complex x = images[strongest * j->voxels + n];
        const double size = sqrt(square(x));
        images[n] = size > 0 ? (float complex)(x * (sqrt(sum) / size)) : 0;
    }
}

void combine_sets(const recon_job *j, const scan_frame *frame, float complex *images)
{
    const frame_place *place = &j->place[frame->place];
    const int64_t pieces = (j->voxels + PIECE - 1) / PIECE;
    if (!j->has_maps || j->solve->method == RECON_ADJOINT || (place->sets == 1 && !place->weighted))
        return;
#pragma omp parallel for schedule(static)                                                                              \
    num_threads(vf_threads_for(j->ctx, (5 + 2 * place->sets * j->scan->coils) * j->voxels))
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t left = j->voxels - i * PIECE;
        combine(j, place, i * PIECE, left < PIECE ? left : PIECE, images);
    }
}
