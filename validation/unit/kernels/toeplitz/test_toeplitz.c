/* Multiplication by a Toeplitz matrix against the sum over all pairs of voxels, on fresh random problems.
 *
 * usage: test_toeplitz DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "free_all.h"
#include "toeplitz_fixture.h"

static const int64_t sizes[][3] = {{1, 1, 1},  {2, 1, 1},   {1, 37, 1}, {1, 1, 41}, {16, 1, 1}, {33, 1, 1},
                                   {2, 2, 2},  {15, 16, 1}, {16, 1, 9}, {1, 5, 18}, {8, 16, 8}, {7, 6, 5},
                                   {17, 3, 4}, {24, 19, 1}, {3, 5, 33}, {16, 9, 2}, {1, 2, 3},  {43, 2, 1},
                                   {9, 17, 2}, {40, 37, 1}, {18, 4, 10}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* The device's method on a random vector; and the CPU's "ref" if asked for. */
static void compare_with_dense(const problem *p, bool with_ref)
{
    double complex *x = random_vector(p, p->voxels), *got = room(p->voxels, sizeof *got),
                   *expected = room(p->voxels, sizeof *expected);
    dense(p, x, expected);
    run(p, NULL, x, got);
    check_near(p, "FFT", got, expected, bound(p, x));
    if (with_ref && vf_device_is_host(device)) {
        run(p, "ref", x, got);
        check_near(p, "ref", got, expected, bound(p, x));
    }
    FREE_ALL(x, got, expected);
}

static void test_against_dense(void **state)
{
    (void)state;
    static const struct {
        int coils, segments;
        bool maps, field;
    } kinds[] = {{1, 1, false, false}, {3, 1, true, false}, {1, 1, false, true}, {2, 3, true, true}};
    for (int s = 0; s < SIZES; s++)
        for (int k = 0; k < 8; k++) {
            if (k % 2 && !has_precision(VF_F64))
                continue;
            problem p = make_problem(sizes[s][0], sizes[s][1], sizes[s][2], kinds[k / 2].coils, kinds[k / 2].segments,
                                     kinds[k / 2].maps, kinds[k / 2].field, k % 2 ? VF_F64 : VF_F32);
            compare_with_dense(&p, true);
            free_problem(&p);
        }
}

/* Along each axis: lengths with doubles for which a GPU has special code, and random ones, short and long, some with
 * prime factors above 7. Along x also the longest that a GPU's own transforms support, and longer ones. "ref" has no
 * transforms. */
static void test_lengths(void **state)
{
    (void)state;
    static const int lengths[] = {32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 512};
    enum { OWN = sizeof lengths / sizeof *lengths, RANDOM = 15, LONG = 2 };
    for (int l = 0; l < OWN + RANDOM + LONG; l++)
        for (int k = 0; k < 8; k++) {
            static const int others[4][3] = {{0, 1, 1}, {3, 0, 1}, {2, 0, 2}, {3, 1, 0}};
            if (l >= OWN + RANDOM && k % 4 > 0)
                continue;
            const int length = l >= OWN + RANDOM ? (l % 2 ? 2048 : 2100)
                               : l < OWN         ? lengths[l]
                               : l % 2           ? 2 + (int)(uniform() * 60)
                                                 : 2 + (int)(uniform() * 600);
            const int *n = others[k % 4];
            problem p = make_problem(n[0] ? n[0] : length, n[1] ? n[1] : length, n[2] ? n[2] : length, 1 + (k + l) % 2,
                                     1, (k + l) % 2, false, k / 4 ? VF_F64 : VF_F32);
            compare_with_dense(&p, false);
            free_problem(&p);
        }
}

/* Grids whose axes a GPU pads to the next length with transforms of two or three passes, none of them a power of two: every such
 * length along x and y in 2D, exact or after an odd number of voxels; and some in 3D. */
static void test_padded_lengths(void **state)
{
    (void)state;
    static const int lengths[] = {8,   16,  20,  24,  32,  40,  48,  56,  64,  72,  80,  90,  96,  100,
                                  112, 120, 128, 144, 160, 180, 200, 224, 256, 288, 320, 384, 448, 512};
    static const int64_t volumes[][3] = {{100, 13, 14}, {14, 90, 15}, {13, 14, 96},
                                         {25, 18, 33},  {20, 24, 17}, {40, 24, 3}};
    enum { PLANES = sizeof lengths / sizeof *lengths, VOLUMES = sizeof volumes / sizeof *volumes };
    for (int l = 0; l < PLANES + VOLUMES; l++)
        for (int k = 0; k < (l < PLANES ? 4 : 2); k++) {
            const vf_dtype precision = k % 2 ? VF_F64 : VF_F32;
            if (k % 2 && !has_precision(VF_F64))
                continue;
            const int length = l < PLANES ? lengths[l] - l % 2 : 0, other = 13 + l % 3;
            problem p = l >= PLANES ? make_problem(volumes[l - PLANES][0], volumes[l - PLANES][1],
                                                   volumes[l - PLANES][2], 1, 1, true, true, precision)
                        : k / 2     ? make_problem(length, other, 1, 1 + l % 2, 1, true, false, precision)
                                    : make_problem(other, length, 1, 1 + l % 2, 1, true, false, precision);
            compare_with_dense(&p, false);
            free_problem(&p);
        }
}

