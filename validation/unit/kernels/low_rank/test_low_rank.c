/* Singular value thresholds in blocks, and the nuclear norm, on fresh random numbers: every variant against a
 * singular value decomposition of each block by another method (svd_fixture.h), and by the properties of a proximal
 * map.
 *
 * usage: test_low_rank DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include "free_all.h"
#include "low_rank_fixture.h"

/* ---- inputs ---- */

typedef enum content { FULL, RANK_TWO, REPEATED, PARTLY_ZERO, GRADED, CONTENTS } content;

/* FULL: random. RANK_TWO: all blocks have rank 2 at most. REPEATED: rows of a scaled Fourier matrix, so the singular
 * values of blocks of one row along x are equal. PARTLY_ZERO: whole blocks and frames are 0. GRADED: frames decrease
 * from 1 to 1e-5. */
static double complex *make_series(const problem *p, content what)
{
    const int64_t each = voxels_of(p), f = p->counts[3];
    double complex *x = room(size_of(p), sizeof *x), *weight = room(2 * f, sizeof *weight);
    for (int64_t i = 0; i < 2 * f; i++)
        weight[i] = random_number();
    for (int64_t n = 0; n < each; n++) {
        const double complex a = random_number(), b = random_number();
        for (int64_t i = 0; i < f; i++) {
            double complex v = random_number();
            if (what == RANK_TWO)
                v = a * weight[i] + b * weight[f + i];
            else if (what == REPEATED)
                v = 3 * cexp(number(0, 2 * M_PI * (double)(n % p->counts[0] * i % f) / (double)f));
            else if (what == PARTLY_ZERO && (i % 3 == 1 || n < each / 2))
                v = 0;
            else if (what == GRADED)
                v *= pow(10, -5 * (double)i / (double)f);
            const volatile float re = (float)creal(v), im = (float)cimag(v);
            x[i * each + n] = p->type == VF_C128 ? v : number((double)re, (double)im);
        }
    }
    free(weight);
    return x;
}

static const problem problems[] = {
    {{1, 1, 1, 1}, {1, 1, 1}, {0, 0, 0}, VF_C64},    {{1, 1, 1, 7}, {3, 3, 3}, {5, -1, 0}, VF_C64},
    {{5, 4, 3, 1}, {2, 2, 2}, {1, 0, 0}, VF_C64},    {{8, 8, 1, 6}, {4, 4, 1}, {0, 0, 0}, VF_C64},
    {{7, 5, 3, 4}, {3, 2, 2}, {-4, 13, 2}, VF_C64},  {{9, 6, 2, 17}, {4, 4, 4}, {3, 5, 1}, VF_C64},
    {{3, 2, 2, 40}, {2, 2, 1}, {1, 1, 1}, VF_C64},   {{6, 5, 4, 8}, {100, 100, 100}, {2, 3, 1}, VF_C64},
    {{31, 3, 1, 33}, {16, 3, 1}, {7, 2, 0}, VF_C64}, {{70, 1, 1, 66}, {70, 1, 1}, {9, 0, 0}, VF_C64},
    {{2, 1, 1, 20}, {2, 1, 1}, {1, 0, 0}, VF_C64},   {{13, 11, 2, 5}, {5, 1, 2}, {1000003, -77, 1}, VF_C64},
};
enum { PROBLEMS = sizeof problems / sizeof *problems, MOST_VARIANTS = 5 };

static void test_against_svd(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS * CONTENTS * 2; i++) {
        problem p = problems[i / 2 / CONTENTS];
        p.type = i % 2 ? VF_C128 : VF_C64;
        if (!has_precision(p.type))
            continue;
        const content what = (content)(i / 2 % CONTENTS);
        if (p.counts[3] > 60 && what > RANK_TWO) /* takes long */
            continue;
        double complex *x = make_series(&p, what);
        double power = 0;
        for (int64_t n = 0; n < size_of(&p); n++)
            power += creal(x[n] * conj(x[n])) / (double)blocks_of(&p);
        /* 0; far below the singular values, among them, and above all of them */
        const double sizes[4] = {0, 1e-6 * uniform() * sqrt(power), uniform() * sqrt(power / (double)p.counts[3]),
                                 100 + 10 * sqrt((double)size_of(&p))};
        const double t = sizes[(int)(uniform() * 4)];
        outcome o[MOST_VARIANTS] = {0};
        int count = 0;
        for (int v = 0; variant_name(v); v++) {
            double again;
            if (!can_run(variant_name(v)))
                continue;
            o[count].variant = variant_name(v);
            o[count].z = threshold(&p, variant_name(v), t, false, x, &o[count].norm);
            double complex *in = threshold(&p, variant_name(v), t, true, x, &again);
            if (memcmp(o[count].z, in, (size_t)size_of(&p) * sizeof *in) != 0 || again != o[count].norm)
                fail_msg("%s: in place gives other bits", variant_name(v));
            free(in);
            count++;
        }
        check(&p, t, x, count, o);
        for (int v = 0; v < count; v++)
            free(o[v].z);
        free(x);
    }
}

