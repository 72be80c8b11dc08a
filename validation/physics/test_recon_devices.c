/* Several devices reconstruct the same image as one: the same bits if frames, channels or voxels are split, and up
 * to rounding if the coils of one image are. The devices are on the CPU, or are GPUs of one host. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "recon_fixture.h"

enum { MOST_FRAMES = 5, LISTS = 3 };
static const int64_t cube[3] = {7, 8, 6}, plane[3] = {14, 17, 1};
static char lists[LISTS][24]; /* of devices */
static int devices[LISTS] = {1, 2, 3};
static uint64_t first_seed;

/* The scan, and how it is reconstructed. */
typedef struct variation {
    const int64_t *matrix;
    int coils, frames, places, trajectories;
    bool field, to_the_end; /* of the solver; otherwise only some iterations */
    vf_dtype precision;
    vf_encode_by encode_by;
    recon_method method;
    recon_coils seen;
    int64_t group_bytes;
    int window, priors; /* of frames that are solved together; priors 0: frame by frame */
    vf_penalty_kind prior[VF_MOST_PRIORS];
} variation;

typedef struct images {
    float complex *data; /* [frame][voxel] */
    int64_t voxels;
    const scan_frame *first;
    int frames;
    recon_summary summary;
    recon_watch watch;
    vf_status status;
    char message[400]; /* of an error */
    int given_up;      /* devices with a warning */
} images;

static void keep(void *user, const scan_frame *frame, const float complex *image)
{
    images *k = user;
    memcpy(k->data + (frame - k->first) * k->voxels, image, (size_t)k->voxels * sizeof *image);
    k->frames++;
}

/* The second trajectory is the first rotated: x for y. */
static void turn(const problem *p, scan_trajectory *out)
{
    *out = p->trajectory;
    out->k = allocate(3 * SAMPLES, sizeof *out->k);
    for (int m = 0; m < SAMPLES; m++) {
        out->k[3 * m] = p->trajectory.k[3 * m + 1] * (float)p->scan.matrix[0] / (float)p->scan.matrix[1];
        out->k[3 * m + 1] = p->trajectory.k[3 * m] * (float)p->scan.matrix[1] / (float)p->scan.matrix[0];
        out->k[3 * m + 2] = p->trajectory.k[3 * m + 2];
        for (int a = 0; a < 2 && p->settings.encode_by == VF_ENCODE_CARTESIAN; a++)
            out->k[3 * m + a] = rintf(out->k[3 * m + a]);
    }
}

static void count_warnings(void *user, vf_log_level level, const char *text)
{
    images *out = user;
    out->given_up += level == VF_LOG_WARNING && strstr(text, "is dropped") != NULL;
}

/* Makes the same random scan each time, on the devices of a list. */
static images try_to_make(const variation *v, int list)
{
    scan_trajectory trajectories[2];
    device_spec = lists[list];
    seed = first_seed;
    problem p = open_problem(v->matrix, v->coils, v->frames, v->field, v->precision, v->encode_by);
    p.settings.method = v->method;
    p.settings.coils = v->seen;
    p.settings.group_bytes = v->group_bytes;
    if (!v->to_the_end)
        p.settings.iterations = 8;
    if (v->priors > 0) { /* lambda is 0.05 of the noise, which first images tell */
        p.settings.prior = RECON_SPECTRUM;
        p.settings.sparse = v->priors;
        memcpy(p.settings.sparse_prior, v->prior, sizeof v->prior);
        p.settings.window = v->window;
    }
    for (int a = 0; a < 3; a++)
        p.scan.fov[a] = 200;
    trajectories[0] = p.trajectory;
    turn(&p, &trajectories[1]);
    p.scan.trajectory = trajectories;
    p.scan.trajectories = v->trajectories ? v->trajectories : 1;
    p.scan.places = v->places ? v->places : 1;
    for (int f = 0; f < v->frames; f++) {
        p.frames[f].trajectory = f % p.scan.trajectories;
        p.frames[f].place = f % p.scan.places;
        for (int i = 0; i < v->coils * SAMPLES; i++) /* so lambda depends on the frame that it is found from */
            p.frames[f].data[i] *= (float)(1 + f);
    }
    for (int64_t n = 0; v->coils > 1 && n < v->coils * p.voxels; n++)
        p.scan.sensitivity[n] *= (float)(1 + n % 7);
    images out = {.data = allocate((size_t)(v->frames * p.voxels), sizeof *out.data),
                  .voxels = p.voxels,
                  .first = p.frames,
                  .watch.mode = VF_PROGRESS_OFF};
    vf_context_set_log(p.ctx, count_warnings, &out);
    out.status = reconstruct(p.ctx, &p.settings, &p.scan, &out.watch, keep, NULL, &out, &out.summary);
    assert_int_equal(out.status, vf_context_status(p.ctx));
    snprintf(out.message, sizeof out.message, "%s", vf_context_message(p.ctx));
    free(trajectories[1].k);
    close_problem(&p);
    return out;
}

