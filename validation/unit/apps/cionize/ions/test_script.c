/* Scripts of VMD's cionize: every keyword is read, every mistake is reported with its line. */
#include "ion_fixture.h"
#include "test_main.h"

#include <unistd.h>

#include "ions/script.h"

static vf_status parse_bytes(const char *text, size_t bytes, script *out)
{
    /* A separate allocation, so that a sanitizer detects reads beyond its end. */
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    memset(out, 0x5a, sizeof *out);
    vf_status status = parse_script(fresh(), "s.cfg", copy, bytes, out);
    free(copy);
    return status;
}

static void expect_read(const char *text, script *out)
{
    if (parse_bytes(text, strlen(text), out) != VF_OK)
        fail_msg("not read: %s\n%s", vf_context_message(fixture.ctx), text);
}

static void expect_refused_bytes(const char *text, size_t bytes, const char *words)
{
    script s;
    assert_fails(parse_bytes(text, bytes, &s), VF_ERR_INPUT, "s.cfg:");
    assert_says(vf_context_message(fixture.ctx), words);
    for (const char *p = vf_context_message(fixture.ctx); *p; p++)
        assert_true(*p >= ' ' && *p <= '~');
    assert_true(s.commands == 0 && !s.command && !s.grid_file);
}

static void expect_refused(const char *text, const char *words)
{
    expect_refused_bytes(text, strlen(text), words);
}

/* As written by VMD's plugin. */
static void test_a_whole_script(void **state)
{
    (void)state;
    script s;
    expect_read("R_ION_SOLUTE 6.5\nr_ion_ion 11\nBorderSize 12\nGRIDSPACING 0.25\nDDD 4\n"
                "XYZDIM -10 -20.5 -30 1e1 20 30\nGRIDFILE old.dx\nBEGIN\nSAVEGRID before.dx\nPLACEION SOD 12 1\n"
                "SAVEION pdb sod.pdb\nPLACEION CLA 3 -1\nSAVEION cla.xyz\nSAVEGRID after.dx\nEXIT\n",
                &s);
    assert_string_equal(fixture.log, "");
    assert_true(s.has_ion_solute && s.ion_solute == 6.5 && s.has_ion_ion && s.ion_ion == 11);
    assert_true(s.has_border && s.border == 12 && s.has_spacing && s.spacing == 0.25);
    assert_true(s.has_distance_dielectric && s.distance_dielectric == 4 && s.has_box);
    assert_true(s.box_lo[0] == -10 && s.box_lo[1] == -20.5 && s.box_lo[2] == -30);
    assert_true(s.box_hi[0] == 10 && s.box_hi[1] == 20 && s.box_hi[2] == 30);
    assert_string_equal(s.grid_file, "old.dx");
    assert_int_equal(s.grid_file_line, 7);
    static const script_verb verbs[] = {SCRIPT_SAVEGRID, SCRIPT_PLACEION, SCRIPT_SAVEION,
                                        SCRIPT_PLACEION, SCRIPT_SAVEION,  SCRIPT_SAVEGRID};
    static const char *const paths[] = {"before.dx", NULL, "sod.pdb", NULL, "cla.xyz", "after.dx"};
    assert_int_equal(s.commands, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(s.command[i].verb, verbs[i]);
        assert_int_equal(s.command[i].line, 9 + i);
        if (paths[i])
            assert_string_equal(s.command[i].path, paths[i]);
        else
            assert_null(s.command[i].path);
    }
    assert_string_equal(s.command[1].request.kind.name, "SOD");
    assert_string_equal(s.command[1].request.kind.element, "Na");
    assert_true(s.command[1].request.count == 12 && s.command[1].request.kind.charge == 1);
    assert_true(s.command[3].request.count == 3 && s.command[3].request.kind.charge == -1);
    script_free(&s);
}

static void test_nothing_is_set_that_is_not_said(void **state)
{
    (void)state;
    script s, empty = {0};
    expect_read("BEGIN\nEXIT", &s);
    assert_memory_equal(&s, &empty, sizeof s);
    script_free(&s);
}

