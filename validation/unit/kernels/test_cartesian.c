/* The sums of samples on a grid, and their F^H W F, against the sums over all pairs in double precision, on fresh
 * random problems; and by algebra.
 *
 * The bounds, in the l2 norm; u is the unit roundoff, V the number of voxels, L the most samples at a grid point:
 *   sums      The grid's l2 norm is at most sqrt(L) |c|. An FFT has a gain of sqrt(V), and an error relative to that
 *             of 6.7 u per stage (toeplitz_fixture.h). Adding up L samples costs L u: (6.7 stages + L) u sqrt(V L)
 *             |c|. The forward sum has |x| for |c|, and reads a grid point up to L times, so its bound is the same.
 *   normal    two transforms, W rounded once and scaled by a length, and the products with the map, forward and
 *             back, of at most sqrt(5) u each: (2 * 6.7 stages + 16) u V max W max |s| |s x| for each coil. Adding
 *             the coils costs less than the same again in u.
 *
 * usage: test_cartesian DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "cartesian.h"
#include "free_all.h"
#include "gridding.h"
#include "kernels/toeplitz/toeplitz_fixture.h"

enum { COILS = 3 };
static const int64_t sizes[][3] = {{1, 1, 1},   {2, 1, 1},  {1, 7, 1},  {1, 1, 9},  {16, 1, 1}, {8, 6, 1},
                                   {15, 16, 1}, {9, 1, 12}, {1, 5, 18}, {7, 6, 5},  {4, 6, 8},  {20, 3, 17},
                                   {33, 18, 1}, {5, 1, 40}, {3, 34, 2}, {37, 2, 3}, {6, 11, 10}};
enum { SIZES = sizeof sizes / sizeof *sizes };
/* Lengths with special code on a GPU, and grids so large that one of its blocks processes all coils. */
static const int64_t large[][3] = {{3, 64, 1},    {96, 128, 1}, {160, 192, 1}, {256, 320, 1},
                                   {384, 512, 1}, {4, 3, 600},  {64, 96, 2},   {3, 128, 64},
                                   {96, 64, 160}, {128, 70, 3}, {5, 256, 64},  {22, 13, 64}};
enum { LARGE = sizeof large / sizeof *large };

typedef enum pattern { SCATTERED, LINES_X, LINES_Y, LINES_Z, PLANES, FULL, PATTERNS } pattern;

typedef struct mri_scan {
    int64_t matrix[3], voxels, samples;
    vf_dtype precision;
    float *k;
    double *weights;
    double complex *f; /* [sample][voxel]: F; NULL to leave it out */
    int most;          /* most samples at a grid point */
    double most_weight;
} mri_scan;

static double fft_error(const mri_scan *s)
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        sum += 6.7 * stages(s->matrix[a]);
    return sum;
}

