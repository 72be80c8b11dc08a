#include "bench_truth.h"
#include "free_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random_fixture.h"

enum { CHUNK = 1 << 16 };

/* Element i of splitmix64's sequence from 0, in any order. */
static uint64_t element(uint64_t i)
{
    uint64_t state = i * UINT64_C(0x9e3779b97f4a7c15);
    return splitmix(&state);
}

static float small_number(uint64_t i)
{
    return (float)((int)((element(i) >> 33) % 17) - 8);
}

bool truth_make(bench_truth *t, int log, int threads)
{
    const int64_t n = (int64_t)1 << log, chunks = (n + CHUNK - 1) / CHUNK;
    *t = (bench_truth){.n = n, .threads = threads};
    t->x = malloc((size_t)n * sizeof *t->x);
    t->y = malloc((size_t)n * sizeof *t->y);
    t->sums = calloc((size_t)chunks + 1, sizeof *t->sums);
    t->products = calloc((size_t)chunks + 1, sizeof *t->products);
    if (!t->x || !t->y || !t->sums || !t->products)
        return false;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t c = 0; c < chunks; c++) {
        double sum = 0, product = 0;
        for (int64_t i = c * CHUNK; i < n && i < (c + 1) * CHUNK; i++) {
            t->x[i] = small_number((uint64_t)i);
            t->y[i] = small_number((uint64_t)(i + n));
            sum += (double)t->x[i];
            product += (double)t->x[i] * (double)t->y[i];
        }
        t->sums[c + 1] = (int64_t)sum;
        t->products[c + 1] = product;
    }
    int64_t largest = 0;
    for (int64_t c = 0; c < chunks; c++) {
        t->sums[c + 1] += t->sums[c];
        t->products[c + 1] += t->products[c];
        largest = llabs(t->sums[c + 1]) > largest ? llabs(t->sums[c + 1]) : largest;
    }
    /* A range's sum is the difference of two sums from 0, each within 8 CHUNK of the sum at a chunk. */
    return 2 * (largest + 8 * CHUNK) < 1 << 24;
}

void truth_free(bench_truth *t)
{
    FREE_ALL(t->x, t->y, t->sums, t->products);
    *t = (bench_truth){0};
}

void truth_randomise(bench_truth *t)
{
    t->random = (uint32_t *)(void *)t->y;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int64_t i = 0; i < t->n; i++) {
        const uint32_t bits = (uint32_t)element((uint64_t)i);
        memcpy(t->random + i, &bits, sizeof bits);
    }
}

double truth_sum(const bench_truth *t, int64_t n)
{
    const int64_t c = n / CHUNK;
    double sum = (double)t->sums[c];
    for (int64_t i = c * CHUNK; i < n; i++)
        sum += (double)t->x[i];
    return sum;
}

double truth_dot(const bench_truth *t, int64_t n)
{
    const int64_t c = n / CHUNK;
    double sum = t->products[c];
    for (int64_t i = c * CHUNK; i < n; i++)
        sum += (double)t->x[i] * (double)t->y[i];
    return sum;
}

bool truth_is_copy(const bench_truth *t, int64_t n, const float *got)
{
    bool right = true;
#pragma omp parallel for schedule(static) num_threads(t->threads) reduction(&& : right)
    for (int64_t i = 0; i < n; i += CHUNK)
        right = right && memcmp(got + i, t->x + i, (size_t)(n - i < CHUNK ? n - i : CHUNK) * sizeof *got) == 0;
    return right;
}

bool truth_is_filled(const bench_truth *t, int64_t n, const float *got, float value)
{
    int64_t wrong = 0;
#pragma omp parallel for schedule(static) num_threads(t->threads) reduction(+ : wrong)
    for (int64_t i = 0; i < n; i++)
        wrong += !(got[i] == value);
    return wrong == 0;
}

bool truth_is_scan(const bench_truth *t, int64_t n, const float *got)
{
    int64_t wrong = 0;
#pragma omp parallel for schedule(static) num_threads(t->threads) reduction(+ : wrong)
    for (int64_t c = 0; c <= (n - 1) / CHUNK; c++) {
        int64_t sum = t->sums[c];
        for (int64_t i = c * CHUNK; i < n && i < (c + 1) * CHUNK; i++) {
            sum += (int64_t)t->x[i];
            wrong += !(got[i] == (float)sum);
        }
    }
    return wrong == 0;
}

bool truth_is_histogram(const bench_truth *t, int64_t n, const uint64_t got[TRUTH_BINS])
{
    const uint8_t *bytes = (const uint8_t *)t->random;
    uint64_t is[TRUTH_BINS] = {0};
#pragma omp parallel for schedule(static) num_threads(t->threads) reduction(+ : is)
    for (int64_t i = 0; i < n; i++)
        is[bytes[i]]++;
    return memcmp(got, is, sizeof is) == 0;
}

/* Keys ascend, every pair comes from the input, and values of equal keys ascend. So no pair occurs twice and none is
 * missing. */
bool truth_is_sorted(const bench_truth *t, int64_t n, const uint32_t *keys, const uint32_t *values)
{
    int64_t wrong = 0;
#pragma omp parallel for schedule(static) num_threads(t->threads) reduction(+ : wrong)
    for (int64_t i = 0; i < n; i++) {
        const bool pair = values[i] < n && t->random[values[i]] == keys[i];
        const bool order = i == 0 || keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]);
        wrong += !(pair && order);
    }
    return wrong == 0;
}
