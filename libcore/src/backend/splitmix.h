/* Random numbers by splitmix64 (Steele, Lea and Flood, OOPSLA 2014); not installed. */
#ifndef VOXFIELD_SPLITMIX_H
#define VOXFIELD_SPLITMIX_H

#include <stdint.h>

/* The next 64 random bits. Any state is a good seed. */
static inline uint64_t vf_splitmix64(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
