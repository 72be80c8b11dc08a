/* Random numbers of tests and benchmarks. They follow from one seed, a fixed one unless the environment variable
 * VOXFIELD_SEED gives another. The first draw prints it, so what prints no seed has drawn nothing. */
#ifndef RANDOM_FIXTURE_H
#define RANDOM_FIXTURE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXED_SEED 1

static uint64_t random_state;
static bool random_seeded;

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014) */
static inline uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Starts the sequence, or starts it again, and returns the seed. Only needed before the first draw by those who read or
 * set random_state. */
static inline uint64_t seed_random(void)
{
    const char *given = getenv("VOXFIELD_SEED");
    uint64_t seed = FIXED_SEED;
    if (given) {
        const bool hexadecimal = strncmp(given, "0x", 2) == 0;
        const char *digits = hexadecimal ? given + 2 : given;
        const size_t length = strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789");
        errno = 0;
        seed = strtoull(digits, NULL, hexadecimal ? 16 : 10);
        if (length == 0 || digits[length] || errno) {
            fprintf(stderr, "VOXFIELD_SEED '%s': expected a whole number below 2^64, decimal or 0x...\n", given);
            exit(2);
        }
    }
    random_state = seed;
    random_state = splitmix(&random_state); /* neighbouring seeds give unrelated sequences */
    if (!random_seeded)
        printf("seed %llu (VOXFIELD_SEED=%llu repeats it)\n", (unsigned long long)seed, (unsigned long long)seed);
    fflush(stdout); /* a test may crash */
    random_seeded = true;
    return seed;
}

static inline uint64_t random_bits(void)
{
    if (!random_seeded)
        seed_random();
    return splitmix(&random_state);
}

/* In [0, 1). */
static inline double uniform(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

static inline double uniform_between(double from, double to)
{
    return from + (to - from) * uniform();
}

/* From 0 to n - 1; 0 if n is 0. */
static inline int64_t integer_below(int64_t n)
{
    return (int64_t)(uniform() * (double)n);
}

/* From `from` to `to`, both included. */
static inline int64_t integer_between(int64_t from, int64_t to)
{
    return from + integer_below(to - from + 1);
}

#endif
