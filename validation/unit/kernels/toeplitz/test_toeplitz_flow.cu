/* What the Toeplitz multiplication's kernels of toeplitz_flow.cu share with this test and need no GPU for: transforms of few
 * numbers, the passes of a line through shared memory, and where thread blocks find their numbers. Threads run one after the other
 * between two barriers, and memory begins as NaN. Exit status 1 if anything is wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <complex>
#include <vector>

#include "random_fixture.h"
#include "toeplitz_tiles.cuh"

using namespace vf_toeplitz_gpu;

namespace
{

typedef std::complex<double> complex;

int failures;

#define CHECK(what, ...)                                                                                               \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("FAIL: line %d: ", __LINE__);                                                                       \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

template <typename T>
constexpr double unit()
{
    return sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
}

/* A bound of a pass' relative error in the 2-norm. Its matrix of R x R roots of unity has a norm of sqrt(R), and that of its
 * absolute values R: sums of R products err by at most sqrt(R) (R + 2) u of the result, in whichever order. Root and constants
 * add 2 u, the products with roots another 2 u; complex arithmetic doubles all (Higham, Accuracy and Stability of Numerical
 * Algorithms, lemma 3.5). */
template <typename T>
double pass_bound(int radix)
{
    return radix > 1 ? 2 * sqrt((double)radix) * (radix + 6) * unit<T>() : 0;
}

template <typename T>
number<T> random_number()
{
    return {(T)uniform_between(-1, 1), (T)uniform_between(-1, 1)};
}

/* |got - the transform of `in`| / |the transform|, over the first got.size() of in.size() results. Compare with !(<=): NaN. */
template <typename T>
double relative_error(const std::vector<number<T>> &in, const std::vector<number<T>> &got)
{
    const size_t length = in.size();
    double wrong = 0, size = 0;
    std::vector<complex> roots(length);
    for (size_t k = 0; k < length; k++)
        roots[k] = std::polar(1.0, -2 * M_PI * (double)k / (double)length);
    for (size_t k = 0; k < length; k++) {
        complex sum = 0;
        for (size_t n = 0; n < length; n++)
            sum += complex(in[n].re, in[n].im) * roots[n * k % length];
        size += std::norm(sum); /* of all: a bound in the norm says nothing about half of it alone */
        if (k < got.size())
            wrong += std::norm(sum - complex(got[k].re, got[k].im));
    }
    return sqrt(wrong / size);
}

template <typename T, int R>
void check_few()
{
    number<T> v[R];
    for (int n = 0; n < R; n++)
        v[n] = random_number<T>();
    const std::vector<number<T>> in(v, v + R);
    transform_few(v);
    /* Coprime factors and 9 = 3 x 3 are two passes, each shorter; their bounds add up to less. */
    const double error = relative_error(in, std::vector<number<T>>(v, v + R));
    CHECK(error <= pass_bound<T>(R), "%d numbers, %zu bytes: error %.2e", R, sizeof(T), error);
}

template <typename T>
void check_all_few()
{
    check_few<T, 2>(), check_few<T, 3>(), check_few<T, 4>(), check_few<T, 5>(), check_few<T, 6>(), check_few<T, 7>();
    check_few<T, 8>(), check_few<T, 9>(), check_few<T, 10>(), check_few<T, 12>(), check_few<T, 14>(),
        check_few<T, 15>();
    check_few<T, 16>(), check_few<T, 18>(), check_few<T, 20>();
}

/* Numbers of a line by index. *beyond: an index was wrong. */
template <typename T>
struct port {
    number<T> *numbers;
    int count;
    bool *beyond;

    __host__ __device__ number<T> operator()(int i, int after) const
    {
        if (i + after >= 0 && i + after < count)
            return numbers[i + after];
        *beyond = true;
        return {0, 0};
    }
    __host__ __device__ void operator()(int i, int after, number<T> v) const
    {
        if (i + after >= 0 && i + after < count)
            numbers[i + after] = v;
        else
            *beyond = true;
    }
};

