/* Queues that wait for each other, and work of a GPU in several queues at the same time, as in pipelines. */
#include "device_fixture.h"
#include "fake_device.h"
#include "voxfield/pipeline.h"

/* ---- a GPU copies and loads while it computes ---- */

enum { LONG_PIECES = 8, LONG_COPIES = 300, LONG_BYTES = 128 << 20 };

/* Work of about 20 ms or more on an H200, and a flag for the host when it is done. */
typedef struct long_work {
    vf_array from, to, marks, zero_and_one;
    atomic_int queued[LONG_PIECES], beside;
    bool ordered;
} long_work;

/* Whether the device works on a piece before n. */
static bool is_working(long_work *w, int64_t n)
{
    bool working = false;
    for (int64_t i = 0; i < n; i++)
        working =
            working || (w->queued[i] && !__atomic_load_n((volatile uint8_t *)w->marks.data + i, __ATOMIC_ACQUIRE));
    return working;
}

static vf_status long_load(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    long_work *w = user;
    *bytes = 1 << 20;
    if (w->ordered)
        w->beside += is_working(w, piece->number);
    return VF_OK;
}

static vf_status long_compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    long_work *w = user;
    vf_status status = VF_OK;
    if (!w->ordered) { /* the copied input is there, while the piece of the other stage is in progress */
        status = vf_queue_sync(piece->queue);
        w->beside += is_working(w, piece->number);
    }
    const int copies = piece->number % 2 ? 2 * LONG_COPIES : LONG_COPIES; /* so that stages do not stay synchronous */
    for (int i = 0; i < copies && status == VF_OK; i++)
        status = vf_queue_copy(piece->queue, w->to.data, w->from.data, LONG_BYTES);
    if (status == VF_OK)
        status = vf_queue_copy(piece->queue, (uint8_t *)w->marks.data + piece->number,
                               (uint8_t *)w->zero_and_one.data + 1, 1);
    w->queued[piece->number] = 1;
    *bytes = 0;
    return status;
}

static void test_a_gpu_overlaps(void **state)
{
    (void)state;
    if (vf_device_is_host(device))
        skip();
    for (int ordered = 0; ordered < 2; ordered++) {
        long_work w = {.ordered = ordered};
        const uint8_t zero_and_one[2] = {0, 1};
        vf_queue *queue;
        vf_pipeline *pipeline;
        assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, LONG_BYTES, &w.from), VF_OK);
        assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, LONG_BYTES, &w.to), VF_OK);
        assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, 2, &w.zero_and_one), VF_OK);
        assert_int_equal(vf_array_create(device, VF_SPACE_PINNED, VF_U8, LONG_PIECES, &w.marks), VF_OK);
        memset(w.marks.data, 0, LONG_PIECES);
        assert_int_equal(vf_queue_create(device, &queue), VF_OK);
        assert_int_equal(vf_queue_copy(queue, w.zero_and_one.data, zero_and_one, 2), VF_OK);
        assert_int_equal(vf_queue_sync(queue), VF_OK);
        const vf_pipeline_options options = {1, 2, 3, ordered, 1 << 20, 0, false, 0, false};
        const vf_pipeline_work work = {.pieces = LONG_PIECES, .user = &w, .load = long_load, .compute = long_compute};
        assert_int_equal(vf_pipeline_create(ctx, &options, &pipeline), VF_OK);
        assert_int_equal(vf_pipeline_run(pipeline, &work), VF_OK);
        for (int n = 0; n < LONG_PIECES; n++)
            assert_int_equal(((uint8_t *)w.marks.data)[n], 1);
        printf("%s: %d of %d pieces overlapped with others\n", ordered ? "ordered" : "unordered", w.beside,
               LONG_PIECES - 1);
        assert_true(w.beside >= 3);
        vf_pipeline_destroy(pipeline);
        vf_queue_destroy(queue);
        vf_array_free(&w.from);
        vf_array_free(&w.to);
        vf_array_free(&w.zero_and_one);
        vf_array_free(&w.marks);
    }
}

