/* The reconstruction as linear algebra: F^H is the adjoint of F, and the solver's solution matches dense matrices,
 * on the CPU or a GPU. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "density.h"
#include "free_all.h"
#include "recon_fixture.h"
#include "schedule/reconstruct.h"
#include "solve/choose_operator.h"
#include "solve/equations.h"
#include "solve/transfer.h"
#include "voxfield/copy.h"

static double norm(const float complex *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    return sqrt(sum);
}

/* Relative error allowed for results that pass through float complex: the operators' accuracy, rounding of a few
 * hundred terms in the given precision, and the rounding of the host's copies. */
static double allowed(const problem *p)
{
    double rounding = p->settings.solve.precision == VF_F64 ? 0 : 40 * 0x1p-24;
    return 2 * p->settings.solve.accuracy + rounding + 4 * 0x1p-24;
}

static void adjointness(const int64_t matrix[3], bool field, vf_dtype precision, vf_encode_by encode_by)
{
    problem p = open_problem(matrix, 1, 1, field, precision, encode_by);
    vf_encoding *e = NULL;
    float complex *x = allocate((size_t)p.voxels, sizeof *x), *y = allocate(SAMPLES, sizeof *y);
    float complex *fx = allocate(SAMPLES, sizeof *fx), *fy = allocate((size_t)p.voxels, sizeof *fy);
    for (int64_t i = 0; i < p.voxels; i++)
        x[i] = random_complex();
    for (int m = 0; m < SAMPLES; m++)
        y[m] = random_complex();
    vf_array dx = device_array(&p, p.voxels), dy = device_array(&p, SAMPLES);
    const vf_encoding_options options = encoding_options(&p.settings.solve, &p.scan, &p.trajectory);
    if (encoding_create(vf_context_device(p.ctx, 0), &p.scan, &p.trajectory, &options, &e) != VF_OK)
        fail_msg("%s", vf_context_message(p.ctx));
    assert_int_equal(upload(p.queue, x, p.voxels, &dx), VF_OK);
    assert_int_equal(vf_encoding_forward(e, p.queue, 1, &dx, &dy), VF_OK);
    assert_int_equal(download(p.queue, &dy, SAMPLES, fx), VF_OK);
    assert_int_equal(upload(p.queue, y, SAMPLES, &dy), VF_OK);
    assert_int_equal(vf_encoding_adjoint(e, p.queue, 1, &dy, &dx), VF_OK);
    assert_int_equal(download(p.queue, &dx, p.voxels, fy), VF_OK);
    double complex left = 0, right = 0;
    for (int m = 0; m < SAMPLES; m++)
        left += conj(fx[m]) * y[m];
    for (int64_t i = 0; i < p.voxels; i++)
        right += conj(x[i]) * fy[i];
    /* Both sides are inner products of vectors, each with a relative error of `allowed`. */
    assert_true(cabs(left - right) <=
                allowed(&p) * (norm(fx, SAMPLES) * norm(y, SAMPLES) + norm(x, p.voxels) * norm(fy, p.voxels)));
    /* Also against the dense matrix. */
    double difference = 0, size = 0;
    for (int m = 0; m < SAMPLES; m++) {
        double complex sum = 0;
        for (int64_t n = 0; n < p.voxels; n++)
            sum += element(&p, m, n) * x[n];
        difference += pow(cabs(sum - fx[m]), 2);
        size += pow(cabs(sum), 2);
    }
    assert_true(sqrt(difference) <= allowed(&p) * sqrt(size));
    vf_encoding_destroy(e);
    vf_array_free(&dx);
    vf_array_free(&dy);
    FREE_ALL(x, y, fx, fy);
    close_problem(&p);
}

static const int64_t cube[3] = {7, 8, 6}, plane[3] = {14, 17, 1};

static void test_adjointness(void **state)
{
    (void)state;
    for (int precision = 0; precision < 2; precision++)
        for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
            for (int field = 0; field < (by == VF_ENCODE_CARTESIAN ? 1 : 2); field++) {
                adjointness(cube, field, precision ? VF_F64 : VF_F32, (vf_encode_by)by);
                adjointness(plane, field, precision ? VF_F64 : VF_F32, (vf_encode_by)by);
            }
}

