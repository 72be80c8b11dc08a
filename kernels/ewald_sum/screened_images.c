#include "screened_images.h"

#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

/* Of both sums: exp(-5.2^2) is 2e-12. The cutoff in edges of a cube of the cell's volume balances them. */
static const double reach = 5.2, cutoff_edges = 1.6;

typedef struct screened_wave {
    double k[3], weight; /* of k and -k together */
} screened_wave;

struct vf_screened_images {
    vf_cell cell;
    double kappa, r_min, alpha, cutoff, constant; /* of the wave 0 */
    int64_t count;
    screened_wave *wave;
};

/* The rows of the inverse of the vectors' matrix, times 2 pi. */
static void reciprocal(const vf_cell *cell, double out[3][3])
{
    const double(*v)[3] = cell->vectors, volume = vf_cell_volume(cell);
    for (int i = 0; i < 3; i++)
        for (int a = 0; a < 3; a++) {
            const double *p = v[(i + 1) % 3], *q = v[(i + 2) % 3];
            out[i][a] = 2 * PI / volume * (p[(a + 1) % 3] * q[(a + 2) % 3] - p[(a + 2) % 3] * q[(a + 1) % 3]);
        }
}

/* Lists the waves of half of space, or counts them if there is no list. A wave with number n along vector i has k v_i = 2 pi n, so
 * |n| <= |k| |v_i| / (2 pi). */
static int64_t list_waves(const vf_screened_images *s, screened_wave *list)
{
    const double most = 2 * s->alpha * reach, volume = vf_cell_volume(&s->cell);
    double b[3][3], lengths[3], angles[3];
    int64_t n[3], count = 0;
    reciprocal(&s->cell, b);
    vf_cell_shape(&s->cell, lengths, angles);
    for (int a = 0; a < 3; a++)
        n[a] = (int64_t)ceil(most * lengths[a] / (2 * PI));
    for (int64_t z = 0; z <= n[2]; z++)
        for (int64_t y = z > 0 ? -n[1] : 0; y <= n[1]; y++)
            for (int64_t x = z > 0 || y > 0 ? -n[0] : 1; x <= n[0]; x++) {
                double k[3], square = 0;
                for (int a = 0; a < 3; a++) {
                    k[a] = (double)x * b[0][a] + (double)y * b[1][a] + (double)z * b[2][a];
                    square += k[a] * k[a];
                }
                if (square > most * most)
                    continue;
                const double both = square + s->kappa * s->kappa;
                if (list)
                    list[count] = (screened_wave){{k[0], k[1], k[2]},
                                                  8 * PI / volume * exp(-both / (4 * s->alpha * s->alpha)) / both};
                count++;
            }
    return count;
}

vf_status vf_screened_images_create(vf_context *ctx, const vf_cell *cell, double kappa, double r_min,
                                    vf_screened_images **out)
{
    *out = NULL;
    if (!vf_cell_valid(cell) || cell->kind == VF_CELL_NONE || !(kappa > 0 && isfinite(kappa)) ||
        !(r_min > 0 && isfinite(r_min)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "screened images: no valid cell, kappa %g or r_min %g", kappa, r_min);
    vf_screened_images *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the images of an ion");
    const double volume = vf_cell_volume(cell);
    s->cell = *cell;
    s->kappa = kappa;
    s->r_min = r_min;
    s->cutoff = cutoff_edges * cbrt(volume);
    s->alpha = reach / s->cutoff;
    s->constant = 4 * PI / volume * exp(-kappa * kappa / (4 * s->alpha * s->alpha)) / (kappa * kappa);
    s->count = list_waves(s, NULL);
    s->wave = malloc((size_t)(s->count + 1) * sizeof *s->wave);
    if (!s->wave) {
        const int64_t waves = s->count;
        free(s);
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld waves", (long long)waves);
    }
    (void)list_waves(s, s->wave);
    *out = s;
    return VF_OK;
}

void vf_screened_images_destroy(vf_screened_images *plan)
{
    if (plan)
        free(plan->wave);
    free(plan);
}

typedef struct near_sum {
    const vf_screened_images *of;
    double sum;
} near_sum;

/* Of two terms that are the near part: exp(-kappa r) erfc(alpha r - shift) and exp(kappa r) erfc(alpha r + shift), or with signs that are
 * minus the far one. The second does not overflow: it is less than exp(kappa r - x^2) <= 1. */
static double part_of(const vf_screened_images *s, double r, bool is_far)
{
    const double shift = s->kappa / (2 * s->alpha), up = s->kappa * r;
    const double decaying = exp(-up) * (is_far ? -erfc(shift - s->alpha * r) : erfc(s->alpha * r - shift));
    const double growing = up < 700 ? exp(up) * erfc(s->alpha * r + shift) : 0; /* below 1e-300: the other has all */
    return (decaying + growing) / (2 * r);
}

/* Within r_min: the potential there, less the far part, which the waves have. That is smooth: its value at a small distance is that at 0. */
static void add_near(void *user, const double image[3])
{
    near_sum *s = user;
    const vf_screened_images *of = s->of;
    const double r = sqrt(image[0] * image[0] + image[1] * image[1] + image[2] * image[2]), small = 1e-5 / of->alpha;
    if (r > of->cutoff)
        return;
    if (r < of->r_min)
        s->sum += exp(-of->kappa * of->r_min) / of->r_min + part_of(of, fmax(r, small), true);
    else
        s->sum += part_of(of, r, false);
}

double vf_screened_images_value(const void *state, const double d[3])
{
    const vf_screened_images *s = state;
    const double lo[3] = {-s->cutoff, -s->cutoff, -s->cutoff}, hi[3] = {s->cutoff, s->cutoff, s->cutoff};
    near_sum near_part = {s, 0};
    double sum = s->constant;
    vf_cell_images(&s->cell, d, lo, hi, add_near, &near_part);
    for (int64_t n = 0; n < s->count; n++) {
        const screened_wave *w = s->wave + n;
        sum += w->weight * cos(w->k[0] * d[0] + w->k[1] * d[1] + w->k[2] * d[2]);
    }
    return near_part.sum + sum;
}
