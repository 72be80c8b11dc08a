/* Copies on the CPU or a GPU, against loops over bytes: copy, fill, gather, scatter, boxes and transposes. */
#include "copy_fixture.h"
#include "refusal_fixture.h"

static const vf_dtype types[] = {VF_F32, VF_F64, VF_C64, VF_C128, VF_I32, VF_I64, VF_U8};
enum { TYPES = sizeof types / sizeof *types };

/* Lengths near a warp, near the data blocks of a GPU (warps x 32 x work, 128 to 4096 elements or words of 4 to 16
 * bytes) and near a piece of the CPU (64 KiB). */
static const int64_t lengths[] = {0,   1,   2,   3,   15,   16,   17,   31,   32,   33,   63,    64,    65,    127,
                                  128, 129, 255, 511, 1023, 1024, 1025, 4095, 4096, 4097, 16383, 16385, 65535, 65537};
enum { LENGTHS = sizeof lengths / sizeof *lengths, GUARD = 64 };

/* Complex numbers need only the alignment of their parts, as in C. */
static int64_t alignment(vf_dtype type)
{
    return type == VF_C64 ? 4 : type == VF_C128 ? 8 : (int64_t)vf_dtype_bytes(type);
}

static void check_copy(vf_dtype type, int64_t n, int64_t x_at, int64_t y_at)
{
    const int64_t bytes = n * (int64_t)vf_dtype_bytes(type);
    char what[128];
    snprintf(what, sizeof what, "copy of type %d, %lld elements, from %lld to %lld", (int)type, (long long)n,
             (long long)x_at, (long long)y_at);
    memory x = make_memory(x_at + bytes), y = make_memory(y_at + bytes + GUARD);
    assert_int_equal(vf_copy(queue, type, n, at(&x, x_at), at(&y, y_at)), VF_OK);
    memcpy(y.host + y_at, x.host + x_at, (size_t)bytes);
    check_memory(&y, what);
    check_memory(&x, what);
    free_memory(&x);
    free_memory(&y);
}

static void test_copy_every_alignment(void **state)
{
    (void)state;
    for (int64_t x_at = 0; x_at < 16; x_at++)
        for (int64_t y_at = 16; y_at < 32; y_at++) {
            for (int l = 0; l < LENGTHS; l++)
                if (lengths[l] <= 1025 || integer_between(0, 15) == 0)
                    check_copy(VF_U8, lengths[l], x_at, y_at);
            check_copy(VF_U8, integer_between(0, 200000), x_at, y_at);
        }
}

static void test_copy_every_type(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int l = 0; l < LENGTHS; l++)
            check_copy(types[t], lengths[l], alignment(types[t]) * integer_between(0, 31),
                       alignment(types[t]) * integer_between(0, 31));
    for (int t = 0; t < TYPES; t++)
        check_copy(types[t], (1 << 20) + 3, alignment(types[t]) * integer_between(0, 31),
                   alignment(types[t]) * integer_between(0, 31));
}

/* From 32 MiB on, the CPU bypasses its caches for writes. */
static void test_copy_large(void **state)
{
    (void)state;
    check_copy(VF_C64, 4 << 20, 0, 0);
    check_copy(VF_U8, (40 << 20) + 7, 3, 5);
    check_copy(VF_F32, (9 << 20) + 1, 4, 60);
}

static void check_fill(vf_dtype type, int64_t n, int64_t y_at)
{
    const size_t size = vf_dtype_bytes(type);
    uint64_t value[2] = {random_bits(), random_bits()}, kept[2] = {value[0], value[1]};
    char what[128];
    snprintf(what, sizeof what, "fill of type %d, %lld elements, at %lld", (int)type, (long long)n, (long long)y_at);
    memory y = make_memory(y_at + n * (int64_t)size + GUARD);
    assert_int_equal(vf_fill(queue, type, n, value, at(&y, y_at)), VF_OK);
    value[0] = value[1] = 0; /* the caller's value may change now */
    for (int64_t i = 0; i < n; i++)
        memcpy(y.host + y_at + i * (int64_t)size, kept, size);
    check_memory(&y, what);
    free_memory(&y);
}

static void test_fill(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        for (int64_t y_at = 0; y_at < 16; y_at += alignment(types[t]))
            for (int l = 0; l < LENGTHS; l++)
                check_fill(types[t], lengths[l], 16 + y_at);
        check_fill(types[t], (1 << 20) + 3, alignment(types[t]));
    }
    check_fill(VF_C128, (2 << 20) + 1, 8);
    check_fill(VF_U8, (33 << 20) + 1, 1);
}

