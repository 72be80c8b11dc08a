#include "hybrid36.h"

#include <string.h>

enum { LETTERS = 26, BASE = 36 };

static int64_t power(int base, int exponent)
{
    int64_t result = 1;
    while (exponent-- > 0)
        result *= base;
    return result;
}

/* The numbers that begin with letters of one case. */
static int64_t lettered(int width)
{
    return LETTERS * power(BASE, width - 1);
}

int64_t hybrid36_greatest(int width)
{
    return power(10, width) - 1 + 2 * lettered(width);
}

static void put_decimal(int64_t value, int width, char *to)
{
    uint64_t rest = value < 0 ? (uint64_t)-value : (uint64_t)value;
    char *at = to + width;
    memset(to, ' ', (size_t)width);
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *--at = '-';
}

bool hybrid36_put(int64_t value, int width, char *to)
{
    const int64_t decimals = power(10, width);
    if (value > hybrid36_greatest(width) || value <= -decimals / 10)
        return false;
    if (value < decimals) {
        put_decimal(value, width, to);
        return true;
    }
    int64_t rest = value - decimals;
    const char first = rest < lettered(width) ? 'A' : 'a';
    rest = rest % lettered(width) + 10 * power(BASE, width - 1); /* in base 36, it begins with the digit A */
    for (char *at = to + width; at > to; rest /= BASE)
        *--at = (char)(rest % BASE < 10 ? '0' + rest % BASE : first + rest % BASE - 10);
    return true;
}
