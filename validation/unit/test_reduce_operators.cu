/* The templates of reductions and scans on a GPU with operators that do not commute, products of matrices and
 * compositions of affine maps, of integers that wrap, so that the results are exact: a wrong order of the operands
 * shows. Several shapes, lengths and alignments; sentinels around what is written. Run as `test_reduce_operators
 * [MOST]`, MOST elements in an array; exit status 77 without a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "random_fixture.h"
#include "scan/scan_runs.cuh"
#include "scan/scan_tiles.cuh"

namespace
{

int failures, shapes_without_room;
int64_t most_elements = INT64_MAX;

#define CHECK(...)                                                                                                     \
    do {                                                                                                               \
        if (!(__VA_ARGS__)) {                                                                                          \
            printf("FAIL: line %d: %s\n", __LINE__, #__VA_ARGS__);                                                     \
            failures++;                                                                                                \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)
#define CUDA(...) CHECK(check((__VA_ARGS__), #__VA_ARGS__))

bool check(cudaError_t error, const char *call)
{
    if (error != cudaSuccess)
        printf("%s: %s\n", call, cudaGetErrorString(error));
    return error == cudaSuccess;
}

unsigned random_word()
{
    return (unsigned)random_bits();
}

/* ---- operators ---- */

struct matrix {
    unsigned a, b, c, d;
};

struct product {
    typedef matrix State;

    __host__ __device__ static State identity()
    {
        return {1, 0, 0, 1};
    }
    __host__ __device__ static State combine(const State &p, const State &q)
    {
        return {p.a * q.a + p.b * q.c, p.a * q.b + p.b * q.d, p.c * q.a + p.d * q.c, p.c * q.b + p.d * q.d};
    }
    /* Odd determinants: products do not come to nothing. */
    static State random()
    {
        return {random_word() | 1, random_word() & ~1u, random_word(), random_word() | 1};
    }
};

/* x -> slope x + shift, the first map first. */
struct map {
    unsigned slope, shift;
};

struct composition {
    typedef map State;

    __host__ __device__ static State identity()
    {
        return {1, 0};
    }
    __host__ __device__ static State combine(const State &f, const State &g)
    {
        return {f.slope * g.slope, g.slope * f.shift + g.shift};
    }
    static State random()
    {
        return {random_word() | 1, random_word()};
    }
};

/* With segments: a head forgets what came before. */
template <typename Op>
struct segmented {
    struct State {
        typename Op::State value;
        unsigned flag, unused;
    };

    __host__ __device__ static State identity()
    {
        return {Op::identity(), 0, 0};
    }
    __host__ __device__ static State combine(const State &a, const State &b)
    {
        return {b.flag ? b.value : Op::combine(a.value, b.value), a.flag | b.flag, 0};
    }
};

/* What all works have: elements E, a flag for each if there are segments. */
template <typename Op, typename E, bool segments>
struct any_work : Op {
    typedef E Element;
    typedef E Out;
    static constexpr bool SEGMENTED = segments, COMMUTES = false;
    const Element *x;
    const uint8_t *head;
    bool aligned;

    static constexpr int vector(int nWork)
    {
        return vf_vector_of<Element>(nWork);
    }
};

template <typename Op, bool exclusive = false>
struct plain_work : any_work<Op, typename Op::State, false> {
    typedef typename Op::State State;
    static constexpr bool EXCLUSIVE = exclusive;

    __device__ static State blank()
    {
        return Op::identity();
    }
    __device__ static State start(const State &e, bool)
    {
        return e;
    }
    __device__ static State value(const State &s)
    {
        return s;
    }
    __device__ static State value_before(const State &before, bool)
    {
        return before;
    }
};

template <typename Op>
struct reduce_work : plain_work<Op> {
    typename Op::State *result;

    __device__ void finish(const typename Op::State &s) const
    {
        *result = s;
    }
};

template <typename Op, bool exclusive>
struct scan_work : plain_work<Op, exclusive> {
    typename Op::State *y;
};

template <typename Op, bool exclusive>
struct segmented_work : any_work<segmented<Op>, typename Op::State, true> {
    typedef typename segmented<Op>::State State;
    typedef typename Op::State Out;
    static constexpr bool EXCLUSIVE = exclusive;
    Out *y;

    __device__ static Out blank()
    {
        return Op::identity();
    }
    __device__ static State start(const Out &e, bool is_head)
    {
        return {e, is_head, 0};
    }
    __device__ static Out value(const State &s)
    {
        return s.value;
    }
    __device__ static Out value_before(const State &before, bool is_head)
    {
        return is_head ? Op::identity() : before.value;
    }
};

/* ---- arrays ---- */

enum { GUARD = 64, SENTINEL = 0xA5 };

