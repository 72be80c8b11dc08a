/* DCD trajectories of every kind, with random coordinates and cells. */
#ifndef DCD_FIXTURE_H
#define DCD_FIXTURE_H

#include <math.h>
#include <unistd.h>

#include "device_fixture.h"
#include "free_all.h"
#include "trajectory/trajectory.h"

typedef struct dcd_kind {
    bool big_endian;
    int marker;        /* 4 or 8 */
    int32_t version;   /* 0: X-PLOR */
    bool cell, fourth; /* CHARMM only */
    int32_t fixed;     /* atoms */
    int32_t titles;
    int32_t promised; /* frames in the header */
} dcd_kind;

typedef struct dcd_sample {
    dcd_kind kind;
    int32_t atoms;
    int64_t frames;
    int32_t *index;        /* [atoms - fixed], from 1, ascending */
    float *xyz[3];         /* [frames][atoms] */
    double *cells;         /* [frames][6], as in the file */
    unsigned char *bytes;  /* the file */
    size_t size, capacity; /* of it */
    size_t begin;          /* of the first frame */
    size_t first, each;    /* bytes of the first frame, and of each other */
    char path[64];
} dcd_sample;

/* ---- writing ---- */

static inline void put_number(dcd_sample *s, uint64_t value, int bytes)
{
    if (s->size + (size_t)bytes > s->capacity) {
        s->capacity = 2 * s->capacity + 4096;
        s->bytes = realloc(s->bytes, s->capacity);
        assert_non_null(s->bytes);
    }
    for (int i = 0; i < bytes; i++)
        s->bytes[s->size++] = (unsigned char)(value >> 8 * (s->kind.big_endian ? bytes - 1 - i : i));
}

static inline void put_integer(dcd_sample *s, int32_t value)
{
    put_number(s, (uint32_t)value, 4);
}

static inline void put_float(dcd_sample *s, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(s, bits, 4);
}

static inline void put_double(dcd_sample *s, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(s, bits, 8);
}

static inline void put_marker(dcd_sample *s, int64_t bytes)
{
    put_number(s, (uint64_t)bytes, s->kind.marker);
}

static inline void put_header(dcd_sample *s)
{
    const dcd_kind *k = &s->kind;
    int32_t control[21] = {0};
    control[1] = k->promised;
    control[2] = 1000; /* ISTART */
    control[3] = 10;   /* NSAVC */
    control[9] = k->fixed;
    control[11] = k->cell;
    control[12] = k->fourth || k->version == 0; /* has no meaning in X-PLOR's files */
    control[20] = k->version;
    put_marker(s, 84);
    for (int i = 0; i < 4; i++)
        put_number(s, (uint64_t) "CORD"[i], 1);
    for (int i = 1; i < 21; i++)
        if (k->version == 0 && i == 10)
            put_double(s, 0.0488882129); /* X-PLOR's time step, in icntrl(10) and (11) */
        else if (k->version != 0 || i != 11)
            put_integer(s, control[i]);
    put_marker(s, 84);
    put_marker(s, 4 + 80 * k->titles);
    put_integer(s, k->titles);
    for (int i = 0; i < 80 * k->titles; i++)
        put_number(s, (uint64_t)('A' + i % 26), 1);
    put_marker(s, 4 + 80 * k->titles);
    put_marker(s, 4);
    put_integer(s, s->atoms);
    put_marker(s, 4);
    if (k->fixed > 0) {
        put_marker(s, 4 * (s->atoms - k->fixed));
        for (int32_t i = 0; i < s->atoms - k->fixed; i++)
            put_integer(s, s->index[i]);
        put_marker(s, 4 * (s->atoms - k->fixed));
    }
    s->begin = s->size;
}

static inline void put_frame(dcd_sample *s, int64_t frame)
{
    const bool all = frame == 0 || s->kind.fixed == 0;
    const int32_t count = all ? s->atoms : s->atoms - s->kind.fixed;
    if (s->kind.cell) {
        put_marker(s, 48);
        for (int i = 0; i < 6; i++)
            put_double(s, s->cells[6 * frame + i]);
        put_marker(s, 48);
    }
    for (int axis = 0; axis < (s->kind.fourth ? 4 : 3); axis++) {
        put_marker(s, 4 * (int64_t)count);
        for (int32_t i = 0; i < count; i++)
            put_float(s, axis == 3 ? NAN /* not read */
                                   : s->xyz[axis][frame * s->atoms + (all ? i : s->index[i] - 1)]);
        put_marker(s, 4 * (int64_t)count);
    }
}

static inline void save(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* ---- samples ---- */

/* Writes a file of this kind to memory and to s->path, with atoms in a box of `size` angstrom. Fixed atoms are
 * chosen at random, and keep their first position in all frames. */
static inline dcd_sample make_dcd(dcd_kind kind, int32_t atoms, int64_t frames, double size)
{
    dcd_sample s = {.kind = kind, .atoms = atoms, .frames = frames};
    const int32_t moving = atoms - kind.fixed;
    snprintf(s.path, sizeof s.path, "/tmp/test_dcd_XXXXXX");
    const int fd = mkstemp(s.path);
    assert_true(fd >= 0);
    close(fd);
    s.index = malloc((size_t)moving * sizeof *s.index);
    s.cells = malloc((size_t)frames * 6 * sizeof *s.cells);
    assert_true(s.index && s.cells);
    for (int32_t atom = 0, i = 0; atom < atoms; atom++) /* each subset is equally likely (Knuth, algorithm S) */
        if (uniform() * (atoms - atom) < moving - i)
            s.index[i++] = atom + 1;
    for (int axis = 0; axis < 3; axis++) {
        float *to = s.xyz[axis] = malloc((size_t)(frames * atoms) * sizeof *to);
        assert_non_null(to);
        for (int64_t i = 0; i < frames * atoms; i++)
            to[i] = (float)((uniform() - 0.5) * size);
        bool *moves = calloc((size_t)atoms, sizeof *moves);
        assert_non_null(moves);
        for (int32_t i = 0; i < moving; i++)
            moves[s.index[i] - 1] = true;
        for (int64_t i = atoms; i < frames * atoms; i++)
            if (!moves[i % atoms])
                to[i] = to[i % atoms];
        free(moves);
    }
    for (int64_t i = 0; i < 6 * frames; i++) { /* A, gamma, B, beta, alpha, C */
        const int place = (int)(i % 6);
        s.cells[i] = place == 0 || place == 2 || place == 5 ? 20 + 80 * uniform() : 60 + 60 * uniform();
    }
    put_header(&s);
    for (int64_t f = 0; f < frames; f++) {
        put_frame(&s, f);
        if (f == 0)
            s.first = s.size - s.begin;
    }
    s.each = frames > 1 ? (s.size - s.begin - s.first) / (size_t)(frames - 1) : s.first;
    save(s.path, s.bytes, s.size);
    return s;
}

static inline void free_dcd(dcd_sample *s)
{
    unlink(s->path);
    for (int axis = 0; axis < 3; axis++)
        free(s->xyz[axis]);
    FREE_ALL(s->index, s->cells, s->bytes);
}

#endif
