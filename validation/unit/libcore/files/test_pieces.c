/* Files of pieces: the items that come back are those that were put in, and only those of this result; one run writes. */
#include <time.h>

#include "pieces_fixture.h"

/* ---- what is put in comes back ---- */

/* Runs of items, by the flags. */
static bool expected_run(const bool *flags, bool there, int64_t from, int64_t behind, int64_t *first, int64_t *end)
{
    for (*first = from; *first < behind && flags[*first] != there;)
        ++*first;
    for (*end = *first; *end < behind && flags[*end] == there;)
        ++*end;
    return *first < behind;
}

static void assert_runs(const vf_pieces *pieces, int64_t items, const bool *there)
{
    int64_t first, end, expected_first, expected_end;
    for (int n = 0; n < 20; n++) {
        const int64_t from = integer_below(items + 1), behind = from + integer_below(items - from + 1);
        const bool wanted = uniform() < 0.5;
        const bool found = expected_run(there, wanted, from, behind, &expected_first, &expected_end);
        assert_int_equal(vf_pieces_next(pieces, wanted, from, behind, &first, &end), found);
        if (found) {
            assert_int_equal(first, expected_first);
            assert_int_equal(end, expected_end);
        }
        int64_t count = 0;
        for (int64_t i = from; i < behind; i++)
            count += there[i];
        assert_int_equal(vf_pieces_count(pieces, from, behind), count);
    }
}

/* Items that are there are added again, now and then: with other bytes, which must not replace them. */
static void add_some(vf_pieces *pieces, const vf_pieces_result *result, bool *there)
{
    const int64_t first = integer_below(result->items), count = 1 + integer_below(result->items - first);
    int64_t fresh = 0;
    for (int64_t n = first; n < first + count; n++)
        fresh += !there[n];
    salt += fresh == 0;
    need(add(pieces, result, first, count));
    salt -= fresh == 0;
    memset(there + first, true, (size_t)count);
}

static void test_items_come_back(void **state)
{
    (void)state;
    for (int trial = 0; trial < 40; trial++) {
        const vf_pieces_result result = {.key = "key\n",
                                         .maker = trial % 2 ? "" : "maker\n",
                                         .items = 1 + integer_below(MOST_ITEMS),
                                         .item_bytes = 1 + (size_t)integer_below(trial % 4 ? 40 : MOST_BYTES)};
        bool there[MOST_ITEMS] = {false};
        char name[32];
        vf_pieces *pieces;
        snprintf(name, sizeof name, "pieces%d", trial);
        need(vf_pieces_create(ctx, name, &result, &pieces));
        for (int run = 0; run < 5; run++) {
            assert_string_equal(vf_pieces_maker(pieces), result.maker);
            assert_has(pieces, &result, there);
            assert_runs(pieces, result.items, there);
            for (int64_t n = integer_below(6); n > 0; n--)
                add_some(pieces, &result, there);
            assert_has(pieces, &result, there);
            for (int64_t n = 0; n < result.items; n++)
                if (!there[n])
                    assert_not_there(pieces, n);
            need(vf_pieces_close(&pieces));
            need(vf_pieces_resume(ctx, name, &result, &pieces));
        }
        assert_not_there(pieces, -1);
        assert_not_there(pieces, result.items);
        complete(pieces, name, &result);
    }
    assert_string_equal(warning, "");
}

static void test_remove(void **state)
{
    (void)state;
    small_file made = make_small("pieces");
    vf_pieces *pieces;
    need(vf_pieces_resume(ctx, "pieces", &small, &pieces));
    vf_pieces_remove(&pieces);
    assert_null(pieces);
    assert_int_equal(access("pieces", F_OK), -1);
    vf_pieces_remove(&pieces);
    need(vf_pieces_close(&pieces));
    free(made.data);
}

static void test_sync(void **state)
{
    (void)state;
    const char *const paths[] = {"pieces"};
    vf_pieces *pieces;
    const time_t began = time(NULL);
    syncs = 0;
    need(vf_pieces_create(ctx, "pieces", &small, &pieces));
    assert_int_equal(syncs, 1);
    for (int n = 0; n < 1000; n++)
        need(add(pieces, &small, n % 8, 1));
    assert_in_range(syncs, 1, 1 + (time(NULL) - began + 1) / VF_PIECES_SYNC_SECONDS);
    syncs = 0;
    need(vf_pieces_close(&pieces));
    assert_int_equal(syncs, 1);
    need(vf_pieces_gather(ctx, 1, paths, &small, &pieces));
    complete(pieces, "pieces", &small);
    assert_int_equal(syncs, 1);
    sync_error = EIO;
    need(vf_pieces_resume(ctx, "pieces", &small, &pieces));
    vf_status status = vf_pieces_close(&pieces);
    assert_refused(status, pieces, VF_ERR_OUTPUT, "pieces: cannot write", "Input/output error");
    status = vf_pieces_create(ctx, "other", &small, &pieces);
    sync_error = 0;
    assert_refused(status, pieces, VF_ERR_OUTPUT, "other: cannot write", "Input/output error");
    need(vf_pieces_resume(ctx, "pieces", &small, &pieces));
    complete(pieces, "pieces", &small);
}