/* n elements that begin `offset` elements after a line, between sentinels. */
template <typename T>
struct placed {
    int64_t n = 0, from = 0;
    T *all = nullptr;

    cudaError_t create(int64_t count, int64_t offset, const T *host)
    {
        n = count;
        from = 128 + offset;
        cudaFree(all);
        all = nullptr;
        std::vector<unsigned char> image((size_t)(from + n + GUARD) * sizeof(T), (unsigned char)SENTINEL);
        if (host && n > 0)
            memcpy(image.data() + (size_t)from * sizeof(T), host, (size_t)n * sizeof(T));
        const cudaError_t error = cudaMalloc(&all, image.size());
        return error == cudaSuccess ? cudaMemcpy(all, image.data(), image.size(), cudaMemcpyHostToDevice) : error;
    }
    T *data() const
    {
        return all + from;
    }
    /* The elements; `clean`: whether nothing around them was written. */
    std::vector<T> fetch(bool *clean) const
    {
        std::vector<unsigned char> image((size_t)(from + n + GUARD) * sizeof(T));
        std::vector<T> host((size_t)n);
        *clean = check(cudaMemcpy(image.data(), all, image.size(), cudaMemcpyDeviceToHost), "copying back");
        const size_t begin = (size_t)from * sizeof(T), end = begin + (size_t)n * sizeof(T);
        for (size_t i = 0; i < image.size(); i++)
            *clean = *clean && ((i >= begin && i < end) || image[i] == SENTINEL);
        if (n > 0)
            memcpy(host.data(), image.data() + begin, end - begin);
        return host;
    }
    ~placed()
    {
        cudaFree(all);
    }
};

