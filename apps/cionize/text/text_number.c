#include "text_number.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* No program writes longer numbers. */
enum { MAX_LENGTH = 127, RUN_DECIMALS = 3 };

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { MAX_POWER = (int)(sizeof powers / sizeof *powers) - 1 };

static bool is_sign(char c)
{
    return c == '-' || c == '+';
}

/* The end of the exponent that begins at `p`, and its value; `p` if there is none. */
static const char *scan_exponent(const char *p, const char *end, int *exponent)
{
    const char *q = p + 1;
    *exponent = 0;
    if (p == end || (*p != 'e' && *p != 'E'))
        return p;
    bool negative = q < end && *q == '-';
    if (q < end && is_sign(*q))
        q++;
    const char *digits = q;
    for (; q < end && text_is_digit(*q); q++)
        if (*exponent < 10000)
            *exponent = *exponent * 10 + (*q - '0');
    if (q == digits)
        return p;
    if (negative)
        *exponent = -*exponent;
    return q;
}

static bool read_slowly(text_piece text, locale_t c_locale, double *value)
{
    char copy[MAX_LENGTH + 1];
    char *end;
    memcpy(copy, text.at, text.size);
    copy[text.size] = '\0';
    *value = strtod_l(copy, &end, c_locale);
    return end == copy + text.size && isfinite(*value);
}

bool text_read_number(text_piece text, locale_t c_locale, text_number *out)
{
    const char *p = text.at, *end = text.at + text.size;
    if (text.size > MAX_LENGTH)
        return false;
    bool negative = p < end && *p == '-';
    if (p < end && is_sign(*p))
        p++;

    uint64_t mantissa = 0;
    int digits = 0, decimals = 0, exponent;
    bool fits = true, point = false;
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (!text_is_digit(*p))
            break;
        fits &= mantissa < UINT64_C(1) << 53;
        mantissa = fits ? mantissa * 10 + (uint64_t)(*p - '0') : mantissa;
        digits++;
        decimals += point;
    }
    p = scan_exponent(p, end, &exponent);
    if (digits == 0 || p != end)
        return false;
    out->point = point;
    out->decimals = decimals > exponent ? decimals - exponent : 0;

    /* Integers below 2^53 and powers of ten up to 10^22 are exact, so a single operation rounds only once. */
    int power = exponent - decimals;
    if (!fits || mantissa > UINT64_C(1) << 53 || power < -MAX_POWER || power > MAX_POWER)
        return read_slowly(text, c_locale, &out->value);
    double value = power < 0 ? (double)mantissa / powers[-power] : (double)mantissa * powers[power];
    out->value = negative ? -value : value;
    return true;
}

const char *text_number_trouble(text_piece text)
{
    const char *p = text.at;
    size_t n = text.size;
    if (n > 0 && is_sign(*p))
        p++, n--;
    size_t points = 0, commas = 0, stars = 0, fortran = 0, digits = 0, signs = 0, exponents = 0;
    for (size_t i = 0; i < n; i++) {
        points += p[i] == '.';
        commas += p[i] == ',';
        stars += p[i] == '*';
        fortran += p[i] == 'd' || p[i] == 'D';
        digits += text_is_digit(p[i]);
        signs += is_sign(p[i]);
        exponents += p[i] == 'e' || p[i] == 'E';
    }
    if (n >= 3 && (strncasecmp(p, "nan", 3) == 0 || strncasecmp(p, "inf", 3) == 0))
        return "is not a finite number";
    if (n >= 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        return "is a hexadecimal number; write it in decimal";
    if (stars > 0 && stars == n)
        return "overflowed its column in the program that wrote the file; write it again with more "
               "room";
    if (digits > 0 && fortran == 1 && digits + points + fortran + signs == n)
        return "has a Fortran exponent (D); use E";
    if (digits > 0 && commas == 1 && digits + commas == n)
        return "has a decimal comma; use a point";
    if (digits > 0 && points > 1 && digits + points + signs + exponents == n)
        return "is several numbers run together, and it is unclear where they end; put blanks between them";
    if (digits > 0 && exponents <= 1 && digits + points + signs + exponents == n && p[n - 1] != 'e' && p[n - 1] != 'E')
        return "is out of range or has too many digits";
    return "is not a number";
}

int text_take_apart(text_piece text, text_piece *pieces, int room, bool *by_decimals)
{
    const char *p = text.at, *end = text.at + text.size;
    int count = 0, exponent;
    while (p < end) {
        const char *begin = p;
        p += is_sign(*p);
        const char *whole = p;
        while (p < end && text_is_digit(*p))
            p++;
        if (p == whole || p == end || *p != '.' || count == room)
            return 0;
        const char *decimals = ++p;
        while (p < end && text_is_digit(*p))
            p++;
        if (p == decimals)
            return 0;
        if (p < end && *p == '.') {
            /* Another number begins among these digits. It cannot begin here if this digit is a zero followed by
             * digits. */
            if (p - decimals <= RUN_DECIMALS || (decimals[RUN_DECIMALS] == '0' && p - decimals > RUN_DECIMALS + 1))
                return 0;
            p = decimals + RUN_DECIMALS;
            *by_decimals = true;
        } else {
            p = scan_exponent(p, end, &exponent);
            if (p < end && !is_sign(*p))
                return 0;
        }
        pieces[count++] = (text_piece){begin, (size_t)(p - begin)};
    }
    return count;
}
