/* K-space on the grid, of fastMRI and CMRxRecon, from a source in memory; and the text of XML headers. */
#include <stdlib.h>
#include <string.h>

#include "scan/scan_grid.h"
#include "scan/scan_ismrmrd_text.h"
#include "test_main.h"

/* Two slices of two coils, 4 x 3 positions. Column 0 is 0 in the first slice only. */
enum { SLICES = 2, COILS = 2, HEIGHT = 4, WIDTH = 3, PLANE = HEIGHT * WIDTH };

static vf_context *ctx;
static int64_t kspace_dims[VF_H5_MAX_RANK];
static int kspace_rank;
static const float *mask;
static mri_scan s;

static float complex value_of(int64_t slice, int64_t coil, int64_t y, int64_t x)
{
    return slice == 0 && x == 0 ? 0 : (float)(100 * slice + 10 * coil + 3 * y + x + 1) - (float)x * I;
}

static bool exists(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "kspace") == 0 || (strcmp(name, "mask") == 0 && mask);
}

static vf_status shape(void *user, const char *name, vf_dtype *type, int *rank, int64_t *dims)
{
    (void)user;
    const bool is_mask = strcmp(name, "mask") == 0;
    *type = is_mask ? VF_F32 : VF_C64;
    *rank = is_mask ? 1 : kspace_rank;
    memcpy(dims, kspace_dims, sizeof kspace_dims);
    dims[0] = is_mask ? WIDTH : dims[0];
    return VF_OK;
}

static vf_status read_set(void *user, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                          void *data)
{
    (void)user, (void)type;
    float complex *out = data;
    if (strcmp(name, "mask") == 0) {
        memcpy(data, mask, WIDTH * sizeof *mask);
        return VF_OK;
    }
    assert_true(count[0] == 1 && count[1] == COILS && count[2] == HEIGHT && count[3] == WIDTH); /* a slice at once */
    for (int64_t i = 0; i < COILS * PLANE; i++)
        out[i] = value_of(start[0], i / PLANE, i % PLANE / WIDTH, i % WIDTH);
    return VF_OK;
}

static const plain_source source = {"scan.h5", NULL, exists, shape, read_set, NULL, NULL};

static int set_up(void **state)
{
    (void)state;
    const int64_t dims[] = {SLICES, COILS, HEIGHT, WIDTH};
    memset(&s, 0, sizeof s);
    mask = NULL;
    kspace_rank = 4;
    memcpy(kspace_dims, dims, sizeof dims);
    return vf_context_create(&ctx) != VF_OK;
}

static int tear_down(void **state)
{
    (void)state;
    scan_free(&s);
    vf_context_destroy(ctx);
    return 0;
}

static vf_status read_it(void)
{
    ismrmrd_protocol protocol;
    ismrmrd_protocol_reset(&protocol);
    protocol.encoding[0].encoded = (ismrmrd_space){{HEIGHT, WIDTH, 1}, {80, 30, 5}};
    protocol.encoding[0].recon = (ismrmrd_space){{2, WIDTH, 1}, {40, 30, 5}};
    return scan_read_fastmri(ctx, &source, &protocol, &s);
}

/* Every sample of a frame has the value and the position of its place in the array, times sqrt(12). */
static void expect_samples(int frame, int64_t first_column)
{
    const scan_trajectory *t = &s.trajectory[s.frame[frame].trajectory];
    const int64_t samples = HEIGHT * (WIDTH - first_column);
    assert_int_equal(t->samples, samples);
    for (int64_t m = 0; m < samples; m++) {
        const int64_t x = first_column + m / HEIGHT, y = m % HEIGHT; /* readouts one after another */
        assert_true(t->k[3 * m] == (float)(x - 1) && t->k[3 * m + 1] == (float)(y - 2) && t->k[3 * m + 2] == 0);
        for (int64_t c = 0; c < COILS; c++) {
            const float complex expected = value_of(s.frame[frame].slice, c, y, x) * 3.4641016f;
            assert_true(cabsf(s.frame[frame].data[c * samples + m] - expected) <= 4e-7f * cabsf(expected));
        }
    }
}

static void test_values_and_places(void **state)
{
    (void)state;
    assert_int_equal(read_it(), VF_OK);
    assert_true(s.matrix[0] == WIDTH && s.matrix[1] == HEIGHT && s.matrix[2] == 1);
    assert_true(s.crop[0] == WIDTH && s.crop[1] == 2 && s.fov[0] == 30 && s.fov[1] == 80 && s.fov[2] == 5);
    assert_true(s.frames == SLICES && s.slices == SLICES && s.places == SLICES && s.volumes == 1 && s.coils == COILS);
    assert_true(s.trajectories == 2 && s.geometry.slice_step == 5 && !s.geometry.known);
    expect_samples(0, 1);
    expect_samples(1, 0);
    assert_non_null(strstr(s.description, "5 of 6 lines have samples; 1 left out because they are 0"));
}

/* The mask takes column 0 from the second slice, too, so both have one trajectory. */
static void test_mask(void **state)
{
    static const float last_two[] = {0, 1, 1};
    (void)state;
    mask = last_two;
    assert_int_equal(read_it(), VF_OK);
    assert_int_equal(s.trajectories, 1);
    expect_samples(0, 1);
    expect_samples(1, 1);
    assert_non_null(strstr(s.description, "4 of 6 lines have samples; 'mask' leaves out 2"));
}

/* As many elements as numbers can say: refused before anything is read. */
static void test_too_large(void **state)
{
    (void)state;
    for (int d = 0; d < 4; d++) {
        const int64_t before = kspace_dims[d];
        kspace_dims[d] = INT64_MAX;
        scan_free(&s);
        assert_int_equal(read_it(), VF_ERR_INPUT);
        assert_non_null(strstr(vf_context_message(ctx), "scan.h5: 'kspace' has "));
        vf_context_clear_error(ctx);
        kspace_dims[d] = before;
    }
}

static void test_tidy_xml(void **state)
{
    static const char *const cases[][2] = {
        {"<a/>", "<a/>"},
        {"\xef\xbb\xbf \r\n<a/>\n ", "<a/>"},
        {" \t", ""},
        {"<?xml encoding=\"UTF-16\"?><a/>", "<?xml                  ?><a/>"},
        {"<?xml encoding = 'ucs-2' ?><a/>", "<?xml                    ?><a/>"},
        {"<?xml encoding=\"utf-8\"?><a/>", "<?xml encoding=\"utf-8\"?><a/>"},
        {"<?xml encoding=?><a b=\"utf-16\"/>", "<?xml encoding=?><a b=\"utf-16\"/>"},
        {"<?xml encoding=\"utf-16", "<?xml encoding=\"utf-16"},
        {"<?xml?><a encoding=\"utf-16\"/>", "<?xml?><a encoding=\"utf-16\"/>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = strdup(cases[i][0]);
        assert_non_null(text);
        ismrmrd_tidy_xml(text);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(NULL, NULL, TEST(test_values_and_places), TEST(test_mask), TEST(test_too_large),
          cmocka_unit_test(test_tidy_xml))
