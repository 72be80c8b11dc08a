/* XTC and TRR trajectories, byte by byte, with random coordinates. */
#ifndef XDR_FIXTURE_H
#define XDR_FIXTURE_H

#include <math.h>
#include <unistd.h>

#include "trajectory_fixture.h"

/* Big-endian bytes that grow. */
typedef struct xdr_bytes {
    unsigned char *at;
    size_t size, capacity;
} xdr_bytes;

static inline void put_unsigned(xdr_bytes *b, uint64_t value, int count)
{
    if (b->size + (size_t)count > b->capacity) {
        b->capacity = 2 * b->capacity + 4096;
        b->at = realloc(b->at, b->capacity);
        assert_non_null(b->at);
    }
    for (int i = count - 1; i >= 0; i--)
        b->at[b->size++] = (unsigned char)(value >> 8 * i);
}

static inline void put_int(xdr_bytes *b, int64_t value)
{
    put_unsigned(b, (uint32_t)(int32_t)value, 4);
}

static inline void put_real(xdr_bytes *b, double value, int width)
{
    const float single = (float)value;
    uint64_t bits = 0;
    uint32_t half;
    memcpy(&half, &single, sizeof half);
    memcpy(&bits, &value, sizeof bits);
    put_unsigned(b, width == 4 ? half : bits, width);
}

/* Replaces the 4 bytes at an offset. */
static inline void set_int(xdr_bytes *b, size_t offset, int64_t value)
{
    for (int i = 0; i < 4; i++)
        b->at[offset + (size_t)i] = (unsigned char)((uint64_t)value >> 8 * (3 - i));
}

/* ---- XTC ---- */

/* The edges of the cubes of differences, from the format's definition. */
static const int32_t xtc_edges[] = {
    0,       0,       0,       0,       0,        0,        0,       0,       0,       8,       10,
    12,      16,      20,      25,      32,       40,       50,      64,      80,      101,     128,
    161,     203,     256,     322,     406,      512,      645,     812,     1024,    1290,    1625,
    2048,    2580,    3250,    4096,    5060,     6501,     8192,    10321,   13003,   16384,   20642,
    26007,   32768,   41285,   52015,   65536,    82570,    104031,  131072,  165140,  208063,  262144,
    330280,  416127,  524287,  660561,  832255,   1048576,  1321122, 1664510, 2097152, 2642245, 3329021,
    4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216};
enum { XTC_FIRST = 9, XTC_LAST = sizeof xtc_edges / sizeof *xtc_edges - 1 };

/* Bits, the highest of a byte first. */
typedef struct bit_bytes {
    xdr_bytes to;
    int used; /* bits of the last byte */
} bit_bytes;

static inline void put_bits(bit_bytes *b, uint32_t value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        if (b->used == 0)
            put_unsigned(&b->to, 0, 1);
        b->to.at[b->to.size - 1] |= (unsigned char)((value >> i & 1) << (7 - b->used));
        b->used = (b->used + 1) % 8;
    }
}

/* Three numbers below `sizes`, as one of `count` bits, whose lowest byte comes first. */
static inline void put_three(bit_bytes *b, int count, const uint32_t sizes[3], const uint32_t part[3])
{
    unsigned __int128 value = ((unsigned __int128)part[0] * sizes[1] + part[1]) * sizes[2] + part[2];
    for (; count > 8; count -= 8, value >>= 8)
        put_bits(b, (uint32_t)(value & 0xff), 8);
    put_bits(b, (uint32_t)value, count);
}

static inline int bits_for(unsigned __int128 value)
{
    int bits = 0;
    while (bits < 128 && value >> bits != 0)
        bits++;
    return bits;
}

typedef struct xtc_kind {
    int32_t atoms;
    float precision;
    int32_t lo[3], hi[3];
    int32_t small; /* index of an edge at the beginning */
    bool large;    /* the form of more than 298,261,617 atoms */
} xtc_kind;

/* Random atoms in the bounds, and differences of random runs. `steps` [atoms][3] gets the integers. */
static inline void put_compressed(bit_bytes *b, const xtc_kind *k, int64_t (*steps)[3])
{
    uint32_t sizes[3], part[3], all = 0;
    int small = k->small, run = 0;
    for (int a = 0; a < 3; a++)
        all |= sizes[a] = (uint32_t)((int64_t)k->hi[a] - k->lo[a] + 1);
    for (int32_t i = 0; i < k->atoms;) {
        for (int a = 0; a < 3; a++)
            part[a] = (uint32_t)integer_below(sizes[a]);
        if (all <= 0xffffff)
            put_three(b, bits_for((unsigned __int128)sizes[0] * sizes[1] * sizes[2]), sizes, part);
        for (int a = 0; a < 3 && all > 0xffffff; a++)
            put_bits(b, part[a], bits_for(sizes[a]));
        int64_t full[3], before[3];
        for (int a = 0; a < 3; a++)
            before[a] = full[a] = k->lo[a] + (int64_t)part[a];
        const int left = k->atoms - i - 1, most = left < 8 ? left : 8;
        const int wanted = run <= left && integer_below(2) ? run : (int)integer_below(most + 1);
        int change = (int)integer_below(3) - 1;
        if (small + change < XTC_FIRST || small + change > XTC_LAST)
            change = 0;
        if (wanted != run || change != 0 || integer_below(4) == 0) {
            put_bits(b, 1, 1);
            put_bits(b, (uint32_t)(3 * wanted + change + 1), 5);
            run = wanted;
        } else {
            put_bits(b, 0, 1);
        }
        const int32_t edge = xtc_edges[small];
        const uint32_t cube[3] = {(uint32_t)edge, (uint32_t)edge, (uint32_t)edge};
        for (int n = 0; n < run; n++) {
            for (int a = 0; a < 3; a++) {
                part[a] = (uint32_t)integer_below(edge);
                before[a] += (int64_t)part[a] - edge / 2;
            }
            put_three(b, small, cube, part);
            memcpy(steps[i++], before, sizeof before);
            if (n == 0)
                memcpy(steps[i++], full, sizeof full);
        }
        if (run == 0)
            memcpy(steps[i++], full, sizeof full);
        small += change;
    }
}

