/* Pipelines: every piece once, complete and stored in order, with any overlap and any failure. On the CPU, as one or
 * several devices, on a GPU, and on a device that behaves like a GPU (fake_device.h). All computation is copying. */
#include "device_fixture.h"
#include "fake_device.h"
#include "voxfield/pipeline.h"

enum { MOST_PIECES = 64, HALF = 4096, TAIL = 8, BYTES = 2 * HALF + TAIL };

typedef enum place { NOWHERE, IN_LOAD, IN_COMPUTE, IN_STORE } place;

/* The state shared by the functions of a run. A failed check sets `wrong`: cmocka's checks need the main thread. */
typedef struct record {
    vf_pipeline *pipeline;
    vf_pipeline_options options;
    vf_pipeline_work work;
    uint8_t *truth; /* [pieces][HALF] */
    size_t sizes[MOST_PIECES];
    vf_array shared; /* device: [TAIL] the head of the previous piece, then [pieces][TAIL] what each found there */
    atomic_int wrong, calls[IN_STORE + 1][MOST_PIECES], computing;
    _Atomic(int64_t) stored;
    place fail_in, cancel_in;
    int64_t at;
    size_t too_many;                 /* bytes requested by fail_in at `at` instead of failing */
    bool loads_ahead, stores_behind; /* compute waits for the load of the next; store for the next one's compute */
} record;

static void expect(record *r, int condition, int number)
{
    int none = 0;
    if (!condition)
        atomic_compare_exchange_strong(&r->wrong, &none, number);
}

/* Expects the work after `n` to happen in parallel: waits up to 5 s, as a busy machine may need, once in vain. */
static void expect_soon(record *r, const atomic_int *seen, int number)
{
    static atomic_int in_vain;
    for (int i = 0; atomic_load(seen) == 0 && atomic_load(&in_vain) == 0 && i < 25000; i++)
        usleep(200);
    expect(r, (atomic_fetch_or(&in_vain, !atomic_load(seen)) | !atomic_load(seen)) == 0, number);
}

static vf_status called(record *r, place where, int64_t n, size_t *bytes)
{
    expect(r, n >= 0 && n < r->work.pieces, 1);
    expect(r, atomic_fetch_add(&r->calls[where][n], 1) == 0, 2);
    if (where == r->cancel_in && n == r->at)
        vf_context_cancel(ctx);
    if (where != r->fail_in || n != r->at)
        return VF_OK;
    if (n + 1 < r->work.pieces) /* other pieces should be at work by then, and wait for this one */
        for (int i = 0; i < 20 && !r->calls[IN_LOAD][n + 1]; i++)
            usleep(500);
    if (r->too_many && bytes)
        *bytes = r->too_many;
    return r->too_many ? VF_OK : vf_fail(ctx, VF_ERR_INPUT + (int)where % 2, "piece %lld fails", (long long)n);
}

static vf_status load(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    record *r = user;
    const int64_t n = piece->number;
    expect(r, piece->device >= 0 && piece->device < r->options.devices, 3);
    expect(r, (piece->host == piece->memory) == vf_device_is_host(vf_queue_device(piece->queue)), 4);
    memcpy(piece->host, r->truth + n * HALF, r->sizes[n]);
    *bytes = r->sizes[n];
    return called(r, IN_LOAD, n, bytes);
}

/* The piece twice, through the stage's own memory, followed by the former contents of the shared memory, which
 * receives the piece's own head. */
