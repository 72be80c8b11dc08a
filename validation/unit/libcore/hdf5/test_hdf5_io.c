/* libcore's HDF5 files: pieces, chunks, attributes, and errors. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "hdf5_fixture.h"

/* Each file is read in a process of its own, which takes five times as long under a sanitizer. */
enum { FEWER = SANITIZED ? 4 : 1 };

/* A different value for every element. */
static double value_of(int64_t index)
{
    return (double)((index * 7919 + 13) % 100003) / 8 - 1000; /* exact in a float */
}

/* Fills or checks the piece [start, start + count) of an array of `rank` dimensions `dims`. */
static void walk(int rank, const int64_t *dims, const int64_t *start, const int64_t *count, vf_dtype type, void *data,
                 bool fill)
{
    int64_t at[VF_H5_MAX_RANK] = {0}, n = 1;
    for (int d = 0; d < rank; d++)
        n *= count[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t index = 0;
        for (int d = 0; d < rank; d++)
            index = index * dims[d] + start[d] + at[d];
        float *single = (float *)data + i;
        double *full = (double *)data + i;
        if (fill && type == VF_F32)
            *single = (float)value_of(index);
        else if (fill)
            *full = value_of(index);
        else if ((type == VF_F32 ? (double)*single : *full) != value_of(index))
            fail_msg("element %lld is %g, not %g", (long long)index, type == VF_F32 ? (double)*single : *full,
                     value_of(index));
        for (int d = rank - 1; d >= 0 && ++at[d] == count[d]; d--)
            at[d] = 0;
    }
}

static void write_piece(vf_h5 *file, const char *name, int rank, const int64_t *dims, const int64_t *start,
                        const int64_t *count, vf_dtype type)
{
    size_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= (size_t)count[d];
    void *data = malloc(n * sizeof(double));
    walk(rank, dims, start, count, type, data, true);
    need(vf_h5_write(file, name, type, start, count, data));
    free(data);
}

static void check_piece(vf_h5 *file, const char *name, int rank, const int64_t *dims, const int64_t *start,
                        const int64_t *count, vf_dtype type)
{
    size_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= (size_t)count[d];
    void *data = malloc(n * sizeof(double));
    memset(data, 0xff, n * sizeof(double)); /* nan */
    need(vf_h5_read(file, name, type, start, count, data));
    walk(rank, dims, start, count, type, data, false);
    free(data);
}

