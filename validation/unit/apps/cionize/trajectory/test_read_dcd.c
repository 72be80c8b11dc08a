/* DCD trajectories: files of every kind with random coordinates, read back exactly in any order. Truncated or
 * damaged files, and files of other formats, are rejected with a suitable message.
 *
 * usage: test_read_dcd [cpu [TEST...]]
 */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

#include "trajectory_fixture.h"

#include "dcd_fixture.h"

/* A sample's frame must be read back to the bit; the arrays end where the atoms end. */
static void check_frame(const trajectory *t, const dcd_sample *s, int64_t frame)
{
    double *out[3];
    for (int a = 0; a < 3; a++) {
        out[a] = malloc((size_t)s->atoms * sizeof(double));
        assert_non_null(out[a]);
        for (int32_t i = 0; i < s->atoms; i++)
            out[a][i] = NAN;
    }
    if (trajectory_read(t, frame, out[0], out[1], out[2]) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    for (int a = 0; a < 3; a++) {
        for (int32_t i = 0; i < s->atoms; i++)
            if (!(out[a][i] == (double)s->xyz[a][frame * s->atoms + i]))
                fail_msg("frame %lld, axis %d, atom %d: %g", (long long)frame, a, i, out[a][i]);
        free(out[a]);
    }
}

static dcd_kind random_kind(int number, int32_t atoms)
{
    const bool charmm = number & 16;
    return (dcd_kind){.big_endian = number & 1,
                      .marker = number & 2 ? 8 : 4,
                      .version = charmm ? 24 : 0,
                      .cell = charmm && number & 4,
                      .fourth = charmm && number & 8,
                      .fixed = number & 32 ? 1 + (int32_t)integer_below(atoms - 1) : 0,
                      .titles = (int32_t)integer_below(4)};
}

static void test_every_kind(void **state)
{
    (void)state;
    for (int number = 0; number < 64; number++) {
        const int32_t atoms =
            2 + (int32_t)integer_below(number % 7 == 0 ? 9000 : 40); /* more than the reader's chunk, too */
        const int64_t frames = 1 + integer_below(6);
        dcd_kind kind = random_kind(number, atoms);
        kind.promised = (int32_t)frames;
        dcd_sample s = make_dcd(kind, atoms, frames, 200);
        trajectory *t = open_path(s.path);
        assert_string_equal(log_text, "");
        assert_string_equal(trajectory_path(t), s.path);
        assert_int_equal(trajectory_frames(t), frames);
        assert_int_equal(trajectory_atoms(t), atoms);
        for (int look = 0; look < 8; look++)
            check_frame(t, &s, integer_below(frames));
        unit_cell cell;
        const int64_t frame = integer_below(frames);
        const double *c = s.cells + 6 * frame;
        assert_int_equal(trajectory_read_cell(t, frame, &cell), VF_OK);
        assert_int_equal(cell.state != UNIT_CELL_NONE, kind.cell);
        const double expected[6] = {c[0], c[2], c[5], c[4], c[3], c[1]};
        for (int a = 0; a < 3; a++) {
            assert_true(cell.lengths[a] == (kind.cell ? expected[a] : 0));
            assert_true(cell.angles[a] == (kind.cell ? expected[3 + a] : 0));
        }
        trajectory_close(t);
        free_dcd(&s);
    }
}

/* The expected result of any bits of a float, including denormals and -0. */
static void test_all_floats(void **state)
{
    (void)state;
    static const float values[] = {0.0f,       -0.0f,        0x1p-149f, -0x1.fffffcp-127f, 0x1.fffffep127f,
                                   -0x1p-126f, 0x1.000002p0f};
    enum { COUNT = sizeof values / sizeof *values };
    dcd_sample s = make_dcd((dcd_kind){.marker = 4}, COUNT, 1, 1);
    for (int a = 0; a < 3; a++)
        memcpy(s.xyz[a], values, sizeof values);
    s.size = s.begin;
    put_frame(&s, 0);
    save(s.path, s.bytes, s.size);
    trajectory *t = open_path(s.path);
    check_frame(t, &s, 0);
    double x[COUNT], y[COUNT], z[COUNT];
    assert_int_equal(trajectory_read(t, 0, x, y, z), VF_OK);
    assert_true(signbit(x[1]) && !signbit(x[0]));
    trajectory_close(t);
    free_dcd(&s);
}

/* ---- how many frames ---- */

static void test_promised_frames(void **state)
{
    (void)state;
    static const int32_t promised[] = {0, 5, 4, 6, -1, INT32_MAX};
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
        dcd_sample s = make_dcd((dcd_kind){.marker = 4, .promised = promised[i]}, 7, 5, 10);
        trajectory *t = open_path(s.path);
        assert_int_equal(trajectory_frames(t), 5);
        char says[64];
        snprintf(says, sizeof says, "the file has 5 frames, but its header says %d", promised[i]);
        if (promised[i] <= 0 || promised[i] == 5)
            assert_string_equal(log_text, "");
        else
            assert_non_null(strstr(log_text, says));
        check_frame(t, &s, 4);
        trajectory_close(t);
        free_dcd(&s);
    }
}

