/* "auto": chooses the CPU or GPUs, whichever should finish first. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "context_internal.h"
#include "voxfield/append.h"
#include "warm_up.h"

double vf_warm_up_left(const vf_warm_up_state *w)
{
    if (!w->begun)
        return VF_CUDA_START_SECONDS;
    return w->ended ? 0 : fabs(VF_CUDA_START_SECONDS - w->seconds);
}

static double seconds_on(const vf_device_costs *c, int gpus)
{
    return c->start + (gpus - 1) * VF_CUDA_START_SECONDS + c->gpu / gpus + VF_CUDA_USE_SECONDS;
}

int vf_device_rule(const vf_device_costs *costs, int gpus, double *seconds)
{
    int best = 0;
    double least = costs->cpu;
    for (int n = 1; n <= gpus; n++)
        if (seconds_on(costs, n) < least) {
            best = n;
            least = seconds_on(costs, n);
        }
    if (seconds)
        *seconds = least;
    return best;
}

/* Explains the choice: the times on the CPU, and on the GPUs that would be used, or on one. */
static void explain(const vf_device_costs *c, int gpus, char *why, size_t size)
{
    const int n = gpus > 0 ? gpus : 1;
    char count[24] = "a GPU";
    if (n > 1)
        (void)snprintf(count, sizeof count, "%d GPUs", n);
    (void)snprintf(
        why, size, "about %.2g s on the CPU, %.2g s on %s (%.2g s to start, %.2g s of work, %.2g s of overhead)",
        c->cpu, seconds_on(c, n), count, c->start + (n - 1) * VF_CUDA_START_SECONDS, c->gpu / n, VF_CUDA_USE_SECONDS);
}

/* Whether the system has signs of NVIDIA's driver: Linux, WSL, Tegra. Asking the driver takes much longer.
 */
static bool shows_gpu(void)
{
    static const char *const signs[] = {"/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg", "/dev/nvhost-gpu",
                                        "/dev/nvgpu"};
    for (size_t n = 0; n < sizeof signs / sizeof *signs; n++)
        if (access(signs[n], F_OK) == 0)
            return true;
    return false;
}

/* Selects the first `most` usable GPUs of `count`, or the CPU if none is usable. Each unusable one is named in a warning. */
static vf_status take_gpus(vf_context *ctx, int count, int most, char *why, size_t why_size)
{
    int taken = 0;
    char spec[8 + 5 * VF_MAX_DEVICES] = "cuda", one[24];
    vf_caught error = {0};
    for (int i = 0; i < count && i < 1000 && taken < most; i++) {
        snprintf(one, sizeof one, "cuda:%d", i);
        vf_caught *before = vf_catch(ctx, &error);
        const vf_status status = vf_context_set_devices(ctx, one);
        vf_catch_end(before);
        if (status == VF_OK)
            vf_append(spec, sizeof spec, "%c%d", taken++ ? ',' : ':', i);
        else if (!vf_is_device_error(status))
            return vf_fail(ctx, status, "%s", error.text);
        else
            vf_warn(ctx, "%s is left out: %s", one, error.text);
    }
    if (taken)
        return vf_context_set_devices(ctx, spec);
    (void)snprintf(why, why_size, "no GPU can be used");
    return vf_context_set_devices(ctx, "cpu");
}

vf_status vf_device_choose(vf_context *ctx, double cpu_seconds, double gpu_seconds, int most, char *why,
                           size_t why_size)
{
    vf_status status = vf_context_set_devices(ctx, "cpu");
    if (status != VF_OK)
        return status;
    if (!vf_built_with_cuda()) {
        (void)snprintf(why, why_size, "this binary was built without CUDA");
        return VF_OK;
    }
    const vf_warm_up_state warm = vf_device_warm_up_state(ctx);
    vf_device_costs costs = {.cpu = cpu_seconds, .gpu = gpu_seconds, .start = vf_warm_up_left(&warm)};
    explain(&costs, 1, why, why_size);
    /* If even the largest number of GPUs does not pay, do not start the driver. */
    most = most < VF_MAX_DEVICES ? most : VF_MAX_DEVICES;
    if (vf_device_rule(&costs, most, NULL) == 0) {
        if (!shows_gpu()) /* the cost of a GPU is irrelevant here */
            (void)snprintf(why, why_size, "the system shows no GPU");
        return VF_OK;
    }
    vf_warm_up_wait(vf_context_warm_up(ctx), &(int){0}, 1);
    costs.start = warm.begun ? 0 : costs.start; /* that time is already spent */
    const char *reason = NULL;
    int there = vf_cuda_device_count(&reason);
    if (there == 0) {
        (void)snprintf(why, why_size, "no GPU: %s", reason);
        return VF_OK;
    }
    const int use = vf_device_rule(&costs, there < most ? there : most, NULL);
    explain(&costs, use, why, why_size);
    status = use > 0 ? take_gpus(ctx, there, use, why, why_size) : VF_OK;
    vf_warm_up_stop(vf_context_warm_up(ctx)); /* no others are needed */
    return status;
}

bool vf_device_means_all(const char *spec)
{
    return strcmp(spec, "cuda") == 0 && vf_cuda_device_count(NULL) > 1;
}

vf_status vf_device_choose_gpus(vf_context *ctx, double gpu_seconds, int most)
{
    const double endless = 1e9; /* s; longer than any estimate for a GPU */
    char why[300];
    const vf_status status = vf_device_choose(ctx, endless, gpu_seconds, most, why, sizeof why);
    if (status == VF_OK && vf_device_is_host(vf_context_device(ctx, 0)))
        return vf_context_set_devices(ctx, "cuda"); /* which says why the first GPU cannot be used */
    return status;
}
