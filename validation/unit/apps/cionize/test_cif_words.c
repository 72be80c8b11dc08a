/* Words and tables of CIF files: every form of a value that the grammar has, and damage with its line. */
#include "apps/cionize/molecule/molecule_fixture.h"
#include "text/cif_tables.h"

static cif_word word_at(const char *text, int index)
{
    cif_words words = cif_begin((text_piece){text, strlen(text)});
    cif_word word = cif_next(&words);
    for (int n = 0; n < index; n++)
        word = cif_next(&words);
    return word;
}

static void expect_word(const char *text, int index, cif_kind kind, const char *value, bool quoted, int line)
{
    const cif_word word = word_at(text, index);
    if (word.kind != kind || word.text.size != strlen(value) || memcmp(word.text.at, value, word.text.size) != 0 ||
        word.quoted != quoted || word.line != line || word.trouble)
        fail_msg("word %d of '%s': kind %d '%.*s', line %d, %s", index, text, word.kind, (int)word.text.size,
                 word.text.at, (int)word.line, word.trouble ? word.trouble : "no trouble");
}

static void reads_words(void **state)
{
    (void)state;
    expect_word("data_1ABC loop_", 0, CIF_DATA, "data_1ABC", false, 1);
    expect_word("DATA_x Loop_", 1, CIF_LOOP, "Loop_", false, 1);
    expect_word("#comment data_\n _Cell.A 'x'", 0, CIF_TAG, "_Cell.A", false, 2);
    expect_word("x#y", 0, CIF_VALUE, "x#y", false, 1); /* a comment begins at a blank */
    expect_word("'a dog's life' b", 0, CIF_VALUE, "a dog's life", true, 1);
    expect_word("'a dog's life' b", 1, CIF_VALUE, "b", false, 1);
    expect_word("\"O5'\" 'C1\"'", 0, CIF_VALUE, "O5'", true, 1);
    expect_word("\"O5'\" 'C1\"'", 1, CIF_VALUE, "C1\"", true, 1);
    expect_word("'_no.tag' 'loop_'", 0, CIF_VALUE, "_no.tag", true, 1);
    expect_word("a\r\nb\rc\nd", 3, CIF_VALUE, "d", false, 4);
    expect_word("a\n;b\nc\n;\nd", 1, CIF_VALUE, "b\nc", true, 2);
    expect_word("a\n;b\nc\n;\nd", 2, CIF_VALUE, "d", false, 5);
    expect_word("a ;b\n", 1, CIF_VALUE, ";b", false, 1); /* not at the beginning of a line */
    expect_word(";\n; b", 0, CIF_VALUE, "", true, 1);
    expect_word("''", 0, CIF_VALUE, "", true, 1);
    expect_word("save_x global_ stop_", 0, CIF_SAVE, "save_x", false, 1);
    expect_word("save_x global_ stop_", 2, CIF_OTHER, "stop_", false, 1);
    expect_word("  \n\t#c", 0, CIF_END, "", false, 2);
    expect_word("", 0, CIF_END, "", false, 1);
    assert_non_null(word_at("'open\n x'", 0).trouble);
    assert_non_null(word_at("\n;open\n x\n", 0).trouble);
    assert_true(word_at("\n;early\nlast;\nx", 0).ends_early);
    expect_word("\n;early\nlast;\nx", 1, CIF_VALUE, "x", false, 4);
    const cif_word unknown = word_at("? . '?'", 0), missing = word_at("? . '?'", 1), text = word_at("? . '?'", 2);
    assert_false(cif_is_stated(&unknown));
    assert_false(cif_is_stated(&missing));
    assert_true(cif_is_stated(&text));
}

static void recognises_cif(void **state)
{
    static const char *const yes[] = {"data_x", "# c\n\n loop_\n", "_cell.length_a 1", "DATA_X", "_atom_site_label x"};
    static const char *const no[] = {"", "ATOM 1", "database", "_x", "REMARK data_x", "'data_x'"};
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(is_cif((text_piece){yes[i], strlen(yes[i])}));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(is_cif((text_piece){no[i], strlen(no[i])}));
}

