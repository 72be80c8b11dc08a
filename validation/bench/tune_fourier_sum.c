/* Searches for the fastest launches of the Fourier sum's steps "tuned-structs" and "bank-4" on this GPU: threads per
 * block, samples per chunk in constant memory and unrolling of the loop, all three together, for accurate and for
 * hardware trigonometry.
 *
 * usage: tune_fourier_sum [DEVICE [REPORT.json [HEADER [STEP]]]]     (DEVICE: cuda; exit 77 without a GPU)
 *
 * HEADER is kernels/fourier_sum/fourier_sum_tuning.h: its row for this GPU's compute capability is rewritten; "-": none.
 * STEP: only this one; the row keeps the other's shapes.
 *
 * Time is limited, so there are two rounds. Coarse: every combination of threads and chunks that are powers of two
 * (and the largest chunk) with every unrolling, in random order, once each. Threads with a chunk are given up when
 * two of their unrollings took SLOW times as long as the best so far. Fine: the best of those, their neighbours at 3/4 and 3/2 of
 * their threads and chunk, the table's current shape, and the two of the next paragraph, several times each. The order
 * is shuffled for every repeat, so drift (clock, temperature) affects all alike. The least median is chosen. Omitted
 * shapes are reported.
 *
 * What the search gains: the best combination is compared with a usual start (256 threads, chunks of 4,096 or the
 * largest, no unrolling), and with what changing one parameter at a time leads to from there: the best threads, then
 * the best chunk with these, then the best unrolling. Kirk and Hwu, chapter 8, found about 20 % over such a search.
 *
 * The case is the published grid, 128^3 voxels in single precision, with as many samples as take TRIAL_SECONDS. A
 * trial counts only if its result is right: all voxels are compared with a sum in double precision, which is itself
 * compared with the formula at some voxels. Relative to that sum (l2), the error in single precision is at most the
 * root of expected_squares u (bench_fourier_case.h) and of 1 u^2 for the reference, stored in single precision; 10 % for
 * chance. A missing sample would give 1 / sqrt(n), a missing voxel 1 / sqrt(128^3), both ten times as much at least.
 */
#include "bench_fourier_case.h"
#include "tuning_table.h"

#define TRIAL_SECONDS 0.015
#define COARSE_SECONDS 20.0 /* limit of a round; two rounds of each kind for two steps take less than 2 minutes */
#define FINE_SECONDS 7.0
enum {
    PILOT_SAMPLES = 1024,
    LEAST_SAMPLES = 8192, /* more than the largest chunk */
    MOST_SAMPLES = 65536,
    MOST_SHAPES = 512,
    REPEATS = 7,
    SLOW = 4,
    BEST = 5,   /* of the coarse round, whose neighbours are tried */
    SHOWN = 10, /* lines of the table */
    FORMULA_VOXELS = 16
};

static float *reference; /* [VOXELS][2] */
static double reference_size;

typedef struct trial {
    vf_fourier_tuning shape;
    double seconds[REPEATS], median;
    int runs;
} trial;

typedef struct search {
    const char *variant, *name; /* name: of the trigonometry */
    vf_fourier_tuned_step step;
    vf_trig trig;
    vf_fourier *plan;
    vf_fourier_tuning table;         /* the table's current shape */
    vf_fourier_tuning start, singly; /* the usual start, and what one parameter at a time leads to */
    trial trials[MOST_SHAPES];
    int count, not_tried;
    double error, allowed; /* the largest error found */
} search;

/* ---- the case ---- */

/* As many samples as take TRIAL_SECONDS with the table's shape. Also raises the GPU's clock. */
static void choose_samples(void)
{
    make_samples(PILOT_SAMPLES);
    vf_fourier *plan = make_plan("tuned-structs", VF_F32, VF_TRIG_ACCURATE);
    double least = execute(plan, VOXELS);
    for (double began = vf_now(); vf_now() - began < 0.5;)
        least = fmin(least, execute(plan, VOXELS));
    vf_fourier_destroy(plan);
    double wanted = floor(PILOT_SAMPLES * TRIAL_SECONDS / least / 64) * 64;
    make_samples((int64_t)fmin(fmax(wanted, LEAST_SAMPLES), MOST_SAMPLES));
}

