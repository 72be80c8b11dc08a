/* Cartesian scans: which operator is chosen, and that cropping readouts does not change the image.
 *
 * usage: test_recon_cartesian DEVICE     (cpu, cuda; exit 77 if there is no such device)
 */
#include <stdio.h>
#include <string.h>

#include "recon_fixture.h"
#include "scan/crop_readout.h"
#include "schedule/reconstruct.h"
#include "solve/choose_operator.h"
#include "solve/equations.h"
#include "solve/recon_choices.h"

enum { COILS = 3, FRAMES = 2 };

/* A scan of whole lines along `axis` at random places, some of them twice, with k in random order along each line;
 * two frames, and a calibration frame of other lines. Maps of modulus 1 give the same power, which lambda is
 * relative to, everywhere in the object. */
static mri_scan make_lines(const int64_t matrix[3], int axis, int64_t keep, bool weights)
{
    mri_scan s = {.path = "test",
                  .coils = COILS,
                  .volumes = FRAMES,
                  .slices = 1,
                  .places = 1,
                  .trajectories = 1,
                  .frames = FRAMES};
    const int64_t n = matrix[axis], lines[2] = {20, 3}, voxels = matrix[0] * matrix[1] * matrix[2];
    s.calibrations = 1;
    for (int a = 0; a < 3; a++) {
        s.matrix[a] = s.crop[a] = matrix[a];
        s.fov[a] = 10.0 * (double)matrix[a];
    }
    s.crop[axis] = keep;
    s.trajectory = allocate(2, sizeof *s.trajectory);
    s.frame = allocate(FRAMES + 1, sizeof *s.frame);
    for (int t = 0; t < 2; t++) {
        scan_trajectory *at = &s.trajectory[t];
        at->samples = lines[t] * n;
        at->k = allocate((size_t)(3 * at->samples), sizeof *at->k);
        at->weights = weights ? allocate((size_t)at->samples, sizeof *at->weights) : NULL;
        at->time = allocate((size_t)at->samples, sizeof *at->time); /* no effect: there is no field map */
        for (int64_t m = 0; m < at->samples; m++) {
            const int64_t i = m % n, from = m - i;
            for (int a = 0; a < 3; a++)
                at->k[3 * m + a] =
                    i > 0 || a == axis ? at->k[3 * from + a] : (float)floor((uniform() - 0.5) * (double)matrix[a]);
            if (weights)
                at->weights[m] = i > 0 ? at->weights[from] : (float)(0.5 + uniform());
            /* Every second line is reversed; one line has k = N/2 instead of -N/2. */
            const int64_t k = (from / n % 2 ? n - 1 - i : i) - n / 2;
            at->k[3 * m + axis] = (float)(from == n && n % 2 == 0 && k == -n / 2 ? n / 2 : k);
        }
    }
    for (int f = 0; f <= FRAMES; f++) {
        s.frame[f] = (scan_frame){.trajectory = f / FRAMES, .volume = f};
        const int64_t count = COILS * s.trajectory[f / FRAMES].samples;
        s.frame[f].data = allocate((size_t)count, sizeof(float complex));
        for (int64_t i = 0; i < count; i++)
            s.frame[f].data[i] = random_complex();
    }
    s.sensitivity = allocate((size_t)(COILS * voxels), sizeof *s.sensitivity);
    for (int64_t i = 0; i < COILS * voxels; i++)
        s.sensitivity[i] = cexpf(I * (float)(6 * uniform()));
    s.field_map = NULL;
    return s;
}

static vf_context *open_context(void)
{
    vf_context *ctx;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(vf_context_set_devices(ctx, device_spec), VF_OK);
    return ctx;
}

static const recon_settings usual = {
    .solve = {.precision = VF_F64, .iterations = 400, .tolerance = 1e-11, .lambda = 0.05, .accuracy = 1e-9},
    .quiet = true};

typedef struct kept {
    float complex *image; /* [frame][voxel] */
    int64_t voxels;
} kept;

static void keep_image(void *user, const scan_frame *frame, const float complex *image)
{
    kept *k = user;
    memcpy(k->image + frame->volume * k->voxels, image, (size_t)k->voxels * sizeof *image);
}

