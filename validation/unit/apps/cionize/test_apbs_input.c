/* APBS's input files: every word that matters is read, what is ignored is said once, and every mistake is reported with its line. */
#include <math.h>

#include "context_fixture.h"

#include "apbs/apbs_input.h"
#include "random_fixture.h"
#include "voxfield/append.h"

static char said[8192]; /* notes and warnings, each with a line end */

static void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    vf_append(said, sizeof said, "%s%s\n", level == VF_LOG_WARNING ? "warning: " : "", text);
}

static vf_status parse(const char *text, size_t bytes, apbs_input *out)
{
    /* A separate allocation, so that a sanitizer detects reads beyond its end. */
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    memset(out, 0x5a, sizeof *out);
    said[0] = '\0';
    vf_context_set_log(ctx, keep_log, NULL);
    const vf_status status = parse_apbs_input(ctx, "a.in", copy, bytes, out);
    free(copy);
    return status;
}

static void expect_read(const char *text, apbs_input *out)
{
    if (parse(text, strlen(text), out) != VF_OK)
        fail_msg("not read: %s\n%s", vf_context_message(ctx), text);
}

static void expect_refused(const char *text, size_t bytes, vf_status status, const char *words)
{
    apbs_input in;
    const vf_status got = parse(text, bytes, &in);
    if (got != status || !contains_all(vf_context_message(ctx), words))
        fail_msg("got %s, '%s', not %s, '%s', of: %s", vf_status_name(got), vf_context_message(ctx),
                 vf_status_name(status), words, text);
    for (const char *p = vf_context_message(ctx); *p; p++)
        assert_true(*p >= ' ' && *p <= '~');
    assert_true(!in.path && !in.elec && !in.print && in.molecules == 0 && in.elecs == 0 && in.prints == 0);
    vf_context_clear_error(ctx);
}

/* A section that lacks nothing; more words may stand before its end, and the last of each counts. */
#define MANUAL                                                                                                         \
    "mg-manual dime 65 33 17 glen 16 8 4 gcent mol 1 mol 1 lpbe bcfl mdh pdie 2 sdie 78.54 srfm mol srad 1.4 "         \
    "temp 298.15 "
#define READ "read mol pqr m.pqr end\n"

static const char two_blocks[] = "# a comment\n"
                                 "read\n    mol pqr one.pqr\n    mol pqr \"two 2.pqr\"\nend\n"
                                 "elec name solvated\n"
                                 "    mg-auto\n    dime 65 97 129\n    cglen 50 60 70\n    fglen 12 13 14\n"
                                 "    fgcent mol 2\n    cgcent 1 -2.5 3e0\n    mol 2\n    npbe\n    bcfl sdh\n"
                                 "    ion charge 2 conc 0.05 radius 2.0\n    ion charge -1 conc 0.1 radius 1.8\n"
                                 "    pdie 4.0\n    sdie 80.0\n    chgm spl2\n    srfm smol\n    srad 1.5\n"
                                 "    swin 0.3\n    sdens 10.0\n    temp 310.0\n    calcenergy comps\n"
                                 "    calcforce no\n    write pot dx first\n    write pot gz second # gz\nend\n"
                                 "ELEC\n    MG-MANUAL\n    DIME 5 5 9\n    GRID 0.5 0.25 0.125\n    GCENT MOL 1\n"
                                 "    MOL 1\n    LPBE\n    BCFL focus\n    PDIE 1\n    SDIE 1\n    CHGM spl0\n"
                                 "    SRFM mol\n    SRAD 0\n    SDENS 10\n    TEMP 300\nEND\n"
                                 "print elecEnergy solvated - 2 + solvated end\nPRINT energy 2 END\nQUIT\nelec\n";