/* Many coils, more than one batch on a GPU; then fewer with the same plan. */
static void test_many_coils(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) { /* on a GPU, the last four with padded axes */
        problem p = k >= 4 ? make_problem(13, 14, k % 2 ? 1 : 3, 37, 1 + k % 2, true, true,
                                          k / 2 % 2 && has_precision(VF_F64) ? VF_F64 : VF_F32)
                           : make_problem(12, k % 2 ? 1 : 5, 7, 37, 1 + k % 2, true, true,
                                          k / 2 % 2 && has_precision(VF_F64) ? VF_F64 : VF_F32);
        double complex *x = random_vector(&p, p.voxels), *got = room(p.voxels, sizeof *got),
                       *expected = room(p.voxels, sizeof *expected);
        running r = start(&p, NULL);
        static const int coils[] = {37, 1, 2, 16, 17, 32, 33, 36};
        for (size_t c = 0; c < sizeof coils / sizeof *coils; c++) {
            p.coils = coils[c];
            dense(&p, x, expected);
            apply(&r, x, got);
            check_near(&p, "coils", got, expected, bound(&p, x));
        }
        p.coils = 37;
        stop(&r);
        FREE_ALL(x, got, expected);
        free_problem(&p);
    }
}

/* A single voxel gives Q itself, at any position. */
static void test_delta(void **state)
{
    (void)state;
    for (int k = 0; k < 16; k++) { /* the last with several GPU blocks for each plane */
        const bool large = k >= 12;
        const vf_dtype precision = (k / 6 == 1 || k / 2 == 7) && has_precision(VF_F64) ? VF_F64 : VF_F32;
        problem p = large ? make_problem(32, 48, 64, 1, 1, false, false, precision)
                          : make_problem(36, k % 3 ? 21 : 1, k % 3 == 2 ? 1 : 30, 1, 1, false, false, precision);
        double complex *x = room(p.voxels, sizeof *x), *got = room(p.voxels, sizeof *got),
                       *expected = room(p.voxels, sizeof *expected);
        int64_t at = (int64_t)(uniform() * (double)p.voxels);
        x[at] = 1;
        for (int64_t n = 0; n < p.voxels; n++)
            expected[n] = kernel(&p, 0, n, at);
        run(&p, NULL, x, got);
        check_near(&p, "delta", got, expected, bound(&p, x));
        FREE_ALL(x, got, expected);
        free_problem(&p);
    }
}

/* If Q is not Hermitian, its Hermitian part counts, (Q(r) + conj(Q(-r))) / 2. */
static void test_hermitian_part(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) {
        const int more = k / 4 * 11;
        problem p = make_problem(9 + more, 6 + more, k % 2 ? 4 + more : 1, 1, 1, false, false,
                                 k / 2 % 2 && has_precision(VF_F64) ? VF_F64 : VF_F32),
                h = p;
        h.q = room(p.points, sizeof *h.q);
        for (int64_t n = 0; n < p.points; n++)
            p.q[n] = rounded(p.precision, p.q[n] + 0.3 * random_complex()); /* NaN stays */
        for (int64_t n = 0; n < p.points; n++) {
            int64_t mirror = 0, rest = n, stride = 1;
            for (int a = 0; a < 3; a++) {
                mirror += (p.doubled[a] - rest % p.doubled[a]) % p.doubled[a] * stride;
                rest /= p.doubled[a];
                stride *= p.doubled[a];
            }
            h.q[n] = (p.q[n] + conj(p.q[mirror])) / 2;
        }
        double complex *x = random_vector(&p, p.voxels), *got = room(p.voxels, sizeof *got),
                       *expected = room(p.voxels, sizeof *expected);
        dense(&h, x, expected);
        run(&p, NULL, x, got);
        check_near(&p, "not Hermitian", got, expected, bound(&p, x));
        FREE_ALL(x, got, expected, h.q);
        free_problem(&p);
    }
}

