/* The run report, character by character, with its stages and times. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "locale_fixture.h"
#include "test_main.h"
#include "voxfield/report.h"
#include "voxfield/version.h"

static vf_context *ctx;
static char path[4096], text[1 << 16];

static int make_context(void **state)
{
    (void)state;
    const char *root = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/test_report.%ld.json", root ? root : "/tmp", (long)getpid());
    return vf_context_create(&ctx) != VF_OK;
}

static int free_context(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    unlink(path);
    return 0;
}

static vf_report *create(void)
{
    vf_report *report = NULL;
    assert_int_equal(vf_report_create(ctx, path, &report), VF_OK);
    assert_non_null(report);
    return report;
}

static const char *finish(vf_report *report)
{
    assert_int_equal(vf_report_commit(&report), VF_OK);
    assert_null(report);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void test_layout(void **state)
{
    (void)state;
    const double numbers[] = {1, -0.5, INFINITY};
    const int64_t integers[] = {INT64_MIN, 0, INT64_MAX};
    const char *const texts[] = {"a", "b \"c\""};
    vf_report *r = create();
    vf_report_text(r, "text", "plain");
    vf_report_integer(r, "integer", -42);
    vf_report_bool(r, "true", true);
    vf_report_bool(r, "false", false);
    vf_report_begin(r, "object");
    vf_report_numbers(r, "numbers", numbers, 3);
    vf_report_begin(r, "empty");
    vf_report_end(r);
    vf_report_integers(r, "integers", integers, 3);
    vf_report_end(r);
    vf_report_texts(r, "texts", texts, 2);
    vf_report_numbers(r, "none", numbers, 0);
    assert_int_equal(access(path, F_OK), -1); /* not before the commit */
    assert_string_equal(finish(r), "{\n"
                                   "  \"text\": \"plain\",\n"
                                   "  \"integer\": -42,\n"
                                   "  \"true\": true,\n"
                                   "  \"false\": false,\n"
                                   "  \"object\": {\n"
                                   "    \"numbers\": [1, -0.5, null],\n"
                                   "    \"empty\": {\n"
                                   "    },\n"
                                   "    \"integers\": [-9223372036854775808, 0, 9223372036854775807]\n"
                                   "  },\n"
                                   "  \"texts\": [\"a\", \"b \\\"c\\\"\"],\n"
                                   "  \"none\": []\n"
                                   "}\n");
}

static void test_open_objects_are_ended(void **state)
{
    (void)state;
    vf_report *r = create();
    vf_report_begin(r, "a");
    vf_report_begin(r, "b");
    vf_report_integer(r, "c", 1);
    assert_string_equal(finish(r), "{\n  \"a\": {\n    \"b\": {\n      \"c\": 1\n    }\n  }\n}\n");
    assert_string_equal(finish(create()), "{\n}\n");
}

/* RFC 8259: what must be escaped; RFC 3629: what is UTF-8. */
static void test_strings(void **state)
{
    (void)state;
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *value, *expected;
    } cases[] = {
        {"", ""},
        {"\"\\/", "\\\"\\\\/"},
        {"\x01\t\n\x1f\x7f", "\\u0001\\u0009\\u000a\\u001f\x7f"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"latin \xe9!", "latin " BAD "!"},
        {"\x80x\xbf", BAD "x" BAD},
        {"\xc0\xaf", BAD BAD},                 /* overlong */
        {"\xe0\x80\xaf", BAD BAD BAD},         /* overlong */
        {"\xed\xa0\x80", BAD BAD BAD},         /* a surrogate */
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond U+10FFFF */
        {"\xf5\x80", BAD BAD},
        {"\xe2\x82", BAD BAD}, /* cut off at the end */
        {"\xf0\x9f\x98", BAD BAD BAD},
        {"\xc3(", BAD "("},
        {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[200];
        vf_report *r = create();
        vf_report_text(r, "k\"", cases[i].value);
        snprintf(expected, sizeof expected, "{\n  \"k\\\"\": \"%s\"\n}\n", cases[i].expected);
        assert_string_equal(finish(r), expected);
    }
}

