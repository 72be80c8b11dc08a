/* Transfers between two devices, and work on the second alone: on devices on the CPU, or on two GPUs. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "voxfield/device.h"
#include "voxfield/pipeline.h"

enum { COUNT = 300001, PIECES = 5 };
static vf_context *ctx;

static vf_array create(vf_device *device, vf_space space, int64_t count)
{
    vf_array a;
    assert_int_equal(vf_array_create(device, space, VF_I32, count, &a), VF_OK);
    return a;
}

/* From either device to the other, in a queue of either: exactly the requested data arrive. */
static void test_copies(void **state)
{
    (void)state;
    vf_array host = create(vf_context_host(ctx), VF_SPACE_HOST, COUNT);
    vf_array back = create(vf_context_host(ctx), VF_SPACE_HOST, COUNT);
    for (int from = 0; from < 2; from++)
        for (int where = 0; where < 2; where++) {
            vf_device *const devices[2] = {vf_context_device(ctx, from), vf_context_device(ctx, 1 - from)};
            vf_queue *queues[2], *queue;
            vf_array x = create(devices[0], VF_SPACE_DEVICE, COUNT), y = create(devices[1], VF_SPACE_DEVICE, COUNT);
            for (int d = 0; d < 2; d++)
                assert_int_equal(vf_queue_create(devices[d], &queues[d]), VF_OK);
            queue = queues[where];
            memset(host.data, 0xff, COUNT * sizeof(int32_t));
            assert_int_equal(vf_array_copy(queues[1], &y, &host, COUNT), VF_OK);
            for (int i = 0; i < COUNT; i++)
                ((int32_t *)host.data)[i] = 7 * i + from;
            assert_int_equal(vf_queue_sync(queues[1]), VF_OK);
            assert_int_equal(vf_array_copy(queues[0], &x, &host, COUNT), VF_OK);
            assert_int_equal(vf_queue_sync(queues[0]), VF_OK);
            assert_int_equal(vf_array_copy(queue, &y, &x, COUNT - 1), VF_OK);
            assert_int_equal(vf_queue_sync(queue), VF_OK);
            assert_int_equal(vf_array_copy(queues[1], &back, &y, COUNT), VF_OK);
            assert_int_equal(vf_queue_sync(queues[1]), VF_OK);
            assert_memory_equal(back.data, host.data, (COUNT - 1) * sizeof(int32_t));
            assert_int_equal(((int32_t *)back.data)[COUNT - 1], -1);
            assert_int_equal(vf_array_copy(queue, &y, &x, COUNT + 1), VF_ERR_INTERNAL);
            vf_context_clear_error(ctx);
            for (int d = 0; d < 2; d++)
                vf_queue_destroy(queues[d]);
            vf_array_free(&x);
            vf_array_free(&y);
        }
    vf_array_free(&host);
    vf_array_free(&back);
}

static vf_status load(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    (void)user;
    memset(piece->host, (int)piece->number + 1, 16);
    *bytes = 16;
    return VF_OK;
}

/* The devices that computed the pieces, by their own report and by their queues. */
typedef struct seen {
    int stated[PIECES];
    const vf_device *queued[PIECES];
    int stored;
    bool wrong;
} seen;

static vf_status compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    seen *s = user;
    s->stated[piece->number] = piece->device;
    s->queued[piece->number] = vf_queue_device(piece->queue);
    *bytes = 16;
    return VF_OK;
}

static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    seen *s = user;
    for (int i = 0; i < 16; i++)
        s->wrong = s->wrong || ((const char *)piece->host)[i] != piece->number + 1;
    s->stored++;
    return VF_OK;
}

static void test_pipeline_on_the_second(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        seen s = {0};
        vf_pipeline *p;
        const vf_pipeline_options options = {
            .first = 1, .devices = 1, .stages = 2, .buffers = 3, .ordered = ordered, .bytes = 16};
        const vf_pipeline_work work = {.pieces = PIECES, .user = &s, .load = load, .compute = compute, .store = store};
        assert_int_equal(vf_pipeline_create(ctx, &options, &p), VF_OK);
        assert_int_equal(vf_pipeline_run(p, &work), VF_OK);
        assert_int_equal(s.stored, PIECES);
        assert_false(s.wrong);
        for (int i = 0; i < PIECES; i++) {
            assert_int_equal(s.stated[i], 1);
            assert_ptr_equal(s.queued[i], vf_context_device(ctx, 1));
        }
        assert_int_equal(vf_pipeline_done(p, 1), PIECES);
        assert_int_equal(vf_pipeline_done(p, 0), 0);
        vf_pipeline_destroy(p);
    }
}

/* Devices that the context does not have. */
static void test_refusals(void **state)
{
    (void)state;
    static const int bad[][2] = {{-1, 1}, {-1, 2}, {1, 2}, {2, 1}, {INT_MAX, 1}, {INT_MIN, 1}, {0, 3}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const vf_pipeline_options options = {
            .first = bad[i][0], .devices = bad[i][1], .stages = 1, .buffers = 9, .bytes = 16};
        vf_pipeline *none = (void *)&none;
        assert_int_equal(vf_pipeline_create(ctx, &options, &none), VF_ERR_ARGUMENT);
        assert_null(none);
        vf_context_clear_error(ctx);
    }
}

int main(int argc, char **argv)
{
    const bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    const char *reason = "";
    if (cuda && vf_cuda_device_count(&reason) < 2) {
        printf("SKIP: not two GPUs%s%s\n", *reason ? ": " : "", reason);
        return 77;
    }
    if (vf_context_create(&ctx) != VF_OK || vf_context_set_devices(ctx, cuda ? "cuda:0,1" : "cpu:0,1") != VF_OK)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_pipeline_on_the_second),
                                       cmocka_unit_test(test_refusals)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vf_context_destroy(ctx);
    return failed;
}
