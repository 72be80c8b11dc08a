/* Numbers as text: the same characters as printf in the C locale, for any number and locale. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_fixture.h"
#include "test_main.h"
#include "voxfield/format_number.h"

/* Must write exactly what printf writes, within the promised length, and read back the same number if there are
 * enough digits. */
static void check(double x, int digits)
{
    char expected[64], text[64];
    memset(text, '#', sizeof text);
    snprintf(expected, sizeof expected, "%.*e", digits - 1, x);
    int length = vf_format_scientific(x, digits, text);
    if (length != (int)strlen(expected) || memcmp(text, expected, (size_t)length) != 0 || text[length] != '#')
        fail_msg("%a with %d digits: '%.*s', not '%s'", x, digits, length, text, expected);
    assert_true(length <= digits + 7);
    text[length] = '\0';
    if (digits == VF_NUMBER_MAX_DIGITS && strtod(text, NULL) != x)
        fail_msg("%a does not come back from '%s'", x, text);
}

static void check_float(float x)
{
    char text[64];
    check(x, 9);
    text[vf_format_scientific(x, 9, text)] = '\0';
    float back = strtof(text, NULL);
    if (memcmp(&back, &x, sizeof x) != 0) /* bits: -0 must stay -0 */
        fail_msg("%a does not come back from '%s'", (double)x, text);
}

static void random_floats_of_all_sizes(void **state)
{
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint32_t bits = (uint32_t)random_bits();
        float x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            check_float(x);
    }
}

static void denormal_floats(void **state)
{
    (void)state;
    for (uint32_t bits = 1; bits < 1u << 23; bits += 1 + (uint32_t)(random_bits() % 64)) {
        float x;
        memcpy(&x, &bits, sizeof x);
        check_float(x);
    }
}

static void random_doubles_of_all_sizes(void **state)
{
    (void)state;
    for (int i = 0; i < 400000; i++) {
        uint64_t bits = random_bits();
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            check(x, 1 + i % VF_NUMBER_MAX_DIGITS);
        check(ldexp((double)(bits >> 11), -40 - i % 40), 1 + i % VF_NUMBER_MAX_DIGITS); /* sizes that occur in maps */
    }
}

/* Decimal fractions that end in 5 are exactly between two neighbours: ties must round to even. */
static void ties(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        int64_t n = (int64_t)(random_bits() % 2000001) - 1000000;
        int power = (int)(random_bits() % 13);
        for (int digits = 1; digits <= 9; digits++)
            check(ldexp((double)n, -power), digits);
    }
    check(0.5, 1);
    check(1.5, 1);
    check(2.5, 1);
    check(9.5, 1);
    check(99.5, 2);
    check(999999999.5, 9);
}

static void powers_and_limits(void **state)
{
    (void)state;
    for (int digits = 1; digits <= VF_NUMBER_MAX_DIGITS; digits++) {
        for (int e = -1074; e <= 1023; e++) {
            check(ldexp(1, e), digits);
            check(nextafter(ldexp(1, e), 0), digits);
            check(-nextafter(ldexp(1, e), INFINITY), digits);
        }
        for (int e = -323; e <= 308; e++) {
            char text[16];
            snprintf(text, sizeof text, "1e%d", e);
            double x = strtod(text, NULL);
            check(x, digits);
            check(nextafter(x, 0), digits);
            check(nextafter(x, INFINITY), digits);
        }
        check(0.0, digits);
        check(-0.0, digits);
        check(DBL_MAX, digits);
        check(DBL_MIN, digits);
    }
    check_float(0.0f);
    check_float(-0.0f);
    check_float(FLT_MAX);
    check_float(-FLT_MAX);
    check_float(FLT_MIN);
    check_float(FLT_TRUE_MIN);
    for (int e = -149; e <= 127; e++)
        check_float(ldexpf(1, e));
    for (int e = -45; e <= 38; e++)
        check_float((float)pow(10, e));
}

static void general(void **state)
{
    (void)state;
    static const double values[] = {0,     -0.0,     0.5,      -12.25,    1e-5, 123456789012.0,
                                    1e300, -1.0 / 3, INFINITY, -INFINITY, NAN};
    char expected[64], text[VF_NUMBER_TEXT];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int digits = 1; digits <= VF_NUMBER_MAX_DIGITS; digits++) {
            snprintf(expected, sizeof expected, "%.*g", digits, values[i]);
            assert_string_equal(vf_format_general(values[i], digits, text), expected);
        }
}

/* A locale with a decimal comma, and one with a separator longer than a byte, have no effect. */
static void other_locales(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8",
                                        "ps_AF.UTF-8", "ps_AF.utf8", "fa_IR.UTF-8", "fa_IR.utf8"};
    int tried = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[64];
        if (!setlocale(LC_NUMERIC, names[i]))
            continue;
        tried++;
        assert_string_not_equal(localeconv()->decimal_point, ".");
        assert_string_equal(vf_format_general(-12.25, 9, text), "-12.25");
        assert_string_equal(vf_format_general(1e-30, 9, text), "1e-30");
        text[vf_format_scientific(-12.25, 5, text)] = '\0';
        assert_string_equal(text, "-1.2250e+01");
        text[vf_format_scientific(1e-30, 4, text)] = '\0'; /* falls back to printf */
        assert_string_equal(text, "1.000e-30");
        text[vf_format_scientific(3e200, 1, text)] = '\0';
        assert_string_equal(text, "3e+200");
        setlocale(LC_NUMERIC, "C");
    }
    if (tried == 0) {
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(random_floats_of_all_sizes), cmocka_unit_test(denormal_floats),
          cmocka_unit_test(random_doubles_of_all_sizes), cmocka_unit_test(ties), cmocka_unit_test(powers_and_limits),
          cmocka_unit_test(general), cmocka_unit_test(other_locales))
