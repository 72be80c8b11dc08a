/* OpenCL devices: addresses, pinned memory, queues, copies between devices, and what is refused. */
#include "queue_fixture.h"

#include "backend/opencl_launch.h"
#include "voxfield/copy.h"
#include "voxfield/reduce.h"
#include "voxfield/sort.h"
#include "voxfield/vector.h"

enum { ARRAYS = 300 };

/* Each array has its own addresses, from the first byte to the last, in whatever order they are made and freed. */
static void test_addresses(void **state)
{
    (void)state;
    vf_array arrays[ARRAYS] = {0};
    for (int round = 0; round < 3; round++) {
        for (int a = 0; a < ARRAYS; a++)
            if (!arrays[a].data) {
                const float value = (float)(1000 * round + a);
                assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, integer_between(1, 3000), &arrays[a]),
                                 VF_OK);
                assert_int_equal(vf_fill(queue, VF_F32, arrays[a].count, &value, arrays[a].data), VF_OK);
            }
        for (int a = 0; a < ARRAYS; a++) {
            float ends[2] = {-1, -2}, first = (float)(1000 * round + a);
            assert_int_equal(vf_queue_copy(queue, &ends[0], arrays[a].data, 4), VF_OK);
            assert_int_equal(vf_queue_copy(queue, &ends[1], vf_array_at(&arrays[a], arrays[a].count - 1), 4), VF_OK);
            assert_true(ends[0] == ends[1] && (ends[0] == first || round > 0));
            if (integer_between(0, 1) || round == 2)
                vf_array_free(&arrays[a]);
        }
    }
}

/* An address after an array's end, or of the host, is in no array. */
static void test_wrong_addresses(void **state)
{
    (void)state;
    float host[64] = {0};
    vf_array a;
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, 1024, &a), VF_OK);
    assert_int_equal(vf_vector_axpby(queue, VF_F32, 64, 1, host, 0, a.data), VF_ERR_DEVICE);
    assert_non_null(strstr(vf_context_message(ctx), "not of this device's memory"));
    vf_context_clear_error(ctx);
    assert_int_equal(vf_vector_axpby(queue, VF_F32, 64, 1, vf_array_at(&a, 1024), 0, a.data), VF_ERR_DEVICE);
    vf_context_clear_error(ctx);
    const void *freed = a.data;
    vf_array_free(&a);
    assert_int_equal(vf_vector_axpby(queue, VF_F32, 64, 1, freed, 0, (void *)(uintptr_t)freed), VF_ERR_DEVICE);
    vf_context_clear_error(ctx);
}

static void test_memory(void **state)
{
    (void)state;
    uint64_t before, after, total;
    vf_array pinned, a;
    assert_int_equal(vf_device_memory(device, &before, &total), VF_OK);
    assert_true(before > 0 && before <= total);
    assert_int_equal(vf_array_create(device, VF_SPACE_PINNED, VF_U8, 100000, &pinned), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, 100000, &a), VF_OK);
    memset(pinned.data, 7, 100000);
    assert_int_equal(vf_array_copy(queue, &a, &pinned, 100000), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    memset(pinned.data, 0, 100000);
    assert_int_equal(vf_array_copy(queue, &pinned, &a, 99999), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    assert_true(((uint8_t *)pinned.data)[99998] == 7 && ((uint8_t *)pinned.data)[99999] == 0);
    vf_array_free(&a);
    vf_array_free(&pinned);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, INT64_C(1) << 50, &a), VF_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(vf_context_message(ctx), "not enough device memory"));
    vf_context_clear_error(ctx);
    assert_int_equal(vf_device_memory(device, &after, &total), VF_OK);
    assert_true(after > 0 && after <= total);
}

/* The same device in another context counts as another device: data go through the host. (PoCL has one device. A device cannot be in a list
 * twice.) */
static void test_other_context(void **state)
{
    (void)state;
    vf_context *other;
    vf_queue *there;
    vf_array x, y;
    int32_t values[1000];
    assert_int_equal(vf_context_create(&other), VF_OK);
    assert_int_equal(vf_context_set_devices(other, vf_device_spec(device)), VF_OK);
    assert_int_equal(vf_queue_create(vf_context_device(other, 0), &there), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_I32, 1000, &x), VF_OK);
    assert_int_equal(vf_array_create(vf_context_device(other, 0), VF_SPACE_DEVICE, VF_I32, 1000, &y), VF_OK);
    for (int round = 0; round < 2; round++) { /* by a queue of either */
        for (int i = 0; i < 1000; i++)
            values[i] = 3 * i + round;
        assert_int_equal(vf_queue_copy(queue, x.data, values, sizeof values), VF_OK);
        assert_int_equal(vf_queue_sync(queue), VF_OK);
        assert_int_equal(vf_array_copy(round ? there : queue, &y, &x, 1000), VF_OK);
        assert_int_equal(vf_queue_sync(round ? there : queue), VF_OK);
        memset(values, 0, sizeof values);
        assert_int_equal(vf_queue_copy(there, values, y.data, sizeof values), VF_OK);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(values[i], 3 * i + round);
    }
    vf_array_free(&x);
    vf_array_free(&y);
    vf_queue_destroy(there);
    vf_context_destroy(other);
}