/* z is the proximal map: with D = (v - z) / t, all singular values of D are at most 1, and Re <D, z> is the nuclear
 * norm of z. And no random z + h has a lower objective than z plus |h|^2 / 2, which strong convexity adds. */
static void test_optimality(void **state)
{
    (void)state;
    if (!has_precision(VF_C128)) /* the bound is that of double precision */
        return;
    for (int try = 0; try < 20; try++) {
        problem p = {
            .counts = {1 + (int64_t)(uniform() * 5), 1 + (int64_t)(uniform() * 4), 2, 1 + (int64_t)(uniform() * 9)},
            .block = {9, 9, 9},
            .shift = {try, 0, 1},
            .type = VF_C128};
        double complex *v = make_series(&p, (content)(try % 2)), *d = room(size_of(&p), sizeof *d);
        const double t = 0.3 + 2 * uniform();
        double norm, along = 0, apart = 0;
        double complex *z = threshold(&p, NULL, t, false, v, &norm);
        for (int64_t i = 0; i < size_of(&p); i++) {
            d[i] = (v[i] - z[i]) / t;
            along += creal(d[i] * conj(z[i]));
            apart += creal((v[i] - z[i]) * conj(v[i] - z[i]));
        }
        matrix mv = open_matrix(&p, 0, v), mz = open_matrix(&p, 0, z), md = open_matrix(&p, 0, d);
        const double off = allowed_error(&mv, VF_C128, t);
        for (int64_t j = 0; j < md.columns; j++)
            if (!(md.s[j] <= 1 + off / t))
                fail_msg("a singular value of (v - z) / t is %.17g", md.s[j]);
        if (!(fabs(along - mz.sum) <= off * (1 + mz.norm / t + sqrt((double)mz.columns))))
            fail_msg("<(v - z) / t, z> is %.17g, the norm of z %.17g", along, mz.sum);
        const double least = t * mz.sum + apart / 2;
        for (int other = 0; other < 20; other++) {
            const double size = pow(10, -3 * uniform());
            double far = 0, objective = 0;
            for (int64_t i = 0; i < size_of(&p); i++) {
                const double complex h = other == 0 ? -z[i] : other == 1 ? v[i] - z[i] : size * random_number();
                d[i] = z[i] + h;
                far += creal(h * conj(h));
                objective += creal((v[i] - d[i]) * conj(v[i] - d[i])) / 2;
            }
            matrix mo = open_matrix(&p, 0, d);
            objective += t * mo.sum;
            /* the objective at z has an error of at most (t sqrt(k) + 2 |v|) times the error of z */
            if (!(objective >= least + 0.49 * far - off * (t * sqrt((double)mz.columns) + 2 * mv.norm + sqrt(far))))
                fail_msg("%.17g is lower than %.17g at the distance %g", objective, least, sqrt(far));
            close_matrix(&mo);
        }
        close_matrix(&mv);
        close_matrix(&mz);
        close_matrix(&md);
        FREE_ALL(v, z, d);
    }
}

/* One large block in several segments, and many small ones: correct, and the same bits for any number of threads. */
static void test_segments_and_threads(void **state)
{
    (void)state;
    const problem both[2] = {{{91, 50, 3, 5}, {91, 50, 3}, {5, 7, 1}, VF_C64},
                             {{20, 17, 3, 9}, {4, 4, 2}, {3, 0, 1}, VF_C64}};
    const int threads = vf_context_threads(ctx);
    for (int i = 0; i < 2; i++) {
        const problem *p = &both[i];
        double complex *x = make_series(p, GRADED), *first = NULL;
        double norm = 0;
        for (int t = 1; t <= 4; t++) {
            double again;
            need(vf_context_set_threads(ctx, t));
            double complex *z = threshold(p, NULL, 2.5, t % 2, x, &again);
            if (t == 1) {
                first = z;
                norm = again;
                check(p, 2.5, x, 1, &(outcome){.variant = "default", .z = z, .norm = norm});
                continue;
            }
            if (memcmp(z, first, (size_t)size_of(p) * sizeof *z) != 0 || memcmp(&norm, &again, sizeof norm) != 0)
                fail_msg("%d threads give other bits", t);
            free(z);
        }
        free(x);
        free(first);
    }
    need(vf_context_set_threads(ctx, threads));
}