/* Truncated after every number of bytes: complete frames are exact, a message describes the rest, and a file without
 * any frame is rejected. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    for (int number = 16; number < 64; number += 13) {
        dcd_sample s = make_dcd(random_kind(number, 4), 4, 4, 10);
        for (size_t size = 0; size < s.size; size++) {
            save(s.path, s.bytes, size);
            if (size < s.begin + s.first) {
                assert_no_open(s.path, VF_ERR_INPUT, size < s.begin ? "" : "has no complete frame");
                continue;
            }
            const size_t behind = size - s.begin - s.first;
            trajectory *t = open_path(s.path);
            assert_int_equal(trajectory_frames(t), 1 + behind / s.each);
            assert_int_equal(strstr(log_text, "ignoring that frame") != NULL, behind % s.each != 0);
            for (int64_t f = 0; f < trajectory_frames(t); f++)
                check_frame(t, &s, f);
            double x[4], y[4], z[4];
            assert_int_equal(trajectory_read(t, trajectory_frames(t), x, y, z), VF_ERR_ARGUMENT);
            vf_context_clear_error(ctx);
            assert_int_equal(trajectory_read(t, -1, x, y, z), VF_ERR_ARGUMENT);
            vf_context_clear_error(ctx);
            trajectory_close(t);
        }
        free_dcd(&s);
    }
}

/* A file that gets shorter after it is opened. */
static void test_cut_while_open(void **state)
{
    (void)state;
    dcd_sample s = make_dcd((dcd_kind){.marker = 4}, 4, 4, 10);
    trajectory *t = open_path(s.path);
    double x[4], y[4], z[4];
    assert_int_equal(truncate(s.path, (off_t)s.size - 6), 0);
    assert_int_equal(trajectory_read(t, 3, x, y, z), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "earlier than its header says"));
    vf_context_clear_error(ctx);
    check_frame(t, &s, 2);
    trajectory_close(t);
    free_dcd(&s);
}

