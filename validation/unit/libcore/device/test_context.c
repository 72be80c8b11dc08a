/* Contexts, devices, queues and arrays: the first error is kept, signals cancel, and impossible requests fail.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "voxfield/append.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"

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
    ctx = NULL;
    return 0;
}

static void test_status_list(void **state)
{
    (void)state;
    static const struct {
        vf_status status;
        const char *name;
        int exit_code;
    } documented[] = {{VF_OK, "VF_OK", 0},
                      {VF_ERR_ARGUMENT, "VF_ERR_ARGUMENT", 2},
                      {VF_ERR_INPUT, "VF_ERR_INPUT", 3},
                      {VF_ERR_OUTPUT, "VF_ERR_OUTPUT", 4},
                      {VF_ERR_MEMORY, "VF_ERR_MEMORY", 5},
                      {VF_ERR_DEVICE, "VF_ERR_DEVICE", 6},
                      {VF_ERR_DEVICE_MEMORY, "VF_ERR_DEVICE_MEMORY", 7},
                      {VF_ERR_UNSUPPORTED, "VF_ERR_UNSUPPORTED", 8},
                      {VF_ERR_INCOMPLETE, "VF_ERR_INCOMPLETE", 9},
                      {VF_ERR_CANCELLED, "VF_ERR_CANCELLED", 130},
                      {VF_ERR_INTERNAL, "VF_ERR_INTERNAL", 70}};
    assert_int_equal(sizeof documented / sizeof *documented, VF_STATUS_COUNT);
    for (int i = 0; i < VF_STATUS_COUNT; i++) {
        assert_string_equal(vf_status_name(documented[i].status), documented[i].name);
        assert_int_equal(vf_status_exit_code(documented[i].status), documented[i].exit_code);
        assert_true(strlen(vf_status_text(documented[i].status)) > 3);
    }
    const int strange[] = {VF_STATUS_COUNT, -1, 1000000};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vf_status_exit_code((vf_status)strange[i]), 70);
        assert_non_null(vf_status_name((vf_status)strange[i]));
        assert_non_null(vf_status_text((vf_status)strange[i]));
    }
}

static void test_first_error_is_kept(void **state)
{
    (void)state;
    assert_int_equal(vf_context_status(ctx), VF_OK);
    assert_string_equal(vf_context_message(ctx), "");
    assert_int_equal(vf_fail(ctx, VF_ERR_INPUT, "%s:%d: %s", "a.pqr", 7, "no"), VF_ERR_INPUT);
    assert_int_equal(vf_fail(ctx, VF_ERR_OUTPUT, "during clean-up"), VF_ERR_OUTPUT);
    assert_int_equal(vf_context_status(ctx), VF_ERR_INPUT);
    assert_string_equal(vf_context_message(ctx), "a.pqr:7: no");
    vf_context_clear_error(ctx);
    assert_int_equal(vf_context_status(ctx), VF_OK);
    assert_string_equal(vf_context_message(ctx), "");
    char *long_text = malloc(100001);
    assert_non_null(long_text);
    memset(long_text, 'x', 100000);
    long_text[100000] = '\0';
    vf_fail(ctx, VF_ERR_INPUT, "%s", long_text);
    assert_true(strlen(vf_context_message(ctx)) >= 500 && strlen(vf_context_message(ctx)) < 100000);
    free(long_text);
}

enum { THREADS = 8, CALLS = 500 };
static atomic_int inside;
static int calls, overlaps;

static void count_log(void *user, vf_log_level level, const char *text)
{
    (void)level;
    overlaps += atomic_fetch_add(&inside, 1) != 0;
    calls += user == &calls && strncmp(text, "thread ", 7) == 0; /* not atomic: calls are serialised */
    atomic_fetch_sub(&inside, 1);
}

