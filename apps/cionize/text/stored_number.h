/* Numbers of binary files, in either byte order. */
#ifndef CIONIZE_STORED_NUMBER_H
#define CIONIZE_STORED_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t stored_unsigned(const unsigned char *bytes, int count, bool big_endian)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[big_endian ? i : count - 1 - i];
    return value;
}

static inline int32_t stored_integer(const unsigned char *bytes, bool big_endian)
{
    return (int32_t)(uint32_t)stored_unsigned(bytes, 4, big_endian);
}

static inline float stored_float(const unsigned char *bytes, bool big_endian)
{
    const uint32_t bits = (uint32_t)stored_unsigned(bytes, 4, big_endian);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double stored_double(const unsigned char *bytes, bool big_endian)
{
    const uint64_t bits = stored_unsigned(bytes, 8, big_endian);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