/* NaN reaches every voxel, as in the sum. */
static void test_nan(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) {
        problem p =
            make_problem(19,
                         k % 2   ? 8
                         : k / 4 ? 17
                                 : 1,
                         k / 4 ? 14 : 5, 2, 1, true, false, k / 2 % 2 && has_precision(VF_F64) ? VF_F64 : VF_F32);
        double complex *x = random_vector(&p, p.voxels), *y = room(p.voxels, sizeof *y);
        x[p.voxels / 3] = number(NAN, 0);
        run(&p, NULL, x, y);
        for (int64_t n = 0; n < p.voxels; n++)
            if (!isnan(creal(y[n])) && !isnan(cimag(y[n])))
                fail_msg("voxel %lld is %g%+gi", (long long)n, creal(y[n]), cimag(y[n]));
        free(x);
        free(y);
        free_problem(&p);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    double time[2] = {0, 0.01}, bad_time[2] = {0, NAN};
    float field[8] = {0}, bad_field[8] = {0, INFINITY};
    const int64_t good[3] = {2, 2, 2}, zero[3] = {2, 0, 2}, huge[3] = {1 << 25, 1 << 25, 1 << 25},
                  long_axis[3] = {INT32_MAX, 1, 1};
    const struct {
        const int64_t *matrix;
        vf_toeplitz_options options;
        const char *says;
    } cases[] = {
        {zero, {.segments = 1}, "2 x 0 x 2"},
        {huge, {.segments = 1}, "not supported"},
        {long_axis, {.segments = 1}, "not supported"},
        {good, {.segments = 0}, "0 segments"},
        {good, {.segments = 1, .precision = VF_C64}, "precision"},
        {good, {.segments = 2, .time = time}, "need times and a field"},
        {good, {.segments = 2, .field = field}, "need times and a field"},
        {good, {.segments = 2, .time = bad_time, .field = field}, "segment 1"},
        {good, {.segments = 2, .time = time, .field = bad_field}, "voxel 1"},
        {good, {.segments = 1, .variant = "nonsense"}, "nonsense"},
    };
    vf_toeplitz *plan;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        assert_int_equal(vf_toeplitz_create(device, cases[n].matrix, &cases[n].options, &plan), VF_ERR_ARGUMENT);
        assert_null(plan);
        if (!strstr(vf_context_message(ctx), cases[n].says))
            fail_msg("case %zu: %s", n, vf_context_message(ctx));
        vf_context_clear_error(ctx);
    }
    problem p = make_problem(2, 2, 2, 1, 1, false, false, VF_F32);
    double complex *x = random_vector(&p, p.voxels);
    running r = start(&p, NULL);
    guarded in = upload(r.queue, VF_F32, p.voxels, x), out = upload(r.queue, VF_F32, p.voxels, NULL);
    assert_int_equal(vf_toeplitz_set(r.plan, r.queue, 1, in.data), VF_ERR_ARGUMENT);
    assert_int_equal(vf_toeplitz_set(r.plan, r.queue, -1, in.data), VF_ERR_ARGUMENT);
    assert_int_equal(vf_toeplitz_set(r.plan, r.queue, 0, NULL), VF_ERR_ARGUMENT);
    assert_int_equal(vf_toeplitz_apply(r.plan, r.queue, 0, in.data, in.data, out.data), VF_ERR_ARGUMENT);
    assert_int_equal(vf_toeplitz_apply(r.plan, r.queue, 2, NULL, in.data, out.data), VF_ERR_ARGUMENT);
    assert_int_equal(vf_toeplitz_apply(r.plan, r.queue, 1, NULL, in.data, in.data), VF_ERR_ARGUMENT);
    assert_int_equal(vf_toeplitz_apply(r.plan, r.queue, 1, NULL, NULL, out.data), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    download(r.queue, &in, NULL);
    download(r.queue, &out, NULL);
    stop(&r);
    vf_toeplitz_destroy(NULL);
    free(x);
    free_problem(&p);
}

static void test_cancel(void **state)
{
    (void)state;
    if (!vf_device_is_host(device))
        skip();
    vf_context *all = ctx;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    device = vf_context_device(ctx, 0);
    static const char *const variants[] = {NULL, "ref"};
    problem p = make_problem(8, 8, 8, 1, 1, false, false, VF_F32);
    float complex *x = room(p.voxels, sizeof *x), *y = room(p.voxels, sizeof *y);
    running r[2] = {start(&p, variants[0]), start(&p, variants[1])};
    vf_context_cancel(ctx);
    for (int v = 0; v < 2; v++) {
        assert_int_equal(vf_toeplitz_apply(r[v].plan, r[v].queue, 1, NULL, x, y), VF_ERR_CANCELLED);
        stop(&r[v]);
    }
    free(x);
    free(y);
    free_problem(&p);
    vf_context_destroy(ctx);
    ctx = all;
    device = vf_context_device(ctx, 0);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_against_dense), cmocka_unit_test(test_lengths),
            cmocka_unit_test(test_padded_lengths), cmocka_unit_test(test_many_coils), cmocka_unit_test(test_delta),
            cmocka_unit_test(test_hermitian_part), cmocka_unit_test(test_nan), cmocka_unit_test(test_refusals),
            cmocka_unit_test(test_cancel))
