/* The table of launch shapes of the Fourier sum's GPU steps: its contents, its lookup, and its rows as text.
 * (test_fourier_sum checks that each shape gives the right sum.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fourier_sum_tuning.h"
#include "test_main.h"
#include "tuning_table.h"

enum { ROWS = sizeof vf_fourier_tunings / sizeof *vf_fourier_tunings };

/* In single precision a sample takes 12 of 65,536 bytes, or with its values 32 of 64,000. */
static const int most_chunk[VF_FOURIER_TUNED_STEPS] = {[VF_FOURIER_STRUCTS] = 5461, [VF_FOURIER_BANK_4] = 2000};
enum { MOST_CHUNK = 2000 };

static bool same(vf_fourier_tuning a, vf_fourier_tuning b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(vf_fourier_tunings[0].capability[0], 0); /* the default row, for all other devices */
    for (int i = 0; i < ROWS; i++) {
        const vf_fourier_tuning_row *row = &vf_fourier_tunings[i];
        for (int step = 0; step < VF_FOURIER_TUNED_STEPS; step++)
            for (int trig = 0; trig < 2; trig++) {
                assert_true(vf_fourier_tuning_valid(&row->shapes[step][trig], most_chunk[step]));
                assert_true(same(vf_fourier_find_tuning(row->capability, (vf_fourier_tuned_step)step, (vf_trig)trig),
                                 row->shapes[step][trig]));
            }
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(row->capability, vf_fourier_tunings[j].capability, sizeof row->capability);
    }
    const int unknown[2] = {99, 7};
    for (int step = 0; step < VF_FOURIER_TUNED_STEPS; step++)
        for (int trig = 0; trig < 2; trig++)
            assert_true(same(vf_fourier_find_tuning(unknown, (vf_fourier_tuned_step)step, (vf_trig)trig),
                             vf_fourier_tunings[0].shapes[step][trig]));
}

static void test_limits(void **state)
{
    (void)state;
    static const vf_fourier_tuning good[] = {{32, 16, 1}, {1024, 2000, 16}, {96, 17, 2}, {256, 64, 4}, {256, 64, 8}};
    static const vf_fourier_tuning bad[] = {{31, 64, 8},   {1056, 64, 8}, {100, 64, 8},  {0, 64, 8},
                                            {-256, 64, 8}, {256, 15, 8},  {256, -1, 8},  {256, 2001, 8},
                                            {256, 64, 0},  {256, 64, 3},  {256, 64, 32}, {256, 64, -8}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(vf_fourier_tuning_valid(&good[i], MOST_CHUNK));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(vf_fourier_tuning_valid(&bad[i], MOST_CHUNK));
}

/* The combinations of a search: all valid, none twice, the limits of each number among them. */
static void test_combinations(void **state)
{
    (void)state;
    static const int most[] = {5461, 2000, 16, 64};
    for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
        vf_fourier_tuning shapes[512];
        int count = 0, ends = 0;
        while (count < 512 && vf_fourier_tuning_combination(count, most[m], &shapes[count]))
            count++;
        const int chunks[] = {10, 8, 1, 3}; /* 16 to 4096 and 5461; 16 to 1024 and 2000; 16; 16, 32, 64 */
        assert_int_equal(count, 6 * 5 * chunks[m]);
        for (int i = 0; i < count; i++) {
            assert_true(vf_fourier_tuning_valid(&shapes[i], most[m]));
            for (int j = 0; j < i; j++)
                assert_false(same(shapes[i], shapes[j]));
            ends += same(shapes[i], (vf_fourier_tuning){32, 16, 1}) ||
                    same(shapes[i], (vf_fourier_tuning){1024, most[m], 16}) ||
                    same(shapes[i], vf_fourier_usual_tuning(most[m]));
        }
        assert_int_equal(ends, 3);
    }
}

/* Only steps of a GPU can be tuned. */
static void test_cpu_has_nothing_to_tune(void **state)
{
    (void)state;
    vf_context *ctx;
    vf_fourier *plan;
    const float k[3] = {1, 2, 3};
    const double position[3] = {0, 0, 0};
    const vf_fourier_samples samples = {1, k, NULL};
    const vf_fourier_voxels voxels = {.count = 1, .positions = position};
    const vf_fourier_options options = {.precision = VF_F32};
    const vf_fourier_tuning shape = {256, 64, 8};
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(vf_fourier_create(vf_context_device(ctx, 0), &samples, &voxels, 1, &options, &plan), VF_OK);
    assert_int_equal(vf_fourier_set_tuning(plan, &shape), VF_ERR_UNSUPPORTED);
    assert_non_null(strstr(vf_context_message(ctx), "nothing to tune"));
    vf_fourier_destroy(plan);
    vf_context_destroy(ctx);
}

