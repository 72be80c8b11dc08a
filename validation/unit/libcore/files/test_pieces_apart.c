/* Files of pieces whose items are in a file apart, each at its final place, which several of them share. */
#include "pieces_fixture.h"

enum { BEGIN = 100 }; /* of item 0 */

static vf_pieces_result apart(int64_t items, size_t item_bytes)
{
    return (vf_pieces_result){.key = "key\n",
                              .maker = "maker\n",
                              .items = items,
                              .item_bytes = item_bytes,
                              .data = "map",
                              .data_begin = BEGIN,
                              .makes_data = true};
}

/* Other bytes for items that are there are not written. */
static void add_some(vf_pieces *pieces, const vf_pieces_result *result, bool *there)
{
    const int64_t first = integer_below(result->items), count = 1 + integer_below(result->items - first);
    need(add(pieces, result, first, count));
    salt++;
    need(add(pieces, result, first, count));
    salt--;
    memset(there + first, true, (size_t)count);
}

/* The file apart has its final size at once, all that was put in at its place, and zeros elsewhere, also before item 0. */
static void assert_map(const vf_pieces_result *result, const bool *there)
{
    const size_t bytes = BEGIN + (size_t)result->items * result->item_bytes;
    unsigned char *expected = calloc(1, bytes);
    assert_non_null(expected);
    for (int64_t n = 0; n < result->items; n++)
        if (there[n])
            fill(n, result->item_bytes, expected + BEGIN + (size_t)n * result->item_bytes);
    assert_file_holds("map", expected, bytes);
    free(expected);
}

static void test_places(void **state)
{
    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        const vf_pieces_result result =
            apart(1 + integer_below(MOST_ITEMS), 1 + (size_t)integer_below(trial % 4 ? 40 : MOST_BYTES));
        bool there[MOST_ITEMS] = {false};
        vf_pieces *pieces;
        need(vf_pieces_create(ctx, "pieces", &result, &pieces));
        for (int run = 0; run < 4; run++) {
            assert_has(pieces, &result, there);
            for (int64_t n = integer_below(4); n > 0; n--)
                add_some(pieces, &result, there);
            assert_has(pieces, &result, there);
            assert_map(&result, there);
            need(vf_pieces_close(&pieces));
            need(vf_pieces_resume(ctx, "pieces", &result, &pieces));
        }
        assert_in_range(size_of("pieces"), HEADER, HEADER + 20 + MOST_ITEMS * RECORD);
        vf_pieces_remove(&pieces);
        assert_int_equal(access("pieces", F_OK), -1);
        assert_map(&result, there); /* it stays */
        assert_int_equal(unlink("map"), 0);
    }
    assert_string_equal(warning, "");
}

static void test_several_share(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    for (int trial = 0; trial < 10; trial++) {
        vf_pieces_result result = apart(3 + integer_below(MOST_ITEMS - 3), 1 + (size_t)integer_below(40));
        bool all[MOST_ITEMS] = {false}, own[3][MOST_ITEMS] = {{false}};
        vf_pieces *pieces[3], *whole;
        for (int n = 0; n < 3; n++) {
            result.makes_data = n == 0;
            need(vf_pieces_create(ctx, names[n], &result, &pieces[n]));
        }
        for (int n = 0; n < 12; n++)
            add_some(pieces[n % 3], &result, own[n % 3]);
        for (int n = 0; n < 3; n++) {
            assert_has(pieces[n], &result, own[n]);
            need(vf_pieces_close(&pieces[n]));
            for (int64_t i = 0; i < result.items; i++)
                all[i] = all[i] || own[n][i];
        }
        need(vf_pieces_gather(ctx, 3, names, &result, &whole));
        assert_has(whole, &result, all);
        assert_map(&result, all);
        vf_pieces_remove(&whole);
        for (int n = 0; n < 3; n++)
            assert_int_equal(access(names[n], F_OK), -1);
        assert_int_equal(unlink("map"), 0);
    }
}

