/* A __constant__ array that several plans fill and read in turn, from any queue and thread. Not installed.
 *
 * All plans on a device share such an array, so each use waits, on the device, for the one before. A .cu file with such
 * an array keeps a vf_constant_bank beside it:
 *
 *     __constant__ __align__(16) unsigned char bank[VF_BANK_BYTES];
 *     vf_constant_bank bank_users = {"the sum of this file"};
 *
 * A plan opens the bank once, closes it once, and enqueues work with vf_bank_use.
 */
#ifndef VOXFIELD_CONSTANT_BANK_CUH
#define VOXFIELD_CONSTANT_BANK_CUH

#include <pthread.h>

#include "cuda_check.cuh"

/* A device has 64 KiB of constant memory for all arrays of a file; the rest is left to the compiler. */
enum { VF_BANK_BYTES = 64000, VF_BANK_GPUS = 64 };

struct vf_constant_bank {
    const char *user; /* for messages */
    /* Guards the rest; held while work is enqueued. */
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct {
        cudaEvent_t done; /* recorded after the last use; exists while there are plans */
        int plans;
    } of_gpu[VF_BANK_GPUS] = {};
};

/* Registers a plan on this device, which must be the current one, as a user of the bank. Errors: VF_ERR_UNSUPPORTED
 * (the device's number is VF_BANK_GPUS or higher), VF_ERR_DEVICE. After an error there is nothing to close. */
static inline vf_status vf_bank_open(vf_constant_bank *bank, vf_device *device)
{
    const int ordinal = vf_device_ordinal(device);
    if (ordinal >= VF_BANK_GPUS)
        return vf_fail(vf_device_context(device), VF_ERR_UNSUPPORTED,
                       "%s: constant-memory variants work on the first %d GPUs only", bank->user, (int)VF_BANK_GPUS);
    auto &gpu = bank->of_gpu[ordinal];
    vf_status status = VF_OK;
    pthread_mutex_lock(&bank->lock);
    if (gpu.plans == 0)
        status = VF_CUDA(device, cudaEventCreateWithFlags(&gpu.done, cudaEventDisableTiming));
    gpu.plans += status == VF_OK;
    pthread_mutex_unlock(&bank->lock);
    return status;
}

/* Ends what vf_bank_open began. The plan's queued work must be done. */
static inline void vf_bank_close(vf_constant_bank *bank, vf_device *device)
{
    auto &gpu = bank->of_gpu[vf_device_ordinal(device)];
    pthread_mutex_lock(&bank->lock);
    if (--gpu.plans == 0)
        (void)cudaEventDestroy(gpu.done);
    pthread_mutex_unlock(&bank->lock);
}

/* Calls `fill_and_launch`, which enqueues copies to the array and kernels that read it, asynchronously, and returns a
 * cudaError_t. The stream first waits for the last use of the array, and the next use waits for this one. The plan must
 * have opened the bank. */
template <typename Work>
cudaError_t vf_bank_use(vf_constant_bank *bank, vf_device *device, cudaStream_t stream, const Work &fill_and_launch)
{
    auto &gpu = bank->of_gpu[vf_device_ordinal(device)];
    pthread_mutex_lock(&bank->lock);
    cudaError_t error = cudaStreamWaitEvent(stream, gpu.done, 0);
    if (error == cudaSuccess) {
        error = fill_and_launch();
        /* Also after a failure: work that was launched before it still uses the array. */
        const cudaError_t recorded = cudaEventRecord(gpu.done, stream);
        error = error == cudaSuccess ? recorded : error;
    }
    pthread_mutex_unlock(&bank->lock);
    return error;
}

#endif
