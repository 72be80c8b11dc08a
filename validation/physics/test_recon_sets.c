/* Images seen together through two sets of coil maps: F^H W F and F^H W d of both, and their solution, against dense
 * matrices. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "free_all.h"
#include "recon_fixture.h"
#include "schedule/reconstruct.h"
#include "solve/equations.h"
#include "solve/normal_operator.h"
#include "solve/transfer.h"

enum { COILS = 3, SETS = 2 };
static const int64_t cube[3] = {5, 6, 4}, plane[3] = {9, 10, 1};

static problem open_sets(const int64_t matrix[3], bool field, vf_dtype precision, vf_encode_by encode_by)
{
    problem p = open_problem(matrix, COILS, 1, field, precision, encode_by);
    free(p.scan.sensitivity);
    p.scan.map_sets = SETS;
    p.scan.sensitivity = allocate((size_t)(SETS * COILS * p.voxels), sizeof(float complex));
    for (int64_t i = 0; i < SETS * COILS * p.voxels; i++)
        p.scan.sensitivity[i] = random_complex();
    return p;
}

static double complex map_of(const problem *p, int set, int coil, int64_t voxel)
{
    return p->scan.sensitivity[(set * COILS + coil) * p->voxels + voxel];
}

/* (F sum_s S_sc x_s)_m of each coil, without phi: [coil][sample]. */
static double complex *dense_forward(const problem *p, const double complex *x)
{
    double complex *d = allocate(COILS * SAMPLES, sizeof *d);
    for (int m = 0; m < SAMPLES; m++)
        for (int64_t n = 0; n < p->voxels; n++) {
            const double complex e = element(p, m, n);
            for (int c = 0; c < COILS; c++)
                for (int s = 0; s < SETS; s++)
                    d[c * SAMPLES + m] += e * map_of(p, s, c, n) * x[s * p->voxels + n];
        }
    return d;
}

static double complex *random_images(const problem *p)
{
    double complex *x = allocate((size_t)(SETS * p->voxels), sizeof *x);
    for (int64_t n = 0; n < SETS * p->voxels; n++)
        x[n] = random_complex();
    return x;
}

static double complex dot(int64_t n, const double complex *x, const double complex *y)
{
    double complex sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += conj(x[i]) * y[i];
    return sum;
}

static double norm(int64_t n, const double complex *x)
{
    return sqrt(creal(dot(n, x, x)));
}

static double complex *widen(const problem *p, const void *from)
{
    double complex *out = allocate((size_t)(SETS * p->voxels), sizeof *out);
    for (int64_t n = 0; n < SETS * p->voxels; n++)
        out[n] = p->settings.solve.precision == VF_F64 ? ((const double complex *)from)[n]
                                                       : ((const float complex *)from)[n];
    return out;
}

static vf_array device_images(const problem *p, const double complex *x)
{
    vf_array a;
    const vf_dtype type = vf_dtype_complex(p->settings.solve.precision);
    float complex *narrow = allocate((size_t)(SETS * p->voxels), sizeof *narrow);
    assert_int_equal(vf_array_create(vf_context_device(p->ctx, 0), VF_SPACE_DEVICE, type, SETS * p->voxels, &a), VF_OK);
    for (int64_t n = 0; n < SETS * p->voxels; n++)
        narrow[n] = (float complex)x[n];
    assert_int_equal(upload(p->queue, narrow, SETS * p->voxels, &a), VF_OK);
    free(narrow);
    return a;
}

/* The maps on the devices: all coils on the first. */
static device_maps put_maps(const problem *p, const device_team *team)
{
    device_maps maps = {0};
    const team_share all = {.coils = COILS, .voxels = p->voxels};
    const host_maps from = {.sets = SETS, .coils = COILS, .voxels = p->voxels, .data = p->scan.sensitivity};
    assert_int_equal(device_maps_put(team, 1, &all, vf_dtype_complex(p->settings.solve.precision), &from, &maps),
                     VF_OK);
    return maps;
}

/* Relative errors: Q to the accuracy, about 3 times as much in F^H W F of random images (test_recon_algebra.c),
 * twice that for the sums over sets and coils, and rounding of a few hundred terms. */
static double allowed(const problem *p)
{
    return 12 * p->settings.solve.accuracy + (p->settings.solve.precision == VF_F64 ? 1e-12 : 80 * 0x1p-24);
}

