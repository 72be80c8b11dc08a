/* The shifts of wavelet and block penalties: parities, the rule of penalties.h, seeds and threads. On fresh random
 * numbers.
 *
 * usage: test_penalty_shifts DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include "low_rank.h"
#include "penalties_fixture.h"
#include "wavelet.h"

enum { SIDE = 8 /* of a block */, STEPS = 16 /* shifts along an axis: 2 x 8 and a parity */ };

/* Finds the shift of a wavelet term by comparing the term's value with vf_wavelet_norm. With three levels, shifts
 * that differ by 8 only reorder the coefficients, so only the parity is certain. */
static void find_shift(const subject *s, int t, int moments, const double complex *x, int64_t found[3])
{
    const vf_wavelet_options options = {
        .counts = {s->o.counts[0], s->o.counts[1], s->o.counts[2]}, .precision = s->o.precision, .moments = moments};
    const int64_t count = codomain(s, t);
    double complex *tx = room(count, sizeof *tx);
    int64_t most[3];
    bool matches = false;
    vf_wavelet *plan = NULL;
    need(vf_wavelet_create(device, &options, &plan));
    transform(s, t, x, tx);
    const double right = value(s, t, tx);
    guarded in = upload(queue, s->o.precision, count, tx);
    for (int a = 0; a < 3; a++)
        most[a] = s->o.counts[a] <= 1 ? 1 : s->dimensions == 3 ? STEPS / 2 : STEPS; /* small grids have short periods */
    for (int64_t i = 0; i < most[0] * most[1] * most[2]; i++) {
        const int64_t shift[3] = {i % most[0], i / most[0] % most[1], i / most[0] / most[1]};
        double sum = NAN;
        need(vf_wavelet_norm(plan, queue, shift, in.data, &sum));
        if (fabs(weight_of(s, t) * sum - right) <= 1e-14 * right) { /* the same sum, two products */
            for (int a = 0; a < 3 && matches; a++)
                assert_true((shift[a] - found[a]) % 2 == 0);
            matches = true;
            memcpy(found, shift, sizeof shift);
        }
    }
    if (!matches) /* also for shifts of more than a period */
        fail_msg("no shift fits term %d of %s", t, text_of(s));
    download(queue, &in, NULL);
    vf_wavelet_destroy(plan);
    free(tx);
}

/* The shifts have all combinations of parities along the axes. Four shifts in three dimensions have all combinations
 * along each pair of axes, and together the two wavelets have all eight. */
static void test_shifts(void **state)
{
    (void)state;
    static const int64_t grids[][4] = {{40, 1, 1, 1}, {1, 33, 1, 1}, {24, 1, 20, 1}, {19, 21, 1, 1}, {9, 8, 10, 1}};
    for (int i = 0; i < 5; i++)
        for (int eight = 0; eight < 2; eight++) {
            vf_penalties_options o = {
                .priors = 1, .kind = {VF_PENALTY_WAVELET}, .precision = VF_F64, .shifts = eight ? 8 : 0};
            memcpy(o.counts, grids[i], sizeof o.counts);
            o.seed = (uint64_t)integer_below(1 << 30);
            subject s = make(&o);
            double complex *x = random_numbers(s.numbers);
            int seen[2] = {0};
            for (int t = 0; t < s.terms; t++) {
                int64_t shift[3] = {0};
                int parity = 0, bit = 0;
                const int wavelet = 2 * t / s.terms;
                find_shift(&s, t, wavelet + 1, x, shift);
                for (int a = 0; a < 3; a++)
                    parity |= o.counts[a] > 1 ? (int)(shift[a] & 1) << bit++ : 0;
                seen[wavelet] |= 1 << parity;
            }
            const int all = (1 << (1 << s.dimensions)) - 1;
            for (int w = 0; w < 2 && (s.dimensions < 3 || eight); w++)
                assert_int_equal(seen[w], all);
            for (int w = 0; w < 2 && s.dimensions == 3; w++)
                for (int without = 0; without < 3; without++) { /* without this axis: the pair of the other two */
                    int pairs = 0;
                    for (int parity = 0; parity < 8; parity++)
                        if (seen[w] >> parity & 1)
                            pairs |= 1 << ((parity & ((1 << without) - 1)) | (parity >> 1 & ~((1 << without) - 1)));
                    assert_int_equal(pairs, 15);
                }
            assert_int_equal(seen[0] | seen[1], all);
            free(x);
            vf_penalties_free(s.p);
        }
}

/* The rule of the header: shift number i of a wavelet (`second`: the second of two), or of blocks. */
static void shift_of(const subject *s, int i, bool wavelet, bool second, uint64_t *seed, int64_t shift[3])
{
    const int shifts = terms_of(&s->o, VF_PENALTY_LLR, s->dimensions), bits[] = {i & 1, i >> 1 & 1, i >> 2};
    int axis = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t n = s->o.counts[a];
        shift[a] = 0;
        if (n == 1)
            continue;
        const uint64_t random = splitmix(seed);
        const int p = axis == 2 && shifts <= 4 ? (bits[0] + bits[1] + second) % 2 : bits[axis];
        shift[a] = wavelet ? (int64_t)(2 * (random % 8)) + p : (int64_t)(random % (uint64_t)(n < SIDE ? n : SIDE));
        axis++;
    }
}

