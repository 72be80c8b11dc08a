/* What sorts on the CPU do with some consecutive keys or pairs, for each type of keys and size of values; not installed.
 */
#ifndef VOXFIELD_SORT_PIECES_H
#define VOXFIELD_SORT_PIECES_H

#include <stdbool.h>

#include "sort_plan.h"

/* Of a pass by all threads, at most; of a cache line, and of what a pass writes at a time: more bytes cost memory in the
 * cache, but the branch that writes them is taken, and mispredicted, less often. */
enum { SORT_MOST_BITS = 11, SORT_MOST_DIGITS = 1 << SORT_MOST_BITS, SORT_LINE_BYTES = 64, SORT_AT_ONCE_BYTES = 128 };

/* Fewer keys are inserted. Up to SORT_INNER_KEYS are sorted by one more digit of at most SORT_INNER_BITS; more are split by
 * one of at most SORT_OUTER_BITS, if it does not write whole lines. */
enum { SORT_FEW = 24, SORT_INNER_KEYS = 3 << 12, SORT_INNER_BITS = 13, SORT_OUTER_BITS = 8, SORT_LEAF_BITS = 11 };

/* The bits of the first digit of more than SORT_INNER_KEYS keys: buckets get about 2^SORT_LEAF_BITS keys. */
static inline int sort_outer_bits(int64_t n, int most)
{
    const int bits = 64 - __builtin_clzll((uint64_t)n - 1) - SORT_LEAF_BITS;
    return bits < most ? bits : most;
}

/* The bits of the digit by which n keys get almost to their places: at least n / 3 values, or 4 n / 3 if they are only inserted
 * then. Thirds, since the buckets of random keys have a few more keys than a power of 2, or a few fewer, and need the same
 * digit. Two bits more, if no others are `left`, are faster than to settle keys. */
static inline int sort_inner_bits(int64_t n, int left, bool has_tickets)
{
    const int bits = 64 - __builtin_clzll((uint64_t)((has_tickets ? n : 4 * n) - 1) / 3),
              all = left <= bits + 2 ? left : bits;
    return all < SORT_INNER_BITS ? all : SORT_INNER_BITS;
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

/* Keys [at, end) of `from`, whose bits of `mask` from `high` on are the same, are to be sorted by the bits of `mask`, which
 * begin at `low`. The result goes to the same places of `other` or of `back`; both are overwritten there. `back` may be
 * `from`, which is only read otherwise. */
typedef struct sort_bucket {
    sort_arrays from, other, back;
    bool in_other; /* the result */
    int64_t at, end;
    vf_key_order order;
    uint64_t mask; /* the bits by which the plan sorts */
    int low, high;
    void *scratch; /* the thread's: SORT_INNER_KEYS of pair_bytes */
} sort_bucket;

/* next [digits]: where the next pair of each digit goes. */
typedef struct sort_pieces {
    void (*count)(const sort_run *run, int64_t *counts); /* adds the number of keys with each digit */
    void (*scatter)(const sort_run *run, sort_arrays out, int64_t *next);
    /* The same through `lines` [digits] of line_bytes, aligned to SORT_LINE_BYTES: for long arrays of up to 2^32 keys, which
     * begin on a cache line. Other runs' pairs may be in the first and the last line of each digit. */
    void (*scatter_lines)(const sort_run *run, sort_arrays out, int64_t *next, void *lines);
    size_t line_bytes, pair_bytes;
    /* The bits in which a key differs from the first one; if the bit `highest` is among them, perhaps not all others. */
    uint64_t (*differing)(const sort_run *run, uint64_t highest);
    void (*copy)(const sort_arrays *from, const sort_arrays *to, int64_t at, int64_t end);
    void (*finish)(const sort_bucket *bucket); /* in one thread */
} sort_pieces;

const sort_pieces *sort_pieces_for(const vf_sort *plan);

/* Whether scatter_lines pays for so many bytes. */
bool sort_is_long(int64_t bytes);

#endif
