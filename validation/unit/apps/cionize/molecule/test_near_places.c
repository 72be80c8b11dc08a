/* Whether a place is near, against brute force over images, in cells of any shape. */
#include "apps/cionize/ions/ion_fixture.h"
#include "molecule/near_places.h"
#include "test_main.h"

enum { PLACES = 60, POINTS = 200 };

/* Whether an image within some cells to each side is nearer than its distance. Places differ by up to 10 along each axis, and
 * reaches are up to 6, so an image that counts is moved by less than 16 along each axis. In the cells here that is, from the
 * last vector to the first, c < 16 / 8, b < (16 + 3 c) / 9 or 16 / 7, a < (16 + 4.5 b + 4 c) / 10 or (16 + 9 b) / 10: at most 3, 2
 * and 2 whole turns. *margin: how far the nearest decision is from
 * changing, so that rounding does not decide. */
static bool any_by_force(const vf_cell *cell, int count, const double place[3][PLACES], const double *at,
                         const double *distance, double *margin)
{
    const int turns = cell->kind == VF_CELL_NONE ? 0 : 1, most[3] = {3 * turns, 2 * turns, 2 * turns};
    bool any = false;
    *margin = INFINITY;
    for (int i = 0; i < count; i++)
        for (int a = -most[0]; a <= most[0]; a++)
            for (int b = -most[1]; b <= most[1]; b++)
                for (int c = -most[2]; c <= most[2]; c++) {
                    double square = 0;
                    for (int x = 0; x < 3; x++) {
                        double d = place[x][i] - at[x];
                        if (turns > 0)
                            d += a * cell->vectors[0][x] + b * cell->vectors[1][x] + c * cell->vectors[2][x];
                        square += d * d;
                    }
                    const double off = sqrt(square) - distance[i];
                    any |= off < 0;
                    *margin = fmin(*margin, fabs(off));
                }
    return any;
}

/* Returns how many of the POINTS have a place near. */
static int compare(const vf_cell *cell, int count, double edge, double reach)
{
    double place[3][PLACES], distance[PLACES], margin;
    near_places *near;
    for (int i = 0; i < count; i++) {
        for (int a = 0; a < 3; a++) /* in a cube of 10, partly outside the cells */
            place[a][i] = edge * uniform();
        distance[i] = i % 7 == 6 ? 0 : reach * uniform();
    }
    if (count > 0)
        distance[count / 2] = reach;
    assert_ok(near_places_create(fresh(), cell, count, place[0], place[1], place[2], reach, &near));
    int yes = 0;
    for (int n = 0; n < POINTS; n++) {
        const double at[3] = {edge * uniform(), edge * uniform(), edge * uniform()};
        const bool expected = any_by_force(cell, count, place, at, distance, &margin);
        yes += expected;
        if (margin > 1e-9) /* rounding of places that are moved by cells is 1e-14 */
            assert_int_equal(near_places_any(near, at, distance), expected);
    }
    near_places_destroy(near);
    return yes;
}

static void test_against_brute_force(void **state)
{
    (void)state;
    const vf_cell cells[] = {{.kind = VF_CELL_NONE},
                             {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{9, 0, 0}, {0, 11, 0}, {0, 0, 10}}},
                             {.kind = VF_CELL_TRICLINIC, .vectors = {{10, 0, 0}, {4.5, 9, 0}, {-4, 3, 8}}},
                             {.kind = VF_CELL_TRICLINIC, .vectors = {{10, 0, 0}, {9, 7, 0}, {0, 0, 12}}}};
    int some = 0, all = 0;
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (int round = 0; round < 6; round++) {
            static const int counts[] = {0, 1, 2, PLACES};
            static const double reaches[] = {0, 0.4, 1.5, 4, 6};
            for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
                for (size_t r = 0; r < sizeof reaches / sizeof *reaches; r++) {
                    const int near = compare(&cells[c], counts[n], 10, reaches[r]);
                    if (counts[n] == 0 || reaches[r] == 0)
                        assert_int_equal(near, 0);
                    some += near;
                    all += POINTS;
                }
        }
    assert_true(some > all / 20 && some < all); /* both answers are asked for: PLACES within 4 or 6 reach nearly all */
}

/* A place at exactly the distance is not nearer; one cell has the same answer as eight. */
static void test_edges(void **state)
{
    (void)state;
    const vf_cell none = {.kind = VF_CELL_NONE},
                  cube = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{8, 0, 0}, {0, 8, 0}, {0, 0, 8}}};
    const double x[] = {7}, y[] = {0}, z[] = {0}, three = 3, more = 3.0000001, origin[3] = {0, 0, 0},
                 far[3] = {4, 0, 0};
    near_places *near;
    assert_ok(near_places_create(fresh(), &none, 1, x, y, z, 4, &near));
    assert_false(near_places_any(near, far, &three));
    assert_true(near_places_any(near, far, &more));
    assert_false(near_places_any(near, origin, &three));
    near_places_destroy(near);
    assert_ok(near_places_create(fresh(), &cube, 1, x, y, z, 4, &near));
    assert_true(near_places_any(near, origin, &three)); /* 1 away, by the image at -1 */
    assert_false(near_places_any(near, far, &three));
    near_places_destroy(near);
}

TEST_MAIN(ion_setup, ion_teardown, cmocka_unit_test(test_against_brute_force), cmocka_unit_test(test_edges))
