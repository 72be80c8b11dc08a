/* XTC and TRR trajectories: streams of bits with every choice that a writer has, read back exactly in any order; boxes; frames
 * without positions; truncated and damaged files.
 *
 * usage: test_read_xtc [cpu [TEST...]]
 */

#include "xdr_fixture.h"

enum { FRAMES = 4, MOST_ATOMS = 600 };
static double expected[FRAMES][MOST_ATOMS][3];
static const float box[9] = {3, 0, 0, 0.5F, 4, 0, -0.25F, 1, 5};
static const double box_double[9] = {3, 0, 0, 0.5, 4, 0, -0.25, 1, 5};

/* Each number is one product or quotient of the file's numbers, so it is exact. */
static void check_frame(const trajectory *t, int64_t frame, const double (*want)[3])
{
    static double x[MOST_ATOMS], y[MOST_ATOMS], z[MOST_ATOMS];
    for (int i = 0; i < MOST_ATOMS; i++)
        x[i] = y[i] = z[i] = (double)NAN;
    if (trajectory_read(t, frame, x, y, z) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    for (int64_t i = 0; i < trajectory_atoms(t); i++)
        if (!(x[i] == want[i][0] && y[i] == want[i][1] && z[i] == want[i][2]))
            fail_msg("frame %d, atom %d: %.17g %.17g %.17g, not %.17g %.17g %.17g", (int)frame, (int)i, x[i], y[i],
                     z[i], want[i][0], want[i][1], want[i][2]);
}

/* Lengths and angles from scalar products of the vectors, 3 0 0, 0.5 4 0, -0.25 1 5 nm. */
static void check_cell(const trajectory *t, int64_t frame)
{
    const double degrees = 180 / 3.14159265358979323846, b = sqrt(16.25), c = sqrt(26.0625);
    const double want[6] = {
        30, 10 * b, 10 * c, degrees * acos((4 - 0.125) / (b * c)), degrees * acos(-0.25 / c), degrees * acos(0.5 / b)};
    unit_cell cell;
    assert_int_equal(trajectory_read_cell(t, frame, &cell), VF_OK);
    assert_int_equal(cell.state, UNIT_CELL_NUMBERS);
    for (int i = 0; i < 6; i++) /* a few roundings of numbers below 180 */
        if (!(fabs((i < 3 ? cell.lengths[i] : cell.angles[i - 3]) - want[i]) < 1e-12))
            fail_msg("cell %d: %.17g", i, i < 3 ? cell.lengths[i] : cell.angles[i - 3]);
}

static xtc_kind random_xtc(int number)
{
    static const int32_t sizes[] = {1, 2, 100, 5000, 0xffffff, 0x1000000, 500000000, INT32_MAX};
    xtc_kind k = {.atoms =
                      number % 5 == 0 ? 1 + (int32_t)integer_below(9) : 10 + (int32_t)integer_below(MOST_ATOMS - 10),
                  .precision = number % 3 == 0   ? 1000
                               : number % 3 == 1 ? 1234.5F
                                                 : 1e6F,
                  .small = (int32_t)integer_between(XTC_FIRST, XTC_LAST),
                  .large = number % 4 == 3};
    for (int a = 0; a < 3; a++) {
        const int32_t size = sizes[integer_below(number % 2 ? 5 : 8)];
        k.lo[a] = -(int32_t)integer_below(size);
        k.hi[a] = k.lo[a] + size - 1;
    }
    if (number == 6) /* the largest box there is */
        k.lo[1] = -INT32_MAX, k.hi[1] = INT32_MAX;
    return k;
}

static xdr_bytes make_xtc(const xtc_kind *k, int64_t frames)
{
    xdr_bytes b = {0};
    for (int64_t f = 0; f < frames; f++)
        put_xtc(&b, k, box, expected[f]);
    return b;
}

static void reads_every_stream(void **state)
{
    (void)state;
    for (int number = 0; number < 200; number++) {
        const xtc_kind k = random_xtc(number);
        xdr_bytes b = make_xtc(&k, FRAMES);
        trajectory *t = open_bytes(&b);
        assert_string_equal(log_text, "");
        assert_int_equal(trajectory_frames(t), FRAMES);
        assert_int_equal(trajectory_atoms(t), k.atoms);
        for (int f = FRAMES - 1; f >= 0; f--)
            check_frame(t, f, expected[f]);
        check_cell(t, integer_below(FRAMES));
        trajectory_close(t);
        free(b.at);
    }
}

/* Ends the file after any byte: whole frames are read, the rest is ignored with a warning. */
static void ignores_an_incomplete_frame(void **state)
{
    (void)state;
    const xtc_kind k = {.atoms = 12, .precision = 1000, .hi = {50, 60, 70}, .small = 12};
    xdr_bytes b = make_xtc(&k, 3);
    const size_t whole = b.size;
    size_t ends[3] = {0}, frames = 0;
    for (size_t at = 0; at < whole && frames < 3; frames++) {
        const size_t bytes = (size_t)b.at[at + 90] << 8 | b.at[at + 91];
        ends[frames] = at += 92 + (bytes + 3) / 4 * 4;
    }
    assert_int_equal(ends[2], whole);
    for (b.size = 4; b.size < whole; b.size++) {
        if (b.size < ends[0]) {
            assert_refused_bytes(&b, "has no complete frame");
            continue;
        }
        trajectory *t = open_bytes(&b);
        const int64_t left = b.size < ends[1] ? 1 : 2;
        assert_int_equal(trajectory_frames(t), left);
        const bool cut = b.size != ends[0] && b.size != ends[1];
        assert_int_equal(strstr(log_text, "ends within frame") != NULL, cut);
        check_frame(t, left - 1, expected[left - 1]);
        trajectory_close(t);
    }
    free(b.at);
}

static void rejects_damaged_headers(void **state)
{
    (void)state;
    static const struct {
        size_t offset; /* in the second frame */
        int64_t value;
        const char *why;
    } damage[] = {{0, 1996, "frame 2, at byte"},
                  {4, 0, "no atoms"},
                  {4, -5, "2^31"},
                  {4, INT32_MIN, "2^31"},
                  {4, 13, "two different numbers"},
                  {52, 11, "two different numbers"},
                  {56, 0, "precision"},
                  {56, 0x7fc00000, "precision"},
                  {56, 0x7f800000, "precision"},
                  {56, -1, "precision"},
                  {60, 51, "exclude"},
                  {84, 8, "size of differences"},
                  {84, 74, "size of differences"},
                  {84, -1, "size of differences"},
                  {88, -1, "fewer bytes"},
                  {88, 2, "fewer bytes"},
                  {88, INT32_MIN, "fewer bytes"}};
    const xtc_kind k = {.atoms = 12, .precision = 1000, .hi = {50, 60, 70}, .small = 12};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        xdr_bytes b = make_xtc(&k, 1);
        const size_t second = b.size;
        put_xtc(&b, &k, box, expected[1]);
        set_int(&b, second + damage[i].offset, damage[i].value);
        assert_refused_bytes(&b, damage[i].why);
        free(b.at);
    }
    /* Too long, beyond the end of the file: an incomplete frame. */
    xdr_bytes b = make_xtc(&k, 2);
    const size_t begin = b.size;
    put_xtc(&b, &k, box, expected[2]);
    set_int(&b, begin + 88, INT32_MAX);
    trajectory *t = open_bytes(&b);
    assert_int_equal(trajectory_frames(t), 2);
    assert_non_null(strstr(log_text, "ends within frame 3"));
    trajectory_close(t);
    /* Another number of atoms. */
    xtc_kind other = k;
    other.atoms = 13;
    b.size = begin;
    put_xtc(&b, &other, box, expected[2]);
    assert_refused_bytes(&b, "frame 3, at byte");
    assert_refused_bytes(&b, "has 13 atoms, but the first has 12");
    free(b.at);
}

