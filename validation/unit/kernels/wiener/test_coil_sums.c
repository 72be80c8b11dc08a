/* Sums over the samples of coils: the bits of plain loops, for any number of coils and samples. */
#include <stdlib.h>
#include <string.h>

#include "coil_sums.h"
#include "wiener_fixture.h"

enum { MOST_COILS = 19, MOST_SAMPLES = 75 };

static float data[2 * MOST_COILS * MOST_SAMPLES], weights[MOST_SAMPLES];
static unsigned char ring[MOST_SAMPLES];

/* Random samples, some of which are 0; runs of weights that are 0, and of each part of the ring. */
static void fill(void)
{
    for (int i = 0; i < 2 * MOST_COILS * MOST_SAMPLES; i++)
        data[i] = integer_below(10) == 0 ? 0 : (float)uniform_between(-1, 1);
    for (int m = 0; m < MOST_SAMPLES; m++) {
        weights[m] = m % 13 < 3 ? 0 : (float)uniform_between(0.1, 2);
        ring[m] = (unsigned char)(m / 4 % 5 < 2 ? VF_RING_INSIDE : m % 3 ? VF_RING_OUTER : VF_RING_OUTERMOST);
    }
    for (int c = 0; c < MOST_COILS; c++) /* an acquired 0 in all coils */
        data[2 * (c * MOST_SAMPLES + 40)] = data[2 * (c * MOST_SAMPLES + 40) + 1] = 0;
}

/* Sample m of a coil, times the root of its weight; 0 if it does not count. */
static void value(const vf_wiener_samples *s, const unsigned char *where, int coil, int64_t m, double to[2])
{
    const bool counts = m >= 0 && !(where && where[m] == VF_RING_INSIDE) && !(s->weights && s->weights[m] == 0);
    const double root = counts && s->weights ? sqrt((double)s->weights[m]) : 1;
    for (int i = 0; i < 2; i++)
        to[i] = counts ? root * (double)s->data[2 * (coil * s->stride + m) + i] : 0;
}

static vf_coil_moments plain(const vf_wiener_samples *s, const unsigned char *where, int coil, int64_t first,
                             int64_t end)
{
    vf_coil_moments sums = {0};
    for (int64_t m = first; m < end; m++) {
        double now[2], before[2];
        value(s, where, coil, m, now);
        const double x = now[0] * now[0] + now[1] * now[1];
        const bool outermost = where && where[m] == VF_RING_OUTERMOST;
        sums.count += x > 0;
        sums.sum += x;
        sums.squares += x * x;
        sums.largest = fmax(sums.largest, x);
        for (int lag = 0; lag < 2; lag++) {
            value(s, where, coil, m - 1 - lag, before);
            sums.lag[lag][0] += now[0] * before[0] + now[1] * before[1];
            sums.lag[lag][1] += now[1] * before[0] - now[0] * before[1];
        }
        sums.half[1].sum += outermost ? x : 0;
        sums.half[1].count += outermost && x > 0;
    }
    sums.half[0].sum = sums.sum - sums.half[1].sum;
    sums.half[0].count = sums.count - sums.half[1].count;
    return sums;
}

static void check_moments(const vf_wiener_samples *s, const unsigned char *where, int64_t first, int64_t end)
{
    vf_coil_moments got[MOST_COILS];
    vf_coil_moments_of(s, where, first, end, got);
    for (int c = 0; c < s->coils; c++) {
        const vf_coil_moments expected = plain(s, where, c, first, end);
        if (memcmp(&got[c], &expected, sizeof expected) != 0)
            fail_msg("coil %d of %d, samples %d to %d: sum %.17g instead of %.17g", c, s->coils, (int)first, (int)end,
                     got[c].sum, expected.sum);
    }
}

