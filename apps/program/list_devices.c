#include "list_devices.h"

#include "voxfield/device.h"

static void print_device(const char *spec, vf_device *device, FILE *to)
{
    uint64_t left = 0, total = 0;
    const vf_status status = vf_device_memory(device, &left, &total);
    fprintf(to, "%-8s %s; ", spec, vf_device_name(device));
    if (status == VF_OK)
        fprintf(to, "%.3g of %.3g GiB of memory free", (double)left / 0x1p30, (double)total / 0x1p30);
    else
        fprintf(to, "its memory is not known: %s", vf_context_message(vf_device_context(device)));
    if (vf_device_is_host(device))
        fprintf(to, "; %d threads, %s\n", vf_context_threads(vf_device_context(device)), vf_isa_name(vf_cpu_isa()));
    else
        fprintf(to, "; %s\n", vf_device_traits(device));
    vf_context_clear_error(vf_device_context(device));
}

static void list_kind(vf_context *ctx, const char *kind, int count, FILE *to)
{
    char spec[24];
    for (int i = 0; i < count; i++) {
        (void)snprintf(spec, sizeof spec, "%s:%d", kind, i);
        if (vf_context_set_devices(ctx, spec) == VF_OK)
            print_device(spec, vf_context_device(ctx, 0), to);
        else
            fprintf(to, "%-8s cannot be used: %s\n", spec, vf_context_message(ctx));
        vf_context_clear_error(ctx);
    }
}

void list_devices(vf_context *ctx, FILE *to)
{
    const char *why;
    print_device("cpu", vf_context_host(ctx), to);
    list_kind(ctx, "cuda", vf_cuda_device_count(&why), to);
    if (vf_cuda_device_count(&why) == 0)
        fprintf(to, "no GPU by CUDA: %s\n", why);
    list_kind(ctx, "opencl", vf_opencl_device_count(&why), to);
    if (vf_opencl_device_count(&why) == 0)
        fprintf(to, "no device by OpenCL: %s\n", why);
    fputs("auto, the default, takes whichever of the CPU and NVIDIA's GPUs finish first; cuda takes as many GPUs as "
          "pay.\n",
          to);
}