static char *slurp(const char *name, size_t *bytes)
{
    FILE *stream = fopen(name, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    *bytes = (size_t)ftell(stream);
    rewind(stream);
    char *content = malloc(*bytes + 1);
    assert_int_equal(fread(content, 1, *bytes, stream), *bytes);
    fclose(stream);
    return content;
}

/* ---- written data are read back ---- */

static const struct shape {
    int rank;
    int64_t dims[VF_H5_MAX_RANK], chunk[VF_H5_MAX_RANK];
} shapes[] = {
    {1, {1}, {1}},
    {1, {1000}, {64}},
    {2, {7, 100}, {7, 33}},
    {2, {65, 3}, {64, 2}},
    {3, {13, 17, 19}, {4, 5, 6}},
    {3, {8, 8, 8}, {4, 4, 4}},
    {4, {3, 5, 7, 9}, {3, 2, 7, 4}},
    {8, {2, 3, 2, 1, 2, 3, 2, 3}, {1, 2, 2, 1, 1, 2, 2, 2}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void whole_datasets(void **state)
{
    (void)state;
    static const int levels[] = {0, 1, 9, 0}; /* the last one without chunks */
    const int64_t start[VF_H5_MAX_RANK] = {0};
    for (int s = 0; s < SHAPES; s++)
        for (int type = VF_F32; type <= VF_F64; type++)
            for (int l = 0; l < 4; l++) {
                const struct shape *shape = &shapes[s];
                vf_h5 *file;
                vf_dtype stored;
                int rank;
                int64_t dims[VF_H5_MAX_RANK];
                need(vf_h5_create(ctx, path, &file));
                need(vf_h5_dataset_create(file, "a", (vf_dtype)type, shape->rank, shape->dims,
                                          l < 3 ? shape->chunk : NULL, levels[l]));
                write_piece(file, "a", shape->rank, shape->dims, start, shape->dims, (vf_dtype)type);
                need(vf_h5_commit(&file));
                assert_null(file);
                need(vf_h5_open(ctx, path, &file));
                need(vf_h5_dataset_shape(file, "/a", &stored, &rank, dims));
                assert_int_equal(stored, type);
                assert_int_equal(rank, shape->rank);
                assert_memory_equal(dims, shape->dims, (size_t)rank * sizeof *dims);
                check_piece(file, "a", rank, dims, start, dims, VF_F32); /* converted if necessary */
                check_piece(file, "a", rank, dims, start, dims, VF_F64);
                vf_h5_close(&file);
                assert_null(file);
            }
}

/* Pieces that are whole chunks take one path, all others another; the two must mix, even within one chunk's
 * lifetime. */
static void pieces(void **state)
{
    (void)state;
    const int64_t dims[3] = {20, 18, 16}, chunk[3] = {4, 6, 16};
    static const int64_t starts[][3] = {{0, 0, 0}, {4, 0, 0}, {4, 6, 0},   {7, 1, 3},
                                        {8, 0, 0}, {9, 0, 0}, {16, 12, 0}, {0, 0, 0}};
    static const int64_t counts[][3] = {{4, 6, 16},  {4, 6, 16},   {16, 12, 16}, {2, 5, 7},
                                        {1, 18, 16}, {11, 18, 16}, {4, 6, 16},   {9, 18, 16}};
    const int64_t zero[3] = {0, 0, 0};
    for (int type = VF_F32; type <= VF_F64; type++) {
        vf_h5 *file;
        need(vf_h5_create(ctx, path, &file));
        need(vf_h5_dataset_create(file, "group/inner/a", VF_F32, 3, dims, chunk, 4));
        need(vf_h5_dataset_create(file, "b", VF_F64, 3, dims, chunk, 4));
        for (size_t p = 0; p < sizeof starts / sizeof *starts; p++) {
            write_piece(file, "group/inner/a", 3, dims, starts[p], counts[p], (vf_dtype)type);
            write_piece(file, "b", 3, dims, starts[p], counts[p], VF_F64);
        }
        check_piece(file, "b", 3, dims, zero, dims, VF_F64); /* before it is closed */
        need(vf_h5_commit(&file));
        need(vf_h5_open(ctx, path, &file));
        for (size_t p = 0; p < sizeof starts / sizeof *starts; p++)
            check_piece(file, "/group/inner/a", 3, dims, starts[p], counts[p], VF_F64);
        check_piece(file, "group/inner/a", 3, dims, zero, dims, VF_F32);
        check_piece(file, "b", 3, dims, zero, dims, VF_F64);
        vf_h5_close(&file);
    }
}

/* Elements that were never written read as zero. */
static void gaps(void **state)
{
    (void)state;
    const int64_t dims[2] = {10, 10}, chunk[2] = {5, 5}, start[2] = {5, 5}, count[2] = {5, 5}, zero[2] = {0, 0};
    float values[100];
    vf_h5 *file;
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "a", VF_F32, 2, dims, chunk, 1));
    write_piece(file, "a", 2, dims, start, count, VF_F32);
    need(vf_h5_commit(&file));
    need(vf_h5_open(ctx, path, &file));
    need(vf_h5_read(file, "a", VF_F32, zero, dims, values));
    for (int i = 0; i < 100; i++)
        assert_true(values[i] == (i / 10 >= 5 && i % 10 >= 5 ? (float)value_of(i) : 0.0f));
    vf_h5_close(&file);
}

static void attributes(void **state)
{
    (void)state;
    const double three[3] = {0.1, -2.5, 1e300};
    const int64_t integers[2] = {INT64_MAX, -5};
    const int64_t one = 1;
    double back[3];
    char *long_text = malloc(200001);
    vf_h5 *file;
    memset(long_text, 'x', 200000); /* more than the 64 KiB limit of a compact attribute */
    long_text[200000] = '\0';
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "a", VF_F32, 1, &one, &one, 0));
    need(vf_h5_attribute_doubles(file, "a", "three", three, 3));
    need(vf_h5_attribute_doubles(file, "/", "one", three, 2));
    need(vf_h5_attribute_doubles(file, "/", "one", three, 1)); /* replaces */
    need(vf_h5_attribute_integers(file, "/a", "integers", integers + 1, 1));
    need(vf_h5_attribute_text(file, "/", "text", "\xc3\x85ngstr\xc3\xb6m"));
    need(vf_h5_attribute_text(file, "/", "empty", ""));
    need(vf_h5_attribute_text(file, "a", "long", long_text));
    expect_error(vf_h5_attribute_text(file, "nothing", "text", "x"), VF_ERR_OUTPUT, "'nothing'");
    need(vf_h5_commit(&file));
    free(long_text);
    need(vf_h5_open(ctx, path, &file));
    need(vf_h5_attribute_get_doubles(file, "a", "three", back, 3));
    assert_memory_equal(back, three, sizeof three);
    need(vf_h5_attribute_get_doubles(file, "/", "one", back, 1));
    assert_true(back[0] == 0.1);
    need(vf_h5_attribute_get_doubles(file, "a", "integers", back, 1));
    assert_true(back[0] == -5);
    expect_error(vf_h5_attribute_get_doubles(file, "a", "three", back, 2), VF_ERR_INPUT, "is not 2 numbers");
    expect_error(vf_h5_attribute_get_doubles(file, "/", "text", back, 1), VF_ERR_INPUT, "is not 1 number");
    expect_error(vf_h5_attribute_get_doubles(file, "/", "none", back, 1), VF_ERR_INPUT, "'none'");
    expect_error(vf_h5_attribute_get_doubles(file, "b", "three", back, 3), VF_ERR_INPUT, "'b'");
    vf_h5_close(&file);
}

