/* The tuned sort on a GPU. */
#include "sort_launch.cuh"

namespace
{

template <typename K, typename V>
using tuned = vf_tuned_sort<K, V, vf_sort_tile_tuning<sizeof(K) + vf_has_value<V>::bytes>>;

typedef vf_cuda_sort<vf_tuned_launches, tuned, VF_BYTE_BITS> backend;

const char *const names[] = {"tuned", NULL};

} // namespace

extern "C" const vf_sort_ops vf_sort_ops_tuned = {
    {VF_DEVICE_CUDA, names}, backend::create, backend::destroy, backend::execute};