/* Queues in order: work in a queue waits for the queue that it follows; the caller does not wait. */
static void in_order(bool of_stream)
{
    enum { ROUNDS = 50 };
    vf_queue *queue[2], *owner = NULL;
    vf_array memory;
    uint8_t *host = NULL;
    vf_array pinned;
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (ROUNDS + 1) * 64, &memory), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_PINNED, VF_U8, (ROUNDS + 1) * 64, &pinned), VF_OK);
    for (int q = 0; q < 2; q++)
        assert_int_equal(vf_queue_create(device, &queue[q]), VF_OK);
    if (of_stream) {
        owner = queue[1];
        assert_int_equal(vf_queue_of_stream(device, vf_queue_native(owner), &queue[1]), VF_OK);
    }
    host = pinned.data;
    for (int i = 0; i < (ROUNDS + 1) * 64; i++)
        host[i] = (uint8_t)i;
    assert_int_equal(vf_queue_copy(queue[0], memory.data, host, (ROUNDS + 1) * 64), VF_OK);
    for (int n = 0; n < ROUNDS; n++) { /* the first line moves from line to line, by alternate queues */
        uint8_t *line = (uint8_t *)memory.data + (size_t)n * 64;
        assert_int_equal(vf_queue_after(queue[1 - n % 2], queue[n % 2]), VF_OK);
        assert_int_equal(vf_queue_copy(queue[1 - n % 2], line + 64, line, 64), VF_OK);
    }
    assert_int_equal(vf_queue_copy(queue[ROUNDS % 2], host, memory.data, (ROUNDS + 1) * 64), VF_OK);
    assert_int_equal(vf_queue_sync(queue[ROUNDS % 2]), VF_OK);
    for (int i = 0; i < (ROUNDS + 1) * 64; i++)
        assert_int_equal(host[i], i % 64);
    for (int q = 0; q < 2; q++)
        vf_queue_destroy(queue[q]);
    vf_queue_destroy(owner); /* still there: the other queue only used its stream */
    vf_array_free(&memory);
    vf_array_free(&pinned);
}

static void test_queues_in_order(void **state)
{
    (void)state;
    in_order(false);
}

static void test_queue_of_a_stream(void **state)
{
    (void)state;
    if (vf_device_get_kind(device) == VF_DEVICE_CUDA) {
        in_order(true);
        return;
    }
    vf_queue *queue = (vf_queue *)&queue;
    assert_int_equal(vf_queue_of_stream(device, NULL, &queue), VF_ERR_UNSUPPORTED);
    assert_null(queue);
    vf_context_clear_error(ctx);
}

static void test_queues_in_order_behind_the_back(void **state)
{
    (void)state;
    if (!vf_device_is_host(device))
        skip(); /* the machine has a real one */
    fake_device_begin(device, 300, 0);
    in_order(false);
    assert_int_equal(fake_held, 0);
    fake_device_end(device);
}

/* ---- large copies from ordinary memory, which go through buffers ---- */

typedef struct upload {
    vf_queue *queue;
    vf_array memory, back;
    uint8_t *host;
    size_t bytes;
    uint64_t seed;
    bool right;
} upload;

/* Bytes that differ from place to place, also a buffer's length apart. */
static uint8_t pattern(uint64_t seed, size_t i)
{
    uint64_t x = (seed + i) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint8_t)(x >> 56);
}

static vf_status copy_there_and_back(upload *u)
{
    for (size_t i = 0; i < u->bytes; i++)
        u->host[i] = pattern(u->seed, i);
    vf_status status = vf_queue_copy(u->queue, u->memory.data, u->host, u->bytes);
    memset(u->host, 0, u->bytes); /* it may be used again */
    if (status == VF_OK)
        status = vf_queue_copy(u->queue, u->back.data, u->memory.data, u->bytes);
    if (status == VF_OK)
        status = vf_queue_sync(u->queue);
    u->right = status == VF_OK;
    for (size_t i = 0; i < u->bytes && u->right; i++)
        u->right = ((uint8_t *)u->back.data)[i] == pattern(u->seed, i);
    return status;
}

static void *copy_in_thread(void *user)
{
    for (int round = 0; round < 3; round++) {
        upload *u = user;
        u->seed += 1000003;
        if (copy_there_and_back(u) != VF_OK || !u->right)
            break;
    }
    return NULL;
}

/* Two threads at a time, so that one may find the buffers in use. The lengths are around those of the buffers, and the
 * addresses odd. */
static void test_large_copies(void **state)
{
    (void)state;
    const size_t lengths[] = {(8 << 20) - 1, 8 << 20, (8 << 20) + 1, (12 << 20) + 7, (21 << 20) + 3};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        upload both[2] = {0};
        pthread_t threads[2];
        uint8_t *memory[2];
        for (int t = 0; t < 2; t++) {
            upload *u = &both[t];
            memory[t] = malloc(lengths[l] + 1);
            assert_non_null(memory[t]);
            u->host = memory[t] + 1;
            u->bytes = lengths[l];
            u->seed = random_bits();
            assert_int_equal(vf_queue_create(device, &u->queue), VF_OK);
            assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (int64_t)u->bytes, &u->memory), VF_OK);
            assert_int_equal(vf_array_create(device, VF_SPACE_PINNED, VF_U8, (int64_t)u->bytes, &u->back), VF_OK);
        }
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, copy_in_thread, &both[t]), 0);
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_join(threads[t], NULL), 0);
        for (int t = 0; t < 2; t++) {
            assert_true(both[t].right);
            vf_queue_destroy(both[t].queue);
            vf_array_free(&both[t].memory);
            vf_array_free(&both[t].back);
            free(memory[t]);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_queues_in_order), cmocka_unit_test(test_queue_of_a_stream),
                                       cmocka_unit_test(test_queues_in_order_behind_the_back),
                                       cmocka_unit_test(test_a_gpu_overlaps), cmocka_unit_test(test_large_copies)};
    alarm(120); /* a test that hangs has failed */
    return run_on_device(argc, argv, tests, NULL, NULL);
}
