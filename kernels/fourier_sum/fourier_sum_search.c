/* Searches the launch of a GPU step: all combinations once, in random order, then the best several times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fourier_sum_backend.h"
#include "voxfield/timer.h"

enum { MATRIX = 128, SAMPLES = 5461, MOST_SHAPES = 512, FINALISTS = 9, REPEATS = 9, LEAST_REPEATS = 3, SLOW = 4 };
#define COARSE_SHARE 0.7 /* of the time; the finalists have the rest */

typedef struct trial {
    vf_fourier_tuning shape;
    double seconds[REPEATS];
    int runs;
} trial;

typedef struct search {
    vf_context *ctx;
    vf_queue *queue;
    vf_fourier *plan;
    vf_array in, out;
    trial trials[MOST_SHAPES];
    int count;
    uint64_t random;
} search;

/* A number from 0 to 1: Knuth's linear congruential generator, good enough for samples and an order. */
static double next_random(search *s)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(s->random >> 40) * 0x1p-24;
}

static vf_status prepare(search *s, vf_device *device, const char *variant, vf_trig trig)
{
    vf_grid grid = {.counts = {MATRIX, MATRIX, MATRIX}};
    for (int a = 0; a < 3; a++) {
        grid.spacing[a] = 1.0 / MATRIX;
        grid.origin[a] = -0.5;
    }
    float *numbers = malloc(5 * SAMPLES * sizeof *numbers), *k = numbers, *c = numbers ? numbers + 3 * SAMPLES : NULL;
    if (!numbers)
        return vf_fail(s->ctx, VF_ERR_MEMORY, "no memory for the search of launches");
    for (int i = 0; i < 5 * SAMPLES; i++)
        numbers[i] = (float)((i < 3 * SAMPLES ? MATRIX : 2) * (next_random(s) - 0.5));
    const vf_fourier_samples samples = {SAMPLES, k, NULL};
    const vf_fourier_voxels voxels = {.grid = &grid};
    const vf_fourier_options options = {.precision = VF_F32, .trig = trig, .variant = variant};
    vf_status status = vf_fourier_create(device, &samples, &voxels, 1, &options, &s->plan);
    VF_TRY(status, vf_queue_create(device, &s->queue));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_F32, 2 * (int64_t)SAMPLES, &s->in));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_F32, 2 * (int64_t)MATRIX * MATRIX * MATRIX, &s->out));
    VF_TRY(status, vf_queue_copy(s->queue, s->in.data, c, 2 * SAMPLES * sizeof *c));
    VF_TRY(status, vf_queue_sync(s->queue));
    free(numbers);
    return status;
}

