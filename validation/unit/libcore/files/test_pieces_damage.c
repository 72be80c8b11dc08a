/* Files of pieces: whatever ends the run that writes one, and whatever happens to the file, the items that come back are
 * those that were put in. */
#include "pieces_fixture.h"

/* ---- files that are cut off, or damaged ---- */

static void test_every_truncation(void **state)
{
    (void)state;
    small_file made = make_small("made");
    const char *const paths[] = {"cut"};
    for (off_t cut = 0; cut <= made.end[RECORDS]; cut++) {
        const int whole = whole_before(&made, cut);
        bool there[MOST_ITEMS] = {false};
        vf_pieces *pieces;
        for (int r = 0; r < whole; r++)
            mark(r, true, there);
        store("cut", made.data, (size_t)cut);
        const vf_status status = vf_pieces_gather(ctx, 1, paths, &small, &pieces);
        if (cut < made.end[0]) {
            assert_refused(status, pieces, VF_ERR_INPUT, "cut", "ends too early");
        } else {
            need(status);
            assert_has(pieces, &small, there);
            need(vf_pieces_close(&pieces));
        }
        assert_file_holds("cut", made.data, (size_t)cut); /* who only reads changes nothing */
        need(vf_pieces_resume(ctx, "cut", &small, &pieces));
        assert_has(pieces, &small, there);
        assert_file_holds("cut", made.data, (size_t)made.end[whole]);
        complete(pieces, "cut", &small);
    }
    assert_string_equal(warning, "");
    free(made.data);
}

/* The data of a record may reach the disk before its header, and the other way round. */
static void test_torn_inside(void **state)
{
    (void)state;
    small_file made = make_small("made");
    const size_t last = (size_t)made.end[RECORDS - 1], all = (size_t)made.end[RECORDS];
    for (int headless = 0; headless < 2; headless++) {
        bool there[MOST_ITEMS] = {false};
        vf_pieces *pieces;
        unsigned char *torn = malloc(all);
        assert_non_null(torn);
        memcpy(torn, made.data, all);
        memset(torn + last + (headless ? 0 : RECORD), 0, headless ? RECORD : all - last - RECORD);
        store("torn", torn, all);
        for (int r = 0; r < RECORDS - 1; r++)
            mark(r, true, there);
        need(vf_pieces_resume(ctx, "torn", &small, &pieces));
        assert_has(pieces, &small, there);
        complete(pieces, "torn", &small);
        free(torn);
    }
    free(made.data);
}

static void test_rubbish_at_the_end(void **state)
{
    (void)state;
    small_file made = make_small("made");
    const size_t bytes = (size_t)made.end[RECORDS];
    bool there[MOST_ITEMS] = {false};
    for (int r = 0; r < RECORDS; r++)
        mark(r, true, there);
    for (int trial = 0; trial < 50; trial++) {
        const size_t more = 1 + (size_t)integer_below(200);
        vf_pieces *pieces;
        unsigned char *longer = malloc(bytes + more);
        assert_non_null(longer);
        memcpy(longer, made.data, bytes);
        for (size_t n = 0; n < more; n++)
            longer[bytes + n] = (unsigned char)integer_below(256);
        if (trial % 2)
            memcpy(longer + bytes, "VFPC", more < 4 ? more : 4);
        store("longer", longer, bytes + more);
        need(vf_pieces_resume(ctx, "longer", &small, &pieces));
        assert_has(pieces, &small, there);
        assert_file_holds("longer", made.data, bytes);
        complete(pieces, "longer", &small);
        free(longer);
    }
    free(made.data);
}

/* After damage at a byte: the record that is lost (-1: none), and whether all others must be there. A record whose header
 * is good shows where the next one begins. */
static int lost_record(const small_file *made, off_t at, bool *others)
{
    const int r = at < made->end[0] ? -1 : whole_before(made, at);
    *others = at >= (r < 0 ? UNUSED : made->end[r] + RECORD);
    return r;
}

static void assert_after_damage(vf_pieces *pieces, const small_file *made, off_t at)
{
    bool there[MOST_ITEMS] = {false}, others;
    const int lost = lost_record(made, at, &others);
    for (int64_t n = 0; n < small.items; n++)
        there[n] = vf_pieces_count(pieces, n, n + 1) == 1;
    assert_has(pieces, &small, there);
    for (int r = 0; r < RECORDS; r++) {
        const bool has = vf_pieces_count(pieces, records[r].first, records[r].first + records[r].count) > 0;
        if (r == lost)
            assert_false(has);
        else if (r < lost || others)
            assert_true(has);
    }
    if (lost >= 0 && others)
        assert_non_null(strstr(warning, "because of wrong checksums"));
    warning[0] = '\0';
}

