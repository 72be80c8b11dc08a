/* Coil maps by ESPIRiT against known maps. Coils are trigonometric polynomials of degree 1 per axis, so patches have
 * exact linear relations. The object is an ellipse that fills a third of the field of view. */
#include "espirit_fixture.h"

static vf_status maps_of(vf_context *ctx, const sample *s, float complex *maps, float *eigenvalue,
                         vf_espirit_quality *quality)
{
    const vf_espirit_task task = task_of(s, 0);
    return vf_espirit(ctx, &task, maps, eigenvalue, quality);
}

/* w(eigenvalue) as documented. */
static double weight_of(double eigenvalue)
{
    const double t = fmin(fmax((eigenvalue - 0.94) / 0.05, 0), 1);
    return 3 * t * t - 2 * t * t * t;
}

/* The largest distance of the maps from `truth`, after the best phase of each voxel of the object. */
static double worst(const sample *s, const float complex *maps, const float complex *truth)
{
    double most = 0;
    for (int n = 0; n < N * N; n++) {
        double complex dot = 0;
        double error = 0;
        if (!(s->object[n] > 0))
            continue;
        for (int c = 0; c < COILS; c++)
            dot += conj(truth[c * N * N + n]) * maps[c * N * N + n];
        for (int c = 0; c < COILS; c++)
            error += square(maps[c * N * N + n] - truth[c * N * N + n] * dot / cabs(dot));
        if (!(sqrt(error) <= most)) /* NaN is kept */
            most = sqrt(error);
    }
    return most;
}

/* Without noise, the error is that of the stopped iteration (a residual of 2e-4, over 1 - lambda_2, above 0.02:
 * 0.01) and of the projector's fading. Noise of 0.3 per sample is 0.3 / 20 of a voxel's signal with 20 x 20 samples,
 * for voxels of 1 or more, and patches average it: 0.02. Measured 0.002 and 0.006. */
static void test_known_maps(void **state)
{
    for (int noisy = 0; noisy < 2; noisy++) {
        sample s = make(noisy ? 0.3 : 0);
        float complex *maps = allocate(COILS * N * N * sizeof *maps);
        float *eigenvalue = allocate(N * N * sizeof *eigenvalue);
        vf_espirit_quality quality;
        double far = 0;
        int count = 0;
        assert_int_equal(maps_of(*state, &s, maps, eigenvalue, &quality), VF_OK);
        assert_near(worst(&s, maps, s.truth), 0, noisy ? 0.02 : 0.01);
        assert_true(quality.explained > 0.97 && quality.second_share < 0.05);
        if (noisy) /* within a third: the estimate is for a threshold; measured 0.34 */
            assert_near(quality.sigma, 0.3, 0.1);
        for (int n = 0; n < N * N; n++) {
            double power = 0;
            for (int c = 0; c < COILS; c++)
                power += square(maps[c * N * N + n]);
            assert_true(power > weight_of(eigenvalue[n]) - 1e-5 && power < 1 + 1e-5); /* some 50 roundings */
            if (s.object[n] > 0)
                assert_near(eigenvalue[n], 1, 0.02);
            const int x = abs(n % N - N / 2), y = abs(n / N - N / 2);
            if (x > 17 && y > 16) {
                assert_near(power, weight_of(eigenvalue[n]), 1e-5); /* no signal is certain in the air */
                far += eigenvalue[n];
                count++;
            }
        }
        assert_true(far / count < 0.9);
        free(maps);
        free(eigenvalue);
        drop(&s);
    }
}

/* A smooth object whose phase turns 6 times along y has its strongest samples 3 from the block's end, so G's eigenvalues fall to 0.91
 * to 0.94 in the object, where maps would be 0 and the image would have a hole. But the signal is certain: maps do not fade, and at
 * most a tenth of the energy lies beside them. Measured 0.04. */
static void test_phase_over_the_object(void **state)
{
    enum { TURNS = 6 };
    sample s = make(0);
    float complex *maps = allocate(COILS * N * N * sizeof *maps);
    float *eigenvalue = allocate(N * N * sizeof *eigenvalue);
    vf_espirit_quality quality;
    double lowest = 1, most = 0, beside = 0;
    for (int n = 0; n < N * N; n++) {
        s.object[n] = (float)exp(-2 * square((n % N - N / 2) / 12.0) - 2 * square((n / N - N / 2) / 9.0));
        for (int c = 0; c < COILS; c++)
            s.truth[c * N * N + n] *= (float complex)turn(TURNS, n / N);
    }
    acquire(&s, 1);
    assert_int_equal(maps_of(*state, &s, maps, eigenvalue, &quality), VF_OK);
    for (int n = 0; n < N * N; n++) {
        double power = 0;
        double complex dot = 0;
        for (int c = 0; c < COILS; c++) {
            power += square(maps[c * N * N + n]);
            dot += conj(s.truth[c * N * N + n]) * maps[c * N * N + n];
        }
        if (s.object[n] > 0.3f) {
            lowest = fmin(lowest, eigenvalue[n]);
            most = fmax(most, 1 - power);
            beside = fmax(beside, 1 - square(dot) / power);
        }
    }
    assert_true(lowest < 0.95 && quality.explained > 0.9);
    assert_near(most, 0, 1e-5); /* some 50 roundings */
    assert_near(beside, 0, 0.1);
    FREE_ALL(maps, eigenvalue);
    drop(&s);
}