/* ---- another result ---- */

static void assert_other(const vf_pieces_result *other, const char *there, const char *here, const char *unsaid)
{
    const char *const paths[] = {"pieces"};
    char one[200], two[200];
    vf_pieces *pieces;
    size_t bytes;
    unsigned char *before = load("pieces", &bytes);
    snprintf(one, sizeof one, "'%s'", there);
    snprintf(two, sizeof two, "'%s'", here);
    vf_status status = vf_pieces_resume(ctx, "pieces", other, &pieces);
    assert_null(strstr(vf_context_message(ctx), unsaid));
    assert_int_equal(strncmp(vf_context_message(ctx), "pieces ", 7), 0);
    assert_refused(status, pieces, VF_ERR_INPUT, one, two);
    if (strcmp(other->maker, small.maker) == 0) {
        status = vf_pieces_gather(ctx, 1, paths, other, &pieces);
        assert_refused(status, pieces, VF_ERR_INPUT, one, two);
    }
    assert_file_holds("pieces", before, bytes);
    free(before);
}

static void test_another_key(void **state)
{
    (void)state;
    small_file made = make_small("pieces");
    vf_pieces_result other = small;
    other.key = "grid 3 x 4 x 8\nspacing 0.25\n";
    assert_other(&other, "spacing 0.5", "spacing 0.25", "grid");
    other.key = "grid 3 x 4 x 9\nspacing 0.5\n";
    assert_other(&other, "grid 3 x 4 x 8", "grid 3 x 4 x 9", "spacing");
    other.key = "grid 3 x 4 x 8\nspacing 0.5\nunit V\n";
    assert_other(&other, "", "unit V", "grid");
    other.key = "grid 3 x 4 x 8\n";
    assert_other(&other, "spacing 0.5", "", "grid");
    other.key = "";
    assert_other(&other, "grid 3 x 4 x 8", "", "spacing");
    other = small;
    other.maker = "method fast\n";
    assert_other(&other, "method exact", "method fast", "grid");
    free(made.data);
}

static void test_other_sizes(void **state)
{
    (void)state;
    small_file made = make_small("pieces");
    const char *const paths[] = {"pieces"};
    for (int which = 0; which < 2; which++) {
        vf_pieces_result other = small;
        vf_pieces *pieces;
        other.items += which;
        other.item_bytes += !which;
        const char *says = which ? "not 9 of 4" : "not 8 of 5";
        vf_status status = vf_pieces_resume(ctx, "pieces", &other, &pieces);
        assert_refused(status, pieces, VF_ERR_INPUT, "pieces has 8 pieces of 4 bytes", says);
        status = vf_pieces_gather(ctx, 1, paths, &other, &pieces);
        assert_refused(status, pieces, VF_ERR_INPUT, "pieces has 8 pieces of 4 bytes", says);
    }
    free(made.data);
}

/* ---- one writer ---- */

static void test_create_replaces_nothing(void **state)
{
    (void)state;
    small_file made = make_small("pieces");
    vf_pieces *pieces;
    vf_status status = vf_pieces_create(ctx, "pieces", &small, &pieces);
    assert_refused(status, pieces, VF_ERR_OUTPUT, "pieces", "File exists");
    assert_file_holds("pieces", made.data, (size_t)made.end[RECORDS]);
    status = vf_pieces_create(ctx, "no/pieces", &small, &pieces);
    assert_refused(status, pieces, VF_ERR_OUTPUT, "no/pieces", "No such file");
    status = vf_pieces_resume(ctx, "none", &small, &pieces);
    assert_refused(status, pieces, VF_ERR_OUTPUT, "none", "No such file");
    assert_int_equal(access("none", F_OK), -1);
    free(made.data);
}

static void test_one_writer(void **state)
{
    (void)state;
    small_file made = make_small("pieces");
    const char *const paths[] = {"pieces"};
    vf_pieces *writer, *reader, *second;
    need(vf_pieces_resume(ctx, "pieces", &small, &writer));
    vf_status status = vf_pieces_resume(ctx, "pieces", &small, &second);
    assert_refused(status, second, VF_ERR_OUTPUT, "pieces", "another run is using it");
    status = vf_pieces_gather(ctx, 1, paths, &small, &second);
    assert_refused(status, second, VF_ERR_INPUT, "pieces", "another run is still writing it");
    assert_file_holds("pieces", made.data, (size_t)made.end[RECORDS]);
    need(vf_pieces_close(&writer));
    need(vf_pieces_gather(ctx, 1, paths, &small, &reader));
    need(vf_pieces_gather(ctx, 1, paths, &small, &second));
    need(vf_pieces_close(&second));
    status = vf_pieces_resume(ctx, "pieces", &small, &second);
    assert_refused(status, second, VF_ERR_OUTPUT, "pieces", "another run");
    need(vf_pieces_close(&reader));
    need(vf_pieces_resume(ctx, "pieces", &small, &second));
    complete(second, "pieces", &small);
    free(made.data);
}

