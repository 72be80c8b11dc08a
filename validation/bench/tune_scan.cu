/* Times shapes of the single-pass scan on a GPU beside the copy, and what bounds them. Not a benchmark: its result goes into
 * libcore/src/scan, and shows what keeps the scan from the copy's speed.
 *
 * usage: tune_scan [LOG2 OF ELEMENTS]     (28)
 *
 * The inclusive sum of floats, bytes counted as read once and written once. The elements are 1 or -1 at random: all sums are
 * whole numbers below 2^24, so every grouping gives the same result, and results are checked without a tolerance, before
 * the times. A time is the least of several, between events. Rows:
 *
 *   <warps, items, thread blocks a multiprocessor> stages, of which `behind` wait for what comes before them
 *     scan        the whole kernel (scan_tiles.cuh)
 *     alone       the same without look-back, so a wrong result: what its way through memory and shared memory costs
 *     copy        the same stages and stores without any sums
 *   look-back     without data: how many tiles a second it serves
 *   block         one tile a thread block, in registers, without stages
 *
 * If `alone` is as slow as `scan`, look-back costs nothing. If `copy` is as slow as `alone`, sums cost nothing. Rows of other
 * loads, stores and look-backs change one thing of the shape in scan_tuning.cuh. */
#include "scan/scan_works.cuh"
#include "tune_gpu.cuh"
#include "tune_scan.cuh"

namespace
{

enum { RUNS = 9 };
int64_t n;
int multiprocessors, failures;
const float *x;
float *y;
vf_scan_scratch scratch;
unsigned long long *wrong;
double copy_seconds;

__global__ void make_elements(float *to, int64_t count)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        to[i] = random_bits_of(i) >> 63 ? 1.f : -1.f;
}

enum expected { ANYTHING, COPIES, SUMS };

/* Counts results that are not x, or of sums not x and the one before: also NaN, of which the result is made before. */
__global__ void check(const float *from, const float *to, int64_t count, bool sums, unsigned long long *not_right)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        if (!(to[i] == (sums && i > 0 ? to[i - 1] : 0.f) + from[i]))
            atomicAdd(not_right, 1ull);
}

unsigned long long count_wrong()
{
    unsigned long long here = 0;
    need(cudaMemcpyAsync(&here, wrong, sizeof here, cudaMemcpyDeviceToHost, stream));
    need(cudaMemsetAsync(wrong, 0, sizeof here, stream));
    need(cudaStreamSynchronize(stream));
    return here;
}

void print(const char *what, double seconds, double tiles)
{
    std::printf("  %-44s %7.1f GB/s, %.3f of the copy", what, 1e-9 * 8 * (double)n / seconds, copy_seconds / seconds);
    if (tiles > 0)
        std::printf(", %.1f tiles/us", 1e-6 * tiles / seconds);
    std::printf("\n");
    std::fflush(stdout);
}

/* Checks a kernel's first `count` results, and times it. */
template <typename Run>
void measure(const char *what, expected results, int64_t count, double tiles, const Run &run)
{
    need(cudaMemsetAsync(scratch.memory, 0, scratch.bytes, stream));
    scratch.launches = scratch.claims = 0;
    if (results != ANYTHING) {
        need(cudaMemsetAsync(y, 0xff, (size_t)n * sizeof *y, stream));
        run();
        check<<<16 * multiprocessors, 256, 0, stream>>>(x, y, count, results == SUMS, wrong);
        need(cudaGetLastError());
        const unsigned long long bad = count_wrong();
        if (bad) {
            failures++;
            std::printf("  %-44s WRONG: %llu elements\n", what, bad);
            return;
        }
    }
    print(what, time_of(RUNS, run), tiles);
}

/* The thread blocks of a kernel that run at a time, at most `most` a multiprocessor; 0 if it does not fit. */
template <typename Kernel>
int resident(Kernel kernel, int threads, size_t shared, int most)
{
    int blocks = 0;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return multiprocessors * (blocks < most ? blocks : most);
}

template <typename Work>
Work make_work()
{
    Work work = {};
    work.x = x;
    work.y = {y};
    work.aligned = true;
    return work;
}

template <typename S>
void time_ring(const char *kind, expected results = SUMS)
{
    typedef typename S::Ring Ring;
    const vf_range range = vf_range_from_0(n);
    const int64_t tiles = (n - 1) / S::Shape::in_block + 1;
    const size_t shared = (size_t)S::stages * Ring::bytes;
    const auto kernel = scan_ring<S>;
    const int blocks = resident(kernel, S::threads, shared, S::blocks);
    char what[96];
    std::snprintf(what, sizeof what, "<%d, %d, %d> %d stages, %d behind: %s", S::Shape::warps, S::Shape::work,
                  S::blocks, S::stages, (int)Ring::BEHIND, kind);
    if (!blocks) {
        std::printf("  %-44s does not fit\n", what);
        return;
    }
    const auto run = [&] {
        const typename S::Cells cells = S::Cells::next(scratch, tiles);
        kernel<<<blocks, S::threads, shared, stream>>>(make_work<typename S::Work>(), range, cells);
        need(cudaGetLastError());
        scratch.launches++;
        scratch.claims += vf_first_claims_of(S::stages, Ring::BEHIND) * (unsigned)blocks + (unsigned)tiles;
    };
    measure(what, results, n, (double)tiles, run);
}