/* tile_line::passes with radices A, B, C for all threads of a line, from load<A, HALF_IN> to store<C, HALF_OUT>. */
template <typename T, int LENGTH, bool ROWS>
struct line_of_threads {
    typedef tile_line<T, LENGTH, ROWS> line;
    enum { PITCH = ROWS ? 1 : 4, COLUMN = ROWS ? 0 : 3 };
    std::vector<number<T>> memory, roots;
    int threads;

    explicit line_of_threads(int more_threads)
        : memory((size_t)(ROWS ? (int)factors_of<LENGTH>::ROW_PITCH : LENGTH * PITCH), number<T>{(T)NAN, (T)NAN}),
          roots(line::F::ROOTS, number<T>{(T)NAN, (T)NAN}), threads(line::SHARED_BY + more_threads)
    {
        fill_roots<T, LENGTH>(roots.data());
    }
    line at(int thread)
    {
        return {memory.data() + COLUMN, thread, threads, PITCH, roots.data()};
    }
    template <int R>
    using all = std::vector<typename line::template held<R>>;

    template <int A, int B, int C, bool HALF_IN, bool HALF_OUT>
    std::vector<number<T>> run(std::vector<number<T>> in)
    {
        bool beyond = false;
        all<A> first((size_t)threads);
        all<B> middle((size_t)threads);
        all<C> last((size_t)threads);
        std::vector<number<T>> out(HALF_OUT ? LENGTH / 2 : LENGTH, number<T>{(T)NAN, (T)NAN});
        const port<T> from = {in.data(), (int)in.size(), &beyond}, to = {out.data(), (int)out.size(), &beyond};
        for (int t = 0; t < threads; t++) {
            at(t).template load<A, HALF_IN>(first[(size_t)t], from);
            at(t).template transform<A, 1, HALF_IN>(first[(size_t)t]);
            at(t).template scatter<A, 1>(first[(size_t)t]);
        }
        if constexpr (B > 1) {
            for (int t = 0; t < threads; t++) {
                at(t).template gather<B>(middle[(size_t)t]);
                at(t).template transform<B, A>(middle[(size_t)t]);
            }
            for (int t = 0; t < threads; t++)
                at(t).template scatter<B, A>(middle[(size_t)t]);
        }
        for (int t = 0; t < threads; t++) {
            at(t).template gather<C>(last[(size_t)t]);
            at(t).template transform<C, A * B>(last[(size_t)t]);
            at(t).template store<C, HALF_OUT>(last[(size_t)t], to);
        }
        CHECK(!beyond, "%d: an index beyond the line", LENGTH);
        return out;
    }
};

template <typename T, int LENGTH, bool ROWS>
void check_line(int more_threads)
{
    typedef factors_of<LENGTH> F;
    const int a = F::FIRST, b = F::MIDDLE, c = F::LAST;
    const double bound = pass_bound<T>(a) + pass_bound<T>(b) + pass_bound<T>(c);
    CHECK(a * b * c == LENGTH && a % 2 == 0, "%d = %d x %d x %d", LENGTH, a, b, c);
    CHECK((int)F::THREADS >= (int)F::ROW_THREADS, "%d: %d threads of a column, %d of a row", LENGTH, (int)F::THREADS,
          (int)F::ROW_THREADS);
    std::vector<number<T>> in(LENGTH);
    for (int n = 0; n < LENGTH; n++)
        in[(size_t)n] = random_number<T>();
    line_of_threads<T, LENGTH, ROWS> back(more_threads), there(more_threads);
    double error = relative_error(in, back.template run<F::LAST, F::MIDDLE, F::FIRST, false, true>(in));
    CHECK(error <= bound, "back, %d, %s: error %.2e > %.2e", LENGTH, ROWS ? "row" : "column", error, bound);
    for (int n = LENGTH / 2; n < LENGTH; n++)
        in[(size_t)n] = {0, 0};
    std::vector<number<T>> half(in.begin(), in.begin() + LENGTH / 2);
    error = relative_error(in, there.template run<F::FIRST, F::MIDDLE, F::LAST, true, false>(half));
    CHECK(error <= bound, "there, %d, %s: error %.2e > %.2e", LENGTH, ROWS ? "row" : "column", error, bound);
}

