/* GROMACS's .gro files: coordinates and boxes of every precision, as a molecule beside its charges, as frames of a
 * trajectory, and for their cell alone. Damaged files are rejected with file, line and columns.
 *
 * usage: test_read_gro
 */
#include <math.h>
#include <unistd.h>

#include "molecule_fixture.h"
#include "trajectory/trajectory.h"
#include "voxfield/append.h"

static const char psf[] = "PSF\n\n       1 !NTITLE\n REMARKS\n\n       3 !NATOM\n"
                          "       1 A    1    SOL  OW   OT    -0.800000       15.9994           0\n"
                          "       2 A    1    SOL  HW1  HT     0.400000        1.0080           0\n"
                          "       3 A    1    SOL  HW2  HT     0.400000        1.0080           0\n";
static const char plain[] = "Water, t=   0.00000 step= 0\n"
                            "    3\n"
                            "    1SOL     OW    1   0.126   1.624  -1.679  0.1227 -0.0580  0.0434\n"
                            "    1SOL    HW1    2   0.190   1.661   1.747  0.8085  0.3191 -0.7791\n"
                            "99999SOL    HW299999   0.177-100.568   1.613 -0.9045 -2.6469  1.3180\n"
                            "   1.82060   2.82060   3.82060\n";
static const double xyz[3][3] = {{0.126, 1.624, -1.679}, {0.190, 1.661, 1.747}, {0.177, -100.568, 1.613}};
enum { TEXT = 4000 };