static void test_moments(void **state)
{
    (void)state;
    for (int coils = 1; coils <= MOST_COILS; coils += coils < 9 ? 1 : 5)
        for (int kind = 0; kind < 4; kind++) {
            fill();
            const vf_wiener_samples s = {.count = MOST_SAMPLES,
                                         .weights = kind & 1 ? weights : NULL,
                                         .coils = coils,
                                         .stride = MOST_SAMPLES,
                                         .data = data};
            for (int64_t first = 0; first < 12; first++)
                for (int64_t end = first; end <= MOST_SAMPLES; end += end < 24 ? 1 : 17)
                    check_moments(&s, kind & 2 ? ring : NULL, first, end);
        }
}

/* sum v d_i conj(d_j) as coil_sums.h has it: samples with even and with odd places, and a last one without another. */
static void plain_product(const vf_wiener_samples *s, const double *share, int64_t first, int64_t end, int i, int j,
                          double to[2])
{
    double part[3][2] = {{0}};
    for (int64_t m = first; m < end; m++) {
        const float *a = s->data + 2 * (i * s->stride + m), *b = s->data + 2 * (j * s->stride + m);
        const double root = sqrt(share[m - first]), a_re = root * (double)a[0], a_im = root * (double)a[1],
                     b_re = root * (double)b[0], b_im = root * (double)b[1];
        const int64_t which = m == end - 1 && (end - first) % 2 == 1 ? 2 : (m - first) % 2;
        part[which][0] += a_re * b_re + a_im * b_im;
        part[which][1] += a_im * b_re - a_re * b_im;
    }
    for (int k = 0; k < 2; k++)
        to[k] += part[0][k] + part[1][k] + part[2][k];
}

static void check_products(const vf_wiener_samples *s, const double *share, int64_t first, int64_t end)
{
    const int coils = s->coils;
    double sum[2 * MOST_COILS * MOST_COILS], *room = malloc(vf_coil_block_room(coils) * sizeof *room);
    bool acquired[VF_COIL_BLOCK];
    assert_non_null(room);
    for (int i = 0; i < 2 * coils * coils; i++)
        sum[i] = i;
    vf_coil_products_add(s, share, first, end, room, acquired, sum);
    free(room);
    for (int i = 0; i < coils; i++)
        for (int j = 0; j < coils; j++) {
            double expected[2] = {2 * (i * coils + j), 2 * (i * coils + j) + 1};
            if (j <= i)
                plain_product(s, share, first, end, i, j, expected);
            if (memcmp(expected, sum + 2 * (i * coils + j), sizeof expected) != 0)
                fail_msg("coils %d and %d of %d, %d samples: %.17g instead of %.17g", i, j, coils, (int)(end - first),
                         sum[2 * (i * coils + j)], expected[0]);
        }
    for (int64_t m = first; m < end; m++) {
        bool any = false;
        for (int c = 0; c < coils; c++)
            any |= s->data[2 * (c * s->stride + m)] != 0 || s->data[2 * (c * s->stride + m) + 1] != 0;
        assert_int_equal(acquired[m - first], any);
    }
}

static void test_products(void **state)
{
    (void)state;
    double share[MOST_SAMPLES];
    for (int coils = 1; coils <= MOST_COILS; coils++) {
        fill();
        for (int c = 0; c < coils; c++)
            data[2 * (c * MOST_SAMPLES + 40)] = -0.0f; /* still not acquired */
        for (int m = 0; m < MOST_SAMPLES; m++)
            share[m] = m % 7 == 0 ? 0 : uniform();
        const vf_wiener_samples s = {.count = MOST_SAMPLES, .coils = coils, .stride = MOST_SAMPLES, .data = data};
        for (int64_t first = 0; first < 3; first++)
            for (int64_t end = first + 1; end <= MOST_SAMPLES; end += end < 8 ? 1 : 67)
                check_products(&s, share, first, end);
        check_products(&s, share, 1, MOST_SAMPLES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments), cmocka_unit_test(test_products)};
    return run_group(tests, sizeof tests / sizeof *tests);
}
