/* Wavelet transforms: extents and padding; every variant against the reference; threads; NaN and infinite values;
 * invalid arguments. wavelet_fixture.h derives the bound.
 *
 * usage: test_wavelet DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "free_all.h"
#include "wavelet_fixture.h"

static vf_context *host_context;
static vf_device *host;

static int open_devices(void **state)
{
    if (vf_context_create(&host_context) != VF_OK || vf_context_set_devices(host_context, "cpu") != VF_OK)
        return 1;
    host = vf_context_device(host_context, 0);
    return make_queue(state);
}

static int close_devices(void **state)
{
    vf_context_destroy(host_context);
    return drop_queue(state);
}

/* ---- extents ---- */

/* The rule of the header, by counting. */
static void test_extents(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 150; n++)
        for (int moments = 1; moments <= 4; moments++) {
            const int most = (int)integer_below(8);
            const vf_wavelet_options o = {.counts = {3, n, 2}, .precision = VF_F32, .moments = moments, .levels = most};
            subject s = open_plan(&o);
            int best = 0;
            for (int levels = 1; levels <= (most ? most : 4); levels++) {
                const int64_t block = 1 << levels, padded = (n + block - 1) / block * block;
                if (padded / (block / 2) >= 4 * moments)
                    best = levels;
            }
            const int64_t block = 1 << best, padded = (n + block - 1) / block * block;
            if (s.levels[1] != best || s.padded[1] != padded || s.coarse[1] != padded / block)
                fail_msg("%d levels, %lld numbers, %lld coarse: %s", s.levels[1], (long long)s.padded[1],
                         (long long)s.coarse[1], text_of(&s));
            assert_int_equal(s.padded[0], moments == 1 ? 4 : 3);
            assert_int_equal(s.padded[2], 2);
            vf_wavelet_destroy(s.plan);
        }
}

static void test_padding(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        const vf_wavelet_options o = random_options(i);
        subject s = open_plan(&o);
        double complex *x = random_image(s.voxels), *back = room(s.voxels, sizeof *back);
        double complex *v = room(s.numbers, sizeof *v);
        carry_out(&s, PAD, 0, x, v);
        for (int64_t n = 0; n < s.numbers; n++) {
            const int64_t at[3] = {n % s.padded[0], n / s.padded[0] % s.padded[1], n / s.padded[0] / s.padded[1]};
            const bool inside = at[0] < o.counts[0] && at[1] < o.counts[1] && at[2] < o.counts[2];
            const double complex right = inside ? x[(at[2] * o.counts[1] + at[1]) * o.counts[0] + at[0]] : 0;
            if (!(v[n] == right))
                fail_msg("number %lld: %s", (long long)n, text_of(&s));
            v[n] += inside ? 0 : 1;
        }
        carry_out(&s, CROP, 0, v, back);
        assert_memory_equal(back, x, (size_t)s.voxels * sizeof *x);
        FREE_ALL(x, back, v);
        vf_wavelet_destroy(s.plan);
    }
}

/* ---- against the reference ---- */

/* The same by the variant "ref", on the CPU. */
static void by_reference(const subject *s, action what, double threshold, const double complex *from,
                         double complex *to)
{
    vf_context *const kept_context = ctx;
    vf_device *const kept_device = device;
    vf_queue *const kept_queue = queue;
    subject ref = *s;
    ctx = host_context;
    device = host;
    ref.options.variant = "ref";
    need(vf_queue_create(device, &queue));
    need(vf_wavelet_create(device, &ref.options, &ref.plan));
    carry_out(&ref, what, threshold, from, to);
    vf_wavelet_destroy(ref.plan);
    vf_queue_destroy(queue);
    ctx = kept_context;
    device = kept_device;
    queue = kept_queue;
}

