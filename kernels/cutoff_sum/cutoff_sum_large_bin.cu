/* The published kernel large-bin (cutoff_sum_published.cu). */
#include <stdlib.h>
#include <string.h>

#include "backend/constant_bank.cuh"
#include "cutoff_sum_published.cuh"

namespace vf_cutoff_gpu
{
namespace
{

enum { LARGE_THREADS = 128 }; /* of a block */

__constant__ __align__(16) unsigned char bank[VF_BANK_BYTES];
vf_constant_bank bank_users = {"cutoff sum"};

template <typename T, int LAW>
__global__ void __launch_bounds__(LARGE_THREADS) large_bin(const sum_task<T> task, int count, T *out)
{
    const atom<T> *atoms = reinterpret_cast<const atom<T> *>(bank);
    const int64_t i = (int64_t)blockIdx.x * LARGE_THREADS + threadIdx.x;
    if (i >= task.n[0] * task.n[1] * task.n[2])
        return;
    const int64_t at[3] = {task.from[0] + i % task.n[0], task.from[1] + i / task.n[0] % task.n[1],
                           task.from[2] + i / task.n[0] / task.n[1]};
    const T x = (T)at[0] * task.spacing[0], y = (T)at[1] * task.spacing[1], z = (T)at[2] * task.spacing[2];
    T sum = 0;
    for (int a = 0; a < count; a++)
        sum += term<T, LAW>(task.law, atoms[a], x, y, z);
    put(task, at, sum, out);
}

template <typename T>
bool sort_atoms(const vf_cutoff *plan, published_state *s, int64_t bins)
{
    int64_t *first = s->first = published_count(plan, bins);
    atom<T> *atoms = static_cast<atom<T> *>(malloc((size_t)(plan->count + 1) * sizeof *atoms));
    int64_t *next = static_cast<int64_t *>(malloc((size_t)bins * sizeof *next));
    s->atoms = atoms;
    if (first && atoms && next) {
        for (int64_t b = 0; b < bins; b++)
            first[b + 1] += first[b];
        memcpy(next, first, (size_t)bins * sizeof *next);
        for (int64_t i = 0; i < plan->count; i++)
            atoms[next[published_bin(plan, i)]++] = atom_of<T>(plan, i);
    }
    const bool made = first && atoms && next;
    free(next);
    return made;
}

template <typename T>
void launch_large(const sum_task<T> &task, int count, cudaStream_t stream, T *out)
{
    const unsigned blocks = vf_blocks_for(task.n[0] * task.n[1] * task.n[2], LARGE_THREADS);
    if (task.law.windowed)
        large_bin<T, LAW_WINDOWED><<<blocks, LARGE_THREADS, 0, stream>>>(task, count, out);
    else if (task.law.degree > 0)
        large_bin<T, LAW_ANY><<<blocks, LARGE_THREADS, 0, stream>>>(task, count, out);
    else if (task.law.coefficient[0] != 0)
        large_bin<T, 0><<<blocks, LARGE_THREADS, 0, stream>>>(task, count, out);
    else
        large_bin<T, LAW_PLAIN><<<blocks, LARGE_THREADS, 0, stream>>>(task, count, out);
}

/* Copies the atoms in `chosen` to the bank, and adds their terms. */
template <typename T>
cudaError_t add_chunk(sum_task<T> *task, const atom<T> *chosen, int count, cudaStream_t stream, T *out)
{
    const cudaError_t error = count > 0 ? cudaMemcpyToSymbolAsync(bank, chosen, (size_t)count * sizeof *chosen, 0,
                                                                  cudaMemcpyHostToDevice, stream)
                                        : cudaSuccess;
    if (error != cudaSuccess)
        return error;
    launch_large(*task, count, stream, out);
    task->add = true; /* the next chunk */
    return cudaGetLastError();
}

/* A subvolume, by its bin without the layers around; of it, the points of the box. All atoms that can be near any of its
 * points, whatever the box, so that a point's sum does not depend on the box. */
template <typename T>
cudaError_t compute_subvolume(const vf_cutoff *plan, const int64_t at[3], sum_task<T> task, cudaStream_t stream,
                              atom<T> *chosen, T *out)
{
    enum { MOST = VF_BANK_BYTES / (int)sizeof(atom<T>) };
    const published_state *s = static_cast<const published_state *>(plan->state);
    const atom<T> *atoms = static_cast<const atom<T> *>(s->atoms);
    T lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        const double begin = (double)(at[a] * s->edge[a]), h = plan->grid.spacing[a],
                     rc = 1.0001 * plan->options.cutoff;
        lo[a] = (T)(begin * h - rc);
        hi[a] = (T)((begin + (double)s->edge[a] - 1) * h + rc);
        task.from[a] = at[a] * s->edge[a] > task.lo[a] ? at[a] * s->edge[a] : task.lo[a];
        task.n[a] = ((at[a] + 1) * s->edge[a] < task.hi[a] ? (at[a] + 1) * s->edge[a] : task.hi[a]) - task.from[a];
    }
    int count = 0;
    bool launched = false;
    cudaError_t error = cudaSuccess;
    for (int64_t z = at[2]; z <= at[2] + 2 * s->layers[2]; z++)
        for (int64_t y = at[1]; y <= at[1] + 2 * s->layers[1]; y++) {
            const int64_t row = (z * s->bins[1] + y) * s->bins[0] + at[0];
            for (int64_t i = s->first[row]; i < s->first[row + 2 * s->layers[0] + 1] && error == cudaSuccess; i++) {
                const atom<T> a = atoms[i];
                if (a.x < lo[0] || a.x > hi[0] || a.y < lo[1] || a.y > hi[1] || a.z < lo[2] || a.z > hi[2])
                    continue;
                chosen[count++] = a;
                if (count < MOST)
                    continue;
                error = add_chunk(&task, chosen, count, stream, out);
                launched = true;
                count = 0;
            }
        }
    return error == cudaSuccess && (count > 0 || !launched) ? add_chunk(&task, chosen, count, stream, out) : error;
}

template <typename T>
vf_status execute_large(const vf_cutoff *plan, cudaStream_t stream, const sum_task<T> &task, T *out)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    atom<T> *chosen = static_cast<atom<T> *>(malloc(VF_BANK_BYTES));
    if (!chosen)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a bank of atoms");
    const cudaError_t error = vf_bank_use(&bank_users, plan->device, stream, [&] {
        cudaError_t failed = cudaSuccess;
        int64_t at[3];
        for (at[2] = task.lo[2] / s->edge[2]; at[2] <= (task.hi[2] - 1) / s->edge[2]; at[2]++)
            for (at[1] = task.lo[1] / s->edge[1]; at[1] <= (task.hi[1] - 1) / s->edge[1]; at[1]++)
                for (at[0] = task.lo[0] / s->edge[0]; at[0] <= (task.hi[0] - 1) / s->edge[0]; at[0]++)
                    if (failed == cudaSuccess)
                        failed = compute_subvolume<T>(plan, at, task, stream, chosen, out);
        return failed;
    });
    free(chosen);
    return vf_cuda_check(plan->device, error, "the cutoff sum from constant memory");
}

} // namespace

vf_status large_create(vf_cutoff *plan, int64_t bins)
{
    published_state *s = static_cast<published_state *>(plan->state);
    const vf_status status = vf_bank_open(&bank_users, plan->device);
    s->uses_bank = status == VF_OK;
    if (status != VF_OK)
        return status;
    if (!(plan->options.precision == VF_F64 ? sort_atoms<double>(plan, s, bins) : sort_atoms<float>(plan, s, bins)))
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                       "not enough memory for %lld charges in %lld bins", (long long)plan->count, (long long)bins);
    return VF_OK;
}

vf_status large_execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    return plan->options.precision == VF_F64
               ? execute_large(plan, stream_of(queue), make_task<double>(plan, box, add), static_cast<double *>(out))
               : execute_large(plan, stream_of(queue), make_task<float>(plan, box, add), static_cast<float *>(out));
}

void large_destroy(vf_cutoff *plan)
{
    published_state *s = static_cast<published_state *>(plan->state);
    if (s->uses_bank)
        vf_bank_close(&bank_users, plan->device);
    free(s->first);
    free(s->atoms);
}

} // namespace vf_cutoff_gpu
