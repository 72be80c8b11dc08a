/* Pages: texts that must stay texts, arrays that must come back, volumes that must become small. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "random_fixture.h"
#include "test_main.h"
#include "voxfield/page.h"

static vf_context *ctx;
static char path[4096], *text;

static int make_context(void **state)
{
    (void)state;
    const char *root = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/test_page.%ld.html", root ? root : "/tmp", (long)getpid());
    return vf_context_create(&ctx) != VF_OK;
}

static int free_context(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    free(text);
    text = NULL;
    unlink(path);
    return 0;
}

static vf_page *open_page(const char *title)
{
    const vf_page_head head = {VF_PAGE_IMAGES, title, title, NULL, NULL};
    vf_page *page = NULL;
    assert_int_equal(vf_page_open(ctx, path, &head, &page), VF_OK);
    assert_non_null(page);
    return page;
}

static const char *finish(vf_page *page)
{
    assert_int_equal(vf_page_commit(&page), VF_OK);
    assert_null(page);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    free(text);
    text = calloc(1, bytes + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, bytes, file), bytes);
    fclose(file);
    return text;
}

static int count_of(const char *all, const char *word)
{
    int count = 0;
    for (const char *at = strstr(all, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

/* The bytes of a line of the binary block, as a reader finds them. */
static unsigned char *read_line(const char *html, int line, size_t bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(strstr(html, "id=\"voxfield-data\""), '\n') + 1;
    for (; line > 0; line--)
        at = strchr(at, '\n') + 1;
    const size_t length = strcspn(at, "\n");
    unsigned char *packed = malloc(length + 3), *out = malloc(bytes + 1);
    assert_true(packed && out);
    size_t used = 0;
    for (size_t i = 0; i + 3 < length; i += 4) {
        unsigned all = 0;
        for (int k = 0; k < 4; k++)
            all = all << 6 | (at[i + k] == '=' ? 0 : (unsigned)(strchr(letters, at[i + k]) - letters));
        packed[used++] = (unsigned char)(all >> 16);
        packed[used++] = (unsigned char)(all >> 8 & 255);
        packed[used++] = (unsigned char)(all & 255);
    }
    uLongf found = bytes + 1;
    assert_int_equal(uncompress(out, &found, packed, used), Z_OK);
    assert_int_equal(found, bytes);
    free(packed);
    return out;
}