/* The same calls give the same bytes, with any number of threads that compress the chunks. */
static void same_bytes(void **state)
{
    (void)state;
    const int64_t dims[3] = {30, 40, 50}, chunk[3] = {8, 16, 16}, start[3] = {0, 0, 0};
    size_t bytes[3];
    char *content[3];
    for (int run = 0; run < 3; run++) {
        vf_h5 *file;
        need(vf_context_set_threads(ctx, run == 0 ? 1 : 6));
        need(vf_h5_create(ctx, path, &file));
        need(vf_h5_dataset_create(file, "a", VF_F32, 3, dims, chunk, 6));
        write_piece(file, "a", 3, dims, start, dims, VF_F32);
        need(vf_h5_attribute_text(file, "a", "text", "x"));
        need(vf_h5_commit(&file));
        content[run] = slurp(path, &bytes[run]);
        sleep(run == 0); /* so that a time stamp would show */
    }
    for (int run = 1; run < 3; run++) {
        assert_int_equal(bytes[run], bytes[0]);
        assert_memory_equal(content[run], content[0], bytes[0]);
    }
    for (int run = 0; run < 3; run++)
        free(content[run]);
    need(vf_context_set_threads(ctx, 3));
}

/* ---- wrong use, wrong files ---- */

static void wrong_calls(void **state)
{
    (void)state;
    const int64_t dims[2] = {4, 6}, chunk[2] = {2, 3}, large[2] = {5, 3}, none[2] = {0, 3}, start[2] = {0, 0};
    const int64_t beyond[2] = {3, 0}, two[2] = {2, 6}, negative[2] = {-1, 0}, huge[2] = {INT64_MAX, 1};
    const vf_dtype strange = (vf_dtype)99;
    float values[24] = {0};
    vf_h5 *file;
    need(vf_h5_create(ctx, path, &file));
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 2, dims, large, 1), VF_ERR_OUTPUT, "'a'");
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 2, dims, none, 1), VF_ERR_OUTPUT, "'a'");
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 2, none, none, 1), VF_ERR_OUTPUT, "'a'");
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 0, dims, chunk, 1), VF_ERR_OUTPUT, "'a'");
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 9, dims, chunk, 1), VF_ERR_OUTPUT, "'a'");
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 2, dims, chunk, 10), VF_ERR_OUTPUT, "'a'");
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 2, dims, NULL, 1), VF_ERR_OUTPUT, "'a'");
    expect_error(vf_h5_dataset_create(file, "a", strange, 2, dims, chunk, 1), VF_ERR_ARGUMENT, "element type 99");
    expect_error(vf_h5_write(file, "a", VF_F32, start, dims, values), VF_ERR_OUTPUT, "'a'");
    need(vf_h5_dataset_create(file, "a", VF_F32, 2, dims, chunk, 1));
    expect_error(vf_h5_dataset_create(file, "a", VF_F32, 2, dims, chunk, 1), VF_ERR_OUTPUT, "name already exists");
    need(vf_h5_write(file, "a", VF_F32, start, dims, values));
    expect_error(vf_h5_write(file, "a", strange, start, two, values), VF_ERR_ARGUMENT, "element type 99");
    expect_error(vf_h5_write(file, "a", VF_F32, beyond, two, values), VF_ERR_OUTPUT, "outside dimension 0");
    expect_error(vf_h5_write(file, "a", VF_F32, negative, two, values), VF_ERR_OUTPUT, "outside dimension 0");
    expect_error(vf_h5_write(file, "a", VF_F32, huge, two, values), VF_ERR_OUTPUT, "outside dimension 0");
    expect_error(vf_h5_write(file, "a", VF_F32, start, huge, values), VF_ERR_OUTPUT, "outside dimension 0");
    expect_error(vf_h5_write(file, "a", VF_F32, start, none, values), VF_ERR_OUTPUT, "outside dimension 0");
    need(vf_h5_commit(&file));
    need(vf_h5_open(ctx, path, &file));
    expect_error(vf_h5_write(file, "a", VF_F32, start, dims, values), VF_ERR_OUTPUT, "open for reading only");
    expect_error(vf_h5_dataset_create(file, "b", VF_F32, 2, dims, chunk, 1), VF_ERR_OUTPUT, "'b'");
    expect_error(vf_h5_read(file, "b", VF_F32, start, dims, values), VF_ERR_INPUT, "'b'");
    expect_error(vf_h5_read(file, "a", strange, start, two, values), VF_ERR_ARGUMENT, "element type 99");
    expect_error(vf_h5_read(file, "a", VF_F32, beyond, two, values), VF_ERR_INPUT, "outside dimension 0");
    need(vf_h5_read(file, "a", VF_F32, start, dims, values)); /* after all these errors */
    vf_h5_close(&file);
    vf_h5_close(&file);
}