static void check_numbers(void)
{
    static const double values[] = {0,
                                    1,
                                    -1,
                                    0.1,
                                    1.0 / 3,
                                    1e300,
                                    -1e-300,
                                    5e-324,
                                    100000,
                                    1e6,
                                    1234567,
                                    3.14159,
                                    2.5e-5,
                                    14.3996454796,
                                    0x1.fffffp1,
                                    1e15,
                                    123456789012345678.0};
    enum { N = sizeof values / sizeof *values };
    vf_report *r = create();
    vf_report_numbers(r, "v", values, N);
    vf_report_number(r, "nan", NAN);
    vf_report_number(r, "infinity", -INFINITY);
    vf_report_number(r, "tenth", 0.1);
    const char *at = strchr(finish(r), '[') + 1;
    for (int i = 0; i < N; i++) { /* the same number, in the fewest digits, never with the locale's comma */
        char token[64], shorter[64];
        int n = (int)strcspn(at, ",]");
        snprintf(token, sizeof token, "%.*s", n, at);
        assert_int_equal(strspn(token, " 0123456789.eE+-"), strlen(token));
        at += n + 1;
        const char *old = setlocale(LC_NUMERIC, NULL);
        char keep[128];
        snprintf(keep, sizeof keep, "%s", old);
        setlocale(LC_NUMERIC, "C");
        double back = strtod(token, NULL);
        snprintf(shorter, sizeof shorter, "%.*g", 5, values[i]);
        setlocale(LC_NUMERIC, keep);
        if (back != values[i])
            fail_msg("%a became %s", values[i], token);
    }
    assert_non_null(strstr(text, "\"nan\": null"));
    assert_non_null(strstr(text, "\"infinity\": null"));
    assert_non_null(strstr(text, "\"tenth\": 0.1\n"));
}

static void test_numbers(void **state)
{
    (void)state;
    check_numbers();
}

/* If the system does not have the locale: with LOCPATH at a folder that has it. */
static void test_numbers_in_another_locale(void **state)
{
    (void)state;
    begin_decimal_comma();
    check_numbers();
    setlocale(LC_ALL, "C");
}

