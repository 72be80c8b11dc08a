/* The device of a test, from the command line's DEVICE [TEST...]; the variants of a kernel that this machine can run; and
 * the main function. */
#ifndef DEVICE_FIXTURE_H
#define DEVICE_FIXTURE_H

#include "context_fixture.h"
#include "random_fixture.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"

static vf_device *device;

/* Whether this CPU lacks the instruction set of a variant. */
static inline bool can_run(const char *variant)
{
    return (strcmp(variant, "avx512") != 0 || vf_cpu_isa() >= VF_ISA_AVX512) &&
           (strcmp(variant, "avx2") != 0 || vf_cpu_isa() >= VF_ISA_AVX2);
}

/* Whether the device has the precision, which an OpenCL device may lack. */
static inline bool has_precision(vf_dtype type)
{
    return vf_dtype_real(type) != VF_F64 || !strstr(vf_device_traits(device), "no double precision");
}

/* Selects the tests with these names. Returns false, and prints a line, if a name does not exist. */
static inline bool choose_tests(int names, char **name, const struct CMUnitTest *tests, size_t count,
                                struct CMUnitTest *chosen)
{
    for (int i = 0; i < names; i++) {
        size_t t = 0;
        while (t < count && strcmp(tests[t].name, name[i]) != 0)
            t++;
        if (t == count) {
            printf("there is no test %s\n", name[i]);
            return false;
        }
        chosen[i] = tests[t];
    }
    return true;
}

/* Runs the tests, or those that the command line names, between set_up and tear_down, which may be NULL. Returns
 * main's exit status, 77 if there is no such device. */
static inline int run_group(int argc, char **argv, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    enum { MOST_NAMED = 16 };
    const char *spec = argc > 1 ? argv[1] : "cpu";
    const int names = argc > 2 ? argc - 2 : 0;
    struct CMUnitTest chosen[MOST_NAMED];
    printf("device %s\n", spec);
    if (names > MOST_NAMED || !choose_tests(names, argv + 2, tests, count, chosen))
        return 1;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_context_set_team_work(ctx, 1000); /* small arrays have teams, too */
    vf_status status = vf_context_set_devices(ctx, spec);
    int result = 1;
    if (status == VF_ERR_DEVICE || status == VF_ERR_UNSUPPORTED) {
        printf("SKIP: %s\n", vf_context_message(ctx));
        result = 77;
    } else if (status == VF_OK) {
        device = vf_context_device(ctx, 0);
        result = _cmocka_run_group_tests("tests", names ? chosen : tests, names ? (size_t)names : count, set_up,
                                         tear_down) != 0;
    } else {
        printf("%s\n", vf_context_message(ctx));
    }
    vf_context_destroy(ctx);
    return result;
}

/* The same for an array of tests. */
#define run_on_device(argc, argv, tests, set_up, tear_down)                                                            \
    run_group(argc, argv, tests, sizeof(tests) / sizeof *(tests), set_up, tear_down)

/* The main function of a program that does nothing else. */
#define DEVICE_MAIN(set_up_group, tear_down_group, ...)                                                                \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        return run_on_device(argc, argv, tests, set_up_group, tear_down_group);                                        \
    }

#endif