static images make(const variation *v, int list)
{
    images out = try_to_make(v, list);
    if (out.status != VF_OK)
        fail_msg("%s: %s", lists[list], out.message);
    assert_int_equal(out.frames, v->frames);
    return out;
}

/* All-zero images could hide errors. */
static void check_not_zero(const images *a, int frames)
{
    for (int f = 0; f < frames; f++) {
        double sum = 0;
        for (int64_t n = 0; n < a->voxels; n++)
            sum += cabsf(a->data[f * a->voxels + n]);
        assert_true(sum > 0 && isfinite(sum));
    }
}

static const char *const variable = "VOXFIELD_SIMULATE_FAILURE";

/* With windows, each device is a team; otherwise all are one. Frames are counted once for each device that made them. */
static void check_sharing(const variation *v, const images *several, int list)
{
    const int teams = v->window > 0 ? devices[list] : 1, each = devices[list] / teams;
    int sum = 0;
    for (int d = 0; d < RECON_MAX_DEVICES; d++)
        sum += several->summary.device[d].frames;
    assert_int_equal(several->summary.sharing.teams, teams);
    assert_int_equal(several->summary.sharing.each, each);
    assert_int_equal(sum, v->frames * each);
    assert_true(teams == 1 || fabs(several->watch.progress.done - v->frames) <= 1e-9);
}

/* `failing`: a device that fails (docs/architecture.md), or NULL. Returns how many failed; one that found no work
 * did not. */
static int same_bits_though(const variation *v, const char *failing)
{
    int failed = 0;
    images one = make(v, 0);
    check_not_zero(&one, v->frames);
    for (int list = 1; list < LISTS; list++) {
        if (failing)
            setenv(variable, failing, 1);
        images several = make(v, list);
        unsetenv(variable);
        assert_true(several.given_up <= (failing != NULL));
        failed += several.given_up;
        for (int f = 0; f < v->frames; f++)
            if (memcmp(one.data + f * one.voxels, several.data + f * one.voxels,
                       (size_t)one.voxels * sizeof *one.data) != 0)
                fail_msg("%s: frame %d differs (%d coils, operator %d, method %d)", lists[list], f, v->coils,
                         v->encode_by, v->method);
        if (v->priors > 0)
            check_sharing(v, &several, list);
        assert_true(one.summary.objective == several.summary.objective);
        assert_int_equal(one.summary.iterations, several.summary.iterations);
        assert_true(one.summary.residual == several.summary.residual);
        assert_true(one.summary.lambda == several.summary.lambda);
        assert_string_equal(one.summary.encoding, several.summary.encoding);
        assert_string_equal(one.summary.normal, several.summary.normal);
        assert_string_equal(one.summary.coils, several.summary.coils);
        free(several.data);
    }
    free(one.data);
    return failed;
}

static void same_bits(const variation *v)
{
    assert_int_equal(same_bits_though(v, NULL), 0);
}

/* With coil maps, lambda is found from the first frame of a place, on any device. */
static void test_frames(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
        for (int trajectories = 1; trajectories <= 2; trajectories++)
            for (int coils = 1; coils <= 3; coils += 2)
                for (int64_t bytes = 0; bytes <= 1; bytes++)
                    same_bits(&(variation){.matrix = plane,
                                           .coils = coils,
                                           .frames = MOST_FRAMES,
                                           .places = 2,
                                           .trajectories = trajectories,
                                           .encode_by = (vf_encode_by)by,
                                           .group_bytes = bytes});
    same_bits(&(variation){
        .matrix = cube, .coils = 2, .frames = 3, .field = true, .precision = VF_F64, .encode_by = VF_ENCODE_NUFFT});
}

static void test_frames_of_other_methods(void **state)
{
    (void)state;
    for (int method = RECON_ADJOINT; method <= RECON_BILINEAR; method++)
        same_bits(&(variation){.matrix = plane,
                               .coils = 2,
                               .frames = 4,
                               .places = 2,
                               .encode_by = VF_ENCODE_NUFFT,
                               .method = (recon_method)method});
}

