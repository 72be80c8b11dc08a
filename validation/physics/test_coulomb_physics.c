/* The Coulomb sum against physics and algebra, without the reference: every variant of a device.
 *
 * usage: test_coulomb_physics DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * Tolerances. Single precision (u = 2^-24): a term's relative error is at most (13.2 + additions in its chunk) u + 2
 * |P| u / r (head of unit/kernels/coulomb_sum/test_coulomb_sum.c), with |P| <= 14 angstrom from a block's centre at the spacings used
 * here. For few atoms at a distance r >= 1 it stays below 50 u = 3e-6 of sum |q| / r. Double: the same with u =
 * 2^-53, below 1e-14.
 */
#include <math.h>

#include "coulomb_sum.h"
#include "device_fixture.h"
#include "free_all.h"
#include "voxfield/fft.h"

/* Potential of `count` charges {x, y, z, q} on a grid, r_min 0.01, C = 1, as doubles. The caller frees it. */
static double *potential(const vf_grid *grid, const double *charges, int64_t count, const char *variant,
                         vf_dtype precision)
{
    double *soa = malloc((size_t)count * 4 * sizeof *soa);
    int64_t points = vf_grid_points(grid);
    double *values = malloc((size_t)points * sizeof *values);
    assert_true(soa && values);
    for (int64_t i = 0; i < count; i++)
        for (int a = 0; a < 4; a++)
            soa[a * count + i] = charges[4 * i + a];
    vf_coulomb_atoms atoms = {
        .count = count, .x = soa, .y = soa + count, .z = soa + 2 * count, .charge = soa + 3 * count};
    vf_coulomb_options options = {.scale = 1, .r_min = 0.01, .precision = precision, .variant = variant};
    vf_box box = vf_grid_box(grid);
    vf_coulomb *plan;
    vf_queue *queue;
    vf_array out, host;
    if (vf_coulomb_create(device, grid, &atoms, &options, &plan) != VF_OK || vf_queue_create(device, &queue) != VF_OK ||
        vf_array_create(device, VF_SPACE_DEVICE, precision, points, &out) != VF_OK ||
        vf_array_create(device, VF_SPACE_PINNED, precision, points, &host) != VF_OK ||
        vf_coulomb_execute(plan, queue, &box, out.data) != VF_OK ||
        vf_array_copy(queue, &host, &out, points) != VF_OK || vf_queue_sync(queue) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    for (int64_t n = 0; n < points; n++)
        values[n] = precision == VF_F64 ? ((double *)host.data)[n] : (double)((float *)host.data)[n];
    vf_array_free(&out);
    vf_array_free(&host);
    vf_queue_destroy(queue);
    vf_coulomb_destroy(plan);
    free(soa);
    return values;
}

/* Calls a check for every variant of the device that this machine can run, in both precisions. */
static void for_variants(void (*check)(const char *variant, vf_dtype precision, double tolerance))
{
    const char *variant;
    for (int v = 0; (variant = vf_coulomb_variant_name(vf_device_get_kind(device), v)); v++) {
        if (!can_run(variant))
            continue;
        check(variant, VF_F32, 50 * 0x1p-24);
        check(variant, VF_F64, 50 * 0x1p-53);
    }
}

static void expect(const char *what, const char *variant, double value, double expected, double allowed)
{
    if (!(fabs(value - expected) <= allowed))
        fail_msg("%s, %s: %.12g instead of %.12g, allowed %.3g", what, variant, value, expected, allowed);
}

/* V = q / r, and a dipole's two charges, at every point of a grid that avoids them. */
static void check_point_and_dipole(const char *variant, vf_dtype precision, double tolerance)
{
    vf_grid grid = {.origin = {-5.25, -6.25, -4.25}, .spacing = {0.5, 0.5, 0.5}, .counts = {23, 26, 19}};
    const double point[4] = {0, 0, 0, -1.5}, dipole[8] = {0, 0, 0.5, 1, 0, 0, -0.5, -1};
    double *v = potential(&grid, point, 1, variant, precision), *d = potential(&grid, dipole, 2, variant, precision);
    for (int64_t k = 0, n = 0; k < grid.counts[2]; k++)
        for (int64_t j = 0; j < grid.counts[1]; j++)
            for (int64_t i = 0; i < grid.counts[0]; i++, n++) {
                double x = -5.25 + 0.5 * (double)i, y = -6.25 + 0.5 * (double)j, z = -4.25 + 0.5 * (double)k;
                double r = sqrt(x * x + y * y + z * z);
                double up = 1 / sqrt(x * x + y * y + (z - 0.5) * (z - 0.5)),
                       down = 1 / sqrt(x * x + y * y + (z + 0.5) * (z + 0.5));
                /* 2 |P| / r: the nearest points lie 0.43 from a charge */
                double near = 28 / 0.43 * (tolerance / 50);
                expect("point charge", variant, v[n], -1.5 / r, 1.5 / r * (tolerance + near));
                expect("dipole", variant, d[n], up - down, (up + down) * (tolerance + near));
            }
    free(v);
    free(d);
}

static void test_point_and_dipole(void **state)
{
    (void)state;
    for_variants(check_point_and_dipole);
}

/* Rock salt: the potential at an ion's site from all other ions is -M / d, M = 1.74756459463318 (Madelung; Evjen
 * 1932). Evjen's cube with half, quarter and eighth charges on faces, edges and corners converges like m^-4. For m
 * shells, its leading error is 15 / (216 sqrt 3 m^4), 2.4e-6 for m = 24. The sum of |q|/r is about 4 pi m^2 / 2
 * d^-1, 3,700 at m = 24. The error of single precision is relative to that sum, so M holds to 3,700 * 50 u; double
 * precision to 4e-12, far below Evjen's error. */
static void check_madelung(const char *variant, vf_dtype precision, double tolerance)
{
    enum { M = 24, SIDE = 2 * M + 1 };
    const double madelung = 1.74756459463318219, evjen = 15 / (216 * sqrt(3.0) * pow(M, 4)), d = 2.82;
    double *ions = malloc((size_t)SIDE * SIDE * SIDE * 4 * sizeof *ions), sum_abs = 0;
    assert_non_null(ions);
    int64_t n = 0;
    for (int k = -M; k <= M; k++)
        for (int j = -M; j <= M; j++)
            for (int i = -M; i <= M; i++) {
                if (i == 0 && j == 0 && k == 0)
                    continue;
                double q = (i + j + k) % 2 == 0 ? 1 : -1;
                q *= (abs(i) == M ? 0.5 : 1) * (abs(j) == M ? 0.5 : 1) * (abs(k) == M ? 0.5 : 1);
                double ion[4] = {d * i, d * j, d * k, q};
                memcpy(ions + 4 * n++, ion, sizeof ion);
                sum_abs += fabs(q) / (d * sqrt(i * i + j * j + k * k));
            }
    vf_grid grid = {.origin = {-2, -2, -2}, .spacing = {0.5, 0.5, 0.5}, .counts = {9, 9, 9}};
    double *v = potential(&grid, ions, n, variant, precision);
    expect("Madelung constant", variant, -v[(4 * 9 + 4) * 9 + 4] * d, madelung, d * sum_abs * tolerance + 1.1 * evjen);
    free(v);
    free(ions);
}

static void test_madelung(void **state)
{
    (void)state;
    for_variants(check_madelung);
}

/* Charges on grid points: the sum is a convolution of the charges with 1/r. An FFT on the doubled grid computes it
 * exactly, everywhere, in double precision, and shares nothing with the sum. FFT error: a few u log2(n) of the
 * norms, here below 1e-12 of max |V|. In single precision many charges add up: a chunk of up to 4,000 on the const
 * variants. Rounding errors cancel like sqrt(n), so the bound (n u sum |q|/r) is far from reached: 8 sqrt(4000) u =
 * 3e-5 of sum |q|/r is used. */
static void check_convolution(const char *variant, vf_dtype precision, double tolerance)
{
    enum { N = 24, D = 2 * N, CHARGES = 5000 };
    vf_grid grid = {.origin = {3, -4, 5}, .spacing = {0.5, 0.5, 0.5}, .counts = {N, N, N}};
    const int64_t dims[3] = {D, D, D};
    size_t cells = (size_t)D * D * D;
    double *charges = malloc(CHARGES * 4 * sizeof *charges), *q = calloc(cells, 2 * sizeof *q);
    double *kernel = calloc(cells, 2 * sizeof *kernel), *size = calloc(cells, 2 * sizeof *size);
    assert_true(charges && q && kernel && size);
    for (int c = 0; c < CHARGES; c++) {
        int at[3];
        for (int a = 0; a < 3; a++) {
            at[a] = (int)(uniform() * N);
            charges[4 * c + a] = grid.origin[a] + 0.5 * at[a];
        }
        charges[4 * c + 3] = 2 * uniform() - 1;
        size_t cell = ((size_t)at[2] * D + (size_t)at[1]) * D + (size_t)at[0];
        q[2 * cell] += charges[4 * c + 3];
        size[2 * cell] += fabs(charges[4 * c + 3]);
    }
    for (size_t cell = 0; cell < cells; cell++) {
        int x = (int)(cell % D), y = (int)(cell / D % D), z = (int)(cell / D / D);
        x = x < N ? x : D - x;
        y = y < N ? y : D - y;
        z = z < N ? z : D - z;
        kernel[2 * cell] = 1 / fmax(0.5 * sqrt(x * x + y * y + z * z), 0.01);
    }
    vf_context *host; /* the transforms always run on the CPU */
    vf_queue *queue;
    vf_fft *fft;
    assert_int_equal(vf_context_create(&host), VF_OK);
    assert_int_equal(vf_queue_create(vf_context_device(host, 0), &queue), VF_OK);
    assert_int_equal(vf_fft_create(vf_context_device(host, 0), VF_C128, 3, dims, 1, &fft), VF_OK);
    assert_int_equal(vf_fft_execute(fft, queue, VF_FFT_FORWARD, kernel), VF_OK);
    double *sums[2] = {q, size};
    for (int s = 0; s < 2; s++) {
        double *f = sums[s];
        assert_int_equal(vf_fft_execute(fft, queue, VF_FFT_FORWARD, f), VF_OK);
        for (size_t cell = 0; cell < cells; cell++) {
            double re = f[2 * cell] * kernel[2 * cell] - f[2 * cell + 1] * kernel[2 * cell + 1];
            double im = f[2 * cell] * kernel[2 * cell + 1] + f[2 * cell + 1] * kernel[2 * cell];
            f[2 * cell] = re / (double)cells;
            f[2 * cell + 1] = im / (double)cells;
        }
        assert_int_equal(vf_fft_execute(fft, queue, VF_FFT_BACKWARD, f), VF_OK);
    }
    vf_fft_destroy(fft);
    vf_queue_destroy(queue);
    vf_context_destroy(host);
    double *v = potential(&grid, charges, CHARGES, variant, precision);
    double rounding = precision == VF_F64 ? 1e-12 : 8 * sqrt(4000) * 0x1p-24;
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                size_t cell = ((size_t)k * D + (size_t)j) * D + (size_t)i;
                expect("convolution", variant, v[(k * N + j) * N + i], q[2 * cell],
                       size[2 * cell] * (tolerance + rounding));
            }
    FREE_ALL(v, charges, q, kernel, size);
}