static void check_first(const apbs_elec *e)
{
    assert_string_equal(e->name, "solvated");
    assert_true(e->line == 6 && e->automatic && e->non_linear && e->molecule == 1 && e->equation_line == 14);
    assert_true(e->counts[0] == 65 && e->counts[1] == 97 && e->counts[2] == 129);
    assert_true(e->lengths[0] == 12 && e->lengths[1] == 13 && e->lengths[2] == 14);
    assert_true(e->coarse_lengths[0] == 50 && e->coarse_lengths[1] == 60 && e->coarse_lengths[2] == 70);
    assert_true(e->centre.on_molecule && e->centre.molecule == 1 && !e->coarse_centre.on_molecule);
    assert_true(e->coarse_centre.at[0] == 1 && e->coarse_centre.at[1] == -2.5 && e->coarse_centre.at[2] == 3);
    assert_true(e->molecule_dielectric == 4 && e->solvent_dielectric == 80 && e->probe == 1.5 && e->smooth &&
                !e->focus);
    assert_true(e->temperature == 310 && e->energies == APBS_ENERGIES_COMPS && e->ions == 2);
    assert_true(e->ion[0].charge == 2 && e->ion[0].concentration == 0.05 && e->ion[0].radius == 2);
    assert_true(e->ion[1].charge == -1 && e->ion[1].concentration == 0.1 && e->ion[1].radius == 1.8);
    /* (0.05 2^2 + 0.1 1^2) / 2, to two roundings */
    assert_true(fabs(apbs_ionic_strength(e) - 0.15) < 1e-15 && apbs_ion_radius(e) == 2);
    assert_true(e->writes == 2 && !e->write[0].gzip && e->write[1].gzip && e->write[1].line == 29);
    assert_string_equal(e->write[0].stem, "first");
    assert_string_equal(e->write[1].stem, "second");
}

static void test_a_whole_file(void **state)
{
    (void)state;
    apbs_input in;
    expect_read(two_blocks, &in);
    assert_true(in.molecules == 2 && in.elecs == 2 && in.prints == 2);
    assert_string_equal(in.path[0], "one.pqr");
    assert_string_equal(in.path[1], "two 2.pqr");
    check_first(&in.elec[0]);
    const apbs_elec *e = &in.elec[1];
    assert_null(e->name);
    assert_true(!e->automatic && !e->non_linear && e->molecule == 0 && e->probe == 0 && e->ions == 0 && !e->smooth &&
                e->focus);
    assert_true(e->lengths[0] == 2 && e->lengths[1] == 1 && e->lengths[2] == 1); /* spacing times dime - 1 */
    assert_true(e->energies == APBS_ENERGIES_NO && apbs_ionic_strength(e) == 0 && apbs_ion_radius(e) == 0);
    const apbs_print *p = &in.print[0];
    assert_true(p->line == 47 && p->terms == 3 && p->term[0].elec == 0 && !p->term[0].minus);
    assert_true(p->term[1].elec == 1 && p->term[1].minus && p->term[2].elec == 0 && !p->term[2].minus);
    assert_true(in.print[1].terms == 1 && in.print[1].term[0].elec == 1);
    apbs_input_free(&in);
}

/* Each reason once, however often the word is there. */
static void test_ignored_words_are_said_once(void **state)
{
    (void)state;
    static const char *const words[] = {"chgm", "sdens", "swin", "calcforce no", "bcfl sdh", "bcfl focus"};
    apbs_input in;
    expect_read(two_blocks, &in);
    apbs_input_free(&in);
    int lines = 0;
    for (const char *p = said; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 6);
    for (int n = 0; n < 6; n++)
        if (!strstr(said, words[n]))
            fail_msg("'%s' lacks '%s'", said, words[n]);
    assert_true(contains_all(said, "a.in:20: note: chgm is ignored, because|a.in:15: note: bcfl sdh is taken as"));
}