/* A damaged stream is an error or other numbers, which are finite; the frames beside it stay. One that ends early or late is
 * always an error. */
static void survives_damaged_bits(void **state)
{
    (void)state;
    double x[40], y[40], z[40];
    int errors = 0;
    for (int number = 0; number < 2000; number++) {
        const xtc_kind k = {.atoms = 40, .precision = 1000, .hi = {50, 6000, 70}, .small = 12};
        xdr_bytes b = make_xtc(&k, 2);
        const int64_t at = 92 + integer_below(20);
        b.at[at] ^= (unsigned char)(1 << integer_below(8));
        trajectory *t = open_bytes(&b);
        const vf_status status = trajectory_read(t, 0, x, y, z);
        errors += status != VF_OK;
        assert_true(status == VF_OK ||
                    (status == VF_ERR_INPUT && strstr(vf_context_message(ctx), "frame 1, at byte 0")));
        for (int i = 0; status == VF_OK && i < 40; i++)
            assert_true(isfinite(x[i]) && isfinite(y[i]) && isfinite(z[i]));
        vf_context_clear_error(ctx);
        check_frame(t, 1, expected[1]);
        trajectory_close(t);
        free(b.at);
    }
    assert_true(errors > 200); /* most change the length of what follows, or leave the bounds: about 1000 */

    const xtc_kind k = {.atoms = 40, .precision = 1000, .hi = {50, 6000, 70}, .small = 12};
    for (int more = -12; more <= 12; more += 24) {
        xdr_bytes b = make_xtc(&k, 1);
        const size_t size = (size_t)b.at[90] << 8 | b.at[91];
        set_int(&b, 88, (int64_t)size + more);
        for (int i = 0; i < 12; i++)
            put_unsigned(&b, 0, 1);
        b.size = 92 + ((size_t)((int64_t)size + more) + 3) / 4 * 4;
        trajectory *t = open_bytes(&b);
        assert_int_equal(trajectory_read(t, 0, x, y, z), VF_ERR_INPUT);
        assert_non_null(strstr(vf_context_message(ctx), "compressed coordinates are damaged"));
        vf_context_clear_error(ctx);
        trajectory_close(t);
        free(b.at);
    }
}

