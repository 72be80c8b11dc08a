/* Hybrid-36 numbers, for columns too narrow for large decimal numbers, as published by cctbx (cci.lbl.gov/hybrid_36)
 * and read by gemmi, PHENIX and others. Numbers that fit are decimal. Larger ones begin with a capital letter (A0000
 * is 100000), followed by base-36 digits, and after ZZZZZ with a small letter (a0000). */
#ifndef CIONIZE_HYBRID36_H
#define CIONIZE_HYBRID36_H

#include <stdbool.h>
#include <stdint.h>

enum { HYBRID36_MOST_WIDTH = 5 };

/* The largest number in `width` columns, 1 to HYBRID36_MOST_WIDTH: 87,440,031 in five. */
int64_t hybrid36_greatest(int width);

/* Writes `width` characters, right-aligned, without a terminating zero. Returns false and writes nothing if the number
 * does not fit. */
bool hybrid36_put(int64_t value, int width, char *to);

#endif