/* A flipped bit loses items at most. */
static void test_every_flipped_bit(void **state)
{
    (void)state;
    small_file made = make_small("made");
    const char *const paths[] = {"flipped"};
    const size_t bytes = (size_t)made.end[RECORDS];
    for (size_t at = 0; at < bytes; at++) {
        vf_pieces *pieces;
        const int64_t chosen = integer_below(8);
        for (int bit = 0; bit < 8; bit++) {
            made.data[at] ^= (unsigned char)(1 << bit);
            store("flipped", made.data, bytes);
            vf_status status = vf_pieces_gather(ctx, 1, paths, &small, &pieces);
            if ((off_t)at < made.end[0] && (at < UNUSED || at >= HEADER))
                assert_refused(status, pieces, VF_ERR_INPUT, "flipped", "");
            else
                need(status);
            if (pieces)
                assert_after_damage(pieces, &made, (off_t)at);
            need(vf_pieces_close(&pieces));
            status = bit == chosen ? vf_pieces_resume(ctx, "flipped", &small, &pieces) : VF_ERR_INPUT;
            made.data[at] ^= (unsigned char)(1 << bit);
            assert_true(status == VF_OK || status == VF_ERR_INPUT);
            vf_context_clear_error(ctx);
            if (status == VF_OK) {
                assert_after_damage(pieces, &made, (off_t)at);
                complete(pieces, "flipped", &small);
            }
        }
    }
    free(made.data);
}

/* Several bytes, anywhere. */
static void test_random_damage(void **state)
{
    (void)state;
    small_file made = make_small("made");
    const char *const paths[] = {"damaged"};
    const size_t bytes = (size_t)made.end[RECORDS];
    unsigned char *damaged = malloc(bytes);
    assert_non_null(damaged);
    for (int trial = 0; trial < 2000; trial++) {
        const int64_t from = trial % 2 ? made.end[0] : 0; /* a damaged header hides all else */
        vf_pieces *pieces;
        memcpy(damaged, made.data, bytes);
        for (int64_t n = 1 + integer_below(4); n > 0; n--)
            damaged[from + integer_below((int64_t)bytes - from)] = (unsigned char)integer_below(256);
        store("damaged", damaged, bytes - (trial % 3 ? 0 : (size_t)integer_below((int64_t)bytes)));
        const vf_status status = vf_pieces_gather(ctx, 1, paths, &small, &pieces);
        bool there[MOST_ITEMS] = {false};
        assert_true(status == VF_OK || status == VF_ERR_INPUT);
        for (int64_t n = 0; pieces && n < small.items; n++)
            there[n] = vf_pieces_count(pieces, n, n + 1) == 1;
        if (pieces)
            assert_has(pieces, &small, there);
        need(vf_pieces_close(&pieces));
        vf_context_clear_error(ctx);
    }
    free(damaged);
    free(made.data);
}

/* ---- headers that ask for too much ---- */

/* Writes a number into the header, or into the first record's, and makes the checksums match. */
static void forge(unsigned char *data, const small_file *made, size_t at, uint64_t value, size_t bytes)
{
    memcpy(data + at, &value, bytes);
    const size_t texts = (size_t)made->end[0] - HEADER;
    uint32_t sum = (uint32_t)crc32_z(crc32_z(0, data, 40), data + HEADER, texts);
    memcpy(data + 40, &sum, sizeof sum);
    sum = (uint32_t)crc32_z(0, data + made->end[0], RECORD - 4);
    memcpy(data + made->end[0] + RECORD - 4, &sum, sizeof sum);
}

/* An allocation of more than 64 MiB fails. */
static void limit_memory(struct rlimit *before)
{
    assert_int_equal(getrlimit(RLIMIT_AS, before), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they map terabytes */
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld", &pages) == 1) {
        const struct rlimit limit = {.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 26),
                                     .rlim_max = before->rlim_max};
        assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    }
    if (file)
        fclose(file);
#endif
}