static vf_status compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    record *r = user;
    const int64_t n = piece->number;
    const size_t size = r->sizes[n];
    uint8_t *at = piece->memory, *shared = r->shared.data;
    expect(r, !r->work.load || r->calls[IN_LOAD][n] == 1, 5);
    if (r->options.ordered)
        expect(r, atomic_fetch_add(&r->computing, 1) == 0 && (n == 0 || r->calls[IN_COMPUTE][n - 1]), 6);
    vf_status status = vf_queue_copy(piece->queue, piece->scratch, at, size);
    if (status == VF_OK)
        status = vf_queue_copy(piece->queue, at + size, piece->scratch, size);
    if (status == VF_OK && r->options.ordered) {
        status = vf_queue_copy(piece->queue, at + 2 * size, shared, TAIL);
        if (status == VF_OK)
            status = vf_queue_copy(piece->queue, shared + (n + 1) * TAIL, shared, TAIL);
        if (status == VF_OK)
            status = vf_queue_copy(piece->queue, shared, at, size < TAIL ? size : TAIL);
    }
    *bytes = 2 * size + (r->options.ordered ? TAIL : 0);
    if (status == VF_OK)
        status = called(r, IN_COMPUTE, n, bytes);
    if (status == VF_OK && r->loads_ahead && n + 1 < r->work.pieces)
        expect_soon(r, &r->calls[IN_LOAD][n + 1], 7);
    if (r->options.ordered)
        r->computing--;
    return status;
}

/* The shared memory when piece n begins: the heads of the earlier pieces, each over the previous one. */
static void tail_before(const record *r, int64_t n, uint8_t tail[TAIL])
{
    memset(tail, 0, TAIL);
    for (int64_t i = 0; i < n; i++)
        memcpy(tail, r->truth + i * HALF, r->sizes[i] < TAIL ? r->sizes[i] : TAIL);
}

static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    record *r = user;
    const int64_t n = piece->number;
    const uint8_t *got = piece->host, *is = r->truth + n * HALF;
    const size_t size = r->sizes[n];
    uint8_t tail[TAIL];
    tail_before(r, n, tail);
    expect(r, n == r->stored && r->calls[IN_COMPUTE][n] == 1, 8);
    expect(r, memcmp(got, is, size) == 0 && memcmp(got + size, is, size) == 0, 9);
    expect(r, !r->options.ordered || memcmp(got + 2 * size, tail, TAIL) == 0, 10);
    if (r->stores_behind && n + 1 < r->work.pieces)
        expect_soon(r, &r->calls[IN_COMPUTE][n + 1], 11);
    vf_status status = called(r, IN_STORE, n, NULL);
    r->stored += status == VF_OK;
    return status;
}

/* ---- setting up ---- */

static record *new_record(int64_t pieces, int stages, int buffers, bool ordered, bool stores)
{
    record *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_true(pieces <= MOST_PIECES);
    r->truth = malloc((size_t)pieces * HALF + 1);
    assert_non_null(r->truth);
    for (int64_t i = 0; i < pieces * HALF; i++)
        r->truth[i] = (uint8_t)(256 * uniform());
    for (int64_t n = 0; n < pieces; n++) /* none, few, most, or any number of bytes */
        r->sizes[n] = (size_t)(uniform() < 0.2 ? 3 * uniform() : uniform() < 0.2 ? HALF : HALF * uniform());
    r->options = (vf_pipeline_options){.devices = ordered ? 1 : vf_context_device_count(ctx),
                                       .stages = stages,
                                       .buffers = buffers,
                                       .bytes = BYTES,
                                       .scratch = HALF,
                                       .ordered = ordered,
                                       .ordinary = uniform() < 0.5};
    r->work = (vf_pipeline_work){
        .pieces = pieces, .user = r, .load = load, .compute = compute, .store = stores ? store : NULL};
    return r;
}

static void make_shared(record *r)
{
    static uint8_t zero[(MOST_PIECES + 1) * TAIL];
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, sizeof zero, &r->shared), VF_OK);
    vf_queue *queue;
    assert_int_equal(vf_queue_create(device, &queue), VF_OK);
    assert_int_equal(vf_queue_copy(queue, r->shared.data, zero, sizeof zero), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    vf_queue_destroy(queue);
}

