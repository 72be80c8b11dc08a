/* The registry of backends: what it finds, its error messages, and offsets in memory without addresses. */

#include "backend/registry.h"
#include "context_fixture.h"
#include "device/context_internal.h"

static vf_device *cpu;

static int begin(void **state)
{
    if (open_context(state) != 0)
        return 1;
    cpu = vf_context_device(ctx, 0);
    return 0;
}

static const int tables[4];
static const vf_variants plain = {VF_DEVICE_CPU, (const char *const[]){"fast", "faster", NULL}};
static const vf_variants reference = {VF_DEVICE_CPU, (const char *const[]){"ref", NULL}};
static const vf_variants gpu = {VF_DEVICE_CUDA, (const char *const[]){"fast", "tiles", NULL}};
static const vf_variants not_built = {0}; /* as in an empty table */
static const vf_backend list[] = {
    {&not_built, &tables[0]}, {&gpu, &tables[3]}, {&plain, &tables[1]}, {&reference, &tables[2]}, {0}};
static const vf_backend on_gpu[] = {{&gpu, &tables[3]}, {&not_built, &tables[0]}, {0}};

static void check_choice(const char *wish, const int *expected, const char *expected_name)
{
    const void *table;
    const char *name = NULL;
    assert_int_equal(vf_backend_choose(list, "a sum", cpu, wish, &table, &name), VF_OK);
    assert_ptr_equal(table, expected);
    assert_string_equal(name, expected_name);
}

static void test_choice(void **state)
{
    (void)state;
    check_choice(NULL, &tables[1], "fast");
    check_choice("fast", &tables[1], "fast");
    check_choice("faster", &tables[1], "faster");
    check_choice("ref", &tables[2], "ref");
    assert_ptr_equal(vf_backend_table(list, cpu), &tables[1]);
    assert_null(vf_backend_table(on_gpu, cpu));
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"fast", "faster", "ref"};
    for (int i = 0; i < 3; i++)
        assert_string_equal(vf_backend_variant(list, VF_DEVICE_CPU, i), names[i]);
    assert_null(vf_backend_variant(list, VF_DEVICE_CPU, 3));
    assert_string_equal(vf_backend_variant(list, VF_DEVICE_CUDA, 1), "tiles");
    assert_null(vf_backend_variant(on_gpu, VF_DEVICE_CPU, 0));
}

static void check_refusal(const vf_backend *backends, const char *wish, vf_status status, const char *message)
{
    const void *table = &tables[0];
    assert_int_equal(vf_backend_choose(backends, "a sum", cpu, wish, &table, NULL), status);
    assert_null(table);
    assert_string_equal(vf_context_message(ctx), message);
    vf_context_clear_error(ctx);
}

static void test_refusals(void **state)
{
    (void)state;
    check_refusal(list, "tiles", VF_ERR_ARGUMENT,
                  "a sum has no variant 'tiles' on cpu; the variants are fast, faster, ref");
    check_refusal(on_gpu, NULL, VF_ERR_UNSUPPORTED, "a sum has no backend for cpu");
    check_refusal(on_gpu, "fast", VF_ERR_UNSUPPORTED, "a sum has no backend for cpu");
}

/* A device whose memory is addressed by numbers: 1000 per byte. */
static void *by_number(const vf_device *device, const void *data, size_t bytes)
{
    (void)device;
    return (void *)((uintptr_t)data + 1000 * bytes);
}

static void test_offsets(void **state)
{
    (void)state;
    double values[6] = {0};
    assert_ptr_equal(vf_offset(cpu, values, VF_F64, 5), values + 5);
    assert_ptr_equal(vf_offset(cpu, values, VF_C128, 2), values + 4);
    assert_null(vf_offset(cpu, NULL, VF_F64, 5));
    vf_device device = {.kind = VF_DEVICE_CUDA, .offset = by_number};
    vf_array array = {.data = values, .count = 6, .type = VF_F64, .space = VF_SPACE_DEVICE, .device = &device};
    assert_ptr_equal(vf_array_at(&array, 3), (void *)((uintptr_t)values + 24000));
    array.space = VF_SPACE_PINNED;
    assert_ptr_equal(vf_array_at(&array, 3), values + 3);
    assert_null(vf_array_at(&(vf_array){0}, 3));
}

TEST_MAIN(begin, close_context, cmocka_unit_test(test_choice), cmocka_unit_test(test_names),
          cmocka_unit_test(test_refusals), cmocka_unit_test(test_offsets))