/* Every frame is counted once, by the device that made it, and the progress reaches their number. */
static void test_frames_are_counted(void **state)
{
    (void)state;
    const variation v = {
        .matrix = plane, .coils = 1, .frames = MOST_FRAMES, .encode_by = VF_ENCODE_NUFFT, .group_bytes = 1};
    for (int list = 1; list < LISTS; list++) {
        images several = make(&v, list);
        int sum = 0;
        for (int d = 0; d < RECON_MAX_DEVICES; d++)
            sum += several.summary.device[d].frames;
        assert_int_equal(sum, MOST_FRAMES);
        assert_int_equal(several.summary.sharing.teams, devices[list]);
        assert_int_equal(several.summary.sharing.each, 1);
        assert_true(fabs(several.watch.progress.done - MOST_FRAMES) <= 1e-9);
        free(several.data);
    }
}

/* One image of one coil: direct sums, including those of Q, are split by voxels. */
static void test_voxels(void **state)
{
    (void)state;
    for (int precision = 0; precision < 2; precision++)
        for (int coils = 1; coils <= 3; coils += 2)
            for (int field = 0; field < 2; field++)
                same_bits(&(variation){.matrix = cube,
                                       .coils = coils,
                                       .frames = 1,
                                       .field = field,
                                       .precision = precision ? VF_F64 : VF_F32,
                                       .encode_by = VF_ENCODE_DIRECT,
                                       .method = coils == 1 ? RECON_CG : RECON_ADJOINT});
}

/* Coils that are separate images: whole systems, each on one device. */
static void test_channels(void **state)
{
    (void)state;
    for (int method = RECON_CG; method <= RECON_ADJOINT; method++)
        for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
            same_bits(&(variation){.matrix = plane,
                                   .coils = 5,
                                   .frames = 1,
                                   .encode_by = (vf_encode_by)by,
                                   .method = (recon_method)method,
                                   .seen = RECON_COILS_RSS});
}

/* F^H d by groups of coils. The coils' images are the same (test_channels), but the C products conj(s) x and D - 1
 * groups are added up in another order. Each component of the sum takes at most 2 roundings a product and 1 a group,
 * each of at most T = sum |s| |x|. So both results are within (2 C + D) u T of the exact sum, and they differ by
 * twice that in a component, sqrt(2) times as much in modulus. T is at most the product of the roots of sum |s|^2
 * and sum |x|^2 (Cauchy and Schwarz); the latter is the image of --coils rss. 1 % is for its rounding.
 */
static void test_coils_adjoint(void **state)
{
    (void)state;
    enum { COILS = 5 };
    variation v = {.matrix = cube, .coils = COILS, .frames = 1, .encode_by = VF_ENCODE_NUFFT, .method = RECON_ADJOINT};
    images one = make(&v, 0);
    v.seen = RECON_COILS_RSS;
    images rss = make(&v, 0);
    v.seen = RECON_COILS_AUTO;
    check_not_zero(&one, 1);
    device_spec = lists[0];
    seed = first_seed;
    problem p = open_problem(cube, COILS, 1, false, VF_F32, VF_ENCODE_NUFFT); /* for its maps */
    for (int list = 1; list < LISTS; list++) {
        images several = make(&v, list);
        for (int64_t n = 0; n < one.voxels; n++) {
            double squares = 0;
            for (int c = 0; c < COILS; c++)
                squares +=
                    pow(cabsf(p.scan.sensitivity[c * one.voxels + n]) * (double)(1 + (c * one.voxels + n) % 7), 2);
            const double most = sqrt(squares) * cabsf(rss.data[n]) * 1.01;
            const double bound = 2 * M_SQRT2 * (2 * COILS + devices[list]) * 0x1p-24 * most;
            const double error = cabs((double complex)one.data[n] - (double complex)several.data[n]);
            if (!(error <= bound))
                fail_msg("%s: voxel %lld differs by %g, allowed %g", lists[list], (long long)n, error, bound);
        }
        free(several.data);
    }
    free(one.data);
    free(rss.data);
    close_problem(&p);
}

/* |a - b| / |a| over all frames */
static double relative(const images *a, const images *b)
{
    double difference = 0, size = 0;
    for (int64_t n = 0; n < a->frames * a->voxels; n++) {
        difference += pow(cabs((double complex)a->data[n] - (double complex)b->data[n]), 2);
        size += pow(cabsf(a->data[n]), 2);
    }
    return sqrt(difference / size);
}

/* The solver with its coils split. Each of two solutions to the tolerance e is within e times the condition number
 * of the exact one, and that is at most 10 / lambda (test_recon_algebra.c). So they differ by at most twice that; in
 * double precision rounding is far below. The same devices give the same bits each time. */
