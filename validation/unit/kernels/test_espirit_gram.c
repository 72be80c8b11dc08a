/* ESPIRiT's sums of products over boxes, against plain sums, by the code of each instruction set that this processor has. */
#include "coil_fixture.h"
#include "espirit_internal.h"
#include "test_main.h"
#include "voxfield/device.h"

static espirit_box_sums *const sums_of[VF_ISA_COUNT] = {
    espirit_box_sums_baseline,
#if defined(__x86_64__)
    espirit_box_sums_avx2,
    espirit_box_sums_avx512,
#endif
};

/* The sum of x(q) conj(y(q + d)) over q from `first` to first + n - width, where both are in the block. */
static double complex plain_sum(const espirit *e, const double complex *x, const double complex *y, const int d[3],
                                const int first[3])
{
    const int64_t *n = e->task->block;
    double complex sum = 0;
    for (int64_t z = first[2]; z <= first[2] + n[2] - e->width[2]; z++)
        for (int64_t j = first[1]; j <= first[1] + n[1] - e->width[1]; j++)
            for (int64_t i = first[0]; i <= first[0] + n[0] - e->width[0]; i++) {
                const int64_t at[3] = {i + d[0], j + d[1], z + d[2]};
                if (at[0] >= 0 && at[0] < n[0] && at[1] >= 0 && at[1] < n[1] && at[2] >= 0 && at[2] < n[2])
                    sum += x[(z * n[1] + j) * n[0] + i] * conj(y[(at[2] * n[1] + at[1]) * n[0] + at[0]]);
            }
    return sum;
}

/* Up to 300 products of numbers of at most 2, in another order: 1e-12. */
static void check(const int64_t block[3], const int width[3])
{
    const vf_espirit_task task = {.block = {block[0], block[1], block[2]}};
    espirit e = {.task = &task, .samples = block[0] * block[1] * block[2], .width = {width[0], width[1], width[2]}};
    for (int a = 0; a < 3; a++)
        e.padded[a] = block[a] + 2 * (width[a] - 1);
    const int64_t padded = e.padded[0] * e.padded[1] * e.padded[2], plane = block[0] * block[1];
    const int boxes = width[0] * width[1] * width[2];
    double complex *x = allocate((size_t)e.samples * sizeof *x), *y = allocate((size_t)e.samples * sizeof *y);
    double *xs = allocate(2 * (size_t)e.samples * sizeof *xs), *ys = allocate(2 * (size_t)padded * sizeof *ys);
    double *room = allocate((size_t)((width[2] + 2) * 2 * plane + width[1] * block[0]) * sizeof *room);
    double *out = allocate(2 * (size_t)boxes * sizeof *out);
    for (int64_t i = 0; i < 2 * padded; i++)
        ys[i] = 0;
    for (int64_t i = 0; i < e.samples; i++) {
        const int64_t at =
            ((i / plane + width[2] - 1) * e.padded[1] + i / block[0] % block[1] + width[1] - 1) * e.padded[0] +
            i % block[0] + width[0] - 1;
        x[i] = random_complex();
        y[i] = random_complex();
        xs[i] = creal(x[i]);
        xs[e.samples + i] = cimag(x[i]);
        ys[at] = creal(y[i]);
        ys[padded + at] = cimag(y[i]);
    }
    for (int isa = 0; isa <= (int)vf_cpu_isa(); isa++)
        for (int trial = 0; trial < 20; trial++) {
            int d[3];
            for (int a = 0; a < 3; a++)
                d[a] = (int)floor(uniform_between(1 - width[a], width[a]));
            sums_of[isa](&e, xs, ys, d, room, out);
            for (int i = 0; i < boxes; i++) {
                const int first[3] = {i % width[0], i / width[0] % width[1], i / width[0] / width[1]};
                assert_near(cabs(out[i] + I * out[boxes + i] - plain_sum(&e, x, y, d, first)), 0, 1e-12);
            }
        }
    free(x);
    free(y);
    free(xs);
    free(ys);
    free(room);
    free(out);
}

static void test_box_sums(void **state)
{
    (void)state;
    check((const int64_t[3]){7, 6, 9}, (const int[3]){3, 2, 4});
    check((const int64_t[3]){13, 17, 1}, (const int[3]){6, 6, 1});
    check((const int64_t[3]){2, 3, 4}, (const int[3]){1, 2, 2});
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_box_sums))