/* Line ends, comments, blanks, a byte-order mark, capitals: all give the same script. */
static void test_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "BORDERSIZE 5\nBEGIN\nSAVEGRID m.dx\nEXIT\n",
        "\xef\xbb\xbf# head\r\n\r\nbordersize\t5\r\n  begin  \r\nsavegrid m.dx # and so on\r\nexit",
        "BorderSize +5.0e0 #\rBegin\rSaveGrid\fm.dx\rExit\r",
        "# BEGIN\n#\n \t \nBORDERSIZE 0.5E1\nBEGIN #PLACEION\nSAVEGRID m.dx\nEXIT\n \n\t",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        script s;
        expect_read(forms[i], &s);
        assert_true(s.border == 5 && s.commands == 1);
        assert_string_equal(s.command[0].path, "m.dx");
        assert_string_equal(fixture.log, "");
        script_free(&s);
    }
}

static void test_random_numbers(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        char text[1024];
        double box[6];
        script s;
        const double border = 1e5 * uniform(), spacing = 1e-3 + uniform(), charge = 8 * uniform() - 4;
        const int64_t count = integer_between(0, ION_MOST);
        for (int a = 0; a < 3; a++) {
            box[a] = 2e5 * uniform() - 1e5;
            box[a + 3] = box[a] + (1e5 - box[a]) * uniform();
        }
        snprintf(text, sizeof text,
                 "BORDERSIZE %.17g\nGRIDSPACING %.17g\nXYZDIM %.17g %.17g %.17g %.17g %.17g %.17g\nBEGIN\n"
                 "PLACEION X! %lld %.17g\nSAVEION a.xyz\nEXIT\n",
                 border, spacing, box[0], box[1], box[2], box[3], box[4], box[5], (long long)count, charge);
        expect_read(text, &s);
        assert_true(s.border == border && s.spacing == spacing);
        assert_memory_equal(s.box_lo, box, sizeof s.box_lo);
        assert_memory_equal(s.box_hi, box + 3, sizeof s.box_hi);
        assert_true(s.command[0].request.count == count && s.command[0].request.kind.charge == charge);
        script_free(&s);
    }
}