static void test_coils_solved(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++) {
        const variation v = {.matrix = plane,
                             .coils = 5,
                             .frames = 1,
                             .to_the_end = true,
                             .precision = VF_F64,
                             .encode_by = (vf_encode_by)by};
        images one = make(&v, 0);
        assert_true(one.summary.converged);
        for (int list = 1; list < LISTS; list++) {
            images several = make(&v, list), again = make(&v, list);
            /* The compared images passed through single precision: one rounding each. */
            assert_true(relative(&one, &several) <= 2 * 10 / 0.05 * 1e-12 + 2 * 0x1p-24);
            assert_memory_equal(several.data, again.data, (size_t)one.voxels * sizeof *one.data);
            assert_int_equal(several.summary.sharing.teams, 1);
            assert_int_equal(several.summary.sharing.each, devices[list]);
            assert_int_equal(several.summary.device[devices[list] - 1].frames, 1);
            free(several.data);
            free(again.data);
        }
        free(one.data);
    }
}

/* If a device fails, the others take over its frames: the same bits, and a warning. They also take over its part of
 * what frames share: the maps and lambda. */
static void test_a_device_fails(void **state)
{
    (void)state;
    int failed = 0;
    for (int first = 0; first < 2; first++)
        for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
            for (int at = 0; at < 2; at++) { /* it fails to start, or fails at its first piece */
                char failing[32];
                snprintf(failing, sizeof failing, "%.*s:%d@%d", (int)strcspn(lists[0], ":"), lists[0], first, at);
                failed += same_bits_though(&(variation){.matrix = plane,
                                                        .coils = 3,
                                                        .frames = MOST_FRAMES,
                                                        .places = 2,
                                                        .trajectories = 1 + at,
                                                        .encode_by = (vf_encode_by)by,
                                                        .group_bytes = first},
                                           failing);
            }
    assert_true(failed > 0);
}

/* The same for windows of series. */
static void test_a_device_fails_in_a_series(void **state)
{
    (void)state;
    int failed = 0;
    for (int first = 0; first < 2; first++)
        for (int at = 0; at < 2; at++) {
            char failing[32];
            snprintf(failing, sizeof failing, "%.*s:%d@%d", (int)strcspn(lists[0], ":"), lists[0], first, at);
            failed += same_bits_though(&(variation){.matrix = plane,
                                                    .coils = 2,
                                                    .frames = 12,
                                                    .places = 2,
                                                    .trajectories = 1 + at,
                                                    .encode_by = VF_ENCODE_NUFFT,
                                                    .window = 4,
                                                    .priors = 1,
                                                    .prior = {VF_PENALTY_TEMPORAL}},
                                       failing);
        }
    assert_true(failed > 0);
}

/* All devices fail, or one of those that make one image together: the error says which. */
static void test_nobody_takes_over(void **state)
{
    (void)state;
    char failing[64], kind[8];
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(lists[0], ":"), lists[0]);
    variation v = {.matrix = plane, .coils = 3, .frames = 4, .encode_by = VF_ENCODE_NUFFT};
    snprintf(failing, sizeof failing, "%s:0@1,%s:1@1", kind, kind);
    setenv(variable, failing, 1);
    images none = try_to_make(&v, 1);
    assert_int_equal(none.status, VF_ERR_DEVICE);
    assert_int_equal(none.given_up, 1); /* the other's failure is the error */
    assert_non_null(strstr(none.message, "simulated"));
    free(none.data);
    v.frames = 1;
    snprintf(failing, sizeof failing, "%s:1@1", kind);
    setenv(variable, failing, 1);
    none = try_to_make(&v, 1);
    assert_int_equal(none.status, VF_ERR_DEVICE);
    snprintf(failing, sizeof failing, "%s:1 ", kind);
    assert_non_null(strstr(none.message, failing));
    assert_int_equal(none.frames, 0);
    free(none.data);
    unsetenv(variable);
}

/* Frames that are solved together: teams take the windows of all places, here three times two. Frames differ in noise. */
static void test_windows(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
        for (int trajectories = 1; trajectories <= 2; trajectories++) {
            const int coils = 1 + 2 * ((by + trajectories) % 2);
            same_bits(&(variation){.matrix = plane,
                                   .coils = coils,
                                   .frames = 15,
                                   .places = 3,
                                   .trajectories = trajectories,
                                   .encode_by = (vf_encode_by)by,
                                   .window = 4,
                                   .priors = 1 + (coils > 1),
                                   .prior = {VF_PENALTY_TEMPORAL, VF_PENALTY_LLR}});
        }
}

