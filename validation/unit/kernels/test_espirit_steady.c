/* Directions of ESPIRiT's maps where there is hardly any signal (espirit_steady.c). */
#include "espirit_fixture.h"

/* |<truth, map>|^2 / |map|^2 of voxel n; 0 where the maps have faded to less than a quarter. */
static double share_along(const float complex *maps, const float complex *truth, int n)
{
    double complex dot = 0;
    double power = 0;
    for (int c = 0; c < COILS; c++) {
        dot += conj(truth[c * N * N + n]) * maps[c * N * N + n];
        power += square(maps[c * N * N + n]);
    }
    return power > 0.25 ? square(dot) / power : 0;
}

/* How far the maps around the object, within 5 voxels of it, are along `truth`: the mean of |<truth, map>|^2 / |map|^2. */
static double along(const sample *s, const float complex *maps, const float complex *truth)
{
    double sum = 0;
    int count = 0;
    for (int n = 0; n < N * N; n++) {
        const double x = n % N - N / 2, y = n / N - N / 2, inner = hypot(x / 13, y / 10), outer = hypot(x / 17, y / 14);
        const double share = share_along(maps, truth, n);
        if (s->object[n] > 0 || inner < 1 || outer > 1 || share == 0)
            continue;
        sum += share;
        count++;
    }
    assert_true(count > 50);
    return sum / count;
}

/* A haze of 0.08 times the object's mean amplitude, everywhere, seen by coils of its own, as errors of estimated data are. Around
 * the object eigenvectors turn to the haze's. With a truncation of 1e-4 the haze's energy, 0.0064, is below 100 times that, and
 * maps go on from the object's instead. In 2.5 voxels, half of the distance, a coil's 8 coefficients of 0.3 x 0.8 turn it by
 * sqrt(8) 0.24 x 2 pi 2.5 / 40 = 0.27, of which half is beside the phase that all coils share: maps that did not turn would be
 * off by 0.27^2 / 2 = 0.04; and half as much for the haze. A round has 0.056 with a standard deviation of 0.019, so the mean of 16 is
 * four of its own below the bound. The eigenvectors alone: 0.08 to 0.2. */
static void test_steady(void **state)
{
    enum { ROUNDS = 16 };
    double off = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sample s = make(0), haze = make(0);
        float complex *maps = allocate(COILS * N * N * sizeof *maps);
        vf_espirit_quality quality;
        for (int i = 0; i < COILS * BLOCK * BLOCK; i++) {
            const int c = i / (BLOCK * BLOCK), kx = i % BLOCK - BLOCK / 2, ky = i / BLOCK % BLOCK - BLOCK / 2;
            double complex sum = 0;
            for (int n = 0; n < N * N; n++)
                sum += haze.truth[c * N * N + n] * conj(turn(kx, n % N) * turn(ky, n / N));
            s.data[i] += (float complex)(0.08 * sum);
        }
        const vf_espirit_task task = task_of(&s, 1e-4);
        assert_int_equal(vf_espirit(*state, &task, maps, NULL, &quality), VF_OK);
        off += (1 - along(&s, maps, s.truth)) / ROUNDS;
        free(maps);
        drop(&haze);
        drop(&s);
    }
    assert_true(off < 0.075);
}

/* A bar beside the object, a tenth as bright. Its energy, 0.01 or less of the object's, is below 100 times the truncation; but the
 * air has hardly any, so the data have no errors, and the bar keeps its own coils' directions. The truncation, a fiftieth of that
 * energy, takes this share of them at most: 0.02. Measured 0.002; 0.13 to 0.21 where directions go on from the object's. */
static void test_dim_part(void **state)
{
    enum { ROUNDS = 16, FIRST = 33, LAST = 38 };
    double off = 0;
    int count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sample s = make(0);
        float complex *maps = allocate(COILS * N * N * sizeof *maps);
        vf_espirit_quality quality;
        for (int n = FIRST * N; n < (LAST + 1) * N; n++)
            s.object[n] = 0.1f;
        acquire(&s, 0);
        const vf_espirit_task task = task_of(&s, 1e-4);
        assert_int_equal(vf_espirit(*state, &task, maps, NULL, &quality), VF_OK);
        for (int n = FIRST * N; n < (LAST + 1) * N; n++) {
            const double share = share_along(maps, s.truth, n);
            off += share == 0 ? 0 : 1 - share;
            count += share != 0;
        }
        free(maps);
        drop(&s);
    }
    assert_true(count > 800); /* of 3840: a fifth. Mean 1720, standard deviation 180 */
    assert_true(off / count < 0.02);
}

/* espirit_steady by hand, on 16 x 16 voxels: no energy in rows 0 to 4, 0.05^2 in rows 5 to 9, 1 in rows 11 to 15, and vectors along
 * the second of two coils in the middle row, along the first elsewhere. The window blurs by a row, so the faintest voxels show no
 * errors, and all others have their own vectors: q is 1e4, and the rows above and below change D by 2e-4. Where the second
 * eigenvalue is 1, too, the doubt is 1 less the energy over 0.01, the limit. The window leaves a quarter of the middle row's 0.05^2:
 * 0.9375, so q = (0.0625 / 0.9375)^2 = 0.0044, and D is along the first coil to the square of half of that. */
static void test_doubtful_directions(void **state)
{
    enum { SIDE = 16, VOXELS = SIDE * SIDE, MIDDLE = 7 };
    static const int64_t matrix[3] = {SIDE, SIDE, 1};
    double complex *block = allocate(2 * VOXELS * sizeof *block);
    float complex *vectors = allocate(4 * VOXELS * sizeof *vectors);
    float *eigenvalue = allocate(2 * VOXELS * sizeof *eigenvalue);
    for (int doubtful = 0; doubtful < 2; doubtful++) {
        vf_espirit_task task = {.coils = 2, .truncation = 1e-4, .sets = 1};
        memcpy(task.matrix, matrix, sizeof matrix);
        memcpy(task.block, matrix, sizeof matrix);
        espirit e = {.ctx = *state, .task = &task, .threads = 1, .coils = 2, .samples = VOXELS, .block = block};
        memset(block, 0, 2 * VOXELS * sizeof *block);
        memset(vectors, 0, 4 * VOXELS * sizeof *vectors);
        for (int n = 0; n < VOXELS; n++) {
            const int row = n / SIDE, coil = row == MIDDLE;
            const double amplitude = row < 5 ? 0 : row < 10 ? 0.05 : row > 10 ? 1 : 0;
            for (int k = 0; k < SIDE; k++) /* of an image that is even along x: samples at kx = 0, number SIDE / 2 */
                block[coil * VOXELS + k * SIDE + SIDE / 2] +=
                    amplitude / SIDE * cexp(-2 * M_PI * I * (k - SIDE / 2) * (row - SIDE / 2) / SIDE);
            vectors[coil * VOXELS + n] = 1;
            eigenvalue[n] = 1;
            eigenvalue[VOXELS + n] = doubtful && coil;
        }
        assert_int_equal(espirit_steady(&e, 1, vectors, eigenvalue), VF_OK);
        const float *share = e.steady + 4 * VOXELS, first = e.steady[MIDDLE * SIDE + 3]; /* Re D_0 */
        assert_near(share[MIDDLE * SIDE + 3], doubtful ? 0.0044 : 1, 2e-4);
        assert_near(first, doubtful ? 1 : 0, 3e-4);
        free(e.steady);
    }
    free(block);
    free(vectors);
    free(eigenvalue);
}

TEST_MAIN(NULL, NULL, TEST(test_steady), TEST(test_dim_part), TEST(test_doubtful_directions))