/* `text` with its first `from` replaced. The result lasts until the call after the next. */
static const char *with(const char *text, const char *from, const char *to)
{
    static char results[2][TEXT];
    static int turn;
    char *result = results[turn ^= 1], made[TEXT];
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(made, TEXT, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    memcpy(result, made, TEXT);
    return result;
}

static void refused_text(const char *text, const char *words)
{
    molecule m;
    assert_int_equal(parse_two(text, psf, &m), VF_ERR_INPUT);
    if (!contains_all(vf_context_message(ctx), words))
        fail_msg("%s, not '%s', of\n%s", vf_context_message(ctx), words, text);
    assert_null(m.x);
}

/* Numbers in nm, times 10. */
static void expect_places(const molecule *m, const double (*nm)[3])
{
    assert_int_equal(m->atoms, 3);
    for (int i = 0; i < 3; i++)
        if (!(m->x[i] == 10 * nm[i][0] && m->y[i] == 10 * nm[i][1] && m->z[i] == 10 * nm[i][2]))
            fail_msg("atom %d: %.17g %.17g %.17g", i, m->x[i], m->y[i], m->z[i]);
}

/* ---- coordinates ---- */

static void reads_a_molecule(void **state)
{
    (void)state;
    static const atom_label second = {.name = "HW1", .residue = "SOL", .chain = "A", .residue_number = 1};
    char ends[TEXT], *to = ends;
    molecule m;
    for (const char *p = plain; *p; p++) { /* lines of DOS */
        if (*p == '\n')
            *to++ = '\r';
        *to++ = *p;
    }
    *to = '\0';
    const char *const texts[] = {plain, ends, with(plain, "    3\n", "3\n"), with(plain, "3.82060\n", "3.82060\n\n\n"),
                                 with(plain, "Water", "")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_read(texts[i], psf, &m);
        expect_places(&m, xyz);
        expect_label(&m.labels[1], &second, "the second atom");
        assert_int_equal(m.labels[2].residue_number, 1); /* the PSF's: the file has 99999 */
        assert_true(m.charge[0] == -0.8 && m.lo[1] == 10 * -100.568 && m.hi[2] == 10 * 1.747);
        assert_string_equal(m.dialect, "GROMACS coordinates with charges of PSF");
        assert_true(m.cell.state == UNIT_CELL_NUMBERS && m.cell.lengths[1] == 10 * 2.82060 && m.cell.angles[2] == 90);
        assert_string_equal(warnings, "(note) note: m.chg has no radii; using 0\n");
        molecule_free(&m);
    }
    static char two[TEXT];
    snprintf(two, sizeof two, "%s%s", plain, plain);
    expect_read(two, psf, &m);
    expect_places(&m, xyz);
    molecule_free(&m);
    assert_true(contains_all(warnings, "m.xyz:6: the first frame ends here|--trajectory"));
}

/* gmx editconf -ndec N: columns of N + 5, and velocities of one more decimal that touch them. */
static void reads_every_precision(void **state)
{
    (void)state;
    for (int decimals = 1; decimals <= 15; decimals++) {
        char text[TEXT], word[40];
        double nm[3][3];
        snprintf(text, sizeof text, "title\n3\n");
        for (int i = 0; i < 3; i++) {
            vf_append(text, sizeof text, "%5d%-5s%5s%5d", 1, "SOL", (const char *const[]){"OW", "HW1", "HW2"}[i],
                      i + 1);
            for (int a = 0; a < 3; a++) { /* up to 999.9 and down to -999.9, which fill the column */
                snprintf(word, sizeof word, "%*.*f", decimals + 5, decimals,
                         (double)integer_between(-9999999, 9999999) / 1e4 * (i == 2 ? 1 : 1e-2));
                nm[i][a] = strtod(word, NULL);
                vf_append(text, sizeof text, "%s", word);
            }
            for (int a = 0; decimals % 2 && a < 3; a++)
                vf_append(text, sizeof text, "%*.*f", decimals + 5, decimals + 1, 0.5);
            vf_append(text, sizeof text, "\n");
        }
        vf_append(text, sizeof text, "   5.00000   6.00000   7.00000\n");
        molecule m;
        expect_read(text, psf, &m);
        expect_places(&m, (const double(*)[3])nm);
        molecule_free(&m);
    }
}

/* ---- boxes ---- */

static unit_cell box_of(const char *line)
{
    char text[TEXT];
    unit_cell alone;
    molecule m;
    snprintf(text, sizeof text, "%.*s%s\n", (int)(strstr(plain, "   1.82060") - plain), plain, line);
    expect_read(text, psf, &m);
    const unit_cell cell = m.cell;
    molecule_free(&m);
    assert_int_equal(parse_cell(ctx, "box.gro", text, strlen(text), &alone, NULL), VF_OK);
    assert_memory_equal(&alone, &cell, sizeof cell);
    return cell;
}

/* Vectors of five decimals move by at most 0.5e-5 nm, lengths by sqrt(3) times that, and angles by that over the
 * shortest length, for each of two vectors, over the sine of the smallest angle: 2 * 0.87e-5 / 3 / sin(60) radians,
 * 3.9e-4 degrees. Rounding is far below. */
static void reads_boxes(void **state)
{
    (void)state;
    for (int trial = 0; trial < 50; trial++) {
        double lengths[3], angles[3];
        vf_cell cell;
        char line[200];
        for (int a = 0; a < 3; a++) {
            lengths[a] = 3 + (double)integer_between(0, 1000) / 100; /* nm */
            angles[a] = 60 + (double)integer_between(0, 5500) / 100;
        }
        assert_true(cell_of_shape(lengths, angles, &cell));
        const double(*v)[3] = cell.vectors;
        snprintf(line, sizeof line, "%10.5f%10.5f%10.5f%10.5f%10.5f%10.5f%10.5f%10.5f%10.5f", v[0][0], v[1][1], v[2][2],
                 v[0][1], v[0][2], v[1][0], v[1][2], v[2][0], v[2][1]);
        const unit_cell found = box_of(line);
        assert_int_equal(found.state, UNIT_CELL_NUMBERS);
        for (int a = 0; a < 3; a++)
            assert_true(fabs(found.lengths[a] - 10 * lengths[a]) <= 1e-4 && fabs(found.angles[a] - angles[a]) <= 4e-4);
    }
    const unit_cell right = box_of("  4.0 5.00000001 6 0 0 0 0 0 0");
    assert_true(right.state == UNIT_CELL_NUMBERS && right.lengths[0] == 40 && right.lengths[1] == 10 * 5.00000001);
    assert_true(right.angles[0] == 90 && right.angles[1] == 90 && right.angles[2] == 90);
    assert_int_equal(box_of("   0.00000   0.00000   0.00000").state, UNIT_CELL_NONE);
    assert_int_equal(box_of("4 5 6 0.1 0 0 0 0 0").state, UNIT_CELL_TURNED);
    assert_int_equal(box_of("4 5 6 0 0 0 0.1 0 0").state, UNIT_CELL_TURNED);
    static const char *const bad[] = {"4 5 -6", "4 5 0", "4 5 6 0 0 0 0 1e6 0", "1e300 1e300 1e300"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (box_of(bad[i]).state != UNIT_CELL_BAD)
            fail_msg("'%s' is a box", bad[i]);
}

static void reads_cells_of_other_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unit_cell_state state;
        double length;
    } files[] = {
        {"HEADER\nCRYST1   20.000   30.000   40.000  90.00  90.00  90.00 P 1\nATOM\n", UNIT_CELL_NUMBERS, 20},
        {"title\n 1\n   1.0000000   2.0000000   3.0000000\n  20.0000000  30.0000000  40.0000000  90.0000000  90.0000000"
         "  90.0000000\n",
         UNIT_CELL_NONE, 0}, /* may be a velocity */
        {"title\n 3\n   1.0000000   2.0000000   3.0000000   1.0000000   2.0000000   3.0000000\n   1.0000000   2.0000000"
         "   3.0000000\n  20.0000000  30.0000000  40.0000000  90.0000000  90.0000000  90.0000000\n",
         UNIT_CELL_NUMBERS, 20},
        {"CRYST1 nothing\n", UNIT_CELL_BAD, 0},
        {"a letter\n", UNIT_CELL_NONE, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unit_cell cell;
        assert_int_equal(parse_cell(ctx, "f", files[i].text, strlen(files[i].text), &cell, NULL), VF_OK);
        assert_int_equal(cell.state, files[i].state);
        assert_true(cell.lengths[0] == files[i].length || cell.state == UNIT_CELL_BAD);
    }
    unit_cell cell;
    assert_int_equal(parse_cell(ctx, "f", "", 0, &cell, NULL), VF_ERR_INPUT);
    vf_context_clear_error(ctx);
    assert_int_equal(read_cell_of_file(ctx, "/nowhere/box.gro", &cell, NULL), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "/nowhere/box.gro|No such file"));
}

