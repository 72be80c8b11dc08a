/* Properties of the multiplication by a Toeplitz matrix for any numbers, at sizes for which the sum over all pairs
 * would be slow.
 *
 * usage: test_toeplitz_algebra DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "free_all.h"
#include "toeplitz_fixture.h"

/* <x, T y> = <T x, y>; <x, T x> is real and not negative, because Q is made from nonnegative weights; T (a x + b y)
 * = a T x + b T y; the same bits twice. The dense sum would be slow for these sizes. */
static void test_algebra(void **state)
{
    (void)state;
    static const int64_t large[][3] = {{32, 20, 24}, {65, 33, 1}, {17, 30, 40}, {128, 64, 2}, {500, 1, 1}};
    for (int k = 0; k < 10; k++) {
        const int64_t *m = large[k / 2];
        problem p = make_problem(m[0], m[1], m[2], 2, 2, true, true, k % 2 ? VF_F64 : VF_F32);
        int64_t n = p.voxels;
        double complex *x = random_vector(&p, n), *y = random_vector(&p, n), *z = room(n, sizeof *z);
        double complex *tx = room(n, sizeof *tx), *ty = room(n, sizeof *ty), *tz = room(n, sizeof *tz);
        running r = start(&p, NULL);
        apply(&r, x, tx);
        apply(&r, y, ty);
        double limit_x = bound(&p, x), limit_y = bound(&p, y), nx = norm(n, x), ny = norm(n, y);
        double complex a = inner(n, x, ty), b = inner(n, tx, y), square = inner(n, x, tx);
        if (!(cabs(a - b) <= nx * limit_y + ny * limit_x))
            fail_msg("not Hermitian: %.9g%+.9gi and %.9g%+.9gi", creal(a), cimag(a), creal(b), cimag(b));
        if (!(creal(square) >= -nx * limit_x && fabs(cimag(square)) <= nx * limit_x && creal(square) > 0))
            fail_msg("<x, T x> is %.9g%+.9gi", creal(square), cimag(square));
        const double complex alpha = number(0.5, -0.25), beta = number(-1, 2); /* exact products; only the sum rounds */
        for (int64_t i = 0; i < n; i++)
            z[i] = rounded(p.precision, alpha * x[i] + beta * y[i]);
        apply(&r, z, tz);
        for (int64_t i = 0; i < n; i++)
            tx[i] = alpha * tx[i] + beta * ty[i];
        /* Rounding z moves T z by |T| u |z|, less than its own bound. */
        check_near(&p, "linearity", tz, tx, 2 * bound(&p, z) + cabs(alpha) * limit_x + cabs(beta) * limit_y);
        apply(&r, z, tx);
        assert_memory_equal(tx, tz, (size_t)n * sizeof *tx);
        stop(&r);
        FREE_ALL(x, y, z, tx, ty, tz);
        free_problem(&p);
    }
}

/* The sum of single coils, or of single segments, equals the result for all at once. */
static void test_parts_add_up(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) {
        problem p = make_problem(20, k % 2 ? 1 : 6, 11, 3, MOST_SEGMENTS, true, true, k / 4 ? VF_F64 : VF_F32);
        int64_t n = p.voxels;
        bool by_coil = k / 2 % 2;
        double complex *x = random_vector(&p, n), *all = room(n, sizeof *all), *sum = room(n, sizeof *sum),
                       *part = room(n, sizeof *part);
        run(&p, NULL, x, all);
        for (int i = 0; i < (by_coil ? p.coils : p.segments); i++) {
            problem one = p;
            if (by_coil) {
                one.coils = 1;
                one.maps = p.maps + i * n;
            } else {
                one.segments = 1;
                one.time[0] = p.time[i];
                one.q = p.q + i * p.points;
            }
            run(&one, NULL, x, part);
            for (int64_t m = 0; m < n; m++)
                sum[m] += part[m];
        }
        check_near(&p, by_coil ? "coils" : "segments", all, sum, 2 * bound(&p, x));
        FREE_ALL(x, all, sum, part);
        free_problem(&p);
    }
}

static void test_threads_and_instruction_sets(void **state)
{
    (void)state;
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    if (!vf_device_is_host(device))
        skip();
    int threads = vf_context_threads(ctx);
    for (int k = 0; k < 4; k++) {
        problem p = make_problem(35, k % 2 ? 1 : 18, 21, 2, 2, true, true, k / 2 ? VF_F64 : VF_F32);
        size_t bytes = (size_t)p.voxels * sizeof(double complex);
        double complex *x = random_vector(&p, p.voxels), *got = room(p.voxels, sizeof *got), *first = room(1, bytes);
        for (int made = 1; made <= 3; made++)
            for (int used = 1; used <= 4; used++) {
                need(vf_context_set_threads(ctx, made));
                running r = start(&p, NULL);
                need(vf_context_set_threads(ctx, used));
                apply(&r, x, got);
                stop(&r);
                if (made == 1 && used == 1)
                    memcpy(first, got, bytes);
                if (memcmp(first, got, bytes) != 0)
                    fail_msg("a plan for %d threads, used by %d: other bits than with one", made, used);
            }
        need(vf_context_set_threads(ctx, threads));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            assert_int_equal(setenv("VOXFIELD_ISA", names[i], 1), 0);
            run(&p, NULL, x, got);
            assert_int_equal(unsetenv("VOXFIELD_ISA"), 0);
            check_near(&p, names[i], got, first, 2 * bound(&p, x));
        }
        FREE_ALL(x, got, first);
        free_problem(&p);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_algebra), cmocka_unit_test(test_parts_add_up),
            cmocka_unit_test(test_threads_and_instruction_sets))
