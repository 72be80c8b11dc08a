/* Options from a table: arguments, ranges, combinations, --help and the manual page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "refusal_fixture.h"
#include "test_main.h"

typedef struct settings {
    const char *input, *output, *group, *unit;
    bool quiet, fast, has_border;
    int level, method;
    int64_t seed, counts[3];
    double border, accuracy, spacing[3];
    int customs;
} settings;

static vf_status custom(vf_context *ctx, const char *option, const char *text, void *to)
{
    ((settings *)to)->customs++;
    return strcmp(text, "bad") == 0 ? vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': bad", option, text) : VF_OK;
}

static const option_choice methods[] = {{"direct", 3, "the exact sum"}, {"fast", 5, "an estimate"}, {0}};
static const option_choice speeds[] = {{"slow", false, NULL}, {"quick", true, NULL}, {0}};
static const option_choice units[] = {{"V", 0, NULL}, {"kT/e", 0, NULL}, {0}};

#define TO(member) OPTION_TO(settings, member)

static const program_option table[] = {
    {OPTION_GROUP, .name = "Files", .help = "Names of files."},
    {OPTION_WRITE, .letter = 'o', .name = "output", .argument = "FILE", TO(output), .help = "the file"},
    {OPTION_TEXT, .name = "group", .argument = "NAME", TO(group), .help = "a group"},
    {OPTION_GROUP, .name = "Numbers"},
    {OPTION_NUMBER, .name = "border", .argument = "B", TO(border), OPTION_GIVEN(settings, has_border), .least = -2,
     .most = 10, .unit = "mm", .initial = "2.5", .help = "a margin", .excludes = "spacing method=fast",
     .why = "both set the extent", .more = "As in `a.b` with --spacing. Not more."},
    {OPTION_NUMBER, .name = "accuracy", .argument = "A", TO(accuracy), .least = 1e-14, .most = 0.1,
     .default_help = "1e-6", .help = "an error", .needs = "method=fast"},
    {OPTION_TRIPLE, .name = "spacing", .argument = "X,Y,Z", TO(spacing), .least = 0.5, .most = 4, .initial = "1",
     .help = "a distance"},
    {OPTION_INTEGER, .name = "level", .argument = "N", TO(level), .least = 0, .most = 9, .help = "a level",
     .needs = "output group"},
    {OPTION_INTEGER, .name = "seed", .argument = "N", TO(seed), .least = 0, .most = INFINITY, .help = "a seed"},
    {OPTION_COUNTS, .name = "counts", .argument = "NX,NY,NZ", TO(counts), .least = 1, .most = 100, .help = "counts"},
    {OPTION_CHOICE, .name = "method", .argument = "M", TO(method), .choices = methods, .initial = "direct",
     .help = "a method"},
    {OPTION_CHOICE, .name = "speed", .argument = "S", TO(fast), .choices = speeds, .help = "a speed"},
    {OPTION_WORD, .name = "units", .argument = "U", TO(unit), .choices = units, .initial = "V", .help = "a unit"},
    {OPTION_CUSTOM, .name = "custom", .argument = "C", .parse = custom, .help = "anything"},
    {OPTION_FLAG, .letter = 'q', .name = "quiet", TO(quiet), .help = "few words", .needs = "method=direct|fast"},
    OPTION_ROWS_HELP,
    {0}};

static vf_context *ctx;
static settings got;
static option_values values;

enum { MOST_WORDS = 24 };

/* Reads words, separated by spaces. */
static vf_status read_words(const char *line)
{
    static char copy[256];
    char *argv[MOST_WORDS] = {"program"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word && argc < MOST_WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    option_values_free(&values);
    got = (settings){0};
    return option_read(ctx, "program", table, argc, argv, &got, &values);
}

static void assert_read(const char *line)
{
    if (read_words(line) != VF_OK)
        fail_msg("\"%s\": %s", line, vf_context_message(ctx));
}

static void assert_message(const char *line, const char *message)
{
    assert_int_equal(read_words(line), VF_ERR_ARGUMENT);
    if (!strstr(vf_context_message(ctx), message))
        fail_msg("\"%s\": \"%s\" is not in \"%s\"", line, message, vf_context_message(ctx));
    vf_context_clear_error(ctx);
}

static void test_defaults(void **state)
{
    (void)state;
    assert_read("");
    assert_true(got.border == 2.5 && got.spacing[0] == 1 && got.spacing[2] == 1 && got.method == 3);
    assert_string_equal(got.unit, "V");
    assert_false(got.has_border);
    assert_null(option_text(table, &values, "border"));
    assert_int_equal(values.inputs, 0);
}

static void test_forms(void **state)
{
    (void)state;
    for (const char *const *line = (const char *const[]){"--output=x --quiet", "--output x -q", "-o x -q", "-ox -q",
                                                         "-qo x", "-qox", "--out x --qui", NULL};
         *line; line++) {
        assert_read(*line);
        assert_string_equal(got.output, "x");
        assert_true(got.quiet);
        assert_string_equal(option_text(table, &values, "quiet"), "");
    }
    assert_read("a --border -1 b -- --quiet -");
    assert_int_equal(values.inputs, 4);
    assert_string_equal(values.input[1], "b");
    assert_string_equal(values.input[2], "--quiet");
    assert_string_equal(values.input[3], "-");
    assert_true(got.border == -1 && got.has_border && !got.quiet);
    assert_read("- --group= --border 1 --border=3 -o -");
    assert_string_equal(got.group, "");
    assert_string_equal(got.output, "-");
    assert_true(got.border == 3);
}

/* Each word of the command line knows its option, however that is spelled. */
static void test_rows_of_words(void **state)
{
    (void)state;
    static const char *const names[] = {NULL,    "units", "units", "quiet",  "seed",   NULL,
                                        "level", "level", NULL,    "output", "output", NULL};
    assert_read("--units V --qui --seed=3 input --lev 4 -q --out x other");
    for (int n = 0; n < 12; n++) {
        if (!names[n])
            assert_null(values.row[n]);
        else
            assert_string_equal(values.row[n] ? values.row[n]->name : "none", names[n]);
    }
}

static void test_values(void **state)
{
    (void)state;
    assert_read("--spacing 0.5,2,4 --level 9 --seed 9223372036854775807 --counts 1,2,100 --method fast --speed quick "
                "--units=kT/e --group g");
    assert_true(got.spacing[0] == 0.5 && got.spacing[1] == 2 && got.spacing[2] == 4);
    assert_true(got.level == 9 && got.seed == INT64_MAX && got.method == 5 && got.fast);
    assert_true(got.counts[0] == 1 && got.counts[1] == 2 && got.counts[2] == 100);
    assert_string_equal(got.unit, "kT/e");
    assert_read("--counts 7 --spacing 3 --speed quick --speed slow");
    assert_true(got.counts[2] == 7 && got.spacing[1] == 3 && !got.fast);
    assert_read("--custom x --custom y");
    assert_int_equal(got.customs, 2);
}

static void test_ranges(void **state)
{
    (void)state;
    /* Both ends are included; numbers one step beyond them are not. */
    for (const char *const *line = (const char *const[]){"--border=-2", "--border 10", "--accuracy 0.1 --method fast",
                                                         "--accuracy 1e-14 --method fast", "--seed 0", NULL};
         *line; line++)
        assert_read(*line);
    for (const char *const *text = (const char *const[]){"-2.0000000000000004", "10.000000000000002", "nan", "-nan",
                                                         "inf", "", "x", "1x", "1,2", "0x1", NULL};
         *text; text++) {
        char line[64];
        snprintf(line, sizeof line, "--border=%s", *text);
        assert_message(line, "': expected a number from -2 to 10 mm");
    }
    assert_message("--accuracy 2 --method fast", "--accuracy '2': expected a number from 1e-14 to 0.1");
    for (const char *const *line = (const char *const[]){"--spacing 1,2", "--spacing 1,2,nan", "--spacing 1,2,5",
                                                         "--spacing 0.4", "--spacing=", NULL};
         *line; line++)
        assert_message(*line, "expected one number or three (x,y,z), each from 0.5 to 4");
    assert_message("--level 10 -o x", "--level '10': expected a whole number from 0 to 9");
    assert_message("--level 1.5 -o x", "expected a whole number from 0 to 9");
    assert_message("--seed -1", "expected a whole number of 0 or more");
    assert_message("--seed nan", "expected a whole number of 0 or more");
    assert_message("--counts 1,0,1", "expected one whole number or three (x,y,z), each from 1 to 100");
    assert_message("--counts 1,2", "each from 1 to 100");
    assert_message("--method slow", "--method 'slow': expected direct or fast");
    assert_message("--units=", "--units '': expected V or kT/e");
    assert_message("--output=", "--output '': expected the name of a file");
    assert_message("--custom bad", "--custom 'bad': bad");
}

static void test_names(void **state)
{
    (void)state;
    assert_message("--bordr 1", "unknown option --bordr; did you mean --border? program --help lists the options");
    assert_message("--acuracy=1", "did you mean --accuracy?");
    assert_message("--zzzzzzzz", "unknown option --zzzzzzzz; program --help");
    assert_message("-x", "unknown option -x; program --help lists the options");
    assert_message("-qx", "unknown option -x");
    assert_message("--s", "--s is ambiguous: it may be one of --spacing, --seed, --speed; give more of the name");
    assert_message("--=1", "unknown option --;");
    assert_message("--quiet=yes", "--quiet takes no value");
    assert_message("--border", "--border needs a value; program --help");
    assert_message("-o", "-o needs a value; program --help");
    assert_message("--output --quiet", "--output needs a value, but --quiet follows");
    assert_message("-o --border 3", "-o needs a value, but --border follows");
    assert_message("--border -o x", "--border needs a value, but -o follows");
    assert_message("-o -q", "-o needs a value, but -q follows");
    assert_read("--border -2"); /* a number */
    assert_read("-o -x");       /* not an option of this program */
    assert_read("--output=-o");
    assert_read("-o --other"); /* not an option of this program */
}

static void test_needs(void **state)
{
    (void)state;
    assert_message("--accuracy 1e-3", "--accuracy needs --method fast");
    assert_message("--accuracy 1e-3 --method direct", "--accuracy needs --method fast");
    assert_read("--accuracy 1e-3 --method fast");
    assert_message("--level 1", "--level needs --output or --group");
    assert_read("--level 1 -o x");
    assert_read("--group x --level 1");
    assert_read("--quiet --method fast"); /* one of two values; also the default */
    assert_read("--quiet");
    assert_message("--border 1 --spacing 1", "--border cannot be combined with --spacing: both set the extent");
    assert_message("--spacing 1 --border 1", "--border cannot be combined with --spacing: both set the extent");
    assert_message("--method fast --border 1", "--border cannot be combined with --method fast");
    assert_read("--method direct --border 1");
    assert_read("--method fast --spacing 1"); /* the default of a border excludes nothing */
    assert_read("--method fast --method direct --border 1");
}

static void test_required(void **state)
{
    (void)state;
    static const program_option needs_output[] = {
        {OPTION_GROUP, .name = "Files"},
        {OPTION_WRITE, .name = "output", .argument = "FILE", TO(output), .help = "the file", .required = true},
        OPTION_ROWS_HELP,
        {0}};
    char *const nothing[] = {"program"}, *const help[] = {"program", "--help"};
    option_values_free(&values);
    assert_refused(ctx, option_read(ctx, "program", needs_output, 1, nothing, &got, &values),
                   "missing option --output FILE", "program --help");
    option_values_free(&values);
    assert_int_equal(option_read(ctx, "program", needs_output, 2, help, &got, &values), VF_OK);
}

static void test_help(void **state)
{
    (void)state;
    assert_read("--level 1 --help --nonsense");
    assert_true(values.asked == OPTION_HELP && values.form == OPTION_FORM_TEXT);
    assert_read("-h");
    assert_true(values.asked == OPTION_HELP);
    assert_read("--help=man");
    assert_true(values.asked == OPTION_HELP && values.form == OPTION_FORM_MANUAL);
    assert_read("--help=bash");
    assert_true(values.asked == OPTION_HELP && values.form == OPTION_FORM_BASH);
    assert_read("--help=zsh");
    assert_true(values.asked == OPTION_HELP && values.form == OPTION_FORM_ZSH);
    assert_message("--help=women", "--help takes no value");
    assert_read("--version");
    assert_true(values.asked == OPTION_VERSION);
}

static void assert_printed(void (*print)(FILE *, const program_option *), const char *const *lines)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    print(to, table);
    assert_int_equal(fclose(to), 0);
    for (; *lines; lines++)
        if (!strstr(text, *lines))
            fail_msg("\"%s\" is not in\n%s", *lines, text);
    free(text);
}

