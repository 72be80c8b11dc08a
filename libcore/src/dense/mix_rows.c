#include <complex.h>
#include <omp.h>
#include <stdlib.h>

#include "mix_rows.h"
#include "voxfield/dense.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"

static mix_block *const mixers[VF_ISA_COUNT] = {
    mix_block_baseline,
#if defined(__x86_64__)
    mix_block_avx2,
    mix_block_avx512,
#endif
};

vf_status vf_mix_sets(vf_context *ctx, int64_t sets, int rows, int columns, const void *mix, int64_t count,
                      void *rows_of_data)
{
    const double complex *matrix = mix;
    float complex *data = rows_of_data;
    const int64_t blocks = (count + MIX_BLOCK - 1) / MIX_BLOCK;
    mix_block *const mix_some = mixers[vf_cpu_isa()];
    const int threads = vf_threads_for(ctx, sets * rows * columns * count / 2);
    const size_t of_set = (size_t)rows * (size_t)columns, elements = (size_t)sets * of_set;
    const size_t per_thread = (size_t)columns * 2 * MIX_BLOCK;
    float *small = calloc(2 * elements + (size_t)threads * per_thread, sizeof *small);
    if (!small)
        return vf_fail(ctx, VF_ERR_MEMORY, "mixing %d rows: not enough memory", columns);
    for (size_t e = 0; e < elements; e++) {
        small[2 * e] = (float)creal(matrix[e]);
        small[2 * e + 1] = (float)cimag(matrix[e]);
    }
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
    for (int64_t b = 0; b < sets * blocks; b++) {
        float *work = small + 2 * elements + (size_t)omp_get_thread_num() * per_thread;
        const int64_t set = b / blocks, first = b % blocks * MIX_BLOCK;
        const int width = count - first < MIX_BLOCK ? (int)(count - first) : MIX_BLOCK;
        if (!vf_cancelled(ctx))
            mix_some(rows, columns, small + 2 * (size_t)set * of_set, count, width, work,
                     data + set * columns * count + first);
    }
    free(small);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

vf_status vf_mix_rows(vf_context *ctx, int rows, int columns, const void *mix, int64_t count, void *data)
{
    return vf_mix_sets(ctx, 1, rows, columns, mix, count, data);
}