static void test_no_report(void **state)
{
    (void)state;
    vf_report *none = NULL;
    const vf_stages stages = {0};
    vf_report_text(none, "a", "b");
    vf_report_number(none, "a", 1);
    vf_report_integer(none, "a", 1);
    vf_report_bool(none, "a", true);
    vf_report_numbers(none, "a", NULL, 0);
    vf_report_integers(none, "a", NULL, 0);
    vf_report_texts(none, "a", NULL, 0);
    vf_report_begin(none, "a");
    vf_report_end(none);
    vf_report_run(none, "p", 0, NULL);
    vf_report_stages(none, &stages);
    assert_int_equal(vf_report_commit(&none), VF_OK);
    vf_report_discard(&none);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_failures(void **state)
{
    (void)state;
    vf_report *r = (vf_report *)&r;
    assert_int_equal(vf_report_create(ctx, "/no/such/folder/r.json", &r), VF_ERR_OUTPUT);
    assert_null(r);
    assert_non_null(strstr(vf_context_message(ctx), "/no/such/folder/r.json"));
    vf_context_clear_error(ctx);

    assert_int_equal(vf_report_create(ctx, "/dev/full", &r), VF_OK);
    for (int i = 0; i < 100000; i++) /* more than any buffer: the first failure is kept, and later ones are not
                                      * reported */
        vf_report_text(r, "key", "a value of some length that fills the disk in the end");
    assert_int_equal(vf_report_commit(&r), VF_ERR_OUTPUT);
    assert_null(r);
    assert_non_null(strstr(vf_context_message(ctx), "/dev/full: cannot write: No space left on device"));
    vf_context_clear_error(ctx);

    r = create();
    vf_report_text(r, "a", "b");
    vf_report_discard(&r);
    assert_null(r);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_run(void **state)
{
    (void)state;
    char *argv[] = {"prog", "-o", "a b", NULL};
    vf_stages stages = {0};
    vf_stage_begin(&stages, "one");
    vf_stage_begin(&stages, "two");
    vf_stage_end(&stages);
    vf_report *r = create();
    vf_report_run(r, "prog", 3, argv);
    vf_report_stages(r, &stages);
    finish(r);
    assert_non_null(strstr(text, "\"program\": \"prog\",\n  \"voxfield\": \"" VF_VERSION "\",\n  \"started\": \"20"));
    assert_non_null(strstr(text, "\"command\": [\"prog\", \"-o\", \"a b\"]"));
    assert_non_null(strstr(text, "\"seconds\": {\n    \"one\": "));
    assert_non_null(strstr(text, ",\n    \"two\": "));
    assert_non_null(strstr(text, "},\n  \"processor_seconds\": {\n    \"one\": "));
}

/* ---- timer.h ---- */

/* Sleeping takes no processor time, and work does, even where other programs use the processors. */
static void test_processor_seconds(void **state)
{
    (void)state;
    vf_stages s = {0};
    vf_stage_begin(&s, "sleep");
    usleep(50000);
    vf_stage_begin(&s, "work");
    const double began = vf_processor_now();
    while (vf_processor_now() - began < 0.02)
        ;
    vf_stage_end(&s);
    assert_true(s.stage[0].processor >= 0 && s.stage[0].processor < s.stage[0].seconds / 2);
    assert_true(s.stage[1].processor >= 0.02 && s.stage[1].processor < 0.03);
    assert_true(s.stage[1].seconds > 0.015); /* one thread; the clocks' ticks differ */
}

static void test_stages(void **state)
{
    (void)state;
    static const char *const many[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                       "j", "k", "l", "m", "n", "o", "p", "q", "r"};
    vf_stages s = {0};
    double began = vf_now();
    vf_stage_end(&s); /* none is running */
    vf_stage_begin(&s, "read");
    usleep(20000);
    vf_stage_begin(&s, "write"); /* ends the previous one */
    usleep(1000);
    vf_stage_begin(&s, "read"); /* adds to its time */
    usleep(20000);
    vf_stage_end(&s);
    vf_stage_end(&s);
    double wall = vf_now() - began;
    double reading = vf_stage_seconds(&s, "read"), writing = vf_stage_seconds(&s, "write");
    assert_int_equal(s.count, 2);
    assert_true(reading >= 0.04 && writing >= 0.001 && reading + writing <= wall);
    assert_true(vf_stage_seconds(&s, "nothing") == 0);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        vf_stage_begin(&s, many[i]);
    vf_stage_end(&s);
    assert_int_equal(s.count, VF_MAX_STAGES);
    assert_true(vf_stage_seconds(&s, "read") == reading);
}

static void test_clock(void **state)
{
    (void)state;
    double last = vf_now();
    for (int i = 0; i < 100000; i++) {
        double now = vf_now();
        assert_true(now >= last);
        last = now;
    }
    usleep(10000);
    assert_true(vf_now() - last >= 0.01);
}

static void test_seconds_and_bytes(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } seconds[] = {{0, "0 ms"},           {0.0321, "32.1 ms"},   {0.9994, "999 ms"},        {0.9996, "1 s"},
                   {3.2, "3.2 s"},        {99.94, "99.9 s"},     {99.96, "1 min 39 s"},     {250, "4 min 10 s"},
                   {5969, "99 min 29 s"}, {7500, "2 h 05 min"},  {9e6, "2500 h 00 min"},    {3.15576e8, "10 years"},
                   {-1, "unknown time"},  {NAN, "unknown time"}, {INFINITY, "unknown time"}},
      bytes[] = {{0, "0 bytes"},
                 {999, "999 bytes"},
                 {999.7, "0.976 KiB"},
                 {1024, "1 KiB"},
                 {310.0 * 1048576, "310 MiB"},
                 {999.6 * 1048576, "0.976 GiB"},
                 {1.5 * 0x1p40, "1.5 TiB"},
                 {0x1p90, "1.07e+09 EiB"}};
    char out[32];
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        assert_string_equal(vf_format_seconds(seconds[i].value, out, sizeof out), seconds[i].expected);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_string_equal(vf_format_bytes(bytes[i].value, out, sizeof out), bytes[i].expected);
    for (double v = 1; v < 1e20; v *= 1.013) /* three digits, and no exponent as long as there is a unit */
        assert_null(strchr(vf_format_bytes(v, out, sizeof out), '+'));
}

static void test_plural(void **state)
{
    (void)state;
    const int64_t several[] = {-1, 0, 2, 10, INT64_MAX};
    assert_string_equal(vf_plural(1), "");
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        assert_string_equal(vf_plural(several[i]), "s");
}

/* Elapsed time is shown, whether the share is known or not; not too often, and not for a line that has ended. */
static void check_ticks(FILE *stream)
{
    vf_progress p;
    for (int known = 0; known < 2; known++) {
        vf_progress_begin(&p, stream, VF_PROGRESS_ON, known ? "solving" : "reading", known ? 4 : 0, 1, NULL);
        vf_progress_add(&p, 1);
        vf_progress_tick(&p);
        p.began -= 40;
        p.drawn -= 40;
        vf_progress_tick(&p);
        vf_progress_tick(&p);
        vf_progress_end(&p);
        p.drawn -= 40;
        vf_progress_tick(&p);
    }
}

static void test_progress(void **state)
{
    (void)state;
    char *shown = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&shown, &size); /* no terminal */
    assert_non_null(stream);
    vf_progress p;
    vf_progress_begin(&p, stream, VF_PROGRESS_AUTO, "computing", 200, 1e-9, "G things");
    vf_progress_update(&p, 100);
    vf_progress_end(&p);
    vf_progress_begin(&p, stream, VF_PROGRESS_OFF, "computing", 200, 1e-9, "G things");
    vf_progress_update(&p, 100);
    vf_progress_end(&p);
    fflush(stream);
    assert_int_equal(size, 0);
    vf_progress_begin(&p, stream, VF_PROGRESS_ON, "computing", 200e9, 1e-9, "G things");
    vf_progress_update(&p, 50e9); /* too soon: a line every ten seconds */
    fflush(stream);
    assert_int_equal(size, 0);
    p.began -= 20005;
    p.drawn -= 20;
    vf_progress_update(&p, 0); /* no rate is known yet */
    fflush(stream);
    assert_int_equal(size, 0);
    vf_progress_update(&p, 50e9);
    vf_progress_update(&p, 60e9);
    vf_progress_end(&p);
    vf_progress_begin(&p, stream, VF_PROGRESS_ON, "solving", 10, 1, NULL);
    for (int i = 0; i < 4; i++) { /* parts add up; no unit, no rate */
        p.began -= i < 3 ? 0 : 4020;
        p.drawn -= i < 3 ? 0 : 40;
        vf_progress_add(&p, 1);
    }
    vf_progress_end(&p);
    vf_progress_begin(&p, stream, VF_PROGRESS_ON, "reading", 0, 1, NULL);
    p.drawn -= 40;
    vf_progress_add(&p, 1); /* of an unknown total */
    vf_progress_end(&p);
    check_ticks(stream);
    fclose(stream);
    assert_string_equal(shown, "computing  25 %, 0.0025 G things/s, 16 h 40 min left\nsolving  40 %, 1 h 40 min left\n"
                               "reading ... 40 s\nsolving  25 %, 2 min 00 s left\n");
    free(shown);
}

