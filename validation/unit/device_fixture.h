/* What the tests that run on a device share: the context, the device and random numbers, by the command line's DEVICE
 * [SEED]; which variants this machine can run; and main's body. */
#ifndef DEVICE_FIXTURE_H
#define DEVICE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "voxfield/device.h"

static vf_context *ctx;
static vf_device *device;
static uint64_t random_state;

/* splitmix64 (Vigna): uniform in [0, 1). */
static inline double uniform(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Whether a variant is not of an instruction set that this CPU lacks. */
static inline bool can_run(const char *variant)
{
    return (strcmp(variant, "avx512") != 0 || vf_cpu_isa() >= VF_ISA_AVX512) &&
           (strcmp(variant, "avx2") != 0 || vf_cpu_isa() >= VF_ISA_AVX2);
}

/* Runs the tests between set_up and tear_down, which may be NULL; returns main's exit status, 77 if there is no such
 * device. */
static inline int run_group(int argc, char **argv, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    const char *spec = argc > 1 ? argv[1] : "cpu";
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    printf("device %s, seed %llu\n", spec, (unsigned long long)random_state);
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_status status = vf_context_set_devices(ctx, spec);
    int result = 1;
    if (status == VF_ERR_DEVICE || status == VF_ERR_UNSUPPORTED) {
        printf("SKIP: %s\n", vf_context_message(ctx));
        result = 77;
    } else if (status == VF_OK) {
        device = vf_context_device(ctx, 0);
        result = _cmocka_run_group_tests("tests", tests, count, set_up, tear_down) != 0;
    } else {
        printf("%s\n", vf_context_message(ctx));
    }
    vf_context_destroy(ctx);
    return result;
}

/* The same for an array of tests. */
#define run_on_device(argc, argv, tests, set_up, tear_down)                                                            \
    run_group(argc, argv, tests, sizeof(tests) / sizeof *(tests), set_up, tear_down)

#endif