/* Beyond 4 GiB: a sparse file in which only the parts that are read are written. */
static void test_large_file(void **state)
{
    (void)state;
    enum { ATOMS = 1000000, FRAMES = 400 };
    dcd_sample s = make_dcd((dcd_kind){.marker = 4}, 3, 1, 10);
    free(s.bytes);
    s.bytes = NULL;
    s.size = s.capacity = 0;
    s.atoms = ATOMS;
    put_header(&s);
    save(s.path, s.bytes, s.size);
    const int64_t axis_bytes = 4 * (int64_t)ATOMS + 8, total = (int64_t)s.begin + FRAMES * 3 * axis_bytes;
    const int fd = open(s.path, O_RDWR);
    const int32_t length = 4 * ATOMS;
    static const float last = 1.25f;
    assert_true(fd >= 0 && total > INT64_C(4) << 30);
    if (ftruncate(fd, (off_t)total) != 0) {
        print_message("no files of 5 GB here\n");
        skip();
    }
    static const int64_t written[] = {0, 1, FRAMES - 2, FRAMES - 1};
    for (int i = 0; i < 4; i++)
        for (int axis = 0; axis < 3; axis++) {
            const int64_t at = (int64_t)s.begin + (written[i] * 3 + axis) * axis_bytes;
            assert_int_equal(pwrite(fd, &length, 4, (off_t)at), 4);
            assert_int_equal(pwrite(fd, &last, 4, (off_t)(at + length)), 4);
            assert_int_equal(pwrite(fd, &length, 4, (off_t)(at + 4 + length)), 4);
        }
    close(fd);
    trajectory *t = open_path(s.path);
    assert_int_equal(trajectory_frames(t), FRAMES);
    double *x = malloc(3 * sizeof *x * ATOMS);
    assert_non_null(x);
    assert_int_equal(trajectory_read(t, FRAMES - 2, x, x + ATOMS, x + 2 * ATOMS), VF_OK);
    for (int axis = 0; axis < 3; axis++)
        assert_true(x[axis * ATOMS] == 0 && x[axis * ATOMS + ATOMS - 1] == 1.25);
    free(x);
    trajectory_close(t);
    free_dcd(&s);
}

/* ---- damage ---- */

/* Files with another 32-bit number at `at`. Written in the machine's byte order, or swapped. */
static void assert_change_refused(dcd_sample *s, size_t at, int32_t value, const char *why)
{
    unsigned char before[4];
    const size_t size = s->size;
    memcpy(before, s->bytes + at, 4);
    s->size = at;
    put_integer(s, value);
    s->size = size;
    save(s->path, s->bytes, s->size);
    assert_no_open(s->path, VF_ERR_INPUT, why);
    memcpy(s->bytes + at, before, 4);
}

static void test_lies(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        dcd_sample s =
            make_dcd((dcd_kind){.big_endian = big, .marker = 4, .version = 24, .fixed = 3, .titles = 2}, 8, 3, 10);
        const size_t titles = 92, natom = titles + 8 + 4 + 160, list = natom + 12, x = list + 8 + 4 * 5;
        static const int32_t lengths[] = {0, 3, 5, -1, 400, INT32_MAX, INT32_MIN};
        assert_int_equal(x, s.begin);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            assert_change_refused(&s, 0, lengths[i], "neither a DCD trajectory");
            assert_change_refused(&s, 88, lengths[i], "header, at byte 0");
            assert_change_refused(&s, titles, lengths[i], "titles, at byte 92");
            assert_change_refused(&s, natom - 4, lengths[i], "titles, at byte 92");
            assert_change_refused(&s, natom, lengths[i], "number of atoms");
            assert_change_refused(&s, natom + 8, lengths[i], "number of atoms");
            assert_change_refused(&s, list, lengths[i], "list of atoms that move");
            assert_change_refused(&s, x - 4, lengths[i], "list of atoms that move");
            assert_change_refused(&s, x, lengths[i], "frame 1: the record of x");
            assert_change_refused(&s, s.size - 4, lengths[i], "frame 3: the record of z");
            assert_change_refused(&s, s.begin + s.first, lengths[i], "frame 2: the record of x");
        }
        assert_change_refused(&s, natom + 4, 0, "has 0 atoms");
        assert_change_refused(&s, natom + 4, -8, "has -8 atoms");
        assert_change_refused(&s, natom + 4, INT32_MAX, "has 2147483647 atoms");
        assert_change_refused(&s, natom + 4, 500000000, "list of atoms that move");
        assert_change_refused(&s, natom + 4, 9, "list of atoms that move");
        assert_change_refused(&s, 4 + 36, -1, "are fixed");
        assert_change_refused(&s, 4 + 36, 8, "are fixed");
        assert_change_refused(&s, 4 + 36, INT32_MIN, "are fixed");
        assert_change_refused(&s, 4 + 36, 0, "frame 1: the record of x");
        assert_change_refused(&s, 4 + 44, 1, "frame 1: the record of the unit cell");
        assert_change_refused(&s, 4 + 48, 1, "frame 1: the record of the fourth dimension");
        assert_change_refused(&s, list + 4, 0, "number 1 of the atoms that move is 0");
        assert_change_refused(&s, list + 4, 9, "number 1 of the atoms that move is 9");
        assert_change_refused(&s, list + 8, s.index[0], "or is a duplicate");
        memcpy(s.bytes + 4, "VELD", 4);
        save(s.path, s.bytes, s.size);
        assert_no_open(s.path, VF_ERR_INPUT, "velocities");
        free_dcd(&s);
    }
    /* No fixed atoms, but so many atoms that a frame would be larger than the file. */
    dcd_sample s = make_dcd((dcd_kind){.marker = 4}, 8, 1, 10);
    assert_change_refused(&s, 92 + 12 + 4, 536870000, "has no complete frame");
    free_dcd(&s);
}