static void test_said_but_accepted(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"MULTIGRID\nBEGIN\nEXIT", "note: s.cfg:1: |--method chooses"},
        {"BEGIN\n", "note: s.cfg: |EXIT is missing"},
        {"HELP\nSHOWOPT\nBEGIN\nhelp\nEXIT", "s.cfg:1: note: HELP|s.cfg:2: note: SHOWOPT|s.cfg:4: note: HELP"},
        {"BEGIN\nEXIT\n\nSAVEGRID x.dx", "warning: s.cfg:2: the lines after EXIT are ignored"},
        {"BEGIN\nPLACEION SOD 3 -1\nSAVEION a.pdb\nEXIT", "warning: s.cfg:2: SOD"},
        {"BEGIN\nPLACEION SOD 3 1\nEXIT", "warning: s.cfg:2: |never saved"},
        {"BEGIN\nPLACEION SOD 3 1\nPLACEION CLA 3 -1\nSAVEION a.pdb\nEXIT", "warning: s.cfg:2: |never saved"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script s;
        expect_read(cases[i][0], &s);
        assert_says(fixture.log, cases[i][1]);
        script_free(&s);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "BEGIN is missing"},
        {"BORDERSIZE 5\nEXIT\n", "s.cfg:2: EXIT must come after BEGIN"},
        {"BORDERSIZE 5\n", "BEGIN is missing"},
        {"\nBORDER 5\nBEGIN\n", "s.cfg:2: unknown keyword 'BORDER'|expected one of: |BORDERSIZE|BEGIN"},
        {"BEGINNING\n", "s.cfg:1: unknown keyword 'BEGINNING'|expected one of: "},
        {"BEGIN\nSAVE x\n", "s.cfg:2: unknown keyword 'SAVE'|expected one of: |SAVEGRID|EXIT"},
        {"BEGIN\n\x01\xff\n", "s.cfg:2: unknown keyword '?\?'|expected one of: "},
        {"BEGIN\nBEGIN\n", "s.cfg:2: BEGIN must come before BEGIN, which is in line 1"},
        {"BEGIN\r\nBORDERSIZE 3\r\n", "s.cfg:2: BORDERSIZE must come before"},
        {"SAVEGRID m.dx\nBEGIN\n", "s.cfg:1: SAVEGRID must come after"},
        {"BORDERSIZE\nBEGIN\n", "1: BORDERSIZE: 1 word is missing|BORDERSIZE DISTANCE"},
        {"BORDERSIZE 1 2\nBEGIN\n", "1: BORDERSIZE: unexpected '2'"},
        {"BORDERSIZE # 5\nBEGIN\n", "missing"},
        {"BORDERSIZE 5x\nBEGIN\n", "1: BORDERSIZE: '5x' is not a number"},
        {"BORDERSIZE 1,5\nBEGIN\n", "'1,5' is not a number"},
        {"BORDERSIZE nan\nBEGIN\n", "not a number"},
        {"BORDERSIZE inf\nBEGIN\n", "not a number"},
        {"BORDERSIZE 0x10\nBEGIN\n", "not a number"},
        {"BORDERSIZE 1e999\nBEGIN\n", "not a number"},
        {"BORDERSIZE -1\nBEGIN\n", "out of range|0 to 100000 angstrom"},
        {"R_ION_SOLUTE -0.1\nBEGIN\n", "R_ION_SOLUTE: -0.1 is out of range"},
        {"R_ION_ION 1e6\nBEGIN\n", "R_ION_ION: 1e6 is out of range"},
        {"GRIDSPACING 0\nBEGIN\n", "GRIDSPACING: 0 is out of range"},
        {"DDD\nBEGIN\n", "DDD: 1 word is missing|permittivity"},
        {"DDD 0\nBEGIN\n", "DDD: 0 is out of range"},
        {"DDD 4\nMULTIGRID\nBEGIN\n", "s.cfg:2: DDD and MULTIGRID cannot be combined, and DDD is in line 1"},
        {"MULTIGRID\nDDD 4\nBEGIN\n", "s.cfg:2: DDD and MULTIGRID cannot be combined, and MULTIGRID is in line 1"},
        {"BORDERSIZE 3\nBORDERSIZE 3\nBEGIN\n", "s.cfg:2: BORDERSIZE was already given in line 1"},
        {"XYZDIM 10 20 30\nBEGIN\n", "XYZDIM: 3 words are missing|XMIN YMIN ZMIN XMAX YMAX ZMAX"},
        {"XYZDIM 1 2 3 4 5 6 7\nBEGIN\n", "XYZDIM: unexpected '7'"},
        {"XYZDIM 1 2 3 4 5 6 7 8 9 10 11\nBEGIN\n", "XYZDIM: unexpected '7'"},
        {"XYZDIM 0 10 0 10 0 10\nBEGIN\n", "XYZDIM: the maximum of y is below its minimum (10 to 0)"},
        {"XYZDIM 0 0 0 1 1 1e6\nBEGIN\n", "XYZDIM: 1e6 is out of range"},
        {"GRIDFILE my map.dx\nBEGIN\n", "GRIDFILE: unexpected 'map.dx'|cannot contain blanks"},
        {"GRIDFILE a\x07.dx\nBEGIN\n", "control character"},
        {"BEGIN\nSAVEGRID\n", "s.cfg:2: SAVEGRID: 1 word is missing"},
        {"BEGIN\nSAVEION a.pdb\n", "s.cfg:2: SAVEION: there are no ions yet"},
        {"BEGIN\nPLACEION SOD 3 1\nSAVEION my ions.pdb\n", "s.cfg:3: |format 'my'|ends with .my|cannot contain blanks"},
        {"BEGIN\nPLACEION SOD 3 1\nSAVEION pdb ions.xyz\n", "format 'pdb'|ends with .pdb"},
        {"BEGIN\nPLACEION SOD 3 1\nSAVEION pdb my ions.pdb\n", "SAVEION: unexpected 'ions.pdb'"},
        {"BEGIN\nPLACEION SOD 3\n", "PLACEION: 1 word is missing|NAME NUMBER CHARGE"},
        {"BEGIN\nPLACEION SOD\n", "PLACEION: 2 words are missing"},
        {"BEGIN\nPLACEION SOD 1 3.5 7\n", "PLACEION: unexpected '7'"},
        {"BEGIN\nPLACEION SOD 3.5 1\n", "'3.5' is not an integer"},
        {"BEGIN\nPLACEION SOD -3 1\n", "'-3' is not an integer"},
        {"BEGIN\nPLACEION SOD 10000001 1\n", "'10000001' is not an integer from 0 to 10000000"},
        {"BEGIN\nPLACEION SOD 3 +\n", "'+' is not a number"},
        {"BEGIN\nPLACEION SOD 3 0\n", "charge must not be 0"},
        {"BEGIN\nPLACEION SODIUM 3 1\n", "s.cfg:2: PLACEION: 'SODIUM' is too long"},
        {"BEGIN\nPLACEION S\xc3\xa9 3 1\n", "PLACEION: 'S?\?' is not a valid ion name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(cases[i][0], cases[i][1]);
}

