/* The user's table of launches: rows that are stored are found, and a table that is damaged or of something else counts as
 * none and is replaced. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schedule/tune_launch.h"
#include "test_main.h"

static vf_context *ctx;
static char folder[] = "/tmp/voxfield-launches-XXXXXX", path[128];

static int set_up(void **state)
{
    (void)state;
    if (vf_context_create(&ctx) != VF_OK || !mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/a/voxfield/launches.txt", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char name[128];
    static const char *const parts[] = {"/a/voxfield/launches.txt", "/a/voxfield", "/a", ""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(name, sizeof name, "%s%s", folder, parts[i]);
        (void)remove(name);
    }
    vf_context_destroy(ctx);
    return 0;
}

static void expect(const char *device, vf_trig trig, launch_found found, int threads, int chunk, int unroll)
{
    vf_fourier_tuning launch = {0, 0, 0};
    assert_int_equal(launch_table_find(path, device, trig, &launch), found);
    assert_int_equal(launch.threads, threads);
    assert_int_equal(launch.chunk, chunk);
    assert_int_equal(launch.unroll, unroll);
}

static void store(const char *device, vf_trig trig, int threads, int chunk, int unroll)
{
    const vf_fourier_tuning launch = {threads, chunk, unroll};
    assert_int_equal(launch_table_store(ctx, path, device, trig, &launch), VF_OK);
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_rows(void **state)
{
    (void)state;
    expect("GPU 1", VF_TRIG_ACCURATE, LAUNCH_MISSING, 0, 0, 0); /* no file, no folder */
    store("GPU 1", VF_TRIG_ACCURATE, 256, 64, 8);
    store("GPU 1", VF_TRIG_HARDWARE, 1024, 5461, 16);
    store("a GPU of many  words", VF_TRIG_HARDWARE, 32, 16, 1);
    expect("GPU 1", VF_TRIG_ACCURATE, LAUNCH_FOUND, 256, 64, 8);
    expect("GPU 1", VF_TRIG_HARDWARE, LAUNCH_FOUND, 1024, 5461, 16);
    expect("a GPU of many  words", VF_TRIG_HARDWARE, LAUNCH_FOUND, 32, 16, 1);
    expect("a GPU of many  words", VF_TRIG_ACCURATE, LAUNCH_MISSING, 0, 0, 0);
    expect("GPU", VF_TRIG_ACCURATE, LAUNCH_MISSING, 0, 0, 0);
    store("GPU 1", VF_TRIG_HARDWARE, 512, 100, 2); /* replaces the row */
    expect("GPU 1", VF_TRIG_HARDWARE, LAUNCH_FOUND, 512, 100, 2);
    expect("GPU 1", VF_TRIG_ACCURATE, LAUNCH_FOUND, 256, 64, 8);
}

#define FIRST "Voxfield: launches of the direct Fourier sum, version 1\n"
#define ROW "accurate 256 64 8 GPU 1\n"
#define FORTY "0123456789012345678901234567890123456789"

static void test_damaged(void **state)
{
    (void)state;
    static const char *const damaged[] = {
        "",
        "\n",
        ROW,
        "Voxfield: launches of the direct Fourier sum, version 2\n" ROW,
        FIRST "accurate 256 64 8 GPU 1",                            /* cut off */
        FIRST ROW "accurate 256 64 8\n",                            /* no name */
        FIRST ROW "accurate 256 64 GPU 1\n",                        /* a number too few */
        FIRST ROW "exact 256 64 8 GPU 1\n",                         /* no such trigonometry */
        FIRST ROW "accurate 100 64 8 GPU 1\n",                      /* no multiple of 32 */
        FIRST ROW "accurate 256 64 3 GPU 1\n",                      /* no power of two */
        FIRST ROW "accurate -256 64 8 GPU 1\n",                     /* negative */
        FIRST ROW "accurate 256 99999999999999 8 GPU 1\n",          /* no such number */
        FIRST ROW "accurate 256 64 8 GPU 1\n\n",                    /* an empty line */
        FIRST ROW "accurate 256 64 8 " FORTY FORTY FORTY FORTY "\n" /* a name too long */
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_text(damaged[i]);
        expect("GPU 1", VF_TRIG_ACCURATE, LAUNCH_DAMAGED, 0, 0, 0);
    }
    write_text(FIRST ROW);
    expect("GPU 1", VF_TRIG_ACCURATE, LAUNCH_FOUND, 256, 64, 8);
    write_text(FIRST);
    expect("GPU 1", VF_TRIG_ACCURATE, LAUNCH_MISSING, 0, 0, 0);
    write_text("what somebody else keeps here\n");
    store("GPU 2", VF_TRIG_ACCURATE, 128, 32, 4);
    expect("GPU 2", VF_TRIG_ACCURATE, LAUNCH_FOUND, 128, 32, 4);
    expect("GPU 1", VF_TRIG_ACCURATE, LAUNCH_MISSING, 0, 0, 0);
}

static void expect_path(const char *cache, const char *home, const char *expected)
{
    cache ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    char *got = launch_table_path();
    if (expected)
        assert_string_equal(got, expected);
    else
        assert_null(got);
    free(got);
}

static void test_path(void **state)
{
    (void)state;
    expect_path("/cache", "/of/mine", "/cache/voxfield/launches.txt");
    expect_path(NULL, "/of/mine", "/of/mine/.cache/voxfield/launches.txt");
    expect_path("", "/of/mine", "/of/mine/.cache/voxfield/launches.txt");
    expect_path("relative", "/of/mine", "/of/mine/.cache/voxfield/launches.txt"); /* invalid by the XDG's rules */
    expect_path("/cache", NULL, "/cache/voxfield/launches.txt");
    expect_path(NULL, NULL, NULL);
    expect_path(NULL, "", NULL);
}

/* Other variants, and machines without a GPU, need no table; only a search says why it is not done. */
static void test_not_tuned(void **state)
{
    (void)state;
    solve_settings settings = {.variant = NULL};
    assert_int_equal(tune_launch(ctx, false, &settings), VF_OK);
    settings.variant = "tuned-structs";
    assert_int_equal(tune_launch(ctx, false, &settings), VF_OK);
    assert_int_equal(settings.launch.threads, 0);
    assert_int_equal(tune_launch(ctx, true, &settings), VF_ERR_ARGUMENT); /* the context has the CPU only */
    assert_non_null(strstr(vf_context_message(ctx), "NVIDIA GPU"));
    vf_context_clear_error(ctx);
    settings.variant = "naive";
    assert_int_equal(tune_launch(ctx, true, &settings), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "tuned-structs, not naive"));
    vf_context_clear_error(ctx);
}

TEST_MAIN(set_up, tear_down, cmocka_unit_test(test_rows), cmocka_unit_test(test_damaged), cmocka_unit_test(test_path),
          cmocka_unit_test(test_not_tuned))
