/* The noise map without memory (apps/mri_recon/noise/noise_map.c): one message, whichever of its arrays there is no room for. The
 * linker puts the functions below between the map and the allocator. validation/apps/test_mri_noise_map.py tests its values. */
#include <stdlib.h>

#include "context_fixture.h"
#include "noise/noise_map.h"
#include "noise/noise_settings.h"

static int failing; /* the allocation that fails, counted from 1 and from the moment this is set; at most 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    return failing-- == 1 ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return failing-- == 1 ? NULL : __real_calloc(count, size);
}

static void ignore(void *user, const scan_frame *frame, const float *deviation, const float *g)
{
    (void)frame;
    (void)deviation;
    (void)g;
    ++*(int *)user;
}

/* Three arrays to begin with, and two to finish. */
static void test_without_memory(void **state)
{
    (void)state;
    enum { CREATE = 3, FINISH = 2, VOXELS = 4 };
    static const solve_settings solve = {.method = RECON_ADJOINT};
    static const noise_settings noise = {.replicas = 2};
    scan_trajectory trajectory = {0};
    scan_frame frame = {0};
    const mri_scan raw = {
        .coils = 1, .frames = 1, .frame = &frame, .places = 1, .trajectories = 1, .trajectory = &trajectory};
    frame_place place = {.first = &frame, .sets = 1};
    for (int i = 1; i <= CREATE + FINISH + 1; i++) {
        recon_job job = {.ctx = ctx,
                         .solve = &solve,
                         .noise = &noise,
                         .scan = &raw,
                         .voxels = VOXELS,
                         .channels = 1,
                         .most_sets = 1,
                         .place = &place};
        noise_map map;
        int put = 0;
        failing = i;
        vf_status status = noise_map_create(&job, &map);
        assert_int_equal(status, i <= CREATE ? VF_ERR_MEMORY : VF_OK);
        failing = i <= CREATE ? 0 : i - CREATE;
        VF_TRY(status, noise_map_finish(&map, ignore, &put));
        failing = 0;
        assert_int_equal(status, i <= CREATE + FINISH ? VF_ERR_MEMORY : VF_OK);
        assert_int_equal(put, i <= CREATE + FINISH ? 0 : 1);
        assert_string_equal(vf_context_message(ctx), i <= CREATE + FINISH ? "no memory for the noise map" : "");
        vf_context_clear_error(ctx);
        noise_map_free(&map);
    }
}

TEST_MAIN(open_context, close_context, cmocka_unit_test(test_without_memory))