/* The number behind a key, the first one after `from`. */
static double number_after(const char *from, const char *key)
{
    const char *at = strstr(from, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

static void test_hostile_texts(void **state)
{
    (void)state;
    const char *title = "</title><script>alert(1)</script><!-- \"'& \x01\xff\xc3\xa9.pqr";
    vf_page *page = open_page(title);
    vf_report_text(vf_page_json(page), "name</script>", "</script><script>alert(2)</script><!--&\xff");
    const char *html = finish(page);
    assert_int_equal(count_of(html, "</script>"), 3); /* data, JSON, program: no text has added one */
    assert_int_equal(count_of(html, "<script"), 3);
    assert_int_equal(count_of(html, "<script>alert"), 0);
    assert_int_equal(count_of(html, "<!--"), 0);
    assert_int_equal(count_of(html, "\xff"), 0);
    assert_int_equal(count_of(html, "\x01"), 0);
    assert_int_equal(count_of(html, "&#60;/title&#62;&#60;script&#62;alert(1)"),
                     4); /* title, generator, heading, program */
    assert_true(count_of(html, "&#38; \xef\xbf\xbd\xef\xbf\xbd\xc3\xa9.pqr") >= 2);
    assert_int_equal(
        count_of(html, "\"name\\u003c/script\\u003e\": \"\\u003c/script\\u003e\\u003cscript\\u003ealert(2)"), 1);
    assert_int_equal(count_of(html, "default-src 'none'"), 1);
    assert_int_equal(count_of(html, "http://"), 1); /* SVG's name space, which nothing loads */
    assert_int_equal(count_of(html, "https://"), 0);
}

static void test_arrays(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    static float numbers[ROWS][3];
    for (int n = 0; n < ROWS; n++) {
        numbers[n][0] = (float)sin(0.1 * n);
        numbers[n][1] = 1e4f + (float)n;
        numbers[n][2] = 7;
    }
    vf_page *page = open_page("arrays");
    assert_int_equal(vf_page_array(page, "whole", VF_PAGE_F32, ROWS, 3, numbers), VF_OK);
    assert_int_equal(vf_page_array(page, "rounded", VF_PAGE_U16, ROWS, 3, numbers), VF_OK);
    const char *html = finish(page);
    unsigned char *bytes = read_line(html, 0, sizeof numbers);
    assert_memory_equal(bytes, numbers, sizeof numbers);
    free(bytes);
    bytes = read_line(html, 1, sizeof numbers / 2);
    const char *about = strstr(html, "\"rounded\"");
    double offset[3], step[3];
    char *at = strstr(about, "\"offset\": [") + 11;
    for (int c = 0; c < 3; c++)
        offset[c] = strtod(at, &at), at++;
    at = strstr(about, "\"step\": [") + 9;
    for (int c = 0; c < 3; c++)
        step[c] = strtod(at, &at), at++;
    for (int n = 0; n < ROWS; n++)
        for (int c = 0; c < 3; c++) {
            const double value = offset[c] + step[c] * (bytes[2 * (3 * n + c)] + 256 * bytes[2 * (3 * n + c) + 1]);
            assert_true(fabs(value - numbers[n][c]) <= step[c] / 2 * (1 + 1e-9)); /* rounding of the sum */
        }
    assert_true(step[0] < 2.0001 / 65535 && step[1] < 1000.0 / 65535);
    free(bytes);
    numbers[5][1] = NAN;
    page = open_page("arrays");
    assert_int_equal(vf_page_array(page, "rounded", VF_PAGE_U8, ROWS, 3, numbers), VF_ERR_ARGUMENT);
    vf_page_discard(&page);
}

/* ---- volumes ---- */

enum { NX = 101, NY = 60, NZ = 3, FRAMES = 4 }; /* the last block along x is not whole */

static float made[FRAMES * NZ * NY * NX]; /* in [2, 3), not compressible */

static float value_at(int64_t frame, int64_t z, int64_t y, int64_t x)
{
    return made[((frame * NZ + z) * NY + y) * NX + x];
}

static vf_status plane(void *user, int64_t frame, int64_t z, float *out)
{
    for (int64_t y = 0; y < NY; y++)
        for (int64_t x = 0; x < NX; x++)
            out[y * NX + x] = *(const bool *)user && x == 7 ? NAN : value_at(frame, z, y, x);
    return VF_OK;
}

/* The values of frame 0 and plane 0. */
static void check_volume(const char *html, const vf_page_kept *kept)
{
    const int fx = kept->factor[0], fy = kept->factor[1], fz = kept->factor[2];
    const int nx = (NX - 1) / fx + 1, ny = (NY - 1) / fy + 1, nz = (NZ - 1) / fz + 1;
    const int frames = (FRAMES - 1) / kept->frame_step + 1, voxels = nx * ny * nz, wide = kept->bits > 8 ? 2 : 1;
    unsigned char *bytes = read_line(html, 0, (size_t)(voxels * frames * wide));
    const double offset = number_after(html, "\"offset\": ["), step = number_after(html, "\"step\": [");
    unsigned level = 0;
    assert_true(fabs(kept->error - step / 2) < 1e-12);
    for (int n = 0; n < nx * ny; n++) {
        level += bytes[n] + (wide == 2 ? 256U * bytes[voxels + n] : 0);
        level &= wide == 2 ? 65535 : 255;
        double sum = 0;
        int count = 0;
        for (int z = 0; z < fz && z < NZ; z++)
            for (int y = n / nx * fy; y < (n / nx + 1) * fy && y < NY; y++)
                for (int x = n % nx * fx; x < (n % nx + 1) * fx && x < NX; x++, count++)
                    sum += value_at(0, z, y, x);
        /* half a step, and the rounding of a float of 3 */
        assert_true(fabs(offset + step * level - sum / count) <= kept->error + 3e-7);
    }
    free(bytes);
}

static void test_volumes(void **state)
{
    (void)state;
    bool spoiled = false;
    for (int n = 0; n < FRAMES * NZ * NY * NX; n++)
        made[n] = (float)(2 + uniform());
    /* The finest axis is the first to be reduced; at 48 voxels or fewer, none is. 72,720 numbers. */
    const struct {
        int64_t budget;
        vf_page_kept kept;
    } cases[] = {{1000000, {12, {1, 1, 1}, 1, 0}}, {110000, {8, {1, 1, 1}, 1, 0}}, {55000, {8, {2, 1, 1}, 1, 0}},
                 {20000, {8, {4, 2, 1}, 1, 0}},    {7000, {8, {4, 2, 1}, 2, 0}},   {10, {0, {0}, 0, 0}}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        vf_page *page = open_page("volume");
        vf_page_kept kept;
        const vf_page_volume volume = {"v",   VF_PAGE_VALUES, {NX, NY, NZ}, FRAMES,         {1, 1.5, 5},
                                       plane, &spoiled,       12,           cases[n].budget};
        const int64_t before = vf_page_bytes(page);
        assert_int_equal(vf_page_add_volume(page, &volume, &kept), VF_OK);
        assert_int_equal(kept.bits, cases[n].kept.bits);
        assert_true(vf_page_bytes(page) - before <= cases[n].budget + 5); /* the line's end, base64's */
        const char *html = finish(page);
        if (kept.bits == 0)
            continue;
        print_message("budget %lld: %d bits, %d x %d x %d, every %d\n", (long long)cases[n].budget, kept.bits,
                      kept.factor[0], kept.factor[1], kept.factor[2], kept.frame_step);
        check_volume(html, &kept);
    }
    spoiled = true;
    vf_page *page = open_page("volume");
    const vf_page_volume volume = {"v", VF_PAGE_VALUES, {NX, NY, NZ}, FRAMES, {1, 1, 1}, plane, &spoiled, 12, 1000000};
    assert_int_equal(vf_page_add_volume(page, &volume, NULL), VF_ERR_ARGUMENT);
    vf_page_discard(&page);
}

/* All angles are pi +- 0.3: their mean is pi, and not 0. */
static vf_status angle_plane(void *user, int64_t frame, int64_t z, float *out)
{
    (void)user;
    for (int64_t n = 0; n < (int64_t)NX * NY; n++) {
        const double angle = 3.141592653589793 + ((n + frame + z) % 2 ? 0.3 : -0.3);
        out[2 * n] = (float)(5 * cos(angle));
        out[2 * n + 1] = (float)(5 * sin(angle));
    }
    return VF_OK;
}

static void test_angles(void **state)
{
    (void)state;
    vf_page *page = open_page("angles");
    vf_page_kept kept;
    /* too little for all: the pattern packs to about 1/250 */
    const vf_page_volume volume = {"v", VF_PAGE_ANGLES, {NX, NY, NZ}, FRAMES, {1, 3, 5}, angle_plane, NULL, 12, 400};
    assert_int_equal(vf_page_add_volume(page, &volume, &kept), VF_OK);
    assert_int_equal(kept.bits, 8);
    assert_true(kept.factor[0] > 1);
    const char *html = finish(page);
    const int voxels = ((NX - 1) / kept.factor[0] + 1) * ((NY - 1) / kept.factor[1] + 1) * NZ;
    unsigned char *bytes = read_line(html, 0, (size_t)(voxels * ((FRAMES - 1) / kept.frame_step + 1)));
    assert_int_equal(bytes[0], 128); /* pi, of 256 levels of a turn */
    assert_int_equal(bytes[1], 0);   /* no difference */
    free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_context, free_context)

TEST_MAIN(NULL, NULL, TEST(test_hostile_texts), TEST(test_arrays), TEST(test_volumes), TEST(test_angles))