/* The output to a terminal of `columns` (0: unknown) for a half finished line, in whole minutes: a busy machine does not
 * change them. */
static void check_terminal(unsigned short columns, const char *title, const char *expected)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    FILE *stream = fopen(ptsname(master), "w");
    assert_non_null(stream);
    const struct winsize size = {.ws_col = columns, .ws_row = 25};
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    vf_progress p;
    vf_progress_begin(&p, stream, VF_PROGRESS_AUTO, title, 4, 1, NULL);
    p.began -= 7230;
    p.drawn -= 1;
    vf_progress_add(&p, 2);
    vf_progress_end(&p);
    char shown[256] = "";
    enum { MOST = sizeof shown - 1 };
    /* The terminal's driver delivers it later, in pieces. */
    struct pollfd ready = {.fd = master, .events = POLLIN};
    for (size_t length = 0; length < MOST && length < strlen(expected) && poll(&ready, 1, 10000) == 1;) {
        ssize_t more = read(master, shown + length, MOST - length);
        if (more <= 0)
            break;
        length += (size_t)more;
    }
    assert_string_equal(shown, expected);
    fclose(stream);
    close(master);
}

/* On a terminal: the title at once, each line over the previous one, truncated to the width, and a clean line at the
 * end. */
static void test_progress_on_a_terminal(void **state)
{
    (void)state;
    check_terminal(0, "Q", "\rQ ...\rQ  50 %, 2 h 00 min left\r                        \r");
    check_terminal(80, "Q", "\rQ ...\rQ  50 %, 2 h 00 min left\r                        \r");
    check_terminal(9, "title", "\rtitle ..\rtitle  5\r        \r");
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_context, free_context)

TEST_MAIN(NULL, NULL, TEST(test_layout), TEST(test_open_objects_are_ended), TEST(test_strings), TEST(test_numbers),
          TEST(test_numbers_in_another_locale), TEST(test_no_report), TEST(test_failures), TEST(test_run),
          cmocka_unit_test(test_processor_seconds), cmocka_unit_test(test_stages), cmocka_unit_test(test_clock),
          cmocka_unit_test(test_seconds_and_bytes), cmocka_unit_test(test_plural), cmocka_unit_test(test_progress),
          cmocka_unit_test(test_progress_on_a_terminal))