static void test_hostile_headers(void **state)
{
    (void)state;
    small_file made = make_small("made");
    const size_t bytes = (size_t)made.end[RECORDS], record = (size_t)made.end[0];
    const char *const paths[] = {"hostile"};
    const struct {
        size_t at, bytes;
        uint64_t value;
        const char *says; /* NULL: the record is left out */
    } cases[] = {
        {0, 8, 0, "not a file of pieces"},
        {8, 4, 2, "another version"},
        {12, 4, 0x04030201, "another kind of machine"},
        {16, 8, INT64_MAX, "has 9223372036854775807 pieces"},
        {16, 8, (uint64_t)-1, "pieces"},
        {16, 8, 0, "has 0 pieces"},
        {24, 8, UINT64_MAX, "of 18446744073709551615 bytes"},
        {24, 8, (uint64_t)1 << 40, "bytes"},
        {24, 8, 0, "of 0 bytes"},
        {32, 4, UINT32_MAX, "impossible sizes"},
        {36, 4, UINT32_MAX, "impossible sizes"},
        {32, 4, 1 << 20, "too early"},
        {36, 4, 1 << 20, "too early"},
        {record + 8, 8, (uint64_t)-1, NULL},
        {record + 8, 8, INT64_MAX, NULL},
        {record + 8, 8, 8, NULL},
        {record + 16, 8, INT64_MAX, NULL},
        {record + 16, 8, (uint64_t)1 << 61, NULL},
        {record + 16, 8, (uint64_t)-8, NULL}, /* as long as the header, backwards */
        {record + 16, 8, 0, NULL},
        {record + 16, 8, 4, NULL},
    };
    struct rlimit before;
    limit_memory(&before);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        unsigned char *data = malloc(bytes);
        vf_pieces *pieces;
        assert_non_null(data);
        memcpy(data, made.data, bytes);
        forge(data, &made, cases[n].at, cases[n].value, cases[n].bytes);
        store("hostile", data, bytes);
        const vf_status status = vf_pieces_gather(ctx, 1, paths, &small, &pieces);
        if (cases[n].says) {
            assert_refused(status, pieces, VF_ERR_INPUT, "hostile", cases[n].says);
        } else {
            need(status);
            assert_int_equal(vf_pieces_count(pieces, 0, small.items), 0);
            need(vf_pieces_close(&pieces));
        }
        free(data);
    }
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    free(made.data);
}

static void test_not_such_a_file(void **state)
{
    (void)state;
    const char *const texts[] = {"ATOM", "V", "VFPIECE",
                                 "VFPIECES and then something else that is longer than a header",
                                 "a map of another kind, as long as a header, or even longer than that"};
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        vf_pieces *pieces;
        const bool begun = strncmp(texts[n], "VFPIECES", strlen(texts[n])) == 0; /* a run that was killed early */
        store("other", texts[n], strlen(texts[n]));
        const vf_status status = vf_pieces_resume(ctx, "other", &small, &pieces);
        if (begun) {
            need(status);
            complete(pieces, "other", &small);
            continue;
        }
        assert_refused(status, pieces, VF_ERR_INPUT, "other", "");
        assert_file_holds("other", (const unsigned char *)texts[n], strlen(texts[n]));
    }
}

/* ---- a full disk ---- */

static void limit_files(off_t bytes, const struct rlimit *before)
{
    const struct rlimit limit = {.rlim_cur = (rlim_t)bytes, .rlim_max = before->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Adds records until the disk is full. */
static void add_until_full(vf_pieces *pieces, const small_file *made, off_t room, const struct rlimit *before,
                           bool *there)
{
    vf_status status = VF_OK;
    int whole = 0;
    limit_files(room, before);
    while (status == VF_OK && whole < RECORDS) {
        status = add(pieces, &small, records[whole].first, records[whole].count);
        if (status == VF_OK)
            mark(whole++, true, there);
    }
    const off_t size = size_of("pieces");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, before), 0);
    if (whole < RECORDS)
        assert_says(status, VF_ERR_OUTPUT, "pieces: cannot write", "File too large");
    assert_int_equal(whole, whole_before(made, room));
    assert_int_equal(size, made->end[whole]); /* nothing of the record that did not fit */
}

static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit before;
    small_file made = make_small("made");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (off_t room = made.end[0]; room <= made.end[RECORDS]; room++) {
        bool there[MOST_ITEMS] = {false};
        vf_pieces *pieces;
        need(vf_pieces_create(ctx, "pieces", &small, &pieces));
        add_until_full(pieces, &made, room, &before, there);
        assert_has(pieces, &small, there);
        if (room % 2) { /* the run ends */
            need(vf_pieces_close(&pieces));
            need(vf_pieces_resume(ctx, "pieces", &small, &pieces));
            assert_has(pieces, &small, there);
        }
        complete(pieces, "pieces", &small); /* there is room again */
        assert_int_equal(unlink("pieces"), 0);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    free(made.data);
}

static void test_no_room_for_the_header(void **state)
{
    (void)state;
    struct rlimit before;
    small_file made = make_small("made");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (off_t room = 0; room < made.end[0]; room += 7) {
        vf_pieces *pieces;
        limit_files(room, &before);
        const vf_status status = vf_pieces_create(ctx, "pieces", &small, &pieces);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_refused(status, pieces, VF_ERR_OUTPUT, "pieces: cannot write", "File too large");
        if (access("pieces", F_OK) == 0) { /* what is left is no obstacle */
            need(vf_pieces_resume(ctx, "pieces", &small, &pieces));
            complete(pieces, "pieces", &small);
            assert_int_equal(unlink("pieces"), 0);
        }
    }
    free(made.data);
}

TEST_MAIN(begin_pieces, NULL, TEST(test_every_truncation), TEST(test_torn_inside), TEST(test_rubbish_at_the_end),
          TEST(test_every_flipped_bit), TEST(test_random_damage), TEST(test_hostile_headers),
          TEST(test_not_such_a_file), TEST(test_full_disk), TEST(test_no_room_for_the_header))