/* Mixing coils by a unitary matrix mixes maps. A factor, or another number of threads, changes no bit. */
static void test_invariance(void **state)
{
    vf_context *ctx = *state;
    sample s = make(0.3);
    const size_t count = COILS * N * N;
    float complex *maps = allocate(count * sizeof *maps), *other = allocate(count * sizeof *other);
    float complex *mixed = allocate(count * sizeof *mixed), *data = copy_of(s.data, COILS * BLOCK * BLOCK);
    double complex *u = random_unitary(COILS);
    vf_espirit_quality quality;
    assert_int_equal(vf_context_set_threads(ctx, 1), VF_OK);
    assert_int_equal(maps_of(ctx, &s, maps, NULL, &quality), VF_OK);
    assert_int_equal(vf_context_set_threads(ctx, 2), VF_OK);
    assert_int_equal(maps_of(ctx, &s, other, NULL, &quality), VF_OK);
    assert_memory_equal(maps, other, count * sizeof *maps);
    for (int k = 0; k < COILS * BLOCK * BLOCK; k++)
        s.data[k] = ldexpf(1, 40) * I * data[k];
    assert_int_equal(maps_of(ctx, &s, other, NULL, &quality), VF_OK);
    /* Each has an error of at most 2e-4 / (1 - lambda_2), from the stopped iteration. */
    assert_near(worst(&s, other, maps), 0, 0.01);
    memset(mixed, 0, count * sizeof *mixed);
    memset(s.data, 0, COILS * BLOCK * BLOCK * sizeof *s.data);
    for (int c = 0; c < COILS; c++)
        for (int d = 0; d < COILS; d++) {
            for (int k = 0; k < BLOCK * BLOCK; k++)
                s.data[c * BLOCK * BLOCK + k] += (float complex)(u[c * COILS + d] * data[d * BLOCK * BLOCK + k]);
            for (int n = 0; n < N * N; n++)
                mixed[c * N * N + n] += (float complex)(u[c * COILS + d] * maps[d * N * N + n]);
        }
    assert_int_equal(maps_of(ctx, &s, other, NULL, &quality), VF_OK);
    assert_near(worst(&s, other, mixed), 0, 0.01);
    /* Nor does a factor change how much of the data the maps explain: here a part, as half of them is noise. */
    vf_espirit_quality scaled;
    for (int k = 0; k < COILS * BLOCK * BLOCK; k++)
        s.data[k] = data[k] + (k % 2 ? 1 : I) * (k * 7919 % 1009 - 504) * 0.05f;
    assert_int_equal(maps_of(ctx, &s, other, NULL, &quality), VF_OK);
    assert_true(quality.explained > 0.5 && quality.explained < 0.99);
    for (int k = 0; k < COILS * BLOCK * BLOCK; k++)
        s.data[k] *= 0x1p-20f;
    assert_int_equal(maps_of(ctx, &s, other, NULL, &scaled), VF_OK);
    assert_near(scaled.explained, quality.explained, 5e-4);
    FREE_ALL(maps, other, mixed, data, u);
    drop(&s);
}

/* The part of v, of length 1, outside the span of the two maps of a voxel, which are orthogonal. */
static double beside(const float complex *maps, const float complex *v, int n)
{
    double squares = 0;
    double complex dot[2] = {0};
    for (int c = 0; c < COILS; c++)
        for (int s = 0; s < 2; s++)
            dot[s] += conj(maps[(s * COILS + c) * N * N + n]) * v[c * N * N + n];
    for (int c = 0; c < COILS; c++)
        squares += square(v[c * N * N + n] - dot[0] * maps[c * N * N + n] - dot[1] * maps[(COILS + c) * N * N + n]);
    return sqrt(squares);
}

/* The principal components of the coils' data, [component][coil], the strongest first: eigenvectors of the coils' Gram
 * matrix by power iterations, each orthogonal to those before. */
