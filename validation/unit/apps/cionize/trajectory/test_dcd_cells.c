/* The unit cells of DCD files, in each of the forms that programs write.
 *
 * usage: test_dcd_cells [cpu [TEST...]]
 */
#include "device_fixture.h"

#include "dcd_fixture.h"

static unit_cell cell_of(int32_t version, const double values[6])
{
    dcd_sample s = make_dcd((dcd_kind){.marker = 4, .version = version, .cell = true}, 3, 1, 10);
    memcpy(s.cells, values, 6 * sizeof(double));
    s.size = s.begin;
    put_frame(&s, 0);
    save(s.path, s.bytes, s.size);
    trajectory *t;
    if (trajectory_open(ctx, s.path, &t) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    unit_cell cell;
    assert_int_equal(trajectory_read_cell(t, 0, &cell), VF_OK);
    trajectory_close(t);
    free_dcd(&s);
    return cell;
}

/* Random lengths and angles must be read from each form. Angles from cosines and matrices have errors of some units
 * in the last place of 180 degrees, times 1/sin(60 degrees) and the matrix products: 1e-11. */
static void test_cells(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846, close = 1e-11;
    for (int trial = 0; trial < 50; trial++) {
        const double angles[3] = {60 + 60 * uniform(), 60 + 60 * uniform(), 60 + 60 * uniform()};
        const double l[3] = {20 + uniform(), 30 + uniform(), 40 + uniform()};
        const double cosines[3] = {cos(angles[0] * pi / 180), cos(angles[1] * pi / 180), cos(angles[2] * pi / 180)};
        unit_cell c = cell_of(24, (double[]){l[0], cosines[2], l[1], cosines[1], cosines[0], l[2]});
        assert_int_equal(c.state, UNIT_CELL_NUMBERS);
        for (int a = 0; a < 3; a++)
            if (!(fabs(c.angles[a] - angles[a]) <= close) || c.lengths[a] != l[a])
                fail_msg("axis %d: %.17g for %.17g", a, c.angles[a], angles[a]);
        const bool first = trial % 2; /* CHARMM to version 21, and cpptraj, have the lengths first */
        c = cell_of(first ? 21 : 24, first ? (double[]){l[0], l[1], l[2], angles[0], angles[1], angles[2]}
                                           : (double[]){l[0], angles[2], l[1], angles[1], angles[0], l[2]});
        assert_int_equal(c.state, UNIT_CELL_NUMBERS);
        for (int a = 0; a < 3; a++)
            assert_true(c.angles[a] == angles[a] && c.lengths[a] == l[a]);
        double m[6]; /* XX, XY, YY, XZ, YZ, ZZ, symmetric */
        for (int i = 0; i < 6; i++)
            m[i] = i == 0 || i == 2 || i == 5 ? 50 + uniform() : 20 * (uniform() - 0.5);
        const double rows[3][3] = {{m[0], m[1], m[3]}, {m[1], m[2], m[4]}, {m[3], m[4], m[5]}};
        c = cell_of(38, m);
        assert_int_equal(c.state, UNIT_CELL_TURNED);
        for (int a = 0; a < 3; a++) {
            const double *p = rows[(a + 1) % 3], *q = rows[(a + 2) % 3], *own = rows[a];
            const double norm = hypot(hypot(p[0], p[1]), p[2]) * hypot(hypot(q[0], q[1]), q[2]);
            const double angle = acos((p[0] * q[0] + p[1] * q[1] + p[2] * q[2]) / norm) * 180 / pi;
            if (!(fabs(c.angles[a] - angle) <= close) ||
                !(fabs(c.lengths[a] - hypot(hypot(own[0], own[1]), own[2])) <= close))
                fail_msg("axis %d: %.17g for %.17g", a, c.angles[a], angle);
        }
    }
    for (int32_t version = 24; version <= 38; version += 14)
        for (int zero = 0; zero < 2; zero++) {
            const double right = zero ? 0 : 90;
            const unit_cell c = cell_of(version, (double[]){70, right, 80, right, right, 90});
            for (int a = 0; a < 3; a++)
                assert_true(c.state == UNIT_CELL_NUMBERS && c.angles[a] == 90 && c.lengths[a] == 70 + 10 * a);
        }
    for (int zero = 0; zero < 2; zero++) {
        const unit_cell c =
            zero ? cell_of(21, (double[]){70, 0, 80, 0, 0, 90}) : cell_of(21, (double[]){70, 80, 90, 90, 90, 90});
        for (int a = 0; a < 3; a++)
            assert_true(c.state == UNIT_CELL_NUMBERS && c.angles[a] == 90 && c.lengths[a] == 70 + 10 * a);
    }
    static const double none[][6] = {
        {0}, {10, 90, 0, 90, 90, 10}, {10, 90, NAN, 90, 90, 10}, {10, 190, 10, 90, 90, 10}, {INFINITY, 0, 1, 0, 0, 1}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(cell_of(24, none[i]).state, UNIT_CELL_NONE);
    assert_int_equal(cell_of(24, (double[]){10, 1.5708, 10, 1.5708, 1.5708, 10}).state, UNIT_CELL_RADIANS);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_cells))