/* More blocks than fit into a batch. Their contents repeat every three blocks, so the results must, too. */
static void test_many_blocks(void **state)
{
    (void)state;
    const int64_t f = 9, few = 3, many = 16500; /* a batch is 64 MiB of 16 x 16 numbers, 16384 blocks */
    const problem small = {{3 * few, 3, 1, f}, {3, 3, 1}, {0, 0, 0}, VF_C64};
    const problem large = {{3 * many, 3, 1, f}, {3, 3, 1}, {0, 0, 0}, VF_C64};
    double complex *x = make_series(&small, FULL), *wide = room(size_of(&large), sizeof *wide);
    double one, sum;
    for (int64_t i = 0; i < size_of(&large); i++)
        wide[i] = x[i / (3 * many) * (3 * few) + i % (3 * many) % (3 * few)];
    double complex *z = threshold(&small, NULL, 1.5, false, x, &one);
    double complex *all = threshold(&large, NULL, 1.5, false, wide, &sum);
    check(&small, 1.5, x, 1, &(outcome){.variant = "default", .z = z, .norm = one});
    for (int64_t i = 0; i < size_of(&large); i++)
        if (memcmp(&all[i], &z[i / (3 * many) * (3 * few) + i % (3 * many) % (3 * few)], sizeof *z) != 0)
            fail_msg("voxel %lld differs from the same one of the first blocks", (long long)(i % (9 * many)));
    const double right = one * (double)(many / few);
    if (!(fabs(sum - right) <= (double)many * 0x1p-52 * right))
        fail_msg("the norm is %.17g instead of %.17g", sum, right);
    FREE_ALL(x, wide, z, all);
}

/* NaN or infinity makes its block and the norm NaN, and changes no other block. */
static void test_nan(void **state)
{
    (void)state;
    const problem base = {{7, 5, 3, 6}, {3, 2, 2}, {1, 3, 2}, VF_C64};
    for (int i = 0; i < 4; i++)
        for (int v = 0; variant_name(v); v++) {
            problem p = base;
            if (!can_run(variant_name(v)))
                continue;
            p.type = i % 2 && has_precision(VF_C128) ? VF_C128 : VF_C64;
            double complex *x = make_series(&p, FULL);
            double norm;
            int64_t *list = room(voxels_of(&p), sizeof *list), block = (int64_t)(uniform() * (double)blocks_of(&p));
            double complex *good = threshold(&p, variant_name(v), 1, false, x, &norm);
            assert_true(isfinite(norm));
            const int64_t count = list_block(&p, block, list);
            x[list[count - 1] + 4 * voxels_of(&p)] = i / 2 ? number(0, INFINITY) : number(0, NAN);
            double complex *z = threshold(&p, variant_name(v), 1, true, x, &norm);
            assert_true(isnan(norm));
            for (int64_t n = 0; n < size_of(&p); n++) {
                bool inside = false;
                for (int64_t m = 0; m < count; m++)
                    inside |= list[m] == n % voxels_of(&p);
                if (inside ? !(isnan(creal(z[n])) && isnan(cimag(z[n]))) : memcmp(&z[n], &good[n], sizeof *z) != 0)
                    fail_msg("%s: element %lld is %g%+gi", variant_name(v), (long long)n, creal(z[n]), cimag(z[n]));
            }
            FREE_ALL(x, good, z, list);
        }
}

static void test_refusals(void **state)
{
    (void)state;
    const int64_t good[4] = {2, 1, 1, 2}, zero[4] = {2, 0, 1, 2}, none[4] = {2, 1, 1, 0}, shift[3] = {0};
    const int64_t huge[4] = {1 << 20, 1 << 20, 1 << 20, 2}, wide[4] = {1025, 1, 1, 1025};
    const int64_t block[3] = {1, 1, 1}, empty[3] = {1, 0, 1}, whole[3] = {1025, 1, 1};
    float x[8] = {0};
    double sum;
    vf_low_rank *plan;
    refused(vf_low_rank_create(device, VF_F32, good, block, NULL, &plan), "");
    refused(vf_low_rank_create(device, VF_C64, zero, block, NULL, &plan), "");
    refused(vf_low_rank_create(device, VF_C64, none, block, NULL, &plan), "");
    refused(vf_low_rank_create(device, VF_C64, huge, block, NULL, &plan), "");
    refused(vf_low_rank_create(device, VF_C64, good, empty, NULL, &plan), "");
    refused(vf_low_rank_create(device, VF_C64, wide, whole, NULL, &plan), "");
    refused(vf_low_rank_create(device, VF_C64, good, block, "none", &plan), "");
    assert_null(plan);
    need(vf_low_rank_create(device, VF_C64, good, block, NULL, &plan));
    refused(vf_low_rank_threshold(plan, queue, shift, -1, x, x), "");
    refused(vf_low_rank_threshold(plan, queue, shift, NAN, x, x), "");
    refused(vf_low_rank_threshold(plan, queue, shift, INFINITY, x, x), "");
    refused(vf_low_rank_threshold(plan, queue, shift, 1, NULL, x), "");
    refused(vf_low_rank_norm(plan, queue, shift, NULL, &sum), "");
    assert_true(vf_low_rank_bytes(plan) > 0);
    vf_low_rank_destroy(plan);
    vf_low_rank_destroy(NULL);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_against_svd), cmocka_unit_test(test_optimality),
            cmocka_unit_test(test_segments_and_threads), cmocka_unit_test(test_many_blocks), cmocka_unit_test(test_nan),
            cmocka_unit_test(test_refusals))