static void test_convolution(void **state)
{
    (void)state;
    for_variants(check_convolution);
}

/* Superposition: the map of two molecules is the sum of their maps. Moving molecule and grid by whole grid steps
 * that are exact in binary moves the map; the blocks move along, so no bit changes. */
static void check_superposition_and_translation(const char *variant, vf_dtype precision, double tolerance)
{
    enum { A = 90, B = 70 };
    double charges[4 * (A + B)], moved[4 * (A + B)], size = 0;
    vf_grid grid = {.origin = {-8, -8, -8}, .spacing = {0.5, 0.5, 0.5}, .counts = {33, 20, 11}}, shifted = grid;
    for (int c = 0; c < A + B; c++)
        for (int a = 0; a < 4; a++) {
            charges[4 * c + a] = a == 3 ? 2 * uniform() - 1 : ldexp(floor(ldexp(uniform(), 20)), -16) - 8;
            moved[4 * c + a] = charges[4 * c + a] + (a == 3 ? 0 : 64);
        }
    for (int a = 0; a < 3; a++)
        shifted.origin[a] += 64;
    double *all = potential(&grid, charges, A + B, variant, precision),
           *first = potential(&grid, charges, A, variant, precision);
    double *second = potential(&grid, charges + 4 * A, B, variant, precision);
    double *there = potential(&shifted, moved, A + B, variant, precision);
    for (int64_t n = 0; n < vf_grid_points(&grid); n++) {
        double x = grid.origin[0] + 0.5 * (double)(n % 33), y = grid.origin[1] + 0.5 * (double)(n / 33 % 20);
        double z = grid.origin[2] + 0.5 * (double)(n / 33 / 20);
        size = 0;
        for (int c = 0; c < A + B; c++) {
            double dx = x - charges[4 * c], dy = y - charges[4 * c + 1], dz = z - charges[4 * c + 2];
            double r = fmax(sqrt(dx * dx + dy * dy + dz * dz), 0.01);
            size += fabs(charges[4 * c + 3]) / r * (1 + 28 / 50.0 / r); /* positions: 2 |P| u / r more */
        }
        /* three sums of at most 160 terms each: (13 + 160) u against the 50 u of `tolerance` */
        expect("superposition", variant, first[n] + second[n], all[n], 2 * 173 / 50.0 * size * tolerance);
        if (memcmp(&there[n], &all[n], sizeof *all) != 0)
            fail_msg("translation, %s: %.17g instead of %.17g", variant, there[n], all[n]);
    }
    FREE_ALL(all, first, second, there);
}