/* Markers of 164 around three titles are accepted, because MDAnalysis's test data have them; other wrong lengths are
 * not. */
static void test_titles(void **state)
{
    (void)state;
    const size_t at = 92, behind = at + 4 + 244;
    for (int big = 0; big < 2; big++) {
        dcd_sample s = make_dcd((dcd_kind){.big_endian = big, .marker = 4, .titles = 3}, 8, 3, 10);
        const size_t size = s.size;
        s.size = at;
        put_integer(&s, 164);
        s.size = behind;
        put_integer(&s, 164);
        s.size = size;
        save(s.path, s.bytes, s.size);
        trajectory *t = open_path(s.path);
        check_frame(t, &s, 2);
        trajectory_close(t);
        assert_change_refused(&s, behind, 244, "titles, at byte 92");
        assert_change_refused(&s, at + 4, 2, "titles, at byte 92");
        assert_change_refused(&s, at + 4, INT32_MIN, "titles, at byte 92");
        free_dcd(&s);
    }
}

static void test_frames_within(void **state)
{
    (void)state;
    dcd_sample s = make_dcd((dcd_kind){.marker = 8, .version = 24, .cell = true, .big_endian = true}, 5, 5, 10);
    double x[5], y[5], z[5];
    static const uint32_t bits[] = {0x7fc00000, 0x7f800001, 0x7f800000, 0xff800000};
    const size_t y_of_third = s.begin + 2 * s.each + 64 + 16 + 20, bad = y_of_third + 8 + 4 * 3;
    for (int i = 0; i < 4; i++) {
        const size_t size = s.size;
        s.size = bad;
        put_number(&s, bits[i], 4);
        s.size = size;
        save(s.path, s.bytes, s.size);
        trajectory *t = open_path(s.path);
        assert_int_equal(trajectory_read(t, 2, x, y, z), VF_ERR_INPUT);
        assert_non_null(strstr(vf_context_message(ctx), "frame 3: y of atom 4 is"));
        assert_non_null(strstr(vf_context_message(ctx), i < 2 ? "NaN" : "infinite"));
        vf_context_clear_error(ctx);
        check_frame(t, &s, 1);
        check_frame(t, &s, 3);
        trajectory_close(t);
    }
    s.bytes[y_of_third + 7] ^= 1;
    save(s.path, s.bytes, s.size);
    trajectory *t = open_path(s.path);
    assert_int_equal(trajectory_read(t, 2, x, y, z), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "frame 3: the record of y"));
    vf_context_clear_error(ctx);
    trajectory_close(t);
    free_dcd(&s);
}