/* A random order of [0, n). */
static void shuffle(int64_t n, uint32_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = integer_between(0, i);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
}

/* A gather's indices may come twice. */
static void check_indexed(vf_dtype type, int64_t n, bool scatters)
{
    const size_t size = vf_dtype_bytes(type);
    const int64_t x_at = alignment(type) * integer_between(0, 15), y_at = 16 + alignment(type) * integer_between(0, 15);
    const int64_t index_at = 4 * integer_between(0, 7), whole = n + integer_between(0, 5),
                  bytes = whole * (int64_t)size;
    char what[128];
    snprintf(what, sizeof what, "%s of type %d, %lld elements, from %lld to %lld", scatters ? "scatter" : "gather",
             (int)type, (long long)n, (long long)x_at, (long long)y_at);
    memory x = make_memory(x_at + bytes), y = make_memory(y_at + bytes + GUARD), index = make_memory(index_at + 4 * n);
    uint32_t *order = malloc(((size_t)whole + 1) * sizeof *order);
    assert_non_null(order);
    shuffle(whole, order);
    for (int64_t i = 0; !scatters && i < n; i++)
        if (integer_between(0, 9) == 0)
            order[i] = (uint32_t)integer_between(0, whole - 1); /* twice */
    memcpy(index.host + index_at, order, (size_t)n * sizeof *order);
    upload(&index);
    assert_int_equal(
        (scatters ? vf_scatter : vf_gather)(queue, type, n, at(&index, index_at), at(&x, x_at), at(&y, y_at)), VF_OK);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = scatters ? i : order[i], to = scatters ? order[i] : i;
        memcpy(y.host + y_at + to * (int64_t)size, x.host + x_at + from * (int64_t)size, size);
    }
    check_memory(&y, what);
    free(order);
    free_memory(&x);
    free_memory(&y);
    free_memory(&index);
}

static void test_gather_and_scatter(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int scatters = 0; scatters < 2; scatters++) {
            for (int l = 0; l < LENGTHS; l++)
                check_indexed(types[t], lengths[l], scatters);
            for (int repeat = 0; repeat < 20; repeat++)
                check_indexed(types[t], integer_between(0, 3000), scatters);
            check_indexed(types[t], (1 << 20) + 3, scatters);
        }
}

/* Rows do not overlap: they are at least a row apart, planes at least all their rows. */
static vf_pitch random_pitch(const int64_t counts[3])
{
    const int64_t row = counts[0] + integer_between(0, 1) * integer_between(0, 9);
    return (vf_pitch){row, counts[1] * row + integer_between(0, 1) * integer_between(0, 17)};
}

static int64_t extent(const int64_t counts[3], vf_pitch pitch)
{
    return counts[0] && counts[1] && counts[2] ? counts[0] + (counts[1] - 1) * pitch.row + (counts[2] - 1) * pitch.plane
                                               : 0;
}

static void check_box(vf_dtype type, const int64_t counts[3], vf_pitch x_pitch, vf_pitch y_pitch)
{
    const int64_t size = (int64_t)vf_dtype_bytes(type);
    const int64_t x_at = alignment(type) * integer_between(0, 15), y_at = 16 + alignment(type) * integer_between(0, 15);
    char what[160];
    snprintf(what, sizeof what, "box of type %d, %lld x %lld x %lld, rows (%lld, %lld) to (%lld, %lld)", (int)type,
             (long long)counts[2], (long long)counts[1], (long long)counts[0], (long long)x_pitch.row,
             (long long)x_pitch.plane, (long long)y_pitch.row, (long long)y_pitch.plane);
    memory x = make_memory(x_at + size * extent(counts, x_pitch)),
           y = make_memory(y_at + size * extent(counts, y_pitch) + GUARD);
    assert_int_equal(vf_copy_box(queue, type, counts, at(&x, x_at), x_pitch, at(&y, y_at), y_pitch), VF_OK);
    for (int64_t k = 0; k < counts[2]; k++)
        for (int64_t j = 0; j < counts[1]; j++)
            memcpy(y.host + y_at + size * (j * y_pitch.row + k * y_pitch.plane),
                   x.host + x_at + size * (j * x_pitch.row + k * x_pitch.plane), (size_t)(size * counts[0]));
    check_memory(&y, what);
    free_memory(&x);
    free_memory(&y);
}

