/* How a plan of the NUFFT bins the samples' positions on a GPU: records and tiles equal those of gridding_sort on
 * the host, bit for bit, and the pieces of the tiles' walks match their definition.
 *
 * usage: test_gridding_bins cuda [SEED]     (exit 77 if there is no GPU)
 */
#include <float.h>
#include <math.h>

#include "gridding_bins.h"
#include "queue_fixture.h"

static void need(vf_status status)
{
    if (status != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
}

static void *allocate(int64_t count, size_t size)
{
    void *p = calloc((size_t)count + 1, size);
    assert_non_null(p);
    return p;
}

/* The part of a plan that binning needs. */
static vf_nufft plan_for(const int64_t voxels[3], const int64_t grid[3], int width, vf_dtype real, int64_t samples)
{
    vf_nufft plan = {.device = device, .ctx = ctx, .samples = samples, .real = real};
    for (int a = 0; a < 3; a++)
        plan.axis[a] = (gridding_axis){voxels[a], grid[a], voxels[a] > 1 ? width : 1};
    return plan;
}

static int64_t total(const gridding_tiles *tiles)
{
    return tiles->count[0] * tiles->count[1] * tiles->count[2];
}

/* A copy in host memory, with zeros after its end. */
static void *download(const vf_array *array)
{
    const size_t bytes = (size_t)array->count * vf_dtype_bytes(array->type);
    char *host = allocate((int64_t)bytes + 16, 1);
    need(vf_queue_copy(queue, host, array->data, bytes));
    need(vf_queue_sync(queue));
    return host;
}

/* ---- samples ---- */

static void check_f32(const gridding_sample_f32 *got, const gridding_sample_f32 *expected, int64_t samples)
{
    for (int64_t i = 0; i < samples; i++) {
        assert_memory_equal(got[i].offset, expected[i].offset, sizeof got->offset);
        assert_memory_equal(got[i].start, expected[i].start, sizeof got->start);
        assert_int_equal(got[i].index, expected[i].index);
    }
}

static void check_f64(const gridding_sample_f64 *got, const gridding_sample_f64 *expected, int64_t samples)
{
    for (int64_t i = 0; i < samples; i++) {
        assert_memory_equal(got[i].offset, expected[i].offset, sizeof got->offset);
        assert_memory_equal(got[i].start, expected[i].start, sizeof got->start);
        assert_int_equal(got[i].index, expected[i].index);
    }
}

/* Compares the device's bins with gridding_sort's; `first` receives the latter's. */
static void check_bins(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_tiles *tiles,
                       const gridding_bins *bins, int64_t *first)
{
    void *expected = allocate(samples->count, sizeof(gridding_sample_f64));
    need(gridding_sort(plan, samples, tiles, 0, expected, first));
    const size_t record = plan->real == VF_F64 ? sizeof(gridding_sample_f64) : sizeof(gridding_sample_f32);
    assert_int_equal(bins->samples.count * (int64_t)vf_dtype_bytes(bins->samples.type),
                     samples->count * (int64_t)record);
    assert_int_equal(bins->first.count, total(tiles) + 1);
    assert_int_equal(bins->index.count, samples->count);
    void *records = download(&bins->samples);
    uint32_t *got_first = download(&bins->first), *index = download(&bins->index);
    for (int64_t t = 0; t <= total(tiles); t++)
        assert_int_equal(got_first[t], first[t]);
    if (plan->real == VF_F64)
        check_f64(records, expected, samples->count);
    else
        check_f32(records, expected, samples->count);
    for (int64_t i = 0; i < samples->count; i++)
        assert_int_equal(index[i], plan->real == VF_F64 ? ((const gridding_sample_f64 *)expected)[i].index
                                                        : ((const gridding_sample_f32 *)expected)[i].index);
    free(records);
    free(got_first);
    free(index);
    free(expected);
}

/* ---- walks ---- */

/* How often the walk of tile `to` meets kernels that start in tile `from` of an axis: there, and one period ahead.
 * The walk takes whole tiles, of which the last may reach beyond the grid. */
static int meetings(const gridding_axis *axis, int64_t size, int64_t from, int64_t to)
{
    const int64_t farthest = (from + 1) * size - 1 + axis->width - 1, begin = to * size;
    return (from <= to && farthest >= begin) + (begin < axis->width - 1 && farthest - axis->grid >= begin);
}

static uint64_t visits_of(const vf_nufft *plan, const gridding_tiles *tiles, const int64_t *first, int64_t tile)
{
    const int64_t *n = tiles->count, to[3] = {tile % n[0], tile / n[0] % n[1], tile / n[0] / n[1]};
    uint64_t visits = 0;
    for (int64_t t = 0; t < total(tiles); t++) {
        const int64_t from[3] = {t % n[0], t / n[0] % n[1], t / n[0] / n[1]};
        int times = 1;
        for (int a = 0; a < 3 && times > 0; a++)
            times *= meetings(&plan->axis[a], tiles->size[a], from[a], to[a]);
        visits += (uint64_t)times * (uint64_t)(first[t + 1] - first[t]);
    }
    return visits;
}

static int fullest_first(const void *a, const void *b)
{
    const gridding_piece *p = a, *q = b;
    const uint32_t m = p->last_visit - p->first_visit, n = q->last_visit - q->first_visit;
    if (m != n)
        return m < n ? 1 : -1;
    if (p->tile != q->tile)
        return p->tile < q->tile ? -1 : 1;
    return p->first_visit < q->first_visit ? -1 : p->first_visit > q->first_visit;
}

static void check_pieces(const vf_nufft *plan, const gridding_tiles *tiles, const int64_t *first,
                         const gridding_pieces *got)
{
    int64_t most = total(tiles);
    uint64_t *visits = allocate(total(tiles), sizeof *visits);
    for (int64_t t = 0; t < total(tiles); t++) {
        visits[t] = visits_of(plan, tiles, first, t);
        most += (int64_t)(visits[t] / GRIDDING_PIECE);
    }
    gridding_piece *pieces = allocate(most, sizeof *pieces);
    gridding_split *splits = allocate(total(tiles), sizeof *splits);
    int64_t count = 0, split_count = 0;
    int32_t slots = 0;
    for (int64_t t = 0; t < total(tiles); t++) {
        const bool split = visits[t] > GRIDDING_PIECE;
        const int32_t slot = slots;
        uint64_t visit = 0;
        do {
            const uint64_t left = visits[t] - visit, taken = left < GRIDDING_PIECE ? left : GRIDDING_PIECE;
            pieces[count++] =
                (gridding_piece){(uint32_t)t, (uint32_t)visit, (uint32_t)(visit + taken), split ? slots++ : -1};
            visit += taken;
        } while (visit < visits[t]);
        if (split)
            splits[split_count++] = (gridding_split){(uint32_t)t, slot, slots - slot};
    }
    qsort(pieces, (size_t)count, sizeof *pieces, fullest_first);
    assert_int_equal(got->piece_count, count);
    assert_int_equal(got->split_count, split_count);
    assert_int_equal(got->slots, slots);
    void *got_pieces = download(&got->pieces), *got_splits = download(&got->splits);
    assert_memory_equal(got_pieces, pieces, (size_t)count * sizeof *pieces);
    assert_memory_equal(got_splits, splits, (size_t)split_count * sizeof *splits);
    free(got_pieces);
    free(got_splits);
    free(pieces);
    free(splits);
    free(visits);
}

static void check(const int64_t voxels[3], const int64_t grid[3], int width, int64_t samples, const float *k)
{
    for (int precision = 0; precision < 2; precision++) {
        const vf_nufft plan = plan_for(voxels, grid, width, precision ? VF_F64 : VF_F32, samples);
        const vf_nufft_samples s = {.count = samples, .k = k};
        gridding_tiles tiles;
        gridding_bins bins = {0};
        gridding_pieces pieces = {0};
        need(gridding_bin_tiles(&plan, &tiles));
        int64_t *first = allocate(total(&tiles) + 1, sizeof *first);
        need(gridding_bin_samples(&plan, queue, &s, &tiles, &bins));
        check_bins(&plan, &s, &tiles, &bins, first);
        need(gridding_cut_walks(&plan, queue, &tiles, bins.first.data, &pieces));
        check_pieces(&plan, &tiles, first, &pieces);
        vf_array_free(&bins.samples);
        vf_array_free(&bins.first);
        vf_array_free(&bins.index);
        vf_array_free(&pieces.pieces);
        vf_array_free(&pieces.splits);
        free(first);
    }
}

/* Grids of several tiles and of one, with whole and partial tiles; axes of one voxel. */
static const struct shape {
    int64_t voxels[3], grid[3];
    int width;
} shapes[] = {
    {{20, 17, 26}, {40, 35, 54}, 7}, {{48, 31, 1}, {96, 64, 1}, 12}, {{100, 1, 1}, {125, 1, 1}, 24},
    {{1, 1, 200}, {1, 1, 400}, 5},   {{1, 1, 1}, {1, 1, 1}, 4},      {{2, 3, 5}, {10, 10, 11}, 6},
    {{50, 44, 62}, {64, 56, 80}, 8}, {{7, 33, 2}, {16, 66, 30}, 16},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_random(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int64_t samples = 30; samples <= 300000; samples *= 100) {
            float *k = allocate(3 * samples, sizeof *k);
            for (int64_t i = 0; i < 3 * samples; i++)
                k[i] = (float)(2 * (2 * uniform() - 1) * (double)shapes[s].voxels[i % 3]);
            check(shapes[s].voxels, shapes[s].grid, shapes[s].width, samples, k);
            free(k);
        }
}

/* All in one tile, so in the caller's order: at one place, or close together. */
static void test_clustered(void **state)
{
    enum { SAMPLES = 50001 };
    (void)state;
    float *k = allocate(3 * SAMPLES, sizeof *k);
    for (int s = 0; s < SHAPES; s++)
        for (int spread = 0; spread < 2; spread++) {
            float centre[3];
            for (int a = 0; a < 3; a++)
                centre[a] = (float)((uniform() - 0.5) * (double)shapes[s].voxels[a]);
            for (int64_t i = 0; i < 3 * SAMPLES; i++)
                k[i] = centre[i % 3] + (spread ? (float)(0.1 * uniform()) : 0);
            check(shapes[s].voxels, shapes[s].grid, shapes[s].width, SAMPLES, k);
        }
    free(k);
}

/* A k of an axis at a boundary, or one or two floats away from it. Boundaries are where a kernel's start moves to the
 * next point, often to the next tile, and the end of the period. Subnormal numbers are not zero: just below a
 * multiple of the period they belong to its end. */
static float edge(const gridding_axis *axis)
{
    const int which = (int)(uniform() * 8);
    const double n = (double)axis->voxels, size = uniform() < 0.5 ? 16 : 8;
    const double start = floor(uniform() * (double)axis->grid / size) * size;
    float k = which < 4    ? (float)((start + 0.5 * axis->width) * n / (double)axis->grid)
              : which == 4 ? (float)(floor(4 * uniform() - 2) * n)
              : which == 5 ? (uniform() < 0.5 ? -0.5f : 0.5f) * (float)n
              : which == 6 ? (uniform() < 0.5 ? -1 : 1) * FLT_TRUE_MIN
                           : (uniform() < 0.5 ? -1 : 1) * FLT_MIN * (float)uniform();
    for (int steps = (int)(uniform() * 4) - 1; which < 6 && steps != 0; steps += steps < 0 ? 1 : -1)
        k = nextafterf(k, steps < 0 ? -INFINITY : INFINITY);
    return k;
}

static void test_edges(void **state)
{
    enum { SAMPLES = 20000 };
    (void)state;
    float *k = allocate(3 * SAMPLES, sizeof *k);
    for (int s = 0; s < SHAPES; s++) {
        const vf_nufft plan = plan_for(shapes[s].voxels, shapes[s].grid, shapes[s].width, VF_F32, SAMPLES);
        for (int64_t i = 0; i < 3 * SAMPLES; i++)
            k[i] = plan.axis[i % 3].voxels > 1 ? edge(&plan.axis[i % 3]) : NAN; /* which is ignored */
        check(shapes[s].voxels, shapes[s].grid, shapes[s].width, SAMPLES, k);
    }
    free(k);
}

static void test_few(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        float k[6];
        for (int i = 0; i < 6; i++)
            k[i] = (float)((uniform() - 0.5) * (double)shapes[s].voxels[i % 3]);
        for (int64_t samples = 0; samples <= 2; samples++)
            check(shapes[s].voxels, shapes[s].grid, shapes[s].width, samples, k);
    }
}