static void write_bytes(const char *content, size_t bytes)
{
    FILE *stream = fopen(path, "wb");
    assert_int_equal(fwrite(content, 1, bytes, stream), bytes);
    fclose(stream);
}

static void wrong_files(void **state)
{
    (void)state;
    const int64_t dims[2] = {100, 100}, chunk[2] = {50, 50}, start[2] = {0, 0};
    vf_h5 *file = (vf_h5 *)&file;
    size_t bytes;
    unlink(path);
    expect_error(vf_h5_open(ctx, path, &file), VF_ERR_INPUT, "No such file");
    assert_null(file);
    expect_error(vf_h5_open(ctx, directory, &file), VF_ERR_INPUT, "a directory");
    write_bytes("", 0);
    expect_error(vf_h5_open(ctx, path, &file), VF_ERR_INPUT, "not an HDF5 file");
    write_bytes("ATOM      1  N   ALA", 20);
    expect_error(vf_h5_open(ctx, path, &file), VF_ERR_INPUT, "not an HDF5 file");

    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "a", VF_F64, 2, dims, chunk, 1));
    write_piece(file, "a", 2, dims, start, dims, VF_F64);
    need(vf_h5_commit(&file));
    char *content = slurp(path, &bytes);
    for (size_t cut = 1; cut < bytes; cut += cut < 200 ? 1 : bytes / 50) { /* never a crash, never an open file */
        write_bytes(content, bytes - cut);
        expect_error(vf_h5_open(ctx, path, &file), VF_ERR_INPUT, path);
    }
    double *values = malloc(10000 * sizeof *values);
    int failed = 0;
    const int places = 300 / FEWER;
    for (size_t at = 0; at < bytes;
         at += 1 + bytes / (size_t)places) { /* damage in the middle: an error or numbers, never a crash */
        char kept = content[at];
        content[at] = (char)~kept;
        write_bytes(content, bytes);
        vf_status status = vf_h5_open(ctx, path, &file);
        if (status == VF_OK)
            status = vf_h5_read(file, "a", VF_F64, start, dims, values);
        vf_h5_close(&file);
        failed += status != VF_OK;
        if (status != VF_OK)
            expect_error(status, VF_ERR_INPUT, path);
        content[at] = kept;
    }
    assert_true(failed > places / 3); /* a broken deflate stream is detected */
    free(values);
    free(content);
}

static void given_up(void **state)
{
    (void)state;
    const int64_t dims[2] = {100, 100}, chunk[2] = {50, 50}, start[2] = {0, 0}, part[2] = {30, 100};
    vf_h5 *file;
    unlink(path);
    need(vf_h5_create(ctx, path, &file));
    vf_h5_close(&file);
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "a", VF_F64, 2, dims, chunk, 1));
    write_piece(file, "a", 2, dims, start, part, VF_F64); /* stays in the cache */
    vf_h5_close(&file);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(vf_context_status(ctx), VF_OK);
}