template <typename S>
void time_copy()
{
    const vf_range range = vf_range_from_0(n);
    const size_t shared = (size_t)S::stages * S::Ring::bytes;
    const auto kernel = copy_tiles<S>;
    const int threads = 32 * S::Shape::warps, blocks = resident(kernel, threads, shared, S::blocks);
    char what[96];
    std::snprintf(what, sizeof what, "<%d, %d, %d> %d stages: copy", S::Shape::warps, S::Shape::work, S::blocks,
                  S::stages);
    if (blocks)
        measure(what, COPIES, n / S::Shape::in_block * S::Shape::in_block, 0, [&] {
            kernel<<<blocks, threads, shared, stream>>>(make_work<typename S::Work>(), range);
            need(cudaGetLastError());
        });
}

/* A shape, and what bounds it. */
template <int nWarps, int nWork, int nBlocks, int nStages, int nBehind = vf_behind_of(nStages)>
void compare()
{
    time_ring<ring_shape<nWarps, nWork, nBlocks, nStages, nBehind>>("scan");
    time_ring<ring_shape<nWarps, nWork, nBlocks, nStages, nBehind, no_look_back>>("alone", ANYTHING);
    time_copy<ring_shape<nWarps, nWork, nBlocks, nStages, nBehind>>();
}

template <int nWarps, int nWork, int nBlocks, typename Cells>
void time_block()
{
    typedef vf_shape<nWarps, nWork> Shape;
    const int64_t tiles = (n - 1) / Shape::in_block + 1;
    char what[96];
    std::snprintf(what, sizeof what, "block <%d, %d, %d>, groups of %u", nWarps, nWork, nBlocks, Cells::GROUP);
    measure(what, SUMS, n, (double)tiles, [&] {
        const Cells cells = Cells::next(scratch, tiles);
        scan_block<Shape, nBlocks>
            <<<(unsigned)tiles, Shape::threads, 0, stream>>>(make_work<sum_work>(), vf_range_from_0(n), cells);
        need(cudaGetLastError());
        scratch.launches++;
        scratch.claims += (unsigned)tiles;
    });
}

/* Look-back without data, by some warps of some thread blocks of a multiprocessor, for the tiles of an array in pieces of
 * `in_block`. */
template <typename Cells>
void time_look_back(int warps, int blocks_each, int in_block)
{
    const unsigned tiles = (unsigned)((n - 1) / in_block + 1);
    const int blocks = resident(look_back_alone<Cells>, 32 * warps, 0, blocks_each);
    char what[96];
    std::snprintf(what, sizeof what, "look-back, %d warps of %d, groups of %u", warps, blocks_each, Cells::GROUP);
    if (!blocks)
        return;
    measure(what, ANYTHING, 0, tiles, [&] {
        const Cells cells = Cells::next(scratch, tiles);
        look_back_alone<<<blocks, 32 * warps, 0, stream>>>(cells, tiles, wrong);
        need(cudaGetLastError());
        scratch.launches++;
        scratch.claims += tiles + (unsigned)(blocks * warps);
    });
    const unsigned long long bad = count_wrong();
    failures += bad > 0;
    if (bad)
        std::printf("  WRONG: %llu tiles\n", bad);
}

void time_bounds()
{
    enum { IN_BLOCK = 24 * 32 * 16 };
    std::printf("look-back alone, for tiles of %d elements\n", IN_BLOCK);
    time_look_back<vf_look_back<float>>(3, 1, IN_BLOCK);
    time_look_back<vf_look_back<float>>(4, 1, IN_BLOCK);
    time_look_back<vf_look_back<float>>(4, 2, IN_BLOCK);
    time_look_back<vf_look_back<float>>(8, 2, IN_BLOCK);
    time_look_back<vf_look_back<float, 2>>(4, 1, IN_BLOCK);
    time_look_back<vf_look_back<float, 4>>(4, 1, IN_BLOCK);
    time_look_back<vf_look_back<float, 16>>(4, 1, IN_BLOCK);
    std::printf("shapes, the one of scan_tuning.cuh first\n");
    compare<24, 16, 1, 4>();
    compare<24, 16, 1, 3>();
    compare<24, 8, 1, 8>();
    compare<24, 12, 1, 6>();
    compare<16, 16, 1, 6>();
    compare<16, 24, 1, 4>();
    compare<16, 8, 1, 8>();
    compare<12, 16, 1, 8>();
    compare<12, 16, 2, 4>();
    compare<12, 12, 2, 5>();
    compare<8, 16, 2, 6>();
    compare<8, 16, 3, 4>();
    compare<8, 12, 4, 4>();
}

