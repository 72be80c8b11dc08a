/* The compressed coordinates of XTC frames, as GROMACS's libxdrfile defines them.
 *
 * Coordinates are integers, in steps of 1 / precision nm. An atom is stored in full, as its place in the box of all
 * integers: three numbers of a mixed radix in one bit field, or a field each if the box is large. A bit follows that
 * tells whether the number of differences changes. If it is set, five bits hold 3 n + c + 1: n atoms follow as
 * differences, now and after later atoms until the next change; c of -1, 0 or 1 changes the size of differences from
 * then on. Differences are to the atom before, in a cube whose edge is an entry of a table; the first one of a run is
 * exchanged with the full atom before it, which suits water: its oxygen is near both hydrogens.
 *
 * Bit fields begin with the highest bit; the integer in them has its lowest byte first. */
#ifndef CIONIZE_XTC_COORDINATES_H
#define CIONIZE_XTC_COORDINATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands before the bits. */
typedef struct xtc_coding {
    float precision;      /* steps a nm */
    int32_t lo[3], hi[3]; /* bounds of the integers */
    int32_t small;        /* index of the size of differences in the table */
    int64_t bytes;        /* of bits, which are filled up to a multiple of 4 */
} xtc_coding;

/* Whether the numbers can be right; if not, *why is the end of a sentence. */
bool xtc_coding_valid(const xtc_coding *coding, int64_t atoms, const char **why);

/* Decodes `atoms` atoms of valid coding from coding->bytes bytes, in angstrom: each an integer times 10 / precision. False if
 * the bits are none that GROMACS writes: they end early or late, or an atom lies outside of the bounds. */
bool xtc_decode(const xtc_coding *coding, const unsigned char *bits, int64_t atoms, double *x, double *y, double *z);

#endif