/* Samples at any integer, even far outside [-N/2, N/2); lines and planes hold all k along their axes. */
static mri_scan make_scan(const int64_t matrix[3], pattern kind, vf_dtype precision, bool with_f)
{
    static const bool whole[PATTERNS][3] = {{0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}};
    mri_scan s = {.voxels = 1, .precision = precision};
    int64_t line = 1;
    for (int a = 0; a < 3; a++) {
        s.matrix[a] = matrix[a];
        s.voxels *= matrix[a];
        line *= whole[kind][a] ? matrix[a] : 1;
    }
    const int64_t lines = kind == FULL ? 2 : 1 + (int64_t)(uniform() * 1.5 * (double)s.voxels / (double)line);
    s.samples = lines * line;
    s.k = room(3 * s.samples, sizeof *s.k);
    s.weights = room(s.samples, sizeof *s.weights);
    s.f = with_f ? room(s.samples * s.voxels, sizeof *s.f) : NULL;
    int *held = room(s.voxels, sizeof *held);
    double *sums = room(s.voxels, sizeof *sums);
    double complex *phases = room(s.voxels, sizeof *phases);
    for (int64_t n = 0; with_f && n < s.voxels; n++)
        phases[n] = number(cos(2 * M_PI * (double)n / (double)s.voxels), -sin(2 * M_PI * (double)n / (double)s.voxels));
    for (int64_t l = 0; l < lines; l++) {
        double base[3];
        const double weight = uniform();
        for (int a = 0; a < 3; a++)
            base[a] = floor((uniform() - 0.5) * (uniform() < 0.1 ? 9 : 1) * (double)matrix[a]);
        for (int64_t i = 0, rest; i < line; i++) {
            const int64_t m = l * line + i;
            int64_t point = 0, step = 1;
            rest = i;
            for (int a = 0; a < 3; a++) {
                const double at = base[a] + (whole[kind][a] ? (double)(rest % matrix[a]) : 0);
                rest /= whole[kind][a] ? matrix[a] : 1;
                /* Off the grid by less than rounding; along an axis of one voxel by anything. */
                s.k[3 * m + a] = (float)(at + (matrix[a] > 1 ? 0x1p-23 * (double)matrix[a] * (uniform() - 0.5) : 0.3));
                point += ((int64_t)at % matrix[a] + matrix[a]) % matrix[a] * step;
                step *= matrix[a];
            }
            s.weights[m] = weight;
            sums[point] += weight;
            s.most = ++held[point] > s.most ? held[point] : s.most;
            s.most_weight = fmax(s.most_weight, sums[point]);
            for (int64_t n = 0; with_f && n < s.voxels; n++) {
                const int64_t p[3] = {point % matrix[0], point / matrix[0] % matrix[1], point / matrix[0] / matrix[1]};
                const int64_t r[3] = {n % matrix[0], n / matrix[0] % matrix[1], n / matrix[0] / matrix[1]};
                int64_t turns = 0; /* in parts of 1 / voxels, which all axes' parts are multiples of */
                for (int a = 0; a < 3; a++)
                    turns += p[a] * (r[a] - matrix[a] / 2) % matrix[a] * (s.voxels / matrix[a]);
                s.f[m * s.voxels + n] = phases[(turns % s.voxels + s.voxels) % s.voxels];
            }
        }
    }
    free(phases);
    free(held);
    free(sums);
    return s;
}

static void free_scan(mri_scan *s)
{
    FREE_ALL(s->k, s->weights, s->f);
}

static double complex *random_numbers(const mri_scan *s, int64_t count)
{
    double complex *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++)
        v[n] = rounded(s->precision, random_complex());
    return v;
}

static void check_error(const mri_scan *s, const char *what, int64_t count, const double complex *got,
                        const double complex *right, double bound)
{
    double wrong = 0;
    for (int64_t n = 0; n < count; n++)
        wrong += creal((got[n] - right[n]) * conj(got[n] - right[n]));
    if (!(sqrt(wrong) <= bound))
        fail_msg("%s, %lld x %lld x %lld, %lld samples, %s precision: error %g, allowed %g", what,
                 (long long)s->matrix[0], (long long)s->matrix[1], (long long)s->matrix[2], (long long)s->samples,
                 s->precision == VF_F64 ? "double" : "single", sqrt(wrong), bound);
}

/* ---- how the library computes ---- */

static vf_cartesian *make_plan(const mri_scan *s, bool normal)
{
    const vf_cartesian_samples samples = {s->samples, s->k, s->weights};
    vf_cartesian *plan;
    need((normal ? vf_cartesian_normal_create : vf_cartesian_create)(device, s->matrix, &samples, s->precision, &plan));
    assert_true(vf_cartesian_bytes(plan) > 0);
    return plan;
}

static void sums(const mri_scan *s, bool adjoint, int batch, const double complex *in, double complex *out)
{
    vf_queue *queue;
    vf_cartesian *plan = make_plan(s, false);
    const int64_t from = batch * (adjoint ? s->samples : s->voxels), to = batch * (adjoint ? s->voxels : s->samples);
    need(vf_queue_create(device, &queue));
    guarded a = upload(queue, s->precision, from, in), b = upload(queue, s->precision, to, NULL);
    need((adjoint ? vf_cartesian_adjoint : vf_cartesian_forward)(plan, queue, batch, a.data, b.data));
    double complex *same = room(from, sizeof *same);
    download(queue, &a, same);
    for (int64_t i = 0; i < from; i++)
        if (memcmp(&same[i], &in[i], sizeof same[i]) != 0 && !isnan(creal(in[i])))
            fail_msg("the input was written to");
    download(queue, &b, out);
    free(same);
    vf_cartesian_destroy(plan);
    vf_queue_destroy(queue);
}

