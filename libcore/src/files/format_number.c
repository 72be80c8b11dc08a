#include "voxfield/format_number.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Replaces printf's decimal mark of the locale, possibly several bytes, by '.'. Returns the new length. */
static int use_point(char *text)
{
    size_t mark = strspn(text, "0123456789+-");
    size_t rest = mark + strcspn(text + mark, "0123456789e");
    if (rest > mark && strchr(text + mark, 'n') == NULL) { /* neither inf nor nan */
        text[mark] = '.';
        memmove(text + mark + 1, text + rest, strlen(text + rest) + 1);
    }
    return (int)strlen(text);
}

const char *vf_format_general(double x, int digits, char text[VF_NUMBER_TEXT])
{
    snprintf(text, VF_NUMBER_TEXT, "%.*g", digits, x);
    use_point(text);
    return text;
}

static int format_with_printf(double x, int digits, char *text)
{
    char buffer[VF_NUMBER_TEXT];
    snprintf(buffer, sizeof buffer, "%.*e", digits - 1, x);
    int length = use_point(buffer);
    memcpy(text, buffer, (size_t)length);
    return length;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 uint128;

enum { MAX_POWER = 27 }; /* 5^27 is the largest power of five below 2^63 */

/* clang-format off */
static const uint64_t power_of_five[MAX_POWER + 1] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u, 244140625u, 1220703125u,
    6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u, 19073486328125u, 95367431640625u,
    476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u, 298023223876953125u,
    1490116119384765625u, 7450580596923828125u
};

static const uint64_t power_of_ten[VF_NUMBER_MAX_DIGITS + 1] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u, 100000000000u,
    1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u, 10000000000000000u, 100000000000000000u
};
/* clang-format on */

static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
    "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
    "9899";

static void put_pair(char *text, uint64_t value)
{
    memcpy(text, digit_pairs + 2 * value, 2);
}

/* Finds the integer n, 10^(digits-1) <= n < 10^digits, nearest to |x| * 10^(digits - 1 - exponent). This is exact: |x|
 * is an integer of 53 bits times a power of two, and 10^power = 5^power 2^power, so the product fits in 128 bits.
 * Returns 0 if the power of ten is outside the table. */
static int to_decimal(uint64_t bits, int digits, uint64_t *n, int *exponent)
{
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int exponent2 = biased - 1023;
    /* floor(exponent2 * log10(2)), exact in this range: |x| has this decimal exponent or the next. */
    int exponent10 = exponent2 * 315653 >> 20;
    int power = digits - 1 - exponent10;
    if (biased == 0 || power < 0 || power > MAX_POWER)
        return 0;

    uint64_t limit = power_of_ten[digits];
    uint128 product = (uint128)mantissa * power_of_five[power];
    int shift = 52 - exponent2 - power;
    uint64_t whole = (uint64_t)(shift > 0 ? product >> shift : product << -shift);
    uint128 rest = shift > 0 ? product & (((uint128)1 << shift) - 1) : 0;
    uint128 half = shift > 0 ? (uint128)1 << (shift - 1) : 1;
    if (whole >= limit) {
        uint64_t last = whole % 10;
        whole /= 10;
        exponent10++;
        whole += last > 5 || (last == 5 && (rest != 0 || whole % 2 != 0));
    } else {
        whole += rest > half || (rest == half && whole % 2 != 0);
    }
    if (whole == limit) {
        whole /= 10;
        exponent10++;
    }
    *n = whole;
    *exponent = exponent10;
    return 1;
}

int vf_format_scientific(double x, int digits, char *text)
{
    uint64_t bits, n = 0;
    int exponent = 0;
    memcpy(&bits, &x, sizeof bits);
    if (bits << 1 != 0 && !to_decimal(bits, digits, &n, &exponent))
        return format_with_printf(x, digits, text);

    char *start = text;
    *text = '-';
    text += bits >> 63;
    /* The digits after the first, from the right. The first goes before the point. */
    char *left = text + digits + 1;
    for (int rest = digits - 1; rest >= 2; rest -= 2) {
        put_pair(left -= 2, n % 100);
        n /= 100;
    }
    if (digits % 2 == 0) {
        *--left = (char)('0' + n % 10);
        n /= 10;
    }
    text[0] = (char)('0' + n);
    text[1] = '.';
    text += digits > 1 ? digits + 1 : 1;
    *text++ = 'e';
    *text++ = exponent < 0 ? '-' : '+';
    put_pair(text, (uint64_t)(exponent < 0 ? -exponent : exponent));
    return (int)(text + 2 - start);
}
#else
int vf_format_scientific(double x, int digits, char *text)
{
    return format_with_printf(x, digits, text);
}
#endif