/* Line ends, comments, signs between words, a byte-order mark, older spellings: all give the same section. */
static void test_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        READ "elec " MANUAL "ion charge 1 conc 0.1 radius 2 ion charge -1 conc 0.1 radius 2 calcenergy total end",
        READ "elec " MANUAL "ion\ncharge 1\nconc 0.1\nradius 2\nion radius 2 charge -1 conc 0.1 calcenergy total end",
        "\xef\xbb\xbfREAD\r\nMOL\tPQR \"m.pqr\"\rEND#x\nELEC\f" MANUAL "%% x\nion 1 0.1 2.0\rion=-1,0.1;2 calcenergy 1 "
        "End quit",
        READ "elec mg-manual bcfl 2 srfm 0 chgm 1 dime = 65, 33, 17; grid 0.25 0.25 0.25 gcent mol 1 mol 1 lpbe pdie 2 "
             "sdie 78.54e0 srad +1.4 temp 298.15 ion 1 .1 2 ion -1 1e-1 2 calcenergy 1 calcforce 0 end",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        apbs_input in;
        expect_read(forms[i], &in);
        const apbs_elec *e = &in.elec[0];
        assert_string_equal(in.path[0], "m.pqr");
        assert_true(e->counts[0] == 65 && e->counts[2] == 17 && e->lengths[0] == 16 && e->lengths[2] == 4);
        assert_true(e->solvent_dielectric == 78.54 && e->probe == 1.4 && e->temperature == 298.15);
        assert_true(e->ions == 2 && e->ion[1].charge == -1 && e->ion[0].radius == 2);
        assert_true(fabs(apbs_ionic_strength(e) - 0.1) < 1e-16 && e->energies == APBS_ENERGIES_TOTAL);
        apbs_input_free(&in);
    }
}

static void test_random_numbers(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        char text[1024];
        double v[9];
        apbs_input in;
        for (int n = 0; n < 9; n++)
            v[n] = 1 + 90 * uniform();
        const int64_t count = integer_between(3, 1000);
        snprintf(text, sizeof text,
                 READ "elec mg-manual dime %lld 5 7 glen %.17g %.17g %.17g gcent %.17g -%.17g 0 mol 1 lpbe pdie %.17g "
                      "sdie %.17g srfm mol srad %.17g temp %.17g end",
                 (long long)count, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]);
        expect_read(text, &in);
        const apbs_elec *e = &in.elec[0];
        assert_memory_equal(e->lengths, v, sizeof e->lengths);
        assert_true(e->counts[0] == count && e->centre.at[0] == v[3] && e->centre.at[1] == -v[4]);
        assert_true(e->molecule_dielectric == v[5] && e->solvent_dielectric == v[6] && e->probe == v[7]);
        assert_true(e->temperature == v[8]);
        apbs_input_free(&in);
    }
}

static void test_repeated_words(void **state)
{
    (void)state;
    apbs_input in;
    expect_read(READ "elec " MANUAL "\npdie 3 end", &in);
    assert_true(in.elec[0].molecule_dielectric == 3);
    assert_true(contains_all(said, "warning: a.in:3: pdie is in line 2|the last one counts"));
    apbs_input_free(&in);
}