void time_splits()
{
    std::printf("tiles on their way and tiles that wait\n");
    time_ring<ring_shape<24, 16, 1, 4, 1>>("scan");
    time_ring<ring_shape<24, 16, 1, 4, 3>>("scan");
    time_ring<ring_shape<24, 8, 1, 8, 2>>("scan");
    time_ring<ring_shape<24, 8, 1, 8, 6>>("scan");
    time_ring<ring_shape<16, 16, 1, 6, 2>>("scan");
    time_ring<ring_shape<16, 16, 1, 6, 4>>("scan");
}

template <typename Cells, typename Copies = vf_copies_by_lanes, typename Work = sum_work>
using one_change = ring_shape<24, 16, 1, 4, 2, Cells, Copies, Work>;

void time_changes()
{
    typedef vf_look_back<float> Cells;
    std::printf("groups of look-back\n");
    time_ring<one_change<vf_look_back<float, 2>>>("groups of 64");
    time_ring<one_change<vf_look_back<float, 4>>>("groups of 128");
    time_ring<one_change<vf_look_back<float, 16>>>("groups of 512");
    std::printf("tiles in turn instead of a counter, without look-back\n");
    time_ring<one_change<no_counter, copies_that_count>>("no counter", ANYTHING);
    std::printf("cache hints\n");
    time_ring<one_change<Cells, copies_evicted_first>>("loads evicted first");
    time_ring<one_change<Cells, vf_copies_by_lanes, streamed_work>>("stores evicted first");
    time_ring<one_change<Cells, copies_evicted_first, streamed_work>>("both");
    time_ring<one_change<no_look_back, copies_evicted_first, streamed_work>>("both, alone", ANYTHING);
    std::printf("one tile a thread block\n");
    time_block<8, 16, 4, Cells>();
    time_block<8, 16, 5, Cells>();
    time_block<8, 16, 3, vf_look_back<float, 16>>();
    time_block<12, 16, 2, Cells>();
    time_block<16, 16, 2, Cells>();
    time_block<4, 16, 8, Cells>();
}

/* Last: a mistake here would keep the program from ending. */
void time_bulk()
{
    typedef vf_look_back<float> Cells;
    std::printf("bulk copies into shared memory, a warp's piece each\n");
    time_ring<one_change<Cells, bulk_copies<24, 4>>>("scan");
    time_ring<one_change<no_look_back, bulk_copies<24, 4>>>("alone", ANYTHING);
    time_ring<one_change<Cells, bulk_copies<24, 4>, streamed_work>>("stores evicted first");
    time_ring<ring_shape<24, 8, 1, 8, 4, Cells, bulk_copies<24, 8>>>("scan");
    time_ring<ring_shape<16, 16, 1, 6, 3, Cells, bulk_copies<16, 6>>>("scan");
    time_ring<ring_shape<16, 16, 1, 6, 3, no_look_back, bulk_copies<16, 6>>>("alone", ANYTHING);
}

double time_memcpy()
{
    return time_of(RUNS, [&] { need(cudaMemcpyAsync(y, x, (size_t)n * sizeof *y, cudaMemcpyDeviceToDevice, stream)); });
}

} // namespace

int main(int argc, char **argv)
{
    const int log2 = argc > 1 ? std::atoi(argv[1]) : 28;
    int device = 0;
    if (log2 < 16 || log2 > 31) {
        std::printf("usage: tune_scan [LOG2 OF ELEMENTS], from 16 to 31\n");
        return 2;
    }
    n = (int64_t)1 << log2;
    tune_begin();
    need(cudaGetDevice(&device));
    need(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    float *elements = static_cast<float *>(allocate((size_t)n * sizeof *elements));
    x = elements;
    y = static_cast<float *>(allocate((size_t)n * sizeof *y));
    wrong = static_cast<unsigned long long *>(allocate(sizeof *wrong));
    scratch.bytes = vf_look_back<float, 16>::bytes(n / 1024 + 1); /* the smallest tile has 2,048 elements */
    scratch.memory = allocate(scratch.bytes);
    need(cudaMemsetAsync(wrong, 0, sizeof *wrong, stream));
    make_elements<<<16 * multiprocessors, 256, 0, stream>>>(elements, n);
    need(cudaGetLastError());
    copy_seconds = time_memcpy();
    print("cudaMemcpyAsync", copy_seconds, 0);
    time_bounds();
    time_splits();
    time_changes();
    time_bulk();
    print("cudaMemcpyAsync, again", time_memcpy(), 0);
    return failures > 0;
}