/* Images of all frames, one after another. */
typedef struct kept {
    const problem *problem;
    float complex *images;
} kept;

static void keep(void *user, const scan_frame *frame, const float complex *image)
{
    const kept *k = user;
    const size_t voxels = (size_t)k->problem->voxels;
    memcpy(k->images + (size_t)(frame - k->problem->scan.frame) * voxels, image, voxels * sizeof *image);
}

static void run_reconstruction(problem *p, float complex *images, recon_summary *summary)
{
    recon_watch watch = {.mode = VF_PROGRESS_OFF};
    kept k = {p, images};
    p->scan.trajectory = &p->trajectory;
    memset(summary, 0, sizeof *summary);
    if (reconstruct(p->ctx, &p->settings, &p->scan, &watch, keep, NULL, &k, summary) != VF_OK)
        fail_msg("%s", vf_context_message(p->ctx));
}

static void against_dense(const int64_t matrix[3], int coils, bool field, bool differences, vf_dtype precision,
                          vf_encode_by encode_by)
{
    problem p = open_problem(matrix, coils, 1, field, precision, encode_by);
    p.settings.solve.prior = differences ? RECON_DIFFERENCES : RECON_IDENTITY;
    recon_summary summary;
    float complex *image = allocate((size_t)p.voxels, sizeof *image);
    run_reconstruction(&p, image, &summary);
    double diagonal, difference = 0, size = 0;
    double complex *b = dense_right_side(&p, 0),
                   *a = dense_system(&p, p.settings.solve.lambda, b, differences, &diagonal);
    dense_solve(p.voxels, a, b);
    for (int64_t i = 0; i < p.voxels; i++) {
        difference += pow(cabs(image[i] - b[i]), 2);
        size += pow(cabs(b[i]), 2);
    }
    /* The error of a solution is at most the condition number times the error of matrix, right side and residual.
     * The condition number is at most trace / (lambda x diagonal) for the identity; for random samples it is about
     * 2.5 times the root of that bound. Random cases reach a tenth of what is allowed here. */
    double condition = 1 / p.settings.solve.lambda * 10;
    double bound = condition * (allowed(&p) + p.settings.solve.tolerance);
    double error = sqrt(difference / size);
    if (!(error <= bound))
        fail_msg("relative error %g, allowed %g (%d coils, field %d, differences %d, precision %d, operator %d)", error,
                 bound, coils, field, differences, precision == VF_F64, encode_by);
    assert_true(fabs(summary.last.diagonal - diagonal) <= 1e-5 * diagonal);
    assert_true(summary.converged);
    FREE_ALL(image, a, b);
    close_problem(&p);
}

static void test_solver_against_dense(void **state)
{
    (void)state;
    for (int precision = 0; precision < 2; precision++)
        for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
            for (int which = 0; which < 8; which++)
                against_dense(which & 4 ? plane : cube, which & 1 ? 3 : 1, false, which & 2,
                              precision ? VF_F64 : VF_F32, (vf_encode_by)by);
}

static void test_off_resonance_against_dense(void **state)
{
    (void)state;
    against_dense(cube, 1, true, false, VF_F64, VF_ENCODE_NUFFT);
    against_dense(plane, 3, true, false, VF_F64, VF_ENCODE_NUFFT);
    against_dense(cube, 2, true, true, VF_F32, VF_ENCODE_NUFFT);
    against_dense(cube, 2, true, false, VF_F32, VF_ENCODE_DIRECT);
}

/* Two frames together have the same bits as each alone. (With coil maps, both use the first frame's lambda.) */
static void test_frames_one_at_a_time(void **state)
{
    (void)state;
    problem p = open_problem(cube, 1, 2, false, VF_F32, VF_ENCODE_NUFFT);
    recon_summary summary;
    float complex *both = allocate((size_t)(2 * p.voxels), sizeof *both),
                  *one = allocate((size_t)p.voxels, sizeof *one);
    run_reconstruction(&p, both, &summary);
    for (int f = 0; f < 2; f++) {
        p.scan.frames = 1;
        p.scan.frame = &p.frames[f];
        run_reconstruction(&p, one, &summary);
        assert_memory_equal(one, both + f * p.voxels, (size_t)p.voxels * sizeof *one);
    }
    p.scan.frames = 2;
    p.scan.frame = p.frames;
    free(both);
    free(one);
    close_problem(&p);
}

