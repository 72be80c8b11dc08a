/* cuFFT behind the contract. The library is loaded when the first plan is made: it is large, only GPU runs need it, and
 * the programs start where there is none. */
#include <cufft.h>
#include <dlfcn.h>
#include <pthread.h>

#include "backend/cuda_check.cuh"
#include "fft_internal.h"

namespace
{

struct cufft_library {
    bool tried, loaded;
    decltype(&cufftCreate) create;
    decltype(&cufftDestroy) destroy;
    decltype(&cufftSetAutoAllocation) set_auto_allocation;
    decltype(&cufftMakePlanMany64) make_plan;
    decltype(&cufftSetWorkArea) set_work_area;
    decltype(&cufftSetStream) set_stream;
    decltype(&cufftExecC2C) exec_c2c;
    decltype(&cufftExecZ2Z) exec_z2z;
};
cufft_library library;
pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

template <typename F>
bool find(void *handle, const char *name, F *function)
{
    *function = reinterpret_cast<F>(dlsym(handle, name));
    return *function != NULL;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define CUFFT_NAME "libcufft.so." TEXT(CUFFT_VER_MAJOR)

/* The loader's own search comes first; then the folder of the toolkit this was built with. */
void load()
{
    static const char *const names[] = {CUFFT_NAME, VF_CUDA_LIBRARY_DIR "/" CUFFT_NAME};
    void *handle = NULL;
    for (int i = 0; i < 2 && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    library.loaded = handle && find(handle, "cufftCreate", &library.create) &&
                     find(handle, "cufftDestroy", &library.destroy) &&
                     find(handle, "cufftSetAutoAllocation", &library.set_auto_allocation) &&
                     find(handle, "cufftMakePlanMany64", &library.make_plan) &&
                     find(handle, "cufftSetWorkArea", &library.set_work_area) &&
                     find(handle, "cufftSetStream", &library.set_stream) &&
                     find(handle, "cufftExecC2C", &library.exec_c2c) && find(handle, "cufftExecZ2Z", &library.exec_z2z);
}

vf_status failed(const vf_fft *plan, cufftResult result, const char *doing)
{
    vf_status status = result == CUFFT_ALLOC_FAILED ? VF_ERR_DEVICE_MEMORY : VF_ERR_DEVICE;
    return vf_fail(vf_device_context(plan->device), status, "%s (%s): cuFFT could not %s: error %d",
                   vf_device_spec(plan->device), vf_device_name(plan->device), doing, (int)result);
}

vf_status need_library(vf_device *device)
{
    pthread_mutex_lock(&library_lock);
    if (!library.tried) {
        library.tried = true;
        load();
    }
    const bool loaded = library.loaded;
    pthread_mutex_unlock(&library_lock);
    return loaded ? VF_OK
                  : vf_fail(vf_device_context(device), VF_ERR_UNSUPPORTED,
                            "%s: " CUFFT_NAME " could not be loaded: install the CUDA Toolkit's cuFFT, or name its "
                            "folder in LD_LIBRARY_PATH",
                            vf_device_spec(device));
}

/* Handles of plans that were destroyed, for plans of the same kind: making one takes a millisecond. A handle without
 * working memory is small. */
struct kept_handle {
    cufftHandle cufft;
    int ordinal;
    vf_dtype type;
    int64_t dims[3], batch, work_bytes;
};
enum { KEPT = 8 };
kept_handle kept[KEPT];
int kept_count;

bool serves(const kept_handle &handle, const vf_fft *plan)
{
    return handle.ordinal == vf_device_ordinal(plan->device) && handle.type == plan->type &&
           handle.dims[0] == plan->dims[0] && handle.dims[1] == plan->dims[1] && handle.dims[2] == plan->dims[2] &&
           handle.batch == plan->batch;
}

bool take_kept(vf_fft *plan)
{
    pthread_mutex_lock(&library_lock);
    for (int i = 0; i < kept_count && !plan->has_cufft; i++)
        if (serves(kept[i], plan)) {
            plan->cufft = kept[i].cufft;
            plan->work_bytes = kept[i].work_bytes;
            plan->has_cufft = true;
            for (int j = i + 1; j < kept_count; j++)
                kept[j - 1] = kept[j];
            kept_count--;
        }
    pthread_mutex_unlock(&library_lock);
    return plan->has_cufft;
}

/* The oldest makes room. */
void keep(const vf_fft *plan)
{
    pthread_mutex_lock(&library_lock);
    if (kept_count == KEPT) {
        (void)library.destroy(kept[0].cufft);
        for (int j = 1; j < kept_count; j++)
            kept[j - 1] = kept[j];
        kept_count--;
    }
    kept[kept_count++] = {plan->cufft, vf_device_ordinal(plan->device),
                          plan->type,  {plan->dims[0], plan->dims[1], plan->dims[2]},
                          plan->batch, plan->work_bytes};
    pthread_mutex_unlock(&library_lock);
}

vf_status make_handle(vf_fft *plan)
{
    long long n[3];
    int rank = 0;
    size_t bytes = 0;
    for (int d = 0; d < 3; d++)
        if (plan->dims[d] > 1)
            n[rank++] = plan->dims[d];
    if (rank == 0)
        n[rank++] = 1;
    cufftResult result = library.create(&plan->cufft);
    const bool created = result == CUFFT_SUCCESS;
    if (result == CUFFT_SUCCESS)
        result = library.set_auto_allocation(plan->cufft, 0);
    if (result == CUFFT_SUCCESS)
        result = library.make_plan(plan->cufft, rank, n, NULL, 1, 0, NULL, 1, 0,
                                   plan->type == VF_C128 ? CUFFT_Z2Z : CUFFT_C2C, plan->batch, &bytes);
    plan->work_bytes = (int64_t)bytes;
    plan->has_cufft = result == CUFFT_SUCCESS;
    if (created && !plan->has_cufft)
        (void)library.destroy(plan->cufft);
    return plan->has_cufft ? VF_OK : failed(plan, result, "make a plan");
}

} // namespace

vf_status vf_fft_cuda_create(vf_fft *plan)
{
    vf_status status = need_library(plan->device);
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK && !take_kept(plan))
        status = make_handle(plan);
    if (status != VF_OK || plan->bare || plan->work_bytes == 0)
        return status;
    status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, (plan->work_bytes + 7) / 8, &plan->work);
    return status == VF_OK ? vf_fft_cuda_lend(plan, plan->work.data) : status;
}

vf_status vf_fft_cuda_lend(vf_fft *plan, void *memory)
{
    const cufftResult result = library.set_work_area(plan->cufft, memory);
    return result == CUFFT_SUCCESS ? VF_OK : failed(plan, result, "use its working memory");
}

void vf_fft_cuda_destroy(vf_fft *plan)
{
    if (plan->has_cufft)
        keep(plan);
}

vf_status vf_fft_cuda_execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data)
{
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    const int way = direction == VF_FFT_FORWARD ? CUFFT_FORWARD : CUFFT_INVERSE;
    cufftResult result = library.set_stream(plan->cufft, static_cast<cudaStream_t>(vf_queue_native(queue)));
    if (result == CUFFT_SUCCESS && plan->type == VF_C128)
        result = library.exec_z2z(plan->cufft, static_cast<cufftDoubleComplex *>(data),
                                  static_cast<cufftDoubleComplex *>(data), way);
    else if (result == CUFFT_SUCCESS)
        result =
            library.exec_c2c(plan->cufft, static_cast<cufftComplex *>(data), static_cast<cufftComplex *>(data), way);
    return result == CUFFT_SUCCESS ? VF_OK : failed(plan, result, "transform");
}