/* Records whose items have other bytes, or none, are left out, with a warning; they can be added again. */
static void test_damage(void **state)
{
    (void)state;
    const vf_pieces_result result = apart(8, 4);
    for (int trial = 0; trial < 40; trial++) {
        const bool before[8] = {false, true, true, true, false, true, true, false}, cut = trial % 4 == 0;
        bool there[8];
        vf_pieces *pieces;
        need(vf_pieces_create(ctx, "pieces", &result, &pieces));
        need(add(pieces, &result, 1, 3));
        need(add(pieces, &result, 5, 2));
        need(vf_pieces_close(&pieces));
        size_t bytes;
        unsigned char *data = load("map", &bytes);
        /* Cut off between items: a part of one may be zeros, as is what replaces it. */
        const int64_t hit = cut ? BEGIN + 4 * integer_below(8) : integer_below((int64_t)bytes);
        data[hit] ^= (unsigned char)(1 << integer_below(8));
        store("map", data, cut ? (size_t)hit : bytes);
        free(data);
        const int64_t item = hit < BEGIN ? -1 : (hit - BEGIN) / 4;
        for (int64_t n = 0; n < 8; n++) {
            const bool first = n < 4, in_first = item < 4;
            there[n] = before[n] && !(cut ? item < (first ? 4 : 7) : item >= 0 && before[item] && first == in_first);
        }
        warning[0] = '\0';
        need(vf_pieces_resume(ctx, "pieces", &result, &pieces));
        assert_has(pieces, &result, there);
        const int64_t left = vf_pieces_count(pieces, 0, 8);
        assert_int_equal(strstr(warning, "wrong checksums") != NULL, left < 5);
        need(add(pieces, &result, 0, 8));
        need(vf_pieces_close(&pieces));
        need(vf_pieces_resume(ctx, "pieces", &result, &pieces));
        assert_int_equal(vf_pieces_count(pieces, 0, 8), 8);
        vf_pieces_remove(&pieces);
        assert_int_equal(unlink("map"), 0);
    }
}

static void test_refused(void **state)
{
    (void)state;
    vf_pieces_result result = apart(8, 4), inside = apart(8, 4);
    static const char *const names[] = {"pieces"};
    vf_pieces *pieces;
    inside.data = NULL;
    result.makes_data = false;
    vf_status status = vf_pieces_create(ctx, "pieces", &result, &pieces);
    assert_refused(status, pieces, VF_ERR_OUTPUT, "map", "cannot write");
    assert_int_equal(access("pieces", F_OK), -1);
    result.makes_data = true;
    need(vf_pieces_create(ctx, "pieces", &result, &pieces));
    need(add(pieces, &result, 0, 8));
    need(vf_pieces_close(&pieces));
    status = vf_pieces_resume(ctx, "pieces", &inside, &pieces);
    assert_refused(status, pieces, VF_ERR_INPUT, "pieces", "another version");
    assert_int_equal(unlink("map"), 0);
    result.makes_data = false;
    status = vf_pieces_gather(ctx, 1, names, &result, &pieces);
    assert_refused(status, pieces, VF_ERR_OUTPUT, "map", "cannot write");
    assert_int_equal(unlink("pieces"), 0);
    need(vf_pieces_create(ctx, "pieces", &inside, &pieces));
    need(vf_pieces_close(&pieces));
    result.makes_data = true;
    status = vf_pieces_resume(ctx, "pieces", &result, &pieces);
    assert_refused(status, pieces, VF_ERR_INPUT, "pieces", "another version");
}

/* Whoever is refused leaves the items of others alone, also if the result would be smaller. */
static void test_refused_leave_items_alone(void **state)
{
    (void)state;
    const vf_pieces_result result = apart(8, 4);
    vf_pieces_result other = apart(3, 4);
    static const char *const names[] = {"pieces"};
    vf_pieces *pieces;
    size_t bytes;
    other.key = "another key\n";
    need(vf_pieces_create(ctx, "pieces", &result, &pieces));
    need(add(pieces, &result, 0, 8));
    need(vf_pieces_close(&pieces));
    unsigned char *data = load("map", &bytes);
    vf_status status = vf_pieces_resume(ctx, "pieces", &other, &pieces);
    assert_refused(status, pieces, VF_ERR_INPUT, "pieces", "another key");
    status = vf_pieces_gather(ctx, 1, names, &other, &pieces);
    assert_refused(status, pieces, VF_ERR_INPUT, "pieces", "another key");
    status = vf_pieces_create(ctx, "pieces", &other, &pieces);
    assert_refused(status, pieces, VF_ERR_OUTPUT, "pieces", "cannot open");
    assert_file_holds("map", data, bytes);
    free(data);
}

/* The items are synced before the records that say that they are there. */
static void test_sync(void **state)
{
    (void)state;
    const vf_pieces_result result = apart(8, 4);
    vf_pieces *pieces;
    need(vf_pieces_create(ctx, "pieces", &result, &pieces));
    need(add(pieces, &result, 0, 8));
    syncs = 0;
    need(vf_pieces_sync(pieces));
    assert_int_equal(syncs, 2);
    sync_error = EIO;
    syncs = 0;
    assert_says(vf_pieces_sync(pieces), VF_ERR_OUTPUT, "pieces", "cannot write");
    assert_int_equal(syncs, 1);
    sync_error = 0;
    need(vf_pieces_close(&pieces));
}

TEST_MAIN(begin_pieces, NULL, TEST(test_places), TEST(test_several_share), TEST(test_damage), TEST(test_refused),
          TEST(test_refused_leave_items_alone), TEST(test_sync))
