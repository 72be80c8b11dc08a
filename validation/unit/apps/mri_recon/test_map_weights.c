/* What coil maps say of each voxel (apps/mri_recon/noise/map_weights.c), on the device, against definitions; and that a crew keeps
 * the sums of squares that they are made of for one place. */
#include "coil_fixture.h"
#include "frames/frame_places.h"
#include "free_all.h"
#include "groups/solve_group.h"
#include "noise/map_weights.h"
#include "noise/noise_level.h"
#include "noise/regularise.h"
#include "test_main.h"

/* SETS * VOXELS is no multiple of the pieces that put_made works on, so some pieces have voxels of two frames. */
enum { COILS = 3, SETS = 2, VOXELS = 1501, FRAMES = 3, OF_FRAME = SETS * VOXELS };

static const solve_settings settings = {.method = RECON_CG, .prior = RECON_SPECTRUM};
static const group_request series = {.series = true};
static const double POWER = 2.5, LEAST = 0.3, MEAN[FRAMES] = {3, 5, 7};
static double ratio[FRAMES] = {1, 2, 0.5};

typedef struct fixture {
    scan_frame frame[FRAMES];
    const scan_frame *order[FRAMES];
    mri_scan raw;
    recon_job job;
    frame_place place[2];
    crew one;
    vf_queue *queue;
    float complex *maps[2];
} fixture;

static void begin(fixture *f, vf_context *ctx, vf_dtype type)
{
    *f = (fixture){.raw = {.coils = COILS, .frames = FRAMES, .places = 2}};
    f->raw.frame = f->frame;
    for (int i = 0; i < FRAMES; i++)
        f->order[i] = &f->frame[i];
    for (int p = 0; p < 2; p++) {
        f->maps[p] = random_images(SETS * COILS, VOXELS);
        for (int i = 0; i < SETS * COILS * VOXELS; i++)
            f->maps[p][i] *= i % VOXELS % 5 != 0; /* voxels that no coil sees */
        f->place[p] = (frame_place){.first = &f->frame[0], .maps = f->maps[p], .sets = p == 0 ? SETS : 1};
    }
    f->job = (recon_job){.ctx = ctx,
                         .solve = &settings,
                         .scan = &f->raw,
                         .type = type,
                         .voxels = VOXELS,
                         .has_maps = true,
                         .level = {.ratio = ratio},
                         .frames = f->order,
                         .place = f->place};
    f->one = (crew){.job = &f->job, .request = &series};
    assert_int_equal(vf_queue_create(vf_context_host(ctx), &f->queue), VF_OK);
}

static void end(fixture *f)
{
    crew_free(&f->one);
    vf_queue_destroy(f->queue);
    FREE_ALL(f->maps[0], f->maps[1]);
}

static double squares(const float complex *maps, int voxel)
{
    double sum = 0;
    for (int c = 0; c < COILS; c++)
        sum += pow(crealf(maps[c * VOXELS + voxel]), 2) + pow(cimagf(maps[c * VOXELS + voxel]), 2);
    return sum;
}

static void test_powers_of_places(void **state)
{
    fixture f;
    begin(&f, *state, VF_C64);
    for (int turn = 0; turn < 4; turn++) {
        const int p = turn % 2;
        const double *powers = NULL, *again = NULL;
        assert_int_equal(crew_map_powers(&f.one, &f.place[p], &powers), VF_OK);
        for (int s = 0; s < f.place[p].sets; s++)
            for (int n = 0; n < VOXELS; n++) {
                const double expected = squares(f.maps[p] + s * COILS * VOXELS, n);
                assert_near(powers[s * VOXELS + n], expected, 12 * 0x1p-53 * expected); /* 6 additions in both sums */
            }
        const double before = powers[1];
        f.maps[p][1] += 1; /* they are kept, so this is not seen */
        assert_int_equal(crew_map_powers(&f.one, &f.place[p], &again), VF_OK);
        assert_ptr_equal(powers, again);
        assert_true(again[1] == before);
    }
    end(&f);
}

/* In double precision all terms have a few roundings of 2^-53 of numbers of at most 1, the 32nd power takes them times 32, and the
 * root of 1 - g, which is above 1e-3 where it is not 0, times 16: below 2^-40. Factors are at most 7. */
