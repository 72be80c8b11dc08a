/* What sorts on the CPU do with some consecutive keys or pairs, for each type of keys and size of values; not installed.
 */
#ifndef VOXFIELD_SORT_PIECES_H
#define VOXFIELD_SORT_PIECES_H

#include <stdbool.h>

#include "sort_plan.h"

/* Of a pass by all threads, at most; of a cache line. */
enum { SORT_MOST_BITS = 11, SORT_MOST_DIGITS = 1 << SORT_MOST_BITS, SORT_LINE_BYTES = 64 };

/* Fewer keys are inserted. A digit by which one thread sorts has at most SORT_INNER_BITS; one that leaves buckets for further
 * digits has at most SORT_OUTER_BITS, if it does not write whole lines. */
enum { SORT_FEW = 24, SORT_INNER_BITS = 13, SORT_OUTER_BITS = 8, SORT_LEAF_BITS = 11 };

/* The bits of the first digit of n > 1 keys: it has one or two times as many values as there are keys. If these are too
 * many, the buckets get about 2^SORT_LEAF_BITS keys, but there are at most 2^most of them. */
static inline int sort_first_bits(int64_t n, int most)
{
    const int bits = 64 - __builtin_clzll((uint64_t)n - 1), outer = bits - SORT_LEAF_BITS;
    return bits < SORT_INNER_BITS ? bits + 1 : bits == SORT_INNER_BITS ? bits : outer < most ? outer : most;
}

/* Keys, and values, which are NULL if there are none. */
typedef struct sort_arrays {
    void *keys, *values;
} sort_arrays;
/* Arrays that nobody writes: the user's input. */
static inline sort_arrays sort_arrays_read(const void *keys, const void *values)
{
    const union {
        const void *read[2];
        sort_arrays all;
    } arrays = {.read = {keys, values}};
    return arrays.all;
}

/* Some consecutive pairs of a pass, and what they are sorted by. */
typedef struct sort_run {
    int64_t at, end;
    const void *keys, *values;
    vf_key_order order;
    int low;
    uint32_t mask;
} sort_run;

/* Keys [at, end) of `from`, whose bits from `high` on are the same, are to be sorted by bits [low, high). The result goes to
 * the same places of `other` or of `back`; both are overwritten there. `back` may be `from`, which is only read otherwise.
 */
typedef struct sort_bucket {
    sort_arrays from, other, back;
    bool in_other; /* the result */
    int64_t at, end;
    vf_key_order order;
    int low, high;
} sort_bucket;

/* next [digits]: where the next pair of each digit goes. */
typedef struct sort_pieces {
    void (*count)(const sort_run *run, int64_t *counts); /* adds the number of keys with each digit */
    void (*scatter)(const sort_run *run, sort_arrays out, int64_t *next);
    /* The same through `lines` [digits] of line_bytes, aligned to SORT_LINE_BYTES: for long arrays, which begin on a
     * cache line. Other runs' pairs may be in the first and the last line of each digit. */
    void (*scatter_lines)(const sort_run *run, sort_arrays out, int64_t *next, void *lines);
    size_t line_bytes;
    /* The bits in which a key differs from the first one; if the bit `highest` is among them, perhaps not all others. */
    uint64_t (*differing)(const sort_run *run, uint64_t highest);
    void (*copy)(const sort_arrays *from, const sort_arrays *to, int64_t at, int64_t end);
    void (*finish)(const sort_bucket *bucket); /* in one thread */
} sort_pieces;

const sort_pieces *sort_pieces_for(const vf_sort *plan);

/* Whether scatter_lines pays for so many bytes. */
bool sort_is_long(int64_t bytes);

#endif
