/* The published steps of the Fourier sum on a GPU: what each is worth, the experiment with the layout of constant
 * memory, and where the time goes today. Every result is checked against the formula at some voxels.
 *
 * usage: bench_fourier_steps DEVICE [REPORT.json [PART]]     (cuda; exit 77 without a GPU; PART: only this of the below)
 *
 *   steps    each step with its own launch, with accurate and with hardware trigonometry; ours beyond them
 *   layout   k in three constant arrays, in one constant array of structures, and in global memory (the step
 *            "registers"), all else equal: 256 threads, no unrolling, samples of a launch from 32 to all that fit
 *   unroll   the same three by unrolling, with small and with the largest chunks. Unrolling puts several loads in flight,
 *            so a step that gains from it was waiting for them
 *   threads  the same by the threads of a block, with hardware trigonometry: those of a block start together, blocks
 *            do not
 *
 * The case is the published grid, 128^3 voxels in single precision; the rate does not depend on the number of samples.
 */
#include "bench_fourier_case.h"

enum { SAMPLES = 5461, CHECKED = 8, RUNS = 3, SMALL_CHUNK = 128 };

static int64_t checked[CHECKED];
static double expected[CHECKED][2], term_size;

static const char *const trig_names[2] = {[VF_TRIG_ACCURATE] = "accurate", [VF_TRIG_HARDWARE] = "hardware"};

static void make_case(void)
{
    make_grid();
    make_samples(SAMPLES);
    for (int i = 0; i < CHECKED; i++) {
        checked[i] = (int64_t)(uniform() * VOXELS);
        term_size = sum_formula(checked[i], expected[i]);
    }
}

/* Pairs per second of a plan, and its largest error at the checked voxels, relative to the terms' root of the sum of
 * squares. The bound is that of phases that are not reduced, the largest of all; a few values may have three times the
 * root mean square. */
static double measure(const vf_fourier *plan, vf_trig trig, double *error)
{
    const double allowed = 3 * 0x1p-24 * sqrt(expected_squares(trig == VF_TRIG_HARDWARE, true));
    double seconds[RUNS], largest = 0;
    (void)execute_anew(plan);
    for (int i = 0; i < CHECKED; i++) {
        const float *y = (const float *)host.data + 2 * checked[i];
        const double off = hypot((double)y[0] - expected[i][0], (double)y[1] - expected[i][1]) / term_size;
        if (!(off <= largest))
            largest = off;
    }
    if (!(largest <= allowed)) {
        printf("WRONG: %s: error %g, allowed %g\n", plan->variant, largest, allowed);
        failures++;
    }
    *error = largest;
    for (int r = 0; r < RUNS; r++)
        seconds[r] = execute(plan, VOXELS);
    return (double)SAMPLES * VOXELS / median(seconds, RUNS);
}

