/* Windows of a series (apps/mri_recon/schedule/windows.c): their positions, and how shared frames are blended. */
#include <stdlib.h>
#include <string.h>

#include "coil_fixture.h"
#include "frames/frame_images.h"
#include "schedule/plan_device.h"
#include "schedule/windows.h"
#include "test_main.h"

enum { MOST_FRAMES = 70, SERIES = 200 };

/* Every frame comes from one window, or from two neighbours that both mark it as shared. No window is longer than
 * requested. Neighbours share at least a quarter of their frames. Blended frames are in the middle of the frames that
 * both windows have. */
static void test_every_frame_once(void **state)
{
    (void)state;
    for (int frames = 2; frames <= MOST_FRAMES; frames++)
        for (int window = RECON_LEAST_WINDOW; window <= MOST_FRAMES; window++) {
            const schedule_settings settings = {.window = window};
            const series_windows w = windows_of_series(&settings, frames, 1e12);
            int next = 0, shared = 0, end = 0;
            assert_int_equal(w.frames, window < frames ? window : frames);
            assert_true(w.count == 1 ? w.frames == frames : w.shared >= 2 && 4 * w.shared >= w.frames - 3);
            for (int i = 0; i < w.count; i++) {
                const frame_group g = window_of_series(&w, 100, frames, i);
                assert_int_equal(g.count, w.frames);
                assert_true(g.skip >= 0 && g.drop >= 0 && g.first >= 100 && g.first + g.count <= 100 + frames);
                assert_true(i == 0 || end - g.first >= w.shared); /* of the previous window */
                assert_true(i == 0 || abs(g.skip - (end - g.first - g.before - g.skip)) <= 1);
                assert_int_equal(g.before, shared);
                assert_int_equal(g.first + g.skip, 100 + next);
                next += g.count - g.skip - g.drop - g.after;
                assert_true(g.skip + g.before <= g.count - g.drop - g.after); /* no frame comes from three windows */
                assert_int_equal(g.after, i + 1 < w.count ? w.shared : 0);
                shared = g.after;
                end = g.first + g.count;
            }
            assert_int_equal(next, frames);
            assert_int_equal(end, 100 + frames);
        }
}

/* Without --window, a window has as many frames as fit into the limit of bytes, but at least the minimum for
 * windows. */
static void test_limit(void **state)
{
    (void)state;
    schedule_settings settings = {.group_bytes = 1000};
    assert_int_equal(windows_of_series(&settings, 50, 100).frames, 10);
    assert_int_equal(windows_of_series(&settings, 50, 100).count, 6); /* 10, then 8 more each */
    assert_int_equal(windows_of_series(&settings, 10, 100).count, 1);
    assert_int_equal(windows_of_series(&settings, 50, 900).frames, RECON_LEAST_WINDOW);
    assert_int_equal(windows_of_series(&settings, 3, 900).count, 1);
    settings.group_bytes = 0;
    assert_int_equal(windows_of_series(&settings, 1 << 12, 1 << 20).frames, 1 << 10);
    settings.window = 20;
    assert_int_equal(windows_of_series(&settings, 50, 1e12).frames, 20);
}

static mri_scan scan_of(int places, int64_t rows, scan_trajectory *trajectory, scan_frame frame[SERIES])
{
    for (int f = 0; f < SERIES; f++)
        frame[f].place = f % places;
    return (mri_scan){.matrix = {1024, rows, 1},
                      .fov = {200, 200, 5},
                      .crop = {1024, rows, 1},
                      .coils = 1,
                      .volumes = SERIES / places,
                      .slices = places,
                      .places = places,
                      .trajectories = 1,
                      .trajectory = trajectory,
                      .frames = SERIES,
                      .frame = frame};
}

static recon_settings settings_of(const char *device, int window)
{
    return (recon_settings){.schedule = {.device = device, .window = window, .group_bytes = INT64_MAX},
                            .solve = {.method = RECON_CG,
                                      .prior = RECON_SPECTRUM,
                                      .sparse = 1,
                                      .sparse_prior = {VF_PENALTY_TEMPORAL},
                                      .iterations = 10,
                                      .lambda_auto = true,
                                      .precision = VF_F32,
                                      .accuracy = 1e-6}};
}

static const scan_sampling complete = {.mean = 1, .edge = 1};

/* The program halves the window until it fits into the free memory. The matrix is so large that about 25 frames fill
 * half of the memory, so neither 200 nor 100 frames fit. A window given by --window is never changed. A series that
 * does not fit even with the smallest window is rejected. The larger matrix needs 40 times the memory, so not even
 * four frames fit. */
