/* BART's files: written files read back the same, and invalid headers are rejected. */
#include <math.h>

#include "bart/cfl.h"
#include "bart/cfl_names.h"
#include "folder_fixture.h"

enum { ELEMENTS = 24 };
static char data_name[PATH_SIZE], header_name[PATH_SIZE];

static int set_up(void **state)
{
    (void)state;
    const int failed = open_folder("test_cfl");
    path_of("a.b.cfl", data_name);
    path_of("a.b.hdr", header_name);
    return failed;
}

static int tear_down(void **state)
{
    unlink(data_name);
    unlink(header_name);
    return close_folder(state);
}

static void write_file(const char *name, const void *bytes, size_t count)
{
    FILE *stream = fopen(name, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, count, stream), count);
    assert_int_equal(fclose(stream), 0);
}

static void write_header(const char *text)
{
    write_file(header_name, text, strlen(text));
}

static void write_elements(size_t count)
{
    static const float complex zeros[ELEMENTS];
    write_file(data_name, zeros, count * sizeof *zeros);
}

static void expect_refusal(const char *name, vf_status expected, const char *words)
{
    cfl_file *file = (cfl_file *)&file;
    const vf_status status = cfl_open(ctx, name, &file);
    assert_null(file);
    assert_int_equal(status, expected);
    if (!strstr(vf_context_message(ctx), words))
        fail_msg("'%s' does not say '%s'", vf_context_message(ctx), words);
    vf_context_clear_error(ctx);
}

/* ---- valid files ---- */

static void test_round_trip(void **state)
{
    (void)state;
    const int64_t dims[CFL_DIMS] = {2, 3, 1, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    float complex values[ELEMENTS], back[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = (float)i - 0.25f * (float)i * I;
    cfl_output *out;
    cfl_file *in;
    need(cfl_create(ctx, header_name, dims, "# Creator\nsomebody\n", &out)); /* either name stands for both */
    need(cfl_append(out, values, 10));
    need(cfl_append(out, values + 10, ELEMENTS - 10));
    assert_int_not_equal(access(data_name, F_OK), 0); /* not before it is complete */
    need(cfl_commit(&out));
    assert_null(out);
    for (int i = 0; i < 2; i++) {
        need(cfl_open(ctx, i ? data_name : header_name, &in));
        assert_string_equal(cfl_path(in), data_name);
        assert_memory_equal(cfl_dims(in), dims, sizeof dims);
        assert_int_equal(cfl_count(in), ELEMENTS);
        assert_memory_equal(cfl_section(in, "Creator"), "somebody\n", 9);
        assert_null(cfl_section(in, "Creat"));
        assert_null(cfl_section(in, "Command"));
        need(cfl_read(in, 0, ELEMENTS, back));
        assert_memory_equal(back, values, sizeof values);
        need(cfl_read(in, 7, 3, back));
        assert_memory_equal(back, values + 7, 3 * sizeof *values);
        cfl_close(&in);
        assert_null(in);
    }
}

/* Too few elements, too many, and an abandoned file: neither file appears. */
static void test_nothing_by_halves(void **state)
{
    (void)state;
    const int64_t dims[CFL_DIMS] = {4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const float complex values[8] = {0};
    cfl_output *out;
    for (int count = 3; count <= 5; count += 2) {
        need(cfl_create(ctx, data_name, dims, "", &out));
        need(cfl_append(out, values, count));
        assert_int_equal(cfl_commit(&out), VF_ERR_INTERNAL);
        assert_null(out);
        vf_context_clear_error(ctx);
    }
    need(cfl_create(ctx, data_name, dims, "", &out));
    cfl_discard(&out);
    assert_null(out);
    cfl_discard(&out);
    assert_int_not_equal(access(data_name, F_OK), 0);
    assert_int_not_equal(access(header_name, F_OK), 0);
    need(cfl_create(ctx, data_name, dims, "", &out));
    need(cfl_append(out, values, 4));
    need(cfl_commit(&out));
}

static void test_headers_that_are_read(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "# Dimensions\n2 3 1 4\n",
        "# Dimensions\n2 3 1 4",
        "# Dimensions\r\n2 3 1 4 1 1\r\n# Command\r\nphantom -x 2\r\n",
        "# Command\nwavg # Dimensions\n# Files\n >a <b\n#\tDimensions \n  2\t3 1  4 1 1 1 1 1 1 1 1 1 1 1 1 \n",
        "# Creator\nBART v0.8.00\n\n# Dimensions\n2 3 1 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n# Dimensions\n9 9\n",
        "#\n##\n# Dimensions\n+2 3 1 4\n",
    };
    const int64_t dims[CFL_DIMS] = {2, 3, 1, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    write_elements(ELEMENTS);
    for (size_t h = 0; h + 1 < sizeof headers / sizeof *headers; h++) {
        cfl_file *file;
        write_header(headers[h]);
        need(cfl_open(ctx, data_name, &file));
        assert_memory_equal(cfl_dims(file), dims, sizeof dims);
        cfl_close(&file);
    }
    write_header(headers[sizeof headers / sizeof *headers - 1]); /* a sign is not a digit */
    expect_refusal(data_name, VF_ERR_INPUT, "dimension 0");
}

/* ---- invalid files ---- */

static void test_hostile_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } headers[] = {
        {"", "the line '# Dimensions' is missing"},
        {"2 3 1 4\n", "the line '# Dimensions' is missing"},
        {"# Dimension\n24\n", "the line '# Dimensions' is missing"},
        {"# Dimensions\n", "no numbers"},
        {"# Dimensions\n\n24\n", "no numbers"},
        {"# Dimensions\n24 0 1\n", "dimension 1"},
        {"# Dimensions\n-24 -1\n", "dimension 0"},
        {"# Dimensions\n24 1 -1\n", "dimension 2"},
        {"# Dimensions\n24 x\n", "dimension 1"},
        {"# Dimensions\n24.0\n", "dimension 0"},
        {"# Dimensions\n2e1\n", "dimension 0"},
        {"# Dimensions\n0x18\n", "dimension 0"},
        {"# Dimensions\nnan\n", "dimension 0"},
        {"# Dimensions\n24 99999999999999999999\n", "dimension 1"},
        {"# Dimensions\n9223372036854775807\n", "is too large"},
        {"# Dimensions\n4294967296 4294967296\n", "is too large"},
        /* 2^64 and 2^61 elements: products that overflow to 0, in elements and in bytes */
        {"# Dimensions\n65536 65536 65536 65536\n", "is too large"},
        {"# Dimensions\n2305843009213693952\n", "is too large"},
        {"# Dimensions\n1000000 1000000\n", "192 bytes"},
        {"# Dimensions\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 24\n", "more than 16 dimensions"},
        {"# Dimensions\n23\n", "192 bytes"},
        {"# Dimensions\n25\n", "200"},
    };
    write_elements(ELEMENTS);
    for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
        write_header(headers[h].text);
        expect_refusal(data_name, VF_ERR_INPUT, headers[h].words);
    }
    static const char binary[] = "\0\0\1\\# Dimensions\n24\n"; /* headers of Analyze end in .hdr, too */
    write_file(header_name, binary, sizeof binary);
    expect_refusal(header_name, VF_ERR_INPUT, "a short text");
    char *long_text = malloc(2 << 20);
    assert_non_null(long_text);
    memset(long_text, ' ', 2 << 20);
    write_file(header_name, long_text, 2 << 20);
    free(long_text);
    expect_refusal(header_name, VF_ERR_INPUT, "a short text");
}