/* ---- boxes, numbers ---- */

static void reads_boxes(void **state)
{
    (void)state;
    static const float none[9] = {0}, turned[9] = {3, 0.5F, 0, 0, 4, 0, 0, 0, 5}, flat[9] = {3, 0, 0, 0, 4, 0, 0, 0, 0},
                       not [9] = {3, 0, 0, 0, 4, 0, 0, 0, NAN};
    static const struct {
        const float *box;
        unit_cell_state state;
    } kinds[] = {{box, UNIT_CELL_NUMBERS},
                 {none, UNIT_CELL_NONE},
                 {turned, UNIT_CELL_TURNED},
                 {flat, UNIT_CELL_BAD},
                 {not, UNIT_CELL_BAD}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const xtc_kind k = {.atoms = 3};
        xdr_bytes b = {0};
        unit_cell cell;
        put_xtc(&b, &k, kinds[i].box, expected[0]);
        trajectory *t = open_bytes(&b);
        assert_int_equal(trajectory_read_cell(t, 0, &cell), VF_OK);
        assert_int_equal(cell.state, kinds[i].state);
        trajectory_close(t);
        free(b.at);
    }
}

static void rejects_what_is_not_finite(void **state)
{
    (void)state;
    double x[3], y[3], z[3];
    const xtc_kind k = {.atoms = 3};
    xdr_bytes b = {0};
    put_xtc(&b, &k, box, expected[0]);
    set_int(&b, 56 + 4 * 7, 0x7fc00000);
    trajectory *t = open_bytes(&b);
    assert_int_equal(trajectory_read(t, 0, x, y, z), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "frame 1: y of atom 3 is NaN"));
    vf_context_clear_error(ctx);
    trajectory_close(t);
    free(b.at);
}