#define CHECK_LENGTH(n) check_line<double, n, true>(0);

/* Every length: the next one with code, which is never shorter. */
template <typename T>
void check_lengths()
{
    int last = 0;
    for (int n = 1; n <= 1100; n++) {
        const int length = flow_length<T>(n);
        CHECK(length == 0 ? n > last : length >= n && length >= last, "%d is padded to %d, the one before to %d", n,
              length, last);
        last = length ? length : last;
    }
    CHECK(last == (sizeof(T) == 4 ? 1024 : 512), "the longest is %d", last);
}

/* On the padded axis, r in (-N, N) lies at r modulo the length, and nothing else. */
void check_padding()
{
    for (int64_t count = 1; count < 40; count++)
        for (int64_t length = count > 1 ? 2 * count : 1; length < 3 * count; length++)
            for (int64_t at = 0; at < length; at++) {
                int64_t expected = -1;
                for (int64_t r = 1 - count; r < count; r++)
                    if ((r + length) % length == at)
                        expected = count > 1 ? r + count : 0;
                CHECK(padded_from(at, count, length) == expected, "%d of %d, %d voxels", (int)at, (int)length,
                      (int)count);
            }
}

/* Each row belongs to one thread block of `enter` and one of `leave`, and lines fit. */
void check_shapes()
{
    for (int k = 0; k < 2000; k++) {
        vf_flow_shape s = {};
        const int most = 1 + (int)uniform_between(0, 32);
        s.voxels[0] = 2 + (int)uniform_between(0, 500);
        s.voxels[1] = 2 + (int)uniform_between(0, 500);
        s.voxels[2] = k % 2 ? 1 : 2 + (int)uniform_between(0, 200);
        for (int a = 0; a < 3; a++)
            s.lengths[a] = flow_length<float>(2 * s.voxels[a == 2 && k % 2 ? 1 : a]);
        s.width = 4 << k % 3;
        s.arrays = 1 + (int)uniform_between(0, 32);
        vf_flow_complete(&s, most);
        CHECK(s.width == 1 << s.shift && s.tiles * s.width >= s.lengths[0] && (s.tiles - 1) * s.width < s.lengths[0],
              "%d tiles of %d for %d", s.tiles, s.width, s.lengths[0]);
        CHECK(s.row_groups * s.row_lines >= s.voxels[1] && (s.row_groups - 1) * s.row_lines < s.voxels[1],
              "%d x %d rows for %d", s.row_groups, s.row_lines, s.voxels[1]);
        CHECK(s.leave_groups * s.leave_rows >= s.voxels[1] && (s.leave_groups - 1) * s.leave_rows < s.voxels[1],
              "%d x %d rows for %d", s.leave_groups, s.leave_rows, s.voxels[1]);
        CHECK(s.leave_rows >= 1 && s.leave_rows * s.leave_lanes <= most, "%d x %d of %d lines", s.leave_rows,
              s.leave_lanes, most);
        CHECK(s.last == (k % 2 ? s.voxels[1] : s.voxels[2]) && s.turns == (k % 2 ? 1 : s.lengths[1]), "%d, %d", s.last,
              s.turns);
    }
}

} // namespace

int main()
{
    seed_random();
    check_all_few<float>();
    check_all_few<double>();
    VF_FLOW_LENGTHS(CHECK_LENGTH)
    check_line<float, 200, true>(0);
    check_line<float, 200, false>(0);
    check_line<double, 640, false>(0);
    check_line<float, 96, false>(16); /* as many threads as the longer columns of another axis need */
    check_lengths<float>();
    check_lengths<double>();
    check_padding();
    check_shapes();
    printf("%d failures\n", failures);
    return failures != 0;
}
