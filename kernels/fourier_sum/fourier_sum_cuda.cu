/* The CUDA backend of the Fourier sum: a plan's data on the GPU, and the choice of kernels. */
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{

/* The most terms of a segment; with the launch's groups, this limits how long a launch takes. */
enum { MOST_SEGMENT_TERMS = 1 << 18, WAVES = 4 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int coil_width(const vf_fourier *plan)
{
    return plan->most_batch == 1 ? 1 : plan->options.precision == VF_F64 ? wide_batch<double>() : wide_batch<float>();
}

/* Bytes of the sums of one group and segment: real and imaginary parts in double precision. */
static size_t slot_bytes(const vf_fourier *plan, int points)
{
    return (size_t)coil_width(plan) * 2 * (size_t)points * sizeof(double);
}

partition make_partition(const vf_fourier *plan, int64_t all_groups, int64_t groups, int points, int64_t terms)
{
    const state *s = state_of(plan);
    const int64_t slots = (int64_t)WAVES * s->wave_blocks;
    partition cut = {groups, 1, FLUSH, 1};
    int64_t segments = divide_up(slots, all_groups > 0 ? all_groups : 1);
    const int64_t useful = divide_up(terms, FLUSH), needed = divide_up(terms, MOST_SEGMENT_TERMS);
    segments = segments > useful ? useful : segments;
    segments = segments < needed ? needed : segments;
    segments = segments > slots ? slots : segments < 1 ? 1 : segments;
    if (terms > 0)
        cut.segment_terms = divide_up(divide_up(terms, segments), FLUSH) * FLUSH;
    cut.segments = terms > 0 ? (int)divide_up(terms, cut.segment_terms) : 1;
    const int64_t held = (int64_t)(s->partial_bytes / slot_bytes(plan, points)) / cut.segments;
    cut.launch_groups = held < groups ? held : groups;
    return cut;
}

vf_status look_up_tuning(vf_fourier *plan, vf_fourier_tuned_step step)
{
    const int ordinal = vf_device_ordinal(plan->device);
    cudaError_t error = cudaDeviceGetAttribute(&plan->capability[0], cudaDevAttrComputeCapabilityMajor, ordinal);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&plan->capability[1], cudaDevAttrComputeCapabilityMinor, ordinal);
    plan->tuning = vf_fourier_find_tuning(plan->capability, step, plan->options.trig);
    if (plan->tuning.chunk > plan->most_chunk)
        plan->tuning.chunk = plan->most_chunk;
    return vf_cuda_check(plan->device, error, "asking for the compute capability");
}

namespace
{

const char *const variants[] = {"tuned",           "products",         "phasors",       "pairs", "naive",  "registers",
                                "constant-arrays", "constant-structs", "tuned-structs", "bank",  "bank-4", NULL};

/* A phase in units of 2^-64 turns, rounded to the nearest even number. Whole turns drop out. */
uint64_t whole_phase(double turns)
{
    return (uint64_t)llrint(ldexp(turns - rint(turns), 63)) << 1;
}

lattice_wave lattice_wave_of(const vf_fourier *plan, int64_t m)
{
    const double k[3] = {plan->k.x[m], plan->k.y[m], plan->k.z[m]};
    lattice_wave wave = {};
    for (int a = 0; a < 3; a++) {
        wave.half[a] = whole_phase(0.5 * k[a] * plan->grid.spacing[a]);
        wave.origin += whole_phase(k[a] * plan->grid.origin[a]);
    }
    return wave;
}

size_t wave_bytes(const vf_fourier *plan)
{
    return plan->has_grid ? (size_t)plan->samples * sizeof(lattice_wave) : 0;
}

/* Copies `count` numbers to *at, if there are any, and advances *at. */
cudaError_t upload(const double *from, int64_t count, char **at, const double **out)
{
    const size_t bytes = (size_t)count * sizeof *from;
    *out = NULL;
    if (!from || count == 0)
        return cudaSuccess;
    *out = reinterpret_cast<const double *>(*at);
    const cudaError_t error = vf_cuda_upload(*at, from, bytes);
    *at += bytes;
    return error;
}

vf_status upload_waves(const vf_fourier *plan, char *at)
{
    lattice_wave *waves = static_cast<lattice_wave *>(malloc(wave_bytes(plan)));
    if (!waves)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for %lld samples",
                       (long long)plan->samples);
    for (int64_t m = 0; m < plan->samples; m++)
        waves[m] = lattice_wave_of(plan, m);
    const cudaError_t error = vf_cuda_upload(at, waves, wave_bytes(plan));
    free(waves);
    return vf_cuda_check(plan->device, error, "copying the samples to the GPU");
}

vf_status upload_points(vf_fourier *plan, state *s)
{
    const double *k[4] = {plan->k.x, plan->k.y, plan->k.z, plan->k.w};
    const double *r[4] = {plan->r.x, plan->r.y, plan->r.z, plan->r.w};
    size_t numbers = 0;
    for (int a = 0; a < 4; a++)
        numbers += (k[a] ? (size_t)plan->samples : 0) + (r[a] ? (size_t)plan->voxels : 0);
    const size_t bytes = wave_bytes(plan) + numbers * sizeof(double);
    vf_status status = VF_CUDA(plan->device, cudaMalloc(&s->device_points, bytes ? bytes : 1));
    if (status != VF_OK)
        return status;
    char *at = static_cast<char *>(s->device_points) + wave_bytes(plan);
    cudaError_t error = cudaSuccess;
    for (int a = 0; a < 4 && error == cudaSuccess; a++) {
        error = upload(k[a], plan->samples, &at, &s->points.k[a]);
        if (error == cudaSuccess)
            error = upload(r[a], plan->voxels, &at, &s->points.r[a]);
    }
    status = vf_cuda_check(plan->device, error, "copying samples and voxels to the GPU");
    s->points.lattice = static_cast<const lattice_wave *>(s->device_points);
    if (status == VF_OK && wave_bytes(plan) > 0)
        status = upload_waves(plan, static_cast<char *>(s->device_points));
    return status;
}

/* Allocates the sums for the most thread blocks of a launch. */
vf_status allocate_partial(const vf_fourier *plan, state *s)
{
    s->partial_bytes = (size_t)WAVES * (size_t)s->wave_blocks * slot_bytes(plan, LATTICE_POINTS);
    return VF_CUDA(plan->device, cudaMalloc(&s->partial, s->partial_bytes));
}

void destroy(vf_fourier *plan)
{
    state *s = static_cast<state *>(plan->state);
    (void)cudaSetDevice(vf_device_ordinal(plan->device));
    if (s->published)
        published_close(plan, s);
    else if (!s->tuned)
        bank_close(plan, s);
    (void)cudaFree(s->device_points);
    (void)cudaFree(s->table);
    groups_free(s);
    (void)cudaFree(s->factors);
    (void)cudaFree(s->peaks);
    (void)cudaFree(s->partial);
    free(s);
    plan->state = NULL;
}

/* Chooses the kernels for the plan's variant, and sets plan->variant to the variant that runs. The published steps
 * know no off-resonance. */
void choose_kernels(vf_fourier *plan, state *s)
{
    if (plan->has_field && published_step(plan->variant) >= 0)
        plan->variant = "pairs";
    const bool products = strcmp(plan->variant, "products") == 0, phasors = strcmp(plan->variant, "phasors") == 0,
               pairs = strcmp(plan->variant, "pairs") == 0;
    s->tuned = products || phasors || pairs || strcmp(plan->variant, "tuned") == 0;
    s->phasors = plan->has_grid && !plan->has_field && !pairs;
    if (!s->tuned) {
        s->published = published_step(plan->variant) >= 0;
        s->step = s->published ? published_step(plan->variant) : bank_step(plan->variant);
        return;
    }
    s->products = s->phasors && !phasors && products_possible(plan) && (products || products_pay(plan));
    s->dense = !s->phasors && !pairs;
    plan->variant = s->products ? "products" : s->phasors ? "phasors" : "pairs";
}

vf_status create(vf_fourier *plan)
{
    state *s = static_cast<state *>(calloc(1, sizeof *s));
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a plan");
    plan->state = s;
    choose_kernels(plan, s);
    s->lattice = plan->has_grid && plan->options.precision == VF_F32;
    for (int a = 0; a < 3 && plan->has_grid; a++) {
        s->points.origin[a] = plan->grid.origin[a];
        s->points.spacing[a] = plan->grid.spacing[a];
        s->lattice = s->lattice && plan->grid.counts[a] <= LONGEST_LATTICE;
    }
    for (int a = 0; a < 3; a++)
        s->points.counts[a] = plan->has_grid ? plan->grid.counts[a] : 1;
    int multiprocessors = 0;
    const int ordinal = vf_device_ordinal(plan->device);
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(ordinal));
    if (status == VF_OK)
        status =
            VF_CUDA(plan->device, cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal));
    s->wave_blocks = 8 * multiprocessors;
    if (status == VF_OK)
        status = upload_points(plan, s);
    if (status == VF_OK)
        status = allocate_partial(plan, s);
    if (status == VF_OK && s->dense)
        status = groups_prepare(plan, s);
    if (s->groups)
        plan->variant = "groups";
    if (status == VF_OK && s->phasors)
        status = vf_cuda_check(plan->device, lattice_prepare(plan, s), "preparing the Fourier sum's table");
    if (status == VF_OK && s->products)
        status = vf_cuda_check(plan->device, products_prepare(plan, s), "making room for the Fourier sum's factors");
    if (status == VF_OK && !s->tuned)
        status = s->published ? published_open(plan, s) : bank_open(plan, s);
    vf_fourier_tuning wanted = plan->options.tuning;
    if (wanted.chunk > plan->most_chunk)
        wanted.chunk = plan->most_chunk;
    if (status == VF_OK && wanted.threads != 0 && plan->most_chunk > 0)
        status = vf_fourier_set_tuning(plan, &wanted);
    return status;
}

