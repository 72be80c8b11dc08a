#include "xtc_coordinates.h"

#include <math.h>

/* The edges of the cubes of differences: about 2^(i/3), so that three differences take i bits. */
enum { FIRST_SMALL = 9 };
static const int32_t small_edges[] = {
    0,       0,       0,       0,       0,        0,        0,       0,       0,       8,       10,
    12,      16,      20,      25,      32,       40,       50,      64,      80,      101,     128,
    161,     203,     256,     322,     406,      512,      645,     812,     1024,    1290,    1625,
    2048,    2580,    3250,    4096,    5060,     6501,     8192,    10321,   13003,   16384,   20642,
    26007,   32768,   41285,   52015,   65536,    82570,    104031,  131072,  165140,  208063,  262144,
    330280,  416127,  524287,  660561,  832255,   1048576,  1321122, 1664510, 2097152, 2642245, 3329021,
    4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216};
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
    else if (coding->bytes < 0 ||
             (coding->bytes < INT64_MAX / BITS_A_BYTE && coding->bytes * BITS_A_BYTE < LEAST_BITS * atoms))
        *why = "has fewer bytes of coordinates than its atoms need";
    for (int a = 0; a < 3; a++)
        if (coding->hi[a] < coding->lo[a])
            *why = "has bounds that exclude each other";
    return !*why;
}

/* ---- bits ---- */

typedef struct bit_reader {
    const unsigned char *next, *end;
    uint64_t held; /* the lowest `count` bits are the next ones; those above were taken */
    int count;
    int filling; /* bytes of 0 that were taken for bytes behind the end */
} bit_reader;

enum { MOST_BITS = 56 }; /* of a field that is taken at once */

static uint64_t lowest(uint64_t bits, int count)
{
    return bits & (((uint64_t)1 << count) - 1);
}

static uint64_t next_bytes(const unsigned char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | from[i];
    return value;
}

static void fill(bit_reader *r)
{
    const int bytes = (64 - r->count) / 8;
    if (bytes < 8 && r->end - r->next >= 8) {
        r->held = r->held << 8 * bytes | next_bytes(r->next) >> (64 - 8 * bytes);
        r->next += bytes;
        r->count += 8 * bytes;
        return;
    }
    for (; r->count <= 64 - 8; r->count += 8) {
        r->filling += r->next == r->end;
        r->held = r->held << 8 | (r->next == r->end ? 0 : *r->next++);
    }
}

/* The next bits, at most MOST_BITS. */
static uint64_t take_bits(bit_reader *r, int count)
{
    if (r->count < count)
        fill(r);
    r->count -= count;
    return lowest(r->held >> r->count, count);
}

/* Whether bits behind the end were taken. */
static bool is_short(const bit_reader *r)
{
    return 8 * r->filling > r->count;
}

/* The whole bytes that were not touched. */
static int64_t bytes_left(const bit_reader *r)
{
    return r->end - r->next + r->count / 8 - r->filling;
}

static int bits_of(unsigned __int128 value)
{
    int bits = 0;
    for (; value > 0; value >>= 1)
        bits++;
    return bits;
}

/* An integer of at most MOST_BITS, whose lowest byte comes first; the last byte may have fewer bits. */
static uint64_t take_integer(bit_reader *r, int bits)
{
    const int whole = (bits - 1) / 8, rest = bits - 8 * whole;
    const uint64_t value = take_bits(r, bits), bytes = value >> rest;
    uint64_t turned = 0;
    for (int i = 0; i < whole; i++)
        turned |= (bytes >> 8 * i & 0xff) << 8 * (whole - 1 - i);
    return turned | lowest(value, rest) << 8 * whole;
}

/* Three numbers below `sizes`, in one field of `bits`, at most 72. False if they are not below. */
static bool take_three(bit_reader *r, int bits, const uint32_t sizes[3], int32_t out[3])
{
    if (bits <= MOST_BITS) { /* the same as below, faster */
        uint64_t rest = take_integer(r, bits);
        out[2] = (int32_t)(rest % sizes[2]);
        rest /= sizes[2];
        out[1] = (int32_t)(rest % sizes[1]);
        rest /= sizes[1];
        out[0] = (int32_t)rest;
        return rest < sizes[0];
    }
    unsigned __int128 value = take_integer(r, MOST_BITS);
    value |= (unsigned __int128)take_integer(r, bits - MOST_BITS) << MOST_BITS;
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
        const uint64_t number = take_bits(&d->bits, d->apart[a]);
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
    if (is_short(&d->bits) || d->run >= atoms - d->done)
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
    return !is_short(&d.bits) && bytes_left(&d.bits) <= FILLED_UP;
}
