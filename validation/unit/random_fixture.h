/* Random numbers for tests, from a seed that the test prints. */
#ifndef RANDOM_FIXTURE_H
#define RANDOM_FIXTURE_H

#include <stdint.h>

static uint64_t random_state;

/* splitmix64 (Vigna) */
static inline uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform in [0, 1). */
static inline double uniform(void)
{
    return (double)(splitmix(&random_state) >> 11) * 0x1p-53;
}

#endif