static void test_wrong(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "a.in: there is no molecule"},
        {"# nothing\n", "there is no molecule"},
        {READ, "a.in: there is no ELEC section"},
        {"\nhello\n", "a.in:2: unknown word 'hello' where a section begins|READ, ELEC, PRINT or QUIT"},
        {"\x01\xff", "unknown word '?\?'"},
        {"read\nmol pqr", "a.in:2: mol pqr: the file ends where a name is expected"},
        {"read\nmol pqr a.pqr\n", "the READ section of line 1 has no END"},
        {"read mol pqr \"a b\n", "a.in:1: mol pqr: a quote is not closed"},
        {"read mol pqr \"\" end", "the name is empty"},
        {"read mol pqr \"a\x07\" end", "control character"},
        {"read mol sdf a end", "mol 'sdf': expected mol pqr FILE"},
        {"read molecule a end", "unknown word 'molecule' in a READ section"},
        {READ "elec dime 5 5 5 end", "a.in:2: 'dime': an ELEC section begins with"},
        {READ "elec", "an ELEC section begins with"},
        {READ "elec mg-manual\ndime 65 65\nend", "a.in:4: dime: 'end' is not an integer"},
        {READ "elec mg-manual dime 2 65 65 end", "dime: '2' is not an integer from 3 to 1000000"},
        {READ "elec mg-manual dime 65.5 65 65 end", "dime: '65.5' is not an integer"},
        {READ "elec mg-manual\nsdei 80 end", "a.in:3: unknown word 'sdei' in an ELEC section"},
        {READ "elec mg-manual sdie 80 80 end", "unknown word '80'"},
        {READ "elec mg-manual sdie eighty end", "sdie: 'eighty' is not a number"},
        {READ "elec mg-manual sdie nan end", "sdie: 'nan' is not a number"},
        {READ "elec mg-manual sdie 0x10 end", "sdie: '0x10' is not a number"},
        {READ "elec mg-manual sdie 0 end", "sdie: 0 is out of range; expected 1 to"},
        {READ "elec mg-manual srad -1 end", "srad: -1 is out of range"},
        {READ "elec mg-manual temp 0 end", "temp: 0 is out of range"},
        {READ "elec mg-manual glen 0 1 1 end", "glen: 0 is out of range"},
        {READ "elec mg-manual mol 0 end", "mol: '0' is not an integer from 1"},
        {READ "elec mg-manual bcfl mdx end", "bcfl: 'mdx' is unknown"},
        {READ "elec mg-manual lpbe\nnpbe end", "a.in:3: lpbe and npbe exclude each other, and one is in line 2"},
        {READ "elec mg-manual ion charge 1 charge 1 radius 2 end", "ion: charge is given twice"},
        {READ "elec mg-manual ion charge 1 conc -1 radius 2 end", "ion: -1 is out of range"},
        {READ "elec mg-manual fglen 5 5 5 end", "fglen is of mg-auto, but this section is mg-manual"},
        {READ "elec mg-auto glen 5 5 5 end", "glen is of mg-manual, but this section is mg-auto"},
        {READ "elec mg-manual chgm end", "chgm: a value is missing behind it"},
        {READ "elec " MANUAL, "the ELEC section of line 2 has no END"},
        {READ "elec " MANUAL "grid 1 1 1 end", "grid and glen are both in"},
        {READ "elec " MANUAL "mol 2 end", "a.in:2: this ELEC section uses molecule 2, but READ has 1"},
        {READ "elec " MANUAL "gcent mol 3 end", "uses molecule 3"},
        {READ "elec " MANUAL "ion 1 0.1 2 ion -1 0.2 2 end", "net charge of -0.1 e mol/L"},
        {READ "elec name a " MANUAL "end\nelec name a " MANUAL "end", "a.in:3: name: the ELEC section of line 2 has"},
        {READ "elec name a name b " MANUAL "end", "name: this section has a name already"},
        {READ "elec mg-manual dime 5 5 5 gcent mol 1 mol 1 pdie 2 sdie 80 srfm mol srad 1 temp 300 end",
         "neither lpbe"},
        {READ "elec mg-manual dime 5 5 5 gcent mol 1 mol 1 lpbe pdie 2 sdie 80 srfm mol srad 1 temp 300 end",
         "neither grid nor glen"},
        {READ "elec mg-manual dime 5 5 5 glen 5 5 5 gcent mol 1 mol 1 lpbe pdie 2 sdie 80 srfm mol srad 1 end",
         "temp is missing"},
        {READ "elec mg-auto dime 5 5 5 fglen 5 5 5 fgcent mol 1 cgcent mol 1 mol 1 lpbe pdie 2 sdie 80 srfm mol srad 1 "
              "temp 300 end",
         "cglen is missing"},
        {READ
         "elec mg-manual dime 1000 5 5 grid 500 1 1 gcent mol 1 mol 1 lpbe pdie 2 sdie 80 srfm mol srad 1 temp 300 "
         "end",
         "is 499500 angstrom long"},
        {READ "print elecEnergy 1 end", "PRINT: '1' is no ELEC section before it"},
        {READ "elec name a " MANUAL "end print elecEnergy b end", "PRINT: 'b' is no ELEC section"},
        {READ "elec name a " MANUAL "end print elecEnergy 0 end", "PRINT: '0' is no ELEC section"},
        {READ "elec name a " MANUAL "end print elecEnergy 99999999999999999999 end", "is no ELEC section"},
        {READ "elec name a " MANUAL "end print elecEnergy a a end", "PRINT: expected +, - or END, not 'a'"},
        {READ "elec name a " MANUAL "end print elecEnergy a -a end", "not '-a'; put blanks around the signs"},
        {READ "elec name a " MANUAL "end print elecEnergy a - end", "'end' is no ELEC section"},
        {READ "elec name a " MANUAL "end print elecEnergy", "'' is no ELEC section"},
        {READ "elec name a " MANUAL "end print energies a end", "PRINT 'energies': expected print elecEnergy"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(cases[i][0], strlen(cases[i][0]), VF_ERR_INPUT, cases[i][1]);
    expect_refused("read\0", 5, VF_ERR_INPUT, "a.in: has zero bytes");
}

