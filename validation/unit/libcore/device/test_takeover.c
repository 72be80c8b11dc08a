/* Failing devices of a pipeline: others take over, the stored result is the same as without a failure, and there is
 * one warning. On several devices on the CPU with simulated failures (VOXFIELD_SIMULATE_FAILURE), and on devices
 * that behave like GPUs (fake_device.h), whose every call fails in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_device.h"
#include "voxfield/pipeline.h"
#include "voxfield/timer.h"

enum { PIECES = 24, BYTES = 512 };
static const char variable[] = "VOXFIELD_SIMULATE_FAILURE";

typedef struct record {
    vf_context *ctx;
    vf_pipeline_options options;
    vf_pipeline *pipeline;
    vf_pipeline_work work;
    int warnings;
    char warning[300]; /* the last one */
    atomic_int wrong, loads[PIECES], computed[PIECES];
    int64_t stored, cancel_at, wrong_bytes_at;
    unsigned doomed; /* a bit for each device that must fail before any other's piece is done */
} record;

static void expect(record *r, int condition, int number)
{
    int none = 0;
    if (!condition)
        atomic_compare_exchange_strong(&r->wrong, &none, number);
}

static uint8_t truth(int64_t piece, int byte)
{
    return (uint8_t)(37 * piece + 11 * byte + byte / 7);
}

static vf_status load(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    record *r = user;
    uint8_t *to = piece->host;
    for (int b = 0; b < BYTES / 2; b++)
        to[b] = truth(piece->number, b);
    memset(to + BYTES / 2, 0xee, BYTES / 2); /* not an earlier result */
    r->loads[piece->number]++;
    *bytes = BYTES / 2;
    return VF_OK;
}

/* However slowly a busy machine starts their threads. */
static void wait_for_the_doomed(record *r)
{
    for (int d = 0; d < r->options.devices; d++)
        for (double began = vf_now(); r->doomed >> d & 1 && !vf_device_failure(vf_context_device(r->ctx, d));) {
            if (vf_now() - began > 10) {
                expect(r, false, 4);
                break;
            }
            usleep(200);
        }
}

/* The piece twice, through the stage's own memory. */
static vf_status compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    record *r = user;
    uint8_t *at = piece->memory;
    *bytes = piece->number == r->wrong_bytes_at ? BYTES + 1 : BYTES;
    vf_status status = vf_queue_copy(piece->queue, piece->scratch, at, BYTES / 2);
    if (status == VF_OK)
        status = vf_queue_copy(piece->queue, at + BYTES / 2, piece->scratch, BYTES / 2);
    r->computed[piece->number]++;
    if (!(r->doomed >> piece->device & 1))
        wait_for_the_doomed(r);
    return status;
}

static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    record *r = user;
    const uint8_t *got = piece->host;
    bool same = true;
    for (int b = 0; b < BYTES; b++)
        same = same && got[b] == truth(piece->number, b % (BYTES / 2));
    expect(r, same, 1);
    expect(r, piece->number == r->stored++, 2);
    if (piece->number == r->cancel_at)
        vf_context_cancel(r->ctx);
    return VF_OK;
}

static void listen(void *user, vf_log_level level, const char *text)
{
    record *r = user;
    expect(r, level == VF_LOG_WARNING, 3);
    r->warnings++;
    snprintf(r->warning, sizeof r->warning, "%s", text);
}

static record *new_record(const char *devices, int stages, const char *simulated)
{
    record *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(vf_context_create(&r->ctx), VF_OK);
    assert_int_equal(vf_context_set_devices(r->ctx, devices), VF_OK);
    vf_context_set_log(r->ctx, listen, r);
    const int count = vf_context_device_count(r->ctx);
    r->options = (vf_pipeline_options){
        .devices = count, .stages = stages, .buffers = count * stages + 1, .bytes = BYTES, .scratch = BYTES};
    r->work = (vf_pipeline_work){.pieces = PIECES, .user = r, .load = load, .compute = compute, .store = store};
    r->cancel_at = r->wrong_bytes_at = -1;
    if (simulated)
        setenv(variable, simulated, 1);
    else
        unsetenv(variable);
    return r;
}

static void end(record *r)
{
    vf_pipeline_destroy(r->pipeline);
    vf_context_destroy(r->ctx);
    if (r->wrong)
        fail_msg("check %d of load, compute and store failed", r->wrong);
    free(r);
    unsetenv(variable);
}

static void create(record *r)
{
    assert_int_equal(vf_pipeline_create(r->ctx, &r->options, &r->pipeline), VF_OK);
}

static void check_whole_run(record *r)
{
    assert_int_equal(vf_pipeline_run(r->pipeline, &r->work), VF_OK);
    assert_int_equal(vf_context_status(r->ctx), VF_OK);
    assert_int_equal(r->stored, PIECES);
    int64_t done = 0;
    for (int d = 0; d < r->options.devices; d++)
        done += vf_pipeline_done(r->pipeline, d);
    assert_int_equal(done, PIECES);
}

