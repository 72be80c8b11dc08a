/* Whether an existing map is on the requested grid. */
#include "map_fixture.h"
#include "maps/read_map.h"

static void expect_other_grid(const loaded_map *map, const vf_grid *wanted, const char *part)
{
    expect_file_error(check_map_grid(ctx, map, wanted), VF_ERR_INPUT, map->path, part);
}

static void grids_are_compared(void **state)
{
    (void)state;
    char path[] = "m.dx";
    /* With 5 digits the origin is known to 5e-4, a thousandth of a step; the spacing is exact. */
    const loaded_map map = {.path = path,
                            .grid = {{-32.123, 0, 100}, {0.5, 0.25, 1}, {11, 101, 1}, {0}},
                            .origin_slack = {5e-4, 0, 0.5},
                            .spacing_slack = {0, 5e-7, 0}};
    vf_grid wanted = map.grid;
    assert_int_equal(check_map_grid(ctx, &map, &wanted), VF_OK);
    wanted.counts[1] = 100;
    expect_other_grid(&map, &wanted, "11 x 101 x 1 points, but 11 x 100 x 1 are requested");
    const struct {
        int axis;
        double origin, spacing; /* to be added */
        const char *part;       /* NULL: the same grid */
    } cases[] = {
        {0, 4.9e-4, 0, NULL}, /* within its digits */
        {0, -5.1e-4, 0, "origin along x is -32.123, but -32.12351"},
        {1, 2.4e-7, 0, NULL}, /* 1e-6 steps of 0.25 */
        {1, 2.6e-7, 0, "origin along y is 0, but 2.6e-07"},
        {2, 9.9e-4, 0, NULL}, /* half a unit is 0.5, of which 1e-3 steps are accepted */
        {2, 1.1e-3, 0, "origin along z is 100, but 100.0011"},
        {0, 0, 4.9e-5, NULL}, /* the last of 11 points is 4.9e-4 off */
        {0, 0, 5.1e-5, "spacing along x is 0.5, but 0.500051"},
        {1, 0, 4.9e-7, NULL}, /* the last of 101 points may be 100 * 5e-7 = 5e-5 off */
        {1, 0, -5.1e-7, "spacing along y is 0.25, but 0.24999949"},
        {2, 0, 1.1e-3, "spacing along z is 1, but 1.0011"}, /* one point: its step counts once */
        {2, NAN, 0, "origin along z"},
        {0, 0, NAN, "spacing along x"},
        {0, 0.5, 0, "origin along x is -32.123, but -31.623"}, /* a whole step */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        wanted = map.grid;
        wanted.origin[cases[c].axis] += cases[c].origin;
        wanted.spacing[cases[c].axis] += cases[c].spacing;
        if (cases[c].part)
            expect_other_grid(&map, &wanted, cases[c].part);
        else if (check_map_grid(ctx, &map, &wanted) != VF_OK)
            fail_msg("%zu: %s", c, vf_context_message(ctx));
    }
}

/* A grid with few digits matches the one it was rounded from, and no neighbour of it. */
static void digits_of_a_file(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    const char *text = "object 1 class gridpositions counts 4 1 1\norigin -3.234568e+01 0.0000 -12\n"
                       "delta 3.333333e-01 0 0\ndelta 0 1 0\ndelta 0 0 1\n"
                       "object 3 class array type double rank 0 items 4 data follows\n1 2 3 4\nattribute \"dep\" "
                       "string \"positions\"\n";
    path_of("apbs.dx", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    loaded_map map;
    assert_int_equal(read_map(ctx, path, NULL, &map), VF_OK);
    assert_true(fabs(map.origin_slack[0] - 5e-6) < 1e-12 && fabs(map.spacing_slack[0] - 5e-8) < 1e-14);
    assert_true(fabs(map.origin_slack[1] - 5e-5) < 1e-12);
    vf_grid wanted = {.origin = {-32.345678, 0.00004, -12}, .spacing = {1.0 / 3, 1, 1}, .counts = {4, 1, 1}};
    assert_int_equal(check_map_grid(ctx, &map, &wanted), VF_OK);
    wanted.origin[1] = 0.00006;
    expect_other_grid(&map, &wanted, "origin along y");
    wanted.origin[1] = 0;
    wanted.origin[0] = -32.3456859;
    expect_other_grid(&map, &wanted, "origin along x");
    wanted.origin[0] = -32.34568;
    wanted.spacing[0] = 0.33333;
    expect_other_grid(&map, &wanted, "spacing along x");
    map_free(&map);
    unlink(path);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(grids_are_compared), cmocka_unit_test(digits_of_a_file))