/* The sum in double precision, by the default kernel. Its phases of up to 96 turns are accurate to 2 pi 96 2^-53 =
 * 7e-14, and errors of random terms add up like the terms themselves. 1e-11 leaves a margin and is far below single
 * precision. */
static void make_reference(void)
{
    vf_array in = {0}, out = {0}, block = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, 2 * samples, &in));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, 2 * (int64_t)VOXELS, &out));
    need(vf_array_create(device, VF_SPACE_PINNED, VF_F64, 2 * (int64_t)VOXELS, &block)); /* more than the samples */
    double *exact = block.data;
    for (int64_t i = 0; i < 2 * samples; i++)
        exact[i] = (double)c[i];
    need(vf_array_copy(queue, &in, &block, 2 * samples));
    vf_fourier *plan = make_plan("tuned", VF_F64, VF_TRIG_ACCURATE);
    need(vf_fourier_adjoint(plan, queue, 1, in.data, 0, VOXELS, out.data));
    need(vf_array_copy(queue, &block, &out, 2 * (int64_t)VOXELS));
    need(vf_queue_sync(queue));
    vf_fourier_destroy(plan);
    for (int i = 0; i < FORMULA_VOXELS; i++) {
        int64_t n = i == 0 ? VOXELS - 1 : (int64_t)(uniform() * VOXELS);
        double sum[2], size = sum_formula(n, sum);
        if (!(hypot(exact[2 * n] - sum[0], exact[2 * n + 1] - sum[1]) <= 1e-11 * size))
            need(vf_fail(ctx, VF_ERR_INTERNAL, "the sum in double precision is wrong"));
    }
    reference = room((size_t)2 * VOXELS, sizeof *reference);
    reference_size = 0;
    for (int64_t i = 0; i < 2 * (int64_t)VOXELS; i++) {
        reference[i] = (float)exact[i];
        reference_size += exact[i] * exact[i];
    }
    vf_array_free(&in);
    vf_array_free(&out);
    vf_array_free(&block);
}

static void make_case(void)
{
    make_grid();
    choose_samples();
    make_reference();
}

/* ---- the search ---- */

/* Times a shape and checks its result; exits if that is wrong. */
static double try_shape(search *s, const vf_fourier_tuning *shape)
{
    need(vf_fourier_set_tuning(s->plan, shape));
    double seconds = execute_anew(s->plan), sum = 0;
    const float *got = host.data;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < 2 * (int64_t)VOXELS; i++) {
        double off = (double)got[i] - (double)reference[i];
        sum += off * off;
    }
    double error = sqrt(sum / reference_size);
    if (!(error <= s->error))
        s->error = error;
    if (!(error <= s->allowed))
        need(vf_fail(ctx, VF_ERR_INTERNAL, "%d threads, chunk %d, unrolling %d, %s: relative error %g, allowed %g",
                     shape->threads, shape->chunk, shape->unroll, s->name, error, s->allowed));
    return seconds;
}

/* Adds a shape to the list unless it is in the list or cannot be launched. */
static void add_shape(search *s, int threads, int chunk, int unroll)
{
    vf_fourier_tuning shape = {threads, chunk, unroll};
    if (!vf_fourier_tuning_valid(&shape, s->plan->most_chunk) || s->count == MOST_SHAPES)
        return;
    for (int i = 0; i < s->count; i++)
        if (memcmp(&s->trials[i].shape, &shape, sizeof shape) == 0)
            return;
    s->trials[s->count++] = (trial){.shape = shape};
}

static void shuffle(trial *trials, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(uniform() * (i + 1));
        trial swapped = trials[i];
        trials[i] = trials[j];
        trials[j] = swapped;
    }
}

static int by_median(const void *a, const void *b)
{
    return by_size(&((const trial *)a)->median, &((const trial *)b)->median);
}

