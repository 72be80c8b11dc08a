/* How a plan of the NUFFT bins the samples' positions on a GPU: records and tiles equal those of gridding_sort and
 * gridding_locate on the host, bit for bit, and the runs of samples match their definition.
 *
 * usage: test_gridding_bins cuda [TEST...]     (exit 77 if there is no GPU)
 */
#include <float.h>
#include <math.h>

#include "free_all.h"
#include "gridding_bins.h"
#include "gridding_locate.h"
#include "queue_fixture.h"

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
    char *host = room((int64_t)bytes + 16, 1);
    need(vf_queue_copy(queue, host, array->data, bytes));
    need(vf_queue_sync(queue));
    return host;
}

/* ---- samples ---- */

static void check_f32(const vf_nufft *plan, const gridding_sample_f32 *got, const gridding_record *expected)
{
    for (int64_t i = 0; i < plan->samples; i++) {
        const gridding_place place = gridding_locate(plan->axis, expected[i].k);
        for (int a = 0; a < 3; a++) {
            assert_true(got[i].offset[a] == (float)place.offset[a]);
            assert_int_equal(got[i].start[a], place.start[a]);
        }
        assert_int_equal(got[i].index, expected[i].index);
    }
}

static void check_f64(const vf_nufft *plan, const gridding_sample_f64 *got, const gridding_record *expected)
{
    for (int64_t i = 0; i < plan->samples; i++) {
        const gridding_place place = gridding_locate(plan->axis, expected[i].k);
        for (int a = 0; a < 3; a++) {
            assert_true(got[i].offset[a] == place.offset[a]);
            assert_int_equal(got[i].start[a], place.start[a]);
        }
        assert_int_equal(got[i].index, expected[i].index);
    }
}

/* Where the records' kernels start, in a tile: plane, then x. */
static int64_t start_of(const vf_nufft *plan, const gridding_tiles *tiles, const gridding_record *record)
{
    const gridding_place place = gridding_locate(plan->axis, record->k);
    return place.start[2] % tiles->size[2] * tiles->size[0] + place.start[0] % tiles->size[0];
}

/* Sorts the records of a tile by their starts and keeps the order of equal ones. */
static void sort_tile(const vf_nufft *plan, const gridding_tiles *tiles, int64_t count, gridding_record *records)
{
    const int64_t starts = tiles->size[2] * tiles->size[0];
    gridding_record *sorted = room(count, sizeof *sorted);
    int64_t n = 0;
    for (int64_t start = 0; start < starts && n < count; start++)
        for (int64_t i = 0; i < count; i++)
            if (start_of(plan, tiles, records + i) == start)
                sorted[n++] = records[i];
    assert_int_equal(n, count);
    memcpy(records, sorted, (size_t)count * sizeof *sorted);
    free(sorted);
}

/* Compares the device's bins with gridding_sort's, whose tiles are sorted further; `first` receives the latter's. */
static void check_bins(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_tiles *tiles,
                       const gridding_bins *bins, int64_t *first)
{
    gridding_record *expected = room(samples->count, sizeof *expected);
    need(gridding_sort(plan, samples, tiles, 0, expected, first, NULL, NULL));
    for (int64_t t = 0; t < total(tiles) && tiles->size[2] > 1; t++)
        sort_tile(plan, tiles, first[t + 1] - first[t], expected + first[t]);
    const size_t record = plan->real == VF_F64 ? sizeof(gridding_sample_f64) : sizeof(gridding_sample_f32);
    assert_int_equal(bins->samples.count * (int64_t)vf_dtype_bytes(bins->samples.type),
                     samples->count * (int64_t)record);
    assert_int_equal(bins->first.count, total(tiles) + 1);
    void *records = download(&bins->samples);
    uint32_t *got_first = download(&bins->first);
    for (int64_t t = 0; t <= total(tiles); t++)
        assert_int_equal(got_first[t], first[t]);
    if (plan->real == VF_F64)
        check_f64(plan, records, expected);
    else
        check_f32(plan, records, expected);
    FREE_ALL(records, got_first, expected);
}

/* ---- runs ---- */

static int fullest_first(const void *a, const void *b)
{
    const gridding_run *p = a, *q = b;
    const uint32_t m = p->last - p->first, n = q->last - q->first;
    if (m != n)
        return m < n ? 1 : -1;
    return p->first < q->first ? -1 : p->first > q->first;
}

