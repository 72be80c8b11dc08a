/* Kinds of ions: names in every force field, in any case, and requests for ions. */
#include <ctype.h>

#include "apps/cionize/ions/ion_fixture.h"
#include "test_main.h"

static void test_known_ions(void **state)
{
    (void)state;
    /* Charges by chemistry; radii from Shannon's table (1976), six neighbours. */
    static const struct {
        const char *names, *element;
        double charge, radius;
    } known[] = {{"LIT Li Li+", "Li", 1, 0.76}, {"SOD NA Na+ na", "Na", 1, 1.02},   {"POT K K+ k+", "K", 1, 1.38},
                 {"RUB Rb+", "Rb", 1, 1.52},    {"CES Cs+", "Cs", 1, 1.67},         {"MG Mg2+ mg", "Mg", 2, 0.72},
                 {"CAL CA Ca2+", "Ca", 2, 1.0}, {"SR Sr2+", "Sr", 2, 1.18},         {"BAR Ba2+", "Ba", 2, 1.35},
                 {"ZN ZN2 Zn2+", "Zn", 2, .74}, {"CD2 Cd2+ CAD", "Cd", 2, .95},     {"FE2 Fe2+", "Fe", 2, .78},
                 {"F F-", "F", -1, 1.33},       {"CLA CL Cl- cla", "Cl", -1, 1.81}, {"BR Br-", "Br", -1, 1.96},
                 {"IOD I I- iod", "I", -1, 2.2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char copy[64], *rest = NULL;
        snprintf(copy, sizeof copy, "%s", known[i].names);
        for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
            ion_kind kind;
            assert_ok(ion_kind_from_name(fresh(), "--x", name, &kind));
            assert_string_equal(kind.element, known[i].element);
            assert_true(kind.charge == known[i].charge && kind.radius == known[i].radius);
        }
    }
}

/* The spelling is that of a force field: the given spelling if the table has it, otherwise the table's. */
static void test_spelling(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"Cl-", "Cl-"}, {"CL-", "CL-"}, {"sod", "SOD"}, {"Na+", "Na+"},
                                           {"NA+", "NA+"}, {"na", "NA"},   {"cL-", "Cl-"}, {"zn2+", "Zn2+"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ion_kind kind;
        assert_ok(ion_kind_from_name(fresh(), "--x", pairs[i][0], &kind));
        assert_string_equal(kind.name, pairs[i][1]);
    }
}

/* The message lists every supported name; each must be found again as its own kind, in upper and lower case. */
static void test_unknown_lists_the_known(void **state)
{
    (void)state;
    static const char *const unknown[] = {"FE", "CU", "CO", "XYZ", "NAA", "A", "Na2+"};
    char message[1024], *rest = NULL;
    int names = 0;
    ion_kind kind;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_fails(ion_kind_from_name(fresh(), "--salt", unknown[i], &kind), VF_ERR_ARGUMENT,
                     "--salt: |known ions:|SOD|CLA|:COUNT:CHARGE");
        assert_says(vf_context_message(fixture.ctx), unknown[i]);
    }
    snprintf(message, sizeof message, "%s", strstr(vf_context_message(fixture.ctx), "known ions: ") + 12);
    *strstr(message, ". For any") = '\0';
    for (char *group = strtok_r(message, ",", &rest); group; group = strtok_r(NULL, ",", &rest)) {
        char element[3] = "", *inner = NULL;
        for (char *name = strtok_r(group, " ", &inner); name; name = strtok_r(NULL, " ", &inner)) {
            for (int any_case = 0; any_case < 3; any_case++) {
                char text[8];
                snprintf(text, sizeof text, "%s", name);
                for (char *p = text; *p && any_case; p++)
                    *p = (char)(any_case == 1 ? toupper(*p) : tolower(*p));
                assert_ok(ion_kind_from_name(fresh(), "--x", text, &kind));
                if (*element)
                    assert_string_equal(kind.element, element);
                memcpy(element, kind.element, sizeof element);
            }
            names++;
        }
    }
    assert_true(names >= 45);
}

static void test_bad_names(void **state)
{
    (void)state;
    static const char *const names[] = {"", "A B", "SODIUM", "N\ta", "K\x01", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ion_kind kind;
        assert_fails(ion_kind_from_name(fresh(), "here", names[i], &kind), VF_ERR_ARGUMENT, "here: ");
        assert_fails(ion_kind_with_charge(fresh(), "here", names[i], 1, &kind), VF_ERR_ARGUMENT, "here: |ion name");
        for (const char *p = vf_context_message(fixture.ctx); *p; p++)
            assert_true(*p >= ' ' && *p <= '~');
    }
}

