/* G(x) and the eigenvectors of its largest eigenvalues, voxel by voxel. G is a trigonometric polynomial with few terms,
 * so it is summed directly, axis by axis, for any matrix. LANES rows along y are processed together, moving along x.
 * Orthogonal iteration at a voxel starts from the eigenvectors of the previous one (espirit_voxels_isa.inc). */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "espirit_voxels.h"
#include "voxfield/team_size.h"

static espirit_rows *const rows_of[VF_ISA_COUNT] = {
    espirit_rows_baseline,
#if defined(__x86_64__)
    espirit_rows_avx2,
    espirit_rows_avx512,
#endif
};

void espirit_turn(int64_t d, int64_t n, int64_t count, float *re, float *im)
{
    const double phase = 2 * M_PI * (double)(d * (n - count / 2) % count) / (double)count;
    *re = (float)cos(phase);
    *im = (float)sin(phase);
}

espirit_between espirit_on_block(const espirit *e, int axis, int64_t n, int64_t count)
{
    const int64_t points = e->task->block[axis];
    const double at = (double)(n - count / 2) * (double)points / (double)count + (double)(points / 2);
    const double within = fmin(fmax(at, 0), (double)(points - 1));
    const int64_t low = (int64_t)within;
    return (espirit_between){.low = low, .next = low + 1 < points, .part = (float)(within - (double)low)};
}

static void make_mix(const espirit *e, bool expand, float *mix)
{
    const int coils = expand ? e->task->coils : e->coils;
    for (int c = 0; c < coils; c++)
        for (int v = 0; v < e->coils; v++) {
            const double complex m = expand ? e->mix[v * coils + c] : c == v;
            mix[2 * (c * e->coils + v)] = (float)creal(m);
            mix[2 * (c * e->coils + v) + 1] = (float)cimag(m);
        }
}

static void free_workers(worker *workers, int count, float *mix, float *turns)
{
    for (int t = 0; workers && t < count; t++) {
        free(workers[t].plane);
        free(workers[t].line);
        free(workers[t].steady_plane);
        free(workers[t].steady_line);
    }
    free(workers);
    free(mix);
    free(turns);
}

vf_status espirit_voxels(const espirit *e, const int64_t matrix[3], int sets, bool expand, float complex *vectors,
                         float *eigenvalue, double share)
{
    const int coils = expand ? e->task->coils : e->coils;
    const int64_t blocks = (matrix[1] + LANES - 1) / LANES, jobs = blocks * matrix[2];
    const size_t elements = (size_t)e->coils * (size_t)e->coils;
    espirit_rows *rows = rows_of[vf_cpu_isa()];
    worker *workers = aligned_alloc(_Alignof(worker), (size_t)e->threads * sizeof *workers);
    float *mix = malloc(2 * (size_t)coils * (size_t)e->coils * sizeof *mix);
    float *turns = malloc(2 * (size_t)matrix[0] * (size_t)e->span[0] * sizeof *turns);
    bool enough = workers && mix && turns;
    if (workers)
        memset(workers, 0, (size_t)e->threads * sizeof *workers);
    for (int t = 0; t < e->threads && enough; t++) {
        workers[t] = (worker){.e = e,
                              .matrix = matrix,
                              .sets = sets,
                              .expand = expand,
                              .vectors = vectors,
                              .eigenvalue = eigenvalue,
                              .mix = mix,
                              .turn_x = turns};
        workers[t].plane = malloc(2 * elements * (size_t)(e->span[0] * e->span[1]) * sizeof(float));
        workers[t].line = malloc(2 * elements * (size_t)e->span[1] * sizeof(float));
        enough = workers[t].plane && workers[t].line;
        if (e->steady && enough) {
            const size_t fields = (size_t)ESPIRIT_FIELDS(e), y = (size_t)e->task->block[1];
            workers[t].steady_plane = malloc(fields * y * (size_t)e->task->block[0] * sizeof(float));
            workers[t].steady_line = malloc(fields * y * sizeof(float));
            enough = workers[t].steady_plane && workers[t].steady_line;
        }
    }
    if (!enough) {
        free_workers(workers, e->threads, mix, turns);
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    }
    make_mix(e, expand, mix);
    for (int64_t x = 0; x < matrix[0]; x++)
        for (int d = 0; d < e->span[0]; d++)
            espirit_turn(d - e->width[0] + 1, x, matrix[0], turns + 2 * (x * e->span[0] + d),
                         turns + 2 * (x * e->span[0] + d) + 1);
#pragma omp parallel for schedule(dynamic, 1)                                                                          \
    num_threads(vf_threads_of_plan(e->ctx, e->threads, jobs *LANES *matrix[0] * coils))
    for (int64_t job = 0; job < jobs; job++) {
        if (vf_cancelled(e->ctx))
            continue;
        rows(&workers[omp_get_thread_num()], job % blocks * LANES, job / blocks);
#pragma omp critical(espirit_tell)
        espirit_tell(e, share / (double)jobs);
    }
    free_workers(workers, e->threads, mix, turns);
    return vf_cancelled(e->ctx) ? vf_fail(e->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
