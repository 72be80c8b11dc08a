/* The acquired phase encodings of a Cartesian scan: every n-th, or a Poisson disc, and all in the middle. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mri_phantom.h"

/* The phase encodings: `count` along lines and partitions. In the middle, all in [from, to) are acquired. */
typedef struct plane {
    int64_t count[2], from[2], to[2];
    int64_t first_line; /* for partial Fourier: lower ones are not acquired */
} plane;

int64_t undersample_first_line(const phantom_settings *s, int64_t lines)
{
    return (int64_t)floor((1 - s->partial_fourier) * (double)lines + 1e-9);
}

static plane make_plane(const phantom_settings *s, const int64_t counts[2])
{
    plane p = {.count = {counts[0], counts[1]}};
    int64_t middle = s->calibration > 0 ? s->calibration : CALIBRATION_LINES;
    for (int a = 0; a < 2; a++) {
        int64_t all = middle < counts[a] ? middle : counts[a];
        p.from[a] = counts[a] / 2 - all / 2;
        p.to[a] = p.from[a] + all;
    }
    p.first_line = undersample_first_line(s, counts[0]);
    return p;
}

static bool in_middle(const plane *p, const int64_t at[2])
{
    return at[0] >= p->from[0] && at[0] < p->to[0] && at[1] >= p->from[1] && at[1] < p->to[1];
}

/* ---- every so many ---- */

static void regular(const phantom_settings *s, const plane *p, uint8_t *mask)
{
    bool all = s->accelerate[0] * s->accelerate[1] == 1;
    for (int64_t n = 0; n < p->count[0] * p->count[1]; n++) {
        int64_t at[2] = {n % p->count[0], n / p->count[0]};
        bool on_grid =
            (at[0] - p->count[0] / 2) % s->accelerate[0] == 0 && (at[1] - p->count[1] / 2) % s->accelerate[1] == 0;
        bool middle = !all && in_middle(p, at);
        mask[n] = middle ? (on_grid ? USE_BOTH : USE_CALIBRATION) : on_grid ? USE_IMAGE : USE_NONE;
    }
}

/* ---- Poisson disc ---- */

/* The minimum distance to earlier phase encodings grows threefold from the middle to the edge, so the density falls
 * to a ninth (Lustig and Pauly, Magn. Reson. Med. 64 (2010) 457, use such patterns). */
static double keep_off(const plane *p, const int64_t at[2], double least)
{
    double y = 2 * (double)(at[0] - p->count[0] / 2) / (double)p->count[0];
    double z = p->count[1] > 1 ? 2 * (double)(at[1] - p->count[1] / 2) / (double)p->count[1] : 0;
    return least * (1 + 2 * sqrt(y * y + z * z));
}

static bool is_free(const plane *p, const uint8_t *mask, const int64_t at[2], double distance)
{
    int64_t reach = (int64_t)ceil(distance), low[2], high[2];
    for (int a = 0; a < 2; a++) {
        low[a] = at[a] > reach ? at[a] - reach : 0;
        high[a] = at[a] + reach + 1 < p->count[a] ? at[a] + reach + 1 : p->count[a];
    }
    for (int64_t z = low[1]; z < high[1]; z++)
        for (int64_t y = low[0]; y < high[0]; y++)
            if (mask[z * p->count[0] + y] == USE_IMAGE && hypot((double)(y - at[0]), (double)(z - at[1])) < distance)
                return false;
    return true;
}

/* Throws darts in the given order. Returns the number of acquired phase encodings, including the middle. */
static int64_t throw_darts(const plane *p, const int64_t *order, double least, uint8_t *mask)
{
    int64_t acquired = 0, total = p->count[0] * p->count[1];
    memset(mask, USE_NONE, (size_t)total);
    for (int64_t n = 0; n < total; n++) {
        int64_t at[2] = {order[n] % p->count[0], order[n] / p->count[0]};
        bool middle = in_middle(p, at);
        if (at[0] < p->first_line || (!middle && !is_free(p, mask, at, keep_off(p, at, least))))
            continue;
        mask[order[n]] = middle ? USE_BOTH : USE_IMAGE;
        acquired++;
    }
    return acquired;
}

/* Finds by bisection the distance for which total / ratio phase encodings are acquired. */
static vf_status poisson(vf_context *ctx, const phantom_settings *s, const plane *p, uint8_t *mask)
{
    enum { HALVINGS = 24 };
    int64_t total = p->count[0] * p->count[1], wanted = (int64_t)llround((double)total / s->poisson);
    int64_t middle = (p->to[0] - p->from[0]) * (p->to[1] - p->from[1]);
    if (middle >= wanted)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--poisson %g leaves %lld of %lld phase encodings, but the middle alone has %lld; use a smaller "
                       "--poisson or fewer --calibration-lines",
                       s->poisson, (long long)wanted, (long long)total, (long long)middle);
    int64_t *order = malloc((size_t)total * sizeof *order);
    if (!order)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the phase encodings");
    phantom_random random = random_start((uint64_t)s->seed, 3);
    for (int64_t n = 0; n < total; n++) { /* random order (Fisher and Yates) */
        int64_t other = (int64_t)(random_uniform(&random) * (double)(n + 1));
        order[n] = order[other];
        order[other] = n;
    }
    double low = 0, high = 4 * sqrt(s->poisson) + 1; /* the upper limit leaves fewer than wanted */
    for (int n = 0; n < HALVINGS; n++) {
        double mean = (low + high) / 2;
        *(throw_darts(p, order, mean, mask) > wanted ? &low : &high) = mean;
    }
    (void)throw_darts(p, order, high, mask);
    free(order);
    return VF_OK;
}

vf_status undersample(vf_context *ctx, const phantom_settings *s, const int64_t counts[2], uint8_t *mask)
{
    plane p = make_plane(s, counts);
    vf_status status = VF_OK;
    if (s->poisson > 0)
        status = poisson(ctx, s, &p, mask);
    else
        regular(s, &p, mask);
    for (int64_t n = 0; status == VF_OK && n < counts[0] * counts[1]; n++)
        if (n % counts[0] < p.first_line)
            mask[n] = USE_NONE;
    return status;
}
