/* Penalties whose lambda differs from frame to frame, against penalties of single frames. On fresh random numbers.
 *
 * usage: test_penalty_frames DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include "free_all.h"
#include "penalties_fixture.h"

/* A wavelet prior with a factor for each frame treats each frame as a separate prior with lambda times the factor
 * does. For factors of 0 or powers of two the bits are the same. Other priors have no factors. */
static void test_frames(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        static const double factors[] = {0.25, 2, 1, 0, 0.5};
        vf_penalties_options o = random_options(i);
        o.priors = 1;
        subject s = make(&o);
        const int64_t parts = o.kind[0] == VF_PENALTY_WAVELET ? o.counts[3] : 1;
        need(vf_penalties_set_frames(s.p, ctx, factors));
        o.counts[3] /= parts;
        subject one = make(&o);
        for (int t = 0; t < s.terms; t++) {
            const int64_t count = codomain(&s, t), each = count / parts;
            double complex *v = random_numbers(count), *z = room(count, sizeof *z), *y = room(count, sizeof *y);
            double sum = 0;
            map(&s, t, 0.7, v, z);
            for (int64_t f = 0; f < parts; f++) {
                vf_penalties_set(one.p, 0, s.lambda[0] * (parts > 1 ? factors[f] : 1), 1);
                map(&one, t, 0.7, v + f * each, y + f * each);
                sum += value(&one, t, v + f * each);
            }
            assert_memory_equal(z, y, (size_t)count * sizeof *z);
            assert_true(value(&s, t, v) == sum);
            FREE_ALL(v, z, y);
        }
        vf_penalties_free(s.p);
        vf_penalties_free(one.p);
    }
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_frames))