static void test_boxes(void **state)
{
    (void)state;
    static const int64_t most[][3] = {{9, 9, 9}, {300, 1, 1}, {100, 40, 1}, {1, 200, 30}, {257, 3, 17}, {33, 65, 12}};
    for (int t = 0; t < TYPES; t++)
        for (size_t m = 0; m < sizeof most / sizeof *most; m++)
            for (int repeat = 0; repeat < 12; repeat++) {
                int64_t counts[3];
                for (int a = 0; a < 3; a++)
                    counts[a] = integer_between(repeat < 10 ? 1 : 0, most[m][a]);
                check_box(types[t], counts, random_pitch(counts), random_pitch(counts));
            }
    /* Larger than a piece of the CPU, and than its caches. */
    const int64_t wide[3] = {70001, 5, 3}, large[3] = {1021, 523, 17};
    check_box(VF_F32, wide, (vf_pitch){70003, 350100}, (vf_pitch){70001, 350005});
    check_box(VF_C64, large, (vf_pitch){1024, 1024 * 524}, (vf_pitch){1021, 1021 * 600});
    check_box(VF_U8, large, (vf_pitch){1021, 1021 * 524}, (vf_pitch){1029, 1029 * 523});
    /* Steps along an axis of length one do not matter; planes may lie within the gaps of rows. */
    const int64_t line[3] = {50, 1, 1}, plane[3] = {5, 7, 1}, woven[3] = {5, 7, 3};
    check_box(VF_F64, line, (vf_pitch){-3, 0}, (vf_pitch){0, -1});
    check_box(VF_F64, plane, (vf_pitch){5, 0}, (vf_pitch){5, -1});
    check_box(VF_F64, line, (vf_pitch){INT64_MAX, INT64_MIN}, (vf_pitch){INT64_MIN, INT64_MAX});
    check_box(VF_F32, woven, (vf_pitch){20, 5}, (vf_pitch){5, 35});
    check_box(VF_F32, woven, (vf_pitch){5, 35}, (vf_pitch){15, 5});
}

static void check_transpose(vf_dtype type, int64_t batch, int64_t rows, int64_t columns, vf_pitch x_pitch,
                            vf_pitch y_pitch)
{
    const int64_t size = (int64_t)vf_dtype_bytes(type), x_counts[3] = {columns, rows, batch},
                  y_counts[3] = {rows, columns, batch};
    const int64_t x_at = alignment(type) * integer_between(0, 15), y_at = 16 + alignment(type) * integer_between(0, 15);
    char what[160];
    snprintf(what, sizeof what, "transpose of type %d, %lld of %lld x %lld, rows (%lld, %lld) to (%lld, %lld)",
             (int)type, (long long)batch, (long long)rows, (long long)columns, (long long)x_pitch.row,
             (long long)x_pitch.plane, (long long)y_pitch.row, (long long)y_pitch.plane);
    memory x = make_memory(x_at + size * extent(x_counts, x_pitch)),
           y = make_memory(y_at + size * extent(y_counts, y_pitch) + GUARD);
    assert_int_equal(vf_transpose(queue, type, batch, rows, columns, at(&x, x_at), x_pitch, at(&y, y_at), y_pitch),
                     VF_OK);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                memcpy(y.host + y_at + size * (b * y_pitch.plane + j * y_pitch.row + i),
                       x.host + x_at + size * (b * x_pitch.plane + i * x_pitch.row + j), (size_t)size);
    check_memory(&y, what);
    free_memory(&x);
    free_memory(&y);
}

static void test_transposes(void **state)
{
    (void)state;
    static const int64_t sides[][2] = {{1, 1},   {1, 77}, {77, 1}, {31, 33}, {32, 32},   {33, 31},
                                       {64, 96}, {65, 2}, {3, 97}, {129, 5}, {300, 301}, {0, 4}};
    for (int t = 0; t < TYPES; t++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
            for (int64_t batch = 0; batch < 4; batch++) {
                const int64_t rows = sides[s][0], columns = sides[s][1];
                const int64_t x_counts[3] = {columns, rows, batch}, y_counts[3] = {rows, columns, batch};
                check_transpose(types[t], batch, rows, columns, random_pitch(x_counts), random_pitch(y_counts));
            }
    check_transpose(VF_C64, 3, 517, 1021, (vf_pitch){1021, 517 * 1021}, (vf_pitch){517, 517 * 1021});
}

/* Swaps x and z of an array [z][y][x], and swaps them back. */
static void test_swap(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 7}, {7, 1, 1}, {1, 9, 1}, {2, 3, 4}, {33, 5, 32}, {70, 17, 129}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int t = 0; t < TYPES; t++) {
            const int64_t nx = sizes[s][0], ny = sizes[s][1], nz = sizes[s][2];
            check_transpose(types[t], ny, nz, nx, (vf_pitch){ny * nx, nx}, (vf_pitch){ny * nz, nz});
            check_transpose(types[t], ny, nx, nz, (vf_pitch){ny * nz, nz}, (vf_pitch){ny * nx, nx});
        }
}

