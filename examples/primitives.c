/* Compaction: the elements of an array above 1/2, in their order, by a scan and a scatter; and their sum. Compared with a
 * loop. usage: primitives [DEVICE]: cpu or cuda. */
#include <stdio.h>

#include <voxfield/voxfield.h>

enum { N = 100000, X = 0, FLAG, PLACE, KEPT, ARRAYS };
static float x[N], kept[N];
static int32_t flag[N], place[N];

/* Numbers in [-1, 1), in steps of 2^-15, so that their sums are exact in any order. */
static void make_numbers(void)
{
    uint32_t state = 1;
    for (int i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 16) / 32768 - 1;
        flag[i] = x[i] > 0.5F;
    }
}

/* The exclusive sums of the flags are the places of the elements that are kept. The others go behind these, so that no
 * place comes twice. */
static void place_others(int count)
{
    for (int i = 0; i < N; i++)
        if (!flag[i])
            place[i] = count + i - place[i];
}

static int count_wrong(int count, double sum)
{
    int found = 0, wrong = 0;
    for (int i = 0; i < N; i++)
        if (x[i] > 0.5F) {
            wrong += kept[found++] != x[i];
            sum -= (double)x[i];
        }
    return wrong + (found != count) + (sum != 0);
}

int main(int argc, char **argv)
{
    static const vf_dtype types[ARRAYS] = {VF_F32, VF_I32, VF_I32, VF_F32};
    const vf_scan_options exclusive = {.type = VF_I32, .exclusive = true};
    vf_context *ctx = NULL;
    vf_queue *queue = NULL;
    vf_scan *scan = NULL;
    vf_reduce *reduce = NULL;
    vf_reduced sum = {0};
    vf_array v[ARRAYS] = {{0}};
    make_numbers();
    vf_status status = vf_context_create(&ctx);
    VF_TRY(status, vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu"));
    vf_device *device = status == VF_OK ? vf_context_device(ctx, 0) : NULL;
    VF_TRY(status, vf_queue_create(device, &queue));
    for (int i = 0; i < ARRAYS; i++)
        VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, types[i], N, &v[i]));
    VF_TRY(status, vf_scan_create(device, &exclusive, N, &scan));
    VF_TRY(status, vf_reduce_create(device, VF_REDUCE_SUM, VF_F32, N, &reduce));
    VF_TRY(status, vf_queue_copy(queue, v[X].data, x, sizeof x));
    VF_TRY(status, vf_queue_copy(queue, v[FLAG].data, flag, sizeof flag));
    VF_TRY(status, vf_scan_execute(scan, queue, N, v[FLAG].data, NULL, v[PLACE].data));
    VF_TRY(status, vf_queue_copy(queue, place, v[PLACE].data, sizeof place));
    VF_TRY(status, vf_queue_sync(queue));
    const int count = place[N - 1] + flag[N - 1];
    place_others(count);
    VF_TRY(status, vf_queue_copy(queue, v[PLACE].data, place, sizeof place));
    VF_TRY(status, vf_scatter(queue, VF_F32, N, v[PLACE].data, v[X].data, v[KEPT].data));
    VF_TRY(status, vf_queue_copy(queue, kept, v[KEPT].data, sizeof kept));
    VF_TRY(status, vf_reduce_now(reduce, queue, count, v[KEPT].data, NULL, &sum));
    const int wrong = status == VF_OK ? count_wrong(count, sum.re) : 0;
    printf("%d of %d kept, sum %.6f, %d wrong%s\n", count, N, sum.re, wrong, status ? vf_context_message(ctx) : "");
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(&v[i]);
    vf_scan_destroy(scan), vf_reduce_destroy(reduce), vf_queue_destroy(queue), vf_context_destroy(ctx);
    return status != VF_OK || wrong != 0;
}
