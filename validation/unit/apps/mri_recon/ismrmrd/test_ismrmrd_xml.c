/* The header of ISMRMRD files: what the reader finds, common mistakes of real files, and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ismrmrd/ismrmrd_xml.h"
#include "voxfield/append.h"

static vf_context *ctx;
static ismrmrd_protocol p;
static char said[1024];

static void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user, (void)level;
    snprintf(said, sizeof said, "%s", text);
}

static int set_up(void **state)
{
    (void)state;
    said[0] = 0;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_context_set_log(ctx, keep_log, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return 0;
}

static void parse(const char *text, size_t size)
{
    vf_status status = ismrmrd_parse_xml(ctx, "scan.h5", text, size, &p);
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
}

static void expect_refusal(const char *text, const char *words)
{
    vf_status status = ismrmrd_parse_xml(ctx, "scan.h5", text, strlen(text), &p);
    const char *message = vf_context_message(ctx);
    if (status != VF_ERR_INPUT || strncmp(message, "scan.h5: ", 9) != 0 || !strstr(message, words))
        fail_msg("got %s, '%s', not '%s'", vf_status_name(status), message, words);
    vf_context_clear_error(ctx);
}

static const char WHOLE[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!-- a comment --><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">"
    "<acquisitionSystemInformation><receiverChannels>8</receiverChannels>"
    "<relativeReceiverNoiseBandwidth>0.793</relativeReceiverNoiseBandwidth></acquisitionSystemInformation>"
    "<encoding>"
    "<encodedSpace><matrixSize><x>256</x><y> 140\n</y><z>80</z></matrixSize>"
    "<fieldOfView_mm><x>600</x><y>300.53</y><z>1.6e2</z></fieldOfView_mm></encodedSpace>"
    "<reconSpace><matrixSize><x>128</x><y>120</y><z>64</z></matrixSize>"
    "<fieldOfView_mm><x>300</x><y>257.5</y><z>128</z></fieldOfView_mm></reconSpace>"
    "<encodingLimits><kspace_encoding_step_1><minimum>1</minimum><maximum>139</maximum><center>70</center>"
    "</kspace_encoding_step_1><kspace_encoding_step_2><minimum>0</minimum><maximum>79</maximum><center>40</center>"
    "</kspace_encoding_step_2><slice><minimum>0</minimum><maximum>3</maximum><center>2</center></slice>"
    "</encodingLimits><trajectory>spiral</trajectory>"
    "<trajectoryDescription><identifier>x</identifier></trajectoryDescription>"
    "</encoding></ismrmrdHeader>";

static void expect_whole(void)
{
    static const int64_t encoded[3] = {256, 140, 80}, recon[3] = {128, 120, 64};
    static const double encoded_fov[3] = {600, 300.53, 160}, recon_fov[3] = {300, 257.5, 128};
    assert_memory_equal(p.encoding[0].encoded.matrix, encoded, sizeof encoded);
    assert_memory_equal(p.encoding[0].recon.matrix, recon, sizeof recon);
    assert_memory_equal(p.encoding[0].encoded.fov, encoded_fov, sizeof encoded_fov);
    assert_memory_equal(p.encoding[0].recon.fov, recon_fov, sizeof recon_fov);
    assert_int_equal(p.encoding[0].step_1.minimum, 1);
    assert_int_equal(p.encoding[0].step_1.maximum, 139);
    assert_int_equal(p.encoding[0].step_1.center, 70);
    assert_int_equal(p.encoding[0].step_2.center, 40);
    assert_string_equal(p.encoding[0].trajectory, "spiral");
    assert_true(p.noise_bandwidth == 0.793);
    assert_int_equal(p.encodings, 1);
}

static void test_whole_header(void **state)
{
    (void)state;
    parse(WHOLE, sizeof WHOLE - 1);
    expect_whole();
    assert_string_equal(said, "");
}

static void test_what_is_missing_stays_unknown(void **state)
{
    (void)state;
    const char text[] = "<ismrmrdHeader><encoding><trajectory>Cartesian</trajectory><encodedSpace><matrixSize>"
                        "<x>abc</x><y>12.5</y><z>1e99</z></matrixSize><fieldOfView_mm><x>nan</x><y/></fieldOfView_mm>"
                        "</encodedSpace></encoding></ismrmrdHeader>";
    parse(text, sizeof text - 1);
    for (int a = 0; a < 3; a++) {
        assert_int_equal(p.encoding[0].encoded.matrix[a], 0);
        assert_true(p.encoding[0].encoded.fov[a] == 0);
        assert_int_equal(p.encoding[0].recon.matrix[a], 0);
    }
    assert_int_equal(p.encoding[0].step_1.center, -1);
    assert_int_equal(p.encoding[0].step_2.maximum, -1);
    assert_true(p.noise_bandwidth == 1);
    assert_string_equal(p.encoding[0].trajectory, "cartesian");
}

static void test_names_with_prefix_and_case(void **state)
{
    (void)state;
    const char text[] = "<m:IsmrmrdHeader xmlns:m='u'><m:Encoding><m:encodedspace><m:MATRIXSIZE><m:x>7</m:x>"
                        "</m:MATRIXSIZE></m:encodedspace></m:Encoding></m:IsmrmrdHeader>";
    parse(text, sizeof text - 1);
    assert_int_equal(p.encoding[0].encoded.matrix[0], 7);
}

static void test_second_encoding_is_counted_only(void **state)
{
    (void)state;
    const char text[] = "<ismrmrdHeader><encoding><trajectory>epi</trajectory></encoding><encoding><encodedSpace>"
                        "<matrixSize><x>9</x></matrixSize></encodedSpace><trajectory>radial</trajectory></encoding>"
                        "</ismrmrdHeader>";
    parse(text, sizeof text - 1);
    assert_int_equal(p.encodings, 2);
    assert_int_equal(p.encoding[0].encoded.matrix[0], 0);
    assert_string_equal(p.encoding[0].trajectory, "epi");
}

static void test_same_names_elsewhere(void **state)
{
    (void)state;
    const char text[] = "<ismrmrdHeader><userParameters><encoding><trajectory>radial</trajectory></encoding>"
                        "</userParameters><encoding><parallelImaging><accelerationFactor><kspace_encoding_step_1>"
                        "<center>3</center></kspace_encoding_step_1></accelerationFactor></parallelImaging></encoding>"
                        "</ismrmrdHeader>";
    parse(text, sizeof text - 1);
    assert_int_equal(p.encodings, 1);
    assert_string_equal(p.encoding[0].trajectory, "");
    assert_int_equal(p.encoding[0].step_1.center, -1);
}

static void test_encodings_of_text(void **state)
{
    (void)state;
    char text[sizeof WHOLE + 64];
    snprintf(text, sizeof text, "%s", WHOLE);
    char *comment = strstr(text, "a comment");
    comment[2] = (char)0xfc; /* u with dots in Latin-1, which is invalid UTF-8 */
    parse(text, strlen(text));
    expect_whole();
    assert_non_null(strstr(said, "reading it as Latin-1"));
    for (int other = 0; other < 3;
         other++) { /* encodings that expat does not know: no word if the bytes are ASCII or UTF-8 */
        snprintf(text, sizeof text, "<?xml version=\"1.0\" encoding=\"%s\"?>%s", other ? "UTF8" : "windows-9999",
                 strstr(WHOLE, "<!--"));
        if (other == 2)
            strstr(text, "a comment")[2] = (char)0xfc;
        said[0] = '\0';
        parse(text, strlen(text));
        expect_whole();
        assert_int_equal(strstr(said, "reading it as Latin-1") != NULL, other == 2);
    }
    uint16_t wide[sizeof WHOLE + 1] = {0xfeff};
    char declared[sizeof WHOLE + 64];
    size_t size = (size_t)snprintf(declared, sizeof declared, "%s", strstr(WHOLE, "<!--"));
    for (size_t i = 0; i < size; i++)
        wide[i + 1] = (uint16_t)declared[i];
    parse((const char *)wide, 2 * (size + 1));
    expect_whole();
}

