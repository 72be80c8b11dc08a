/* Small functions with exact answers: grids and boxes, the reordering of arrays, SHA-256. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_main.h"
#include "voxfield/digest.h"
#include "voxfield/grid.h"

static void test_grid(void **state)
{
    (void)state;
    const vf_grid good = {.origin = {-1, 2, 0.5}, .spacing = {0.5, 1, 2}, .counts = {3, 4, 5}};
    assert_true(vf_grid_valid(&good));
    assert_int_equal(vf_grid_points(&good), 60);
    vf_box all = vf_grid_box(&good);
    assert_true(vf_box_inside(&all, &good));
    assert_int_equal(vf_box_points(&all), 60);
    for (int a = 0; a < 3; a++) {
        assert_int_equal(all.lo[a], 0);
        assert_int_equal(vf_box_extent(&all, a), good.counts[a]);
        const double bad_origins[] = {NAN, INFINITY, -INFINITY}, bad_spacings[] = {NAN, INFINITY, 0, -1, -0.0};
        const int64_t bad_counts[] = {0, -1, INT64_MIN, INT64_MAX / 2};
        for (int i = 0; i < 3; i++) {
            vf_grid g = good;
            g.origin[a] = bad_origins[i];
            assert_false(vf_grid_valid(&g));
        }
        for (int i = 0; i < 5; i++) {
            vf_grid g = good;
            g.spacing[a] = bad_spacings[i];
            assert_false(vf_grid_valid(&g));
        }
        for (int i = 0; i < 4; i++) {
            vf_grid g = good;
            g.counts[a] = bad_counts[i];
            assert_false(vf_grid_valid(&g));
        }
        vf_grid far = good;
        far.spacing[a] = 1e308;
        assert_false(vf_grid_valid(&far)); /* its end is not finite */
    }
    const vf_grid largest = {.spacing = {1, 1, 1}, .counts = {(int64_t)1 << 21, (int64_t)1 << 21, (int64_t)1 << 20}};
    assert_true(vf_grid_valid(&largest));
    assert_true(vf_grid_points(&largest) == (int64_t)1 << 62);
}

static void test_cell(void **state)
{
    (void)state;
    const vf_cell none = {.kind = VF_CELL_NONE, .vectors = {{NAN}}};
    const vf_cell box = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{2, 0, 0}, {0, 3, 0}, {0, 0, 4}}};
    const vf_cell leaning = {.kind = VF_CELL_TRICLINIC, .vectors = {{2, 0, 0}, {3, 3, 0}, {0, 0, -4}}};
    double lengths[3], angles[3];
    assert_true(vf_cell_valid(&none));
    assert_true(vf_cell_volume(&none) == 0);
    assert_true(vf_cell_valid(&box));
    assert_true(vf_cell_volume(&box) == 24);
    assert_false(vf_cell_valid(&leaning)); /* left-handed */
    vf_cell right = leaning;
    right.vectors[2][2] = 4;
    assert_true(vf_cell_valid(&right));
    assert_true(vf_cell_volume(&right) == 24);
    vf_cell_shape(&right, lengths, angles);
    assert_true(lengths[0] == 2 && fabs(lengths[1] - 3 * sqrt(2)) <= 1e-15 * 8 && lengths[2] == 4);
    /* gamma by asin(6 / (2 sqrt(18))): three roundings, and asin's slope at 45 degrees is 1.4 */
    assert_true(angles[0] == 90 && angles[1] == 90 && fabs(angles[2] - 45) <= 1e-13);
    for (int v = 0; v < 3; v++)
        for (int a = 0; a < 3; a++) {
            const double bad[] = {NAN, INFINITY, v == a ? 0 : 0.5, v == a ? -2 : -0.5};
            for (int i = 0; i < 4; i++) {
                vf_grid g = {.spacing = {1, 1, 1}, .counts = {1, 1, 1}, .cell = box};
                assert_true(vf_grid_valid(&g));
                g.cell.vectors[v][a] = bad[i];
                assert_false(vf_grid_valid(&g));
            }
        }
    vf_cell other = box;
    other.kind = (vf_cell_kind)7;
    assert_false(vf_cell_valid(&other));
}

static void test_box(void **state)
{
    (void)state;
    const vf_grid grid = {.spacing = {1, 1, 1}, .counts = {3, 4, 5}};
    const vf_box inner = {.lo = {1, 0, 4}, .hi = {2, 4, 5}};
    assert_true(vf_box_inside(&inner, &grid));
    assert_int_equal(vf_box_points(&inner), 4);
    for (int a = 0; a < 3; a++) {
        vf_box empty = inner, before = inner, beyond = inner, reversed = inner;
        empty.hi[a] = empty.lo[a];
        before.lo[a] = -1;
        beyond.hi[a] = grid.counts[a] + 1;
        reversed.lo[a] = inner.hi[a];
        reversed.hi[a] = inner.lo[a];
        assert_false(vf_box_inside(&empty, &grid));
        assert_false(vf_box_inside(&before, &grid));
        assert_false(vf_box_inside(&beyond, &grid));
        assert_false(vf_box_inside(&reversed, &grid));
    }
}

/* FIPS 180-4 by NIST's example values (SHA_All.pdf) and CAVP's SHA256ShortMsg; the other lengths are near the ends
 * of blocks. */
static void test_digest(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t times;
        const char *digest;
    } cases[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"\xd3", 1, "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqr"
         "stu",
         1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
        {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {"a", 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {"a", 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {"a", 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {"a", 120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].text), bytes = length * cases[i].times;
        char *data = malloc(bytes + 1), digest[VF_DIGEST_TEXT];
        assert_non_null(data);
        for (size_t k = 0; k < cases[i].times; k++)
            memcpy(data + k * length, cases[i].text, length);
        for (int portable = 0; portable < 2; portable++) { /* if the CPU has instructions for it */
            if (portable)
                setenv("VOXFIELD_ISA", "baseline", 1);
            vf_digest(data, bytes, digest);
            unsetenv("VOXFIELD_ISA");
            assert_string_equal(digest, cases[i].digest);
        }
        free(data);
    }
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_grid), cmocka_unit_test(test_cell), cmocka_unit_test(test_box),
          cmocka_unit_test(test_digest))