/* ---- simulated failures, on the CPU ---- */

static void test_simulated(void **state)
{
    (void)state;
    for (int at = 1; at <= 4; at++) {
        char text[32];
        snprintf(text, sizeof text, "cpu:5@%d", at);
        record *r = new_record("cpu:0,5,2", 2, text);
        r->doomed = 1 << 1;
        create(r);
        assert_int_equal(vf_pipeline_stages(r->pipeline), 3);
        check_whole_run(r);
        assert_int_equal(r->warnings, 1);
        assert_non_null(strstr(r->warning, "cpu:5 is dropped"));
        assert_non_null(strstr(r->warning, variable));
        assert_int_equal(vf_pipeline_done(r->pipeline, 1), at - 1); /* a device on the CPU has one stage */
        assert_non_null(strstr(vf_device_failure(vf_context_device(r->ctx, 1)), variable));
        assert_null(vf_device_failure(vf_context_device(r->ctx, 0)));
        int anew = 0;
        for (int n = 0; n < PIECES; n++) {
            assert_true(r->loads[n] >= 1 && r->loads[n] == r->computed[n]);
            anew += r->loads[n] - 1;
        }
        assert_int_equal(anew, 1);

        r->stored = 0; /* the device stays excluded from later runs, and from later pipelines */
        check_whole_run(r);
        assert_int_equal(vf_pipeline_stages(r->pipeline), 2);
        assert_int_equal(vf_pipeline_done(r->pipeline, 1), 0);
        vf_pipeline_destroy(r->pipeline);
        create(r);
        assert_int_equal(vf_pipeline_stages(r->pipeline), 2);
        r->stored = 0;
        check_whole_run(r);
        assert_int_equal(r->warnings, 1);
        end(r);
    }
}

static void test_all_but_one(void **state)
{
    (void)state;
    record *r = new_record("cpu:0,1,2", 1, "cpu:2@1,cpu:0@2");
    r->doomed = 1 << 2 | 1 << 0;
    create(r);
    check_whole_run(r);
    assert_int_equal(r->warnings, 2);
    assert_int_equal(vf_pipeline_done(r->pipeline, 0), 1);
    assert_int_equal(vf_pipeline_done(r->pipeline, 1), PIECES - 1);
    end(r);
}

static void test_all(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        record *r = n ? new_record("cpu", 1, "cpu@4") : new_record("cpu:0,1", 1, "cpu:0@3,cpu:1@2");
        create(r);
        assert_int_equal(vf_pipeline_run(r->pipeline, &r->work), VF_ERR_DEVICE);
        assert_int_equal(vf_context_status(r->ctx), VF_ERR_DEVICE);
        assert_non_null(strstr(vf_context_message(r->ctx), variable));
        assert_int_equal(r->warnings, n ? 0 : 1);
        assert_true(r->stored <= 3);
        end(r);
    }
}

/* A device that cannot start is an error, or, if others remain, given up. */
static void test_not_started(void **state)
{
    (void)state;
    for (int spare = 0; spare < 2; spare++)
        for (int all = 0; all < 2; all++) {
            record *r = new_record("cpu:0,1", 1, all ? "cpu:0@0,cpu:1@0" : "cpu:0@0");
            r->options.spare = spare;
            if (spare && !all) {
                create(r);
                check_whole_run(r);
                assert_int_equal(vf_pipeline_done(r->pipeline, 1), PIECES);
                assert_int_equal(r->warnings, 1);
            } else {
                assert_int_equal(vf_pipeline_create(r->ctx, &r->options, &r->pipeline), VF_ERR_DEVICE);
                assert_null(r->pipeline);
                assert_non_null(strstr(vf_context_message(r->ctx), variable));
                assert_int_equal(r->warnings, spare);
            }
            end(r);
        }
}

static void test_cancelled_and_other_errors(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        record *r = new_record("cpu:0,1", 1, "cpu:1@2");
        *(which ? &r->wrong_bytes_at : &r->cancel_at) = 9;
        create(r);
        const vf_status expected = which ? VF_ERR_INTERNAL : VF_ERR_CANCELLED;
        assert_int_equal(vf_pipeline_run(r->pipeline, &r->work), expected);
        assert_int_equal(vf_context_status(r->ctx), expected);
        assert_true(r->stored >= (which ? 0 : 10) && r->stored < PIECES);
        end(r);
    }
}