static void test_files_that_are_no_scripts(void **state)
{
    (void)state;
    const size_t most = 1 << 20, start = strlen("BEGIN\n#");
    char *text = malloc(most + 1);
    script s;
    assert_non_null(text);
    memset(text, 'x', most + 1);
    memcpy(text, "BEGIN\n#", start); /* and a comment of 1 MiB */
    assert_ok(parse_bytes(text, most, &s));
    script_free(&s);
    expect_refused_bytes(text, most + 1, "larger than 1 MiB");
    expect_refused_bytes("BEGIN\nEXIT\n\0", 12, "zero bytes");
    text[most - 1] = '\0';
    expect_refused_bytes(text, most, "zero bytes");
    free(text);
}

static void test_long_words(void **state)
{
    (void)state;
    enum { LENGTH = 5000 };
    static const char *const starts[] = {"", "BORDERSIZE ", "BEGIN\nPLACEION ", "BEGIN\nPLACEION SOD ",
                                         "BEGIN\nPLACEION SOD 1 "};
    char text[LENGTH + 64], word[LENGTH + 1];
    script s;
    memset(word, '1', LENGTH);
    word[LENGTH] = '\0';
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        snprintf(text, sizeof text, "%s%s%s\n", starts[i], word, i == 2 ? " 1 1" : i == 3 ? " 1" : "");
        expect_refused(text, "1111...");
    }
    snprintf(text, sizeof text, "BEGIN\nSAVEGRID %s\nEXIT", word); /* an error of the file system, not of the script */
    expect_read(text, &s);
    assert_string_equal(s.command[0].path, word);
    script_free(&s);
}

static void test_files(void **state)
{
    (void)state;
    char path[] = "/tmp/voxfield-script-XXXXXX";
    static const char text[] = "GRIDSPACING 0.5\nBEGIN\nSAVEGRID m.dx\nEXIT\n";
    const int fd = mkstemp(path);
    script s;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    assert_ok(read_script(fresh(), path, &s));
    assert_true(s.spacing == 0.5 && s.commands == 1);
    script_free(&s);
    FILE *standard = freopen(path, "r", stdin);
    assert_non_null(standard);
    assert_ok(read_script(fresh(), "-", &s));
    assert_true(s.spacing == 0.5 && s.commands == 1);
    script_free(&s);
    unlink(path);
    assert_fails(read_script(fresh(), path, &s), VF_ERR_INPUT, "cannot open: No such file");
    assert_says(vf_context_message(fixture.ctx), path);
    assert_fails(read_script(fresh(), "/tmp", &s), VF_ERR_INPUT, "/tmp: cannot read: ");
}

TEST_MAIN(ion_setup, ion_teardown, cmocka_unit_test(test_a_whole_script),
          cmocka_unit_test(test_nothing_is_set_that_is_not_said), cmocka_unit_test(test_forms),
          cmocka_unit_test(test_random_numbers), cmocka_unit_test(test_said_but_accepted),
          cmocka_unit_test(test_refused), cmocka_unit_test(test_files_that_are_no_scripts),
          cmocka_unit_test(test_long_words), cmocka_unit_test(test_files))
