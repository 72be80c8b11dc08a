#include "bench_nanoflann.h"

#include <nanoflann.hpp>

#include <new>

namespace
{

struct cloud {
    const float *points;
    size_t n;
    size_t kdtree_get_point_count() const
    {
        return n;
    }
    float kdtree_get_pt(size_t i, size_t axis) const
    {
        return points[3 * i + axis];
    }
    template <typename Box>
    bool kdtree_get_bbox(Box &) const
    {
        return false;
    }
};

typedef nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, cloud>, cloud, 3, int32_t> index_of;

} // namespace

struct bench_nanoflann {
    cloud points;
    index_of tree;
    bench_nanoflann(int64_t n, const float *x)
        : points{x, (size_t)n}, tree(3, points, nanoflann::KDTreeSingleIndexAdaptorParams(10))
    {
        tree.buildIndex();
    }
};

bool bench_has_nanoflann(void)
{
    return true;
}

bench_nanoflann *bench_nanoflann_create(int64_t n, const float *points)
try {
    return new bench_nanoflann(n, points);
} catch (const std::bad_alloc &) {
    return nullptr;
}

void bench_nanoflann_free(bench_nanoflann *tree)
{
    delete tree;
}

void bench_nanoflann_search(const bench_nanoflann *tree, int64_t m, const float *queries, int k, int32_t *index,
                            float *squared)
{
    for (int64_t i = 0; i < m; i++)
        tree->tree.knnSearch(queries + 3 * i, (size_t)k, index + i * k, squared + i * k);
}