#define ROW(capability, structs, bank) "{{" capability "}, {{" structs "}, {" bank "}"

static void test_parse(void **state)
{
    (void)state;
    vf_fourier_tuning_row row;
    assert_true(tuning_row_parse(
        "    {{12, 0}, {{{256, 64, 8}, {1024, 2000, 16}}, {{32, 16, 1}, {96, 17, 2}}}}, /* a GPU */\n", &row));
    assert_int_equal(row.capability[0], 12);
    assert_int_equal(row.capability[1], 0);
    assert_true(same(row.shapes[0][0], (vf_fourier_tuning){256, 64, 8}));
    assert_true(same(row.shapes[0][1], (vf_fourier_tuning){1024, 2000, 16}));
    assert_true(same(row.shapes[1][0], (vf_fourier_tuning){32, 16, 1}));
    assert_true(same(row.shapes[1][1], (vf_fourier_tuning){96, 17, 2}));
    assert_true(tuning_row_parse("{{7,5},{{{64,16,1},{96,17,2}},{{64,16,1},{96,17,2}}}},", &row));
    assert_int_equal(row.capability[1], 5);
    static const char *const wrong[] = {
        "",
        "\n",
        "static const vf_fourier_tuning_row vf_fourier_tunings[] = {\n",
        " * A row is one line, {{major, minor}, {tuned-structs\n",
        ROW("7, 5", "{64, 16, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "}}",
        ROW("7, 5", "{64, 16, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "},",
        ROW("7, 5", "{64, 16, 1}, {96, 17, 2}", "{64, 16, 1}") "}},",
        ROW("7, 5", "{64, 16, 1}", "{64, 16, 1}, {96, 17, 2}") "}},",
        ROW("7, 5", "{64, 16}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "}},",
        ROW("7, 5", "{64, 16, 1, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "}},",
        ROW("7", "{64, 16, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "}},",
        ROW("7, -5", "{64, 16, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "}},",
        ROW("7, 5", "{63, 16, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "}},",
        ROW("7, 5", "{64, 16, 1}, {96, 17, 3}", "{64, 16, 1}, {96, 17, 2}") "}},",
        ROW("7, 5", "{64, 16, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 3}") "}},",
        ROW("7, 5", "{4294967360, 16, 1}, {96, 17, 2}", "{64, 16, 1}, {96, 17, 2}") "}},",
        "{{7, 5}, {{{64, 16, 1}, {96, 17, 2}}}},",
        "{{7, 5}, {64, 16, 1}, {96, 17, 2}},",
        "{7, 5}, {{{64, 16, 1}, {96, 17, 2}}, {{64, 16, 1}, {96, 17, 2}}}},",
        "{{7, 5} {{{64, 16, 1}, {96, 17, 2}}, {{64, 16, 1}, {96, 17, 2}}}},",
        "{{7, 5}, {{{64, 16, 1}, {96, 17",
        "{{7, 5}, {{{64, 1",
        "{",
        "{{"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (tuning_row_parse(wrong[i], &row))
            fail_msg("taken for a row: %s", wrong[i]);
}

static void test_format(void **state)
{
    (void)state;
    const vf_fourier_tuning_row row = {{9, 0}, {{{384, 96, 4}, {128, 48, 16}}, {{64, 16, 1}, {32, 17, 2}}}};
    vf_fourier_tuning_row back;
    char text[TUNING_ROW_TEXT];
    assert_true(tuning_row_format(&row, "NVIDIA H200", text));
    assert_string_equal(
        text, "    {{9, 0}, {{{384, 96, 4}, {128, 48, 16}}, {{64, 16, 1}, {32, 17, 2}}}}, /* NVIDIA H200 */\n");
    assert_true(tuning_row_parse(text, &back));
    assert_memory_equal(&row, &back, sizeof row);
    /* A name that would end the comment or the line, and one that is too long. */
    assert_true(tuning_row_format(&row, "a*/b\n\\c", text));
    assert_string_equal(text, "    {{9, 0}, {{{384, 96, 4}, {128, 48, 16}}, {{64, 16, 1}, {32, 17, 2}}}}, /* abc */\n");
    char name[500];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_true(tuning_row_format(&row, name, text));
    assert_true(strlen(text) < TUNING_ROW_TEXT - 50);
}