/* Kernels of two queues alternate: each waits for the other. */
static void test_kernels_in_order(void **state)
{
    (void)state;
    enum { N = 5000, ROUNDS = 40 };
    vf_queue *queues[2] = {queue, NULL};
    vf_array x, y;
    float got = 0;
    const float one = 1;
    assert_int_equal(vf_queue_create(device, &queues[1]), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, N, &x), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, N, &y), VF_OK);
    assert_int_equal(vf_fill(queue, VF_F32, N, &one, x.data), VF_OK);
    assert_int_equal(vf_fill(queue, VF_F32, N, &one, y.data), VF_OK);
    for (int n = 0; n < ROUNDS; n++) { /* y = 2 y - x / 2, then x = y: x = 1.5^n */
        assert_int_equal(vf_vector_axpby(queues[n % 2], VF_F32, N, -0.5, x.data, 2, y.data), VF_OK);
        assert_int_equal(vf_copy(queues[n % 2], VF_F32, N, y.data, x.data), VF_OK);
        assert_int_equal(vf_queue_after(queues[1 - n % 2], queues[n % 2]), VF_OK);
    }
    assert_int_equal(vf_queue_copy(queues[ROUNDS % 2], &got, vf_array_at(&y, N - 1), 4), VF_OK);
    float want = 1;
    for (int n = 0; n < ROUNDS; n++)
        want = -0.5f * want + 2 * want;
    assert_true(got == want);
    vf_queue_destroy(queues[1]);
    vf_array_free(&x);
    vf_array_free(&y);
}

static void test_programs(void **state)
{
    (void)state;
    static const char *const broken[] = {vf_text_opencl_words, "kernel void broken() { nonsense; }", NULL};
    static const char *const empty[] = {vf_text_opencl_words, "kernel void work(LONG n) {}", NULL};
    static const char *const large[] = {vf_text_opencl_words, "kernel void work(LONG n, local float *x) { x[n] = 1; }",
                                        NULL};
    const vf_opencl_kernel wrong = {broken, "broken", VF_F32, NULL, .threads = {1}},
                           missing = {empty, "absent", VF_F32, NULL, .threads = {1}},
                           none = {empty, "work", VF_F32, NULL, .threads = {0}},
                           greedy = {large, "work", VF_F32, NULL, .threads = {1}, .group = {1 << 20}};
    assert_int_equal(VF_OPENCL_LAUNCH(queue, &wrong, VF_CL_INT(1)), VF_ERR_DEVICE);
    assert_non_null(strstr(vf_context_message(ctx), "its compiler failed"));
    assert_non_null(strstr(vf_context_message(ctx), "nonsense"));
    vf_context_clear_error(ctx);
    assert_int_equal(VF_OPENCL_LAUNCH(queue, &missing, VF_CL_INT(1)), VF_ERR_DEVICE);
    vf_context_clear_error(ctx);
    assert_int_equal(VF_OPENCL_LAUNCH(queue, &none, VF_CL_INT(1)), VF_OK);
    assert_int_equal(VF_OPENCL_LAUNCH(queue, &greedy, VF_CL_INT(0), VF_CL_LOCAL(64)), VF_ERR_UNSUPPORTED);
    assert_non_null(strstr(vf_context_message(ctx), "needs groups of 1048576 threads"));
    vf_context_clear_error(ctx);
}

/* Computations without an OpenCL backend say so. */
static void test_no_backend(void **state)
{
    (void)state;
    vf_sort *sort;
    vf_reduce_segments *segments;
    assert_int_equal(vf_sort_create(device, &(vf_sort_options){.key = VF_SORT_U32}, 10, &sort), VF_ERR_UNSUPPORTED);
    assert_string_equal(vf_context_message(ctx), "the sort has no backend for opencl:0");
    vf_context_clear_error(ctx);
    assert_int_equal(vf_reduce_segments_create(device, VF_REDUCE_SUM, VF_F32, 10, &segments), VF_ERR_UNSUPPORTED);
    assert_string_equal(vf_context_message(ctx), "a reduction of segments has no backend for opencl:0");
    vf_context_clear_error(ctx);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_addresses), cmocka_unit_test(test_wrong_addresses),
            cmocka_unit_test(test_memory), cmocka_unit_test(test_other_context),
            cmocka_unit_test(test_kernels_in_order), cmocka_unit_test(test_programs), cmocka_unit_test(test_no_backend))