static void test_what_is_refused(void **state)
{
    (void)state;
    expect_refusal("", "no element found");
    expect_refusal("matrix 64", "xml: line 1: ");
    expect_refusal("<ismrmrdHeader>\n<encoding>\n</ismrmrdHeader>", "xml: line 3: mismatched tag");
    expect_refusal("<ismrmrdHeader></ismrmrdHeader>", "ismrmrdHeader/encoding is missing");
    expect_refusal("<other><encoding/></other>", "ismrmrdHeader/encoding is missing");
    expect_refusal("<ismrmrdHeader><encoding/></ismrmrdHeader>trailing", "xml: line 1: ");
    char deep[8 * 100 + 1] = "";
    for (int i = 0; i < 100; i++)
        strcat(deep, "<deeper>");
    expect_refusal(deep, "elements nested more than 64 deep");
}

/* Ten entities, each ten times the previous one: a few bytes of text would become gigabytes. */
static void test_entities(void **state)
{
    (void)state;
    char text[4096] = "<?xml version=\"1.0\"?>\n<!DOCTYPE ismrmrdHeader [\n<!ENTITY a0 \"lots\">\n";
    for (int level = 1; level < 10; level++) {
        vf_append(text, sizeof text, "<!ENTITY a%d \"", level);
        for (int i = 0; i < 10; i++)
            vf_append(text, sizeof text, "&a%d;", level - 1);
        vf_append(text, sizeof text, "\">\n");
    }
    strcat(text, "]><ismrmrdHeader><encoding><trajectory>&a9;</trajectory></encoding></ismrmrdHeader>");
    expect_refusal(text, "xml: line 3 declares an entity");
    expect_refusal("<!DOCTYPE ismrmrdHeader [<!ENTITY file SYSTEM \"file:///etc/passwd\">]>"
                   "<ismrmrdHeader><encoding><trajectory>&file;</trajectory></encoding></ismrmrdHeader>",
                   "declares an entity");
    expect_refusal("<ismrmrdHeader><encoding><trajectory>&undeclared;</trajectory></encoding></ismrmrdHeader>",
                   "undefined entity");
    const char standard[] = "<ismrmrdHeader><encoding><trajectory>&#115;piral&amp;</trajectory></encoding>"
                            "</ismrmrdHeader>";
    parse(standard, sizeof standard - 1);
    assert_string_equal(p.encoding[0].trajectory, "spiral&");
}