/* Grouping frames, and splitting direct sums of several coils into pieces that do not divide the rows, changes no
 * bit. */
static void test_groups_and_pieces(void **state)
{
    (void)state;
    problem p = open_problem(cube, 3, 2, false, VF_F32, VF_ENCODE_DIRECT);
    recon_summary summary;
    float complex *whole = allocate((size_t)(2 * p.voxels), sizeof *whole),
                  *parts = allocate((size_t)(2 * p.voxels), sizeof *parts);
    run_reconstruction(&p, whole, &summary);
    p.settings.schedule.group_bytes = 1;
    p.settings.solve.piece_pairs = 3.0 * (SAMPLES + 1) * 5 * (double)cube[0] + 1; /* 3 coils, 5 rows */
    assert_int_not_equal(cube[1] * cube[2] % 5, 0);
    run_reconstruction(&p, parts, &summary);
    assert_memory_equal(whole, parts, (size_t)(2 * p.voxels) * sizeof *whole);
    free(whole);
    free(parts);
    close_problem(&p);
}

/* The progress of the pieces of adjoints adds up to their number, up to rounding. */
static void test_progress_adds_up(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++) {
        problem p = open_problem(cube, 1, 1, false, VF_F32, (vf_encode_by)by);
        p.settings.solve.piece_pairs = 7.0 * (SAMPLES + 1) * (double)cube[0];
        vf_encoding *e = NULL;
        recon_watch watch = {.mode = VF_PROGRESS_OFF};
        vf_array samples = device_array(&p, 2 * SAMPLES), images = device_array(&p, 2 * p.voxels);
        vf_encoding_options options = encoding_options(&p.settings.solve, &p.scan, &p.trajectory);
        options.most_batch = 2;
        assert_int_equal(encoding_create(vf_context_device(p.ctx, 0), &p.scan, &p.trajectory, &options, &e), VF_OK);
        assert_int_equal(vf_fill(p.queue, samples.type, samples.count, (const double[2]){0}, samples.data), VF_OK);
        vf_encoding_watch(e, watch_tell, &watch);
        for (int batch = 1; batch <= 2; batch++)
            assert_int_equal(vf_encoding_adjoint(e, p.queue, batch, &samples, &images), VF_OK);
        assert_int_equal(vf_queue_sync(p.queue), VF_OK);
        assert_true(fabs(watch.progress.done - 3) <= 1e-12);
        vf_encoding_destroy(e);
        vf_array_free(&samples);
        vf_array_free(&images);
        close_problem(&p);
    }
}

/* --coils rss of two coils is the root of the sum of squares of each coil alone. */
static void test_coils_one_at_a_time(void **state)
{
    (void)state;
    problem p = open_problem(plane, 2, 1, false, VF_F32, VF_ENCODE_NUFFT);
    p.settings.coils.how = RECON_COILS_RSS;
    recon_summary summary;
    float complex *both = allocate((size_t)p.voxels, sizeof *both),
                  *one = allocate((size_t)(2 * p.voxels), sizeof *one);
    float complex *data = p.frames[0].data, *maps = p.scan.sensitivity;
    run_reconstruction(&p, both, &summary);
    p.scan.coils = 1;
    p.scan.sensitivity = NULL;
    for (int c = 0; c < 2; c++) {
        p.frames[0].data = data + c * SAMPLES;
        run_reconstruction(&p, one + c * p.voxels, &summary);
    }
    p.frames[0].data = data;
    p.scan.sensitivity = maps;
    for (int64_t i = 0; i < p.voxels; i++) {
        double expected = sqrt(pow(cabs(one[i]), 2) + pow(cabs(one[p.voxels + i]), 2));
        assert_true(fabs(cabs(both[i]) - expected) <= 8 * 0x1p-24 * expected);
    }
    free(both);
    free(one);
    close_problem(&p);
}

