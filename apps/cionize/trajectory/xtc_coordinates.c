#include "xtc_coordinates.h"

#include <math.h>

/* The edges of the cubes of differences: about 2^(i/3), so that three differences take i bits. */
enum { FIRST_SMALL = 9 };
static const int32_t small_edges[] = {
    0,       0,       0,       0,       0,       0,       0,        0,        0,       8,       10,      12,     16,
    20,      25,      32,      40,      50,      64,      80,       101,      128,     161,     203,     256,    322,
    406,     512,     645,     812,     1024,    1290,    1625,     2048,     2580,    3250,    4096,    5060,   6501,
    8192,    10321,   13003,   16384,   20642,   26007,   32768,    41285,    52015,   65536,   82570,   104031, 131072,
    165140,  208063,  262144,  330280,  416127,  524287,  660561,   832255,   1048576, 1321122, 1664510, 2097152, 2642245,
    3329021, 4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216};
enum { SMALL_EDGES = sizeof small_edges / sizeof *small_edges };

/* The edge of an index. GROMACS's writer has one more index than edges, for atoms so far apart that no differences are
 * stored. 0: no differences can be stored. */
static int32_t small_edge(int32_t index)
{
    return index >= 0 && index < SMALL_EDGES ? small_edges[index] : 0;
}

bool xtc_coding_valid(const xtc_coding *coding, int64_t atoms, const char **why)
{
    /* An atom takes at least 2 bits in full, and at least FIRST_SMALL as a difference. */
    enum { LEAST_BITS = 2, BITS_A_BYTE = 8 };
    *why = NULL;
    if (!(coding->precision > 0) || isinf(coding->precision))
        *why = "has a precision that is not positive";
    else if (coding->small < FIRST_SMALL || coding->small > SMALL_EDGES)
        *why = "has a size of differences that does not exist";
    else if (coding->bytes < 0 || (coding->bytes < INT64_MAX / BITS_A_BYTE &&
                                   coding->bytes * BITS_A_BYTE < LEAST_BITS * atoms))
        *why = "has fewer bytes of coordinates than its atoms need";
    for (int a = 0; a < 3; a++)
        if (coding->hi[a] < coding->lo[a])
            *why = "has bounds that exclude each other";
    return !*why;
}

/* ---- bits ---- */

typedef struct bit_reader {
    const unsigned char *next, *end;
    uint32_t held; /* the bits of the last byte */
    int count;     /* of them, those that are left */
    bool short_of; /* whether bits were asked for that are not there, which are 0 */
} bit_reader;

/* The next bits, at most 32. */
static uint32_t take_bits(bit_reader *r, int count)
{
    uint64_t value = r->held & ((1U << r->count) - 1);
    int have = r->count;
    for (; have < count; have += 8) {
        r->short_of |= r->next == r->end;
        r->held = r->next == r->end ? 0 : *r->next++;
        value = value << 8 | r->held;
    }
    r->count = have - count;
    return (uint32_t)(value >> r->count);
}

static int bits_of(unsigned __int128 value)
{
    int bits = 0;
    for (; value > 0; value >>= 1)
        bits++;
    return bits;
}

/* Three numbers below `sizes`, in one field of `bits`. False if they are not below. */
static bool take_three(bit_reader *r, int bits, const uint32_t sizes[3], int32_t out[3])
{
    unsigned __int128 value = 0;
    int at = 0;
    for (; bits - at > 8; at += 8)
        value |= (unsigned __int128)take_bits(r, 8) << at;
    value |= (unsigned __int128)take_bits(r, bits - at) << at;
    if (bits <= 64) { /* the same, faster */
        uint64_t rest = (uint64_t)value;
        out[2] = (int32_t)(rest % sizes[2]);
        rest /= sizes[2];
        out[1] = (int32_t)(rest % sizes[1]);
        rest /= sizes[1];
        out[0] = (int32_t)rest;
        return rest < sizes[0];
    }
    out[2] = (int32_t)(value % sizes[2]);
    value /= sizes[2];
    out[1] = (int32_t)(value % sizes[1]);
    value /= sizes[1];
    out[0] = (int32_t)value;
    return value < sizes[0];
}

