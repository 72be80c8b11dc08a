/* Devices by name: lists of several kinds. */
#include <string.h>

#include "device/context_internal.h"
#include "test_main.h"
#include "voxfield/append.h"

static vf_context *ctx;

static int make_context(void **state)
{
    (void)state;
    return vf_context_create(&ctx) != VF_OK;
}

static int free_context(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return 0;
}

/* Lists of several kinds: a number belongs to the last name before it. */
static void test_lists_of_devices(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int count, ordinals[3];
    } lists[] = {{"cuda", 1, {0}},
                 {"cuda:0,opencl:0", 1, {0}},
                 {"cpu,opencl:0,1,cuda:7,3", 2, {7, 3}},
                 {"opencl:0,1", 0, {0}},
                 {"cpu,cuda,1,opencl,1,cuda:1023", 3, {0, 1, 1023}},
                 {"cuda:0,cuda:1,opencl:1", 2, {0, 1}},
                 {"cuda:1,01", 0, {0}},
                 {"cuda:1024", 0, {0}}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int ordinals[VF_MAX_DEVICES] = {0};
        assert_int_equal(vf_parse_cuda_spec(lists[i].spec, ordinals), lists[i].count);
        assert_memory_equal(ordinals, lists[i].ordinals, (size_t)lists[i].count * sizeof *ordinals);
    }
    char most[8 * VF_MAX_DEVICES] = "cpu:0";
    for (int i = 1; i < VF_MAX_DEVICES; i++)
        vf_append(most, sizeof most, ",%d", i);
    assert_int_equal(vf_context_set_devices(ctx, most), VF_OK);
    assert_int_equal(vf_context_device_count(ctx), VF_MAX_DEVICES);
    vf_append(most, sizeof most, ",cpu:%d", VF_MAX_DEVICES);
    assert_int_equal(vf_context_set_devices(ctx, most), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    /* The first that cannot be used is named, and the devices stay. */
    const vf_status status = vf_context_set_devices(ctx, "cpu,opencl:1023,cuda:1023");
    assert_true(status == VF_ERR_DEVICE || status == VF_ERR_UNSUPPORTED);
    assert_non_null(strstr(vf_context_message(ctx), "opencl:1023"));
    assert_int_equal(vf_context_device_count(ctx), VF_MAX_DEVICES);
    vf_context_clear_error(ctx);
    if (vf_opencl_device_count(NULL) > 0) {
        assert_int_equal(vf_context_set_devices(ctx, "cpu:1,opencl,cpu"), VF_OK);
        static const char *const specs[] = {"cpu:1", "opencl:0", "cpu"};
        for (int d = 0; d < 3; d++)
            assert_string_equal(vf_device_spec(vf_context_device(ctx, d)), specs[d]);
        assert_false(vf_device_is_host(vf_context_device(ctx, 1)));
    }
    assert_int_equal(vf_context_set_devices(ctx, "cpu"), VF_OK);
}

/* Only GPUs by CUDA are started ahead. */
static void test_warm_up(void **state)
{
    (void)state;
    vf_device_warm_up(ctx, "cpu,opencl:0");
    assert_false(vf_device_warm_up_state(ctx).begun);
    vf_device_warm_up(ctx, "opencl,cuda:0,0"); /* not a list */
    assert_false(vf_device_warm_up_state(ctx).begun);
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_lists_of_devices), cmocka_unit_test(test_warm_up))