/* ---- damaged files ---- */

static void refuses_damaged_files(void **state)
{
    (void)state;
    refused_text(with(plain, "   1.624", "   1.62 "),
                 "m.xyz:3: columns 29-36 (y): '   1.62 '|cut, or the line is shifted|3 decimals");
    refused_text(with(plain, "   1.661", "  1.6610"), "m.xyz:4: columns 29-36 (y)|3 decimals");
    refused_text(with(plain, "   1.747", "     nan"), "m.xyz:4: columns 37-44 (z)|not a finite number");
    refused_text(with(plain, "   1.613 -0.9045 -2.6469  1.3180", ""), "m.xyz:5: columns 37-44 (z)|missing");
    refused_text(with(plain, "    1SOL    HW1", "    xSOL    HW1"), "m.xyz:4: columns 1-5 (residue number): '    x'");
    refused_text(with(plain, "    HW1", "       "), "m.xyz:4: columns 11-15 (atom name) are blank");
    refused_text(with(plain, "    3\n", "    4\n"), "m.xyz:6: columns 1-5 (residue number)");
    refused_text(with(plain, "   1.82060   2.82060   3.82060\n", ""),
                 "m.xyz: the file ends after 3 of the 3 atoms|box|copy it again");
    refused_text(with(plain, "   1.82060   2.82060   3.82060\n", "    1SOL    HW2    4   0.1\n"),
                 "m.xyz:6: the box, 3 or 9 numbers, must follow the 3 atoms");
    static const char *const boxes[] = {
        "", "4", "4 5", "4 5 6 7", "4 5 nan", "4 5 6 0 0 0 0 0 x", "4 5 6 0 0 0 0 0 0 0"};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        refused_text(with(plain, "   1.82060   2.82060   3.82060", boxes[i]), "m.xyz:6: the box");
    refused_text(with(plain, "    HW1", "    HX1"), "m.xyz: atom 2 is 'HX1'|'HW1'|same order");
}

/* ---- frames ---- */

static char path[64];

static trajectory *open_frames(const char *text, vf_status expected)
{
    trajectory *t;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    warnings[0] = '\0';
    vf_context_clear_error(ctx);
    const vf_status status = trajectory_open(ctx, path, &t);
    if (status != expected)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
    assert_true((status == VF_OK) == (t != NULL));
    return t;
}