/* ---- atoms ---- */

typedef struct decoder {
    bit_reader bits;
    int64_t lo[3];
    uint32_t sizes[3];
    int together, apart[3]; /* bits of a full atom: in one field (0: none), or in three */
    int32_t small;          /* index of the size of differences */
    int run;                /* atoms that follow a full one as differences */
    double scale;           /* angstrom a step */
    double *out[3];
    int64_t done;
} decoder;

static void begin(decoder *d, const xtc_coding *coding, const unsigned char *bits)
{
    enum { MOST_TOGETHER = 0xffffff };
    uint32_t all = 0;
    d->bits = (bit_reader){.next = bits, .end = bits + coding->bytes};
    for (int a = 0; a < 3; a++) {
        d->lo[a] = coding->lo[a];
        /* A box of 2^32 steps has a size of 0 here, as in GROMACS, and is refused below. */
        d->sizes[a] = (uint32_t)((int64_t)coding->hi[a] - coding->lo[a] + 1);
        d->apart[a] = bits_of(d->sizes[a]);
        all |= d->sizes[a];
    }
    if (all <= MOST_TOGETHER)
        d->together = bits_of((unsigned __int128)d->sizes[0] * d->sizes[1] * d->sizes[2]);
    d->small = coding->small;
    d->scale = (double)coding->precision;
}

static bool take_full(decoder *d, int64_t atom[3])
{
    int32_t part[3] = {0};
    bool inside = true;
    if (d->together > 0) {
        inside = take_three(&d->bits, d->together, d->sizes, part);
        for (int a = 0; a < 3; a++)
            atom[a] = d->lo[a] + part[a];
        return inside;
    }
    for (int a = 0; a < 3; a++) {
        const uint32_t number = take_bits(&d->bits, d->apart[a]);
        inside &= number < d->sizes[a];
        atom[a] = d->lo[a] + (int64_t)number;
    }
    return inside;
}

static bool take_small(decoder *d, const int64_t before[3], int64_t atom[3])
{
    const int32_t edge = small_edge(d->small);
    const uint32_t sizes[3] = {(uint32_t)edge, (uint32_t)edge, (uint32_t)edge};
    int32_t part[3];
    if (edge == 0 || !take_three(&d->bits, d->small, sizes, part))
        return false;
    for (int a = 0; a < 3; a++)
        atom[a] = before[a] + part[a] - edge / 2;
    return true;
}

static void put(decoder *d, const int64_t atom[3])
{
    const double angstrom = 10; /* of a nm */
    for (int a = 0; a < 3; a++)
        d->out[a][d->done] = (double)atom[a] * angstrom / d->scale;
    d->done++;
}

/* A full atom and the differences that follow it. */
static bool take_group(decoder *d, int64_t atoms)
{
    enum { RUN_BITS = 5, CHANGES = 3 };
    int64_t full[3], before[3], next[3];
    int change = 0;
    if (!take_full(d, full))
        return false;
    if (take_bits(&d->bits, 1)) {
        const int both = (int)take_bits(&d->bits, RUN_BITS);
        d->run = both / CHANGES;
        change = both % CHANGES - 1;
    }
    if (d->bits.short_of || d->run >= atoms - d->done)
        return false;
    for (int a = 0; a < 3; a++)
        before[a] = full[a];
    for (int i = 0; i < d->run; i++) {
        if (!take_small(d, before, next))
            return false;
        put(d, next);
        if (i == 0) /* they were exchanged */
            put(d, full);
        for (int a = 0; a < 3; a++)
            before[a] = next[a];
    }
    if (d->run == 0)
        put(d, full);
    d->small += change;
    return true;
}

bool xtc_decode(const xtc_coding *coding, const unsigned char *bits, int64_t atoms, double *x, double *y, double *z)
{
    enum { FILLED_UP = 3 }; /* bytes that a writer may add */
    decoder d = {.out = {x, y, z}};
    begin(&d, coding, bits);
    while (d.done < atoms)
        if (!take_group(&d, atoms))
            return false;
    return !d.bits.short_of && d.bits.end - d.bits.next <= FILLED_UP;
}
