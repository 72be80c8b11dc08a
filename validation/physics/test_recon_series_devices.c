/* Several devices reconstruct series whose frames a prior couples: the same bits as one if they share windows, or
 * frames of a window without coil maps, and up to rounding with maps. */
#include "devices_fixture.h"

/* Frames that are solved together: teams take the windows of all places, here three times two. Frames differ in
 * noise. */
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

/* With coil maps, F^H d and first images are shared by coils, so other devices have other roundings. After some
 * steps of the solver, those of double precision have grown far less than a millionfold; the images have single
 * precision. The same devices give the same bits each time. */
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

/* If a device fails, the others take over its windows. */
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

int main(int argc, char **argv)
{
    if (!begin_lists(argc, argv))
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows), cmocka_unit_test(test_frames_of_a_window),
                                       cmocka_unit_test(test_frames_and_coils),
                                       cmocka_unit_test(test_a_device_fails_in_a_series)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