/* The chunk's runs, in the order of the samples. Returns their number. */
static int64_t expected_runs(const gridding_chunk *chunk, const int64_t *first, gridding_run *runs)
{
    int64_t count = 0;
    for (int64_t t = chunk->first_tile; t < chunk->end_tile; t++)
        for (int64_t n = first[t]; n < first[t + 1]; n += GRIDDING_PIECE) {
            const int64_t left = first[t + 1] - n, taken = left < GRIDDING_PIECE ? left : GRIDDING_PIECE;
            runs[count] = (gridding_run){(uint32_t)t, (uint32_t)n, (uint32_t)(n + taken), (int32_t)count};
            count++;
        }
    return count;
}

/* Whether chunk c, of the tiles to `end`, has what it needs for all chunks to be of one length. */
static bool has_share(const gridding_tiles *tiles, const int64_t *first_run, int64_t most_slots, int c,
                      const gridding_chunk *chunk, int64_t end)
{
    const int64_t all = first_run[total(tiles)], chunks = (all + most_slots - 1) / most_slots;
    return first_run[end] > chunk->first_run && first_run[end] * chunks >= all * (c + 1);
}

/* Chunks follow each other. One has several tiles only if their runs fit. It ends when it has its share, or if the next
 * tile's runs would not fit. `first_run`: [tiles + 1]. */
static void check_chunks(const gridding_tiles *tiles, const int64_t *first_run, int64_t most_slots,
                         const gridding_runs *got)
{
    const gridding_split *splits = download(&got->splits);
    gridding_chunk end = {0};
    int64_t slots = 0;
    assert_true(got->chunk_count > 0);
    for (int c = 0; c < got->chunk_count; c++) {
        const gridding_chunk *chunk = &got->chunks[c];
        const int64_t runs = chunk->end_run - chunk->first_run;
        assert_int_equal(chunk->first_tile, end.end_tile);
        assert_int_equal(chunk->first_run, end.end_run);
        assert_int_equal(chunk->first_split, end.end_split);
        assert_true(chunk->end_tile > chunk->first_tile);
        assert_int_equal(chunk->end_run, first_run[chunk->end_tile]);
        assert_true(runs <= most_slots || chunk->end_tile == chunk->first_tile + 1);
        assert_true(chunk->end_tile == total(tiles) || first_run[chunk->end_tile + 1] - chunk->first_run > most_slots ||
                    has_share(tiles, first_run, most_slots, c, chunk, chunk->end_tile));
        assert_false(has_share(tiles, first_run, most_slots, c, chunk, chunk->end_tile - 1));
        int64_t split = chunk->first_split;
        for (int64_t t = chunk->first_tile; t < chunk->end_tile; t++)
            if (first_run[t + 1] - first_run[t] > 1) {
                assert_int_equal(splits[split].first_run, first_run[t]);
                assert_int_equal(splits[split++].runs, first_run[t + 1] - first_run[t]);
            }
        assert_int_equal(split, chunk->end_split);
        slots = runs > slots ? runs : slots;
        end = *chunk;
    }
    assert_int_equal(end.end_tile, total(tiles));
    assert_int_equal(end.end_split * (int64_t)sizeof *splits, got->splits.count);
    assert_int_equal(got->slots, slots);
    free((void *)splits);
}

static void check_runs(const gridding_tiles *tiles, const int64_t *first, int64_t most_slots, const gridding_runs *got)
{
    int32_t *tile_run = download(&got->tile_run);
    int64_t *first_run = room(total(tiles) + 1, sizeof *first_run);
    gridding_run *runs = download(&got->runs),
                 *expected = room(total(tiles) + first[total(tiles)] / GRIDDING_PIECE, sizeof *expected);
    for (int64_t t = 0; t < total(tiles); t++) {
        first_run[t + 1] = first_run[t] + (first[t + 1] - first[t] + GRIDDING_PIECE - 1) / GRIDDING_PIECE;
        assert_int_equal(tile_run[t], first_run[t + 1] > first_run[t] ? first_run[t] : -1);
    }
    check_chunks(tiles, first_run, most_slots, got);
    for (int c = 0; c < got->chunk_count; c++) {
        const gridding_chunk *chunk = &got->chunks[c];
        const int64_t count = expected_runs(chunk, first, expected);
        qsort(expected, (size_t)count, sizeof *expected, fullest_first);
        assert_int_equal(chunk->end_run - chunk->first_run, count);
        assert_memory_equal(runs + chunk->first_run, expected, (size_t)count * sizeof *expected);
    }
    FREE_ALL(tile_run, first_run, runs, expected);
}

