/* The published cutoff kernels, as they are described: Rodrigues, Hardy, Stone, Schulten and Hwu, "GPU acceleration of
 * cutoff pair potentials for molecular modeling applications", CF '08; Kirk and Hwu, Programming Massively Parallel
 * Processors, 2010, section 10.3. They are the reference that shows what the tuned kernel gains.
 *
 * - large-bin: a launch computes a subvolume. Before it, the CPU copies all atoms that can be within the cutoff of its
 *   points to constant memory; every thread examines all of them, for one point.
 * - small-bin: bins of equal capacity in global memory, filled up with atoms of charge 0. A block of threads loads the
 *   bins around its points into shared memory, many at a time, and every thread examines all of them, for one point.
 *   Atoms beyond the capacity are in an overflow list, which the host sums after the kernel (variant "scatter").
 * - small-bin-overlap: a launch a subvolume, a layer of blocks or some. The host sums the overflow of one while the GPU
 *   computes the next.
 *
 * Ours, where the publications say nothing or our contract differs: sizes; the choice of the capacity; bins whose
 * distance exceeds the cutoff are left out; the values stay on the GPU, so the host's sums go there to be added (the
 * publication's host adds them to values that have come back). All laws, in both precisions. */
#include <stdlib.h>
#include <string.h>

#include "backend/constant_bank.cuh" /* its size */
#include "cutoff_sum_published.cuh"

namespace vf_cutoff_gpu
{

int64_t published_bin(const vf_cutoff *plan, int64_t i)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    const double p[3] = {plan->x[i], plan->y[i], plan->z[i]};
    int64_t bin = 0;
    for (int a = 2; a >= 0; a--) {
        const double width = plan->grid.spacing[a] * (double)s->edge[a];
        const int64_t at = (int64_t)floor((p[a] - plan->grid.origin[a]) / width) + s->layers[a];
        bin = bin * s->bins[a] + (at < 0 ? 0 : at >= s->bins[a] ? s->bins[a] - 1 : at);
    }
    return bin;
}

int64_t *published_count(const vf_cutoff *plan, int64_t bins)
{
    int64_t *first = static_cast<int64_t *>(calloc((size_t)bins + 1, sizeof *first));
    for (int64_t i = 0; first && i < plan->count; i++)
        first[published_bin(plan, i) + 1]++;
    return first;
}