/* Sets the medians, sorts untried shapes last, and drops them. */
static void rank_trials(search *s)
{
    for (int i = 0; i < s->count; i++) {
        trial *t = &s->trials[i];
        t->median = t->runs > 0 ? median(t->seconds, t->runs) : HUGE_VAL; /* sorts them */
    }
    qsort(s->trials, (size_t)s->count, sizeof *s->trials, by_median);
    while (s->count > 0 && s->trials[s->count - 1].runs == 0) {
        s->count--;
        s->not_tried++;
    }
}

/* Whether two of the trials before `t` had the same threads and chunk and took SLOW times as long as the best of all. */
static bool is_given_up(const search *s, const trial *t)
{
    double least = HUGE_VAL;
    int slow = 0;
    for (const trial *u = s->trials; u < t; u++)
        if (u->runs > 0)
            least = fmin(least, u->seconds[0]);
    for (const trial *u = s->trials; u < t; u++)
        slow += u->runs > 0 && u->shape.threads == t->shape.threads && u->shape.chunk == t->shape.chunk &&
                u->seconds[0] > SLOW * least;
    return slow >= 2;
}

/* Tries all shapes in the list up to `repeats` times each, within a time limit. */
static void run_round(search *s, int repeats, double limit)
{
    double began = vf_now();
    for (int r = 0; r < repeats; r++) {
        shuffle(s->trials, s->count);
        for (trial *t = s->trials; t < s->trials + s->count && vf_now() - began < limit; t++)
            if (repeats > 1 || !is_given_up(s, t))
                t->seconds[t->runs++] = try_shape(s, &t->shape);
    }
    rank_trials(s);
}

static void list_coarse(search *s)
{
    vf_fourier_tuning shape;
    for (int n = 0; vf_fourier_tuning_combination(n, s->plan->most_chunk, &shape); n++)
        add_shape(s, shape.threads, shape.chunk, shape.unroll);
}

/* The best shape of the coarse round, sorted, that differs from `from` only in one parameter: 0 threads, 1 chunk, 2
 * unrolling. */
static vf_fourier_tuning best_along(const search *s, vf_fourier_tuning from, int axis)
{
    for (int i = 0; i < s->count; i++) {
        const vf_fourier_tuning *t = &s->trials[i].shape;
        if ((axis == 0 || t->threads == from.threads) && (axis == 1 || t->chunk == from.chunk) &&
            (axis == 2 || t->unroll == from.unroll))
            return *t;
    }
    return from;
}

static void search_singly(search *s)
{
    s->start = s->singly = vf_fourier_usual_tuning(s->plan->most_chunk);
    for (int axis = 0; axis < 3; axis++)
        s->singly = best_along(s, s->singly, axis);
}

static void list_fine(search *s)
{
    static const int quarters[3] = {4, 3, 6};
    vf_fourier_tuning best[BEST];
    int count = s->count < BEST ? s->count : BEST;
    for (int i = 0; i < count; i++)
        best[i] = s->trials[i].shape;
    s->count = 0;
    add_shape(s, s->table.threads, s->table.chunk, s->table.unroll);
    add_shape(s, s->start.threads, s->start.chunk, s->start.unroll);
    add_shape(s, s->singly.threads, s->singly.chunk, s->singly.unroll);
    for (int i = 0; i < count; i++)
        for (int t = 0; t < 3; t++)
            for (int h = 0; h < 3; h++)
                add_shape(s, best[i].threads * quarters[t] / 4, best[i].chunk * quarters[h] / 4, best[i].unroll);
}

static double rate_of(const trial *t)
{
    return (double)samples * VOXELS / t->median;
}

static const trial *find_trial(const search *s, const vf_fourier_tuning *shape)
{
    for (int i = 0; i < s->count; i++)
        if (memcmp(&s->trials[i].shape, shape, sizeof *shape) == 0)
            return &s->trials[i];
    return NULL;
}

/* Whether a shape is a combination of the coarse round, and no neighbour of one. */
static bool is_coarse(const search *s, const vf_fourier_tuning *t)
{
    return (t->threads & (t->threads - 1)) == 0 &&
           ((t->chunk & (t->chunk - 1)) == 0 || t->chunk == s->plan->most_chunk);
}