static void test_printed(void **state)
{
    (void)state;
    assert_printed(option_print_help,
                   (const char *const[]){"\nFiles\n  Names of files.\n  -o, --output FILE ",
                                         "  --accuracy A               an error (default: 1e-6; needs --method fast)\n",
                                         "  --method M                 a method: direct or fast (default: direct)\n",
                                         "  -q, --quiet                few words\n", NULL});
    assert_printed(option_print_manual,
                   (const char *const[]){
                       ".Ss Files\nNames of files.\n.Bl -tag -width Ds\n.It Fl o Ar FILE , Fl -output Ar FILE\n",
                       ".It Fl -border Ar B\nA margin.\nAs in \\fBa.b\\fP with \\fB\\-\\-spacing\\fP.\nNot more.\n"
                       "A number from -2 to 10 mm.\nDefault: 2.5.\n"
                       "Cannot be combined with \\fB\\-\\-spacing\\fP or \\fB\\-\\-method\\fP fast.\n",
                       ".It Cm direct\nthe exact sum\n", "Cannot be combined with \\fB\\-\\-border\\fP.\n", NULL});
}

/* Invalid rows, after a group and a valid row, and a word of the complaint. */
static void test_table(void **state)
{
    (void)state;
    const struct {
        program_option row;
        const char *why;
    } cases[] = {
        {{OPTION_TEXT, .name = "a", .argument = "A"}, "no help"},
        {{OPTION_TEXT, .name = "a", .help = "x"}, "no name for its argument"},
        {{OPTION_TEXT, .argument = "A", .help = "x"}, "no name"},
        {{OPTION_TEXT, .name = "good", .argument = "A", .help = "x"}, "the name of another row"},
        {{OPTION_FLAG, .name = "a", .argument = "A", .help = "x"}, "flag with an argument"},
        {{OPTION_NUMBER, .name = "a", .argument = "A", .help = "x"}, "no range"},
        {{OPTION_NUMBER, .name = "a", .argument = "A", .help = "x", .least = 0, .most = NAN}, "no range"},
        {{OPTION_CHOICE, .name = "a", .argument = "A", .help = "x"}, "no choices"},
        {{OPTION_CUSTOM, .name = "a", .argument = "A", .help = "x"}, "no parser"},
        {{OPTION_TEXT, .name = "a", .argument = "A", .help = "x", .needs = "good nothing"}, "needs an option that"},
        {{OPTION_TEXT, .name = "a", .argument = "A", .help = "x", .excludes = "goo"}, "excludes an option that"},
        {{OPTION_TEXT, .name = "a", .argument = "A", .help = "x", .excludes = "good="}, "excludes an option that"},
    };
    program_option rows[4] = {{OPTION_GROUP, .name = "Group"},
                              {OPTION_TEXT, .name = "good", .argument = "A", .help = "x", .needs = "good=a|b"}};
    assert_int_equal(option_check_table(ctx, table), VF_OK);
    assert_int_equal(option_check_table(ctx, rows), VF_OK);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        rows[2] = cases[n].row;
        assert_int_equal(option_check_table(ctx, rows), VF_ERR_INTERNAL);
        if (!strstr(vf_context_message(ctx), cases[n].why))
            fail_msg("case %d: %s", (int)n, vf_context_message(ctx));
        vf_context_clear_error(ctx);
    }
    assert_int_equal(option_check_table(ctx, rows + 1), VF_ERR_INTERNAL); /* no group */
    assert_non_null(strstr(vf_context_message(ctx), "before the first group"));
    vf_context_clear_error(ctx);
}

static int make_context(void **state)
{
    (void)state;
    return vf_context_create(&ctx) != VF_OK;
}

static int free_context(void **state)
{
    (void)state;
    option_values_free(&values);
    vf_context_destroy(ctx);
    return 0;
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_defaults), cmocka_unit_test(test_forms),
          cmocka_unit_test(test_rows_of_words), cmocka_unit_test(test_values), cmocka_unit_test(test_ranges),
          cmocka_unit_test(test_names), cmocka_unit_test(test_needs), cmocka_unit_test(test_required),
          cmocka_unit_test(test_help), cmocka_unit_test(test_printed), cmocka_unit_test(test_table))