static void find_components(const float complex *data, int count, double complex e[][COILS])
{
    for (int k = 0; k < count; k++) {
        for (int c = 0; c < COILS; c++)
            e[k][c] = 1 + c * I;
        for (int pass = 0; pass < 3000; pass++) {
            double complex next[COILS] = {0};
            double norm = 0;
            for (int before = 0; before < k; before++) {
                double complex dot = 0;
                for (int c = 0; c < COILS; c++)
                    dot += conj(e[before][c]) * e[k][c];
                for (int c = 0; c < COILS; c++)
                    e[k][c] -= dot * e[before][c];
            }
            for (int n = 0; n < BLOCK * BLOCK; n++) {
                double complex along = 0;
                for (int c = 0; c < COILS; c++)
                    along += conj(data[c * BLOCK * BLOCK + n]) * e[k][c];
                for (int c = 0; c < COILS; c++)
                    next[c] += along * data[c * BLOCK * BLOCK + n];
            }
            for (int c = 0; c < COILS; c++)
                norm += square(next[c]);
            for (int c = 0; c < COILS; c++)
                e[k][c] = next[c] / sqrt(norm);
        }
    }
}

/* Two objects on the same voxels, each with its own maps: the two sets span both. The rest r of a true map v outside
 * their span has r^2 (1 - lambda_3) <= 1 - v^H G v. That is about 1 - lambda_2, at most 0.01 here, and the third
 * eigenvalue is about a half: 0.14.
 *
 * Within the span the sets do not turn with the noise: the first is along the projection of the first principal
 * component e of the data, so the second has no part along e, and their phases are those of e and of the second
 * component, whose own phases are the same for all voxels. Single precision is right to 1e-6 or so, and 1e-5 of phases of
 * parts above 0.1. Sets that turned with the noise would be off by 1. */
static void test_two_sets(void **state)
{
    sample one = make(0.05), other = make(0.05);
    float complex *maps = allocate(2 * COILS * N * N * sizeof *maps);
    float complex *single = allocate(2 * COILS * N * N * sizeof *single);
    float *eigenvalue = allocate(2 * N * N * sizeof *eigenvalue);
    vf_espirit_quality quality;
    double complex e[2][COILS], phase[2] = {0};
    double most = 0, astray = 0;
    int count = 0;
    for (int c = 0; c < COILS; c++) { /* the constant parts of both are orthogonal */
        const float complex turned = (float complex)cexp(2 * M_PI * I * c / COILS);
        for (int n = 0; n < N * N; n++)
            other.truth[c * N * N + n] *= turned;
        for (int k = 0; k < BLOCK * BLOCK; k++)
            one.data[c * BLOCK * BLOCK + k] += turned * other.data[c * BLOCK * BLOCK + k];
    }
    vf_espirit_task task = {.matrix = {N, N, 1},
                            .block = {BLOCK, BLOCK, 1},
                            .coils = COILS,
                            .data = one.data,
                            .sets = 2,
                            .least_share = 0.1};
    assert_int_equal(vf_espirit(*state, &task, maps, eigenvalue, &quality), VF_OK);
    assert_int_equal(quality.sets, 2);
    assert_true(quality.second_share > 0.5 && quality.explained > 0.95);
    find_components(one.data, 2, e);
    for (int n = 0; n < N * N; n++) {
        if (!(one.object[n] > 0) || !(eigenvalue[N * N + n] > 0.99f))
            continue;
        most = fmax(most, fmax(beside(maps, one.truth, n), beside(maps, other.truth, n)));
        count++;
        double complex part[2][2] = {{0}}; /* [set][component] */
        for (int i = 0; i < 4; i++)
            for (int c = 0; c < COILS; c++)
                part[i / 2][i % 2] += conj(e[i % 2][c]) * maps[(i / 2 * COILS + c) * N * N + n];
        astray = fmax(astray, cabs(part[1][0]));
        for (int i = 0; i < 2; i++) {
            if (cabs(part[i][i]) < 0.1) /* a phase is only known if the part is not small */
                continue;
            if (phase[i] == 0)
                phase[i] = conj(part[i][i]) / cabs(part[i][i]);
            part[i][i] *= phase[i];
            astray = fmax(astray, fmax(fabs(cimag(part[i][i])), -creal(part[i][i])));
        }
    }
    assert_true(count > 50); /* of 339 voxels of the object; 90 and more in 120 runs */
    assert_near(most, 0, 0.14);
    assert_near(astray, 0, 1e-5);
    task.least_share = quality.second_share * (1 + 1e-6); /* just not reached: like one set */
    memset(maps, 0, 2 * COILS * N * N * sizeof *maps);
    memset(single, 0, 2 * COILS * N * N * sizeof *single);
    assert_int_equal(vf_espirit(*state, &task, maps, eigenvalue, &quality), VF_OK);
    assert_int_equal(quality.sets, 1);
    task.sets = 1;
    assert_int_equal(vf_espirit(*state, &task, single, eigenvalue, &quality), VF_OK);
    assert_memory_equal(maps, single, 2 * COILS * N * N * sizeof *maps);
    FREE_ALL(maps, single, eigenvalue);
    drop(&one);
    drop(&other);
}

