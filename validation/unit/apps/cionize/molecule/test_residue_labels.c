/* Residue numbers from labels as programs write them: decimal, five digits, hexadecimal, hybrid-36, asterisks. */
#include "ions/hybrid36.h"
#include "molecule/residue_labels.h"
#include "molecule_fixture.h"

enum { MOST = 64 };

/* Resolves labels of one atom each. "|" ends a chain; "12:A" has an insertion code in its column. The expected numbers are
 * separated by blanks; a word that is not a number is a text that stays. */
static void expect_numbers(const char *labels, const char *expected, bool words)
{
    static atom_label atoms[MOST];
    char copy[512], result[512] = "", *state = NULL;
    int64_t count = 0;
    snprintf(copy, sizeof copy, "%s", labels);
    for (char *word = strtok_r(copy, " ", &state); word; word = strtok_r(NULL, " ", &state)) {
        if (*word == '|') {
            atoms[count - 1].ends_chain = true;
            continue;
        }
        char *code = strchr(word, ':');
        assert_true(count < MOST);
        atoms[count] = (atom_label){.chain = "A"};
        label_keep_number((text_piece){word, code ? (size_t)(code - word) : strlen(word)}, (char)(code ? code[1] : ' '),
                          &atoms[count++]);
    }
    (void)label_resolve_numbers(atoms, count, words);
    for (int64_t i = 0; i < count; i++) {
        if (*atoms[i].number_text)
            vf_append(result, sizeof result, "%s%s", i ? " " : "", atoms[i].number_text);
        else
            vf_append(result, sizeof result, "%s%d", i ? " " : "", (int)atoms[i].residue_number);
        if (atoms[i].insertion)
            vf_append(result, sizeof result, "%c", atoms[i].insertion);
        assert_true(!*atoms[i].number_text || atoms[i].residue_number == 0);
    }
    if (strcmp(result, expected) != 0)
        fail_msg("'%s' became '%s', not '%s'", labels, result, expected);
}

static void reads_columns(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1 2 -5 12:A 9999", "1 2 -5 12A 9999"},
        /* CHARMM-GUI: the last of five digits in the column of the insertion code */
        {"9999 1000:0 1000:1 1234:5", "9999 10000 10001 12345"},
        /* VMD: hexadecimal above 9999, digits alone after 9999 */
        {"9998 9999 2710 2711 2719 271a 271f 2720 2720 ffff",
         "9998 9999 10000 10001 10009 10010 10015 10016 10016 65535"},
        {"9998 2711", "9998 10001"},            /* residues that are missing */
        {"9999 | 2710 2711", "9999 2710 2711"}, /* another chain: not hexadecimal */
        {"2709 2710 2711", "2709 2710 2711"},
        {"2710 2711 2712", "2710 2711 2712"},    /* nothing tells */
        {"2718 2719 271a", "10008 10009 10010"}, /* a later one does */
        {"5 2718 2719 271a", "5 10008 10009 10010"},
        {"2718 | 2719 271a", "2718 10009 10010"},  /* as far as it counts, in the chain */
        {"271a | 1 2 2710", "10010 1 2 2710"},     /* a chain starts again */
        {"2fff | 3000 3001", "12287 12288 12289"}, /* or counts on */
        {"271A 271B", "10010 10011"},
        {"9fff a000 a001", "40959 40960 40961"}, /* hexadecimal, not hybrid-36 */
        {"fffd fffe ffff **** ****", "65533 65534 65535 **** ****"},
        /* hybrid-36 */
        {"9999 A000 A001 A00Z", "9999 10000 10001 10035"},
        {"A000 A00Z", "10000 10035"},
        {"ZZZZ a000 a001", "1223055 1223056 1223057"}, /* counts on, though a000 may be hexadecimal */
        {"zzzz", "2436111"},
        {"A000 A001 1234", "10000 10001 1234"},
        /* no numbers */
        {"**** x 12x4 A00z", "**** x 12x4 A00z"},
        {"12:*", "12*"},
        {"0 9999 0 1", "0 9999 0 1"}, /* GROMACS starts again */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_numbers(cases[i][0], cases[i][1], false);
}

static void reads_words(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1 12A -5B 123456789 100000", "1 12A -5B 123456789 100000"},
        {"9999 10000 10001", "9999 10000 10001"},
        {"9999 2710 2719 271a 271b", "9999 10000 10009 10010 10011"}, /* psfgen */
        {"271A 272", "271A 272"},                                     /* an insertion code */
        {"270 271 271a", "270 271 271a"},
        {"27af 27b0", "10159 10160"},
        {"10005 10006", "10005 10006"},
        {"A000", "10000"},
        {"**** *****", "**** *****"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_numbers(cases[i][0], cases[i][1], true);
}

/* Counts from a random number in steps of 0 to 3, written in the three ways, come back. */
static void random_counts_come_back(void **state)
{
    (void)state;
    enum { ATOMS = 3000 };
    static atom_label atoms[ATOMS];
    static int32_t numbers[ATOMS];
    for (int turn = 0; turn < 60; turn++) {
        const int kind = turn % 3;
        const int32_t end = kind == 1 ? 65535 : kind == 0 ? 99999 : 2000000;
        int32_t number = (int32_t)integer_between(9000, 9990);
        for (int i = 0; i < ATOMS; i++) {
            char text[16] = "", code = ' ';
            const int64_t step = integer_between(0, 3);
            number = number + step > end ? end : (int32_t)(number + step);
            numbers[i] = number;
            if (number <= 9999)
                snprintf(text, sizeof text, "%d", number);
            else if (kind == 0) {
                snprintf(text, sizeof text, "%d", number / 10);
                code = (char)('0' + number % 10);
            } else if (kind == 1) {
                snprintf(text, sizeof text, "%04x", (unsigned)number);
            } else {
                assert_true(hybrid36_put(number, 4, text));
            }
            atoms[i] = (atom_label){.chain = "A"};
            label_keep_number((text_piece){text, strlen(text)}, code, &atoms[i]);
        }
        assert_int_equal(label_resolve_numbers(atoms, ATOMS, false), kind == 0 || numbers[ATOMS - 1] <= 9999);
        for (int i = 0; i < ATOMS; i++)
            if (atoms[i].residue_number != numbers[i] || *atoms[i].number_text || atoms[i].insertion)
                fail_msg("kind %d, atom %d: %d '%s', not %d", kind, i, atoms[i].residue_number, atoms[i].number_text,
                         numbers[i]);
    }
}

static void plausible_words(void **state)
{
    (void)state;
    static const char *const yes[] = {"1", "-12", "12A", "271a", "ffff", "A000", "****", "zzzz"};
    static const char *const no[] = {"", "ALA", "x", "TIP3P", "1.5", "12G3", "*1", "-"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(label_is_plausible((text_piece){yes[i], strlen(yes[i])}));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (label_is_plausible((text_piece){no[i], strlen(no[i])}))
            fail_msg("%s", no[i]);
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(reads_columns), cmocka_unit_test(reads_words),
          cmocka_unit_test(random_counts_come_back), cmocka_unit_test(plausible_words))