/* ---- tables ---- */

static const char *const items[] = {"a", "b", NULL};
static const char *const others[] = {"x", NULL};

static vf_status find(const char *text, cif_table *tables)
{
    int64_t blocks;
    tables[0] = (cif_table){.category = "_cat", .items = items};
    tables[1] = (cif_table){.category = "_cat_more", .items = others};
    warnings[0] = '\0';
    vf_context_clear_error(ctx);
    return cif_find_tables(ctx, "t.cif", (text_piece){text, strlen(text)}, tables, 2, &blocks);
}

/* The values as "a,b;a,b;". */
static void expect_rows(const char *text, int table, const char *expected)
{
    cif_table tables[2];
    cif_word word[CIF_MOST_ITEMS];
    char found[256] = "";
    if (find(text, tables) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    cif_rows rows = cif_rows_of(&tables[table]);
    while (cif_next_row(&rows, word)) {
        for (int i = 0; tables[table].items[i]; i++)
            vf_append(found, sizeof found, "%s%.*s", i ? "," : "", (int)word[i].text.size, word[i].text.at);
        vf_append(found, sizeof found, ";");
    }
    assert_string_equal(found, expected);
}

static void finds_tables(void **state)
{
    (void)state;
    expect_rows("data_x\n_cat.b 2\n_cat.a 1\n", 0, "1,2;");
    expect_rows("loop_ _cat.z _CAT.B _cat.a 0 1 2 3 '4' 5 # end", 0, "2,1;5,4;");
    expect_rows("loop_ _cat.a\n'first'\nsecond\n;third\n;\n", 0, "first,;second,;third,;");
    expect_rows("loop_\n_cat.a\n;one\n;\n;two\n;\n#\nloop_\n_cat_more.x 7\n", 0, "one,;two,;");
    expect_rows("_cat_a 1 _cat_more_x 2", 0, "1,;"); /* as in the CIF of small molecules */
    expect_rows("_cat_a 1 _cat_more_x 2", 1, "2;");
    expect_rows("data_one _cat.a 1 data_two _cat.a 2", 0, "1,;"); /* the first block */
    expect_rows("data_one save_f _cat.a 9 save_ _cat.a 1", 0, "1,;");
    expect_rows("data_one", 0, "");
}

static void refuses_damaged_tables(void **state)
{
    static const struct {
        const char *text, *words;
    } damages[] = {
        {"loop_\n_cat.a\n_cat.b\n1 2 3\n", "t.cif:1: |3 values|rows of 2|not complete"},
        {"loop_\n1 2", "t.cif:1: |without items"},
        {"\n\nstray\n", "t.cif:3: |'stray'|belongs to no item"},
        {"data_x _cat.a _cat.b", "'_cat.a' has no value"},
        {"data_x _cat.a", "'_cat.a' has no value"},
        {"_cat.a 1\n_cat.a 2", "t.cif:2: |twice"},
        {"loop_ _cat.a 1\nloop_ _cat.b 2", "t.cif:2: |_cat|twice"},
        {"loop_ _cat.a _cat.A 1 2", "twice in this loop"},
        {"_cat.a 'open\n", "t.cif:1: |not closed"},
        {"_cat.a\n;open\n", "t.cif:2: |no end"},
        {"stop_", "belongs to no item"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        cif_table tables[2];
        assert_int_equal(find(damages[i].text, tables), VF_ERR_INPUT);
        if (!contains_all(vf_context_message(ctx), damages[i].words))
            fail_msg("'%s' lacks one of '%s'", vf_context_message(ctx), damages[i].words);
    }
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(reads_words), cmocka_unit_test(recognises_cif),
          cmocka_unit_test(finds_tables), cmocka_unit_test(refuses_damaged_tables))