/* In double precision, the reference's error is as large as that of any other variant. */
static void test_against_reference(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        vf_wavelet_options o = random_options(i);
        for (int v = 0; (o.variant = vf_wavelet_variant(vf_device_get_kind(device), v)); v++) {
            if (!can_run(o.variant) || strcmp(o.variant, "ref") == 0)
                continue;
            subject s = open_plan(&o);
            const double u = roundoff(o.precision), threshold = uniform();
            double complex *x = random_image(s.numbers);
            double complex *got = room(s.numbers, sizeof *got), *right = room(s.numbers, sizeof *right);
            const double size = sqrt(creal(inner(s.numbers, x, x)));
            for (action what = FORWARD; what <= THRESHOLD; what++) {
                carry_out(&s, what, threshold, x, got);
                by_reference(&s, what, threshold, x, right);
                /* A threshold is not expansive. It takes two transforms. */
                close_to(&s,
                         what == FORWARD   ? "forward"
                         : what == ADJOINT ? "adjoint"
                                           : "threshold",
                         distance(s.numbers, got, right), (2 * (what == THRESHOLD ? 2 : 1) * s.error + 8 * u) * size);
            }
            FREE_ALL(x, got, right);
            vf_wavelet_destroy(s.plan);
        }
    }
}

/* ---- threads; NaN and infinite values ---- */

static void test_threads(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    for (int i = 0; i < 16; i++) {
        const vf_wavelet_options o = random_options(i);
        need(vf_context_set_threads(ctx, 4));
        subject s = open_plan(&o);
        double complex *x = random_image(s.numbers);
        double complex *got[2] = {room(s.numbers, sizeof *got[0]), room(s.numbers, sizeof *got[1])};
        for (action what = FORWARD; what <= THRESHOLD; what++) {
            for (int t = 0; t < 2; t++) {
                need(vf_context_set_threads(ctx, t ? 4 : 1));
                carry_out(&s, what, 0.3, x, got[t]);
            }
            assert_memory_equal(got[0], got[1], (size_t)s.numbers * sizeof *got[0]);
        }
        need(vf_context_set_threads(ctx, 1));
        const double one = sum_of(&s, x);
        subject again = open_plan(&o); /* planned for one thread: other blocks */
        memcpy(again.shift, s.shift, sizeof s.shift);
        carry_out(&again, THRESHOLD, 0.3, x, got[0]);
        assert_memory_equal(got[0], got[1], (size_t)s.numbers * sizeof *got[0]);
        need(vf_context_set_threads(ctx, 4));
        assert_true(sum_of(&s, x) == one);
        for (int t = 0; t < 2; t++)
            free(got[t]);
        free(x);
        vf_wavelet_destroy(s.plan);
        vf_wavelet_destroy(again.plan);
    }
    need(vf_context_set_threads(ctx, threads));
}

/* A NaN or infinite number affects exactly the coefficients that a 1 in its place affects. */
static void test_not_finite(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        const vf_wavelet_options o = random_options(i);
        subject s = open_plan(&o);
        const int64_t bad = integer_below(s.numbers);
        const double value = i % 2 ? NAN : INFINITY;
        double complex *x = random_image(s.numbers), *c = room(s.numbers, sizeof *c);
        double complex *clean = room(s.numbers, sizeof *clean), *unit_at = room(s.numbers, sizeof *unit_at);
        double complex *reached = room(s.numbers, sizeof *reached);
        double rms;
        unit_at[bad] = 1;
        x[bad] = 0;
        for (action what = FORWARD; what <= ADJOINT; what++) {
            carry_out(&s, what, 0, unit_at, reached);
            carry_out(&s, what, 0, x, clean);
            x[bad] = number(value, 1);
            carry_out(&s, what, 0, x, c);
            x[bad] = 0;
            for (int64_t n = 0; n < s.numbers; n++)
                if (creal(reached[n]) != 0 ? isfinite(creal(c[n])) : creal(c[n]) != creal(clean[n]))
                    fail_msg("number %lld is %g: %s", (long long)n, creal(c[n]), text_of(&s));
        }
        x[bad] = number(value, 1);
        carry_out(&s, THRESHOLD, 0.5, x, c);
        assert_false(isfinite(creal(c[bad])));
        const double sum = sum_of(&s, x);
        assert_true(s.levels[0] + s.levels[1] + s.levels[2] == 0 ? sum == 0 : !isfinite(sum));
        for (int64_t n = 0; n < s.numbers; n++)
            x[n] = number(NAN, 0);
        guarded in = upload(queue, o.precision, s.numbers, x);
        int64_t count = 0;
        need(vf_wavelet_finest_rms(s.plan, queue, NULL, in.data, NULL, &rms, &count));
        download(queue, &in, NULL);
        assert_true(count > 0 ? isnan(rms) : rms == 0);
        FREE_ALL(x, c, clean, unit_at, reached);
        vf_wavelet_destroy(s.plan);
    }
}