/* A process that holds the file until it is killed: it says over a pipe when all its items are in. */
static void hold(int out)
{
    vf_pieces *pieces = NULL;
    bool good = vf_pieces_create(ctx, "pieces", &small, &pieces) == VF_OK;
    for (int r = 0; good && r < RECORDS; r++)
        good = add(pieces, &small, records[r].first, records[r].count) == VF_OK;
    while (good && write(out, "y", 1) == 1)
        pause();
    _exit(1);
}

static void test_another_process(void **state)
{
    (void)state;
    int ends[2], status = 0;
    char word = 0;
    bool there[MOST_ITEMS] = {false};
    vf_pieces *pieces;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0)
        hold(ends[1]);
    close(ends[1]);
    const ssize_t got = read(ends[0], &word, 1);
    const vf_status second = vf_pieces_resume(ctx, "pieces", &small, &pieces);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(got, 1);
    assert_refused(second, pieces, VF_ERR_OUTPUT, "pieces", "another run is using it");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(ends[0]);
    for (int r = 0; r < RECORDS; r++)
        mark(r, true, there);
    need(vf_pieces_resume(ctx, "pieces", &small, &pieces));
    assert_has(pieces, &small, there);
    complete(pieces, "pieces", &small);
}

/* ---- several files ---- */

static void test_gather(void **state)
{
    (void)state;
    enum { FILES = 4 };
    static const char *const paths[FILES] = {"a", "b", "c", "d"};
    for (int trial = 0; trial < 15; trial++) {
        vf_pieces_result result = {.key = "key\n",
                                   .maker = "method exact\n",
                                   .items = 1 + integer_below(MOST_ITEMS),
                                   .item_bytes = 1 + (size_t)integer_below(99)};
        bool there[MOST_ITEMS] = {false};
        vf_pieces *pieces;
        for (int f = 0; f < FILES; f++) {
            need(vf_pieces_create(ctx, paths[f], &result, &pieces));
            for (int64_t n = integer_below(3); n > 0; n--) {
                const int64_t first = integer_below(result.items),
                              count = 1 + integer_below((result.items - first + 2) / 3);
                need(add(pieces, &result, first, count));
                memset(there + first, true, (size_t)count);
            }
            need(vf_pieces_close(&pieces));
        }
        result.maker = "";
        need(vf_pieces_gather(ctx, FILES, paths, &result, &pieces));
        assert_string_equal(vf_pieces_maker(pieces), "method exact\n");
        assert_has(pieces, &result, there);
        assert_runs(pieces, result.items, there);
        for (int64_t n = 0; n < result.items; n++)
            if (!there[n])
                assert_not_there(pieces, n);
        vf_pieces_remove(&pieces);
        for (int f = 0; f < FILES; f++)
            assert_int_equal(access(paths[f], F_OK), -1);
    }
}

static void test_files_that_do_not_fit(void **state)
{
    (void)state;
    static const char *const paths[] = {"a", "b"}, *const missing[] = {"a", "none"};
    vf_pieces_result other = small;
    small_file made = make_small("a");
    vf_pieces *pieces;
    vf_status status = vf_pieces_gather(ctx, 2, missing, &small, &pieces);
    assert_refused(status, pieces, VF_ERR_INPUT, "none", "No such file");
    other.maker = "method fast\n";
    need(vf_pieces_create(ctx, "b", &other, &pieces));
    need(vf_pieces_close(&pieces));
    status = vf_pieces_gather(ctx, 2, paths, &small, &pieces);
    assert_refused(status, pieces, VF_ERR_INPUT, "b does not fit", "'method fast'");
    other = small;
    other.key = "grid 3 x 4 x 8\nspacing 1\n";
    assert_int_equal(unlink("b"), 0);
    need(vf_pieces_create(ctx, "b", &other, &pieces));
    need(vf_pieces_close(&pieces));
    status = vf_pieces_gather(ctx, 2, paths, &small, &pieces);
    assert_refused(status, pieces, VF_ERR_INPUT, "b does not fit", "'spacing 1'");
    free(made.data);
}

TEST_MAIN(begin_pieces, NULL, TEST(test_items_come_back), TEST(test_remove), TEST(test_sync), TEST(test_another_key),
          TEST(test_other_sizes), TEST(test_create_replaces_nothing), TEST(test_one_writer), TEST(test_another_process),
          TEST(test_gather), TEST(test_files_that_do_not_fit))