vf_status adjoint(const vf_fourier *plan, vf_queue *queue, int batch, const void *c, int64_t first, int64_t count,
                  void *y)
{
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    cudaError_t error;
    if (state_of(plan)->published)
        error = published_adjoint(plan, stream, batch, c, first, count, y);
    else if (!state_of(plan)->tuned)
        error = bank_adjoint(plan, stream, batch, c, first, count, y);
    else if (state_of(plan)->products && count > 0)
        error =
            products_adjoint(plan, stream, batch, static_cast<const float *>(c), first, count, static_cast<float *>(y));
    else if (state_of(plan)->phasors)
        error = lattice_adjoint(plan, stream, batch, c, first, count, y);
    else if (state_of(plan)->groups)
        error = groups_sum(plan, stream, false, batch, static_cast<const float *>(c), first, count,
                           static_cast<float *>(y));
    else
        error = pairs_sum(plan, stream, false, batch, c, first, count, y);
    return vf_cuda_check(plan->device, error, "the Fourier sum's adjoint");
}

vf_status forward(const vf_fourier *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    const state *s = state_of(plan);
    const cudaError_t error = s->phasors  ? lattice_forward(plan, stream, batch, x, c)
                              : s->groups ? groups_sum(plan, stream, true, batch, static_cast<const float *>(x), 0,
                                                       plan->samples, static_cast<float *>(c))
                                          : pairs_sum(plan, stream, true, batch, x, 0, plan->samples, c);
    return vf_cuda_check(plan->device, error, "the Fourier sum");
}

} // namespace
} // namespace vf_fourier_gpu

extern "C" const vf_fourier_backend vf_fourier_cuda = {VF_DEVICE_CUDA,          vf_fourier_gpu::variants,
                                                       vf_fourier_gpu::create,  vf_fourier_gpu::adjoint,
                                                       vf_fourier_gpu::forward, vf_fourier_gpu::destroy};