/* ---- TRR ---- */

static void reads_every_trr(void **state)
{
    (void)state;
    for (int number = 0; number < 64; number++) {
        const trr_kind k = {.atoms = 1 + (int32_t)integer_below(MOST_ATOMS),
                            .width = number & 1 ? 8 : 4,
                            .box = number & 2,
                            .virial = number & 4,
                            .positions = true,
                            .velocities = number & 8,
                            .forces = number & 16};
        trr_kind without = k;
        without.positions = false;
        without.velocities = true;
        xdr_bytes b = {0};
        for (int f = 0; f < FRAMES; f++) {
            if (number & 32) /* GROMACS stores velocities more often, if it is told to */
                put_trr(&b, &without, box_double, NULL);
            put_trr(&b, &k, box_double, expected[f]);
        }
        trajectory *t = open_bytes(&b);
        assert_int_equal(trajectory_frames(t), FRAMES);
        assert_int_equal(strstr(log_text, "4 frames have no positions and are left out; 4 are left") != NULL,
                         (number & 32) != 0);
        for (int f = FRAMES - 1; f >= 0; f--)
            check_frame(t, f, expected[f]);
        unit_cell cell;
        if (k.box)
            check_cell(t, 1);
        assert_int_equal(trajectory_read_cell(t, 1, &cell), VF_OK);
        assert_int_equal(cell.state, k.box ? UNIT_CELL_NUMBERS : UNIT_CELL_NONE);
        trajectory_close(t);
        b.size -= 3;
        if (!k.velocities) { /* else what is cut is no position, but the frame is incomplete all the same */
            t = open_bytes(&b);
            assert_int_equal(trajectory_frames(t), FRAMES - 1);
            assert_non_null(strstr(log_text, "ends within frame"));
            trajectory_close(t);
        }
        free(b.at);
    }
}

static void rejects_damaged_trr(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        int64_t value;
        const char *why;
    } damage[] = {{0, 1994, "neither a DCD"},
                  {12, 0, "GMX_trn_file"},
                  {24, 4, "parts whose sizes do not fit"}, /* an input record */
                  {32, 36 + 4, "parts whose sizes do not fit"},
                  {32, 72, "parts whose sizes do not fit"}, /* a box of doubles before positions in floats */
                  {52, 60, "parts whose sizes do not fit"},
                  {52, -60, "parts whose sizes do not fit"},
                  {64, 0, "no atoms"},
                  {64, -7, "2^31"},
                  {64, INT32_MAX, "parts whose sizes do not fit"}};
    const trr_kind k = {.atoms = 7, .width = 4, .box = true, .positions = true};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        xdr_bytes b = {0};
        put_trr(&b, &k, box_double, expected[0]);
        set_int(&b, damage[i].offset, damage[i].value);
        if (i == 0) { /* not recognised, so the reader of DCD files names what it could be */
            trajectory *t;
            assert_int_equal(trajectory_open(ctx, save_bytes(b.at, b.size), &t), VF_ERR_INPUT);
            vf_context_clear_error(ctx);
        } else {
            assert_refused_bytes(&b, damage[i].why);
        }
        free(b.at);
    }
    const trr_kind velocities = {.atoms = 7, .width = 4, .velocities = true};
    xdr_bytes b = {0};
    put_trr(&b, &velocities, box_double, NULL);
    assert_refused_bytes(&b, "none of its 1 frame has positions");
    b.size--;
    assert_refused_bytes(&b, "has no complete frame");
    free(b.at);
}

DEVICE_MAIN(set_up, tear_down, cmocka_unit_test(reads_every_stream), cmocka_unit_test(ignores_an_incomplete_frame),
            cmocka_unit_test(rejects_damaged_headers), cmocka_unit_test(survives_damaged_bits),
            cmocka_unit_test(reads_boxes), cmocka_unit_test(rejects_what_is_not_finite),
            cmocka_unit_test(reads_every_trr), cmocka_unit_test(rejects_damaged_trr))