template <typename T>
bool same(const T &a, const T &b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

template <typename Op>
std::vector<typename Op::State> random_elements(int64_t n)
{
    std::vector<typename Op::State> x((size_t)n);
    for (auto &e : x)
        e = Op::random();
    return x;
}

const int64_t sizes[] = {0, 1, 31, 32, 33, 255, 257, 1001, 4095, 4096, 4097, 33000, 300007, 1048579};

/* ---- reductions ---- */

template <typename Tuning, typename Op>
void reduce_case(int64_t n, int64_t offset, bool from_0)
{
    typedef typename Op::State T;
    typedef reduce_work<Op> Work;
    const std::vector<T> x = random_elements<Op>(n);
    T want = Op::identity();
    for (const T &e : x)
        want = Op::combine(want, e);
    placed<T> px, result;
    CUDA(px.create(n, offset, x.data()));
    CUDA(result.create(1, 0, nullptr));
    vf_launch launch = {};
    CUDA(vf_find_rows<Tuning, Work>(&launch));
    placed<unsigned char> scratch;
    const std::vector<unsigned char> zeros(vf_partials_bytes<T>(launch));
    CUDA(scratch.create((int64_t)zeros.size(), 0, zeros.data()));
    Work work;
    work.x = px.data();
    work.head = nullptr;
    work.result = result.data();
    const vf_range range = from_0 ? vf_range_from_0(n) : vf_range_at(work.x, n);
    work.aligned = vf_is_aligned(work.x, range, Work::vector(launch.work));
    for (int again = 0; again < 2; again++) { /* the ticket is left as it was found */
        vf_reduce_rows<Tuning, Work><<<vf_count_thread_blocks(launch, range), launch.threads>>>(
            work, range, vf_partials_in<T>(scratch.data(), launch));
        CUDA(cudaGetLastError());
        CUDA(cudaDeviceSynchronize());
        bool clean, clean_scratch;
        const T got = result.fetch(&clean)[0];
        scratch.fetch(&clean_scratch);
        CHECK(clean && clean_scratch);
        CHECK(same(got, want));
    }
}

/* ---- scans ---- */

template <typename Tuning, typename Work, typename Op>
void scan_case(int64_t n, int64_t offset, bool three_kernel)
{
    typedef typename Op::State T;
    if (n == 0)
        return;
    const std::vector<T> x = random_elements<Op>(n);
    std::vector<uint8_t> head((size_t)n);
    std::vector<T> want((size_t)n);
    const unsigned rare = 1u << (random_word() % 14);
    T sum = Op::identity();
    for (int64_t i = 0; i < n; i++) {
        head[i] = random_word() % rare == 0 ? (uint8_t)(1 + random_word() % 255) : 0;
        if (Work::SEGMENTED && head[i])
            sum = Op::identity();
        if (Work::EXCLUSIVE)
            want[i] = sum;
        sum = Op::combine(sum, x[i]);
        if (!Work::EXCLUSIVE)
            want[i] = sum;
    }
    placed<T> px, py;
    placed<uint8_t> ph;
    CUDA(px.create(n, offset, x.data()));
    CUDA(ph.create(n, offset / 2, head.data()));
    vf_launch launch = {};
    if (!three_kernel && vf_find_single_pass<Tuning, Work>(&launch) == cudaErrorInvalidValue) {
        (void)cudaGetLastError(); /* this GPU has not so much shared memory */
        shapes_without_room++;
        return;
    }
    CUDA(three_kernel ? vf_find_three_kernel<Tuning, Work>(&launch) : vf_find_single_pass<Tuning, Work>(&launch));
    Work work;
    work.x = px.data();
    work.head = ph.data();
    const vf_range range = vf_range_at(work.x, n);
    const int V = Work::vector(launch.work);
    placed<unsigned char> memory;
    const std::vector<unsigned char> zeros(three_kernel ? vf_scan_runs_bytes<Work>(launch)
                                                        : vf_scan_tiles_bytes<Work>(launch, range));
    CUDA(memory.create((int64_t)zeros.size(), 0, zeros.data()));
    vf_scan_scratch scratch = {memory.data(), zeros.size(), 0, 0};
    for (int again = 0; again < 3; again++) { /* what a launch leaves in the scratch memory does not harm the next */
        if (again == 2) {                     /* nor when the numbers of launches begin anew */
            if (three_kernel)
                break;
            scratch.launches = UINT32_MAX;
        }
        const int64_t m = again == 1 ? n : integer_between(1, n);
        const vf_range part = {m, range.lead};
        CUDA(py.create(n, offset % 3, nullptr));
        work.y = py.data();
        work.aligned = vf_is_aligned(work.x, range, V) && vf_is_aligned(work.y, range, V) &&
                       (!Work::SEGMENTED || vf_is_aligned(work.head, range, V));
        CUDA(three_kernel ? vf_scan_three_kernel<Tuning>(launch, 0, work, part, &scratch)
                          : vf_scan_single_pass<Tuning>(launch, 0, work, part, &scratch));
        CUDA(cudaDeviceSynchronize());
        bool clean, clean_scratch;
        const std::vector<T> got = py.fetch(&clean);
        memory.fetch(&clean_scratch);
        CHECK(clean && clean_scratch);
        T sentinel;
        memset(&sentinel, SENTINEL, sizeof sentinel);
        for (int64_t i = 0; i < n; i++)
            if (!same(got[i], i < m ? want[i] : sentinel)) {
                printf("FAIL: scan of %lld, %d threads, %d elements a thread, %s, launch %d: element %lld is wrong\n",
                       (long long)m, launch.threads, launch.work, three_kernel ? "three-kernel" : "single-pass", again,
                       (long long)i);
                failures++;
                return;
            }
    }
}

template <typename Tuning, typename Op>
void all_sizes()
{
    static const int64_t offsets[] = {0, 1, 3, 7};
    for (const int64_t n : sizes)
        for (const int64_t offset : offsets) {
            if (n > most_elements || (n > 100000 && offset > 1))
                continue;
            reduce_case<Tuning, Op>(n, offset, false);
            reduce_case<Tuning, Op>(n, offset, true);
            for (int three_kernel = 0; three_kernel < 2; three_kernel++) {
                scan_case<Tuning, scan_work<Op, false>, Op>(n, offset, three_kernel);
                scan_case<Tuning, scan_work<Op, true>, Op>(n, offset, three_kernel);
                scan_case<Tuning, segmented_work<Op, false>, Op>(n, offset, three_kernel);
                scan_case<Tuning, segmented_work<Op, true>, Op>(n, offset, three_kernel);
            }
        }
}

/* One warp alone; odd numbers of elements a thread; the shapes of tables; many warps. */
template <typename Op>
void all_shapes()
{
    all_sizes<vf_fixed_tuning<1, 1>, Op>();
    all_sizes<vf_fixed_tuning<3, 5, 2>, Op>();
    all_sizes<vf_fixed_tuning<8, 4>, Op>();
    all_sizes<vf_fixed_tuning<16, 2, 2>, Op>();
    if constexpr (sizeof(typename Op::State) == 8) {
        all_sizes<vf_fixed_tuning<4, 16, 2>, Op>();
        all_sizes<vf_fixed_tuning<24, 16, 1>, Op>(); /* few stages of a single pass: 2 on an H200 */
        all_sizes<vf_fixed_tuning<16, 16, 1>, Op>();
    }
}

} // namespace

int main(int argc, char **argv)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("SKIP: no GPU\n");
        return 77;
    }
    if (argc > 1)
        most_elements = strtoll(argv[1], NULL, 10);
    all_shapes<composition>();
    printf("affine maps: %d failures\n", failures);
    all_shapes<product>();
    printf("with matrices: %d failures\n", failures);
    if (shapes_without_room > 0)
        printf("%d single passes left out: not enough shared memory\n", shapes_without_room);
    return failures != 0;
}
