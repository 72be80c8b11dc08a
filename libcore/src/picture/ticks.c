#include "voxfield/ticks.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MINUS "\xE2\x88\x92"
#define ZEROS "000000000"

static const double largest_count = 1e15; /* counts up to here are exact as doubles */

double vf_tick_step(const vf_ticks *ticks)
{
    return ticks->unit * pow(10, ticks->exponent);
}

double vf_tick_value(const vf_ticks *ticks, int64_t n)
{
    /* Dividing by a power of ten rounds once; multiplying by its inverse would round twice. So 3 ticks of 0.1 make 0.3.
     */
    const double count = (double)n * ticks->unit;
    return ticks->exponent < 0 ? count / pow(10, -ticks->exponent) : count * pow(10, ticks->exponent);
}

vf_ticks vf_ticks_make(double lo, double hi, double min_step)
{
    static const int units[] = {1, 2, 5, 10};
    vf_ticks ticks = {.first = 0, .last = -1, .unit = 1, .exponent = 0};
    if (!(min_step > 1e-300) || !(min_step < 1e300) || !(lo <= hi))
        return ticks;
    ticks.exponent = (int)floor(log10(min_step));
    int u = 0;
    do
        ticks.unit = units[u++];
    while (u < 4 && vf_tick_step(&ticks) < min_step * (1 - 1e-9));
    if (ticks.unit == 10) {
        ticks.unit = 1;
        ticks.exponent++;
    }
    /* An end that is a round value up to rounding errors has its tick. */
    const double step = vf_tick_step(&ticks), first = ceil(lo / step - 1e-6), last = floor(hi / step + 1e-6);
    if (fabs(first) < largest_count && fabs(last) < largest_count) {
        ticks.first = (int64_t)first;
        ticks.last = (int64_t)last;
    }
    return ticks;
}

vf_ticks vf_ticks_symmetric(double limit, double *range)
{
    const double typical = limit > 0 ? limit : 1;
    const vf_ticks quarter = vf_ticks_make(0, 0, typical / 4);
    const double step = vf_tick_step(&quarter);
    *range = step * ceil(typical / step * (1 - 1e-6));
    return vf_ticks_make(-*range, *range, step);
}

/* digits * 10^exponent as text, without rounding; `scientific`: like "5e7". */
static const char *decimal_text(int64_t digits, int exponent, bool scientific, const char *plus,
                                char text[VF_LABEL_TEXT])
{
    char number[24];
    const char *sign = digits < 0 ? MINUS : digits > 0 ? plus : "";
    const uint64_t magnitude = digits < 0 ? 0 - (uint64_t)digits : (uint64_t)digits;
    int length = snprintf(number, sizeof number, "%" PRIu64, magnitude);
    const int point = length + exponent; /* digits before the point */
    if (digits == 0) {
        (void)snprintf(text, VF_LABEL_TEXT, "0");
    } else if (scientific) {
        for (; number[length - 1] == '0'; length--)
            exponent++;
        (void)snprintf(text, VF_LABEL_TEXT, "%s%.*se%d", sign, length, number, exponent);
    } else if (exponent >= 0) {
        (void)snprintf(text, VF_LABEL_TEXT, "%s%s%.*s", sign, number, exponent, ZEROS);
    } else {
        (void)snprintf(text, VF_LABEL_TEXT, "%s%.*s.%.*s%s", sign, point > 0 ? point : 1, point > 0 ? number : "0",
                       point < 0 ? -point : 0, ZEROS, number + (point > 0 ? point : 0));
    }
    return text;
}

const char *vf_tick_text(const vf_ticks *ticks, int64_t n, char text[VF_LABEL_TEXT])
{
    const bool scientific = ticks->exponent > 5 || ticks->exponent < -4;
    return decimal_text(n * ticks->unit, ticks->exponent, scientific, "", text);
}

const char *vf_label_text(double value, int decimals, int flags, char text[VF_LABEL_TEXT])
{
    const char *plus = flags & VF_LABEL_SIGN ? "+" : "";
    const double scaled = value * pow(10, decimals);
    if (!(fabs(scaled) < largest_count)) { /* also NaN and infinity; no decimal mark, so none of a locale's */
        (void)snprintf(text, VF_LABEL_TEXT, "%s%.0e", value > 0 ? plus : "", value);
        return text;
    }
    int64_t digits = llround(scaled);
    int exponent = -decimals;
    while (flags & VF_LABEL_TRIM && digits % 10 == 0 && exponent < 0) {
        digits /= 10;
        exponent++;
    }
    return decimal_text(digits, exponent, false, plus, text);
}