/* A line of the comparison; returns the rate, and 0 if the shape was not tried. */
static double compare_shape(const search *s, const char *name, const vf_fourier_tuning *shape, double before)
{
    const trial *t = find_trial(s, shape);
    const double rate = t ? rate_of(t) : 0;
    const int64_t numbers[3] = {shape->threads, shape->chunk, shape->unroll};
    printf("  %-28s %5d %6d %4d %11.4f T pairs/s", name, shape->threads, shape->chunk, shape->unroll, 1e-12 * rate);
    if (before > 0)
        printf("  %+.1f %%", 100 * (rate / before - 1));
    printf("\n");
    vf_report_begin(report, name);
    vf_report_integers(report, "shape", numbers, 3);
    vf_report_number(report, "pairs_per_second", rate);
    if (before > 0)
        vf_report_number(report, "gain", rate / before - 1);
    vf_report_end(report);
    return rate;
}

/* The gain of searching all combinations. Kirk and Hwu print about 20 % over a search of promising values. */
static void compare_searches(const search *s)
{
    int best = 0;
    while (best < s->count - 1 && !is_coarse(s, &s->trials[best].shape))
        best++;
    printf("\n%s, %s trigonometry: what the search gains over the line before (published: about 20 %% over one at a "
           "time)\n",
           s->variant, s->name);
    vf_report_begin(report, "searches");
    const double start = compare_shape(s, "usual start", &s->start, 0);
    const double singly = compare_shape(s, "one parameter at a time", &s->singly, start);
    const double all = compare_shape(s, "all combinations", &s->trials[best].shape, singly);
    compare_shape(s, "and values between", &s->trials[0].shape, all);
    vf_report_end(report);
}

static void report_trials(const search *s)
{
    int64_t shape[3][MOST_SHAPES];
    double rate[MOST_SHAPES];
    for (int i = 0; i < s->count; i++) {
        shape[0][i] = s->trials[i].shape.threads;
        shape[1][i] = s->trials[i].shape.chunk;
        shape[2][i] = s->trials[i].shape.unroll;
        rate[i] = rate_of(&s->trials[i]);
    }
    vf_report_integers(report, "threads", shape[0], s->count);
    vf_report_integers(report, "chunk", shape[1], s->count);
    vf_report_integers(report, "unroll", shape[2], s->count);
    vf_report_numbers(report, "pairs_per_second", rate, s->count);
    vf_report_integer(report, "not_tried", s->not_tried);
}

static void print_trials(const search *s)
{
    printf("\n%s, %s trigonometry\n  threads  chunk  unroll   median ms      least   greatest   runs   T pairs/s\n",
           s->variant, s->name);
    for (int i = 0; i < s->count; i++) {
        const trial *t = &s->trials[i];
        bool in_table = memcmp(&t->shape, &s->table, sizeof t->shape) == 0;
        if (i < SHOWN || in_table)
            printf("  %7d %6d %7d %11.3f %10.3f %10.3f %6d %11.4f%s\n", t->shape.threads, t->shape.chunk,
                   t->shape.unroll, 1e3 * t->median, 1e3 * t->seconds[0], 1e3 * t->seconds[t->runs - 1], t->runs,
                   1e-12 * rate_of(t), in_table ? "   in the table now" : "");
    }
}