/* What APBS can do and cionize cannot. Each message says what to do. */
static void test_unsupported(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"read\nmol pdb a.pdb end", "a.in:2: mol pdb: |pdb2pqr"},
        {"read mol xml a.xml end", "mol xml: |pqr"},
        {"read parm flat a.dat end", "READ parm: |PQR"},
        {"read diel dx x.dx y.dx z.dx end", "READ diel: |remove"},
        {"read kappa dx x.dx end", "READ kappa: |remove"},
        {"read mesh mcsf x.m end", "READ mesh: |remove"},
        {READ "elec name a\nmg-para", "a.in:3: mg-para: |mg-auto|dime"},
        {READ "elec mg-dummy", "mg-dummy: |mg-manual"},
        {READ "elec fe-manual", "fe-manual: |mg-auto"},
        {READ "elec bem-manual", "bem-manual: |mg-auto"},
        {READ "elec geoflow-auto", "geoflow-auto: |mg-auto"},
        {READ "elec pbsam-auto", "pbsam-auto: |mg-auto"},
        {READ "elec mg-manual srfm spl2", "srfm spl2: |srfm mol"},
        {READ "elec mg-manual srfm spl4", "srfm spl4: |srfm mol"},
        {READ
         "elec mg-manual ion 1 0 2 ion 1 0 2 ion 1 0 2 ion 1 0 2 ion 1 0 2 ion 1 0 2 ion 1 0 2 ion 1 0 2 ion 1 0 2 "
         "ion 1 0 2 ion 1 0 2",
         "ion: |at most 10"},
        {READ "elec mg-manual bcfl map", "bcfl map: |bcfl mdh"},
        {READ "elec mg-manual bcfl mem", "bcfl mem: |bcfl mdh"},
        {READ "elec mg-manual mdie 2", "mdie: |membranes"},
        {READ "elec mg-manual lrpbe", "lrpbe: |use lpbe"},
        {READ "elec mg-manual smpbe vol 1 size 1", "smpbe: |use lpbe"},
        {READ "elec mg-manual usemap diel 1", "usemap: |remove"},
        {READ "elec mg-manual calcforce total", "calcforce total: |calcforce no"},
        {READ "elec mg-manual write dielx dx a", "write dielx: |write pot"},
        {READ "elec mg-manual write pot uhbd a", "write pot uhbd: |dx or gz"},
        {READ "elec mg-manual writemat poisson a", "writemat: |remove"},
        {READ "apolar", "APOLAR: |remove"},
        {READ "elec name a " MANUAL "end print apolEnergy a end", "PRINT apolEnergy: |elecEnergy"},
        {READ "elec name a " MANUAL "end print elecForce a end", "PRINT elecForce: |elecEnergy"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(cases[i][0], strlen(cases[i][0]), VF_ERR_UNSUPPORTED, cases[i][1]);
}

TEST_MAIN(open_context, close_context, cmocka_unit_test(test_a_whole_file),
          cmocka_unit_test(test_ignored_words_are_said_once), cmocka_unit_test(test_forms),
          cmocka_unit_test(test_random_numbers), cmocka_unit_test(test_repeated_words), cmocka_unit_test(test_wrong),
          cmocka_unit_test(test_unsupported))
