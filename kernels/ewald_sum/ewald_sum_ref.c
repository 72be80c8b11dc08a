/* The reference for periodic cells: Ewald's sum with Gaussians, in plain double precision, on one thread. Never tuned.
 *
 *     V(r) = sum_i q_i [sum_n erfc(a |d + n|) / |d + n| + 4 pi / V sum_(k != 0) exp(-k^2 / 4 a^2) cos(k.d) / k^2
 *                       - pi / (a^2 V)],     d = r - r_i
 *
 * P. P. Ewald, Ann. Phys. 369 (1921) 253. The last term is that of the uniform background of a net charge. Within r_min
 * of a charge or image, 1 / r becomes 1 / r_min. */
#include <math.h>

#include "ewald_sum.h"

static const double pi = 3.14159265358979323846;

typedef struct lattice {
    double vectors[3][3], reciprocal[3][3], volume; /* reciprocal: a_i . b_j = 2 pi delta_ij */
    double alpha, cutoff, most;                     /* in space, and of wave numbers */
    int images[3], waves[3];                        /* numbers to either side */
} lattice;

static double length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static lattice make_lattice(const vf_cell *cell)
{
    lattice l = {.volume = vf_cell_volume(cell)};
    const double reach = 6.2; /* erfc(6.2) < 2e-18, exp(-6.2^2) < 3e-17 */
    for (int i = 0; i < 3; i++) {
        const double *b = cell->vectors[(i + 1) % 3], *c = cell->vectors[(i + 2) % 3];
        for (int a = 0; a < 3; a++) {
            l.vectors[i][a] = cell->vectors[i][a];
            l.reciprocal[i][a] =
                2 * pi * (b[(a + 1) % 3] * c[(a + 2) % 3] - b[(a + 2) % 3] * c[(a + 1) % 3]) / l.volume;
        }
    }
    l.alpha = sqrt(pi) / cbrt(l.volume); /* as many images as waves */
    l.cutoff = reach / l.alpha;
    l.most = 2 * reach * l.alpha;
    for (int i = 0; i < 3; i++) {
        l.images[i] = (int)ceil(l.cutoff * length(l.reciprocal[i]) / (2 * pi)) + 1;
        l.waves[i] = (int)ceil(l.most * length(l.vectors[i]) / (2 * pi));
    }
    return l;
}

static void combine(const double vectors[3][3], const double factors[3], double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = factors[0] * vectors[0][a] + factors[1] * vectors[1][a] + factors[2] * vectors[2][a];
}

/* d moved into the cell around 0. */
static void reduce(const lattice *l, double d[3])
{
    double turns[3], shift[3];
    for (int i = 0; i < 3; i++)
        turns[i] =
            round((l->reciprocal[i][0] * d[0] + l->reciprocal[i][1] * d[1] + l->reciprocal[i][2] * d[2]) / (2 * pi));
    combine(l->vectors, turns, shift);
    for (int a = 0; a < 3; a++)
        d[a] -= shift[a];
}

static double over_images(const lattice *l, const double d[3], double r_min)
{
    double sum = 0;
    for (int i = -l->images[0]; i <= l->images[0]; i++)
        for (int j = -l->images[1]; j <= l->images[1]; j++)
            for (int k = -l->images[2]; k <= l->images[2]; k++) {
                double n[3];
                combine(l->vectors, (const double[3]){i, j, k}, n);
                for (int a = 0; a < 3; a++)
                    n[a] += d[a];
                const double r = length(n);
                if (r >= l->cutoff && r >= r_min)
                    continue;
                if (r >= r_min)
                    sum += erfc(l->alpha * r) / r;
                else /* 1 / r_min, and what the waves have is taken away */
                    sum += 1 / r_min - (r > 0 ? erf(l->alpha * r) / r : 2 * l->alpha / sqrt(pi));
            }
    return sum;
}

static double over_waves(const lattice *l, const double d[3])
{
    double sum = 0;
    for (int i = -l->waves[0]; i <= l->waves[0]; i++)
        for (int j = -l->waves[1]; j <= l->waves[1]; j++)
            for (int k = -l->waves[2]; k <= l->waves[2]; k++) {
                double wave[3];
                combine(l->reciprocal, (const double[3]){i, j, k}, wave);
                const double k2 = wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2];
                if (k2 > 0 && k2 < l->most * l->most)
                    sum += exp(-k2 / (4 * l->alpha * l->alpha)) / k2 *
                           cos(wave[0] * d[0] + wave[1] * d[1] + wave[2] * d[2]);
            }
    return 4 * pi / l->volume * sum;
}

void vf_ewald_reference(const vf_cell *cell, const vf_coulomb_atoms *charges, double scale, double r_min, bool vacuum,
                        int64_t count, const double *points, double *values)
{
    const lattice l = make_lattice(cell);
    for (int64_t p = 0; p < count; p++) {
        const double *r = points + 3 * p;
        double sum = 0;
        for (int64_t i = 0; i < charges->count; i++) {
            const double at[3] = {charges->x[i], charges->y[i], charges->z[i]}, q = charges->charge[i];
            double d[3] = {r[0] - at[0], r[1] - at[1], r[2] - at[2]};
            reduce(&l, d);
            sum += q * (over_images(&l, d, r_min) + over_waves(&l, d) - pi / (l.alpha * l.alpha * l.volume));
            for (int a = 0; vacuum && a < 3; a++)
                sum += 4 * pi / (3 * l.volume) * q * at[a] * r[a];
        }
        values[p] = scale * sum;
    }
}