static vf_status run(search *s, trial *t)
{
    if (vf_cancelled(s->ctx))
        return vf_fail(s->ctx, VF_ERR_CANCELLED, "interrupted");
    vf_status status = vf_fourier_set_tuning(s->plan, &t->shape);
    const double began = vf_now();
    VF_TRY(status,
           vf_fourier_adjoint(s->plan, s->queue, 1, s->in.data, 0, (int64_t)MATRIX * MATRIX * MATRIX, s->out.data));
    VF_TRY(status, vf_queue_sync(s->queue));
    t->seconds[t->runs++] = vf_now() - began;
    return status;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; infinite before the first run. Sorts the times. */
static double median(trial *t)
{
    qsort(t->seconds, (size_t)t->runs, sizeof *t->seconds, by_size);
    return t->runs > 0 ? t->seconds[t->runs / 2] : HUGE_VAL;
}

static int by_first(const void *a, const void *b)
{
    const trial *x = a, *y = b;
    const double u = x->runs > 0 ? x->seconds[0] : HUGE_VAL, v = y->runs > 0 ? y->seconds[0] : HUGE_VAL;
    return (u > v) - (u < v);
}

/* Whether two launches before number `n` had the same threads and chunk and took SLOW times as long as the best of all:
 * then the other unrollings are left out, which saves half of the time. */
static bool is_given_up(const search *s, int n)
{
    double least = HUGE_VAL;
    int slow = 0;
    for (int i = 0; i < n; i++)
        least = s->trials[i].runs > 0 ? fmin(least, s->trials[i].seconds[0]) : least;
    for (int i = 0; i < n; i++) {
        const trial *t = &s->trials[i];
        slow += t->runs > 0 && t->shape.threads == s->trials[n].shape.threads &&
                t->shape.chunk == s->trials[n].shape.chunk && t->seconds[0] > SLOW * least;
    }
    return slow >= 2;
}

/* The usual launch first, then the others in random order. The first run of all also loads the kernels; it is done
 * again. */
static vf_status try_all(search *s, double until)
{
    const int most = s->plan->most_chunk;
    s->trials[s->count++].shape = vf_fourier_usual_tuning(most);
    while (s->count < MOST_SHAPES && vf_fourier_tuning_combination(s->count - 1, most, &s->trials[s->count].shape))
        s->count++;
    for (int i = s->count - 1; i > 1; i--) {
        const int j = 1 + (int)(next_random(s) * i);
        const trial other = s->trials[i];
        s->trials[i] = s->trials[j];
        s->trials[j] = other;
    }
    vf_status status = run(s, &s->trials[0]);
    s->trials[0].runs = 0;
    for (int i = 0; status == VF_OK && i < s->count && (i < 2 || vf_now() < until); i++)
        if (!is_given_up(s, i))
            status = run(s, &s->trials[i]);
    return status;
}

/* Repeats the usual launch, number 0, and the best others. */
static vf_status try_best(search *s, double until)
{
    const int finalists = s->count < FINALISTS ? s->count : FINALISTS;
    vf_status status = VF_OK;
    qsort(s->trials + 1, (size_t)s->count - 1, sizeof *s->trials, by_first);
    for (int r = 1; r < REPEATS; r++)
        for (int i = 0; status == VF_OK && i < finalists && (r < LEAST_REPEATS || vf_now() < until); i++)
            if (s->trials[i].runs > 0)
                status = run(s, &s->trials[i]);
    return status;
}

static void report(search *s, vf_fourier_found *found)
{
    const double pairs = (double)SAMPLES * MATRIX * MATRIX * MATRIX;
    *found = (vf_fourier_found){.usual = s->trials[0].shape, .usual_rate = pairs / median(&s->trials[0])};
    for (int i = 0; i < s->count; i++) {
        found->tried += s->trials[i].runs > 0;
        const double rate = pairs / median(&s->trials[i]);
        if ((i >= FINALISTS && i > 0) || !(rate > found->best_rate))
            continue;
        found->best = s->trials[i].shape;
        found->best_rate = rate;
    }
}

vf_status vf_fourier_search(vf_device *device, const char *variant, vf_trig trig, double seconds,
                            vf_fourier_found *found)
{
    const double began = vf_now();
    search *s = calloc(1, sizeof *s);
    *found = (vf_fourier_found){.tried = 0};
    if (!s)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "no memory for the search of launches");
    s->ctx = vf_device_context(device);
    vf_status status = prepare(s, device, variant, trig);
    if (status == VF_OK && s->plan->most_chunk == 0)
        status = vf_fail(s->ctx, VF_ERR_UNSUPPORTED, "Fourier sum: variant '%s' on %s has nothing to tune",
                         s->plan->variant, vf_device_spec(device));
    VF_TRY(status, try_all(s, began + COARSE_SHARE * seconds));
    VF_TRY(status, try_best(s, began + seconds));
    if (status == VF_OK)
        report(s, found);
    vf_queue_destroy(s->queue); /* waits for its work */
    vf_fourier_destroy(s->plan);
    vf_array_free(&s->in);
    vf_array_free(&s->out);
    free(s);
    return status;
}