static void test_superposition_and_translation(void **state)
{
    (void)state;
    for_variants(check_superposition_and_translation);
}

/* A near atom has nearly all of the potential, and each of 400 chunks of far ones 0.4 u of it (0.8 u in the longest):
 * sums over chunks in single precision would drop them all, 160 u. The bounds for so many atoms, of some hundred u, would
 * hide that. Here the near atom's term loses at most its own chunk's others, 0.8 u, and the tolerance is that of few
 * atoms, 50 u. The const variants do add chunks in single precision. */
static void check_faint_charges(const char *variant, vf_dtype precision, double tolerance)
{
    enum { CHUNK = 256, ATOMS = 400 * CHUNK };
    const vf_grid grid = {.origin = {3, -2, 5}, .spacing = {0.01, 0.01, 0.01}, .counts = {19, 3, 2}};
    if (precision == VF_F64 || strncmp(variant, "const", 5) == 0)
        return;
    double *charges = malloc(4 * ATOMS * sizeof *charges);
    assert_non_null(charges);
    for (int i = 0; i < ATOMS; i++) { /* along x from the grid's first point */
        const double r = i == 0 ? 1 : 20 + 10 * uniform(), one[4] = {grid.origin[0] - r, grid.origin[1], grid.origin[2],
                                                                     i == 0 ? 1 : 0.4 * 0x1p-24 / CHUNK * r};
        memcpy(charges + 4 * (size_t)i, one, sizeof one);
    }
    double *v = potential(&grid, charges, ATOMS, variant, precision);
    for (int64_t n = 0; n < vf_grid_points(&grid); n++) {
        double sum = 0;
        for (int i = 0; i < ATOMS; i++) {
            const double *at = charges + 4 * (size_t)i, x = grid.origin[0] + 0.01 * (double)(n % 19) - at[0],
                         y = 0.01 * (double)(n / 19 % 3), z = 0.01 * (double)(n / 57);
            sum += at[3] / sqrt(x * x + y * y + z * z);
        }
        expect("faint charges", variant, v[n], sum, tolerance * sum);
    }
    free(charges);
    free(v);
}

static void test_faint_charges(void **state)
{
    (void)state;
    for_variants(check_faint_charges);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_point_and_dipole), cmocka_unit_test(test_madelung),
            cmocka_unit_test(test_convolution), cmocka_unit_test(test_superposition_and_translation),
            cmocka_unit_test(test_faint_charges))