/* A first frame with a NaN coordinate makes the fixed atoms of all frames invalid. */
static void test_fixed_not_finite(void **state)
{
    (void)state;
    dcd_sample s = make_dcd((dcd_kind){.marker = 4, .fixed = 2}, 5, 2, 10);
    assert_change_refused(&s, s.begin + 4 + 4, 0x7fc00000, "frame 1: x of atom 2 is NaN");
    free_dcd(&s);
}

static void test_other_formats(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        vf_status status;
        const char *says;
    } files[] = {
        {"", 0, VF_ERR_INPUT, "is empty"},
        {"T", 1, VF_ERR_INPUT, "neither a DCD"},
        {"ATOM      1  N   ALA A   1", 26, VF_ERR_INPUT, "neither a DCD"},
        {"\0\0\7\313\0\0\0\5\0\0\0\1", 12, VF_ERR_INPUT, "no complete frame"},
        {"\0\0\7\347\0\0\0\5\0\0\0\1", 12, VF_ERR_INPUT, "no complete frame"},
        {"\0\0\7\311\0\0\0\r\0\0\0\f", 12, VF_ERR_INPUT, "no complete frame"},
        {"CDF\2\0\0\0\0\0\0\0\n", 12, VF_ERR_INPUT, "header"},
        {"\211HDF\r\n\32\n\0\0\0\0", 12, VF_ERR_INPUT, "HDF5"},
        {"\37\213\10\0\0\0\0\0\0\3xx", 12, VF_ERR_UNSUPPORTED, "gunzip"},
        {"\244\0\0\0CORD\0\0\0\0", 12, VF_ERR_UNSUPPORTED, "64-bit integers"},
        {"T\0\0\0CORD\0\0\0\0", 12, VF_ERR_INPUT, "header"},
        {"T\0\0\0CORX\0\0\0\0", 12, VF_ERR_INPUT, "neither a DCD"},
    };
    dcd_sample s = make_dcd((dcd_kind){.marker = 4}, 1, 1, 10);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        save(s.path, files[i].bytes, files[i].count);
        assert_no_open(s.path, files[i].status, files[i].says);
    }
    unlink(s.path);
    assert_no_open(s.path, VF_ERR_INPUT, "cannot open");
    assert_int_equal(mkfifo(s.path, 0600), 0);
    assert_no_open(s.path, VF_ERR_INPUT, "not a regular file");
    assert_no_open("/tmp", VF_ERR_INPUT, "not a regular file");
    free_dcd(&s);
}

/* ---- several threads ---- */

typedef struct reader {
    const trajectory *t;
    const dcd_sample *s;
    int start;
    bool equal;
} reader;

static void *read_all(void *user)
{
    reader *r = user;
    double x[60], y[60], z[60];
    r->equal = true;
    for (int i = 0; i < 200; i++) {
        const int64_t frame = (r->start + 7 * i) % r->s->frames;
        r->equal &= trajectory_read(r->t, frame, x, y, z) == VF_OK;
        for (int atom = 0; atom < 60; atom++)
            r->equal &= z[atom] == (double)r->s->xyz[2][frame * 60 + atom];
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    dcd_sample s = make_dcd((dcd_kind){.marker = 4, .fixed = 20}, 60, 11, 10);
    trajectory *t = open_path(s.path);
    pthread_t threads[THREADS];
    reader readers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (reader){t, &s, i, false};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(readers[i].equal);
    }
    trajectory_close(t);
    free_dcd(&s);
}

DEVICE_MAIN(set_up, NULL, cmocka_unit_test(test_every_kind), cmocka_unit_test(test_all_floats),
            cmocka_unit_test(test_promised_frames), cmocka_unit_test(test_cut_anywhere),
            cmocka_unit_test(test_cut_while_open), cmocka_unit_test(test_large_file), cmocka_unit_test(test_lies),
            cmocka_unit_test(test_titles), cmocka_unit_test(test_frames_within),
            cmocka_unit_test(test_fixed_not_finite), cmocka_unit_test(test_other_formats),
            cmocka_unit_test(test_threads))