/* Runs both rounds; returns the chosen shape, and its compute capability. */
static vf_fourier_tuning run_search(search *s, int capability[2])
{
    s->plan = make_plan(s->variant, VF_F32, s->trig);
    s->table = s->plan->tuning;
    memcpy(capability, s->plan->capability, sizeof s->plan->capability);
    s->allowed = 1.1 * 0x1p-24 * sqrt(1 + expected_squares(s->trig == VF_TRIG_HARDWARE, s->step == VF_FOURIER_STRUCTS));
    for (int unroll = 1; unroll <= VF_FOURIER_MOST_UNROLL; unroll *= 2) { /* loads the kernels */
        vf_fourier_tuning shape = {VF_FOURIER_LEAST_THREADS, VF_FOURIER_LEAST_CHUNK, unroll};
        need(vf_fourier_set_tuning(s->plan, &shape));
        (void)execute(s->plan, MATRIX);
    }
    vf_report_begin(report, s->name);
    list_coarse(s);
    run_round(s, 1, COARSE_SECONDS);
    vf_report_begin(report, "coarse");
    report_trials(s);
    vf_report_end(report);
    if (s->not_tried > 0)
        printf("%s, %s: %d shapes of the coarse round left out\n", s->variant, s->name, s->not_tried);
    s->not_tried = 0;
    search_singly(s);
    list_fine(s);
    run_round(s, REPEATS, FINE_SECONDS);
    if (s->count == 0)
        need(vf_fail(ctx, VF_ERR_INTERNAL, "no shape was tried"));
    vf_report_begin(report, "fine");
    report_trials(s);
    vf_report_end(report);
    print_trials(s);
    compare_searches(s);
    const trial *best = &s->trials[0];
    vf_report_number(report, "largest_error", s->error);
    vf_report_number(report, "allowed_error", s->allowed);
    int64_t chosen[3] = {best->shape.threads, best->shape.chunk, best->shape.unroll};
    vf_report_integers(report, "chosen", chosen, 3);
    vf_report_number(report, "chosen_pairs_per_second", rate_of(best));
    vf_report_end(report);
    vf_fourier_destroy(s->plan);
    return best->shape;
}

static vf_fourier_tuning search_step(const char *variant, vf_fourier_tuned_step step, const char *name, vf_trig trig,
                                     int capability[2])
{
    static search s; /* large */
    s = (search){.variant = variant, .name = name, .step = step, .trig = trig};
    return run_search(&s, capability);
}

static vf_fourier_tuning table_shape(const char *variant, vf_trig trig)
{
    vf_fourier *plan = make_plan(variant, VF_F32, trig);
    const vf_fourier_tuning shape = plan->tuning;
    vf_fourier_destroy(plan);
    return shape;
}

int main(int argc, char **argv)
{
    static const char *const variants[VF_FOURIER_TUNED_STEPS] = {
        [VF_FOURIER_STRUCTS] = "tuned-structs", [VF_FOURIER_BANK_4] = "bank-4"};
    static const char *const names[2] = {[VF_TRIG_ACCURATE] = "accurate", [VF_TRIG_HARDWARE] = "hardware"};
    const char *spec = argc > 1 ? argv[1] : "cuda";
    double began = vf_now();
    if (strncmp(spec, "cuda", 4) != 0) {
        printf("SKIP: there is nothing to tune on %s\n", spec);
        return 77;
    }
    int ended = begin("tune_fourier_sum", spec, argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    make_case();
    printf("%s: %lld samples, %d^3 voxels\n", vf_device_name(device), (long long)samples, MATRIX);
    vf_report_integer(report, "samples", samples);
    vf_report_integer(report, "matrix", MATRIX);
    vf_fourier_tuning_row row = {.capability = {0}};
    for (int step = 0; step < VF_FOURIER_TUNED_STEPS; step++) {
        const bool wanted = argc < 5 || strcmp(argv[4], variants[step]) == 0;
        if (wanted)
            vf_report_begin(report, variants[step]);
        for (int trig = 0; trig < 2; trig++)
            row.shapes[step][trig] = wanted ? search_step(variants[step], (vf_fourier_tuned_step)step, names[trig],
                                                          (vf_trig)trig, row.capability)
                                            : table_shape(variants[step], (vf_trig)trig);
        if (wanted)
            vf_report_end(report);
    }
    free_case();
    free(reference);
    char text[TUNING_ROW_TEXT];
    if (tuning_row_format(&row, vf_device_name(device), text))
        printf("\n%s", text);
    if (argc > 3 && strcmp(argv[3], "-") != 0)
        need(tuning_table_write(ctx, argv[3], &row, vf_device_name(device)));
    int64_t capability[2] = {row.capability[0], row.capability[1]};
    vf_report_integers(report, "compute_capability", capability, 2);
    vf_report_number(report, "seconds", vf_now() - began);
    printf("%.1f s\n", vf_now() - began);
    return end();
}
