/* Voxfield - round numbers for axes and colour bars, and numbers as the text in pictures. Independent of the locale. */
#ifndef VOXFIELD_TICKS_H
#define VOXFIELD_TICKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values first * step, ..., last * step; none if last < first. The step is unit * 10^exponent, unit 1, 2 or 5. */
typedef struct vf_ticks {
    int64_t first, last;
    int unit, exponent;
} vf_ticks;

enum { VF_LABEL_TEXT = 40 }; /* bytes that any of the texts below needs at most */

/* Round values within [lo, hi], at least `min_step` > 0 apart: the smallest step that is so. None if that cannot be
 * said. */
vf_ticks vf_ticks_make(double lo, double hi, double min_step);
double vf_tick_step(const vf_ticks *ticks);
double vf_tick_value(const vf_ticks *ticks, int64_t n);

/* "−0.25": the value of tick n, exact, all of them with the same number of digits behind the point but "0"; with a
 * minus sign (U+2212), which is as wide as a plus. Returns `text`. */
const char *vf_tick_text(const vf_ticks *ticks, int64_t n, char text[VF_LABEL_TEXT]);

/* `value` rounded to `decimals` digits behind the point, 0 to 9. Returns `text`. The flags: no zeros at the end; a plus
 * sign where the value is positive. */
enum { VF_LABEL_TRIM = 1, VF_LABEL_SIGN = 2 };
const char *vf_label_text(double value, int decimals, int flags, char text[VF_LABEL_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
