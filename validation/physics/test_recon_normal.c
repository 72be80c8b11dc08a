/* F^H W F by Q, or by FFT, against the dense matrix, on the CPU or a GPU. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "normal.h"
#include "recon_fixture.h"
#include "solve/choose_operator.h"
#include "solve/equations.h"

static const int64_t cube[3] = {7, 8, 6}, plane[3] = {14, 17, 1};

/* F^H W F x in double precision against the dense matrix. Q is accurate to `accuracy` of its norm. If its errors are
 * independent, F^H W F x is accurate to that of |Q| |x|. For random x, |y|^2 is |x|^2 times the sum of |Q|^2 over a
 * window with Q(0) of an eighth of the doubled grid. So the error is about 8^(1/2) accuracy |y|. Four times that is
 * allowed, 1e-9; weights in single precision would show as 1e-8. */
static void normal_against_dense(const int64_t matrix[3], bool field, vf_encode_by encode_by)
{
    problem p = open_problem(matrix, 1, 1, field, VF_F64, encode_by);
    device_team team;
    vf_normal normal, alone;
    vf_array x = device_array(&p, p.voxels), y = device_array(&p, p.voxels);
    double complex *image = allocate((size_t)p.voxels, sizeof *image),
                   *found = allocate((size_t)p.voxels, sizeof *found);
    double difference = 0, size = 0;
    for (int64_t n = 0; n < p.voxels; n++)
        image[n] = random_complex();
    assert_int_equal(team_create(p.ctx, 0, 1, &team), VF_OK);
    if (normal_matrix_create(&team, &p.settings.solve, &p.scan, &p.trajectory, NULL, 1, &normal) != VF_OK)
        fail_msg("%s", vf_context_message(p.ctx));
    assert_int_equal(vf_queue_copy(p.queue, x.data, image, (size_t)p.voxels * sizeof *image), VF_OK);
    assert_int_equal(vf_normal_apply(&normal, p.queue, 1, NULL, x.data, y.data), VF_OK);
    assert_int_equal(vf_queue_copy(p.queue, found, y.data, (size_t)p.voxels * sizeof *found), VF_OK);
    assert_int_equal(vf_queue_sync(p.queue), VF_OK);
    for (int m = 0; m < SAMPLES; m++) {
        double complex sum = 0;
        for (int64_t n = 0; n < p.voxels; n++)
            sum += element(&p, m, n) * image[n];
        sum *= p.trajectory.weights[m] * pow(cabs(p.trajectory.phi[m]), 2);
        for (int64_t n = 0; n < p.voxels; n++)
            found[n] -= conj(element(&p, m, n)) * sum;
        for (int64_t n = 0; m == 0 && n < p.voxels; n++)
            size += pow(cabs(found[n] + conj(element(&p, m, n)) * sum), 2);
    }
    for (int64_t n = 0; n < p.voxels; n++)
        difference += pow(cabs(found[n]), 2);
    if (!(sqrt(difference) <= 12 * p.settings.solve.accuracy * sqrt(size)))
        fail_msg("relative error %g (field %d, operator %d)", sqrt(difference / size), field, encode_by);
    /* Made by one device for itself: the same bits. */
    double weights[SAMPLES];
    for (int m = 0; m < SAMPLES; m++) {
        const double complex phi = sample_phi(&p.settings.solve, &p.scan, &p.trajectory, m);
        weights[m] = (p.trajectory.weights ? p.trajectory.weights[m] : 1) * creal(phi * conj(phi));
    }
    const vf_normal_task task = {.matrix = {matrix[0], matrix[1], matrix[2]},
                                 .samples = SAMPLES,
                                 .k = p.trajectory.k,
                                 .time = p.trajectory.time,
                                 .field = p.scan.field_map,
                                 .weights = weights,
                                 .encoding = encoding_options(&p.settings.solve, &p.scan, &p.trajectory)};
    if (vf_normal_create(vf_context_device(p.ctx, 0), &task, &alone) != VF_OK)
        fail_msg("%s", vf_context_message(p.ctx));
    assert_int_equal(vf_normal_apply(&normal, p.queue, 1, NULL, x.data, y.data), VF_OK);
    assert_int_equal(vf_queue_copy(p.queue, found, y.data, (size_t)p.voxels * sizeof *found), VF_OK);
    assert_int_equal(vf_normal_apply(&alone, p.queue, 1, NULL, x.data, y.data), VF_OK);
    assert_int_equal(vf_queue_copy(p.queue, image, y.data, (size_t)p.voxels * sizeof *image), VF_OK);
    assert_int_equal(vf_queue_sync(p.queue), VF_OK);
    assert_memory_equal(found, image, (size_t)p.voxels * sizeof *image);
    assert_int_equal(alone.segments, normal.segments);
    assert_true(alone.diagonal == normal.diagonal);
    vf_normal_free(&alone);
    vf_normal_free(&normal);
    team_free(&team);
    vf_array_free(&x);
    vf_array_free(&y);
    free(image);
    free(found);
    close_problem(&p);
}

static void test_normal_matrix_in_double(void **state)
{
    (void)state;
    for (int by = VF_ENCODE_DIRECT; by <= VF_ENCODE_CARTESIAN; by++)
        for (int field = 0; field < (by == VF_ENCODE_CARTESIAN ? 1 : 2); field++) {
            normal_against_dense(cube, field, (vf_encode_by)by);
            normal_against_dense(plane, field, (vf_encode_by)by);
        }
}

int main(int argc, char **argv)
{
    if (!begin_tests(argc, argv))
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_normal_matrix_in_double)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