static void *talk(void *argument)
{
    for (int i = 0; i < CALLS; i++) {
        vf_note(ctx, "thread %d", *(int *)argument);
        vf_warn(ctx, "thread %d", *(int *)argument);
        vf_fail(ctx, VF_ERR_DEVICE, "thread %d", *(int *)argument);
        if (vf_context_status(ctx) != VF_ERR_DEVICE)
            overlaps++;
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    char expected[32];
    calls = overlaps = 0;
    vf_note(ctx, "nobody listens");
    vf_context_set_log(ctx, count_log, &calls);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, talk, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(overlaps, 0);
    assert_int_equal(calls, 2 * THREADS * CALLS);
    int number = vf_context_message(ctx)[strlen("thread ")] - '0';
    snprintf(expected, sizeof expected, "thread %d", number);
    assert_string_equal(vf_context_message(ctx), expected); /* one message, not a mixture */
}

static struct sigaction action_of(int number)
{
    struct sigaction action;
    assert_int_equal(sigaction(number, NULL, &action), 0);
    return action;
}

static void test_signals(void **state)
{
    (void)state;
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (int i = 0; i < 3; i++)
        signal(numbers[i], SIG_DFL); /* regardless of the parent process's settings */
    for (int i = 0; i < 3; i++) {
        vf_context *own;
        assert_int_equal(vf_context_create(&own), VF_OK);
        vf_context_cancel_on_signals(own);
        assert_false(vf_cancelled(own));
        raise(numbers[i]);
        assert_true(vf_cancelled(own));
        assert_true(action_of(numbers[i]).sa_handler == SIG_DFL); /* the second one kills */
        vf_context_cancel_on_signals(NULL);
        for (int k = 0; k < 3; k++)
            assert_true(action_of(numbers[k]).sa_handler == SIG_DFL);
        vf_context_destroy(own);
    }
    signal(SIGHUP, SIG_IGN); /* nohup */
    vf_context_cancel_on_signals(ctx);
    assert_true(action_of(SIGHUP).sa_handler == SIG_IGN);
    raise(SIGHUP);
    assert_false(vf_cancelled(ctx));
    raise(SIGINT);
    assert_true(vf_cancelled(ctx));
    vf_context_resume(ctx);
    assert_false(vf_cancelled(ctx));
    vf_context_cancel_on_signals(NULL);
    assert_true(action_of(SIGHUP).sa_handler == SIG_IGN);
    signal(SIGHUP, SIG_DFL);
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("OMP_NUM_THREADS"), 0);
    assert_int_equal(vf_context_set_threads(ctx, 0), VF_OK);
    const int cores = vf_context_threads(ctx);
    assert_true(cores >= 1 && cores <= 4096);
    assert_int_equal(setenv("OMP_NUM_THREADS", "1,2", 1), 0);
    assert_int_equal(vf_context_set_threads(ctx, 0), VF_OK);
    assert_int_equal(vf_context_threads(ctx), 1);
    for (int c = 0; c < 3; c++) { /* more than exist, and invalid numbers, do not count */
        assert_int_equal(setenv("OMP_NUM_THREADS", (const char *[]){"1000000", "many", "-1"}[c], 1), 0);
        assert_int_equal(vf_context_set_threads(ctx, 0), VF_OK);
        assert_int_equal(vf_context_threads(ctx), cores);
    }
    assert_int_equal(unsetenv("OMP_NUM_THREADS"), 0);
    assert_int_equal(vf_context_set_threads(ctx, 4096), VF_OK);
    assert_int_equal(vf_context_threads(ctx), 4096);
    assert_int_equal(vf_context_set_threads(ctx, 4097), VF_ERR_ARGUMENT);
    assert_int_equal(vf_context_set_threads(ctx, -1), VF_ERR_ARGUMENT);
    assert_int_equal(vf_context_threads(ctx), 4096);
    assert_int_equal(vf_context_set_threads(ctx, 0), VF_OK);
    assert_int_equal(vf_context_threads(ctx), cores);
}