/* A frame with the box `box` (nm); `out` [atoms][3] gets its coordinates in angstrom. */
static inline void put_xtc(xdr_bytes *b, const xtc_kind *k, const float box[9], double (*out)[3])
{
    put_int(b, k->large ? 2023 : 1995);
    put_int(b, k->atoms);
    put_int(b, 1000);
    put_real(b, 2.5, 4);
    for (int i = 0; i < 9; i++)
        put_real(b, box[i], 4);
    put_int(b, k->atoms);
    if (k->atoms <= 9) {
        for (int i = 0; i < 3 * k->atoms; i++) {
            const float nm = (float)uniform_between(-10, 10);
            put_real(b, nm, 4);
            out[i / 3][i % 3] = 10 * (double)nm;
        }
        return;
    }
    put_real(b, k->precision, 4);
    for (int i = 0; i < 6; i++)
        put_int(b, i < 3 ? k->lo[i] : k->hi[i - 3]);
    put_int(b, k->small);
    bit_bytes bits = {0};
    int64_t(*steps)[3] = malloc((size_t)k->atoms * sizeof *steps);
    assert_non_null(steps);
    put_compressed(&bits, k, steps);
    put_unsigned(b, bits.to.size, k->large ? 8 : 4);
    for (size_t i = 0; i < bits.to.size; i++)
        put_unsigned(b, bits.to.at[i], 1);
    while (b->size % 4)
        put_unsigned(b, 0, 1);
    for (int32_t i = 0; i < 3 * k->atoms; i++)
        out[i / 3][i % 3] = (double)steps[i / 3][i % 3] * 10 / (double)k->precision;
    free(steps);
    free(bits.to.at);
}

/* ---- TRR ---- */

typedef struct trr_kind {
    int32_t atoms;
    int width; /* of a number */
    bool box, virial, positions, velocities, forces;
} trr_kind;

static inline void put_trr(xdr_bytes *b, const trr_kind *k, const double box[9], double (*out)[3])
{
    const int64_t nine = 9 * k->width, each = 3 * (int64_t)k->width * k->atoms;
    const int64_t parts[10] = {0, 0, k->box ? nine : 0,       k->virial ? nine : 0,     k->virial ? nine : 0,
                               0, 0, k->positions ? each : 0, k->velocities ? each : 0, k->forces ? each : 0};
    put_int(b, 1993);
    put_int(b, 13);
    put_int(b, 12);
    for (int i = 0; i < 12; i++)
        put_unsigned(b, (unsigned char)"GMX_trn_file"[i], 1);
    for (int i = 0; i < 10; i++)
        put_int(b, parts[i]);
    put_int(b, k->atoms);
    put_int(b, 7);
    put_int(b, 0);
    put_real(b, 0.5, k->width);
    put_real(b, 0, k->width);
    for (int i = 0; i < 9 && k->box; i++)
        put_real(b, box[i], k->width);
    for (int i = 0; i < 18 && k->virial; i++)
        put_real(b, -77, k->width);
    for (int i = 0; i < 3 * k->atoms && k->positions; i++) {
        const double nm = uniform_between(-10, 10), stored = k->width == 4 ? (double)(float)nm : nm;
        put_real(b, nm, k->width);
        out[i / 3][i % 3] = 10 * stored;
    }
    for (int i = 0; i < 3 * k->atoms * (k->velocities + k->forces); i++)
        put_real(b, (double)NAN, k->width); /* not read */
}

/* ---- files ---- */

/* Writes bytes to a new file, which is there until the next call. NULL: only removes the last one. */
static inline const char *save_bytes(const void *bytes, size_t size)
{
    static char path[64];
    if (*path)
        unlink(path);
    if (!bytes)
        return NULL;
    snprintf(path, sizeof path, "/tmp/test_xdr_XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    return path;
}

/* For run_on_device. */
static inline int tear_down(void **state)
{
    (void)state;
    save_bytes(NULL, 0);
    return 0;
}

static inline trajectory *open_bytes(const xdr_bytes *b)
{
    return open_path(save_bytes(b->at, b->size));
}

static inline void assert_refused_bytes(const xdr_bytes *b, const char *why)
{
    assert_no_open(save_bytes(b->at, b->size), VF_ERR_INPUT, why);
}

#endif