/* Everything once, for memory checkers that are slow. */
static void test_few_elements(void **state)
{
    (void)state;
    const int64_t counts[3] = {7, 5, 3}, x_counts[3] = {19, 5, 2}, y_counts[3] = {5, 19, 2};
    for (int t = 0; t < TYPES; t++) {
        check_copy(types[t], 77, 16, 32);
        check_fill(types[t], 77, 16);
        check_indexed(types[t], 77, false);
        check_indexed(types[t], 77, true);
        check_box(types[t], counts, random_pitch(counts), random_pitch(counts));
        check_transpose(types[t], 2, 5, 19, random_pitch(x_counts), random_pitch(y_counts));
    }
}

static const char no_type[] = "invalid element type 99", too_long[] = "exceed any memory";

static void test_refused_copies(void **state)
{
    (void)state;
    const vf_dtype strange = (vf_dtype)99;
    memory m = make_memory(64);
    void *x = at(&m, 0), *y = at(&m, 32);
    assert_refused(ctx, vf_copy(queue, VF_F32, -1, x, y), "a copy", "-1");
    assert_refused(ctx, vf_copy(queue, VF_F32, INT64_MAX, x, y), "a copy", too_long);
    assert_refused(ctx, vf_copy(queue, VF_F32, INT64_MAX / 4 + 1, x, y), "a copy", too_long); /* 0 bytes, modulo 2^64 */
    assert_refused(ctx, vf_copy(queue, strange, 1, x, y), "a copy", no_type);
    assert_refused(ctx, vf_copy(queue, (vf_dtype)-1, 0, x, y), "a copy", "invalid element type -1");
    assert_refused(ctx, vf_copy(queue, VF_F32, 1, NULL, y), "a copy", "x is NULL");
    assert_refused(ctx, vf_copy(queue, VF_F32, 1, x, NULL), "a copy", "y is NULL");
    assert_refused(ctx, vf_fill(queue, VF_F32, -1, x, y), "a fill", "-1");
    assert_refused(ctx, vf_fill(queue, VF_C128, INT64_MAX, x, y), "a fill", too_long);
    assert_refused(ctx, vf_fill(queue, strange, 1, x, y), "a fill", no_type);
    assert_refused(ctx, vf_fill(queue, VF_F32, 1, NULL, y), "a fill", "value is NULL");
    assert_refused(ctx, vf_fill(queue, VF_F32, 1, x, NULL), "a fill", "y is NULL");
    assert_refused(ctx, vf_gather(queue, VF_F32, -1, x, x, y), "a gather", "-1");
    assert_refused(ctx, vf_gather(queue, VF_I64, INT64_MAX, x, x, y), "a gather", too_long);
    assert_refused(ctx, vf_gather(queue, strange, 1, x, x, y), "a gather", no_type);
    assert_refused(ctx, vf_gather(queue, VF_F32, 1, NULL, x, y), "a gather", "index is NULL");
    assert_refused(ctx, vf_gather(queue, VF_F32, 1, x, NULL, y), "a gather", "x is NULL");
    assert_refused(ctx, vf_gather(queue, VF_F32, 1, x, x, NULL), "a gather", "y is NULL");
    assert_refused(ctx, vf_scatter(queue, VF_F32, -1, x, x, y), "a scatter", "-1");
    assert_refused(ctx, vf_scatter(queue, VF_I64, INT64_MAX, x, x, y), "a scatter", too_long);
    assert_refused(ctx, vf_scatter(queue, strange, 1, x, x, y), "a scatter", no_type);
    assert_refused(ctx, vf_scatter(queue, VF_F32, 1, NULL, x, y), "a scatter", "index is NULL");
    assert_refused(ctx, vf_scatter(queue, VF_F32, 1, x, NULL, y), "a scatter", "x is NULL");
    assert_refused(ctx, vf_scatter(queue, VF_F32, 1, x, x, NULL), "a scatter", "y is NULL");
    assert_int_equal(vf_scatter(queue, VF_F32, 0, NULL, NULL, NULL), VF_OK);
    assert_int_equal(vf_copy(queue, VF_F32, 0, NULL, NULL), VF_OK);
    assert_int_equal(vf_fill(queue, VF_F32, 0, NULL, NULL), VF_OK);
    assert_int_equal(vf_gather(queue, VF_F32, 0, NULL, NULL, NULL), VF_OK);
    check_memory(&m, "refused copies");
    free_memory(&m);
}