/* `published`: G pairs per second, from the minutes of Kirk and Hwu, figure 8.20, F^H d; 0: no figure. */
static void time_step(const char *variant, vf_trig trig, double published)
{
    double error;
    char name[80];
    vf_fourier *plan = make_plan(variant, VF_F32, trig);
    const double rate = measure(plan, trig, &error);
    const int64_t shape[3] = {plan->tuning.threads, plan->tuning.chunk, plan->tuning.unroll};
    snprintf(name, sizeof name, "%s, %s", variant, trig_names[trig]);
    printf("%-28s %9.1f G pairs/s  error %.1e  %lld threads, chunk %lld, unrolling %lld", name, 1e-9 * rate, error,
           (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    if (published > 0)
        printf("  published %.3g", published);
    printf("\n");
    vf_report_begin(report, name);
    vf_report_text(report, "variant", plan->variant);
    vf_report_text(report, "trigonometry", trig_names[trig]);
    vf_report_number(report, "pairs_per_second", rate);
    vf_report_number(report, "largest_error", error);
    if (shape[0] > 0)
        vf_report_integers(report, "shape", shape, 3);
    if (published > 0)
        vf_report_number(report, "published_pairs_per_second", 1e9 * published);
    vf_report_end(report);
    vf_fourier_destroy(plan);
}

static void time_steps(void)
{
    /* The publication's row "constant memory" does not say which layout; its last row is hardware trigonometry and
     * tuning together. */
    static const struct {
        const char *variant;
        double accurate, hardware;
    } steps[] = {
        {"naive", 0.243, 0},       {"registers", 0, 0}, {"constant-arrays", 0, 0}, {"constant-structs", 1.02, 0},
        {"tuned-structs", 0, 6.6}, {"bank", 0, 0},      {"bank-4", 0, 0},          {"pairs", 0, 0},
        {"phasors", 0, 0},         {"tuned", 0, 0}};
    vf_report_begin(report, "steps");
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        time_step(steps[s].variant, VF_TRIG_ACCURATE, steps[s].accurate);
        time_step(steps[s].variant, VF_TRIG_HARDWARE, steps[s].hardware);
    }
    vf_report_end(report);
}

static const char *const axis_names[] = {"threads", "chunk", "unroll"};
static const char *const places[] = {"constant-arrays", "constant-structs", "registers"};
enum { PLACES = 3, MOST_SHAPES = 16 };

/* Rates of the three places of k for a list of shapes; `axis`: which of threads, chunk, unroll differs. */
static void compare_places(const char *name, vf_trig trig, const vf_fourier_tuning *shapes, int count, int axis)
{
    double rate[PLACES][MOST_SHAPES], error;
    int64_t along[MOST_SHAPES];
    for (int p = 0; p < PLACES; p++) {
        vf_fourier *plan = make_plan(places[p], VF_F32, trig);
        for (int i = 0; i < count; i++) {
            need(vf_fourier_set_tuning(plan, &shapes[i]));
            rate[p][i] = measure(plan, trig, &error);
            along[i] = axis == 0 ? shapes[i].threads : axis == 1 ? shapes[i].chunk : shapes[i].unroll;
        }
        vf_fourier_destroy(plan);
    }
    printf("\n%s, %s trigonometry, G pairs/s\n%18s", name, trig_names[trig], axis_names[axis]);
    for (int i = 0; i < count; i++)
        printf(" %6lld", (long long)along[i]);
    vf_report_begin(report, trig_names[trig]);
    vf_report_integers(report, axis_names[axis], along, count);
    for (int p = 0; p < PLACES; p++) {
        printf("\n%18s", places[p]);
        for (int i = 0; i < count; i++)
            printf(" %6.0f", 1e-9 * rate[p][i]);
        vf_report_numbers(report, places[p], rate[p], count);
    }
    printf("\n");
    vf_report_end(report);
}

static int largest_chunk(void)
{
    vf_fourier *plan = make_plan("constant-structs", VF_F32, VF_TRIG_ACCURATE);
    const int most = plan->most_chunk;
    vf_fourier_destroy(plan);
    return most;
}

static void compare_layouts(int most)
{
    vf_fourier_tuning shapes[MOST_SHAPES];
    int count = 0;
    for (int chunk = 32; chunk <= 4096; chunk *= 2)
        shapes[count++] = (vf_fourier_tuning){256, chunk, 1};
    shapes[count++] = (vf_fourier_tuning){256, most, 1};
    vf_report_begin(report, "layout");
    for (int trig = 0; trig < 2; trig++)
        compare_places("256 threads, no unrolling", (vf_trig)trig, shapes, count, 1);
    vf_report_end(report);
}

/* By unrolling with 256 threads, or by threads without unrolling, each with small and with the largest chunks. */
static void compare_others(int axis, int most)
{
    for (int large = 0; large < 2; large++) {
        vf_fourier_tuning shapes[MOST_SHAPES];
        char name[80];
        int count = 0;
        const int chunk = large ? most : SMALL_CHUNK;
        if (axis == 2)
            for (int unroll = 1; unroll <= VF_FOURIER_MOST_UNROLL; unroll *= 2)
                shapes[count++] = (vf_fourier_tuning){256, chunk, unroll};
        else
            for (int threads = VF_FOURIER_LEAST_THREADS; threads <= VF_FOURIER_MOST_THREADS; threads *= 2)
                shapes[count++] = (vf_fourier_tuning){threads, chunk, 1};
        snprintf(name, sizeof name, "%s, %s chunk", axis_names[axis], large ? "largest" : "small");
        vf_report_begin(report, name);
        vf_report_integer(report, "chunk", chunk);
        for (int trig = axis == 0; trig < 2; trig++)
            compare_places(name, (vf_trig)trig, shapes, count, axis);
        vf_report_end(report);
    }
}

/* Whether the user wants a part. */
static bool wants(int argc, char **argv, const char *part)
{
    return argc < 4 || strcmp(argv[3], part) == 0;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "cuda";
    if (strncmp(spec, "cuda", 4) != 0) {
        printf("SKIP: the published steps are for GPUs\n");
        return 77;
    }
    const int ended = begin("bench_fourier_steps", spec, argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    make_case();
    printf("%s: %d samples, %d^3 voxels\n", vf_device_name(device), SAMPLES, MATRIX);
    vf_report_integer(report, "samples", SAMPLES);
    vf_report_integer(report, "matrix", MATRIX);
    const int most = largest_chunk();
    if (wants(argc, argv, "steps"))
        time_steps();
    if (wants(argc, argv, "layout"))
        compare_layouts(most);
    if (wants(argc, argv, "unroll"))
        compare_others(2, most);
    if (wants(argc, argv, "threads"))
        compare_others(0, most);
    free_case();
    return end();
}