static void test_device_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "CPU",
                                      "cpu ",
                                      "cpu:",
                                      "gpu",
                                      "auto",
                                      "cuda:",
                                      "cuda:a",
                                      "cuda:-1",
                                      "cuda: 1",
                                      "cuda:0,",
                                      "cuda:0,0",
                                      "cuda:,1",
                                      "cuda0",
                                      "cuda:1 ",
                                      "cuda:0 ,1",
                                      "cuda:4096",
                                      "cuda:99999999999999999999",
                                      "cuda:0;1",
                                      "cudax",
                                      "cpu0",
                                      "cpu:0,0",
                                      "cpu:x",
                                      "cpu:1,",
                                      "cpux",
                                      "cpu,cpu",
                                      "opencl:",
                                      "opencl:0,0",
                                      "opencl:-1",
                                      "opencl0",
                                      "openclx",
                                      ",cpu",
                                      "cpu,,cuda",
                                      "1",
                                      "cpu,opencl:0,cpu",
                                      "cuda:1,opencl:1,cuda:1",
                                      "opencl,opencl:0",
                                      "cuda,0",
                                      "opencl:0 ,cpu",
                                      "cpu:0,opencl:1024"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vf_context_clear_error(ctx);
        assert_int_equal(vf_context_set_devices(ctx, bad[i]), VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(ctx), bad[i]));
        assert_int_equal(vf_context_device_count(ctx), 1); /* unchanged */
        assert_string_equal(vf_device_spec(vf_context_device(ctx, 0)), "cpu");
    }
    vf_context_clear_error(ctx);
    assert_int_equal(vf_context_set_devices(ctx, NULL), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    char many[8 * 100] = "cuda:0";
    for (int i = 1; i < 70; i++)
        vf_append(many, sizeof many, ",%d", i);
    assert_int_equal(vf_context_set_devices(ctx, many), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_status status = vf_context_set_devices(ctx, "cuda:1000"); /* no machine has so many */
    assert_int_equal(status, vf_built_with_cuda() ? VF_ERR_DEVICE : VF_ERR_UNSUPPORTED);
    assert_non_null(strstr(vf_context_message(ctx), "cuda:1000"));
    assert_int_equal(vf_context_device_count(ctx), 1);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_context_set_devices(ctx, "cpu"), VF_OK);
}

static void test_several_cpu_devices(void **state)
{
    (void)state;
    assert_int_equal(vf_context_set_devices(ctx, "cpu:2,0,5"), VF_OK);
    assert_int_equal(vf_context_device_count(ctx), 3);
    static const char *const specs[] = {"cpu:2", "cpu:0", "cpu:5"};
    static const int numbers[] = {2, 0, 5};
    for (int d = 0; d < 3; d++) {
        assert_string_equal(vf_device_spec(vf_context_device(ctx, d)), specs[d]);
        assert_int_equal(vf_device_ordinal(vf_context_device(ctx, d)), numbers[d]);
        assert_true(vf_device_is_host(vf_context_device(ctx, d)));
    }
    assert_int_equal(vf_context_set_devices(ctx, "cpu:3"), VF_OK);
    assert_int_equal(vf_context_device_count(ctx), 1);
    assert_string_equal(vf_device_spec(vf_context_device(ctx, 0)), "cpu:3");
    assert_string_equal(vf_device_spec(vf_context_host(ctx)), "cpu");
}

static void test_cpu_device(void **state)
{
    (void)state;
    uint64_t available = 0, total = 0, again = 0;
    const char *reason = NULL;
    vf_device *cpu = vf_context_device(ctx, 0);
    assert_non_null(cpu);
    assert_null(vf_context_device(ctx, 1));
    assert_null(vf_context_device(ctx, -1));
    assert_int_equal(vf_device_get_kind(cpu), VF_DEVICE_CPU);
    assert_ptr_equal(vf_device_context(cpu), ctx);
    assert_true(vf_device_is_host(cpu) && vf_device_ordinal(cpu) == 0 && strlen(vf_device_name(cpu)) > 0);
    vf_host_memory(&available, &total);
    assert_true(available > 1 << 20 && available <= total);
    assert_int_equal(vf_device_memory(cpu, &available, &again), VF_OK);
    assert_true(again == total);
    if (vf_cuda_device_count(&reason) == 0)
        assert_true(reason && strlen(reason) > 10);
    assert_true(vf_built_with_cuda() || vf_cuda_device_count(NULL) == 0);
}