static void test_refused_boxes(void **state)
{
    (void)state;
    const vf_dtype strange = (vf_dtype)99;
    const int64_t negative[3] = {-1, 4, 4}, box[3] = {3, 4, 2}, cube[3] = {4, 4, 4}, none[3] = {0, 4, 4},
                  huge[3] = {INT64_C(1) << 40, INT64_C(1) << 40, 1}, wide[3] = {INT64_MAX, 1, 1};
    const vf_pitch right = {3, 12}, row = {2, 12}, plane = {3, 2}, backward = {-3, 12}, even = {4, 16},
                   contiguous = {INT64_C(1) << 40, 0}, far = {4, INT64_MAX / 2};
    /* Planes begin within the rows of the previous plane, and where rows are; one element too near. */
    const vf_pitch overlapping[] = {{4, 8}, {4, 0}, {4, 4}, {4, 15}, {15, 4}, {3, 16}};
    memory m = make_memory(64);
    void *x = at(&m, 0), *y = at(&m, 32);
    assert_refused(ctx, vf_copy_box(queue, VF_F32, negative, x, right, y, right), "a box", "{-1, 4, 4}");
    assert_refused(ctx, vf_copy_box(queue, VF_F32, box, x, row, y, right), "a box", "rows of x overlap");
    assert_refused(ctx, vf_copy_box(queue, VF_F32, box, x, right, y, plane), "a box", "rows of y overlap");
    assert_refused(ctx, vf_copy_box(queue, VF_F32, box, x, right, y, backward), "a box", "rows of y overlap");
    for (size_t p = 0; p < sizeof overlapping / sizeof *overlapping; p++) {
        assert_refused(ctx, vf_copy_box(queue, VF_U8, cube, x, overlapping[p], y, even), "a box", "rows of x overlap");
        assert_refused(ctx, vf_copy_box(queue, VF_U8, cube, x, even, y, overlapping[p]), "a box", "rows of y overlap");
        assert_refused(ctx, vf_transpose(queue, VF_U8, 4, 4, 4, x, overlapping[p], y, even), "a transpose",
                       "rows of x overlap");
    }
    assert_refused(ctx, vf_copy_box(queue, VF_F32, huge, x, contiguous, y, contiguous), "a box", too_long);
    assert_refused(ctx, vf_copy_box(queue, VF_U8, wide, x, right, y, right), "a box", too_long);
    assert_refused(ctx, vf_copy_box(queue, VF_C128, cube, x, even, y, far), "a box", too_long);
    assert_refused(ctx, vf_copy_box(queue, strange, box, x, right, y, right), "a box", no_type);
    assert_refused(ctx, vf_copy_box(queue, VF_F32, box, NULL, right, y, right), "a box", "x is NULL");
    assert_refused(ctx, vf_copy_box(queue, VF_F32, box, x, right, NULL, right), "a box", "y is NULL");
    assert_refused(ctx, vf_transpose(queue, VF_F32, 2, -4, 3, x, right, y, right), "a transpose", "{3, -4, 2}");
    assert_refused(ctx, vf_transpose(queue, VF_F32, 2, 4, 3, x, row, y, (vf_pitch){4, 12}), "a transpose",
                   "rows of x overlap");
    assert_refused(ctx, vf_transpose(queue, VF_F32, 2, 4, 3, x, right, y, right), "a transpose", "rows of y overlap");
    assert_refused(ctx, vf_transpose(queue, strange, 2, 4, 3, x, right, y, (vf_pitch){4, 12}), "a transpose", no_type);
    assert_refused(ctx, vf_transpose(queue, VF_F32, 2, 4, 3, x, right, NULL, (vf_pitch){4, 12}), "a transpose",
                   "y is NULL");
    assert_int_equal(vf_copy_box(queue, VF_F32, none, NULL, row, NULL, row), VF_OK);
    assert_int_equal(vf_transpose(queue, VF_F32, 0, 4, 3, NULL, row, NULL, row), VF_OK);
    check_memory(&m, "refused boxes");
    free_memory(&m);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_copy_every_alignment), cmocka_unit_test(test_copy_every_type),
            cmocka_unit_test(test_copy_large), cmocka_unit_test(test_fill), cmocka_unit_test(test_gather_and_scatter),
            cmocka_unit_test(test_boxes), cmocka_unit_test(test_transposes), cmocka_unit_test(test_swap),
            cmocka_unit_test(test_few_elements), cmocka_unit_test(test_refused_copies),
            cmocka_unit_test(test_refused_boxes))