/* <A x, y> = <F S x, W F S y> = <x, A y>, where the middle is computed densely. */
static void normal_is_hermitian(const int64_t matrix[3], bool field, vf_dtype precision, vf_encode_by by)
{
    problem p = open_sets(matrix, field, precision, by);
    const int64_t n = SETS * p.voxels;
    device_team team;
    vf_normal normal;
    assert_int_equal(team_create(p.ctx, 0, 1, &team), VF_OK);
    if (normal_matrix_create(&team, &p.settings.solve, &p.scan, &p.trajectory, NULL, 1, &normal) != VF_OK)
        fail_msg("%s", vf_context_message(p.ctx));
    device_maps maps = put_maps(&p, &team);
    const vf_normal *of = &normal;
    double weight = 1;
    const normal_share share = {.queue = team.queue[0], .frames = 1, .of = &of, .weight = &weight};
    vf_operator *system;
    assert_int_equal(normal_operator_create(1, &share, false, precision, p.voxels, &maps, &system), VF_OK);
    double complex *x = random_images(&p), *y = random_images(&p), *applied[2], *zero = random_images(&p);
    for (int i = 0; i < 2; i++) {
        vf_array in = device_images(&p, i ? y : x), out = device_images(&p, zero);
        void *host = allocate((size_t)n, vf_dtype_bytes(in.type));
        assert_int_equal(vf_operator_forward(system, p.queue, in.data, out.data), VF_OK);
        assert_int_equal(vf_queue_copy(p.queue, host, out.data, (size_t)n * vf_dtype_bytes(out.type)), VF_OK);
        assert_int_equal(vf_queue_sync(p.queue), VF_OK);
        applied[i] = widen(&p, host);
        free(host);
        vf_array_free(&in);
        vf_array_free(&out);
    }
    double complex *fx = dense_forward(&p, x), *fy = dense_forward(&p, y), middle = 0;
    for (int i = 0; i < COILS * SAMPLES; i++)
        middle += conj(fx[i]) * fy[i] * p.trajectory.weights[i % SAMPLES] * pow(cabs(p.trajectory.phi[i % SAMPLES]), 2);
    const double size = norm(n, applied[0]) * norm(n, y);
    assert_true(cabs(dot(n, applied[0], y) - middle) <= allowed(&p) * size);
    assert_true(cabs(dot(n, x, applied[1]) - middle) <= allowed(&p) * norm(n, x) * norm(n, applied[1]));
    FREE_ALL(x, y, zero, fx, fy, applied[0], applied[1]);
    vf_operator_free(system);
    device_maps_free(&maps);
    vf_normal_free(&normal);
    team_free(&team);
    close_problem(&p);
}

static void test_normal_is_hermitian(void **state)
{
    (void)state;
    for (int precision = 0; precision < 2; precision++)
        for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
            for (int field = 0; field < (by == VF_ENCODE_CARTESIAN ? 1 : 2); field++)
                normal_is_hermitian(by == VF_ENCODE_NUFFT ? cube : plane, field, precision ? VF_F64 : VF_F32,
                                    (vf_encode_by)by);
}

/* <S^H F^H W conj(phi) d, x> = <d, W phi F S x>: the encoding of both images and its adjoint. Samples are weighted
 * in single precision in any precision: four roundings. */
static void right_side_is_adjoint(vf_dtype precision, vf_encode_by by)
{
    problem p = open_sets(plane, false, precision, by);
    device_team team;
    right_side *side = NULL;
    recon_watch watch = {.mode = VF_PROGRESS_OFF};
    int parts;
    void *out = allocate((size_t)(SETS * p.voxels), 2 * sizeof(double));
    p.scan.trajectory = &p.trajectory;
    assert_int_equal(team_create(p.ctx, 0, vf_context_device_count(p.ctx), &team), VF_OK);
    if (right_side_create(&team, &p.settings.solve, &p.scan, &p.trajectory, &watch, &side) != VF_OK)
        fail_msg("%s", vf_context_message(p.ctx));
    device_maps maps = {0};
    const team_share *shares = right_side_shares(side, &parts);
    const host_maps from = {.sets = SETS, .coils = COILS, .voxels = p.voxels, .data = p.scan.sensitivity};
    assert_int_equal(device_maps_put(&team, parts, shares, vf_dtype_complex(precision), &from, &maps), VF_OK);
    assert_int_equal(right_side_of_frame(side, p.frames, &maps, out), VF_OK);
    double complex *x = random_images(&p), *b = widen(&p, out), *fx = dense_forward(&p, x), right = 0;
    double size = 0, data = 0;
    for (int i = 0; i < COILS * SAMPLES; i++) {
        const double complex term = p.trajectory.weights[i % SAMPLES] * p.trajectory.phi[i % SAMPLES] * fx[i];
        right += conj(p.frames[0].data[i]) * term;
        size += pow(cabs(term), 2);
        data += pow(cabs(p.frames[0].data[i]), 2);
    }
    assert_true(cabs(dot(SETS * p.voxels, b, x) - right) <= (allowed(&p) + 4 * 0x1p-24) * sqrt(size * data));
    right_side_destroy(side);
    device_maps_free(&maps);
    team_free(&team);
    FREE_ALL(out, x, b, fx);
    close_problem(&p);
}

static void test_right_side_is_adjoint(void **state)
{
    (void)state;
    for (int precision = 0; precision < 2; precision++)
        for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
            right_side_is_adjoint(precision ? VF_F64 : VF_F32, (vf_encode_by)by);
}

static void keep(void *user, const scan_frame *frame, const float complex *image)
{
    float complex **kept = user;
    (void)frame;
    memcpy(kept[0], image, (size_t)plane[0] * (size_t)plane[1] * sizeof *image);
}

/* The image of the dense solution x: the root of sum_s |x_s|^2, or of sum_c |sum_s S_sc x_s|^2, with the phase of
 * the stronger x_s. */