/* ---- invalid arguments ---- */

static void test_refusals(void **state)
{
    (void)state;
    const vf_wavelet_options good = {.counts = {16, 16, 1}, .precision = VF_F32, .moments = 2};
    vf_wavelet *plan = NULL;
    vf_wavelet_options o[7];
    const char *const words[7] = {"0 vanishing", "5 vanishing",   "-1 levels", "VF_C64",
                                  "16 x 0 x 1",  "not supported", ""};
    for (int i = 0; i < 7; i++)
        o[i] = good;
    o[0].moments = 0;
    o[1].moments = 5;
    o[2].levels = -1;
    o[3].precision = VF_C64;
    o[4].counts[1] = 0;
    o[5].counts[0] = o[5].counts[1] = o[5].counts[2] = (int64_t)1 << 40;
    o[6].variant = "fastest";
    for (int i = 0; i < 7; i++) {
        refused(vf_wavelet_create(device, &o[i], &plan), words[i]);
        assert_null(plan);
    }
    subject s = open_plan(&good);
    double complex *x = random_image(s.numbers);
    guarded a = upload(queue, VF_F32, s.numbers, x), b = upload(queue, VF_F32, s.numbers, x);
    double sum;
    refused(vf_wavelet_forward(s.plan, queue, NULL, NULL, b.data), "missing");
    refused(vf_wavelet_forward(s.plan, queue, NULL, a.data, a.data), "input is the output");
    refused(vf_wavelet_adjoint(s.plan, queue, NULL, a.data, a.data), "input is the output");
    refused(vf_wavelet_pad(s.plan, queue, a.data, NULL), "missing");
    refused(vf_wavelet_crop(s.plan, queue, a.data, a.data), "input is the output");
    refused(vf_wavelet_threshold(s.plan, queue, NULL, -1, a.data, b.data), "threshold of -1");
    refused(vf_wavelet_threshold(s.plan, queue, NULL, NAN, a.data, b.data), "threshold of");
    refused(vf_wavelet_threshold(s.plan, queue, NULL, INFINITY, a.data, b.data), "threshold of inf");
    refused(vf_wavelet_threshold(s.plan, queue, NULL, 1, NULL, b.data), "missing");
    refused(vf_wavelet_norm(s.plan, queue, NULL, NULL, &sum), "missing");
    refused(vf_wavelet_finest_rms(s.plan, queue, NULL, NULL, NULL, &sum, NULL), "missing");
    download(queue, &a, NULL);
    download(queue, &b, NULL);
    free(x);
    vf_wavelet_destroy(s.plan);
    vf_wavelet_destroy(NULL);
}

DEVICE_MAIN(open_devices, close_devices, cmocka_unit_test(test_extents), cmocka_unit_test(test_padding),
            cmocka_unit_test(test_against_reference), cmocka_unit_test(test_threads), cmocka_unit_test(test_not_finite),
            cmocka_unit_test(test_refusals))