static void test_auto(void **state)
{
    (void)state;
    char why[160] = "";
    assert_int_equal(vf_device_choose(ctx, 1e-3, 1e-6, 8, why, sizeof why), VF_OK);
    assert_int_equal(vf_device_get_kind(vf_context_device(ctx, 0)), VF_DEVICE_CPU); /* too little work to start a GPU */
    assert_true(strlen(why) > 10);
    assert_int_equal(vf_device_choose(ctx, 1e6, 1, 8, why, sizeof why), VF_OK);
    vf_device_kind kind = vf_device_get_kind(vf_context_device(ctx, 0));
    assert_int_equal(kind, vf_cuda_device_count(NULL) > 0 ? VF_DEVICE_CUDA : VF_DEVICE_CPU);
    assert_true(strlen(why) > 10);
    char tiny[8];
    assert_int_equal(vf_device_choose(ctx, 1e-3, 1, 8, tiny, sizeof tiny), VF_OK);
    assert_true(strlen(tiny) < sizeof tiny);
}

static void test_arrays(void **state)
{
    (void)state;
    vf_device *cpu = vf_context_device(ctx, 0);
    vf_queue *queue = NULL;
    vf_array a = {0}, b = {0}, d = {0};
    assert_int_equal(vf_queue_create(cpu, &queue), VF_OK);
    assert_ptr_equal(vf_queue_device(queue), cpu);
    assert_null(vf_queue_native(queue));
    const vf_space spaces[] = {VF_SPACE_HOST, VF_SPACE_PINNED, VF_SPACE_DEVICE};
    for (int s = 0; s < 3; s++)
        for (int64_t count = 1; count < 5000000; count = count * 7 + 1) {
            assert_int_equal(vf_array_create(cpu, spaces[s], VF_F32, count, &a), VF_OK);
            assert_int_equal((uintptr_t)a.data % 64, 0);
            assert_int_equal(a.count, count);
            memset(a.data, 0x5a, (size_t)count * sizeof(float)); /* all of it is usable */
            vf_array_free(&a);
            assert_null(a.data);
            vf_array_free(&a);
        }
    assert_int_equal(vf_array_create(cpu, VF_SPACE_HOST, VF_F64, 0, &a), VF_OK);
    vf_array_free(&a);

    assert_int_equal(vf_array_create(cpu, VF_SPACE_HOST, VF_F64, -1, &a), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_array_create(cpu, VF_SPACE_HOST, VF_F64, INT64_MAX, &a), VF_ERR_ARGUMENT); /* bytes overflow */
    assert_null(a.data);
    vf_context_clear_error(ctx);

    assert_int_equal(vf_array_create(cpu, VF_SPACE_HOST, (vf_dtype)99, 1, &a), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "invalid element type 99"));
    assert_null(a.data);
    vf_context_clear_error(ctx);

    assert_int_equal(vf_array_create(cpu, VF_SPACE_DEVICE, VF_F64, 100, &a), VF_OK);
    assert_int_equal(vf_array_create(cpu, VF_SPACE_DEVICE, VF_F64, 50, &b), VF_OK);
    assert_int_equal(vf_array_create(cpu, VF_SPACE_DEVICE, VF_F32, 100, &d), VF_OK);
    for (int i = 0; i < 100; i++)
        ((double *)a.data)[i] = i;
    memset(b.data, 0, 50 * sizeof(double));
    assert_int_equal(vf_array_copy(queue, &b, &a, 49), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    for (int i = 0; i < 50; i++)
        assert_true(((double *)b.data)[i] == (i < 49 ? i : 0));
    assert_int_equal(vf_array_copy(queue, &b, &a, 0), VF_OK);
    assert_int_equal(vf_array_copy(queue, &b, &a, 51), VF_ERR_INTERNAL);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_array_copy(queue, &a, &b, 51), VF_ERR_INTERNAL);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_array_copy(queue, &a, &d, 10), VF_ERR_INTERNAL);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_array_copy(queue, &a, &b, -1), VF_ERR_INTERNAL);
    vf_array_free(&a);
    vf_array_free(&b);
    vf_array_free(&d);
    vf_queue_destroy(queue);
    vf_queue_destroy(NULL);
}

/* Not with sanitizers, which would end the process. */
static void test_more_memory_than_there_is(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("SKIP: a sanitizer ends the process here\n");
    skip();
#else
    vf_array a = {0};
    vf_status status = vf_array_create(vf_context_device(ctx, 0), VF_SPACE_HOST, VF_F64, (int64_t)1 << 57, &a);
    assert_int_equal(status, VF_ERR_MEMORY);
    assert_null(a.data);
    assert_non_null(strstr(vf_context_message(ctx), "GiB"));
#endif
}

