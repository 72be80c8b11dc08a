/* What frames of one place share (apps/mri_recon/frames/frame_places.c): which frame computes the power of the
 * place's coil maps, and the value of that power. */
#include <stdio.h>

#include "coil_fixture.h"
#include "frames/frame_images.h"
#include "frames/frame_places.h"
#include "free_all.h"
#include "groups/solve_group.h"
#include "test_main.h"

static const solve_settings settings = {.method = RECON_CG};

static void start_job(recon_job *job, vf_context *ctx, int64_t voxels, const mri_scan *raw, const scan_frame **order,
                      const float complex *maps)
{
    *job = (recon_job){.ctx = ctx,
                       .solve = &settings,
                       .scan = raw,
                       .type = VF_C64,
                       .voxels = voxels,
                       .has_maps = true,
                       .frames = order,
                       .lock = PTHREAD_MUTEX_INITIALIZER,
                       .changed = PTHREAD_COND_INITIALIZER};
    for (int f = 0; f < raw->frames; f++)
        order[f] = &raw->frame[f];
    assert_int_equal(places_create(job), VF_OK);
    for (int p = 0; p < raw->places; p++)
        job->place[p].maps = copy_of(maps, raw->coils * voxels);
}

/* Only the first frame of a place determines its power. If a thread needs the power and no other thread works on it,
 * it processes that frame. */
static void test_who_finds_the_power(void **state)
{
    enum { FRAMES = 6, VOXELS = 4 };
    scan_frame frame[FRAMES] = {{.place = 0}, {.place = 1}, {.place = 0}, {.place = 1}, {.place = 0}, {.place = 2}};
    const mri_scan raw = {.coils = 1, .frames = FRAMES, .frame = frame, .places = 3};
    const scan_frame *order[FRAMES];
    float complex maps[VOXELS] = {2, 2, 2, 2}, image[VOXELS] = {1, 2, 3, 4};
    recon_job job;
    crew one = {.job = &job}, other = {.job = &job};
    const frame_group first = {.count = 2}, second = {.first = 2, .count = 4};
    double power;
    start_job(&job, *state, VOXELS, &raw, order, maps);
    /* The second group begins first. It only has the first frame of place 2. */
    assert_int_equal(claim_powers(&other, &second), VF_OK);
    assert_ptr_equal(other.claim[0], &frame[5]);
    assert_null(other.claim[1]);
    assert_int_equal(found_image(&other, &frame[2], (char *)image), VF_OK); /* not claimed */
    assert_int_equal(job.place[0].power_made, ONCE_NONE);
    assert_int_equal(found_image(&other, &frame[5], (char *)image), VF_OK);
    assert_true(place_power(&other, &frame[5], &power) && power == 4);
    /* Place 0 is needed, but no thread works on it. */
    assert_false(place_power(&other, &frame[2], &power));
    assert_ptr_equal(other.claim[0], &frame[0]);
    assert_int_equal(claim_powers(&one, &first), VF_OK);
    assert_ptr_equal(one.claim[0], &frame[1]);
    assert_null(one.claim[1]);
    assert_int_equal(found_image(&other, &frame[0], (char *)image), VF_OK);
    assert_true(place_power(&other, &frame[4], &power) && power == 4);
    /* The first thread gives up place 1. */
    leave_powers(&one);
    assert_false(place_power(&other, &frame[3], &power));
    leave_powers(&other);
    assert_int_equal(job.place[1].power_made, ONCE_NONE);
    crew_free(&one);
    crew_free(&other);
    places_free(&job);
}

static long double squares(const float complex *of, int coils, int64_t voxels, int64_t n)
{
    long double sum = 0;
    for (int c = 0; c < coils; c++)
        sum += powl(crealf(of[c * voxels + n]), 2) + powl(cimagf(of[c * voxels + n]), 2);
    return sum;
}

/* Against its definition, and the same bits for any number of threads. All terms are positive, and squares of
 * single-precision numbers are exact. Sums over coils have 5 additions of 2^-53; sums over voxels as many as a chunk
 * has voxels, 4096, and chunks, 3, in each of two; the rest 4. */
static void test_how_much_it_is(void **state)
{
    enum { COILS = 3, VOXELS = 9001 };
    scan_frame frame = {0};
    const scan_frame *order;
    const mri_scan raw = {.coils = COILS, .frames = 1, .frame = &frame, .places = 1};
    recon_job job;
    float complex *maps = random_images(COILS, VOXELS), *image = random_images(1, VOXELS);
    double complex *wide = allocate(VOXELS * sizeof *wide); /* the image in double precision */
    double power[4], *sums = allocate(VOXELS * sizeof *sums);
    long double weighted = 0, weights = 0;
    for (int n = 0; n < VOXELS; n++) {
        image[n] *= n % 7 != 0;
        wide[n] = image[n];
        weighted += squares(image, 1, VOXELS, n) * squares(maps, COILS, VOXELS, n);
        weights += squares(image, 1, VOXELS, n);
    }
    for (int threads = 1; threads <= 4; threads++) {
        const char *given = threads == 4 ? (const char *)wide : (const char *)image;
        set_threads(*state, threads);
        start_job(&job, *state, VOXELS, &raw, &order, maps);
        job.type = threads == 4 ? VF_C128 : VF_C64;
        crew one = {.job = &job};
        assert_int_equal(claim_powers(&one, &(frame_group){.count = 1}), VF_OK);
        assert_int_equal(found_image(&one, &frame, given), VF_OK);
        assert_true(place_power(&one, &frame, &power[threads - 1]));
        map_powers(&job, maps, sums);
        for (int n = 0; n < VOXELS; n++) {
            const double expected = (double)squares(maps, COILS, VOXELS, n);
            assert_near(sums[n], expected, 6 * 0x1p-53 * expected);
        }
        crew_free(&one);
        places_free(&job);
    }
    const double expected = (double)(weighted / weights);
    assert_near(power[0], expected, (5 + 2 * (4096 + 3) + 4) * 0x1p-53 * expected);
    assert_memory_equal(&power[1], &power[0], sizeof *power);
    assert_memory_equal(&power[2], &power[0], sizeof *power);
    assert_memory_equal(&power[3], &power[0], sizeof *power); /* the same numbers */
    FREE_ALL(wide, maps, image, sums);
}

/* All bytes and no others, of sizes around those of a thread's piece. */
static void test_copies(void **state)
{
    static const size_t sizes[] = {0, 1, 262143, 262144, 262145, 1000001};
    const recon_job job = {.ctx = *state};
    for (int threads = 1; threads <= 3; threads++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const size_t bytes = sizes[s];
            unsigned char *from = allocate(bytes), *to = allocate(bytes + 2);
            set_threads(*state, threads);
            for (size_t i = 0; i < bytes; i++)
                from[i] = (unsigned char)(i * 31 + i / 256);
            memset(to, 7, bytes + 2);
            copy_images(&job, to + 1, from, bytes);
            assert_memory_equal(to + 1, from, bytes);
            assert_true(to[0] == 7 && to[bytes + 1] == 7);
            FREE_ALL(from, to);
        }
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_who_finds_the_power), cmocka_unit_test(test_how_much_it_is),
          cmocka_unit_test(test_copies))