static float complex *make_images(vf_context *ctx, const recon_settings *settings, const mri_scan *s,
                                  recon_summary *summary)
{
    recon_watch watch = {.mode = VF_PROGRESS_OFF};
    kept k = {.voxels = s->matrix[0] * s->matrix[1] * s->matrix[2]};
    k.image = allocate((size_t)(FRAMES * k.voxels), sizeof *k.image);
    memset(summary, 0, sizeof *summary);
    if (reconstruct(ctx, settings, s, &watch, keep_image, NULL, &k, summary) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return k.image;
}

/* The middle of the full scan's images against the cropped scan's. Data are rounded to single precision once on the
 * way, u = 2^-24 of each, and images twice. The first rounding is amplified at most by the system's condition number
 * 10 / lambda (test_recon_algebra.c), in the norm of the images; on average, since rounding errors are independent,
 * by its root. */
static void compare(const mri_scan *whole, const mri_scan *cut, const float complex *a, const float complex *b,
                    double bound)
{
    double difference = 0, size = 0;
    const int64_t *n = whole->matrix, *m = cut->matrix;
    for (int64_t i = 0; i < FRAMES * m[0] * m[1] * m[2]; i++) {
        int64_t at[3] = {i % m[0], i / m[0] % m[1], i / m[0] / m[1] % m[2]};
        const int64_t frame = i / (m[0] * m[1] * m[2]);
        for (int x = 0; x < 3; x++)
            at[x] += n[x] / 2 - m[x] / 2;
        const float complex right = a[frame * n[0] * n[1] * n[2] + (at[2] * n[1] + at[1]) * n[0] + at[0]];
        difference += pow(cabs((double complex)right - (double complex)b[i]), 2);
        size += pow(cabsf(right), 2);
    }
    if (!(size > 0 && sqrt(difference / size) <= bound))
        fail_msg("%lld x %lld x %lld to %lld x %lld x %lld: relative difference %g, allowed %g", (long long)n[0],
                 (long long)n[1], (long long)n[2], (long long)m[0], (long long)m[1], (long long)m[2],
                 sqrt(difference / size), bound);
}

static void test_same_image(void **state)
{
    (void)state;
    static const struct {
        int64_t matrix[3], keep;
        int axis;
    } cases[] = {{{16, 6, 1}, 8, 0}, {{15, 6, 1}, 8, 0}, {{16, 5, 3}, 7, 0}, {{15, 4, 3}, 7, 0},
                 {{6, 14, 1}, 7, 1}, {{4, 5, 9}, 4, 2},  {{12, 6, 1}, 1, 0}};
    static const recon_method methods[] = {RECON_CG, RECON_ADJOINT, RECON_GRIDDING};
    for (size_t i = 0; i < sizeof cases / sizeof *cases * 6; i++) {
        vf_context *ctx = open_context();
        const uint64_t here = random_state;
        mri_scan whole = make_lines(cases[i / 6].matrix, cases[i / 6].axis, cases[i / 6].keep, i % 2);
        random_state = here;
        mri_scan cut = make_lines(cases[i / 6].matrix, cases[i / 6].axis, cases[i / 6].keep, i % 2);
        recon_settings settings = usual;
        settings.solve.method = methods[i / 2 % 3];
        recon_summary summary[2];
        assert_int_equal(may_crop_readout(&settings.scan, &settings.solve, &cut) ? crop_readout(ctx, &cut) : VF_OK,
                         VF_OK);
        for (int a = 0; a < 3; a++) {
            assert_int_equal(cut.matrix[a], whole.crop[a]);
            assert_true(fabs(cut.fov[a] - 10.0 * (double)whole.crop[a]) < 1e-9);
        }
        assert_int_equal(scan_samples(&cut),
                         scan_samples(&whole) / cases[i / 6].matrix[cases[i / 6].axis] * cases[i / 6].keep);
        float complex *a = make_images(ctx, &settings, &whole, &summary[0]),
                      *b = make_images(ctx, &settings, &cut, &summary[1]);
        assert_string_equal(summary[1].last.encoding, "FFT of the grid");
        /* For both, density weights are known to the 1e-3 of the NUFFT that finds them. */
        compare(&whole, &cut, a, b, settings.solve.method == RECON_GRIDDING ? 4e-3 : (sqrt(10 / 0.05) + 3) * 0x1p-24);
        if (settings.solve.method == RECON_CG)
            assert_true(fabs(summary[0].last.lambda - summary[1].last.lambda) <= 1e-6 * summary[0].last.lambda);
        free(a);
        free(b);
        scan_free(&whole);
        scan_free(&cut);
        vf_context_destroy(ctx);
    }
}

/* Scans not made of whole lines stay as they are; so do those that the settings exclude. */
static void test_left_alone(void **state)
{
    (void)state;
    static const int64_t matrix[3] = {16, 6, 1};
    for (int what = 0; what <= 12; what++) {
        vf_context *ctx = open_context();
        recon_settings settings = usual;
        mri_scan s = make_lines(matrix, 0, 8, true);
        scan_trajectory *at = &s.trajectory[what == 1];
        switch (what) {
        case 0:
        case 1: /* asymmetric echo */
            at->samples -= 16 - 12;
            break;
        case 2: /* the place of another line, in the middle */
            at->k[3 * 20 + 1] += 1;
            break;
        case 3: /* a k twice */
            at->k[3 * 20] = at->k[3 * 21];
            break;
        case 4:
            at->weights[20] *= 2;
            break;
        case 5: /* ramp sampling */
            at->k[3 * 20] += 0.25F;
            break;
        case 6:
            at->phi = allocate((size_t)at->samples, sizeof *at->phi);
            break;
        case 7:
            s.field_map = allocate(16 * 6, sizeof *s.field_map);
            break;
        case 8:
            settings.solve.prior = RECON_DIFFERENCES;
            break;
        case 9:
            settings.solve.encode_by = VF_ENCODE_NUFFT;
            break;
        case 10:
            settings.scan.keep_oversampling = true;
            break;
        case 11:
            settings.solve.save_q = "q.h5";
            break;
        default:
            settings.solve.method = RECON_BILINEAR;
        }
        const int64_t samples = at->samples;
        assert_int_equal(may_crop_readout(&settings.scan, &settings.solve, &s) ? crop_readout(ctx, &s) : VF_OK, VF_OK);
        if (s.matrix[0] != 16 || at->samples != samples)
            fail_msg("case %d: the matrix is %lld", what, (long long)s.matrix[0]);
        assert_string_equal(s.description, "");
        scan_free(&s);
        vf_context_destroy(ctx);
    }
}

static void test_choice(void **state)
{
    (void)state;
    static const int64_t matrix[3] = {16, 6, 1};
    vf_context *ctx = open_context();
    recon_settings settings = usual;
    mri_scan s = make_lines(matrix, 0, 8, true);
    scan_trajectory *at = s.trajectory;
    assert_int_equal(encoding_choose_for(&settings.solve, &s, at), VF_ENCODE_CARTESIAN);
    settings.solve.encode_by = VF_ENCODE_OFF_GRID;
    assert_int_equal(encoding_choose_for(&settings.solve, &s, at), VF_ENCODE_DIRECT);
    settings.solve.encode_by = VF_ENCODE_AUTO;
    settings.solve.load_q = "q.h5";
    assert_int_equal(encoding_choose_for(&settings.solve, &s, at), VF_ENCODE_DIRECT);
    settings.solve.load_q = NULL;
    s.field_map = allocate(16 * 6, sizeof *s.field_map);
    assert_int_equal(encoding_choose_for(&settings.solve, &s, at), VF_ENCODE_DIRECT);
    settings.solve.encode_by = VF_ENCODE_CARTESIAN;
    assert_int_equal(encoding_check(ctx, &settings.solve, &s), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "field map"));
    vf_context_clear_error(ctx);
    free(s.field_map);
    s.field_map = NULL;
    assert_int_equal(encoding_check(ctx, &settings.solve, &s), VF_OK);
    at->k[3 * 37 + 1] = 1.25F;
    assert_int_equal(encoding_check(ctx, &settings.solve, &s), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "sample 37 of trajectory 0"));
    assert_non_null(strstr(vf_context_message(ctx), "is 0.25 cycles per field of view off the grid"));
    vf_context_clear_error(ctx);
    settings.solve.encode_by = VF_ENCODE_AUTO;
    assert_int_equal(encoding_check(ctx, &settings.solve, &s), VF_OK);
    assert_int_equal(encoding_choose_for(&settings.solve, &s, at), VF_ENCODE_DIRECT);
    scan_free(&s);
    vf_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    if (!begin_tests(argc, argv))
        return 77;
    seed_random();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_image), cmocka_unit_test(test_left_alone),
                                       cmocka_unit_test(test_choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