static void test_instruction_sets(void **state)
{
    (void)state;
    unsetenv("VOXFIELD_ISA");
    vf_isa best = vf_cpu_isa();
    assert_true(best < VF_ISA_COUNT);
    for (int isa = 0; isa < VF_ISA_COUNT; isa++) {
        setenv("VOXFIELD_ISA", vf_isa_name((vf_isa)isa), 1);
        assert_int_equal(vf_cpu_isa(), isa < (int)best ? isa : (int)best); /* lowers, never raises */
    }
    setenv("VOXFIELD_ISA", "nonsense", 1);
    assert_int_equal(vf_cpu_isa(), best);
    unsetenv("VOXFIELD_ISA");
    assert_string_equal(vf_isa_name(VF_ISA_BASELINE), "baseline");
    assert_string_equal(vf_isa_name(VF_ISA_AVX2), "avx2");
    assert_string_equal(vf_isa_name(VF_ISA_AVX512), "avx512");
    assert_non_null(vf_isa_name(VF_ISA_COUNT));
}

static void test_element_types(void **state)
{
    (void)state;
    static const struct {
        vf_dtype type;
        size_t bytes;
        const char *name;
    } known[] = {{VF_F32, sizeof(float), "VF_F32"},
                 {VF_F64, sizeof(double), "VF_F64"},
                 {VF_C64, 2 * sizeof(float), "VF_C64"},
                 {VF_C128, 2 * sizeof(double), "VF_C128"},
                 {VF_I32, sizeof(int32_t), "VF_I32"},
                 {VF_I64, sizeof(int64_t), "VF_I64"},
                 {VF_U8, 1, "VF_U8"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(vf_dtype_bytes(known[i].type), known[i].bytes);
        assert_string_equal(vf_dtype_name(known[i].type), known[i].name);
    }
    const int strange[] = {VF_U8 + 1, -1, 99, 1000000};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(vf_dtype_bytes((vf_dtype)strange[i]), 0);
        assert_string_equal(vf_dtype_name((vf_dtype)strange[i]), "VF_UNKNOWN");
    }
}

/* All threads or one, and never more than a plan has memory for. */
static void test_team_sizes(void **state)
{
    (void)state;
    vf_context *own;
    assert_int_equal(vf_context_create(&own), VF_OK);
    assert_int_equal(vf_context_set_threads(own, 5), VF_OK);
    assert_int_equal(vf_threads_for(own, 0), 1);
    assert_int_equal(vf_threads_for(own, INT64_MAX), 5);
    assert_int_equal(vf_threads_of_plan(own, 3, INT64_MAX), 3);
    assert_int_equal(vf_threads_of_plan(own, 9, INT64_MAX), 5);
    assert_int_equal(vf_threads_of_plan(own, 9, 0), 1);
    vf_context_set_team_work(own, 100);
    assert_int_equal(vf_context_set_threads(own, 7), VF_OK);
    assert_int_equal(vf_threads_for(own, 99), 1);
    assert_int_equal(vf_threads_for(own, 100), 7);
    for (int piece = 0; piece < 4; piece++)
        assert_int_equal(vf_room_of(4, 4, piece), piece);
    assert_int_equal(vf_room_of(4, 9, 8), 0); /* outside of a region: thread 0 */
    vf_context_destroy(own);
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_context, free_context)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_team_sizes),
                                       cmocka_unit_test(test_status_list),
                                       TEST(test_first_error_is_kept),
                                       TEST(test_many_threads),
                                       TEST(test_signals),
                                       TEST(test_threads),
                                       TEST(test_device_names),
                                       TEST(test_several_cpu_devices),
                                       TEST(test_cpu_device),
                                       TEST(test_auto),
                                       TEST(test_arrays),
                                       TEST(test_more_memory_than_there_is),
                                       cmocka_unit_test(test_instruction_sets),
                                       cmocka_unit_test(test_element_types)};
    vf_context_destroy(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