/* The adjoint of the direct sum and of the NUFFT, with every feature, against the dense sum. */
static void test_adjoint_method(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_NUFFT; by++) {
        problem p = open_problem(cube, 3, 1, true, VF_F32, (vf_encode_by)by);
        p.settings.solve.method = RECON_ADJOINT;
        recon_summary summary;
        float complex *image = allocate((size_t)p.voxels, sizeof *image);
        run_reconstruction(&p, image, &summary);
        double complex *b = dense_right_side(&p, 0);
        double difference = 0, size = 0;
        for (int64_t i = 0; i < p.voxels; i++) {
            difference += pow(cabs(image[i] - b[i]), 2);
            size += pow(cabs(b[i]), 2);
        }
        assert_true(sqrt(difference) <= 2 * allowed(&p) * sqrt(size));
        free(image);
        free(b);
        close_problem(&p);
    }
}

/* Gridded coils are combined by conj(s) and divided by sum |s|^2, but at least by 1 % of its maximum. Replacing s =
 * 1 by 0.5 makes a voxel 0.5 / 0.25 = 2 times as bright; replacing it by 0.02 makes it 0.02 / 0.01 = 2 times as
 * bright, too. */
static void test_gridding_divides_by_the_maps(void **state)
{
    (void)state;
    static const struct {
        float map, times;
    } cases[] = {{0.5f, 2}, {0.02f, 2}, {0, 0}};
    for (int precision = 0; precision < 2; precision++) {
        problem p = open_problem(cube, 2, 1, false, precision ? VF_F64 : VF_F32, VF_ENCODE_NUFFT);
        recon_summary summary;
        float complex *plain = allocate((size_t)p.voxels, sizeof *plain),
                      *image = allocate((size_t)p.voxels, sizeof *image);
        p.settings.solve.method = RECON_GRIDDING;
        for (int64_t n = 0; n < 2 * p.voxels; n++)
            p.scan.sensitivity[n] = n < p.voxels; /* the second coil receives nothing */
        run_reconstruction(&p, plain, &summary);
        assert_true(norm(plain, p.voxels) > 0);
        for (int i = 0; i < 3; i++)
            p.scan.sensitivity[5 + i] = cases[i].map;
        run_reconstruction(&p, image, &summary);
        for (int64_t n = 0; n < p.voxels; n++) {
            const float times = n >= 5 && n < 8 ? cases[n - 5].times : 1;
            assert_true(cabsf(image[n] - times * plain[n]) <= 1e-6f * times * cabsf(plain[n])); /* some roundings */
        }
        free(plain);
        free(image);
        close_problem(&p);
    }
}

/* A saved Q gives the same image, bit for bit, and is rejected for another trajectory. */
static void test_saved_q(void **state)
{
    (void)state;
    problem p = open_problem(cube, 1, 1, true, VF_F32, VF_ENCODE_NUFFT);
    char path[] = "/tmp/voxfield_q_XXXXXX.h5";
    int fd = mkstemps(path, 3);
    assert_true(fd >= 0);
    close(fd);
    snprintf(p.scan.digest, sizeof p.scan.digest, "one");
    recon_summary summary;
    float complex *first = allocate((size_t)p.voxels, sizeof *first),
                  *second = allocate((size_t)p.voxels, sizeof *second);
    p.settings.solve.save_q = path;
    run_reconstruction(&p, first, &summary);
    p.settings.solve.save_q = NULL;
    p.settings.solve.load_q = path;
    run_reconstruction(&p, second, &summary);
    assert_memory_equal(first, second, (size_t)p.voxels * sizeof *first);
    snprintf(p.scan.digest, sizeof p.scan.digest, "two");
    recon_watch watch = {.mode = VF_PROGRESS_OFF};
    kept k = {&p, second};
    assert_int_equal(reconstruct(p.ctx, &p.settings, &p.scan, &watch, keep, NULL, &k, &summary), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(p.ctx), "another trajectory"));
    vf_context_clear_error(p.ctx);
    unlink(path);
    free(first);
    free(second);
    close_problem(&p);
}

