/* The numbers of random_fixture.h: the sequence of splitmix64, their ranges, and what VOXFIELD_SEED does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "random_fixture.h"
#include "test_main.h"

/* The first numbers of seed 1234567, as published with Vigna's splitmix64.c at Rosetta Code. */
static void test_published(void **state)
{
    (void)state;
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
    uint64_t at = 1234567;
    for (int i = 0; i < 3; i++)
        assert_true(splitmix(&at) == expected[i]);
}

/* The chance that 2 N draws miss one of five values is 5 * 0.8^(2 N), less than 1e-190. */
static void test_ranges(void **state)
{
    (void)state;
    enum { N = 1000, FROM = -2, TO = 2 };
    int seen[TO - FROM + 1] = {0};
    for (int i = 0; i < 2 * N; i++) {
        const double u = uniform(), v = uniform_between(-3, 5);
        const int64_t n = integer_between(FROM, TO);
        assert_true(u >= 0 && u < 1 && v >= -3 && v < 5);
        assert_in_range(n - FROM, 0, TO - FROM);
        seen[n - FROM]++;
    }
    for (int n = 0; n <= TO - FROM; n++)
        assert_true(seen[n] > 0);
    assert_int_equal(integer_below(1), 0);
    assert_int_equal(integer_below(0), 0);
}

/* The mean of (u - 1/2) (v - 1/2) over n pairs of independent numbers is 0 +- 1 / (12 sqrt(n)); seven deviations. */
static void test_neighbouring_seeds_are_unrelated(void **state)
{
    (void)state;
    enum { N = 4096 };
    static double u[2][N];
    const char *kept = getenv("VOXFIELD_SEED");
    char *before = kept ? strdup(kept) : NULL, text[32];
    const uint64_t first = seed_random();
    for (int s = 0; s < 2; s++) {
        snprintf(text, sizeof text, s ? "0x%llx" : "%llu", (unsigned long long)(first + (uint64_t)s));
        setenv("VOXFIELD_SEED", text, 1);
        assert_true(seed_random() == first + (uint64_t)s);
        const uint64_t again = random_bits();
        seed_random();
        assert_true(random_bits() == again);
        for (int i = 0; i < N; i++)
            u[s][i] = uniform();
    }
    for (int shift = 0; shift < 4; shift++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += (u[0][i] - 0.5) * (u[1][(i + shift) % N] - 0.5);
        assert_true(fabs(sum / N) <= 7 / (12 * sqrt(N)));
    }
    if (before)
        setenv("VOXFIELD_SEED", before, 1);
    else
        unsetenv("VOXFIELD_SEED");
    free(before);
    seed_random();
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_published), cmocka_unit_test(test_ranges),
          cmocka_unit_test(test_neighbouring_seeds_are_unrelated))