static void reads_frames(void **state)
{
    (void)state;
    enum { FRAMES = 5 };
    static char text[FRAMES * TEXT];
    double x[3], y[3], z[3];
    unit_cell cell;
    text[0] = '\0';
    for (int f = 0; f < FRAMES; f++) { /* x of the second atom, the box, and the precision of one tell the frame */
        char place[32], box[32];
        snprintf(place, sizeof place, "   %.3f", 0.5 + f);
        snprintf(box, sizeof box, "   %d.82060", f + 1);
        vf_append(text, sizeof text, "%s", with(with(plain, "   0.190", place), "   1.82060", box));
    }
    trajectory *t = open_frames(text, VF_OK);
    assert_true(trajectory_frames(t) == FRAMES && trajectory_atoms(t) == 3 && strcmp(trajectory_path(t), path) == 0);
    for (int f = FRAMES - 1; f >= 0; f--) {
        assert_int_equal(trajectory_read(t, f, x, y, z), VF_OK);
        assert_true(x[1] == 10 * (0.5 + f) && x[0] == 10 * 0.126 && y[2] == 10 * -100.568 && z[1] == 10 * 1.747);
        assert_int_equal(trajectory_read_cell(t, f, &cell), VF_OK);
        assert_true(cell.state == UNIT_CELL_NUMBERS && fabs(cell.lengths[0] - (10 * f + 18.206)) <= 1e-13 * 60);
    }
    assert_int_equal(trajectory_read(t, FRAMES, x, y, z), VF_ERR_ARGUMENT);
    assert_int_equal(trajectory_read_cell(t, -1, &cell), VF_ERR_ARGUMENT);
    trajectory_close(t);
    assert_string_equal(warnings, "");
}

static void finds_the_end_of_frames(void **state)
{
    (void)state;
    static char text[3 * TEXT];
    double x[3], y[3], z[3];
    const size_t one = strlen(plain);
    for (size_t cut = 0; cut <= one;
         cut++) { /* within the second frame: ignored, unless only the last line end is lost */
        snprintf(text, sizeof text, "%s%.*s", plain, (int)cut, plain);
        const bool box = cut > one - strlen("   1.82060   2.82060   3.82060\n");
        trajectory *t = open_frames(text, VF_OK);
        assert_int_equal(trajectory_frames(t), box ? 2 : 1);
        assert_int_equal(contains_all(warnings, "ends within frame 2; ignoring that frame, 1 is left"),
                         cut > 0 && !box);
        trajectory_close(t);
    }
    assert_null(open_frames("title\n3\n", VF_ERR_INPUT)); /* too short to be known as .gro: by its name */
    assert_true(contains_all(vf_context_message(ctx), "ends within its first frame"));
    assert_null(open_frames("title\nthree\n", VF_ERR_INPUT));
    assert_true(contains_all(vf_context_message(ctx), ":2: the second line of frame 1 must be its number of atoms"));
    snprintf(text, sizeof text, "%s%s", plain, with(plain, "    3\n", "    2\n"));
    assert_null(open_frames(text, VF_ERR_INPUT));
    assert_true(contains_all(vf_context_message(ctx), ":8: frame 2 has 2 atoms, but the first has 3"));
    snprintf(text, sizeof text, "%s%s", plain, with(plain, "   1.661", "     inf")); /* frames are read by themselves */
    trajectory *t = open_frames(text, VF_OK);
    assert_int_equal(trajectory_read(t, 0, x, y, z), VF_OK);
    assert_int_equal(trajectory_read(t, 1, x, y, z), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), ":10: columns 29-36 (y)"));
    trajectory_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_a_molecule),
                                       cmocka_unit_test(reads_every_precision),
                                       cmocka_unit_test(reads_boxes),
                                       cmocka_unit_test(reads_cells_of_other_files),
                                       cmocka_unit_test(refuses_damaged_files),
                                       cmocka_unit_test(reads_frames),
                                       cmocka_unit_test(finds_the_end_of_frames)};
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/gro_XXXXXX.gro", base ? base : "/tmp");
    const int fd = mkstemps(path, 4);
    if (fd < 0)
        return 1;
    close(fd);
    const int failed = cmocka_run_group_tests(tests, set_up_context, close_context);
    unlink(path);
    return failed;
}