static void test_charges(void **state)
{
    (void)state;
    ion_kind kind;
    assert_ok(ion_kind_with_charge(fresh(), "here", "sod", 1, &kind));
    assert_string_equal(fixture.log, "");
    assert_ok(ion_kind_with_charge(fresh(), "here", "CLA", -0.75, &kind));
    assert_says(fixture.log, "warning: here: CLA|-1 e|-0.75 e");
    assert_true(kind.charge == -0.75 && kind.radius == 1.81);
    assert_ok(ion_kind_with_charge(fresh(), "here", "Q+*", 2.5, &kind));
    assert_string_equal(kind.name, "Q+*");
    assert_string_equal(kind.element, "");
    assert_true(kind.charge == 2.5 && kind.radius == 0);
    const double wrong[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e308, -1.01e9};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(ion_kind_with_charge(fresh(), "here", "SOD", wrong[i], &kind), VF_ERR_ARGUMENT,
                     "here: |SOD|must be finite and not 0");
}

static void test_placements(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        char name[5] = "", text[64];
        ion_request request;
        const int length = (int)integer_between(1, 4);
        const int64_t count = integer_between(0, ION_MOST);
        const double charge = (uniform() - 0.5) * 8;
        for (int i = 0; i < length; i++)
            do
                name[i] = (char)integer_between('!', '~');
            while (name[i] == ':');
        snprintf(text, sizeof text, "%s:%lld:%+.17g", name, (long long)count, charge);
        assert_ok(parse_placement(fresh(), "place", text, &request));
        assert_int_equal(request.count, count);
        assert_true(request.kind.charge == charge);
    }
    ion_request request;
    assert_ok(parse_placement(fresh(), "place", "CLA:0", &request));
    assert_true(request.count == 0 && request.kind.charge == -1);
    assert_ok(parse_placement(fresh(), "place", "cla:10000000", &request));
    assert_int_equal(request.count, ION_MOST);
    assert_string_equal(request.kind.name, "CLA");
    assert_ok(parse_placement(fresh(), "place", "SOD:3:-1", &request));
    assert_says(fixture.log, "warning: --place 'SOD:3:-1': SOD");
}

static void test_bad_placements(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "NAME:COUNT"},          {"SOD", "NAME:COUNT"},      {"SOD:", "whole number"},
        {":3", "valid ion name"},    {"SOD:-1", "whole number"}, {"SOD:10000001", "whole number"},
        {"SOD:1.5", "whole number"}, {"SOD:0x10", "whole"},      {"SOD:1e3", "whole number"},
        {"SOD: 3", "whole number"},  {"SOD:3:", "charge"},       {"SOD:3:0", "not 0"},
        {"SOD:3:nan", "charge"},     {"SOD:3:inf", "charge"},    {"SOD:3:1e999", "charge"},
        {"SOD:3:1:2", "NAME:COUNT"}, {"XYZ:3", "known ions"},    {"SODIUM:3:1", "4 characters"},
        {"A B:3:1", "blanks"},       {"SOD:3:2+", "charge"},     {"SOD:99999999999999999999", "whole number"},
        {"SOD:3:1,2", "CHARGE"},     {"SOD,3", "NAME:COUNT"},    {"S\033:3:1", "printable"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ion_request request;
        /* A separate allocation, so that a sanitizer detects reads beyond its end. */
        char *text = strdup(wrong[i][0]);
        assert_non_null(text);
        assert_fails(parse_placement(fresh(), "place", text, &request), VF_ERR_ARGUMENT, "--place '");
        assert_says(vf_context_message(fixture.ctx), wrong[i][1]);
        assert_null(strchr(vf_context_message(fixture.ctx), '\033'));
        free(text);
    }
}

TEST_MAIN(ion_setup, ion_teardown, cmocka_unit_test(test_known_ions), cmocka_unit_test(test_spelling),
          cmocka_unit_test(test_unknown_lists_the_known), cmocka_unit_test(test_bad_names),
          cmocka_unit_test(test_charges), cmocka_unit_test(test_placements), cmocka_unit_test(test_bad_placements))