/* A file with a size limit of `limit` bytes: the error must be reported, and no file may be left. */
static void no_room(void **state)
{
    (void)state;
    static const rlim_t limits[] = {0, 1, 96, 800, 2048, 5000, 20000, 50000, 64000};
    const int64_t dims[2] = {100, 100}, chunk[2] = {50, 50}, start[2] = {0, 0}, part[2] = {30, 100};
    double *values = malloc(10000 * sizeof *values);
    struct rlimit before;
    for (int i = 0; i < 10000; i++) /* 52 random bits each: at least 65,000 bytes when compressed */
        values[i] = sin(i * 1e6);
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    unlink(path);
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
        for (int way = 0; way < 2; way++) { /* by chunks, and through HDF5's cache */
            struct rlimit small = {.rlim_cur = limits[l], .rlim_max = before.rlim_max};
            vf_h5 *file;
            setrlimit(RLIMIT_FSIZE, &small);
            vf_status status = vf_h5_create(ctx, path, &file);
            if (status == VF_OK)
                status = vf_h5_dataset_create(file, "a", VF_F64, 2, dims, chunk, 1);
            if (status == VF_OK)
                status = vf_h5_write(file, "a", VF_F64, start, way ? dims : part, values);
            if (status == VF_OK && !way)
                status = vf_h5_write(file, "a", VF_F64, start, dims, values);
            if (status == VF_OK)
                status = vf_h5_attribute_doubles(file, "a", "x", values, 3);
            if (status == VF_OK)
                status = vf_h5_commit(&file);
            else
                vf_h5_close(&file);
            setrlimit(RLIMIT_FSIZE, &before);
            expect_error(status, VF_ERR_OUTPUT, "cannot write: File too large");
            assert_int_not_equal(access(path, F_OK), 0);
        }
    free(values);
    expect_error(vf_h5_create(ctx, "/dev/full", &(vf_h5 *){NULL}), VF_ERR_OUTPUT, "No space left");
    expect_error(vf_h5_create(ctx, directory, &(vf_h5 *){NULL}), VF_ERR_OUTPUT, "directory");
    expect_error(vf_h5_create(ctx, "no/such/directory/x.h5", &(vf_h5 *){NULL}), VF_ERR_OUTPUT, "No such file");
}

/* ---- threads: a thread-safe HDF5, such as Debian's, would pass without libcore's lock, too ---- */

static void *write_and_read(void *user)
{
    enum { VALUES = 5 * 6 * 7 };
    const char *name = user;
    const int64_t dims[3] = {5, 6, 7}, chunk[3] = {2, 3, 4}, zero[3] = {0, 0, 0};
    bool *ok = calloc(1, sizeof *ok);
    vf_h5 *file;
    float *data = malloc(VALUES * sizeof *data);
    for (int round = 0; round < 100 / FEWER; round++) {
        if (vf_h5_create(ctx, name, &file) != VF_OK)
            goto done;
        if (vf_h5_dataset_create(file, "a", VF_F32, 3, dims, chunk, 1) != VF_OK)
            goto done;
        walk(3, dims, zero, dims, VF_F32, data, true);
        if (vf_h5_write(file, "a", VF_F32, zero, dims, data) != VF_OK || vf_h5_commit(&file) != VF_OK)
            goto done;
        memset(data, 0, VALUES * sizeof *data);
        if (vf_h5_open(ctx, name, &file) != VF_OK || vf_h5_read(file, "a", VF_F32, zero, dims, data) != VF_OK)
            goto done;
        vf_h5_close(&file);
        for (int i = 0; i < VALUES; i++)
            if (data[i] != (float)value_of(i))
                goto done;
    }
    *ok = true;
done:
    free(data);
    return ok;
}

static void several_threads(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    char names[THREADS][PATH_SIZE];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        snprintf(names[t], sizeof names[t], "%.200s/thread%d.h5", directory, t);
        assert_int_equal(pthread_create(&threads[t], NULL, write_and_read, names[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        void *ok;
        assert_int_equal(pthread_join(threads[t], &ok), 0);
        if (!*(bool *)ok)
            fail_msg("%s", vf_context_message(ctx));
        free(ok);
        unlink(names[t]);
    }
}

TEST_MAIN(set_up, tear_down, cmocka_unit_test(whole_datasets), cmocka_unit_test(pieces), cmocka_unit_test(gaps),
          cmocka_unit_test(attributes), cmocka_unit_test(same_bytes), cmocka_unit_test(wrong_calls),
          cmocka_unit_test(wrong_files), cmocka_unit_test(given_up), cmocka_unit_test(no_room),
          cmocka_unit_test(several_threads))