static void test_malformed(void **state)
{
    (void)state;
    static const char *const bad[] = {"x",
                                      "cpu:0",
                                      "cpu:0@",
                                      "cpu:0@x",
                                      "cpu:0@-1",
                                      "cpu:0@1x",
                                      "@1",
                                      "cpu:0@1,",
                                      ",cpu:0@1",
                                      "cpu:0@1 ",
                                      "cpu:0@+1",
                                      "cpu:7@1",
                                      "cpu@1",
                                      "cuda:0@1",
                                      "cpu:0@1,cpu:0@2",
                                      "cpu:0@ 1",
                                      "cpu:0@1;cpu:1@1",
                                      "cpu:0,1@1",
                                      "cpu:0@99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        record *r = new_record("cpu:0,1", 1, bad[i]);
        assert_int_equal(vf_pipeline_create(r->ctx, &r->options, &r->pipeline), VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(r->ctx), variable));
        assert_non_null(strstr(vf_context_message(r->ctx), bad[i]));
        end(r);
    }
    record *r = new_record("cpu:0,1", 1, "");
    create(r);
    check_whole_run(r);
    assert_int_equal(r->warnings, 0);
    end(r);
}

/* ---- devices like GPUs ---- */

typedef struct fakes {
    const vf_device_ops *ops;
    int count;
} fakes;

static fakes begin_fakes(record *r, int fails_at)
{
    fakes f = {.count = vf_context_device_count(r->ctx)};
    for (int d = 0; d < f.count; d++) {
        vf_device *device = vf_context_device(r->ctx, d);
        f.ops = device->ops;
        fake_device_begin(device, 200, fails_at);
    }
    fake_stays = true;
    return f;
}

static void end_fakes(record *r, const fakes *f)
{
    for (int d = 0; d < f->count; d++) {
        vf_context_device(r->ctx, d)->ops = f->ops;
        vf_context_device(r->ctx, d)->kind = VF_DEVICE_CPU;
    }
}

/* Every allocation, queue and copy fails in turn, and with it its device. Only host memory, which has no substitute,
 * ends the run. */
static void test_every_failure(void **state)
{
    (void)state;
    for (int stages = 1; stages <= 2; stages++) {
        bool failed = true;
        int taken_over = 0, refused = 0;
        for (int at = 1; failed; at++) {
            record *r = new_record("cpu:0,1,2", stages, NULL);
            r->options.spare = true;
            fakes f = begin_fakes(r, at);
            vf_status status = vf_pipeline_create(r->ctx, &r->options, &r->pipeline);
            if (status == VF_OK)
                status = vf_pipeline_run(r->pipeline, &r->work);
            failed = fake_calls >= at;
            assert_int_equal(vf_context_status(r->ctx), status);
            if (status == VF_OK) {
                assert_int_equal(r->stored, PIECES);
                assert_int_equal(r->warnings, failed);
                assert_true(!failed || strstr(r->warning, "made to fail"));
                taken_over += failed;
            } else {
                assert_int_equal(status, VF_ERR_MEMORY);
                assert_int_equal(r->stored, 0);
                refused++;
            }
            vf_pipeline_destroy(r->pipeline);
            r->pipeline = NULL;
            assert_int_equal(fake_held, 0);
            end_fakes(r, &f);
            end(r);
        }
        assert_int_equal(refused, 3 * stages + 1); /* the pinned buffers */
        assert_true(taken_over >= 4 * PIECES);     /* copies in, to and from scratch memory, out */
    }
}

/* Both devices fail, the second a little later: an error with its message, and nothing after it is stored. */
static void test_every_pair_of_failures(void **state)
{
    (void)state;
    for (int at = 12; at < 60; at += 5) {
        record *r = new_record("cpu:0,1", 2, NULL);
        fakes f = begin_fakes(r, 0);
        create(r);
        fake_failed[0] = vf_context_device(r->ctx, at % 2);
        fake_fails_at = fake_calls + at;
        fake_failed[1] = at % 3 ? NULL : vf_context_device(r->ctx, 1 - at % 2);
        const vf_status status = vf_pipeline_run(r->pipeline, &r->work);
        const bool both = fake_failed[1] != fake_failed[0]; /* otherwise the first device made the failing call, too */
        assert_int_equal(vf_is_device_error(status), both);
        assert_int_equal(vf_context_status(r->ctx), status);
        assert_string_equal(vf_context_message(r->ctx), both ? "made to fail" : "");
        assert_int_equal(r->warnings, 1);
        assert_true(both ? r->stored < PIECES : r->stored == PIECES);
        if (!both) /* another time: its second thread was late */
            at -= 5;
        vf_pipeline_destroy(r->pipeline);
        r->pipeline = NULL;
        assert_int_equal(fake_held, 0);
        end_fakes(r, &f);
        end(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_simulated),
                                       cmocka_unit_test(test_all_but_one),
                                       cmocka_unit_test(test_all),
                                       cmocka_unit_test(test_not_started),
                                       cmocka_unit_test(test_cancelled_and_other_errors),
                                       cmocka_unit_test(test_malformed),
                                       cmocka_unit_test(test_every_failure),
                                       cmocka_unit_test(test_every_pair_of_failures)};
    alarm(300); /* a test that hangs has failed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