static double complex combined(const problem *p, const double complex *x, int64_t voxel)
{
    const double complex a = x[voxel], b = x[p->voxels + voxel], strong = cabs(a) >= cabs(b) ? a : b;
    double squares = p->scan.maps_weighted ? 0 : pow(cabs(a), 2) + pow(cabs(b), 2);
    for (int c = 0; c < COILS && p->scan.maps_weighted; c++)
        squares += pow(cabs(map_of(p, 0, c, voxel) * a + map_of(p, 1, c, voxel) * b), 2);
    return strong * sqrt(squares) / cabs(strong);
}

/* The solution's error is bounded by the condition number, as in test_recon_algebra.c. Where both images are equally
 * strong, rounding may select the other phase. So all magnitudes are compared, and all phases but those.
 */
static void solution_against_dense(bool weighted, vf_dtype precision, vf_encode_by by)
{
    problem p = open_sets(plane, false, precision, by);
    const int64_t n = SETS * p.voxels;
    recon_watch watch = {.mode = VF_PROGRESS_OFF};
    recon_summary summary = {0};
    float complex *image = allocate((size_t)p.voxels, sizeof *image);
    double complex *a = allocate((size_t)(n * n), sizeof *a), *b = allocate((size_t)n, sizeof *b);
    double difference = 0, size = 0;
    p.scan.maps_weighted = weighted;
    p.scan.trajectory = &p.trajectory;
    p.settings.solve.prior = RECON_IDENTITY;
    if (reconstruct(p.ctx, &p.settings, &p.scan, &watch, keep, NULL, &image, &summary) != VF_OK)
        fail_msg("%s", vf_context_message(p.ctx));
    for (int c = 0; c < COILS; c++)
        for (int m = 0; m < SAMPLES; m++) {
            double complex row[SETS * 90];
            const double weight = p.trajectory.weights[m];
            const double complex phi = p.trajectory.phi[m];
            assert_true(n <= SETS * 90);
            for (int64_t i = 0; i < n; i++)
                row[i] = phi * element(&p, m, i % p.voxels) * map_of(&p, (int)(i / p.voxels), c, i % p.voxels);
            for (int64_t i = 0; i < n; i++) {
                b[i] += conj(row[i]) * weight * p.frames[0].data[c * SAMPLES + m];
                for (int64_t k = 0; k < n; k++)
                    a[i * n + k] += conj(row[i]) * weight * row[k];
            }
        }
    for (int64_t i = 0; i < n; i++)
        a[i * n + i] += summary.last.lambda;
    dense_solve(n, a, b);
    for (int64_t i = 0; i < p.voxels; i++) {
        const double complex expected = combined(&p, b, i);
        const bool tied = fabs(cabs(b[i]) / cabs(b[p.voxels + i]) - 1) < 1e-3;
        difference += pow(tied ? cabsf(image[i]) - cabs(expected) : cabs(image[i] - expected), 2);
        size += pow(cabs(expected), 2);
    }
    const double bound = 10 / p.settings.solve.lambda * (allowed(&p) + p.settings.solve.tolerance + 0x1p-22);
    if (!(sqrt(difference / size) <= bound))
        fail_msg("relative error %g, allowed %g (weighted %d, precision %d, operator %d)", sqrt(difference / size),
                 bound, weighted, precision == VF_F64, by);
    FREE_ALL(image, a, b);
    close_problem(&p);
}

static void test_solution_against_dense(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++)
        for (int by = VF_ENCODE_NUFFT; by <= VF_ENCODE_CARTESIAN; by++)
            solution_against_dense(weighted, by == VF_ENCODE_NUFFT ? VF_F64 : VF_F32, (vf_encode_by)by);
}

/* One set of two gives the same bits as a scan with only that set, for any second set. */
static void test_first_of_two(void **state)
{
    (void)state;
    problem p = open_sets(plane, false, VF_F32, VF_ENCODE_NUFFT);
    recon_watch watch = {.mode = VF_PROGRESS_OFF};
    recon_summary summary = {0};
    float complex *image[2];
    p.scan.trajectory = &p.trajectory;
    p.settings.solve.prior = RECON_IDENTITY;
    for (int i = 0; i < 2; i++) {
        image[i] = allocate((size_t)p.voxels, sizeof **image);
        p.settings.coils.sets = i == 0 ? RECON_SETS_ONE : RECON_SETS_AUTO;
        p.scan.map_sets = i == 0 ? SETS : 1;
        assert_int_equal(reconstruct(p.ctx, &p.settings, &p.scan, &watch, keep, NULL, &image[i], &summary), VF_OK);
    }
    assert_memory_equal(image[0], image[1], (size_t)p.voxels * sizeof **image);
    free(image[0]);
    free(image[1]);
    close_problem(&p);
}

int main(int argc, char **argv)
{
    if (!begin_tests(argc, argv))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_is_hermitian), cmocka_unit_test(test_right_side_is_adjoint),
        cmocka_unit_test(test_solution_against_dense), cmocka_unit_test(test_first_of_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
