/* One box of more than 2^31 points: offsets into the output need 64 bits.
 *
 * usage: test_coulomb_sum_large DEVICE     (cpu, cuda; exit 77 if there is no such device, or less than 11 GiB free on a
 * GPU)
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coulomb_sum.h"
#include "random_fixture.h"
#include "sparse_memory.h"

static vf_context *ctx;
static vf_device *device;

/* One box of more than 2^31 points: offsets into the output need 64 bits, also those at which blocks begin (the CPU's have 8
 * layers). Windows of it are compared with the formula: at both ends, around 2^31 bytes, elements and 2^32 bytes, and at
 * random. On the CPU there is memory for the windows only (sparse_memory.h). */
static void test_large_box(void **state)
{
    (void)state;
    enum { WINDOW = 4096, WINDOWS = 200, SPILL = 1 << 20 };
    vf_grid grid = {.origin = {-512, -256, -256}, .spacing = {0.5, 0.5, 0.5}, .counts = {2048, 1025, 1040}};
    vf_box box = vf_grid_box(&grid);
    double data[8] = {-200.2, 300.3, 10.1, -50.7, 100.3, -128.9, 1, -2};
    vf_coulomb_atoms atoms = {.count = 2, .x = data, .y = data + 2, .z = data + 4, .charge = data + 6};
    vf_coulomb_options options = {.scale = 1, .r_min = 0.1, .precision = VF_F32};
    vf_coulomb *plan;
    vf_queue *queue;
    vf_array values = {.space = VF_SPACE_DEVICE, .device = device}, window;
    const int64_t points = vf_grid_points(&grid), bytes = 4 * points;
    const bool host = vf_device_is_host(device);
    assert_true(points > INT64_C(0x80000000));
    const int64_t marks[] = {0, (INT64_C(1) << 29) - WINDOW / 2, (INT64_C(1) << 30) - WINDOW / 2,
                             (INT64_C(1) << 31) - WINDOW / 2, points - WINDOW};
    int64_t windows[WINDOWS];
    for (int w = 0; w < WINDOWS; w++)
        windows[w] = w < 5 ? marks[w] : integer_below(points - WINDOW);
    if (host)
        assert_non_null(values.data = sparse_memory(bytes, SPILL));
    for (int w = 0; host && w < WINDOWS; w++)
        assert_true(sparse_keep(values.data, 4 * windows[w], 4 * WINDOW));
    if (vf_coulomb_create(device, &grid, &atoms, &options, &plan) != VF_OK ||
        vf_queue_create(device, &queue) != VF_OK ||
        (!host && vf_array_create(device, VF_SPACE_DEVICE, VF_F32, points, &values) != VF_OK) ||
        vf_array_create(device, VF_SPACE_PINNED, VF_F32, WINDOW, &window) != VF_OK ||
        vf_coulomb_execute(plan, queue, &box, values.data) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    for (int w = 0; w < WINDOWS; w++) {
        const int64_t first = windows[w];
        vf_array view = {.data = (float *)values.data + first,
                         .count = WINDOW,
                         .type = VF_F32,
                         .space = values.space,
                         .device = device};
        if (vf_array_copy(queue, &window, &view, WINDOW) != VF_OK || vf_queue_sync(queue) != VF_OK)
            fail_msg("%s", vf_context_message(ctx));
        for (int64_t n = first; n < first + WINDOW; n++) {
            double x = -512 + 0.5 * (double)(n % 2048), y = -256 + 0.5 * (double)(n / 2048 % 1025);
            double z = -256 + 0.5 * (double)(n / 2048 / 1025), sum = 0, size = 0;
            for (int a = 0; a < 2; a++) {
                double dx = x - data[a], dy = y - data[2 + a], dz = z - data[4 + a];
                double r = fmax(sqrt(dx * dx + dy * dy + dz * dz), 0.1);
                sum += data[6 + a] / r;
                size += fabs(data[6 + a]) / r;
            }
            double value = (double)((float *)window.data)[n - first];
            /* far below: two terms, 15 u; nearest distance 0.1, half block 9: 2 * 9 / 0.1 u */
            if (!(fabs(value - sum) <= 200 * 0x1p-24 * size))
                fail_msg("point %lld: %.9g instead of %.9g", (long long)n, value, sum);
        }
    }
    if (host)
        sparse_free(values.data, bytes);
    else
        vf_array_free(&values);
    vf_array_free(&window);
    vf_queue_destroy(queue);
    vf_coulomb_destroy(plan);
}

int main(int argc, char **argv)
{
    uint64_t free_bytes = 0, total = 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_box)};
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    int status = 77;
    if (vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu") != VF_OK) {
        printf("SKIP: %s\n", vf_context_message(ctx));
    } else {
        device = vf_context_device(ctx, 0);
        if (!vf_device_is_host(device) &&
            (vf_device_memory(device, &free_bytes, &total) != VF_OK || free_bytes < UINT64_C(11) << 30))
            printf("SKIP: 11 GiB of memory are needed, %.1f are free\n", (double)free_bytes / 0x1p30);
        else
            status = cmocka_run_group_tests(tests, NULL, NULL) != 0;
    }
    vf_context_destroy(ctx);
    return status;
}
