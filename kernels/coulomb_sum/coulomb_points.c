/* The Coulomb sum at single points: dividing the atoms and the points among threads. */
#include "coulomb_points.h"

#include "backend/variants.h"

double vf_coulomb_point(const vf_coulomb_atoms *atoms, const double at[3], double r_min, bool square, int threads)
{
    static coulomb_point_sum *const sums[] = {coulomb_point_baseline, coulomb_point_avx2, coulomb_point_avx512};
    /* Parts are large enough for their sums to take longer than waking a thread. */
    enum { PART = 4096, MOST_PARTS = 64, PARTS_OF_THREAD = 4 };
    coulomb_point_sum *const sum_part = sums[vf_cpu_isa()];
    double sum = 0;
    /* The parts do not depend on the number of threads, and are added in order. */
    for (int64_t from = 0; from < atoms->count; from += (int64_t)PART * MOST_PARTS) {
        const int64_t left = atoms->count - from;
        const int parts = left < (int64_t)PART * MOST_PARTS ? (int)((left + PART - 1) / PART) : MOST_PARTS;
        double part[MOST_PARTS];
        const int useful = parts / PARTS_OF_THREAD, some = useful < 1 ? 1 : useful < threads ? useful : threads;
#pragma omp parallel for schedule(static) num_threads(some) if (some > 1)
        for (int p = 0; p < parts; p++) {
            const int64_t first = from + (int64_t)p * PART, rest = atoms->count - first;
            part[p] = sum_part(atoms, first, rest < PART ? rest : PART, at, r_min, square);
        }
        for (int p = 0; p < parts; p++)
            sum += part[p];
    }
    return sum;
}

vf_status vf_coulomb_points(vf_context *ctx, const vf_coulomb_atoms *atoms, const vf_coulomb_options *options,
                            int64_t count, const double *points, double *values)
{
    const int64_t most = vf_context_threads(ctx);
    const int threads = (int)(count < most ? count : most);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
    for (int64_t n = 0; n < count; n++)
        if (!vf_cancelled(ctx))
            values[n] = options->scale *
                        vf_coulomb_point(atoms, points + 3 * n, options->r_min, options->distance_dielectric, 1);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
