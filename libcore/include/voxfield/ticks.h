/* Voxfield - round numbers for axes and colour bars, and their text. Independent of the locale. */
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

enum { VF_LABEL_TEXT = 40 }; /* enough bytes for any of the texts below */

/* Round values within [lo, hi], with the smallest step that is at least `min_step` > 0. None for invalid arguments. */
vf_ticks vf_ticks_make(double lo, double hi, double min_step);

/* A range -*range to *range for values of up to about `limit` in magnitude, with ticks: *range is the smallest multiple of their step,
 * which is about a quarter of it, that is not below the limit. A limit that is not positive counts as 1. */
vf_ticks vf_ticks_symmetric(double limit, double *range);
double vf_tick_step(const vf_ticks *ticks);
double vf_tick_value(const vf_ticks *ticks, int64_t n);

/* "−0.25": the exact value of tick n. All ticks but "0" have the same number of decimals. The minus sign is U+2212,
 * which is as wide as a plus. Returns `text`. */
const char *vf_tick_text(const vf_ticks *ticks, int64_t n, char text[VF_LABEL_TEXT]);

/* `value` rounded to `decimals` decimals, 0 to 9. Returns `text`. Flags: TRIM removes trailing zeros; SIGN puts a plus
 * before positive values. */
enum { VF_LABEL_TRIM = 1, VF_LABEL_SIGN = 2 };
const char *vf_label_text(double value, int decimals, int flags, char text[VF_LABEL_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
