/* Nearest neighbours on a GPU, in the left-balanced tree: a thread for each query, with a stack in shared memory, as
 * published (kd_tree.h). The plan's points are searched in the order of the nodes, so that threads of a warp have near
 * queries. Departures from the publication:
 *
 * - A block has whole warps, as today's GPUs have room for: the publication's has 4 to 10 threads.
 * - Distances are compared squared. A node at the distance of the farthest neighbour so far is still visited, because of
 *   equal distances.
 * - A stack's entry is the node and the squared distance of the plane in front of it, 0 for an onside child. The axis
 *   follows from the node's level.
 * - The heap of neighbours begins full of keys that are farther than any point, so there is no phase that fills it.
 * - Threads beyond the last query end at once. No barrier needs them. */
#include <stdlib.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "kd_tree.h"
#include "neighbour_keys.h"

namespace
{

/* Threads of a block. Shared memory of one: an entry of 8 bytes for each level of the tree, at most 31, and one more; and
 * 8 bytes for each of up to 32 neighbours, if more than one is searched. So a block has at most 16 KiB, which every GPU
 * allows. */
enum { SINGLE_THREADS = 64, HEAP_THREADS = 32 };

struct cuda_state {
    vf_array nodes, remap;
    int levels;
};

struct visit {
    uint32_t node;
    float bound;
};

template <int dimensions>
struct tree_view {
    const float *nodes;
    const int32_t *remap;
    uint32_t n;
};

/* The coordinates of a node, with one aligned load. */
__device__ inline void load_node(const tree_view<2> &tree, uint32_t node, float *p)
{
    const float2 x = reinterpret_cast<const float2 *>(tree.nodes)[node];
    p[0] = x.x;
    p[1] = x.y;
}

template <int dimensions>
__device__ inline void load_node(const tree_view<dimensions> &tree, uint32_t node, float *p)
{
    const float4 x = reinterpret_cast<const float4 *>(tree.nodes)[node];
    p[0] = x.x;
    p[1] = x.y;
    p[2] = x.z;
    if (dimensions == 4)
        p[dimensions - 1] = x.w;
}

/* q[axis] without indexing, which would put q into local memory. */
template <int dimensions>
__device__ inline float along(const float *q, int axis)
{
    float x = q[0];
    for (int a = 1; a < dimensions; a++)
        x = axis == a ? q[a] : x;
    return x;
}

/* The nearest key so far, in a register. */
struct single_best {
    vf_neighbour_key best;
    __device__ vf_neighbour_key farthest() const
    {
        return best;
    }
    __device__ void replace(vf_neighbour_key key)
    {
        best = key;
    }
};

/* The k nearest keys so far, in shared memory. */
struct heap_of_best {
    vf_neighbour_key *heap;
    int stride, k;
    __device__ vf_neighbour_key farthest() const
    {
        return heap[0];
    }
    __device__ void replace(vf_neighbour_key key)
    {
        vf_heap_replace(heap, stride, k, key);
    }
};

/* The stack of a thread: entry i at stack[i * blockDim.x]. A node is taken and at most two are put back, its children,
 * so there are at most levels + 1 entries. */
template <int dimensions, typename Best>
__device__ void search_tree(const tree_view<dimensions> &tree, const float *q, uint32_t self, visit *stack, Best &best)
{
    int used = 0;
    if (tree.n > 0)
        stack[blockDim.x * used++] = {1, 0};
    while (used > 0) {
        const visit v = stack[blockDim.x * --used];
        if (!vf_may_be_nearer(v.bound, best.farthest()))
            continue;
        float p[dimensions];
        load_node(tree, v.node, p);
        const float squared = vf_squared_distance(dimensions, q, p);
        if (vf_may_be_nearer(squared, best.farthest())) {
            const vf_neighbour_key key = vf_key_of(squared, (uint32_t)tree.remap[v.node]);
            if (key < best.farthest() && (uint32_t)key != self)
                best.replace(key);
        }
        const int axis = (31 - __clz((int)v.node)) % dimensions;
        const float plane = vf_difference(along<dimensions>(q, axis), along<dimensions>(p, axis));
        const float bound = vf_add_square(0, plane);
        const uint32_t onside = 2 * v.node + (plane > 0), offside = onside ^ 1;
        if (offside <= tree.n && vf_may_be_nearer(bound, best.farthest()))
            stack[blockDim.x * used++] = {offside, bound};
        if (onside <= tree.n)
            stack[blockDim.x * used++] = {onside, 0};
    }
}

/* The query of a thread, and where its result belongs: the queries' order, or for the tree's points the caller's. */
template <int dimensions>
__device__ int64_t load_query(const tree_view<dimensions> &tree, const vf_neighbour_search &s, int64_t i, float *q)
{
    if (!s.queries) {
        load_node(tree, (uint32_t)i + 1, q);
        return tree.remap[i + 1];
    }
    for (int a = 0; a < dimensions; a++)
        q[a] = s.queries[i * dimensions + a];
    return i;
}

__device__ inline void store(const vf_neighbour_search &s, int64_t to, vf_neighbour_key key, bool can)
{
    s.index[to] = vf_key_index(key);
    s.squared[to] = can ? vf_key_squared(key) : nanf("");
}

template <int dimensions>
__global__ void __launch_bounds__(SINGLE_THREADS) find_nearest(tree_view<dimensions> tree, vf_neighbour_search s)
{
    extern __shared__ uint64_t memory[];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    float q[dimensions];
    if (i >= s.count)
        return;
    const int64_t to = load_query(tree, s, i, q);
    const bool can = vf_can_search(dimensions, q);
    single_best best = {VF_NO_NEIGHBOUR};
    if (can)
        search_tree(tree, q, s.queries ? VF_NOBODY : (uint32_t)to, reinterpret_cast<visit *>(memory) + threadIdx.x,
                    best);
    store(s, to, best.best, can);
}

template <int dimensions>
__global__ void __launch_bounds__(HEAP_THREADS) find_k_nearest(tree_view<dimensions> tree, vf_neighbour_search s)
{
    extern __shared__ uint64_t memory[];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    vf_neighbour_key *heap = memory + threadIdx.x;
    float q[dimensions];
    if (i >= s.count)
        return;
    const int64_t to = load_query(tree, s, i, q);
    const bool can = vf_can_search(dimensions, q);
    const int stride = (int)blockDim.x;
    for (int j = 0; j < s.k; j++)
        heap[j * stride] = VF_NO_NEIGHBOUR;
    heap_of_best best = {heap, stride, s.k};
    if (can)
        search_tree(tree, q, s.queries ? VF_NOBODY : (uint32_t)to,
                    reinterpret_cast<visit *>(memory + s.k * stride) + threadIdx.x, best);
    vf_heap_sort(heap, stride, s.k);
    for (int j = 0; j < s.k; j++)
        store(s, to * s.k + j, heap[j * stride], can);
}

template <int dimensions>
cudaError_t launch(const vf_neighbours *plan, const vf_neighbour_search &s, cudaStream_t stream)
{
    static_assert(sizeof(visit) == sizeof(uint64_t), "an entry of the stack takes as much as a key");
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const tree_view<dimensions> tree = {static_cast<const float *>(state->nodes.data),
                                        static_cast<const int32_t *>(state->remap.data), (uint32_t)plan->n};
    const size_t stack = (size_t)(state->levels + 1) * sizeof(visit);
    if (s.k == 1)
        find_nearest<dimensions>
            <<<vf_blocks_for(s.count, SINGLE_THREADS), SINGLE_THREADS, SINGLE_THREADS * stack, stream>>>(tree, s);
    else
        find_k_nearest<dimensions><<<vf_blocks_for(s.count, HEAP_THREADS), HEAP_THREADS,
                                     HEAP_THREADS *(stack + (size_t)s.k * sizeof(vf_neighbour_key)), stream>>>(tree, s);
    return cudaGetLastError();
}

const char *const names[] = {"kd-tree", NULL};

vf_status upload(vf_neighbours *plan, const vf_kd_tree *tree, cuda_state *state)
{
    const int64_t places = tree->n + 1;
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    while (status == VF_OK && tree->n >> state->levels)
        state->levels++;
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, places * tree->width, &state->nodes);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I32, places, &state->remap);
    if (status == VF_OK)
        status = VF_CUDA(plan->device, vf_cuda_upload(state->nodes.data, tree->nodes,
                                                      (size_t)(places * tree->width) * sizeof *tree->nodes));
    if (status == VF_OK)
        status =
            VF_CUDA(plan->device, vf_cuda_upload(state->remap.data, tree->remap, (size_t)places * sizeof *tree->remap));
    return status;
}

vf_status create(vf_neighbours *plan, const float *points)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    vf_kd_tree tree;
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a k-d tree");
    vf_status status = vf_kd_tree_create(plan, points, &tree);
    if (status == VF_OK)
        status = upload(plan, &tree, state);
    vf_kd_tree_free(&tree);
    return status;
}

void destroy(vf_neighbours *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    if (!state)
        return;
    vf_array_free(&state->nodes);
    vf_array_free(&state->remap);
    free(state);
}

vf_status search(const vf_neighbours *plan, vf_queue *queue, const vf_neighbour_search *s)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    const cudaError_t error = plan->dimensions == 2   ? launch<2>(plan, *s, stream)
                              : plan->dimensions == 3 ? launch<3>(plan, *s, stream)
                                                      : launch<4>(plan, *s, stream);
    return vf_cuda_check(plan->device, error, "a search for neighbours");
}

} // namespace

extern "C" const vf_neighbours_ops vf_neighbours_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, search};