static void check_shared(const record *r)
{
    static uint8_t got[(MOST_PIECES + 1) * TAIL];
    uint8_t tail[TAIL];
    vf_queue *queue;
    assert_int_equal(vf_queue_create(device, &queue), VF_OK);
    assert_int_equal(vf_queue_copy(queue, got, r->shared.data, sizeof got), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    vf_queue_destroy(queue);
    for (int64_t n = 0; n < r->work.pieces; n++) {
        tail_before(r, n, tail);
        assert_memory_equal(got + (n + 1) * TAIL, tail, TAIL);
    }
}

static void forget_calls(record *r)
{
    memset(r->calls, 0, sizeof r->calls);
    r->computing = 0;
    r->stored = 0;
}

static void begin(record *r)
{
    make_shared(r);
    assert_int_equal(vf_pipeline_create(ctx, &r->options, &r->pipeline), VF_OK);
}

static void end(record *r)
{
    vf_pipeline_destroy(r->pipeline);
    vf_array_free(&r->shared);
    free(r->truth);
    if (r->wrong)
        fail_msg("check %d of load, compute and store failed", r->wrong);
    free(r);
}

static void check_whole_run(record *r)
{
    assert_int_equal(vf_pipeline_run(r->pipeline, &r->work), VF_OK);
    assert_int_equal(vf_context_status(ctx), VF_OK);
    assert_int_equal(r->stored, r->work.store ? r->work.pieces : 0);
    for (int64_t n = 0; n < r->work.pieces; n++) {
        assert_int_equal(r->calls[IN_LOAD][n], r->work.load != NULL);
        assert_int_equal(r->calls[IN_COMPUTE][n], 1);
        assert_int_equal(r->calls[IN_STORE][n], r->work.store != NULL);
    }
    if (r->options.ordered)
        check_shared(r);
}

static int stages_in_all(int stages)
{
    return (vf_device_is_host(device) ? 1 : stages) * vf_context_device_count(ctx);
}

/* ---- the tests, on any `device` ---- */

static void test_whole_runs(void **state)
{
    (void)state;
    static const int64_t pieces[] = {0, 1, 2, 3, 7, 40};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
        for (int stages = 1; stages <= 3; stages++)
            for (int more = 0; more <= 2; more++)
                for (int kind = 0; kind < 4; kind++) {
                    record *r = new_record(pieces[p], stages, stages_in_all(stages) + more, kind & 1, kind & 2);
                    begin(r);
                    if (r->options.ordered)
                        assert_int_equal(vf_pipeline_stages(r->pipeline), vf_device_is_host(device) ? 1 : stages);
                    check_whole_run(r);
                    end(r);
                }
}

/* A failing pipeline: the stored pieces are a beginning, nothing is done twice (`called` checks this), and the next
 * run is complete. */
static void test_failures(void **state)
{
    (void)state;
    for (int stages = 1; stages <= 3; stages++)
        for (int kind = 0; kind < 4; kind++)
            for (place where = IN_LOAD; where <= IN_STORE; where++)
                for (int64_t at = 0; at < 20; at = 3 * at + 2) {
                    record *r = new_record(20, stages, stages_in_all(stages) + 1, kind & 1, true);
                    begin(r);
                    r->fail_in = where;
                    r->at = at;
                    r->too_many = kind & 2 && where != IN_STORE ? BYTES + 1 : 0;
                    const vf_status expected = r->too_many ? VF_ERR_INTERNAL : VF_ERR_INPUT + (int)where % 2;
                    assert_int_equal(vf_pipeline_run(r->pipeline, &r->work), expected);
                    assert_int_equal(vf_context_status(ctx), expected);
                    assert_non_null(strstr(vf_context_message(ctx), r->too_many ? "more than" : "fails"));
                    assert_true(r->stored <= at);
                    for (int64_t n = at + 2 * r->options.buffers; n < 20; n++)
                        assert_int_equal(r->calls[IN_LOAD][n], 0);
                    vf_context_clear_error(ctx);
                    r->fail_in = NOWHERE;
                    forget_calls(r);
                    vf_array_free(&r->shared);
                    make_shared(r);
                    check_whole_run(r);
                    end(r);
                }
}

static void *cancel_soon(void *argument)
{
    usleep(3000);
    vf_context_cancel(argument);
    return NULL;
}

/* A cancelled context stays cancelled: a new one each time, with the device unchanged. */
static void cancelled(bool stores, void (*set_up)(void), void (*tear_down)(void))
{
    vf_context *const kept = ctx;
    vf_device *const kept_device = device;
    for (int stages = 1; stages <= 3; stages++)
        for (int ordered = 0; ordered < 2; ordered++)
            for (int where = NOWHERE; where <= IN_STORE + 1; where++) {
                pthread_t thread;
                assert_int_equal(vf_context_create(&ctx), VF_OK);
                assert_int_equal(vf_context_set_devices(ctx, vf_device_spec(kept_device)), VF_OK);
                device = vf_context_device(ctx, 0);
                set_up();
                record *r = new_record(MOST_PIECES, stages, stages_in_all(stages) + 1, ordered, stores);
                begin(r);
                r->cancel_in = (place)where;
                r->at = 5;
                if (where == NOWHERE)
                    vf_context_cancel(ctx);
                if (where > IN_STORE) /* by another thread, in the middle of it or slightly later */
                    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, ctx), 0);
                const vf_status status = vf_pipeline_run(r->pipeline, &r->work);
                if (where > IN_STORE)
                    pthread_join(thread, NULL);
                if (where < IN_STORE || (where == IN_STORE && stores) || r->calls[IN_LOAD][MOST_PIECES - 1] == 0)
                    assert_int_equal(status, VF_ERR_CANCELLED);
                if (where == NOWHERE)
                    assert_int_equal(r->stored + r->calls[IN_LOAD][0], 0);
                else if (status == VF_ERR_CANCELLED && where <= IN_STORE)
                    assert_int_equal(r->calls[IN_LOAD][6 + 2 * r->options.buffers], 0);
                end(r);
                tear_down();
                vf_context_destroy(ctx);
                ctx = kept;
                device = kept_device;
            }
}

