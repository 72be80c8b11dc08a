/* The Coulomb sum at single points: dividing the atoms and the points among threads. */
#include "coulomb_points.h"

#include "backend/variants.h"
#include "voxfield/team_size.h"

double vf_coulomb_point(const vf_context *ctx, const vf_coulomb_atoms *atoms, const double at[3], double r_min,
                        bool square)
{
    static coulomb_point_sum *const sums[] = {coulomb_point_baseline, coulomb_point_avx2, coulomb_point_avx512};
    enum { PART = 4096, MOST_PARTS = 64 };
    coulomb_point_sum *const sum_part = sums[vf_cpu_isa()];
    double sum = 0;
    /* The parts do not depend on the number of threads, and are added in order. */
    for (int64_t from = 0; from < atoms->count; from += (int64_t)PART * MOST_PARTS) {
        const int64_t left = atoms->count - from;
        const int parts = left < (int64_t)PART * MOST_PARTS ? (int)((left + PART - 1) / PART) : MOST_PARTS;
        double part[MOST_PARTS];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, left))
        for (int p = 0; p < parts; p++) {
            const int64_t first = from + (int64_t)p * PART, rest = atoms->count - first;
            part[p] = sum_part(atoms, first, rest < PART ? rest : PART, at, r_min, square);
        }
        for (int p = 0; p < parts; p++)
            sum += part[p];
    }
    return sum;
}

/* Points [first, first + count), at most a group. What is left of the group repeats the last point. */
static void sum_group(const vf_coulomb_atoms *atoms, const vf_coulomb_options *o, int64_t first, int64_t count,
                      const double *points, double *values, double *electric)
{
    static coulomb_group_sum *const sums[] = {coulomb_group_baseline, coulomb_group_avx2, coulomb_group_avx512};
    enum { G = COULOMB_POINTS_GROUP, PART = 2048 }; /* atoms whose sum is made by itself: less rounding */
    double at[3 * G], sum[4 * G] = {0};
    for (int64_t n = 0; n < G; n++)
        for (int a = 0; a < 3; a++)
            at[a * G + n] = points[3 * (first + (n < count ? n : count - 1)) + a];
    for (int64_t from = 0; from < atoms->count; from += PART) {
        const int64_t left = atoms->count - from;
        sums[vf_cpu_isa()](atoms, from, left < PART ? left : PART, o->r_min, o->distance_dielectric, electric != NULL,
                           at, sum);
    }
    for (int64_t n = 0; n < count; n++) {
        values[first + n] = o->scale * sum[n];
        for (int a = 0; electric && a < 3; a++)
            electric[3 * (first + n) + a] = o->scale * sum[(a + 1) * G + n];
    }
}

vf_status vf_coulomb_points(vf_context *ctx, const vf_coulomb_atoms *atoms, const vf_coulomb_options *options,
                            int64_t count, const double *points, double *values, double *electric)
{
    const int64_t groups = (count + COULOMB_POINTS_GROUP - 1) / COULOMB_POINTS_GROUP;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, count * atoms->count))
    for (int64_t g = 0; g < groups; g++) {
        const int64_t first = g * COULOMB_POINTS_GROUP, left = count - first;
        if (!vf_cancelled(ctx))
            sum_group(atoms, options, first, left < COULOMB_POINTS_GROUP ? left : COULOMB_POINTS_GROUP, points, values,
                      electric);
    }
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
