/* The self-test of devices: one that computes rightly passes, and is remembered; one that does not is refused by name and kernel,
 * whatever is remembered. On the CPU there is nothing to test.
 *
 * usage: test_self_test DEVICE [TEST...] (cpu, opencl; exit 77 if there is no such device) */
#include <unistd.h>

#include "device_fixture.h"
#include "double_fixture.h"
#include "self_test_checks.h"

static char folder[] = "/tmp/self_test_XXXXXX";

/* The files that remember. */
static int count_files(void)
{
    char command[128], line[32] = "";
    snprintf(command, sizeof command, "find %s -path '*self-test*' -type f | wc -l", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    return atoi(line);
}

/* Spoils a kernel ("@NAME"), or the first one (""). */
static void simulate(const char *kernel)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s", vf_device_spec(device), kernel);
    assert_int_equal(setenv("VOXFIELD_SIMULATE_WRONG", text, 1), 0);
}

static void test_wrong_device(void **state)
{
    (void)state;
    const bool tested = vf_device_get_kind(device) == VF_DEVICE_OPENCL;
    const int precisions = lacks_double(device, VF_F64) ? 1 : 2;
    for (int run = 0; run < 2; run++) { /* before anything is remembered, and after */
        simulate("");
        if (tested) {
            expect_error(vf_self_test(ctx, VF_SELF_TEST_POTENTIALS, true), VF_ERR_DEVICE,
                         "computes the Coulomb sum wrongly in single precision");
            assert_int_equal(count_files(), run * precisions);
            assert_int_equal(vf_self_test(ctx, VF_SELF_TEST_POTENTIALS, true), VF_ERR_DEVICE);
            assert_non_null(strstr(vf_context_message(ctx), vf_device_name(device)));
            vf_context_clear_error(ctx);
        } else {
            need(vf_self_test(ctx, VF_SELF_TEST_POTENTIALS, true));
        }
        assert_int_equal(unsetenv("VOXFIELD_SIMULATE_WRONG"), 0);
        need(vf_self_test(ctx, VF_SELF_TEST_POTENTIALS, true));
        assert_int_equal(count_files(), tested ? precisions : 0);
    }
}

/* What each program tests, kernel after kernel. */
static void test_every_kernel(void **state)
{
    static const vf_self_tested whats[] = {VF_SELF_TEST_POTENTIALS, VF_SELF_TEST_IMAGES};
    (void)state;
    for (int w = 0; w < 2; w++)
        for (int k = 0; vf_self_test_name(whats[w], k); k++) {
            char kernel[64], words[128];
            snprintf(kernel, sizeof kernel, "@%s", vf_self_test_name(whats[w], k));
            snprintf(words, sizeof words, "computes %s wrongly in single precision", kernel + 1);
            simulate(kernel);
            if (strcmp(kernel + 1, "the search for ions") == 0 && lacks_double(device, VF_F64))
                continue; /* is the host's then */
            if (vf_device_get_kind(device) == VF_DEVICE_OPENCL)
                expect_error(vf_self_test(ctx, whats[w], false), VF_ERR_DEVICE, words);
            else
                need(vf_self_test(ctx, whats[w], false));
        }
    assert_int_equal(unsetenv("VOXFIELD_SIMULATE_WRONG"), 0);
}

/* For oclgrind, which checks the kernels' memory: each kernel once, in single precision. */
static void test_kernels(void **state)
{
    static const vf_self_tested whats[] = {VF_SELF_TEST_POTENTIALS, VF_SELF_TEST_IMAGES};
    const char *name;
    (void)state;
    for (int w = 0; w < 2 && vf_device_get_kind(device) == VF_DEVICE_OPENCL; w++)
        for (int k = 0; (name = vf_self_test_name(whats[w], k)); k++)
            if (strcmp(name, "the search for ions") != 0 || has_precision(VF_F64))
                need(self_test_kernel(device, name, VF_F32));
}

/* A folder that cannot be written to only means that the test is made again. */
static void test_no_cache(void **state)
{
    (void)state;
    assert_int_equal(setenv("XDG_CACHE_HOME", "/dev/null", 1), 0);
    need(vf_self_test(ctx, VF_SELF_TEST_POTENTIALS, false));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
}

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1) != 0;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0;
}

DEVICE_MAIN(make_folder, remove_folder, cmocka_unit_test(test_wrong_device), cmocka_unit_test(test_every_kernel),
            cmocka_unit_test(test_kernels), cmocka_unit_test(test_no_cache))