static void check(const int64_t voxels[3], const int64_t grid[3], int width, int64_t samples, const float *k)
{
    const int64_t most_slots[] = {1 << 20, 1 + (int64_t)(30 * uniform()), 1};
    for (int precision = 0; precision < 2; precision++) {
        const vf_nufft plan = plan_for(voxels, grid, width, precision ? VF_F64 : VF_F32, samples);
        const vf_nufft_samples s = {.count = samples, .k = k};
        gridding_tiles tiles;
        gridding_bins bins = {0};
        need(gridding_bin_tiles(&plan, &tiles));
        int64_t *first = room(total(&tiles) + 1, sizeof *first);
        need(gridding_bin_samples(&plan, queue, &s, &tiles, &bins));
        check_bins(&plan, &s, &tiles, &bins, first);
        for (int i = 0; i < 3; i++) {
            gridding_runs runs = {0};
            need(gridding_cut_runs(&plan, queue, &tiles, bins.first.data, most_slots[i], &runs));
            check_runs(&tiles, first, most_slots[i], &runs);
            gridding_runs_free(&runs);
        }
        gridding_bins_free(&bins);
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
            float *k = room(3 * samples, sizeof *k);
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
    float *k = room(3 * SAMPLES, sizeof *k);
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
    float *k = room(3 * SAMPLES, sizeof *k);
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

/* Numbers of samples at whole pieces, one fewer and one more. */
static void test_whole_pieces(void **state)
{
    static const int64_t voxels[3] = {64, 1, 1}, grid[3] = {128, 1, 1};
    (void)state;
    for (int64_t pieces = 1; pieces <= 3; pieces++)
        for (int64_t samples = pieces * GRIDDING_PIECE - 1; samples <= pieces * GRIDDING_PIECE + 1; samples++) {
            float *k = room(3 * samples, sizeof *k); /* zeros */
            check(voxels, grid, 6, samples, k);
            free(k);
        }
}

/* 2^32 - 1 samples in a grid of one tile: runs have as many pieces as it takes to keep their number in bounds. */
static void test_crowd(void **state)
{
    static const int64_t two[3] = {2, 2, 2}, eight[3] = {8, 8, 8};
    (void)state;
    const vf_nufft plan = plan_for(two, eight, 4, VF_F32, UINT32_MAX);
    gridding_tiles tiles;
    need(gridding_bin_tiles(&plan, &tiles));
    assert_int_equal(total(&tiles), 1);
    const uint32_t crowd[2] = {0, UINT32_MAX};
    vf_array first = {0};
    gridding_runs runs = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_I32, 2, &first));
    need(vf_queue_copy(queue, first.data, crowd, sizeof crowd));
    need(gridding_cut_runs(&plan, queue, &tiles, first.data, 1, &runs));
    assert_int_equal(runs.chunk_count, 1);
    assert_true(runs.slots > 1000 && runs.slots <= 4096);
    gridding_run *got = download(&runs.runs);
    uint32_t next = 0;
    for (int64_t i = 0; i < runs.slots; i++) { /* all are full but the last */
        assert_int_equal(got[i].first, next);
        assert_int_equal(got[i].slot, i);
        assert_true(got[i].last > next);
        assert_true(i + 1 == runs.slots || (got[i].last - next) % GRIDDING_PIECE == 0);
        next = got[i].last;
    }
    assert_int_equal(next, UINT32_MAX);
    free(got);
    gridding_runs_free(&runs);
    vf_array_free(&first);
}

/* A grid of 2^45 points. */
static void test_refusals(void **state)
{
    static const int64_t voxels[3] = {16000, 16000, 16000}, grid[3] = {32000, 32000, 32000};
    (void)state;
    const vf_nufft plan = plan_for(voxels, grid, 4, VF_F32, 0);
    gridding_tiles tiles;
    assert_int_equal(gridding_bin_tiles(&plan, &tiles), VF_ERR_UNSUPPORTED);
    assert_true(vf_context_message(ctx)[0] != '\0');
    vf_context_clear_error(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random),   cmocka_unit_test(test_clustered),    cmocka_unit_test(test_edges),
    cmocka_unit_test(test_few),      cmocka_unit_test(test_whole_pieces), cmocka_unit_test(test_crowd),
    cmocka_unit_test(test_refusals),
};

int main(int argc, char **argv)
{
    return run_on_device(argc, argv, tests, make_queue, drop_queue);
}
