/* Copies of more than 2^32 bytes, whose offsets need 64 bits. Windows of the result are compared: at both ends,
 * around 2^31 and 2^32, and at random.
 *
 * usage: test_copy_large DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device, or less than 11 GiB free on a
 * GPU)
 *
 * On the CPU x repeats after PERIOD bytes, and y has memory for the windows only (sparse_memory.h). PERIOD is a prime number
 * of pages, so no power of two is a multiple of it, and an offset that lost its upper bits finds other bytes.
 */
#include "copy_fixture.h"
#include "sparse_memory.h"

enum { WINDOW = 4096, WINDOWS = 600, OLD = 0x5a, PERIOD = 4099 * SPARSE_PAGE, SPILL = 1 << 20 };
static const int64_t BYTES = (INT64_C(1) << 32) + (1 << 20), BILLION = INT64_C(1) << 30;

static vf_array x, y;
static int64_t windows[WINDOWS]; /* their first bytes */

/* 8 bytes of x (splitmix64's mixer), and byte i. */
static uint64_t word(int64_t n)
{
    uint64_t z = ((uint64_t)n + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 31;
}

static uint8_t content(int64_t i)
{
    const uint64_t z = word((vf_device_is_host(device) ? i % PERIOD : i) / 8);
    return ((const uint8_t *)&z)[i % 8];
}

static void *in(const vf_array *array, int64_t byte)
{
    return (char *)array->data + byte;
}

static void choose_windows(void)
{
    static const int64_t middles[] = {0,
                                      INT64_C(1) << 30,
                                      INT64_C(1) << 31,
                                      INT64_C(3) << 30,
                                      INT64_C(1) << 32,
                                      (INT64_C(1) << 31) + (1 << 20),
                                      (INT64_C(1) << 32) + (1 << 20)};
    for (int w = 0; w < WINDOWS; w++) {
        const int64_t first = w < 7 ? middles[w] - WINDOW / 2 : integer_between(0, BYTES - WINDOW);
        windows[w] = first < 0 ? 0 : first > BYTES - WINDOW ? BYTES - WINDOW : first;
    }
}

/* Bytes [0, count) of x. */
static bool fill_x(int64_t count)
{
    enum { PIECE = 1 << 24 };
    uint64_t *piece = malloc(PIECE);
    bool made = piece != NULL;
    for (int64_t i = 0; made && i < count; i += PIECE) {
        const int64_t here = count - i < PIECE ? count - i : PIECE;
        for (int64_t k = 0; k < here / 8; k++)
            piece[k] = word(i / 8 + k);
        made = vf_queue_copy(queue, in(&x, i), piece, (size_t)here) == VF_OK && vf_queue_sync(queue) == VF_OK;
    }
    free(piece);
    return made;
}

static int make_arrays(void **state)
{
    if (make_queue(state) != 0)
        return 1;
    choose_windows();
    if (!vf_device_is_host(device))
        return vf_array_create(device, VF_SPACE_DEVICE, VF_U8, BYTES, &x) != VF_OK ||
               vf_array_create(device, VF_SPACE_DEVICE, VF_U8, BYTES, &y) != VF_OK || !fill_x(BYTES);
    x.data = sparse_memory(BYTES, PERIOD);
    y.data = sparse_memory(BYTES, SPILL);
    bool made = x.data && y.data && fill_x(PERIOD);
    for (int w = 0; made && w < WINDOWS; w++)
        made = sparse_keep(y.data, windows[w], WINDOW);
    return !made;
}

static int free_arrays(void **state)
{
    if (vf_device_is_host(device)) {
        sparse_free(x.data, BYTES);
        sparse_free(y.data, BYTES);
    } else {
        vf_array_free(&x);
        vf_array_free(&y);
    }
    return drop_queue(state);
}

static void clear_result(void)
{
    const uint8_t old = OLD;
    assert_int_equal(vf_fill(queue, VF_U8, BYTES, &old, y.data), VF_OK);
}

/* Compares windows of y with `source`: the index in x of byte i of y, or -1 for the old content. */
static void check_result(const char *what, int64_t (*source)(int64_t i))
{
    uint8_t window[WINDOW];
    for (int w = 0; w < WINDOWS; w++) {
        const int64_t first = windows[w];
        assert_int_equal(vf_queue_copy(queue, window, in(&y, first), WINDOW), VF_OK);
        assert_int_equal(vf_queue_sync(queue), VF_OK);
        for (int64_t i = first; i < first + WINDOW; i++) {
            const int64_t from = source(i);
            const uint8_t expected = from < 0 ? OLD : content(from);
            if (window[i - first] != expected)
                fail_msg("%s: byte %lld is %d, not %d", what, (long long)i, window[i - first], expected);
        }
    }
}

static int64_t nowhere(int64_t i)
{
    (void)i;
    return -1;
}

static int64_t moved_by_1(int64_t i)
{
    return i >= 2 && i < BYTES - 2 ? i - 1 : -1;
}

static int64_t moved_by_4(int64_t i)
{
    return i < BYTES - 16 ? i + 4 : -1;
}

static int64_t same_place(int64_t i)
{
    return i;
}

static void test_copies(void **state)
{
    (void)state;
    clear_result();
    check_result("fill", nowhere);
    assert_int_equal(vf_copy(queue, VF_U8, BYTES - 4, in(&x, 1), in(&y, 2)), VF_OK);
    check_result("copy of bytes", moved_by_1);
    clear_result();
    assert_int_equal(vf_copy(queue, VF_F32, BYTES / 4 - 4, in(&x, 4), y.data), VF_OK);
    check_result("copy of numbers", moved_by_4);
    clear_result();
    assert_int_equal(vf_copy(queue, VF_C128, BYTES / 16, x.data, y.data), VF_OK);
    check_result("copy of complex numbers", same_place);
}

/* More than 2^31 words of one byte, in rows of odd length. */
enum { COLUMNS = 65535, ROWS = 127, PLANES = 270, X_ROW = 65537, Y_ROW = 65543 };

static int64_t box_source(int64_t i)
{
    const int64_t row = i / Y_ROW, column = i % Y_ROW, k = row / (ROWS + 2), j = row % (ROWS + 2);
    return column < COLUMNS && j < ROWS && k < PLANES ? (k * (ROWS + 1) + j) * X_ROW + column : -1;
}

static int64_t long_row_source(int64_t i)
{
    const int64_t row = i / (BILLION + 9), column = i % (BILLION + 9);
    return row < 3 && column < BILLION + 3 ? row * (BILLION + 5) + column : -1;
}

static int64_t many_rows_source(int64_t i)
{
    const int64_t plane = i / (BILLION + 5), row = i % (BILLION + 5);
    return plane < 2 ? 2 * row + plane * (2 * BILLION + 11) : -1;
}

static void test_boxes(void **state)
{
    (void)state;
    const int64_t odd[3] = {COLUMNS, ROWS, PLANES}, rows[3] = {BILLION + 3, 3, 1}, columns[3] = {1, BILLION + 5, 2};
    clear_result();
    assert_int_equal(vf_copy_box(queue, VF_U8, odd, x.data, (vf_pitch){X_ROW, (ROWS + 1) * X_ROW}, y.data,
                                 (vf_pitch){Y_ROW, (ROWS + 2) * Y_ROW}),
                     VF_OK);
    check_result("box of odd rows", box_source);
    clear_result();
    assert_int_equal(
        vf_copy_box(queue, VF_U8, rows, x.data, (vf_pitch){BILLION + 5, 0}, y.data, (vf_pitch){BILLION + 9, 0}), VF_OK);
    check_result("box of long rows", long_row_source);
    if (vf_device_is_host(device)) /* slow on a CPU, which has no special code for it */
        return;
    clear_result();
    assert_int_equal(
        vf_copy_box(queue, VF_U8, columns, x.data, (vf_pitch){2, 2 * BILLION + 11}, y.data, (vf_pitch){1, BILLION + 5}),
        VF_OK);
    check_result("box of many rows", many_rows_source);
}

/* On a GPU as many bytes. The CPU takes bytes one by one, at a fiftieth of a copy's speed; so there are numbers of four bytes
 * that are as large, and few bytes in rows that are far apart. */
enum {
    DOWN = 70001,
    ACROSS = 61001,
    LONG_DOWN = 35003,
    LONG_ACROSS = 30011,
    FEW = 997,
    FAR_X = 4300003,
    FAR_Y = 4300037
};

static int64_t transposed(int64_t i)
{
    const int64_t row = i / DOWN, column = i % DOWN;
    return row < ACROSS ? column * ACROSS + row : -1;
}

static int64_t transposed_numbers(int64_t i)
{
    const int64_t row = i / 4 / LONG_DOWN, column = i / 4 % LONG_DOWN;
    return row < LONG_ACROSS ? 4 * (column * LONG_ACROSS + row) + i % 4 : -1;
}

static int64_t transposed_far(int64_t i)
{
    const int64_t row = i / FAR_Y, column = i % FAR_Y;
    return row < FEW && column < FEW ? column * FAR_X + row : -1;
}

static void test_transpose(void **state)
{
    (void)state;
    clear_result();
    if (!vf_device_is_host(device)) {
        assert_true((int64_t)DOWN * ACROSS <= BYTES);
        assert_int_equal(
            vf_transpose(queue, VF_U8, 1, DOWN, ACROSS, x.data, (vf_pitch){ACROSS, 0}, y.data, (vf_pitch){DOWN, 0}),
            VF_OK);
        check_result("transpose", transposed);
        return;
    }
    assert_true(INT64_C(4) * LONG_DOWN * LONG_ACROSS <= BYTES && (int64_t)FEW * FAR_Y <= BYTES);
    assert_int_equal(vf_transpose(queue, VF_F32, 1, LONG_DOWN, LONG_ACROSS, x.data, (vf_pitch){LONG_ACROSS, 0}, y.data,
                                  (vf_pitch){LONG_DOWN, 0}),
                     VF_OK);
    check_result("transpose of numbers", transposed_numbers);
    clear_result();
    for (int64_t row = 0; row < FEW; row++) /* its own windows: random ones would miss the rows */
        assert_true(sparse_keep(y.data, row * FAR_Y, FEW));
    assert_int_equal(
        vf_transpose(queue, VF_U8, 1, FEW, FEW, x.data, (vf_pitch){FAR_X, 0}, y.data, (vf_pitch){FAR_Y, 0}), VF_OK);
    for (int64_t i = 0; i < (int64_t)FEW * FAR_Y; i += (i + 1) % FAR_Y < FEW ? 1 : FAR_Y - FEW + 1)
        if (((const uint8_t *)y.data)[i] != content(transposed_far(i)))
            fail_msg("transpose of far rows: byte %lld is wrong", (long long)i);
}

/* Indices up to 2^32 - 1. */
static int64_t reversed_end(int64_t i)
{
    return i < 1000 ? (INT64_C(1) << 32) - 1 - i : -1;
}

static int64_t from_reversed_end(int64_t i)
{
    const int64_t back = (INT64_C(1) << 32) - 1 - i;
    return back >= 0 && back < 1000 ? back : -1;
}

static void test_indices(void **state)
{
    (void)state;
    vf_array index;
    uint32_t host[1000];
    for (uint32_t i = 0; i < 1000; i++)
        host[i] = UINT32_MAX - i;
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_I32, 1000, &index), VF_OK);
    assert_int_equal(vf_queue_copy(queue, index.data, host, sizeof host), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    clear_result();
    assert_int_equal(vf_gather(queue, VF_U8, 1000, index.data, x.data, y.data), VF_OK);
    check_result("gather", reversed_end);
    clear_result();
    assert_int_equal(vf_scatter(queue, VF_U8, 1000, index.data, x.data, y.data), VF_OK);
    check_result("scatter", from_reversed_end);
    vf_array_free(&index);
}

int main(int argc, char **argv)
{
    uint64_t free_bytes = 0, total = 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_boxes),
                                       cmocka_unit_test(test_transpose), cmocka_unit_test(test_indices)};
    vf_context *probe;
    if (vf_context_create(&probe) != VF_OK)
        return 1;
    const bool there = vf_context_set_devices(probe, argc > 1 ? argv[1] : "cpu") == VF_OK,
               large = there && (vf_device_is_host(vf_context_device(probe, 0)) ||
                                 (vf_device_memory(vf_context_device(probe, 0), &free_bytes, &total) == VF_OK &&
                                  free_bytes >= UINT64_C(11) << 30));
    vf_context_destroy(probe);
    if (there && !large) {
        printf("SKIP: 11 GiB of memory are needed, %.1f are free\n", (double)free_bytes / 0x1p30);
        return 77;
    }
    return run_on_device(argc, argv, tests, make_arrays, free_arrays);
}