/* Numbers of visits at whole pieces, one fewer and one more. */
static void test_whole_pieces(void **state)
{
    static const int64_t voxels[3] = {64, 1, 1}, grid[3] = {128, 1, 1};
    (void)state;
    for (int64_t pieces = 1; pieces <= 3; pieces++)
        for (int64_t samples = pieces * GRIDDING_PIECE - 1; samples <= pieces * GRIDDING_PIECE + 1; samples++) {
            float *k = allocate(3 * samples, sizeof *k); /* zeros */
            check(voxels, grid, 6, samples, k);
            free(k);
        }
}

static void refused(vf_status status, vf_status expected)
{
    assert_int_equal(status, expected);
    assert_true(vf_context_message(ctx)[0] != '\0');
    vf_context_clear_error(ctx);
}

/* A grid of 2^45 points; and 2^32 - 1 samples in a grid of one tile, whose kernels each reach it twice along an
 * axis.
 */
static void test_refusals(void **state)
{
    static const int64_t voxels[3] = {16000, 16000, 16000}, grid[3] = {32000, 32000, 32000}, two[3] = {2, 2, 2},
                         eight[3] = {8, 8, 8};
    (void)state;
    vf_nufft plan = plan_for(voxels, grid, 4, VF_F32, 0);
    gridding_tiles tiles;
    refused(gridding_bin_tiles(&plan, &tiles), VF_ERR_UNSUPPORTED);
    plan = plan_for(two, eight, 4, VF_F32, UINT32_MAX);
    need(gridding_bin_tiles(&plan, &tiles));
    assert_int_equal(total(&tiles), 1);
    const uint32_t crowd[2] = {0, UINT32_MAX};
    vf_array first = {0};
    gridding_pieces pieces = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_I32, 2, &first));
    need(vf_queue_copy(queue, first.data, crowd, sizeof crowd));
    refused(gridding_cut_walks(&plan, queue, &tiles, first.data, &pieces), VF_ERR_UNSUPPORTED);
    vf_array_free(&pieces.pieces);
    vf_array_free(&pieces.splits);
    vf_array_free(&first);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random), cmocka_unit_test(test_clustered),    cmocka_unit_test(test_edges),
    cmocka_unit_test(test_few),    cmocka_unit_test(test_whole_pieces), cmocka_unit_test(test_refusals),
};

int main(int argc, char **argv)
{
    return run_on_device(argc, argv, tests, make_queue, drop_queue);
}