namespace
{

enum { LARGE_LEAST = 4, LARGE_MOST = 64 }; /* points along the edge of a subvolume of large-bin */

/* Sets plan->x, y, z, charge and count; charges on a GPU come back. */
vf_status take_charges(vf_cutoff *plan)
{
    if (plan->source)
        return vf_cutoff_copy_charges(plan);
    const size_t count = (size_t)plan->count;
    double *block = static_cast<double *>(malloc(4 * (count + 1) * sizeof *block)), lo[3], hi[3];
    if (!block)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %zu charges", count);
    plan->x = block;
    plan->y = block + count;
    plan->z = block + 2 * count;
    plan->charge = block + 3 * count;
    vf_status status = count > 0 ? vf_queue_copy(plan->queue, block, plan->loaded, 4 * count * sizeof *block) : VF_OK;
    status = finish(plan->queue, status);
    for (int a = 0; a < 3; a++) {
        lo[a] = vf_coulomb_position(&plan->grid, a, 0) - plan->options.cutoff;
        hi[a] = vf_coulomb_position(&plan->grid, a, plan->grid.counts[a] - 1) + plan->options.cutoff;
    }
    plan->count = 0;
    for (size_t i = 0; status == VF_OK && i < count; i++) {
        const double p[3] = {plan->x[i], plan->y[i], plan->z[i]};
        if (!(p[0] > lo[0] && p[0] < hi[0] && p[1] > lo[1] && p[1] < hi[1] && p[2] > lo[2] && p[2] < hi[2]))
            continue;
        const int64_t to = plan->count++;
        plan->x[to] = p[0];
        plan->y[to] = p[1];
        plan->z[to] = p[2];
        plan->charge[to] = plan->charge[i] * plan->options.scale;
    }
    return status;
}

/* The longest subvolumes whose neighbourhoods fit one bank, at the mean density. */
int64_t choose_edge(const vf_cutoff *plan, int64_t most)
{
    const double rc = plan->options.cutoff;
    double volume = 1;
    for (int a = 0; a < 3; a++)
        volume *= plan->grid.spacing[a] * (double)(plan->grid.counts[a] - 1) + 2 * rc;
    int64_t edge = LARGE_MOST;
    for (; edge > LARGE_LEAST; edge--) {
        double near = (double)plan->count / volume;
        for (int a = 0; a < 3; a++)
            near *= plan->grid.spacing[a] * (double)edge + 2 * rc;
        if (near <= (double)most)
            break;
    }
    return edge;
}

/* Sets the bins' sizes and numbers; their total, or 0 if there are too many. */
int64_t lay_out(vf_cutoff *plan)
{
    published_state *s = static_cast<published_state *>(plan->state);
    const int64_t bank_atoms = VF_BANK_BYTES / (4 * (int64_t)vf_dtype_bytes(plan->options.precision));
    const int64_t large = s->large ? choose_edge(plan, bank_atoms) : 0;
    double bins = 1;
    for (int a = 0; a < 3; a++) {
        const double reach = plan->options.cutoff / plan->grid.spacing[a];
        s->edge[a] = s->large ? large : SIDE * (int64_t)fmax(ceil(reach / (SIDE * MOST_LAYERS)), 1);
        if (s->large && reach > MOST_LAYERS * (double)large)
            s->edge[a] = (int64_t)ceil(reach / MOST_LAYERS);
        s->layers[a] = (int64_t)ceil(reach / (double)s->edge[a]);
        s->bins[a] = (plan->grid.counts[a] + s->edge[a] - 1) / s->edge[a] + 2 * s->layers[a];
        bins *= (double)s->bins[a];
    }
    return bins < INT32_MAX ? s->bins[0] * s->bins[1] * s->bins[2] : 0;
}

vf_status create(vf_cutoff *plan)
{
    published_state *s = static_cast<published_state *>(calloc(1, sizeof *s));
    vf_context *ctx = vf_device_context(plan->device);
    vf_queue *own = NULL;
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    plan->state = s;
    s->large = strcmp(plan->variant, "large-bin") == 0;
    s->overlapped = strcmp(plan->variant, "small-bin-overlap") == 0;
    vf_cutoff_fit(plan, plan->options.precision == VF_F64 ? 0x1p-53 : 0x1p-25, &s->law);
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK && !plan->queue)
        status = vf_queue_create(plan->device, &own);
    if (status == VF_OK)
        status = take_charges(plan);
    const int64_t bins = status == VF_OK ? lay_out(plan) : 0;
    if (status == VF_OK && bins == 0)
        status = vf_fail(ctx, VF_ERR_UNSUPPORTED, "cutoff sum: the grid has too many bins; use the variant bins");
    if (status == VF_OK)
        status = s->large ? large_create(plan, bins) : small_create(plan, own ? own : plan->queue, bins);
    vf_queue_destroy(own);
    free(plan->x); /* sorted copies replace them */
    plan->x = plan->y = plan->z = plan->charge = NULL;
    return status;
}

vf_status execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    const vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    return s->large ? large_execute(plan, queue, box, add, out) : small_execute(plan, queue, box, add, out);
}

void destroy(vf_cutoff *plan)
{
    published_state *s = static_cast<published_state *>(plan->state);
    large_destroy(plan);
    small_destroy(plan);
    free(s);
}

const char *const variants[] = {"large-bin", "small-bin", "small-bin-overlap", NULL};

} // namespace
} // namespace vf_cutoff_gpu

extern "C" const vf_cutoff_backend vf_cutoff_published = {
    {VF_DEVICE_CUDA, vf_cutoff_gpu::variants}, vf_cutoff_gpu::create, vf_cutoff_gpu::execute, vf_cutoff_gpu::destroy};