/* One window: each device computes F^H W F of some frames. Without maps, first images and F^H d have the same bits,
 * too. */
static void test_frames_of_a_window(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
        for (int trajectories = 1; trajectories <= 2; trajectories++)
            same_bits(&(variation){.matrix = plane,
                                   .coils = 1 + (by + trajectories) % 2,
                                   .frames = 5,
                                   .trajectories = trajectories,
                                   .encode_by = (vf_encode_by)by,
                                   .seen = RECON_COILS_RSS,
                                   .priors = 1,
                                   .prior = {VF_PENALTY_TEMPORAL}});
}

/* With coil maps, F^H d and first images are shared by coils, so other devices have other roundings. After some steps of
 * the solver, those of double precision have grown far less than a millionfold; the images have single precision. The
 * same devices give the same bits each time. */
static void test_frames_and_coils(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++) {
        const variation v = {.matrix = plane,
                             .coils = 5,
                             .frames = 4,
                             .trajectories = 2,
                             .precision = VF_F64,
                             .encode_by = (vf_encode_by)by,
                             .priors = 1,
                             .prior = {VF_PENALTY_TEMPORAL}};
        images one = make(&v, 0);
        for (int list = 1; list < LISTS; list++) {
            images several = make(&v, list), again = make(&v, list);
            assert_true(relative(&one, &several) <= 1e6 * 0x1p-53 + 2 * 0x1p-24);
            assert_memory_equal(several.data, again.data, (size_t)(v.frames * one.voxels) * sizeof *one.data);
            check_sharing(&v, &several, list);
            free(several.data);
            free(again.data);
        }
        free(one.data);
    }
}

/* More devices than work: some stay idle, and the result is the same. */
static void test_more_devices_than_work(void **state)
{
    (void)state;
    const int64_t row[3] = {31, 1, 1}, two[3] = {20, 2, 1};
    same_bits(&(variation){.matrix = plane, .coils = 1, .frames = 1, .encode_by = VF_ENCODE_NUFFT});
    same_bits(&(variation){.matrix = row, .coils = 1, .frames = 1, .encode_by = VF_ENCODE_DIRECT});
    same_bits(&(variation){.matrix = two, .coils = 1, .frames = 1, .encode_by = VF_ENCODE_DIRECT});
    same_bits(&(variation){.matrix = plane, .coils = 1, .frames = 2, .encode_by = VF_ENCODE_NUFFT});
}

/* Parts cover everything once, in order, in whole steps, and differ by at most one step. */
static void test_cuts(void **state)
{
    (void)state;
    for (int n = 0; n < 40; n++)
        for (int step = 1; step <= 7; step++)
            for (int parts = 1; parts <= 9; parts++) {
                const int64_t steps = (n + step - 1) / step;
                assert_int_equal(team_cut(n, step, parts, 0), 0);
                assert_int_equal(team_cut(n, step, parts, parts), n);
                for (int i = 0; i < parts; i++) {
                    const int64_t from = team_cut(n, step, parts, i), to = team_cut(n, step, parts, i + 1);
                    const int64_t here = (to - from + step - 1) / step;
                    assert_true(from % step == 0 || from == n);
                    assert_true(here >= steps / parts && here <= (steps + parts - 1) / parts);
                }
            }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "cpu", *reason = "";
    first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 2654435761u + 1;
    const int gpus = strcmp(kind, "cuda") == 0 ? vf_cuda_device_count(&reason) : LISTS;
    if (gpus < 2) {
        printf("SKIP: %d GPU, not two: %s\n", gpus, reason);
        return 77;
    }
    snprintf(lists[0], sizeof lists[0], "%s:0", kind);
    snprintf(lists[1], sizeof lists[1], "%s:0,1", kind);
    snprintf(lists[2], sizeof lists[2], gpus > 2 ? "%s:0,1,2" : "%s:1,0", kind);
    devices[2] = gpus > 2 ? 3 : 2;
    printf("seed %llu\n", (unsigned long long)first_seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_frames_of_other_methods),
        cmocka_unit_test(test_frames_are_counted),
        cmocka_unit_test(test_voxels),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_coils_adjoint),
        cmocka_unit_test(test_coils_solved),
        cmocka_unit_test(test_a_device_fails),
        cmocka_unit_test(test_a_device_fails_in_a_series),
        cmocka_unit_test(test_nobody_takes_over),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_frames_of_a_window),
        cmocka_unit_test(test_frames_and_coils),
        cmocka_unit_test(test_more_devices_than_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