/* The value of a wavelet or block term with this shift, without its weight. */
static double shifted_value(const subject *s, int moments, const int64_t shift[3], int64_t count,
                            const double complex *tx)
{
    const int64_t *n = s->o.counts, image = moments ? count / n[3] : count;
    const vf_wavelet_options options = {
        .counts = {n[0], n[1], n[2]}, .precision = s->o.precision, .moments = moments ? moments : 1};
    double sum = 0;
    vf_wavelet *wavelet = NULL;
    vf_low_rank *blocks = NULL;
    need(vf_wavelet_create(device, &options, &wavelet));
    need(vf_low_rank_create(device, vf_dtype_complex(s->o.precision), n, (const int64_t[]){SIDE, SIDE, SIDE}, NULL,
                            &blocks));
    for (int64_t first = 0; first < count; first += image) {
        double part = NAN;
        guarded in = upload(queue, s->o.precision, image, tx + first);
        need(moments ? vf_wavelet_norm(wavelet, queue, shift, in.data, &part)
                     : vf_low_rank_norm(blocks, queue, shift, in.data, &part));
        download(queue, &in, NULL);
        sum += part;
    }
    vf_wavelet_destroy(wavelet);
    vf_low_rank_destroy(blocks);
    return sum;
}

/* Every term has the shift that the rule gives. Its value has the same sums and two products, so it agrees to
 * 1e-14. */
static void test_rule_of_shifts(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        vf_penalties_options o = random_options(i);
        o.kind[0] = i % 2 ? VF_PENALTY_LLR : VF_PENALTY_WAVELET;
        o.kind[1] = i % 2 ? VF_PENALTY_WAVELET : VF_PENALTY_LLR;
        o.shifts = i % 5 ? o.shifts : 5;
        o.moments = i % 3 ? o.moments : 0;
        for (int a = 0; a < 3 && i % 3 == 0; a++) /* in 3D, both wavelets divide all axes */
            o.counts[a] = 7 + integer_below(8);
        subject s = make(&o);
        uint64_t seed = o.seed;
        double complex *x = random_numbers(s.numbers);
        for (int t = 0, of_prior = 0; t < s.terms; t++, of_prior++) {
            of_prior = t > 0 && s.prior[t] != s.prior[t - 1] ? 0 : of_prior;
            const bool wavelet = o.kind[s.prior[t]] == VF_PENALTY_WAVELET;
            const int shifts = terms_of(&o, VF_PENALTY_LLR, s.dimensions), second = of_prior / shifts;
            const int64_t count = codomain(&s, t);
            double complex *tx = room(count, sizeof *tx);
            int64_t shift[3];
            shift_of(&s, of_prior % shifts, wavelet, second > 0, &seed, shift);
            transform(&s, t, x, tx);
            const int moments = wavelet ? o.moments ? o.moments : second + 1 : 0;
            const double right = weight_of(&s, t) * shifted_value(&s, moments, shift, count, tx);
            at_most(&s, t, "distance from the value by the rule", fabs(value(&s, t, tx) - right), 1e-14 * right);
            free(tx);
        }
        free(x);
        vf_penalties_free(s.p);
    }
}

/* The same seed and any number of threads give the same bits; another seed gives other shifts. Two seeds have the same
 * four shifts with a probability below 1e-7 (wavelets: 64^-4 a grid; blocks: 64^-4). */
static void test_seeds(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    for (int i = 0; i < 8; i++) {
        vf_penalties_options o = {.priors = 1,
                                  .kind = {i % 2 ? VF_PENALTY_LLR : VF_PENALTY_WAVELET},
                                  .counts = {20 + integer_below(9), 19 + integer_below(9), 1, 3},
                                  .precision = i & 2 ? VF_F32 : VF_F64,
                                  .seed = (uint64_t)integer_below(1 << 30)};
        double complex *z[3] = {NULL}, *x = NULL;
        double sum[3];
        bool same[3] = {true, true, true};
        for (int k = 0; k < 3; k++) {
            need(vf_context_set_threads(ctx, k == 1 ? 4 : 1));
            o.seed += k == 2;
            subject s = make(&o);
            vf_penalties_set(s.p, 0, 0.5, 1);
            if (!x)
                x = random_numbers(s.numbers);
            sum[k] = value_of_image(&s, 0, x);
            for (int64_t t = 0, at = 0, count = 0; t < s.terms; t++, at += count) {
                count = codomain(&s, (int)t);
                double complex *tx = room(count, sizeof *tx);
                z[k] = realloc(z[k], (size_t)(at + count) * sizeof **z);
                assert_non_null(z[k]);
                transform(&s, (int)t, x, tx);
                map(&s, (int)t, 1, tx, z[k] + at);
                same[k] &= memcmp(z[k] + at, z[0] + at, (size_t)count * sizeof *tx) == 0;
                free(tx);
            }
            vf_penalties_free(s.p);
        }
        assert_true(same[1] && sum[1] == sum[0]);
        assert_true(!same[2] && sum[2] != sum[0]);
        for (int k = 0; k < 3; k++)
            free(z[k]);
        free(x);
    }
    need(vf_context_set_threads(ctx, threads));
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_shifts), cmocka_unit_test(test_rule_of_shifts),
            cmocka_unit_test(test_seeds))