static void test_memory(void **state)
{
    vf_context *ctx = *state;
    uint64_t available, total;
    float k[3] = {0};
    scan_trajectory trajectory[2] = {{.samples = 1, .k = k}};
    scan_frame frame[SERIES] = {{0}};
    char text[640];
    double bytes;
    vf_host_memory(&available, &total);
    const double of_frame = (double)available / 50;
    for (int n = 0; n < 3; n++) {
        const int64_t rows = (int64_t)(of_frame / (n == 2 ? 4 : 160) / 1024);
        const mri_scan raw = scan_of(1, rows, trajectory, frame);
        recon_settings settings = settings_of("cpu", n == 1 ? 150 : 0);
        const vf_status status = plan_device(ctx, &settings, &raw, &complete, text, sizeof text, &bytes);
        assert_int_equal(status, n == 0 ? VF_OK : VF_ERR_MEMORY);
        assert_true(n == 0 ? settings.schedule.window < 100 && settings.schedule.window >= 13
                           : settings.schedule.window == (n == 1 ? 150 : 0));
        assert_true(n == 0 || strstr(vf_context_message(ctx), "a smaller --window"));
        vf_context_clear_error(ctx);
    }
}

/* Three devices on the CPU share its memory. If a series fits on one device only with windows, it does not fit on
 * more devices, because two teams need twice as much memory. A series of a few voxels uses as many teams as it has
 * windows. */
static void test_memory_of_teams(void **state)
{
    vf_context *ctx = *state;
    uint64_t available, total;
    float k[3] = {0};
    scan_trajectory trajectory[2] = {{.samples = 1, .k = k}};
    scan_frame frame[SERIES] = {{0}};
    char text[640];
    double bytes;
    vf_host_memory(&available, &total);
    for (int small = 0; small < 2; small++) {
        const int64_t rows = small ? 8 : (int64_t)((double)available / 50 / 160 / 1024);
        const mri_scan raw = scan_of(2, rows, trajectory, frame);
        recon_settings settings = settings_of("cpu:0,1,2", 0);
        assert_int_equal(plan_device(ctx, &settings, &raw, &complete, text, sizeof text, &bytes), VF_OK);
        assert_true(small ? settings.schedule.window == 0
                          : settings.schedule.window < 100 && settings.schedule.window >= 13);
        assert_int_equal(vf_context_device_count(ctx), small ? 3 : 1);
        const recon_sharing how = share_devices(&settings, &raw, vf_context_device_count(ctx));
        assert_int_equal(how.teams, small ? 2 : 1);
        assert_true(!small || strstr(text, "2 windows of series at a time; 1 idle"));
    }
}

/* The value of each image is the frame's number plus 100 times the window's. In the three shared frames, the previous
 * window has the weights 3/4, 2/4 and 1/4. All numbers are exact. */
static void test_blend(void **state)
{
    (void)state;
    enum { VOXELS = 3, CHANNELS = 2, COUNT = 12, NUMBERS = VOXELS * CHANNELS };
    for (int type = 0; type < 2; type++) {
        const recon_job j = {.type = type ? VF_C128 : VF_C64, .voxels = VOXELS, .channels = CHANNELS, .most_sets = 1};
        const frame_group g[2] = {{.count = COUNT, .drop = 1, .after = 3},
                                  {.first = 8, .count = COUNT, .skip = 0, .before = 3}};
        char *images = calloc(COUNT, frame_bytes(&j)), *shared = calloc(3, frame_bytes(&j));
        assert_non_null(images);
        assert_non_null(shared);
        double complex *wide = (double complex *)(void *)images;
        float complex *narrow = (float complex *)(void *)images;
        for (int w = 0; w < 2; w++) {
            for (int i = 0; i < COUNT * NUMBERS; i++) {
                const double complex x = (100 * w + g[w].first + i / NUMBERS) * (1 + 2 * I);
                if (type)
                    wide[i] = x;
                else
                    narrow[i] = (float complex)x;
            }
            window_blend(&g[w], j.type, frame_bytes(&j), images, shared);
        }
        for (int i = 0; i < COUNT * NUMBERS; i++) {
            const int f = i / NUMBERS;
            const double part = f < 3 ? (f + 1) / 4.0 : 1;
            const double complex x = (100 * part + g[1].first + f) * (1 + 2 * I), found = type ? wide[i] : narrow[i];
            assert_true(found == x);
        }
        free(images);
        free(shared);
    }
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_every_frame_once), cmocka_unit_test(test_limit),
          cmocka_unit_test(test_memory), cmocka_unit_test(test_memory_of_teams), cmocka_unit_test(test_blend))