static void overlap(int stages, bool ordered)
{
    record *r = new_record(12, stages, stages_in_all(stages) + 1, ordered, true);
    begin(r);
    r->loads_ahead = vf_pipeline_stages(r->pipeline) > 1;
    r->stores_behind = true;
    check_whole_run(r);
    end(r);
}

static void test_no_function(void **state)
{
    (void)state;
    record *r = new_record(9, 2, stages_in_all(2), false, false);
    begin(r);
    for (int64_t n = 0; n < 9; n++)
        r->sizes[n] = 0;
    r->work.load = NULL;
    check_whole_run(r);
    r->work.compute = NULL;
    assert_int_equal(vf_pipeline_run(r->pipeline, &r->work), VF_ERR_INTERNAL);
    r->work.compute = compute;
    r->work.pieces = -1;
    vf_context_clear_error(ctx);
    assert_int_equal(vf_pipeline_run(r->pipeline, &r->work), VF_ERR_INTERNAL);
    vf_context_clear_error(ctx);
    r->work.pieces = 9;
    end(r);
}

static void test_options(void **state)
{
    (void)state;
    const int devices = vf_context_device_count(ctx), in_all = stages_in_all(2);
    const vf_pipeline_options bad[] = {{0, 1, 4, false, 16, 0, false, 0, false},
                                       {-1, 1, 4, false, 16, 0, false, 0, false},
                                       {devices + 1, 1, 99, false, 16, 0, false, 0, false},
                                       {devices, 0, 4, false, 16, 0, false, 0, false},
                                       {devices, -1, 4, false, 16, 0, false, 0, false},
                                       {devices, 2, in_all - 1, false, 16, 0, false, 0, false},
                                       {devices, 2, 0, false, 16, 0, false, 0, false},
                                       {devices, 2, -5, false, 16, 0, false, 0, false},
                                       {1, 1, 1, false, SIZE_MAX, 0, false, 0, false},
                                       {1, 1, 1, false, 16, SIZE_MAX, false, 0, false},
                                       {1, 1, 1, false, (size_t)1 << 46, 0, false, 0, false}};
    const size_t cases = sizeof bad / sizeof *bad - vf_device_is_host(device); /* hosts promise any amount of memory */
    for (size_t i = 0; i < cases; i++) {
        vf_pipeline *none = (void *)&none;
        const bool large = i == sizeof bad / sizeof *bad - 1;
        const vf_status status = vf_pipeline_create(ctx, &bad[i], &none);
        if (!(large ? status == VF_ERR_MEMORY || status == VF_ERR_DEVICE_MEMORY : status == VF_ERR_ARGUMENT))
            fail_msg("options %zu: status %d", i, (int)status);
        assert_null(none);
        vf_context_clear_error(ctx);
    }
    if (devices > 1) {
        vf_pipeline *none;
        const vf_pipeline_options ordered = {devices, 1, 9, true, 16, 0, false, 0, false};
        assert_int_equal(vf_pipeline_create(ctx, &ordered, &none), VF_ERR_ARGUMENT);
        vf_context_clear_error(ctx);
    }
    const vf_pipeline_options empty = {1, 2, 2, false, 0, 0, false, 0, false};
    vf_pipeline *p;
    assert_int_equal(vf_pipeline_create(ctx, &empty, &p), VF_OK);
    vf_pipeline_destroy(p);
    vf_pipeline_destroy(NULL);
}