static void normal(const mri_scan *s, int coils, const double complex *maps, const double complex *x, double complex *y)
{
    vf_queue *queue;
    vf_cartesian *plan = make_plan(s, true);
    need(vf_queue_create(device, &queue));
    guarded in = upload(queue, s->precision, s->voxels, x), out = upload(queue, s->precision, s->voxels, NULL), seen;
    if (maps)
        seen = upload(queue, s->precision, coils * s->voxels, maps);
    need(vf_cartesian_normal_apply(plan, queue, coils, maps ? seen.data : NULL, in.data, out.data));
    if (maps)
        download(queue, &seen, NULL);
    download(queue, &in, NULL);
    download(queue, &out, y);
    vf_cartesian_destroy(plan);
    vf_queue_destroy(queue);
}

/* ---- the tests ---- */

static void test_sums(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES * PATTERNS * 2; i++) {
        mri_scan s = make_scan(sizes[i / 2 % SIZES], (pattern)(i / 2 / SIZES), i % 2 ? VF_F64 : VF_F32, true);
        const double gain = (fft_error(&s) + s.most) * roundoff(s.precision) * sqrt((double)(s.voxels * s.most));
        double complex *c = random_numbers(&s, s.samples), *x = random_numbers(&s, s.voxels);
        double complex *y = room(s.voxels, sizeof *y), *d = room(s.samples, sizeof *d);
        double complex *right_y = room(s.voxels, sizeof *y), *right_d = room(s.samples, sizeof *d);
        for (int64_t m = 0; m < s.samples; m++)
            for (int64_t n = 0; n < s.voxels; n++) {
                right_y[n] += conj(s.f[m * s.voxels + n]) * c[m];
                right_d[m] += s.f[m * s.voxels + n] * x[n];
            }
        sums(&s, true, 1, c, y);
        sums(&s, false, 1, x, d);
        check_error(&s, "adjoint", s.voxels, y, right_y, 1.01 * gain * norm(s.samples, c));
        check_error(&s, "forward", s.samples, d, right_d, 1.01 * gain * norm(s.voxels, x));
        /* <F x, c> = <x, F^H c>, up to the bounds of both by Cauchy and Schwarz. */
        double complex left = 0, right = 0;
        for (int64_t m = 0; m < s.samples; m++)
            left += conj(d[m]) * c[m];
        for (int64_t n = 0; n < s.voxels; n++)
            right += conj(x[n]) * y[n];
        assert_true(cabs(left - right) <= 2.02 * gain * norm(s.samples, c) * norm(s.voxels, x));
        FREE_ALL(c, x, y, d, right_y, right_d);
        free_scan(&s);
    }
}

/* F^H W F for all patterns, so for all choices of axes along which W does not depend on k; with maps and without. */
static void test_normal(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES * PATTERNS * 4; i++) {
        mri_scan s = make_scan(sizes[i / 4 % SIZES], (pattern)(i / 4 / SIZES), i % 2 ? VF_F64 : VF_F32, true);
        const int coils = i / 2 % 2 ? COILS : 1;
        double complex *maps = i / 2 % 2 ? random_numbers(&s, coils * s.voxels) : NULL;
        double complex *x = random_numbers(&s, s.voxels), *y = room(s.voxels, sizeof *y);
        double complex *right = room(s.voxels, sizeof *y), *seen = room(s.voxels, sizeof *y);
        double bound = 0;
        for (int c = 0; c < coils; c++) {
            double largest = maps ? 0 : 1;
            for (int64_t n = 0; n < s.voxels; n++) {
                seen[n] = maps ? maps[c * s.voxels + n] * x[n] : x[n];
                largest = maps ? fmax(largest, cabs(maps[c * s.voxels + n])) : 1;
            }
            for (int64_t m = 0; m < s.samples; m++) {
                double complex sum = 0;
                for (int64_t n = 0; n < s.voxels; n++)
                    sum += s.f[m * s.voxels + n] * seen[n];
                for (int64_t n = 0; n < s.voxels; n++)
                    right[n] +=
                        (maps ? conj(maps[c * s.voxels + n]) : 1) * conj(s.f[m * s.voxels + n]) * s.weights[m] * sum;
            }
            bound += (2 * fft_error(&s) + 16 + coils) * roundoff(s.precision) * (double)s.voxels * s.most_weight *
                     largest * norm(s.voxels, seen);
        }
        normal(&s, coils, maps, x, y);
        check_error(&s, "normal", s.voxels, y, right, 1.01 * bound);
        FREE_ALL(maps, x, y, right, seen);
        free_scan(&s);
    }
}

/* The same for grids where F is too large for a dense matrix: against the sums, which test_sums has checked, within
 * the bounds of both. A sum's error is its bound times |W F s x|, which is at most sqrt(voxels) times the largest
 * sum of weights times |s x|. */