static void test_files_that_are_missing_or_short(void **state)
{
    (void)state;
    expect_refusal(data_name, VF_ERR_INPUT, "a.b.hdr: cannot open");
    write_elements(ELEMENTS);
    expect_refusal(data_name, VF_ERR_INPUT, "it is needed with");
    write_header("# Dimensions\n24\n");
    write_file(data_name, "1234567", 7);
    expect_refusal(header_name, VF_ERR_INPUT, "7 bytes");
    write_file(data_name, "", 0);
    expect_refusal(header_name, VF_ERR_INPUT, "0 bytes");
    unlink(data_name);
    expect_refusal(header_name, VF_ERR_INPUT, "a.b.cfl: cannot open");
    unlink(header_name);
    expect_refusal(directory, VF_ERR_INPUT, "cannot open");
}

static void test_numbers_that_are_none(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 6; i++) {
        float values[2 * ELEMENTS] = {0};
        float complex back[ELEMENTS];
        cfl_file *file;
        values[2 * 17 + i % 2] = bad[i / 2]; /* 17 = 1 + 2 (2 + 3 (0 + 1 * 2)) */
        write_header("# Dimensions\n2 3 1 4\n");
        write_file(data_name, values, sizeof values);
        need(cfl_open(ctx, data_name, &file));
        need(cfl_read(file, 0, 17, back));
        assert_int_equal(cfl_read(file, 16, 4, back), VF_ERR_INPUT);
        assert_non_null(strstr(vf_context_message(ctx), "[1, 2, 0, 2, 0,"));
        assert_non_null(strstr(vf_context_message(ctx), i < 2 ? "nan" : "infinite"));
        vf_context_clear_error(ctx);
        /* The file is truncated while it is read. */
        assert_int_equal(truncate(data_name, 16 * sizeof *back), 0);
        assert_int_equal(cfl_read(file, 12, 8, back), VF_ERR_INPUT);
        vf_context_clear_error(ctx);
        cfl_close(&file);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *data;
    } pairs[] = {{"a.cfl", "a.cfl"}, {"b/a.hdr", "b/a.cfl"}, {"a.HDR", "a.cfl"}, {"a.h5", "a.h5.cfl"}, {"", ".cfl"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *name = cfl_file_name(pairs[i].name, ".cfl");
        assert_non_null(name);
        assert_string_equal(name, pairs[i].data);
        assert_int_equal(cfl_is_name(pairs[i].name), i < 3);
        free(name);
    }
    assert_false(cfl_is_name("a/.cfl"));
    char text[CFL_SHAPE_TEXT];
    int64_t dims[CFL_DIMS];
    for (int d = 0; d < CFL_DIMS; d++)
        dims[d] = 1;
    assert_string_equal(cfl_shape(dims, text), "1 x 1 x 1");
    dims[3] = 8;
    assert_string_equal(cfl_shape(dims, text), "1 x 1 x 1 x 8");
    for (int d = 0; d < CFL_DIMS; d++)
        dims[d] = INT64_MAX;
    assert_int_equal(strlen(cfl_shape(dims, text)), CFL_DIMS * 19 + (CFL_DIMS - 1) * 3);
    assert_string_equal(cfl_dim_name(CFL_TIME), "TIME");
    assert_string_equal(cfl_dim_name(CFL_BATCH), "BATCH");
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(NULL, NULL, TEST(test_round_trip), TEST(test_nothing_by_halves), TEST(test_headers_that_are_read),
          TEST(test_hostile_headers), TEST(test_files_that_are_missing_or_short), TEST(test_numbers_that_are_none),
          TEST(test_names))