static void check(const fixture *f, const char *what, const vf_array *found, double (*expected)(double seen, int frame))
{
    const bool wide = f->job.type == VF_C128;
    for (int i = 0; i < FRAMES * OF_FRAME; i++) {
        const int at = i % OF_FRAME;
        const double seen = squares(f->maps[0] + at / VOXELS * COILS * VOXELS, at % VOXELS);
        const double is = wide ? ((const double *)found->data)[i] : (double)((const float *)found->data)[i];
        const double should = expected(seen, i / OF_FRAME);
        if (!(fabs(is - should) <= 7 * 0x1p-40 + (wide ? 0 : 0x1p-24) * fabs(should)))
            fail_msg("%s, number %d: %.17g, not %.17g", what, i, is, should);
    }
}

static double balance(double seen, int frame)
{
    (void)frame;
    return seen > 0 ? 1 / fmax(sqrt(seen / POWER), LEAST) : 0;
}

static double uneven(double seen, int frame)
{
    return seen > 0 ? 1 / balance(seen, frame) : 0;
}

static double without_weight(double seen)
{
    return 1 - fmin(1, seen / (POWER * LEAST * LEAST));
}

static double unseen(double seen, int frame)
{
    return without_weight(seen) * 11 / ratio[frame];
}

static double dark(double seen, int frame)
{
    return pow(without_weight(seen), 32) / MEAN[frame];
}

static double bright(double seen, int frame)
{
    (void)frame;
    return sqrt(1 - pow(without_weight(seen), 32));
}

static void test_weights(void **state)
{
    const frame_group g = {.count = FRAMES};
    for (int i = 0; i < 6; i++) { /* threads: 1, 2 and 3; precisions */
        fixture f;
        vf_array a = {0}, b = {0};
        set_threads(*state, 1 + i / 2);
        begin(&f, *state, i % 2 ? VF_C128 : VF_C64);
        assert_int_equal(regularise_balance(&f.one, &g, POWER, f.queue, &a), VF_OK);
        check(&f, "balance", &a, balance);
        assert_int_equal(regularise_uneven(&f.one, &g, POWER, f.queue, &a), VF_OK);
        check(&f, "uneven", &a, uneven);
        assert_int_equal(regularise_unseen(&f.one, &g, POWER, 11, f.queue, &a), VF_OK);
        check(&f, "unseen", &a, unseen);
        assert_int_equal(regularise_dark(&f.one, &g, POWER, MEAN, f.queue, &a, &b), VF_OK);
        check(&f, "seen", &a, bright);
        check(&f, "dark", &b, dark);
        vf_array_free(&a);
        vf_array_free(&b);
        end(&f);
    }
}

/* Of places in turn, for two powers and two envelopes: what a solver has is taken for what it is. */
static void test_support(void **state)
{
    fixture f;
    float bright[2][VOXELS];
    begin(&f, *state, VF_C128);
    device_solver s = {.queue = f.queue};
    for (int n = 0; n < 2 * VOXELS; n++)
        bright[n / VOXELS][n % VOXELS] = (float)uniform_between(0.5, 2);
    for (int turn = 0; turn < 16; turn++) {
        const int p = turn / 4 % 2;
        const double power = (turn / 2 + turn / 4) % 2 ? POWER : 2 * POWER; /* one of the two changes at a time */
        const frame_envelope envelope = {.values = bright[turn % 2]};
        assert_int_equal(put_support(&f.one, &envelope, &f.place[p], power, &s), VF_OK);
        for (int i = 0; i < f.place[p].sets * VOXELS; i++) {
            const double seen = squares(f.maps[p] + i / VOXELS * COILS * VOXELS, i % VOXELS);
            const double expected = balance(seen * POWER / power, 0);
            assert_true(((const double *)s.known.support.data)[i] == (seen > 0));
            assert_near(((const double *)s.known.balance.data)[i], expected, 0x1p-40); /* as in `check` */
            assert_true(((const double *)s.known.envelope.data)[i] ==
                        (seen > 0 ? (double)bright[turn % 2][i % VOXELS] : 0));
        }
    }
    vf_array_free(&s.known.support);
    vf_array_free(&s.known.balance);
    vf_array_free(&s.known.envelope);
    end(&f);
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_powers_of_places), cmocka_unit_test(test_weights),
          cmocka_unit_test(test_support))