/* More than 16 virtual coils only where they hold more than a thousandth of the signal: coils that have nothing in common, each
 * 0.9 times as strong as the one before, leave 3 % after 16, and the last one has 0.15 %. White noise is no reason: of 1024
 * samples, its eigenvalues of 24 coils differ by a factor of 1.9 at most. */
static void test_many_coils(void **state)
{
    enum { MANY = 24, SIDE = 32, SAMPLES = SIDE * SIDE };
    float complex *data = allocate(MANY * SAMPLES * sizeof *data), *maps = allocate(MANY * SAMPLES * sizeof *maps);
    for (int noise = 0; noise < 2; noise++) {
        const vf_espirit_task task = {
            .matrix = {SIDE, SIDE, 1}, .block = {SIDE, SIDE, 1}, .coils = MANY, .data = data, .sets = 1};
        vf_espirit_quality quality;
        for (int i = 0; i < MANY * SAMPLES; i++)
            data[i] = (float complex)((noise ? 1 : pow(0.9, i / SAMPLES)) * random_complex());
        assert_int_equal(vf_espirit(*state, &task, maps, NULL, &quality), VF_OK);
        assert_int_equal(quality.virtual_coils, noise ? 16 : MANY);
    }
    free(data);
    free(maps);
}

static void test_refused(void **state)
{
    vf_context *ctx = *state;
    sample s = make(0);
    float complex *maps = allocate(COILS * N * N * sizeof *maps);
    vf_espirit_quality quality;
    s.data[7] = NAN;
    assert_int_equal(maps_of(ctx, &s, maps, NULL, &quality), VF_ERR_INPUT);
    vf_context_clear_error(ctx);
    memset(s.data, 0, COILS * BLOCK * BLOCK * sizeof *s.data);
    assert_int_equal(maps_of(ctx, &s, maps, NULL, &quality), VF_ERR_INPUT);
    vf_context_clear_error(ctx);
    const vf_espirit_task wide = {.matrix = {8, 8, 1}, .block = {9, 8, 1}, .coils = 1, .data = s.data, .sets = 1};
    assert_int_equal(vf_espirit(ctx, &wide, maps, NULL, &quality), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_context_cancel(ctx);
    s.data[0] = 1;
    assert_int_equal(maps_of(ctx, &s, maps, NULL, &quality), VF_ERR_CANCELLED);
    free(maps);
    drop(&s);
}

/* An axis of 2 voxels: a line of the object, and a darker copy of it, seen by the same coils. Patches are as wide as the
 * axis of 40 allows, and 1 along the other, so the maps of both lines are those of the first, with the bound of
 * test_known_maps. A patch of 2 has one place, and gave maps of 0. */
static void test_two_voxels(void **state)
{
    sample s = make(0);
    const int line = N / 2 * N;
    float complex *data = allocate(COILS * BLOCK * 2 * sizeof *data), *maps = allocate(COILS * N * 2 * sizeof *maps);
    vf_espirit_quality quality;
    for (int c = 0; c < COILS; c++)
        for (int k = 0; k < 2 * BLOCK; k++) {
            const double other = k < BLOCK ? -0.5 : 0.5; /* ky = -1, 0; the darker line is at y = -1/2 */
            double complex sum = 0;
            for (int n = 0; n < N; n++)
                sum += s.object[line + n] * s.truth[c * N * N + line + n] * conj(turn(k % BLOCK - BLOCK / 2, n)) *
                       (1 + other);
            data[c * BLOCK * 2 + k] = (float complex)sum;
        }
    const vf_espirit_task task = {.matrix = {N, 2, 1}, .block = {BLOCK, 2, 1}, .coils = COILS, .data = data, .sets = 1};
    assert_int_equal(vf_espirit(*state, &task, maps, NULL, &quality), VF_OK);
    assert_true(quality.explained > 0.97);
    for (int n = 0; n < 2 * N; n++) {
        double complex dot = 0;
        for (int c = 0; c < COILS; c++)
            dot += conj(s.truth[c * N * N + line + n % N]) * maps[c * 2 * N + n];
        if (s.object[line + n % N] > 0)
            assert_near(cabs(dot), 1, 0.01); /* both have length 1 */
    }
    free(data);
    free(maps);
    drop(&s);
}

TEST_MAIN(NULL, NULL, TEST(test_known_maps), TEST(test_phase_over_the_object), TEST(test_invariance),
          TEST(test_two_sets), TEST(test_two_voxels), TEST(test_many_coils), TEST(test_refused))