static void test_long_header(void **state)
{
    (void)state;
    size_t size = ISMRMRD_XML_MOST + 1;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, ' ', size);
    memcpy(text, "<a>", 3);
    text[size] = 0;
    expect_refusal(text, "the header has 16777217 bytes");
    free(text);
}

/* Long names, values and paths are truncated or omitted, without buffer overflows. */
static void test_long_names(void **state)
{
    (void)state;
    char name[600], text[4096];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    snprintf(text, sizeof text,
             "<ismrmrdHeader><%s><%s/></%s><encoding><trajectory>%s</trajectory><%.200s><%.60s/></%.200s></encoding>"
             "</ismrmrdHeader>",
             name, name, name, name, name, name, name);
    parse(text, strlen(text));
    assert_int_equal(strlen(p.encoding[0].trajectory), ISMRMRD_WORD - 1);
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_whole_header),
                                       TEST(test_what_is_missing_stays_unknown),
                                       TEST(test_names_with_prefix_and_case),
                                       TEST(test_second_encoding_is_counted_only),
                                       TEST(test_same_names_elsewhere),
                                       TEST(test_encodings_of_text),
                                       TEST(test_what_is_refused),
                                       TEST(test_entities),
                                       TEST(test_long_header),
                                       TEST(test_long_names)};
    /* Without expat there is nothing to test. */
    if (set_up(NULL) == 0 && ismrmrd_parse_xml(ctx, "x", "", 0, &p) == VF_ERR_UNSUPPORTED) {
        printf("SKIP: built without expat\n");
        tear_down(NULL);
        return 77;
    }
    tear_down(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