static void nothing(void)
{
}

static void test_cancelled(void **state)
{
    (void)state;
    cancelled(true, nothing, nothing);
    cancelled(false, nothing, nothing);
}

static void test_overlap(void **state)
{
    (void)state;
    for (int stages = 1; stages <= 3; stages++)
        for (int ordered = 0; ordered < 2; ordered++)
            overlap(stages, ordered);
}

/* ---- on the device that behaves like a GPU ---- */

static void fake_set_up(void)
{
    fake_device_begin(device, 300, 0);
}

static void fake_tear_down(void)
{
    assert_int_equal(fake_held, 0);
    fake_device_end(device);
}

static void on_fake_device(void (*test)(void **state))
{
    if (!fake_device_fits(device))
        skip();
    fake_set_up();
    test(NULL);
    fake_tear_down();
}

static void test_whole_runs_behind_the_back(void **state)
{
    (void)state;
    on_fake_device(test_whole_runs);
}

static void test_failures_behind_the_back(void **state)
{
    (void)state;
    on_fake_device(test_failures);
}

static void test_cancelled_behind_the_back(void **state)
{
    (void)state;
    if (!fake_device_fits(device))
        skip();
    cancelled(true, fake_set_up, fake_tear_down);
    cancelled(false, fake_set_up, fake_tear_down);
}

static void test_overlap_behind_the_back(void **state)
{
    (void)state;
    on_fake_device(test_overlap);
}

/* Every allocation, queue, copy and order of queues fails in turn. */
static void every_failure(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        bool failed = true;
        for (int at = 1; failed; at++) {
            record *r = new_record(6, 2, 3, ordered, true);
            make_shared(r);
            fake_calls = 0;
            fake_fails_at = at;
            vf_status status = vf_pipeline_create(ctx, &r->options, &r->pipeline);
            assert_true((status == VF_OK) == (r->pipeline != NULL));
            if (status == VF_OK)
                status = vf_pipeline_run(r->pipeline, &r->work);
            failed = fake_calls >= at;
            assert_int_equal(status != VF_OK, failed);
            assert_int_equal(vf_context_status(ctx), status);
            assert_true(!failed || strcmp(vf_context_message(ctx), "made to fail") == 0);
            assert_true(failed || (r->stored == 6 && at > 12));
            fake_fails_at = 0;
            vf_context_clear_error(ctx);
            end(r);
        }
    }
}

static void test_every_failure(void **state)
{
    (void)state;
    on_fake_device(every_failure);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_runs),
                                       cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_cancelled),
                                       cmocka_unit_test(test_overlap),
                                       cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_no_function),
                                       cmocka_unit_test(test_whole_runs_behind_the_back),
                                       cmocka_unit_test(test_failures_behind_the_back),
                                       cmocka_unit_test(test_cancelled_behind_the_back),
                                       cmocka_unit_test(test_overlap_behind_the_back),
                                       cmocka_unit_test(test_every_failure)};
    alarm(300); /* a test that hangs has failed */
    return run_on_device(argc, argv, tests, NULL, NULL);
}
