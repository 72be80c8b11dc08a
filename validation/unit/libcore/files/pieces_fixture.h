/* Files of pieces, with items whose bytes follow from their numbers, in a folder for each test. */
#ifndef PIECES_FIXTURE_H
#define PIECES_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "context_fixture.h"
#include "random_fixture.h"
#include "voxfield/pieces.h"

/* The file's layout, written down here again: a header of 48 bytes, of which the last 4 have no meaning; the texts; records
 * with a header of 32 bytes. */
enum { HEADER = 48, UNUSED = 44, RECORD = 32, MOST_ITEMS = 64, MOST_BYTES = 3000 };

static char start[4096], folder[4096];
static char warning[1000]; /* the last one */

static inline void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user, (void)level;
    snprintf(warning, sizeof warning, "%s", text);
}

/* In place of the system's, which takes long: tests count the calls, and let them fail. */
static int syncs, sync_error;

int fdatasync(int fd)
{
    (void)fd;
    syncs++;
    errno = sync_error;
    return sync_error ? -1 : 0;
}

/* Every test runs in its own empty folder. */
static inline int enter(void **state)
{
    (void)state;
    const char *root = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/test_pieces.XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(folder) || chdir(folder) != 0 || vf_context_create(&ctx) != VF_OK)
        return -1;
    vf_context_set_log(ctx, keep_log, NULL);
    warning[0] = '\0';
    return 0;
}

static inline int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static inline int leave(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return chdir(start) != 0 || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}

/* ---- items ---- */

static uint64_t salt; /* of the items' bytes */

/* The bytes of an item, which follow from its number. */
static inline void fill(int64_t item, size_t bytes, unsigned char *to)
{
    uint64_t state = salt + (uint64_t)item * 0x632be59bd9b4e019u;
    for (size_t n = 0; n < bytes; n++)
        to[n] = (unsigned char)splitmix(&state);
}

static inline vf_status add(vf_pieces *pieces, const vf_pieces_result *result, int64_t first, int64_t count)
{
    unsigned char *data = malloc((size_t)count * result->item_bytes);
    assert_non_null(data);
    for (int64_t n = 0; n < count; n++)
        fill(first + n, result->item_bytes, data + (size_t)n * result->item_bytes);
    const vf_status status = vf_pieces_add(pieces, first, count, data);
    free(data);
    return status;
}

/* Compares with the items' bytes, by all the ways of asking; `there` has a flag for each item. */
static inline void assert_has(vf_pieces *pieces, const vf_pieces_result *result, const bool *there)
{
    unsigned char got[MOST_BYTES], expected[MOST_BYTES];
    int64_t count = 0;
    for (int64_t n = 0; n < result->items; n++) {
        count += there[n];
        assert_int_equal(vf_pieces_count(pieces, n, n + 1), there[n]);
        if (!there[n])
            continue;
        fill(n, result->item_bytes, expected);
        memset(got, 0, sizeof got);
        need(vf_pieces_get(pieces, n, got));
        assert_memory_equal(got, expected, result->item_bytes);
    }
    assert_int_equal(vf_pieces_count(pieces, 0, result->items), count);
}

static inline void assert_not_there(vf_pieces *pieces, int64_t item)
{
    unsigned char got[MOST_BYTES];
    assert_int_equal(vf_pieces_get(pieces, item, got), VF_ERR_INTERNAL);
    vf_context_clear_error(ctx);
}

static inline void assert_says(vf_status got, vf_status expected, const char *one, const char *two)
{
    const char *text = vf_context_message(ctx);
    if (got != expected)
        fail_msg("status %d, not %d: '%s'", (int)got, (int)expected, text);
    if (!strstr(text, one) || !strstr(text, two))
        fail_msg("'%s' does not say '%s' and '%s'", text, one, two);
    vf_context_clear_error(ctx);
}

static inline void assert_refused(vf_status got, vf_pieces *pieces, vf_status expected, const char *one,
                                  const char *two)
{
    assert_null(pieces);
    assert_says(got, expected, one, two);
}

/* ---- files ---- */

static inline off_t size_of(const char *name)
{
    struct stat info;
    assert_int_equal(stat(name, &info), 0);
    return info.st_size;
}

/* free() the result. */
static inline unsigned char *load(const char *name, size_t *bytes)
{
    *bytes = (size_t)size_of(name);
    unsigned char *data = malloc(*bytes + 1);
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

/* A new file: ext4 writes one that was emptied to the disk at once. */
static inline void store(const char *name, const void *data, size_t bytes)
{
    (void)unlink(name);
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void assert_file_holds(const char *name, const unsigned char *expected, size_t bytes)
{
    size_t now;
    unsigned char *data = load(name, &now);
    assert_int_equal(now, bytes);
    assert_memory_equal(data, expected, bytes);
    free(data);
}

/* A small file, and where each of its records ends. */
static const vf_pieces_result small = {
    .key = "grid 3 x 4 x 8\nspacing 0.5\n", .maker = "method exact\n", .items = 8, .item_bytes = 4};
static const struct {
    int64_t first, count;
} records[] = {{5, 2}, {0, 1}, {2, 3}, {7, 1}};
enum { RECORDS = sizeof records / sizeof *records };

typedef struct small_file {
    unsigned char *data;
    off_t end[RECORDS + 1]; /* end[0]: of the header */
} small_file;

static inline small_file make_small(const char *name)
{
    small_file made;
    vf_pieces *pieces;
    size_t bytes;
    need(vf_pieces_create(ctx, name, &small, &pieces));
    made.end[0] = size_of(name);
    assert_int_equal(made.end[0], HEADER + strlen(small.key) + strlen(small.maker));
    for (int r = 0; r < RECORDS; r++) {
        need(add(pieces, &small, records[r].first, records[r].count));
        made.end[r + 1] = size_of(name);
        assert_int_equal(made.end[r + 1] - made.end[r], RECORD + records[r].count * (off_t)small.item_bytes);
    }
    need(vf_pieces_close(&pieces));
    assert_null(pieces);
    made.data = load(name, &bytes);
    assert_int_equal(bytes, made.end[RECORDS]);
    return made;
}

static inline void mark(int r, bool value, bool *there)
{
    for (int64_t n = 0; n < records[r].count; n++)
        there[records[r].first + n] = value;
}

/* Adds what is missing, and expects it all to be read. */
static inline void complete(vf_pieces *pieces, const char *name, const vf_pieces_result *result)
{
    bool all[MOST_ITEMS];
    const char *const paths[] = {name};
    int64_t first, end;
    memset(all, true, sizeof all);
    while (vf_pieces_next(pieces, false, 0, result->items, &first, &end))
        need(add(pieces, result, first, end - first));
    assert_has(pieces, result, all);
    need(vf_pieces_close(&pieces));
    need(vf_pieces_gather(ctx, 1, paths, result, &pieces));
    assert_has(pieces, result, all);
    need(vf_pieces_close(&pieces));
}

/* The number of whole records before a cut. */
static inline int whole_before(const small_file *made, off_t cut)
{
    int whole = 0;
    while (whole < RECORDS && made->end[whole + 1] <= cut)
        whole++;
    return whole;
}

/* Of a group of tests. */
static inline int begin_pieces(void **state)
{
    (void)state;
    salt = random_bits();
    return !getcwd(start, sizeof start);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

#endif
