/* What the plan expects of F^H W F's memory on each kind of device (normal_memory.c), beside what kernels/toeplitz takes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_fixture.h"
#include "schedule/forecast.h"
#include "schedule/plan_device.h"
#include "toeplitz.h"
#include "toeplitz_flow.h"

enum { MOST_LENGTHS = 64 };

/* The lengths of VF_FLOW_LENGTHS or VF_FLOW_DOUBLE_LENGTHS in toeplitz_tiles.cuh, which only CUDA can include. */
static int read_lengths(const char *list, int length[MOST_LENGTHS])
{
    char line[512], name[64];
    int count = 0;
    bool inside = false;
    FILE *file = fopen(TOEPLITZ_TILES, "r");
    assert_non_null(file);
    snprintf(name, sizeof name, "#define %s(CASE)", list);
    while (fgets(line, sizeof line, file)) {
        const bool first = strncmp(line, name, strlen(name)) == 0;
        inside = inside || first;
        for (const char *at = first ? line + strlen(name) : line; inside && (at = strstr(at, "CASE(")); at++)
            length[count++] = (int)strtol(at + 5, NULL, 10);
        inside = inside && strchr(line, '\\');
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

/* The complex numbers that toeplitz_cuda.cu allocates, less those for roots of unity: its choice of lengths (padded_lengths),
 * vf_flow_complete's tiles, flow_buffer and flow_factors. 0: axes are not padded. */
static double taken_by_padding(const int64_t matrix[3], const int *list, int count, int width)
{
    const int last = matrix[2] > 1 ? 2 : 1;
    vf_flow_shape s = {.width = width};
    for (int a = 0; a < 3; a++) {
        const int64_t twice = 2 * matrix[a], most = a == last ? 4 * twice : 5 * twice / 4;
        int length = matrix[a] > 1 || a < 2 ? 0 : 1;
        for (int i = 0; i < count && length == 0; i++)
            length = twice <= list[i] ? list[i] : 0;
        if (length == 0 || length > most)
            return 0;
        s.voxels[a] = (int)matrix[a];
        s.lengths[a] = length;
    }
    if (last == 1) {
        s.lengths[2] = s.lengths[1];
        s.lengths[1] = 1;
    }
    vf_flow_complete(&s, 1);
    const double arrays = vf_flow_arrays(s.lengths[0] * matrix[1] * matrix[2]), tiles = s.tiles << s.shift;
    const double rows = tiles * s.planes * s.voxels[1], planes = s.planes > 1 ? tiles * s.planes * s.turns : 0;
    const double grid = (double)s.lengths[0] * s.turns * s.lengths[2];
    return fmax(arrays * (rows + planes), grid) + 0.5 * tiles * s.turns * s.lengths[2];
}

static mri_scan scan_of(int64_t x, int64_t y, int64_t z, scan_trajectory *trajectory)
{
    return (mri_scan){
        .matrix = {x, y, z}, .crop = {x, y, z}, .coils = 1, .trajectories = 1, .trajectory = trajectory, .frames = 1};
}

/* A GPU with padded axes needs what its plan takes, and not more than three times as much: lengths are at most 1.33 times those
 * that it has along two axes, and twice along the last one if that is short. */
static void test_padded_axes(void **state)
{
    (void)state;
    static const int64_t sides[] = {2,  3,  5,   7,   12,  23,  36,  45,  56,  60,  72, 77,
                                    90, 96, 100, 120, 150, 160, 180, 200, 256, 300, 350};
    enum { SIDES = sizeof sides / sizeof *sides };
    float k[3] = {0.25F, 0.25F, 0.25F};
    scan_trajectory off_grid = {.samples = 1, .k = k};
    int tested = 0;
    for (int wide = 0; wide < 2; wide++) {
        int list[MOST_LENGTHS];
        const int count = read_lengths(wide ? "VF_FLOW_DOUBLE_LENGTHS" : "VF_FLOW_LENGTHS", list);
        const solve_settings s = {.method = RECON_CG, .precision = wide ? VF_F64 : VF_F32, .accuracy = 1e-6};
        assert_true(count > 10);
        for (int n = 0; n < SIDES * SIDES * (SIDES + 1); n++) {
            const int z = n / SIDES / SIDES;
            const mri_scan raw =
                scan_of(sides[n % SIDES], sides[n / SIDES % SIDES], z < SIDES ? sides[z] : 1, &off_grid);
            for (int width = 2; width <= 16; width *= 2) {
                const double taken = taken_by_padding(raw.matrix, list, count, width);
                const double planned = normal_numbers(VF_DEVICE_CUDA, &s, &raw);
                if (taken > 0 && !(planned >= taken && planned <= 3 * taken))
                    fail_msg("%d x %d x %d: %.6g planned, %.6g taken", (int)raw.matrix[0], (int)raw.matrix[1],
                             (int)raw.matrix[2], planned, taken);
                tested += taken > 0;
            }
        }
    }
    assert_true(tested > 10000);
}

/* Of a scan on the grid nothing is doubled and nothing is padded: an array and the real kernel, or as many arrays as a batch has
 * room for, 2^22 numbers. The same for axes that are too long to be padded. Without iterations there is no F^H W F. */
static void test_circulant(void **state)
{
    (void)state;
    float on[3] = {1, 2, 3}, off[3] = {0.25F, 0.25F, 0.25F};
    scan_trajectory grid = {.samples = 1, .k = on}, other = {.samples = 1, .k = off};
    solve_settings s = {.method = RECON_CG, .precision = VF_F32, .accuracy = 1e-6};
    const mri_scan large = scan_of(300, 300, 300, &grid), small = scan_of(100, 90, 1, &grid),
                   long_axes = scan_of(1024, 1024, 1, &other);
    assert_true(normal_numbers(VF_DEVICE_CUDA, &s, &large) == 1.5 * 300 * 300 * 300);
    assert_true(normal_numbers(VF_DEVICE_CUDA, &s, &small) == 32.5 * 100 * 90);
    assert_true(normal_numbers(VF_DEVICE_CUDA, &s, &long_axes) == 1.5 * 2048 * 2048);
    s.method = RECON_ADJOINT;
    assert_true(normal_numbers(VF_DEVICE_CUDA, &s, &long_axes) == 0);
}

/* On the device of this test, the plan expects what a matrix holds (vf_toeplitz_bytes), but for 1 MB of roots of unity and of
 * what threads have. With time segments, as many kernels as the field map needs. */
static void test_matrices(void **state)
{
    (void)state;
    enum { SHAPES = 5 };
    static const int64_t matrix[SHAPES][3] = {{32, 32, 32}, {30, 20, 28}, {100, 90, 1}, {64, 48, 2}, {41, 37, 1}};
    float k[2][3] = {{0.25F, 0.25F, 0.25F}, {1, 2, 0}}, times[2] = {0, 0.01F};
    for (int n = 0; n < 3 * SHAPES; n++) {
        const int64_t *m = matrix[n % SHAPES];
        const bool on_grid = n / SHAPES == 1, segmented = n / SHAPES == 2;
        scan_trajectory at = {.samples = on_grid ? 1 : 2, .k = k[on_grid], .time = segmented ? times : NULL};
        mri_scan raw = scan_of(m[0], m[1], m[2], &at);
        float *field = calloc((size_t)(m[0] * m[1] * m[2]), sizeof *field);
        assert_non_null(field);
        field[0] = 100; /* one turn */
        raw.field_map = segmented ? field : NULL;
        const solve_settings s = {.method = RECON_CG, .precision = VF_F32, .accuracy = 1e-6};
        const int segments = (int)forecast_segments(&s, &raw);
        const double time[16] = {0};
        const vf_toeplitz_options options = {.precision = VF_F32,
                                             .segments = segments,
                                             .circulant = on_grid,
                                             .time = segmented ? time : NULL,
                                             .field = segmented ? field : NULL};
        vf_toeplitz *plan = NULL;
        assert_true(segments == (segmented ? 11 : 1));
        assert_int_equal(vf_toeplitz_create(device, m, &options, &plan), VF_OK);
        const double taken = (double)vf_toeplitz_bytes(plan);
        const double planned = 8 * normal_numbers(vf_device_get_kind(device), &s, &raw);
        if (!(taken <= planned + 1e6))
            fail_msg("%d x %d x %d: %.6g planned, %.6g taken", (int)m[0], (int)m[1], (int)m[2], planned, taken);
        vf_toeplitz_destroy(plan);
        free(field);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_padded_axes), cmocka_unit_test(test_circulant),
            cmocka_unit_test(test_matrices))