static void test_normal_of_sums(void **state)
{
    (void)state;
    for (int i = 0; i < LARGE * 2; i++) { /* both precisions, one of them with several coils */
        const pattern kind = (pattern)(uniform() * PATTERNS);
        mri_scan s = make_scan(large[i / 2], kind < PATTERNS ? kind : FULL, i % 2 ? VF_F64 : VF_F32, false);
        const int coils = (i / 2 + i) % 2 ? COILS : 1;
        double complex *maps = random_numbers(&s, coils * s.voxels), *x = random_numbers(&s, s.voxels);
        double complex *y = room(s.voxels, sizeof *y), *right = room(s.voxels, sizeof *y),
                       *seen = room(s.voxels, sizeof *y), *d = room(s.samples, sizeof *d);
        double bound = 0;
        for (int c = 0; c < coils; c++) {
            double largest = 0;
            const double complex *map = maps + c * s.voxels;
            for (int64_t n = 0; n < s.voxels; n++) {
                seen[n] = rounded(s.precision, map[n] * x[n]);
                largest = fmax(largest, cabs(map[n]));
            }
            const double size = norm(s.voxels, seen);
            sums(&s, false, 1, seen, d);
            for (int64_t m = 0; m < s.samples; m++)
                d[m] = rounded(s.precision, s.weights[m] * d[m]);
            sums(&s, true, 1, d, seen);
            for (int64_t n = 0; n < s.voxels; n++)
                right[n] += conj(map[n]) * seen[n];
            bound += (4 * fft_error(&s) + 20 + coils + 2 * s.most) * roundoff(s.precision) * (double)s.voxels *
                     s.most_weight * largest * size;
        }
        normal(&s, coils, maps, x, y);
        check_error(&s, "normal and sums", s.voxels, y, right, 1.01 * bound);
        FREE_ALL(maps, x, y, right, seen, d);
        free_scan(&s);
    }
}

/* Vectors of a batch have the same bits as each alone; F (a x + z) = a F x + F z follows from the bound. */
static void test_batch(void **state)
{
    (void)state;
    enum { BATCH = 3 };
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        mri_scan s = make_scan(sizes[9], SCATTERED, VF_F32, true);
        const int64_t from = adjoint ? s.samples : s.voxels, to = adjoint ? s.voxels : s.samples;
        double complex *in = random_numbers(&s, BATCH * from), *all = room(BATCH * to, sizeof *all),
                       *one = room(to, sizeof *one);
        sums(&s, adjoint, BATCH, in, all);
        for (int b = 0; b < BATCH; b++) {
            sums(&s, adjoint, 1, in + b * from, one);
            assert_memory_equal(one, all + b * to, (size_t)to * sizeof *one);
        }
        FREE_ALL(in, all, one);
        free_scan(&s);
    }
}

static void check_all_nan(int64_t count, const double complex *v)
{
    for (int64_t n = 0; n < count; n++)
        assert_true(isnan(creal(v[n])) || isnan(cimag(v[n])));
}

static void test_nan(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        mri_scan s = make_scan(sizes[i % 2 ? 6 : 9], SCATTERED, i / 2 ? VF_F64 : VF_F32, true);
        double complex *c = random_numbers(&s, s.samples), *y = room(s.voxels, sizeof *y);
        double complex *x = random_numbers(&s, s.voxels), *d = room(s.samples, sizeof *d);
        c[(int64_t)(uniform() * (double)s.samples)] = number(NAN, 0);
        x[(int64_t)(uniform() * (double)s.voxels)] = number(0, NAN);
        sums(&s, true, 1, c, y);
        check_all_nan(s.voxels, y);
        sums(&s, false, 1, x, d);
        check_all_nan(s.samples, d);
        normal(&s, 1, NULL, x, y);
        check_all_nan(s.voxels, y);
        FREE_ALL(c, x, y, d);
        free_scan(&s);
    }
}

