/* Numbers from text: the whole text or nothing, in any locale. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locale_fixture.h"
#include "random_fixture.h"
#include "test_main.h"
#include "voxfield/parse.h"

static void check_doubles(void)
{
    static const struct {
        const char *text;
        int n;
        double values[3];
    } good[] = {{"0", 1, {0}},
                {"-0", 1, {-0.0}},
                {"+5", 1, {5}},
                {"1.5", 1, {1.5}},
                {"-.5", 1, {-0.5}},
                {"5.", 1, {5}},
                {"007", 1, {7}},
                {"1e3", 1, {1000}},
                {"1E-3", 1, {0.001}},
                {"-2.5e+10", 1, {-2.5e10}},
                {"1e-400", 1, {0}},
                {"1,2,3", 3, {1, 2, 3}},
                {"-1.5,.25", 2, {-1.5, 0.25}}};
    static const char *const bad[] = {
        "",       " ",   "a",     "nan",  "NaN",   "inf",        "-inf", "infinity", "0x10", "-0X1p3",  "1e999",
        "-1e999", "1 ",  " 1",    "1x",   "1e",    "1e+",        "+-1",  "--1",      ".",    "-",       "+",
        "-.",     "e5",  "1.2.3", "1..2", "1,",    ",1",         "1,,2", "1, 2",     "1;2",  "1,2,3,4", "1,2,x",
        "1,nan",  "1\t", "\n1",   "1\n",  "1'000", "\xc2\xb1 1", "1,2,", "1 2"};
    double v[4];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (vf_parse_doubles(good[i].text, 1, 3, v) != good[i].n)
            fail_msg("'%s' is %d numbers", good[i].text, good[i].n);
        for (int k = 0; k < good[i].n; k++)
            if (v[k] != good[i].values[k] || signbit(v[k]) != signbit(good[i].values[k]))
                fail_msg("'%s' became %a", good[i].text, v[k]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (vf_parse_doubles(bad[i], 1, 3, v) != 0)
            fail_msg("'%s' was accepted as a number", bad[i]);
}

static void test_doubles(void **state)
{
    (void)state;
    check_doubles();
}

static void test_how_many(void **state)
{
    (void)state;
    double v[3] = {-7, -7, -7};
    int64_t w[3];
    assert_int_equal(vf_parse_doubles("1", 2, 3, v), 0);
    assert_int_equal(vf_parse_doubles("1,2", 2, 3, v), 2);
    assert_int_equal(vf_parse_doubles("1,2", 1, 1, v), 0);
    assert_int_equal(vf_parse_integers("1", 2, 3, w), 0);
    assert_int_equal(vf_parse_integers("1,2,3", 3, 3, w), 3);
    assert_int_equal(vf_parse_integers("1,2,3", 1, 2, w), 0);
    v[1] = -7;
    assert_int_equal(vf_parse_doubles("1,2", 1, 1, v), 0); /* and nothing is written beyond `most` */
    assert_true(v[1] == -7);
}

static void test_integers(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      " ",
                                      "1.0",
                                      "1e3",
                                      "0x10",
                                      "nan",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999",
                                      "1 ",
                                      " 1",
                                      "+",
                                      "-",
                                      "+-1",
                                      "1,",
                                      ",1",
                                      "1,,2",
                                      "1, 2"};
    int64_t v[3];
    assert_int_equal(vf_parse_integers("9223372036854775807,-9223372036854775808,+010", 1, 3, v), 3);
    assert_true(v[0] == INT64_MAX && v[1] == INT64_MIN && v[2] == 10);
    assert_int_equal(vf_parse_integers("-0", 1, 1, v), 1);
    assert_true(v[0] == 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (vf_parse_integers(bad[i], 1, 3, v) != 0)
            fail_msg("'%s' was accepted as a whole number", bad[i]);
}

/* If the system does not have the locale: with LOCPATH at a folder that has it. */
static void test_in_another_locale(void **state)
{
    (void)state;
    begin_decimal_comma();
    check_doubles();
    setlocale(LC_ALL, "C");
}

/* 17 digits preserve every double. */
static void test_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        char text[40];
        double x, back = NAN;
        const uint64_t bits = random_bits();
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        snprintf(text, sizeof text, "%.17g", x);
        assert_int_equal(vf_parse_doubles(text, 1, 1, &back), 1);
        if (!(back == x))
            fail_msg("%s became %.17g", text, back);
    }
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_doubles), cmocka_unit_test(test_how_many), cmocka_unit_test(test_integers),
          cmocka_unit_test(test_in_another_locale), cmocka_unit_test(test_round_trip))
