/* A counting sort by several workers: each takes a range of the items, first counts those of each bin and then puts
 * them into places. The order is that of the items, whatever the number of ranges. Not installed. */
#ifndef VOXFIELD_COUNT_PLACES_H
#define VOXFIELD_COUNT_PLACES_H

#include <stdint.h>

/* From counts [ranges][bins] to the places where each range puts its first item of each bin, in the same array; and to
 * first [bins + 1]: where each bin begins. */
static inline void vf_counts_to_places(int ranges, int64_t bins, int64_t *counts, int64_t *first)
{
    int64_t place = 0;
    for (int64_t b = 0; b < bins; b++) {
        first[b] = place;
        for (int r = 0; r < ranges; r++) {
            const int64_t here = counts[r * bins + b];
            counts[r * bins + b] = place;
            place += here;
        }
    }
    first[bins] = place;
}

/* Range r of `ranges` of n items begins here. */
static inline int64_t vf_range_begin(int64_t n, int ranges, int r)
{
    return n / ranges * r + (n % ranges < r ? n % ranges : r);
}

#endif
