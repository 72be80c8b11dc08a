/* Several devices reconstruct the same image as one: the same bits if frames, channels or voxels are split, and up
 * to rounding if the coils of one image are. The devices are on the CPU, or are GPUs of one host. */
#include "devices_fixture.h"

static const int64_t cube[3] = {7, 8, 6};

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
    seed_random();
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
    if (!begin_lists(argc, argv))
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cuts),
                                       cmocka_unit_test(test_frames),
                                       cmocka_unit_test(test_frames_of_other_methods),
                                       cmocka_unit_test(test_frames_are_counted),
                                       cmocka_unit_test(test_voxels),
                                       cmocka_unit_test(test_channels),
                                       cmocka_unit_test(test_coils_adjoint),
                                       cmocka_unit_test(test_coils_solved),
                                       cmocka_unit_test(test_a_device_fails),
                                       cmocka_unit_test(test_nobody_takes_over),
                                       cmocka_unit_test(test_more_devices_than_work)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