#define TOP "/* words */\nx[] = {\n"
#define OTHERS "    {{0, 0}, {{{256, 64, 8}, {256, 64, 8}}, {{256, 64, 8}, {256, 64, 8}}}}, /* any other */\n"
#define TURING "    {{7, 5}, {{{64, 16, 1}, {96, 17, 2}}, {{64, 16, 1}, {96, 17, 2}}}}, /* T */\n"
#define BLACKWELL "    {{12, 0}, {{{512, 32, 4}, {512, 32, 2}}, {{512, 32, 4}, {512, 32, 2}}}}, /* B */\n"
#define HOPPER "    {{9, 0}, {{{384, 96, 4}, {128, 48, 16}}, {{64, 16, 1}, {32, 17, 2}}}}, /* H */\n"
#define HOPPER_BEFORE "    {{9, 0}, {{{64, 16, 1}, {64, 16, 1}}, {{64, 16, 1}, {64, 16, 1}}}}, /* before */\n"
#define END "};\n/* more words */\n"

static void test_replace(void **state)
{
    (void)state;
    const vf_fourier_tuning_row hopper = {{9, 0}, {{{384, 96, 4}, {128, 48, 16}}, {{64, 16, 1}, {32, 17, 2}}}};
    static const char *const cases[][2] = {
        {TOP OTHERS END, TOP OTHERS HOPPER END},
        {TOP OTHERS TURING BLACKWELL END, TOP OTHERS TURING HOPPER BLACKWELL END},
        {TOP OTHERS TURING HOPPER_BEFORE BLACKWELL END, TOP OTHERS TURING HOPPER BLACKWELL END},
        {TOP OTHERS HOPPER_BEFORE END, TOP OTHERS HOPPER END},
        {TOP OTHERS HOPPER END, TOP OTHERS HOPPER END},
        {TOP END, NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = tuning_table_replace(cases[i][0], &hopper, "H");
        if (cases[i][1]) {
            assert_non_null(text);
            assert_string_equal(text, cases[i][1]);
        } else {
            assert_null(text);
        }
        free(text);
    }
}

/* On a copy of the header itself: every row is recognised, and a new one is inserted among them. */
static void test_write(void **state)
{
    (void)state;
    static char before[1 << 16], after[1 << 16];
    char path[] = "/tmp/voxfield-tuning-XXXXXX";
    const vf_fourier_tuning_row row = {{98, 7}, {{{384, 96, 4}, {128, 48, 16}}, {{64, 16, 1}, {32, 17, 2}}}};
    vf_context *ctx;
    int rows = 0, file = mkstemp(path);
    FILE *header = fopen(TUNING_HEADER, "rb");
    assert_true(file >= 0 && header);
    size_t bytes = fread(before, 1, sizeof before - 1, header);
    fclose(header);
    assert_true(bytes > 0 && write(file, before, bytes) == (ssize_t)bytes);
    close(file);
    vf_fourier_tuning_row found;
    for (const char *at = before; at; at = (at = strchr(at, '\n')) ? at + 1 : NULL)
        if (tuning_row_parse(at, &found))
            assert_memory_equal(&found, &vf_fourier_tunings[rows++], sizeof found);
    assert_int_equal(rows, ROWS);
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(tuning_table_write(ctx, path, &row, "none"), VF_OK);
    FILE *written = fopen(path, "rb");
    assert_non_null(written);
    after[fread(after, 1, sizeof after - 1, written)] = 0;
    fclose(written);
    const char *line = "    {{98, 7}, {{{384, 96, 4}, {128, 48, 16}}, {{64, 16, 1}, {32, 17, 2}}}}, /* none */\n};\n";
    assert_non_null(strstr(after, line));
    assert_int_equal(strlen(after), bytes + strlen(line) - strlen("};\n"));
    unlink(path);
    assert_int_equal(tuning_table_write(ctx, path, &row, "none"), VF_ERR_INPUT); /* the file no longer exists */
    vf_context_destroy(ctx);
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_table), cmocka_unit_test(test_limits), cmocka_unit_test(test_combinations),
          cmocka_unit_test(test_cpu_has_nothing_to_tune), cmocka_unit_test(test_parse), cmocka_unit_test(test_format),
          cmocka_unit_test(test_replace), cmocka_unit_test(test_write))
