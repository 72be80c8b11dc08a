#include "bench_sort_peers.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <thread>

namespace
{

/* How many of the first k numbers of the merged result come from a [n]; the others come from b [m]. */
template <typename T, typename Less>
int64_t split(const T *a, int64_t n, const T *b, int64_t m, int64_t k, const Less &less)
{
    int64_t low = k > m ? k - m : 0, high = k < n ? k : n;
    while (low < high) {
        const int64_t i = (low + high) / 2;
        if (less(b[k - i - 1], a[i]))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

template <typename T, typename Less>
void *sort(int threads, int64_t n, void *memory, void *other, const Less &less)
{
    T *x = static_cast<T *>(memory), *to = static_cast<T *>(other);
    const auto sort_part = [](T *from, int64_t count) { hwy::Sorter()(from, (size_t)count, hwy::SortAscending()); };
    if (threads == 1) {
        sort_part(x, n);
        return x;
    }
    const int64_t half = n / 2;
    std::thread second(sort_part, x + half, n - half);
    sort_part(x, half);
    second.join();
    const int64_t from_first = split(x, half, x + half, n - half, half, less);
    const auto merge_upper = [=] {
        std::merge(x + from_first, x + half, x + 2 * half - from_first, x + n, to + half, less);
    };
    std::thread upper(merge_upper);
    std::merge(x, x + from_first, x + half, x + 2 * half - from_first, to, less);
    upper.join();
    return to;
}

template <typename T>
void *sort_numbers(int threads, int64_t n, void *x, void *to)
{
    return sort<T>(threads, n, x, to, [](T a, T b) { return a < b; });
}

} // namespace

extern "C" bool bench_has_vqsort(void)
{
    return true;
}

extern "C" void *bench_vqsort(bench_sort_type type, int threads, int64_t n, void *x, void *to)
{
    switch (type) {
    case SORT_KEYS_U32:
        return sort_numbers<uint32_t>(threads, n, x, to);
    case SORT_KEYS_F32:
        return sort_numbers<float>(threads, n, x, to);
    case SORT_PAIRS_64:
        return sort<hwy::uint128_t>(threads, n, x, to, [](const hwy::uint128_t &a, const hwy::uint128_t &b) {
            return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
        });
    default:
        return sort_numbers<uint64_t>(threads, n, x, to);
    }
}