/* Density weights of a Cartesian grid are 1 / voxels: the kernel is 0 between its samples, to the NUFFT's 1e-3. */
static void test_density_cartesian(void **state)
{
    (void)state;
    problem p = open_problem(plane, 1, 1, false, VF_F32, VF_ENCODE_NUFFT);
    const int64_t *n = p.scan.matrix;
    scan_trajectory grid = {.samples = p.voxels, .k = allocate((size_t)(3 * p.voxels), sizeof(float))};
    float *w = allocate((size_t)p.voxels, sizeof *w);
    for (int64_t m = 0; m < p.voxels; m++) {
        grid.k[3 * m] = (float)(m % n[0] - n[0] / 2);
        grid.k[3 * m + 1] = (float)(m / n[0] - n[1] / 2);
    }
    assert_int_equal(vf_density_weights(p.queue, n, grid.samples, grid.k, grid.weights, NULL, NULL, w), VF_OK);
    for (int64_t m = 0; m < p.voxels; m++)
        assert_true(fabs((double)w[m] * (double)p.voxels - 1) <= 5e-3);
    free(grid.k);
    free(w);
    close_problem(&p);
}

/* On spokes with steps of 1/2, a sample represents the area pi |k| / (2 spokes). The weights equal that area except
 * at the centre, where spokes are closer than the kernel's width, and near the end, beyond which there are no
 * samples. The kernel averages over about a cycle and the iteration stops early, so a tenth is allowed. */
static void test_density_radial(void **state)
{
    (void)state;
    enum { SPOKES = 64, N = 32, A_SPOKE = 2 * N };
    const int64_t matrix[3] = {N, N, 1};
    problem p = open_problem(matrix, 1, 1, false, VF_F32, VF_ENCODE_NUFFT);
    scan_trajectory spokes = {.samples = SPOKES * A_SPOKE, .k = allocate(3 * SPOKES * A_SPOKE, sizeof(float))};
    float *w = allocate(SPOKES * A_SPOKE, sizeof *w);
    for (int m = 0; m < SPOKES * A_SPOKE; m++) {
        double angle = M_PI * (m / A_SPOKE) / SPOKES, r = 0.5 * (m % A_SPOKE - A_SPOKE / 2);
        spokes.k[3 * m] = (float)(r * cos(angle));
        spokes.k[3 * m + 1] = (float)(r * sin(angle));
    }
    assert_int_equal(vf_density_weights(p.queue, matrix, spokes.samples, spokes.k, spokes.weights, NULL, NULL, w),
                     VF_OK);
    for (int m = 0; m < SPOKES * A_SPOKE; m++) {
        double r = hypot(spokes.k[3 * m], spokes.k[3 * m + 1]);
        double level = w[m] * N * N / (M_PI * r / (2 * SPOKES));
        assert_true(w[m] > 0 && isfinite(w[m]));
        if (r > N / 8.0 && r < 3 * N / 8.0 && !(fabs(level - 1) <= 0.1))
            fail_msg("at |k| = %g: %g of the area", r, level);
    }
    free(spokes.k);
    free(w);
    close_problem(&p);
}

static void test_zero_data(void **state)
{
    (void)state;
    problem p = open_problem(cube, 1, 1, false, VF_F32, VF_ENCODE_NUFFT);
    recon_summary summary;
    float complex *image = allocate((size_t)p.voxels, sizeof *image);
    memset(p.frames[0].data, 0, SAMPLES * sizeof *p.frames[0].data);
    run_reconstruction(&p, image, &summary);
    for (int64_t i = 0; i < p.voxels; i++)
        assert_true(image[i] == 0);
    assert_int_equal(summary.iterations, 0);
    free(image);
    close_problem(&p);
}

int main(int argc, char **argv)
{
    if (!begin_tests(argc, argv))
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_adjointness),
                                       cmocka_unit_test(test_adjoint_method),
                                       cmocka_unit_test(test_solver_against_dense),
                                       cmocka_unit_test(test_off_resonance_against_dense),
                                       cmocka_unit_test(test_frames_one_at_a_time),
                                       cmocka_unit_test(test_groups_and_pieces),
                                       cmocka_unit_test(test_progress_adds_up),
                                       cmocka_unit_test(test_coils_one_at_a_time),
                                       cmocka_unit_test(test_gridding_divides_by_the_maps),
                                       cmocka_unit_test(test_saved_q),
                                       cmocka_unit_test(test_density_cartesian),
                                       cmocka_unit_test(test_density_radial),
                                       cmocka_unit_test(test_zero_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
