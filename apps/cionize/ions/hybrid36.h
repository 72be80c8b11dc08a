/* Hybrid-36: numbers in columns too narrow for their decimals, as cctbx publishes it (cci.lbl.gov/hybrid_36) and
 * gemmi, PHENIX and others read it. Numbers that fit are decimal; those beyond count on with capital letters (A0000 is
 * 100000), where every further digit is one of base 36, and then with small ones (a0000 follows ZZZZZ). */
#ifndef CIONIZE_HYBRID36_H
#define CIONIZE_HYBRID36_H

#include <stdbool.h>
#include <stdint.h>

enum { HYBRID36_MOST_WIDTH = 5 };

/* The greatest number in `width` columns, 1 to HYBRID36_MOST_WIDTH: 87,440,031 in five. */
int64_t hybrid36_greatest(int width);

/* Writes `width` characters, to the right, without a terminating zero. False, and nothing written, for a number beyond
 * the greatest, or too negative for its decimals. */
bool hybrid36_put(int64_t value, int width, char *to);

#endif