/* The same sums as the NUFFT's, within its tolerance (root mean square; four times that for one draw). */
static void test_nufft(void **state)
{
    (void)state;
    const vf_nufft_options options = {.tolerance = 1e-9, .precision = VF_F64};
    for (int i = 0; i < SIZES; i++) {
        mri_scan s = make_scan(sizes[i], SCATTERED, VF_F64, true);
        for (int64_t j = 0; j < 3 * s.samples; j++)
            s.k[j] = rintf(s.k[j]); /* the NUFFT takes k unrounded */
        const vf_nufft_samples at = {.count = s.samples, .k = s.k};
        double complex *c = random_numbers(&s, s.samples), *y = room(s.voxels, sizeof *y), *right = room(s.voxels, 16);
        vf_nufft *plan;
        vf_queue *queue;
        need(vf_queue_create(device, &queue));
        need(vf_nufft_create(device, s.matrix, &at, 1, &options, &plan));
        guarded in = upload(queue, VF_F64, s.samples, c), out = upload(queue, VF_F64, s.voxels, NULL);
        need(vf_nufft_adjoint(plan, queue, 1, in.data, out.data));
        download(queue, &in, NULL);
        download(queue, &out, right);
        vf_nufft_destroy(plan);
        vf_queue_destroy(queue);
        sums(&s, true, 1, c, y);
        check_error(&s, "NUFFT", s.voxels, y, right, 4e-9 * sqrt((double)(s.voxels * s.most)) * norm(s.samples, c));
        FREE_ALL(c, y, right);
        free_scan(&s);
    }
}

static void test_fits(void **state)
{
    (void)state;
    const int64_t matrix[3] = {512, 512, 1};
    const double allowed = 512 * 0x1p-22;
    float k[9] = {-256, 255, 0.5F, 700, (float)(3 + 0.9 * allowed), NAN, 0, 1, 2};
    int64_t first = 7;
    double distance = 7;
    assert_true(vf_cartesian_fits(matrix, 3, k, &first, &distance));
    assert_true(first == -1 && distance == 0);
    k[7] = (float)(1 - 1.1 * allowed);
    assert_false(vf_cartesian_fits(matrix, 3, k, &first, &distance));
    assert_true(first == 2 && fabs(distance - 1.1 * allowed) < 1e-6);
    k[0] = NAN;
    assert_false(vf_cartesian_fits(matrix, 3, k, &first, NULL));
    assert_true(first == 0);
    assert_true(vf_cartesian_fits(matrix, 0, NULL, NULL, NULL));
}

static void test_refused(void **state)
{
    (void)state;
    static const int64_t matrix[3] = {4, 4, 1}, none[3] = {4, 0, 1};
    const float on[3] = {1, 1, 0}, off[3] = {1, 1.25F, 0};
    const double bad = NAN;
    const vf_cartesian_samples good = {1, on, NULL}, away = {1, off, NULL}, weight = {1, on, &bad};
    vf_cartesian *plan;
    vf_queue *queue;
    vf_array v;
    need(vf_queue_create(device, &queue));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_C64, 64, &v));
    assert_int_equal(vf_cartesian_create(device, none, &good, VF_F32, &plan), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_cartesian_create(device, matrix, &good, VF_C64, &plan), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_cartesian_normal_create(device, matrix, &weight, VF_F32, &plan), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_cartesian_create(device, matrix, &away, VF_F32, &plan), VF_ERR_ARGUMENT);
    assert_null(plan);
    assert_non_null(strstr(vf_context_message(ctx), "sample 0 is 0.25 cycles off the grid"));
    vf_context_clear_error(ctx);
    need(vf_cartesian_create(device, matrix, &good, VF_F32, &plan));
    assert_int_equal(vf_cartesian_normal_apply(plan, queue, 1, NULL, v.data, (float *)v.data + 64), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_cartesian_adjoint(plan, queue, 0, v.data, (float *)v.data + 64), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_cartesian_destroy(plan);
    need(vf_cartesian_normal_create(device, matrix, &good, VF_F32, &plan));
    float *const from = v.data, *const into[4][2] = {{from, from}, {NULL, from}, {from, NULL}, {from, from + 64}};
    for (int i = 0; i < 4; i++) { /* the same vector, or none; the last with two coils and no maps */
        assert_int_equal(vf_cartesian_normal_apply(plan, queue, i < 3 ? 1 : 2, NULL, into[i][0], into[i][1]),
                         VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(ctx), "Cartesian FFT: "));
        vf_context_clear_error(ctx);
    }
    vf_cartesian_destroy(plan);
    vf_array_free(&v);
    vf_queue_destroy(queue);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_sums), cmocka_unit_test(test_normal),
            cmocka_unit_test(test_normal_of_sums), cmocka_unit_test(test_batch), cmocka_unit_test(test_nan),
            cmocka_unit_test(test_nufft), cmocka_unit_test(test_fits), cmocka_unit_test(test_refused))
